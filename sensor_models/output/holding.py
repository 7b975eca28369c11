"""A directory that one run at a time writes to.

The file ``.lock`` in it is locked by the process that holds the directory, and says which one that
is, for the refusals of others. The system gives the lock back when the process ends in any way, so
a lock that was left behind by a process that was killed holds nobody up. Where a file system has no
locks, the text alone decides: if its process is of this machine and has ended, it counts for
nothing; whether one of another machine still runs only its user can know.
"""

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from sensor_models.output.files import OutputError, is_running, output_errors

LOCK_NAME = ".lock"
#: The byte that Windows locks: behind the text, which others are to read.
_FAR = 1 << 30


class HeldError(OutputError):
    """A directory that another run is writing to; the message names that one."""


class Hold:
    """Holds a directory until it is closed; the directory is made if it is missing."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / LOCK_NAME
        with output_errors(f"{directory} cannot be used"):
            directory.mkdir(parents=True, exist_ok=True)
            self._stream: IO[bytes] = self._file.open("a+b", buffering=0)
        try:
            self._take(directory)
        except BaseException:
            self._stream.close()
            raise

    def _take(self, directory: Path) -> None:
        mine = {"process": os.getpid(), "host": socket.gethostname()}
        holder = self._read()
        try:
            _lock(self._stream)
        except (BlockingIOError, PermissionError) as error:
            raise _refusal(directory, self._read()) from error
        except OSError as error:  # there are no locks here
            own_machine = holder.get("host") == mine["host"]
            ended = own_machine and not is_running(int(holder["process"]))
            if holder and not ended:
                hint = f"; if it has ended, delete {self._file}"
                raise _refusal(directory, holder, hint) from error
        self._stream.truncate(0)
        self._stream.write(json.dumps(mine).encode())

    def _read(self) -> Mapping[str, Any]:
        """Who wrote into the file; nothing if nobody did, or only in part."""
        try:
            found = json.loads(self._file.read_bytes())
            return {"process": int(found["process"]), "host": str(found["host"])}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def close(self) -> None:
        """Give the directory back."""
        if not self._stream.closed:
            self._stream.truncate(0)
            self._stream.close()

    def __enter__(self) -> "Hold":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _refusal(directory: Path, holder: Mapping[str, Any], hint: str = "") -> HeldError:
    who = f"process {holder['process']} on {holder['host']}" if holder else "another process"
    return HeldError(
        f"{directory} is in use by {who}: wait for its end, or choose another directory{hint}"
    )


def _lock(stream: IO[bytes]) -> None:
    try:
        import fcntl
    except ImportError:
        import msvcrt

        windows: Any = msvcrt
        stream.seek(_FAR)
        windows.locking(stream.fileno(), windows.LK_NBLCK, 1)
    else:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
