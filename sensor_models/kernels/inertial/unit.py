r"""Inertial unit: any number of inertial sensors on one body, sampled together.

A unit is a list of accelerometers, gyroscopes and magnetometers, each at a place, with an
orientation and with errors of its own (AGX, CORR and GYM). A single sensor is a unit of one,
so what an accelerometer reports is the same alone and in an IMU. One sample:

    motion of the body -> ideal signal (``signals``) -> errors (``triaxial``)
                       -> reading, and its increment if the unit has increments

A reading has a row of three for each sensor. With increments two more follow: velocity, of the
unit's last accelerometer, and angle, of its last gyroscope.

Time that does not advance: a sample at the start instant replaces the start, later ones leave
everything as it was and report the last valid reading. A motion that is not finite gives a
reading of NaN. The error processes go on, so the samples after it are the same; differences and
increments then reach from the last motion that was finite to the next one, and nothing is lost.
An instant that is not finite gives NaN and changes nothing.

Everything that changes is one float64 array, so that it can be copied as one.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.inertial import signals as inertial
from sensor_models.kernels.inertial import triaxial
from sensor_models.kernels.inertial.signals import (
    ACCELERATIONS_GIVEN,
    BLOCK_SIZE,
    CHAIN,
    FORCE_MATTERS,
    GYROSCOPE,
    INCREMENTS,
    KIND,
    KNOWN,
    MAGNETOMETER,
    MOTION_SIZE,
    MOTION_TIME,
    OVERSAMPLING,
    SENSORS,
    UNIT_SIZE,
)
from sensor_models.kernels.inertial.triaxial_layout import FILTERED, FINAL, FLAGS
from sensor_models.kernels.math.motion import BODY_SIZE, BODY_SIZE_WITH_ACCELERATIONS
from sensor_models.kernels.math.rotations import Triple, store, triple_at
from sensor_models.kernels.options import INLINE, PLAIN

Floats = NDArray[np.float64]

#: Layout of the state behind the motion at samples: the motion at the inputs of the low-passes.
#: STAGE is one of the three below, TIME that of the last sample. Then come the last valid reading
#: and the states of the sensors.
FINE = MOTION_SIZE
STAGE, TIME, READING = 2 * MOTION_SIZE, 2 * MOTION_SIZE + 1, 2 * MOTION_SIZE + 2
FRESH, AT_START, RUNNING = 0.0, 1.0, 2.0

SAMPLE_SIGNATURE = (
    "void(float64[::1], uint64[:,:,::1], float64[::1], float64[:,:,::1], int64, float64,"
    " float64[::1], float64, float64[::1], float64[:,::1], float64[::1], float64[::1],"
    " float64[:,::1], float64[:,::1])"
)
FOLLOW_SIGNATURE = (
    "void(float64[::1], uint64[:,:,::1], float64[::1], int64, int64, float64, float64[::1],"
    " float64[::1], float64[:,::1], float64[::1])"
)
BATCH_SIGNATURE = (
    "void(float64[::1], uint64[:,:,::1], float64[::1], float64[:,:,::1], int64, float64[::1],"
    " float64[:,::1], float64[::1], float64[:,::1], float64[:,::1], float64[::1], float64[::1],"
    " float64[:,::1], float64[:,:,::1])"
)


def state_size(sensors: int, rows: int) -> int:
    """Size of the state of a unit whose readings have so many rows."""
    return READING + 3 * rows + sensors * triaxial.STATE_SIZE


@njit(**INLINE)
def motion_is_finite(parameters: Floats, body: Floats) -> bool:
    """Whether all that is used of the motion is finite: 0 times anything else is NaN."""
    given = parameters[ACCELERATIONS_GIVEN] != 0.0
    total = 0.0
    for i in range(BODY_SIZE_WITH_ACCELERATIONS if given else BODY_SIZE):
        total += 0.0 * body[i]
    return total == 0.0


@njit(**INLINE)
def measure(
    parameters: Floats,
    block: int,
    state: Floats,
    time: float,
    body: Floats,
    uniform: Floats,
    dipoles: Floats,
) -> tuple[Triple, Triple]:
    """The ideal signal of a sensor, and the specific force that acts on it."""
    force = (0.0, 0.0, 0.0)
    if parameters[block + FORCE_MATTERS] != 0.0:
        force = inertial.specific_force(parameters, block, state, body, time)
    ideal = force
    kind = parameters[block + KIND]
    if kind == GYROSCOPE:
        ideal = inertial.angular_rate(parameters, block, body)
    elif kind == MAGNETOMETER:
        ideal = inertial.flux_density(parameters, block, body, uniform, dipoles)
    return ideal, force


@njit(**INLINE)
def sense(
    parameters: Floats,
    block: int,
    state: Floats,
    time: float,
    body: Floats,
    usable: bool,
    uniform: Floats,
    dipoles: Floats,
    ideal: Floats,
    force: Floats,
) -> Triple:
    """Write the ideal signal of a sensor and the force on it, NaN and 0 without usable motion."""
    signal, acting = (math.nan, math.nan, math.nan), (0.0, 0.0, 0.0)
    if usable:
        start = motion_of(parameters, block)
        motion = state[start : start + MOTION_SIZE]
        signal, acting = measure(parameters, block, motion, time, body, uniform, dipoles)
    store(force, 0, acting)
    store(ideal, 0, signal)
    return signal


@njit(**INLINE)
def advance(
    parameters: Floats,
    keys: NDArray[np.uint64],
    state: Floats,
    faults: Floats,
    index: int,
    time: float,
    body: Floats,
    temperature: float,
    uniform: Floats,
    dipoles: Floats,
    ideal: Floats,
    force: Floats,
    stages: Floats,
    reading: Floats,
) -> None:
    """Move the state on to a sample at a later instant, and fill the reading.

    Half of its lines name what it takes and hands on.
    """
    usable = motion_is_finite(parameters, body)
    since_last = 0.0 if state[STAGE] == FRESH else time - state[TIME]
    interval = 0.0 if state[KNOWN] == 0.0 else time - state[MOTION_TIME]
    sensors = int(parameters[SENSORS])
    chain = READING + reading.size
    for sensor in range(sensors):
        block = UNIT_SIZE + sensor * BLOCK_SIZE
        signal = sense(parameters, block, state, time, body, usable, uniform, dipoles, ideal, force)
        triaxial.corrupt(
            parameters[block + CHAIN : block + BLOCK_SIZE],
            keys[sensor],
            state[chain : chain + triaxial.STATE_SIZE],
            faults[sensor],
            index,
            time,
            since_last,
            temperature,
            force,
            ideal,
            stages,
        )
        chain += triaxial.STATE_SIZE
        reported = stages[FINAL, 0], stages[FINAL, 1], stages[FINAL, 2]
        fill(reading, sensor, reported)
        kind = int(parameters[block + KIND])
        if parameters[INCREMENTS] == 0.0 or kind == MAGNETOMETER:
            continue
        if usable:
            reported = inertial.integrate(
                parameters, block, state, faults[sensor], body, interval, signal, reported
            )
        fill(reading, sensors + kind, reported)
    if usable:
        inertial.remember(state, body, time)
        if parameters[OVERSAMPLING] > 1.0:
            inertial.remember(state[FINE:STAGE], body, time)
    state[STAGE] = AT_START if state[STAGE] == FRESH else RUNNING
    state[TIME] = time


@njit(**INLINE)
def motion_of(parameters: Floats, block: int) -> int:
    """Where the motion is that a sensor goes on from: its low-pass's last input, or a sample's."""
    return FINE if parameters[OVERSAMPLING] > 1.0 and is_filtered(parameters, block) else 0


@njit(**INLINE)
def is_filtered(parameters: Floats, block: int) -> bool:
    """Whether a sensor has a low-pass."""
    return int(parameters[block + CHAIN + FLAGS]) & FILTERED != 0


@njit(FOLLOW_SIGNATURE, **PLAIN, error_model="numpy")
def follow(
    parameters: Floats,
    keys: NDArray[np.uint64],
    state: Floats,
    index: int,
    lane: int,
    time: float,
    body: Floats,
    uniform: Floats,
    dipoles: Floats,
    ideal: Floats,
) -> None:
    """Give the low-passes their input at an instant between two samples.

    Args:
        parameters: as for ``sample``.
        keys: as for ``sample``.
        state: after a sample.
        index: number of that sample.
        lane: number of the instant since then, from 1 on.
        time: the instant.
        body: motion of the body.
        uniform: magnetic field in the world, without its dipoles.
        dipoles: a row for each, of the magnetic field.
        ideal: scratch memory.
    """
    motion = state[FINE:STAGE]
    if state[STAGE] == FRESH or not motion_is_finite(parameters, body):
        return
    chain = state.size - int(parameters[SENSORS]) * triaxial.STATE_SIZE
    for sensor in range(int(parameters[SENSORS])):
        block = UNIT_SIZE + sensor * BLOCK_SIZE
        own = state[chain : chain + triaxial.STATE_SIZE]
        chain += triaxial.STATE_SIZE
        if is_filtered(parameters, block):
            signal, _ = measure(parameters, block, motion, time, body, uniform, dipoles)
            store(ideal, 0, signal)
            triaxial.follow(
                parameters[block + CHAIN : block + BLOCK_SIZE],
                keys[sensor],
                own,
                index,
                lane,
                time - motion[MOTION_TIME],
                ideal,
            )
    inertial.remember(motion, body, time)


@njit(**INLINE)
def fill(reading: Floats, row: int, vector: Triple) -> None:
    """Write a row of a reading."""
    reading[row, 0], reading[row, 1], reading[row, 2] = vector


@njit(**INLINE)
def keep(state: Floats, reading: Floats) -> None:
    """Remember a reading, if it is valid, for as long as time does not advance."""
    total = 0.0
    for row in range(reading.shape[0]):
        for axis in range(3):
            total += 0.0 * reading[row, axis]
    if total == 0.0:
        for row in range(reading.shape[0]):
            for axis in range(3):
                state[READING + 3 * row + axis] = reading[row, axis]


@njit(SAMPLE_SIGNATURE, **PLAIN, error_model="numpy")
def sample(
    parameters: Floats,
    keys: NDArray[np.uint64],
    state: Floats,
    faults: Floats,
    index: int,
    time: float,
    body: Floats,
    temperature: float,
    uniform: Floats,
    dipoles: Floats,
    ideal: Floats,
    force: Floats,
    stages: Floats,
    reading: Floats,
) -> None:
    """One sample into ``reading``; ``state`` moves on to it.

    Args:
        parameters: the unit's, then a block for each sensor.
        keys: the keys of the random terms, by sensor.
        state: all zero before the first sample.
        faults: packed faults, by sensor and axis.
        index: number of the sample.
        time: its instant.
        body: motion of the body.
        temperature: of all sensors, in K.
        uniform: magnetic field in the world, without its dipoles.
        dipoles: a row for each, of the magnetic field.
        ideal: scratch memory.
        force: scratch memory.
        stages: scratch memory.
        reading: filled.
    """
    if not math.isfinite(time):
        reading[:] = math.nan
        return
    if state[STAGE] == AT_START and time <= state[TIME]:
        state[:] = 0.0
    if state[STAGE] != FRESH and time <= state[TIME]:
        for row in range(reading.shape[0]):
            fill(reading, row, triple_at(state, READING + 3 * row))
        return
    advance(
        parameters,
        keys,
        state,
        faults,
        index,
        time,
        body,
        temperature,
        uniform,
        dipoles,
        ideal,
        force,
        stages,
        reading,
    )
    keep(state, reading)


@njit(BATCH_SIGNATURE, **PLAIN, error_model="numpy")
def sample_batch(
    parameters: Floats,
    keys: NDArray[np.uint64],
    state: Floats,
    faults: Floats,
    first_index: int,
    times: Floats,
    bodies: Floats,
    temperatures: Floats,
    uniforms: Floats,
    dipoles: Floats,
    ideal: Floats,
    force: Floats,
    stages: Floats,
    readings: Floats,
) -> None:
    """Samples ``first_index``, ``first_index + 1``, ...; one uniform field serves them all."""
    for i in range(times.size):
        sample(
            parameters,
            keys,
            state,
            faults,
            first_index + i,
            times[i],
            bodies[i],
            temperatures[i],
            uniforms[i if uniforms.shape[0] > 1 else 0],
            dipoles,
            ideal,
            force,
            stages,
            readings[i],
        )
