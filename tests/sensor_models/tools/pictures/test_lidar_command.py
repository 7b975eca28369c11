"""Pictures of lidar frames and patterns from the command line."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sensor_models.output.clouds import CloudFormat
from sensor_models.output.points import POINT
from sensor_models.tools.pictures.clouds import (
    BAR_ONLY,
    BOTTOM,
    FIELD_OF,
    LEFT,
    RIGHT,
    SHADE,
    TOP,
)
from sensor_models.tools.pictures.drawing import PALETTE
from sensor_models.tools.pictures.lidar_command import main, read_frame
from tests.sensor_models.output.cloud_points import cloud, sweep, written
from tests.sensor_models.scene_files import BOX, write_manifest

FORMATS = list(CloudFormat)


def run(folder: Path, *arguments: str) -> np.ndarray:
    output = folder / "picture.png"
    assert main([*arguments, "--output", str(output)]) == 0
    with Image.open(output) as picture:
        return np.array(picture.convert("RGB"))


@pytest.fixture
def frame(tmp_path):
    points = cloud(*sweep(), 10.0, label=4, entity_id=12)
    return str(written(tmp_path, CloudFormat.npy, points))


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_file_of_each_format_becomes_a_picture(tmp_path, output_format):
    points = cloud(*sweep(), 10.0, label=4)
    file = written(tmp_path, output_format, points)
    picture = run(tmp_path, str(file), "--view", "range", "--color", "label", "--size", "622x328")
    assert picture.shape == (328, 622, 3)
    inside = picture[TOP + 5 : -BOTTOM - 5, LEFT + 5 : -RIGHT - 5]
    assert (np.abs(inside.astype(int) - np.array(PALETTE[4])) <= 2).all()  # of 256 colours


@pytest.mark.parametrize("color", FIELD_OF)
@pytest.mark.parametrize("view", ["range", "birdseye", "all"])
def test_all_views_have_all_colours(tmp_path, frame, view, color):
    picture = run(tmp_path, frame, "--view", view, "--color", color, "--size", "640x640")
    assert picture.shape == (640, 640, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 5


def test_sizes_and_names_have_defaults(tmp_path, frame, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([frame]) == 0
    assert capsys.readouterr().out == "frame.png: 1280 x 1240 pixels\n"
    with Image.open("frame.png") as picture:
        assert picture.size == (1280, 1240)


def test_a_lidar_sees_the_box_of_a_scene_where_it_is(tmp_path):
    scene = str(write_manifest(tmp_path, BOX))  # 1 m around the origin
    settings = ["--set", "pattern.rows=64", "--set", "pattern.columns=720"]
    common = ["--scene", scene, *settings, "--view", "birdseye", "--area", "5", "--color", "entity"]
    size = ["--size", f"{400 + LEFT + RIGHT}x{400 + TOP + BOTTOM}"]
    for yaw, place in ((0, (3.5, 0.0)), (90, (0.0, -3.5))):
        arguments = ["--position=-4,0,0", "--yaw", str(yaw)]
        picture = run(tmp_path, *common, *arguments, *size)
        inside = picture[TOP:-BOTTOM, LEFT:-RIGHT].astype(int)
        bright = inside.max(axis=-1) - inside.min(axis=-1) > 60  # neither grid nor origin
        rows, columns = np.nonzero(bright)
        metre = 400 / (10.0 * 1.06)
        at = (np.median(columns) - 200) / metre, (200 - np.median(rows)) / metre
        np.testing.assert_allclose(at, place, rtol=0, atol=0.1)  # a dot is 5 pixels


def test_positions_may_begin_with_a_sign(tmp_path):
    scene = str(write_manifest(tmp_path, BOX))
    small = ["--set", "pattern.rows=16", "--set", "pattern.columns=90"]
    picture = run(tmp_path, "--scene", scene, *small, "--position", "-4,0,0")
    assert picture.shape == (1240, 1280, 3)


def test_several_frames_have_the_points_of_all(tmp_path, capsys):
    scene = str(write_manifest(tmp_path, BOX))
    given = [
        "--scene",
        scene,
        "--preset",
        "Avia",
        "--set",
        "pattern.columns=500",
        "--position=-4,0,0",
    ]
    counts = []
    for frames in ("1", "3"):
        picture = run(tmp_path, *given, "--frames", frames, "--view", "range", "--color", "label")
        inside = picture[TOP:-BOTTOM, LEFT:-RIGHT]
        counts.append(int((inside.max(axis=-1) > 55).sum()))
    assert counts[1] > 1.2 * counts[0]


def test_motion_is_shown_beside_what_is_seen_at_rest(tmp_path):
    scene = str(write_manifest(tmp_path, BOX))
    plane = ["type=spinning", "rows=1", "columns=720", "elevation.min=0", "elevation.max=0"]
    settings = [part for text in plane for part in ("--set", f"pattern.{text}")]
    given = ["--scene", scene, *settings, "--set", "sample_rate=10", "--position", "-4,0,0"]
    shown = ["--speed", "20", "--view", "motion", "--area", "5", "--color", "entity"]
    picture = run(tmp_path, *given, *shown)
    grey = (np.abs(picture.astype(int) - np.array(SHADE)) <= 2).all(axis=-1)
    half = picture.shape[1] // 2 - RIGHT // 2
    left, right = grey[TOP:-BOTTOM, LEFT:half].sum(), grey[TOP:-BOTTOM, half + LEFT : -RIGHT].sum()
    # at rest the face of the box is 1 m nearer; corrected points cover what is seen at rest
    assert left > 100
    assert right < left / 3


@pytest.mark.parametrize("preset", ["VLP-16", "Avia"])
def test_patterns_are_drawn_by_the_names_of_presets(tmp_path, preset):
    picture = run(tmp_path, "--pattern", preset, "--seconds", "0.05")
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20


def test_a_pattern_may_be_of_settings_alone(tmp_path):
    few = ["--set", "pattern.rows=3", "--set", "pattern.columns=5"]
    picture = run(tmp_path, *few, "--pattern", "--size", "640x440")
    inside = picture[TOP : 440 - BOTTOM, LEFT:-BAR_ONLY].astype(int)
    dots = inside.max(axis=-1) - inside.min(axis=-1) > 60
    rows = dots.any(axis=1)
    assert np.count_nonzero(rows[1:] & ~rows[:-1]) == 3  # three rows of dots, one below the other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.pcd"], "No such file"),
        (["--scene", "nowhere"], "is no built-in scene"),
        (["--scene", "yard", "--preset", "OS9"], "preset 'OS9' is unknown for Lidar"),
        (["--scene", "yard", "--set", "colums=3"], "is no parameter of Lidar"),
        (["--scene", "yard", "--view", "motion"], "needs --scene and a --speed"),
        (["--pattern", "Avia", "--set", "sample_rate=0"], "sample_rate"),
        (["--pattern", "OS0-128", "--seconds", "100"], "too many to draw"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, capsys, arguments, message):
    output = tmp_path / "a.png"
    assert main([*arguments, "--output", str(output)]) == 1
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not output.exists()


def test_points_that_are_nowhere_or_far_out_do_no_harm(tmp_path):
    points = cloud(*sweep(), 10.0, label=4)
    lost = points[:3].copy()
    lost["x"], lost["range"] = [np.nan, np.inf, 1e30], [10.0, 10.0, 1e30]
    file = str(written(tmp_path, CloudFormat.npy, np.concatenate([lost, points])))
    for view in ("range", "birdseye"):
        run(tmp_path, file, "--view", view, "--color", "range")


def test_a_cut_takes_the_ceiling_off(tmp_path):
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(-10, 10, 0.05), np.arange(-5, 5, 0.05)))
    floor, ceiling = (cloud(np.zeros(len(x)), 0.0, 5.0, label=label) for label in (4, 6))
    for points, height in ((floor, -1.5), (ceiling, 1.0)):
        points["x"], points["y"], points["z"] = x, y, height
    file = str(written(tmp_path, CloudFormat.npy, np.concatenate([floor, ceiling])))
    common = [file, "--view", "birdseye", "--color", "label", "--area", "4"]
    for arguments, label in (([], 6), (["--below", "-0.5"], 4)):
        picture = run(tmp_path, *common, *arguments, "--size", "622x328")
        inside = picture[TOP + 20 : -BOTTOM - 20, LEFT + 20 : -RIGHT - 20].astype(int)
        shown = (np.abs(inside - np.array(PALETTE[label])) <= 2).all(axis=-1)
        assert shown.mean() > 0.9  # the rest is the mark of the origin
    assert main([*common, "--below", "-2", "--output", str(tmp_path / "b.png")]) == 1


def test_the_legend_of_a_file_has_the_names_of_a_scene(tmp_path, frame):
    text = BOX + 'name = "crate"\nlabel = "goods"\nentity_id = 12\n[labels]\ngoods = 4\n'
    scene = str(write_manifest(tmp_path, text))
    names = read_frame(Path(frame), scene).names
    assert names == {"entity": {12: "crate"}, "label": {4: "goods"}}
    assert read_frame(Path(frame)).names == {}
    plain, named = (
        run(tmp_path, frame, "--view", "range", "--color", "label", *more)
        for more in ([], ["--names", scene])
    )
    legend = np.s_[TOP:-BOTTOM, -RIGHT + 10 :]
    assert (plain[legend] != named[legend]).any()


def test_clouds_that_cannot_be_shown_are_refused(tmp_path, capsys):
    def told(points, *arguments):
        file = str(written(tmp_path, CloudFormat.npy, points))
        assert main([file, *arguments, "--output", str(tmp_path / "a.png")]) == 1
        message = capsys.readouterr().err
        assert message.count("\n") == 1
        return message

    assert "has no points to show" in told(np.zeros(0, POINT))
    bare = cloud(*sweep(), 10.0)[["x", "y", "z", "intensity"]]
    assert "have no field label" in told(bare, "--view", "birdseye", "--color", "label")
    assert "have no field azimuth" in told(bare)
    assert "too small" in told(cloud(*sweep(), 10.0), "--size", "100x100")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a.pcd", "--scene", "yard"],
        ["a.pcd", "--size", "big"],
        ["a.pcd", "--size", "99999x99999"],
        ["a.pcd", "--color", "smell"],
        ["a.pcd", "--frames", "0"],
        ["a.pcd", "--area", "-1"],
        ["--scene", "yard", "--position", "1,2"],
        ["--scene", "yard", "--set", "columns"],
        ["--pattern", "Avia", "--within", "10,-10,0,1"],
        ["--pattern", "Avia", "--seconds", "inf"],
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_progress_is_told_only_to_a_person(tmp_path, capsys, monkeypatch):
    scene = str(write_manifest(tmp_path, BOX))
    small = ["--set", "pattern.rows=8", "--set", "pattern.columns=90", "--position", "-4,0,0"]
    run(tmp_path, "--scene", scene, *small)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    run(tmp_path, "--scene", scene, *small)
    assert "frame 1 of 1: 720 rays" in capsys.readouterr().err
