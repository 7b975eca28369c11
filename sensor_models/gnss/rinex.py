"""Observation files in the format RINEX 3.04: the pseudoranges of a receiver.

One observation a satellite, the pseudorange ``C1C`` in m, in epochs of GPS time. The ranges are
those of the model: geometric distance plus the error of the range. There is no way of light to
be told apart from the range, no clock and no atmosphere in it.

A GLONASS satellite has a frequency channel in the header, which the model does not know: 0 stands
for all of them.

Source: RINEX 3.04 (IGS and RTCM-SC104, 2018), tables A2 and A3.
"""

import datetime
from collections.abc import Iterator, Sequence

from sensor_models.gnss.constellation import GLONASS, Satellite

#: GPS time minus UTC since 2017; no leap second has been announced since.
LEAP_SECONDS = 18
GPS_EPOCH = datetime.datetime(1980, 1, 6, tzinfo=datetime.timezone.utc)
WEEK = 604800

Observation = tuple[Satellite, float]


def gps_time(utc: datetime.datetime) -> datetime.datetime:
    """The GPS time of an instant, as calendars write it."""
    return utc + datetime.timedelta(seconds=LEAP_SECONDS)


def time_of_week(utc: datetime.datetime) -> float:
    """The GPS time of week in s of an instant, for the parameter of that name."""
    return (gps_time(utc) - GPS_EPOCH).total_seconds() % WEEK


def epoch(utc: datetime.datetime, observations: Sequence[Observation]) -> str:
    """The pseudoranges of one instant."""
    time = gps_time(utc)
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
        start: UTC of the first epoch.
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
    yield f"{'sensor-fmus':20}{'':20}{start:%Y%m%d %H%M%S} UTC", "PGM / RUN BY / DATE"
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
    time = gps_time(start)
    seconds = time.second + time.microsecond * 1e-6
    fields = (time.year, time.month, time.day, time.hour, time.minute)
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
