"""The presets against their data sheets: ``validation/presets.toml``.

::

    [[sheet]]
    preset = "VN-100"
    fmu = { name = "Imu", duration = 3600.0, step = 200.0 }
    method = { name = "allan" }
    page = "specifications of the product page"     # where in the preset's own datasheet
    numbers = [
      { result = "accelerometer.noise", published = 0.14, unit = "mg/sqrt(Hz)" },
    ]

Keys are those of rows, and there are no tolerances: the table says what the sheet says, what the
FMU gives, and the ratio. A preset may have several such tables; one without numbers says why in
``nothing``.
"""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from fmus.tools.campaigns.master import RunError
from fmus.tools.validation.judging import Judged, evaluated, judged_of
from fmus.tools.validation.rows import (
    Number,
    RowError,
    Simulation,
    check_keys,
    numbers_of,
    simulation_of,
    text,
)
from sensor_models.core.toml_files import TomlError, read_toml

_KEYS = ("preset", "fmu", "method", "page", "numbers", "scenes", "files", "runs", "nothing")


@dataclass(frozen=True)
class Sheet:
    """Numbers of one data sheet that are simulated together."""

    preset: str
    page: str
    numbers: tuple[Number, ...]
    simulation: Simulation | None
    nothing: str = ""


@dataclass(frozen=True)
class SheetResult:
    """What became of them."""

    sheet: Sheet
    judged: tuple[Judged, ...]
    seconds: float
    message: str = ""


def read_sheets(path: Path) -> list[Sheet]:
    """Read and check the numbers of data sheets."""
    try:
        content = read_toml(path)
        check_keys("", content, ("sheet",), ("sheet",))
        return [_sheet(path, table) for table in content["sheet"]]
    except TomlError as error:
        raise RowError(str(error)) from error
    except RowError as error:
        raise RowError(f"{path}: {error}") from error


def _sheet(path: Path, table: Mapping[str, Any]) -> Sheet:
    check_keys("sheet.", table, ("preset",), _KEYS)
    preset = text("sheet.preset", table["preset"])
    try:
        if "nothing" in table:
            check_keys("", table, (), ("preset", "nothing"))
            return Sheet(preset, "", (), None, text("nothing", table["nothing"]))
        check_keys("", table, ("fmu", "method", "page", "numbers"), _KEYS)
        fmu = {"preset": preset, **table["fmu"]}
        simulation = simulation_of(path, {**table, "fmu": fmu})
        numbers = numbers_of(table["numbers"], judged=False)
        return Sheet(preset, text("page", table["page"]), numbers, simulation)
    except RowError as error:
        raise RowError(f"sheet of {preset}: {error}") from error


def run_sheet(sheet: Sheet, fmus: Path, folder: Path) -> SheetResult:
    """Simulate the numbers of a data sheet; what goes wrong is the message."""
    start = time.monotonic()
    if sheet.simulation is None:
        return SheetResult(sheet, (), 0.0, sheet.nothing)
    try:
        outcome = evaluated("sheet", sheet.simulation, fmus, folder)
        judged = judged_of(sheet.numbers, outcome)
    except (RowError, RunError, ValueError, KeyError) as error:
        message = str(error.args[0]) if isinstance(error, KeyError) else str(error)
        return SheetResult(sheet, (), time.monotonic() - start, message)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return SheetResult(sheet, judged, time.monotonic() - start)


def _cells(results: Sequence[SheetResult]) -> list[tuple[str, ...]]:
    """The lines of the table: preset, number, sheet, simulated, unit, ratio, page."""
    lines: list[tuple[str, ...]] = []
    for result in results:
        preset, page = result.sheet.preset, result.sheet.page
        for judged in result.judged:
            number = judged.number
            ratio = "" if judged.ratio is None else f"{judged.ratio:.3f}"
            if judged.ratio is None and number.published != 0.0:
                ratio = f"{judged.simulated - number.published:+.2f} {number.unit}"
            values = f"{number.published:.4g}", f"{judged.simulated:.4g}"
            name = f"{number.name} ({number.reason})" if number.reason else number.name
            lines.append((preset, name, *values, number.unit, ratio, page))
        if not result.judged:
            lines.append((preset, result.message or "nothing", "", "", "", "", page))
    return lines


HEAD = ("preset", "number", "sheet", "simulated", "unit", "ratio", "where in the sheet")


def sheet_table(results: Sequence[SheetResult]) -> str:
    """The table as HTML."""
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
        for line in _cells(results)
    )
    head = "".join(f"<th>{name}</th>" for name in HEAD)
    return f'<div class="wide"><table id="sheets">\n<tr>{head}</tr>\n{rows}\n</table></div>'


def sheet_document(results: Sequence[SheetResult]) -> str:
    """The table as a document in Markdown."""
    lines = [
        "# Presets against their data sheets",
        "",
        "Each number that the sheet of a preset gives of what a user gets, and what the FMU gives"
        " with that preset. Written by `sensor-fmus validate --update` (`make validate`); the"
        " numbers of the sheets are in `validation/presets.toml`.",
        "",
        "| " + " | ".join(HEAD) + " |",
        "|" + " --- |" * len(HEAD),
    ]
    lines += [
        "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |" for cells in _cells(results)
    ]
    return "\n".join(lines) + "\n"
