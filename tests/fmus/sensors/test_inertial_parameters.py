"""Parameters of the inertial FMUs: refusals, presets, records."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from sensor_models.core.codes import RoundingMode
from sensor_models.inertial.corruption import DriftType
from tests.fmus.driving import Columns, drive, read_record, record_run
from tests.fmus.host import open_fmu
from tests.fmus.inertial import SIGNALS, STANDARD_GRAVITY, Signal, body_inputs, name_of, spread
from tests.trajectories import Swing

EVERY_SIGNAL = pytest.mark.parametrize("signal", SIGNALS, ids=name_of)

# ---- refused when set ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "name", "value", "allowed"),
    [
        ("Accelerometer", "noise.density.y", -1e-9, "at least 0 m/s2/sqrt(Hz)"),
        ("Accelerometer", "filter.order", 3, "1 to 2"),
        ("Accelerometer", "gravity.z", math.nan, "any finite number"),
        ("Accelerometer", "bias.x", math.inf, "any finite number"),
        ("Gyroscope", "discretization.bits", 33, "0 to 32"),
        ("Gyroscope", "differentiation", 2, "1 (bdf2)"),
        ("Magnetometer", "field.x", math.nan, "any finite number"),
        ("Magnetometer", "scene_handle", -1, "allowed is 0 to"),
        ("Imu", "gyroscope.noise.rms.x", -1.0, "at least 0 rad/s"),
        ("Imu", "accelerometer.misalignment.xy", 0.6, "-0.5 to 0.5 rad"),
        ("Imu", "accelerometer.drift.type", 4, "3 (flicker)"),
        ("Imu", "magnetometer.drift.time_constant", 0.0, "at least 1e-09 s"),
        ("Imu", "magnetometer.delay", -0.1, "at least 0 s"),
        ("Imu", "increments.lsb_angle", -1.0, "at least 0 rad"),
        ("Imu", "mount.orientation.w", math.nan, "any finite number"),
        ("Imu", "temperature", -1.0, "at least 0 K"),
        ("Imu", "gyroscope.fault.y.wave", 4, "3 (ramp)"),
        ("Imu", "body.acceleration.x", math.inf, "any finite number"),
    ],
)
def test_a_bad_value_is_refused_with_its_name_its_value_and_what_is_allowed(
    fmu_directory: Path, model: str, name: str, value: float, allowed: str
) -> None:
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        before = sensor.get(name)
        message = sensor.refusal(sensor.set, {name: value})
        assert f"{name} = {value}" in message
        assert allowed in message
        assert sensor.get(name) == before
        sensor.initialize()


# ---- refused together ----------------------------------------------------------------------------

#: Parameters that do not go together, the one that the message must name with its value, what
#: else it must say, and a correction.
TOGETHER: dict[str, tuple[dict[str, Any], str, str, dict[str, Any]]] = {
    "range": (
        {"range.lower.y": 2.0, "range.upper.y": 1.0},
        "range.lower.y = 2.0",
        "range.upper.y = 1.0",
        {"range.upper.y": 2.0},
    ),
    "saturation": (
        {"saturation.min.z": 0.5, "saturation.max.z": -0.5},
        "saturation.min.z = 0.5",
        "saturation.max.z = -0.5",
        {"saturation.min.z": -0.5},
    ),
    "step and bits": (
        {"discretization.lsb.x": 0.1, "discretization.bits": 8},
        "discretization.lsb",
        "discretization.bits = 8",
        {"discretization.bits": 0},
    ),
    "bits without limits": (
        {"discretization.on": True, "discretization.bits": 8},
        "discretization.bits = 8",
        "saturation.min.x",
        {"discretization.bits": 0},
    ),
    "no code": (
        {
            "discretization.on": True,
            "discretization.lsb.x": 0.1,
            "saturation.on": True,
            "saturation.min.x": 0.11,
            "saturation.max.x": 0.19,
        },
        "saturation.min.x = 0.11",
        "0.19",
        {"saturation.max.x": 0.2},
    ),
    "flicker of nothing": (
        {"drift.type": DriftType.flicker},
        "instability",
        "more than 0 on one axis",
        {"instability.z": 0.1},
    ),
    "walk in the long run": (
        {"drift.type": DriftType.random_walk, "drift.stationary_start": True},
        "drift.stationary_start = True",
        "random_walk",
        {"drift.type": DriftType.gauss_markov},
    ),
    "axis twice": ({"axes": "xx"}, "axes = 'xx'", "each at most once", {"axes": "x"}),
    "no axis": ({"axes": ""}, "axes = ''", "at least one", {"axes": "zy"}),
    "unknown axis": ({"axes": "xyw"}, "axes = 'xyw'", "x, y and z in any order", {"axes": "z"}),
    "delay without rate": (
        {"delay": 0.1},
        "delay = 0.1 s",
        "sample_rate above 0 Hz",
        {"delay": 0.0},
    ),
}


@pytest.mark.parametrize("case", TOGETHER)
@EVERY_SIGNAL
def test_parameters_that_do_not_go_together_are_refused_and_can_be_corrected(
    fmu_directory: Path, signal: Signal, case: str
) -> None:
    bad, named, also, correction = TOGETHER[case]
    with signal.open(fmu_directory) as sensor:
        sensor.set({**signal.named(bad), **signal.drive((0.25, 0.25, 0.25))})
        sensor.set_up()
        sensor.enter()
        for _ in range(2):
            message = sensor.refusal(sensor.exit)
            assert f"{signal.prefix}{named}" in message
            assert also in message
        sensor.set(signal.named(correction))
        sensor.exit()
        sensor.step(0.0, 0.1)
        assert sensor.get("sample.count") == 1


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Accelerometer", "mount.orientation"),
        ("Magnetometer", "mount.orientation"),
        ("Imu", "mount.orientation"),
        ("Imu", "accelerometer.orientation"),
        ("Imu", "magnetometer.orientation"),
    ],
)
def test_a_mount_without_direction_is_refused_and_can_be_corrected(
    fmu_directory: Path, model: str, name: str
) -> None:
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        sensor.set({f"{name}.w": 0.0, f"{name}.y": 1e-7})
        sensor.set_up()
        sensor.enter()
        message = sensor.refusal(sensor.exit)
        assert f"{name} = (0.0, 0.0, 1e-07, 0.0) has no direction" in message
        assert "a length of at least 1e-06" in message
        sensor.set({f"{name}.y": 1e-5})
        sensor.exit()
        sensor.step(0.0, 0.1)


def test_a_scene_that_is_not_there_is_refused_and_the_sensor_goes_on(imu_fmu: Path) -> None:
    with open_fmu(imu_fmu) as imu:
        imu.initialize({"magnetometer.field.z": 0.5})
        imu.set({"scene_handle": 2**31 - 1})
        message = imu.refusal(imu.step, 0.0, 0.1)
        assert "scene_handle = 2147483647" in message
        imu.set({"scene_handle": 0})
        imu.step(0.0, 0.1)
        assert imu.get("magnetometer.z") == 0.5


# ---- presets -------------------------------------------------------------------------------------

G, DEGREE, GAUSS = STANDARD_GRAVITY, math.pi / 180.0, 1e-4


def behind(cutoff: float) -> float:
    """Root of the noise bandwidth of a Butterworth low-pass of order 2: pi / (2 sqrt(2)) cutoff."""
    return math.sqrt(math.pi * cutoff / math.sqrt(8.0))


#: Of each product: the rate; of each signal the end of its scale, the noise of a sample on each
#: axis (density times root of the bandwidth, which is that of the chip's low-pass where it filters
#: the noise), and the step between codes.
PRODUCTS: dict[str, tuple[float, dict[str, tuple[float, tuple[float, ...], float]]]] = {
    "BMI088": (
        200.0,
        {
            "accelerometer": (
                6 * G,
                tuple(density * behind(80.0) * G for density in (160e-6, 160e-6, 190e-6)),
                G / 5460,
            ),
            "gyroscope": (2000 * DEGREE, (0.014 * behind(64.0) * DEGREE,) * 3, DEGREE / 16.384),
        },
    ),
    "MPU-9250": (
        100.0,
        {
            "accelerometer": (16 * G, (300e-6 * behind(44.8) * G,) * 3, G / 2048),
            "gyroscope": (2000 * DEGREE, (0.01 * behind(41.0) * DEGREE,) * 3, DEGREE / 16.4),
            # the last code is the one below 4912 uT
            "magnetometer": (32746 * 0.15e-6, (0.0, 0.0, 0.0), 0.15e-6),
        },
    ),
    "VN-100": (
        800.0,
        {
            "accelerometer": (16 * G, (0.14e-3 * math.sqrt(800.0) * G,) * 3, 0.0),
            "gyroscope": (2000 * DEGREE, (0.0035 * math.sqrt(800.0) * DEGREE,) * 3, 0.0),
            "magnetometer": (2.5 * GAUSS, (140e-6 * math.sqrt(800.0) * GAUSS,) * 3, 0.0),
        },
    ),
    "ADIS16470": (
        2000.0,
        {
            # random walks, whose one-sided densities are root 2 larger
            "accelerometer": (
                40 * G,
                (0.037 / 60 * math.sqrt(2.0) * behind(600.0),) * 3,
                1.25e-3 * G,
            ),
            "gyroscope": (
                2000 * DEGREE,
                (0.34 / 60 * math.sqrt(2.0) * behind(550.0) * DEGREE,) * 3,
                0.1 * DEGREE,
            ),
        },
    ),
}
#: A product in an IMU, and in each sensor that it has.
LOADED = [
    (product, signal)
    for product, (_, parts) in PRODUCTS.items()
    for signal in SIGNALS
    if (signal.prefix.rstrip(".") or signal.model.lower()) in parts
]


def part_of(product: str, signal: Signal) -> tuple[float, tuple[float, ...], float]:
    return PRODUCTS[product][1][signal.prefix.rstrip(".") or signal.model.lower()]


def record_preset(
    directory: Path, into: Path, signal: Signal, values: dict[str, Any], samples: int
) -> Columns:
    """The record of a signal that is 0."""
    end = (samples - 1) / PRODUCTS[values["preset"]][0]
    parameters = {**signal.undisturbed, **values}
    fmu = directory / f"{signal.model}.fmu"
    return record_run(fmu, into, [0.0, end, end + 1.0], lambda t: {}, parameters)


@pytest.mark.parametrize(("product", "signal"), LOADED, ids=lambda v: name_of(v) or v)
def test_a_preset_gives_rate_noise_and_steps_of_the_product(
    fmu_directory: Path, tmp_path: Path, product: str, signal: Signal
) -> None:
    _, noise, step = part_of(product, signal)
    samples = 4000
    record = record_preset(fmu_directory, tmp_path, signal, {"preset": product, "seed": 1}, samples)
    assert len(record["time"]) == samples, "the rate is the product's"
    for axis, deviation in zip("xyz", noise, strict=True):
        readings = record[f"{signal.output}.{axis}"]
        # codes add the variance of a uniform law; deviations of 4000 draws scatter by 1.1 %, a
        # little more behind a low-pass, whose noise lacks what its input has not (2 %)
        expected = math.hypot(deviation, step / math.sqrt(12.0)) if deviation else 0.0
        assert np.std(readings) == pytest.approx(expected, rel=0.065)
        if step:
            codes = readings / step
            assert codes == pytest.approx(np.round(codes), abs=1e-9)  # rounding of codes up to 100


@pytest.mark.parametrize(("product", "signal"), LOADED, ids=lambda v: name_of(v) or v)
def test_a_preset_ends_the_scale_where_the_product_does(
    fmu_directory: Path, product: str, signal: Signal
) -> None:
    end, _, _ = part_of(product, signal)
    with signal.open(fmu_directory) as sensor:
        sensor.initialize(
            {**signal.undisturbed, "preset": product, **signal.drive((1e3, -1e3, 1e3))}
        )
        # products of whole numbers and the step, each off by a few roundings
        assert signal.read(sensor) == pytest.approx((end, -end, end), rel=1e-14)


@pytest.mark.parametrize("preset_first", [False, True])
@EVERY_SIGNAL
def test_a_value_of_ones_own_wins_over_the_preset_in_any_order(
    fmu_directory: Path, signal: Signal, preset_first: bool
) -> None:
    product = "MPU-9250"
    end, _, step = part_of(product, signal)
    own = signal.named({"saturation.max.x": 100 * step, "discretization.mode": RoundingMode.floor})
    settings = [{"preset": product}, {**own, "sample_rate": 40.0}]
    with signal.open(fmu_directory) as sensor:
        for values in settings if preset_first else settings[::-1]:
            sensor.set(values)
        sensor.initialize({**signal.undisturbed, **signal.drive((1e3, -1e3, 1e3))})
        reading = signal.read(sensor)
        # products of whole numbers and the step, each off by a few roundings
        assert reading == pytest.approx((100 * step, -end, end), rel=1e-14)
        drive(sensor, [0.0, 1.0, 2.0], lambda t: {})
        assert sensor.get("sample.count") == 41, "so does the rate"


def test_a_product_is_refused_for_a_sensor_that_it_has_not(fmu_directory: Path) -> None:
    with open_fmu(fmu_directory / "Magnetometer.fmu") as magnetometer:
        message = magnetometer.refusal(magnetometer.set, {"preset": "BMI088"})
        assert "preset 'BMI088' is unknown" in message
        assert "known: MPU-9250, VN-100" in message
        magnetometer.initialize()


# ---- records -------------------------------------------------------------------------------------

#: The columns of a record of an IMU, with their units.
COLUMNS = {
    "sample": "1",
    "time": "s",
    **{f"accelerometer.{axis}": "m/s2" for axis in "xyz"},
    **{f"gyroscope.{axis}": "rad/s" for axis in "xyz"},
    **{f"magnetometer.{axis}": "T" for axis in "xyz"},
    **{f"delta_velocity.{axis}": "m/s" for axis in "xyz"},
    **{f"delta_angle.{axis}": "rad" for axis in "xyz"},
}


def test_a_record_has_all_samples_of_each_step_in_parquet_and_in_csv(
    imu_fmu: Path, tmp_path: Path
) -> None:
    swing, readings = Swing(), []
    for output_format in (0, 1):
        with open_fmu(imu_fmu) as imu:
            imu.initialize(
                {
                    "sample_rate": 1000.0,
                    "accelerometer.noise.rms.x": 0.1,
                    **spread("magnetometer.field", (1e-5, 2e-5, -3e-5)),
                    "record": True,
                    "output_directory": str(tmp_path),
                    "output_format": output_format,
                }
            )
            instants = [k / 100 for k in range(31)]
            readings = drive(imu, instants, lambda t: body_inputs(swing.state(t)))
            imu.terminate()
    record = read_record(tmp_path)
    assert record["sample"].tolist() == list(range(291))
    assert record["time"].tolist() == [k / 1000 for k in range(291)]
    for k, reading in enumerate(readings):
        assert reading["sample.count"] == 10 * k + 1
        for name in [*COLUMNS][2:]:
            assert reading[name] == record[name][10 * k]
    assert all(len(set(record[name][1:].tolist())) > 50 for name in [*COLUMNS][2:])
    (parquet,), (table,) = tmp_path.glob("*.parquet"), tmp_path.glob("*.csv")
    schema = pyarrow.parquet.read_schema(parquet)
    assert {f.name: f.metadata[b"unit"].decode() for f in schema} == COLUMNS
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [*rows[0]] == [*COLUMNS]
    for name in COLUMNS:
        assert [float(row[name]) for row in rows] == record[name].tolist()
