"""An IMU's samples do not depend on how a master cuts the time axis into steps.

The same bits can be asked for wherever all masters know the motion: there the inputs coincide. An
instant between two known ones is interpolated, and the weights of an interpolation over 3 ms are
others than those over 10 ms; so on a motion that interpolation reproduces, readings agree but for
rounding, and codes to the bit as long as no reading is near the border of a code.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensor_models.core.codes import RoundingMode
from sensor_models.core.faults import FaultMode, FaultWave
from sensor_models.inertial.corruption import DriftType
from tests import oracles
from tests.fmus.driving import Columns, Motion, bits, record_run
from tests.fmus.fmi.test_cutting import COMMON, END, STEPS, at_milliseconds, times, up_to_end
from tests.fmus.histories import SUBSENSORS
from tests.fmus.inertial import ACCELERATION_INPUTS, STATE_INPUTS, spread

#: All errors that make a sample depend on others, on its instant, or on its number.
ERRORS: dict[str, Any] = {
    **spread("noise.rms", (0.3, 0.2, 0.1)),
    **spread("noise.density", (0.01, 0.02, 0.03)),
    "drift.type": DriftType.gauss_markov,
    "drift.stationary_start": True,
    **spread("drift.std", (0.3, 0.2, 0.1)),
    "drift.time_constant": 0.1,
    **spread("instability", (0.1, 0.2, 0.3)),
    **spread("scale_temperature", (1e-3, 0.0, -1e-3)),
    "filter.cutoff": 10.0,
    "filter.order": 2,
}


def for_all(values: Mapping[str, Any], *sensors: str) -> dict[str, Any]:
    """The same parameters for several sensors of the IMU."""
    return {f"{s}.{n}": value for s in sensors or SUBSENSORS for n, value in values.items()}


IMU = {
    **for_all(ERRORS),
    **spread("mount.position", (0.3, -0.2, 0.1)),
    "mount.orientation.x": 0.4,
    "accelerometer.position.y": 0.2,
    **spread("magnetometer.field", (2.0, 0.5, -4.0)),
}

rules = pytest.mark.parametrize("at_step_end", [False, True], ids=["fmi", "step end"])
clocks = pytest.mark.parametrize("added_up", [False, True], ids=["multiplied", "added up"])


def erratic_motion() -> Motion:
    """A body that nothing interpolates, with faults and warmth from 120 ms to 210 ms."""
    generator = np.random.default_rng(8)
    n = np.arange(END + 20)
    faulty = (n >= 120) & (n < 210)
    names = [*STATE_INPUTS, *ACCELERATION_INPUTS]
    return at_milliseconds(
        {
            **{name: generator.normal(0.0, 2.0, len(n)) for name in names},
            "temperature": np.where(faulty, 320.0, 290.0),
            "accelerometer.fault.x.wave": np.where(faulty, FaultWave.square, FaultWave.none),
            "accelerometer.fault.x.amplitude": np.full(len(n), 1e6),
            "gyroscope.fault.y.mode": np.where(faulty, FaultMode.present, FaultMode.none),
            "magnetometer.fault.z.mode": np.where(faulty, FaultMode.off, FaultMode.none),
        }
    )


def smooth_motion() -> Motion:
    """A body on a cubic that turns evenly about a fixed axis: interpolation reproduces it."""
    t = np.arange(END + 20) / 1000
    motion: dict[str, np.ndarray[Any, Any]] = {}
    for axis, (b, c, d) in zip("xyz", [(2, 30, -80), (-3, 20, 60), (1, -40, 90)], strict=True):
        motion[f"body.position.{axis}"] = 0.5 + b * t + c * t**2 + d * t**3
        motion[f"body.velocity.{axis}"] = b + 2 * c * t + 3 * d * t**2
        motion[f"body.acceleration.{axis}"] = 2 * c + 6 * d * t
    spin = np.array([1.0, -2.0, 4.0])
    turns = np.array([oracles.turn(spin, np.linalg.norm(spin) * time) for time in t])
    motion.update({f"body.orientation.{p}": turns[:, k] for k, p in enumerate("wxyz")})
    motion.update(spread("body.angular_velocity", [np.full(len(t), rate) for rate in spin]))
    return at_milliseconds(motion)


def run(
    fmu: Path,
    directory: Path,
    instants: list[float],
    motion: Motion,
    parameters: Mapping[str, Any],
    at_step_end: bool,
) -> Columns:
    """The samples until ``END``."""
    rule = {"inputs_at_step_end": at_step_end}
    return up_to_end(record_run(fmu, directory, instants, motion, {**parameters, **rule}))


@clocks
@rules
@pytest.mark.parametrize("known", [False, True], ids=["differences", "accelerations"])
def test_samples_at_step_ends_of_all_masters_are_the_same_bits(
    imu_fmu: Path, tmp_path: Path, known: bool, at_step_end: bool, added_up: bool
) -> None:
    # Every instant that is sampled is one that all these masters know: nothing is interpolated.
    # A low-pass this slow has its inputs with the samples alone.
    slow = for_all({"filter.cutoff": 2.5})
    rate = {"use_acceleration_inputs": known, "sample_rate": 1000 / COMMON}
    parameters = {**IMU, **slow, **rate}
    runs = [
        run(
            imu_fmu,
            tmp_path / str(step),
            times(step, added_up=added_up),
            erratic_motion(),
            parameters,
            at_step_end,
        )
        for step in STEPS
    ]
    first = runs[0]
    assert len(first["time"]) == END // COMMON + 1
    assert np.flatnonzero(np.abs(first["accelerometer.x"]) > 5e5).tolist() == [4, 5, 6]
    assert np.flatnonzero(first["magnetometer.z"] == 0.0).tolist() == [4, 5, 6]
    assert len(set(first["gyroscope.y"].tolist())) == END // COMMON + 1 - 2
    for other in runs[1:]:
        assert bits(other) == bits(first)


@clocks
@rules
@pytest.mark.parametrize("known", [False, True], ids=["differences", "accelerations"])
def test_interpolated_samples_agree_to_rounding_and_known_ones_to_the_bit(
    imu_fmu: Path, tmp_path: Path, known: bool, at_step_end: bool, added_up: bool
) -> None:
    unfiltered = for_all({"filter.cutoff": 0.0})
    parameters = {**IMU, **unfiltered, "use_acceleration_inputs": known, "sample_rate": 1000.0}
    runs = [
        run(
            imu_fmu,
            tmp_path / str(step),
            times(step, added_up=added_up),
            smooth_motion(),
            parameters,
            at_step_end,
        )
        for step in STEPS
    ]
    first = runs[0]
    assert len(first["time"]) == END + 1
    # a reading without differences depends on its own instant only
    memoryless = [*SUBSENSORS] if known else [*SUBSENSORS][1:]
    for other in runs[1:]:
        assert other["sample"].tobytes() == first["sample"].tobytes()
        assert other["time"].tobytes() == first["time"].tobytes()
        for name in [f"{sensor}.{axis}" for sensor in memoryless for axis in "xyz"]:
            assert other[name][::COMMON].tobytes() == first[name][::COMMON].tobytes(), name
        for name in first:
            # Positions of 4 m to 8 m are rounded to 4e-16 m. A way over 3 ms then is a velocity
            # good to 1.5 * 9e-16 / 3e-3 = 4.5e-13 m/s, and second-order differences over 1 ms make
            # four times that a millisecond of it: 2e-9 m/s2.
            differs = not known and name.startswith("accelerometer.")
            tolerance = 2e-9 if differs else 1e-12
            np.testing.assert_allclose(other[name], first[name], rtol=0, atol=tolerance)


#: Steps of all readings and increments, whose borders no reading comes near. A reading of whole
#: steps over 1 ms must not be whole steps of an increment.
STEP = 0.0370001
INCREMENT_STEP = STEP / 3141.59
CODED: dict[str, Any] = {
    "discretization.on": True,
    "discretization.mode": RoundingMode.floor,
    **spread("discretization.lsb", (STEP, STEP, STEP)),
}
QUANTISED = {
    **IMU,
    **for_all(CODED),
    "increments.discretize": True,
    "increments.lsb_velocity": INCREMENT_STEP,
    "increments.lsb_angle": INCREMENT_STEP,
    "sample_rate": 1000.0,
}


@rules
def test_the_smooth_motion_keeps_away_from_the_borders_of_codes(
    imu_fmu: Path, tmp_path: Path, at_step_end: bool
) -> None:
    parameters = {**QUANTISED, **for_all({"discretization.on": False})}
    signals = run(imu_fmu, tmp_path, times(1), smooth_motion(), parameters, at_step_end)
    for name in [f"{sensor}.{axis}" for sensor in SUBSENSORS for axis in "xyz"]:
        codes = signals[name] / STEP
        # more than interpolation and differences make, 2e-9 / STEP
        assert np.min(np.abs(codes - np.round(codes))) > 1e-7, name
        assert len(set(np.floor(codes).tolist())) > 20, name
    parameters = {**QUANTISED, "increments.discretize": False}
    signals = run(
        imu_fmu, tmp_path / "increments", times(1), smooth_motion(), parameters, at_step_end
    )
    for name in [f"{kind}.{axis}" for kind in ("delta_velocity", "delta_angle") for axis in "xyz"]:
        codes = signals[name][1:] / INCREMENT_STEP  # the first is 0 in every master
        # 1 ms of the above, over the step of an increment; a reading of 0 makes no increment but
        # for rounding, far within the 1e-9 that count as a code
        away = np.abs(codes - np.round(codes))
        assert np.all((away > 1e-6) | (np.abs(codes) < 1e-11)), name
        assert len(set(np.floor(codes).tolist())) > 10, name


@pytest.fixture(scope="module")
def quantised_reference(
    imu_fmu: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[bool, dict[str, bytes]]:
    """A run in steps of 1 ms, by whether inputs belong to the step's end."""
    return {
        at_step_end: bits(
            run(
                imu_fmu,
                tmp_path_factory.mktemp("reference"),
                times(1),
                smooth_motion(),
                QUANTISED,
                at_step_end,
            )
        )
        for at_step_end in (False, True)
    }


@clocks
@rules
@pytest.mark.parametrize("step", STEPS[1:])
def test_quantised_readings_between_steps_are_the_same_bits(
    imu_fmu: Path,
    tmp_path: Path,
    quantised_reference: dict[bool, dict[str, bytes]],
    step: int,
    at_step_end: bool,
    added_up: bool,
) -> None:
    instants = times(step, added_up=added_up)
    found = run(imu_fmu, tmp_path, instants, smooth_motion(), QUANTISED, at_step_end)
    assert len(found["time"]) == END + 1
    assert bits(found) == quantised_reference[at_step_end]


@settings(
    deadline=None,
    max_examples=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cuts=st.sets(st.integers(1, END - 1), max_size=40), at_step_end=st.booleans())
def test_quantised_readings_are_the_same_bits_for_any_steps(
    imu_fmu: Path,
    tmp_path_factory: pytest.TempPathFactory,
    quantised_reference: dict[bool, dict[str, bytes]],
    cuts: set[int],
    at_step_end: bool,
) -> None:
    # longer steps turn by more, and slerp is exact for any turn of less than half a circle
    instants = [n / 1000 for n in sorted({0, END, END + 10} | cuts)]
    directory = tmp_path_factory.mktemp("cut")
    found = run(imu_fmu, directory, instants, smooth_motion(), QUANTISED, at_step_end)
    assert bits(found) == quantised_reference[at_step_end]
