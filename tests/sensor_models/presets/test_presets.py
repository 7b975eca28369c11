"""Preset files: finding them, reading them strictly, converting units."""

import math
import shutil

import pytest

import sensor_models
from sensor_models.core.quantities import ParameterError
from sensor_models.presets import list_presets, load_preset, read_preset
from tests.sensor_models.presets.preset_files import GOOD, SHIPPED, parameters, written

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


def test_what_is_loaded_may_be_changed_without_harm():
    load_preset("Encoder", "AS5048A")["upper"] = 0.0
    assert load_preset("Encoder", "AS5048A")["upper"] == math.tau


# --- values


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
