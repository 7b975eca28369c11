"""Points of a cloud, the same in memory and on disk, and a buffer for those of a frame.

Fields are those of ``POINT`` or ``POINT_WITH_NORMAL``; units and meanings are in ``FIELDS``.
``time`` is in seconds of the master's time, ids are -1 for none, ``return_number`` counts from the
nearest, which is 1, ``node`` is the place of the return in the tree of the ray. Azimuth, elevation
and incidence refer to the sensor, whichever frame the points are in. Positions can also be float64
(``record_of``).
"""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.light.paths import LIMIT_NAMES, LIMITS
from sensor_models.kernels.output.compact import compact_words, pack_words

if TYPE_CHECKING:
    from sensor_models.output.las import WavePackets

Points = NDArray[np.void]
Words = NDArray[np.uint32]

#: One return.
POINT = np.dtype(
    [
        ("x", "<f4"),
        ("y", "<f4"),
        ("z", "<f4"),
        ("intensity", "<f4"),
        ("range", "<f4"),
        ("azimuth", "<f4"),
        ("elevation", "<f4"),
        ("incidence", "<f4"),
        ("time", "<f8"),
        ("entity_id", "<i4"),
        ("material_id", "<i4"),
        ("label", "<i4"),
        ("ring", "<u2"),
        ("return_number", "u1"),
        ("return_count", "u1"),
        ("node", "<u2"),
        ("atmospheric", "<u2"),
    ]
)
#: One return with the normal of its surface.
POINT_WITH_NORMAL = np.dtype(
    [*POINT.descr, ("normal_x", "<f4"), ("normal_y", "<f4"), ("normal_z", "<f4")]
)
#: Further fields of points of a full-waveform lidar, after all others.
ECHO_FIELDS = [
    ("amplitude", "<f4"),
    ("echo_width", "<f4"),
    ("snr", "<f4"),
    ("detection_probability", "<f4"),
]

#: Unit and meaning of each field; LAS has room for 32 characters of both.
FIELDS: dict[str, tuple[str, str]] = {
    "x": ("m", "Position"),
    "y": ("m", "Position"),
    "z": ("m", "Position"),
    "intensity": ("1/sr", "Intensity of the return"),
    "range": ("m", "Distance to the sensor"),
    "azimuth": ("rad", "Angle from x towards y"),
    "elevation": ("rad", "Angle above the xy plane"),
    "incidence": ("rad", "Angle of beam and normal"),
    "time": ("s", "Instant of the measurement"),
    "entity_id": ("1", "Entity that was hit, -1 none"),
    "material_id": ("1", "Material hit, -1 none"),
    "label": ("1", "Semantic label, -1 none"),
    "ring": ("1", "Number of the beam"),
    "return_number": ("1", "From 1, the nearest"),
    "return_count": ("1", "Returns of the ray"),
    "node": ("1", "Place in the tree of the ray"),
    "atmospheric": ("1", "1 echo of a medium, else 0"),
    "normal_x": ("1", "Normal of the surface"),
    "normal_y": ("1", "Normal of the surface"),
    "normal_z": ("1", "Normal of the surface"),
    "amplitude": ("W", "Power at the peak of the echo"),
    "echo_width": ("s", "Full width at half maximum"),
    "snr": ("1", "Amplitude over noise"),
    "detection_probability": ("1", "Chance to be over threshold"),
}


def record_of(
    *, normals: bool = False, wide: bool = False, echoes: bool = False
) -> np.dtype[np.void]:
    """The type of a point; with float64 positions if it is ``wide``."""
    record = POINT_WITH_NORMAL if normals else POINT
    kinds: list[tuple[str, Any]] = [(name, record[name]) for name in record.names or ()]
    kinds += ECHO_FIELDS if echoes else []
    return np.dtype([(name, "<f8" if wide and name in "xyz" else kind) for name, kind in kinds])


class CloudBuffer:
    """A buffer for the points of one frame, with some returns for each ray.

    Kernels write points as in files: as records of ``record``, which have no gaps between them once
    ``pack`` has moved them together.
    """

    def __init__(
        self,
        rays: int,
        returns: int,
        *,
        normals: bool = True,
        wide: bool = False,
        echoes: bool = False,
    ) -> None:
        self.record = record_of(normals=normals, wide=wide, echoes=echoes)
        self.has_normals, self.is_wide, self.has_echoes = normals, wide, echoes
        self.room = returns  # for each ray
        self.words: Words = np.zeros((rays * returns, self.record.itemsize // 4), np.uint32)
        self.counts = np.zeros(rays, np.uint8)
        self._packing = threading.Lock()  # for files and logs, each on a thread of its own
        self.clear()

    def clear(self) -> None:
        """Forget all points."""
        self.counts[:] = 0
        self.nearest: tuple[float, int] = (np.inf, -1)
        self.number = 0  # of points
        #: What was subtracted from positions in the world, m.
        self.shift = np.zeros(3)
        #: How often each limit cut off light (``kernels.light.paths``).
        self.lost = np.zeros(LIMITS, np.int64)
        self._packed, self._kept = False, 0  # adding up the counts again would take 0.1 ms

    @property
    def returns(self) -> Points:
        """The points (rays, returns) before they are packed; ``counts`` says which are valid."""
        if self._packed:
            raise ValueError("the points were packed, so they are no longer ray by ray")
        points: Points = self.words.view(self.record).reshape(-1, self.room)
        return points

    def points(self, *, normals: bool = False) -> Points:
        """The valid points, in the order of the rays, in a new array.

        Points with fields of echoes have all their fields, with normals if there is room for them.
        """
        if normals and not self.has_normals:
            raise ValueError("there is no room for normals in this cloud")
        kept = record_of(normals=normals, wide=self.is_wide)
        record = self.record if self.has_echoes else kept
        compacted = np.empty((self.valid, record.itemsize // 4), np.uint32)
        if self._packed:
            compacted[:] = self.words[: len(compacted), : compacted.shape[1]]
        else:
            compact_words(self.words, self.room, self.counts, compacted)
        points: Points = compacted.view(record).reshape(-1)
        return points

    def packets(self) -> "WavePackets | None":
        """The waveforms that the points were made from, for files that hold both; None if none."""
        return None

    @property
    def cut_off(self) -> dict[str, int]:
        """How often each limit cut off light, by its name."""
        return dict(zip(LIMIT_NAMES, self.lost.tolist(), strict=True))

    @property
    def valid(self) -> int:
        """The number of valid points, from the counts."""
        return int(self.counts.sum(dtype=np.int64))

    def nearest_point(self) -> Points:
        """The nearest point, as an array of one or none; only before ``pack``."""
        return self.returns.reshape(-1)[self.nearest[1] : self.nearest[1] + 1]

    def pack(self) -> Points:
        """The valid points, in the order of the rays, in this buffer's own memory.

        Points after a gap are moved, which takes time. After this, nothing can be added until
        ``clear``.
        """
        with self._packing:
            if not self._packed:
                self._kept = pack_words(self.words, self.room, self.counts)
                self._packed = True
        points: Points = self.words[: self._kept].view(self.record).reshape(-1)
        return points

    def saved(self, rays: int) -> dict[str, NDArray[Any]]:
        """The points of the first rays, as arrays."""
        return {
            "counts": self.counts[:rays].copy(),
            "points": self.points(normals=self.has_normals).view(np.uint8).copy(),
            "nearest": np.array(self.nearest, float),
            "shift": self.shift.copy(),
            "lost": self.lost.copy(),
        }

    def load(self, saved: Mapping[str, NDArray[Any]], rays: int) -> None:
        """Take over ``saved`` points; ValueError if they have another number of rays."""
        counts, data = saved["counts"], saved["points"]
        shift, lost = saved["shift"].astype(float), saved["lost"].astype(np.int64)
        fits = counts.shape == (rays,) and counts.dtype == np.uint8
        fits = fits and counts.max(initial=0) <= self.room
        fits = fits and shift.shape == (3,) and lost.shape == (LIMITS,)
        number = int(counts.sum(dtype=np.int64)) if fits else 0
        if not fits or len(data) != number * self.record.itemsize:
            raise ValueError("the saved points of the lidar are damaged")
        self.clear()
        self.counts[:rays] = counts
        ray = np.repeat(np.arange(rays), counts)
        first = np.repeat(np.cumsum(counts, dtype=np.int64) - counts, counts)
        self.returns[ray, np.arange(number) - first] = data.view(self.record)
        least, place = saved["nearest"].tolist()
        self.nearest, self.number = (least, int(place)), number
        self.shift, self.lost = shift, lost
