"""FMU ``DepthCamera``: the model behind it, its frames, files, scenes and states."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sensor_models.camera import DepthCamera, DepthCameraParameters, ImageNoiseParameters
from sensor_models.scene.registry import SceneHandleError, attach, open_scene
from tests.fmus.host import Instance, open_fmu
from tests.sensor_models.scene_files import write_manifest

#: A wall across the x axis, 4 m away, 6 m wide, with a box before it on the left.
SCENE = """
[meshes.wall]
box = { size = [0.2, 6, 6] }
material = "concrete"

[meshes.cube]
box = { size = [0.5, 0.5, 0.5] }
material = "brick"

[[instances]]
mesh = "wall"
position = [4.1, 0, 0]
entity_id = 1

[[instances]]
mesh = "cube"
position = [2.25, 1, 0]
entity_id = 2
"""
SMALL = {"width": 8, "height": 8, "horizontal_fov": 1.2, "normalize_range": False}


@pytest.fixture(scope="session")
def depth_camera_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "DepthCamera.fmu"


@pytest.fixture
def scene(tmp_path: Path) -> str:
    return str(write_manifest(tmp_path, SCENE))


def begin(camera: Instance, scene: str, folder: Path, **parameters: Any) -> None:
    camera.initialize({**SMALL, "scene": scene, "output_directory": str(folder), **parameters})


def move(camera: Instance, x: float, speed: float = 0.0) -> None:
    camera.set({"body.position.x": x, "body.velocity.x": speed})


def index_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "index.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def depths(folder: Path) -> list[NDArray[np.float32]]:
    return [np.load(file) for file in sorted(folder.glob("*.depth.npy"))]


def test_frame_0_is_taken_when_the_first_step_begins(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        begin(camera, scene, tmp_path / "out")
        assert camera.get("frame.count") == 0
        assert camera.get("frame.file") == ""
        move(camera, 1.0)  # what the first step begins with, not what was there at initialisation
        camera.step(0.0, 0.1)
        assert camera.get("frame.count") == camera.get("sample.count") == 1
        assert camera.get("frame.time") == 0.0
        camera.terminate()
        assert Path(camera.get("frame.file")).is_file()
    (image,) = depths(tmp_path / "out")
    assert image.max() == pytest.approx(3.0, rel=1e-6)


def test_images_are_those_of_the_model(depth_camera_fmu: Path, scene: str, tmp_path: Path) -> None:
    noise = {"noise.on": True, "noise.dropout": 0.2, "noise.multiplier": 0.05}
    with open_fmu(depth_camera_fmu, "front") as camera:
        begin(camera, scene, tmp_path / "out", seed=11, return_normals=True, **noise)
        for k in range(3):
            move(camera, 0.1 * k)
            camera.step(0.1 * k, 0.1)
        camera.terminate()
    model = DepthCamera(
        DepthCameraParameters(**SMALL, return_normals=True),
        ImageNoiseParameters(on=True, dropout=0.2, multiplier=0.05),
        seed=11,
        identity="DepthCamera/front",
    )
    images = depths(tmp_path / "out")
    assert len(images) == 3
    with open_scene(scene) as world:
        for k, image in enumerate(images):
            frame = model.capture(world.rays(), (0.1 * k, 0, 0, 1, 0, 0, 0), k)
            assert frame.image is not None
            assert image.tobytes() == frame.image.tobytes()
            for name in ("entity", "label", "normal"):
                stored = np.load(tmp_path / "out" / f"front-{k:06d}.{name}.npy")
                np.testing.assert_array_equal(stored, getattr(frame, name))


def test_outputs_tell_the_nearest_reading_and_the_zones(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        begin(camera, scene, tmp_path, calculate_depth=False)
        camera.step(0.0, 0.1)
        found = camera.outputs()
        camera.terminate()
    (image,) = [np.load(file) for file in tmp_path.glob("*.range.npy")]
    zones = [found[f"zone_{k + 1}.range"] for k in range(64)]
    np.testing.assert_array_equal(zones, image.ravel())
    assert found["nearest.range"] == image.min()
    assert found["nearest.entity_id"] == 2
    x = found["nearest.range"] * math.cos(found["nearest.elevation"])
    assert x * math.cos(found["nearest.azimuth"]) == pytest.approx(2.0, rel=1e-6)
    assert 0.75 < x * math.sin(found["nearest.azimuth"]) < 1.25  # on the box
    assert (found["frame.width"], found["frame.height"]) == (8, 8)


def test_nothing_in_sight_has_no_range(depth_camera_fmu: Path, scene: str, tmp_path: Path) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        begin(camera, scene, tmp_path)
        move(camera, 10.0)
        camera.step(0.0, 0.1)
        found = camera.outputs()
    assert found["nearest.range"] == 0.0
    assert found["nearest.entity_id"] == -1
    assert found["zone_1.range"] == 0.0


@pytest.mark.parametrize("steps", [[0.5], [0.05] * 10, [0.13, 0.04, 0.2, 0.13]])
def test_frames_do_not_depend_on_how_time_is_cut(
    depth_camera_fmu: Path, scene: str, tmp_path: Path, steps: list[float]
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        start = {"body.velocity.x": 0.8}
        begin(camera, scene, tmp_path / "out", sample_rate=10.0, inputs_at_step_end=True, **start)
        time = 0.0
        for step in steps:
            move(camera, 0.8 * (time + step), 0.8)
            camera.step(time, step)
            time += step
        camera.terminate()
        assert camera.get("frame.count") == 6
    nearest = [image.max() for image in depths(tmp_path / "out")]
    expected = 4.0 - 0.8 * np.arange(6) / 10.0
    # With inputs at step ends, frame 0 is seen from where initialisation has the body.
    np.testing.assert_allclose(nearest, expected, rtol=1e-6)
    stamps = [line["time"] for line in index_of(tmp_path / "out")[1:] if line["kind"] == "depth"]
    np.testing.assert_allclose(stamps, np.arange(6) / 10.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("number", "suffix"), [(0, "npy"), (1, "png"), (2, "tiff")])
def test_images_come_in_the_format_that_was_asked_for(
    depth_camera_fmu: Path, scene: str, tmp_path: Path, number: int, suffix: str
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        begin(camera, scene, tmp_path / "out", output_format=number)
        camera.step(0.0, 0.1)
        camera.terminate()
        file = Path(camera.get("frame.file"))
    assert file == tmp_path / "out" / f"sensor-000000.depth.{suffix}"
    assert file.is_file()
    head, first, *_ = index_of(tmp_path / "out")
    assert head["parameters"]["width"] == 8
    assert first["file"] == file.name
    assert first["position"] == [0.0, 0.0, 0.0]


def test_a_scene_handle_shows_where_its_scene_is(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    with open_scene(scene) as world, open_fmu(depth_camera_fmu) as camera:
        begin(camera, "yard", tmp_path, scene_handle=world.number)
        camera.step(0.0, 0.1)
        assert camera.get("nearest.entity_id") == 2
        camera.terminate()


def test_a_dead_handle_and_an_unknown_scene_are_errors(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    with open_scene(scene) as world:
        dead = world.number
    with open_fmu(depth_camera_fmu) as camera:
        begin(camera, scene, tmp_path)
        camera.set({"scene_handle": dead})
        assert "is no open scene" in camera.refusal(camera.step, 0.0, 0.1)
        camera.set({"scene_handle": 0})
        camera.step(0.0, 0.1)
        assert camera.get("frame.count") == 1
    with open_fmu(depth_camera_fmu) as camera:
        camera.set_up()
        camera.set({"scene": "nowhere"})
        camera.enter()
        assert "is no built-in scene" in camera.refusal(camera.exit)


def test_a_refused_handle_leaves_the_camera_in_the_scene_that_it_has(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        with open_scene(scene) as world:
            number = world.number
            begin(camera, "yard", tmp_path, scene_handle=number)
            camera.step(0.0, 0.1)
        camera.set({"scene_handle": 5})  # now the camera alone keeps its scene open
        assert "is no open scene" in camera.refusal(camera.step, 0.1, 0.1)
        attach(number).close()
        camera.set({"scene_handle": number})
        camera.step(0.1, 0.1)
        assert camera.get("frame.count") == 2
        assert camera.get("nearest.entity_id") == 2
        camera.set({"scene_handle": 0})  # the scene of the parameter; it leaves the other one
        camera.step(0.2, 0.1)
        with pytest.raises(SceneHandleError):
            attach(number)


def test_impossible_optics_are_refused_at_initialisation(depth_camera_fmu: Path) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        camera.set_up()
        camera.set({"min_range": 5.0, "max_range": 4.0})
        camera.enter()
        assert "must be less than max_range" in camera.refusal(camera.exit)


def test_the_preset_d455_has_the_stereo_noise_of_its_numbers(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        values = {"preset": "D455", "scene": scene, "output_directory": str(tmp_path)}
        camera.initialize({**values, "segmentation": False, "sample_rate": 10.0})
        camera.step(0.0, 0.05)
        assert (camera.get("frame.width"), camera.get("frame.height")) == (1280, 720)
        camera.terminate()
    (image,) = depths(tmp_path)
    wall = image[300:420, 600:680]
    focal_length = 1280 / (2.0 * math.tan(math.radians(87.0) / 2.0))
    expected = 16.0 * 0.08 / (focal_length * 0.095)
    # 4 sigma of the deviation of so many pixels, and the second order of the disparity.
    share = 4.0 / math.sqrt(2.0 * wall.size) + (expected / 4.0) ** 2
    assert wall.std() == pytest.approx(expected, rel=share)
    assert wall.mean() == pytest.approx(4.0, abs=4.0 * expected / math.sqrt(wall.size) + 1e-4)


def test_the_preset_vl53l5cx_reads_zones_over_45_degrees(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        own = {"preset": "VL53L5CX", "preset_except": "noise", "scene": scene}
        camera.initialize({**own, "output_directory": str(tmp_path)})
        for k in range(15):
            camera.step(k / 15.0, 1.0 / 15.0)
        assert camera.get("frame.count") in (14, 15)  # the last one may be due with the next step
        # A middle zone sees a wall at 4 m: the mean of 1 / cos over its 5.6 degrees.
        angles = np.radians((np.arange(4) + 0.5) * 5.625 / 4.0)
        mean = np.mean(4.0 / (np.cos(angles)[:, None] * np.cos(angles)))
        x = 4.0 - 0.5
        camera.set({"body.position.x": 0.5})
        camera.step(1.0, 1.0 / 15.0)
        camera.step(1.0 + 1.0 / 15.0, 1.0 / 15.0)
        assert camera.get("zone_37.range") == pytest.approx(mean * x / 4.0, rel=1e-3)


def test_the_file_that_is_named_is_that_of_the_step_before(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        begin(camera, scene, tmp_path)
        for k in range(5):
            camera.step(0.1 * k, 0.1)
            file = camera.get("frame.file")
            assert file == (str(tmp_path / f"sensor-{k - 1:06d}.depth.npy") if k else "")
            assert not file or np.load(file).shape == (8, 8)
        camera.terminate()
        assert camera.get("frame.file") == str(tmp_path / "sensor-000004.depth.npy")
