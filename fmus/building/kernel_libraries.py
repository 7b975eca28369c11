"""The libraries of kernels that FMUs carry (``sensor_models/kernels/carried.py``).

1. Each FMU is run in many ways to find the kernels that it calls (``exercise.py``).
2. These kernels are compiled for each level of processors (``precompile.py``).
3. The kernels of an FMU are linked into one library for each level and platform.
4. Each FMU is run in the same ways again with its libraries, and without Numba. If a kernel is
   missing, the build fails.

The results of these steps are kept in a directory, and compiled objects in the cache of kernels,
under digests of what they were made from.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmus.binding.compile import CompileError, find_compiler
from fmus.building.sources import BuildError
from sensor_models._levels import LEVELS, host_level, variables_of
from sensor_models.kernels.carried import FOLDER, SUFFIXES
from sensor_models.kernels.compiling import OBJECTS_VARIABLE
from sensor_models.kernels.machine_code import ALIASES, C_LIBRARY
from sensor_models.kernels.object_files import TRIPLES

HERE = Path(__file__).parent
SUPPORT = HERE / "kernels.c"

#: The compiler's names of the platforms.
TARGETS = {"linux64": "x86_64-linux-gnu.2.17", "win64": "x86_64-windows-gnu"}
FLAGS = ("-shared", "-nostdlib", "-O2", "-g0", "-s", "-fno-builtin", "-fno-stack-protector")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Carrier:
    """An FMU that is to carry its kernels: where its resources are, and their digest."""

    name: str
    resources: Path
    digest: str


def carry(
    carriers: Sequence[Carrier],
    sources: str,
    levels: Sequence[str],
    platforms: Sequence[str],
    kept: Path,
    say: Say,
) -> dict[str, dict[str, bytes]]:
    """Put libraries into the resources of FMUs; returns their files, by FMU and place in these.

    ``sources`` is the digest of the package that the kernels are declared in.
    """
    wanted = [platform for platform in platforms if platform in TRIPLES]
    if not (carriers and levels and wanted):
        return {carrier.name: {} for carrier in carriers}
    kept.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        first = environment_of(recording_level(levels), wanted)
        calls = list(pool.map(lambda c: find_calls(c, first, kept, say), carriers))
        with tempfile.TemporaryDirectory() as folder:
            places = [Path(folder, level) for level in levels]
            union = merged(calls)
            resources = [carrier.resources for carrier in carriers]
            list(
                pool.map(
                    lambda level, place: precompile(union, level, wanted, resources, place, say),
                    levels,
                    places,
                )
            )
            linked = list(pool.map(lambda k: link_all(k, sources, places, wanted, kept), calls))
        for carrier, files in zip(carriers, linked, strict=True):
            write_files(carrier.resources, files)
        list(pool.map(lambda c, f: try_out(c, f, kept, say), carriers, linked))
    return {carrier.name: files for carrier, files in zip(carriers, linked, strict=True)}


def recording_level(levels: Sequence[str]) -> str:
    """The level that kernels are compiled for in step 1."""
    host = host_level()
    possible = LEVELS[: LEVELS.index(host) + 1]
    return max((level for level in levels if level in possible), default=host)


def environment_of(level: str, platforms: Iterable[str]) -> dict[str, str]:
    """The environment of a process that compiles kernels for libraries."""
    return {**os.environ, **variables_of(level), OBJECTS_VARIABLE: ",".join(platforms)}


# ---- which kernels there are ---------------------------------------------------------------------


def find_calls(carrier: Carrier, environment: dict[str, str], kept: Path, say: Say) -> list[Any]:
    """The kernels that an FMU calls, each with its place and the kinds of its arguments."""
    answer = kept / f"{digest_of(carrier.digest, (HERE / 'exercise.py').read_bytes())}.calls"
    if not answer.is_file():
        say(f"looking for the kernels of {carrier.name}")
        run_script("exercise.py", environment, carrier.resources, answer)
    calls: list[Any] = json.loads(answer.read_text(encoding="utf-8"))["kernels"]
    return calls


def merged(calls: Iterable[list[Any]]) -> list[Any]:
    """All kernels with all kinds of arguments, each once."""
    found: dict[str, list[Any]] = {}
    for place, kinds in (call for of_one in calls for call in of_one):
        known = found.setdefault(json.dumps(place), [])
        known += [kind for kind in kinds if kind not in known]
    return [(json.loads(place), kinds) for place, kinds in found.items()]


# ---- what they are made of -----------------------------------------------------------------------


def precompile(
    calls: list[Any],
    level: str,
    platforms: Sequence[str],
    resources: Sequence[Path],
    folder: Path,
    say: Say,
) -> None:
    """Write the objects of kernels for a level, and their descriptions, into a folder."""
    folder.mkdir()
    wanted = folder / "calls.json"
    wanted.write_text(json.dumps(calls), encoding="utf-8")
    environment = environment_of(level, platforms)

    def heard(line: str) -> None:
        say(f"{level}: {line}")

    run_script("precompile.py", environment, wanted, folder, *resources, heard=heard)
    known = json.loads((folder / "kernels.json").read_text(encoding="utf-8"))
    keys = [key_of(place, kind) for place, kinds in calls for kind in kinds]
    by_key = dict(zip(keys, known, strict=True))
    (folder / "kernels.json").write_text(json.dumps(by_key), encoding="utf-8")


def key_of(place: Any, kinds: Any) -> str:
    """The key of a kernel with these kinds of arguments."""
    return json.dumps([place, kinds])


# ---- libraries -----------------------------------------------------------------------------------


def link_all(
    calls: list[Any], sources: str, folders: Sequence[Path], platforms: Sequence[str], kept: Path
) -> dict[str, bytes]:
    """The libraries of an FMU for all levels and platforms, and descriptions of their kernels."""
    files = {}
    for folder in folders:
        by_key = json.loads((folder / "kernels.json").read_text(encoding="utf-8"))
        kernels = [by_key[key_of(place, kind)] for place, kinds in calls for kind in kinds]
        functions = functions_for(kernels)
        known = {"sources": sources, "functions": functions, "kernels": kernels}
        for platform in platforms:
            objects = [folder / platform / f"{kernel['name']}.o" for kernel in kernels]
            library = link(objects, functions, platform, kept)
            place = f"{FOLDER}/{platform}/{folder.name}"
            files[f"{place}{SUFFIXES[platform]}"] = library.read_bytes()
            files[f"{place}.json"] = json.dumps(known).encode()
    return files


def functions_for(kernels: Iterable[Mapping[str, Any]]) -> list[str]:
    """Functions that kernels may call: those that they name, and those that LLVM may insert."""
    needed = {name for kernel in kernels for name in kernel["needs"]}
    return sorted({*needed, *C_LIBRARY, *ALIASES})


def link(objects: Sequence[Path], functions: Sequence[str], platform: str, kept: Path) -> Path:
    """A library of these objects; the same objects are linked only once."""
    compiler, name = find_compiler()
    made_of = [SUPPORT.read_bytes(), *(path.read_bytes() for path in objects)]
    digest = digest_of(repr((name, TARGETS, FLAGS, functions, platform)), *made_of)
    library = kept / f"{digest}{SUFFIXES[platform]}"
    if library.is_file():
        return library
    with tempfile.TemporaryDirectory(dir=kept) as folder:
        header = Path(folder, "functions.h")
        lines = [f"FUNCTION({function}, {k})" for k, function in enumerate(functions)]
        header.write_text(f"#define COUNT {len(lines)}\n#define FUNCTIONS {' '.join(lines)}\n")
        aside = Path(folder, library.name)
        is_zig = compiler[0] == sys.executable
        target = ["-target", TARGETS[platform]] if is_zig else []
        pic = [] if platform == "win64" else ["-fPIC"]
        command = [*compiler, *target, *FLAGS, *pic, f"-I{folder}", str(SUPPORT)]
        run([*command, *map(str, objects), "-o", str(aside)])
        aside.replace(library)
    return library


# ---- the proof -----------------------------------------------------------------------------------


def try_out(carrier: Carrier, files: Mapping[str, bytes], kept: Path, say: Say) -> None:
    """Run an FMU with its libraries where nothing can compile."""
    proof = digest_of(carrier.digest, (HERE / "exercise.py").read_bytes(), *files.values())
    answer = kept / f"{proof}.tried"
    if answer.is_file():
        return
    say(f"running {carrier.name} without Numba")
    run_script("exercise.py", os.environ, carrier.resources, answer, "--bare")
    made = json.loads(answer.read_text(encoding="utf-8"))["made"]
    if made:
        answer.unlink()
        raise BuildError(f"{carrier.name} does not carry {made}")


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder."""
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


# ---- processes -----------------------------------------------------------------------------------


def run_script(
    script: str,
    environment: Mapping[str, str],
    *arguments: object,
    heard: Say = lambda _: None,
    flags: Sequence[str] = (),
) -> None:
    """Run a script of this folder in a process of its own; ``flags`` are those of Python."""
    command = [sys.executable, *flags, str(HERE / script), *map(str, arguments)]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=dict(environment)
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            heard(line.rstrip())
        if process.wait() != 0:
            errors.seek(0)
            raise BuildError(f"{script} failed:\n{errors.read()}")


def run(command: Sequence[str]) -> None:
    """Run a compiler."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}"[:2000]  # names of kernels are long
        raise CompileError(f"{' '.join(command)}\n{said}")


def digest_of(*parts: str | bytes) -> str:
    """A digest of texts and contents."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()[:32]
