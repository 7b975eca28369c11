"""A C master in a root directory that has the C library and nothing else. For Linux.

No network, no file of the machine, and of its own only ``out`` can be written.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.masters.c_master import CMaster, build_master
from tests.masters.fmu_files import FmuFiles

#: What a machine has on which nothing is installed.
LIBRARIES = ("c", "m", "pthread", "dl", "rt", "util", "gcc_s", "stdc++")

#: Run by a shell in namespaces of its own; ``$0`` is the root, the rest is what runs in it.
ENTER = (
    'mount --bind "$0" "$0" && mount --bind "$0/out" "$0/out"'
    ' && mount -o remount,ro,bind "$0" && exec chroot "$0" "$@"'
)
NAMESPACES = ("unshare", "--map-root-user", "--mount", "--net")


@dataclass(frozen=True)
class EmptyRoot:
    """The directory; ``prefix`` makes a command run in it."""

    place: Path

    @classmethod
    def make(cls, place: Path) -> "EmptyRoot":
        """Makes one, with the master in it; skips the test where that is not allowed."""
        made = cls(place)
        place.mkdir(mode=0o755)
        for folder in ("lib64", "out", "dev"):
            (place / folder).mkdir()
        (place / "dev/null").touch()  # the master reads nothing from there
        master = build_master(place)
        told = subprocess.run(["ldd", str(master)], capture_output=True, text=True, check=True)
        (loader,) = (line.split()[0] for line in told.stdout.splitlines() if "ld-linux" in line)
        shutil.copy(loader, place / "lib64")
        (libc,) = (line.split()[2] for line in told.stdout.splitlines() if "libc.so" in line)
        for name in LIBRARIES:
            for file in Path(libc).parent.glob(f"lib{name}.so.[0-9]"):
                target = place / file.relative_to("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
        answer = subprocess.run([*made.prefix(), "/none"], capture_output=True, check=False)
        if answer.returncode != 127:  # that of a command that is not there
            pytest.skip("needs namespaces of one's own: a process in an empty root")
        return made

    def prefix(self) -> list[str]:
        """What to put before a command, whose path is one in the root."""
        return [*NAMESPACES, "sh", "-c", ENTER, str(self.place)]

    @contextmanager
    def unpacked(self, fmu: Path) -> Iterator[FmuFiles]:
        """An FMU unpacked in the root; its files have the paths that they have there.

        In the end nothing is left of it, nor of what was written.
        """
        files = FmuFiles.unpack(fmu, self.place / fmu.stem)
        yield replace(files, directory=Path("/", fmu.stem))
        shutil.rmtree(self.place / fmu.stem)
        for path in (self.place / "out").iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def master(self, environment: Mapping[str, str] | None = None) -> CMaster:
        """A master that runs in it."""
        return CMaster(Path("/c_master"), environment, self)
