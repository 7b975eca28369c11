"""FMU ``Encoder``: acceptance rows, the model behind it, faults."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.core.faults import Fault, FaultMode, FaultWave
from sensor_models.core.random import stream_key
from sensor_models.wheel.encoder import Encoder, EncoderMode, EncoderParameters
from tests.fmus.driving import drive, inputs_of, record_run
from tests.fmus.host import open_fmu

ABSOLUTE = {"mode": EncoderMode.absolute, "lower": -10.0, "upper": 10.0}
ONE_DEGREE = math.tau / 360


def measured(fmu: Path, position: float, **parameters: Any) -> Any:
    """The position that an encoder reports of a joint that stands still."""
    with open_fmu(fmu) as encoder:
        encoder.initialize({"joint.position": position, **parameters})
        return encoder.get("position")


@pytest.mark.acceptance("ENC-1")
@pytest.mark.parametrize(
    ("position", "resolution", "expected"),
    [(0.3, 0.1, 0.3), (-0.05, 0.1, -0.1), (1.2345, 0.01, 1.23)],
)
def test_enc_1_positions_are_rounded_down_to_codes(
    encoder_fmu: Path, position: float, resolution: float, expected: float
) -> None:
    reported = measured(encoder_fmu, position, resolution=resolution, **ABSOLUTE)
    assert reported == pytest.approx(expected, abs=1e-12)  # tolerance of the acceptance row


@pytest.mark.acceptance("ENC-2")
@pytest.mark.parametrize(
    ("position", "expected"),
    [(-0.1, 6.183185), (7.0, 0.716815), (math.tau, 0.0), (20.0, 1.150444), (-1e-18, 0.0)],
)
def test_enc_2_positions_wrap_at_a_turn(
    encoder_fmu: Path, position: float, expected: float
) -> None:
    # tolerance of the acceptance row
    assert measured(encoder_fmu, position) == pytest.approx(expected, abs=1e-6)


@pytest.mark.acceptance("ENC-3")
@pytest.mark.parametrize(("position", "expected"), [(4.0, -2.283185), (math.pi, -math.pi)])
def test_enc_3_positions_wrap_between_other_limits(
    encoder_fmu: Path, position: float, expected: float
) -> None:
    reported = measured(encoder_fmu, position, lower=-math.pi, upper=math.pi)
    assert reported == pytest.approx(expected, abs=1e-6)  # tolerance of the acceptance row


@pytest.mark.acceptance("ENC-4")
@pytest.mark.parametrize(("position", "expected"), [(7.0, math.tau), (-1.0, 0.0)])
def test_enc_4_an_absolute_encoder_stops_at_its_limits(
    encoder_fmu: Path, position: float, expected: float
) -> None:
    assert measured(encoder_fmu, position, mode=EncoderMode.absolute) == expected


@pytest.mark.acceptance("ENC-5")
def test_enc_5_speed_is_exact_where_edges_fall_on_samples(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({"resolution": 0.1})
        instants = np.arange(1001) * 0.01
        readings = drive(encoder, instants.tolist(), lambda t: {"joint.position": t})
    speeds = [reading["speed"] for reading in readings if reading["speed_valid"]]
    # a code is 10 samples; the speed needs two changes
    assert len(speeds) == 1000 - 20
    assert speeds == pytest.approx([1.0] * len(speeds), abs=1e-9)  # tolerance of the row


@pytest.mark.acceptance("ENC-6")
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_enc_6_speed_between_samples_is_within_the_bound_and_right_on_average(
    encoder_fmu: Path, tmp_path: Path, sign: float
) -> None:
    record = record_run(
        encoder_fmu,
        tmp_path,
        [0.0, 30.0, 30.5],
        lambda t: {"joint.position": sign * t, "joint.velocity": sign},
        {"resolution": ONE_DEGREE, "sample_rate": 1000.0},
    )
    assert len(record["time"]) == 30_001
    assert abs(record["edge_count"][-1]) > 4 * 360, "the run has to wrap"
    speeds = sign * record["speed"][record["speed_valid"]]
    # an edge is seen up to one interval late, so a speed is off by interval / time per code
    assert np.all(np.abs(speeds - 1.0) <= 0.0573)
    # The row prints 1.0014 for a run whose length it does not give. The mean of an endless run
    # is 1.00148; what a run cuts off at its ends is two speeds of 1700, 2 * 0.06 / 1700 = 7e-5.
    assert np.mean(speeds) == pytest.approx(1.0014, abs=1.5e-4)


@pytest.mark.acceptance("ENC-7")
def test_enc_7_binning_has_the_mean_and_the_spread_of_a_uniform_error(
    encoder_fmu: Path, tmp_path: Path
) -> None:
    # Successive positions differ by the golden ratio of a code: evenly spread over the code.
    rate, velocity = 1e6, 0.1 * 0.6180339887498949 * 1e6
    record = record_run(
        encoder_fmu,
        tmp_path,
        [0.0, 1.0, 1.5],
        lambda t: {"joint.position": velocity * t, "joint.velocity": velocity},
        {**ABSOLUTE, "upper": 1e6, "resolution": 0.1, "sample_rate": rate},
    )
    assert len(record["time"]) == 1_000_001
    error = record["position"] - velocity * record["time"]
    assert np.mean(error) == pytest.approx(-0.05, rel=0.01)  # tolerances of the row
    assert np.std(error) == pytest.approx(0.1 / math.sqrt(12.0), rel=0.01)


@pytest.mark.acceptance("ENC-8")
def test_enc_8_the_speed_is_zero_when_the_time_out_is_over(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({"resolution": 0.01, "speed_timeout": 0.1})
        instants = [k / 1000 for k in range(401)]
        readings = drive(encoder, instants, lambda t: {"joint.position": min(t, 0.2)})
    positions = [reading["position"] for reading in readings]
    last_change = max(k for k in range(1, 400) if positions[k] != positions[k - 1])
    for k, reading in enumerate(readings[last_change:]):
        assert (reading["speed"] == 0.0) == (k >= 100)
        assert reading["speed_valid"]


NOISY = EncoderParameters(
    mode=EncoderMode.incremental,
    lower=-math.pi,
    upper=math.pi,
    resolution=ONE_DEGREE,
    noise_rms=0.01,
    speed_timeout=0.05,
)
LINEAR = EncoderParameters(EncoderMode.absolute, -1.0, 4.0, 0.0, noise_rms=0.1)


@pytest.mark.parametrize("parameters", [NOISY, LINEAR, EncoderParameters()])
def test_the_fmu_equals_the_model_called_directly(
    encoder_fmu: Path, parameters: EncoderParameters
) -> None:
    generator = np.random.default_rng(5)
    positions = np.cumsum(generator.normal(0.0, 0.3, 300)).tolist()
    faults = [Fault(), Fault(FaultMode.present), Fault(wave=FaultWave.ramp, amplitude=0.2)]
    speed_faults = [Fault(), Fault(FaultMode.set, value=3.5), Fault(FaultMode.off)]
    model = Encoder(parameters, stream_key(42, "Encoder/left wheel", "noise"))
    with open_fmu(encoder_fmu, "left wheel") as encoder:
        encoder.initialize(
            {
                "mode": parameters.mode,
                "lower": parameters.lower,
                "upper": parameters.upper,
                "resolution": parameters.resolution,
                "noise.rms": parameters.noise_rms,
                "speed_timeout": parameters.speed_timeout,
                "seed": 42,
            }
        )
        for k, position in enumerate(positions):
            fault, speed_fault = faults[k // 20 % 3], speed_faults[k // 50 % 3]
            encoder.set(
                {
                    "joint.position": position,
                    **inputs_of(fault),
                    **inputs_of(speed_fault, "fault.speed"),
                }
            )
            encoder.step(k / 100, 0.01)
            expected = dataclasses.asdict(model.sample(k, k / 100, position, fault, speed_fault))
            assert encoder.outputs() == {
                **expected,
                "sample.count": k + 1,
                "sample.time": k / 100,
            }


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (FaultMode.none, 0.75),
        (FaultMode.off, 0.0),
        (FaultMode.on, 4.0),
        (FaultMode.present, 0.25),
        (FaultMode.set, -7.5),
        (FaultMode.max, 4.0),
        (FaultMode.min, -1.0),
    ],
)
def test_a_fault_mode_fixes_the_position_until_it_is_cleared(
    encoder_fmu: Path, mode: FaultMode, expected: float
) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({"mode": EncoderMode.absolute, "lower": -1.0, "upper": 4.0})
        encoder.set({"joint.position": 0.25, "fault.mode": mode, "fault.value": -7.5})
        encoder.step(0.0, 0.1)
        encoder.set({"joint.position": 0.75})
        encoder.step(0.1, 0.1)
        assert encoder.get("position") == expected
        encoder.set({"fault.mode": FaultMode.none})
        encoder.step(0.2, 0.1)
        assert encoder.get("position") == 0.75


def test_the_upper_limit_of_a_wrapping_encoder_is_its_last_code(encoder_fmu: Path) -> None:
    stuck = {"resolution": 0.25, "lower": 0.0, "upper": 2.0, "fault.mode": FaultMode.max}
    assert measured(encoder_fmu, 1.0, **stuck) == 1.75


#: Of waves with amplitude 2 and period 1 s, at 0, 1/4, 1/2 and 3/4 s.
WAVES = {
    FaultWave.none: [0.0, 0.0, 0.0, 0.0],
    FaultWave.square: [2.0, 2.0, -2.0, -2.0],
    FaultWave.triangle: [0.0, 2.0, 0.0, -2.0],
    FaultWave.ramp: [-2.0, -1.0, 0.0, 1.0],
}


@pytest.mark.parametrize("wave", list(FaultWave))
def test_a_fault_wave_is_added_to_the_position(encoder_fmu: Path, wave: FaultWave) -> None:
    fault = Fault(wave=wave, amplitude=2.0, period=1.0, offset=0.125)
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({**ABSOLUTE, **inputs_of(fault), "joint.position": 3.0})
        readings = drive(encoder, [0.0, 0.25, 0.5, 0.75, 1.0], lambda t: {"joint.position": 3.0})
    # an offset belongs to a wave; all numbers are exact in binary
    offset = 0.0 if wave == FaultWave.none else 0.125
    expected = [3.0 + value + offset for value in WAVES[wave]]
    assert [reading["position"] for reading in readings] == expected


@pytest.mark.parametrize("wave", list(FaultWave))
def test_a_fault_wave_on_the_speed_leaves_the_position_alone(
    encoder_fmu: Path, wave: FaultWave
) -> None:
    fault = Fault(wave=wave, amplitude=2.0, period=1.0, offset=0.125)
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({**ABSOLUTE, **inputs_of(fault, "fault.speed")})
        readings = drive(encoder, [0.0, 0.25, 0.5, 0.75, 1.0], lambda t: {"joint.position": t})
    speeds = [0.0, 0.0, 1.0, 1.0]  # from the second change on
    offset = 0.0 if wave == FaultWave.none else 0.125
    expected = [v + w + offset for v, w in zip(speeds, WAVES[wave], strict=True)]
    assert [reading["speed"] for reading in readings] == expected
    assert [reading["position"] for reading in readings] == [0.0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize("mode", [FaultMode.on, FaultMode.max, FaultMode.min])
def test_a_speed_has_no_limits_to_be_stuck_at(encoder_fmu: Path, mode: FaultMode) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize()
        encoder.set({"fault.speed.mode": mode})
        message = encoder.refusal(encoder.step, 0.0, 0.1)
        assert "fault.mode of speed" in message
        assert f"{mode.value} ({mode.name})" in message
        encoder.set({"fault.speed.mode": FaultMode.none})
        encoder.step(0.0, 0.1)


def test_codes_that_do_not_fill_a_turn_are_warned_of_once(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({"resolution": 0.1})
        drive(encoder, [0.0, 0.1, 0.2], lambda t: {"joint.position": t})
        (warning,) = encoder.warnings()
    assert "62.8319 times the resolution" in warning


def test_a_joint_whose_position_nobody_connected_is_told_once(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({"joint.velocity": 2.0})
        for k in range(5):
            encoder.step(0.1 * k, 0.1)
        (told,) = encoder.warnings()
    assert told.startswith("joint.position never changes while joint.velocity is not 0")


def test_a_joint_at_its_turning_points_is_not_told_of(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({"joint.velocity": 1.0})
        for k, (position, velocity) in enumerate([(0.0, 1.0), (0.1, 0.0), (0.1, 0.0), (0.1, -1.0)]):
            encoder.set({"joint.position": position, "joint.velocity": velocity})
            encoder.step(0.1 * k, 0.1)
        assert encoder.warnings() == []
