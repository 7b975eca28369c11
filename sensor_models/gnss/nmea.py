r"""Sentences in the format NMEA 0183: GGA, RMC and GSA of one fix.

A sentence is ``$`` talker, name and fields, ``*`` and the exclusive or of the characters between
as two hexadecimal digits, and ends with a carriage return and a line feed. The talker is GP with
satellites of GPS alone, and GN with several systems; GN has one GSA for each system, with the
number of the system as its last field (NMEA 4.10), as numbers of satellites repeat between systems.

Angles are ddmm.mmmmm; minutes that would round to 60 carry. The height is that over the geoid.
Without a fix, position, speed and course are empty. Below 0.1 m/s the course is empty. What a
fault makes of a signal is brought to what a field can hold: latitudes to a pole, longitudes by
full turns, heights and speeds to 999 999.

    GGA quality      0 none, 1 single, 2 with satellite corrections, 4 RTK fixed, 5 RTK float
    RMC status       A valid, V not; and the mode N, A, D, R, F in the same order
    GSA mode         1 none, 2 2D, 3 3D; at most 12 satellites a sentence, the rest is left out

Source: NMEA 0183 as in u-blox UBX-18010854. The limit on the course is our choice.
"""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

from sensor_models.gnss.constellation import GPS, Satellite
from sensor_models.gnss.parameters import GnssReading, Solution

KNOTS = 3600.0 / 1852.0  # of 1 m/s
#: Slower than this a course means nothing, m/s.
SLOWEST_COURSE = 0.1
SATELLITES_A_SENTENCE = 12
#: Of a height in m and a speed in knots.
LARGEST = 999_999.0

_MODES = {0: "N", 1: "A", 2: "D", 4: "R", 5: "F"}  # by quality


@dataclass(frozen=True)
class NmeaFix:
    """What sentences are made of: a reading, its time, and what the reading does not hold."""

    reading: GnssReading
    utc: datetime.datetime
    satellites: Sequence[Satellite]  # in use
    talker: str = "GP"
    solution: Solution = Solution.single
    geoid_undulation: float = 0.0

    @property
    def quality(self) -> int:
        """The quality of the fix as in GGA."""
        if self.reading.fix == 0:
            return 0
        if self.solution == Solution.sbas:
            return 2
        return {0: 1, 1: 5, 2: 4}[self.reading.carrier_solution]

    @property
    def rounded_utc(self) -> datetime.datetime:
        """The time to hundredths of a second, so that seconds never round to 60."""
        hundredths = round(self.utc.microsecond / 10_000)
        whole = self.utc.replace(microsecond=0)
        return whole + datetime.timedelta(milliseconds=10 * hundredths)


def checksum(body: str) -> str:
    """The check digits of what stands between ``$`` and ``*``."""
    total = 0
    for character in body:
        total ^= ord(character)
    return f"{total:02X}"


def sentence(body: str) -> str:
    """A whole sentence of what stands between ``$`` and ``*``."""
    return f"${body}*{checksum(body)}\r\n"


def angle(value: float, digits: int, signs: str) -> str:
    """An angle (rad) as degrees and minutes with its sign as a letter, two fields."""
    hundred_thousandths = round(abs(math.degrees(value)) * 60.0 * 1e5)
    degrees, minutes = divmod(hundred_thousandths, 60 * 100_000)
    whole, part = divmod(minutes, 100_000)
    return f"{degrees:0{digits}d}{whole:02d}.{part:05d},{signs[value < 0.0]}"


def _within(value: float, largest: float) -> float:
    """A value, or the nearest that is allowed."""
    return min(max(value, -largest), largest)


def _place(fix: NmeaFix) -> str:
    """Latitude and longitude, four fields."""
    if fix.reading.fix == 0:
        return ",,,"
    latitude = _within(fix.reading.latitude, 0.5 * math.pi)
    longitude = math.remainder(fix.reading.longitude, math.tau)
    return f"{angle(latitude, 2, 'NS')},{angle(longitude, 3, 'EW')}"


def _time(fix: NmeaFix) -> str:
    utc = fix.rounded_utc
    return f"{utc:%H%M%S}.{utc.microsecond // 10_000:02d}"


def gga(fix: NmeaFix) -> str:
    """The sentence of position, quality and height."""
    reading = fix.reading
    height = ",M,,M"
    if reading.fix != 0:
        over_geoid = _within(reading.height - fix.geoid_undulation, LARGEST)
        height = f"{over_geoid:.1f},M,{fix.geoid_undulation:.1f},M"
    head = f"{fix.talker}GGA,{_time(fix)},{_place(fix)},{fix.quality}"
    used = f"{min(reading.satellites, 99):02d},{reading.dop_horizontal:.2f}"
    return sentence(f"{head},{used},{height},,")


def rmc(fix: NmeaFix) -> str:
    """The sentence of position, velocity and date."""
    valid = fix.reading.fix != 0
    east, north, _ = fix.reading.velocity
    speed = math.hypot(east, north)
    knots = f"{_within(speed * KNOTS, LARGEST):.3f}" if valid else ""
    course = ""
    if valid and speed >= SLOWEST_COURSE:
        hundredths = round(math.degrees(math.atan2(east, north)) % 360.0 * 100.0) % 36_000
        course = f"{hundredths / 100.0:.2f}"
    head = f"{fix.talker}RMC,{_time(fix)},{'A' if valid else 'V'},{_place(fix)}"
    tail = f"{knots},{course},{fix.rounded_utc:%d%m%y},,,{_MODES[fix.quality]}"
    return sentence(f"{head},{tail}")


def gsa(fix: NmeaFix) -> list[str]:
    """The sentences of satellites in use and dilution, one for each system in use."""
    reading = fix.reading
    mode = max(reading.fix, 1)
    values = (reading.dop_position, reading.dop_horizontal, reading.dop_vertical)
    dilution = ",".join(f"{value:.2f}" for value in values)
    systems = sorted({satellite.system.nmea_system for satellite in fix.satellites})
    made = []
    for system in systems or [GPS.nmea_system]:
        numbers = [s.nmea for s in fix.satellites if s.system.nmea_system == system]
        shown = [f"{number:02d}" for number in sorted(numbers)[:SATELLITES_A_SENTENCE]]
        shown += [""] * (SATELLITES_A_SENTENCE - len(shown))
        last = "" if fix.talker == "GP" else f",{system}"
        made.append(sentence(f"{fix.talker}GSA,A,{mode},{','.join(shown)},{dilution}{last}"))
    return made


def sentences(fix: NmeaFix) -> str:
    """The sentences of a fix, one after the other."""
    return "".join([gga(fix), rmc(fix), *gsa(fix)])
