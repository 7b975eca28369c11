"""Running a campaign: batches of runs for the workers of a pool, a row when a run ends.

A worker reads the description itself and opens the FMUs once; the values of runs are drawn by the
caller alone. Runs are handed out in batches that take about half a second, so that handing out
costs almost nothing; the first batches are of one run. If the process of a batch dies, its runs are
repeated one by one, so that only the run that kills the process fails.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fmus.building.sources import Models
from fmus.tools.campaigns.description import Campaign, read_campaign
from fmus.tools.campaigns.design import Run
from fmus.tools.campaigns.master import Master, RunError, Series
from fmus.tools.campaigns.metrics import MetricError, evaluate
from fmus.tools.campaigns.results import Results, Row, plain
from fmus.tools.campaigns.worker import Order, packed, run_batch
from sensor_models.output.parquet import write_parquet
from sensor_models.tools.workers import Failure, Task, WorkerPool

#: Seconds that a batch should take, and the most runs in it.
BATCH_SECONDS, MOST_IN_BATCH = 0.5, 200
#: Seconds between two tables.
TABLE_SECONDS = 10.0

Progress = Callable[[int, int], None]


def open_campaign(path: Path | str, *, trust: bool = False, draw: bool = True) -> Campaign:
    """A campaign with the FMUs of this project; see ``read_campaign``."""
    return read_campaign(Path(path), Models(), trust=trust, draw=draw)


def identity(campaign: Campaign) -> dict[str, Any]:
    """What identifies the results of this campaign: the contents of description and FMUs."""
    digest = hashlib.sha256(campaign.path.read_bytes())
    files = _files(campaign)
    for part in campaign.system.parts:
        digest.update(json.dumps([part.name, str(part.parameters)]).encode())
        digest.update(hashlib.sha256(files[part.name].read_bytes()).digest())
    return {"name": campaign.name, "digest": digest.hexdigest()}


def run_campaign(
    path: Path | str,
    directory: Path | str,
    pool: WorkerPool,
    progress: Progress | None = None,
    *,
    trust: bool = False,
) -> Results:
    """Run what is left of a campaign; returns its complete results, closed.

    Args:
        path: the description.
        directory: for the results; nobody else may write to it meanwhile.
        pool: the workers.
        progress: is called with how many runs are done, and how many there are.
        trust: whether metrics may run any code.
    """
    campaign = open_campaign(path, trust=trust)
    files = _files(campaign)
    missing = [str(file) for file in files.values() if not file.is_file()]
    if missing:
        raise RunError(f"{', '.join(missing)} is missing: build it with build_fmus.py")
    place, known = Path(directory).absolute(), identity(campaign)
    results = Results(place, known)
    try:
        left = [run.number for run in campaign.runs if run.number not in results.rows]
        fmus = tuple((part, str(file)) for part, file in files.items())
        order = Order(str(campaign.path), known["digest"], str(place), fmus, trust)
        _Runner(campaign, order, results, progress).run(left, pool)
        results.write_table()
    finally:
        results.close()
    return results


def _files(campaign: Campaign) -> dict[str, Path]:
    """The files of the FMUs, by the names of their parts."""
    return {
        part.name: (part.source or campaign.fmus / f"{part.model_name}.fmu").absolute()
        for part in campaign.system.parts
    }


class _Runner:
    """Hands out runs and collects their rows."""

    def __init__(
        self,
        campaign: Campaign,
        order: Order,
        results: Results,
        progress: Progress | None,
    ) -> None:
        self._order, self._runs = order, campaign.runs
        self._results, self._progress = results, progress
        self._seconds = BATCH_SECONDS  # of a run, as far as is known
        self._written = time.monotonic()

    def run(self, numbers: Sequence[int], pool: WorkerPool) -> None:
        """Do these runs; those of batches that failed are repeated one by one."""
        alone = self._round(self._batches(numbers), pool)
        failed = self._round(([number] for number in alone), pool)
        for number in failed:
            raise AssertionError(f"run {number} has no row")

    def _batches(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        first = 0
        while first < len(numbers):
            size = max(1, min(MOST_IN_BATCH, int(BATCH_SECONDS / max(self._seconds, 1e-6))))
            yield list(numbers[first : first + size])
            first += size

    def _round(self, batches: Iterator[list[int]], pool: WorkerPool) -> list[int]:
        """Do batches; returns the runs of batches of several runs that failed as a whole."""
        under_way: dict[int, list[int]] = {}

        def tasks() -> Iterator[Task]:
            for index, numbers in enumerate(batches):
                under_way[index] = numbers
                runs = packed([self._runs[number] for number in numbers])
                yield Task(run_batch, (self._order, runs))

        again: list[int] = []
        for outcome in pool.run(tasks()):
            numbers = under_way.pop(outcome.index)
            if not isinstance(outcome.result, Failure):
                self._take(outcome.result)
            elif len(numbers) > 1:
                again += numbers
            else:
                self._take([self._failed(numbers[0], outcome.result)])
        return again

    def _failed(self, number: int, failure: Failure) -> Row:
        run = self._runs[number]
        values = {name: plain(value) for name, value in run.values.items()}
        return Row(number, run.seed, values, {}, "failed", failure.message, 0.0, "")

    def _take(self, rows: list[Row]) -> None:
        for row in rows:
            self._results.add(row)
            if row.seconds:  # a mean over the last ten or so
                self._seconds += 0.1 * (row.seconds - self._seconds)
        if self._progress is not None:
            self._progress(len(self._results.rows), len(self._runs))
        if time.monotonic() - self._written > TABLE_SECONDS:
            self._results.write_table()
            self._written = time.monotonic()


# ---- in a worker ---------------------------------------------------------------------------------


@cache
def at_work(path: str, _digest: str, trust: bool) -> tuple[Campaign, Master]:
    """What a worker needs for a campaign; made once, and again if the digest changes."""
    campaign = open_campaign(path, trust=trust, draw=False)
    return campaign, Master(campaign.system, campaign.fmus, campaign.outputs)


def run_once(campaign: Campaign, run: Run, master: Master, directory: Path) -> Row:
    """One run and its row."""
    kept = campaign.keep_files or campaign.series
    folder = f"runs/{run.number:06d}" if kept else ""
    files = directory / folder if campaign.keep_files else None
    values = {name: plain(value) for name, value in run.values.items()}
    start = time.perf_counter()
    metrics: dict[str, float] = {}
    status, message = "ok", ""
    try:
        series = master.run(run.values, run.seed, campaign.step, campaign.stop, files)
        if campaign.series:
            _write_series(directory / folder, series, campaign.series)
        metrics = {metric.name: evaluate(metric, series) for metric in campaign.metrics}
    except (RunError, MetricError, OSError) as error:
        status, message = "failed", str(error)
    seconds = time.perf_counter() - start
    return Row(run.number, run.seed, values, metrics, status, message, seconds, folder)


def _write_series(directory: Path, series: Series, names: Sequence[str]) -> None:
    """Outputs over time as Parquet."""
    directory.mkdir(parents=True, exist_ok=True)
    columns = {"t": series.times, **{name: series.columns[name] for name in names}}
    aside = directory / "series.parquet.part"
    write_parquet(aside, columns)
    aside.replace(directory / "series.parquet")
