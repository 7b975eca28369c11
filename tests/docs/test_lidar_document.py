"""The lidar's page says what is so: its tables, examples, commands and pictures."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sensor_models.core.quantities import Quantity, describe_choices, quantities_of
from sensor_models.lidar.named import named_lidar
from sensor_models.lidar.patterns import PatternParameters, PatternType, make_pattern
from sensor_models.lidar.sensor import LIDAR
from sensor_models.output.points import FIELDS, POINT_WITH_NORMAL
from sensor_models.presets import list_presets, read_preset
from sensor_models.tools.pictures import lidar_command as command

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "lidar.md").read_text(encoding="utf-8")
TYPES = {"f": "float", "i": "int", "u": "uint"}
#: For GitHub to show a page fast.
LARGEST_PICTURE = 400_000  # bytes


def table(first: str) -> list[list[str]]:
    """The rows of the table whose first column has this title."""
    _, _, rest = PAGE.partition(f"\n| {first} |")
    lines = rest.split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def pictures() -> list[str]:
    return re.findall(r"!\[[^]]*\]\(([^)]*)\)", PAGE)


def number(value: float) -> str:
    return f"{value:.6g}"


def start_of(quantity: Quantity) -> str:
    if quantity.choices is not None:
        return quantity.choices(quantity.default).name
    if quantity.kind == "boolean":
        return str(quantity.default).lower()
    if quantity.kind == "string":
        return f'"{quantity.default}"'
    return ", ".join(number(part) for _, part in quantity.parts(quantity.default))


def allowed_of(quantity: Quantity) -> str:
    if quantity.choices is not None:
        return describe_choices(quantity.choices)
    if quantity.kind in ("boolean", "string"):
        return {"boolean": "true, false", "string": "text"}[quantity.kind]
    low, high = quantity.minimum, quantity.maximum
    if np.isfinite([low, high]).all():
        return f"{number(low)} to {number(high)}"
    return f"at least {number(low)}" if np.isfinite(low) else "any number"


def name_of(group: object, quantity: Quantity) -> str:
    components = f".{{{','.join(quantity.components)}}}" if quantity.components else ""
    return f"`{group.name(quantity.name)}{components}`"


def declared_parameters() -> list[list[str]]:
    """Rows of the table of parameters."""
    return [
        [
            name_of(group, quantity),
            start_of(quantity),
            quantity.unit if quantity.kind == "real" else "",
            allowed_of(quantity),
            quantity.description,
        ]
        for group in LIDAR.all_parameters
        for quantity in quantities_of(group.declaring).values()
    ]


def test_the_table_of_fields_is_that_of_the_files():
    assert table("field") == [
        [
            f"`{name}`",
            f"{TYPES[POINT_WITH_NORMAL[name].kind]}{8 * POINT_WITH_NORMAL[name].itemsize}",
            *FIELDS[name],
        ]
        for name in POINT_WITH_NORMAL.names
    ]


def test_the_table_of_parameters_is_that_of_the_declarations():
    assert table("parameter") == declared_parameters()


def numbers_of(name: str) -> list[str]:
    """A row of the table of presets, from the preset and its pattern."""
    lidar, rate = named_lidar(name)
    pattern, own = lidar.pattern, lidar.parameters
    angles = np.degrees(np.concatenate([pattern.angles(k) for k in range(40)], axis=1))
    turn = np.ptp(angles[0]) > 359.0
    return [
        name,
        f"{pattern.rows} x {pattern.columns} x {rate:g}",
        f"{lidar.rays * rate:,.0f}",
        "all around" if turn else f"{angles[0].min():.1f} to {angles[0].max():.1f}",
        f"{angles[1].min():.1f} to {angles[1].max():.1f}",
        f"{own.min_range:g} to {own.max_range:g}",
    ]


def test_the_table_of_presets_is_that_of_their_files():
    rows = table("product")
    assert rows == [numbers_of(row[0]) for row in rows]
    assert {row[0] for row in rows} == set(list_presets("Lidar"))


def test_the_example_in_python_runs():
    (example,) = blocks("python")
    run = [sys.executable, "-c", example]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ returns, nearest \d+\.\d\d m\n", done.stdout)


def test_the_example_of_a_pattern_file_makes_a_cross(tmp_path, monkeypatch):
    (rays,) = blocks("csv")
    (tmp_path / "cross.csv").write_text(rays)
    monkeypatch.chdir(tmp_path)
    parameters = PatternParameters(type=PatternType.file, file="cross.csv")
    pattern = make_pattern(parameters, 1.0 / 50.0)
    azimuth, elevation = np.degrees(pattern.angles(0))
    # degrees there and back, and us in 20 ms: roundings
    np.testing.assert_allclose(azimuth, [-20, 20, 0, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(elevation, [0, 0, -10, 10], rtol=0, atol=1e-12)
    np.testing.assert_allclose(pattern.offset, [0, 0.25, 0.5, 0.75], rtol=0, atol=1e-12)
    assert pattern.ring.tolist() == [0, 0, 1, 1]
    (line,) = [line for line in commands() if "cross.csv" in line]
    assert command.main(arguments_of(line)) == 0
    assert Path("pattern-lidar.png").is_file()


def test_the_example_of_a_preset_is_one(tmp_path):
    (text,) = blocks("toml")
    path = tmp_path / "mine.toml"
    path.write_text(text)
    preset = read_preset(path)
    lidar, rate = named_lidar("", preset.parameters_of("Lidar"))
    assert (lidar.pattern.rows, lidar.pattern.columns, rate) == (32, 900, 20.0)
    assert lidar.noise.distance_sigma_base == 0.02
    assert lidar.parameters.returns == 2


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines()]


def arguments_of(line: str) -> list[str]:
    words = shlex.split(line, comments=True)
    assert words[:3] == ["python", "-m", "sensor_models.lidar"]
    return words[3:]


@pytest.mark.parametrize("line", commands())
def test_commands_are_understood(line, monkeypatch):
    asked = []

    def note(given: object) -> tuple[np.ndarray, str]:
        asked.append(given)
        raise OSError("enough")

    monkeypatch.setattr(command, "_picture", note)
    assert command.main(arguments_of(line)) == 1
    (given,) = asked
    named_lidar(given.preset or given.pattern or "", settings_of(given))


def settings_of(given: object) -> dict[str, str]:
    """The settings of a command, without the file that only the reader has."""
    settings = dict(given.set)
    if settings.get("pattern.type") == "file":
        return {}
    return settings


def test_pictures_are_there_and_small_and_each_has_its_command():
    shown = pictures()
    assert len(shown) == len(set(shown))
    made = {
        words[words.index("--output") + 1]
        for words in map(arguments_of, commands())
        if "--output" in words
    }
    assert made == {f"docs/{name}" for name in shown}
    assert {path.name for path in (DOCS / "lidar").iterdir()} == {Path(name).name for name in shown}
    for name in shown:
        content = (DOCS / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < LARGEST_PICTURE
