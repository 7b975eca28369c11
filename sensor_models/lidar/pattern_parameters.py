"""Parameters of scan patterns; ``patterns`` has their equations.

Which of them count depends on the type: limits and steps for patterns that are regular in azimuth
and elevation, ``prism`` and ``mirror`` for a rosette, ``file`` for a pattern that is a file.
"""

import math
from dataclasses import dataclass
from enum import IntEnum

from sensor_models.core.quantities import (
    ParameterError,
    boolean,
    check,
    choice,
    integer,
    real,
    string,
)

MOST_RAYS = 4_000_000  # of one frame; their directions take 24 bytes each
MOST_ROWS = 65535  # rings are counted in 16 bits

#: Angles may spill over by the roundings of their conversion from degrees.
_ROUNDING = 1e-9


class PatternType(IntEnum):
    """How rays follow one another."""

    grid = 0
    spinning = 1
    raster = 2
    flash = 3
    rosette = 4
    file = 5


class Direction(IntEnum):
    """Which way azimuth runs in time, seen from above."""

    clockwise = 0
    counterclockwise = 1


@dataclass(frozen=True)
class PatternParameters:
    """Where the rays of a frame point, and when."""

    type: PatternType = choice(
        PatternType.grid,
        "Scan pattern: a grid column by column; spinning beams; line after line; all rays at "
        "once; behind rotating prisms; from a file",
        name="pattern.type",
    )
    rows: int = integer(
        128,
        "Rows from top to bottom: beams of a grid, of a spinning head without a beam table and "
        "of a rosette, or lines of a raster",
        minimum=1,
        maximum=MOST_ROWS,
        name="pattern.rows",
    )
    columns: int = integer(
        512,
        "Columns of a frame: groups that are fired one after the other, or points of a raster's "
        "line",
        minimum=1,
        maximum=MOST_RAYS,
        name="pattern.columns",
    )
    elevation: tuple[float, float] = real(
        (-math.pi / 4.0, math.pi / 4.0),
        "rad",
        "Limits of elevation, positive upward; the first row is at the maximum",
        components=("min", "max"),
        name="pattern.elevation",
        minimum=-math.pi / 2.0,
        maximum=math.pi / 2.0,
    )
    azimuth: tuple[float, float] = real(
        (-math.pi, math.pi),
        "rad",
        "Limits of azimuth, positive to the left; clockwise, the first column is at the maximum",
        components=("min", "max"),
        name="pattern.azimuth",
        minimum=-math.tau,
        maximum=math.tau,
    )
    endpoint: bool = boolean(
        True,
        "The last column is at the other limit; false leaves that out, so that the columns of a "
        "full turn are all different",
        name="pattern.endpoint",
    )
    direction: Direction = choice(
        Direction.clockwise,
        "Way that azimuth runs, seen from above, of spinning beams and of a raster's first line",
        name="pattern.direction",
    )
    active_share: float = real(
        1.0,
        "1",
        "Share of a frame's duration in which the rays are fired; the rest is a pause at its end",
        minimum=1e-6,
        maximum=1.0,
        name="pattern.active_share",
    )
    serpentine: bool = boolean(
        False, "Every other line of a raster runs back", name="pattern.serpentine"
    )
    beams: str = string(
        "",
        "Beams of a spinning head: name of a table that comes with the library, or a CSV file "
        "with columns elevation, azimuth and, where known, time and ring (rad, s), whose rows "
        'replace pattern.rows; "" spreads rows evenly',
        name="pattern.beams",
    )
    file: str = string(
        "",
        "CSV file with the columns time, azimuth, elevation and, where known, ring (s, rad)",
        name="pattern.file",
    )
    prism_index: float = real(
        1.51,
        "1",
        "Refractive index of a rosette's prisms",
        minimum=1.0,
        maximum=4.0,
        name="pattern.prism.index",
    )
    prism_wedge: tuple[float, float] = real(
        (math.radians(18.0), math.radians(18.0)),
        "rad",
        "Wedge angles of a rosette's prisms",
        components=("first", "second"),
        minimum=0.0,
        maximum=math.pi / 3.0,
        name="pattern.prism.wedge",
    )
    prism_speed: tuple[float, float] = real(
        (7294.0 * math.tau / 60.0, -4664.0 * math.tau / 60.0),
        "rad/s",
        "Speeds of a rosette's prisms about their axis, positive counterclockwise seen against "
        "the light",
        components=("first", "second"),
        name="pattern.prism.speed",
    )
    prism_phase: tuple[float, float] = real(
        (0.0, 0.0),
        "rad",
        "Where the thick ends of a rosette's prisms are at the start of frame 0: 0 is to the left "
        "(forward with a mirror), pi / 2 up (to the left with a mirror)",
        components=("first", "second"),
        name="pattern.prism.phase",
    )
    prism_spread: float = real(
        0.0,
        "rad",
        "Angle between the outermost of a rosette's beams before the prisms, which lie in a fan "
        "from up to down (left to right with a mirror; a negative angle turns that around)",
        minimum=-math.pi / 3.0,
        maximum=math.pi / 3.0,
        name="pattern.prism.spread",
    )
    mirror_tilt: float = real(
        0.0,
        "rad",
        "Angle between the normal of a rotating mirror above the prisms and their axis, which "
        "then points up; 0 for no mirror, and an axis that points forward",
        minimum=0.0,
        maximum=math.pi / 2.0,
        name="pattern.mirror.tilt",
    )
    mirror_speed: float = real(
        0.0,
        "rad/s",
        "Speed of the mirror about the axis, positive counterclockwise seen from above",
        name="pattern.mirror.speed",
    )
    mirror_phase: float = real(
        0.0,
        "rad",
        "Azimuth to which the mirror throws the axis at the start of frame 0",
        name="pattern.mirror.phase",
    )

    def __post_init__(self) -> None:
        check(self)
        _check_order("elevation", self.elevation, self.rows)
        _check_order("azimuth", self.azimuth, self.columns)
        span = self.azimuth[1] - self.azimuth[0]
        if span > math.tau * (1.0 + _ROUNDING):
            raise ParameterError(
                f"pattern.azimuth spans {span} rad, allowed is at most a turn, 2 pi rad"
            )
        check_size(self.rows, self.columns)
        if self.type == PatternType.file and not self.file:
            raise ParameterError(
                "pattern.file = '' names no file, allowed is a CSV file where pattern.type is file"
            )

    @property
    def last_column(self) -> int:
        """Steps of azimuth from one limit to the other."""
        return self.columns - 1 if self.endpoint and self.columns > 1 else self.columns


def check_size(rows: int, columns: int) -> None:
    """Refuse patterns that would not fit into memory."""
    if rows * columns > MOST_RAYS:
        raise ParameterError(
            f"pattern.rows x pattern.columns = {rows} x {columns} is out of range, allowed is at "
            f"most {MOST_RAYS} rays"
        )


def _check_order(name: str, limits: tuple[float, float], count: int) -> None:
    low, high = limits
    if low > high or (low == high and count > 1):
        needed = "less than" if count > 1 else "at most"
        raise ParameterError(
            f"pattern.{name}.min = {low} rad must be {needed} pattern.{name}.max = {high} rad"
        )
