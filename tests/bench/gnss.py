"""What a sample of a GNSS receiver costs, compiled and with a scene that hides satellites."""

import math
import time
from collections.abc import Callable

import numpy as np

from sensor_models.core.georeference import Georeference
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import ErrorMode, GnssParameters, Multipath
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.bench.bars import Bar, best_in_turns

ORIGIN = Georeference(math.radians(48.1), math.radians(11.6), 520.0)
#: In the middle of the street.
BODY = np.array([60.0, -3.0, 1.7, 1.0, 0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0])
RATE = 10.0


def in_a_batch(**parameters: object) -> Callable[[], float]:
    """Measures microseconds a sample of a batch under an open sky."""
    gnss = Gnss(GnssParameters(**parameters), None, ORIGIN)
    times, bodies = np.arange(20_000) / RATE, np.tile(BODY, (20_000, 1))

    def measure() -> float:
        gnss.reset()
        start = time.perf_counter()
        gnss.sample_batch(0, times, bodies)
        return (time.perf_counter() - start) / len(times) * 1e6

    return measure


def one_by_one(rays: RayScene, **parameters: object) -> Callable[[], float]:
    """Measures microseconds a sample in a scene, as Python calls it."""
    gnss = Gnss(GnssParameters(**parameters), None, ORIGIN, rays=rays)

    def measure() -> float:
        start = time.perf_counter()
        for index in range(2000):
            gnss.measure(index, index / RATE, BODY)
        return (time.perf_counter() - start) / 2000 * 1e6

    return measure


def bars() -> list[Bar]:
    """The bars of the receiver."""
    ranges = {"error_mode": ErrorMode.pseudorange}
    with RayScene(load_scene("street_canyon")) as rays:
        found = best_in_turns(
            {
                "fixed": in_a_batch(),
                "ranges": in_a_batch(**ranges),
                "sky": one_by_one(rays),
                "image": one_by_one(rays, multipath=Multipath.image, **ranges),
            },
            turns=7,
        )
    return [
        Bar("GNSS, fixed, compiled", found["fixed"], 1.0, "us", "24 satellites, 10 Hz"),
        Bar("GNSS, pseudorange, compiled", found["ranges"], 15.0, "us", "24 satellites"),
        Bar("GNSS, fixed, hidden by a scene", found["sky"], 20.0, "us", "street_canyon, 24 rays"),
        Bar("GNSS, reflected by a scene", found["image"], 200.0, "us", "street_canyon, mirrors"),
    ]
