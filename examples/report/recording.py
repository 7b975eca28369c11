"""The truth and the readings of a drive, and the files of the sensors."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

Floats = NDArray[np.float64]
VECTOR, QUATERNION = ("x", "y", "z"), ("w", "x", "y", "z")


@dataclass
class Timing:
    """How long the steps of one FMU took."""

    name: str
    model: str
    step: float  # s, communication step
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Recording:
    """A drive: the truth and the readings at equal steps, and where its files are."""

    time: Floats
    truth: Mapping[str, Floats]  # outputs of the vehicle by name
    readings: Mapping[str, Floats]  # "instance.output"
    data: Path  # directory of the files
    timings: list[Timing]
    parameters: Mapping[str, Mapping[str, Any]]  # that were set, by instance
    wall: float  # s, of the whole co-simulation, files and all
    messages: list[tuple[str, str]] = field(default_factory=list)  # of FMUs: instance and text

    @property
    def seconds(self) -> float:
        """The duration of the drive in simulated time."""
        return round(float(self.time[-1]), 6)

    @property
    def factor(self) -> float:
        """Simulated time over the time that it took."""
        return self.seconds / self.wall

    def vector(self, group: str, parts: tuple[str, ...] = VECTOR) -> Floats:
        """A vector of the truth, (steps, parts)."""
        return np.column_stack([self.truth[f"{group}.{part}"] for part in parts])

    @cached_property
    def orientation(self) -> Floats:
        """Orientation of the body."""
        return self.vector("body.orientation", QUATERNION)

    @cached_property
    def heading(self) -> Floats:
        """True heading, not wrapped."""
        return headings(self.orientation)

    @cached_property
    def index(self) -> list[dict[str, Any]]:
        """The lines of the sensors' index that describe files."""
        lines = (self.data / "index.jsonl").read_text(encoding="utf-8").splitlines()
        return [entry for entry in map(json.loads, lines) if "file" in entry]

    def frames(self, sensor: str, kind: str) -> list[dict[str, Any]]:
        """The files of one kind of one sensor, in order."""
        found = [e for e in self.index if e["sensor"] == sensor and e.get("kind") == kind]
        return sorted(found, key=lambda entry: int(entry["frame"]))

    def nearest(self, sensor: str, kind: str, at: float) -> dict[str, Any]:
        """The file of the frame that is nearest to an instant."""
        return min(self.frames(sensor, kind), key=lambda entry: abs(float(entry["time"]) - at))

    def load(self, entry: Mapping[str, Any]) -> NDArray[Any]:
        """The array in a file."""
        return np.asarray(np.load(self.data / entry["file"], mmap_mode="r"))

    def table(self, entry: Mapping[str, Any]) -> dict[str, Floats]:
        """The columns of a table in a file."""
        table = pyarrow.parquet.read_table(self.data / entry["file"])
        return {name: table.column(name).to_numpy() for name in table.column_names}

    def record(self, sensor: str) -> dict[str, Floats]:
        """The columns of a sensor's record."""
        (entry,) = (e for e in self.index if e["sensor"] == sensor and e.get("format") == "parquet")
        return self.table(entry)


def headings(orientations: Floats) -> Floats:
    """Headings of quaternions w, x, y, z, from the world's x axis to its y axis, not wrapped."""
    w, x, y, z = orientations.T
    return np.unwrap(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))
