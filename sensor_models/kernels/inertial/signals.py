r"""Inertial sensors: ideal signals and their integrals, from the motion of a body.

Ideal signals in the frame of a sensor:

    accelerometer  f = C (R^T (a - g) + alpha x r + omega x (omega x r))         AGX, eq. 26-29
    gyroscope      C omega                                                       AGX, eq. 30
    magnetometer   C R^T B(p + R r)                                              AGX, 4.5

Symbols: p, a position and acceleration of the body's origin in the world; R from body to world; r
place of the sensor in the body, C from body to sensor; omega, alpha angular velocity and angular
acceleration in the body frame; g gravity in the world, pointing down; B ``magnetic_field``.

The two accelerations are differences of the velocities, with h and h' the last two intervals and
x either velocity, or are given with the body:

    backward   s = (x - x1) / h
    bdf2       s + (s - s') h / (h + h'),   s' = (x1 - x2) / h'                  the default

bdf2, the second-order formula for variable steps, is ``backward`` at the second sample. At the
first one there is no difference yet, and both are 0. ``backward`` is the mean over the last
interval: its error is of first order in h, that of bdf2 of second order.

Increments over the interval h (CORR):

    velocity   M^T (u - u1 - g h) + (reported - ideal) h,   u = v + omega x r in the world
    angle      vector of (R1^T R)  + (reported - ideal) h,  or the two rotations composed

M is the orientation halfway, so the velocity increment is what an ideal sensor in its turning
frame integrates, to second order. The angle is exact, below half a turn. The error is integrated
in one piece, from the ideal to the reported value: the stages between cancel. An axis with a
stuck reading integrates that reading, and one that is not selected integrates nothing.

Deviations: g is subtracted, where AGX prints a plus: +9.80665 upward at rest. The increments
start from the motion itself where the source multiplies the present value by h, which is wrong by
what the value changed within h. Increments rounded to steps of their own are rounded one by one;
the rest is not carried to the next one.
Not modelled: resonance of the sensing elements, flywheel or paired-accelerometer internals, size
effect of a sensor whose axes are built at different places.

A sensor's parameters are a block of the unit's, whose place all functions take; see
``kernels.inertial.unit`` for the unit.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.inertial import triaxial_layout as at
from sensor_models.kernels.inertial.corruption import round_to_code
from sensor_models.kernels.inertial.magnetic_field import field_at
from sensor_models.kernels.math.faults import MODE, MODE_NONE
from sensor_models.kernels.math.motion import (
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ANGULAR_VELOCITY,
    ORIENTATION,
    POSITION,
    VELOCITY,
)
from sensor_models.kernels.math.rotations import (
    Triple,
    compose,
    conjugate,
    cross,
    dot,
    middle,
    minus,
    multiply,
    plus,
    quaternion_at,
    store,
    times,
    triple_at,
    turn,
    vector_of_rotation,
)
from sensor_models.kernels.options import INLINE, PLAIN

Floats = NDArray[np.float64]

#: Kinds of sensors.
ACCELEROMETER, GYROSCOPE, MAGNETOMETER = range(3)

#: Layout of the parameters: the unit's own, then a block for each sensor.
#: ACCELERATIONS_GIVEN says which accelerations come with the motion instead of being differences: 1
#: that of the origin, 2 the angular one, 3 both. OVERSAMPLING is the number of instants in a
#: sampling period at which low-passes take their input.
ACCELERATIONS_GIVEN, SENSORS, INCREMENTS, COMPOSED, LSB_VELOCITY, LSB_ANGLE, OVERSAMPLING = range(7)
UNIT_SIZE = 7
#: Layout of a block. FORCE_MATTERS says whether the specific force is needed, TURN is the matrix C
#: row by row, CHAIN is the part of ``kernels.inertial.triaxial``.
KIND, SECOND_ORDER, FORCE_MATTERS = range(3)
PLACE, TURN, GRAVITY, CHAIN = 3, 6, 15, 18
BLOCK_SIZE = CHAIN + at.PARAMETER_SIZE

#: Layout of what is known of the motion, at the start of the state. KNOWN counts motions, up to
#: two: the latest one, at MOTION_TIME, and the velocities of an OLDER one, INTERVAL before it.
KNOWN, MOTION_TIME, INTERVAL = range(3)
LATEST_ORIENTATION, LATEST, OLDER = 3, 7, 13
MOTION_SIZE = 19


@njit(**INLINE)
def remember(state: Floats, body: Floats, time: float) -> None:
    """Make a motion the latest known one."""
    if state[KNOWN] > 0.0:
        state[INTERVAL] = time - state[MOTION_TIME]
        for i in range(6):
            state[OLDER + i] = state[LATEST + i]
    for i in range(4):
        state[LATEST_ORIENTATION + i] = body[ORIENTATION + i]
    for i in range(6):
        state[LATEST + i] = body[VELOCITY + i]
    state[MOTION_TIME] = time
    state[KNOWN] = min(state[KNOWN] + 1.0, 2.0)


@njit(**INLINE)
def shift_latest(state: Floats, place: int, change: Triple) -> None:
    """Correct one of the velocities of the latest known motion, if there is one."""
    if state[KNOWN] > 0.0:
        store(state, LATEST + place, plus(triple_at(state, LATEST + place), change))


@njit(**INLINE)
def turn_latest(state: Floats, body: Floats) -> None:
    """Correct the orientation of the latest known motion, if there is one."""
    if state[KNOWN] > 0.0:
        for i in range(4):
            state[LATEST_ORIENTATION + i] = body[ORIENTATION + i]


@njit(**INLINE)
def lever_arm_acceleration(rate: Triple, angular_acceleration: Triple, arm: Triple) -> Triple:
    """The additional acceleration of a point off the origin, all in one frame."""
    acceleration: Triple = plus(cross(angular_acceleration, arm), cross(rate, cross(rate, arm)))
    return acceleration


@njit(**INLINE)
def slopes(state: Floats, place: int, now: Triple, step: float, second_order: bool) -> Triple:
    """Time derivative of one of the two velocities, ``place`` apart from the first in the state."""
    if state[KNOWN] == 0.0:
        return 0.0, 0.0, 0.0
    latest = triple_at(state, LATEST + place)
    slope: Triple = times(1.0 / step, minus(now, latest))
    if not second_order or state[KNOWN] == 1.0:
        return slope
    before = times(1.0 / state[INTERVAL], minus(latest, triple_at(state, OLDER + place)))
    bent: Triple = plus(slope, times(step / (step + state[INTERVAL]), minus(slope, before)))
    return bent


@njit(**INLINE)
def to_sensor(parameters: Floats, block: int, vector_b: Triple) -> Triple:
    """A vector of the body frame in the frame of the sensor."""
    place = block + TURN
    return (
        dot(triple_at(parameters, place), vector_b),
        dot(triple_at(parameters, place + 3), vector_b),
        dot(triple_at(parameters, place + 6), vector_b),
    )


@njit(**INLINE, error_model="numpy")
def specific_force(
    parameters: Floats, block: int, state: Floats, body: Floats, time: float
) -> Triple:
    """The specific force at a sensor, in its frame; the motion before is in the state."""
    velocity_w = triple_at(body, VELOCITY)
    rate_w = triple_at(body, ANGULAR_VELOCITY)
    given = int(parameters[ACCELERATIONS_GIVEN])
    step = time - state[MOTION_TIME]
    second_order = parameters[block + SECOND_ORDER] != 0.0
    if given & 1 != 0:
        acceleration_w = triple_at(body, ACCELERATION)
    else:
        acceleration_w = slopes(state, 0, velocity_w, step, second_order)
    if given & 2 != 0:
        angular_acceleration_w = triple_at(body, ANGULAR_ACCELERATION)
    else:
        angular_acceleration_w = slopes(state, 3, rate_w, step, second_order)
    to_body = conjugate(quaternion_at(body, ORIENTATION))
    force_b = plus(
        turn(to_body, minus(acceleration_w, triple_at(parameters, block + GRAVITY))),
        lever_arm_acceleration(
            turn(to_body, rate_w),
            turn(to_body, angular_acceleration_w),
            triple_at(parameters, block + PLACE),
        ),
    )
    force: Triple = to_sensor(parameters, block, force_b)
    return force


@njit(**INLINE)
def angular_rate(parameters: Floats, block: int, body: Floats) -> Triple:
    """The angular velocity in the frame of a sensor."""
    to_body = conjugate(quaternion_at(body, ORIENTATION))
    rate: Triple = to_sensor(parameters, block, turn(to_body, triple_at(body, ANGULAR_VELOCITY)))
    return rate


@njit("UniTuple(float64, 3)(float64[::1], UniTuple(float64, 3))", **PLAIN)
def point_in_world(body: Floats, place_b: Triple) -> Triple:
    """Where a point of the body is in the world."""
    point: Triple = plus(triple_at(body, POSITION), turn(quaternion_at(body, ORIENTATION), place_b))
    return point


@njit(**INLINE)
def flux_density(
    parameters: Floats, block: int, body: Floats, uniform: Floats, dipoles: Floats
) -> Triple:
    """The magnetic flux density at a sensor, in its frame."""
    field_w = field_at(uniform, dipoles, point_in_world(body, triple_at(parameters, block + PLACE)))
    to_body = conjugate(quaternion_at(body, ORIENTATION))
    flux: Triple = to_sensor(parameters, block, turn(to_body, field_w))
    return flux


@njit(**INLINE)
def velocity_increment(
    parameters: Floats, block: int, state: Floats, body: Floats, interval: float
) -> Triple:
    """The integral of an ideal accelerometer's reading since the latest known motion."""
    place = triple_at(parameters, block + PLACE)
    before = quaternion_at(state, LATEST_ORIENTATION)
    now = quaternion_at(body, ORIENTATION)
    velocity_before = plus(
        triple_at(state, LATEST), cross(triple_at(state, LATEST + 3), turn(before, place))
    )
    velocity_now = plus(
        triple_at(body, VELOCITY), cross(triple_at(body, ANGULAR_VELOCITY), turn(now, place))
    )
    fallen = times(interval, triple_at(parameters, block + GRAVITY))
    change_w = minus(minus(velocity_now, velocity_before), fallen)
    increment: Triple = to_sensor(parameters, block, turn(conjugate(middle(before, now)), change_w))
    return increment


@njit(**INLINE)
def angle_increment(parameters: Floats, block: int, state: Floats, body: Floats) -> Triple:
    """The principal rotation vector since the latest known motion, in the sensor's frame."""
    before = quaternion_at(state, LATEST_ORIENTATION)
    turned = multiply(conjugate(before), quaternion_at(body, ORIENTATION))
    increment: Triple = to_sensor(parameters, block, vector_of_rotation(turned))
    return increment


@njit(**INLINE)
def increment(
    parameters: Floats,
    block: int,
    state: Floats,
    body: Floats,
    interval: float,
    ideal: Triple,
    reported: Triple,
) -> Triple:
    """The increment that belongs to a reading, before faults and rounding are looked at."""
    error = times(interval, minus(reported, ideal))
    velocity = parameters[block + KIND] == ACCELEROMETER
    if velocity:
        truth = velocity_increment(parameters, block, state, body, interval)
    else:
        truth = angle_increment(parameters, block, state, body)
    together: Triple = plus(truth, error)
    if not velocity and parameters[COMPOSED] != 0.0:
        together = compose(truth, error)
    return together


@njit(**INLINE)
def report_axis(
    parameters: Floats, block: int, faults: Floats, axis: int, stuck: float, increment: float
) -> float:
    """The increment of one axis, after faults, selection of axes and rounding."""
    chain = block + CHAIN
    if faults[axis, MODE] != MODE_NONE:
        increment = stuck
    if parameters[chain + at.SELECTED + axis] == 0.0:
        return 0.0
    velocity = parameters[block + KIND] == ACCELEROMETER
    lsb = parameters[LSB_VELOCITY if velocity else LSB_ANGLE]
    if lsb == 0.0:
        return increment
    mode = int(parameters[chain + at.ROUNDING_MODE])
    return float(round_to_code(increment, lsb, 0.0, mode))


@njit(**INLINE)
def integrate(
    parameters: Floats,
    block: int,
    state: Floats,
    faults: Floats,
    body: Floats,
    interval: float,
    ideal: Triple,
    reported: Triple,
) -> Triple:
    """The increment over the interval since the latest known motion, as reported."""
    if interval == 0.0:
        return 0.0, 0.0, 0.0
    x, y, z = increment(parameters, block, state, body, interval, ideal, reported)
    return (
        report_axis(parameters, block, faults, 0, interval * reported[0], x),
        report_axis(parameters, block, faults, 1, interval * reported[1], y),
        report_axis(parameters, block, faults, 2, interval * reported[2], z),
    )
