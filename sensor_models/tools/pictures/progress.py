"""Lines that say how far a long work has come, and how long it will take.

On a terminal there is one line, which is written over. Elsewhere, such as in the log of a job, a
plain line appears now and then, so that work of minutes does not look like work that hangs.
"""

import shutil
import sys
import threading
import time
from types import TracebackType
from typing import TextIO, TypeVar

Own = TypeVar("Own", bound="Progress")
WIDTH = 30
#: Seconds between two looks of a line on a terminal.
PAUSE = 0.1
#: Seconds after which a terminal is told how long a step has been going on.
LONG = 3.0
#: Seconds between plain lines, and the share of the whole time that they are apart at least.
APART, SHARE = 10.0, 0.05
#: What plain lines begin with.
MARK = "... "


class Progress:
    """What a work is at, as it says itself; a thread of its own speaks in steps that are long."""

    def __init__(self, stream: TextIO | None = None, apart: float = APART) -> None:
        self._stream = stream or sys.stderr
        self._watched = self._stream.isatty()
        self._apart = apart
        self._text = ""
        self._began = self._since = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def say(self, text: str) -> None:
        """Say what is done now."""
        with self._lock:
            self._text, self._since = text, time.monotonic()
            if self._watched:
                self._overwrite(text)
            if self._thread is None:
                self._thread = threading.Thread(target=self._go_on, daemon=True)
                self._thread.start()

    def show(self, share: float, text: str) -> None:
        """Say it with a bar."""
        self.say(f"{bar(share)} {100.0 * share:3.0f} %  {text}")

    def keep(self, text: str) -> None:
        """Say what stays on a terminal."""
        self.say(f"{text}\n" if self._watched else text)

    def clear(self) -> None:
        """Leave an empty line for further output: the work has ended."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self._watched:
            self._overwrite("")

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def _go_on(self) -> None:
        """Say for how long it has been so, until the work ends."""
        while not self._ended.wait(self._until_next()):
            with self._lock:
                lasted = time.monotonic() - self._since
                if not self._text:
                    continue
                if not self._watched:
                    self._write(f"{MARK}{self._text}{_for(lasted)}\n")
                elif lasted >= LONG and not self._text.endswith("\n"):
                    self._overwrite(f"{self._text}{_for(lasted)}")

    def _until_next(self) -> float:
        if self._watched:
            return min(1.0, self._apart)
        return max(self._apart, SHARE * (time.monotonic() - self._began))

    def _overwrite(self, text: str) -> None:
        """Replace the line; what stays may be longer than one."""
        most = shutil.get_terminal_size().columns - 1
        self._write(f"\r\x1b[K{text if text.endswith(chr(10)) else text[:most]}")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class Unheard(Progress):
    """Nobody is told anything."""

    def say(self, text: str) -> None:
        """Say nothing."""
        del text


class ProgressLine(Progress):
    """Call it with what is done and what there is."""

    def __init__(self, what: str, stream: TextIO | None = None, apart: float = APART) -> None:
        super().__init__(stream, apart)
        self._what = what
        self._last = -PAUSE

    def __call__(self, done: int, total: int) -> None:
        """Show the line, if it is time to."""
        now = time.monotonic()
        if now - self._last >= PAUSE or done == total:
            self._last = now
            self.say(self.line(done, total, now - self._began))

    def line(self, done: int, total: int, seconds: float) -> str:
        """The line: a bar, numbers, and an estimate."""
        left = seconds / done * (total - done) if done else 0.0
        return f"{self._what} {bar(done / max(total, 1))} {done}/{total}, {_duration(left)} left"


def bar(share: float) -> str:
    """A bar that is filled to a share."""
    filled = round(WIDTH * share)
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}]"


def _for(lasted: float) -> str:
    return f" ({lasted:.0f} s)" if lasted >= LONG else ""


def _duration(left: float) -> str:
    minutes, rest = divmod(round(left), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
