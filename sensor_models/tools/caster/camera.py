r"""Pictures of ``CcdCamera`` from ideal images: a camera in a scene too large for one process.

    ideal image    what each ray of the camera sees, from all parts
    shadows        rays from the points hit to the sun, through all parts
    radiance       L = C / π (E_sun (n·s) V + π (L_sky (1 + n_z) / 2 + L_ground (1 - n_z) / 2))
    lens and chip  as of any picture (``camera.ccd.camera``)

C is the value in the parts' bands, linear over wavelengths between them and constant beyond. V is 1
for points that see the sun, else 0. A ray that meets nothing sees sky, ground or sun
(``light.scenery``).

Source: VANE: the quick caster's images are what its camera model takes. Not modelled: surfaces
other than matt, what hides the sky, light that bounces, media.
"""

import math
from contextlib import closing
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.core.frames import Quaternion
from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.light.scenery import Scenery
from sensor_models.scene.model import Scene, Sky
from sensor_models.threads.pool import Pool
from sensor_models.tools.caster.caster import IdealImage, Progress, cast
from sensor_models.tools.caster.parts import Parts
from sensor_models.tools.caster.views import RayGrid, turned
from sensor_models.tools.workers import WorkerPool

Floats = NDArray[np.float64]

#: Rays to the sun start this far off the surface, as a share of the distance to the camera or 1 m.
OFF_SURFACE = 1e-5
#: How many rays have their spectra in memory at a time.
SPECTRA = 1 << 16


class Photograph(NamedTuple):
    """A picture of a scene in parts."""

    numbers: NDArray[np.uint16]  # (rows, columns, channels), digital numbers
    light: NDArray[np.float32]  # (rows, columns, bands), on the chip before vignetting
    ideal: IdealImage  # what each ray saw


def photograph(
    parts: Parts,
    camera: CcdCamera,
    pool: WorkerPool,
    sky: Sky,
    *,
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
    orientation: Quaternion = (1.0, 0.0, 0.0, 0.0),
    frame: int = 0,
    exposure_time: float = 0.0,
    progress: Progress | None = None,
) -> Photograph:
    """Take a picture of parts whose bands hold diffuse reflectances.

    ``progress`` covers the rays of the camera; those to the sun follow.
    """
    if not parts.bands:
        raise ParameterError(f"{parts.directory}: parts without bands have no reflectances to see")
    if camera.thermal.on:
        raise ParameterError("thermal.on = true: pictures of parts are of sunlight alone")
    view = _rays_of(camera, position, orientation)
    ideal = cast(parts, view, pool, progress)
    dark = Scene(name="sky", meshes=(), instances=(), materials=(), sky=sky)
    scenery = Scenery(dark, camera.wavelengths)
    light = scenery.light(1, False, np.zeros(2, np.uint64), frame)
    along = view.directions.astype(float)
    normal = _toward_camera(ideal.normal, along)
    lit = _sunlit(parts, pool, light, view, ideal, normal)
    seen = _light_of(camera, light, parts.bands, ideal, along, normal, lit)
    with closing(Pool()) as threads:
        on_chip = camera.focus(threads, seen, np.ascontiguousarray(ideal.distance.ravel()))
        colors = camera.colors(on_chip, scenery.day)
        numbers, _ = camera.develop(threads, on_chip, frame, exposure_time, colors)
    return Photograph(numbers, on_chip, ideal)


def _rays_of(
    camera: CcdCamera, position: tuple[float, float, float], orientation: Quaternion
) -> RayGrid:
    """The rays of all cells of a camera's pixels, in the world."""
    factor = camera.optics.sample_factor
    shape = camera.optics.height * factor, camera.optics.width * factor, 3
    along = turned(camera.directions, orientation).reshape(shape)
    return RayGrid(np.array(position, float), along)


def _toward_camera(normal: NDArray[np.float32], along: Floats) -> Floats:
    """The normals of the sides that are seen: facets are matt on both sides."""
    own = normal.astype(float)
    away = (own * along).sum(axis=-1) > 0.0
    own[away] *= -1.0
    return own


def _sunlit(
    parts: Parts, pool: WorkerPool, light: Light, view: RayGrid, ideal: IdealImage, normal: Floats
) -> Floats:
    """The cosine to the sun if the point sees it, else 0; for each ray."""
    facing = np.maximum(normal @ light.toward_sun, 0.0)
    rows, columns = np.nonzero(facing > 0.0)
    if not (light.is_sunny and rows.size):
        return np.zeros(ideal.distance.shape)
    distance = ideal.distance[rows, columns].astype(float)
    places = view.origins + distance[:, None] * view.directions[rows, columns]
    places += OFF_SURFACE * np.maximum(distance, 1.0)[:, None] * normal[rows, columns]
    toward = np.broadcast_to(light.toward_sun, places.shape)
    found = cast(parts, RayGrid.of_list(places, toward), pool).facet.ravel()
    hidden = found[: len(rows)] >= 0
    facing[rows[hidden], columns[hidden]] = 0.0
    return facing


def _light_of(
    camera: CcdCamera,
    light: Light,
    bands: tuple[float, ...],
    ideal: IdealImage,
    along: Floats,
    normal: Floats,
    lit: Floats,
) -> NDArray[np.float32]:
    """The light of each ray in the camera's bands, (rays, bands)."""
    between = _between_bands(bands, camera.wavelengths)
    values = ideal.values.reshape(-1, len(bands)).astype(float)
    up, facing, met = normal[..., 2].ravel(), lit.ravel(), ideal.facet.ravel() >= 0
    rays, found = along.reshape(-1, 3), np.empty((met.size, len(camera.response)), np.float32)
    for first in range(0, met.size, SPECTRA):
        own = slice(first, first + SPECTRA)
        onto = facing[own, None] * light.sun
        onto = onto + math.pi * (
            0.5 * (1.0 + up[own, None]) * light.sky + 0.5 * (1.0 - up[own, None]) * light.ground
        )
        radiance = np.nan_to_num(values[own]) @ between / math.pi * onto
        missed = ~met[own]
        radiance[missed] = _beyond(light, rays[own][missed])
        found[own] = radiance @ camera.response.T
    return found


def _beyond(light: Light, along: Floats) -> Floats:
    """What rays see that hit nothing."""
    radiance = np.where(along[:, 2:] >= 0.0, light.sky, light.ground)
    at_sun = light.is_sunny & (along @ light.toward_sun >= light.disc_cosine)
    return np.asarray(radiance + at_sun[:, None] * light.disc)


def _between_bands(bands: tuple[float, ...], wavelengths: Floats) -> Floats:
    """Weights of the values in bands for the reflectance at wavelengths, (bands, wavelengths)."""
    order = np.argsort(bands)
    known, unit = np.array(bands)[order], np.eye(len(bands))[:, order]
    return np.array([np.interp(wavelengths, known, row) for row in unit])
