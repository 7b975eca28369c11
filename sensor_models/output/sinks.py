"""Where the results of a sensor go, besides its outputs: into a record, into files of frames.

A sink takes results one after the other. It is opened when the sensor begins, which is when a
directory that cannot be written to is noticed, and not before: who asks for outputs only, opens
none. Each sink writes on a thread of its own (``records``, ``frame_files``).

Frames are written where somebody asked for it: with ``write_files`` on, or where the parameter
``output_directory`` names a place. A sensor that sees fills a disk within minutes.
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
    """Declare the parameter ``write_files``; ``what`` says what is written, as a sentence."""
    ways = "if output_directory is set (auto), never (off), always (on)"
    return choice(WriteFiles.auto, f"{what}: {ways}")


class FileParameters(Protocol):
    """The parameters of files of frames."""

    @property
    def write_files(self) -> WriteFiles:
        """Whether there are files."""

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
    """Whether frames are to be written."""
    if parameters.write_files == WriteFiles.auto:
        return bool(parameters.output_directory)
    return parameters.write_files == WriteFiles.on


class RecordSink:
    """All samples, or a table of all frames, in one file, and the texts among them in others."""

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
        #: The logs of texts, and where these are among the values.
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
        """Write the file as it is; the record may still be rewound and go on."""
        self._record.publish()
        for _, log in self._texts:
            log.publish()

    def close(self) -> None:
        """Finish the file."""
        with ExitStack() as stack:  # all are closed, whichever fails
            stack.callback(self._record.close)
            for _, log in self._texts:
                stack.callback(log.close)


class FrameSink:
    """The files of frames.

    A file is named once it is complete. After a step the newest file of the steps before has to
    be named, so what is named depends on the frames alone and not on the speed of the disk. Where
    that file is not written yet, the one who reads the name waits for it, or the step that takes
    the next frame (``names_now``).
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
        """How many frames could not be written so far."""
        return self._writer.lost

    def begin_step(self) -> None:
        """What is taken from now on is not named until the next step."""
        self._before = self._writer.taken, self.newest

    def take(self, result: Result) -> None:
        """Write the files of a frame soon."""
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
        """Wait for the files of the steps before, or of all, and name the newest unless it is lost.

        Raises:
            OutputError: if files could not be written; the newest that was is named all the same.
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
    """The record that parameters of either kind ask for, if they do.

    ``more`` are columns of values that results have behind those of the readings.
    """
    if not parameters.record:
        return None
    if isinstance(parameters, FrameTableParameters):
        parameters = RecordParameters(True, directory, parameters.record_format)
    return RecordSink(sensor, spec.readings, parameters, effective, spec.texts, more)
