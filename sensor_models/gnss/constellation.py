r"""The satellites there are: regular patterns, and almanacs in YUMA format.

A Walker pattern T/P/F of circular orbits has T satellites in P planes; satellite j of plane k has
the number k T / P + j, its node at Ω0 + 2 π k / P and its place along the orbit at
2 π j P / T + 2 π F k / T at the beginning of the week.

Real GPS slots are no such pattern; F = 1 is chosen because with F = 0, 2 and 4 satellites of
different planes meet. For the sky of a real day, take the almanac of that day.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import ParameterError
from sensor_models.gnss.parameters import ConstellationChoice
from sensor_models.kernels.gnss import orbits as at
from sensor_models.kernels.gnss.layout import MOST_SATELLITES
from sensor_models.kernels.gnss.orbits import satellite_positions

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class System:
    """A satellite system, and how file formats name its satellites."""

    name: str
    letter: str  # of RINEX
    nmea_system: int
    nmea_first: int  # NMEA number of its satellite 1


GPS = System("gps", "G", 1, 1)
GALILEO = System("galileo", "E", 3, 1)
GLONASS = System("glonass", "R", 2, 65)

#: By the number of a system in the table of orbits.
SYSTEMS = (GPS, GALILEO, GLONASS)
#: The number of a satellite, which keys its draws, is this times its system's plus its own.
NUMBERS_A_SYSTEM = 1000


@dataclass(frozen=True)
class Walker:
    """A Walker pattern of circular orbits."""

    system: int
    satellites: int  # T
    planes: int  # P
    phasing: int  # F
    inclination_deg: float
    radius: float  # m

    def orbits(self) -> Floats:
        """The table of its orbits, a row each."""
        table = np.zeros((self.satellites, at.ORBIT_SIZE))
        slots = self.satellites // self.planes
        for row in range(self.satellites):
            plane, slot = divmod(row, slots)
            steps = slot * self.planes + self.phasing * plane
            table[row, at.NUMBER] = NUMBERS_A_SYSTEM * self.system + row
            table[row, at.NODE] = math.tau * plane / self.planes
            table[row, at.ANOMALY] = math.tau * steps / self.satellites
        table[:, at.SYSTEM] = self.system
        table[:, at.AXIS] = self.radius
        table[:, at.INCLINATION] = math.radians(self.inclination_deg)
        table[:, at.MEAN_MOTION] = math.sqrt(at.GRAVITATION / self.radius**3)
        return table


WALKERS = (
    Walker(0, 24, 6, 1, 55.0, 26_560_000.0),
    Walker(1, 24, 3, 1, 56.0, 29_600_000.0),
    Walker(2, 24, 3, 1, 64.8, 25_508_000.0),
)
_WALKERS_OF = {
    ConstellationChoice.gps: WALKERS[:1],
    ConstellationChoice.gps_galileo: WALKERS[:2],
    ConstellationChoice.all: WALKERS,
}


@dataclass(frozen=True)
class Satellite:
    """One satellite: its system, and its number in that system, counted from 1."""

    system: System
    number: int

    @property
    def name(self) -> str:
        """Its name in RINEX, such as G07."""
        return f"{self.system.letter}{self.number:02d}"

    @property
    def nmea(self) -> int:
        """Its number in NMEA sentences."""
        return self.system.nmea_first + self.number - 1


@dataclass(frozen=True)
class Constellation:
    """Satellites with their orbits, as kernels take them."""

    orbits: Floats
    satellites: tuple[Satellite, ...]

    def positions(self, time_of_week: float) -> Floats:
        """Where the satellites are, (n, 3), Earth-fixed, at a GPS time of week in s."""
        places = np.empty((len(self.orbits), 3))
        satellite_positions(self.orbits, time_of_week, places)
        return places


def walker_constellation(chosen: ConstellationChoice) -> Constellation:
    """A regular constellation."""
    orbits = np.concatenate([walker.orbits() for walker in _WALKERS_OF[chosen]])
    satellites = [
        Satellite(SYSTEMS[walker.system], row + 1)
        for walker in _WALKERS_OF[chosen]
        for row in range(walker.satellites)
    ]
    return Constellation(orbits, tuple(satellites))


#: What begins a line of a YUMA file, in lower case, and the column that its value belongs to.
_YUMA_LINES = {
    "eccentricity": at.ECCENTRICITY,
    "time of applicability": at.REFERENCE,
    "orbital inclination": at.INCLINATION,
    "rate of right ascen": at.NODE_RATE,
    "sqrt(a)": at.AXIS,
    "right ascen at week": at.NODE,
    "argument of perigee": at.PERIGEE,
    "mean anom": at.ANOMALY,
}


def read_yuma(path: Path) -> Constellation:
    """The healthy satellites of an almanac in YUMA format; the rate of the node is in rad/s.

    Raises:
        ParameterError: if the file cannot be read as one; the message names file and line.
    """
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError as error:
        raise ParameterError(f"almanac file {path}: {error.strerror or error}") from error
    rows: list[Floats] = []
    satellites: list[Satellite] = []
    for number, block in _yuma_blocks(lines):
        row, prn, healthy = _yuma_row(path, number, block)
        if healthy:
            rows.append(row)
            satellites.append(Satellite(GPS, prn))
    if not 1 <= len(rows) <= MOST_SATELLITES:
        raise ParameterError(
            f"almanac file {path} has {len(rows)} healthy satellites, allowed are 1 to "
            f"{MOST_SATELLITES}"
        )
    if len(set(satellites)) < len(satellites):
        raise ParameterError(f"almanac file {path} has two entries for one satellite")
    return Constellation(np.array(rows), tuple(satellites))


def _yuma_blocks(lines: list[str]) -> list[tuple[int, list[str]]]:
    """The entries of a file: the number of the first line, and the lines from ``ID`` on."""
    starts = [n for n, line in enumerate(lines) if line.strip().lower().startswith("id:")]
    return [(start + 1, lines[start:end]) for start, end in pairwise([*starts, len(lines)])]


def _yuma_row(path: Path, first: int, block: list[str]) -> tuple[Floats, int, bool]:
    """The orbit of one entry, its number, and whether it is healthy."""
    values: dict[str, float] = {}
    for offset, line in enumerate(block):
        name, colon, text = line.partition(":")
        if not colon:
            continue
        try:
            values[name.strip().lower()] = float(text)
        except ValueError:
            where = f"almanac file {path}, line {first + offset}"
            raise ParameterError(f"{where}: {text.strip()!r} is not a number") from None
    row = np.zeros(at.ORBIT_SIZE)
    for start, column in _YUMA_LINES.items():
        row[column] = _value(path, first, values, start)
    number, health = (_value(path, first, values, name) for name in ("id", "health"))
    row[at.NUMBER], row[at.FOLDED], row[at.AXIS] = number, 1.0, row[at.AXIS] ** 2
    if not (number >= 1 and row[at.AXIS] > 1e7 and 0 <= row[at.ECCENTRICITY] < 0.3):
        raise ParameterError(
            f"almanac file {path}, entry of line {first}: id {number:g}, square of SQRT(A) "
            f"{row[at.AXIS]:g} m, eccentricity {row[at.ECCENTRICITY]:g}; allowed is an id from 1, "
            "an orbit above 1e7 m and an eccentricity from 0 to 0.3"
        )
    row[at.MEAN_MOTION] = math.sqrt(at.GRAVITATION / row[at.AXIS] ** 3)
    return row, int(number), health == 0.0


def _value(path: Path, first: int, values: dict[str, float], start: str) -> float:
    """The value of the line that begins with some words."""
    for name, value in values.items():
        if name.startswith(start) and math.isfinite(value):
            return value
    raise ParameterError(f"almanac file {path}, entry of line {first}: {start!r} is missing")
