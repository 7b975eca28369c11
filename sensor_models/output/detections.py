"""Lists of detections as files: one for each frame, a row for each detection.

parquet   columns with unit and description
csv       a row of names, numbers with the digits that read back as the same float

Values that a sensor does not know are NaN here, unlike on the outputs of an FMU.

``frame_files`` writes the files to the disk.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import choice, string
from sensor_models.output.frame_files import FrameWriter
from sensor_models.output.records import (
    RecordFormat,
    columns_of,
    row_type,
    write_table,
)
from sensor_models.output.sinks import WriteFiles, write_files


@dataclass(frozen=True)
class DetectionFileParameters:
    """Where lists of detections go."""

    write_files: WriteFiles = write_files("Write the detections of each frame to a file")
    output_directory: str = string(
        "", "Directory for files; if they are wanted and it is empty, a fresh temporary one"
    )
    output_format: RecordFormat = choice(RecordFormat.parquet, "Kind of file of the detections")


@dataclass(frozen=True)
class DetectionFile:
    """The detections of one frame."""

    reading: type
    #: Number and instant of the frame, then the scalars of the reading.
    detections: Sequence[tuple[Any, ...]]
    format: RecordFormat = RecordFormat.parquet

    @property
    def suffix(self) -> str:
        """What its name ends with."""
        return f"detections.{self.format.name}"

    @property
    def content(self) -> NDArray[np.void]:
        """The detections as records."""
        return np.array(list(self.detections), row_type(columns_of(self.reading)))

    def write(self, path: Path) -> Mapping[str, object]:
        """Write it to a path and tell what the index should know of it."""
        columns, rows = columns_of(self.reading), self.content
        write_table(path, self.format, [rows], columns)
        units = {column.name: column.unit for column in columns}
        about = {"kind": "detections", "format": self.format, "units": units}
        return {**about, "detections": len(rows)}


def detection_writer(
    sensor: str, parameters: DetectionFileParameters, effective: Mapping[str, object]
) -> FrameWriter:
    """The writer of the files of a sensor's frames."""
    return FrameWriter(sensor, parameters, effective)
