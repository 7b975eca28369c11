"""A Debian for 64-bit ARM in a folder, and the emulator that runs its programs.

``python -m tests.arm64`` makes it, in ``build/arm64``, of packages from the mirror of this system:
nothing is installed, and nobody need be root. It takes 50 MB of downloads and 270 MB of disk. All
that FMUs need there comes from Debian but pygeomag, which is pure Python and is copied from here,
and MuJoCo, whose wheels for ARM pip fetches. For Debian and its relatives on x86-64.
"""

import contextlib
import importlib.metadata
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "build" / "arm64"
ROOT = FOLDER / "root"
#: In place of an interpreter: Debian's for ARM, in the emulator.
PYTHON = FOLDER / "python3"
#: There when all is; it says what that was.
READY = FOLDER / "ready"

#: The first Debian that has Embree 4 for ARM, and the version of its Python.
SUITE, VERSION = "trixie", "3.13"
EMULATOR = "qemu-aarch64-static"
SCALAR = (f"python{VERSION}", f"libpython{VERSION}", "python3-numpy")
SEEING = ("libembree4-4", "python3-pil", "python3-pydantic", "python3-trimesh")
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def mirror() -> str:
    """Where this system has its packages from."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    places = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    found = [place for place in places if "security" not in place and "debian" in place]
    if not found:
        raise SystemExit("no mirror of Debian is known here: apt-get indextargets names none")
    return found[0]


def apt(*words: str) -> None:
    """Run apt-get as if this were Debian on ARM, with an index of its own."""
    index = FOLDER / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (index / folder).mkdir(parents=True, exist_ok=True)
    (index / "status").touch()
    sources = index / "sources.list"
    sources.write_text(f"deb [signed-by={KEYS}] {mirror()} {SUITE} main\n")
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures::": "arm64",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State": index / "state",
        "Dir::State::status": index / "status",
        "Dir::Cache": index / "cache",
    }
    given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    run(["apt-get", "-qq", "-y", *given, *words])


def run(command: Sequence[str], folder: Path = FOLDER) -> None:
    """Run a command; what it said is told if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command[:3])} ... failed:\n{done.stderr[-2000:]}")


def emulator() -> Path:
    """The emulator: the system's, or one that is fetched."""
    own = FOLDER / EMULATOR
    if (installed := shutil.which(EMULATOR)) is not None:
        return Path(installed)
    if not own.is_file():
        run(["apt-get", "-qq", "download", "qemu-user-static"])
        (package,) = FOLDER.glob("qemu-user-static_*.deb")
        run(["dpkg-deb", "-x", str(package), str(FOLDER / "qemu")])
        shutil.move(FOLDER / "qemu" / "usr" / "bin" / EMULATOR, own)
        shutil.rmtree(FOLDER / "qemu")  # emulators of other processors: 400 MB
        package.unlink()
    return own


def make() -> None:
    """Fetch and unpack all of it."""
    shutil.rmtree(ROOT, ignore_errors=True)
    (ROOT / "usr" / "lib").mkdir(parents=True)
    (ROOT / "lib").symlink_to("usr/lib")  # what Debian's base-files would do
    apt("update")
    apt("--download-only", "install", *SCALAR, *SEEING)
    for package in sorted((FOLDER / "apt" / "cache" / "archives").glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), str(ROOT)])
    libraries = ROOT / "usr" / "lib" / "aarch64-linux-gnu"
    for name in ("blas", "lapack"):  # what Debian's alternatives would choose
        (libraries / f"lib{name}.so.3").symlink_to(f"{name}/lib{name}.so.3")
    packages = ROOT / "usr" / "local" / "lib" / f"python{VERSION}" / "dist-packages"
    add_pygeomag(packages)
    add_mujoco(packages)
    interpreter = ROOT / "usr" / "bin" / f"python{VERSION}"
    PYTHON.write_text(f'#!/bin/sh\nexec "{emulator()}" -L "{ROOT}" "{interpreter}" "$@"\n')
    PYTHON.chmod(PYTHON.stat().st_mode | stat.S_IXUSR)
    READY.write_text(contents())


def contents() -> str:
    """What there is when all is there."""
    return "\n".join((*SCALAR, *SEEING, *mujoco()))


def mujoco() -> list[str]:
    """The wheels of MuJoCo in the version that is here: one before 4.0, and since then two."""
    found = []
    for name in ("mujoco", "mujoco-core"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name}=={importlib.metadata.version(name)}")
    return found


def add_mujoco(packages: Path) -> None:
    """Unpack these wheels."""
    wheels = FOLDER / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir()
    options = ["--no-deps", "--only-binary", ":all:", "--python-version", VERSION]
    for tag in ("manylinux_2_28_aarch64", "manylinux2014_aarch64"):
        options += ["--platform", tag]
    run([sys.executable, "-m", "pip", "download", "--quiet", *options, *mujoco()], wheels)
    for wheel in wheels.iterdir():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)


def add_pygeomag(packages: Path) -> None:
    """Copy the one package that Debian has not."""
    for file in importlib.metadata.files("pygeomag") or ():
        if ".." not in file.parts and file.suffix != ".pyc":
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), target)


def main() -> int:
    """Make it if it is not there, and say what runs in it."""
    if not READY.is_file() or READY.read_text() != contents():
        make()
    line = "import platform as p, numpy; print(p.machine(), p.python_version(), numpy.__version__)"
    return subprocess.run([str(PYTHON), "-c", line], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
