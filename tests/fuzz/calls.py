"""Random calls on built FMUs (``calls.c``), under the address sanitizer where gcc has it."""

import argparse
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import build_fmus
from fmus.binding.compile import SOURCE_DIR, host_platform
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


@dataclass(frozen=True)
class Fuzzer:
    """The compiled host with a list of FMUs."""

    host: Path
    fmus: Path
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
        return Outcome(*map(int, re.findall(r"\d+", output)))


def build_fuzzer(fmus: Sequence[Path], directory: Path) -> Fuzzer:
    """The host, and the FMUs unpacked with libraries of their own."""
    sanitized = has_sanitizer(directory)
    flags = SANITIZER if sanitized else ()
    host = compile_c(directory / "calls", [SOURCE], *flags)
    master = build_master(directory)
    lines = []
    for fmu in fmus:
        files = FmuFiles.unpack(fmu, directory / fmu.stem)
        compile_kernels(files, master)
        # Each its own file: a library that is opened twice by one name is one library.
        own = ("-shared", "-fPIC", "-fvisibility=hidden", "-std=gnu11", *flags)
        compile_c(files.library, sorted(SOURCE_DIR.glob("*.c")), *own)
        lines.append(" ".join(map(str, [files.library, files.guid, files.resource_uri])))
        lines += [" ".join(map(str, references(files, kind))) for kind in TYPES]
    (directory / "fmus.txt").write_text("\n".join(lines) + "\n")
    return Fuzzer(host, directory / "fmus.txt", sanitized)


def compile_kernels(files: FmuFiles, master: Path) -> None:
    """Have the kernels compiled and kept: with the sanitizer that takes minutes."""
    with CMaster(master) as host:
        instance = host.load(files).instantiate("first")
        instance.initialize()
        instance.step(0.0, 0.1).expect(Status.OK, Status.WARNING)
        instance.free()


def references(files: FmuFiles, kind: str) -> tuple[int, int]:
    """The first value reference of a type, and how many follow it."""
    found = [v.reference for v in files.variables.values() if v.type == kind]
    return (min(found), len(found)) if found else (0, 0)


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
            print(seed, fuzzer.run(seed, options.calls), flush=True)


if __name__ == "__main__":
    main()
