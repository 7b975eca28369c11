"""Presets of one's own: by path, from directories, checked by the command; the page on them."""

import os
import re
from pathlib import Path

import pytest

import sensor_models
from sensor_models.core.quantities import ParameterError
from sensor_models.presets import list_presets, load_preset, read_preset, units
from sensor_models.presets.__main__ import main as command
from tests.sensor_models.presets.preset_files import GOOD, SHIPPED, written


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Two directories of somebody's own."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setenv("SENSOR_FMUS_PRESETS", os.pathsep.join(["", *map(str, folders)]))
    return folders


def test_a_directory_of_ones_own_has_presets_beside_those_of_the_library(own):
    written(own[0], GOOD.replace("Lamp", "Encoder") + "resolution = 0.5")
    assert list_presets("Encoder") == ["AMT102-V", "AS5048A", "Any-1 X"]
    assert load_preset("Encoder", "any-1x") == {"resolution": 0.5}


def test_the_first_directory_with_a_name_wins_and_the_library_comes_last(own):
    for folder, value in zip(own, (1, 2), strict=True):
        written(folder, f"{GOOD}\npower = {value}")
    assert load_preset("Lamp", "Any-1 X") == {"power": 1}
    of_the_library = GOOD.replace("Lamp", "Encoder").replace("Any-1 X", "AS5048A")
    written(own[1], f"{of_the_library}\nresolution = 0.5", "two.toml")
    assert load_preset("Encoder", "AS5048A") == {"resolution": 0.5}
    assert list_presets("Encoder").count("AS5048A") == 1


def test_a_directory_that_is_not_there_is_told_to_who_finds_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SENSOR_FMUS_PRESETS", str(tmp_path / "nowhere"))
    assert load_preset("Encoder", "AS5048A")
    with pytest.raises(ParameterError, match=r"SENSOR_FMUS_PRESETS lists .*nowhere, which is no"):
        load_preset("Encoder", "zzz")


def test_a_file_that_was_changed_is_read_again(own):
    path = written(own[0], f"{GOOD}\npower = 1")
    assert load_preset("Lamp", "Any-1 X") == {"power": 1}
    path.write_text(f"{GOOD}\npower = 22")
    assert load_preset("Lamp", "Any-1 X") == {"power": 22}


def test_a_preset_may_be_the_path_of_its_file(tmp_path, monkeypatch):
    path = written(tmp_path, f"{GOOD}\npower = 1")
    assert load_preset("Lamp", str(path)) == {"power": 1}
    monkeypatch.chdir(tmp_path)
    assert load_preset("Lamp", "one.toml") == load_preset("Lamp", "./one.toml") == {"power": 1}
    with pytest.raises(ParameterError, match=r"one\.toml: is for Lamp and not for Encoder"):
        load_preset("Encoder", str(path))
    with pytest.raises(ParameterError, match=r"two\.toml.*No such file"):
        load_preset("Lamp", "two.toml")


def test_files_that_a_preset_names_are_relative_to_it(tmp_path, monkeypatch):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "beams.csv").write_text("elevation,azimuth\n0,0\n")
    text = (
        'pattern.file = "rays.csv"\npattern.beams = "tables/beams.csv"\n'
        'other.beams = "OS0-128"\nempty.file = ""\nthere.file = "/tmp/x.csv"\n'
    )
    path = written(tmp_path, GOOD + text)
    monkeypatch.chdir("/")
    for name in (path, Path(os.path.relpath(path, "/"))):
        assert read_preset(name).parameters == {
            "pattern.file": str(tmp_path / "rays.csv"),
            "pattern.beams": str(tmp_path / "tables" / "beams.csv"),
            "other.beams": "OS0-128",
            "empty.file": "",
            "there.file": "/tmp/x.csv",
        }


def test_what_a_preset_leaves_open_need_not_be_said(tmp_path):
    text = GOOD.replace("unknown = []\n", "")
    assert read_preset(written(tmp_path, text)).unknown == ()


# --- the command


def test_every_shipped_preset_passes_the_check(capsys):
    assert command(["check", *map(str, SHIPPED)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(SHIPPED)
    assert all(re.search(r": .+ for .+, [1-9]\d* parameters$", line) for line in lines)


@pytest.mark.parametrize(
    ("sensor", "text", "message"),
    [
        ("Lamp", "", "preset.sensor: 'Lamp' is none of "),
        ("Encoder", "colour = 1", "Encoder: parameters: colour is no parameter of this sensor"),
        ("Encoder", 'mode = "sideways"', "mode = 'sideways' is none of incremental, absolute"),
        ("Encoder", "resolution = -1", "resolution = -1"),
        ("Encoder", "lower = 2\nupper = 1", "lower"),  # a rule between two parameters
        ("Lidar", 'pattern.file = "no.csv"', "parameters.pattern.file: there is no file"),
        ("Encoder", "a = [1]", "parameters.a: must be a number"),
    ],
)
def test_a_bad_file_does_not_pass_and_the_reason_is_told(tmp_path, capsys, sensor, text, message):
    path = written(tmp_path, GOOD.replace("Lamp", sensor) + text)
    good = written(tmp_path, GOOD.replace("Lamp", "Encoder"), "good.toml")
    assert command(["check", str(path), str(good)]) == 1
    told, passed = capsys.readouterr().out.splitlines()
    assert told.startswith(f"preset file {path}: ")
    assert message in told
    assert passed == f"{good}: Any-1 X for Encoder, 0 parameters"


def test_presets_and_units_are_listed(own, capsys):
    written(own[0], GOOD.replace("Lamp", "Encoder"))
    assert command(["list", "Encoder"]) == 0
    assert capsys.readouterr().out == "Encoder: AMT102-V, AS5048A, Any-1 X\n"
    assert command(["list"]) == 0
    assert "Lidar: Avia, HDL-64E, " in capsys.readouterr().out
    assert command(["units"]) == 0
    assert capsys.readouterr().out.splitlines() == [*units.FACTORS, *units.DIVISIONS]


# --- the page

PAGE = Path(sensor_models.__file__).parents[1] / "docs" / "presets.md"


def test_the_page_has_all_units_and_no_others():
    _, _, table = PAGE.read_text().partition("| of | units |")
    written_there = re.findall("`([^`]+)`", table.partition("Spellings")[0])
    assert sorted(written_there) == sorted([*units.FACTORS, *units.DIVISIONS])


def test_the_preset_of_the_page_passes_the_check(tmp_path, capsys):
    (text,) = re.findall("```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert command(["check", str(written(tmp_path, text))]) == 0
    assert capsys.readouterr().out.endswith("Gyro 7 for Gyroscope, 17 parameters\n")


def test_parameters_and_groups_can_be_left_out(own):
    text = "power = 1\nglow.xyz = 2\nglowing = 3\nfilter.cutoff = 4\nfilter.order = 5\n"
    written(own[0], GOOD + text)
    everything = load_preset("Lamp", "Any-1 X")
    left = load_preset("Lamp", "Any-1 X", without=" glow, filter.order,,")
    assert everything.keys() - left.keys() == {"glow.x", "glow.y", "glow.z", "filter.order"}
    assert load_preset("Lamp", "Any-1 X") == everything
    with pytest.raises(ParameterError, match=r"preset_except: .* sets nothing called 'fil'"):
        load_preset("Lamp", "Any-1 X", without="fil")


def test_a_name_stands_for_that_in_each_group_if_there_is_none_of_its_own(own):
    inner = "filter.order = 5\n[parameters.second]\nfilter.order = 6\nfilter.cutoff = 7\n"
    written(own[0], GOOD + "[parameters.first]\n" + inner)

    def left(without):
        return load_preset("Lamp", "Any-1 X", without=without).keys()

    assert left("filter") == set()
    assert left("filter.order") == {"second.filter.cutoff"}
    assert left("second.filter") == {"first.filter.order"}
    with pytest.raises(ParameterError, match=r"sets nothing called 'order'"):
        left("order")
    written(own[0], GOOD + "filter.q = 1\n[parameters.first]\n" + inner)
    assert left("filter") == {
        "first.filter.order",
        *(f"second.filter.{n}" for n in ("order", "cutoff")),
    }


@pytest.mark.parametrize("name", ["ADIS16470", "VN-100"])
def test_the_filters_of_an_imu_are_left_out_by_one_name(name):
    everything, left = load_preset("Imu", name), load_preset("Imu", name, without="filter, noise")
    gone = everything.keys() - left.keys()
    assert gone >= {f"{part}.filter.cutoff" for part in ("accelerometer", "gyroscope")}
    assert gone == {key for key in everything if ".filter." in key or ".noise." in key}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resolution = true", "resolution = True must be a number"),
        ('speed_timeout = "1"', "speed_timeout = '1' must be a number"),
        ("seed = 3.5", "seed = 3.5 must be a whole number"),
        ("record = 1", "record = 1 must be true or false"),
    ],
)
def test_the_check_names_values_of_another_type(tmp_path, capsys, text, message):
    path = written(tmp_path, GOOD.replace("Lamp", "Encoder") + text)
    assert command(["check", str(path)]) == 1
    assert message in capsys.readouterr().out
