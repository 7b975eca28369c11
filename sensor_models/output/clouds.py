"""Point clouds as files: one record for each return, the same in memory and on disk.

pcd    version 0.7, binary: a header, then the records as they are. ``VIEWPOINT`` is the sensor's
       pose in the world if the points are in the sensor frame, else nothing.
ply    binary, little endian: a header, then the records as they are. Comments tell frame, pose,
       units and meanings. Normals stand there twice, also as nx, ny, nz, as readers of PLY expect.
npy    the structured array, made for ``numpy.load(path, mmap_mode="r")``
las    version 1.4, point format 6: positions of 0.1 mm, and all else exact (``las``)
laz    the same, compressed

Fields are those of ``POINT_WITH_NORMAL`` or some of them; units and meanings are in ``FIELDS``.
``time`` is in seconds of the master's time, ids are -1 for none, ``return_number`` counts from 1
and the nearest, ``node`` is the place of the return in the tree of the ray. Azimuth, elevation
and incidence refer to the sensor, in whichever frame the points are.

What readers do with it. PCL and Open3D refuse a file without points; it is written all the same,
for every frame has its file, and the index tells the number of points. All types of fields are
read by PCL, Open3D and pypcd4, but PCL's own point types with ``label`` want it unsigned, which
has no -1. In PLY the types are named by their size, since Open3D drops fields that are ``ushort``
and keeps those that are ``uint16``.

Source: PCL, "The PCD file format"; Turk, "The PLY polygon file format" (1994).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray

from sensor_models.core.quantities import check, choice, string
from sensor_models.kernels.output.compact import compact_words
from sensor_models.output.frame_files import FrameWriter, write_npy, write_parts
from sensor_models.output.las import check_las, write_las
from sensor_models.output.sinks import WriteFiles

Points = NDArray[np.void]

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
}

PCD_TYPES = {"f": "F", "i": "I", "u": "U"}
PLY_KINDS = {"f": "float", "i": "int", "u": "uint"}
#: What readers of PLY take for normals, beside our own names.
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

    write_files: WriteFiles = choice(
        WriteFiles.auto,
        "Write each frame to a file: if output_directory is set (auto), never (off), always (on)",
    )
    output_directory: str = string(
        "", "Directory for files; if they are wanted and it is empty, a fresh temporary one"
    )
    output_format: CloudFormat = choice(CloudFormat.pcd, "Kind of file of the point clouds")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Viewpoint:
    """Frame of the points of a cloud, and where the sensor was."""

    in_world: bool = False  # else the points are in the sensor frame
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)

    @property
    def frame(self) -> str:
        """Name of the frame of the points."""
        return "world" if self.in_world else "sensor"


def compact(points: Points, counts: NDArray[np.uint8], *, normals: bool = False) -> Points:
    """The valid points of all rays in the order of the rays, in an array of their own.

    Of ``points`` (rays, returns) the first ``counts[ray]`` are valid. They may have normals even
    if none are asked for, but not the other way round.
    """
    rays, returns = points.shape
    record = POINT_WITH_NORMAL if normals else POINT
    if points.dtype not in (record, POINT_WITH_NORMAL):
        raise ValueError(f"points of {points.dtype} are not of the type {record}")
    if counts.shape != (rays,) or counts.max(initial=0) > returns:
        raise ValueError(f"the counts do not fit a cloud of {rays} rays of {returns} returns")
    compacted = np.empty(int(counts.sum(dtype=np.int64)), record)
    compact_words(_words(points), counts, _words(compacted))
    return compacted


def _words(points: Points) -> NDArray[np.uint32]:
    shape = (*points.shape, points.dtype.itemsize // 4)
    return np.ascontiguousarray(points).view(np.uint32).reshape(shape)


@dataclass(frozen=True)
class CloudFile:
    """One cloud as a file of a frame.

    With ``counts`` the points are (rays, returns), and the file gets what ``compact`` gives, which
    is done when it is written. Else it gets the points as they are.
    """

    points: Points
    format: CloudFormat = CloudFormat.pcd
    viewpoint: Viewpoint = Viewpoint()
    counts: NDArray[np.uint8] | None = None
    normals: bool = False
    kind: str = "points"

    @property
    def suffix(self) -> str:
        """What its name ends with."""
        return f"{self.kind}.{self.format.name}"

    def write(self, path: Path) -> dict[str, object]:
        """Write it to a path and tell what the index should know of it."""
        points = self.points
        if self.counts is not None:
            points = compact(points, self.counts, normals=self.normals)
        points = np.ascontiguousarray(repack_fields(points))
        written = WRITERS[self.format](path, points, self.viewpoint)
        return {
            "kind": self.kind,
            "format": self.format,
            "points": written,
            "output_frame": self.viewpoint.frame,
        }


class CloudWriter(FrameWriter):
    """The files of the clouds of one sensor."""

    def __init__(
        self, sensor: str, parameters: CloudFileParameters, effective: Mapping[str, object]
    ) -> None:
        """Find the format possible and the directory writable."""
        if parameters.output_format in (CloudFormat.las, CloudFormat.laz):
            check_las(compressed=parameters.output_format == CloudFormat.laz)
        super().__init__(sensor, parameters, effective)


# ---- PCD, PLY and NPY --------------------------------------------------------------------------


def _write_pcd(path: Path, points: Points, viewpoint: Viewpoint) -> int:
    write_parts(path, _header(_pcd_header(points, viewpoint)), points.data)
    return len(points)


def _write_ply(path: Path, points: Points, viewpoint: Viewpoint) -> int:
    if "normal_x" in (points.dtype.names or ()):
        points = _with_ply_normals(points)
    write_parts(path, _header(_ply_header(points, viewpoint)), points.data)
    return len(points)


def _with_ply_normals(points: Points) -> Points:
    """The same points with their normals under the names of PLY as well."""
    more = [(name, points.dtype[own]) for name, own in PLY_NORMALS.items()]
    both = np.empty(len(points), [*_columns(points), *more])
    for name in points.dtype.names or ():
        both[name] = points[name]
    for name, own in PLY_NORMALS.items():
        both[name] = points[own]
    return both


def _write_npy(path: Path, points: Points, _viewpoint: Viewpoint) -> int:
    write_npy(path, points)
    return len(points)


def _header(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _columns(points: Points) -> list[tuple[str, np.dtype[Any]]]:
    names = points.dtype.names or ()
    return [(name, points.dtype[name]) for name in names]


def _pcd_header(points: Points, viewpoint: Viewpoint) -> list[str]:
    columns = _columns(points)
    shown = Viewpoint() if viewpoint.in_world else viewpoint
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
        f"comment sensor position x y z [m]: {_numbers(viewpoint.position)}",
        f"comment sensor orientation w x y z [1]: {_numbers(viewpoint.orientation)}",
        *(f"comment {name} [{FIELDS[own][0]}]: {FIELDS[own][1]}" for name, own, _ in columns),
        f"element vertex {len(points)}",
        *(f"property {PLY_KINDS[t.kind]}{8 * t.itemsize} {name}" for name, _, t in columns),
        "end_header",
    ]


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


# ---- LAS and LAZ -------------------------------------------------------------------------------


def _write_las(path: Path, points: Points, _viewpoint: Viewpoint) -> int:
    return write_las(path, points, _las_descriptions(), compressed=False)


def _write_laz(path: Path, points: Points, _viewpoint: Viewpoint) -> int:
    return write_las(path, points, _las_descriptions(), compressed=True)


def _las_descriptions() -> dict[str, str]:
    return {
        name: meaning if unit == "1" else f"{meaning}, {unit}"
        for name, (unit, meaning) in FIELDS.items()
    }


WRITERS: dict[CloudFormat, Callable[[Path, Points, Viewpoint], int]] = {
    CloudFormat.pcd: _write_pcd,
    CloudFormat.ply: _write_ply,
    CloudFormat.npy: _write_npy,
    CloudFormat.las: _write_las,
    CloudFormat.laz: _write_laz,
}
