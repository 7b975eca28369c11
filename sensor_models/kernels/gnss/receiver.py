r"""A receiver: from the motion of its body to a reported fix, one sample at a time.

    begin      where the antenna is: p = p_b + R l, v = v_b + ω x R l, in the world, Earth-fixed,
               and as latitude, longitude and height; the velocity is along east, north and up
               at the antenna; then the sky above it, where that is needed
    look       which satellites the scene hides (``kernels.gnss.multipath``)
    finish     satellites in use, dilution, states of the solution, errors, the reading
    sample     all of it, for a receiver without a scene

Errors of the position along east, north and up, with g three series of unit variance (``errors``)
and w three white draws:

    off           0
    fixed         σ_c g + σ_w w,     σ horizontal and vertical as given
    dop           U_c L g + U_w L w,     L Lᵀ = the first three rows of (GᵀG)⁻¹ (``dilution``)
    pseudorange   (GᵀWG)⁻¹ GᵀW ε,     ε_j = (U_c g_j + U_w w_j) / sin E_j + b_j

σ and U times 20 while an RTK solution is float. It is fixed once the least number of satellites
has been in use for the convergence time without a break. Without a fix the reading holds, but for
its time, the fix, the carrier, the satellites and their dilution; before the first one, it is the
origin of the world.

Accuracy is the standard deviation of the model: horizontally the root mean square of the two axes;
it knows nothing of detours.

Open sky: without a scene, and where neither errors nor anything else depends on the ranges
(``off``, ``fixed``), satellites and dilution are those of the last whole second of GPS time that
a sample met; they move by 0.2 mrad a second.

In a dropout (``errors``) there is no satellite and no fix, whatever the sky.

A 2D fix holds the height that was reported last; its error shifts a ``pseudorange`` fix sideways
as it does in a receiver.

All that changes is in ``state`` and ``satellites`` (a row each: sky and series).
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.gnss import layout as at
from sensor_models.kernels.gnss import sky as above
from sensor_models.kernels.gnss.dilution import (
    PLAIN_INVERSE,
    UNKNOWN,
    WEIGHTED_INVERSE,
    dilutions,
    shift_of_fix,
    solve_geometry,
)
from sensor_models.kernels.gnss.errors import (
    advance_ranges,
    advance_three,
    hear_hidden,
    is_dropped,
    memory_and_drive,
    set_range_errors,
    three_white,
)
from sensor_models.kernels.gnss.geodesy import combine, geodetic_of_ecef, local_axes
from sensor_models.kernels.gnss.orbits import satellite_position
from sensor_models.kernels.gnss.sky import SKY_SIZE, axes_at, survey
from sensor_models.kernels.math.motion import ANGULAR_VELOCITY, ORIENTATION, POSITION
from sensor_models.kernels.math.motion import VELOCITY as BODY_VELOCITY
from sensor_models.kernels.math.rotations import (
    Triple,
    cross,
    dot,
    minus,
    plus,
    quaternion_at,
    store,
    triple_at,
    turn,
)
from sensor_models.kernels.options import PLAIN

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]


@njit(**PLAIN)
def locate(parameters: Floats, world: Floats, body: Floats, place: Floats) -> bool:
    """Where the antenna is and how it moves; False if that is nowhere on the Earth."""
    lever = turn(quaternion_at(body, ORIENTATION), triple_at(parameters, at.LEVER))
    antenna = plus(triple_at(body, POSITION), lever)
    swing = cross(triple_at(body, ANGULAR_VELOCITY), lever)
    velocity = plus(triple_at(body, BODY_VELOCITY), swing)
    axes = axes_at(world, at.WORLD_AXES)
    ecef = plus(triple_at(world, at.ORIGIN), combine(axes, antenna))
    geodetic = geodetic_of_ecef(ecef[0], ecef[1], ecef[2])
    if not math.isfinite(geodetic[2] + velocity[0] + velocity[1] + velocity[2]):
        return False
    local = local_axes(geodetic[0], geodetic[1])
    moving = combine(axes, velocity)
    store(place, above.IN_WORLD, antenna)
    store(place, above.IN_ECEF, ecef)
    store(place, above.GEODETIC, geodetic)
    store(place, above.SPEED, (dot(moving, local[0]), dot(moving, local[1]), dot(moving, local[2])))
    for axis in range(3):
        store(place, above.LOCAL_AXES + 3 * axis, local[axis])
    return True


@njit(**PLAIN)
def _is_survey_due(parameters: Floats, world: Floats, state: Floats, gps_time: float) -> bool:
    """Whether the sky of an earlier sample will not do."""
    if world[at.HAS_SCENE] != 0.0 or parameters[at.MODE] >= at.DOP:
        return True
    due: bool = state[at.STARTED] == 0.0 or math.floor(gps_time) != state[at.SURVEYED]
    return due


@njit(cache=True)
def begin(
    parameters: Floats,
    world: Floats,
    index: int,
    time: float,
    body: Floats,
    orbits: Floats,
    state: Floats,
    satellites: Floats,
) -> int:
    """Place the antenna and survey the sky: 1 if that was done, 0 if the last one holds.

    -1 if time or body are not finite, or the antenna is at the centre of the Earth; and -2 if time
    does not go on. Nothing is changed then. Sample 0 begins anew.
    """
    fresh = index == 0 or state[at.STARTED] == 0.0
    if not math.isfinite(time):
        return -1
    if not fresh and time <= state[at.TIME]:
        return -2
    if not locate(parameters, world, body, state[at.PLACE : at.PLACE + above.PLACE_SIZE]):
        return -1
    if fresh:
        state[: at.PLACE] = 0.0
        satellites[:] = 0.0
    gps_time = parameters[at.TIME_OF_WEEK] + time
    if not _is_survey_due(parameters, world, state, gps_time):
        return 0
    hidden = world[at.HAS_SCENE] != 0.0
    state[at.SURVEYED] = at.NOT_SURVEYED if hidden else math.floor(gps_time)
    survey(
        orbits,
        gps_time,
        state[at.PLACE : at.PLACE + above.PLACE_SIZE],
        axes_at(world, at.WORLD_AXES),
        parameters[at.LEAST_SINE],
        satellites[:, :SKY_SIZE],
    )
    return 1


@njit(**PLAIN)
def _note_in_use(state: Floats, sky: Floats) -> None:
    """Write the satellites in use as bits."""
    for word in range(at.WORDS):
        state[at.IN_USE + word] = 0.0
    for row in range(len(sky)):
        if sky[row, above.STATUS] >= above.USED:
            state[at.IN_USE + row // at.BITS] += 2.0 ** (row % at.BITS)


@njit(**PLAIN)
def _update_geometry(orbits: Floats, state: Floats, sky: Floats, work: Floats) -> None:
    """Fix, satellites and dilution of a new sky."""
    satellites, axes, columns = solve_geometry(orbits, sky, work)
    state[at.AXES], state[at.COLUMNS] = float(axes), float(columns)
    state[at.FIX] = (at.NO_FIX, at.NO_FIX, at.FIX_2D, at.FIX_3D)[axes]
    state[at.SATELLITES] = float(satellites)
    geometric, position, horizontal, vertical, clock = dilutions(work, axes, columns)
    state[at.DILUTIONS], state[at.DILUTIONS + 1] = geometric, position
    state[at.DILUTIONS + 2], state[at.DILUTIONS + 3] = horizontal, vertical
    state[at.DILUTIONS + 4] = clock
    _note_in_use(state, sky)


@njit(**PLAIN)
def _lose_all(state: Floats) -> None:
    """A sample without satellites; the next one looks at the sky again."""
    state[at.FIX], state[at.SATELLITES], state[at.SURVEYED] = at.NO_FIX, 0.0, at.NOT_SURVEYED
    for k in range(at.DILUTIONS, at.ACCURACY):
        state[k] = UNKNOWN
    for k in range(at.IN_USE, at.IN_USE + at.WORDS):
        state[k] = 0.0


@njit(**PLAIN)
def _update_carrier(parameters: Floats, state: Floats, time: float) -> float:
    """Go on with the states of an RTK solution; gives the factor on the errors."""
    state[at.CARRIER] = at.NO_CARRIER
    enough = state[at.SATELLITES] >= parameters[at.LEAST_SATELLITES]
    if parameters[at.SOLUTION] != at.RTK or state[at.FIX] == at.NO_FIX or not enough:
        state[at.CONVERGING] = 0.0
    elif state[at.CONVERGING] == 0.0:
        state[at.CONVERGING], state[at.SINCE] = 1.0, time
    if parameters[at.SOLUTION] != at.RTK or state[at.FIX] == at.NO_FIX:
        return 1.0
    lasted = time - state[at.SINCE]
    # Instants that were added up may miss the convergence time by a rounding.
    enough_time = lasted >= parameters[at.CONVERGENCE_TIME] * (1.0 - 1e-12)
    if state[at.CONVERGING] != 0.0 and enough_time:
        state[at.CARRIER] = at.INTEGER
        return 1.0
    state[at.CARRIER] = at.FLOAT
    return at.FLOAT_FACTOR


@njit(**PLAIN)
def _root_times(work: Floats, axes: int, vector: Triple) -> Triple:
    """L g with L Lᵀ = the first rows and columns of (GᵀG)⁻¹; 0 for a height that is held."""
    q = work[PLAIN_INVERSE]
    l00 = math.sqrt(q[0, 0])
    l10 = q[1, 0] / l00
    l11 = math.sqrt(q[1, 1] - l10 * l10)
    east, north, up = l00 * vector[0], l10 * vector[0] + l11 * vector[1], 0.0
    if axes == 3:
        l20 = q[2, 0] / l00
        l21 = (q[2, 1] - l20 * l10) / l11
        l22 = math.sqrt(q[2, 2] - l20 * l20 - l21 * l21)
        up = l20 * vector[0] + l21 * vector[1] + l22 * vector[2]
    return east, north, up


@njit(**PLAIN)
def _set_accuracy(parameters: Floats, state: Floats, factor: float, work: Floats) -> None:
    """The standard deviation of the model, horizontally a root mean square of the axes."""
    mode, axes = parameters[at.MODE], int(state[at.AXES])
    if mode == at.OFF:
        state[at.ACCURACY], state[at.ACCURACY + 1] = 0.0, 0.0
        return
    if mode == at.FIXED:
        for part in range(2):
            c, w = parameters[at.CORRELATED + part], parameters[at.WHITE + part]
            state[at.ACCURACY + part] = factor * math.sqrt(c * c + w * w)
    else:
        inverse = work[PLAIN_INVERSE] if mode == at.DOP else work[WEIGHTED_INVERSE]
        c, w = parameters[at.RANGE_CORRELATED], parameters[at.RANGE_WHITE]
        unit = factor * math.sqrt(c * c + w * w)
        state[at.ACCURACY] = unit * math.sqrt(0.5 * (inverse[0, 0] + inverse[1, 1]))
        state[at.ACCURACY + 1] = unit * math.sqrt(inverse[2, 2])
    if axes == 2:
        state[at.ACCURACY + 1] = UNKNOWN


@njit(**PLAIN)
def _position_error(
    parameters: Floats,
    keys: Keys,
    index: int,
    factor: float,
    held: float,
    orbits: Floats,
    state: Floats,
    satellites: Floats,
    work: Floats,
) -> Triple:
    """The error of the position to the east, north and up; ``held`` is that of a held height."""
    mode, axes = parameters[at.MODE], int(state[at.AXES])
    if mode == at.OFF:
        return 0.0, 0.0, 0.0
    if mode == at.PSEUDORANGE:
        sky, series = satellites[:, :SKY_SIZE], satellites[:, SKY_SIZE:]
        set_range_errors(parameters, keys, index, factor, orbits, series, sky)
        moved: Triple = shift_of_fix(orbits, sky, axes, int(state[at.COLUMNS]), held, work)
        return moved
    g = triple_at(state, at.POSITION_SERIES)
    w = three_white(keys[at.POSITION_WHITE_TERM], index)
    if mode == at.FIXED:
        c_h, c_v = parameters[at.CORRELATED], parameters[at.CORRELATED + 1]
        w_h, w_v = parameters[at.WHITE], parameters[at.WHITE + 1]
        return (
            factor * (c_h * g[0] + w_h * w[0]),
            factor * (c_h * g[1] + w_h * w[1]),
            factor * (c_v * g[2] + w_v * w[2]),
        )
    c, n = factor * parameters[at.RANGE_CORRELATED], factor * parameters[at.RANGE_WHITE]
    mixed = (c * g[0] + n * w[0], c * g[1] + n * w[1], c * g[2] + n * w[2])
    error: Triple = _root_times(work, axes, mixed)
    return error


@njit(**PLAIN)
def _report(
    parameters: Floats,
    keys: Keys,
    index: int,
    factor: float,
    orbits: Floats,
    state: Floats,
    satellites: Floats,
    work: Floats,
) -> None:
    """Write position and velocity with their errors."""
    place = state[at.PLACE : at.PLACE + above.PLACE_SIZE]
    held_height = state[at.HEIGHT]
    held = held_height - place[above.GEODETIC + 2]
    error = _position_error(parameters, keys, index, factor, held, orbits, state, satellites, work)
    latitude, longitude, height = triple_at(place, above.GEODETIC)
    if error[0] != 0.0 or error[1] != 0.0 or error[2] != 0.0:
        shift = combine(axes_at(place, above.LOCAL_AXES), error)
        x, y, z = plus(triple_at(place, above.IN_ECEF), shift)
        latitude, longitude, height = geodetic_of_ecef(x, y, z)
    state[at.LATITUDE], state[at.LONGITUDE] = latitude, longitude
    state[at.HEIGHT] = held_height if state[at.FIX] == at.FIX_2D else height
    g = triple_at(state, at.VELOCITY_SERIES)
    w = three_white(keys[at.VELOCITY_WHITE_TERM], index)
    correlated, white = parameters[at.VELOCITY_CORRELATED], parameters[at.VELOCITY_WHITE]
    if parameters[at.MODE] == at.OFF:
        correlated, white = 0.0, 0.0
    for k in range(3):
        state[at.VELOCITY + k] = place[above.SPEED + k] + correlated * g[k] + white * w[k]


@njit(**PLAIN)
def find_ranges(
    parameters: Floats, orbits: Floats, state: Floats, satellites: Floats, ranges: Floats
) -> None:
    """The pseudoranges of the satellites in use at the newest sample, 0 for the others.

    That is the distance plus the error of the range, which only ``pseudorange`` has.
    """
    antenna = triple_at(state, at.PLACE + above.IN_ECEF)
    gps_time = parameters[at.TIME_OF_WEEK] + state[at.TIME]
    for row in range(len(orbits)):
        ranges[row] = 0.0
        if int(state[at.IN_USE + row // at.BITS]) >> row % at.BITS & 1:
            way = minus(satellite_position(orbits, row, gps_time), antenna)
            ranges[row] = math.sqrt(dot(way, way)) + satellites[row, above.ERROR]


@njit(cache=True)
def ranges_of(
    parameters: Floats, orbits: Floats, state: Floats, satellites: Floats, ranges: Floats
) -> None:
    """As ``find_ranges``, called from outside."""
    find_ranges(parameters, orbits, state, satellites, ranges)


@njit(**PLAIN)
def finish_sample(
    parameters: Floats,
    world: Floats,
    keys: Keys,
    index: int,
    time: float,
    surveyed: bool,
    orbits: Floats,
    state: Floats,
    satellites: Floats,
    work: Floats,
) -> None:
    """Take the state on to a sample whose sky is known."""
    started = state[at.STARTED] != 0.0
    duration = time - state[at.TIME]
    memory, drive = memory_and_drive(duration, parameters[at.TIME_CONSTANT])
    mode = parameters[at.MODE]
    if not started:
        store(state, at.LATITUDE, triple_at(world, at.ORIGIN_GEODETIC))
    if mode == at.PSEUDORANGE:
        series = satellites[:, SKY_SIZE:]
        advance_ranges(parameters, keys, index, started, duration, orbits, series)
        if parameters[at.MULTIPATH] == at.BIAS:
            hear_hidden(parameters, series, satellites[:, :SKY_SIZE])
    elif mode != at.OFF:
        key = keys[at.POSITION_TERM]
        advance_three(key, index, started, memory, drive, state, at.POSITION_SERIES)
    if parameters[at.VELOCITY_CORRELATED] > 0.0:
        key = keys[at.VELOCITY_TERM]
        advance_three(key, index, started, memory, drive, state, at.VELOCITY_SERIES)
    if surveyed:
        _update_geometry(orbits, state, satellites[:, :SKY_SIZE], work)
    if is_dropped(parameters, keys, index, started, duration, state):
        _lose_all(state)
    state[at.STARTED], state[at.TIME] = 1.0, time
    factor = _update_carrier(parameters, state, time)
    if state[at.FIX] != at.NO_FIX:
        _report(parameters, keys, index, factor, orbits, state, satellites, work)
        _set_accuracy(parameters, state, factor, work)


@njit(cache=True)
def finish(
    parameters: Floats,
    world: Floats,
    keys: Keys,
    index: int,
    time: float,
    surveyed: bool,
    orbits: Floats,
    state: Floats,
    satellites: Floats,
    work: Floats,
) -> None:
    """As ``finish_sample``, called from outside."""
    finish_sample(parameters, world, keys, index, time, surveyed, orbits, state, satellites, work)


@njit(cache=True)
def sample(
    parameters: Floats,
    world: Floats,
    keys: Keys,
    index: int,
    time: float,
    body: Floats,
    orbits: Floats,
    state: Floats,
    satellites: Floats,
    work: Floats,
) -> int:
    """One sample of a receiver without a scene; what ``begin`` gave, below 0 if there is none."""
    begun: int = begin(parameters, world, index, time, body, orbits, state, satellites)
    if begun >= 0:
        due = begun > 0
        finish_sample(parameters, world, keys, index, time, due, orbits, state, satellites, work)
    return begun


@njit(cache=True)
def sample_batch(
    parameters: Floats,
    world: Floats,
    keys: Keys,
    first_index: int,
    times: Floats,
    bodies: Floats,
    orbits: Floats,
    state: Floats,
    satellites: Floats,
    work: Floats,
    readings: Floats,
) -> int:
    """Samples from ``first_index`` on, a row of readings each; how many could be taken."""
    for k in range(len(times)):
        index = first_index + k
        begun = sample(
            parameters, world, keys, index, times[k], bodies[k], orbits, state, satellites, work
        )
        if begun < 0:
            return k
        readings[k] = state[: at.READING_SIZE]
    return len(times)
