r"""Scan patterns as data: where each ray of a frame points, and when it is fired.

A frame has rows x columns rays, ray = column * rows + row: columns are groups that are fired one
after the other, rows are the beams of a group from top to bottom. A ray's direction is
(cos az cos el, sin az cos el, sin el) in the sensor frame; its offset is its time as a share of
the frame's duration, in [0, 1), with the active share s.

grid      H rows, W columns, i = 0..H-1, j = 0..W-1, from maximum to minimum (GYM, as for the
          camera's spherical grid):
              az_j = az_max - (az_max - az_min) j / (W - 1),  el_i likewise with H
          offset s j / W for the whole column. One row or one column is in the middle. Without
          endpoint, W stands for W - 1 in az_j.
flash     the grid, all at once: offset 0.
spinning  columns like a grid's, or from minimum to maximum (counterclockwise). Beam i has its own
          elevation el_i, azimuth offset a_i and time t_i within the column (``tables``), while
          the head goes on turning by a step d of azimuth in the time h of a column:
              az = az_j + a_i +- d t_i / h,  offset s j / W + t_i / duration
          Where the duration is not known, t_i counts as 0. Rows are sorted by elevation.
raster    line after line, each ray at its own time: offset s (i W + j) / (H W). A line is a column
          of the frame here, and its points are the rows; with serpentine, odd lines run back.
rosette   ``rosette``; another frame has other angles.
file      rays in the order of their times. Without a known duration the file's own span, and one
          mean step more, is the frame.

Ring: the maker's number of the beam where a table gives it, else the row (a raster's line).

Deviation: an azimuth of -pi is given as pi, so that the two columns where a full turn meets are
the same rays to the last bit. GYM fires a whole frame from one pose; offsets are an extension.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import ParameterError
from sensor_models.lidar.pattern_parameters import (
    MOST_ROWS,
    Direction,
    PatternParameters,
    PatternType,
    check_size,
)
from sensor_models.lidar.rosette import Rosette
from sensor_models.lidar.tables import Table, read_beams, read_rays

__all__ = ["Direction", "PatternParameters", "PatternType", "ScanPattern", "make_pattern"]

Floats = NDArray[np.float64]
Angles = tuple[Floats, Floats]  # azimuth, elevation


class ScanPattern:
    """The rays of a lidar's frames.

    ``make_pattern`` makes one of parameters, ``from_arrays`` of angles that one has, and
    ``from_function`` of a function that gives each frame its angles.
    """

    def __init__(
        self,
        rows: int,
        offset: Floats,
        ring: NDArray[np.uint16],
        aim: Callable[[int], Angles],
        repeats: bool,
    ) -> None:
        self.rows = rows
        self.columns = len(offset) // rows
        self.offset = offset
        self.ring = ring
        self.repeats = repeats
        self._aim = aim

    @classmethod
    def from_arrays(
        cls,
        azimuth: ArrayLike,
        elevation: ArrayLike,
        offset: ArrayLike | None = None,
        ring: ArrayLike | None = None,
        rows: int = 1,
    ) -> "ScanPattern":
        """A pattern that repeats; all rays at offset 0 and of the ring of their row by default."""
        angles = _checked_angles(azimuth, elevation)
        offsets, rings = _checked_rays(len(angles[0]), rows, offset, ring)
        return cls(rows, offsets, rings, lambda _: angles, True)

    @classmethod
    def from_function(
        cls,
        aim: Callable[[int], tuple[ArrayLike, ArrayLike]],
        offset: ArrayLike,
        ring: ArrayLike | None = None,
        rows: int = 1,
    ) -> "ScanPattern":
        """A pattern that differs from frame to frame: ``aim(frame)`` is azimuth, elevation."""
        offsets, rings = _checked_rays(np.size(offset), rows, offset, ring)

        def checked_aim(frame: int) -> Angles:
            return _checked_angles(*aim(frame), len(offsets))

        return cls(rows, offsets, rings, checked_aim, False)

    def angles(self, frame: int) -> Angles:
        """Azimuth and elevation of the rays of a frame, rad."""
        return self._aim(frame)

    def directions(self, frame: int) -> Floats:
        """Unit vectors of the rays of a frame in the sensor frame, (rays, 3)."""
        azimuth, elevation = self.angles(frame)
        level = np.cos(elevation)
        directions = np.empty((len(azimuth), 3))
        np.multiply(level, np.cos(azimuth), out=directions[:, 0])
        np.multiply(level, np.sin(azimuth), out=directions[:, 1])
        np.sin(elevation, out=directions[:, 2])
        return directions


def make_pattern(parameters: PatternParameters, duration: float) -> ScanPattern:
    """The pattern of parameters.

    Args:
        parameters: what is asked for
        duration: of a frame, s; 0 if it is not known, with one frame a communication step
    """
    if not (math.isfinite(duration) and duration >= 0.0):
        raise ParameterError(
            f"duration of a frame = {duration} s is out of range, allowed is at least 0 s"
        )
    return _MAKERS[parameters.type](parameters, duration)


def _make_grid(p: PatternParameters, _: float) -> ScanPattern:
    azimuth = np.repeat(_columns(p, Direction.clockwise), p.rows)
    elevation = np.tile(_rows(p), p.columns)
    return ScanPattern.from_arrays(azimuth, elevation, np.repeat(_starts(p), p.rows), rows=p.rows)


def _make_flash(p: PatternParameters, duration: float) -> ScanPattern:
    grid = _make_grid(p, duration)
    return ScanPattern.from_arrays(*grid.angles(0), ring=grid.ring, rows=grid.rows)


def _make_spinning(p: PatternParameters, duration: float) -> ScanPattern:
    elevation, shift, delay, ring = _beams(p)
    check_size(len(elevation), p.columns)
    way = 1.0 if p.direction == Direction.counterclockwise else -1.0
    turned, shares = np.zeros_like(delay), np.zeros_like(delay)
    if duration > 0.0:
        interval = p.active_share * duration / p.columns
        if delay.max() >= interval:
            raise ParameterError(
                f"pattern.beams = {p.beams!r} fires for {delay.max()} s, which must be less than "
                f"the time of a column, {interval} s (of {p.columns} columns in {duration} s)"
            )
        step = (p.azimuth[1] - p.azimuth[0]) / p.last_column
        turned, shares = way * step * delay / interval, delay / duration
    azimuth = _wrapped(_columns(p, p.direction)[:, None] + shift + turned)
    offset = _starts(p)[:, None] + shares
    return ScanPattern.from_arrays(
        azimuth.ravel(),
        np.tile(elevation, p.columns),
        offset.ravel(),
        np.tile(ring, p.columns),
        len(elevation),
    )


def _make_raster(p: PatternParameters, _: float) -> ScanPattern:
    azimuth = np.tile(_columns(p, p.direction), (p.rows, 1))
    if p.serpentine:
        azimuth[1::2] = azimuth[1::2, ::-1]
    elevation = np.repeat(_rows(p), p.columns)
    rays = p.rows * p.columns
    offset = p.active_share * np.arange(rays) / rays
    lines = np.repeat(np.arange(p.rows), p.columns)
    return ScanPattern.from_arrays(azimuth.ravel(), elevation, offset, lines, p.columns)


def _make_rosette(p: PatternParameters, duration: float) -> ScanPattern:
    rosette = Rosette(p, duration)
    offset = np.repeat(_starts(p), p.rows)
    rings = np.tile(np.arange(p.rows), p.columns).astype(np.uint16)
    if rosette.repeats:
        return ScanPattern.from_arrays(*rosette.angles(0), offset, rings, p.rows)
    return ScanPattern(p.rows, offset, rings, rosette.angles, False)


def _make_file(p: PatternParameters, duration: float) -> ScanPattern:
    table = read_rays(p.file)
    check_size(1, len(table))
    order = np.argsort(table.columns["time"], kind="stable")
    offset = _shares(table, order, duration)
    ring = table.columns.get("ring", np.zeros(len(table)))
    azimuth = _wrapped(table.columns["azimuth"])
    elevation = table.columns["elevation"]
    return ScanPattern.from_arrays(azimuth[order], elevation[order], offset[order], ring[order])


def _shares(table: Table, order: NDArray[np.intp], duration: float) -> Floats:
    """Times of a file as shares of the frame."""
    times = table.columns["time"]
    first, last = times[order[0]], times[order[-1]]
    if duration == 0.0:
        if first == last:
            return np.zeros(len(times))
        return np.asarray((times - first) / (last - first) * (1.0 - 1.0 / len(times)))
    if last >= duration:
        raise ParameterError(
            f"{table.place}, {table.rows[order[-1]]}: time = {last} s does not lie within the "
            f"frame, allowed is less than its duration, {duration} s"
        )
    return np.asarray(times / duration)


_MAKERS: dict[PatternType, Callable[[PatternParameters, float], ScanPattern]] = {
    PatternType.grid: _make_grid,
    PatternType.spinning: _make_spinning,
    PatternType.raster: _make_raster,
    PatternType.flash: _make_flash,
    PatternType.rosette: _make_rosette,
    PatternType.file: _make_file,
}


def _columns(p: PatternParameters, direction: Direction) -> Floats:
    """Azimuths in the order of time."""
    low, high = p.azimuth
    if direction == Direction.clockwise:
        return _wrapped(_spread((low, high), p.columns, p.last_column))
    return _wrapped(-_spread((-high, -low), p.columns, p.last_column))


def _rows(p: PatternParameters) -> Floats:
    return _spread(p.elevation, p.rows, max(p.rows - 1, 1))


def _starts(p: PatternParameters) -> Floats:
    """Offsets of the columns."""
    return np.asarray(p.active_share * np.arange(p.columns) / p.columns)


def _spread(limits: tuple[float, float], count: int, last: int) -> Floats:
    low, high = limits
    if count == 1:
        return np.array([(low + high) / 2.0])
    return np.asarray(high - (high - low) * np.arange(count) / last)


def _beams(p: PatternParameters) -> tuple[Floats, Floats, Floats, NDArray[np.uint16]]:
    """Elevation, azimuth, time and ring of a spinning head's beams, from top to bottom."""
    if not p.beams:
        rows = _rows(p)
        none = np.zeros_like(rows)
        return rows, none, none, np.arange(p.rows, dtype=np.uint16)
    table = read_beams(p.beams)
    if len(table) > MOST_ROWS:
        raise ParameterError(f"{table.place}: has {len(table)} beams, allowed are {MOST_ROWS}")
    order = np.argsort(-table.columns["elevation"], kind="stable")
    delay = table.columns.get("time", np.zeros(len(table)))[order]
    ring = table.columns["ring"][order] if "ring" in table.columns else np.arange(len(table))
    elevation, azimuth = (table.columns[name][order] for name in ("elevation", "azimuth"))
    return elevation, azimuth, delay, ring.astype(np.uint16)


def _wrapped(azimuth: Floats) -> Floats:
    """The same azimuths in (-pi, pi], to the bit what they were if they lie there already."""
    return np.asarray(azimuth - math.tau * np.ceil((azimuth - math.pi) / math.tau))


def _checked_angles(azimuth: ArrayLike, elevation: ArrayLike, rays: int | None = None) -> Angles:
    az = np.array(azimuth, dtype=np.float64).ravel()
    el = np.array(elevation, dtype=np.float64).ravel()
    needed = len(az) if rays is None else rays
    if not len(az) == len(el) == needed:
        raise ParameterError(
            f"pattern has {len(az)} azimuths and {len(el)} elevations, needed are {needed} of each"
        )
    for name, values, limit in (("azimuth", az, math.tau), ("elevation", el, math.pi / 2.0)):
        good = np.abs(values) <= limit * (1.0 + 1e-12)  # of roundings; false for NaN
        if not good.all():
            ray = int(np.argmin(good))
            raise ParameterError(
                f"{name} of ray {ray} = {values[ray]} rad is out of range, allowed is "
                f"-{limit:.9g} to {limit:.9g} rad"
            )
    return az, el


def _checked_rays(
    rays: int, rows: int, offset: ArrayLike | None, ring: ArrayLike | None
) -> tuple[Floats, NDArray[np.uint16]]:
    if rows < 1 or rays < 1 or rays % rows:
        raise ParameterError(
            f"pattern of {rays} rays cannot have rows = {rows}, allowed is at least one ray, and "
            "whole columns"
        )
    check_size(rows, rays // rows)
    offsets = np.zeros(rays) if offset is None else np.array(offset, dtype=np.float64).ravel()
    rings = np.tile(np.arange(rows), rays // rows) if ring is None else np.ravel(np.asarray(ring))
    if len(offsets) != rays or len(rings) != rays:
        raise ParameterError(
            f"pattern of {rays} rays has {len(offsets)} offsets and {len(rings)} rings, which "
            "must be as many"
        )
    if not np.all((offsets >= 0.0) & (offsets < 1.0)):
        raise ParameterError("offset of a ray is out of range, allowed is at least 0 and below 1")
    if np.any(np.diff(offsets[::rows]) < 0.0):
        raise ParameterError("offset of a column's first ray is less than the column before's")
    if not np.all((rings >= 0) & (rings <= MOST_ROWS) & (rings == np.floor(rings))):
        raise ParameterError(f"ring of a ray is out of range, allowed is 0 to {MOST_ROWS}")
    return offsets, rings.astype(np.uint16)
