"""Saved FMU states, in memory and as bytes.

Layout of the bytes, all integers little-endian:

    8 bytes   magic "SNSRFMU" and a newline
    2 bytes   format version
    4 bytes   length of the header
    header    JSON: model, guid, phase, time, strings, and name, dtype, shape of each array
    arrays    their bytes, one after the other
    32 bytes  SHA-256 of everything before

Reading a state executes nothing, and nothing of it is used before the digest was compared. The
model itself refuses arrays that are not its own.
"""

import hashlib
import json
import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"SNSRFMU\n"
VERSION = 1
_PREFIX = struct.Struct("<8sHI")
_DIGEST_SIZE = 32

#: The phases of an instance, as the binding numbers them (instance.h).
PHASES = (1, 2, 4, 8)

#: The types of array that a state may hold.
DTYPES = ("float64", "float32", "int64", "int32", "uint64", "uint32", "uint8")


class StateError(ValueError):
    """Bytes or a state that this FMU cannot continue from; the message says why."""


@dataclass(frozen=True)
class FmuState:
    """Everything that later steps depend on, as copies that nothing else changes."""

    phase: int
    time: float
    strings: tuple[str, ...]
    arrays: dict[str, NDArray[Any]]


def to_bytes(state: FmuState, model: str, guid: str) -> bytes:
    """Write a state; equal states give equal bytes."""
    arrays = {name: np.ascontiguousarray(a) for name, a in sorted(state.arrays.items())}
    header = json.dumps(
        {
            "model": model,
            "guid": guid,
            "phase": state.phase,
            "time": state.time,
            "strings": state.strings,
            "arrays": [[name, a.dtype.name, a.shape] for name, a in arrays.items()],
        }
    ).encode()
    content = b"".join(
        [_PREFIX.pack(MAGIC, VERSION, len(header)), header, *(a.tobytes() for a in arrays.values())]
    )
    return content + hashlib.sha256(content).digest()


def from_bytes(data: bytes, model: str, guid: str) -> FmuState:
    """Read a state of this model, or raise StateError."""
    content = _checked_content(data)
    _, version, header_size = _PREFIX.unpack_from(content)
    if version != VERSION:
        raise StateError(f"the state has format {version}, this FMU reads format {VERSION}")
    header = json.loads(content[_PREFIX.size : _PREFIX.size + header_size])
    if (header["model"], header["guid"]) != (model, guid):
        raise StateError(
            f"the state is of {header['model']} {header['guid']}, this is {model} {guid}"
        )
    arrays, offset = {}, _PREFIX.size + header_size
    for name, dtype, shape in header["arrays"]:
        if dtype not in DTYPES:
            raise StateError(f"the state holds an array of type {dtype}")
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(content, dtype, count, offset).reshape(shape).copy()
        offset += arrays[name].nbytes
    if offset != len(content):
        raise StateError("the state is longer than its header says")
    phase, time = header["phase"], header["time"]
    if (
        type(phase) is not int
        or phase not in PHASES
        or not (isinstance(time, float) and math.isfinite(time))
    ):
        raise StateError(f"the state has phase {phase} and time {time}, which no state has")
    return FmuState(phase, time, tuple(header["strings"]), arrays)


def _checked_content(data: bytes) -> bytes:
    content, digest = data[:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
    if len(content) < _PREFIX.size or not content.startswith(MAGIC):
        raise StateError("these bytes are no state of a sensor FMU")
    if hashlib.sha256(content).digest() != digest:
        raise StateError("the state is damaged: its digest does not fit its content")
    return content
