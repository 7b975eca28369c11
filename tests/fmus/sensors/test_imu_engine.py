"""FMU ``Imu`` on bodies that MuJoCo moves: the readings are those of the engine's own sensors.

The engine's states go into the inputs as from any master that does 1 ms steps, by either rule.
Bars: accelerometer 5e-3 m/s2, gyroscope 1e-3 rad/s, magnetometer 1e-12 T in a field of 5e-5 T.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.fmus.driving import drive
from tests.fmus.host import open_fmu
from tests.fmus.inertial import Values, body_inputs, spread
from tests.sensor_models.inertial.test_imu_oracle import (
    BRICK,
    FIELD,
    MOUNT,
    POSE,
    STEP,
    THROWN,
    Recording,
    record,
    record_arm,
)


def place(name: str, position: tuple[float, ...], orientation: tuple[float, ...]) -> Values:
    """A pose by the names of its parts."""
    turn = {f"{name}.orientation.{p}": v for p, v in zip("wxyz", orientation, strict=True)}
    return {**spread(f"{name}.position", position), **turn}


#: All sensors where the engine has its own, aside and turned in the IMU, which is so on the body.
PARAMETERS = {
    **place("mount", MOUNT.position, MOUNT.orientation),
    **place("accelerometer", POSE.position, POSE.orientation),
    **place("gyroscope", POSE.position, POSE.orientation),
    **place("magnetometer", POSE.position, POSE.orientation),
    **spread("magnetometer.field", FIELD),
}


@pytest.fixture(scope="module", params=["arm", "brick"])
def recording(request: pytest.FixtureRequest) -> Recording:
    """Two links in free swing, or a body that was thrown."""
    return record_arm() if request.param == "arm" else record(BRICK, THROWN, 1.0)


@pytest.mark.parametrize("at_step_end", [False, True], ids=["fmi", "step end"])
def test_the_readings_are_those_of_the_engine(
    imu_fmu: Path, recording: Recording, at_step_end: bool
) -> None:
    assert np.linalg.norm(recording.accelerometer, axis=1).max() >= 20.0, "fast enough to tell"
    assert 4.9e-5 < np.linalg.norm(FIELD) < 5.1e-5
    count = len(recording.times)
    states = [body_inputs(state) for state in recording.bodies]
    with open_fmu(imu_fmu) as imu:
        rule = {"inputs_at_step_end": at_step_end}
        imu.initialize({**PARAMETERS, **rule, **states[0]})
        instants = [k * STEP for k in range(count)]
        readings = drive(imu, instants, lambda t: states[round(t / STEP)], at_step_end=at_step_end)
    first = 1 if at_step_end else 0
    for k, reading in enumerate(readings, first):
        assert reading["sample.time"] == instants[k]
    bars = {"accelerometer": 5e-3, "gyroscope": 1e-3, "magnetometer": 1e-12}
    for name, bar in bars.items():
        found = np.array([[reading[f"{name}.{axis}"] for axis in "xyz"] for reading in readings])
        expected = getattr(recording, name)[first : first + len(found)]
        error = np.linalg.norm(found - expected, axis=1)
        # the first two samples have no second-order difference yet
        assert error[2 - first :].max() < bar
