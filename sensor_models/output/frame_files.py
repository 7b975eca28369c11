"""Files of frames, written off the stepping thread: what images and point clouds share.

A frame is a set of files (``FrameFile``), each of which can write itself to a path and then says
what the index should know of it. ``FrameWriter`` hands frames to one worker thread through a
bounded queue: if the disk is slower than the sensor, ``put`` waits. Each file appears whole
(``files.published``), then its line in ``index.jsonl``. Once ``flush`` has returned, all files of
all frames are there.

All that a file does in ``write`` runs on the worker, so a file may hold raw data and work on them
there. The memory of these may be used again when the frame's ``done`` is called: once for each
frame given to ``put``, whether it was written, failed or was dropped, and before ``flush``
returns. Who takes buffers from a pool and has ``done`` put them back bounds the memory that
waits for the disk. It is called on the worker, or within ``put`` if the frame is not taken.

Errors of the worker are raised once, as ``OutputError``, by the next ``put``, ``flush`` or
``close``; from the error on, frames are dropped. A forked child leaves the files to its parent,
to whom the worker belongs: there ``put`` is refused, while ``flush`` and ``close`` do nothing.
"""

import atexit
import os
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models.output.files import (
    Index,
    OutputError,
    output_directory,
    output_errors,
    published,
    safe_file_name,
)

#: Frames that wait for the disk, besides the one that is being written.
QUEUED_FRAMES = 4


class FrameFile(Protocol):
    """One file of a frame."""

    @property
    def suffix(self) -> str:
        """What its name ends with, after the number of the frame: ``depth.png``."""

    def write(self, path: Path) -> Mapping[str, object]:
        """Write it to a path and tell what the index should know of it."""


class OutputPlace(Protocol):
    """The parameters that say where files go."""

    @property
    def output_directory(self) -> str:
        """Directory for files; empty for a fresh one."""


def _nothing() -> None:
    """What is done after a frame whose memory nobody waits for."""


@dataclass(frozen=True)
class FrameFiles:
    """The files of one frame, the main one first, and what the index says of all of them."""

    frame: int
    files: tuple[FrameFile, ...]
    known: Mapping[str, object]
    done: Callable[[], None] = _nothing


class FrameWriter:
    """The files of the frames of one sensor."""

    def __init__(
        self, sensor: str, parameters: OutputPlace, effective: Mapping[str, object]
    ) -> None:
        """Find the directory writable; ``effective`` parameters go to the index."""
        self.sensor = sensor
        self.directory = output_directory(parameters.output_directory, sensor)
        self._stem = safe_file_name(sensor)
        self._index = Index(self.directory, sensor, effective)
        self._queue: queue.Queue[FrameFiles | None] = queue.Queue(QUEUED_FRAMES)
        self._taken = self._finished = 0  # frames
        self._progress = threading.Condition()
        self._error: Exception | None = None
        self._over = self._closed = False
        self._process = os.getpid()
        # A daemon does not keep the process alive; at its orderly end all is written.
        self._thread = threading.Thread(target=self._work, name="frames", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def path_of(self, frame: int, file: FrameFile) -> Path:
        """Where a file of a frame is, once it has been written."""
        return self.directory / f"{self._stem}-{frame:06d}.{file.suffix}"

    def put(self, frame: FrameFiles) -> None:
        """Write a frame soon; its arrays must not be changed until it is done."""
        taken = False
        try:
            self._check_process()
            self._report()
            if not (self._over or self._closed):
                self._queue.put(frame)
                self._taken += 1
                taken = True
        finally:
            if not taken:
                frame.done()

    @property
    def taken(self) -> int:
        """How many frames were taken so far."""
        return self._taken

    @property
    def failed(self) -> bool:
        """Whether a file could not be written; what came after it was dropped."""
        return self._over

    def flush(self, frames: int | None = None) -> None:
        """Wait until all is written, or the first so many of the frames."""
        if self._process == os.getpid():
            wanted = self._taken if frames is None else frames
            with self._progress:
                self._progress.wait_for(lambda: self._finished >= wanted)
            self._report()

    def close(self) -> None:
        """Write what is left and end the thread; closing again does nothing."""
        if self._closed or self._process != os.getpid():
            return
        self._closed = True
        atexit.unregister(self.close)
        self._queue.put(None)
        self._thread.join()
        self._report()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise OutputError(
                f"frames of {self.sensor} cannot be written to {self.directory} by a forked child"
            )

    def _report(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            reason = getattr(error, "strerror", None) or error
            raise OutputError(
                f"writing frames of {self.sensor} to {self.directory} failed: {reason}"
            ) from error

    def _work(self) -> None:
        while (frame := self._queue.get()) is not None:
            if not self._over:
                self._attempt(partial(self._write, frame))
            self._attempt(frame.done)
            with self._progress:
                self._finished += 1
                self._progress.notify_all()

    def _attempt(self, part: Callable[[], None]) -> None:
        try:
            part()
        except Exception as error:  # all of it belongs to the owner, who asks for it
            if not self._over:
                self._error = error
            self._over = True

    def _write(self, frame: FrameFiles) -> None:
        for file in frame.files:
            path = self.path_of(frame.frame, file)
            with output_errors(f"cannot write {path}"), published(path) as aside:
                known = file.write(aside)
            self._index.add(path.name, {**frame.known, **known})


def write_parts(path: Path, *parts: bytes | memoryview) -> None:
    """Write a file of these parts, which are not copied."""
    with path.open("wb") as stream:
        for part in parts:
            stream.write(part)


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """Write an array as NumPy's own file.

    ``numpy.save`` writes the same bytes, but does not say why a disk takes no more of them.
    """
    array = np.ascontiguousarray(array)
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    write_parts(path, header.getvalue(), array.data)
