"""NMEA sentences: published ones, an independent parser, every kind of fix."""

import datetime
import math

import pynmea2
import pytest

from sensor_models.core.georeference import Georeference
from sensor_models.gnss.constellation import GALILEO, GLONASS, GPS, Satellite
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.nmea import NmeaFix, angle, checksum, gga, gsa, rmc, sentences
from sensor_models.gnss.parameters import (
    ConstellationChoice,
    GnssParameters,
    GnssReading,
    Solution,
)
from tests.trajectories import body_state

UTC = datetime.datetime(2026, 3, 9, 9, 27, 25, tzinfo=datetime.timezone.utc)
SATELLITES = [Satellite(GPS, n) for n in (2, 5, 9, 12, 17, 21, 25, 30)]


def fix_of(utc=UTC, satellites=tuple(SATELLITES), **more):
    about = {k: more.pop(k) for k in ("talker", "solution", "geoid_undulation") if k in more}
    reading = {
        "latitude": math.radians(47.28521118),
        "longitude": math.radians(8.56524738),
        "height": 547.6,
        "fix": 3,
        "satellites": len(satellites),
        "dop_position": 1.8,
        "dop_horizontal": 1.01,
        "dop_vertical": 1.49,
        **more,
    }
    return NmeaFix(GnssReading(**reading), utc, satellites, **about)


@pytest.mark.acceptance("GNSS-22")
@pytest.mark.parametrize(
    ("body", "digits"),
    [
        ("GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,", "47"),
        ("GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W", "6A"),
        ("GPGSA,A,3,04,05,,09,12,,,24,,,,,2.5,1.3,2.1", "39"),
    ],
)
def test_gnss_22_checksums(body, digits):
    assert checksum(body) == digits


@pytest.mark.acceptance("GNSS-23")
def test_gnss_23_a_whole_sentence():
    expected = "$GPGGA,092725.00,4717.11267,N,00833.91484,E,1,08,1.01,499.6,M,48.0,M,,*5F\r\n"
    assert gga(fix_of(geoid_undulation=48.0)) == expected


@pytest.mark.acceptance("GNSS-24")
def test_gnss_24_speed_and_course():
    fields = rmc(fix_of(velocity=(3.0, 4.0, 1.0))).split(",")
    assert fields[7:9] == ["9.719", "36.87"]


@pytest.mark.parametrize(
    ("velocity", "course"),
    [
        ((0.0, -2.0, 0.0), "180.00"),
        ((-2.0, 0.0, 0.0), "270.00"),
        ((-1e-6, 1.0, 0.0), "0.00"),  # 359.99994 does not become 360.00
        ((0.06, 0.06, 5.0), ""),
    ],
)
def test_courses(velocity, course):
    assert rmc(fix_of(velocity=velocity)).split(",")[8] == course


@pytest.mark.parametrize(
    ("degrees", "digits", "signs", "text"),
    [
        (59.99999999 / 60.0 + 12.0, 2, "NS", "1300.00000,N"),  # minutes carry
        (-0.5, 3, "EW", "00030.00000,W"),
        (-179.99999999999, 3, "EW", "18000.00000,W"),
        (0.0, 2, "NS", "0000.00000,N"),
    ],
)
def test_angles(degrees, digits, signs, text):
    assert angle(math.radians(degrees), digits, signs) == text


def test_seconds_never_round_to_60():
    late = UTC.replace(hour=23, minute=59, second=59, microsecond=999_999)
    fields = rmc(fix_of(late)).split(",")
    assert fields[1] == "000000.00"
    assert fields[9] == "100326"
    assert gga(fix_of(UTC.replace(microsecond=246_000))).split(",")[1] == "092725.25"


@pytest.mark.parametrize(
    ("given", "quality", "mode"),
    [
        ({}, 1, "A"),
        ({"solution": Solution.sbas}, 2, "D"),
        ({"solution": Solution.rtk, "carrier_solution": 2}, 4, "R"),
        ({"solution": Solution.rtk, "carrier_solution": 1}, 5, "F"),
        ({"fix": 0}, 0, "N"),
        ({"fix": 2}, 1, "A"),
    ],
)
def test_qualities_by_an_independent_parser(given, quality, mode):
    fix = fix_of(**given)
    position = pynmea2.parse(gga(fix), check=True)
    motion = pynmea2.parse(rmc(fix), check=True)
    dilution = pynmea2.parse(gsa(fix)[0], check=True)
    assert position.gps_qual == quality
    assert (motion.status, motion.mode_indicator) == ("V" if quality == 0 else "A", mode)
    assert dilution.mode_fix_type == str(max(fix.reading.fix, 1))
    if quality == 0:
        assert (position.lat, position.altitude, motion.spd_over_grnd) == ("", None, None)


def test_all_values_by_an_independent_parser():
    fix = fix_of(
        latitude=math.radians(-33.8), longitude=math.radians(-70.55), velocity=(3.0, -4.0, 0.0)
    )
    position, motion, dilution = (
        pynmea2.parse(line, check=True) for line in sentences(fix).splitlines()
    )
    # five decimals of a minute
    assert position.latitude == pytest.approx(-33.8, abs=1e-7)
    assert position.longitude == pytest.approx(-70.55, abs=1e-7)
    assert position.timestamp == UTC.timetz()
    assert (position.num_sats, position.horizontal_dil) == ("08", "1.01")
    assert (position.altitude, position.geo_sep) == (547.6, "0.0")
    assert motion.datetime == UTC
    assert motion.spd_over_grnd == pytest.approx(5.0 * 3600.0 / 1852.0, abs=5e-4)
    assert motion.true_course == pytest.approx(180.0 - math.degrees(math.atan(0.75)), abs=5e-3)
    assert (dilution.pdop, dilution.hdop, dilution.vdop) == ("1.80", "1.01", "1.49")
    ids = [getattr(dilution, f"sv_id{k:02d}") for k in range(1, 13)]
    assert ids == ["02", "05", "09", "12", "17", "21", "25", "30", "", "", "", ""]


def test_several_systems_have_a_sentence_each():
    satellites = [Satellite(GALILEO, 3), Satellite(GLONASS, 2), *SATELLITES, Satellite(GLONASS, 1)]
    lines = gsa(fix_of(satellites=satellites, talker="GN"))
    fields = [line.partition("*")[0].split(",") for line in lines]
    assert [f[0] for f in fields] == ["$GNGSA"] * 3
    assert [f[-1] for f in fields] == ["1", "2", "3"]
    assert fields[1][3:6] == ["65", "66", ""]
    assert fields[2][3:5] == ["03", ""]
    assert all(pynmea2.parse(line, check=True).hdop == "1.01" for line in lines)


def test_a_sentence_holds_twelve_satellites():
    satellites = [Satellite(GPS, n) for n in range(1, 16)]
    fields = gsa(fix_of(satellites=satellites))[0].split(",")
    assert fields[3:15] == [f"{n:02d}" for n in range(1, 13)]


@pytest.mark.parametrize("constellation", list(ConstellationChoice)[:3])
def test_the_sentences_of_a_receiver_say_what_it_reports(constellation):
    place = Georeference(math.radians(48.1), math.radians(11.6), 520.0)
    gnss = Gnss(
        GnssParameters(nmea_on=True, geoid_undulation=47.0, constellation=constellation),
        None,
        place,
    )
    reading = gnss.sample(0, 0.0, body_state(velocity=(1.0, 2.0, 0.0)))
    lines = reading.nmea_sentences.splitlines()
    position = pynmea2.parse(lines[0], check=True)
    single = constellation == ConstellationChoice.gps
    assert position.talker == ("GP" if single else "GN")
    assert len(lines) == 2 + (1, 2, 3)[constellation]
    assert position.latitude == pytest.approx(math.degrees(reading.latitude), abs=1e-7)
    assert position.altitude == pytest.approx(reading.height - 47.0, abs=0.05)
    numbers = [f for line in lines[2:] for f in line.split(",")[3:15] if f]
    assert len(numbers) == min(reading.satellites, len(numbers))
    assert Gnss(GnssParameters(), None, place).sample(0, 0.0, body_state()).nmea_sentences == ""


def test_a_file_can_be_replayed(tmp_path):
    place = Georeference(math.radians(48.1), math.radians(11.6), 520.0)
    gnss = Gnss(GnssParameters(nmea_on=True), None, place)
    path = tmp_path / "drive.nmea"
    readings = []
    for k in range(20):
        readings.append(gnss.sample(k, 0.2 * k, body_state((2.0 * k, 0.0, 0.0))))
    path.write_bytes("".join(r.nmea_sentences for r in readings).encode("ascii"))
    with path.open(encoding="ascii") as lines:
        messages = [pynmea2.parse(line, check=True) for line in lines]
    positions = [message for message in messages if message.sentence_type == "GGA"]
    assert len(positions) == 20
    seconds = [p.timestamp.second + 1e-6 * p.timestamp.microsecond for p in positions]
    # hundredths of a second
    assert seconds == pytest.approx([0.2 * k for k in range(20)], abs=1e-9)
    for position, reading in zip(positions, readings, strict=True):
        assert position.latitude == pytest.approx(math.degrees(reading.latitude), abs=1e-7)


def test_what_a_fault_makes_of_a_signal_stays_within_its_fields():
    signals = {"longitude": 7.0 * math.pi + 0.5, "height": 1e300, "velocity": (1e9, 0.0, 0.0)}
    fix = fix_of(latitude=-40.0, **signals)
    position = pynmea2.parse(gga(fix).strip(), check=True)
    assert position.latitude == -90.0
    # five decimals of a minute
    assert position.longitude == pytest.approx(math.degrees(0.5 - math.pi), abs=1e-7)
    assert position.altitude == 999_999.0
    motion = pynmea2.parse(rmc(fix).strip(), check=True)
    assert motion.spd_over_grnd == 999_999.0
