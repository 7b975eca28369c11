"""The FMU CcdCamera without an exposure that is given: it makes pictures in any light."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sensor_models.presets import list_presets
from tests.fmus.host import Instance, open_fmu
from tests.sensor_models.scene_files import write_manifest

#: Walls that glow, one before the camera, one behind it that is ten times as bright.
WALLS = """
[sky]
sky_spectrum = [[300e-9, 1e7], [1100e-9, 1e7]]
""" + "".join(
    f"""
[materials.{name}]
kind = "lambert"
source = "estimate"
surface = [{{ diffuse_reflectance = 0 }}]
emission = [[300e-9, {radiance}], [1100e-9, {radiance}]]
[meshes.{name}]
box = {{ size = [0.1, 100, 100] }}
material = "{name}"
[[instances]]
mesh = "{name}"
position = [{x}, 0, 0]
"""
    for name, radiance, x in (("dim", 1e7, 10), ("bright", 1e8, -10))
)
EMVA = {
    "sensor.model": 1, "pixels.width": 24, "pixels.height": 16, "light.rays": 1, "bands": 1,
    "focal_length": 1.0, "image_distance": 1.0, "f_number": 2.0, "sample_rate": 20.0,
    "ccd_size.width": 24 * 4.65e-6, "ccd_size.height": 16 * 4.65e-6,
}  # fmt: skip
BACK = {"body.orientation.w": 0.0, "body.orientation.z": 1.0}
STEP = 0.05


@pytest.fixture(scope="module")
def ccd_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "CcdCamera.fmu"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_manifest(tmp_path_factory.mktemp("walls"), WALLS))


def begin(camera: Instance, folder: Path, scene: str, **parameters: Any) -> None:
    own = {"scene": scene, "output_directory": str(folder), **EMVA, **parameters}
    camera.initialize(own)


def exposures(folder: Path) -> list[float]:
    lines = [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]
    return [line["exposure"] for line in lines[1:] if line["kind"] == "picture"]


def run(camera: Instance, first: int, last: int, turn_at: int = 10**6) -> list[float]:
    """The mean of the picture of each step."""
    means = []
    for number in range(first, last):
        if number == turn_at:
            camera.set(BACK)
        camera.step(STEP * number, STEP)
        means.append(camera.get("mean_intensity"))
    return means


@pytest.mark.parametrize("place", ["yard", "corridor", "street_canyon", "targets"])
def test_defaults_make_a_picture_of_every_scene(ccd_fmu: Path, tmp_path: Path, place: str) -> None:
    """With sensor.model emva and all else default, but for pixels, which are fewer."""
    few = {"pixels.width": 48, "pixels.height": 36, "output_directory": str(tmp_path)}
    body = {f"body.position.{axis}": at for axis, at in zip("xyz", (0.5, 0.25, 1.6), strict=True)}
    with open_fmu(ccd_fmu) as camera:
        camera.initialize({"scene": place, "sensor.model": 1, **few, **body})
        camera.step(0.0, 0.1)
        assert camera.get("mean_intensity") == pytest.approx(0.18, abs=0.04)
        shares = [camera.get(f"histogram_{n}.share") for n in range(1, 17)]
        camera.terminate()
        assert not any("saturated" in text for text in camera.warnings())
    assert max(shares[8:]) < 0.5
    assert sum(shares[1:]) > 0.2  # more than black


@pytest.mark.parametrize("preset", list_presets("CcdCamera"))
def test_presets_make_pictures(ccd_fmu: Path, tmp_path: Path, preset: str) -> None:
    few = {"pixels.width": 60, "pixels.height": 40, "output_directory": str(tmp_path)}
    with open_fmu(ccd_fmu) as camera:
        camera.initialize({"preset": preset, "scene": "yard", **few, "body.position.z": 1.5})
        camera.step(0.0, 0.1)
        camera.terminate()
        assert camera.get("mean_intensity") == pytest.approx(0.18, abs=0.04)
        picture = np.asarray(Image.open(camera.get("frame.file"))) / 65535.0
    assert picture.mean() == pytest.approx(camera_mean(tmp_path), abs=0.05)
    assert picture.std() > 0.03


def camera_mean(folder: Path) -> float:
    """The mean of the last picture by its index: that of its numbers over the largest."""
    line = json.loads((folder / "index.jsonl").read_text().splitlines()[-1])
    numbers = np.asarray(Image.open(folder / line["file"])) * line["scale"]
    return float(numbers.mean() / line["largest"])


def test_it_settles_when_the_light_changes_tenfold(
    ccd_fmu: Path, tmp_path: Path, scene: str
) -> None:
    turn = 4
    after = round(3.0 * 0.3 / STEP)  # three time constants
    with open_fmu(ccd_fmu) as camera:
        begin(camera, tmp_path, scene)
        means = run(camera, 0, turn + 3 * after, turn_at=turn)
        camera.terminate()
    black = 100.0 / 4095.0
    assert means[0] == pytest.approx(0.18, rel=0.02)
    assert means[turn] > 0.9  # ten times too bright
    times = np.log(exposures(tmp_path))
    goal = times[0] - math.log(10.0)
    left = np.abs(times - goal) / math.log(10.0)
    assert left[turn + after] <= 0.05 * 1.02  # noise of the level
    assert (np.diff(times[turn:]) < 1e-6).all()  # never back
    assert means[-1] - black == pytest.approx(0.18 - black, rel=0.02)


def test_the_input_wins_as_long_as_it_is_set(ccd_fmu: Path, tmp_path: Path, scene: str) -> None:
    with open_fmu(ccd_fmu) as camera:
        begin(camera, tmp_path, scene, **{"auto_exposure.time_constant": 0.0})
        for number, exposure in enumerate((0.0, 3e-5, 4e-5, 0.0)):
            camera.set({"exposure": exposure})
            camera.step(STEP * number, STEP)
        camera.terminate()
    found = exposures(tmp_path)
    assert found[1:3] == [3e-5, 4e-5]
    assert found[3] == pytest.approx(found[0], rel=0.01)


def test_a_given_exposure_time_is_kept_or_gone_on_from(
    ccd_fmu: Path, tmp_path: Path, scene: str
) -> None:
    for name, on in (("fixed", False), ("begins", True)):
        with open_fmu(ccd_fmu) as camera:
            begin(camera, tmp_path / name, scene, exposure_time=1e-6, **{"auto_exposure.on": on})
            run(camera, 0, 3)
            camera.terminate()
    assert exposures(tmp_path / "fixed") == [1e-6] * 3
    first, *others = exposures(tmp_path / "begins")
    assert first == 1e-6
    assert sorted(others) == others
    assert others[0] > 1.2e-6


def test_the_relative_model_follows_the_light_unless_it_is_told_how_long(
    ccd_fmu: Path, tmp_path: Path, scene: str
) -> None:
    for given, wanted in ((1.0, 1.0), (0.0, 0.18)):
        with open_fmu(ccd_fmu) as camera:
            begin(
                camera, tmp_path, scene, full_scale=0.05, exposure_time=given,
                **{"sensor.model": 0, "tone": 1},
            )  # fmt: skip
            (mean,) = run(camera, 0, 1)
            camera.terminate()
            warnings = [text for text in camera.warnings() if "saturated" in text]
        assert mean == pytest.approx(wanted, abs=0.01)
        assert bool(warnings) == (given > 0.0)


def test_saturation_is_told_once_with_the_cure(ccd_fmu: Path, tmp_path: Path, scene: str) -> None:
    with open_fmu(ccd_fmu) as camera:
        begin(camera, tmp_path, scene, exposure_time=1.0)
        run(camera, 0, 3)
        camera.terminate()
        warnings = [text for text in camera.warnings() if "saturated" in text]
    assert len(warnings) == 1
    assert "100% of frame 0" in warnings[0]
    assert "exposure_time" in warnings[0]


@pytest.mark.parametrize("blurred", [{}, {"shutter": 1, "motion_samples": 2, "line_time": 1e-3}])
def test_it_depends_neither_on_steps_nor_on_a_saved_state(
    ccd_fmu: Path, tmp_path: Path, scene: str, blurred: dict[str, Any]
) -> None:
    """A camera that turns, in steps of 50 ms, of 25 ms, and from a state half way."""

    def drive(camera: Instance, first: int, last: int, parts: int) -> list[float]:
        """The means of the pictures after each step."""
        means = []
        for number in range(first * parts, last * parts):
            half = 2.0 * number * STEP / parts  # 4 rad/s: to the bright wall and back
            turn = {"body.orientation.w": math.cos(half), "body.orientation.z": math.sin(half)}
            camera.set({**turn, "body.angular_velocity.z": 4.0})
            camera.step(STEP * number / parts, STEP / parts)
            means.append(camera.get("mean_intensity"))
        return means

    found = []
    for parts in (1, 2):
        with open_fmu(ccd_fmu) as camera:
            begin(camera, tmp_path / str(parts), scene, **blurred)
            drive(camera, 0, 8, parts)
            saved = camera.saved()
            on = drive(camera, 8, 16, parts)
            camera.terminate()
        found.append(exposures(tmp_path / str(parts)))
    shared = min(map(len, found))
    assert shared >= 14
    assert found[0][:shared] == found[1][:shared]
    assert len(set(found[0])) > 5
    with open_fmu(ccd_fmu) as camera:
        begin(camera, tmp_path / "again", scene, **blurred)
        drive(camera, 0, 1, 2)
        camera.restore(saved)
        assert drive(camera, 8, 16, 2) == on
        camera.terminate()
    assert len(set(on)) > 5
