"""Reading the files of point clouds that ``clouds`` writes, of all its formats.

npy and las, laz are read by NumPy and laspy. PCD and PLY are read here: what is written are a few
lines of text and then the records as they are in memory, which is one ``frombuffer``. Readers of
PCD that are at hand drop or convert fields, and trimesh keeps those of PLY only among its raw
metadata. So this reads binary files whose fields are scalars, as written here, and refuses others.

A cloud comes with the names of ``clouds.FIELDS``, whichever format it was in.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import ParameterError
from sensor_models.output.clouds import PLY_NORMALS, CloudFormat
from sensor_models.output.files import OutputError
from sensor_models.output.las import EXACT, OWN

Points = NDArray[np.void]

#: No header is longer.
LONGEST_HEADER = 65536
KINDS_OF_PCD = {"F": "f", "I": "i", "U": "u"}
KINDS_OF_PLY = {
    "float": "f4",
    "double": "f8",
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    **{f"float{8 * size}": f"f{size}" for size in (4, 8)},
    **{f"int{8 * size}": f"i{size}" for size in (1, 2, 4, 8)},
    **{f"uint{8 * size}": f"u{size}" for size in (1, 2, 4, 8)},
}


class CloudError(ParameterError):
    """A file that cannot be read as a point cloud; the message names it and the reason."""


def read_cloud(path: Path) -> Points:
    """The points of a file, with the names of their fields.

    Raises:
        CloudError: if it is none of the formats, or damaged.
        OSError: if it cannot be opened.
    """
    ending = path.suffix[1:].lower()
    if ending not in READERS:
        raise CloudError(f"{path}: is none of {', '.join(READERS)}, by the end of its name")
    try:
        points = READERS[ending](path)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise CloudError(f"{path}: cannot be read as {ending}: {error}") from error
    missing = [axis for axis in "xyz" if axis not in (points.dtype.names or ())]
    if missing:
        raise CloudError(f"{path}: has no field {missing[0]}, so it is no point cloud")
    return points


def _read_pcd(path: Path) -> Points:
    lines, start = _header(path, b"DATA ")
    known = {key: rest.split() for key, _, rest in (line.partition(" ") for line in lines)}
    if known["DATA"] != ["binary"]:
        raise ValueError(f"its data are {' '.join(known['DATA'])}, needed are binary")
    if set(known.get("COUNT", "1")) != {"1"}:
        raise ValueError("a field has several values")
    kinds = [
        f"<{KINDS_OF_PCD[kind]}{size}"
        for kind, size in zip(known["TYPE"], known["SIZE"], strict=True)
    ]
    record = np.dtype(list(zip(known["FIELDS"], kinds, strict=True)))
    return _records(path, start, record, int(known["POINTS"][0]))


def _read_ply(path: Path) -> Points:
    lines, start = _header(path, b"end_header")
    if lines[0] != "ply" or "format binary_little_endian 1.0" not in lines:
        raise ValueError("needed is the format binary_little_endian 1.0")
    elements = [line.split()[1:] for line in lines if line.startswith("element ")]
    if len(elements) != 1 or elements[0][0] != "vertex":
        raise ValueError("needed is the element vertex alone")
    properties = [line.split()[1:] for line in lines if line.startswith("property ")]
    record = np.dtype([(name, f"<{KINDS_OF_PLY[t]}") for t, name in properties])
    points = _records(path, start, record, int(elements[0][1]))
    return points[[name for _, name in properties if name not in PLY_NORMALS]]


def _header(path: Path, last: bytes) -> tuple[list[str], int]:
    """The lines up to the one that begins with ``last``, and where the records begin."""
    with path.open("rb") as stream:
        head = stream.read(LONGEST_HEADER)
    place = head.find(b"\n" + last)
    end = head.find(b"\n", place + 1)
    if place < 0 or end < 0:
        raise ValueError(f"its header has no line {last.decode().strip()}")
    return head[:end].decode("ascii").splitlines(), end + 1


def _records(path: Path, start: int, record: np.dtype[Any], count: int) -> Points:
    there = path.stat().st_size - start
    if count < 0 or there < count * record.itemsize:
        raise ValueError(f"its header tells of {count} points, it has {there // record.itemsize}")
    points: Points = np.fromfile(path, record, count, offset=start)
    return points


def _read_npy(path: Path) -> Points:
    points: Points = np.load(path, allow_pickle=False)
    if points.ndim != 1 or points.dtype.names is None:
        raise ValueError("it is no list of records")
    return points


def _read_las(path: Path) -> Points:
    try:
        laspy: Any = importlib.import_module("laspy")
    except ImportError as error:
        raise OutputError(f"{path}: needs the package laspy[lazrs] ({error})") from error
    try:
        cloud = laspy.read(path)
    except laspy.LaspyException as error:
        raise ValueError(str(error)) from error
    exact = {own: name for name, own in {**OWN, **EXACT}.items()}
    there = list(cloud.point_format.dimension_names)
    # The counts of a dimension give way to the exact values beside them.
    names = {exact.get(name, name): name for name in there if f"{name}_raw" not in there}
    columns = {name: np.asarray(cloud[own]) for name, own in names.items()}
    columns |= {axis: np.asarray(cloud[axis], np.float64) for axis in "xyz"}
    points: Points = np.empty(len(cloud), [(name, kind.dtype) for name, kind in columns.items()])
    for name, column in columns.items():
        points[name] = column
    return points


READERS: dict[str, Callable[[Path], Points]] = {
    CloudFormat.pcd.name: _read_pcd,
    CloudFormat.ply.name: _read_ply,
    CloudFormat.npy.name: _read_npy,
    CloudFormat.las.name: _read_las,
    CloudFormat.laz.name: _read_las,
}
