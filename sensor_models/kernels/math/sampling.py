r"""Which samples fall due when an instant becomes known, compiled.

The law, with its reasons, is in ``sensor_models.core.clock``: sample k belongs to

    t_k = start + k / rate,     k = 0, 1, ...       (rate > 0)
    t_k = k-th known instant                        (rate = 0)

and an instant T counts as that of a sample if they differ by no more than

    1e-6 h + n eps max(|start|, |T|),   at most 1e-3 h, at least 4 eps max(|start|, |T|),
    but never more than a quarter of the sampling period

with h the shorter of the last step and the sampling period, and n the number of known instants.

What is refused, because samples could not be told apart or counted:

    spacing of float64 at max(|start|, |T|) > 1 / rate      instants are coarser than samples
    more samples than ``most`` in one step                  a step that would never end

A clock is a float64 array. ``due`` changes nothing; ``take`` takes note of what it has found.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import INLINE, PLAIN

Floats = NDArray[np.float64]

#: Two statements of one instant may differ by this share of it.
ROUNDING = 4.0 * 2.0**-52
#: Share of a step by which instants differ that went through decimals or nanoseconds.
QUANTISED = 1e-6
#: Share of a step that is never exceeded.
LARGEST = 1e-3
#: Share of the sampling period that is never exceeded, whatever the rounding of instants.
LARGEST_OF_PERIOD = 0.25

#: Layout of a clock.
START, LATEST, NEXT_INDEX, KNOWN_STATES = range(4)
CLOCK_SIZE = 4

#: What ``due`` finds: samples or none, the start once more, a repeated instant, or a refusal.
GOES_ON, STARTS_AGAIN, REPEATS = range(3)
NOT_FINITE, BACKWARDS, NOT_THE_START, TOO_COARSE, TOO_MANY = range(11, 16)

DUE_SIGNATURE = "Tuple((int64, int64, int64, float64))(float64[::1], float64, float64, int64)"


@njit(**INLINE)
def same_instant(a: float, b: float) -> bool:
    """Whether two numbers state one instant of a master's time."""
    return a == b or abs(a - b) <= ROUNDING * max(abs(a), abs(b))


@njit(**INLINE, error_model="numpy")
def stamp_of(start: float, rate: float, index: int, known_time: float) -> float:
    """The instant of a sample; without a rate, the known one."""
    return start + index / rate if rate > 0.0 else known_time


@njit(**INLINE)
def spacing_at(reach: float) -> float:
    """Distance from a number to the next larger one."""
    return float(np.nextafter(reach, np.inf) - reach)


@njit(**INLINE, error_model="numpy")
def _tolerance_at(clock: Floats, rate: float, known_time: float, known_states: float) -> float:
    reach = max(abs(clock[START]), abs(known_time))
    tolerance = ROUNDING * reach
    if known_states > 0.0:
        step = known_time - clock[LATEST]
        if rate > 0.0:
            step = min(step, 1.0 / rate)
        added_up = known_states * 2.0**-52 * reach
        tolerance = max(tolerance, min(QUANTISED * step + added_up, LARGEST * step))
    if rate > 0.0:
        tolerance = min(tolerance, LARGEST_OF_PERIOD / rate)
    return tolerance


@njit(**INLINE, error_model="numpy")
def _first_after(clock: Floats, rate: float, first: int, limit: float) -> int:
    """The first sample later than a limit that was checked."""
    start = clock[START]
    after = max(first, int((limit - start) * rate))
    # The estimate may be one off; what counts is how a stamp compares with the limit.
    while after > first and stamp_of(start, rate, after - 1, limit) > limit:
        after -= 1
    while stamp_of(start, rate, after, limit) <= limit:
        after += 1
    return after


@njit("int64(float64[::1], float64, float64, int64)", **PLAIN, error_model="numpy")
def check(clock: Floats, rate: float, known_time: float, most: int) -> int:
    """Whether samples could be told apart and counted up to an instant: 0, or why not."""
    if rate == 0.0:
        return 0
    if spacing_at(max(abs(clock[START]), abs(known_time))) * rate > 1.0:
        return TOO_COARSE
    if not (known_time - clock[START]) * rate - clock[NEXT_INDEX] <= most:
        return TOO_MANY
    return 0


@njit(DUE_SIGNATURE, **PLAIN, error_model="numpy")
def due(clock: Floats, rate: float, known_time: float, most: int) -> tuple[int, int, int, float]:
    """The samples that fall due with a known instant, as a range, and what counts as equal.

    Returns:
        What was found, the first sample, the one after the last, and the tolerance.
    """
    known_states, latest, first = clock[KNOWN_STATES], clock[LATEST], int(clock[NEXT_INDEX])
    if not math.isfinite(known_time):
        return NOT_FINITE, 0, 0, 0.0
    found = GOES_ON
    if known_states == 1.0 and same_instant(known_time, latest):
        found, known_states, first = STARTS_AGAIN, 0.0, 0
    elif known_states > 0.0 and not latest < known_time:
        return (REPEATS if same_instant(known_time, latest) else BACKWARDS), first, first, 0.0
    if known_states == 0.0 and not same_instant(known_time, clock[START]):
        return NOT_THE_START, 0, 0, 0.0
    tolerance = _tolerance_at(clock, rate, known_time, known_states)
    if rate == 0.0:
        return found, first, first + 1, tolerance
    refusal = check(clock, rate, known_time, most)
    if refusal != 0:
        return refusal, 0, 0, 0.0
    after = _first_after(clock, rate, first, known_time + tolerance)
    return found, first, after, tolerance


@njit(**INLINE)
def take(clock: Floats, found: int, after: int, known_time: float) -> None:
    """Take note of what ``due`` has found."""
    if found == STARTS_AGAIN:
        clock[KNOWN_STATES] = 1.0
    elif found == GOES_ON:
        clock[KNOWN_STATES] += 1.0
    clock[NEXT_INDEX] = after
    clock[LATEST] = known_time


@njit(DUE_SIGNATURE, **PLAIN)
def note(clock: Floats, rate: float, known_time: float, most: int) -> tuple[int, int, int, float]:
    """Find what is due, as ``due``, and take note of it unless it is refused."""
    found, first, after, tolerance = due(clock, rate, known_time, most)
    if found < NOT_FINITE:
        take(clock, found, after, known_time)
    return found, first, after, tolerance
