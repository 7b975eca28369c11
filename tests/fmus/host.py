"""Running built FMUs through fmpy, inside this process.

::

    with open_fmu(fmu_directory / "Encoder.fmu", "left wheel") as encoder:
        encoder.initialize({"resolution": 0.1, "joint.position": 1.0})
        encoder.step(0.0, 0.01)
        position = encoder.get("position")

Variables are addressed by name. A call that fails raises fmpy's ``FMICallException``; what the
FMU said is in ``messages``, and ``refusal`` gives it for a call that must fail.
"""

import contextlib
import functools
import os
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fmpy import calloc, free, read_model_description
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import (
    FMU2Slave,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
    fmi2Error,
    fmi2Warning,
)

#: fmpy goes to a library's directory to open it, and then back to where it was: of two threads that
#: do so at once, one may come back to the directory of the other's library.
LOADING = threading.Lock()

#: The type that calls use for each type of the model description.
CALLS = {
    "Real": "Real",
    "Integer": "Integer",
    "Enumeration": "Integer",
    "Boolean": "Boolean",
    "String": "String",
}


@dataclass(frozen=True)
class Message:
    """What an FMU told its master."""

    status: int
    category: str
    text: str


class Instance:
    """An instance of an unpacked FMU."""

    def __init__(self, directory: Path, name: str, *, logging: bool = False) -> None:
        self.messages: list[Message] = []
        self.description = read_model_description(str(directory))
        self.variables = {v.name: v for v in self.description.modelVariables}
        with LOADING:
            self.slave = FMU2Slave(
                guid=self.description.guid,
                modelIdentifier=self.description.coSimulation.modelIdentifier,
                unzipDirectory=str(directory),
                instanceName=name,
            )
        callbacks = fmi2CallbackFunctions()
        callbacks.logger = fmi2CallbackLoggerTYPE(self._take_message)
        callbacks.allocateMemory = fmi2CallbackAllocateMemoryTYPE(calloc)
        callbacks.freeMemory = fmi2CallbackFreeMemoryTYPE(free)
        self.slave.instantiate(callbacks=callbacks, loggingOn=logging)

    def _take_message(
        self, environment: Any, name: bytes, status: int, category: bytes, text: bytes
    ) -> None:
        # The text is a format of printf without arguments.
        words = text.decode().replace("%%", "%")
        self.messages.append(Message(status, category.decode(), words))

    # Life

    def set_up(self, start: float = 0.0) -> None:
        """Set the start time."""
        self.slave.setupExperiment(startTime=start)

    def enter(self) -> None:
        """Enter initialization mode."""
        self.slave.enterInitializationMode()

    def exit(self) -> None:
        """Leave initialization mode."""
        self.slave.exitInitializationMode()

    def initialize(self, values: Mapping[str, Any] | None = None, start: float = 0.0) -> None:
        """Set values and go through initialization mode."""
        self.set(values or {})
        self.set_up(start)
        self.enter()
        self.exit()

    def step(self, time: float, step: float) -> None:
        """Do a step."""
        self.slave.doStep(time, step)

    def terminate(self) -> None:
        """End the run."""
        self.slave.terminate()

    def reset(self) -> None:
        """Go back to after instantiation."""
        self.slave.reset()

    # Values

    def set(self, values: Mapping[str, Any]) -> None:
        """Set variables, with one call for each type that occurs."""
        for call, names in self._by_call(list(values)).items():
            setter = getattr(self.slave, f"set{call}")
            setter(self._references(names), [values[name] for name in names])

    def get(self, name: str) -> Any:
        """The value of a variable."""
        return self.get_all([name])[name]

    def get_all(self, names: Sequence[str]) -> dict[str, Any]:
        """The values of variables by name."""
        found: dict[str, Any] = {}
        for call, group in self._by_call(names).items():
            values = getattr(self.slave, f"get{call}")(self._references(group))
            if call == "Boolean":
                values = [bool(value) for value in values]
            elif call == "String":
                values = [value.decode() for value in values]
            found.update(zip(group, values, strict=True))
        return {name: found[name] for name in names}

    def outputs(self) -> dict[str, Any]:
        """The values of all outputs."""
        return self.get_all(self.names("output"))

    def names(self, causality: str) -> list[str]:
        """The names of the variables with a causality."""
        return [v.name for v in self.variables.values() if v.causality == causality]

    def _by_call(self, names: Sequence[str]) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(CALLS[self.variables[name].type], []).append(name)
        return groups

    def _references(self, names: Sequence[str]) -> list[int]:
        return [self.variables[name].valueReference for name in names]

    # States

    def saved(self) -> bytes:
        """The present state as bytes."""
        state = self.slave.getFMUstate()
        content: bytes = self.slave.serializeFMUstate(state)
        self.slave.freeFMUstate(state)
        return content

    def restore(self, content: bytes) -> None:
        """Continue from a state given as bytes."""
        state = self.slave.deSerializeFMUstate(content)
        try:
            self.slave.setFMUstate(state)
        finally:
            self.slave.freeFMUstate(state)

    # Messages

    def refusal(self, call: Callable[..., object], *arguments: Any) -> str:
        """What the FMU says of a call that it must answer with fmi2Error and one message."""
        self.messages.clear()
        with pytest.raises(FMICallException) as failure:
            call(*arguments)
        assert failure.value.status == fmi2Error
        (message,) = self.messages
        assert (message.status, message.category) == (fmi2Error, "logStatusError")
        return message.text

    def warnings(self) -> list[str]:
        """All warnings so far."""
        return [message.text for message in self.messages if message.status == fmi2Warning]


def unpacked(fmu: Path) -> Path:
    """The directory of an FMU, unpacked once by each process that asks for it.

    A file system without a journal takes long to make hundreds of files soon after as many were
    deleted: with a directory for each test, the tests spent four fifths of their time there.
    """
    return _unpacked(fmu, fmu.stat().st_mtime_ns)


@functools.cache
def _unpacked(fmu: Path, built: int) -> Path:
    # One for each process: who unpacked it again would write over a library that is loaded.
    directory = fmu.with_name(f"unpacked {fmu.stem} {os.getpid()} {built}")
    with zipfile.ZipFile(fmu) as archive:
        archive.extractall(directory)
    return directory


@contextlib.contextmanager
def open_fmu(fmu: Path, name: str = "sensor", *, logging: bool = False) -> Iterator[Instance]:
    """An instance of an FMU, freed afterwards."""
    instance = Instance(unpacked(fmu), name, logging=logging)
    try:
        yield instance
    finally:
        instance.slave.freeInstance()
