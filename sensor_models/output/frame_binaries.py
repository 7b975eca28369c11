"""Parts of frames as bytes in memory, for tools that take frames without files.

A sensor declares which parts of its frames there are (``FrameBinary``), and what their bytes are:
records as in its npy files, or an array row by row, little-endian, without a header. The type that
is declared tells the fields of a record, or the type of the elements, with default parameters.

``FrameMemory`` keeps the newest frame of a sensor. Its bytes are made when somebody asks for them:
nobody waits for what nobody reads. They stay where they are until the next frame is taken.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.sensor import Result


@dataclass(frozen=True)
class FrameBinary:
    """A part of a frame."""

    name: str
    text: str
    mime_type: str
    #: What the names of its files begin with; the first of these that a frame has.
    kinds: tuple[str, ...]


def type_of_records(record: np.dtype[Any]) -> str:
    """The type of a list of records without gaps."""
    fields = ",".join(f"{name}:{record[name].str.lstrip('<|')}" for name in record.names or ())
    return f'application/x-numpy-records; byteorder=little; fields="{fields}"'


def type_of_arrays(element: str, *sides: str) -> str:
    """The type of an array, whose sides are numbers or the names of outputs."""
    return (
        f'application/x-numpy-array; byteorder=little; dtype={element}; shape="{",".join(sides)}"'
    )


class FrameMemory:
    """The parts of the newest frame of one sensor."""

    #: Columns of ``places``, a row for each part: as the binding reads them.
    ADDRESS, SIZE, PENDING = range(3)

    def __init__(self, parts: Sequence[FrameBinary]) -> None:
        self._parts = parts
        self.places = np.zeros((max(1, len(parts)), 3), np.uint64)
        self._files: dict[str, Any] = {}
        self._kept: dict[int, NDArray[np.uint8]] = {}
        self._done: Callable[[], None] | None = None

    def take(self, result: Result) -> None:
        """Keep a frame in place of the one before, whose memory is given back."""
        self.clear()
        self._done = result.done
        self._files = {file.suffix.partition(".")[0]: file for file in result.files}
        for place, part in enumerate(self._parts):
            self.places[place, self.PENDING] = any(kind in self._files for kind in part.kinds)

    def make(self, place: int) -> None:
        """Have the bytes of a part at hand."""
        file = next(self._files[kind] for kind in self._parts[place].kinds if kind in self._files)
        content = np.ascontiguousarray(file.content)
        own = self._kept[place] = content.reshape(-1).view(np.uint8)
        self.places[place] = (own.ctypes.data if own.size else 0, own.size, 0)

    def clear(self) -> None:
        """Forget the frame and give its memory back."""
        self.places[:] = 0
        self._kept, self._files = {}, {}
        done, self._done = self._done, None
        if done is not None:
            done()
