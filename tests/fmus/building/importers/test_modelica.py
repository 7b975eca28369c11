"""The Modelica package, read and flattened by pymoca's grammar of Modelica."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pymoca import ast, parser, tree

import build_fmus
from fmus.building.importers.modelica import (
    RESERVED,
    array_literal,
    element,
    identifier,
    is_of_body,
    package_files,
    quoted,
)
from fmus.building.reference.presets import presets_of
from fmus.fmi.arrays import Interface

MODELS = {name: source.model for name, source in build_fmus.fmu_sources().items()}

#: What is used of the standard library.
STANDARD_LIBRARY = """
package Modelica
  package Icons
    partial record Record end Record;
    partial package Package end Package;
    partial package InterfacesPackage end InterfacesPackage;
    partial package ExamplesPackage end ExamplesPackage;
    partial model Example end Example;
    partial model RectangularSensor end RectangularSensor;
  end Icons;
  package Blocks
    package Icons
      partial block Block end Block;
    end Icons;
    package Interfaces
      connector RealOutput = output Real;
      connector IntegerOutput = output Integer;
      connector BooleanOutput = output Boolean;
    end Interfaces;
  end Blocks;
end Modelica;
"""
#: These use mechanics of the standard library, so their syntax only is read.
MECHANICS = ("SensorFmus/Adapters.mo", "SensorFmus/Examples.mo")


def parsed(text: str) -> Any:
    return parser.parse(text, bypass_cache=True)


@pytest.fixture(scope="module")
def files() -> Mapping[str, str]:
    return package_files(MODELS)


def body_of(files: Mapping[str, str], place: str) -> str:
    """A file without the line that says in which package it is."""
    first, _, rest = files[place].partition("\n")
    assert first == "within SensorFmus;"
    return rest


@pytest.fixture(scope="module")
def library(files: Mapping[str, str]) -> Any:
    """The whole package as one tree, but for what uses mechanics."""
    order = files["SensorFmus/package.order"].split()
    places = [f"SensorFmus/{name}.mo" for name in order]
    whole = "\n".join(body_of(files, place) for place in places if place not in MECHANICS)
    return parsed(f"{STANDARD_LIBRARY}package SensorFmus\n{whole}end SensorFmus;\n")


def flat(library: Any, name: str) -> Any:
    """A class with all that it is made of; names that do not exist are errors."""
    place = f"SensorFmus.{name}"
    return tree.flatten(library, ast.ComponentRef.from_string(place)).classes[place]


@pytest.mark.parametrize("model", MODELS)
def test_wrappers_pass_on_each_variable_of_the_import(library: Any, model: str) -> None:
    found = flat(library, model)
    layout = MODELS[model].layout(Interface.arrays).variables
    valued = [v for v in layout if 0 < v.kind < 6]  # numbers, choices, switches and texts
    for variable in valued:
        for part in variable.parts:
            assert f"fmu.{identifier(part.name)}" in found.symbols, part.name
    moving = [v for v in valued if v.causality != "parameter"]
    with_starts = [v for v in moving if v.causality == "input" and not is_of_body(v)]
    assert len(found.equations) == sum(len(v.parts) for v in moving) + len(with_starts)
    parameters = [v for v in valued if v.causality == "parameter"]
    for variable in parameters:
        for part in variable.parts:
            given = found.symbols[f"fmu.{identifier(part.name)}"].value
            assert str(given) == f"parameters.{identifier(variable.name)}"
    # All of these are modified, so there is none among the modifications that the import lacks.
    wrapper = library.classes["SensorFmus"].classes[model].symbols["fmu"]
    modified = wrapper.class_modification.arguments if parameters else []
    assert len(modified) == sum(len(v.parts) for v in parameters)


@pytest.mark.parametrize("place", [*MECHANICS, "SensorFmus/package.mo"])
def test_the_syntax_of_the_other_files_is_right(files: Mapping[str, str], place: str) -> None:
    assert parsed(files[place]) is not None
    with pytest.raises(Exception, match=r"mismatched|extraneous|missing|no viable"):
        parsed(files[place].replace("extends", "extends extends", 1))


def test_every_preset_is_a_record(library: Any) -> None:
    records = library.classes["SensorFmus"].classes["Records"].classes
    for model in MODELS:
        assert len([n for n in records if n.startswith(f"{model}_")]) == len(presets_of(model))


def test_values_of_a_preset_are_those_of_its_file(files: Mapping[str, str]) -> None:
    text = files["SensorFmus/Records.mo"]
    _, _, behind = text.partition("record Imu_VN_100 = Imu(")
    own, _, _ = behind.partition(");")
    preset = next(p for p in presets_of("Imu") if p.name == "VN-100")
    rate = preset.parameters_of("Imu")["sample_rate"]
    assert f"sample_rate={rate!r}" in own


def test_names_values_and_indices() -> None:
    assert identifier("body.position.x") == "body_position_x"
    assert identifier("record") == "'record'"
    assert "record" in RESERVED
    assert array_literal(list("abcdef"), (2, 3)) == "{{a, b, c}, {d, e, f}}"
    assert quoted('a "b" \\') == '"a \\"b\\" \\\\"'
    layout = MODELS["Imu"].layout(Interface.arrays).variables
    matrix = next(v for v in layout if v.name == "accelerometer.cross_axis")
    assert [element(matrix, k)[-6:] for k in (0, 1, 3, 8)] == [
        "[1, 1]",
        "[1, 2]",
        "[2, 1]",
        "[3, 3]",
    ]


def test_the_command_writes_the_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["--only", "Odometer", "--docs", str(tmp_path / "docs")]
    assert build_fmus.main([*wanted, "--modelica", str(tmp_path / "modelica")]) == 0
    folder = tmp_path / "modelica" / "SensorFmus"
    order = (folder / "package.order").read_text().split()
    assert sorted(f"{name}.mo" for name in order) == sorted(
        p.name for p in folder.glob("*.mo") if p.name != "package.mo"
    )
    assert str(tmp_path / "modelica") in capsys.readouterr().out
