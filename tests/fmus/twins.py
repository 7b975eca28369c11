"""Running FMUs of FMI 3.0 through fmpy by the names that their scalars have in FMI 2.0.

A ``Twin`` is used like an ``Instance`` of ``host``: names of scalars are translated to elements of
arrays. So tests do the same with the FMUs of both versions, and compare.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from ctypes import POINTER, byref, c_bool, c_double, c_size_t, c_uint8, cast
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from fmpy import read_model_description
from fmpy.fmi3 import FMU3Slave, fmi3Binary, fmi3ValueReference
from numpy.typing import NDArray

import build_fmus
from fmus.binding.compile import host_platform
from fmus.fmi.arrays import Interface, Layout
from tests.conftest import NULL_FMU
from tests.fmus.host import LOADING, Instance, Message, unpacked

#: The calls for each type of FMI 3.0.
CALLS = {
    "Float64": "Float64",
    "Int32": "Int32",
    "Enumeration": "Int64",
    "Boolean": "Boolean",
    "String": "String",
}


class Scalar(NamedTuple):
    """A variable of FMI 2.0, and where it is in FMI 3.0."""

    name: str
    causality: str
    array: str
    element: int


class Stepped(NamedTuple):
    """What a step answers."""

    event: bool
    early: bool
    time: float


class Twin(Instance):
    """An instance of an unpacked FMU of FMI 3.0."""

    def __init__(
        self,
        directory: Path,
        name: str,
        *,
        logging: bool = False,
        event_mode: bool = False,
        early_return: bool = False,
    ) -> None:
        self.messages: list[Message] = []
        self.description = read_model_description(str(directory))
        self.arrays = {v.name: v for v in self.description.modelVariables}
        layout = _layout(directory, self.description.modelName)
        self.scalars = {
            part.name: Scalar(part.name, part.causality, v.name, element)
            for v in layout.variables
            if self.arrays[v.name].type in CALLS
            for element, part in enumerate(v.parts)
        }
        self.variables = self.scalars
        self._sizes = {v.name: max(1, len(v.parts)) for v in layout.variables}
        root = ElementTree.parse(directory / "modelDescription.xml").getroot()
        self._mime_types = {e.get("name"): e.get("mimeType", "") for e in root.iter("Binary")}
        self._start = 0.0
        with LOADING:
            self.slave = FMU3Slave(
                guid=self.description.instantiationToken,
                modelIdentifier=self.description.coSimulation.modelIdentifier,
                unzipDirectory=str(directory),
                instanceName=name,
            )
        self.slave.instantiate(
            loggingOn=logging,
            eventModeUsed=event_mode,
            earlyReturnAllowed=early_return,
            logMessage=self._take_text,
        )

    def _take_text(self, environment: Any, status: int, category: bytes, text: bytes) -> None:
        self.messages.append(Message(status, category.decode(), text.decode()))

    # Life

    def set_up(self, start: float = 0.0) -> None:
        """Set the start time, which is given when initialization mode is entered."""
        self._start = start

    def enter(self) -> None:
        """Enter initialization mode."""
        self.slave.enterInitializationMode(startTime=self._start)

    def step(self, time: float, step: float) -> Stepped:
        """Do a step."""
        event, terminate, early, last = c_bool(), c_bool(), c_bool(), c_double()
        self.slave.fmi3DoStep(
            self.slave.component, time, step, True,
            byref(event), byref(terminate), byref(early), byref(last),
        )  # fmt: skip
        assert not terminate.value
        return Stepped(event.value, early.value, last.value)

    # Values

    def set(self, values: Mapping[str, Any]) -> None:
        """Set scalars, each array with one call."""
        arrays: dict[str, dict[int, Any]] = {}
        for name, value in values.items():
            scalar = self.scalars[name]
            arrays.setdefault(scalar.array, {})[scalar.element] = value
        for array, elements in arrays.items():
            whole = [None] * self._sizes[array]
            if len(elements) < len(whole):
                whole = self.array(array)
            for element, value in elements.items():
                whole[element] = value
            self.set_array(array, whole)

    def set_array(self, name: str, values: Sequence[Any]) -> None:
        """Set a whole array."""
        setter = getattr(self.slave, f"set{CALLS[self.arrays[name].type]}")
        setter([self.arrays[name].valueReference], values)

    def array(self, name: str) -> list[Any]:
        """The elements of an array."""
        getter = getattr(self.slave, f"get{CALLS[self.arrays[name].type]}")
        found: list[Any] = getter([self.arrays[name].valueReference], self._sizes[name])
        return [bool(v) for v in found] if self.arrays[name].type == "Boolean" else found

    def get_all(self, names: Sequence[str]) -> dict[str, Any]:
        """The values of scalars by name."""
        arrays = {self.scalars[name].array: [] for name in names}
        whole = {array: self.array(array) for array in arrays}
        return {n: whole[self.scalars[n].array][self.scalars[n].element] for n in names}

    def binary(self, name: str) -> bytes:
        """The bytes of a Binary."""
        found = self.slave.getBinary([self.arrays[name].valueReference])
        return bytes(found[0] or b"")

    def view(self, name: str) -> NDArray[np.uint8]:
        """The bytes of a Binary where they are."""
        reference = (fmi3ValueReference * 1)(self.arrays[name].valueReference)
        value, size = (fmi3Binary * 1)(), (c_size_t * 1)()
        self.slave.fmi3GetBinary(self.slave.component, reference, 1, size, value, 1)
        if not size[0]:
            return np.zeros(0, np.uint8)
        memory = cast(value[0], POINTER(c_uint8 * size[0]))
        return np.frombuffer(memory.contents, np.uint8)

    def record_of(self, name: str) -> np.dtype[Any]:
        """The type of the records in a Binary, as the description declares it."""
        fields = self._mime_types[name].split('"')[1].split(",")
        return np.dtype([tuple(field.split(":")) for field in fields])

    def set_binary(self, name: str, content: bytes) -> None:
        """Set a Binary."""
        self.slave.setBinary([self.arrays[name].valueReference], [content])

    def ticks(self, clock: str) -> bool:
        """Whether a clock ticks."""
        return bool(self.slave.getClock([self.arrays[clock].valueReference])[0])

    # States

    def saved(self) -> bytes:
        """The present state as bytes."""
        state = self.slave.getFMUState()
        content: bytes = self.slave.serializeFMUState(state)
        self.slave.freeFMUState(state)
        return content

    def restore(self, content: bytes) -> None:
        """Continue from a state given as bytes."""
        state = self.slave.deserializeFMUState(content)
        try:
            self.slave.setFMUState(state)
        finally:
            self.slave.freeFMUState(state)


def _layout(directory: Path, model: str) -> Layout:
    """The layout of an unpacked FMU."""
    lines = (directory / "resources" / "fmu.txt").read_text(encoding="utf-8").splitlines()
    manifest = dict(line.split("=", 1) for line in lines)
    return _model(model).layout(Interface(manifest["interface"]))


#: Classes of FMUs that are not of the project, by name; a test that builds one adds it.
known_models: dict[str, Any] = {}


def _model(name: str) -> Any:
    if name not in known_models:
        known_models["Null"] = build_fmus.own_source(NULL_FMU).model
        known_models.update({n: s.model for n, s in build_fmus.fmu_sources().items()})
    return known_models[name]


@contextlib.contextmanager
def open_twin(fmu: Path, name: str = "sensor", **options: bool) -> Iterator[Twin]:
    """An instance of an FMU of FMI 3.0, freed afterwards."""
    twin = Twin(unpacked(fmu), name, **options)
    try:
        yield twin
    finally:
        twin.slave.freeInstance()


def build_frame_reader(folder: Path, interface: Interface = Interface.arrays) -> Path:
    """The FMU that reads frames (``frame_reader_fmu``)."""
    source = build_fmus.own_source(Path(__file__).with_name("frame_reader_fmu.py"))
    (fmu,) = build_fmus.build([source], folder, platforms=[host_platform()], interface=interface)
    return fmu
