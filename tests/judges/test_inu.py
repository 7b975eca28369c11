r"""The drift of an inertial navigation with our IMU, by ``inu``: it stays in its own covariance.

``inu`` turns a path over the rotating ellipsoid into what an ideal IMU measures (``mech_inv``),
which the FMU is given in an inertial frame, and navigates by what the FMU reports (``mech``). The
car stands still at first, and what the sensors read then more than they should is taken off as
their biases, as navigation systems do. The errors at the end of the drive are linear in the errors
ε_k of the samples,

    e = Σ_k G_k ε_k,   G_k = Φ_N ⋯ Φ_{k+1} B_k T,

with the transitions Φ that ``inu`` makes of its ``jacobian``. So the numbers of a preset predict
their covariance: white noise N² rate, flicker noise with -B²/π ln|t| between two samples (it needs
no longest time, as the weights of an axis sum to 0), a walk with K² times the earlier time. Over
many seeds eᵀ P⁻¹ e of n states has the χ² law of n degrees of freedom.

Source of the covariance: Farrell, Aided Navigation (2008), section 4.6; of flicker noise: IEEE Std
952-1997, annex C.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import inu
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import toeplitz
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from sensor_models.presets import load_preset
from tests.fmus.driving import read_record
from tests.fmus.host import open_fmu

Floats = NDArray[np.float64]

RATE, STILL, DRIVE = 20.0, 20.0, 40.0
STANDING, SAMPLES = round(STILL * RATE), round((STILL + DRIVE) * RATE)
LATITUDE, LONGITUDE, HEIGHT = 0.84, 0.15, 320.0
SEEDS = 25
#: How unlikely the error of a right covariance is that fails the test.
CHANCE = 1e-4
WALK = {
    f"{part}.drift.{name}": value
    for part, growth in (("accelerometer", 2e-4), ("gyroscope", 1e-5))
    for name, value in [("type", 1), *((f"walk.{a}", growth) for a in "xyz")]
}


@dataclass(frozen=True)
class Drive:
    """Where the car is at each sample, and what an ideal IMU on it measures."""

    llh: Floats
    rpy: Floats
    force: Floats
    rate: Floats
    #: Those of the FMU at each sample; the world is the inertial frame of the Earth.
    inputs: Sequence[Mapping[str, float]]


def turns_of(rpy: Floats) -> Rotation:
    """From the body to north, east and down."""
    return Rotation.from_euler("ZYX", rpy[::-1].T)


def inputs_of(llh: Floats, rpy: Floats, force: Floats, rate: Floats) -> list[dict[str, float]]:
    """The motion in the inertial frame."""
    down = np.stack([llh[1], -llh[0] - 0.5 * math.pi], axis=1)
    spun = np.outer(np.arange(SAMPLES) / RATE, [0.0, 0.0, inu.W_EI])
    turned = Rotation.from_rotvec(spun) * Rotation.from_euler("ZY", down) * turns_of(rpy)
    columns = {f"body.orientation.{name}": turned.as_quat()[:, i] for i, name in enumerate("xyzw")}
    for name, vector in (("angular_velocity", rate), ("acceleration", force)):
        seen = turned.apply(vector.T)
        columns |= {f"body.{name}.{axis}": seen[:, i] for i, axis in enumerate("xyz")}
    rows = np.stack(list(columns.values()), axis=1).tolist()
    return [dict(zip(columns, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def path() -> Drive:
    """20 s at rest, then turns at up to 15 m/s."""
    t = np.arange(SAMPLES) / RATE - STILL
    moving = np.clip(t / DRIVE, 0.0, 1.0)
    speed = 15.0 * np.sin(np.pi * moving) ** 2
    yaw = (
        0.4
        + 1.5 * np.sin(np.pi * moving) ** 4
        + 3.0 * moving**3 * (10 - 15 * moving + 6 * moving**2)
    )
    north, east = (np.cumsum(speed * part) / RATE for part in (np.cos(yaw), np.sin(yaw)))
    metres = 6.37e6
    llh = np.array(
        [
            LATITUDE + north / metres,
            LONGITUDE + east / metres / math.cos(LATITUDE),
            HEIGHT + 0.002 * (north + east),
        ]
    )
    rpy = np.array([0.05 * np.sin(np.pi * moving) ** 2, 0.02 + 0.0 * t, yaw])
    read = inu.mech_inv(llh, rpy, 1.0 / RATE)
    return Drive(llh, rpy, *read, inputs_of(llh, rpy, *read))


def readings(
    fmus: Path, folder: Path, path: Drive, parameters: Mapping[str, float | str]
) -> tuple[Floats, Floats]:
    """Specific forces and angular rates that the FMU records on the drive."""
    own = {f"gravity.{a}": 0.0 for a in "xyz"} | {"use_acceleration_inputs": True}
    own |= {"sample_rate": RATE, "inputs_at_step_end": True, "record": True}
    with open_fmu(fmus / "Imu.fmu", "imu") as imu:
        imu.initialize({**parameters, **own, **path.inputs[0], "output_directory": str(folder)})
        for index in range(1, SAMPLES):
            imu.set(path.inputs[index])
            imu.step((index - 1) / RATE, 1.0 / RATE)
        imu.terminate()
    record = read_record(folder)
    force, rate = (
        np.array([record[f"{part}.{a}"] for a in "xyz"]) for part in ("accelerometer", "gyroscope")
    )
    return force, rate


@dataclass(frozen=True)
class Navigated:
    """Where ``inu`` believes the car to be during the drive."""

    llh: Floats
    speed: Floats
    rpy: Floats


def navigated(path: Drive, force: Floats, rate: Floats) -> Navigated:
    """Navigation from the true start of the drive, by readings of all samples."""
    found = inu.mech(
        force[:, STANDING:],
        rate[:, STANDING:],
        path.llh[:, STANDING].copy(),
        inu.llh_to_vne(path.llh, 1.0 / RATE)[:, STANDING],
        path.rpy[:, STANDING],
        1.0 / RATE,
        show_progress=False,
    )
    return Navigated(*found)


def calibrated(path: Drive, force: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """Readings less what they are too much in the mean while the car stands."""
    found = []
    for read, true in ((force, path.force), (rate, path.rate)):
        bias = (read - true)[:, : STANDING - 1].mean(axis=1)
        found.append(read - bias[:, None])
    return found[0], found[1]


def errors(path: Drive, found: Navigated, truth: Navigated) -> Floats:
    """Errors at the end: of the place in m, of the speed in m/s, and the tilt as ``inu`` has it."""
    north, east = metres_of(path)
    place = (found.llh - truth.llh)[:, -1] * [north, east, 1.0]
    speed = (found.speed - truth.speed)[:, -1]
    tilt = (turns_of(found.rpy[:, -1]) * turns_of(truth.rpy[:, -1]).inv()).as_rotvec()
    return np.concatenate([place, speed, -tilt])


def metres_of(path: Drive) -> tuple[float, float]:
    """Metres of a radian of latitude and of longitude at the end."""
    latitude, _, height = path.llh[:, -1]
    bent = 1.0 - inu.E2 * math.sin(latitude) ** 2
    along = inu.A_E * (1.0 - inu.E2) / bent**1.5
    return along + height, (inu.A_E / math.sqrt(bent) + height) * math.cos(latitude)


def influences(path: Drive, truth: Navigated) -> dict[str, Floats]:
    """G: how the errors at the end follow from the errors of each sample, by axis and sample."""
    turns = turns_of(truth.rpy).as_matrix()
    jacobians = inu.jacobian(path.force[:, STANDING:], truth.llh, truth.speed, turns)
    count = len(turns) - 1
    found = {part: np.zeros((9, 3, SAMPLES)) for part in ("accelerometer", "gyroscope")}
    onward = np.diag([*metres_of(path), 1.0, *[1.0] * 6])
    for k in reversed(range(count)):
        found["accelerometer"][:, :, STANDING + k] = onward[:, 3:6] @ turns[k] / RATE
        found["gyroscope"][:, :, STANDING + k] = -onward[:, 6:9] @ turns[k] / RATE
        onward = onward @ inu.vanloan(jacobians[k], T=1.0 / RATE)[0]
    for part in found.values():  # what is taken off as the bias
        part[:, :, : STANDING - 1] = -part.sum(axis=2)[:, :, None] / (STANDING - 1)
    return found


def covariance(path: Drive, truth: Navigated, numbers: Mapping[str, float]) -> Floats:
    """P: that of the errors at the end, by N, B and K of each axis."""
    t = np.arange(SAMPLES) / RATE
    lag = np.maximum(t, 0.5 / RATE)
    total = np.zeros((9, 9))
    for part, axes in influences(path, truth).items():
        for axis, influence in zip("xyz", axes.transpose(1, 0, 2), strict=True):
            density = numbers.get(f"{part}.noise.density.{axis}", 0.0)
            flicker = numbers.get(f"{part}.instability.{axis}", 0.0)
            growth = numbers.get(f"{part}.drift.walk.{axis}", 0.0)
            of_samples = density**2 * RATE * np.eye(SAMPLES)
            of_samples -= flicker**2 / math.pi * toeplitz(np.log(lag))
            of_samples += growth**2 * np.minimum(t[:, None], t[None, :])
            total += influence @ of_samples @ influence.T
    return total


#: A preset, what of it is left out, as it would alias at this rate or is not normal, and more.
CASES: Mapping[str, tuple[str, str, Mapping[str, float]]] = {
    "VN-100": ("VN-100", "filter", {}),
    "ADIS16470": ("ADIS16470", "filter, discretization", {}),
    "VN-100 that drifts": ("VN-100", "filter", WALK),
}


@pytest.fixture(scope="module")
def truth(path: Drive, fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Navigated:
    """What is navigated by an IMU without errors."""
    return navigated(path, *readings(fmu_directory, tmp_path_factory.mktemp("ideal"), path, {}))


def test_an_ideal_imu_navigates_back_to_the_path(path: Drive, truth: Navigated) -> None:
    away = (truth.llh - path.llh[:, STANDING:])[:, -1] * [*metres_of(path), 1.0]
    assert np.abs(away).max() < 1e-4
    turned = turns_of(truth.rpy) * turns_of(path.rpy[:, STANDING:]).inv()
    assert turned.magnitude().max() < 1e-8


@pytest.mark.parametrize("case", CASES)
def test_drifts_stay_in_the_covariance_of_the_numbers_of_the_preset(
    path: Drive, truth: Navigated, fmu_directory: Path, tmp_path: Path, case: str
) -> None:
    preset, left_out, more = CASES[case]
    numbers = {**load_preset("Imu", preset), **more}
    own = {"preset": preset, "preset_except": left_out, **more}
    found = []
    for seed in range(SEEDS):
        seeded = {**own, "seed": 100 * list(CASES).index(case) + seed}
        read = readings(fmu_directory, tmp_path / str(seed), path, seeded)
        found.append(errors(path, navigated(path, *calibrated(path, *read)), truth))
    drifts = np.array(found)
    predicted = covariance(path, truth, numbers)
    ratio, deviations = squares(drifts, predicted), np.sqrt(np.diag(predicted))
    print(f"{case}: {ratio:.3f}; {deviations[0]:.2g} m north, {deviations[8] * 1e3:.2g} mrad yaw")
    low, high = chi2.ppf([CHANCE, 1.0 - CHANCE], drifts.size) / drifts.size
    assert low < ratio < high
    # what a walk or, beside less white noise, flicker noise adds is seen by this measure
    white = {name: value for name, value in numbers.items() if "density" in name}
    too_small = squares(drifts, covariance(path, truth, white))
    print(f"{case}: {too_small:.3f} if noise were white")
    assert too_small > high


def squares(drifts: Floats, predicted: Floats) -> float:
    """Mean square of the drifts, in units of what is predicted: 1 if that is right."""
    return float(np.sum(drifts * np.linalg.solve(predicted, drifts.T).T)) / drifts.size
