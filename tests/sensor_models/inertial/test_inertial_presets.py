"""The inertial measurement units among the presets, against their datasheets."""

import math
from pathlib import Path

import numpy as np
import pytest

import sensor_models
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import MountParameters
from sensor_models.core.quantities import ParameterError, quantities_of
from sensor_models.inertial.allan import FLOOR
from sensor_models.inertial.gyroscope import Gyroscope, GyroscopeParameters
from sensor_models.inertial.triaxial import TriaxialParameters
from sensor_models.presets import list_presets, load_preset, read_preset

FOLDER = Path(sensor_models.__file__).parent / "presets"

SIX_AXES = ["ADIS16470", "BMI088"]
NINE_AXES = ["MPU-9250", "VN-100"]
#: Whose sheets give spectra, not coefficients of the Allan deviation.
ONE_SIDED = ["BMI088", "MPU-9250"]
#: Whose low-pass is that of the chip, which filters the noise of its sensing element.
FILTERED = ["ADIS16470", "BMI088", "MPU-9250"]

# Hand conversions of what the datasheets say, each number in the sheet's own unit.
G = 9.80665
MICRO_G = 9.80665e-6
MILLI_G = 9.80665e-3
DEGREE = math.pi / 180  # also of deg/s and deg/s/sqrt(Hz)
DEGREE_PER_HOUR = math.pi / 648000
DEGREE_PER_ROOT_HOUR = math.pi / 10800  # an hour is 60^2 s
GAUSS = 1e-4

#: In-run bias stability, which is by definition the least Allan deviation; presets have it as the
#: coefficient B of flicker noise, whose Allan deviation is B sqrt(2 ln 2 / pi), of four digits.
LEAST = {
    ("BMI088", "gyroscope"): 6.5 * DEGREE_PER_HOUR,  # of one unit, by its owner
    ("ADIS16470", "accelerometer"): 13 * MICRO_G,
    ("ADIS16470", "gyroscope"): 8 * DEGREE_PER_HOUR,
    ("VN-100", "accelerometer"): 0.04 * MILLI_G,
    ("VN-100", "gyroscope"): 5 * DEGREE_PER_HOUR,
}

DATASHEETS = {
    "BMI088": {
        "sample_rate": 200,
        "accelerometer.noise.density.x": 160 * MICRO_G,
        "accelerometer.noise.density.y": 160 * MICRO_G,
        "accelerometer.noise.density.z": 190 * MICRO_G,
        "accelerometer.filter.cutoff": 80,
        "accelerometer.filter.order": 2,
        "accelerometer.discretization.lsb": G / 5460,
        "accelerometer.saturation.min": -6 * G,
        "accelerometer.saturation.max": 6 * G,
        "gyroscope.noise.density": 0.014 * DEGREE,
        "gyroscope.filter.cutoff": 64,
        "gyroscope.filter.order": 2,
        "gyroscope.discretization.lsb": DEGREE / 16.384,
        "gyroscope.saturation.min": -2000 * DEGREE,
        "gyroscope.saturation.max": 2000 * DEGREE,
    },
    "MPU-9250": {
        "sample_rate": 1000 / (1 + 9),
        "accelerometer.noise.density": 300 * MICRO_G,
        "accelerometer.filter.cutoff": 44.8,
        "accelerometer.filter.order": 2,
        "accelerometer.discretization.lsb": G / 2048,
        "accelerometer.saturation.min": -16 * G,
        "accelerometer.saturation.max": 16 * G,
        "gyroscope.noise.density": 0.01 * DEGREE,
        "gyroscope.filter.cutoff": 41,
        "gyroscope.filter.order": 2,
        "gyroscope.discretization.lsb": DEGREE / 16.4,
        "gyroscope.saturation.min": -2000 * DEGREE,
        "gyroscope.saturation.max": 2000 * DEGREE,
        "magnetometer.discretization.lsb": 0.15e-6,
        "magnetometer.saturation.min": -4912e-6,
        "magnetometer.saturation.max": 4912e-6,
    },
    "VN-100": {
        "sample_rate": 800,
        "accelerometer.noise.density": 0.14 * MILLI_G,
        "accelerometer.filter.cutoff": 260,
        "accelerometer.saturation.min": -16 * G,
        "accelerometer.saturation.max": 16 * G,
        "gyroscope.noise.density": 0.0035 * DEGREE,
        "gyroscope.filter.cutoff": 256,
        "gyroscope.saturation.min": -2000 * DEGREE,
        "gyroscope.saturation.max": 2000 * DEGREE,
        "magnetometer.noise.density": 140e-6 * GAUSS,
        "magnetometer.filter.cutoff": 200,
        "magnetometer.saturation.min": -2.5 * GAUSS,
        "magnetometer.saturation.max": 2.5 * GAUSS,
    },
    "ADIS16470": {
        "sample_rate": 2000,
        "accelerometer.noise.density": 0.037 / 60,
        "accelerometer.filter.cutoff": 600,
        "accelerometer.filter.order": 2,
        "accelerometer.discretization.lsb": 1.25 * MILLI_G,
        "accelerometer.saturation.min": -40 * G,
        "accelerometer.saturation.max": 40 * G,
        "gyroscope.noise.density": 0.34 * DEGREE_PER_ROOT_HOUR,
        "gyroscope.filter.cutoff": 550,
        "gyroscope.filter.order": 2,
        "gyroscope.discretization.lsb": 0.1 * DEGREE,
        "gyroscope.saturation.min": -2000 * DEGREE,
        "gyroscope.saturation.max": 2000 * DEGREE,
    },
}


def numbers_of(values: dict) -> dict:
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def expanded(expected: dict, given: dict) -> dict:
    """Expected numbers by full names: one for a vector stands for all its axes."""
    found = {}
    for name, value in expected.items():
        names = [name] if name in given else [f"{name}.{axis}" for axis in "xyz"]
        found.update(dict.fromkeys(names, value))
    return found


@pytest.mark.parametrize("name", DATASHEETS)
def test_the_numbers_of_an_imu_are_those_of_its_datasheet_and_no_others(name):
    given = load_preset("Imu", name)
    expected = expanded(DATASHEETS[name], given)
    for key in [key for key in given if ".instability." in key]:
        least = LEAST[name, key.partition(".")[0]]
        assert given.pop(key) * FLOOR == pytest.approx(least, rel=5e-4)  # four digits
    # three roundings of 1.1e-16 at most, on either side
    assert numbers_of(given) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("name", DATASHEETS)
def test_switches_of_an_imu_go_with_its_numbers(name):
    given = load_preset("Imu", name)
    groups = {key.partition(".")[0] for key in given if "." in key}
    expected = {}
    for group in groups:
        expected[f"{group}.saturation.on"] = True
        if f"{group}.discretization.lsb.x" in given:
            expected[f"{group}.discretization.on"] = True
            expected[f"{group}.discretization.mode"] = "round"
        if name in ONE_SIDED and f"{group}.noise.density.x" in given:
            expected[f"{group}.noise.one_sided"] = True
        if name in FILTERED and f"{group}.filter.cutoff" in given:
            expected[f"{group}.filter.noise"] = True
    assert {key: given[key] for key in given.keys() - numbers_of(given).keys()} == expected


def test_imus_without_a_magnetometer_are_no_magnetometers_and_say_so():
    assert list_presets("Imu") == sorted([*SIX_AXES, *NINE_AXES])
    assert list_presets("Accelerometer") == list_presets("Gyroscope") == list_presets("Imu")
    assert list_presets("Magnetometer") == NINE_AXES
    for name in SIX_AXES:
        preset = read_preset(FOLDER / f"{name.lower()}.toml")
        assert "that of an Imu stays ideal" in preset.description
        assert not any(key.startswith("magnetometer.") for key in preset.parameters)


@pytest.mark.parametrize("name", DATASHEETS)
@pytest.mark.parametrize("sensor", ["Accelerometer", "Gyroscope", "Magnetometer"])
def test_a_part_of_an_imu_has_the_numbers_of_the_whole_without_their_group(name, sensor):
    if name not in list_presets(sensor):
        with pytest.raises(ParameterError, match=f"unknown for {sensor}"):
            load_preset(sensor, name)
        return
    whole, part = load_preset("Imu", name), load_preset(sensor, name)
    prefix = sensor.lower() + "."
    assert part.pop("sample_rate") == whole["sample_rate"]
    assert {prefix + key: value for key, value in part.items()} == {
        key: value for key, value in whole.items() if key.startswith(prefix)
    }


@pytest.mark.parametrize("name", DATASHEETS)
def test_the_parameters_of_an_imu_exist_and_are_accepted(name):
    for sensor in ("Accelerometer", "Gyroscope", "Magnetometer"):
        if name in list_presets(sensor):
            given = load_preset(sensor, name)
            fields = {}
            for field, quantity in quantities_of(TriaxialParameters).items():
                parts = [given.pop(key, v) for key, v in quantity.parts(quantity.default)]
                value = tuple(parts) if quantity.components else parts[0]
                chosen = quantity.choices is not None and isinstance(value, str)
                fields[field] = quantity.choices[value] if chosen else value
            TriaxialParameters(**fields)
            assert given.keys() == {"sample_rate"} <= quantities_of(SamplingParameters).keys()


@pytest.mark.parametrize(
    ("preset", "sensor"),
    [
        ("BMI088", "Accelerometer"),
        ("BMI088", "Gyroscope"),
        ("MPU-9250", "Accelerometer"),
        ("MPU-9250", "Gyroscope"),
        ("MPU-9250", "Magnetometer"),
    ],
)
def test_the_full_scale_is_that_of_a_16_bit_converter(preset, sensor):
    given = load_preset(sensor, preset)
    codes = given["saturation.max.z"] / given["discretization.lsb.z"]
    # the sheets round sensitivities to three digits (16.4 for 16.384)
    assert codes == pytest.approx(2**15, rel=1e-3)
    assert given["saturation.min.z"] == -given["saturation.max.z"]


#: Total noises of the sheets: preset and the cutoff of the low-pass that they hold for.
TOTALS = {"BMI088": 47.0, "MPU-9250": 92.0}


def filtered_rms(order: int, name: str, rate: float, cutoff: float) -> float:
    """The standard deviation that the gyroscope of a preset reads at another cutoff, deg/s."""
    given = load_preset("Gyroscope", name)
    parameters = GyroscopeParameters(
        noise_density=tuple(given[f"noise.density.{axis}"] for axis in "xyz"),
        noise_one_sided=given["noise.one_sided"],
        filter_cutoff=cutoff,
        filter_order=order,
        filter_noise=given["filter.noise"],
    )
    sensor = Gyroscope(parameters, MountParameters(), 5, f"{name} {order}", rate)
    at_rest = np.zeros((60_000, 13))
    at_rest[:, 3] = 1.0
    readings = sensor.sample_batch(0, np.arange(len(at_rest)) / rate, at_rest)
    return float(readings[100:].std()) / DEGREE


@pytest.mark.parametrize("name", TOTALS)
def test_the_total_noise_is_that_of_the_sheet_at_1_khz(name):
    # 0.1 deg/s rms, of one digit, is what the sheets give for densities of 0.014 in 47 Hz and 0.01
    # in 92 Hz: density times root of the noise bandwidth, pi / (2 sqrt(2)) times the cutoff.
    cutoff = TOTALS[name]
    density = load_preset("Gyroscope", name)["noise.density.x"] / DEGREE
    closed = density * math.sqrt(math.pi / math.sqrt(8.0) * cutoff)
    assert closed == pytest.approx(0.1, rel=0.02)
    order = load_preset("Gyroscope", name)["filter.order"]
    assert filtered_rms(order, name, 1000.0, cutoff) == pytest.approx(0.1, rel=0.1)
    # A low-pass of order 1 lets pass 19 % more than the sheets say, so theirs are not of that.
    assert density * math.sqrt(math.pi / 2.0 * cutoff) > 1.15 * 0.1


@pytest.mark.parametrize(("name", "part"), LEAST)
def test_the_least_allan_deviation_is_the_in_run_bias_stability_of_the_sheet(name, part):
    given = load_preset("Imu", name)
    density = given[f"{part}.noise.density.x"]
    floor = FLOOR * given[f"{part}.instability.x"]
    drift = [key for key in given if key.startswith(f"{part}.drift")]
    assert drift == [], "with a random walk, the least of the sum would be higher"
    # White noise adds to the floor at any averaging time, at 1000 s to the sheet's value less than:
    tau = np.geomspace(1.0, 1e3, 100)
    least = np.sqrt(density**2 / tau + floor**2).min()
    assert least == pytest.approx(LEAST[name, part], rel=0.03)


# What a second of samples makes of white noise: N / sqrt(1 s) at any rate (IEEE Std 952, C.1.1).
RATES = [50.0, 200.0, 1000.0]
SECONDS = 4000


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", DATASHEETS)
def test_the_allan_deviation_at_one_second_is_the_density_of_the_sheet_at_any_rate(name, rate):
    given = load_preset("Gyroscope", name)
    density = tuple(given[f"noise.density.{axis}"] for axis in "xyz")
    one_sided = given.get("noise.one_sided", False)
    bandwidth = given.get("noise.bandwidth", 0.0)
    parameters = GyroscopeParameters(
        noise_density=density, noise_one_sided=one_sided, noise_bandwidth=bandwidth
    )
    sensor = Gyroscope(parameters, MountParameters(), 3, f"{name} at {rate}", rate)
    count = int(SECONDS * rate)
    at_rest = np.zeros((count, 13))
    at_rest[:, 3] = 1.0
    readings = sensor.sample_batch(0, np.arange(count) / rate, at_rest)
    means = readings.reshape(SECONDS, int(rate), 3).mean(axis=1)
    deviation = np.sqrt(0.5 * np.mean(np.diff(means, axis=0) ** 2, axis=0))
    expected = np.array(density) / (math.sqrt(2.0) if name in ONE_SIDED else 1.0)
    # differences of neighbours have the relative variance 3 / (4 n): 5 sigma
    assert deviation / expected == pytest.approx(np.ones(3), abs=5.0 * math.sqrt(0.75 / SECONDS))


def test_the_random_walk_of_the_adis16470_is_its_one_sided_density_over_root_2():
    density = load_preset("Gyroscope", "ADIS16470")["noise.density.x"] / DEGREE
    assert density * math.sqrt(2) == pytest.approx(0.008, abs=0.0005)  # of one digit
