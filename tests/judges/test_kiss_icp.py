"""Sweeps of the FMU Lidar by KISS-ICP, an odometry that knows points and their times alone.

A VLP-16 is driven through the yard in curves, from rest to rest, at up to 12 m/s. With the times of
the points the odometry takes the motion out of each sweep, without them it cannot: so its drift
says whether points and times belong together. Points of the ground are left out, as is usual: the
rings that they make on flat ground go along with the sensor, and the odometry with them.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from sensor_models.output.clouds import CloudFormat
from tests.fmus.host import open_fmu

pytest.importorskip("kiss_icp", reason="needs kiss-icp, the odometry that judges sweeps")

from kiss_icp.config import KISSConfig
from kiss_icp.kiss_icp import KissICP

PERIOD, STEP = 0.1, 0.01
REST = 0.3  # s, before and after the drive
SPEED, ACCELERATION = 12.0, 6.0  # m/s and the mean while it changes, m/s2
HEIGHT, GROUND = 2.2, 0.3  # m, of the sensor, and of what is left out
#: Places that the drive comes by, m: between cars, building and walls, as in the project's demo.
PLACES = np.array(
    [(-9.0, -7.0), (-4.5, -5.6), (-1.0, -5.2), (2.8, -4.2), (5.6, -1.4), (7.0, 2.0), (7.2, 6.0),
     (7.4, 9.2), (8.8, 11.2), (11.2, 11.7), (13.2, 9.8), (13.3, 6.0), (13.0, 0.5), (13.4, -4.0),
     (13.4, -8.0)]
)  # fmt: skip
KNOTS = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(PLACES, axis=0), axis=1))])
LENGTH = float(KNOTS[-1])
WAY = CubicSpline(KNOTS, PLACES)


CHANGING = SPEED / ACCELERATION  # s
DRIVE = LENGTH / SPEED + CHANGING  # s


def along(time: float) -> tuple[float, float]:
    """How far the drive has come, m, and how fast it is, which begins and ends as a cosine."""
    t = min(max(time - REST, 0.0), DRIVE)
    if t > DRIVE / 2.0:
        left, speed = along(REST + DRIVE - t)
        return LENGTH - left, speed
    if t > CHANGING:
        return SPEED * (t - CHANGING / 2.0), SPEED
    turn = math.pi * t / CHANGING
    way = 0.5 * SPEED * (t - CHANGING / math.pi * math.sin(turn))
    return way, 0.5 * SPEED * (1.0 - math.cos(turn))


def body_at(time: float) -> dict[str, float]:
    """Pose and velocities at an instant, the front ahead."""
    place, rate = along(time)
    (x, y), (dx, dy), (bx, by) = (WAY(place, order) for order in range(3))
    heading, turn = math.atan2(dy, dx), (dx * by - dy * bx) / (dx * dx + dy * dy) * rate
    return {
        "body.position.x": x,
        "body.position.y": y,
        "body.position.z": HEIGHT,
        "body.velocity.x": dx * rate,
        "body.velocity.y": dy * rate,
        "body.orientation.w": math.cos(0.5 * heading),
        "body.orientation.z": math.sin(0.5 * heading),
        "body.angular_velocity.z": turn,
    }


def sweeps(fmu: Path, folder: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Points of each sweep in the frame of the sensor, and their times, 0 to 1."""
    count = math.ceil((2.0 * REST + DRIVE) / PERIOD)
    files = {"output_format": int(CloudFormat.npy), "write_files": 2, "output_directory": folder}
    with open_fmu(fmu) as lidar:
        own = {"preset": "VLP-16", "scene": "yard", **files, "output_directory": str(folder)}
        lidar.initialize({**own, **body_at(0.0)})
        for number in range(round(count * PERIOD / STEP) + 2):
            lidar.set(body_at(number * STEP))
            lidar.step(number * STEP, STEP)
        lidar.terminate()
    found = []
    for number, file in enumerate(sorted(folder.glob("*.points.npy"))[:count]):
        points = np.load(file)
        places = np.stack([points[axis] for axis in "xyz"], axis=1).astype(float)
        found.append((places, points["time"] / PERIOD - number))
    assert len(found) == count
    return found


def path_of(frames: list[tuple[np.ndarray, np.ndarray]], deskew: bool) -> np.ndarray:
    """Where the odometry believes to be after each sweep, seen from the first."""
    config = KISSConfig()
    config.data.deskew, config.data.max_range, config.data.min_range = deskew, 80.0, 1.0
    config.mapping.voxel_size = config.data.max_range / 100.0  # its own rule
    config.registration.max_num_threads = 1
    odometry, found = KissICP(config), []
    for points, times in frames:
        high = points[:, 2] > GROUND - HEIGHT
        odometry.register_frame(points[high], times[high])
        found.append(odometry.last_pose[:3, 3].copy())
    return np.array(found)


def pose_of(body: dict[str, float]) -> np.ndarray:
    """A pose as a matrix."""
    heading = 2.0 * math.atan2(body["body.orientation.z"], body["body.orientation.w"])
    pose = np.eye(4)
    pose[:2, :2] = [[math.cos(heading), -math.sin(heading)], [math.sin(heading), math.cos(heading)]]
    pose[:3, 3] = [body[f"body.position.{axis}"] for axis in "xyz"]
    return pose


def path_error(found: np.ndarray) -> float:
    """The rms of the error along the drive, m.

    An odometry says not which instant of a sweep a pose is of: that which fits best counts.
    """
    errors = []
    for share in (0.0, 0.5, 1.0):
        truth = [pose_of(body_at((k + share) * PERIOD)) for k in range(len(found))]
        first = np.linalg.inv(truth[0])
        places = np.array([(first @ pose)[:3, 3] for pose in truth])
        errors.append(math.sqrt(np.mean(np.sum((found - places) ** 2, axis=1))))
    return min(errors)


def test_times_of_points_halve_the_drift_of_an_odometry(
    fmu_directory: Path, tmp_path: Path
) -> None:
    frames = sweeps(fmu_directory / "Lidar.fmu", tmp_path)
    assert all(((times > -1e-9) & (times < 1.0)).all() for _, times in frames)
    end = (np.linalg.inv(pose_of(body_at(0.0))) @ pose_of(body_at(1e3)))[:3, 3]
    error, drift = {}, {}
    for deskew in (True, False):
        found = path_of(frames, deskew)
        error[deskew] = path_error(found)
        drift[deskew] = float(np.linalg.norm(found[-1] - end)) / LENGTH
    print(f"{LENGTH:.1f} m, path {error}, end {drift}")
    assert error[True] <= 0.5 * error[False]
    assert drift[True] <= 0.5 * drift[False]
    assert drift[True] < 0.02
