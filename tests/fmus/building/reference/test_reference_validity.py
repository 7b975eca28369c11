"""Reference pages are valid by the parsing rules of the HTML standard, as html5lib has them."""

from pathlib import Path

import html5lib
import pytest

import build_fmus
from fmus.building.reference import write_pages
from tests.conftest import MODELS
from tests.fmus.pages import page_of


@pytest.mark.parametrize("model", MODELS)
def test_a_page_has_no_parse_error(fmu_directory: Path, model: str) -> None:
    parser = html5lib.HTMLParser()
    parser.parse(page_of(fmu_directory / f"{model}.fmu"))
    assert parser.errors == []
    assert parser.documentEncoding == "utf-8"


def test_the_index_has_no_parse_error(tmp_path: Path) -> None:
    index = write_pages([source.model for source in build_fmus.fmu_sources().values()], tmp_path)
    parser = html5lib.HTMLParser()
    parser.parse(index.read_bytes())
    assert parser.errors == []
