"""Bodies whose master begins with zeros: a first pose that jumps is no motion."""

import numpy as np
import pytest

from sensor_models.core.body import (
    COMPLETED,
    BodyParameters,
    BodyPort,
    Velocities,
    orientation_of_angles,
)
from sensor_models.core.quantities import ParameterError
from sensor_models.core.step import Step
from tests.sensor_models.core.test_body_port import (
    AT_REST,
    AUTO,
    POSITION,
    RATE,
    STEPS,
    VELOCITY,
    G,
    about_z,
    both_rules,
    from_zeros,
    only,
    run,
    smooth_start,
)
from tests.sensor_models.steps import AT_END, bytes_of, imu_model, nothing, put

TILT = orientation_of_angles(np.array([0.3, -0.2, 0.9]))
TILTED = np.array([0.5, -3.0, 1.2, *TILT, *np.zeros(6)])


def unheard(message):
    """Zeros are told of as an orientation that is not connected."""


@both_rules
@pytest.mark.parametrize("cutoff", [0.0, 30.0])
def test_a_pose_that_comes_after_zeros_is_no_motion(sampling, cutoff):
    """The body hangs still and tilted: nothing is ever felt but gravity, from that pose on."""
    told = []

    def felt(state_at, warn):
        plan = imu_model(1000.0, filter_cutoff=cutoff).plan()
        return run(plan, state_at, STEPS, sampling=sampling, warn=warn)

    _, rows = felt(from_zeros(lambda time: TILTED), told.append)
    expected = felt(lambda time: TILTED, nothing)[1]
    assert rows[1:] == pytest.approx(expected[1:], abs=1e-12)
    assert np.linalg.norm(expected[:, 0:3], axis=1) == pytest.approx(G, abs=1e-12)
    assert not set(told) & set(COMPLETED)


def swings_from_rest(time):
    """A pose and its velocities, at rest until 0.05 s."""
    state = smooth_start(time + 0.05)
    state[:3] += 0.7
    return state


@pytest.mark.parametrize("left_out", [None, VELOCITY])
def test_what_moves_after_zeros_is_measured_as_from_its_own_start(left_out):
    """Once the first pose is there, readings are those of a master that had it at the start."""

    def state_at(time):
        state = swings_from_rest(time)
        if left_out is not None:
            state[7:] = 0.0
        return state

    instants = np.arange(31) * 0.005
    found = run(imu_model(1000.0).plan(), from_zeros(state_at), instants, warn=unheard)
    expected = run(imu_model(1000.0).plan(), state_at, instants, warn=unheard)
    assert found[1][1:] == pytest.approx(expected[1][1:], abs=1e-9)


def test_poses_alone_that_leave_the_start_values_at_once_lose_their_first_step():
    """That the body moved in it cannot be known; from the second step on all is as it was."""
    state_at = only(
        position=lambda time: (3.0 * time, 0.0, 0.0), orientation=lambda time: about_z(0.8 * time)
    )
    stamps, rows = run(imu_model(1000.0).plan(), state_at, STEPS, warn=unheard)
    first = stamps < STEPS[1] + 1e-6
    assert rows[first, 3:6].tolist() == np.zeros((first.sum(), 3)).tolist()
    assert np.linalg.norm(rows[~first, 3:6], axis=1) == pytest.approx(0.8, abs=1e-11)
    # no spike where motion begins: an arm of 0.4 m at most turns with 0.64 / s^2
    assert np.linalg.norm(rows[:, 0:3], axis=1) == pytest.approx(G, abs=0.05)
    asked = BodyParameters(velocities=Velocities.from_poses)
    rows = run(imu_model(1000.0).plan(), state_at, STEPS, body=asked)[1]
    assert np.linalg.norm(rows[1:, 3:6], axis=1) == pytest.approx(0.8, abs=1e-11)


@pytest.mark.parametrize(
    "start",
    [
        np.array([1e-3, 0.0, 0.0, *AT_REST[3:]]),
        np.array([0.0, 0.0, 0.0, *about_z(0.1), *np.zeros(6)]),
        np.array([*AT_REST[:10], 0.0, 0.0, 0.5]),
    ],
    ids=["position", "orientation", "rate"],
)
def test_a_start_that_was_set_is_where_motion_begins(start):
    port = BodyPort(AUTO, unheard)
    port.complete(0.0, start)
    port.keep()
    state = start.copy()
    state[POSITION] += (0.0, 0.2, 0.0)
    found, _ = port.complete(0.1, state)
    assert found[VELOCITY] == pytest.approx([0.0, 2.0, 0.0])


def test_a_refused_second_step_leaves_the_start_as_it_was():
    step = Step(imu_model(1000.0).plan(), AT_END, warn=unheard)
    put(step, np.zeros(13))
    step.observe(0.0)
    before = bytes_of(step.state())
    bad = TILTED.copy()
    bad[RATE] = 1e300  # what turns that fast is not finite at the end of an arm
    put(step, bad)
    with pytest.raises(ParameterError):
        step.advance(0.0, 0.01)
    assert bytes_of(step.state()) == before
    put(step, TILTED)
    step.advance(0.0, 0.01)
    assert [step.get(f"gyroscope.{axis}") for axis in "xyz"] == [0.0, 0.0, 0.0]
