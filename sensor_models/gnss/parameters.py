"""What a GNSS receiver is told, and what it reports.

The names are those of FMI variables. Standard deviations are for each axis: the radius that holds
half of all horizontal errors (CEP, as data sheets give it) is 1.17741 of it, and 95 % lie within
2.44775 of it.
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

HORIZONTAL_VERTICAL = ("horizontal", "vertical")
EAST_NORTH_UP = ("east", "north", "up")

#: Dilution of precision where there is no fix.
NO_DILUTION = 99.99

#: Radius of a circle that holds half of all errors, and 95 % of them, over the standard deviation
#: of each of two axes: √(2 ln 2) and √(2 ln 20).
CEP_OVER_SIGMA = math.sqrt(2.0 * math.log(2.0))
R95_OVER_SIGMA = math.sqrt(2.0 * math.log(20.0))


class ErrorMode(IntEnum):
    """How the error of the position is modelled."""

    off = 0
    fixed = 1
    dop = 2
    pseudorange = 3


class ConstellationChoice(IntEnum):
    """Which satellites there are."""

    gps = 0
    gps_galileo = 1
    all = 2
    file = 3


class Multipath(IntEnum):
    """How satellites that the scene hides are treated."""

    none = 0
    bias = 1
    image = 2


class Solution(IntEnum):
    """How the position is found."""

    single = 0
    sbas = 1
    rtk = 2


@dataclass(frozen=True)
class GnssParameters:
    """A receiver and its errors."""

    error_mode: ErrorMode = choice(
        ErrorMode.fixed,
        "Error of the position: none, of fixed size, a fixed size times dilution of precision, "
        "or from an error of the range to each satellite",
        name="error.mode",
    )
    error_correlated: tuple[float, float] = real(
        (1.2, 2.0),
        "m",
        "Standard deviation of each axis of the part of the position error that lasts (fixed)",
        minimum=0.0,
        components=HORIZONTAL_VERTICAL,
        name="error.correlated",
    )
    error_white: tuple[float, float] = real(
        (0.1, 0.2),
        "m",
        "Standard deviation of each axis of the part of the position error that is new in each "
        "sample (fixed)",
        minimum=0.0,
        components=HORIZONTAL_VERTICAL,
        name="error.white",
    )
    error_time_constant: float = real(
        60.0,
        "s",
        "Correlation time of all errors that last",
        minimum=1e-9,
        name="error.time_constant",
    )
    velocity_white: float = real(
        0.05,
        "m/s",
        "Standard deviation of each axis of the velocity error that is new in each sample",
        minimum=0.0,
        name="velocity.white",
    )
    velocity_correlated: float = real(
        0.0,
        "m/s",
        "Standard deviation of each axis of the velocity error that lasts",
        minimum=0.0,
        name="velocity.correlated",
    )
    range_correlated: float = real(
        1.0,
        "m",
        "Standard deviation of the range error that lasts, of a satellite in the zenith "
        "(dop, pseudorange)",
        minimum=0.0,
        name="range.correlated",
    )
    range_white: float = real(
        0.3,
        "m",
        "Standard deviation of the range error that is new in each sample, of a satellite in the "
        "zenith (dop, pseudorange)",
        minimum=0.0,
        name="range.white",
    )
    constellation: ConstellationChoice = choice(
        ConstellationChoice.gps,
        "Satellites: regular patterns of GPS, of GPS and Galileo, of both with GLONASS, or those "
        "of almanac_file",
    )
    almanac_file: str = string("", "Path of an almanac in YUMA format, for constellation = file")
    time_of_week: float = real(
        0.0,
        "s",
        "GPS time of week at the start, which places the satellites; 0 is that of utc_start, if "
        "utc_start is set or an almanac is read",
        minimum=0.0,
        maximum=604800.0,
    )
    utc_start: str = string("2026-01-01T00:00:00Z", "UTC at the start, as in ISO 8601")
    elevation_mask: float = real(
        math.radians(5.0),
        "rad",
        "Satellites lower than this over the horizon are not used",
        minimum=0.0,
        maximum=math.radians(89.999),
    )
    sky_visibility: bool = boolean(True, "Whether the scene hides satellites")
    multipath: Multipath = choice(
        Multipath.none,
        "Satellites that the scene hides: not used; used at times with a random detour; used with "
        "the detour by a plane surface that mirrors them (bias, image: error.mode pseudorange)",
    )
    nlos_probability: float = real(
        0.5,
        "1",
        "Share of hidden satellites that are used (bias)",
        minimum=0.0,
        maximum=1.0,
        name="nlos.probability",
    )
    nlos_mean: float = real(
        10.0, "m", "Mean detour of hidden satellites (bias)", minimum=0.0, name="nlos.mean"
    )
    solution: Solution = choice(
        Solution.single, "Position from one receiver, with satellite corrections, or by RTK"
    )
    rtk_convergence_time: float = real(
        10.0,
        "s",
        "Time with enough satellites until an RTK solution is fixed; before, errors are 20 times "
        "as large",
        minimum=0.0,
        name="rtk.convergence_time",
    )
    rtk_minimum_satellites: int = integer(
        5, "Satellites that a fixed RTK solution needs", minimum=1, name="rtk.minimum_satellites"
    )
    dropout_interval: float = real(
        0.0,
        "s",
        "Mean time from one loss of all signals to the next, at random; 0 for none",
        minimum=0.0,
        name="dropout.interval",
    )
    dropout_duration: float = real(
        2.0,
        "s",
        "Mean length of a loss of all signals",
        minimum=1e-9,
        name="dropout.duration",
    )
    latency: float = real(
        0.0, "s", "Time from the instant of a fix until it is on the outputs", minimum=0.0
    )
    nmea_on: bool = boolean(False, "Whether NMEA sentences are made", name="nmea.on")
    rinex_on: bool = boolean(
        False, "Whether pseudoranges are given as epochs of a RINEX file", name="rinex.on"
    )
    record_pseudoranges: bool = boolean(
        False, "Whether a record has the pseudorange of each satellite, NaN for one not in use"
    )
    geoid_undulation: float = real(
        0.0,
        "m",
        "Height of the geoid over the ellipsoid, for the NMEA height over the geoid",
        minimum=-150.0,
        maximum=150.0,
    )

    def __post_init__(self) -> None:
        check(self)
        if self.multipath != Multipath.none and self.error_mode != ErrorMode.pseudorange:
            raise ParameterError(
                f"multipath = {self.multipath.name} while error.mode is {self.error_mode.name}, "
                "allowed is none, or error.mode = pseudorange"
            )
        if (self.constellation == ConstellationChoice.file) != bool(self.almanac_file):
            raise ParameterError(
                f"constellation = {self.constellation.name} with almanac_file = "
                f"{self.almanac_file!r}, allowed is file with a path, or another one without"
            )


@dataclass(frozen=True, slots=True)
class GnssReading:
    """What a receiver reports of one instant."""

    latitude: float = real(0.0, "rad", "Geodetic latitude of the antenna, north positive")
    longitude: float = real(0.0, "rad", "Longitude of the antenna, east positive")
    height: float = real(0.0, "m", "Height of the antenna over the WGS 84 ellipsoid")
    velocity: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m/s",
        "Velocity of the antenna along east, north and up at the antenna",
        components=EAST_NORTH_UP,
    )
    fix: int = integer(0, "Kind of the fix: 0 none, 2 without height, 3 full")
    carrier_solution: int = integer(0, "State of an RTK solution: 0 none, 1 float, 2 fixed")
    satellites: int = integer(0, "Number of satellites used")
    dop_geometric: float = real(
        NO_DILUTION, "1", "Dilution of precision of position and time", name="dop.geometric"
    )
    dop_position: float = real(
        NO_DILUTION, "1", "Dilution of precision of the position", name="dop.position"
    )
    dop_horizontal: float = real(
        NO_DILUTION, "1", "Dilution of precision in the plane", name="dop.horizontal"
    )
    dop_vertical: float = real(
        NO_DILUTION, "1", "Dilution of precision of the height", name="dop.vertical"
    )
    dop_time: float = real(NO_DILUTION, "1", "Dilution of precision of the time", name="dop.time")
    accuracy: tuple[float, float] = real(
        (0.0, 0.0),
        "m",
        "Standard deviation of the position error that the model used, of each axis",
        components=HORIZONTAL_VERTICAL,
    )
    nmea_sentences: str = string(
        "", "NMEA sentences GGA, RMC and GSA of the fix, if nmea.on", name="nmea.sentences"
    )
    rinex_epoch: str = string(
        "",
        "Pseudoranges of the satellites in use as an epoch of a RINEX file, if rinex.on; that of "
        "the first sample begins with the header of the file",
        name="rinex.epoch",
    )
