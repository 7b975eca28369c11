"""Heights from GeoTIFF: one band of numbers, and where on a map they are.

Values     Heights, in the vertical unit that the file names, else in metres. What the file marks as
           unknown (GDAL_NODATA), and what is not a number, is NaN.
Places     Of the middles of pixels (for ``RasterPixelIsPoint`` of their first corners), in metres
           of the map: x to the east, y to the north. Feet are converted. Maps in degrees, and
           rasters that are turned, are refused.

Pillow unpacks the pixels: 8, 16 and 32 bit integers and 32 bit floats, in strips or tiles, with the
usual compressions and predictors.

Source: OGC 19-008r4, GeoTIFF Standard 1.1, chapters 7 and B; GDAL's GTiff driver for GDAL_NODATA.
"""

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sensor_models.scene.errors import MeshFileError

SUFFIXES = (".tif", ".tiff")

_SCALE, _TIE_POINTS, _MATRIX, _KEYS, _NODATA = 33550, 33922, 34264, 34735, 42113
_MODEL_TYPE, _RASTER_TYPE, _LINEAR_UNIT, _VERTICAL_UNIT = 1024, 1025, 3076, 4099
_GEOGRAPHIC, _IS_POINT = 2, 2
#: Metres of a unit, by its EPSG code: metre, international foot, US survey foot.
_METRES = {9001: 1.0, 9002: 0.3048, 9003: 1200.0 / 3937.0}
#: Of Pillow, for one band.
_MODES = ("L", "I;16", "I;16B", "I", "F")
_PROJECT = "bring it into metres first, for example with gdalwarp -t_srs EPSG:32633"


@dataclass(frozen=True)
class Terrain:
    """Heights, rows from north to south; NaN where they are not known."""

    heights: NDArray[np.float64]  # m
    size: tuple[float, float] | None  # from the first to the last place along x and y, m
    middle: tuple[float, float]  # of the places on the map, m


def read_geotiff(data: bytes, check_pixels: Callable[[int, int], None]) -> Terrain:
    """The terrain of a file; ``check_pixels`` sees its width and height before it is unpacked."""
    with Image.open(io.BytesIO(data), formats=["TIFF"]) as picture:
        check_pixels(*picture.size)
        if picture.mode not in _MODES:
            raise MeshFileError(f"has pixels that are no heights, their mode is {picture.mode}")
        tags: Mapping[int, Any] = dict(picture.tag_v2)  # type: ignore[attr-defined]
        pixels = np.asarray(picture)
    heights = pixels.astype(np.float64)
    heights[~np.isfinite(heights) | (pixels == _unknown(tags, pixels.dtype))] = np.nan
    keys = _keys(tags)
    heights *= _metres(keys, _VERTICAL_UNIT)
    rows, columns = heights.shape
    steps = _steps(tags)
    if steps is None:
        return Terrain(heights, None, (0.0, 0.0))
    if keys.get(_MODEL_TYPE) == _GEOGRAPHIC:
        raise MeshFileError(f"is a map in degrees: {_PROJECT}")
    unit = _metres(keys, _LINEAR_UNIT)
    x, y, east, south = (unit * part for part in steps)
    inward = 0.0 if keys.get(_RASTER_TYPE) == _IS_POINT else 0.5
    middle = (
        x + east * (inward + (columns - 1) / 2.0),
        y - south * (inward + (rows - 1) / 2.0),
    )
    return Terrain(heights, (east * (columns - 1), south * (rows - 1)), middle)


def _unknown(tags: Mapping[int, Any], dtype: np.dtype[Any]) -> Any:
    """The pixel that stands for what is not known; NaN, which none is equal to, without one."""
    text = str(tags.get(_NODATA, "nan")).strip(" \0")
    try:
        number = float(text)
    except ValueError as error:
        raise MeshFileError(f"marks what is not known by {text!r}, which is no number") from error
    with np.errstate(over="ignore"):  # what is not known has the precision of the pixels
        return np.float32(number) if dtype.kind == "f" else number


def _keys(tags: Mapping[int, Any]) -> dict[int, int]:
    """The keys of the map whose values are codes."""
    numbers = [int(number) for number in tags.get(_KEYS, ())]
    entries = [numbers[place : place + 4] for place in range(4, len(numbers) - 3, 4)]
    return {key: value for key, location, count, value in entries if location == 0 and count == 1}


def _metres(keys: Mapping[int, int], key: int) -> float:
    code = keys.get(key, 9001)
    if code not in _METRES:
        known = ", ".join(map(str, _METRES))
        raise MeshFileError(f"has lengths in the unit EPSG:{code}, known are {known}")
    return _METRES[code]


def _steps(tags: Mapping[int, Any]) -> tuple[float, float, float, float] | None:
    """Where the corner of the first pixel is, and steps to the east and the south."""
    if (matrix := tags.get(_MATRIX)) is not None:
        a, b, _, x, d, e, _, y = (float(number) for number in tuple(matrix)[:8])
        if b != 0.0 or d != 0.0:
            raise MeshFileError(f"is turned on its map: {_PROJECT}")
        east, south = a, -e
    elif (scale := tags.get(_SCALE)) is not None:
        points = tuple(float(number) for number in tags.get(_TIE_POINTS, ()))[:6]
        if len(points) < 6:
            raise MeshFileError("has a scale, but no point that ties it to its map")
        east, south = float(scale[0]), float(scale[1])
        x, y = points[3] - points[0] * east, points[4] + points[1] * south
    else:
        return None
    if not all(map(math.isfinite, (x, y, east, south))) or min(east, south) <= 0.0:
        raise MeshFileError(f"has pixels of {east} by {south}, which is no raster with north up")
    return x, y, east, south
