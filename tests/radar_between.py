"""A sphere between a ground and a wall, both conductors: by default rays and by image theory."""

import math

import numpy as np

from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    FieldParameters,
    RayTracedParameters,
    TracingParameters,
    TubeParameters,
)
from sensor_models.radar.ray_traced import RayTracedRadar
from sensor_models.scene.tracing import RayScene
from tests import radar_images as images
from tests import radar_range as range_
from tests.radar_range import METAL, WAVELENGTH

RADIUS = 0.1
#: How far the ground is below the radar and the wall beside it, and where the sphere is, m.
BELOW, BESIDE, RAISED = 0.5, 1.2, 0.3
#: With facets that are 0.03 mm from the sphere.
FINE_BALL = range_.ball(RADIUS, 6)


def images_of_the_radar() -> list[tuple[np.ndarray, float]]:
    """Where the radar is and where planes show it, with what these make of an upright field."""
    ground, wall = -2.0 * BELOW, 2.0 * BESIDE
    return [
        (np.array([0.0, 0.0, 0.0]), 1.0),
        (np.array([0.0, 0.0, ground]), 1.0),  # upright fields stand the same over a conductor,
        (np.array([0.0, wall, 0.0]), -1.0),  # and along a wall the other way
        (np.array([0.0, wall, ground]), -1.0),
    ]


def theory_between(distance: float, *, crossing: bool = True) -> float:
    """The cross section by all sixteen ways of image theory, as in ``radar_images.sphere_over``.

    Without ``crossing``, by those ten that go over no two different mirrors.
    """
    k, centre = 2.0 * math.pi / WAVELENGTH, np.array([distance, 0.0, RAISED])
    total, own = 0j, 0.0
    stations = images_of_the_radar()
    for i, (source, one) in enumerate(stations):
        for j, (receiver, other) in enumerate(stations):
            if not crossing and i != j and i * j > 0:
                continue
            point = images.shortest(source, receiver, centre, RADIUS)
            there, back = (float(np.linalg.norm(p - point)) for p in (source, receiver))
            spread = there * back + 0.5 * RADIUS * (there + back)
            way = one * other / spread * np.exp(-1j * k * (there + back))
            own = own or abs(way)
            total += way
    return math.pi * RADIUS**2 * abs(total / own) ** 2


def rows_between(distance: float, spacing: float = 0.02) -> tuple[RayTracedRadar, np.ndarray]:
    """The radar, and the paths of all that comes back from the sphere or about as far."""
    ground = range_.triangles(range_.quad((1, -6, -BELOW), (40, 0, 0), (0, 6 + BESIDE, 0)))
    wall = range_.triangles(range_.quad((1, BESIDE, -BELOW), (0, 0, 6), (40, 0, 0)))
    things = (
        (ground, np.eye(4), METAL, -1),
        (wall, np.eye(4), METAL, -1),
        (FINE_BALL, range_.placed((distance, 0.0, RAISED)), METAL, -1),
    )
    own = RayTracedParameters(
        antenna=AntennaParameters(pattern="isotropic"),
        tracing=TracingParameters(noise=False),
        fov=FieldParameters(0.25, 0.14),
        rays=TubeParameters(spacing=spacing),
    )
    radar = RayTracedRadar(own)
    with RayScene(range_.scene_of(*things), threads=1) as rays:
        rows = radar.trace(rays, range_.still(), 0).numbers
    return radar, rows[np.abs(rows[:, 2] - 2.0 * distance) < 1.5]


def between(distance: float, spacing: float = 0.02) -> float:
    """The cross section of all that comes back, by rays of a spacing."""
    radar, rows = rows_between(distance, spacing)
    phases = np.exp(2j * np.pi * (rows[:, 2] / WAVELENGTH % 1.0))
    whole = ((rows[:, 0] + 1j * rows[:, 1]) * phases).sum()
    return float(abs(whole) ** 2 / radar.radio.received(1.0, distance))
