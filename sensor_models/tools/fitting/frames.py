"""Frames from files: pictures (PNG, TIFF, NPY), clouds (PCD, LAS, NPY, CSV, Parquet), and bags.

Clouds become columns by the names of their fields: x, y, z, and range, intensity and ring if there
are any. A bag or an MCAP file holds many frames: ``Image`` and ``PointCloud2``.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.tools.fitting.estimates import FitError, Floats
from sensor_models.tools.fitting.tables import need, open_table

Cloud = Mapping[str, Floats]

BAGS = (".mcap", ".bag", ".db3")
#: Types of numbers in clouds of ROS, by their codes, and of PCL by kind and size.
_ROS_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
_PCD_KINDS = {"F": "f", "I": "i", "U": "u"}
#: Types of pixels in images of ROS.
_ENCODINGS = {"mono8": "u1", "8uc1": "u1", "mono16": "u2", "16uc1": "u2", "32fc1": "f4"}
#: Names that others have for fields, by ours.
_FIELDS = {
    "intensity": ("i", "reflectivity", "reflectance"),
    "ring": ("channel", "laser_id", "line"),
}


def pictures(files: Sequence[Path]) -> Iterator[tuple[str, NDArray[Any]]]:
    """The pictures of files, with names for messages.

    Raises:
        FitError: for a file that holds none of one channel.
    """
    for path in files:
        for name, pixels in _pictures(path):
            if pixels.ndim != 2:
                raise FitError(f"{name}: has the shape {pixels.shape}, one channel is needed")
            yield name, pixels


def _pictures(path: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    if path.suffix in BAGS or path.is_dir():
        yield from _messages(path, "sensor_msgs/msg/Image", _image)
    elif path.suffix == ".npy":
        yield str(path), _array(path)
    elif path.suffix.lower() in (".png", ".tif", ".tiff", ".pgm"):
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(path) as picture:
                yield str(path), np.asarray(picture)
        except (UnidentifiedImageError, OSError) as error:
            raise FitError(f"{path}: is no picture that can be read: {error}") from None
    else:
        raise FitError(f"{path}: a picture is .png, .tiff, .npy, or in a bag")


def _array(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (ValueError, OSError) as error:
        raise FitError(f"{path}: is no array that can be read: {error}") from None


def clouds(files: Sequence[Path]) -> Iterator[tuple[str, Cloud]]:
    """The clouds of files, with names for messages.

    Raises:
        FitError: for a file that holds none.
    """
    for path in files:
        for name, found in _clouds(path):
            cloud = {field.lower(): values for field, values in found.items()}
            for ours, others in _FIELDS.items():
                for other in others:
                    if ours not in cloud and other in cloud:
                        cloud[ours] = cloud[other]
            missing = [axis for axis in "xyz" if axis not in cloud]
            if missing:
                raise FitError(
                    f"{name}: has no field {', '.join(missing)}; there are {', '.join(found)}"
                )
            yield name, cloud


def _clouds(path: Path) -> Iterator[tuple[str, Cloud]]:
    suffix = path.suffix.lower()
    if suffix in BAGS or path.is_dir():
        yield from _messages(path, "sensor_msgs/msg/PointCloud2", _points)
    elif suffix == ".npy":
        records = _array(path)
        if records.dtype.names is None:
            raise FitError(f"{path}: is no array of records with named fields")
        yield str(path), _columns(records.ravel())
    elif suffix == ".pcd":
        yield str(path), _columns(_pcd(path))
    elif suffix in (".las", ".laz"):
        yield str(path), _las(path)
    elif suffix in (".csv", ".parquet"):
        table = open_table(path, {})
        yield str(path), table.load(table.names)
    else:
        raise FitError(f"{path}: a cloud is .pcd, .las, .laz, .npy, .csv, .parquet, or in a bag")


def _columns(records: NDArray[Any]) -> Cloud:
    return {
        name: records[name].astype(np.float64)
        for name in records.dtype.names or ()
        if records.dtype[name].kind in "fiu" and records.dtype[name].shape == ()
    }


def _las(path: Path) -> Cloud:
    import laspy

    try:
        points = laspy.read(path)
    except (laspy.LaspyException, OSError, ValueError) as error:
        raise FitError(f"{path}: is no LAS file that can be read: {error}") from None
    names = {"x", "y", "z", "intensity", *points.point_format.extra_dimension_names}
    return {name: np.asarray(points[name], np.float64) for name in sorted(names)}


def _pcd(path: Path) -> NDArray[Any]:
    """The records of a PCD file, ascii or binary.

    Source: PCL, "The PCD file format".
    """
    data = path.read_bytes()
    head: dict[str, list[str]] = {}
    at = 0
    while "DATA" not in head:
        end = data.find(b"\n", at)
        if end < 0:
            raise FitError(f"{path}: is no PCD file: its head does not end")
        words = data[at:end].decode("ascii", "replace").split()
        if words and not words[0].startswith("#"):
            head[words[0]] = words[1:]
        at = end + 1
    try:
        counts = [int(n) for n in head.get("COUNT", ["1"] * len(head["FIELDS"]))]
        fields = [
            (name, f"<{_PCD_KINDS[kind]}{size}", (count,) if count > 1 else ())
            for name, kind, size, count in zip(
                head["FIELDS"], head["TYPE"], head["SIZE"], counts, strict=True
            )
        ]
        kind = np.dtype(fields)
        if head["DATA"] == ["binary"]:
            return np.frombuffer(data, kind, int(head["POINTS"][0]), at)
        if head["DATA"] == ["ascii"]:
            rows = [tuple(map(float, line.split())) for line in data[at:].decode().splitlines()]
            return np.array(rows, kind)
    except (KeyError, ValueError, TypeError) as error:
        raise FitError(f"{path}: is no PCD file that can be read: {error}") from None
    raise FitError(f"{path}: DATA {' '.join(head['DATA'])} is not read, ascii and binary are")


def _messages(path: Path, kind: str, take: Any) -> Iterator[tuple[str, Any]]:
    need(f"{path}: a bag", "rosbags")
    from sensor_models.tools.fitting.bags import ros_messages

    for number, (_, found, message) in enumerate(ros_messages(path, [kind], "")):
        if found == kind:
            name = f"{path}: message {number}"
            yield name, take(name, message)


def _image(name: str, message: Any) -> NDArray[Any]:
    kind = _ENCODINGS.get(message.encoding.lower())
    if kind is None:
        raise FitError(f"{name}: has the encoding {message.encoding}, one channel is needed")
    order = ">" if message.is_bigendian else "<"
    rows = np.asarray(message.data, np.uint8).reshape(message.height, message.step)
    width = message.width * np.dtype(kind).itemsize
    return np.ascontiguousarray(rows[:, :width]).view(f"{order}{kind}")


def _points(_: str, message: Any) -> Cloud:
    order = ">" if message.is_bigendian else "<"
    kind = np.dtype(
        {
            "names": [field.name for field in message.fields],
            "formats": [f"{order}{_ROS_TYPES[field.datatype]}" for field in message.fields],
            "offsets": [field.offset for field in message.fields],
            "itemsize": message.point_step,
        }
    )
    rows = np.asarray(message.data, np.uint8).reshape(message.height, message.row_step)
    packed = np.ascontiguousarray(rows[:, : message.width * message.point_step])
    return _columns(packed.view(kind).ravel())
