"""What a process does: it is told a row, or a table of a sheet, and gives what became of it.

It imports what has kernels only when it knows where those of the FMUs are (``unpacked``), so that
its orders are names, and not rows.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fmus.tools.campaigns.unpacked import use_kernels_of

if TYPE_CHECKING:
    from fmus.tools.validation.judging import RowResult
    from fmus.tools.validation.rows import Row, Simulation
    from fmus.tools.validation.sheets import Sheet, SheetResult
    from sensor_models.tools.workers import Failure


@dataclass(frozen=True)
class Order:
    """A row by its name, or a table by its number among those of the file of sheets."""

    folder: str
    fmus: str
    current: tuple[str, ...]  # the FMUs whose kernels this process may take
    row: str = ""
    sheet: int = -1


def run_order(order: Order) -> "RowResult | SheetResult":
    """Run what is ordered, in this process."""
    fmus = Path(order.fmus)
    use_kernels_of({name: fmus / f"{name}.fmu" for name in order.current})
    from fmus.tools.validation.judging import run_row
    from fmus.tools.validation.rows import SHEETS, read_rows
    from fmus.tools.validation.sheets import read_sheets, run_sheet

    with tempfile.TemporaryDirectory(prefix="validate-") as place:
        files = Path(place) / "files"
        if order.row:
            return run_row(read_rows(Path(order.folder))[order.row], fmus, files)
        return run_sheet(read_sheets(Path(order.folder) / SHEETS)[order.sheet], fmus, files)


def run_all(
    orders: Sequence[Order], parts: "Sequence[Row | Sheet]", workers: int
) -> "Iterator[tuple[int, RowResult | SheetResult]]":
    """Results of rows and tables as they come, each with its place: the longest are begun first."""
    places = sorted(range(len(orders)), key=lambda place: -_length(parts[place].simulation))
    if min(workers, len(orders)) <= 1:
        yield from ((place, run_order(orders[place])) for place in places)
        return
    from sensor_models.tools.workers import Failure, Task
    from sensor_models.tools.workers.local import LocalPool

    pool = LocalPool(min(workers, len(orders)))
    try:
        for outcome in pool.run(Task(run_order, (orders[place],)) for place in places):
            place, result = places[outcome.index], outcome.result
            yield place, _lost(parts[place], result) if isinstance(result, Failure) else result
    finally:
        pool.close()


def _length(simulation: "Simulation | None") -> float:
    """How long a simulation takes, about: what it simulates, of all its runs."""
    return 0.0 if simulation is None else simulation.duration * len(simulation.runs)


def _lost(part: "Row | Sheet", failure: "Failure") -> "RowResult | SheetResult":
    """What became of a row whose process ended, or that failed in a way that is not foreseen."""
    from fmus.tools.validation.judging import RowResult
    from fmus.tools.validation.rows import Row
    from fmus.tools.validation.sheets import SheetResult

    if isinstance(part, Row):
        return RowResult(part, (), 0.0, message=failure.message)
    return SheetResult(part, (), 0.0, failure.message)
