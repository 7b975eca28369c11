"""FMU ``Lidar``: what motion does to a cloud, and what is left of it where it is taken out."""

from pathlib import Path

import numpy as np
import pytest

from tests.fmus.host import Instance, open_fmu
from tests.fmus.lidar_runs import (
    END,
    FLOAT32,
    HALF_WAGON,
    HALF_WIDTH,
    PERIOD,
    ROWS,
    SPEED,
    STREET,
    TURN_RATE,
    WAGON,
    begin,
    body_at,
    clouds_of,
    directions,
    drive,
    expected_ranges,
    index_of,
    places,
    steps_of,
    turned,
)
from tests.sensor_models.scene_files import write_manifest

MILLIMETRE = 1e-3


@pytest.fixture
def street(tmp_path: Path) -> str:
    return str(write_manifest(tmp_path, STREET))


def clouds_on_the_way(fmu: Path, street: str, folder: Path, **parameters: object) -> list:
    """Three sweeps at 20 m/s and 0.8 rad/s, in steps of 30 ms."""
    with open_fmu(fmu) as lidar:
        begin(lidar, street, folder, inputs_at_step_end=True, **parameters, **body_at(0.0))
        drive(lidar, steps_of(0.03, 0.3), at_end=True)
        lidar.terminate()
    clouds = clouds_of(folder)
    assert len(clouds) == 3
    for points in clouds:
        assert set(points["entity_id"]) == {1, 2, 3}
        assert len(points) > 0.95 * ROWS * 90  # a few go out through the open end
    return clouds


def planes(points: np.ndarray, of: np.ndarray) -> dict[int, np.ndarray]:
    """For each wall, the coordinates that all its points have in common in the world."""
    axes = {1: 1, 2: 1, 3: 0}
    return {wall: points[of == wall][:, axis] for wall, axis in axes.items()}


WALLS = {1: HALF_WIDTH, 2: -HALF_WIDTH, 3: END}


def test_walls_are_distorted_as_the_way_of_the_sensor_says(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    for points in clouds_on_the_way(lidar_fmu, street, tmp_path / "out"):
        along = directions(points)
        expected = expected_ranges(points, points["time"])
        np.testing.assert_allclose(places(points), expected[:, None] * along, atol=MILLIMETRE)
        # With the one pose of the sweep's start instead, they would be metres away.
        off = expected_ranges(points, points["time"].min()) - points["range"]
        assert np.abs(off[np.isfinite(off)]).max() > 1.0


def test_walls_are_flat_once_the_motion_is_corrected(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    clouds = clouds_on_the_way(lidar_fmu, street, tmp_path / "out", motion_correction=True)
    for points, line in zip(clouds, index_of(tmp_path / "out")[1:], strict=True):
        start = line["time"]
        np.testing.assert_allclose(line["position"], [SPEED * start, 0.0, 0.0], atol=1e-12)
        # The pose at the start of the sweep takes all points back to the walls.
        in_world = turned(places(points), TURN_RATE * start) + line["position"]
        for wall, coordinates in planes(in_world, points["entity_id"]).items():
            np.testing.assert_allclose(coordinates, WALLS[wall], atol=MILLIMETRE)


def test_points_in_the_world_frame_are_where_the_walls_are(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    for points in clouds_on_the_way(lidar_fmu, street, tmp_path / "out", output_frame=1):
        for wall, coordinates in planes(places(points), points["entity_id"]).items():
            np.testing.assert_allclose(coordinates, WALLS[wall], atol=MILLIMETRE)
        origins = np.outer(points["time"], [SPEED, 0.0, 0.0])
        along = turned(directions(points), TURN_RATE * points["time"])
        found = places(points) - origins
        np.testing.assert_allclose(found, points["range"][:, None] * along, atol=MILLIMETRE)


def test_a_mount_moves_and_turns_the_sensor_on_its_body(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    # 2 m ahead, 1 m to the left, and looking to the left.
    half = np.sqrt(0.5)
    mount = {"mount.position.x": 2.0, "mount.position.y": 1.0}
    turn = {"mount.orientation.w": half, "mount.orientation.z": half}
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path / "out", **mount, **turn)
        for k in range(3):
            lidar.step(0.05 * k, 0.05)
        lidar.terminate()
    (points,) = clouds_of(tmp_path / "out")
    in_world = turned(places(points), np.pi / 2) + np.array([2.0, 1.0, 0.0])
    for wall, coordinates in planes(in_world, points["entity_id"]).items():
        np.testing.assert_allclose(coordinates, WALLS[wall], rtol=10 * FLOAT32)
    assert index_of(tmp_path / "out")[1]["position"] == [2.0, 1.0, 0.0]


def test_nothing_moves_in_a_still_scene_without_noise(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path / "out")
        for k in range(9):
            lidar.step(0.05 * k, 0.05)
        lidar.terminate()
    clouds = clouds_of(tmp_path / "out")
    assert len(clouds) == 4
    for points in clouds[1:]:
        for name in points.dtype.names:
            if name != "time":
                assert np.array_equal(points[name], clouds[0][name])


# ---- bodies that move --------------------------------------------------------------------------

APPROACH = -10.0
#: Rays ahead, one after the other, over less than the wagon.
AHEAD = {
    "pattern.type": 0,
    "pattern.rows": 1,
    "pattern.columns": 200,
    "pattern.azimuth.min": -0.05,
    "pattern.azimuth.max": 0.05,
}


@pytest.fixture
def wagon_scene(tmp_path: Path) -> str:
    return str(write_manifest(tmp_path, WAGON))


def wagon_at(time: float) -> dict[str, float]:
    """The inputs of the ``Environment``: the wagon comes nearer."""
    still = {f"vehicle_1.position.{axis}": 0.0 for axis in "yz"}
    turn = {f"vehicle_1.orientation.{part}": float(part == "w") for part in "wxyz"}
    way = {"vehicle_1.position.x": 20.0 + APPROACH * time, "vehicle_1.velocity.x": APPROACH}
    return {**still, **turn, **way}


def faces(
    environment: Instance,
    lidar: Instance,
    folder: Path,
    *,
    step: float = 0.025,
    lidar_first: bool = False,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each frame: instants of the rays, and where along x they met the wagon."""
    for k in range(round(0.35 / step)):
        environment.set(wagon_at(k * step))
        for instance in (lidar, environment) if lidar_first else (environment, lidar):
            instance.step(k * step, step)
    lidar.terminate()
    clouds = clouds_of(folder)
    assert len(clouds) == 3
    assert all(set(points["entity_id"]) == {7} and len(points) == 200 for points in clouds)
    return [(points["time"], points["x"].astype(float)) for points in clouds]


@pytest.mark.parametrize("slices", [1, 64, 1000])
def test_a_moving_box_is_hit_where_it_is_at_the_time_of_each_ray(
    environment: Instance, lidar_fmu: Path, wagon_scene: str, tmp_path: Path, slices: int
) -> None:
    with open_fmu(lidar_fmu) as lidar:
        environment.initialize({"scene": wagon_scene, **wagon_at(0.0)})
        number = environment.get("scene_handle")
        out = tmp_path / "out"
        begin(lidar, "yard", out, scene_handle=number, motion_slices=slices, **AHEAD)
        found = faces(environment, lidar, out)
    for time, x in found:  # at a constant speed there is nothing between the ends of a slice
        np.testing.assert_allclose(x, 20.0 + APPROACH * time - HALF_WAGON, rtol=FLOAT32)


def test_an_instant_frame_sees_bodies_where_they_are_at_its_instant(
    environment: Instance, lidar_fmu: Path, wagon_scene: str, tmp_path: Path
) -> None:
    with open_fmu(lidar_fmu) as lidar:
        environment.initialize({"scene": wagon_scene, **wagon_at(0.0)})
        number = environment.get("scene_handle")
        begin(lidar, "yard", tmp_path, scene_handle=number, scan_mode=0, **AHEAD)
        for k in range(6):  # frames fall between the steps
            environment.set(wagon_at(0.07 * k))
            environment.step(0.07 * k, 0.07)
            lidar.step(0.07 * k, 0.07)
        lidar.terminate()
    clouds = clouds_of(tmp_path)
    assert len(clouds) == 4
    for frame, points in enumerate(clouds):
        expected = 20.0 + APPROACH * PERIOD * frame - HALF_WAGON
        np.testing.assert_allclose(points["x"], expected, rtol=FLOAT32)


def test_a_lidar_that_steps_before_the_environment_sees_bodies_up_to_a_step_late(
    environment: Instance, lidar_fmu: Path, wagon_scene: str, tmp_path: Path
) -> None:
    step = 0.025
    with open_fmu(lidar_fmu) as lidar:
        environment.initialize({"scene": wagon_scene, **wagon_at(0.0)})
        number = environment.get("scene_handle")
        begin(lidar, "yard", tmp_path, scene_handle=number, motion_slices=1000, **AHEAD)
        found = faces(environment, lidar, tmp_path, step=step, lidar_first=True)
    for time, x in found:
        late = (x - (20.0 + APPROACH * time - HALF_WAGON)) / -APPROACH
        assert late.min() > -1e-4  # of the slices
        assert 0.9 * step < late.max() < step + 1e-4
    # From where on rays show what stood still: the newest state when the frame was begun.
    for frame, line in enumerate(index_of(tmp_path)[1:]):
        assert abs(line["bodies_known_until"] - PERIOD * frame) < step + 1e-9


def test_bodies_that_move_do_not_change_how_the_rest_is_cut(
    environment_fmu: Path, lidar_fmu: Path, wagon_scene: str, tmp_path: Path
) -> None:
    found = []
    for step in (0.005, 0.025, 0.05):
        out = tmp_path / str(step)
        with open_fmu(environment_fmu) as environment, open_fmu(lidar_fmu) as lidar:
            environment.initialize({"scene": wagon_scene, **wagon_at(0.0)})
            begin(lidar, "yard", out, scene_handle=environment.get("scene_handle"), **AHEAD)
            found.append(faces(environment, lidar, out, step=step))
    for run in found[1:]:
        for (time, x), (other_time, other_x) in zip(run, found[0], strict=True):
            assert np.array_equal(time, other_time)
            # Poses between two known ones are right up to the rounding of their instants.
            np.testing.assert_allclose(x, other_x, rtol=FLOAT32)
