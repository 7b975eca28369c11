"""TOML files from elsewhere: what would take the machine down is refused with file and place."""

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fmus.tools.campaigns.description import read_campaign
from fmus.tools.systems.description import DescriptionError, read_system
from sensor_models.core.quantities import ParameterError
from sensor_models.core.toml_files import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_DOTS,
    MAX_DOTTED_KEYS,
    TomlError,
    check_parts,
    parse_toml,
    read_toml,
)
from sensor_models.lidar.tables import read_beams
from sensor_models.presets import list_presets, load_preset, read_preset
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.tools.datasets.description import read_description
from tests.sensor_models.presets.preset_files import GOOD, written

#: All that reads TOML from elsewhere, with its own error.
READERS: dict[str, tuple[Callable[[Path], Any], type[ValueError]]] = {
    "preset": (read_preset, ParameterError),
    "scene": (load_scene, SceneError),
    "data set": (read_description, ParameterError),
    "system": (lambda path: read_system(path, {}), DescriptionError),
    "campaign": (lambda path: read_campaign(path, {}), DescriptionError),
}

#: Small files that ask for much, and what the refusal says of them.
GREEDY = {
    "dots": ("a." * 40_000 + "b = 1", "line 1: has a key of more than 8 dots"),
    "dotted keys": ("a.b.c = 1\n" * (MAX_DOTTED_KEYS + 1), "such keys"),
    "lists": ("\nx = " + "[" * 5000, "line 2, x: has more than 32 lists or tables in one another"),
    "tables": ("x = " + "{ a = " * 5000, "line 1, x: has more than 32 lists or tables"),
    "digits": ("[t]\nx = " + "9" * 20_000, "line 2, x: has a number of 400 digits or more"),
    "hexadecimal": ("[t]\nx = 0x" + "f" * 20_000, "line 2, x: has a number of 400 digits"),
    "a large number": ("[t]\nx = [1, 0x" + "f" * 20 + "]", "t.x[1]: is a whole number of 80 bits"),
    "bytes": ("#" * (MAX_BYTES + 1), " bytes, "),
}


def refusal(reader: str, path: Path) -> str:
    """What a reader says of a file."""
    read, error = READERS[reader]
    with pytest.raises(error) as told:
        read(path)
    assert str(path) in str(told.value)
    assert reader == "scene" or str(told.value).count(str(path)) == 1
    return str(told.value)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", GREEDY)
def test_a_greedy_file_is_refused_by_all_readers_with_its_place(
    tmp_path: Path, reader: str, kind: str
) -> None:
    text, reason = GREEDY[kind]
    path = written(tmp_path, text)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert reason in refusal(reader, path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices as files are of Unix")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, reader: str, kind: str) -> None:
    path = tmp_path / "one.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    told = refusal(reader, path) if (reader, kind) != ("scene", "directory") else ""
    assert "is no regular file" in told or kind == "directory"


@pytest.mark.parametrize("kind", [*GREEDY, "pipe", "device"])
def test_one_such_file_breaks_no_other_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("SENSOR_FMUS_PRESETS", str(tmp_path))
    written(tmp_path, GOOD)
    other = tmp_path / "two.toml"
    if kind == "pipe":
        os.mkfifo(other)
    elif kind == "device":
        other.symlink_to("/dev/zero")
    else:
        other.write_text(GOOD + GREEDY[kind][0])
    assert load_preset("Lamp", "Any-1 X") == {}
    assert list_presets("Lamp") == ["Any-1 X"]
    with pytest.raises(ParameterError, match=r"not usable: preset file .*two\.toml"):
        load_preset("Lamp", "nonsense")


def test_a_table_of_beams_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "beams.csv")
    with pytest.raises(ParameterError, match=r"beams\.csv: is no regular file"):
        read_beams(str(tmp_path / "beams.csv"))


def test_what_is_within_the_bounds_is_read(tmp_path: Path) -> None:
    text = (
        f"a = {'[' * MAX_DEPTH}{']' * MAX_DEPTH}\n"
        f"b = 0x{'7' + 'f' * 15}\nc = -9223372036854775808\n"
        f"d = '{'9' * 2 * MAX_DIGITS}'\n{'k' * 2 * MAX_DIGITS} = 1\n"
    )
    content = read_toml(written(tmp_path, text))
    assert (content["b"], content["c"]) == (2**63 - 1, -(2**63))
    assert content["d"] == "9" * 2 * MAX_DIGITS
    assert len(content) == 5


def test_what_is_no_text_or_no_toml_is_told_with_the_file() -> None:
    for data in (b"\xff", b"a = "):
        with pytest.raises(TomlError, match=r"x\.toml: is no TOML: "):
            parse_toml(data, Path("x.toml"))


@pytest.mark.parametrize(
    "text",
    [
        "a = '" + "." * 1000 + "'",
        'a = "\\"' + "." * 1000 + '"',
        'a = """' + ".\n" * 1000 + '"""',
        "a = '''" + ".\n" * 1000 + "'''",
        "# " + "." * 1000,
        "a = [" + "1.5, " * 1000 + "]",
        "a = [" + "1979-05-27T00:32:00.999999, " * 10 + "]",
        "a.b.c.d.e.f = { g = 1.0, h.i = 2.0 }\n[j.k]\n",
        ".".join("a" * (MAX_DOTS + 1)) + " = 1",
    ],
)
def test_dots_count_in_keys_alone(text: str) -> None:
    check_parts(text, Path("scene.toml"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (".".join("a" * (MAX_DOTS + 2)) + " = 1", 1),
        ("a = 1 # '''\n" + "'x' . " * (MAX_DOTS + 1) + "y = 1", 2),
        ("a = '\n" + "x." * (MAX_DOTS + 1) + "y = 1", 2),
        ('a = """\n.\n"""\n' + '"." .' * (MAX_DOTS + 1), 4),
        ("a = { " + "x." * (MAX_DOTS + 1) + "y = 1 }", 1),
        ("a.b.c = 1\n" * (MAX_DOTTED_KEYS + 1), MAX_DOTTED_KEYS + 1),
    ],
)
def test_keys_of_many_dots_are_refused_by_their_line(text: str, line: int) -> None:
    with pytest.raises(TomlError, match=f"scene.toml: line {line}(, a)?: has a key of more than"):
        check_parts(text, Path("scene.toml"))
