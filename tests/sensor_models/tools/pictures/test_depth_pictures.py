"""Pictures of what a depth camera sees, from the command line."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sensor_models.tools.pictures.camera_command import (
    NO_ID,
    SHOWN,
    colors_of_distances,
    colors_of_ids,
    colors_of_normals,
    main,
)
from tests.sensor_models.scene_files import BOX, write_manifest


def render(folder: Path, *arguments: str) -> np.ndarray:
    scene = write_manifest(folder, BOX)
    output = folder / "picture.png"
    given = ["--output", str(output), "--size", "64", "48", "--position", "-4", "0", "0"]
    assert main([str(scene), *given, *arguments]) == 0
    with Image.open(output) as picture:
        assert picture.mode == "RGB"
        return np.array(picture)


@pytest.mark.parametrize("shown", SHOWN)
def test_a_picture_shows_the_box_in_its_middle(tmp_path: Path, shown: str) -> None:
    picture = render(tmp_path, "--show", shown)
    assert picture.shape == (48, 64, 3)
    around = picture[0, 0]
    assert (around == (NO_ID if shown in ("entity", "label") else 0)).all()
    if shown != "label":  # the box has none
        assert (picture[24, 32] != around).any()


def test_yaw_turns_to_the_left_and_pitch_looks_down(tmp_path: Path) -> None:
    def middle(*angles: str) -> np.ndarray:
        picture = render(tmp_path, "--show", "entity", "--angles", *angles)
        row, column = np.nonzero((picture != NO_ID).any(axis=-1))
        return np.array([row.mean() - 23.5, column.mean() - 31.5])

    assert middle("0", "0", "15")[1] > 5.0
    assert middle("0", "15", "0")[0] < -5.0


def test_noise_makes_pixels_fail(tmp_path: Path) -> None:
    assert (render(tmp_path) != render(tmp_path, "--noise")).any()


def test_what_is_wrong_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere", "--output", str(tmp_path / "a.png")]) == 1
    assert "is no built-in scene" in capsys.readouterr().err
    scene = str(write_manifest(tmp_path, BOX))
    assert main([scene, "--hfov", "180", "--output", str(tmp_path / "a.png")]) == 1
    assert "impossible for a pinhole" in capsys.readouterr().err
    assert not (tmp_path / "a.png").exists()


def test_nearer_is_brighter_and_no_reading_is_black() -> None:
    colors = colors_of_distances(np.array([[0.0, 2.5, 5.0, 9.0, np.nan]]), 0.0, 10.0)[0]
    brightness = colors.astype(int).sum(axis=1)
    assert (np.diff(brightness) < 0).all()
    assert brightness[-1] == 0


def test_ids_have_colours_of_their_own() -> None:
    colors = colors_of_ids(np.arange(-1, 30)[None])[0]
    assert len({tuple(color) for color in colors.tolist()}) == 31
    assert tuple(colors[0]) == NO_ID


def test_normals_are_red_green_and_blue() -> None:
    normals = np.array([[(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 0.0, 0.0)]])
    assert colors_of_normals(normals)[0].tolist() == [[255, 128, 128], [128, 128, 0], [0, 0, 0]]


def test_a_preset_and_settings_make_the_camera(tmp_path: Path) -> None:
    scene = str(write_manifest(tmp_path, BOX))
    output = tmp_path / "picture.png"
    place = ["--position", "-4", "0", "0", "--output", str(output)]
    assert main([scene, "--preset", "VL53L5CX", *place]) == 0
    with Image.open(output) as picture:
        assert picture.size == (8, 8)
    assert main([scene, "--preset", "VL53L5CX", "--set", "width=12", *place]) == 0
    with Image.open(output) as picture:
        assert picture.size == (12, 8)


def test_settings_that_make_no_sense_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = str(write_manifest(tmp_path, BOX))
    output = tmp_path / "a.png"
    assert main([scene, "--set", "widht=12", "--output", str(output)]) == 1
    assert "widht is no parameter of DepthCamera; did you mean width?" in capsys.readouterr().err
    assert not output.exists()
