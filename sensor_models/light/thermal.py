r"""The light of a scene at thermal wavelengths, where all bodies shine by themselves.

Surface      L = ε B(T) + (1 - ε) L_in. Matt ones send back the mean of L_in by the cosine law. Bare
             metals and glass, which is opaque here, mirror it, as blurred as their coats are
             rough, by the same share at all angles, so that ε is that at all angles, too.
Sky          L(h) = B(T_a) (1 - t^(1/sin h)) at a height of h over the horizon, with the
             temperature T_a of the air and t = 1 - ε_z: as warm as the air at the horizon,
             coldest at the zenith. Its mean by the cosine law is B(T_a) (1 - 2 E_3(-ln t)).
Ground       below the horizon, where nothing is: black, as warm as the air.
Bounce       what hides the sky from where light bounces is black and as warm as the air. So
             everything is B(T_a) where all is as warm as the air, whatever its emissivity.
Media        B(T_a) (1 - e^(-a s)) for each segment s, of those whose band holds the camera's.

``scene.planck`` has B, ``scene.sky`` the emissivity ε_z of the air straight up.

Sources: Planck's and Kirchhoff's laws; for the sky the transmittance law that is usual for
radiative cooling, with the air as a grey slab of one temperature: it makes the sky warmer than it
is where the upper air is cold (Mandal, Huang and Raman 2021). Emissivities of kinds are estimates
but for glass (EN 673, at right angles).

Not modelled: the sun's light at these wavelengths, some 1 % of that of bodies; emissivity by angle
or wavelength; pictures on surfaces; heat itself: nothing warms or cools.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.kernels.camera.ccd.lights import CONSTANT, Light
from sensor_models.light.scenery import CONE, Scenery
from sensor_models.light.spectra import is_metal, nearest_numbers
from sensor_models.light.surfaces import pack_surface
from sensor_models.light.textures import textures_of
from sensor_models.scene.model import Material, Medium, Scene, SurfaceKind, SurfaceParameters
from sensor_models.scene.planck import black_body, simpson

Floats = NDArray[np.float64]

#: Emissivities of kinds of materials: all others, bare metals, glass.
USUAL, OF_METAL, OF_GLASS = 0.95, 0.1, 0.89
#: n and k of a mirror that has the same reflectance at all angles, nearly 1.
MIRROR = 1.0, 1000.0
_MIRRORED = 1.0 - 4.0 / (4.0 + MIRROR[1] ** 2)


def emissivity_of(material: Material) -> float:
    """The emissivity of a material, or that of its kind."""
    if material.emissivity is not None:
        return material.emissivity
    if material.kind is SurfaceKind.dielectric:
        return OF_GLASS
    return OF_METAL if is_metal(material) else USUAL


def mean_share(clearness: float) -> float:
    """1 - 2 E_3(-ln t): the mean of 1 - t^(1/sin h) over the sky by the cosine law."""
    sine = np.linspace(0.0, 1.0, 2001)
    with np.errstate(divide="ignore"):
        left = np.where(sine > 0.0, clearness ** (1.0 / np.maximum(sine, 1e-12)), 0.0)
    return float(1.0 - simpson(sine) @ (2.0 * sine * left))


class ThermalScenery(Scenery):
    """The light of a scene at some thermal wavelengths."""

    def __init__(self, scene: Scene, wavelengths: ArrayLike, air_temperature: float = 0.0) -> None:
        """The air has its temperature from the scene, if none is given."""
        self.air_temperature = air_temperature or scene.sky.air_temperature
        super().__init__(_plain(scene, np.asarray(wavelengths, float)), wavelengths)
        self.scene = scene

    @property
    def day(self) -> Floats:
        """No light of day counts here: the same at all wavelengths."""
        return np.ones(len(self.wavelengths))

    def _surface_rows(self) -> Floats:
        return np.array([_surface_of(material) for material in self.scene.materials])

    def _made(self) -> Light:
        places, materials = self.wavelengths, self.scene.materials
        emissivity = np.array([emissivity_of(material) for material in materials])
        kelvin = np.array([material.temperature or self.air_temperature for material in materials])
        back = np.repeat(1.0 - emissivity[:, None], len(places), axis=1)
        mirrors = np.array([_mirrors(material) for material in materials])
        emission = emissivity[:, None] * black_body(places, kelvin[:, None])
        air = black_body(places, self.air_temperature)
        orders, none = np.eye(1, 3, CONSTANT).repeat(len(materials), axis=0), 0.0 * air
        clearness = 1.0 - self.scene.sky.zenith_emissivity
        return Light(
            toward_sun=np.array([0.0, 0.0, 1.0]),
            is_sunny=False,
            disc_cosine=1.0,
            sun=none,
            disc=none,
            sky=air,
            ground=air,
            base=np.where(mirrors[:, None], 0.0, back),
            top=np.where(mirrors[:, None], back / _MIRRORED, 1.0),
            clear=np.ones_like(back),
            sunlit=np.zeros_like(back),
            bounce=back,
            emission=emission,
            lamps=emission,
            has_emission=np.asarray(emission.any(axis=1)),
            surfaces=self._surfaces.copy(),
            cones=np.full(len(materials), CONE),
            clearness=clearness,
            mean_share=mean_share(clearness),
            contrast=0.0,
            closed=1.0,
            orders=orders,
            clear_mean=np.ones(len(materials)),
            has_glass=False,
            is_clear=np.zeros(len(materials), np.int32),
            rays=1,
            looks_up=False,
            key=np.zeros(2, np.uint64),
            frame=0,
            textures=textures_of(self.scene, places),
        )


def _mirrors(material: Material) -> bool:
    return material.kind is SurfaceKind.dielectric or is_metal(material)


def _surface_of(material: Material) -> Floats:
    """The row of a material for the rays: a mirror, or matt."""
    if _mirrors(material):
        rough = nearest_numbers(material).roughness_beckmann
        return pack_surface(
            SurfaceKind.two_layer, SurfaceParameters(0.0, *MIRROR, roughness_beckmann=rough)
        )
    return pack_surface(SurfaceKind.lambert, SurfaceParameters(1.0 - emissivity_of(material)))


def _plain(scene: Scene, wavelengths: Floats) -> Scene:
    """A scene without pictures, and without media that are not known at some wavelengths."""
    low, high = float(wavelengths.min()), float(wavelengths.max())
    meshes = tuple(
        replace(mesh, face_texture=None, face_maps=None, texture_places=None)
        for mesh in scene.meshes
    )
    media = tuple(
        medium if medium.band[0] <= low and high <= medium.band[1] else Medium(medium.name)
        for medium in scene.media
    )
    return replace(scene, meshes=meshes, textures=(), media=media)
