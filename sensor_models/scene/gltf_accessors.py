"""The numbers of a glTF: accessors, checked against the buffers that they read from.

Source: Khronos, glTF 2.0 Specification, sections 3.6.2 and 3.11 (normalized integers).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import MeshFileError

_TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Accessors:
    """The accessors of a file whose buffers are at hand."""

    def __init__(self, tree: Any, buffers: Sequence[bytes]) -> None:
        self._tree, self._buffers = tree, buffers

    def numbers(self, number: int, kind: str) -> NDArray[Any]:
        """The numbers of an accessor as they are stored, (count, width)."""
        accessor = self._tree["accessors"][number]
        if accessor["type"] != kind or accessor["componentType"] not in _TYPES:
            raise MeshFileError(f"has accessors[{number}] of a type that is not {kind}")
        if "sparse" in accessor:
            raise MeshFileError(f"has accessors[{number}] that is sparse, which is not read")
        dtype, width = np.dtype(_TYPES[accessor["componentType"]]), _WIDTHS[kind]
        count = accessor["count"]
        if "bufferView" not in accessor:
            return np.zeros((count, width), dtype)
        view = self._tree["bufferViews"][accessor["bufferView"]]
        buffer = self._buffers[view["buffer"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        stride = view.get("byteStride", dtype.itemsize * width)
        end = start + stride * (count - 1) + dtype.itemsize * width
        limit = view.get("byteOffset", 0) + view["byteLength"]
        if count and not (start >= 0 and stride > 0 and end <= min(limit, len(buffer))):
            raise MeshFileError(f"has accessors[{number}] that ends beyond its buffer")
        shape, strides = (count, width), (stride, dtype.itemsize)
        return np.ndarray(shape, dtype, buffer, start, strides) if count else np.zeros(shape, dtype)

    def floats(self, number: int, kind: str) -> NDArray[np.float64]:
        """The numbers of an accessor; integers stand for shares of their largest one."""
        stored = self.numbers(number, kind)
        values = stored.astype(np.float64)
        if stored.dtype.kind != "f":
            values = np.maximum(values / np.iinfo(stored.dtype).max, -1.0)
        if not np.isfinite(values).all():
            raise MeshFileError(f"has accessors[{number}] with numbers that are not finite")
        return values
