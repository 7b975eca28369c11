"""Build the FMUs: ``python build_fmus.py [--only NAME ...] [--scene FILE] [--output DIR]``.

An FMU is made of its description, the compiled binding for each platform, and as resources the
packages ``sensor_models``, ``fmus`` and ``pythonfmu`` in full, so that it runs wherever a Python
with the packages of its ``requirements.txt`` is found. Of this machine it holds one thing, the
place of the interpreter that built it (``resources/python.txt``), which the environment variable
FMU_PYTHON overrides. FMUs that can load a scene carry the built-in ones.

With ``--ssp`` a system of them (``examples/ssp``) is packed as an SSP file beside their directory.

Their kernels are compiled now, for three levels of x86-64 processors (``--levels``), and carried as
libraries for Linux and Windows, so that no FMU needs Numba there. What was compiled before is taken
from the cache; the first build takes minutes.

With ``--standalone`` FMUs carry this interpreter with the packages that they use, too, and run on
machines that have no Python (``fmus/building/standalone``).

With ``--fmi 3`` they are FMUs of FMI 3.0, in a directory of their own; ``--fmi both`` builds both.

With ``--modelica`` and ``--simulink`` what helps these tools to import the FMUs is written, too
(``fmus/building/importers``).

With ``--docs`` nothing is built: the reference pages, which each FMU has in its ``documentation``,
are written to a directory.

With ``--scene`` they carry that scene, too, and ``Environment`` has inputs for its bodies; the main
module of that FMU is then a generated one. If the scene is an MJCF with actuators,
``VehicleDynamics`` simulates it.

With ``--module FILE`` an FMU is built of a sensor that is declared outside of the project: a Python
file with one ``SensorSpec``, or with one FMU class. It is built with the others, or alone
(``--only NAME``).
"""

import argparse
import difflib
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pythonfmu

import fmus
import sensor_models
from fmus.binding import compile as binding
from fmus.binding.fmu_loader import OPTIONAL
from fmus.building import project, versions
from fmus.building.importers import add_importers, write_for_importers
from fmus.building.kernel_libraries import carried_for, carriers_of, carry
from fmus.building.reference import reference_page, write_pages
from fmus.building.reference_results import write_reference_results
from fmus.building.smoke_test import related_files
from fmus.building.sources import BuildError, Source, fmu_sources, own_source
from fmus.building.standalone.interpreter import licence_files as licences_of_carried
from fmus.building.standalone.resources import Standalone, check_possible
from fmus.building.worlds import built_in_scenes as built_in_scenes
from fmus.building.worlds import named_scene, read_scene, sources_for
from fmus.fmi.arrays import Interface
from fmus.fmi.base import FmuBase
from fmus.tools.systems import DescriptionError, System, fmu_place, package, read_system
from fmus.tools.validation.card import validation_card
from sensor_models._digest import sources
from sensor_models._levels import ARM_LINUX, LEVELS, host_level
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import MANIFEST_NAME
from sensor_models.scene.worlds.dynamics import dynamics_of
from sensor_models.tools.pictures.progress import Progress, Unheard

#: A checkout, or the directory that this file is installed in, beside the packages.
ROOT = Path(__file__).resolve().parent
BINDING = ROOT / "fmus" / "binding"
BINDING_CACHE = project.BUILD / "binding"
KERNELS = project.BUILD / "kernels"
SYSTEM = project.EXAMPLES / "ssp" / "drive.toml"

#: Environment variable for the levels of processors that kernels are compiled for.
LEVELS_VARIABLE = "SENSOR_FMUS_LEVELS"
#: The levels as the command line names them.
SHORT_LEVELS = {level.rpartition("-")[2]: level for level in LEVELS}

#: What requirements call the platforms.
MARKERS = {
    "linux64": 'sys_platform == "linux"',
    "win64": 'sys_platform == "win32"',
    "darwin64": 'sys_platform == "darwin"',
    ARM_LINUX: 'platform_machine == "aarch64"',
}

#: For builds that nobody watches.
UNHEARD = Unheard()

#: Packed into the resources beside the packages.
LOADER_FILES = ("fmu_loader.py", "locate_python.py")


def scene_files(scenes: Mapping[str, Path]) -> Iterator[tuple[str, bytes]]:
    """The files of scenes, as they go into the resources."""
    for name, manifest in scenes.items():
        folder = f"resources/scenes/{name}"
        yield f"{folder}/{MANIFEST_NAME}", manifest.read_bytes()
        model = dynamics_of(manifest)
        moved = model.parent.rglob("*.*") if model is not None else ()
        for file in (*read_scene(manifest).files, *sorted(moved)):
            if file != manifest:
                yield f"{folder}/{file.relative_to(manifest.parent).as_posix()}", file.read_bytes()


def requirements(model: type[FmuBase], compiling: Sequence[str] = ()) -> list[str]:
    """The packages that an FMU needs or may use, as pip wants them.

    ``compiling`` are the platforms on which it has to compile its kernels, "" stands for all.
    """
    wanted = (*model.PACKAGES, *OPTIONAL)
    known = {re.split(r"[<>=;[]", r)[0]: r for r in project.dependencies()}
    found = [requirement for name, requirement in known.items() if name in wanted]
    others = (package for package in model.PACKAGES if package not in known)
    found += [p if re.search("[<>=]", p) else f"{p}>=0" for p in others]
    numba = {p: f"; {marker}" for p, marker in MARKERS.items()} | {"": ""}
    return found + [f"{known['numba']}{numba[platform]}" for platform in compiling]


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
    for path in sources(folder, pattern):
        name = f"resources/{folder.name}/{path.relative_to(folder).as_posix()}"
        yield name, path.read_bytes()


def resource_files(
    source: Source,
    place: str,
    scenes: Mapping[str, Path],
    compiling: Sequence[str],
    interface: Interface = Interface.fmi2,
) -> Iterator[tuple[str, bytes]]:
    """Everything in ``resources/`` but the libraries of kernels."""
    yield from package_files(sensor_models, "**/*")
    for pattern in fmus.PACKED:
        yield from package_files(fmus, pattern)
    yield from package_files(pythonfmu, "*.py")
    if "scene" in source.model.table().by_name:  # it can load one
        yield from scene_files(scenes)
    for name in LOADER_FILES:
        yield f"resources/{name}", (BINDING / name).read_bytes()
    yield "resources/python.txt", place.encode("utf-8", "surrogateescape")
    lines = requirements(source.model, compiling)
    yield "resources/requirements.txt", ("\n".join(lines) + "\n").encode()
    manifest = {
        "class": f"{source.module}:{source.name}",
        "sensor_models": sensor_models.SOURCE_DIGEST,
        "fmus": fmus.SOURCE_DIGEST,
        "interface": interface.value,
    }
    if source.content is not None:
        manifest["main"] = hashlib.sha256(source.content).hexdigest()[:16]
        yield f"resources/{source.module}.py", source.content
    lines = [f"{key}={value}\n" for key, value in manifest.items()]
    yield "resources/fmu.txt", "".join(lines).encode()


def licence_files() -> Iterator[tuple[str, bytes]]:
    """The licences of what is inside."""
    folder = "documentation/licenses"
    yield f"{folder}/license.txt", project.licence()
    yield f"{folder}/fmi-headers.txt", (BINDING / "fmi2" / "LICENSE").read_bytes()
    yield f"{folder}/fmi3-headers.txt", (BINDING / "fmi3" / "LICENSE").read_bytes()
    yield f"{folder}/pythonfmu.txt", (BINDING / "pythonfmu-LICENSE").read_bytes()


def write_fmu(
    source: Source,
    libraries: Mapping[str, Path],
    resources: Mapping[str, bytes],
    output: Path,
    interface: Interface = Interface.fmi2,
    faults: bool = True,
) -> Path:
    """Pack one FMU."""
    model = source.model
    contents = {
        "modelDescription.xml": versions.description(model, interface, faults=faults),
        "documentation/index.html": reference_page(model),
        "documentation/validation.html": validation_card(model.model_name),
    }
    contents.update(resources)
    contents.update(licence_files())
    contents.update(licences_of_carried(resources))
    contents.update(related_files(model, interface))
    contents.update(versions.terminal_files(model, interface))
    contents.update(versions.binaries_of(model, interface, libraries))
    return write_archive(output / f"{model.model_name}.fmu", contents)


def write_archive(target: Path, contents: Mapping[str, bytes]) -> Path:
    """Write files into a zip file, which appears under its name only when it is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_suffix(f".{os.getpid()}.part")
    with zipfile.ZipFile(aside, "w") as archive:
        for name, content in sorted(contents.items()):
            # One date for all: equal sources give equal files.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    aside.replace(target)
    return target


def read_ssp_source(path: Path, known: Mapping[str, Source]) -> System:
    """The description of a system of these FMUs."""
    return read_system(path, {name: source.model for name, source in known.items()})


def write_ssp(
    system: System,
    directory: Path,
    interface: Interface = Interface.fmi2,
    known: Mapping[str, Source] | None = None,
) -> Path:
    """Pack a system with FMUs that were built, beside their directory: as SSP 2.0 for FMI 3.0."""
    models = {name: source.model for name, source in (known or fmu_sources()).items()}
    name, contents = package(system, models, interface)
    for part in system.parts:
        fmu = part.source or directory / f"{part.model_name}.fmu"
        if not fmu.is_file():
            raise BuildError(f"{system.name} needs {fmu}, which was not built")
        contents[fmu_place(part)] = with_resources(fmu, part.carried)
    return write_archive(directory.absolute().parent / f"{name}.ssp", contents)


def with_resources(fmu: Path, files: Mapping[str, Path]) -> bytes:
    """An FMU with further files among its resources."""
    if not files:
        return fmu.read_bytes()
    with zipfile.ZipFile(fmu) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents |= {f"resources/{place}": path.read_bytes() for place, path in files.items()}
    with tempfile.TemporaryDirectory() as folder:
        return write_archive(Path(folder) / fmu.name, contents).read_bytes()


def build(
    wanted: Sequence[Source],
    output: Path,
    python: str = sys.executable,
    platforms: Sequence[str] = tuple(binding.TARGETS),
    progress: Progress = UNHEARD,
    scenes: Mapping[str, Path] | None = None,
    levels: Sequence[str] | None = None,
    standalone: bool = False,
    interface: Interface = Interface.fmi2,
    faults: bool = True,
) -> list[Path]:
    """Build FMUs into a directory, with these scenes or the built-in ones; returns their files.

    They carry their kernels for processors of these levels, named as on the command line.
    """
    if standalone:
        check_possible(python, platforms, binding.host_platform())
    progress.say("reading sources")
    place = python_place(python)
    shown = versions.platforms_of(interface, platforms)
    libraries = binding.compile_or_tell(BINDING_CACHE, shown, progress.say)
    scenes = built_in_scenes() if scenes is None else scenes
    chosen = chosen_levels(levels)
    carried = carried_for(chosen, libraries)
    compiling = [p for p in libraries if p not in carried] if chosen else [""]
    contents = {
        source.model.model_name: dict(resource_files(source, place, scenes, compiling, interface))
        for source in wanted
    }
    with tempfile.TemporaryDirectory() as folder:
        carriers = carriers_of(wanted, contents, Path(folder))
        digest = sensor_models.SOURCE_DIGEST
        kernels = carry(carriers, digest, chosen, tuple(libraries), KERNELS, progress.say)
    for name, own in kernels.items():
        contents[name] |= {f"resources/{place}": content for place, content in own.items()}
    carrying = Standalone(KERNELS, progress.say) if standalone else None

    def finished(source: Source) -> Path:
        resources = contents[source.model.model_name]
        if carrying is not None:
            resources = carrying.resources(source, resources)
        return write_fmu(source, libraries, resources, output, interface, faults)

    files = []
    # A standalone FMU is run in processes of its own, for half a minute.
    with ThreadPoolExecutor(os.cpu_count() if standalone else 1) as pool:
        for number, file in enumerate(pool.map(finished, wanted), 1):
            files.append(file)
            progress.keep(f"[{number}/{len(wanted)}] {file} ({file.stat().st_size / 1e6:.1f} MB)")
    return files


def parse(arguments: Sequence[str] | None, program: str | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(program, description="Build the sensor FMUs.")
    parser.add_argument(
        "--only", nargs="+", action="extend", metavar="NAME", help="build these FMUs only"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="default: build/fmus, and build/fmus3 for FMI 3.0; of both, the latter has a 3 behind",
    )
    versions.add_versions(parser)
    parser.add_argument(
        "--scene",
        metavar="FILE",
        help="build Environment, and for an MJCF with actuators also"
        " VehicleDynamics, for this scene; default: the yard",
    )
    parser.add_argument(
        "--ssp",
        type=Path,
        nargs="?",
        const=SYSTEM,
        metavar="FILE",
        help="also pack a system of FMUs as SSP, beside their directory; default: the drive",
    )
    parser.add_argument(
        "--docs", type=Path, metavar="DIR", help="write the reference pages and stop"
    )
    add_importers(parser)
    parser.add_argument(
        "--reference-results",
        type=Path,
        metavar="DIR",
        help="also simulate each FMU with fmpy, and write what FMI Cross-Check wants of that",
    )
    parser.add_argument(
        "--module",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="also build an FMU of the sensor that a Python file of your own declares",
    )
    parser.add_argument("--list", action="store_true", help="list the FMUs and stop")
    add_places(parser)
    return parser.parse_args(arguments)


def add_places(parser: argparse.ArgumentParser) -> None:
    """Where the FMUs are to run."""
    parser.add_argument(
        "--python", default=sys.executable, help="interpreter that the FMUs look for first"
    )
    parser.add_argument(
        "--platforms",
        nargs="+",
        action="extend",
        choices=[*binding.TARGETS, "host"],
        help="default: all, and with --standalone that of this machine, 'host'",
    )
    parser.add_argument(
        "--standalone",
        action="store_true",
        help="have the FMUs carry this interpreter, for machines without Python",
    )
    parser.add_argument(
        "--levels",
        nargs="+",
        action="extend",
        choices=[*SHORT_LEVELS, "host", "none"],
        help="levels of x86-64 processors that kernels are compiled for, default: all; 'host' for"
        " the best of this machine, 'none' to have Numba compile them where the FMUs run",
    )


def platforms_for(options: argparse.Namespace) -> list[str]:
    """The platforms that FMUs are built for."""
    host = binding.host_platform()
    named = options.platforms or (["host"] if options.standalone else binding.TARGETS)
    return list(dict.fromkeys(host if name == "host" else name for name in named))


def chosen_levels(names: Sequence[str] | None) -> list[str]:
    """The levels that a command line names; by default those of the environment, or all."""
    if names is None:
        names = os.environ.get(LEVELS_VARIABLE, "").split() or list(SHORT_LEVELS)
    if unknown := [name for name in names if name not in (*SHORT_LEVELS, "host", "none")]:
        raise BuildError(f"{LEVELS_VARIABLE}: there is no level {', '.join(unknown)}")
    if not host_level():
        print("kernels are left out: only x86-64 processors can compile them", file=sys.stderr)
        return []
    chosen = {host_level() if name == "host" else SHORT_LEVELS.get(name, "") for name in names}
    return [level for level in LEVELS if level in chosen]


def main(arguments: Sequence[str] | None = None, program: str | None = None) -> int:
    """Build what the command line asks for; ``program`` is what the user calls it by."""
    options = parse(arguments, program)
    try:
        known = fmu_sources() | {s.model.model_name: s for s in map(own_source, options.module)}
    except (BuildError, OSError) as error:
        print(f"build_fmus: {error}", file=sys.stderr)
        return 1
    if options.list:
        for name, source in known.items():
            print(f"{name:<20} {source.model.description_text}")
        return 0
    names = options.only or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        lower = {name.lower(): name for name in known}
        close = difflib.get_close_matches(unknown[0].lower(), lower, n=1)
        hint = f"did you mean {lower[close[0]]}?" if close else f"there are {', '.join(known)}"
        print(f"no FMU {', '.join(unknown)}; {hint}", file=sys.stderr)
        return 2
    return make(options, known, names)


def make(options: argparse.Namespace, known: dict[str, Source], names: Sequence[str]) -> int:
    """Build these of the known FMUs, with what else the command line asks for."""
    scenes = built_in_scenes()
    try:
        if options.scene:
            name, manifest = named_scene(options.scene)
            scenes[name] = manifest
            known |= sources_for(name, manifest)
        for place in write_for_importers(options, {name: known[name].model for name in names}):
            print(place)
        if options.docs:
            print(write_pages([known[name].model for name in names], options.docs))
            return 0
        system = read_ssp_source(options.ssp, known) if options.ssp else None
        outputs = versions.outputs_of(options)
        # FMI 3.0 first: its kernels are for more platforms, and those of FMI 2.0 among them.
        for interface, directory in reversed(outputs.items()):
            with Progress() as progress:
                build(
                    [known[name] for name in names],
                    directory,
                    options.python,
                    platforms_for(options),
                    progress,
                    scenes=scenes,
                    levels=options.levels,
                    standalone=options.standalone,
                    interface=interface,
                    faults=options.faults,
                )
        first = next(iter(outputs.values()))
        if options.reference_results:
            for name in names:
                fmu = first / f"{name}.fmu"
                write_reference_results(fmu, options.reference_results / name)
        if system is not None:
            for interface, directory in outputs.items():
                print(write_ssp(system, directory, interface, known))
    except (BuildError, DescriptionError, SceneError, binding.CompileError) as error:
        print(f"build_fmus: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
