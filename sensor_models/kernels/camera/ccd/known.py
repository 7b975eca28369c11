"""What a point of a picture knows of light around from what neighbours share (``shared``)."""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.ccd.meetings import Meeting
from sensor_models.kernels.camera.ccd.nets import interleaved
from sensor_models.kernels.camera.ccd.points import (
    CELL_OF,
    DRAW_OF,
    MATERIAL_OF,
    NET_OF,
    PIXEL_OF,
    SHARE_OF,
    STEADY_OF,
    Points,
)
from sensor_models.kernels.camera.ccd.shared import (
    BASES,
    CHANGES,
    OWN_SHARE,
    SIDE,
    Records,
    Taken,
    look_up,
    put_spot,
)
from sensor_models.kernels.camera.ccd.shots import MOST_NODES, MOST_SAMPLES, NODE_BITS, Shot
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.surfaces import (
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
    TABULATED,
    surface_at,
)
from sensor_models.kernels.math.rotations import dot
from sensor_models.kernels.tracing.packets import ACCESS

Floats = NDArray[np.float64]

#: Cosine at which a cell is seen that is as long as cells count at most.
LEAST_SLANT = 0.1
#: Bits of the number of a place in a picture, before those of the ray of its pixel.
NET_BITS = 22


@njit(**ACCESS)
def is_straight(node: int) -> bool:
    """Whether nothing but glass is before a node, which lets its way through: 0, 2, 6, 14, ..."""
    return node + 2 & node + 1 == 0


@njit(**ACCESS)
def take_shared(
    light: Light,
    records: Records,
    shot: Shot,
    points: Points,
    spot: Floats,
    taken: Taken,
    meeting: Meeting,
    place: int,
) -> None:
    """Take the light around a point from what neighbours share, as far as they know of it."""
    pixel = points.ids[place, PIXEL_OF]
    down, across = pixel // shot.columns, pixel % shot.columns
    sample = points.ids[place, DRAW_OF] >> NODE_BITS & (MOST_SAMPLES - 1)
    points.ids[place, NET_OF] = interleaved(down, across) + (sample << NET_BITS)
    material = points.ids[place, MATERIAL_OF]
    surface = surface_at(light.surfaces, material)
    points.numbers[place, SHARE_OF] = meeting.weight
    if surface[KIND] == TABULATED:  # what it sends depends on where each ray comes from
        return
    points.numbers[place, SHARE_OF] *= OWN_SHARE
    coated = surface[KIND] != LAMBERT
    size, least = SIDE * shot.cell * meeting.optical, OWN_SHARE * light.rays
    changes = 0.0
    if is_straight(points.ids[place, DRAW_OF] & (MOST_NODES - 1)):  # mirrors would mix places
        slant = max(-dot(meeting.along, meeting.normal), LEAST_SLANT)
        points.numbers[place, CELL_OF] = size / slant
        changes = CHANGES[1 if coated else 0]
    coat, lobe = (material + 1, math.sqrt(surface[SLOPE_SQUARED])) if coated else (0, 0.0)
    put_spot(spot, meeting.place, meeting.normal, size, coat, lobe)
    for side in range(2 if coated else 1):  # in one place, so that it is compiled into it
        result = points.around[place] if side == BASES else points.onto[place]
        cells = look_up(records, down, across, side, least, spot, taken, result)
        if side == BASES:
            points.known[place] = cells >= 0.0
            points.numbers[place, STEADY_OF] = cells / changes if changes > 0.0 else math.inf
        else:
            points.shown[place] = cells >= 0.0
