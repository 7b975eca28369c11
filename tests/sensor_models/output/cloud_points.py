"""Clouds of known content for tests of pictures and files."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.output.clouds import CloudFile, CloudFormat, Viewpoint
from sensor_models.output.points import POINT


def cloud(
    azimuth: ArrayLike,
    elevation: ArrayLike,
    distance: ArrayLike,
    ring: ArrayLike | None = None,
    **fields: ArrayLike,
) -> NDArray[Any]:
    """Points at these angles in degrees and ranges in m; by default a ring for each elevation."""
    angles = np.broadcast_arrays(azimuth, elevation, distance)
    az, el = np.radians(angles[0].ravel()), np.radians(angles[1].ravel())
    reach = angles[2].ravel()
    points = np.zeros(az.size, POINT)
    points["azimuth"], points["elevation"], points["range"] = az, el, reach
    points["x"] = reach * np.cos(el) * np.cos(az)
    points["y"] = reach * np.cos(el) * np.sin(az)
    points["z"] = reach * np.sin(el)
    points["ring"] = np.unique(-el, return_inverse=True)[1] if ring is None else ring
    points["return_number"] = points["return_count"] = 1
    points["intensity"] = 0.1
    for name, values in fields.items():
        points[name] = values
    return points


def sweep(
    step: float = 10.0, rows: tuple[float, ...] = (20.0, 10.0, 0.0, -10.0)
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Azimuth and elevation of a grid of rays all around, in degrees."""
    azimuth = np.arange(-180.0 + step / 2.0, 180.0, step)
    return np.repeat(azimuth, len(rows)), np.tile(rows, len(azimuth))


def written(folder: Path, output_format: CloudFormat, points: NDArray[Any]) -> Path:
    """A file of these points."""
    path = folder / f"frame.{output_format.name}"
    CloudFile(points, output_format, Viewpoint()).write(path)
    return path
