"""Sensors that sample in Python, as those of one's own do: a refused step, and interrupted ones."""

from dataclasses import dataclass

import numpy as np
import pytest

from sensor_models.core.frames import interpolate_joint
from sensor_models.core.quantities import ParameterError, real
from sensor_models.core.sensor import Held, Inputs, SampledSensor, Setup
from sensor_models.core.spec import Group, SensorSpec
from sensor_models.output.records import RecordParameters
from sensor_models.wheel.sensors import JointState


@dataclass(frozen=True)
class TotalReading:
    """What it reports."""

    total: float = real(0.0, "rad", "Sum of all positions so far")


class Total:
    """Adds up the positions of a joint, so that no sample can be lost or counted twice."""

    def __init__(self) -> None:
        self._sum = 0.0

    @property
    def state(self) -> np.ndarray:
        return np.array([self._sum])

    @state.setter
    def state(self, state: np.ndarray) -> None:
        self._sum = float(state[0])

    def reset(self) -> None:
        self._sum = 0.0

    def measure(self, _index, _time, joint, _held) -> TotalReading:
        if joint[0] == 13.0:
            raise KeyboardInterrupt
        self._sum += float(joint[0])
        return TotalReading(self._sum)


def create(setup: Setup) -> SampledSensor:
    model = Total()
    return SampledSensor(setup, model, model.measure, interpolate_joint)


SPEC = SensorSpec(
    name="Total",
    text="Adds up",
    create=create,
    state=(Group(JointState),),
    readings=(Group(TotalReading),),
    sinks=(Group(RecordParameters),),
)


def started():
    """A sensor after four steps of two samples each."""
    sensor = SPEC.make(Setup(SPEC, SPEC.build({"sample_rate": 100.0}), "one"))
    assert [result.values for result in sensor.begin(inputs(1.0))] == [(1.0,)]
    for number in range(4):
        assert len(step(sensor, number, 1.0 + number)) == 2
    return sensor


def inputs(position):
    held = Held(SPEC.build({}))
    return Inputs(np.array([position, 0.0]), held, held)


def step(sensor, number, position):
    times = 0.02 * number, 0.02 * (number + 1)
    return [(r.number, r.time, r.values) for r in sensor.advance(inputs(position), *times)]


def bits(sensor):
    return {name: array.tobytes() for name, array in sensor.state().items()}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        # The sample halfway is finite, the one at the end is not.
        (1.7e308, pytest.raises(ParameterError, match="is not finite")),
        (13.0, pytest.raises(KeyboardInterrupt)),
    ],
    ids=["too large", "interrupted"],
)
def test_a_step_that_fails_changes_nothing_and_the_next_good_one_goes_on(bad, reason):
    sensor, undisturbed = started(), started()
    before = bits(sensor)
    for _ in range(2):
        with reason:
            step(sensor, 4, bad)
        assert bits(sensor) == before
    for number in range(4, 7):
        assert step(sensor, number, -1.0) == step(undisturbed, number, -1.0)
        assert bits(sensor) == bits(undisturbed)


def test_time_that_goes_back_is_refused_and_changes_nothing():
    sensor = started()
    before = bits(sensor)
    with pytest.raises(ParameterError, match="lies before the latest known state"):
        list(sensor.advance(inputs(2.0), 0.0, 0.03))
    assert bits(sensor) == before
