"""Driving FMUs from a process that is no Python: a master in plain C. For Linux.

Masters of this kind find what hosts with a Python inside hide: what a library needs when it is
opened, what a process with an empty environment lacks, what a crash takes down, and what a call
costs. ``master.c`` makes the calls; the classes here tell it which, one at a time::

    with CMaster(build_master(directory)) as master:
        library = master.load(FmuFiles.unpack(fmu, unpacked))
        instance = library.instantiate()
        instance.initialize()
        instance.set_real({"joint.position": 1.0}).expect()
        instance.step(0.0, 0.01).expect()
        position = instance.get("position")

Calls return a ``Reply`` with status and messages, whatever the status is. When the process dies,
``MasterDiedError`` tells exit code and stderr, at the end of the ``with`` block too.
"""

import itertools
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol

from tests.masters.c_instance import Growth, Instance
from tests.masters.compiling import FMI_HEADERS, compile_c
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import (
    NULL,
    CallFailedError,
    MasterDiedError,
    MasterHungError,
    Reply,
    encode,
    read_reply,
)
from tests.tools import need

HERE = Path(__file__).resolve().parent

#: How long one command may take, in seconds, before the master is taken to hang. First calls may
#: compile kernels, and loops may run for a while under a memory checker.
TIMEOUT = 300.0


def fmi_functions() -> list[str]:
    """The names of all functions that FMI 2.0's header declares."""
    header = (FMI_HEADERS / "fmi2Functions.h").read_text()
    return re.findall(r"FMI2_Export\s+fmi2\w+TYPE\s+(fmi2\w+);", header)


def build_master(directory: Path) -> Path:
    """Builds the master into a directory and returns the executable."""
    return compile_c(directory / "c_master", sorted(HERE.glob("*.c")))


class Surroundings(Protocol):
    """What the master runs in: a memory checker, or a root directory of its own."""

    def prefix(self) -> list[str]:
        """What to put before the master's own command."""


@dataclass(frozen=True)
class Valgrind:
    """How to run the master under valgrind."""

    suppressions: tuple[Path, ...] = ()
    arguments: tuple[str, ...] = ("--error-exitcode=99", "--leak-check=full")

    def prefix(self) -> list[str]:
        """What to put before the master's own command."""
        need("valgrind")
        suppressions = [f"--suppressions={path}" for path in self.suppressions]
        return [str(shutil.which("valgrind")), *self.arguments, *suppressions]


class CMaster:
    """A running master: a process of its own, with an empty environment if not told otherwise."""

    def __init__(
        self,
        executable: Path,
        environment: Mapping[str, str] | None = None,
        within: Surroundings | None = None,
        timeout: float = TIMEOUT,
        directory: Path | None = None,
    ) -> None:
        self._timeout = timeout
        self._death: MasterDiedError | None = None
        self._hung = False
        self._numbers = itertools.count(1)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            [*(within.prefix() if within else []), str(executable)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(environment or {}),
            cwd=directory,
            text=True,
            encoding="ascii",
        )

    def __enter__(self) -> "CMaster":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        exit_code, stderr = self.close()
        if exit_code != 0 and error is None and self._death is None:
            raise MasterDiedError("the end of its input", exit_code, stderr)

    @property
    def pid(self) -> int:
        """The number of the master's process."""
        return self._process.pid

    def close(self) -> tuple[int, str]:
        """Ends the master as its main function ends, and returns its exit code and stderr."""
        exit_code = self._finish()
        stderr = self._stderr()
        self._errors.close()
        return exit_code, stderr

    def command(self, name: str, *words: str | int | float) -> Reply:
        """Has a command carried out; floats are sent exactly."""
        line = " ".join([name, *map(_word, words)])
        shown = line if len(line) < 200 else f"{line[:200]}..."
        timer = threading.Timer(self._timeout, self._give_up)
        timer.start()
        try:
            self._send(line)
            return read_reply(shown, self._read_line)
        except (EOFError, BrokenPipeError):
            kind = MasterHungError if self._hung else MasterDiedError
            self._death = kind(shown, self._finish(), self._stderr())
            raise self._death from None
        finally:
            timer.cancel()

    def load(self, files: FmuFiles) -> "Library":
        """Opens an FMU's library."""
        name = self.new_name("library")
        self.command("load", name, encode(str(files.library)))
        return Library(self, name, files)

    def memory(self) -> int:
        """The master's resident memory in bytes."""
        return self.command("memory").integers()[0]

    def handled_signals(self) -> list[int]:
        """Numbers of the signals whose handlers are others than when the master began."""
        return self.command("signals").integers()

    def step_in_threads(
        self, instances: Sequence[Instance], start: float, step: float, count: int
    ) -> Reply:
        """Steps instances at once, each in its own thread; integers: steps made by each."""
        return self.command("threads", start, step, count, *(each.name for each in instances))

    def create_in_threads(
        self, libraries: Sequence["Library"], stack_size: int = 0
    ) -> tuple[list[Instance], Reply]:
        """Makes an instance of each library, all at once; integers: 1 for each that came to life.

        Args:
            libraries: Whose instances to make, each in a thread of its own.
            stack_size: The threads' stacks in bytes; 0 for the system's usual ones.
        """
        instances, words = [], []
        for library in libraries:
            instances.append(Instance(self, self.new_name("instance"), library.files))
            words += [library.name, instances[-1].name, *library.identity("instance")]
        return instances, self.command("create", stack_size, *words)

    def new_name(self, kind: str) -> str:
        """A name not used before."""
        return f"{kind}{next(self._numbers)}"

    def _give_up(self) -> None:
        self._hung = True
        self._process.kill()

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise EOFError
        return line

    def _finish(self) -> int:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue
        try:
            return self._process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _stderr(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="backslashreplace")


class Library:
    """An FMU's library, opened by a master."""

    def __init__(self, master: CMaster, name: str, files: FmuFiles) -> None:
        self.master = master
        self.name = name
        self.files = files

    def unload(self) -> Reply:
        """Closes the library."""
        return self.master.command("unload", self.name)

    def missing_functions(self, names: Sequence[str]) -> list[str | None]:
        """Those of the functions that the library does not export."""
        return self.master.command("missing", self.name, *names).strings()

    def version(self) -> str | None:
        """What ``fmi2GetVersion`` returns."""
        return self.master.command("fmi2GetVersion", self.name).strings()[0]

    def types_platform(self) -> str | None:
        """What ``fmi2GetTypesPlatform`` returns."""
        return self.master.command("fmi2GetTypesPlatform", self.name).strings()[0]

    def instantiate(self, instance_name: str = "instance", *, logging: bool = False) -> Instance:
        """An instance made as a master should make it."""
        instance, reply = self.try_instantiate(instance_name, logging=logging)
        if reply.words != ("1",):
            raise CallFailedError(reply)
        return instance

    def try_instantiate(
        self,
        instance_name: str | None = "instance",
        *,
        logging: bool = False,
        callbacks: str = "full",
        **identity: str | int | None,
    ) -> tuple[Instance, Reply]:
        """Calls ``fmi2Instantiate``; the reply's word is 1 if it gave an instance, 0 for NULL.

        Args:
            instance_name: The name to pass; None for a null pointer, as for all strings.
            logging: Whether ``loggingOn`` is set.
            callbacks: "full", "no-logger", "no-memory" or "none" (no structure at all).
            **identity: What is to differ from the model description: ``guid``, ``resources``,
                ``kind`` (0 for model exchange), ``visible``.
        """
        handle = self.master.new_name("instance")
        words = self.identity(instance_name, logging, **identity)
        reply = self.master.command("fmi2Instantiate", self.name, handle, *words, callbacks)
        return Instance(self.master, handle, self.files), reply

    def bad_instance(self, pointer: str = NULL) -> Instance:
        """A pointer that is no instance of this library: NULL, WILD or FOREIGN."""
        return Instance(self.master, f"{pointer}/{self.name}", self.files)

    def mistaken_for(self, other: Instance) -> Instance:
        """The pointer of another library's instance, as if it were one of this library."""
        return Instance(self.master, f"@of:{other.name}/{self.name}", self.files)

    def cycle(self, count: int, step: float, instance_name: str = "instance") -> Growth:
        """Creates, initialises, steps once, terminates and frees an instance many times."""
        handle = self.master.new_name("instance")
        words = self.identity(instance_name)
        reply = self.master.command("cycle", self.name, handle, count, step, *words)
        return Growth.of(reply)

    def identity(
        self, instance_name: str | None, logging: bool = False, **changes: str | int | None
    ) -> list[str | int]:
        """The words for what an instance is made with."""
        identity: dict[str, str | int | None] = {
            "kind": 1,
            "guid": self.files.guid,
            "resources": self.files.resource_uri,
            "visible": 0,
        }
        if unknown := changes.keys() - identity.keys():
            raise TypeError(f"no part of an FMU's identity: {', '.join(sorted(unknown))}")
        values = [instance_name, *(identity | changes).values(), int(logging)]
        return [value if isinstance(value, int) else encode(value) for value in values]


def _word(word: str | int | float) -> str:
    return word.hex() if isinstance(word, float) else str(word)
