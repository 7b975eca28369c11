"""Images: files of frames, written off the stepping thread.

npy    the array as it is; ids, points and normals are always written so
png    16 bit, grey: value = scale x stored, with ``scale`` and ``unit`` as texts in the file. What
       is no number or below 0 is stored as 0, what is too large as 65535.
tiff   float32, grey, not compressed

A frame is handed to a worker thread through a bounded queue: if the disk is slower than the
sensor, ``put`` waits. Each file appears whole (``files.published``), then its line in
``index.jsonl``. Once ``flush`` has returned, all files of all frames are there.
Errors of the worker are raised once, as ``OutputError``, by the next ``put`` or ``flush``; then
the writer is over and drops what it gets.

Source: PNG specification, third edition, sections 5 and 11; TIFF revision 6.0, sections 2, 8 and
19 (sample format).
"""

import atexit
import os
import queue
import struct
import threading
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.files import (
    Index,
    OutputError,
    output_directory,
    output_errors,
    published,
    safe_file_name,
)
from sensor_models.quantities import boolean, choice, string

QUEUED_FRAMES = 4
PNG_LARGEST = 65535
#: Types of colour.
PNG_GREY, PNG_COLORS = 0, 2
MILLIMETRE = 1e-3


class ImageFormat(IntEnum):
    """Kinds of files of images."""

    npy = 0
    png = 1
    tiff = 2


@dataclass(frozen=True)
class ImageFileParameters:
    """Where images go."""

    write_files: bool = boolean(True, "Write each frame to files")
    output_directory: str = string(
        "", "Directory for files; empty for a fresh one under the system's temporary directory"
    )
    output_format: ImageFormat = choice(ImageFormat.npy, "Kind of file of the images")


def png_scale(largest: float) -> float:
    """What one step of a stored number is worth: 1 mm, or more where values are larger."""
    return max(MILLIMETRE, largest / PNG_LARGEST)


def png_bytes(image: NDArray[Any], scale: float, unit: str) -> bytes:
    """A grey image of 16 bit whose stored numbers count ``scale``."""
    finite = np.nan_to_num(np.asarray(image, float) / scale, nan=0.0, posinf=PNG_LARGEST)
    stored = np.clip(np.round(finite), 0, PNG_LARGEST).astype(">u2")
    samples = stored.view(np.uint8).reshape(stored.shape[0], -1)
    return _png(samples, stored.shape[1], 16, PNG_GREY, {"scale": repr(scale), "unit": unit})


def png_of_colors(picture: NDArray[np.uint8]) -> bytes:
    """A picture of red, green and blue, (rows, columns, 3)."""
    samples = np.ascontiguousarray(picture).reshape(picture.shape[0], -1)
    return _png(samples, picture.shape[1], 8, PNG_COLORS, {})


def _png(
    samples: NDArray[np.uint8], columns: int, bits: int, kind: int, texts: Mapping[str, str]
) -> bytes:
    lines = np.pad(samples, ((0, 0), (1, 0)))  # each begins with 0: no filter
    header = struct.pack(">IIBBBBB", columns, len(samples), bits, kind, 0, 0, 0)
    chunks = [
        _png_chunk(b"IHDR", header),
        *(_png_chunk(b"tEXt", f"{k}\0{text}".encode("latin-1")) for k, text in texts.items()),
        _png_chunk(b"IDAT", zlib.compress(lines.tobytes(), 1)),
        _png_chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _png_chunk(kind: bytes, content: bytes) -> bytes:
    checked = kind + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))


def tiff_bytes(image: NDArray[Any]) -> bytes:
    """A grey image of float32 in one strip."""
    rows, columns = image.shape
    content = np.ascontiguousarray(image, "<f4").tobytes()
    short, long = 3, 4
    tags = [
        (256, long, columns),
        (257, long, rows),
        (258, short, 32),  # bits of a sample
        (259, short, 1),  # no compression
        (262, short, 1),  # 0 is black
        (273, long, 8),  # where the strip begins
        (277, short, 1),  # samples of a pixel
        (278, long, rows),
        (279, long, len(content)),
        (339, short, 3),  # floating point
    ]
    entries = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    directory = struct.pack("<H", len(tags)) + entries + struct.pack("<I", 0)
    return struct.pack("<2sHI", b"II", 42, 8 + len(content)) + content + directory


@dataclass(frozen=True)
class ImageFile:
    """One file of a frame."""

    kind: str  # what it shows, a part of its name
    array: NDArray[Any]
    format: ImageFormat = ImageFormat.npy
    scale: float = 1.0
    unit: str = "1"

    def write(self, path: Path) -> None:
        """Write it to a path."""
        if self.format == ImageFormat.npy:
            with path.open("wb") as stream:
                np.save(stream, self.array, allow_pickle=False)
        elif self.format == ImageFormat.png:
            path.write_bytes(png_bytes(self.array, self.scale, self.unit))
        else:
            path.write_bytes(tiff_bytes(self.array))

    def known(self) -> dict[str, object]:
        """What the index says of it."""
        about: dict[str, object] = {"kind": self.kind, "format": self.format, "unit": self.unit}
        if self.format == ImageFormat.png:
            about["scale"] = self.scale
        return about | {"height": self.array.shape[0], "width": self.array.shape[1]}


@dataclass(frozen=True)
class FrameFiles:
    """The files of one frame, the main one first, and what the index says of all of them."""

    frame: int
    files: tuple[ImageFile, ...]
    known: Mapping[str, object]


class ImageWriter:
    """The files of the frames of one sensor."""

    def __init__(
        self, sensor: str, parameters: ImageFileParameters, effective: Mapping[str, object]
    ) -> None:
        """Find the directory writable; ``effective`` parameters go to the index."""
        self.sensor = sensor
        self.directory = output_directory(parameters.output_directory, sensor)
        self._stem = safe_file_name(sensor)
        self._index = Index(self.directory, sensor, effective)
        self._queue: queue.Queue[FrameFiles | None] = queue.Queue(QUEUED_FRAMES)
        self._error: Exception | None = None
        self._over = self._closed = False
        self._process = os.getpid()
        # A daemon does not keep the process alive; at its orderly end all is written.
        self._thread = threading.Thread(target=self._work, name="images", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def path_of(self, frame: int, file: ImageFile) -> Path:
        """Where a file of a frame is, once it has been written."""
        return self.directory / f"{self._stem}-{frame:06d}.{file.kind}.{file.format.name}"

    def put(self, frame: FrameFiles) -> None:
        """Write a frame soon; its arrays must not be changed any more."""
        self._report()
        if not (self._over or self._closed):
            self._queue.put(frame)

    def flush(self) -> None:
        """Wait until all is written."""
        if self._process == os.getpid():  # after a fork the worker belongs to the parent
            self._queue.join()
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

    def _report(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            self._over = True
            reason = getattr(error, "strerror", None) or error
            raise OutputError(
                f"writing images of {self.sensor} to {self.directory} failed: {reason}"
            ) from error

    def _work(self) -> None:
        while (frame := self._queue.get()) is not None:
            if self._error is None and not self._over:
                try:
                    self._write(frame)
                except Exception as error:  # all of it belongs to the owner, who asks for it
                    self._error = error
            self._queue.task_done()
        self._queue.task_done()

    def _write(self, frame: FrameFiles) -> None:
        for file in frame.files:
            path = self.path_of(frame.frame, file)
            with output_errors(f"cannot write {path}"), published(path) as aside:
                file.write(aside)
            self._index.add(path.name, {**frame.known, **file.known()})
