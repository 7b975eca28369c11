"""Running a campaign: batches of runs for the workers of a crew, a row when a run ends.

A worker reads the description itself and opens the FMUs once. Runs are handed out in batches that
take about half a second, so that handing out costs almost nothing; the first batches are of one
run. If the process of a batch dies, its runs are repeated one by one, so that only the run that
kills the process fails.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fmus.building.sources import fmu_sources
from fmus.campaigns.description import Campaign, read_campaign
from fmus.campaigns.design import Run, runs_of
from fmus.campaigns.master import Master, RunError, Series
from fmus.campaigns.metrics import MetricError, evaluate
from fmus.campaigns.results import Results, Row, plain
from sensor_models.crew import Crew, Failure, Task

#: Seconds that a batch should take, and the most runs in it.
BATCH_SECONDS, MOST_IN_BATCH = 0.5, 200
#: Seconds between two tables.
TABLE_SECONDS = 10.0

Progress = Callable[[int, int], None]


def open_campaign(path: Path) -> Campaign:
    """A campaign with the FMUs of this project."""
    return read_campaign(path, {name: source.model for name, source in fmu_sources().items()})


def identity(campaign: Campaign) -> dict[str, Any]:
    """What identifies the results of this campaign: the contents of description and FMUs."""
    digest = hashlib.sha256(campaign.path.read_bytes())
    for part in campaign.system.parts:
        file = part.source or campaign.fmus / f"{part.model_name}.fmu"
        digest.update(json.dumps([part.name, str(part.parameters)]).encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return {"name": campaign.name, "digest": digest.hexdigest()}


def run_campaign(
    path: Path, directory: Path, crew: Crew, progress: Progress | None = None
) -> Results:
    """Run what is left of a campaign; returns its complete results, closed."""
    campaign = open_campaign(path)
    missing = [str(file) for file in _files(campaign) if not file.is_file()]
    if missing:
        raise RunError(f"{', '.join(missing)} is missing: build it with build_fmus.py")
    runs = runs_of(campaign.sampling, campaign.variations)
    results = Results(directory, identity(campaign))
    try:
        left = [run.number for run in runs if run.number not in results.rows]
        _Runner(campaign, directory, runs, results, progress).run(left, crew)
        results.write_table()
    finally:
        results.close()
    return results


def _files(campaign: Campaign) -> list[Path]:
    return [
        part.source or campaign.fmus / f"{part.model_name}.fmu" for part in campaign.system.parts
    ]


class _Runner:
    """Hands out runs and collects their rows."""

    def __init__(
        self,
        campaign: Campaign,
        directory: Path,
        runs: Sequence[Run],
        results: Results,
        progress: Progress | None,
    ) -> None:
        self._campaign, self._directory, self._runs = campaign, directory.absolute(), runs
        self._results, self._progress = results, progress
        self._seconds = BATCH_SECONDS  # of a run, as far as is known
        self._written = time.monotonic()

    def run(self, numbers: Sequence[int], crew: Crew) -> None:
        """Do these runs; those of batches that failed are repeated one by one."""
        alone = self._round(self._batches(numbers), crew)
        failed = self._round(([number] for number in alone), crew)
        for number in failed:
            raise AssertionError(f"run {number} has no row")

    def _batches(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        first = 0
        while first < len(numbers):
            size = max(1, min(MOST_IN_BATCH, int(BATCH_SECONDS / max(self._seconds, 1e-6))))
            yield list(numbers[first : first + size])
            first += size

    def _round(self, batches: Iterator[list[int]], crew: Crew) -> list[int]:
        """Do batches; returns the runs of batches of several runs that failed as a whole."""
        under_way: dict[int, list[int]] = {}
        path, digest = str(self._campaign.path), identity(self._campaign)["digest"]

        def tasks() -> Iterator[Task]:
            for index, numbers in enumerate(batches):
                under_way[index] = numbers
                yield Task(run_batch, (path, digest, str(self._directory), numbers))

        again: list[int] = []
        for outcome in crew.run(tasks()):
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
def _at_work(path: str, _digest: str) -> tuple[Campaign, list[Run], Master]:
    """What a worker needs for a campaign; made once, and again if the digest changes."""
    campaign = open_campaign(Path(path))
    runs = runs_of(campaign.sampling, campaign.variations)
    return campaign, runs, Master(campaign.system, campaign.fmus, campaign.outputs)


def run_batch(path: str, digest: str, directory: str, numbers: Sequence[int]) -> list[Row]:
    """Do some runs of a campaign, in this process."""
    campaign, runs, master = _at_work(path, digest)
    return [run_once(campaign, runs[number], master, Path(directory)) for number in numbers]


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
    import pyarrow as pa
    import pyarrow.parquet as pq

    directory.mkdir(parents=True, exist_ok=True)
    columns = {"t": series.times, **{name: series.columns[name] for name in names}}
    aside = directory / "series.parquet.part"
    pq.write_table(pa.table(columns), aside)
    aside.replace(directory / "series.parquet")
