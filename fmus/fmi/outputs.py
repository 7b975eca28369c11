"""Results on the outputs of an instance."""

from collections.abc import Callable, Sequence
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any

from fmus.fmi import osmp
from fmus.fmi.variables import Variable
from sensor_models.core.quantities import picker
from sensor_models.core.sensor import Result
from sensor_models.core.spec import scalars_of

if TYPE_CHECKING:
    from fmus.fmi.sensor_fmu import SensorFmu

COUNTS, TIMES = ("sample.count", "frame.count"), ("sample.time", "frame.time")
FRAME_FILE, FRAMES_LOST = "frame.file", "frame.lost"


class OutputWriter:
    """Puts results on the outputs.

    Outputs of one type are adjacent in memory, so one call stores all of a type, which is four
    times as fast as storing them one by one.
    """

    def __init__(self, fmu: "SensorFmu") -> None:
        self._fmu = fmu
        self._values = fmu.values
        outputs = [
            v for v in fmu.table().of_causality("output") if osmp.role_of(fmu.messages, v) is None
        ]
        readings = [name for name, _, _ in scalars_of(fmu.spec.readings)]
        #: Places of outputs in the values of a result, with count, time and lost frames behind.
        places = {name: place for place, name in enumerate(readings)}
        places |= dict.fromkeys(COUNTS, len(readings)) | dict.fromkeys(TIMES, len(readings) + 1)
        places[FRAMES_LOST] = len(readings) + 2
        self._packers = [
            self._packer([v for v in outputs if v.type_name == type_name], places, code)
            for type_name, code in (("Real", "d"), ("Integer", "i"), ("Boolean", "i"))
            if any(v.type_name == type_name for v in outputs)
        ]
        self._texts = [
            (v, places[v.name]) for v in outputs if v.type_name == "String" and v.name in places
        ]
        self._file = fmu.table().by_name.get(FRAME_FILE)
        self._lost = 0
        self._more_files = [
            (fmu.table().by_name[name], ends)
            for group, ends in fmu.spec.more_files
            for name, _, _ in group.scalars()
        ]

    def _packer(
        self, variables: Sequence[Variable], places: dict[str, int], code: str
    ) -> tuple[Callable[..., None], Any, int, Callable[[Sequence[Any]], Sequence[Any]]]:
        values, first = self._values.slot(variables[0])
        pack_into = Struct(f"={len(variables)}{code}").pack_into
        return (
            pack_into,
            values,
            first * values.itemsize,
            picker([places[v.name] for v in variables]),
        )

    def show(self, result: Result) -> None:
        """Put a result on the outputs."""
        numbers = (*result.values, result.number + 1, result.time, self._lost)
        for pack_into, values, offset, pick in self._packers:
            pack_into(values, offset, *pick(numbers))
        for variable, place in self._texts:
            self._values.set(variable, numbers[place])

    def name_file(self, file: str) -> None:
        """Name the newest file, and those of the same frame that have outputs of their own."""
        if self._file is not None:
            self._values.set(self._file, file)
        for variable, ends in self._more_files:
            other = f"{file.rsplit('.', 2)[0]}.{ends}"
            self._values.set(variable, other if file and Path(other).exists() else "")

    def count_lost(self, frames: int) -> None:
        """Set the output that counts the frames that could not be written so far."""
        self._lost = frames
        self._values.set(self._fmu.table().by_name[FRAMES_LOST], frames)
