"""Cubes of a radar as files: complex64 in NumPy's own format, range x Doppler x channel."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.output.frame_files import write_npy


@dataclass(frozen=True)
class CubeFile:
    """The cube of one frame."""

    cube: NDArray[np.complex64]
    #: The size of a cell in m and in m/s.
    cells: tuple[float, float]

    @property
    def suffix(self) -> str:
        """What its name ends with."""
        return "cube.npy"

    def write(self, path: Path) -> Mapping[str, object]:
        """Write it to a path and tell what the index should know of it."""
        write_npy(path, self.cube)
        return {
            "kind": "cube",
            "format": "npy",
            "axes": ["range", "doppler", "channel"],
            "shape": list(self.cube.shape),
            "unit": "sqrt(W)",
            "range_cell": self.cells[0],
            "speed_cell": self.cells[1],
        }
