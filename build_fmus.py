"""Build the FMUs: ``python build_fmus.py [--only NAME ...] [--output DIR] [--list]``.

An FMU is made of its description, the compiled binding for each platform, and as resources the
packages ``sensor_models``, ``fmus`` and ``pythonfmu`` in full, so that it runs wherever a Python
with the packages of its ``requirements.txt`` is found. Of this machine it holds one thing, the
place of the interpreter that built it (``resources/python.txt``), which the environment variable
FMU_PYTHON overrides.
"""

import argparse
import hashlib
import importlib
import importlib.util
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from xml.etree.ElementTree import indent, tostring

import pythonfmu

import fmus
import sensor_models
from fmus.binding import compile as binding
from fmus.model_description import model_description
from fmus.sensor_fmu import SensorFmu

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent
BINDING = ROOT / "fmus" / "binding"
BINDING_CACHE = ROOT / "build" / "binding"

#: Packed into the resources beside the packages.
LOADER_FILES = ("fmu_loader.py", "locate_python.py")
#: What FMUs need is what the library needs, but for what they carry themselves.
CARRIED = ("pythonfmu",)


class BuildError(RuntimeError):
    """Something that keeps the FMUs from being built."""


def fmu_modules() -> dict[str, ModuleType]:
    """The modules of all FMUs by model name, found by their file names."""
    modules = {}
    for path in sorted((ROOT / "fmus").glob("*_fmu.py")):
        if path.stem != "sensor_fmu":
            module = importlib.import_module(f"fmus.{path.stem}")
            modules[fmu_class(module).model_name] = module
    return modules


def fmu_class(module: ModuleType) -> type[SensorFmu]:
    """The FMU class that a module defines."""
    classes = [
        value
        for value in vars(module).values()
        if getattr(value, "__module__", None) == module.__name__
        and isinstance(value, type)
        and issubclass(value, SensorFmu)
    ]
    if len(classes) != 1:
        raise BuildError(f"{module.__name__} defines {len(classes)} FMU classes, needs one")
    return classes[0]


def load_module(path: Path) -> ModuleType:
    """A module from a file outside the package ``fmus``: an FMU of somebody's own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BuildError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def requirements() -> list[str]:
    """The packages that an FMU needs, as pip wants them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [r for r in project["dependencies"] if not r.startswith(CARRIED)]


def python_place(executable: str) -> str:
    """Where the parts of an interpreter are, as lines; refuses one that no FMU can run in."""
    command = [executable, "-I", str(BINDING / "locate_python.py")]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"{executable} is no Python interpreter: {error}") from error
    if "library=\n" in answer:
        raise BuildError(
            f"{executable} has no shared library, so no program can run an FMU in it. On Debian"
            " and Ubuntu, install the package libpython3.x of its version; for pyenv, build it"
            " with PYTHON_CONFIGURE_OPTS=--enable-shared; or choose another with --python."
        )
    return answer


def package_files(package: ModuleType, pattern: str) -> Iterator[tuple[str, bytes]]:
    """The sources of a package, as they go into the resources."""
    folder = Path(str(package.__file__)).parent
    for path in sorted(folder.glob(pattern)):
        if path.is_file() and path.suffix in (".py", ".toml"):
            yield (
                f"resources/{folder.name}/{path.relative_to(folder).as_posix()}",
                path.read_bytes(),
            )


def resource_files(module: ModuleType, place: str) -> Iterator[tuple[str, bytes]]:
    """Everything in ``resources/``."""
    yield from package_files(sensor_models, "**/*")
    yield from package_files(fmus, "*.py")
    yield from package_files(pythonfmu, "*.py")
    for name in LOADER_FILES:
        yield f"resources/{name}", (BINDING / name).read_bytes()
    yield "resources/python.txt", place.encode("utf-8", "surrogateescape")
    yield "resources/requirements.txt", ("\n".join(requirements()) + "\n").encode()
    manifest = {
        "class": f"{module.__name__}:{fmu_class(module).__name__}",
        "sensor_models": sensor_models.SOURCE_DIGEST,
        "fmus": fmus.SOURCE_DIGEST,
    }
    if not module.__name__.startswith("fmus."):
        source = Path(str(module.__file__)).read_bytes()
        manifest["main"] = hashlib.sha256(source).hexdigest()[:16]
        yield f"resources/{module.__name__}.py", source
    lines = [f"{key}={value}\n" for key, value in manifest.items()]
    yield "resources/fmu.txt", "".join(lines).encode()


def licence_files() -> Iterator[tuple[str, bytes]]:
    """The licences of what is inside."""
    folder = "documentation/licenses"
    yield f"{folder}/license.txt", (ROOT / "LICENSE").read_bytes()
    yield f"{folder}/fmi-headers.txt", (BINDING / "fmi2" / "LICENSE").read_bytes()
    yield f"{folder}/pythonfmu.txt", (BINDING / "pythonfmu-LICENSE").read_bytes()


def description(model: type[SensorFmu]) -> bytes:
    """modelDescription.xml."""
    root = model_description(model)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, "unicode")}\n'.encode()


def write_fmu(module: ModuleType, libraries: dict[str, Path], place: str, output: Path) -> Path:
    """Pack one FMU; it appears under its name only when it is complete."""
    model = fmu_class(module)
    contents = {"modelDescription.xml": description(model)}
    contents.update(resource_files(module, place))
    contents.update(licence_files())
    for platform_name, library in libraries.items():
        name = f"binaries/{platform_name}/{model.model_name}{library.suffix}"
        contents[name] = library.read_bytes()
    output.mkdir(parents=True, exist_ok=True)
    target = output / f"{model.model_name}.fmu"
    aside = target.with_suffix(f".{os.getpid()}.part")
    with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(contents.items()):
            # One date for all: equal sources give equal files.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    aside.replace(target)
    return target


def build(
    modules: Sequence[ModuleType],
    output: Path,
    python: str = sys.executable,
    platforms: Sequence[str] = tuple(binding.TARGETS),
    quiet: bool = True,
) -> list[Path]:
    """Build FMUs into a directory; returns their files."""

    def say(message: str) -> None:
        if not quiet:
            print(message, flush=True)

    place = python_place(python)
    libraries = binding.compile_binding(BINDING_CACHE, platforms, say)
    missing = [p for p in platforms if p not in libraries]
    if missing:
        say(f"no cross compiler (pip install ziglang): left out {', '.join(missing)}")
    files = []
    for number, module in enumerate(modules, 1):
        started = time.perf_counter()
        files.append(write_fmu(module, libraries, place, output))
        duration = time.perf_counter() - started
        say(f"[{number}/{len(modules)}] {files[-1]} ({duration:.1f} s)")
    return files


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build the sensor FMUs.")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="build these FMUs only")
    parser.add_argument("--output", type=Path, default=Path("build/fmus"), metavar="DIR")
    parser.add_argument("--list", action="store_true", help="list the FMUs and stop")
    parser.add_argument(
        "--python", default=sys.executable, help="interpreter that the FMUs look for first"
    )
    parser.add_argument(
        "--platforms", nargs="+", choices=list(binding.TARGETS), default=list(binding.TARGETS)
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what the command line asks for."""
    options = parse(arguments)
    modules = fmu_modules()
    if options.list:
        for name, module in modules.items():
            print(f"{name:<20} {fmu_class(module).description_text}")
        return 0
    names = options.only or list(modules)
    unknown = [name for name in names if name not in modules]
    if unknown:
        print(f"no FMU {', '.join(unknown)}; there are {', '.join(modules)}", file=sys.stderr)
        return 2
    try:
        build(
            [modules[name] for name in names],
            options.output,
            options.python,
            options.platforms,
            quiet=False,
        )
    except (BuildError, binding.CompileError) as error:
        print(f"build_fmus: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
