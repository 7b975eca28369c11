"""Presets of inertial sensors by ``allantools``: their random walks and floors, from the FMU.

Records of the FMU at rest are given to the package as those of a device would be. At a preset's
own rate, with all its defaults, the deviation over short times is the density of the sheet. Floors
take hours: there the low-pass and the steps are left out and the rate is 5 Hz, which changes
neither density nor flicker noise.
"""

import math
from pathlib import Path

import allantools
import numpy as np
import pytest

from sensor_models.presets import list_presets, load_preset
from tests.fmus.driving import record_run

G, DEGREE = 9.80665, math.pi / 180.0
#: Of sheets: coefficient N of the Allan deviation on x; a one-sided density has root 2 of it.
DENSITIES = {
    ("ADIS16470", "accelerometer"): 0.037 / 60,
    ("ADIS16470", "gyroscope"): 0.34 / 60 * DEGREE,
    ("BMI088", "accelerometer"): 160e-6 * G / math.sqrt(2.0),
    ("BMI088", "gyroscope"): 0.014 * DEGREE / math.sqrt(2.0),
    ("MPU-9250", "accelerometer"): 300e-6 * G / math.sqrt(2.0),
    ("MPU-9250", "gyroscope"): 0.01 * DEGREE / math.sqrt(2.0),
    ("VN-100", "accelerometer"): 0.14e-3 * G,
    ("VN-100", "gyroscope"): 0.0035 * DEGREE,
    ("VN-100", "magnetometer"): 140e-6 * 1e-4,
}
#: Of sheets, and for BMI088 of one unit: in-run bias stability, the least Allan deviation.
FLOORS = {
    ("ADIS16470", "accelerometer"): 13e-6 * G,
    ("ADIS16470", "gyroscope"): 8.0 / 3600 * DEGREE,
    ("BMI088", "gyroscope"): 6.5 / 3600 * DEGREE,
    ("VN-100", "accelerometer"): 0.04e-3 * G,
    ("VN-100", "gyroscope"): 5.0 / 3600 * DEGREE,
}
SLOW_RATE, HOURS = 5.0, 8.0


def deviations(
    fmus: Path, folder: Path, preset: str, end: float, taus: list[float], **more: float | str
) -> dict[str, np.ndarray]:
    """What allantools finds of each axis of each signal, a column for each averaging time."""
    record = record_run(
        fmus / "Imu.fmu",
        folder,
        [0.0, end, end + 1.0],
        lambda t: {},
        {"preset": preset, "seed": 3, **more},
    )
    rate = (len(record["time"]) - 1) / (record["time"][-1] - record["time"][0])
    found: dict[str, np.ndarray] = {}
    for part in ("accelerometer", "gyroscope", "magnetometer"):
        rows = []
        for axis in "xyz":
            values = np.asarray(record[f"{part}.{axis}"])
            asked, deviation, _, _ = allantools.oadev(
                values - values.mean(), rate=rate, data_type="freq", taus=taus
            )
            np.testing.assert_allclose(asked, taus, rtol=1e-6)
            rows.append(deviation)
        found[part] = np.array(rows)
    return found


@pytest.mark.parametrize("preset", list_presets("Imu"))
def test_random_walks_are_those_of_the_sheets(
    fmu_directory: Path, tmp_path: Path, preset: str
) -> None:
    taus = [0.2, 0.3, 0.5]
    found = deviations(fmu_directory, tmp_path, preset, 200.0, taus)
    given = load_preset("Imu", preset)
    for part in ("accelerometer", "gyroscope", "magnetometer"):
        if (preset, part) not in DENSITIES:
            assert not any(key.startswith(f"{part}.noise") for key in given)
            continue
        walk = found[part][0] * np.sqrt(taus)
        # 400 averages or more scatter by 3 %; the fold of what the low-pass leaves adds 3 %, and
        # steps of codes 1 %
        expected = DENSITIES[preset, part]
        print(f"{preset} {part}: N {walk.mean() / expected:.3f} of the sheet's")
        assert walk.mean() == pytest.approx(expected, rel=0.07)


@pytest.mark.parametrize("preset", sorted({name for name, _ in FLOORS}))
def test_floors_are_the_in_run_bias_stabilities_of_the_sheets(
    fmu_directory: Path, tmp_path: Path, preset: str
) -> None:
    taus = [100.0, 200.0, 400.0, 600.0]
    left_out = "filter" if preset == "VN-100" else "filter, discretization"
    more = {"preset_except": left_out, "sample_rate": SLOW_RATE}
    found = deviations(fmu_directory, tmp_path, preset, 3600.0 * HOURS, taus, **more)
    for part in (part for name, part in FLOORS if name == preset):
        white = DENSITIES[preset, part] ** 2 / np.array(taus)
        # of a floor beneath white noise, in variance, over three axes
        floor = math.sqrt(np.mean(found[part] ** 2 - white))
        print(f"{preset} {part}: floor {floor / FLOORS[preset, part]:.3f} of the sheet's")
        # at 600 s there are 48 averages an axis: 9 % each, 4 % together
        assert floor == pytest.approx(FLOORS[preset, part], rel=0.1)


def test_each_preset_with_a_floor_is_looked_at() -> None:
    with_floor = {
        (preset, key.partition(".")[0])
        for preset in list_presets("Imu")
        for key in load_preset("Imu", preset)
        if ".instability." in key
    }
    assert with_floor == FLOORS.keys()
