"""Random calls on built FMUs (``calls.c``), under the address sanitizer where gcc has it."""

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import build_fmus
from fmus.binding.compile import SOURCE_DIR, host_platform
from tests.fmus.histories import parameters_of
from tests.masters.c_master import CMaster, build_master
from tests.masters.compiling import CompilationError, compile_c
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import Status
from tests.masters.sensors import TYPES

SOURCE = Path(__file__).with_name("calls.c")
SANITIZER = ("-fsanitize=address", "-fno-omit-frame-pointer")

#: The sanitizer reports what is read and written; what Python keeps to its end is no leak.
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:detect_stack_use_after_return=0"}


class FuzzError(Exception):
    """The host did not come to a good end; the message has the seed and what it said."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    calls: int
    errors: int
    messages: int
    steps: int
    #: How often each function gave OK and how often not, by FMU and function.
    answers: Mapping[tuple[str, str], tuple[int, int]]


@dataclass(frozen=True)
class Fuzzer:
    """The compiled host with a list of FMUs."""

    host: Path
    fmus: Path
    names: Sequence[str]
    sanitized: bool

    def run(self, seed: int, calls: int) -> Outcome:
        """Make so many calls."""
        command = [str(self.host), str(seed), str(calls), str(self.fmus)]
        with tempfile.TemporaryDirectory() as directory:
            environment = {**OPTIONS, "HOME": str(Path.home()), "TMPDIR": directory}
            done = subprocess.run(
                command, cwd=directory, env=environment, capture_output=True, check=False
            )
        output, errors = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
        if done.returncode != 0:
            raise FuzzError(
                f"seed {seed}: ended with {done.returncode}\n{output}\n{errors[-8000:]}"
            )
        sums, *lines = output.splitlines()
        answers = {}
        for number, function, good, refused in map(str.split, lines):
            answers[self.names[int(number)], function] = int(good), int(refused)
        return Outcome(*map(int, re.findall(r"\d+", sums)), answers)


def build_fuzzer(fmus: Sequence[Path], directory: Path) -> Fuzzer:
    """The host, and the FMUs unpacked with libraries of their own."""
    sanitized = has_sanitizer(directory)
    flags = SANITIZER if sanitized else ()
    host = compile_c(directory / "calls", [SOURCE], *flags)
    unpacked = [FmuFiles.unpack(fmu, directory / fmu.stem) for fmu in fmus]
    compile_kernels(unpacked, build_master(directory))
    own = ("-shared", "-fPIC", "-fvisibility=hidden", "-std=gnu11", *flags)
    library = compile_c(directory / "binding.so", sorted(SOURCE_DIR.glob("*.c")), *own)
    lines = []
    for files in unpacked:
        # Each its own file: a library that is opened twice by one name is one library.
        shutil.copyfile(library, files.library)
        lines.append(" ".join(map(str, [files.library, files.guid, files.resource_uri])))
        lines += [" ".join(map(str, variables_of(files, kind))) for kind in TYPES]
    (directory / "fmus.txt").write_text("\n".join(lines) + "\n")
    return Fuzzer(host, directory / "fmus.txt", [fmu.stem for fmu in fmus], sanitized)


def compile_kernels(fmus: Sequence[FmuFiles], master: Path) -> None:
    """Have the kernels compiled and kept: with the sanitizer that takes minutes."""
    with CMaster(master) as host:
        for files in fmus:
            instance = host.load(files).instantiate("first")
            for name, value in settings_of(files).items():
                instance.set(name, value).expect()
            instance.initialize()
            instance.step(0.0, 0.1).expect(Status.OK, Status.WARNING)
            instance.free()


def settings_of(files: FmuFiles) -> dict[str, Any]:
    """What instances are set to from the start; files are written where chance says so."""
    chosen = {**parameters_of(files.model_identifier), "scene": "targets"}
    unsaid = ("write_files", "output_format")
    return {n: v for n, v in chosen.items() if n in files.variables and n not in unsaid}


def variables_of(files: FmuFiles, kind: str) -> list[Any]:
    """Of a type: the first value reference, how many follow it, and what is set from the start."""
    found = [v.reference for v in files.variables.values() if v.type == kind]
    chosen = {
        files.variables[name].reference: value if kind == "String" else f"{float(value):.17g}"
        for name, value in settings_of(files).items()
        if files.variables[name].type == kind
    }
    pairs = [word for pair in chosen.items() for word in pair]
    return [min(found, default=0), len(found), len(chosen), *pairs]


def has_sanitizer(directory: Path) -> bool:
    """Whether the compiler can build for the address sanitizer, and the result runs."""
    source = directory / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    try:
        program = compile_c(directory / "empty", [source], *SANITIZER)
    except CompilationError:
        return False
    return subprocess.run([program], env=OPTIONS, check=False).returncode == 0


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one seed after the other; the first that fails is told."""
    parser = argparse.ArgumentParser(description="Random calls on all FMUs.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--calls", type=int, default=20_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        sources = list(build_fmus.fmu_sources().values())
        fmus = build_fmus.build(sources, Path(directory), platforms=[host_platform()])
        fuzzer = build_fuzzer(fmus, Path(directory))
        print("with" if fuzzer.sanitized else "without", "address sanitizer", flush=True)
        for seed in range(options.seed, options.seed + options.runs):
            outcome = fuzzer.run(seed, options.calls)
            print(f"{seed}: {outcome.steps} steps, {outcome.errors} errors", flush=True)


if __name__ == "__main__":
    main()
