"""``sensor-fmus validate``: the command line.

``sensor-fmus validate``                    all rows and presets; the page is in build/validation
``sensor-fmus validate NAME ...``           these rows, and presets of these names
``sensor-fmus validate --list``             what rows there are
``sensor-fmus validate --rows | --presets`` only the one or the other
``sensor-fmus validate --report DIRECTORY`` where the page goes
``sensor-fmus validate --update``           also write the results and the documents of the project
``sensor-fmus validate --strict``           exit with 1 if a row fails
``sensor-fmus validate --workers N``        rows in so many processes; default: one a processor
"""

import argparse
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import fmus as package
import sensor_models
from fmus.building import project
from fmus.tools.campaigns.unpacked import use_kernels_of

if TYPE_CHECKING:
    from fmus.tools.validation.judging import Judged, RowResult
    from fmus.tools.validation.results import KeptRow
    from fmus.tools.validation.rows import Row
    from fmus.tools.validation.sheets import Sheet, SheetResult

FMUS = Path("build/fmus")
REPORT = Path("build/validation")
PAGE = "index.html"


def add_to(
    topics: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> argparse.ArgumentParser:
    """The command, as one of several."""
    from sensor_models.threads.pool import processors

    parser = topics.add_parser(
        "validate",
        help="the FMUs against published measurements and data sheets",
        description=__doc__.replace("``", ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows or presets; default: all")
    parser.add_argument("--report", type=Path, default=REPORT, help="directory of the page")
    parser.add_argument("--folder", type=Path, default=project.VALIDATION, help="with the rows")
    parser.add_argument(
        "--fmus",
        type=Path,
        help="FMUs; those that are missing, or of other sources, are built there",
    )
    parser.add_argument("--workers", type=int, default=processors(), help="processes that run rows")
    parser.add_argument("--list", action="store_true", help="list the rows and stop")
    parser.add_argument("--rows", action="store_true", help="rows only")
    parser.add_argument("--presets", action="store_true", help="the table of presets only")
    parser.add_argument("--update", action="store_true", help="write results and documents")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a row fails")
    return parser


def validate(given: argparse.Namespace) -> int:
    """Run what the command line asks for."""
    fmus = given.fmus or FMUS
    # before anything that has kernels is imported
    use_kernels_of({path.stem: path for path in sorted(fmus.glob("*.fmu")) if _is_current(path)})
    from fmus.tools.validation.rows import SHEETS, RowError, read_rows
    from fmus.tools.validation.sheets import read_sheets

    rows = read_rows(given.folder)
    sheets = read_sheets(given.folder / SHEETS) if (given.folder / SHEETS).is_file() else []
    if given.list:
        for row in rows.values():
            by = "by others" if row.third_party else ""
            print(f"{row.name:<26} {row.sensor:<14} {row.kind:<12} {by:<10} {row.title}")
        return 0
    known = {*rows, *(sheet.preset for sheet in sheets)}
    if unknown := [name for name in given.names if name not in known]:
        raise RowError(f"there is no row or preset {', '.join(unknown)}; there are"
                       f" {', '.join(sorted(known))}")  # fmt: skip
    both, asked = given.rows == given.presets, set(given.names) or known
    chosen = [row for row in rows.values() if row.name in asked and (both or given.rows)]
    tables = {
        number: sheet
        for number, sheet in enumerate(sheets)
        if sheet.preset in asked and (both or given.presets)
    }
    needed = {row.simulation.fmu for row in chosen}
    needed |= {sheet.simulation.fmu for sheet in tables.values() if sheet.simulation is not None}
    if _build_missing(fmus, sorted(needed)):
        return _again(given)
    return _run(given, chosen, tables, fmus)


def _is_current(fmu: Path) -> bool:
    """Whether an FMU was built of the very sources that run here."""
    try:
        with zipfile.ZipFile(fmu) as archive:
            lines = archive.read("resources/fmu.txt").decode().splitlines()
    except (OSError, KeyError, zipfile.BadZipFile):
        return False
    return {
        f"sensor_models={sensor_models.SOURCE_DIGEST}",
        f"fmus={package.SOURCE_DIGEST}",
    } <= set(lines)


def _build_missing(fmus: Path, names: Sequence[str]) -> bool:
    """Build the FMUs that are not there, or of other sources; returns whether there were some."""
    import build_fmus
    from fmus.binding.compile import host_platform
    from sensor_models import catalog

    missing = [
        name for name in names if name in catalog.names() and not _is_current(fmus / f"{name}.fmu")
    ]
    if not missing:
        return False
    print(f"building {', '.join(missing)} into {fmus}", flush=True)
    words = ["--levels", "host", "--platforms", host_platform(), "--output", str(fmus)]
    if build_fmus.main([*words, "--only", *missing]) != 0:
        raise RuntimeError(f"the FMUs could not be built into {fmus}")
    return True


def _again(given: argparse.Namespace) -> int:
    """The same in another process, which takes the kernels of the FMUs that were built.

    In this one it is settled already that there are none, and Numba would compile them.
    """
    places = {"--report": given.report, "--folder": given.folder, "--fmus": given.fmus or FMUS}
    words = [word for name, place in places.items() for word in (name, str(place))]
    words += ["--workers", str(given.workers)]
    words += [f"--{name}" for name in ("rows", "presets", "update", "strict") if vars(given)[name]]
    command = [sys.executable, "-m", "fmus.tools.command", "validate", *given.names, *words]
    return subprocess.run(command, check=False).returncode


def _run(
    given: argparse.Namespace, rows: "Sequence[Row]", tables: "Mapping[int, Sheet]", fmus: Path
) -> int:
    from fmus.tools.validation.judging import RowResult, kept
    from fmus.tools.validation.page import write_page, write_pictures
    from fmus.tools.validation.worker import Order, run_all

    start, found = time.monotonic(), {}
    current = tuple(path.stem for path in sorted(fmus.glob("*.fmu")) if _is_current(path))
    place = str(given.folder), str(fmus), current
    orders = [Order(*place, row=row.name) for row in rows]
    orders += [Order(*place, sheet=number) for number in tables]
    for number, result in run_all(orders, [*rows, *tables.values()], given.workers):
        found[number] = result
        _say_result(result)
    ordered = [found[number] for number in range(len(orders))]
    results = [result for result in ordered if isinstance(result, RowResult)]
    sheets = [result for result in ordered if not isinstance(result, RowResult)]
    page = write_page(results, sheets, given.report / PAGE)
    failed = sum(not result.passed for result in results)
    broken = sum(bool(s.message) and s.sheet.simulation is not None for s in sheets)
    print(
        f"{len(results)} rows, {failed} failed; {len(sheets)} tables of presets, {broken} not run;"
        f" {time.monotonic() - start:.0f} s"
    )
    if given.update:
        _update(given, [kept(result) for result in results], sheets)
        write_pictures(results, given.folder.parent / "docs" / "validation")
    print(page)
    return int(given.strict and failed + broken > 0)


def _say_result(result: "RowResult | SheetResult") -> None:
    from fmus.tools.validation.judging import RowResult

    if not isinstance(result, RowResult):
        _say(f"preset {result.sheet.preset}", "", result.seconds, result.message)
        return
    _say(result.row.name, result.verdict, result.seconds, result.message)
    for judged in result.judged:
        if not judged.passed:
            _say_failed(judged)


def _say(name: str, verdict: str, seconds: float, message: str) -> None:
    print(f"{name:<30} {verdict:<8} {seconds:6.1f} s  {message}".rstrip(), flush=True)


def _say_failed(judged: "Judged") -> None:
    number = judged.number
    print(
        f"    {number.name}: {judged.simulated:.4g}, published {number.published:.4g}"
        f" {number.unit}, {judged.allowed}",
        flush=True,
    )


def _update(
    given: argparse.Namespace, rows: "Sequence[KeptRow]", sheets: "Sequence[SheetResult]"
) -> None:
    """Write what the project keeps: results of what was run, and of what was not as they were."""
    from fmus.tools.validation.documents import row_document
    from fmus.tools.validation.results import RESULTS, read_results, write_results
    from fmus.tools.validation.rows import read_rows
    from fmus.tools.validation.sheets import sheet_document

    file = given.folder / RESULTS
    found = {row.name: row for row in (*read_results(file), *rows)}
    there = [found[name] for name in read_rows(given.folder) if name in found]
    write_results(file, there)
    documents = given.folder.parent / "docs"
    if documents.is_dir():
        (documents / "validation_rows.md").write_text(row_document(there), encoding="utf-8")
        if sheets and not given.names:  # a part of the table would stand for all of it
            (documents / "presets_measured.md").write_text(sheet_document(sheets), encoding="utf-8")
