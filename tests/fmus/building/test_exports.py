"""The tables of exports declare just the kernels that FMUs call."""

import zipfile
from pathlib import Path

import pytest

import build_fmus
from fmus.building.exports import exports_in, tables_of, text_of
from sensor_models.core.exports import (
    FILE,
    KERNELS,
    Export,
    ExportError,
    Types,
    exports_of,
    read_exports,
)
from sensor_models.kernels.values import Kind
from tests.exports import run_in_many_ways

OWN = list(build_fmus.fmu_sources())


@pytest.mark.parametrize("name", OWN)
def test_an_fmu_calls_the_kernels_that_are_declared_for_it_and_no_others(
    fmu_directory: Path, tmp_path: Path, name: str
) -> None:
    with zipfile.ZipFile(fmu_directory / f"{name}.fmu") as archive:
        members = [m for m in archive.namelist() if m.startswith("resources/")]
        archive.extractall(tmp_path, members)
    answer = run_in_many_ways(tmp_path / "resources", tmp_path / "answer.json", "--bare")
    called = {export.key for export in exports_in({name: answer["kernels"]})}
    declared = {export.key for export in exports_of(name, read_exports())}
    advice = "run `make exports`, and look at what it changes"
    assert called - declared == set(), advice
    assert declared - called == set(), advice
    assert answer["made"] == []


def test_each_kernel_is_declared_once_with_one_signature() -> None:
    places = [(export.module, export.name) for export in read_exports()]
    assert len(places) == len(set(places))


def test_tables_are_written_as_they_are_read() -> None:
    exports = read_exports()
    assert exports
    written = tables_of(sorted(exports, key=lambda e: str((e.module, e.name, e.arguments))))
    for family, text in written.items():
        file = KERNELS / family / FILE
        assert file.read_text(encoding="utf-8") == text


KINDS: dict[str, Kind] = {
    "float64": ("float64", "d"),
    "bool": ("bool", "?"),
    "none": ("none",),
    "float32[:, ::1]": ("array", "<f4", 2, "C", True),
    "const uint16[::1]": ("array", "<u2", 1, "C", False),
    "complex128[::1, :, :]": ("array", "<c16", 3, "F", True),
    "float64[:, :]": ("array", "<f8", 2, "A", True),
    "(int64, (float64[:, ::1], bool), none)": (
        "tuple",
        "",
        ("int64", "q"),
        ("tuple", "", ("array", "<f8", 2, "C", True), ("bool", "?")),
        ("none",),
    ),
}


@pytest.mark.parametrize("text", KINDS)
def test_types_are_read_and_written(text: str) -> None:
    assert Types({}).kind(text, "family") == KINDS[text]
    assert text_of(KINDS[text], "family") == text


def test_a_type_of_another_family_is_named_with_it() -> None:
    types = Types({"far": {"structs": {"layout.Pair": {"a": "int64", "b": "float64"}}}})
    kind = types.kind("far.layout.Pair", "near")
    pair = "sensor_models.kernels.far.layout:Pair"
    assert kind == ("tuple", pair, ("int64", "q"), ("float64", "d"))
    assert types.kind("layout.Pair", "far") == kind
    assert text_of(kind, "far") == "layout.Pair"
    assert text_of(kind, "near") == "far.layout.Pair"


@pytest.mark.parametrize("text", ["layout.Task", "float65", "float64[2]"])
def test_a_type_that_there_is_not_is_named(text: str) -> None:
    with pytest.raises(ExportError, match=r"is no type|there is no type"):
        Types({}).kind(text, "family")


def test_an_export_that_two_fmus_call_is_one() -> None:
    call = [["kernels.math.motion", "turn", 7], [[["float64", "d"]]]]
    (export,) = exports_in({"B": [call], "A": [call]})
    assert export == Export("kernels.math.motion", "turn", (("float64", "d"),), ("A", "B"))
