"""What the rays of a packet hit first, and the echoes of it, step by step for the whole packet.

Each step is a loop over the packet: one ray after the other, all steps of each, a processor would
mostly wait for divisions and roots of one ray before it begins with the next.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.beams import Lanes
from sensor_models.kernels.lidar.echoes import intensity_of_echo
from sensor_models.kernels.lidar.layout import Detector, Floats
from sensor_models.kernels.light.interfaces import strength_of
from sensor_models.kernels.light.media import (
    ABSORPTION,
    MEDIUM_IOR,
    transmission,
)
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import surface_at
from sensor_models.kernels.math.rotations import dot, times
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_material,
    hit_normal,
    is_hit,
)
from sensor_models.kernels.tracing.packets import ACCESS, Packet
from sensor_models.kernels.tracing.scene_view import SceneView


class FirstHits(NamedTuple):
    """What the rays of a packet hit first, and the echoes of it; for rays that hit."""

    hit: NDArray[np.bool_]  # (WIDTH,), like all others
    material: NDArray[np.int64]
    length: Floats
    cosine: Floats
    toward: Floats  # (WIDTH, 3), the normal on the side of the sensor
    weight: Floats  # of the light that arrives
    path: Floats  # that the beam has widened over when it is back
    intensity: Floats


@njit(cache=True)
def new_first_hits() -> FirstHits:
    """Room for the hits of a packet."""
    return FirstHits(
        np.zeros(WIDTH, np.bool_),
        np.zeros(WIDTH, np.int64),
        np.zeros(WIDTH),
        np.zeros(WIDTH),
        np.zeros((WIDTH, 3)),
        np.zeros(WIDTH),
        np.zeros(WIDTH),
        np.zeros(WIDTH),
    )


@njit(**ACCESS)
def look_up(view: SceneView, packet: Packet, lanes: Lanes, first: FirstHits) -> None:
    """What the rays of a packet hit first, and how far away."""
    for lane in range(WIDTH):
        first.hit[lane] = (lanes.ray[lane] >= 0) & is_hit(packet, lane)
    for lane in range(WIDTH):
        if first.hit[lane]:
            first.material[lane] = hit_material(view, packet, lane)
            first.length[lane] = hit_distance(packet, lane)


@njit(**ACCESS)
def face(view: SceneView, packet: Packet, lanes: Lanes, first: FirstHits) -> None:
    """How the surfaces lie that were hit."""
    for lane in range(WIDTH):
        if first.hit[lane]:
            along = (lanes.along[lane, 0], lanes.along[lane, 1], lanes.along[lane, 2])
            outward = hit_normal(view, packet, lane)
            facing = -dot(along, outward)
            first.cosine[lane] = min(abs(facing), 1.0)
            toward = times(1.0 if facing >= 0.0 else -1.0, outward)
            for k in range(3):
                first.toward[lane, k] = toward[k]


@njit(**ACCESS)
def answer(path: Path, detector: Detector, lanes: Lanes, first: FirstHits) -> None:
    """How strong the echoes of opaque surfaces are."""
    index, absorption = path.media[0, MEDIUM_IOR], path.media[0, ABSORPTION]
    ways = (2.0 if detector.round_trip else 1.0) / index
    for lane in range(WIDTH):
        if first.hit[lane]:
            first.weight[lane] = transmission(absorption, first.length[lane])
    for lane in range(WIDTH):
        if first.hit[lane]:
            along = (lanes.along[lane, 0], lanes.along[lane, 1], lanes.along[lane, 2])
            toward = (first.toward[lane, 0], first.toward[lane, 1], first.toward[lane, 2])
            surface = surface_at(path.surfaces, first.material[lane])
            cosine = first.cosine[lane]
            first.intensity[lane] = strength_of(surface, along, toward, cosine, index, path.cone)
    for lane in range(WIDTH):
        if first.hit[lane]:
            reduced, strength = ways * first.length[lane], first.intensity[lane]
            weight = first.weight[lane]
            first.path[lane] = reduced
            first.intensity[lane] = intensity_of_echo(detector, weight, reduced, strength)
