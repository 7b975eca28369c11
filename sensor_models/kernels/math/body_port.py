r"""What the inputs of a body leave out: poses of which only velocities are known, and the reverse.

Position and velocity are one pair, orientation and angular velocity another. Of each pair two
things are remembered: whether its pose was ever another than the first one, and whether its
velocity was ever other than 0. What was seen says, by the policy of an instance, what is done:

    RESTING      neither was seen: nothing
    INTEGRATED   the pose is the integral of the velocity, from the first pose on
    DERIVED      the velocity comes from the poses
    GIVEN        both are taken as they are

Integrated, with h the interval from the state before, v and w linear in between:

    p1 = p0 + h/2 (v0 + v1)
    q1 = exp(h/2 (w0 + w1) + h^2/12 w1 x w0) q0        Magnus, fourth order; exact for a fixed axis

Derived: the slope, at its end, of the parabola through the last three poses (``motion``); of the
straight line through two, if there are no more. The velocity of a first state is known only with
the second pose (``revise_first``): it is the slope of that line.

What was seen never gets less, and depends on the states alone, so how time is cut into steps does
not matter to it. A pair that begins to move goes on from where it is: before it moves, all modes
give the same. Only a pose that was integrated and then moves by itself jumps to what is given.

Masters may begin with zeros, and set what is known a step later. A first state that is all start
values (origin, no rotation, no velocity), after which poses differ while their velocities are
still 0, was none: these poses count from the first state on, and the second state is the first that
motion is derived from. Only ``auto`` does so; velocities that are asked for are derived from it.

What is integrated is a sum of as many terms as states are known, so another cutting of time changes
it by roundings: after n states by at most n 1.2e-16 of the largest position, and n 1e-15 rad.

Known states are the rows of a matrix: the newest one that was taken, the one before it, what is
remembered (first pose, then what was seen of the two pairs), and what the inputs say now.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.motion import (
    ANGULAR_VELOCITY,
    ORIENTATION,
    POSITION,
    VELOCITY,
    parabola,
    rate_of_vector,
    rotation_between,
    store_quaternion,
)
from sensor_models.kernels.math.rotations import (
    Quaternion,
    Triple,
    cross,
    minus,
    multiply,
    plus,
    quaternion_at,
    rotation_of_vector,
    store,
    times,
    triple_at,
    turn,
)
from sensor_models.kernels.options import INLINE, PLAIN

Floats = NDArray[np.float64]

#: Rows of known states.
BEFORE, OLDER, MEMORY, NOW = range(4)
#: Layout of what is remembered: the first pose in the places of a state, what was seen of pairs.
SEEN = 7

#: What may be seen of a pair.
GOING, MOVED = 1, 2
#: What is done with a pair.
RESTING, INTEGRATED, DERIVED, GIVEN = range(4)
#: The policy that takes all as it is.
ALL_GIVEN = 0xFF
#: What is found where all of both pairs was seen, and both are given.
SETTLED = 0xFF
#: What may be told of: position and orientation integrated, velocity and angular velocity derived.
THINGS_TO_TELL = 4

#: Bits of what is found, behind what was seen and what is done: which pairs jump.
JUMPS = 8
#: And behind those, of ``take_in``: what there is to tell.
TELL = 10

#: What a position (m, and share of itself) and an orientation change by when nothing moves.
AT_REST = 1e-9


@njit("UniTuple(float64, 4)(float64, float64, float64)", **PLAIN)
def orientation_of_euler(roll: float, pitch: float, yaw: float) -> Quaternion:
    """The orientation of a body with these angles (rad): yaw about z, pitch y', roll x''."""
    a, b, c = 0.5 * roll, 0.5 * pitch, 0.5 * yaw
    about_z = (math.cos(c), 0.0, 0.0, math.sin(c))
    about_y = (math.cos(b), 0.0, math.sin(b), 0.0)
    about_x = (math.cos(a), math.sin(a), 0.0, 0.0)
    q: Quaternion = multiply(multiply(about_z, about_y), about_x)
    return q


@njit(**INLINE)
def turned_by_rates(before: Quaternion, rate_0: Triple, rate_1: Triple, time: float) -> Quaternion:
    """An orientation after some time, with angular velocities in the world at start and end."""
    half = times(0.5 * time, plus(rate_0, rate_1))
    bend = times(time * time / 12.0, cross(rate_1, rate_0))
    w, x, y, z = multiply(rotation_of_vector(plus(half, bend)), before)
    length = math.sqrt(w * w + x * x + y * y + z * z)
    return w / length, x / length, y / length, z / length


@njit(**INLINE, error_model="numpy")
def turn_by_rates(
    result: Floats, before: Floats, after: Floats, interval: float, elapsed: float
) -> None:
    """Orientation and angular velocity some time after a state, where the latter is linear."""
    rate_0, rate_1 = triple_at(before, ANGULAR_VELOCITY), triple_at(after, ANGULAR_VELOCITY)
    rate = plus(rate_0, times(elapsed / interval, minus(rate_1, rate_0)))
    first = quaternion_at(before, ORIENTATION)
    store_quaternion(result, ORIENTATION, turned_by_rates(first, rate_0, rate, elapsed))
    store(result, ANGULAR_VELOCITY, rate)


@njit(**INLINE, error_model="numpy")
def slopes_of_positions(
    older: Floats, before: Floats, now: Floats, interval_0: float, interval: float
) -> tuple[Triple, Triple]:
    """Velocity of the parabola through three positions, at the middle one and at the last."""
    origin = triple_at(before, POSITION)
    behind, ahead = (
        minus(triple_at(older, POSITION), origin),
        minus(triple_at(now, POSITION), origin),
    )
    d1, d2 = parabola(behind, ahead, interval_0, interval)
    return d1, plus(d1, times(2.0 * interval, d2))


@njit(**INLINE, error_model="numpy")
def slopes_of_orientations(
    older: Floats, before: Floats, now: Floats, interval_0: float, interval: float
) -> tuple[Triple, Triple]:
    """Angular velocity (world) of the parabola through three orientations, at the last two."""
    middle, last = quaternion_at(before, ORIENTATION), quaternion_at(now, ORIENTATION)
    ahead = rotation_between(middle, last)
    behind = rotation_between(middle, quaternion_at(older, ORIENTATION))
    d1, d2 = parabola(behind, ahead, interval_0, interval)
    rate = rate_of_vector(ahead, plus(d1, times(2.0 * interval, d2)))
    return turn(middle, d1), turn(last, rate)


@njit(**INLINE)
def _seen(seen: int, first: Floats, now: Floats, poses: tuple[int, int], rates: int) -> int:
    """What was seen of a pair, whose pose and velocity lie there, with a state more."""
    for i in range(poses[0], poses[1]):
        if now[i] != first[i]:
            seen |= MOVED
    for i in range(rates, rates + 3):
        if now[i] != 0.0:
            seen |= GOING
    return seen


@njit(**INLINE)
def _is_untouched(state: Floats) -> bool:
    """Whether a first pose is that of the start values."""
    apart = 0.0
    for i in range(SEEN):
        apart += abs(state[i] - (1.0 if i == ORIENTATION else 0.0))
    return apart == 0.0


@njit(**INLINE)
def _jumps(policy: int, memory: Floats, seen_t: int, seen_r: int) -> int:
    """The pairs whose pose was not set with the first state but with the second, a bit each."""
    asked = policy & 3 == DERIVED
    before = memory[SEEN] + memory[SEEN + 1]
    if asked or (policy >> 2 * MOVED) & 3 != DERIVED or before != RESTING:
        return 0
    moved = int(seen_t == MOVED) | int(seen_r == MOVED) << 1
    return moved if moved != 0 and _is_untouched(memory) else 0


@njit(**INLINE)
def _copy(to: Floats, of: Floats, first: int, end: int) -> None:
    for i in range(first, end):
        to[i] = of[i]


@njit(**INLINE)
def _clear(to: Floats, first: int) -> None:
    to[first], to[first + 1], to[first + 2] = 0.0, 0.0, 0.0


@njit(**INLINE)
def _hold(known: Floats, translation: int, rotation: int, states: float) -> None:
    """Complete a state that no time has passed before: the first one, or one given twice."""
    before, now = known[BEFORE], known[NOW]
    first = states == 0.0
    if translation == DERIVED:
        _clear(now, VELOCITY)
    if rotation == DERIVED:
        _clear(now, ANGULAR_VELOCITY)
    if first:
        return
    if translation == INTEGRATED:
        _copy(now, before, POSITION, ORIENTATION)
    if rotation == INTEGRATED:
        _copy(now, before, ORIENTATION, VELOCITY)
    if translation == DERIVED:
        _copy(now, before, VELOCITY, ANGULAR_VELOCITY)
    if rotation == DERIVED:
        _copy(now, before, ANGULAR_VELOCITY, ANGULAR_VELOCITY + 3)


@njit(**INLINE, error_model="numpy")
def _complete(known: Floats, modes: tuple[int, int], interval_0: float, interval: float) -> None:
    """Complete a state some time after another one."""
    before, older, now = known[BEFORE], known[OLDER], known[NOW]
    translation, rotation = modes
    if translation == INTEGRATED:
        mean = times(0.5, plus(triple_at(before, VELOCITY), triple_at(now, VELOCITY)))
        store(now, POSITION, plus(triple_at(before, POSITION), times(interval, mean)))
    elif translation == DERIVED:
        _, velocity = slopes_of_positions(older, before, now, interval_0, interval)
        store(now, VELOCITY, velocity)
    if rotation == INTEGRATED:
        turn_by_rates(now, before, now, interval, interval)
    elif rotation == DERIVED:
        _, rate = slopes_of_orientations(older, before, now, interval_0, interval)
        store(now, ANGULAR_VELOCITY, rate)


@njit("int64(float64[:,::1], int64, float64, float64, float64)", **PLAIN, error_model="numpy")
def complete(known: Floats, policy: int, states: float, interval_0: float, interval: float) -> int:
    """Complete what the inputs say now.

    Args:
        known: the known states.
        policy: two bits for each thing that may be seen: what is done then.
        states: how many were known so far; 0 if the first one is given (again).
        interval_0: time between the two states before, if there are two.
        interval: time since the state before; 0 if it is given again.

    Returns:
        What was seen of translation and rotation, then what is done, in two bits each; then which
        of them jump.
    """
    now = known[NOW]
    seen_t, seen_r = int(known[MEMORY, SEEN]), int(known[MEMORY, SEEN + 1])
    if states == 0.0:
        seen_t = seen_r = RESTING
    first = known[NOW if states == 0.0 else MEMORY]
    seen_t = _seen(seen_t, first, now, (POSITION, ORIENTATION), VELOCITY)
    seen_r = _seen(seen_r, first, now, (ORIENTATION, VELOCITY), ANGULAR_VELOCITY)
    jumps = 0
    if states == 1.0 and interval > 0.0:
        jumps = _jumps(policy, known[MEMORY], seen_t, seen_r)
        seen_t = RESTING if jumps & 1 else seen_t
        seen_r = RESTING if jumps & 2 else seen_r
    modes = (policy >> 2 * seen_t) & 3, (policy >> 2 * seen_r) & 3
    if interval > 0.0:
        _complete(known, modes, interval_0, interval)
    else:
        _hold(known, modes[0], modes[1], states)
    return int(seen_t | seen_r << 2 | modes[0] << 4 | modes[1] << 6 | jumps << JUMPS)


@njit(**INLINE)
def modes_of(found: int) -> tuple[int, int]:
    """What is done with translation and rotation, of what ``complete`` has found."""
    return (found >> 4) & 3, (found >> 6) & 3


@njit(**INLINE)
def _copy_jumps(to: Floats, now: Floats, found: int) -> None:
    """Copy the poses that jump."""
    if (found >> JUMPS) & 1:
        _copy(to, now, POSITION, ORIENTATION)
    if (found >> JUMPS) & 2:
        _copy(to, now, ORIENTATION, VELOCITY)


@njit(**INLINE)
def revise_first(known: Floats, found: int) -> None:
    """Give the first state what is known of it by the second one: pose or velocities.

    Velocities that a step has put there that was refused later are taken back here, poses by
    whoever refused it.
    """
    before, now, memory = known[BEFORE], known[NOW], known[MEMORY]
    _copy_jumps(before, now, found)
    modes = modes_of(found)
    for pair, rates in ((0, VELOCITY), (1, ANGULAR_VELOCITY)):
        if modes[pair] == DERIVED:
            _copy(before, now, rates, rates + 3)
        elif int(memory[SEEN + pair]) & GOING == 0:
            _clear(before, rates)


@njit(**INLINE)
def remember(known: Floats, found: int, states: float) -> None:
    """Keep what ``complete`` has found, before the state becomes the newest one that is known."""
    memory, now = known[MEMORY], known[NOW]
    if states == 0.0:
        _copy(memory, now, POSITION, VELOCITY)
    _copy_jumps(memory, now, found)
    memory[SEEN], memory[SEEN + 1] = found & 3, (found >> 2) & 3


@njit(**INLINE)
def _has_moved(state: Floats, memory: Floats) -> bool:
    """Whether a position differs from the first one by more than rounding."""
    for i in range(POSITION, ORIENTATION):
        if abs(state[i] - memory[i]) > AT_REST * (1.0 + abs(memory[i])):
            return True
    return False


@njit(**INLINE)
def _has_turned(state: Floats, memory: Floats) -> bool:
    """Whether an orientation differs from the first one by more than rounding."""
    total = 0.0
    for i in range(ORIENTATION, VELOCITY):
        total += state[i] * memory[i]
    return abs(total) < 1.0 - AT_REST


@njit("int64(float64[:,::1], int64)", **PLAIN)
def to_tell(known: Floats, found: int) -> int:
    """What there is to tell of, a bit each, of what ``complete`` has found.

    A pose that was integrated is told of one state later than it differs, because the pose of a
    master that forms it of the velocity of the step before is late by as much.
    """
    memory = known[MEMORY]
    translation, rotation = modes_of(found)
    flags = 0
    if translation == INTEGRATED and _has_moved(known[BEFORE], memory):
        flags |= 1
    if rotation == INTEGRATED and _has_turned(known[BEFORE], memory):
        flags |= 2
    if translation == DERIVED and _has_moved(known[NOW], memory):
        flags |= 4
    if rotation == DERIVED and _has_turned(known[NOW], memory):
        flags |= 8
    return flags


@njit("int64(float64[:,::1], float64[::1], int64, float64, float64, float64)", **PLAIN)
def take_in(
    known: Floats, given: Floats, policy: int, states: float, interval_0: float, interval: float
) -> int:
    """Complete what the inputs say, tell of it, and remember it.

    Args:
        known: the known states; what is remembered is that of the next state afterwards.
        given: what the inputs say now.
        policy: this and what follows as in ``complete``.
        states: see there.
        interval_0: see there.
        interval: see there.

    Returns:
        What ``complete`` has found, and above ``TELL`` what there is to tell.
    """
    _copy(known[NOW], given, 0, given.size)
    found = complete(known, policy, states, interval_0, interval)
    told = to_tell(known, found) if interval > 0.0 else 0
    is_first = interval == 0.0 and states <= 1.0
    remember(known, found, 0.0 if is_first else 1.0)
    return int(found | told << TELL)
