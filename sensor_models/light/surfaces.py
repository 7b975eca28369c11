"""Materials of a scene as the kernels take them, and how they reflect.

Equations and sources: ``kernels.light.surfaces``. A material is refused that cannot be: a number
out of its range, a clear interface that absorbs like a metal, a surface that sends back more
than it gets. Two that are merely doubtful are logged: a base so bright that the model gains energy
near grazing angles, and a base under metal, where no light arrives.
"""

import logging
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import ParameterError, Quantity
from sensor_models.kernels.light import surfaces as kernel
from sensor_models.kernels.light.fresnel import reflectance_at_normal
from sensor_models.scene.model import Material, SurfaceKind, SurfaceParameters

Floats = NDArray[np.float64]

#: Above this extinction a material is a metal: light does not come through.
METAL = 0.01

#: Above this diffuse reflectance a rough base sends back more than it gets near grazing angles.
BRIGHT = 0.97

#: Slope roughness below which a surface is a mirror to every detector; less counts as this.
SMOOTHEST = 1e-4

KINDS = {
    SurfaceKind.lambert: kernel.LAMBERT,
    SurfaceKind.two_layer: kernel.TWO_LAYER,
    SurfaceKind.dielectric: kernel.DIELECTRIC,
    SurfaceKind.tabulated: kernel.TABULATED,
}

_log = logging.getLogger(__name__)


def _range(name: str, unit: str, minimum: float, maximum: float = math.inf) -> Quantity:
    return Quantity("real", name, "", None, unit, minimum, maximum)


RANGES = (
    _range("diffuse_reflectance", "1", 0.0, 1.0),
    _range("ior", "1", 1e-3, 1e3),
    _range("extinction", "1", 0.0, 1e3),
    _range("roughness_beckmann", "1", 0.0, 1.0),
    _range("roughness_oren_nayar", "rad", 0.0, math.pi / 2.0),
    _range("retro_reflectance", "1/sr", 0.0),
)


def sent_back(kind: SurfaceKind, surface: SurfaceParameters) -> float:
    """The share of light that a surface sends back when it is lit at right angles, nearly."""
    retro = surface.retro_reflectance * kernel.RETRO_SOLID_ANGLE
    if kind in (SurfaceKind.lambert, SurfaceKind.tabulated):
        return surface.diffuse_reflectance + retro
    top: float = reflectance_at_normal(1.0, surface.ior, surface.extinction)
    base = 0.0 if kind == SurfaceKind.dielectric else surface.diffuse_reflectance
    return top + (1.0 - top) * base + retro


def check_surface(kind: SurfaceKind, surface: SurfaceParameters) -> None:
    """Refuse a surface that cannot be; ``ParameterError`` says why."""
    for quantity in RANGES:
        refusal = quantity.refusal(quantity.name, getattr(surface, quantity.name))
        if refusal is not None:
            raise ParameterError(refusal)
    if kind == SurfaceKind.dielectric and surface.extinction > METAL:
        raise ParameterError(
            f"extinction = {surface.extinction} of a dielectric, through which light goes: "
            f"allowed is 0 to {METAL}; a metal is a two_layer surface of diffuse_reflectance 0"
        )
    share = sent_back(kind, surface)
    if share > 1.0 + 1e-12:  # the rounding of a sum that is 1
        raise ParameterError(
            f"a surface of diffuse_reflectance = {surface.diffuse_reflectance} and "
            f"retro_reflectance = {surface.retro_reflectance} 1/sr would send back more light than "
            f"it gets, {share:.4f} of it"
        )


def check_material(material: Material) -> None:
    """Refuse a material that cannot be, at any of its wavelengths."""
    if not material.at_wavelength:
        raise ParameterError(f"material {material.name}: known at no wavelength")
    for wavelength, surface in material.at_wavelength.items():
        where = f"material {material.name} at {wavelength * 1e9:g} nm"
        try:
            check_surface(material.kind, surface)
        except ParameterError as refusal:
            raise ParameterError(f"{where}: {refusal}") from None
        if material.kind == SurfaceKind.two_layer:
            _warn_of_base(where, surface)


def _warn_of_base(where: str, surface: SurfaceParameters) -> None:
    """Log what is doubtful about the base of a two-layer surface."""
    if surface.diffuse_reflectance > BRIGHT:
        _log.warning(
            "%s: a base of diffuse_reflectance = %g, above %g, sends back more light than it gets "
            "near grazing angles",
            where,
            surface.diffuse_reflectance,
            BRIGHT,
        )
    if surface.extinction > METAL and surface.diffuse_reflectance > 0.0:
        _log.warning(
            "%s: no light arrives at a base under metal (extinction = %g), so its "
            "diffuse_reflectance should be 0, not %g",
            where,
            surface.extinction,
            surface.diffuse_reflectance,
        )


def oren_nayar(diffuse_reflectance: float, roughness: float) -> tuple[float, float]:
    """The factors A and B of a base layer."""
    variance = roughness * roughness
    constant = 1.0 - 0.5 * variance / (variance + 0.33)
    constant += 0.17 * diffuse_reflectance * variance / (variance + 0.13)
    return constant, 0.45 * variance / (variance + 0.09)


def pack_surface(kind: SurfaceKind, surface: SurfaceParameters, two_way: bool = False) -> Floats:
    """A row of the kernels' table of surfaces.

    Where the table of a tabulated surface begins is written into it by ``light.tabulated``.
    """
    check_surface(kind, surface)
    row = np.zeros(kernel.SURFACE_SIZE)
    row[kernel.KIND] = KINDS[kind]
    row[kernel.IOR] = surface.ior
    row[kernel.EXTINCTION] = surface.extinction
    row[kernel.SLOPE_SQUARED] = 2.0 * max(surface.roughness_beckmann, SMOOTHEST) ** 2
    row[kernel.TWO_WAY] = two_way
    row[kernel.RETRO] = surface.retro_reflectance
    if kind in (SurfaceKind.lambert, SurfaceKind.two_layer):
        diffuse = surface.diffuse_reflectance
        roughness = 0.0 if kind == SurfaceKind.lambert else surface.roughness_oren_nayar
        constant, slope = oren_nayar(diffuse, roughness)
        row[kernel.BASE] = constant * diffuse / math.pi
        row[kernel.BASE_SLOPE] = slope * diffuse / math.pi
    return row


def pack_materials(materials: Sequence[Material], wavelength: float) -> Floats:
    """The kernels' table of surfaces, a row for each material.

    Refused with ``ParameterError`` if one of them knows no numbers for the wavelength.
    """
    table = np.zeros((len(materials), kernel.SURFACE_SIZE))
    for row, material in zip(table, materials, strict=True):
        check_material(material)
        row[:] = pack_surface(material.kind, material.at(wavelength), material.two_way)
    return table


def bidirectional_reflectance(
    row: Floats,
    lights: ArrayLike,
    viewers: ArrayLike,
    normals: ArrayLike,
    outside: float = 1.0,
) -> Floats:
    """The bidirectional reflectance of a packed surface in 1/sr.

    Args:
        row: of ``pack_surface``.
        lights: directions toward the light, (n, 3), of unit length.
        viewers: directions toward the viewer, likewise.
        normals: of the surface, likewise; all three may also be a single vector.
        outside: index of the medium around.
    """
    given = np.broadcast_arrays(*np.atleast_2d(lights, viewers, normals))
    light, viewer, normal = (np.ascontiguousarray(each, dtype=np.float64) for each in given)
    result = np.empty(len(light))
    kernel.brdf_of_each(row.reshape(1, -1), light, viewer, normal, outside, result)
    return result
