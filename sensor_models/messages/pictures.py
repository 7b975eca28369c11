"""Pictures among the files of a frame, in the form that messages need.

A file is a picture if it has ``numbers`` (rows, columns, channels), the ``largest`` of them and
the ``mosaic`` of its colours (``none``, ``rggb``, ...), or if it is a depth image, which messages
have in m.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.output.images import ImageFile


class Picture(NamedTuple):
    """Pixels, rows from the top down; (rows, columns), or with three channels."""

    kind: str
    pixels: NDArray[Any]  # uint8, uint16 or float32
    largest: float  # the largest number, if they are whole
    mosaic: str = "none"

    @property
    def channels(self) -> int:
        """1 or 3."""
        return 1 if self.pixels.ndim == 2 else self.pixels.shape[2]

    def of_8_bit(self) -> NDArray[np.uint8]:
        """The picture with 8 bits, for viewers."""
        if self.pixels.dtype == np.uint8:
            return self.pixels
        scaled: NDArray[np.uint8] = np.round(self.pixels * (255.0 / self.largest)).astype(np.uint8)
        return scaled


def picture_of(file: Any) -> Picture | None:
    """The picture that a file of a frame shows, if it is one."""
    if isinstance(file, ImageFile):
        if file.kind not in ("depth", "range"):
            return None
        distances = file.array if file.metres is None else file.metres
        return Picture(file.kind, np.ascontiguousarray(distances, "<f4"), 1.0)
    numbers = getattr(file, "numbers", None)
    if numbers is None:
        return None
    pixels = numbers[..., 0] if numbers.ndim == 3 and numbers.shape[2] == 1 else numbers
    pixels = np.ascontiguousarray(pixels, np.uint8 if file.largest <= 255 else "<u2")
    return Picture(file.kind, pixels, file.largest, file.mosaic)
