"""Rows from their file through an FMU to the page, the results and the card."""

import zipfile
from html.parser import HTMLParser
from pathlib import Path

import html5lib
import pytest

from fmus.tools.command import main
from fmus.tools.validation.card import card
from fmus.tools.validation.judging import RowResult, kept, run_row
from fmus.tools.validation.page import write_page
from fmus.tools.validation.results import ResultsError, read_results, write_results
from fmus.tools.validation.rows import read_rows
from fmus.tools.validation.sheets import read_sheets, run_sheet, sheet_document
from fmus.tools.validation.worker import Order, run_all
from tests.fmus.tools.validation.test_rows import ROW

#: A sheet that is a quarter above what the FMU was given.
SHEET = """
[[sheet]]
preset = "VN-100"
page = "page 1"
fmu = { name = "Gyroscope", duration = 20.0, step = 5.0 }
method = { name = "samples", columns = ["angular_rate.x"] }
numbers = [{ result = "angular_rate.x.rate", published = 640, unit = "Hz" }]

[[sheet]]
preset = "AWR1843"
nothing = "no <number> in it"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that pass, that fail, and that cannot be run."""
    place = tmp_path_factory.mktemp("rows")
    title = 'title = "A gyroscope at rest"'
    (place / "still.toml").write_text(ROW)
    worse = ROW.replace("published = 0.01\n", "published = 0.02\n")
    (place / "worse.toml").write_text(worse.replace(title, 'title = "Twice <the> noise"'))
    wrong = ROW.replace("sample_rate = 100.0", "sample_rate = 100.0, loudness = 3.0")
    (place / "wrong.toml").write_text(wrong.replace(title, 'title = "No such parameter"'))
    (place / "presets.toml").write_text(SHEET)
    return place


@pytest.fixture(scope="module")
def results(
    folder: Path, fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[RowResult]:
    runs = tmp_path_factory.mktemp("runs")
    return [run_row(row, fmu_directory, runs / row.name) for row in read_rows(folder).values()]


def test_a_row_passes_through_the_fmu_or_fails_or_says_why_not(results: list[RowResult]) -> None:
    assert [result.verdict for result in results] == ["passed", "failed", "not run"]
    good, bad, wrong = results
    assert [judged.passed for judged in good.judged] == [True] * 3
    assert [judged.passed for judged in bad.judged] == [False, True, True]
    assert bad.judged[0].ratio == pytest.approx(0.5, rel=0.1)
    assert wrong.judged == ()
    assert "loudness" in wrong.message


def test_the_same_row_gives_the_same_numbers(
    folder: Path, results: list[RowResult], fmu_directory: Path, tmp_path: Path
) -> None:
    again = run_row(read_rows(folder)["still"], fmu_directory, tmp_path / "again")
    assert [j.simulated for j in again.judged] == [j.simulated for j in results[0].judged]
    assert not (tmp_path / "again").exists()  # records are large


def test_processes_give_the_results_of_one(
    folder: Path, results: list[RowResult], fmu_directory: Path
) -> None:
    rows, (sheet, _) = read_rows(folder), read_sheets(folder / "presets.toml")
    orders = [Order(str(folder), str(fmu_directory), ("Gyroscope",), row=name) for name in rows]
    orders.append(Order(str(folder), str(fmu_directory), ("Gyroscope",), sheet=0))
    found = dict(run_all(orders, [*rows.values(), sheet], workers=2))
    assert sorted(found) == list(range(len(orders)))
    for number, result in enumerate(results):
        assert found[number].message == result.message
        assert found[number].judged == result.judged
    assert found[len(results)].judged[0].ratio == pytest.approx(1.25)


class Texts(HTMLParser):
    """The texts of a page, and where it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.sources: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]


def read_page(text: str) -> Texts:
    html5lib.HTMLParser(strict=True).parse(text)
    found = Texts()
    found.feed(text)
    return found


def test_the_page_has_every_row_and_needs_no_network(
    folder: Path, results: list[RowResult], fmu_directory: Path, tmp_path: Path
) -> None:
    sheets = [
        run_sheet(sheet, fmu_directory, tmp_path / "sheet")
        for sheet in read_sheets(folder / "presets.toml")
    ]
    page = read_page(write_page(results, sheets, tmp_path / "page" / "index.html").read_text())
    for title in ("A gyroscope at rest", "Twice <the> noise", "No such parameter"):
        assert page.texts.count(title) == 1
        assert f"{title}: " in page.texts
    whole = " ".join(page.texts)
    assert "Somebody, Something (2020), https://example.org" in whole
    assert "no <number> in it" in whole
    assert "1.250" in whole  # 800 Hz of the preset by the 640 Hz of the sheet
    assert sum(source.startswith("data:image/svg+xml") for source in page.sources) == 2
    assert all(source.startswith(("data:", "#")) for source in page.sources)
    assert "| VN-100 | angular_rate.x.rate | 640 | 800 | Hz | 1.250 |" in sheet_document(sheets)


def test_results_are_kept_and_read_again(results: list[RowResult], tmp_path: Path) -> None:
    rows = [kept(result) for result in results]
    assert read_results(write_results(tmp_path / "results.toml", rows)) == rows
    assert read_results(tmp_path / "none.toml") == []
    (tmp_path / "results.toml").write_text("format = 7")
    with pytest.raises(ResultsError, match="format = 7, known is 1"):
        read_results(tmp_path / "results.toml")


def test_the_card_has_passed_and_failed_rows_with_their_sources(results: list[RowResult]) -> None:
    rows = [kept(result) for result in results]
    page = read_page(card("Gyroscope", rows))
    whole = " ".join(page.texts)
    assert "3 rows: 1 passed, 2 failed; 3 were measured" in whole
    assert "Twice <the> noise" in whole
    assert whole.count("https://example.org") == 3


def test_a_built_fmu_carries_its_card(fmu_directory: Path) -> None:
    for model, word in (("Imu", "VN-100 at rest"), ("Gyroscope", "VN-100 at rest"),
                        ("Radar", "trihedral"), ("Environment", "No measurement")):  # fmt: skip
        with zipfile.ZipFile(fmu_directory / f"{model}.fmu") as archive:
            text = archive.read("documentation/validation.html").decode()
        assert word in " ".join(read_page(text).texts)


@pytest.fixture
def words(folder: Path, fmu_directory: Path, tmp_path: Path) -> list[str]:
    return ["validate", "--folder", str(folder), "--fmus", str(fmu_directory),
           "--report", str(tmp_path / "page"), "--rows"]  # fmt: skip


def test_the_command_says_how_many_failed(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "worse"]) == 0
    said = capsys.readouterr().out
    assert "1 rows, 1 failed" in said
    assert "angular_rate.noise: 0.0" in said
    assert (tmp_path / "page" / "index.html").is_file()
    assert main([*words, "worse", "--strict"]) == 1


def test_the_command_lists_and_refuses(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--list"]) == 0
    assert "still " in capsys.readouterr().out
    assert main([*words, "stil"]) == 1
    told = capsys.readouterr().err
    assert "there is no row or preset stil; there are AWR1843, VN-100, still, worse, wrong" in told
