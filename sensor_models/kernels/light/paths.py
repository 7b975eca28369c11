"""What light meets on its way, and how far it is followed.

A ``Path`` is all that the tree of rays (``light.tree``) has to know. It knows nothing of what
sends the rays or makes something of what comes back. What writes points imports it for the names
of limits, in FMUs without Embree, too: so it imports nothing that traces.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.math.philox import Key

#: Limits that cut light off, as ``Tree.lost`` counts them: interfaces met at the greatest depth
#: whose light would have gone on; rays that met more boundaries than are followed; media that were
#: entered inside as many others as are remembered; branches for which the stack had no room; what
#: a detector could not hold.
DEPTH_LIMIT, EVENT_LIMIT, NESTING_LIMIT, BRANCH_LIMIT, ECHO_LIMIT = range(5)
LIMIT_NAMES = ("depth", "events", "nesting", "branches", "echoes")
LIMITS = len(LIMIT_NAMES)

#: Bits of ``Path.flags``: what not every detector wants of arrivals (``light.arrivals``).
TELL_MISSES, TELL_SEGMENTS, TELL_PLACES = 1, 2, 4


class Path(NamedTuple):
    """Surfaces, media and limits of the way of light."""

    surfaces: NDArray[np.float64]  # of the materials
    media: NDArray[np.float64]  # of the scene, then the inside of each material
    medium_of_volume: NDArray[np.int32]  # row of ``media`` of each volume
    tables: NDArray[np.float64]  # of surfaces that are tables (``tabulated``); empty without any
    cone: float  # tan^2(half the half-angle that a detector accepts light in)
    most_depth: int  # of the tree
    most_events: int  # boundaries of media that a branch may pass
    least_weight: float  # of a branch
    most_range: float  # optical path of a branch, m
    flags: int  # what is told of arrivals: TELL_MISSES and so on
    frame: int  # counts the draws
    key: Key  # of the draws of media
    # What a branch must have left to be detected at all: so much at the sensor, and so much more
    # for each m of its reduced path; 0 where detectors do not say.
    detected_from: float
    detected_by: float
