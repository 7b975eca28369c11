"""Files of optical flow.

npy    float32, (rows, columns, 2): to the right and down, in pixels
flo    Middlebury: float32 202021.25, width and height as int32, then pairs of float32 row by row
kitti  PNG of three channels of 16 bit: floor(64 F + 2^15 + 1/2) for both parts, then 1 where the
       flow is valid; F up to 511.98 pixels, beyond that the pixel is not valid

Sources: the description of Middlebury's .flo; KITTI's development kit for flow.
"""

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.output.images import png_of_16_bit_colors

MAGIC = np.float32(202021.25)
KITTI_STEPS, KITTI_ZERO, KITTI_LARGEST = 64.0, 2**15, 65535


class FlowFormat(IntEnum):
    """Kinds of files of flow besides npy."""

    npy = 0
    flo = 1
    kitti = 2


def flo_bytes(flow: NDArray[np.float32]) -> bytes:
    """A file of Middlebury's."""
    rows, columns, _ = flow.shape
    size = np.array([columns, rows], "<i4").tobytes()
    magic: bytes = MAGIC.astype("<f4").tobytes()
    return magic + size + np.ascontiguousarray(flow, "<f4").tobytes()


def kitti_numbers(flow: NDArray[np.float32], mask: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """The numbers of KITTI's pictures, (rows, columns, 3)."""
    stored = np.floor(KITTI_STEPS * flow.astype(np.float64) + KITTI_ZERO + 0.5)
    valid = (mask == 0) & (stored >= 0).all(axis=2) & (stored <= KITTI_LARGEST).all(axis=2)
    numbers = np.zeros((*flow.shape[:2], 3), np.uint16)
    numbers[valid, :2] = stored[valid]
    numbers[..., 2] = valid
    return numbers


@dataclass(frozen=True)
class FlowFile:
    """The flow of a frame in one of these formats."""

    kind: str
    flow: NDArray[np.float32]
    mask: NDArray[np.uint8]
    format: FlowFormat

    @property
    def suffix(self) -> str:
        """What its name ends with."""
        return f"{self.kind}.{'png' if self.format == FlowFormat.kitti else self.format.name}"

    def write(self, path: Path) -> dict[str, object]:
        """Write it to a path and tell what the index should know of it."""
        if self.format == FlowFormat.flo:
            path.write_bytes(flo_bytes(self.flow))
        else:
            path.write_bytes(png_of_16_bit_colors(kitti_numbers(self.flow, self.mask)))
        return {"kind": self.kind, "format": self.format, "unit": "px"}
