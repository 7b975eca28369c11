"""Verdicts: each published number against the simulated one, and whether a row passes.

A row passes if all of its numbers do. A row that could not be run has failed, with its message.
"""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from fmus.tools.campaigns.master import RunError
from fmus.tools.validation.methods import METHODS, Outcome
from fmus.tools.validation.metric import double_validation_metric, samples_of
from fmus.tools.validation.results import KeptNumber, KeptRow
from fmus.tools.validation.rows import (
    Distribution,
    Number,
    Row,
    RowError,
    Simulation,
    factor_of,
)
from fmus.tools.validation.running import runs_of

#: Units that are differences where the published value is one, so that a ratio says nothing.
LOGARITHMIC = ("dB", "dBsm")


@dataclass(frozen=True)
class Judged:
    """A published number beside the simulated one, both in its unit."""

    number: Number
    simulated: float

    @property
    def ratio(self) -> float | None:
        """Simulated by published; None where that means nothing."""
        if self.number.unit in LOGARITHMIC or self.number.published == 0.0:
            return None
        return self.simulated / self.number.published

    @property
    def passed(self) -> bool:
        """Whether it is within its tolerance; numbers without one are."""
        if self.number.tolerance is None:
            return True
        kind, size = self.number.tolerance
        published = self.number.published
        if kind == "bound":
            return self.simulated <= published if size == "most" else self.simulated >= published
        allowed = float(size) * (abs(published) if kind == "relative" else 1.0)
        return bool(abs(self.simulated - published) <= allowed)

    @property
    def allowed(self) -> str:
        """The tolerance as a text."""
        if self.number.tolerance is None:
            return ""
        kind, size = self.number.tolerance
        if kind == "bound":
            return f"at {size}"
        if kind == "relative":
            return f"±{float(size) * 100:.3g} %"
        return f"±{float(size):.3g} {self.number.unit}"


@dataclass(frozen=True)
class Apart:
    """The Double Validation Metric of a distribution, in its unit."""

    bias: float
    shape: float
    unit: str


@dataclass(frozen=True)
class RowResult:
    """What became of a row."""

    row: Row
    judged: tuple[Judged, ...]
    seconds: float
    outcome: Outcome | None = None
    apart: Apart | None = None
    message: str = ""

    @property
    def passed(self) -> bool:
        """Whether it ran, and all numbers are within their tolerances."""
        return not self.message and all(judged.passed for judged in self.judged)

    @property
    def verdict(self) -> str:
        """One word."""
        return "passed" if self.passed else "failed" if not self.message else "not run"


def run_row(row: Row, fmus: Path, folder: Path, *, keep: bool = False) -> RowResult:
    """Run a row and judge it; what goes wrong in it is its message."""
    start = time.monotonic()
    try:
        outcome = evaluated(row.name, row.simulation, fmus, folder)
        judged = judged_of(row.numbers, outcome)
        apart = apart_of(row.distribution, outcome)
    except (RowError, RunError, ValueError, KeyError) as error:
        message = str(error.args[0]) if isinstance(error, KeyError) else str(error)
        return RowResult(row, (), time.monotonic() - start, message=message)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return RowResult(row, judged, time.monotonic() - start, outcome, apart)


def evaluated(name: str, simulation: Simulation, fmus: Path, folder: Path) -> Outcome:
    """What the method makes of the runs."""
    method = METHODS[simulation.method]
    return method.function(list(runs_of(name, simulation, fmus, folder)), simulation.options)


def judged_of(numbers: tuple[Number, ...], outcome: Outcome) -> tuple[Judged, ...]:
    """Published numbers with the simulated ones beside them."""
    return tuple(
        Judged(number, outcome.value(number.result, number.at) / factor_of(number.unit))
        for number in numbers
    )


def apart_of(given: Distribution | None, outcome: Outcome) -> Apart | None:
    """How far the distribution of a row is from the simulated one."""
    if given is None:
        return None
    if given.result not in outcome.samples:
        there = ", ".join(outcome.samples) or "none"
        raise RowError(f"distribution.result = {given.result!r}: the method has {there}")
    bias, shape = double_validation_metric(outcome.samples[given.result], samples_of(given))
    factor = factor_of(given.unit)
    return Apart(bias / factor, shape / factor, given.unit)


def kept(result: RowResult) -> KeptRow:
    """What is kept of a result."""
    row, apart = result.row, result.apart
    metric = ""
    if apart is not None:
        metric = f"d_bias {apart.bias:.3g}, d_CC {apart.shape:.3g} {apart.unit}"
    return KeptRow(
        row.name,
        row.title,
        row.sensor,
        fmus_of(result),
        row.kind,
        row.third_party,
        row.proves,
        str(row.source),
        result.verdict,
        result.message,
        tuple(_number(judged) for judged in result.judged),
        metric,
    )


def _number(judged: Judged) -> KeptNumber:
    number = judged.number
    return KeptNumber(
        number.name,
        number.published,
        float(f"{judged.simulated:.4g}"),
        number.unit,
        judged.allowed,
        judged.passed,
    )


#: Parts of an IMU that are FMUs of their own, with the same models.
PARTS = {"accelerometer": "Accelerometer", "gyroscope": "Gyroscope", "magnetometer": "Magnetometer"}


def fmus_of(result: RowResult) -> tuple[str, ...]:
    """The FMUs that a row speaks of: its own, and those with the same models as its parts."""
    fmu = result.row.simulation.fmu
    if fmu != "Imu":
        return (fmu,)
    used = {number.result.partition(".")[0] for number in result.row.numbers}
    return (fmu, *(model for part, model in PARTS.items() if part in used))
