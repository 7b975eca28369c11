"""Preset files: finding them, reading them strictly, converting units."""

import math
import os
import re
import shutil
from pathlib import Path

import pytest

import sensor_models
from sensor_models.core.quantities import ParameterError
from sensor_models.presets import list_presets, load_preset, read_preset, units
from sensor_models.presets.__main__ import main as command

SHIPPED = sorted((Path(sensor_models.__file__).parent / "presets").glob("*.toml"))

GOOD = """
[preset]
name = "Any-1 X"
sensor = "Lamp"
description = "A lamp"
unknown = []

[preset.datasheet]
publisher = "Maker"
title = "Sheet"
revision = "1"

[parameters]
"""


def written(tmp_path: Path, text: str, name: str = "one.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def parameters(tmp_path: Path, text: str) -> dict:
    return read_preset(written(tmp_path, GOOD + text)).parameters


PARTS = """
[preset]
name = "Lantern"
sensor = ["Lantern", "Lamp", "Mirror"]
description = "A lantern"
unknown = []

[preset.datasheet]
publisher = "Maker"
title = "Sheet"
revision = "1"

[parameters]
rate = 5.0
frame.width = 2.0

[parameters.lamp]
power = 3.0
glow.xyz = 4.0

[parameters.mirror]
power = 0.0
"""


@pytest.fixture
def package_at(tmp_path, monkeypatch):
    """The package as a loader finds it that moved it to another place."""
    (tmp_path / "presets").mkdir()
    monkeypatch.setattr(sensor_models, "__path__", [str(tmp_path)])
    return tmp_path / "presets"


# --- the presets that are shipped


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_preset_is_valid_and_found_by_its_name(path):
    preset = read_preset(path)
    assert load_preset(preset.sensors[0], preset.name) == preset.parameters
    for sensor in preset.sensors:
        assert preset.name in list_presets(sensor)
        assert load_preset(sensor, preset.name)


def test_as5048a_has_the_numbers_of_its_datasheet():
    values = load_preset("Encoder", "AS5048A")
    assert values["mode"] == "incremental"  # its angle starts again at 0 after each turn
    assert (values["lower"], values["upper"]) == (0.0, math.tau)
    # exact, because a turn is divided by a power of two
    assert values["upper"] / values["resolution"] == 16384
    assert values["sample_rate"] == 11250.0
    # 2.73 LSB in the datasheet, of three digits
    assert values["noise.rms"] / values["resolution"] == pytest.approx(2.73, abs=0.005)


def test_amt102_v_has_the_numbers_of_its_datasheet():
    values = load_preset("Encoder", "AMT102-V")
    assert values == {
        "mode": "incremental",
        "lower": 0.0,
        "upper": math.tau,
        "resolution": math.tau / (4 * 2048),
    }


# --- finding


@pytest.mark.parametrize("name", ["AMT102-V", "amt102v", "amt 102_v", " Amt.102--V "])
def test_names_are_found_whatever_their_case_spaces_and_dashes(name):
    assert load_preset("Encoder", name) == load_preset("Encoder", "AMT102-V")


def test_an_unknown_preset_lists_the_known_ones_and_the_closest():
    with pytest.raises(ParameterError) as caught:
        load_preset("Encoder", "AS5047A")
    message = str(caught.value)
    assert "'AS5047A' is unknown for Encoder" in message
    for name in list_presets("Encoder"):
        assert name in message
    assert message.endswith("did you mean 'AS5048A'?")


def test_a_name_like_no_other_gets_no_suggestion():
    with pytest.raises(ParameterError) as caught:
        load_preset("Encoder", "zzz")
    assert "did you mean" not in str(caught.value)


def test_a_preset_of_one_kind_of_sensor_is_unknown_for_another():
    with pytest.raises(ParameterError, match="unknown for Teapot, known: none"):
        load_preset("Teapot", "AS5048A")


def test_the_parts_of_a_whole_share_its_file(package_at):
    written(package_at, PARTS)
    lamp = {"power": 3.0, "glow.x": 4.0, "glow.y": 4.0, "glow.z": 4.0}
    assert load_preset("Lamp", "Lantern") == {"rate": 5.0, **lamp}
    assert load_preset("Mirror", "Lantern") == {"rate": 5.0, "power": 0.0}
    assert load_preset("Lantern", "Lantern") == {
        "rate": 5.0,
        "frame.width": 2.0,
        "mirror.power": 0.0,
        **{f"lamp.{name}": value for name, value in lamp.items()},
    }


def test_a_name_may_be_given_to_one_file_for_each_sensor(package_at):
    written(package_at, PARTS)
    written(package_at, GOOD.replace("Any-1 X", "Lantern"), "two.toml")
    assert list_presets("Lantern") == list_presets("Mirror") == ["Lantern"]
    with pytest.raises(ParameterError, match=r"has two presets called 'Lantern'"):
        load_preset("Lamp", "Lantern")


def test_presets_are_read_where_the_package_lies_now(package_at):
    written(package_at, GOOD)
    assert list_presets("Lamp") == ["Any-1 X"]
    assert list_presets("Encoder") == []
    shutil.rmtree(package_at)
    assert list_presets("Lamp") == []


def test_two_files_with_one_name_are_refused_to_who_asks_for_it(package_at):
    written(package_at, GOOD)
    written(package_at, GOOD.replace("Any-1 X", "any1x"), "two.toml")
    written(package_at, GOOD.replace("Any-1 X", "Other"), "three.toml")
    assert list_presets("Lamp") == ["Other"]
    with pytest.raises(ParameterError, match=r"known: Other; .* two presets called"):
        load_preset("Lamp", "Any-1 X")


def test_a_broken_file_breaks_no_other_and_is_told_to_who_finds_nothing(package_at):
    written(package_at, GOOD)
    written(package_at, "nonsense", "two.toml")
    (package_at / "three.toml").mkdir()
    assert load_preset("Lamp", "Any-1 X") == {}
    assert list_presets("Lamp") == ["Any-1 X"]
    with pytest.raises(ParameterError, match=r"not usable: .*three\.toml.*two\.toml"):
        load_preset("Lamp", "nonsense")


# --- presets of one's own


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
        ("Lamp", "", "Lamp: there is no sensor 'Lamp', there are Accel"),
        ("Encoder", "colour = 1", "Encoder: colour is no parameter of Encoder"),
        ("Encoder", 'mode = "sideways"', "mode = 'sideways'"),
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


def test_what_is_loaded_may_be_changed_without_harm():
    load_preset("Encoder", "AS5048A")["upper"] = 0.0
    assert load_preset("Encoder", "AS5048A")["upper"] == math.tau


# --- values and units


def test_plain_values_are_taken_as_they_are(tmp_path):
    text = 'a = 1.5\nb = 3\nc = true\nd = "none"\n'
    values = parameters(tmp_path, text)
    assert values == {"a": 1.5, "b": 3, "c": True, "d": "none"}
    assert [type(value) for value in values.values()] == [float, int, bool, str]


def test_groups_become_dotted_names(tmp_path):
    text = 'noise.rms.x = 1.0\n"noise.rms.y" = 2.0\n[parameters.drift]\ntype = "none"\n'
    expected = {"noise.rms.x": 1.0, "noise.rms.y": 2.0, "drift.type": "none"}
    assert parameters(tmp_path, text) == expected


def test_one_value_stands_for_all_axes_of_a_vector(tmp_path):
    text = 'a.b.xyz = { value = 2, unit = "kHz" }\nxyz = 1\n'
    expected = {"a.b.x": 2000.0, "a.b.y": 2000.0, "a.b.z": 2000.0, "xyz": 1}
    assert parameters(tmp_path, text) == expected


# Exact where the factor is; else two roundings of 1.1e-16 each, one here and one there.
@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (180, "deg", math.pi),
        (1, "turn", math.tau),
        (360, "deg/s", math.tau),
        (360 * 3600, "deg/h", math.tau),
        (60, "rpm", math.tau),
        (180, "deg/s/K", math.pi),
        (180, "deg/s/sqrt(Hz)", math.pi),
        (180 * 60, "deg/sqrt(h)", math.pi),  # x deg/sqrt(3600 s)
        (180 * 9.80665, "deg/s/g", math.pi),
        (2, "g", 19.6133),
        (1000, "mg", 9.80665),
        (1e6, "ug", 9.80665),
        (1000, "mg/K", 9.80665),
        (1000, "mg/sqrt(Hz)", 9.80665),
        (1e6, "ug/sqrt(Hz)", 9.80665),
        (60, "m/s/sqrt(h)", 1.0),  # x m/s / sqrt(3600 s)
        (1e3, "mT", 1.0),
        (1e6, "uT", 1.0),
        (1e9, "nT", 1.0),
        (1e9, "nT/sqrt(Hz)", 1.0),
        (1e4, "gauss", 1.0),
        (1e7, "mgauss", 1.0),
        (1e10, "ugauss/sqrt(Hz)", 1.0),
        (100, "cm", 1.0),
        (1000, "mm", 1.0),
        (1e6, "um", 1.0),
        (1e9, "nm", 1.0),
        (1000, "ms", 1.0),
        (1e6, "us", 1.0),
        (1e9, "ns", 1.0),
        (0.001, "kHz", 1.0),
        (1e-6, "MHz", 1.0),
        (100, "%", 1.0),
        (100, "%/K", 1.0),
        (1e6, "ppm/K", 1.0),
        (2, "rad", 2.0),
        (2e3, "mrad", 2.0),
        (2e6, "urad", 2.0),
        (180e3, "mdeg", math.pi),
        (180 * 60, "arcmin", math.pi),
        (180 * 3600, "arcsec", math.pi),
        (2, "rad/s", 2.0),
        (2e3, "mrad/s", 2.0),
        (180e3, "mdeg/s", math.pi),
        (180 * 60, "deg/min", math.pi),
        (2, "rad/s2", 2.0),
        (180, "deg/s2", math.pi),
        (180e3, "mdeg/s/K", math.pi),
        (180 * 3600, "deg/h/K", math.pi),
        (2, "rad/s/sqrt(Hz)", 2.0),
        (180e3, "mdeg/s/sqrt(Hz)", math.pi),
        (180 * 3600, "deg/h/sqrt(Hz)", math.pi),
        (180e3 * 9.80665, "mdeg/s/g", math.pi),
        (180 * 3600 * 9.80665, "deg/h/g", math.pi),
        (180, "deg/s/LSB", math.pi),
        (180e3, "mdeg/s/LSB", math.pi),
        (2, "m/s2", 2.0),
        (2, "m/s2/K", 2.0),
        (1e6, "ug/K", 9.80665),
        (2, "m/s2/sqrt(Hz)", 2.0),
        (1e3, "mg/LSB", 9.80665),
        (1e6, "ug/LSB", 9.80665),
        (2, "T", 2.0),
        (1e6, "uT/K", 1.0),
        (1e9, "nT/K", 1.0),
        (1e6, "uT/sqrt(Hz)", 1.0),
        (1e12, "pT/sqrt(Hz)", 1.0),
        (1e6, "uT/LSB", 1.0),
        (1e9, "nT/LSB", 1.0),
        (1e7, "mgauss/K", 1.0),
        (1e7, "mgauss/sqrt(Hz)", 1.0),
        (1e7, "mgauss/LSB", 1.0),
        (2, "m", 2.0),
        (0.002, "km", 2.0),
        (100, "in", 2.54),
        (100, "ft", 30.48),
        (2, "1/m", 2.0),
        (2e3, "1/km", 2.0),
        (2, "m/s", 2.0),
        (200, "cm/s", 2.0),
        (2e3, "mm/s", 2.0),
        (36, "km/h", 10.0),
        (2, "s", 2.0),
        (1e12, "ps", 1.0),
        (2, "min", 120.0),
        (2, "h", 7200.0),
        (2, "Hz", 2.0),
        (1e-9, "GHz", 1.0),
        (2, "K", 2.0),
        (2, "W", 2.0),
        (1e3, "mW", 1.0),
        (1e6, "uW", 1.0),
        (1e9, "nW", 1.0),
        (2, "1", 2.0),
        (1e6, "ppm", 1.0),
        (2, "1/K", 2.0),
        (2, "LSB/mg", 4.903325e-3),
        (1e-3, "LSB/mT", 1.0),
        (4, "cpr", math.pi / 2),
        (3, "bits per turn", math.pi / 4),
        (0.5, "LSB/(deg/s)", math.pi / 90),
        (2, "LSB/g", 4.903325),
        (1e-6, "LSB/uT", 1.0),
        (2, "LSB/gauss", 0.00005),
    ],
)
def test_units_are_converted_to_si(tmp_path, value, unit, expected):
    result = parameters(tmp_path, f'a = {{ value = {value}, unit = "{unit}" }}')["a"]
    assert isinstance(result, float)
    assert result == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("written_so", "unit"),
    [
        ("µg/√Hz", "ug/sqrt(Hz)"),
        ("\N{GREEK SMALL LETTER MU}T", "uT"),
        ("°/s/√Hz", "deg/s/sqrt(Hz)"),
        ("dps", "deg/s"),
        ("mdps/rtHz", "mdeg/s/sqrt(Hz)"),
        ("°/√h", "deg/sqrt(h)"),
        ("m/s²", "m/s2"),
        ("m/s^2/√Hz", "m/s2/sqrt(Hz)"),
        ("mg/°C", "mg/K"),
        ("ppm/degC", "ppm/K"),
        ("°", "deg"),
        ("LSB/Gauss", "LSB/gauss"),
        ("LSB/dps", "LSB/(deg/s)"),
    ],
)
def test_units_are_written_as_on_datasheets(written_so, unit):
    assert units.converted(3.0, written_so) == units.converted(3.0, unit)


def test_every_unit_is_one_that_is_tested():
    tested = {
        mark.args[1][row][1]
        for mark in test_units_are_converted_to_si.pytestmark
        for row in range(len(mark.args[1]))
    }
    assert tested == {*units.FACTORS, *units.DIVISIONS}


# --- strictness


@pytest.mark.parametrize(
    "key",
    ["name", "sensor", "description", "publisher", "title", "revision"],
)
def test_a_missing_key_is_named_with_its_file(tmp_path, key):
    text = "\n".join(line for line in GOOD.splitlines() if not line.startswith(key))
    path = written(tmp_path, text)
    with pytest.raises(ParameterError) as caught:
        read_preset(path)
    assert str(path) in str(caught.value)
    assert f".{key}: is missing" in str(caught.value)


def test_a_preset_without_datasheet_is_refused(tmp_path):
    text = GOOD.replace("[preset.datasheet]", "[datasheet]")
    with pytest.raises(ParameterError, match=r"datasheet: is unknown"):
        read_preset(written(tmp_path, text))
    text = GOOD.partition("[preset.datasheet]")[0] + "[parameters]\n"
    with pytest.raises(ParameterError, match=r"preset\.datasheet: is missing"):
        read_preset(written(tmp_path, text))


@pytest.mark.parametrize(
    ("change", "to", "message"),
    [
        (
            'name = "Any-1 X"',
            'name = "Any-1 X"\ncolour = 1',
            r"preset\.colour: is unknown, known: n",
        ),
        ('title = "Sheet"', 'title = "Sheet"\npage = 3', r"preset\.datasheet\.page: is unknown"),
        ('name = "Any-1 X"', "name = 5", r"preset\.name: must be a text"),
        ('revision = "1"', 'revision = " "', r"preset\.datasheet\.revision: must be a text that"),
        ("unknown = []", 'unknown = "noise"', r"preset\.unknown: must be a list"),
        ("unknown = []", "unknown = [1]", r"preset\.unknown\[0\]: must be a text"),
        ('sensor = "Lamp"', "sensor = []", r"preset\.sensor: must be a text, or a list of two"),
        ('sensor = "Lamp"', 'sensor = ["Lamp"]', r"preset\.sensor: must be a text, or a list"),
        ('sensor = "Lamp"', 'sensor = ["A", "A"]', r"preset\.sensor: .* or more that differ"),
        ('sensor = "Lamp"', 'sensor = ["A", 1]', r"preset\.sensor\[1\]: must be a text"),
        (
            'sensor = "Lamp"',
            'sensor = ["A", "Lamp"]',
            r"preset\.sensor: 'Lamp' has no parameters lamp\.\.\.",
        ),
        ("[parameters]", "[parameters]\na.xyz = 1\na.y = 2", r"parameters\.a\.y: is given twice"),
        ("[parameters]", "", r"parameters: is missing"),
        ("[parameters]", "[parameters]\na = [1]", r"parameters\.a: must be a number, a switch"),
        ("[parameters]", "[parameters]\na = nan", r"parameters\.a: nan is not a finite"),
        ("[parameters]", "[parameters]\na = { value = 1 }", r"parameters\.a\.unit: is missing"),
        (
            "[parameters]",
            '[parameters]\na = { value = 1, unit = "deg", x = 1 }',
            r"parameters\.a\.x: is unknown",
        ),
        (
            "[parameters]",
            '[parameters]\na = { value = 1, unit = "furlong" }',
            r"parameters\.a\.unit: 'furlong' is no known unit; `python -m ",
        ),
        (
            "[parameters]",
            '[parameters]\na = { value = true, unit = "deg" }',
            r"parameters\.a\.value: True is not a finite number",
        ),
        (
            "[parameters]",
            '[parameters]\na = { value = inf, unit = "deg" }',
            r"parameters\.a\.value: inf is not a finite number",
        ),
        (
            "[parameters]",
            '[parameters]\na = { value = 0, unit = "cpr" }',
            r"parameters\.a\.value: 0 cpr must be above 0",
        ),
        (
            "[parameters]",
            '[parameters]\na = { value = -1, unit = "LSB/g" }',
            r"parameters\.a\.value: -1 LSB/g must be above 0",
        ),
        ("[parameters]", "[parameters]\na = ", r"one\.toml: "),
    ],
)
def test_a_bad_file_is_refused_with_file_and_key(tmp_path, change, to, message):
    assert change in GOOD
    path = written(tmp_path, GOOD.replace(change, to))
    with pytest.raises(ParameterError, match=message) as caught:
        read_preset(path)
    assert str(path) in str(caught.value)


def test_a_preset_table_that_is_no_table_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"preset: must be a table"):
        read_preset(written(tmp_path, "preset = 1\n[parameters]\n"))


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "one.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(ParameterError, match=r"one\.toml.*utf-8"):
        read_preset(path)


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
