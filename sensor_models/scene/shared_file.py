"""Memory that the processes of one user share: files, each with a number.

Place   One directory for each user, which no other user can enter. It must be the same for all
        processes, however they were started: ``/dev/shm`` if there is one, else
        ``XDG_RUNTIME_DIR``, else the temporary directory, else one in the home directory; if
        another user has taken the name there, the next of these. If none can be written to, a
        scene is memory of its process only. ``SENSOR_FMUS_SHARED_DIR`` names another directory.
Number  Drawn at random from 31 bits, so that the number of a removed file is not used again while
        a process may still have it.
Life    Each user of a file holds a shared lock on it, which the system releases when the process
        ends for any reason. The last user removes the file. Killed processes leave files without
        a lock, which are removed when the next file is made. No code ever waits for a lock. A
        forked child is not a user by itself: it can see the memory as long as it likes, but once
        its parent has left, the number is no longer valid.

Windows has no such lock, but it does not remove a file that is open, which serves the same purpose.
That, and macOS, were not tried.
"""

import mmap
import os
import secrets
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from sensor_models.output.files import output_errors

DIRECTORY_VARIABLE = "SENSOR_FMUS_SHARED_DIR"

#: Numbers are positive and fit FMI's Integers.
LARGEST_NUMBER = 2**31 - 1

_PREFIX = "scene-"
#: Files are not inherited by programs that are started, and links are not followed.
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class NowhereError(OSError):
    """There is no directory at all in which files can be shared."""


class SharedFile:
    """A file that is mapped into the memory of this process, until it is closed."""

    def __init__(self, path: Path, descriptor: int, *, writable: bool) -> None:
        self.path = path
        self.number = int(path.name.removeprefix(_PREFIX))
        self._descriptor = descriptor
        self._process = os.getpid()
        access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
        self.memory = mmap.mmap(descriptor, 0, access=access)

    def close(self) -> None:
        """Leave the file, and remove it if nobody else uses it."""
        with suppress(BufferError):  # an array still uses it: it is unmapped with that array
            self.memory.close()
        if self._process == os.getpid():
            _release(self._descriptor)  # closing is not enough, the mapping has a copy
        os.close(self._descriptor)
        with suppress(OSError):
            _remove_if_deserted(self.path)


def create(content: bytes, wanted: int = 0) -> SharedFile:
    """A new file with this content, under the wanted number if there is one and it is free.

    If there is no directory at all, it is memory of this process only.
    """
    try:
        directory = shared_directory()
    except NowhereError:
        if not hasattr(os, "memfd_create"):
            raise
        return _create_private(content, wanted)
    with output_errors(f"cannot share a scene in {directory}"):
        remove_deserted(directory)
        number = wanted if 0 < wanted <= LARGEST_NUMBER else _any_number()
        while (made := _create(directory / f"{_PREFIX}{number}", content)) is None:
            number = _any_number()
    return made


def attach(number: int) -> SharedFile | None:
    """The file of a number, for reading; None if there is none, or nobody uses it any more."""
    try:
        path = shared_directory() / f"{_PREFIX}{number}"
        if _remove_if_deserted(path):
            return None
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    except (FileNotFoundError, NowhereError):
        return None
    try:
        if _hold(descriptor) and os.fstat(descriptor).st_size > 0:  # otherwise it is being made
            return SharedFile(path, descriptor, writable=False)
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def remove_deserted(directory: Path) -> None:
    """Remove the files that killed processes have left."""
    for path in directory.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another process may be removing it, too
            _remove_if_deserted(path)


def shared_directory() -> Path:
    """The directory of the files: the first possible one, existing and closed to other users."""
    refusals = []
    for directory in _places():
        try:
            return _made_private(directory)
        except OSError as refusal:
            refusals.append(refusal)
    if not refusals:
        raise NowhereError("scenes cannot be shared: there is no directory that can be written")
    raise refusals[0]


def _made_private(directory: Path) -> Path:
    """The directory, if it belongs to the user alone, or can be made so."""
    with output_errors(f"cannot make {directory}"), suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    if sys.platform != "win32":
        status = directory.lstat()  # a link may have been made by another user
        reason = ""
        if not stat.S_ISDIR(status.st_mode):
            reason = "is no directory"
        elif status.st_uid != os.geteuid():
            reason = f"belongs to user {status.st_uid}"
        elif status.st_mode & 0o077:
            reason = f"is open to others (mode {status.st_mode & 0o777:o})"
        if reason:
            raise PermissionError(
                f"scenes cannot be shared in {directory}: it {reason}, allowed is a directory of"
                f" one's own with mode 700; {DIRECTORY_VARIABLE} chooses another"
            )
    return directory


def _places() -> list[Path]:
    """Where the directory may be, in the order in which all processes of a user try it."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        return [Path(chosen).absolute()]  # the working directory may change later
    if sys.platform == "win32":  # whose temporary directory is the user's own
        return [Path(tempfile.gettempdir()) / "sensor-fmus"]
    own = f"sensor-fmus-{os.geteuid()}"
    memory, runtime = Path("/dev/shm"), Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    places = []
    with suppress(FileNotFoundError):  # a machine without a temporary directory
        places.append(Path(tempfile.gettempdir()) / own)
    if runtime.is_absolute() and os.access(runtime, os.W_OK | os.X_OK):
        places.insert(0, runtime / "sensor-fmus")
    if os.access(memory, os.W_OK | os.X_OK):
        places.insert(0, memory / own)
    with suppress(RuntimeError):  # a user without a home
        if os.access(home := Path.home(), os.W_OK | os.X_OK):
            places.append(home / ".sensor-fmus-shared")
    return places


def _create_private(content: bytes, wanted: int) -> SharedFile:
    """Memory without a file, which no other process can find."""
    number = wanted if 0 < wanted <= LARGEST_NUMBER else _any_number()
    with output_errors("cannot hold a scene"):
        descriptor = os.memfd_create(f"{_PREFIX}{number}")
    try:
        with open(descriptor, "wb", closefd=False) as stream:
            stream.write(content)
        return SharedFile(Path(os.devnull, f"{_PREFIX}{number}"), descriptor, writable=True)
    except BaseException:
        os.close(descriptor)
        raise


def _any_number() -> int:
    return secrets.randbelow(LARGEST_NUMBER) + 1


def _create(path: Path, content: bytes) -> SharedFile | None:
    """A new file that is in use; None if the name is taken."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
    except FileExistsError:
        return None
    try:
        if not _hold(descriptor):  # another process found it without a user and removed it
            os.close(descriptor)
            return None
        with open(descriptor, "wb", closefd=False) as stream:
            stream.write(content)
        return SharedFile(path, descriptor, writable=True)
    except BaseException:
        os.close(descriptor)
        path.unlink(missing_ok=True)
        raise


if sys.platform == "win32":

    def _hold(_descriptor: int) -> bool:
        """Being open is enough."""
        return True

    def _release(_descriptor: int) -> None:
        """Being closed is enough."""

    def _remove_if_deserted(path: Path) -> bool:
        """Remove a file that nobody uses; whether it was one."""
        try:
            path.unlink()
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _lock(descriptor: int, kind: int) -> bool:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return os.fstat(descriptor).st_nlink > 0  # otherwise it was removed meanwhile

    def _hold(descriptor: int) -> bool:
        """Become a user of a file; returns whether the file still exists."""
        return _lock(descriptor, fcntl.LOCK_SH)

    def _release(descriptor: int) -> None:
        """Stop being a user, also for processes that share the descriptor after a fork."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _remove_if_deserted(path: Path) -> bool:
        """Remove a file that nobody uses; whether it was one."""
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
        try:
            deserted = _lock(descriptor, fcntl.LOCK_EX)
            if deserted:
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)
        return deserted
