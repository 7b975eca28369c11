"""Memory that processes with the same scene share: its files, and the past of its bodies.

The memory begins with a head (magic, version, size of the description, place of the numbers) and
a description in JSON: digests of the files that the scene was read from, the manifest first, and
the names of its bodies. From a multiple of 64 bytes on follow the number of the newest record and
the slots of a ring of timed records (``kernels.tracing.sequence_lock``). A record is the number of
the one before it, its time and, for each body, ``BODY_SIZE`` numbers.

Size    ``MOST_RECORDS`` records, which are a second at 1 kHz, but at most ``MOST_BYTES``. In each
        of its steps a sensor copies the states that its unfinished frame needs
        (``scene.history``), however long the frame is. So the ring must be as long as the
        longest step of a sensor, not as long as a frame. If it was too short, the index says so
        with the frame.
"""

import hashlib
import json
import math
import os
import struct
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.tracing import sequence_lock
from sensor_models.kernels.tracing.sequence_lock import BEFORE, NOTHING, STATES, TIME
from sensor_models.scene.model import Scene

Floats = NDArray[np.float64]

#: Position, orientation w x y z, velocity and angular velocity, all in the world frame and in the
#: order of ``frames.BodyState``.
BODY_SIZE = 13
POSE_SIZE = 7

#: Two times closer than this are one instant: in s, or as a share of the time if that is more than
#: 1 s. It is a nanosecond, because masters may count in these.
INSTANT = 1e-9

_MAGIC = b"SNSRSCN\n"
_VERSION = 2
_HEAD = struct.Struct("<8sIII")
#: The records of the ring, the bytes that they may take, and the least number of records.
MOST_RECORDS, MOST_BYTES, FEWEST_RECORDS = 1024, 2**23, 16
_LINE = 64  # bytes that processors pass to one another at once


class BodyStates(NamedTuple):
    """Where the bodies of a scene are at an instant, and how they move."""

    record: int  # counts the changes
    time: float  # s, -inf before they were moved
    bodies: Floats  # (n, BODY_SIZE), in the order of ``Scene.bodies``


class PastStates(NamedTuple):
    """The states in the ring for an interval of time, in the order of time."""

    record: int  # the number of the newest
    times: Floats  # (n,)
    states: Floats  # (n, bodies, BODY_SIZE)


class PoseMemory:
    """The states of bodies in memory with the layout of this module."""

    def __init__(self, memory: Any, place: int, bodies: int) -> None:
        count, length = slots_for(bodies), STATES + BODY_SIZE * bodies
        slots: Floats = np.frombuffer(memory, np.float64, count * length, place + _LINE)
        self._number: NDArray[np.int64] = np.frombuffer(memory, np.int64, 1, place)
        self._slots = slots.reshape(count, length)
        # Memory of other processes must not be written to. One kernel reads both kinds.
        self._read_number, self._read_slots = self._number.view(), self._slots.view()
        self._read_number.flags.writeable = self._read_slots.flags.writeable = False
        self._writing = threading.Lock()

    def write(self, time: float, bodies: Floats) -> None:
        """Make these the newest states. Earlier records of this time or later are dropped."""
        with self._writing:
            early = time - INSTANT * max(1.0, abs(time))
            sequence_lock.append(self._number, self._slots, time, early, bodies)

    @property
    def newest(self) -> int:
        """The number of the newest record; while it is the same, everything read is the same."""
        return int(self._read_number[0])

    def read(self) -> BodyStates:
        """A consistent copy of the newest states."""
        record = np.empty(self._slots.shape[1])
        number = sequence_lock.read(self._read_number, self._read_slots, record)
        return BodyStates(number, float(record[TIME]), record[STATES:].reshape(-1, BODY_SIZE))

    def since(self, time: float) -> PastStates:
        """The states from the newest one at or before a time on, as far back as they are kept."""
        count, room = 1, 0
        while count > room:
            room = 4 * count
            records = np.empty((room, self._slots.shape[1]))
            count, newest = sequence_lock.read_since(
                self._read_number, self._read_slots, time, records
            )
        kept = records[count - 1 :: -1] if count else records[:0]
        states = kept[:, STATES:].reshape(count, -1, BODY_SIZE)
        return PastStates(newest, kept[:, TIME].copy(), states.copy())


def slots_for(bodies: int) -> int:
    """The number of records of the ring."""
    size = 8 * (STATES + BODY_SIZE * bodies)
    return max(FEWEST_RECORDS, min(MOST_RECORDS, MOST_BYTES // size))


def new_content(scene: Scene) -> bytes:
    """The memory of a scene whose bodies are where its manifest has them."""
    description = json.dumps(
        {
            "files": [[os.fspath(file), digest_of_file(file)] for file in scene.files],
            "bodies": [body.name for body in scene.bodies],
        }
    ).encode()
    place = -(-(_HEAD.size + len(description)) // _LINE) * _LINE
    head = _HEAD.pack(_MAGIC, _VERSION, len(description), place) + description
    states = ((*body.position, *body.orientation, *[0.0] * 6) for body in scene.bodies)
    records = np.zeros((slots_for(len(scene.bodies)), STATES + BODY_SIZE * len(scene.bodies)))
    records[0, BEFORE], records[0, TIME] = NOTHING, -math.inf
    records[0, STATES:] = [number for state in states for number in state]
    return head.ljust(place + _LINE, b"\0") + records.tobytes()


class Description(NamedTuple):
    """What the head of the memory says."""

    files: tuple[tuple[Path, str], ...]
    bodies: tuple[str, ...]
    place: int


def read_description(memory: Any) -> Description:
    """The head of the memory; ValueError if it is damaged or of another version."""
    try:
        magic, version, size, place = _HEAD.unpack_from(memory)
        if (magic, version) != (_MAGIC, _VERSION):
            raise ValueError(f"has version {version}, this is version {_VERSION}")
        content = json.loads(memory[_HEAD.size : _HEAD.size + size])
        files = tuple((Path(file), str(digest)) for file, digest in content["files"])
        bodies = tuple(map(str, content["bodies"]))
    except (struct.error, TypeError, KeyError) as error:
        raise ValueError("is damaged") from error
    size = 8 * slots_for(len(bodies)) * (STATES + BODY_SIZE * len(bodies))
    if len(memory) != place + _LINE + size:
        raise ValueError("is damaged")
    return Description(files, bodies, place)


def changed_file(files: Iterable[tuple[Path, str]]) -> str | None:
    """The first file that has changed, and how; None if none has."""
    for file, digest in files:
        try:
            if digest_of_file(file) != digest:
                return f"{file} has changed"
        except OSError as error:
            return f"{file} cannot be read: {error.strerror or error}"
    return None


def digest_of_file(file: Path) -> str:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
    return digest.hexdigest()
