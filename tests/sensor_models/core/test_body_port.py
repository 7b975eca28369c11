"""Bodies of which poses or velocities are left out: closed forms, cuts of time, standing starts."""

import itertools
import math

import numpy as np
import pytest

from sensor_models.core.body import (
    COMPLETED,
    BodyParameters,
    BodyPort,
    OrientationInput,
    Poses,
    Velocities,
    angles_of_orientation,
    orientation_of_angles,
)
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import rotate_vector
from sensor_models.core.quantities import ParameterError
from sensor_models.core.step import Step, StepError
from tests.sensor_models.steps import (
    AT_END,
    Samples,
    accelerometer,
    gyroscope,
    imu_model,
    nothing,
    put,
    swinging,
)

G = 9.80665
AUTO = BodyParameters()
POSITION, ORIENTATION, VELOCITY, RATE = slice(0, 3), slice(3, 7), slice(7, 10), slice(10, 13)
AT_REST = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, *np.zeros(6)])


def run(plan, state_at, instants, body=AUTO, sampling=AT_END, warn=nothing):
    """All samples of a body that is known at some instants: stamps and readings."""
    sink = Samples()
    step = Step(plan, sampling, sink=sink, warn=warn, body=body)
    put(step, state_at(instants[0]))
    step.observe(instants[0])
    for before, after in itertools.pairwise(instants):
        put(step, state_at(after if sampling.inputs_at_step_end else before))
        step.advance(before, after - before)
    step.flush()
    return np.array([row[1] for row in sink.rows]), np.array([row[2] for row in sink.rows])


def only(**parts):
    """A body at rest with these parts of its state, as functions of time."""
    places = {"position": POSITION, "orientation": ORIENTATION, "velocity": VELOCITY, "rate": RATE}

    def state_at(time):
        state = AT_REST.copy()
        for name, part in parts.items():
            state[places[name]] = part(time)
        return state

    return state_at


def about_z(angle):
    return math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)


STEPS = np.arange(31) * 0.01
FMI_RULE = SamplingParameters()
both_rules = pytest.mark.parametrize("sampling", [AT_END, FMI_RULE], ids=["at_end", "fmi_rule"])


# ---- poses that are left out ---------------------------------------------------------------------


@both_rules
def test_a_gyroscope_on_a_rate_table_reads_its_rate_without_an_orientation(sampling):
    told = []
    rate = np.array([0.3, -0.4, 1.0])
    state_at = only(rate=lambda time: rate)
    _, rows = run(gyroscope(1000.0), state_at, STEPS, sampling=sampling, warn=told.append)
    # the body turns about the axis of its rate, which is the same in its frame
    assert rows == pytest.approx(np.tile(rate, (len(rows), 1)), abs=1e-12)
    assert told == [COMPLETED[1]]


@both_rules
def test_an_accelerometer_reads_the_slope_of_the_velocity_without_a_position(sampling):
    told = []
    state_at = only(velocity=lambda time: (2.0 * time, 0.0, 0.0))
    _, rows = run(accelerometer(1000.0), state_at, STEPS, sampling=sampling, warn=told.append)
    # the first sample has no difference yet; velocities below 1 are rounded, over 1 ms
    assert rows[1:] == pytest.approx(np.tile([2.0, 0.0, G], (len(rows) - 1, 1)), abs=1e-11)
    assert told == [COMPLETED[0]]


def test_a_fast_table_may_turn_by_more_than_a_turn_in_a_step():
    state_at = only(rate=lambda time: (0.0, 0.0, 100.0))
    _, rows = run(gyroscope(1000.0), state_at, np.arange(5) * 0.1, warn=lambda _: None)
    assert rows == pytest.approx(np.tile([0.0, 0.0, 100.0], (len(rows), 1)), abs=1e-10)


def test_gravity_turns_with_an_orientation_that_is_integrated():
    rate, place = 0.7, 0.0
    state_at = only(rate=lambda time: (rate, 0.0, 0.0))
    plan = accelerometer(100.0)
    stamps, rows = run(plan, state_at, STEPS, warn=lambda _: None)
    truth = [(place, G * math.sin(rate * t), G * math.cos(rate * t)) for t in stamps]
    assert rows == pytest.approx(np.array(truth), abs=1e-10)


def coning(time):
    """Angular velocity and orientation of a body whose axis goes round a cone."""
    half, round_ = 0.2, 3.0
    q = np.array([math.cos(half), math.sin(half) * math.cos(round_ * time),
                  math.sin(half) * math.sin(round_ * time), 0.0])  # fmt: skip
    slope = np.array([0.0, -round_ * q[2], round_ * q[1], 0.0])
    w, x, y, z = q * (1.0, -1.0, -1.0, -1.0)
    a, b, c, d = slope
    rate = 2.0 * np.array([a * x + b * w + c * z - d * y, a * y - b * z + c * w + d * x,
                           a * z + b * y - c * x + d * w])  # fmt: skip
    return rate, q


def integrated(step):
    """How far a coning body is off after 1 s, whose first orientation alone is known."""
    port = BodyPort(BodyParameters(poses=Poses.from_velocities), nothing)
    count = round(1.0 / step)
    for number in range(count + 1):
        rate, q = coning(number * step)
        first = coning(0.0)[1]
        state = np.array([0.0, 0.0, 0.0, *first, 0.0, 0.0, 0.0, *rate])
        found = port.complete(number * step, state)[0]
        port.keep()
    return 2.0 * math.acos(min(1.0, abs(float(found[ORIENTATION] @ q))))


def test_the_integral_of_an_angular_velocity_converges_to_the_orientation():
    coarse, fine = integrated(0.02), integrated(0.01)
    # linear interpolation of the rate: second order; a coning body would drift without the product
    assert fine < 1e-4
    assert coarse / fine > 3.5


# ---- velocities that are left out ----------------------------------------------------------------


@both_rules
def test_a_gyroscope_reads_the_rate_of_orientations_alone(sampling):
    told = []
    state_at = only(orientation=lambda time: about_z(0.3 + 0.8 * time))
    _, rows = run(gyroscope(1000.0), state_at, STEPS, sampling=sampling, warn=told.append)
    # the first sample has one orientation only
    assert rows[1:] == pytest.approx(np.tile([0.0, 0.0, 0.8], (len(rows) - 1, 1)), abs=1e-11)
    assert told == [COMPLETED[3]]


def test_an_accelerometer_reads_the_acceleration_of_positions_alone():
    told = []
    state_at = only(position=lambda time: (2.0 + time + time * time, 0.0, 0.0))
    stamps, rows = run(accelerometer(1000.0), state_at, STEPS, warn=told.append)
    # two positions are on a line, so the first step reads none
    late = stamps > STEPS[1] + 1e-6
    assert rows[late] == pytest.approx(np.tile([2.0, 0.0, G], (late.sum(), 1)), abs=1e-8)
    assert told == [COMPLETED[2]]


@pytest.mark.parametrize("rate", [1000.0, 30.0])
@pytest.mark.parametrize("start", [0.0, 1.2])
def test_increments_of_poses_alone_are_integrals_of_the_readings(rate, start):
    """A moving start, and an acceleration that is known late: each increment is what was read."""
    body = BodyParameters(velocities=Velocities.from_poses)
    state_at = only(position=lambda time: (start * time + 1.5 * time * time, 0.0, 0.0))
    plan = imu_model(rate).plan()
    stamps, rows = run(plan, state_at, np.arange(61) * 0.005, body=body)
    accelerations, increments = rows[:, 0:3], rows[:, 9:12]
    steps = np.diff(stamps)[:, np.newaxis]
    # the true acceleration is even but for the first step; a coarse sample may reach into that
    even = stamps[:-1] >= 0.005 - 1e-9
    assert increments[1:][even] == pytest.approx((steps * accelerations[1:])[even], abs=1e-9)
    if rate == 1000.0:
        assert increments[1:] == pytest.approx(steps * accelerations[1:], abs=1e-9)


def test_pairs_are_looked_at_apart():
    told = []
    state_at = only(position=lambda time: (3.0 * time, 0.0, 0.0), rate=lambda time: (0.0, 0.0, 0.5))
    _, rows = run(imu_model(1000.0).plan(), state_at, STEPS, warn=told.append)
    rates = np.linalg.norm(rows[1:, 3:6], axis=1)
    assert rates == pytest.approx(np.full(len(rates), 0.5), abs=1e-12)
    assert sorted(told) == sorted([COMPLETED[1], COMPLETED[2]])


# ---- masters that begin with zeros (``test_body_jumps``) -----------------------------------------


def from_zeros(state_at, start=None):
    """What a master passes on that sets zeros at the start, and the truth from the next step on."""

    def passed_on(time):
        return state_at(time) if time > 0.0 else np.zeros(13) if start is None else start

    return passed_on


# ---- nothing left out, or said so ----------------------------------------------------------------


@pytest.mark.parametrize("plan", [accelerometer, gyroscope, lambda rate: imu_model(rate).plan()])
def test_a_body_that_is_all_connected_reads_the_same_bits_as_one_that_is_given(plan):
    given = BodyParameters(poses=Poses.given, velocities=Velocities.given)
    auto = run(plan(1000.0), swinging, STEPS)
    expected = run(plan(1000.0), swinging, STEPS, body=given)
    assert auto[1].tobytes() == expected[1].tobytes()


def smooth_start(time):
    """A body that stands still for 0.1 s, then moves and turns without a jerk at the beginning."""
    t = max(0.0, time - 0.1)
    angle, rate = t**3, 3.0 * t * t
    return np.array([t**3, 0.0, 0.0, *about_z(angle), 3.0 * t * t, 0.0, 0.0, 0.0, 0.0, rate])


@pytest.mark.parametrize("left_out", [None, "poses", "velocities"])
def test_a_body_that_stands_still_first_moves_on_without_a_jump(left_out):
    def state_at(time):
        state = smooth_start(time)
        if left_out == "poses":
            state[:7] = AT_REST[:7]
        if left_out == "velocities":
            state[7:] = 0.0
        return state

    told = []
    plan = imu_model(1000.0)
    stamps, rows = run(plan.plan(), state_at, np.arange(61) * 0.005, warn=told.append)
    t = np.maximum(0.0, stamps - 0.1)
    # acceleration 6 t and rate 3 t^2: late by at most a step, of an arm of 0.4 m besides
    rates = np.linalg.norm(rows[:, 3:6], axis=1)
    assert rates == pytest.approx(3.0 * t * t, abs=6.0 * 0.2 * 0.005)
    force = np.linalg.norm(rows[:, 0:3], axis=1)
    assert np.abs(np.diff(force)).max() < 0.1
    assert len(told) == (0 if left_out is None else 2)


@pytest.mark.parametrize(
    ("body", "left_out"),
    [
        (BodyParameters(poses=Poses.given), RATE),
        (BodyParameters(poses=Poses.given, velocities=Velocities.given), ORIENTATION),
        (BodyParameters(velocities=Velocities.given), ORIENTATION),
    ],
)
def test_what_is_given_is_never_questioned(body, left_out):
    if left_out == RATE:
        state_at = only(rate=lambda time: (0.0, 0.0, 1.0))
        expected = (0.0, 0.0, 1.0)
    else:
        state_at = only(orientation=about_z)
        expected = (0.0, 0.0, 0.0)
    _, rows = run(gyroscope(100.0), state_at, STEPS, body=body)
    assert rows.tolist() == [list(expected)] * len(rows)


def test_poses_and_velocities_cannot_both_come_from_each_other():
    with pytest.raises(ParameterError, match="poses = from_velocities while velocities = from_pos"):
        BodyParameters(poses=Poses.from_velocities, velocities=Velocities.from_poses)


def test_poses_from_velocities_start_where_the_body_is_and_take_no_later_pose():
    body = BodyParameters(poses=Poses.from_velocities)
    port = BodyPort(body, nothing)
    state = swinging(0.0)
    found = [port.complete(0.0, state)[0]]
    port.keep()
    for number in range(1, 4):
        state[POSITION] = 7.0 * number  # nobody looks at it
        found.append(port.complete(0.1 * number, state)[0])
        port.keep()
    ways = np.array([row[POSITION] - found[0][POSITION] for row in found])
    expected = np.outer([0.0, 0.1, 0.2, 0.3], state[VELOCITY])
    assert ways == pytest.approx(expected, abs=1e-15)
    assert found[0].tolist() == swinging(0.0).tolist()


# ---- time and states -----------------------------------------------------------------------------


def cut(state_at, instants):
    return run(gyroscope(1000.0), state_at, instants, warn=lambda _: None)[1]


def test_what_was_seen_does_not_depend_on_how_time_is_cut():
    state_at = only(rate=lambda time: (0.2, 0.0, 1.0 + 0.5 * time))
    coarse = cut(only(rate=lambda time: (0.0, 0.0, 1.0 + 0.5 * time)), np.arange(7) * 0.05)
    fine = cut(only(rate=lambda time: (0.0, 0.0, 1.0 + 0.5 * time)), np.arange(31) * 0.01)
    # a rate about one axis that is linear in time is integrated without an error
    assert coarse == pytest.approx(fine, abs=1e-13)
    assert cut(state_at, STEPS).shape == fine.shape


def integrated_at(instants):
    """Pose after these instants of velocities that are linear in time, about a fixed axis."""
    port = BodyPort(BodyParameters(poses=Poses.from_velocities), nothing)
    for time in instants:
        state = np.array([1000.0, -20.0, 3.0, *AT_REST[3:]])
        state[VELOCITY] = 3.0 - 0.1 * time, 0.7 * time, -0.3
        state[RATE] = np.array([0.48, -0.6, 0.64]) * (1.0 - 0.05 * time)
        found = port.complete(float(time), state)[0]
        port.keep()
    return found


def test_integrated_poses_depend_on_the_cutting_of_time_by_roundings_alone():
    end, most = 20.0, 5000
    chance = np.sort(np.random.default_rng(1).uniform(0.0, end, 1500))
    expected = np.array([1000.0 + 60.0 - 20.0, -20.0 + 140.0, 3.0 - 6.0])
    axis, angle = np.array([0.48, -0.6, 0.64]) / 1.0, (1.0 - 0.025 * end) * end
    angle *= np.linalg.norm(axis)
    axis /= np.linalg.norm(axis)
    turned = np.array([math.cos(0.5 * angle), *(math.sin(0.5 * angle) * axis)])
    for instants in (
        np.linspace(0.0, end, most + 1),
        np.array([0.0, end]),
        np.array([0.0, *chance, end]),
    ):
        found, states = integrated_at(instants), len(instants)
        assert found[POSITION] == pytest.approx(expected, abs=states * 1.2e-16 * 1060.0)
        away = min(np.linalg.norm(found[ORIENTATION] - s * turned) for s in (1.0, -1.0))
        assert 2.0 * away <= states * 1e-15


MODES = {
    "auto": AUTO,
    "integrated": BodyParameters(poses=Poses.from_velocities),
    "derived": BodyParameters(velocities=Velocities.from_poses),
}
BODIES = {
    "all": swinging,
    "zeros": from_zeros(lambda time: np.array([*swinging(0.3 + time)[:7], *np.zeros(6)]), AT_REST),
    "zeros, integrated": from_zeros(
        lambda time: np.array([*swinging(0.3 + time)[:3], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.7]),
        AT_REST,
    ),
    "velocities": lambda time: np.array([*AT_REST[:7], *swinging(time)[7:]]),
    "poses": lambda time: np.array([*swinging(time)[:7], *np.zeros(6)]),
}


@pytest.mark.parametrize("state_at", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("body", MODES.values(), ids=MODES)
@pytest.mark.parametrize("saved_at", [1, 2, 7])
def test_a_restored_step_goes_on_bit_by_bit(body, state_at, saved_at):
    def stepped(step, numbers):
        rows = []
        for number in numbers:
            put(step, state_at(0.01 * number))
            step.advance(0.01 * number, 0.01)
            rows.append([step.get(name) for name, _ in step._outputs])
        return rows

    def fresh():
        step = Step(imu_model(300.0).plan(), FMI_RULE, body=body)
        put(step, state_at(0.0))
        step.observe(0.0)
        return step

    one = fresh()
    stepped(one, range(saved_at))
    saved = one.state()
    expected = stepped(one, range(saved_at, 20))
    other = fresh()
    other.restore(saved)
    assert stepped(other, range(saved_at, 20)) == expected


@pytest.mark.parametrize("state_at", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("body", MODES.values(), ids=MODES)
def test_the_port_of_other_sensors_gives_the_states_of_compiled_steps(body, state_at):
    step = Step(imu_model(0.0).plan(), AT_END, body=body)
    port = BodyPort(body, lambda _: None)
    for number in range(12):
        time = 0.01 * number
        if number == 7:
            port = port.restored(port.state)
        state = state_at(time)
        put(step, state)
        before = step.state()["known"][0]
        if number == 0:
            step.observe(time)
        else:
            step.advance(time - 0.01, 0.01)
        completed, revised = port.complete(time, state)
        port.keep()
        now, older = step.state()["known"][:2, :13]
        assert completed.tobytes() == now.tobytes()
        if number > 0 and not np.array_equal(older, before[:13]):
            assert revised.tobytes() == older.tobytes()
        else:
            assert revised is None


class AskingPort(BodyPort):
    """One that asks its kernel for every state."""

    def _says_nothing_new(self, given):
        return False


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("body", MODES.values(), ids=MODES)
def test_states_that_say_nothing_new_are_those_that_the_kernel_gives(body, seed):
    """Inputs that change or stay, some given twice or refused, on a port that was saved between."""
    random = np.random.default_rng(seed)
    told, also_told = [], []
    quick, asking = BodyPort(body, told.append), AskingPort(body, also_told.append)
    state, time, skipped = AT_REST.copy(), 0.0, 0
    for number in range(60):
        for part in (POSITION, VELOCITY, RATE):
            if random.random() < 0.15:
                state[part] = random.integers(-1, 2, 3)
        if random.random() < 0.1:
            state[ORIENTATION] = random.choice([[1.0, 0, 0, 0], [0, 0, 1.0, 0], [0, -1.0, 0, 0]])
        skipped += quick._says_nothing_new(state)
        one, other = (port.complete(time, state.copy()) for port in (quick, asking))
        assert one[0].tobytes() == other[0].tobytes()
        assert np.array_equal(one[1], other[1])
        if random.random() < 0.9:  # else the step is refused
            quick.keep()
            asking.keep()
        assert quick.state.tobytes() == asking.state.tobytes()
        if number == 40:
            quick = quick.restored(quick.state)
        time += 0.01 * random.integers(0, 2)
    assert told == also_told
    assert skipped > 3 or body.policy != AUTO.policy


def test_a_saved_state_that_remembers_nonsense_is_refused():
    step = Step(gyroscope(), FMI_RULE)
    step.observe(0.0)
    saved = step.state()
    saved["known"][2, 7] = 17.0
    with pytest.raises((StepError, ParameterError), match="remembers of the motion"):
        step.restore(saved)
    port = BodyPort(AUTO, nothing)
    port.complete(0.0, AT_REST)
    port.keep()
    for spoilt in (np.zeros(5), np.full(42, np.nan), np.full(42, 9.0)):
        with pytest.raises(ParameterError):
            port.restored(spoilt)


# ---- angles --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("angles", "vector", "expected"),
    [
        ((0.5 * math.pi, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        ((0.0, 0.5 * math.pi, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0)),
        ((0.0, 0.0, 0.5 * math.pi), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        ((0.5 * math.pi, 0.0, 0.5 * math.pi), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        ((0.0, 0.5 * math.pi, 0.5 * math.pi), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)),
    ],
)
def test_angles_turn_about_x_of_the_body_then_y_then_z(angles, vector, expected):
    q = orientation_of_angles(np.array(angles))
    assert rotate_vector(q, np.array(vector)) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("roll", [-3.0, 0.4, 2.0])
@pytest.mark.parametrize("pitch", [-1.5, 0.0, 1.2])
@pytest.mark.parametrize("yaw", [-3.1, 0.0, 3.0])
def test_angles_come_back(roll, pitch, yaw):
    q = orientation_of_angles(np.array([roll, pitch, yaw]))
    assert angles_of_orientation(*q) == pytest.approx((roll, pitch, yaw), abs=1e-13)


@pytest.mark.parametrize("pitch", [-0.5 * math.pi, 0.5 * math.pi])
def test_angles_at_the_gimbal_are_the_same_orientation(pitch):
    q = orientation_of_angles(np.array([0.3, pitch, 0.8]))
    again = orientation_of_angles(np.array(angles_of_orientation(*q)))
    assert abs(float(q @ again)) == pytest.approx(1.0, abs=1e-12)


def test_angles_that_are_no_numbers_are_refused_by_name():
    with pytest.raises(ParameterError, match=r"body\.euler\.pitch = nan is not a finite number"):
        orientation_of_angles(np.array([0.0, math.nan, 0.0]))


def test_only_a_sensor_with_angles_can_be_asked_for_them():
    body = BodyParameters(orientation_input=OrientationInput.euler)
    with pytest.raises(KeyError, match=r"body\.euler\.roll"):
        Step(gyroscope(), FMI_RULE, body=body)
