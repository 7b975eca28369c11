"""Echoes of ``WaveformLidar`` from ideal ranges: its pulses in a scene too large for one process.

The rays of each pulse are cast into all parts, and their hits go to the lidar's histogram, receiver
and extraction (``WaveformLidar.echoes_of``). Surfaces are matt: a ray at the angle theta gets
C / pi cos(theta) back, where C is the value in the band of the lidar's wavelength.

Source: VANE, whose lidar model takes the range arrays of the quick caster. Not modelled: surfaces
that are not matt, such as mirrors and glass, media, motion within the sweep.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import Quaternion, matrix_from_quaternion, unit_orientation
from sensor_models.core.quantities import ParameterError
from sensor_models.scene.model import Scene, Sky
from sensor_models.tools.caster.caster import Progress, cast
from sensor_models.tools.caster.parts import Parts
from sensor_models.tools.caster.views import RayGrid
from sensor_models.tools.workers import WorkerPool
from sensor_models.waveform.lidar import WaveformLidar

Floats = NDArray[np.float64]

#: How many rays are cast at a time.
RAYS = 1 << 20
#: How far the nearest band may be from the lidar's wavelength, as a share of that.
NEAR = 0.02


def echoes(
    parts: Parts,
    lidar: WaveformLidar,
    pool: WorkerPool,
    *,
    sky: Sky | None = None,
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
    orientation: Quaternion = (1.0, 0.0, 0.0, 0.0),
    frame: int = 0,
    progress: Progress | None = None,
) -> NDArray[np.void]:
    """The echoes of a sweep from one pose, as records of ``waveform.lidar.ECHO``.

    ``progress`` counts pulses.
    """
    band, turn = _band_of(parts, lidar.parameters.wavelength), _turn_of(orientation)
    dark = Scene(name="sky", meshes=(), instances=(), materials=(), sky=sky or Sky())
    sun = np.array(dark.sky.sun_direction) / np.linalg.norm(dark.sky.sun_direction)
    at_a_time, total = max(1, RAYS // len(lidar.pulse.share)), len(lidar.pattern.directions(0))
    found = []
    for first in range(0, total, at_a_time):
        last = min(first + at_a_time, total)
        starts, along = (vectors @ turn.T for vectors in lidar.rays_of(first, last))
        image = cast(parts, RayGrid(starts + np.array(position), along.astype(np.float32)), pool)
        facing = -(image.normal * along).sum(axis=-1)
        side = np.where(facing < 0.0, -1.0, 1.0)  # facets are matt on both sides
        lit = side * (image.normal @ sun)
        strength = np.nan_to_num(image.values[..., band]) / math.pi * np.abs(facing)
        rays = np.stack([image.distance, strength, np.abs(facing), lit], axis=-1)
        found.append(lidar.echoes_of(dark, rays, first=first, frame=frame))
        if progress is not None:
            progress(last, total)
    return np.concatenate(found)


def _turn_of(orientation: Quaternion) -> Floats:
    unit = unit_orientation(*orientation, name="orientation")
    return np.asarray(matrix_from_quaternion(np.array(unit)))


def _band_of(parts: Parts, wavelength: float) -> int:
    """The index of the band of a wavelength."""
    away = [abs(band - wavelength) for band in parts.bands]
    if not away or min(away) > NEAR * wavelength:
        raise ParameterError(
            f"{parts.directory}: no band is near the lidar's {wavelength * 1e9:.0f} nm"
        )
    return int(np.argmin(away))
