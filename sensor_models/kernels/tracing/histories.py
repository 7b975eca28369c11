"""Where bodies were at some instants, between known states."""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.motion import ORIENTATION, interpolate_body_into

Floats = NDArray[np.float64]

#: Whether instants lie before the first or after the last known one.
BEFORE, AFTER = 1, 2


@njit(nogil=True, cache=True)
def states_at(
    times: Floats,
    states: Floats,
    instants: Floats,
    rounding: float,
    quantised: float,
    found: Floats,
) -> int:
    """Write the states of bodies at instants, which are in order.

    ``times`` are (n,), at least one of them, ``states`` (n, bodies, values). An instant that
    differs from a known one by rounding is that one. Returns whether there are instants beyond the
    known ones, by more than a share ``quantised`` of the step between known states.
    """
    last = len(times) - 1
    step = times[last] - times[last - 1] if last > 0 else 0.0
    after, beyond = 0, 0
    for k in range(len(instants)):
        instant = instants[k]
        room = rounding * max(1.0, abs(instant))
        while after <= last and times[after] < instant - room:
            after += 1
        if after > last:
            found[k] = states[last]
            if times[last] > -np.inf and instant > times[last] + room + quantised * step:
                beyond |= AFTER
            continue
        if times[after] <= instant + room or after == 0:
            found[k] = states[after]
            if times[after] > instant + room:
                beyond |= BEFORE
            continue
        duration = times[after] - times[after - 1]
        share = (instant - times[after - 1]) / duration
        for body in range(states.shape[1]):
            one, other = states[after - 1, body], states[after, body]
            if np.array_equal(one, other) and not one[7:].any():
                found[k, body] = one
            else:
                interpolate_body_into(found[k, body], one, other, duration, share)
    return beyond


@njit(cache=True)
def turn_to_unit_length(states: Floats, shortest: float) -> int:
    """Bring the quaternions of states, (bodies, values), to unit length.

    Returns:
        The first body with a number that is not finite, or a quaternion that is too short, which
        is left as it is; -1 if there is none.
    """
    for body in range(len(states)):
        own, square = states[body], 0.0
        for k in range(ORIENTATION, ORIENTATION + 4):
            square += own[k] * own[k]
        length = math.sqrt(square)
        if not (np.isfinite(own).all() and shortest <= length < np.inf):
            return body
        for k in range(ORIENTATION, ORIENTATION + 4):
            own[k] /= length
    return -1
