"""A triaxial sensor over time: bad input, batches, restored states, time that stands still."""

import math

import numpy as np
import pytest

from sensor_models.core.faults import NO_FAULT, Fault, FaultMode
from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.triaxial import TriaxialParameters
from tests.chain import Triaxial
from tests.sensor_models.kernels.inertial.test_triaxial import ALL

PRESENT = (Fault(FaultMode.present), NO_FAULT, Fault(FaultMode.present))


def make(rate=100.0, **parameters):
    return Triaxial(TriaxialParameters(**parameters), seed=4, sensor="s", rate=rate)


def signal(k):
    return np.array([math.sin(0.1 * k), 0.01 * k, 4.0 - 0.02 * k])


def run(sensor, first, last, **inputs):
    return [sensor.sample(k, 0.01 * k, signal(k), **inputs) for k in range(first, last)]


@pytest.mark.parametrize("rate", [0.0, 100.0])
def test_a_batch_is_the_same_as_one_by_one(rate):
    settings = ALL if rate else ALL | {"delay": 0.0, "jitter": 0.0}
    stepped, batched = make(rate, **settings), make(rate, **settings)
    single = run(stepped, 0, 300, temperature=310.0, faults=PRESENT)
    times = np.array([0.01 * k for k in range(300)])
    ideals = np.array([signal(k) for k in range(300)])
    first = batched.sample_batch(0, times[:123], ideals[:123], temperatures=310.0, faults=PRESENT)
    second = batched.sample_batch(
        123, times[123:], ideals[123:], temperatures=np.full(177, 310.0), faults=PRESENT
    )
    assert np.concatenate([first, second]).tobytes() == np.array(single).tobytes()
    assert batched.state.tobytes() == stepped.state.tobytes()


def test_a_restored_state_continues_bit_by_bit():
    sensor = make(**ALL)
    run(sensor, 0, 50, faults=PRESENT)
    saved = sensor.state
    expected = run(sensor, 50, 100, faults=PRESENT)
    other = make(**ALL)
    run(other, 0, 7)
    other.state = saved
    assert other.stages.reported.tobytes() != expected[0].tobytes()
    assert np.array(run(other, 50, 100, faults=PRESENT)).tobytes() == np.array(expected).tobytes()


def test_reset_replays_the_run():
    sensor = make(**ALL)
    first = run(sensor, 0, 60)
    sensor.reset()
    assert np.array(run(sensor, 0, 60)).tobytes() == np.array(first).tobytes()


def test_a_state_of_another_size_is_refused():
    with pytest.raises(ValueError, match="state has shape"):
        make().state = np.zeros(3)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_input_that_is_not_finite_spoils_its_own_sample_only(bad):
    # low-pass and delay look back at past input and have a test of their own
    settings = ALL | {"filter_cutoff": 0.0, "delay": 0.0, "jitter": 0.0}
    settings |= {"saturation_average": False}
    disturbed, undisturbed = make(**settings), make(**settings)
    for k in range(200):
        faults = PRESENT if 60 <= k < 80 else (NO_FAULT,) * 3
        expected = undisturbed.sample(k, 0.01 * k, signal(k), faults=faults)
        if k in (0, 40, 41, 70, 150):
            ideal, temperature, force = signal(k), 300.0, np.zeros(3)
            if k == 40:
                temperature = bad
            elif k == 41:
                force[1] = bad
            else:
                ideal[1] = bad
            shown = disturbed.sample(
                k, 0.01 * k, ideal, temperature=temperature, force=force, faults=faults
            )
            assert np.isnan(shown).all()
        else:
            shown = disturbed.sample(k, 0.01 * k, signal(k), faults=faults)
            assert shown.tobytes() == expected.tobytes()
    assert disturbed.state.tobytes() == undisturbed.state.tobytes()


def test_over_a_gap_the_low_pass_sees_its_last_input():
    gap, held = make(filter_cutoff=5.0, filter_order=2), make(filter_cutoff=5.0, filter_order=2)
    for k in range(40):
        missing = 10 <= k < 15
        shown = gap.sample(k, 0.01 * k, (math.nan,) * 3 if missing else signal(k))
        expected = held.sample(k, 0.01 * k, signal(9) if missing else signal(k))
        assert np.isnan(shown).all() if missing else shown.tobytes() == expected.tobytes()


def test_over_a_gap_a_delayed_signal_is_linear():
    sensor = make(delay=0.02)
    for k in range(40):
        line = np.full(3, 0.5 * k)
        shown = sensor.sample(k, 0.01 * k, np.full(3, math.nan) if k in (20, 21) else line)
        if k > 24:
            # roundings of instants
            assert shown == pytest.approx(line - 1.0, abs=1e-11)


def test_a_missing_first_input_leaves_low_pass_and_delay_unstarted():
    sensor = make(filter_cutoff=5.0, delay=0.01)
    assert np.isnan(sensor.sample(0, 0.0, (math.nan, 0.0, 0.0))).all()
    assert sensor.sample(1, 0.01, (3.0, 4.0, 5.0)).tolist() == [3.0, 4.0, 5.0]
    assert sensor.sample(2, 0.02, (3.0, 4.0, 5.0)).tolist() == [3.0, 4.0, 5.0]


def test_axes_that_are_not_there_read_0_in_every_case():
    sensor = make(axes="y", bias=(1.0, 1.0, 1.0))
    faults = (Fault(FaultMode.set, 7.0), NO_FAULT, Fault(FaultMode.set, 7.0))
    assert sensor.sample(0, 0.0, (1.0, 2.0, 3.0), faults=faults).tolist() == [3.0]
    assert sensor.stages.reported.tolist() == [0.0, 3.0, 0.0]
    sensor.sample(1, 0.01, (math.nan, 2.0, 3.0))
    assert sensor.stages.reported.tolist()[::2] == [0.0, 0.0]


def test_a_sample_at_the_start_instant_replaces_the_start():
    settings = {"drift_type": DriftType.random_walk, "drift_walk": (1.0, 1.0, 1.0)}
    replaced, once = make(filter_cutoff=3.0, **settings), make(filter_cutoff=3.0, **settings)
    replaced.sample(0, 1.0, (9.0, 9.0, 9.0))
    for sensor in (replaced, once):
        sensor.sample(0, 1.0, (1.0, 2.0, 3.0))
    assert replaced.state.tobytes() == once.state.tobytes()


@pytest.mark.parametrize("time", [0.49, 0.2, -1.0])
def test_time_that_does_not_advance_holds_the_last_reading(time):
    sensor = make(**ALL)
    last, before = run(sensor, 0, 50)[-1], sensor.state
    assert sensor.sample(50, time, (0.0, 0.0, 0.0)).tobytes() == last.tobytes()
    assert sensor.state.tobytes() == before.tobytes()


@pytest.mark.parametrize("time", [math.nan, math.inf])
def test_a_time_that_is_not_finite_gives_no_reading_and_leaves_the_state_alone(time):
    sensor = make(**ALL)
    last, before = run(sensor, 0, 50)[-1], sensor.state
    assert np.isnan(sensor.sample(50, time, signal(50))).all()
    assert sensor.state.tobytes() == before.tobytes()
    assert sensor.sample(50, 0.49, signal(50)).tobytes() == last.tobytes()


def test_shapes_that_do_not_fit_are_refused():
    sensor = make()
    with pytest.raises(ValueError, match=r"ideal have shape \(4,\), need \(3,\)"):
        sensor.sample(0, 0.0, (1.0, 2.0, 3.0, 4.0))
    with pytest.raises(ValueError, match=r"times have shape \(2, 1\)"):
        sensor.sample_batch(0, [[0.0], [1.0]], np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"ideals have shape \(3, 3\), need \(2, 3\)"):
        sensor.sample_batch(0, [0.0, 1.0], np.zeros((3, 3)))
