"""The buses of MATLAB, their script read by tree-sitter's grammar of MATLAB."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tree_sitter_matlab
from tree_sitter import Language, Parser

import build_fmus
from fmus.building.importers.simulink import LONGEST_NAME, TYPES, bus_script, unit_of
from fmus.fmi import osmp

MODELS = {name: source.model for name, source in build_fmus.fmu_sources().items()}
PARSER = Parser(Language(tree_sitter_matlab.language()))

CALL = re.compile(r"^    make\('(\w+)', '[^\n]*', \{\n(.*?)\n        \}\);$", re.M | re.S)
ROW = re.compile(r"'(\w+)', '([^']+)', '([^']*)', '((?:[^']|'')*)'")

#: Names, types and units of the elements of buses.
Buses = dict[str, list[tuple[str, str, str]]]


def buses_of(script: str) -> Buses:
    """What a script makes; a bus must be made before it is used."""
    made: Buses = {}
    for name, rows in CALL.findall(script):
        elements = [row[:3] for row in ROW.findall(rows)]
        assert len(elements) == len(rows.splitlines())
        for _, kind, _ in elements:
            assert not kind.startswith("Bus: ") or kind.removeprefix("Bus: ") in made
        assert name not in made
        made[name] = elements
    return made


def leaves(buses: Buses, name: str, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """The variables in a bus, with dotted names."""
    for part, kind, unit in buses.get(name, []):
        if kind.startswith("Bus: "):
            yield from leaves(buses, kind.removeprefix("Bus: "), f"{prefix}{part}.")
        else:
            yield prefix + part, kind, unit


@pytest.mark.parametrize("model", MODELS)
def test_buses_hold_each_number_of_an_fmu_with_type_and_unit(model: str) -> None:
    script = bus_script(MODELS[model])
    assert not PARSER.parse(script.encode()).root_node.has_error
    buses = buses_of(script)
    assert all(len(name) <= LONGEST_NAME for name in buses)
    table = MODELS[model].table()
    for causality in ("input", "output"):
        expected = [
            (v.name, TYPES[v.type_name], unit_of(v.quantity.unit) if kind == "real" else "inherit")
            for v in table.of_causality(causality)
            for kind in (v.quantity.kind,)
            if v.type_name in TYPES and osmp.role_of(MODELS[model].messages, v) is None
        ]
        assert sorted(leaves(buses, f"{model}_{causality}s")) == sorted(expected)


def test_the_grammar_finds_an_error() -> None:
    script = bus_script(MODELS["Odometer"])
    assert PARSER.parse(script.replace("});", "};").encode()).root_node.has_error


def test_units_are_written_as_simulink_does() -> None:
    assert unit_of("m/s2") == "m/s^2"
    assert unit_of("rad.s/m") == "rad*s/m"
    assert unit_of("1") == "1"


def test_the_command_writes_a_script_for_each(tmp_path: Path) -> None:
    wanted = ["--only", "Imu", "Odometer", "--docs", str(tmp_path / "docs")]
    assert build_fmus.main([*wanted, "--simulink", str(tmp_path / "simulink")]) == 0
    assert {p.name for p in (tmp_path / "simulink").iterdir()} == {
        "Imu_buses.m", "Odometer_buses.m"
    }  # fmt: skip
