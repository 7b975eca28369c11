"""The reader of rows: what it takes, and what it refuses with file, key and reason."""

from pathlib import Path

import pytest

from fmus.tools.validation.results import read_results
from fmus.tools.validation.rows import SHEETS, RowError, read_row, read_rows
from fmus.tools.validation.sheets import read_sheets
from sensor_models import catalog
from sensor_models.presets import list_presets

VALIDATION = Path(__file__).parents[4] / "validation"

ROW = """
[row]
title = "A gyroscope at rest"
sensor = "gyroscope"
kind = "measured"
third_party = true
set_up = "On a table."
proves = "Little."

[source]
author = "Somebody"
title = "Something"
year = 2020
where = "https://example.org"

[fmu]
name = "Gyroscope"
duration = 60.0
step = 10.0
parameters = { sample_rate = 100.0, noise.density.xyz = { value = 0.01, unit = "deg/s/sqrt(Hz)" } }

[method]
name = "allan"
sensors = ["angular_rate"]

[[numbers]]
result = "angular_rate.noise"
published = 0.01
unit = "deg/s/sqrt(Hz)"
relative = 0.1
reason = "one minute"

[[numbers]]
result = "angular_rate.deviation"
at = [1.0, 2.0]
published = [0.01, 0.00707]
unit = "deg/s"
absolute = 0.002
reason = "one minute"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "still.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_is_read_with_units_and_lists_of_numbers(tmp_path: Path) -> None:
    row = read_row(written(tmp_path, ROW))
    assert row.name == "still"
    assert row.third_party
    assert row.simulation.parameters["noise.density.z"] == pytest.approx(1.7453e-4, rel=1e-4)
    names = ["angular_rate.noise", "angular_rate.deviation at 1", "angular_rate.deviation at 2"]
    assert [number.name for number in row.numbers] == names
    assert str(row.source) == "Somebody, Something (2020), https://example.org"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('where = "https://example.org"\n', "", "source.where is missing"),
        ('author = "Somebody"', 'author = " "', "source.author must be a text"),
        ("year = 2020", "year = 20", "source.year = 20 is no year"),
        ("[source]", "[sauce]", "source is missing"),
        ("third_party = true", 'third_party = "yes"', "row.third_party must be true or false"),
        ('kind = "measured"', 'kind = "guessed"', "row.kind = 'guessed' is none of"),
        ('set_up = "On a table."\n', "", "row.set_up is missing"),
        ("relative = 0.1\n", "", "numbers[0] must have one of relative, absolute, bound, has 0"),
        ("relative = 0.1", "relativ = 0.1", "numbers[0].relativ is unknown"),
        ("relative = 0.1", "relative = 0.1\nabsolute = 1.0", "has 2"),
        ("relative = 0.1", "relative = 0.0", "must be above 0"),
        ("relative = 0.1", 'bound = "about"', 'must be "most" or "least"'),
        ('reason = "one minute"\n\n', "\n", "numbers[0].reason is missing"),
        ("published = [0.01, 0.00707]", "published = [0.01]", "as many values"),
        ('unit = "deg/s/sqrt(Hz)"\nrelative', 'unit = "deg/fortnight"\nrelative', "no known unit"),
        ('name = "allan"', 'name = "alan"', "method.name = 'alan' is none of"),
        ("sensors =", "sensor =", "method.sensor is unknown, known: sensors"),
        ("duration = 60.0", "duration = 0.0", "fmu.duration = 0.0 must be above 0"),
        ("duration = 60.0", "duration = 60.0\nspeed = 1", "fmu.speed is unknown"),
        ("value = 0.01, unit", "value = 0.01, units", "unit"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_key(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    assert old in ROW
    path = written(tmp_path, ROW.replace(old, new, 1))
    with pytest.raises(RowError) as caught:
        read_row(path)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RowError, match="has no rows"):
        read_rows(tmp_path)


def test_the_rows_of_the_project_are_as_many_and_as_foreign_as_promised() -> None:
    rows = read_rows(VALIDATION)
    assert len(rows) >= 20
    assert len({row.sensor for row in rows.values()}) >= 8
    assert sum(row.third_party for row in rows.values() if row.kind == "measured") >= 12


def test_every_preset_has_a_place_in_the_table_of_sheets() -> None:
    named = {sheet.preset for sheet in read_sheets(VALIDATION / SHEETS)}
    assert named == {name for sensor in catalog.names() for name in list_presets(sensor)}


def test_the_results_that_are_kept_name_all_rows() -> None:
    rows = read_rows(VALIDATION)
    kept = read_results(VALIDATION / "results.toml")
    assert [row.name for row in kept] == list(rows)
    for row in kept:
        source = rows[row.name]
        assert row.source == str(source.source)
        if row.verdict != "not run":
            assert [n.name for n in row.numbers] == [n.name for n in source.numbers]
