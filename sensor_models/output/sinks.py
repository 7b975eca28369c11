"""Where the results of a sensor go, besides its outputs: into a record, or into files of frames.

A sink takes results one after the other. It is opened when the sensor begins, and then notices a
directory that cannot be written to. A sensor that has only outputs opens none. Each sink writes on
a thread of its own (``records``, ``frame_files``).

Frames are written only if the user asks for it, by ``write_files`` = on or by a directory in
``output_directory``: a sensor that sees would fill a disk within minutes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import IntEnum
from operator import itemgetter
from typing import Any, Protocol

from sensor_models.core.quantities import boolean, choice
from sensor_models.core.sensor import Result
from sensor_models.core.spec import Group, SensorSpec, scalars_of
from sensor_models.output.frame_files import FrameFiles, FrameWriter
from sensor_models.output.records import Column, Record, RecordFormat, RecordParameters
from sensor_models.output.text_logs import TextFile


class WriteFiles(IntEnum):
    """Whether frames are written to files."""

    auto = 0
    off = 1
    on = 2


def write_files(what: str) -> Any:
    """Declare the parameter ``write_files``; ``what`` is a sentence that says what is written."""
    ways = "if output_directory is set (auto), never (off), always (on)"
    return choice(WriteFiles.auto, f"{what}: {ways}")


class FileParameters(Protocol):
    """The parameters of files of frames."""

    @property
    def write_files(self) -> WriteFiles:
        """Whether files are written."""

    @property
    def output_directory(self) -> str:
        """Directory for files; empty for a fresh one."""


@dataclass(frozen=True)
class FrameTableParameters:
    """Whether and how a sensor that takes frames records a table of them."""

    record: bool = boolean(
        False, "Record a table of all frames, with the outputs of each, in output_directory"
    )
    record_format: RecordFormat = choice(RecordFormat.parquet, "Format of that table")


def wants_files(parameters: FileParameters) -> bool:
    """Whether frames are to be written to files."""
    if parameters.write_files == WriteFiles.auto:
        return bool(parameters.output_directory)
    return parameters.write_files == WriteFiles.on


class RecordSink:
    """All samples, or a table of all frames, in one file, and their texts in other files."""

    def __init__(
        self,
        sensor: str,
        readings: tuple[Group, ...],
        parameters: RecordParameters,
        effective: Mapping[str, object],
        texts: Iterable[TextFile] = (),
        more: Sequence[Column] = (),
    ) -> None:
        self._record = Record(sensor, readings, parameters, effective, more)
        names = [name for name, _, _ in scalars_of(readings)]
        #: The logs of texts, and the places of the texts among the values.
        self._texts = [
            (names.index(t.reading), self._record.log_beside(t.suffix))
            for t in texts
            if effective[t.on]
        ]
        numbers = [i for i, (_, q, _) in enumerate(scalars_of(readings)) if q.kind != "string"]
        count = len(scalars_of(readings))
        every = len(numbers) == count
        numbers.extend(range(count, count + len(more)))
        self._numbers = None if every else itemgetter(*numbers)

    def take(self, result: Result) -> None:
        """Record a result."""
        values = result.values if self._numbers is None else self._numbers(result.values)
        self._record.append(result.number, result.time, values)
        for place, log in self._texts:
            log.append(result.number, result.values[place])

    @property
    def next_index(self) -> int:
        """The index that continues the record."""
        return self._record.next_index

    def rewind(self, index: int) -> None:
        """Continue at a result, whether it is one recorded before or one further on."""
        self._record.rewind(index)
        for _, log in self._texts:
            log.rewind(index)

    def publish(self) -> None:
        """Write the file; the record may still be rewound and continued."""
        self._record.publish()
        for _, log in self._texts:
            log.publish()

    def close(self) -> None:
        """Finish the file."""
        with ExitStack() as stack:  # close all, even if one of them fails
            stack.callback(self._record.close)
            for _, log in self._texts:
                stack.callback(log.close)


class FrameSink:
    """The files of frames.

    An output names a file only when it is complete. After each step the newest file of earlier
    steps has to be named, so which file that is depends only on the frames and not on the speed of
    the disk. If the file is not written yet, reading the name waits for it, or the step that takes
    the next frame does (``names_now``).
    """

    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer
        #: The path of the main file of the newest frame.
        self.newest = ""
        self._before = 0, ""

    @property
    def directory(self) -> str:
        """Where the files go."""
        return str(self._writer.directory)

    @property
    def lost(self) -> int:
        """The number of frames that could not be written so far."""
        return self._writer.lost

    def begin_step(self) -> None:
        """Begin a step: frames taken from now on are not named before the next step."""
        self._before = self._writer.taken, self.newest

    def take(self, result: Result) -> None:
        """Queue the files of a frame for writing."""
        frame = FrameFiles(result.number, result.files, result.known, result.done)
        if result.files:
            self.newest = str(self._writer.path_of(result.number, result.files[0]))
        self._writer.put(frame)

    @property
    def names_now(self) -> bool:
        """Whether this step names the newest file: it is written, or another frame follows it."""
        before, _ = self._before
        return self._writer.taken > before or self._writer.is_done(before)

    def name_newest(self, name: Callable[[str], None], *, of_all: bool = False) -> None:
        """Wait for the files of earlier steps, or of all, and name the newest unless it is lost.

        Raises:
            OutputError: if files could not be written; the newest written one is named first.
        """
        frames, file = (None, self.newest) if of_all else self._before
        try:
            self._writer.flush(frames)
        finally:
            if file not in self._writer.missing:
                name(file)

    def close(self) -> None:
        """Finish all files."""
        self._writer.close()


def open_record(
    sensor: str,
    spec: SensorSpec,
    parameters: Any,
    directory: str,
    effective: Mapping[str, object],
    more: Sequence[Column] = (),
) -> RecordSink | None:
    """The record that these parameters ask for; None if they ask for none.

    ``more`` are columns for the values of results after those of the readings.
    """
    if not parameters.record:
        return None
    if isinstance(parameters, FrameTableParameters):
        parameters = RecordParameters(True, directory, parameters.record_format)
    return RecordSink(sensor, spec.readings, parameters, effective, spec.texts, more)
