"""The files of a data set: some samples in each, and what is known of them.

Both formats have, for each shard, a line a sample in ``shard-00000.jsonl``: its number, pose,
bodies and looks, and the annotations of its images.

npz     ``shard-00000.npz``: for the sensor ``front`` arrays ``front.image``, ``front.entity``, ...
        of (samples, rows, columns), and for the lidar ``top`` ``top.points``, a structured array of
        the points of all samples, with ``top.first``, where those of each sample begin and end; the
        ``targets`` of a radar likewise.
        ``samples`` and ``pose`` are the numbers and the poses. Arrays are not compressed.
images  ``shard-00000/front/000017.image.png``: depth in grey of 16 bit with its scale in the file,
        ids too; pictures as they are; other arrays as npy. Points as ``shard-00000/top.parquet``,
        with the sample as a column.

A shard's line file is written last: a shard that has one is complete.
"""

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.output.images import PictureFile, png_bytes, png_scale

Arrays = Mapping[str, Mapping[str, NDArray[Any]]]  # by sensor and name

#: Arrays with as many rows as there is something to tell: of lidars, of radars.
LISTS = ("points", "targets")


@dataclass(frozen=True)
class Sample:
    """A sample that was made."""

    number: int
    pose: list[float]
    arrays: Arrays
    about: dict[str, Any]
    annotations: dict[str, list[dict[str, Any]]]  # by camera


def shard_name(index: int) -> str:
    """The name of a shard, without what it ends with."""
    return f"shard-{index:05d}"


def is_complete(directory: Path, index: int) -> bool:
    """Whether a shard was written."""
    return (directory / f"{shard_name(index)}.jsonl").exists()


def write_shard(directory: Path, index: int, samples: Sequence[Sample], form: str) -> None:
    """Write some samples."""
    if form == "npz":
        _write_npz(directory / f"{shard_name(index)}.npz", samples)
    else:
        _write_images(directory / shard_name(index), samples)
    lines = directory / f"{shard_name(index)}.jsonl"
    aside = lines.with_suffix(".part")
    aside.write_text("".join(json.dumps(_line(s)) + "\n" for s in samples), encoding="utf-8")
    aside.replace(lines)


def read_lines(directory: Path, index: int) -> Iterator[dict[str, Any]]:
    """What is known of the samples of a shard."""
    with (directory / f"{shard_name(index)}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _line(sample: Sample) -> dict[str, Any]:
    return {
        "sample": sample.number,
        "pose": sample.pose,
        **sample.about,
        "annotations": sample.annotations,
    }


def _write_npz(path: Path, samples: Sequence[Sample]) -> None:
    arrays: dict[str, list[NDArray[Any]]] = {
        "samples": [np.array([sample.number for sample in samples])],
        "pose": [np.array([sample.pose for sample in samples])],
    }
    for sensor, own in samples[0].arrays.items():
        for name in own:
            parts = [sample.arrays[sensor][name] for sample in samples]
            if name in LISTS:
                arrays[f"{sensor}.first"] = [np.cumsum([0, *map(len, parts)])]
                arrays[f"{sensor}.{name}"] = parts
            else:
                arrays[f"{sensor}.{name}"] = [part[None] for part in parts]
    aside = path.with_suffix(".part")
    with zipfile.ZipFile(aside, "w") as archive:
        for name, parts in arrays.items():
            _add_array(archive, name, parts)
    aside.replace(path)


def _add_array(archive: zipfile.ZipFile, name: str, parts: Sequence[NDArray[Any]]) -> None:
    """Write arrays as one, along their first axis, into an npz file.

    ``numpy.savez`` wants them joined, and copies that once more to write it: at 2 MB a sample the
    two copies take as long as the writing itself.
    """
    shape = (sum(map(len, parts)), *parts[0].shape[1:])
    head = {"descr": np.lib.format.dtype_to_descr(parts[0].dtype), "fortran_order": False}
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, {**head, "shape": shape})
        for part in parts:
            if part.size:
                file.write(np.ascontiguousarray(part).view(np.uint8).data.cast("B"))


def _write_images(folder: Path, samples: Sequence[Sample]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for sensor, own in samples[0].arrays.items():
        (folder / sensor).mkdir(parents=True, exist_ok=True)
        for sample in samples:
            for name, array in sample.arrays[sensor].items():
                if name not in LISTS:
                    _write_image(folder / sensor / f"{sample.number:06d}.{name}", array)
        for name in set(own) & set(LISTS):
            parts = [sample.arrays[sensor][name] for sample in samples]
            numbers = np.repeat([s.number for s in samples], [len(part) for part in parts])
            rows = np.concatenate(parts)
            columns = {"sample": numbers, **{n: rows[n] for n in rows.dtype.names or ()}}
            flat = {name: np.ascontiguousarray(column) for name, column in columns.items()}
            pq.write_table(pa.table(flat), folder / f"{sensor}.parquet")


def _write_image(path: Path, array: NDArray[Any]) -> None:
    """Distances, ids and pictures as PNG, whatever else has more to a pixel as npy."""
    if array.dtype.kind == "u":
        most = int(np.iinfo(array.dtype).max)
        PictureFile("image", array, most).write(Path(f"{path}.png"))
        return
    if array.ndim != 2:
        np.save(f"{path}.npy", array)
        return
    ids = array.dtype.kind == "i"
    largest = np.nanmax(array, initial=0.0, where=np.isfinite(array)) if not ids else 0.0
    scale = 1.0 if ids else png_scale(float(largest))
    stored = array.astype(np.int64) + 1 if ids else array  # -1 is none: 0 in the file
    Path(f"{path}.png").write_bytes(png_bytes(stored, scale, "id + 1" if ids else "m"))
