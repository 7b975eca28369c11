"""Point clouds as files: one record for each return, the same in memory and on disk.

pcd    version 0.7, binary: a header, then the records as they are. ``VIEWPOINT`` takes the points
       to the world: it is the sensor's pose there if they are in the sensor frame.
ply    binary, little endian: a header, then the records as they are. Comments have frame, pose,
       units and meanings. Normals are there twice, also as nx, ny, nz, as readers of PLY expect.
npy    the structured array, for ``numpy.load(path, mmap_mode="r")``
las    version 1.4, point format 6: positions in steps of 0.1 mm, and all else exact (``las``);
       format 9 for points with waveforms
laz    the same, compressed

Records are those of ``output.points``. float32 is too coarse for positions far from the origin,
0.25 m at the coordinates of a map. So positions in the world may be relative to another point:
``shift`` in the line of the index, the translation of ``VIEWPOINT`` in a pcd, a comment in a ply.
If a parameter asks for it, they are float64 instead. A las has an offset of its own.

How readers take it. PCL and Open3D refuse a file without points; it is written all the same,
because every frame has its file, and the index has the number of points. PCL, Open3D and pypcd4
read all types of fields, but PCL's own point types with ``label`` expect it unsigned, which has no
-1. In PLY the types are named by their size, because Open3D ignores fields that are ``ushort`` and
keeps those that are ``uint16``.

Source: PCL, "The PCD file format"; Turk, "The PLY polygon file format" (1994).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields

from sensor_models.core.quantities import boolean, check, choice, string
from sensor_models.output.frame_files import FrameWriter, write_npy, write_parts
from sensor_models.output.las import check_las, write_las
from sensor_models.output.points import FIELDS, CloudBuffer, Points
from sensor_models.output.sinks import WriteFiles, write_files

PCD_TYPES = {"f": "F", "i": "I", "u": "U"}
PLY_KINDS = {"f": "float", "i": "int", "u": "uint"}
#: The names by which readers of PLY find normals, written beside our own names.
PLY_NORMALS = {"nx": "normal_x", "ny": "normal_y", "nz": "normal_z"}


class CloudFormat(IntEnum):
    """Kinds of files of point clouds."""

    pcd = 0
    ply = 1
    las = 2
    laz = 3
    npy = 4


@dataclass(frozen=True)
class CloudFileParameters:
    """Where point clouds go."""

    write_files: WriteFiles = write_files("Write each frame to a file")
    output_directory: str = string(
        "", "Directory for files; if they are wanted and it is empty, a fresh temporary one"
    )
    output_format: CloudFormat = choice(CloudFormat.pcd, "Kind of file of the point clouds")
    output_double: bool = boolean(
        False,
        "Positions in pcd, ply and npy as float64; else as float32, in the world frame relative to "
        "a point nearby that the file names. las and laz count in steps of 0.1 mm",
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def wide(self) -> bool:
        """Whether positions have to be float64 until they are written."""
        return self.output_double or self.output_format in (CloudFormat.las, CloudFormat.laz)


@dataclass(frozen=True)
class Viewpoint:
    """Frame of the points of a cloud, and where the sensor was."""

    in_world: bool = False  # otherwise the points are in the sensor frame
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    shift: tuple[float, ...] = (0.0, 0.0, 0.0)  # what positions in the world are relative to

    @property
    def to_world(self) -> "Viewpoint":
        """The pose that takes the points to the world."""
        return Viewpoint(position=self.shift) if self.in_world else self

    @property
    def frame(self) -> str:
        """Name of the frame of the points."""
        return "world" if self.in_world else "sensor"


@dataclass(frozen=True)
class CloudFile:
    """One cloud as a file of a frame: points, or a buffer, which is packed when it is written."""

    cloud: Points | CloudBuffer
    format: CloudFormat = CloudFormat.pcd
    viewpoint: Viewpoint = Viewpoint()
    #: The intensity that the largest count of 16 bits stands for, in formats with such counts.
    full_intensity: float = 1.0
    kind: str = "points"

    @property
    def suffix(self) -> str:
        """What its name ends with."""
        return f"{self.kind}.{self.format.name}"

    @property
    def content(self) -> Points:
        """The points; those of a buffer are in its own memory."""
        if isinstance(self.cloud, CloudBuffer):
            return self.cloud.pack()
        return np.ascontiguousarray(repack_fields(self.cloud))

    def write(self, path: Path) -> dict[str, object]:
        """Write it to a path and tell what the index should know of it."""
        points = self.content
        written = WRITERS[self.format](path, points, self)
        known = {
            "kind": self.kind,
            "format": self.format,
            "points": written,
            "output_frame": self.viewpoint.frame,
        }
        return {**known, "shift": self.viewpoint.shift} if any(self.viewpoint.shift) else known


class CloudWriter(FrameWriter):
    """The files of the clouds of one sensor."""

    def __init__(
        self, sensor: str, parameters: CloudFileParameters, effective: Mapping[str, object]
    ) -> None:
        """Check that the format is possible and the directory writable."""
        if parameters.output_format in (CloudFormat.las, CloudFormat.laz):
            check_las(compressed=parameters.output_format == CloudFormat.laz)
        super().__init__(sensor, parameters, effective)


# ---- PCD, PLY and NPY --------------------------------------------------------------------------


def _write_pcd(path: Path, points: Points, file: CloudFile) -> int:
    write_parts(path, _header(_pcd_header(points, file.viewpoint)), points.data)
    return len(points)


def _write_ply(path: Path, points: Points, file: CloudFile) -> int:
    if "normal_x" in (points.dtype.names or ()):
        points = _with_ply_normals(points)
    write_parts(path, _header(_ply_header(points, file.viewpoint)), points.data)
    return len(points)


def _with_ply_normals(points: Points) -> Points:
    """The same points, with their normals also under the names of PLY."""
    more = [(name, points.dtype[own]) for name, own in PLY_NORMALS.items()]
    both = np.empty(len(points), [*_columns(points), *more])
    for name in points.dtype.names or ():
        both[name] = points[name]
    for name, own in PLY_NORMALS.items():
        both[name] = points[own]
    return both


def _write_npy(path: Path, points: Points, _file: CloudFile) -> int:
    write_npy(path, points)
    return len(points)


def _header(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _columns(points: Points) -> list[tuple[str, np.dtype[Any]]]:
    names = points.dtype.names or ()
    return [(name, points.dtype[name]) for name in names]


def _pcd_header(points: Points, viewpoint: Viewpoint) -> list[str]:
    columns = _columns(points)
    shown = viewpoint.to_world
    return [
        "# .PCD v0.7 - Point Cloud Data file format",
        "VERSION 0.7",
        "FIELDS " + " ".join(name for name, _ in columns),
        "SIZE " + " ".join(str(kind.itemsize) for _, kind in columns),
        "TYPE " + " ".join(PCD_TYPES[kind.kind] for _, kind in columns),
        "COUNT " + " ".join("1" for _ in columns),
        f"WIDTH {len(points)}",
        "HEIGHT 1",
        f"VIEWPOINT {_numbers(shown.position)} {_numbers(shown.orientation)}",
        f"POINTS {len(points)}",
        "DATA binary",
    ]


def _ply_header(points: Points, viewpoint: Viewpoint) -> list[str]:
    columns = [(name, PLY_NORMALS.get(name, name), kind) for name, kind in _columns(points)]
    return [
        "ply",
        "format binary_little_endian 1.0",
        f"comment points are in the {viewpoint.frame} frame",
        *_ply_shift(viewpoint),
        f"comment sensor position x y z [m]: {_numbers(viewpoint.position)}",
        f"comment sensor orientation w x y z [1]: {_numbers(viewpoint.orientation)}",
        *(f"comment {name} [{FIELDS[own][0]}]: {FIELDS[own][1]}" for name, own, _ in columns),
        f"element vertex {len(points)}",
        *(f"property {PLY_KINDS[t.kind]}{8 * t.itemsize} {name}" for name, _, t in columns),
        "end_header",
    ]


def _ply_shift(viewpoint: Viewpoint) -> list[str]:
    if not any(viewpoint.shift):
        return []
    return [f"comment add to x y z [m]: {_numbers(viewpoint.shift)}"]


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


# ---- LAS and LAZ -------------------------------------------------------------------------------


def _write_las(path: Path, points: Points, file: CloudFile, *, compressed: bool = False) -> int:
    packets = file.cloud.packets() if isinstance(file.cloud, CloudBuffer) else None
    own = _las_descriptions(), file.viewpoint.shift, file.full_intensity
    return write_las(path, points, *own, packets, compressed=compressed)


def _write_laz(path: Path, points: Points, file: CloudFile) -> int:
    return _write_las(path, points, file, compressed=True)


def _las_descriptions() -> dict[str, str]:
    return {
        name: meaning if unit == "1" else f"{meaning}, {unit}"
        for name, (unit, meaning) in FIELDS.items()
    }


WRITERS: dict[CloudFormat, Callable[[Path, Points, CloudFile], int]] = {
    CloudFormat.pcd: _write_pcd,
    CloudFormat.ply: _write_ply,
    CloudFormat.npy: _write_npy,
    CloudFormat.las: _write_las,
    CloudFormat.laz: _write_laz,
}
