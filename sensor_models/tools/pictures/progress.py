"""A line that says how far a long work has come, and how long it will take."""

import sys
import time
from types import TracebackType
from typing import TextIO

WIDTH = 30
#: Seconds between two looks of the line.
PAUSE = 0.1


class ProgressLine:
    """Call it with what is done and what there is. Only a terminal is shown anything."""

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self._what = what
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._start = time.monotonic()
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Show the line, if it is time to."""
        now = time.monotonic()
        if self._shown and (now - self._last >= PAUSE or done == total):
            self._last = now
            self._stream.write("\r" + self.line(done, total, now - self._start))
            self._stream.flush()

    def line(self, done: int, total: int, seconds: float) -> str:
        """The line: a bar, numbers, and an estimate."""
        filled = WIDTH * done // max(total, 1)
        left = seconds / done * (total - done) if done else 0.0
        bar = "#" * filled + "." * (WIDTH - filled)
        return f"{self._what} [{bar}] {done}/{total}, {_duration(left)} left "

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._stream.write("\n")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
