"""What a run left, and what a method makes of it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """A run that was made: its place on the curves, its files, its last outputs."""

    at: float
    folder: Path
    outputs: Mapping[str, float]
    duration: float

    @property
    def record(self) -> Path:
        """The table of its samples."""
        return next(iter(sorted(self.folder.glob("*.parquet"))))

    def columns(self, *names: str) -> list[Floats]:
        """Columns of the table of samples."""
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(self.record, columns=list(names))
        return [table[name].to_numpy().astype(np.float64) for name in names]

    @cached_property
    def _lines(self) -> list[dict[str, Any]]:
        text = (self.folder / "index.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The effective parameters, as the FMU wrote them down."""
        found: Mapping[str, Any] = self._lines[0]["parameters"]
        return found

    @property
    def camera_matrix(self) -> list[list[float]]:
        """The camera matrix in OpenCV's form, [] if the frames have none."""
        matrix: list[list[float]] = self._lines[1].get("opencv", {}).get("camera_matrix", [])
        return matrix

    def frames(self, suffix: str) -> Iterator[NDArray[Any]]:
        """The arrays of frames whose files end so, in their order."""
        for file in sorted(self.folder.glob(f"*{suffix}")):
            yield np.load(file)


@dataclass
class Outcome:
    """Results of a method, in SI units, by their names."""

    values: dict[str, float] = field(default_factory=dict)
    curves: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    samples: dict[str, Floats] = field(default_factory=dict)
    axis: str = ""
    """What the curves are over, with its unit."""

    def value(self, name: str, at: float | None) -> float:
        """A result; on a curve between its points, along straight lines of logarithms.

        Raises:
            KeyError: if the method has no such result; it names those that there are.
        """
        if at is None and name in self.values:
            return self.values[name]
        if at is not None and name in self.curves:
            return _on_curve(*self.curves[name], at)
        there = ", ".join(self.values if at is None else self.curves) or "none"
        raise KeyError(f"the method has no {'number' if at is None else 'curve'} {name}; it has"
                       f" {there}")  # fmt: skip


def _on_curve(places: Floats, values: Floats, at: float) -> float:
    if not places[0] * (1 - 1e-9) <= at <= places[-1] * (1 + 1e-9):
        raise KeyError(f"{at:g} is not on the curve, which goes from {places[0]:g} to"
                       f" {places[-1]:g}")  # fmt: skip
    if np.any(places == at):
        return float(values[places == at][0])
    if np.all(values > 0.0) and np.all(places > 0.0):
        return float(np.exp(np.interp(np.log(at), np.log(places), np.log(values))))
    return float(np.interp(at, places, values))


Evaluation = Callable[[Sequence[Run], Mapping[str, Any]], Outcome]
