"""Observation files in the format RINEX 3.04: the pseudoranges of a receiver.

One observation a satellite, the pseudorange ``C1C`` in m, in epochs of GPS time. The ranges are
those of the model: geometric distance plus the error of the range. There is no way of light to
be told apart from the range, no clock and no atmosphere in it.

A GLONASS satellite has a frequency channel in the header, which the model does not know: 0 stands
for all of them.

Source: RINEX 3.04 (IGS and RTCM-SC104, 2018), tables A2 and A3.
"""

import bisect
import datetime
from collections.abc import Iterator, Sequence

from sensor_models.gnss.constellation import GLONASS, Satellite

#: The days (UTC) from which on GPS time has been one second more ahead of UTC, from 0 in 1980 to 18
#: since 2017; no further leap second has been announced (IERS, Bulletin C).
LEAPS = (
    *("1981-07-01", "1982-07-01", "1983-07-01", "1985-07-01", "1988-01-01", "1990-01-01"),
    *("1991-01-01", "1992-07-01", "1993-07-01", "1994-07-01", "1996-01-01", "1997-07-01"),
    *("1999-01-01", "2006-01-01", "2009-01-01", "2012-07-01", "2015-07-01", "2017-01-01"),
)
_LEAPS = [datetime.datetime.fromisoformat(f"{day}T00:00:00+00:00") for day in LEAPS]
_SECOND = datetime.timedelta(seconds=1)
GPS_EPOCH = datetime.datetime(1980, 1, 6, tzinfo=datetime.timezone.utc)
WEEK = 604800

Observation = tuple[Satellite, float]


def gps_time(utc: datetime.datetime) -> datetime.datetime:
    """The GPS time of an instant, as calendars write it."""
    return utc + leap_seconds(utc) * _SECOND


def leap_seconds(utc: datetime.datetime) -> int:
    """GPS time minus UTC at an instant."""
    return bisect.bisect_right(_LEAPS, utc)


def utc_time(gps: datetime.datetime) -> datetime.datetime:
    """The UTC of an instant of GPS time; a leap second has the time of the second before it."""
    begun = [day + ahead * _SECOND for ahead, day in enumerate(_LEAPS)]  # of each leap second
    return gps - bisect.bisect_right(begun, gps) * _SECOND


def time_of_week(utc: datetime.datetime) -> float:
    """The GPS time of week in s of an instant, for the parameter of that name."""
    return (gps_time(utc) - GPS_EPOCH).total_seconds() % WEEK


def epoch(time: datetime.datetime, observations: Sequence[Observation]) -> str:
    """The pseudoranges of one instant of GPS time."""
    seconds = time.second + time.microsecond * 1e-6
    lines = [f"> {time:%Y %m %d %H %M}{seconds:11.7f}  0{len(observations):3d}"]
    lines += [f"{satellite.name}{distance:14.3f}  " for satellite, distance in observations]
    return "".join(f"{line}\n" for line in lines)


def header(
    satellites: Sequence[Satellite],
    start: datetime.datetime,
    position: Sequence[float],
    interval: float = 0.0,
) -> str:
    """What stands before the epochs of a file.

    Args:
        satellites: all that may be observed.
        start: GPS time of the first epoch.
        position: about where the antenna is, Earth-fixed, m.
        interval: time from one epoch to the next in s, 0 if it varies.
    """
    lines = _header(satellites, start, position, interval)
    return "".join(f"{content:<60}{label:<20}\n" for content, label in lines)


def _header(
    satellites: Sequence[Satellite],
    start: datetime.datetime,
    position: Sequence[float],
    interval: float,
) -> Iterator[tuple[str, str]]:
    """The lines of a header: content and label."""
    letters = sorted({satellite.system.letter for satellite in satellites})
    kind = letters[0] if len(letters) == 1 else "M"
    yield f"{3.04:9.2f}{'':11}{'OBSERVATION DATA':20}{kind}", "RINEX VERSION / TYPE"
    yield f"{'sensor-fmus':20}{'':20}{utc_time(start):%Y%m%d %H%M%S} UTC", "PGM / RUN BY / DATE"
    yield "simulated", "MARKER NAME"
    yield "", "OBSERVER / AGENCY"
    yield f"{'0':20}{'simulated':20}{'0':20}", "REC # / TYPE / VERS"
    yield f"{'0':20}{'simulated':20}", "ANT # / TYPE"
    yield "".join(f"{part:14.4f}" for part in position), "APPROX POSITION XYZ"
    yield f"{0.0:14.4f}" * 3, "ANTENNA: DELTA H/E/N"
    for letter in letters:
        yield f"{letter}  {1:3d} C1C", "SYS / # / OBS TYPES"
    if interval > 0.0:
        yield f"{interval:10.3f}", "INTERVAL"
    seconds = start.second + start.microsecond * 1e-6
    fields = (start.year, start.month, start.day, start.hour, start.minute)
    stamp = "".join(f"{field:6d}" for field in fields)
    yield f"{stamp}{seconds:13.7f}     GPS", "TIME OF FIRST OBS"
    yield from _glonass_slots(satellites)
    yield "", "END OF HEADER"


def _glonass_slots(satellites: Sequence[Satellite]) -> Iterator[tuple[str, str]]:
    """The frequency channels of GLONASS, eight satellites a line, and its code biases."""
    names = [satellite.name for satellite in satellites if satellite.system == GLONASS]
    for first in range(0, len(names), 8):
        count = f"{len(names):3d} " if first == 0 else " " * 4
        slots = "".join(f"{name} {0:2d} " for name in names[first : first + 8])
        yield count + slots, "GLONASS SLOT / FRQ #"
    if names:
        yield f" C1C {0.0:8.3f}", "GLONASS COD/PHS/BIS"
