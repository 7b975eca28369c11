"""Files that are on the disk when they count as written.

A file that was written and closed is in the system's memory, and reaches the disk some half a
minute later: after a power cut a name may stand there without content. ``Flusher`` forces files
onto the disk by a thread, while the caller goes on, and says when they are all there.

What was flushed is then given back (``posix_fadvise``, where the system has it). Output that is
larger than the memory would else push out of it what other programs, and this one, go on to read;
and the memory that is given back is the one that the next file is written to. Whoever reads the
file soon afterwards reads it from the disk.
"""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from sensor_models.output.worker import Worker

#: Files, or parts of one, that may wait to be flushed; then the caller waits.
WAITING = 64


class Flusher:
    """Forces files onto the disk by a thread. As a context manager, it has done so at the end."""

    def __init__(self) -> None:
        self._worker = Worker("flusher", WAITING)
        self.files: set[Path] = set()  # that were added
        self._error: OSError | None = None

    def add(self, path: Path) -> None:
        """Flush soon what was written to a file so far; it may be written on meanwhile."""
        self.files.add(path)
        self._worker.put(lambda: self._flush(path))

    def wait(self) -> None:
        """Wait until all is on the disk. What went wrong first is raised."""
        self._worker.wait()
        if self._error is not None:
            raise self._error

    def _flush(self, path: Path) -> None:
        try:
            if self._error is None:
                flush_file(path)
        except OSError as error:
            self._error = error

    def __enter__(self) -> "Flusher":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._worker.finish()
        if error is None:
            self.wait()


def flush_file(path: Path) -> None:
    """Force a file onto the disk, and give back the memory that holds it besides."""
    with path.open("rb+", buffering=0) as stream:
        os.fsync(stream.fileno())
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # it is advice
                os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def flush_names(directory: Path) -> None:
    """Force the names of files in a directory onto the disk, where the system can do it."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
