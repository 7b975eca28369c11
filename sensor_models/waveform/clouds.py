"""Points and waveforms of a frame.

Points have the fields of a lidar's, and ``amplitude`` (W), ``echo_width`` (s, full width at half
maximum), ``snr`` and ``detection_probability``. Of the waveforms only parts are kept: from the
first to the last sample above the threshold and a margin, or where there is light for an ideal
receiver. Each part is a row of ``WAVE``; its samples, float32 in W, lie in one long array. The rows
are in the order of the points: each stands for the next ``returns`` of them.

There is room for the points of ``RAYS_AT_A_TIME`` pulses; a frame of more is made in parts, and
what is made goes to unnamed files once it is more than ``IN_MEMORY``. So a frame takes the same
memory however many pulses it has.
"""

import mmap
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.output.compact import pack_words
from sensor_models.output.frame_files import write_npy
from sensor_models.output.las import WavePackets
from sensor_models.output.points import CloudBuffer, Points, record_of
from sensor_models.waveform.borrowed import MEMORY

#: The kept part of the waveform of a pulse.
WAVE = np.dtype(
    [
        ("pulse", "<i8"),  # column * rows + row
        ("time", "<f8"),  # s, at which it was sent
        ("azimuth", "<f4"),  # rad
        ("elevation", "<f4"),  # rad
        ("first", "<f8"),  # s after it was sent, of the first sample
        ("offset", "<i8"),  # of the first sample in the array of samples
        ("count", "<i8"),  # of samples
        ("returns", "<i8"),  # points that were made of it
        ("x", "<f8"),  # m, of where it was sent, as the points have it
        ("y", "<f8"),
        ("z", "<f8"),
        ("along_x", "<f8"),  # the direction in which it was sent, in the frame of the points
        ("along_y", "<f8"),
        ("along_z", "<f8"),
    ]
)
#: The last six of them, as kernels give them.
LINE = ("x", "y", "z", "along_x", "along_y", "along_z")
Waves = NDArray[np.void]
Samples = NDArray[np.float32]

#: Bytes of each store in memory before they go to an unnamed file.
IN_MEMORY = 1 << 24
#: References to the memory of a store that nobody else looks at: its own, and that of the question.
ALONE = 2
#: Pulses whose points are held until they are stored.
RAYS_AT_A_TIME = 1 << 15


class Store:
    """Records of one type, as they come; in a file if there are many.

    Its memory is used again, as new memory costs more than to fill it, unless somebody still looks
    at the records that lie in it.
    """

    def __init__(self, record: Any) -> None:
        self._record = np.dtype(record)
        self._held = np.empty(0, np.uint8)
        self._file: IO[bytes] | None = None
        self.count = 0

    def clear(self) -> None:
        """Forget all records; who still looks at them keeps them."""
        if self._file is not None:
            self._end()
            self._file = None
        if sys.getrefcount(self._held) > ALONE:
            self._held = np.empty(0, np.uint8)
        self.count = 0

    def add(self, records: NDArray[Any]) -> None:
        """Add some records."""
        self.room(len(records))[:] = records
        self.filled(len(records))

    def room(self, count: int) -> NDArray[Any]:
        """Where the next records go; ``filled`` says how many there are."""
        size, first = self._record.itemsize, self.count * self._record.itemsize
        wanted = first + count * size
        if self._file is None and wanted > IN_MEMORY:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by ``clear``
            # Not by __del__: of what goes together, the file might go first, and warn.
            self._end = weakref.finalize(self, self._file.close)
            self._file.write(self._held[:first].data)
            self._held = np.empty(0, np.uint8)
        if self._file is not None:
            self._added: NDArray[Any] = np.empty(count, self._record)
            return self._added
        if wanted > len(self._held):
            more = np.empty(min(max(2 * len(self._held), wanted), IN_MEMORY), np.uint8)
            more[:first] = self._held[:first]
            self._held = more
        records: NDArray[Any] = self._held[first:wanted].view(self._record)
        return records

    def filled(self, count: int) -> None:
        """Take note that so many records were written to the ``room``."""
        if self._file is not None:
            self._file.write(self._added[:count].view(np.uint8).data)
            del self._added
        self.count += count

    def all(self) -> NDArray[Any]:
        """All records, read only; those of a file are read from there when they are looked at."""
        if self._file is None:
            held = self._held[: self.count * self._record.itemsize]
            held.flags.writeable = False
            records: NDArray[Any] = held.view(self._record)
            return records
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, self._record)


class WaveStore:
    """The waveforms of one frame, as they come."""

    def __init__(self) -> None:
        self._rows, self._samples = Store(WAVE), Store(np.float32)

    @property
    def count(self) -> int:
        """How many samples there are."""
        return self._samples.count

    def clear(self) -> None:
        """Forget all waveforms."""
        self._rows.clear()
        self._samples.clear()

    def add(self, rows: Waves, samples: Samples) -> None:
        """Add some waveforms; offsets count from the first of these samples."""
        self.room(len(samples))[:] = samples
        self.filled(rows, len(samples))

    def room(self, samples: int) -> Samples:
        """Where the next samples go; ``filled`` says how many there are."""
        return self._samples.room(samples)

    def filled(self, rows: Waves, samples: int) -> None:
        """Take note of waveforms whose samples were written to the ``room``."""
        rows["offset"] += self.count
        self._rows.add(rows)
        self._samples.filled(samples)

    def rows(self) -> Waves:
        """All waveforms."""
        return self._rows.all()

    def samples(self) -> Samples:
        """All samples."""
        return self._samples.all()


class EchoCloud(CloudBuffer):
    """The points of a frame, and its waveforms if they are kept.

    ``words`` and ``counts`` are those of a part of the frame, within ``part``.
    """

    def __init__(
        self,
        rays: int,
        returns: int,
        *,
        normals: bool,
        wide: bool,
        keeps: bool = False,
        step: float = 0.0,
    ) -> None:
        """``step`` is the time between two samples of a waveform."""
        self.waves, self.step = WaveStore() if keeps else None, step
        #: Echoes of surfaces that are so tilted that single rays of a pulse may show.
        self.coarse = 0
        record = record_of(normals=normals, wide=wide, echoes=True)
        self._stored, self._nearest = Store(record), np.zeros(1, record)
        super().__init__(0, returns, normals=normals, wide=wide, echoes=True)
        self.counts = np.zeros(rays, np.uint8)
        MEMORY.join(self)

    @contextmanager
    def part(self, samples: int) -> Iterator[Samples]:
        """Have ``words`` while a part of the frame is made, and memory for so many samples."""
        nothing, width = self.words, self.words.shape[1]
        words = MEMORY.take(len(self.counts) * self.room * width)
        memory = MEMORY.take(samples) if samples else np.empty(0, np.uint32)
        try:
            count = len(self.counts) * self.room
            self.words = words[: count * width].reshape(count, width)
            yield memory[:samples].view(np.float32)
        finally:
            self.words = nothing
            MEMORY.give(words)
            if samples:
                MEMORY.give(memory)

    def clear(self) -> None:
        """Forget all points and waveforms."""
        super().clear()
        self.coarse = 0
        self._stored.clear()
        if self.waves is not None:
            self.waves.clear()

    @property
    def valid(self) -> int:
        """How many points are stored."""
        return self._stored.count

    def store_part(self, nearest: tuple[float, int], first: int) -> None:
        """Store the points that are in ``words``; ``first`` is the ray of the first of them.

        ``nearest`` is the least range among them, and its place in ``words``.
        """
        whole = nearest[0], first * self.room + nearest[1]
        if nearest[1] >= 0 and whole < self.nearest:
            self.nearest = whole
            self._nearest[0] = self.words[nearest[1]].view(self.record)[0]
        count = pack_words(self.words, self.room, self.counts)
        self._stored.add(self.words[:count].view(self.record).reshape(-1))
        self.counts[:] = 0

    def nearest_point(self) -> Points:
        """The nearest point, an array of one."""
        return self._nearest

    def points(self, *, normals: bool = False) -> Points:
        """The points that there are, with normals if there is room for them."""
        if normals and not self.has_normals:
            raise ValueError("there is no room for normals in this cloud")
        return self.pack().copy()

    def pack(self) -> Points:
        """The points that there are, read only."""
        return self._stored.all()

    def packets(self) -> WavePackets | None:
        """The waveforms as a las has them."""
        if self.waves is None:
            return None
        return WavePackets(self.waves.rows(), self.waves.samples(), self.step)

    def saved(self, rays: int) -> dict[str, NDArray[Any]]:  # noqa: ARG002 - all that there is
        """All points and waveforms, as arrays."""
        store = self.waves or WaveStore()
        return {
            "counts": np.zeros(0, np.uint8),
            "points": self.pack().view(np.uint8).copy(),
            "nearest": np.array(self.nearest, float),
            "nearest_point": self._nearest.view(np.uint8).copy(),
            "shift": self.shift.copy(),
            "lost": self.lost.copy(),
            "waves": store.rows().view(np.uint8).copy(),
            "samples": store.samples().copy(),
        }

    def load(self, saved: Mapping[str, NDArray[Any]], rays: int) -> None:  # noqa: ARG002
        """Take over what was saved; ValueError if it does not fit."""
        points, nearest = _records(saved["points"], self.record), saved["nearest_point"]
        waves, samples = _records(saved["waves"], WAVE), saved["samples"]
        fits = samples.dtype == np.float32 and samples.ndim == 1
        fits = fits and not (waves["count"] < 0).any() and waves["count"].sum() == len(samples)
        fits = fits and len(_records(nearest, self.record)) == 1
        shift, lost = saved["shift"], saved["lost"]
        if not fits or shift.shape != self.shift.shape or lost.shape != self.lost.shape:
            raise ValueError("the saved waveforms of the lidar are damaged")
        self.clear()
        self._stored.add(points)
        self._nearest = _records(nearest, self.record).copy()
        least, place = saved["nearest"].tolist()
        self.nearest, self.number = (least, int(place)), len(points)
        self.shift, self.lost = shift.astype(float), lost.astype(np.int64)
        if self.waves is not None:
            rows = waves.copy()
            rows["offset"] -= rows["offset"][:1].sum()
            self.waves.add(rows, samples)


def _records(data: NDArray[Any], record: Any) -> NDArray[Any]:
    """Bytes as records; ValueError if they are none."""
    kind = np.dtype(record)
    if data.dtype != np.uint8 or data.ndim != 1 or len(data) % kind.itemsize:
        raise ValueError("the saved waveforms of the lidar are damaged")
    return np.frombuffer(data.tobytes(), kind)


@dataclass(frozen=True)
class WaveFile:
    """The rows of the waveforms of a frame."""

    cloud: EchoCloud
    suffix: str = "waveform.npy"

    def write(self, path: Path) -> dict[str, object]:
        """Write them and tell what the index should know."""
        assert self.cloud.waves is not None
        rows = self.cloud.waves.rows()
        write_npy(path, rows)
        return {"kind": "waveform", "format": "npy", "waveforms": len(rows)}


@dataclass(frozen=True)
class SampleFile:
    """The samples of the waveforms of a frame."""

    cloud: EchoCloud
    suffix: str = "samples.npy"

    def write(self, path: Path) -> dict[str, object]:
        """Write them and tell what the index should know."""
        assert self.cloud.waves is not None
        write_npy(path, self.cloud.waves.samples())
        return {"kind": "samples", "format": "npy", "samples": self.cloud.waves.count}
