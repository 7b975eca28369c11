"""Pictures of scenes, and the command line."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene
from sensor_models.tools.pictures.scene_command import main
from sensor_models.tools.pictures.view import Camera, extents, render, save_png, whole_scene
from tests.sensor_models.scene_files import BOX, write_manifest

#: A plate of 4 m by 4 m at a height of 1 m, over a ground that it shades.
PLATE = """
[sky]
sun_direction = [0, 0, 1]
[meshes.plate]
box = { size = [4, 4, 0.01] }
material = "MATERIAL"
[meshes.ground]
plane = { size = [40, 40] }
material = "concrete"
[[instances]]
mesh = "ground"
[[instances]]
mesh = "plate"
position = [0, 0, 1]
"""

FROM_ABOVE = Camera((0.0, 0.0, 30.0), (0.0, 0.0, 0.0), math.radians(60.0))


def picture_of(scene: Scene, camera: Camera, width: int, height: int) -> NDArray[np.uint8]:
    return render(scene, camera, width, height)


def plate(folder: Path, material: str) -> Scene:
    return load_scene(write_manifest(folder, PLATE.replace("MATERIAL", material)))


def test_an_empty_world_shows_a_blue_sky_over_the_ground(tmp_path: Path) -> None:
    scene = load_scene(write_manifest(tmp_path, ""))
    level = Camera((0.0, 0.0, 2.0), (10.0, 0.0, 2.0), 1.2)
    picture = render(scene, level, 40, 30).astype(int)
    assert picture.shape == (30, 40, 3)
    sky, ground = picture[0].mean(axis=0), picture[29].mean(axis=0)
    assert sky[2] - sky[0] > ground[2] - ground[0]
    assert len(np.unique(picture[:15].reshape(-1, 3), axis=0)) == 1


def test_a_thing_appears_where_it_is(tmp_path: Path) -> None:
    scene = plate(tmp_path, "brick")
    shifted = Camera((5.0, 0.0, 30.0), (5.0, 0.0, 0.0), math.radians(60.0))
    picture = picture_of(scene, shifted, 60, 40).astype(int)
    red = (picture[:, :, 0] > 1.3 * picture[:, :, 1]).nonzero()
    # Looked at from above, the y axis of the world points up in the picture and x to the right.
    # 60 pixels are 2 * 29 * tan(30 deg) = 33.5 m at the plate, whose middle is 5 m to the left.
    per_metre = 60.0 / (2.0 * 29.0 * math.tan(math.radians(30.0)))
    assert np.mean(red[1]) + 0.5 == pytest.approx(30.0 - 5.0 * per_metre, abs=0.5)
    assert np.mean(red[0]) + 0.5 == pytest.approx(20.0, abs=0.5)
    assert len(red[0]) == pytest.approx((4.0 * per_metre) ** 2, rel=0.25)  # edges are mixed


def test_columns_of_a_picture_go_to_the_right_and_rows_down(tmp_path: Path) -> None:
    text = PLATE.replace(
        "position = [0, 0, 1]", "position = [10, 3, 4]\nroll_pitch_yaw_deg = [0, 90, 0]"
    )
    scene = load_scene(write_manifest(tmp_path, text.replace("MATERIAL", "brick")))
    camera = Camera((0.0, 0.0, 2.0), (10.0, 0.0, 2.0), math.radians(90.0))
    picture = picture_of(scene, camera, 40, 40).astype(int)
    rows, columns = (picture[:, :, 0] > 1.3 * picture[:, :, 1]).nonzero()
    assert np.mean(columns) < 20  # y points to the left of somebody who looks along x
    assert np.mean(rows) < 20


def test_what_stands_before_the_sun_casts_a_shadow(tmp_path: Path) -> None:
    text = PLATE.replace("sun_direction = [0, 0, 1]", "sun_direction = [1, 0, 1]")
    scene = load_scene(write_manifest(tmp_path, text.replace("MATERIAL", "concrete")))
    picture = picture_of(scene, FROM_ABOVE, 80, 80).astype(int).mean(axis=2)
    per_metre = 80.0 / (2.0 * 30.0 * math.tan(math.radians(30.0)))
    shaded = picture[40, int(40 - 2.5 * per_metre)]  # the shadow reaches 1 m beyond the plate
    sunny = picture[40, int(40 - 6.0 * per_metre)]
    assert shaded < 0.8 * sunny
    assert picture[40, int(40 + 2.5 * per_metre)] > 0.9 * sunny


def test_glass_shows_what_is_behind_it(tmp_path: Path) -> None:
    behind_glass = picture_of(plate(tmp_path, "glass"), FROM_ABOVE, 20, 20)[10, 10].astype(int)
    bare = picture_of(plate(tmp_path, "glass"), FROM_ABOVE, 20, 20)[1, 1].astype(int)
    behind_paint = picture_of(plate(tmp_path, "asphalt_new"), FROM_ABOVE, 20, 20)[10, 10]
    # The ground below lies in the shade of the pane, which is tinted.
    assert (behind_glass - behind_paint.astype(int)).min() > 60
    assert (bare - behind_paint.astype(int)).min() > 60


def test_the_same_scene_gives_the_same_picture_again(tmp_path: Path) -> None:
    scene = load_scene("bush_and_wall")
    camera = Camera((0.0, 0.0, 1.0), (6.0, 0.0, 1.0), 1.0)
    first = picture_of(scene, camera, 64, 36)
    np.testing.assert_array_equal(picture_of(scene, camera, 64, 36), first)


def test_a_camera_that_sees_all_sees_all_corners() -> None:
    scene = load_scene("corridor")
    camera = whole_scene(scene)
    low, high = extents(scene)
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
    forward = np.array(camera.target) - camera.position
    forward /= np.linalg.norm(forward)
    ways = corners - camera.position
    depths = ways @ forward
    assert depths.min() > 0.0
    sideways = np.linalg.norm(ways - depths[:, None] * forward, axis=1)
    assert (sideways / depths).max() < 1.3 * math.tan(camera.field_of_view / 2.0)


def test_extents_hold_everything(tmp_path: Path) -> None:
    text = '[[bodies]]\nname = "b"\nposition = [10, 0, 0]\n' + BOX + 'body = "b"\n'
    low, high = extents(load_scene(write_manifest(tmp_path, text)))
    np.testing.assert_array_equal(low, (9.5, -1.0, -1.5))
    np.testing.assert_array_equal(high, (10.5, 1.0, 1.5))


def test_a_png_holds_the_picture(tmp_path: Path) -> None:
    picture = np.zeros((4, 6, 3), np.uint8)
    picture[1, 2] = (250, 10, 20)
    save_png(picture, tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as read:
        np.testing.assert_array_equal(np.asarray(read.convert("RGB")), picture)


def test_view_writes_a_picture_of_the_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "yard.png"
    arguments = ["view", "yard", "--output", str(file), "--size", "64x36"]
    assert main([*arguments, "--from", "-9,-9,3", "--at", "0,0,1"]) == 0
    assert "64 x 36 pixels" in capsys.readouterr().out
    with Image.open(file) as picture:
        assert picture.size == (64, 36)
        assert len(np.unique(np.asarray(picture))) > 20


def test_view_names_its_file_after_the_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["view", "targets", "--size", "16x9"]) == 0
    assert (tmp_path / "targets.png").is_file()


def test_view_shows_a_scene_without_a_view_of_its_own(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, BOX)
    file = tmp_path / "a.png"
    assert main(["view", str(path), "--output", str(file), "--size", "32x18"]) == 0
    with Image.open(file) as picture:
        colors = np.asarray(picture.convert("RGB")).astype(int)
    middle = colors[9, 16]
    assert middle[0] > middle[2]  # brick before a blue sky


def test_check_says_what_is_in_a_scene(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "yard"]) == 0
    printed = capsys.readouterr().out
    for line in (
        "entity     101 vehicle_1, vehicle, on vehicle_1, ",
        "body       vehicle_3 at 12.6, -8, 0.01 m",
        "material   glass, dielectric from 850 nm to 1000 nm, 1450 nm to 1620 nm; clear window",
        "medium     air, extinction 6.",
        "magnetic   0, 2e-05, -4.5e-05 T",
        "extent     x from -120.00 to 120.00 m",
        "file       tree.glb, ",
    ):
        assert f"\n{line}" in printed


def test_check_counts_triangles_once_and_with_instances(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_manifest(tmp_path, BOX + "places = [{}, {}, {}]")
    assert main(["check", str(path)]) == 0
    assert "triangles  12 in 1 meshes, 36 with all instances" in capsys.readouterr().out


def test_a_bad_scene_is_one_line_on_the_error_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_manifest(tmp_path, BOX.replace("brick", "brik"))
    for command in ("check", "view"):
        assert main([command, str(path)]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith(f"{path}: meshes.box.material: 'brik' is no material")
        assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["view", "yard", "--size", "0x5"],
        ["view", "yard", "--size", "99999x99999"],
        ["view", "yard", "--from", "1,2"],
        ["view", "yard", "--from", "nan,0,0"],
        ["paint", "yard"],
        [],
    ],
)
def test_bad_arguments_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: python -m sensor_models.scene" in capsys.readouterr().err


def test_a_view_without_direction_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "targets", "--from", "1,2,3", "--at", "1,2,3"]) == 1
    assert "--at" in capsys.readouterr().err


def test_files_outside_are_used_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    Image.new("L", (2, 2)).save(tmp_path / "a.png")
    shape = 'heightmap = { size = [2, 2], image = "../a.png" }\nmaterial = "soil"\n'
    path = write_manifest(tmp_path / "inner", f"[meshes.a]\n{shape}")
    assert main(["check", str(path)]) == 1
    assert main(["check", str(path), "--allow-outside"]) == 0


def test_the_package_is_a_command() -> None:
    command = [sys.executable, "-m", "sensor_models.scene", "schema"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["properties"]["format"]["const"] == 1
