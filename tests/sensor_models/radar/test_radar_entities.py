"""Which entity a target of a ray-traced radar is: that of the path in its direction."""

import numpy as np
import pytest

from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    RayTracedParameters,
    TracingParameters,
)
from sensor_models.radar.ray_traced import Image, Paths, RayTracedRadar, new_pages
from sensor_models.radar.targets import Detector
from sensor_models.scene.tracing import RayScene
from tests.smallest_scene import smallest_scene

DISTANCE, SPEED = 15.0, 1.0
#: Two directions at once; they are far apart, and all of the field of view is in them.
PAIRS = [(u, u + 0.9 if u < 0.0 else u - 0.9) for u in np.linspace(-0.93, 0.93, 21)]


def in_directions(sines: tuple[float, ...], level: float) -> Paths:
    """Paths of one range and speed from entities 1, 2, ... in some directions."""
    pages = new_pages(1)
    for place, u in enumerate(sines):
        pages.numbers[0, place] = [level, 0.0, 2.0 * DISTANCE, SPEED, u, 0.0, u, 0.0]
        pages.entities[0, place] = place + 1
    pages.used[:, 2] = len(sines)
    return Paths(pages, np.arange(1), 0, 0)


@pytest.mark.parametrize("sines", PAIRS, ids=lambda pair: f"{pair[0]:.3f}")
def test_targets_of_one_range_and_speed_are_told_apart_by_their_directions(sines) -> None:
    own = RayTracedParameters(
        antenna=AntennaParameters(pattern="isotropic"), tracing=TracingParameters(noise=False)
    )
    radar = RayTracedRadar(own)
    level = float(np.sqrt(radar.radio.received(5.0, DISTANCE, own.antenna.gain)))
    with RayScene(smallest_scene(), threads=1) as rays:
        cube, strongest = radar.synthesise(rays, in_directions(sines, level))
        found = Detector(own, radar.radio).targets(
            rays, Image(cube.astype(np.complex64), strongest, 0)
        )
    for number, u in enumerate(sines, 1):
        near = [t for t in found if abs(np.sin(t.azimuth) * np.cos(t.elevation) - u) < 0.05]
        assert near
        assert max(near, key=lambda target: target.rcs).entity_id == number
