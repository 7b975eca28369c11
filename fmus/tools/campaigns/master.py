"""One run of a system of FMUs.

Parts are stepped in the order of the description. A part gets the outputs that parts before it have
given in the same step, and that parts behind it have given in the step before. Outputs are recorded
after each step.

FMUs are unpacked (``unpacked``) and opened once in a process. Between runs they are reset, which
takes them back to the state after instantiation; after an error they are freed and instantiated
again. A run therefore gives the same bits alone, as one of many, and on any worker.
"""

import contextlib
import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave, fmi2CallbackFunctions, fmi2CallbackLoggerTYPE
from numpy.typing import NDArray

from fmus.tools.campaigns.unpacked import unpacked
from fmus.tools.systems.description import Part, System

#: Codes of FMI 2 up to a warning.
_WARNING = 1

_C_TYPES: Mapping[str, Any] = {
    "Real": ctypes.c_double,
    "Integer": ctypes.c_int,
    "Boolean": ctypes.c_int,
}


class RunError(RuntimeError):
    """A run that an FMU refused; the message is the FMU's."""


def fmi_type(type_name: str) -> str:
    """The type whose functions read and write a variable."""
    return "Integer" if type_name == "Enumeration" else type_name


class Signals:
    """Variables of one type of one instance, read or written with one call."""

    def __init__(self, instance: "Instance", kind: str, names: Sequence[str]) -> None:
        self._slave = instance.slave
        self._kind, self._count = kind, len(names)
        references = [instance.references[name] for name in names]
        self._references = (ctypes.c_uint * self._count)(*references)
        self.buffer = (_C_TYPES[kind] * self._count)()
        self.values = np.ctypeslib.as_array(self.buffer)

    def read(self) -> None:
        """Read the values of the instance into this buffer."""
        function = getattr(self._slave, f"fmi2Get{self._kind}")
        function(self._slave.component, self._references, self._count, self.buffer)

    def write(self) -> None:
        """Set the values of the instance from this buffer."""
        function = getattr(self._slave, f"fmi2Set{self._kind}")
        function(self._slave.component, self._references, self._count, self.buffer)


@dataclass
class Wire:
    """Outputs of one part that go to inputs of another, of one type."""

    outputs: Signals
    inputs: Signals

    def carry(self) -> None:
        """Pass the values on."""
        self.outputs.read()
        self.inputs.values[:] = self.outputs.values
        self.inputs.write()


class Instance:
    """An FMU of a system, unpacked and open."""

    def __init__(self, part: Part, file: Path) -> None:
        self.part = part
        self.said: list[str] = []
        folder = str(unpacked(part.name, file.absolute()))
        description = fmpy.read_model_description(folder)
        self.references = {v.name: v.valueReference for v in description.modelVariables}
        self.slave = FMU2Slave(
            guid=description.guid,
            unzipDirectory=folder,
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName=part.name,
        )
        self.slave.instantiate(callbacks=_callbacks(self.said))

    def set(self, name: str, value: Any) -> None:
        """Set one variable before the run."""
        kind = fmi_type(self.part.table.by_name[name].type_name)
        number = int(value) if isinstance(value, IntEnum) else value
        getattr(self.slave, f"set{kind}")([self.references[name]], [number])

    def close(self) -> None:
        """Free it."""
        with contextlib.suppress(Exception):  # freeing may fail, too
            self.slave.freeInstance()


#: Kept until the process ends: FMUs may log while they are freed.
_KEPT: list[Any] = []


def _callbacks(said: list[str]) -> fmi2CallbackFunctions:
    """The callbacks that an FMU needs; they note its warnings and errors."""

    def log(_environment: Any, _name: Any, status: int, _category: Any, message: bytes) -> None:
        if status >= _WARNING:
            said.append(message.decode("utf-8", "replace"))

    callbacks = fmi2CallbackFunctions()
    callbacks.logger = fmi2CallbackLoggerTYPE(log)
    callbacks.allocateMemory = fmpy.fmi2.fmi2CallbackAllocateMemoryTYPE(fmpy.calloc)
    callbacks.freeMemory = fmpy.fmi2.fmi2CallbackFreeMemoryTYPE(fmpy.free)
    _KEPT.append(callbacks)
    return callbacks


@dataclass
class Series:
    """Outputs over time."""

    times: NDArray[np.float64]
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)


class Master:
    """A system that is run again and again."""

    def __init__(self, system: System, fmus: Path, outputs: Sequence[str]) -> None:
        self.system = system
        self._fmus, self._outputs = fmus, tuple(outputs)
        self._instances: dict[str, Instance] = {}
        self._used = False

    def run(
        self,
        values: Mapping[str, Any],
        seed: int,
        step: float,
        stop: float,
        files: Path | None = None,
    ) -> Series:
        """Run once, with these values by part and variable over those of the system.

        Args:
            values: by part and variable.
            seed: for each part that has a seed, unless the system or ``values`` set it.
            step: communication step, s.
            stop: end, s.
            files: directory for the files of the sensors; None for no files.
        """
        try:
            return self._run(values, seed, step, stop, files)
        except Exception as error:
            said = [text for one in self._instances.values() for text in one.said]
            self.close()
            raise RunError("; ".join(said) or str(error)) from error

    def close(self) -> None:
        """Free the FMUs; the next run opens them again."""
        instances, self._instances = self._instances, {}
        self.__dict__.pop("_wires", None)
        self.__dict__.pop("_recorded", None)
        for instance in instances.values():
            instance.close()

    def _run(
        self, values: Mapping[str, Any], seed: int, step: float, stop: float, files: Path | None
    ) -> Series:
        self._open()
        for part in self.system.parts:
            for name, value in self._settings(part, values, seed, files):
                self._instances[part.name].set(name, value)
        for part in self.system.parts:
            self._initialise(part, stop)
        count = round(stop / step)
        series = self._new_series(step, count)
        for number in range(count):
            for part in self.system.parts:
                for wire in self._wires[part.name]:
                    wire.carry()
                self._instances[part.name].slave.doStep(number * step, step)
            self._record(series, number)
        for part in self.system.parts:
            self._instances[part.name].slave.terminate()
        return series

    def _open(self) -> None:
        """Bring all FMUs into the state after instantiation."""
        if self._instances:
            for instance in self._instances.values():
                instance.slave.reset()
                instance.said.clear()
            return
        for part in self.system.parts:
            file = part.source or self._fmus / f"{part.model_name}.fmu"
            if not file.is_file():
                raise RunError(f"{file} is missing: build it with build_fmus.py")
            self._instances[part.name] = Instance(part, file)

    def _settings(
        self, part: Part, values: Mapping[str, Any], seed: int, files: Path | None
    ) -> Iterator[tuple[str, Any]]:
        own = {
            name.partition(".")[2]: value
            for name, value in values.items()
            if name.partition(".")[0] == part.name
        }
        known = part.table.by_name
        if "seed" in known and "seed" not in part.parameters:
            yield "seed", seed
        if files is not None and "output_directory" in known:
            yield "output_directory", str(files / part.name)
        yield from {**part.parameters, **own}.items()

    def _initialise(self, part: Part, stop: float) -> None:
        slave = self._instances[part.name].slave
        slave.setupExperiment(startTime=0.0, stopTime=stop)
        slave.enterInitializationMode()
        for wire in self._wires[part.name]:
            wire.carry()
        slave.exitInitializationMode()

    @cached_property
    def _wires(self) -> dict[str, list[Wire]]:
        """The connections to each part, in bundles of one call to read and one to write."""
        bundles: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
        for wire in self.system.connections:
            kind = fmi_type(wire.input.type_name)
            pair = wire.output.name, wire.input.name
            bundles.setdefault((wire.start, wire.end, kind), []).append(pair)
        found: dict[str, list[Wire]] = {part.name: [] for part in self.system.parts}
        for (start, end, kind), pairs in bundles.items():
            if kind == "String":
                raise RunError(f"Strings from {start} to {end} are not passed on")
            outputs = Signals(self._instances[start], kind, [output for output, _ in pairs])
            inputs = Signals(self._instances[end], kind, [taken for _, taken in pairs])
            found[end].append(Wire(outputs, inputs))
        return found

    @cached_property
    def _recorded(self) -> list[tuple[Signals, list[str]]]:
        """The outputs that are recorded, in bundles of one call each."""
        bundles: dict[tuple[str, str], list[str]] = {}
        for name in self._outputs:
            part, _, variable = name.partition(".")
            type_name = self._instances[part].part.table.by_name[variable].type_name
            bundles.setdefault((part, fmi_type(type_name)), []).append(name)
        return [
            (Signals(self._instances[part], kind, [n.partition(".")[2] for n in names]), names)
            for (part, kind), names in bundles.items()
        ]

    def _new_series(self, step: float, count: int) -> Series:
        series = Series(np.arange(1, count + 1, dtype=float) * step)
        for signals, names in self._recorded:
            for name in names:
                series.columns[name] = np.zeros(count, signals.values.dtype)
        return series

    def _record(self, series: Series, number: int) -> None:
        for signals, names in self._recorded:
            signals.read()
            for place, name in enumerate(names):
                series.columns[name][number] = signals.values[place]
