"""The libraries of kernels that FMUs carry (``sensor_models/kernels/carried.py``).

1. Which kernels an FMU carries is declared (``exports.py``). Of FMUs of sensors from outside the
   project it is found by running them in many ways (``exercise.py``).
2. All of these kernels are compiled, each once for each level of processors, by as many processes
   as there are processors (``precompile.py``).
3. The kernels of an FMU are linked into one library for each level and platform.
4. FMUs from outside are run in the same ways again with their libraries, and without Numba. If a
   kernel is missing, the build fails. Of the project's own, tests do that.

The results of these steps are kept in a directory, and compiled objects in the cache of kernels,
under digests of what they were made from.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmus.binding.compile import CompileError, find_compiler
from fmus.building.exports import exports_in
from fmus.building.sources import BuildError, Source
from fmus.fmi.environment_fmu import EnvironmentFmu
from sensor_models._levels import (
    ARM_LEVEL,
    ARM_LINUX,
    LEVELS,
    host_level,
    platforms_at,
    variables_of,
)
from sensor_models.core.exports import Export, exports_of, read_exports
from sensor_models.kernels.carried import FOLDER, SUFFIXES
from sensor_models.kernels.compiling import FOR_PROCESSES, OBJECTS_VARIABLE
from sensor_models.kernels.machine_code import ALIASES, C_LIBRARY
from sensor_models.kernels.object_files import TRIPLES

HERE = Path(__file__).parent
SUPPORT = HERE / "kernels.c"

#: The compiler's names of the platforms.
TARGETS = {
    "linux64": "x86_64-linux-gnu.2.17",
    "win64": "x86_64-windows-gnu",
    ARM_LINUX: "aarch64-linux-gnu.2.17",
}
FLAGS = ("-shared", "-nostdlib", "-O2", "-g0", "-s", "-fno-builtin", "-fno-stack-protector")

#: Numba words an error for each signature that a call does not fit, which colours make slow.
PLAIN_MESSAGES = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}

Say = Callable[[str], None]
#: What is known of each compiled kernel, by level and ``Export.key``.
Known = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class Carrier:
    """An FMU that is to carry its kernels: the place of its resources, and their digest.

    They are unpacked there if something of them is read or run (``declaring``).
    """

    name: str
    resources: Path
    digest: str
    #: The kernels that are declared for it, None if it is from outside of the project.
    declared: tuple[Export, ...] | None = None


def carriers_of(
    wanted: Sequence[Source], contents: Mapping[str, Mapping[str, bytes]], folder: Path
) -> list[Carrier]:
    """The FMUs; what is read or run of them is unpacked."""
    exports = read_exports()
    carriers = []
    for source in wanted:
        name = source.model.model_name
        # where this Python is changes nothing
        known = [
            part for k, v in contents[name].items() if "python.txt" not in k for part in (k, v)
        ]
        declared = tuple(exports_of(name, exports)) if is_own(source) else None
        carriers.append(Carrier(name, folder / name / "resources", digest_of(*known), declared))
    for carrier in declaring(carriers):
        write_files(folder / carrier.name, contents[carrier.name])
    return carriers


def is_own(source: Source) -> bool:
    """Whether an FMU is one of the project's, for whichever scene it is built."""
    return source.content is None or issubclass(source.model, EnvironmentFmu)


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
    wanted = carried_for(levels, platforms)
    levels = [level for level in levels if platforms_at(level, wanted)]
    if not (carriers and levels and wanted):
        return {carrier.name: {} for carrier in carriers}
    kept.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool, tempfile.TemporaryDirectory() as folder:
        first = environment_of(recording_level(levels), wanted)
        exports = list(pool.map(lambda c: exports_for(c, first, kept, say), carriers))
        objects = Path(folder)
        places = [carrier.resources for carrier in declaring(carriers)]
        known = compile_all(merged(exports), levels, wanted, places, objects, say)

        def linked_for(own: Iterable[Export]) -> dict[str, bytes]:
            return link_all(own, sources, objects, known, wanted, kept)

        linked = list(pool.map(linked_for, exports))
        outside = [(c, f) for c, f in zip(carriers, linked, strict=True) if c.declared is None]
        for carrier, files in outside:
            write_files(carrier.resources, files)
        list(pool.map(lambda pair: try_out(pair[0], pair[1], kept, say), outside))
    return {carrier.name: files for carrier, files in zip(carriers, linked, strict=True)}


def carried_for(levels: Sequence[str], platforms: Iterable[str]) -> list[str]:
    """The platforms that get libraries of what is compiled for these levels."""
    return [p for p in platforms if p in TRIPLES and any(platforms_at(v, [p]) for v in levels)]


def recording_level(levels: Sequence[str]) -> str:
    """The level that kernels are compiled for where FMUs are run to find them."""
    host = host_level()
    possible = LEVELS[: LEVELS.index(host) + 1]
    return max((level for level in levels if level in possible), default=host)


def environment_of(level: str, platforms: Iterable[str]) -> dict[str, str]:
    """The environment of a process that compiles kernels for libraries.

    Who keeps objects for libraries of what it calls itself (tests do) finds there what it calls.
    """
    shared = [FOR_PROCESSES] if OBJECTS_VARIABLE in os.environ else []
    objects = ",".join([*platforms_at(level, platforms), *shared])
    return {**os.environ, **variables_of(level), **PLAIN_MESSAGES, OBJECTS_VARIABLE: objects}


# ---- which kernels there are ---------------------------------------------------------------------


def exports_for(
    carrier: Carrier, environment: dict[str, str], kept: Path, say: Say
) -> tuple[Export, ...]:
    """The kernels that an FMU carries: as declared, or else those that it is found to call."""
    if carrier.declared is not None:
        return carrier.declared
    return tuple(exports_in({carrier.name: find_calls(carrier, environment, kept, say)}))


def find_calls(carrier: Carrier, environment: dict[str, str], kept: Path, say: Say) -> list[Any]:
    """The kernels that an FMU calls, each with its place and the kinds of its arguments."""
    answer = kept / f"{digest_of(carrier.digest, (HERE / 'exercise.py').read_bytes())}.calls"
    if not answer.is_file():
        say(f"looking for the kernels of {carrier.name}")
        run_script("exercise.py", environment, carrier.resources, answer)
    calls: list[Any] = json.loads(answer.read_text(encoding="utf-8"))["kernels"]
    return calls


def merged(exports: Iterable[Iterable[Export]]) -> list[Export]:
    """All exports, each once, however many FMUs carry it."""
    return list({export.key: export for of_one in exports for export in of_one}.values())


def declaring(carriers: Sequence[Carrier]) -> Sequence[Carrier]:
    """FMUs that together declare all kernels: all from outside, or any one."""
    return [carrier for carrier in carriers if carrier.declared is None] or carriers[:1]


# ---- what they are made of -----------------------------------------------------------------------


def compile_all(
    exports: Sequence[Export],
    levels: Sequence[str],
    platforms: Sequence[str],
    resources: Sequence[Path],
    folder: Path,
    say: Say,
) -> Known:
    """Write the objects of kernels into a folder for each level; returns what is known of them.

    A process compiles a family of a level after the other: what its kernels have in common, it
    compiles once. So nobody begins with a level that others work at before all have been begun.
    """
    tasks = Tasks({level: by_family(exports) for level in levels})
    for level in levels:
        (folder / level).mkdir()
    known: Known = {level: {} for level in levels}
    tally = Tally(len(exports) * len(levels), say)

    def work() -> None:
        with ExitStack() as processes:
            compilers: dict[str, Compiler] = {}
            for level, family in tasks.taken():
                if level not in compilers:
                    compiler = Compiler(level, platforms, resources, folder / level, tally)
                    compilers[level] = processes.enter_context(compiler)
                answers = compilers[level].compile(family)
                known[level].update(zip((e.key for e in family), answers, strict=True))

    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(work) for _ in range(os.cpu_count() or 1)]:
            done.result()
    return known


def by_family(exports: Iterable[Export]) -> list[list[Export]]:
    """Exports of one family each. Those with the longest arguments, which take longest, first."""
    found: dict[str, list[Export]] = {}
    for export in exports:
        found.setdefault(export.family, []).append(export)
    return sorted(found.values(), key=lambda family: -sum(len(e.key) for e in family))


class Tasks:
    """What is left to be compiled; several threads take of it."""

    def __init__(self, families: Mapping[str, Iterable[Sequence[Export]]]) -> None:
        self._left = {level: deque(of_level) for level, of_level in families.items()}
        self._workers = dict.fromkeys(families, 0)
        self._lock = threading.Lock()

    def taken(self) -> Iterator[tuple[str, Sequence[Export]]]:
        """Families, each with its level, until none is left: those of one level, then of others."""
        while level := self._begun():
            while family := self._next(level):
                yield level, family

    def _begun(self) -> str:
        """A level of which something is left, with the fewest workers; "" if there is none."""
        with self._lock:
            left = [level for level, families in self._left.items() if families]
            level = min(left, key=self._workers.__getitem__, default="")
            if level:
                self._workers[level] += 1
            return level

    def _next(self, level: str) -> Sequence[Export] | None:
        with self._lock:
            return self._left[level].popleft() if self._left[level] else None


class Tally:
    """How many kernels there are of those that are wanted; several threads count."""

    def __init__(self, wanted: int, say: Say) -> None:
        self._wanted, self._say = wanted, say
        self._done, self._lock = 0, threading.Lock()

    def compiled(self, kernel: str) -> None:
        """One had to be compiled."""
        self.found(1)
        self._say(f"compiling kernels: {self._done} of {self._wanted}, the last was {kernel}")

    def found(self, count: int) -> None:
        """Some are there."""
        with self._lock:
            self._done += count


class Compiler:
    """A process that compiles for one level."""

    def __init__(
        self,
        level: str,
        platforms: Sequence[str],
        resources: Sequence[Path],
        folder: Path,
        tally: Tally,
    ) -> None:
        self._tally = tally
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "precompile.py"), str(folder), *map(str, resources)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment_of(level, platforms),
        )

    def __enter__(self) -> "Compiler":
        return self

    def compile(self, exports: Sequence[Export]) -> list[dict[str, Any]]:
        """What is known of each of these kernels, whose objects are then in the folder."""
        wanted = json.dumps([[e.module, e.name, e.arguments] for e in exports])
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # it has failed; its errors say how
            self._process.stdin.write(f"{wanted}\n")
            self._process.stdin.flush()
        for new, line in enumerate(self._process.stdout):
            if line.startswith("["):
                answer: list[dict[str, Any]] = json.loads(line)
                self._tally.found(len(answer) - new)
                return answer
            self._tally.compiled(line.rstrip())
        self._errors.seek(0)
        raise BuildError(f"precompile.py failed:\n{self._errors.read()}")

    def __exit__(self, *reason: object) -> None:
        self._process.__exit__(None, None, None)
        self._errors.close()


# ---- libraries -----------------------------------------------------------------------------------


def link_all(
    exports: Iterable[Export],
    sources: str,
    objects: Path,
    known: Known,
    platforms: Sequence[str],
    kept: Path,
) -> dict[str, bytes]:
    """The libraries of an FMU for all levels and platforms, and descriptions of their kernels."""
    keys = [export.key for export in exports]
    files = {}
    for level, by_key in known.items():
        kernels = [by_key[key] for key in keys]
        functions = functions_for(kernels)
        description = {"sources": sources, "functions": functions, "kernels": kernels}
        for platform in platforms_at(level, platforms):
            parts = [objects / level / platform / f"{kernel['name']}.o" for kernel in kernels]
            library = link(parts, functions, platform, kept)
            place = f"{FOLDER}/{platform}/{ARM_LEVEL if platform == ARM_LINUX else level}"
            files[f"{place}{SUFFIXES[platform]}"] = library.read_bytes()
            files[f"{place}.json"] = json.dumps(description).encode()
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
