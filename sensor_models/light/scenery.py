r"""The light of a scene as kernels take it: spectra of sun, sky and materials, and tables of rays.

For a matt or coated surface the reflectance R is that of ``spectra``; a coated one has at most
0.97. A metal mirrors by Fresnel's law, times min(1, S / R0) of its colour S, if it has one; at a
bounce it counts as a matt surface of that share at right angles. Clear materials let S^(1/4)
through at each interface, besides Fresnel's share. Index and roughness are those of the nearest
entry; surfaces that send light back to its source do so for lidars only. A surface that is a table
has the shape of that for the wavelength nearest to green, and at each wavelength the reflectance
under an even sky.

Below the horizon lies a ground of reflectance 0.2, in the sun under the whole sky, where no
surface is in the way.

Source: PHYSICS-2, 32.4 and 32.5.
"""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.kernels.camera.ccd.lights import CONSTANT, SLOPE, SQUARE, Light
from sensor_models.kernels.light import media as medium_kernel
from sensor_models.kernels.light import surfaces as surface_kernel
from sensor_models.kernels.light.paths import TELL_MISSES, TELL_PLACES, TELL_SEGMENTS, Path
from sensor_models.light.media import absorption_by_extinction, pack_media
from sensor_models.light.spectra import (
    BRIGHTEST_BASE,
    LONGEST,
    SHORTEST,
    color_spectrum,
    is_metal,
    nearest_numbers,
    reflectance,
    reflectance_of_metal,
    shown_color,
)
from sensor_models.light.surfaces import pack_surface
from sensor_models.light.tabulated import camera_tables
from sensor_models.light.textures import (
    mapped_materials,
    mean_colors,
    mean_emission,
    textures_of,
)
from sensor_models.scene.model import Material, Scene, SurfaceKind

Floats = NDArray[np.float64]

SUN_SOLID_ANGLE = 6.794e-5  # sr
SUN_HALF_ANGLE = math.radians(0.267)
GROUND = 0.2
#: Half-angle about the mirror direction within which a coat mirrors a picture, rad.
MIRROR_CONE = math.radians(1.0)
CONE = math.tan(0.5 * MIRROR_CONE) ** 2
#: α² of what mirrors no branch at all.
NO_MIRROR = 1e30
#: A branch of less light than this share is not followed.
LEAST_WEIGHT = 5e-3
#: The most that the sun counts over the sky: light that bounces is there without a sky, too.
MOST_CONTRAST = 16.0
#: Boundaries of media that a branch may pass.
MOST_EVENTS = 32


def spectrum_at(pairs: tuple[tuple[float, float], ...], wavelengths: ArrayLike) -> Floats:
    """A spectrum of pairs at some wavelengths: linear between, 0 outside."""
    places = np.asarray(wavelengths, float)
    if not pairs:
        return np.zeros(len(places))
    known, values = np.array(pairs).T
    return np.asarray(np.interp(places, known, values, left=0.0, right=0.0))


class Scenery:
    """The light of a scene at some wavelengths."""

    def __init__(self, scene: Scene, wavelengths: ArrayLike) -> None:
        self.scene = scene
        self.wavelengths = np.asarray(wavelengths, float)
        self._surfaces = self._surface_rows().reshape(-1, surface_kernel.SURFACE_SIZE)
        numbers = [nearest_numbers(material) for material in scene.materials]
        self._tables = camera_tables(numbers, self._surfaces)
        self._media = media_of(scene, self._surfaces)
        self._volumes = np.array([volume.medium for volume in scene.volumes], np.int32)
        self._light = self._made()
        # What maps change from place to place mirrors by rays from each point, not by branches.
        self._surfaces[self._light.cones == 0.0, surface_kernel.SLOPE_SQUARED] = NO_MIRROR

    @property
    def is_dark(self) -> bool:
        """Whether nothing in the scene gives light."""
        light = self._light
        return not (light.sun.any() or light.sky.any() or light.lamps.any())

    @property
    def day(self) -> Floats:
        """What sun and sky throw on a horizontal surface, W/m2/m.

        Where there are neither, it is the mean of the lamps; where there are none of them either,
        the same at all wavelengths.
        """
        light = self._light
        found = light.sun * max(float(light.toward_sun[2]), 0.0) + math.pi * light.sky
        if not found.any() and light.lamps.any():
            found = light.lamps[light.lamps.any(axis=1)].mean(axis=0)
        return found if found.any() else np.ones_like(found)

    def light(self, rays: int, looks_up: bool, key: NDArray[np.uint64], frame: int) -> Light:
        """The light, for a frame whose points send so many rays around."""
        return self._light._replace(rays=rays, looks_up=looks_up, key=key, frame=int(frame))

    def path(self, depth: int, key: Any, frame: int) -> Path:
        """What rays meet on their way, and how far they are followed."""
        return Path(
            self._surfaces,
            self._media,
            self._volumes,
            self._tables,
            cone=CONE,
            most_depth=depth,
            most_events=MOST_EVENTS,
            least_weight=LEAST_WEIGHT,
            most_range=math.inf,
            flags=TELL_PLACES | TELL_MISSES | TELL_SEGMENTS,
            frame=int(frame),
            key=key,
            detected_from=0.0,
            detected_by=0.0,
        )

    def _surface_rows(self) -> Floats:
        """How materials meet the rays, (materials, SURFACE_SIZE)."""
        return np.array([_surface_of(material) for material in self.scene.materials])

    def _made(self) -> Light:
        sky, places = self.scene.sky, self.wavelengths
        sun, above = spectrum_at(sky.sun_spectrum, places), spectrum_at(sky.sky_spectrum, places)
        toward = np.array(sky.sun_direction, float)
        toward /= np.linalg.norm(toward)
        share = GROUND / math.pi * (sun * max(toward[2], 0.0) + math.pi * above)
        materials = self.scene.materials
        shares = np.array([_shares_of(material, places) for material in materials])
        shares = np.moveaxis(shares.reshape(len(materials), 4, len(places)), 1, 0)
        base, top, clear, bounce = (np.ascontiguousarray(each) for each in shares)
        textures = textures_of(self.scene, places)
        if textures.there:
            bounce = mean_colors(self.scene, bounce, places)
        emission = np.array([spectrum_at(m.emission, places) for m in materials])
        emission = emission.reshape(len(materials), len(places))
        lamps = mean_emission(self.scene, emission, places) if textures.there else emission
        is_clear = np.array([m.kind is SurfaceKind.dielectric for m in materials], np.int32)
        return Light(
            toward_sun=toward,
            is_sunny=bool(sun.any()),
            contrast=_contrast(sun, above),
            disc_cosine=math.cos(SUN_HALF_ANGLE),
            sun=sun,
            disc=sun / SUN_SOLID_ANGLE,
            sky=above,
            ground=share,
            base=base,
            top=top,
            clear=clear,
            sunlit=bounce * sun / math.pi,
            bounce=bounce,
            emission=emission,
            lamps=lamps,
            has_emission=np.asarray(lamps.any(axis=1)),
            surfaces=self._surfaces.copy(),
            cones=np.where(mapped_materials(self.scene), 0.0, CONE),
            clearness=0.0,
            mean_share=1.0,
            closed=0.0,
            orders=np.array([_orders_of(m) for m in materials]).reshape(-1, 3),
            clear_mean=clear.mean(axis=1),
            has_glass=bool(is_clear.any()),
            is_clear=is_clear,
            rays=1,
            looks_up=False,
            key=np.zeros(2, np.uint64),
            frame=0,
            textures=textures,
        )


def _contrast(sun: Floats, above: Floats) -> float:
    """The irradiance of a sun over that of the whole sky, ``MOST_CONTRAST`` at most."""
    whole = math.pi * float(above.sum())
    return float(sun.sum()) / max(whole, float(sun.sum()) / MOST_CONTRAST, 1e-300)


def _surface_of(material: Material) -> Floats:
    """The row of a material for the rays: index and roughness, nothing toward the source."""
    numbers = dataclasses.replace(nearest_numbers(material), retro_reflectance=0.0)
    if material.kind is SurfaceKind.dielectric:
        # What a lamp's own light would make of it does not matter to who sees by sun and sky.
        numbers = dataclasses.replace(numbers, diffuse_reflectance=0.0)
    return pack_surface(material.kind, numbers, material.two_way)


def _shares_of(material: Material, places: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Reflectance of the base, colour of the top, share let through, and share of a bounce."""
    seen, ones = reflectance(material, places), np.ones(len(places))
    if material.kind is SurfaceKind.dielectric:
        clear = color_spectrum(shown_color(material), places) ** 0.25
        return 0.0 * ones, ones, clear, 0.0 * ones
    if is_metal(material):
        whole = reflectance_of_metal(material)
        tint = np.minimum(1.0, seen / whole) if material.color is not None else ones
        return 0.0 * ones, tint, ones, whole * tint
    if material.kind is SurfaceKind.two_layer:
        seen = np.minimum(seen, BRIGHTEST_BASE)
    return seen, ones, ones, seen


def _orders_of(material: Material) -> Floats:
    """The coefficients of the base layer's law, by its roughness."""
    variance = 0.0
    if material.kind is SurfaceKind.two_layer:
        variance = nearest_numbers(material).roughness_oren_nayar ** 2
    orders = np.zeros(3)
    orders[CONSTANT] = 1.0 - 0.5 * variance / (variance + 0.33)
    orders[SQUARE] = 0.17 * variance / (variance + 0.13)
    orders[SLOPE] = 0.45 * variance / (variance + 0.09)
    return orders


def media_of(scene: Scene, surfaces: Floats) -> Floats:
    """The media of a scene, then the insides of its materials; none answers."""
    media = pack_media(scene.media)
    media[:, medium_kernel.RETURN_PROBABILITY] = 0.0
    inside = np.zeros((len(surfaces), media.shape[1]))
    inside[:, medium_kernel.RETURN_SHAPE] = inside[:, medium_kernel.RETURN_SCALE] = 1.0
    inside[:, medium_kernel.MEDIUM_IOR] = np.maximum(surfaces[:, surface_kernel.IOR], 1.0)
    for row, material in zip(inside, scene.materials, strict=True):
        if material.kind is SurfaceKind.dielectric:
            # Extinction in the infrared says nothing of the visible, where glass has far less.
            for wavelength, numbers in material.between(SHORTEST, LONGEST).items():
                extinction = absorption_by_extinction(numbers.extinction, wavelength)
                row[medium_kernel.ABSORPTION] = extinction
    return np.concatenate([media, inside])
