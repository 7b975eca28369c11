"""Whether a directory is one that nobody but its owner can fill, or exchange for another.

What is read from such a directory may be executed. It is trusted if it belongs to the user (for
reading, the administrator will do), nobody else can write it, and nobody else can put another in
its place: all directories and links on the way to it, links that other links lead to among them,
belong to the user or the administrator, and nobody else can write the directories, but for sticky
ones, where nobody can exchange what is another's.
On Windows all this is left to the access rights.
"""

import errno
import os
import stat
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

#: As many links as Linux follows on one way.
MOST_LINKS = 40


def make_private(directory: Path) -> None:
    """Create a directory that only its owner can write; ``OSError`` if it is none or not ours."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_trust(directory, owners=(_user(),))
    # Rights can promise what a read-only or full file system does not keep.
    tempfile.TemporaryFile(dir=directory).close()


def check_trust(directory: Path, owners: Collection[int]) -> None:
    """``PermissionError`` if others than these owners can write a directory or replace it."""
    if sys.platform == "win32":
        return
    status = directory.stat()
    if status.st_uid not in owners:
        raise PermissionError(f"{directory} belongs to user {status.st_uid}")
    if status.st_mode & 0o022:
        raise PermissionError(
            f"{directory} can be written by others (mode {status.st_mode & 0o777:o})"
        )
    for place in _way_to(directory.absolute()):
        _check_place(place, directory)


def _way_to(path: Path) -> Iterator[Path]:
    """All directories and links that the system looks at on the way to a path, and the path."""
    here, waiting, links = Path(path.anchor), list(reversed(path.parts[1:])), 0
    yield here
    while waiting:
        name = waiting.pop()
        place = here.parent if name == ".." else here / name  # ``here`` has no links in it
        yield place
        if not place.is_symlink():
            here = place
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = place.readlink()
        if target.is_absolute():
            here = Path(target.anchor)
            yield here
        waiting += reversed(target.parts[1:] if target.is_absolute() else target.parts)


def _check_place(place: Path, directory: Path) -> None:
    """Refuse a directory or link above the cache's that somebody else can exchange."""
    status = place.lstat()
    if status.st_uid not in (_user(), 0):
        raise PermissionError(f"{directory} lies in {place}, which belongs to user {status.st_uid}")
    if stat.S_ISLNK(status.st_mode) or place == directory:
        return
    others = status.st_mode & (0o002 if _is_own_group(status.st_gid) else 0o022)
    # In a sticky directory, as the temporary one is, nobody can exchange what is another's.
    if others and not status.st_mode & stat.S_ISVTX:
        raise PermissionError(
            f"{directory} lies in {place}, which can be written by others"
            f" (mode {status.st_mode & 0o7777:o})"
        )


def _is_own_group(group: int) -> bool:
    """Whether a group is the user's private one, with nobody else in it."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(_user()), grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


def _user() -> int:
    return os.geteuid() if sys.platform != "win32" else 0


def is_trusted(directory: Path) -> bool:
    """Whether a directory may be read that cannot be written: the administrator may own it."""
    try:
        check_trust(directory, owners=(_user(), 0))
    except OSError:
        return False
    return directory.is_dir()
