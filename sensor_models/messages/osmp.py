"""OSMP: messages of OSI that FMUs pass on as addresses in memory.

A binary variable ``P`` is three Integers: the halves of an address, ``P.base.lo`` and
``P.base.hi``, as signed numbers of 32 bits, and ``P.size``. An address or a size of 0 means that
there are no data.

Outputs are valid from the end of the step that made them to the start of the second step after it.
So two buffers suffice, which alternate with the steps that make data (``Buffers``). If one step
makes several messages, only the last one is visible. Inputs are valid only during a call, so they
are read at once and never kept.

Source: OSI Sensor Model Packaging 1.6.0, "Binary variables" and the sections of each kind.
"""

import ctypes
import math
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import ParameterError, integer
from sensor_models.messages.wire import Bytes

OSMP_VERSION, OSI_VERSION = "1.6.0", (3, 8, 0)

VIEW_IN, DATA_OUT, VIEW_OUT = "OSMPSensorViewIn", "OSMPSensorDataOut", "OSMPSensorViewOut"

#: The type of message of each binary variable.
TYPES = {VIEW_IN: "SensorView", DATA_OUT: "SensorData", VIEW_OUT: "SensorView"}

#: The largest message that a size can state.
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class BinaryOutput:
    """A message that is output."""

    base_lo: int = integer(0, "Address of the message, lower half; 0 for none", name="base.lo")
    base_hi: int = integer(0, "Address of the message, upper half; 0 for none", name="base.hi")
    size: int = integer(0, "Size of the message in bytes; 0 for none")


@dataclass(frozen=True)
class BinaryInput:
    """A message that is an input."""

    base_lo: int = integer(0, "Address of the message, lower half; 0 for none", name="base.lo")
    base_hi: int = integer(0, "Address of the message, upper half; 0 for none", name="base.hi")
    size: int = integer(0, "Size of the message in bytes; 0 for none")


def mime_type(name: str) -> str:
    """The type of a binary variable, as its annotation states it."""
    version = ".".join(map(str, OSI_VERSION))
    return f"application/x-open-simulation-interface; type={TYPES[name]}; version={version}"


def halves(address: int) -> tuple[int, int]:
    """The lower and the upper half of an address, as signed numbers of 32 bits."""
    low, high = np.array([address], "<u8").view("<i4").tolist()
    return low, high


def address_of(low: int, high: int) -> int:
    """The address that two halves make."""
    return (high & 0xFFFF_FFFF) << 32 | (low & 0xFFFF_FFFF)


class Buffers:
    """The memory of one output: two buffers in turn."""

    def __init__(self) -> None:
        self._buffers = [np.zeros(0, np.uint8), np.zeros(0, np.uint8)]
        self._turn = 0
        self._size = 0
        self._step = math.nan

    def put(
        self, parts: "tuple[bytes | Bytes, ...]", step: float = math.nan
    ) -> tuple[int, int, int]:
        """Keep a message; returns the Integers that say where it is.

        ``step`` is the end of the step that makes it. A second message of a step replaces the first
        one, so that the message of the step before stays.
        """
        size = sum(len(part) for part in parts)
        if size > LARGEST:
            raise ParameterError(f"a message of {size} bytes is too long, allowed are {LARGEST}")
        if step != self._step:
            self._turn, self._step = 1 - self._turn, step
        if self._buffers[self._turn].size < size:
            self._buffers[self._turn] = np.empty(size + size // 4, np.uint8)
        at = 0
        for part in parts:
            chunk = np.frombuffer(part, np.uint8)
            self._buffers[self._turn][at : at + chunk.size] = chunk
            at += chunk.size
        self._size = size
        return self.place

    @property
    def place(self) -> tuple[int, int, int]:
        """Where the newest message is: lower half, upper half, size; zeros for none."""
        if self._size == 0:
            return 0, 0, 0
        return *halves(self._buffers[self._turn].ctypes.data), self._size

    @property
    def newest(self) -> NDArray[np.uint8]:
        """The bytes of the newest message, in a copy."""
        return self._buffers[self._turn][: self._size].copy()


def read_input(name: str, low: int, high: int, size: int) -> bytes | None:
    """The bytes of an input, in a copy; None where there are none.

    Raises:
        ParameterError: if the size is negative, or nothing can be read at the address.
    """
    if size < 0:
        raise ParameterError(f"{name}.size = {size} is out of range, allowed is at least 0")
    address = address_of(low, high)
    if address == 0 or size == 0:
        return None
    try:
        return _memory_at(address, size)
    except (OSError, OverflowError, ValueError) as error:
        raise ParameterError(
            f"{name}: the {size} bytes at {address:#x} cannot be read, which"
            f" {name}.base.lo = {low}, {name}.base.hi = {high} and {name}.size name"
        ) from error


def _memory_at(address: int, size: int) -> bytes:
    """Bytes of this process. A wrong address is an error on systems that can check it."""
    file = _own_memory()
    if file < 0:
        return ctypes.string_at(address, size)
    data = os.pread(file, size, address)
    if len(data) != size:
        raise OSError("only a part of it is there")
    return data


@cache
def _own_memory() -> int:
    """A file that shows the memory of this process; -1 if there is none."""
    if sys.platform == "linux":
        with suppress(OSError):
            return os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    return -1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_own_memory.cache_clear)
