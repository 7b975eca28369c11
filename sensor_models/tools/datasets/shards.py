"""The files of a data set: some samples in each, and what is known of them.

Both formats have, for each shard, a line a sample in ``shard-00000.jsonl``: its number, pose,
bodies and looks, and the annotations of its images.

npz     ``shard-00000.npz``: for the sensor ``front`` arrays ``front.image``, ``front.entity``, ...
        of (samples, rows, columns), and for the lidar ``top`` ``top.points``, a structured array of
        the points of all samples, with ``top.first``, where those of each sample begin and end; the
        ``targets`` of a radar likewise.
        ``samples`` and ``pose`` are the numbers and the poses. Arrays are not compressed.
images  ``shard-00000/front/000017.image.png``: depth in grey of 16 bit with its scale in the file,
        ids too; pictures with theirs (``output.images``); other arrays as npy. Points as
        ``shard-00000/top.parquet``, with the sample as a column.

A shard is written while its samples are made: images go to their files at once, and only lists
(points, targets), whose lengths nobody knows beforehand, are gathered until its end. All files of a
shard are flushed to the disk by a thread meanwhile. Its line file gets its name when all of them
are there: a shard that has one is complete, also after a power cut.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models.output.flushing import Flusher, flush_names
from sensor_models.output.images import PictureFile, png_bytes, png_scale
from sensor_models.output.npz import NpzFile
from sensor_models.output.parquet import write_parquet

Arrays = Mapping[str, Mapping[str, NDArray[Any]]]  # by sensor and name

#: So many bytes of an npz file are written before they are flushed.
FLUSHED = 1 << 24


@dataclass(frozen=True)
class Sample:
    """A sample that was made."""

    number: int
    pose: list[float]
    arrays: Arrays
    about: dict[str, Any]
    annotations: dict[str, list[dict[str, Any]]]  # by camera
    largest: dict[str, int] = field(default_factory=dict)  # digital number, of pictures by sensor

    def kept(self) -> "Sample":
        """The same with arrays of its own, which last."""
        arrays = {
            sensor: {name: array.copy() for name, array in own.items()}
            for sensor, own in self.arrays.items()
        }
        return replace(self, arrays=arrays)


def is_list(array: NDArray[Any]) -> bool:
    """Whether an array has as many rows as there is something to tell, as points and targets."""
    return array.dtype.names is not None


def shard_name(index: int) -> str:
    """The name of a shard, without what it ends with."""
    return f"shard-{index:05d}"


def is_complete(directory: Path, index: int) -> bool:
    """Whether a shard was written."""
    return (directory / f"{shard_name(index)}.jsonl").exists()


def read_lines(directory: Path, index: int) -> Iterator[dict[str, Any]]:
    """What is known of the samples of a shard."""
    with (directory / f"{shard_name(index)}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


class Rows:
    """Rows of a list that grows, in memory that is used again.

    They are copied as bytes: NumPy copies records number by number, in thirty times the time.
    """

    def __init__(self, kind: np.dtype[Any], expected: int) -> None:
        self._kind = kind
        # memory that is not written to takes no room
        self._memory = np.empty((expected, kind.itemsize), np.uint8)
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.ends = [0]

    @property
    def all(self) -> NDArray[Any]:
        """The rows, until more are added."""
        return self._memory[: self.ends[-1]].view(self._kind)[:, 0]

    def add(self, rows: NDArray[Any]) -> None:
        """Add the rows of a sample."""
        begin, end = self.ends[-1], self.ends[-1] + len(rows)
        if end > len(self._memory):
            larger = np.empty((max(end, 2 * len(self._memory)), self._kind.itemsize), np.uint8)
            larger[:begin] = self._memory[:begin]
            self._memory = larger
        self._memory[begin:end] = np.ascontiguousarray(rows)[:, None].view(np.uint8)
        self.ends.append(end)


#: What a shard gathers, by sensor and name. A worker hands it on from shard to shard: memory that
#: was never touched, or not for long, costs more than writing to it.
Room = dict[tuple[str, str], Rows]


class Form(Protocol):
    """How the arrays of a shard are stored."""

    def add(self, sample: Sample) -> None:
        """Store what is no list of a sample."""

    def finish(self, lists: Room) -> None:
        """Store the lists of all samples."""


class Shard:
    """A shard that samples are added to in order. Their arrays may change afterwards."""

    def __init__(self, form: Form, count: int, flusher: Flusher, room: Room) -> None:
        self._form, self._count, self._flusher, self._room = form, count, flusher, room
        self._lines: list[str] = []
        for rows in room.values():
            rows.clear()

    def add(self, sample: Sample) -> None:
        """Add a sample."""
        for sensor, own in sample.arrays.items():
            for name, array in own.items():
                if is_list(array):
                    place = sensor, name
                    if place not in self._room:
                        self._room[place] = Rows(array.dtype, self._count * len(array))
                    self._room[place].add(array)
        self._form.add(sample)
        self._lines.append(json.dumps(_line(sample)) + "\n")

    def add_file(self, path: Path) -> None:
        """Add a file that was written, and is to be there when the shard counts as complete."""
        self._flusher.add(path)

    def finish(self, aside: Path) -> None:
        """Store what was gathered, and the lines aside."""
        self._form.finish(self._room)
        aside.write_text("".join(self._lines), encoding="utf-8")
        self._flusher.add(aside)


@contextmanager
def new_shard(directory: Path, index: int, count: int, form: str, room: Room) -> Iterator[Shard]:
    """A shard for so many samples, which is complete at the end if nothing went wrong.

    ``room`` is empty for the first shard, and handed on from shard to shard of a data set.
    """
    lines = directory / f"{shard_name(index)}.jsonl"
    aside, begin = Path(f"{lines}.part"), _npz if form == "npz" else _images
    try:
        with Flusher() as flusher, begin(directory / shard_name(index), count, flusher) as stored:
            shard = Shard(stored, count, flusher, room)
            yield shard
            shard.finish(aside)
        for folder in set[Path]().union(*(_folders(path, directory) for path in flusher.files)):
            flush_names(folder)
        aside.replace(lines)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _folders(path: Path, directory: Path) -> set[Path]:
    """The folders that a file of a data set is in."""
    return {folder for folder in path.parents if folder.is_relative_to(directory)}


def _line(sample: Sample) -> dict[str, Any]:
    return {
        "sample": sample.number,
        "pose": sample.pose,
        **sample.about,
        "annotations": sample.annotations,
    }


# ---- npz -----------------------------------------------------------------------------------------


class NpzForm:
    """All arrays in one file."""

    def __init__(self, file: NpzFile, count: int, flush: Callable[[], None]) -> None:
        self._file, self._count, self._flush = file, count, flush
        self._samples: list[int] = []
        self._poses: list[list[float]] = []
        self._flushed = 0

    def add(self, sample: Sample) -> None:
        """See ``Form``."""
        for sensor, own in sample.arrays.items():
            for name, array in own.items():
                if is_list(array):
                    continue
                if not self._samples:
                    shape = self._count, *array.shape
                    self._file.leave_room(f"{sensor}.{name}", array.dtype, shape)
                self._add(f"{sensor}.{name}", array)
        self._samples.append(sample.number)
        self._poses.append(sample.pose)

    def finish(self, lists: Room) -> None:
        """See ``Form``."""
        for (sensor, name), rows in lists.items():
            self._file.add(f"{sensor}.first", np.array(rows.ends))
            self._file.leave_room(f"{sensor}.{name}", rows.all.dtype, rows.all.shape)
            step = max(1, FLUSHED // rows.all.itemsize)
            for first in range(0, len(rows.all), step):
                self._add(f"{sensor}.{name}", rows.all[first : first + step])
        self._file.add("samples", np.array(self._samples))
        self._file.add("pose", np.array(self._poses))
        self._file.finish()

    def _add(self, name: str, rows: NDArray[Any]) -> None:
        self._file.add_rows(name, rows)
        if self._file.written - self._flushed >= FLUSHED:
            self._flushed = self._file.written
            self._flush()


@contextmanager
def _npz(path: Path, count: int, flusher: Flusher) -> Iterator[Form]:
    """An npz file aside, which gets its name when it is on the disk."""
    whole = path.with_suffix(".npz")
    aside = Path(f"{whole}.part")
    try:
        with aside.open("wb") as stream:
            yield NpzForm(NpzFile(stream), count, lambda: flusher.add(aside))
        flusher.add(aside)
        flusher.wait()
        aside.replace(whole)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


# ---- images --------------------------------------------------------------------------------------


class ImagesForm:
    """Images in files of their own, lists as tables."""

    def __init__(self, folder: Path, flusher: Flusher) -> None:
        self._folder, self._flusher = folder, flusher
        self._samples: list[int] = []

    def add(self, sample: Sample) -> None:
        """See ``Form``."""
        for sensor, own in sample.arrays.items():
            folder = self._folder / sensor
            folder.mkdir(parents=True, exist_ok=True)
            for name, array in own.items():
                if not is_list(array):
                    path = folder / f"{sample.number:06d}.{name}"
                    largest = sample.largest.get(sensor, 0)
                    self._flusher.add(_write_image(path, array, largest))
        self._samples.append(sample.number)

    def finish(self, lists: Room) -> None:
        """See ``Form``."""
        for (sensor, _), rows in lists.items():
            columns = {"sample": np.repeat(self._samples, np.diff(rows.ends))}
            columns |= {name: rows.all[name] for name in rows.all.dtype.names or ()}
            write_parquet(self._folder / f"{sensor}.parquet", columns)
            self._flusher.add(self._folder / f"{sensor}.parquet")


def _images(path: Path, _count: int, flusher: Flusher) -> AbstractContextManager[Form]:
    """A folder of images and tables."""
    return nullcontext(ImagesForm(path, flusher))


def _write_image(path: Path, array: NDArray[Any], largest: int) -> Path:
    """Distances, ids and pictures as PNG, whatever else has more to a pixel as npy."""
    if array.dtype.kind != "u" and array.ndim != 2:
        whole = Path(f"{path}.npy")
        np.save(whole, array)
        return whole
    whole = Path(f"{path}.png")
    if array.dtype.kind == "u":
        PictureFile("image", array, largest or int(np.iinfo(array.dtype).max)).write(whole)
        return whole
    ids = array.dtype.kind == "i"
    farthest = np.nanmax(array, initial=0.0, where=np.isfinite(array)) if not ids else 0.0
    scale = 1.0 if ids else png_scale(float(farthest))
    stored = array.astype(np.int64) + 1 if ids else array  # -1 is none: 0 in the file
    whole.write_bytes(png_bytes(stored, scale, "id + 1" if ids else "m"))
    return whole
