"""Reference pages as a directory, and what the document of FMUs says against the FMUs."""

import re
from pathlib import Path

import pytest

import build_fmus
from fmus.building.reference import reference_page
from fmus.fmi.base import FmuBase
from tests.fmus.pages import page_of, parse, text_of
from tests.rail_scene import write_rail

ROOT = Path(build_fmus.__file__).parent
MODELS = {name: source.model for name, source in build_fmus.fmu_sources().items()}


def test_docs_writes_the_pages_that_fmus_carry(
    fmu_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "some" / "where"
    assert build_fmus.main(["--docs", str(target)]) == 0
    assert capsys.readouterr().out == f"{target / 'index.html'}\n"
    written = {path.name: path.read_bytes() for path in target.iterdir()}
    index = parse(written.pop("index.html"))
    carried = {f"{name}.html": page_of(fmu_directory / f"{name}.fmu") for name in MODELS}
    assert written == carried
    links = {link.attrib["href"]: text_of(link) for link in index.iter("a")}
    assert links == {f"{name}.html": name for name in MODELS}
    assert not (tmp_path / "build").exists()


def test_docs_writes_the_pages_that_were_asked_for(tmp_path: Path) -> None:
    assert build_fmus.main(["--docs", str(tmp_path), "--only", "Encoder"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Encoder.html", "index.html"]


def test_docs_of_an_environment_for_a_scene_show_its_bodies_and_what_it_is(
    tmp_path: Path,
) -> None:
    scene = write_rail(tmp_path / "rail")
    docs = tmp_path / "docs"
    arguments = ["--docs", str(docs), "--only", "Environment", "--scene", str(scene)]
    assert build_fmus.main(arguments) == 0
    built_for_yard = parse(reference_page(MODELS["Environment"]))
    page = parse((docs / "Environment.html").read_bytes())
    paragraphs = [[text_of(p) for p in tree.iter("p")][:2] for tree in (page, built_for_yard)]
    assert paragraphs[0] == paragraphs[1]
    names = [{e.get("id") for e in tree.iter("code")} for tree in (page, built_for_yard)]
    assert names[0] != names[1]


# ---- docs/fmus.md ------------------------------------------------------------------------------


def rows_of_the_document() -> dict[str, list[str]]:
    """The cells of the table of FMUs, by FMU: inputs, outputs, parameters."""
    table = (ROOT / "docs" / "fmus.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| `(\w+)` \|(.*)\|$", table, re.MULTILINE)
    return {name: cells.split(" | ") for name, cells in lines}


def as_pattern(token: str) -> str:
    """What names a token of the table stands for: ``a.{x,y}``, ``a_1…4.b``, ``a.*``, ``.x``, ``a``.

    A token without its last parts stands for a group, and one that begins with a dot for ends.
    """
    pattern = re.escape(token.rstrip(".")).replace(r"\*", ".+").replace("<body>", r"\w+")
    pattern = re.sub(r"\\\{(.*?)\\\}", lambda m: f"({m[1].replace(',', '|')})", pattern)
    pattern = re.sub(r"\d+…\d+", r"\\d+", pattern)
    return (".+" if token.startswith(".") else "") + pattern + r"(\..+)?"


def names_in(cell: str) -> list[str]:
    return re.findall(r"`(.+?)`", cell)


def known_to(model: type[FmuBase]) -> set[str]:
    """Names that a row may use: variables, items of choices, other FMUs."""
    table = model.table()
    choices = {v.quantity.choices for v in table.variables} - {None}
    return {*table.by_name, *(item.name for c in choices for item in c), *MODELS}


def test_the_table_of_the_document_has_a_row_for_each_fmu_and_no_other() -> None:
    assert sorted(rows_of_the_document()) == sorted(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_a_row_of_the_document_names_nothing_that_the_fmu_has_not(name: str) -> None:
    known = known_to(MODELS[name])
    for cell in rows_of_the_document()[name]:
        for token in names_in(cell):
            assert any(re.fullmatch(as_pattern(token), one) for one in known), token


@pytest.mark.parametrize("name", MODELS)
def test_a_row_of_the_document_names_every_output(name: str) -> None:
    tokens = names_in(rows_of_the_document()[name][1])
    patterns = [as_pattern(token) for token in tokens]
    elsewhere = {o for t in tokens if t in MODELS for o in MODELS[t].table().by_name}
    for output in MODELS[name].table().of_causality("output"):
        is_common = output.name.startswith("sample.")  # the text below the table has these
        is_named = any(re.fullmatch(pattern, output.name) for pattern in patterns)
        assert is_common or is_named or output.name in elsewhere, output.name
