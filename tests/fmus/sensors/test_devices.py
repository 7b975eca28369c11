"""All presets as a user runs them, against what their makers or those who measured them say.

One table has the numbers: what is measured of which preset (``tests.fmus.devices``), between what
bounds it has to be, and who says so. Where a sheet gives a typical value, the bounds are those of
the estimate, of which the sheet's own rounding is a part; a limit that it gives is the bound.
"""

import math
from pathlib import Path
from typing import NamedTuple

import pytest

from sensor_models import catalog
from sensor_models.presets import list_presets
from tests.fmus.devices import DARK, MEASURES, measured


class Row(NamedTuple):
    """What a preset must give."""

    model: str
    preset: str
    number: str
    least: float
    most: float
    source: str


def about(value: float, share: float) -> tuple[float, float]:
    """Bounds around a value."""
    return value * (1.0 - share), value * (1.0 + share)


def behind(density: float, cutoff: float) -> float:
    """What a Butterworth low-pass of order 2 leaves of a one-sided density."""
    return density * math.sqrt(math.pi / math.sqrt(8.0) * cutoff)


def stepped(sigma: float, step: float) -> float:
    """A standard deviation with that of a step."""
    return math.hypot(sigma, step / math.sqrt(12.0))


ROOT_2 = math.sqrt(2.0)
ACCELEROMETER, ACCELEROMETER_Z = "accelerometer x / mg rms", "accelerometer z / mg rms"
GYROSCOPE, RATE = "gyroscope / (deg/s) rms", "rate / Hz"
IMUS = [
    Row("Imu", "ADIS16470", RATE, *about(2000.0, 1e-9), "table 1"),
    Row("Imu", "ADIS16470", ACCELEROMETER,
        *about(stepped(behind(0.037 / 60 / 9.80665e-3 * ROOT_2, 600.0), 1.25), 0.1),
        "0.037 m/s/sqrt(h) behind 600 Hz, in steps of 1.25 mg"),
    Row("Imu", "ADIS16470", GYROSCOPE, *about(stepped(behind(0.34 / 60 * ROOT_2, 550.0), 0.1), 0.1),
        "0.34 deg/sqrt(h) behind 550 Hz, in steps of 0.1 deg/s"),
    Row("Imu", "BMI088", RATE, *about(200.0, 1e-9), "section 5.3.11"),
    Row("Imu", "BMI088", ACCELEROMETER, *about(behind(0.160, 80.0), 0.1),
        "160 ug/sqrt(Hz) behind 80 Hz"),
    Row("Imu", "BMI088", ACCELEROMETER_Z, *about(behind(0.190, 80.0), 0.1),
        "190 ug/sqrt(Hz) behind 80 Hz"),
    Row("Imu", "BMI088", GYROSCOPE, *about(stepped(behind(0.014, 64.0), 1.0 / 16.384), 0.1),
        "0.014 deg/s/sqrt(Hz) behind 64 Hz"),
    Row("Imu", "MPU-9250", RATE, *about(100.0, 1e-9), "AK8963, mode 2"),
    Row("Imu", "MPU-9250", ACCELEROMETER, *about(stepped(behind(0.3, 44.8), 1e3 / 2048), 0.1),
        "300 ug/sqrt(Hz) behind 44.8 Hz"),
    Row("Imu", "MPU-9250", GYROSCOPE, *about(stepped(behind(0.01, 41.0), 1.0 / 16.4), 0.1),
        "0.01 deg/s/sqrt(Hz) behind 41 Hz"),
    Row("Imu", "VN-100", RATE, *about(800.0, 1e-9), "product page"),
    Row("Imu", "VN-100", ACCELEROMETER, *about(0.14 * math.sqrt(800.0), 0.05),
        "0.14 mg/sqrt(Hz), of all the band of its rate"),
    Row("Imu", "VN-100", GYROSCOPE, *about(0.0035 * math.sqrt(800.0), 0.05),
        "0.0035 deg/s/sqrt(Hz), likewise"),
    Row("Imu", "VN-100", "magnetometer / mgauss rms", *about(0.14 * math.sqrt(800.0), 0.05),
        "140 ugauss/sqrt(Hz), likewise"),
]  # fmt: skip
ENCODERS = [
    Row("Encoder", "AS5048A", "error / deg rms", *about(stepped(0.06, 360.0 / 2**14), 0.05),
        "noise of 0.06 deg rms, 14 bits"),
    Row("Encoder", "AMT102-V", "error / deg", 0.0, 360.0 / 8192, "2048 pulses of 4 edges"),
]  # fmt: skip
HALF = "radius of half / m"
#: 495 readings two correlation times apart: the median of Rayleigh's law scatters by 3.5 %.
RECEIVERS = [
    Row("Gnss", "NEO-M8N", HALF, *about(2.5, 0.12), "2.5 m CEP"),
    Row("Gnss", "NEO-M8N", "velocity / (m/s) rms", *about(0.05, 0.12), "0.05 m/s"),
    Row("Gnss", "NEO-M8N", RATE, *about(10.0, 1e-6), "10 Hz with one system"),
    Row("Gnss", "NEO-M9N", HALF, *about(2.0, 0.12), "2.0 m CEP"),
    Row("Gnss", "NEO-M9N", RATE, *about(25.0, 1e-6), "25 Hz"),
    Row("Gnss", "ZED-F9P", HALF, *about(0.01, 0.12), "0.01 m CEP with RTK"),
    Row("Gnss", "ZED-F9P", "velocity / (m/s) rms", *about(0.05, 0.12), "0.05 m/s"),
    Row("Gnss", "ZED-F9P", RATE, *about(20.0, 1e-6), "20 Hz with RTK"),
]
#: Of lidars: points a second, standard deviation of the range in m, step of the range in m.
LIDARS = {
    "VLP-16": (289_280.0, 0.03, 0.002, "0.3 million points a second, +-3 cm"),
    "OS0-128": (1_310_720.0, 0.015, 0.001, "1024 x 128 at 10 Hz, 1 to 5 cm"),
    "OS1-64": (655_360.0, 0.015, 0.012, "1024 x 64 at 10 Hz, 1.5 cm"),
    "OS1-128": (1_310_720.0, 0.015, 0.012, "1024 x 128 at 10 Hz, 1.5 cm"),
    "HDL-64E": (1_333_000.0, 0.02, 0.002, "1.333 million points a second, 2 cm"),
    "LMS-291": (181 * 75.0, 0.01, 0.01, "181 steps at 75 Hz, 1 cm"),
    "Mid-360": (200_000.0, 0.02, 0.0, "200,000 points a second, 2 cm at 10 m"),
    "Avia": (240_000.0, 0.02, 0.0, "240,000 points a second, 2 cm"),
}
SPINNING = [
    row
    for name, (points, sigma, step, source) in LIDARS.items()
    for row in (
        Row("Lidar", name, "points a second / 1", *about(points, 0.001), source),
        Row("Lidar", name, "error / m rms", *about(stepped(sigma, step), 0.1), source),
        Row("Lidar", name, "error / m", -0.15 * sigma, 0.15 * sigma, "noise has no mean"),
        Row("Lidar", name, "lost / 1", 0.0, 0.0, "walls at a fifth of the reach"),
        Row("Lidar", name, "false / 1", 0.0, 0.0, "nothing but walls"),
    )
]
#: What sheets say of surfaces of 10 %. A plate is hit by more than 40 rays of any pattern.
REACHING = [
    row
    for name, reach in DARK.items()
    for row in (
        Row("Lidar", name, "points within the reach / 1", 40.0, math.inf, f"{reach} m for 10 %"),
        Row("Lidar", name, "points beyond the reach / 1", 0.0, 0.0, f"{reach} m for 10 %"),
    )
]
#: Of lidars by their waveforms: what the range may err by, m.
WAVEFORMS = {
    "VLP-16 APD": (0.03, "+-3 cm"),
    "LMS-Q560": (0.02, "20 mm of accuracy"),
    "VZ-400": (0.005, "5 mm of accuracy"),
}
DIGITISING = [
    row
    for name, (error, source) in WAVEFORMS.items()
    for row in (
        Row("WaveformLidar", name, "error / m", -error, error, source),
        Row("WaveformLidar", name, "error / m rms", 0.0, error, source),
        Row("WaveformLidar", name, "echoes a pulse / 1", 1.0, 1.0, "a wall is one echo"),
        Row("WaveformLidar", name, "of the wall / 1", 1.0, 1.0, "and nothing else's"),
    )
]
STEREO = 4.0**2 * 0.08 / (640.0 / math.tan(math.radians(43.5)) * 0.095)
CAMERAS = [
    Row("DepthCamera", "D455", "error / m rms", *about(STEREO, 0.05),
        "Z^2 law of the tuning guide at 4 m, 0.08 px"),
    Row("DepthCamera", "D455", "error / m rms", 0.0, 0.02 * 4.0, "2 % at 4 m"),
    Row("DepthCamera", "VL53L5CX", "error / m rms, 1 m", 0.0, 0.05 * 1.04 / 2.0,
        "4 to 5 % beyond 200 mm, two standard deviations, of 1 to 1.15 m along the zones"),
    Row("DepthCamera", "VL53L5CX", "error / m rms, 3 m", *about(0.11 * 3.12, 0.08),
        "11 % beyond 2 m (ETH), of 3 to 3.5 m along the zones"),
    Row("DepthCamera", "VL53L5CX", "error / m rms, 1 m, dark", 0.05 / 2.0, 0.11,
        "noisier on dark targets (Caroleo et al. 2026)"),
    *(Row("DepthCamera", "VL53L5CX", f"invalid / 1, {text}", 0.0, 0.1,
          "below 10 % (Caroleo et al. 2026)") for text in ("1 m", "3 m", "1 m, dark")),
    *(Row("CcdCamera", name, "brightness / 1", 0.12, 0.25, "auto exposure aims at 0.18")
      for name in list_presets("CcdCamera")),
]  # fmt: skip
#: Of radars: half a range cell, and half a speed cell.
RADARS = {
    "ARS 408-21": (1.79 / 2.0, 0.37 / 3.6 / 2.0, "resolves 1.79 m and 0.37 km/h"),
    "AWR1843": (0.25, 0.25, "4 GHz at most, what is programmed"),
    "IWR6843": (0.04, 0.32, "3.8 GHz, 3.84 ms"),
}
MILLIMETRES = [
    row
    for name, (cell, speed, source) in RADARS.items()
    for row in (
        Row("Radar", name, "error / m", 0.0, cell, source),
        Row("Radar", name, "speed / (m/s)", 0.0, speed, source),
        Row("Radar", name, "of the corner / 1", 1.0, 1.0, "it is the strongest"),
        Row("Radar", name, "targets a frame / 1", 1.0, 1.2, "0.01 false alarms a frame"),
    )
]
ROWS = [
    *IMUS, *ENCODERS, *RECEIVERS, *SPINNING, *REACHING, *DIGITISING, *CAMERAS, *MILLIMETRES,
]  # fmt: skip


def test_every_preset_has_a_row() -> None:
    """That of a whole device stands for its parts, which tests of presets compare with it."""
    wanted = {(model, name) for model in MEASURES for name in list_presets(model)}
    assert {(row.model, row.preset) for row in ROWS} == wanted
    named = {name for model in catalog.names() for name in list_presets(model)}
    assert {name for _, name in wanted} == named


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.preset}, {row.number}")
def test_a_preset_gives_what_the_device_does(fmu_directory: Path, row: Row) -> None:
    found = measured(fmu_directory / f"{row.model}.fmu", row.preset)[row.number]
    assert row.least <= found <= row.most, row.source
