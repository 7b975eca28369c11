"""``make release``: the files of a release, in a directory that is new or empty.

``sensor_fmus-VERSION-py3-none-any.whl``, ``sensor_fmus-VERSION.tar.gz``   for pip
``sensor-fmus-VERSION-fmi2.zip``, ``…-fmi3.zip``    all FMUs, with kernels for all processors
``SHA256SUMS``      the digest of each file above and of each FMU, for ``sha256sum --check``
``SHA256SUMS.asc``  its signature, if ``--sign KEY`` names a key of GnuPG

The version is ``sensor_models.__version__`` and nothing else. The changelog must have a heading for
it with a date, and the working copy must be clean, unless ``--trial`` is given. Equal sources give
equal FMUs; SOURCE_DATE_EPOCH is the time of the newest commit.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import build_fmus
from fmus.building.sources import fmu_sources
from fmus.fmi.arrays import Interface
from sensor_models import __version__

ROOT = Path(build_fmus.__file__).parent
DIGESTS = "SHA256SUMS"
#: The interfaces of FMUs, by the names of their archives.
VERSIONS = {"fmi2": Interface.fmi2, "fmi3": Interface.arrays}


class ReleaseError(RuntimeError):
    """Something that must be done before a release."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the files of a release; 0 if they are complete."""
    parser = argparse.ArgumentParser(prog="python -m fmus.building.release", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("directory", type=Path, help="new or empty")
    parser.add_argument("--sign", metavar="KEY", default="", help="a key of GnuPG")
    parser.add_argument("--trial", action="store_true", help="of what is here, dated or not")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these FMUs, in a trial")
    parser.add_argument("--levels", nargs="+", help="of processors, in a trial")
    given = parser.parse_args(arguments)
    try:
        if not given.trial:
            check_ready(ROOT, __version__)
            if given.only or given.levels:
                raise ReleaseError("--only and --levels are for a trial")
        for file in make(given.directory, given.only or list(fmu_sources()), given.levels):
            print(file, flush=True)
        if given.sign:
            print(sign(given.directory / DIGESTS, given.sign))
    except (ReleaseError, OSError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def check_ready(root: Path, version: str) -> None:
    """Refuse a release of a version that is not finished."""
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changes, re.MULTILINE):
        raise ReleaseError(f"CHANGELOG.md has no heading '## {version} (YYYY-MM-DD)'")
    if _git(root, "status", "--porcelain"):
        raise ReleaseError("the working copy has changes that are not committed")


def make(directory: Path, names: Sequence[str], levels: Sequence[str] | None) -> Iterator[Path]:
    """Make all files, and give each when it is there."""
    if directory.exists() and any(directory.iterdir()):
        raise ReleaseError(f"{directory} is not empty, and nothing is written over")
    directory.mkdir(parents=True, exist_ok=True)
    if (ROOT / ".git").exists():
        os.environ.setdefault("SOURCE_DATE_EPOCH", _git(ROOT, "log", "-1", "--format=%ct"))
    yield from packages(directory)
    for short, interface in VERSIONS.items():
        built = directory / short
        sources = [fmu_sources()[name] for name in names]
        build_fmus.build(sources, built, levels=levels, interface=interface)
        yield archive(built, directory / f"sensor-fmus-{__version__}-{short}.zip")
    yield write_digests(directory)


def packages(directory: Path) -> list[Path]:
    """A wheel and a source distribution, made by the build backend of ``pyproject.toml``."""
    program = "import sys; from setuptools import build_meta as b; b.build_{0}(sys.argv[1])"
    for kind in ("sdist", "wheel"):
        command = [sys.executable, "-c", program.format(kind), str(directory.resolve())]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ReleaseError(f"the {kind} cannot be made:\n{done.stderr}")
    return sorted(directory.glob("sensor_fmus-*"))


def archive(folder: Path, file: Path) -> Path:
    """All FMUs of a folder in one file, uncompressed, as they are archives themselves."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as target:
        for fmu in sorted(folder.glob("*.fmu")):
            entry = zipfile.ZipInfo(fmu.name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            target.writestr(entry, fmu.read_bytes())
    return file


def write_digests(directory: Path) -> Path:
    """Digests of all files below a directory, as ``sha256sum`` writes and checks them."""
    file = directory / DIGESTS
    files = (path for path in sorted(directory.rglob("*")) if path.is_file() and path != file)
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(directory).as_posix()}"
        for path in files
    )
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def sign(file: Path, key: str) -> Path:
    """A detached signature beside a file, by GnuPG."""
    signature = file.with_name(f"{file.name}.asc")
    words = ["--batch", "--yes", "--armor", "--local-user", key, "--output", str(signature)]
    subprocess.run(["gpg", *words, "--detach-sign", str(file)], check=True)
    return signature


def _git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
