"""Almanacs that are read, and observation files, read back by an independent reader."""

import datetime
import math

import georinex
import numpy as np
import pytest

from sensor_models.core.frames import MountParameters
from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError
from sensor_models.gnss.constellation import read_yuma, walker_constellation
from sensor_models.gnss.gnss import Gnss, pack
from sensor_models.gnss.parameters import ConstellationChoice, ErrorMode, GnssParameters
from sensor_models.gnss.rinex import gps_time, header, leap_seconds, time_of_week, utc_time
from sensor_models.gnss.texts import warnings_of
from sensor_models.kernels.gnss.geodesy import ecef_of_geodetic
from sensor_models.kernels.gnss.layout import TIME_OF_WEEK
from sensor_models.kernels.gnss.orbits import satellite_position
from tests.trajectories import body_state

PLACE = Georeference(math.radians(48.1), math.radians(11.6), 520.0)

ENTRY = """\
******** Week 187 almanac for PRN-{prn:02d} ********
ID:                         {prn:02d}
Health:                     {health}
Eccentricity:               0.1102590561E-001
Time of Applicability(s):  319488.0000
Orbital Inclination(rad):   0.9847221889
Rate of Right Ascen(r/s):  -0.7737465154E-008
SQRT(A)  (m 1/2):           5153.642090
Right Ascen at Week(rad):   0.2345197091E+001
Argument of Perigee(rad):   0.863190763
Mean Anom(rad):             {anomaly}
Af0(s):                     0.7629394531E-004
Af1(s/s):                   0.0000000000E+000
week:                        187

"""


def almanac(tmp_path, text=None):
    path = tmp_path / "almanac.alm"
    entries = [(1, "000", 1.332284785), (7, "000", 2.5), (9, "063", 0.5), (30, "000", -1.0)]
    made = "".join(ENTRY.format(prn=p, health=h, anomaly=a) for p, h, a in entries)
    path.write_text(made if text is None else text)
    return path


@pytest.mark.acceptance("GNSS-17")
def test_gnss_17_an_almanac_in_yuma_format(tmp_path):
    found = read_yuma(almanac(tmp_path))
    assert [satellite.name for satellite in found.satellites] == ["G01", "G07", "G30"]
    place = satellite_position(found.orbits, 0, 319488.0)
    # the tolerance of the acceptance row
    assert place == pytest.approx((18173790.841, 7815695.405, 17622569.655), abs=1e-2)


def test_a_receiver_uses_an_almanac(tmp_path):
    spread = "".join(ENTRY.format(prn=k + 1, health="000", anomaly=0.2 * k) for k in range(31))
    path = almanac(tmp_path, spread)
    gnss = Gnss(
        GnssParameters(
            constellation=ConstellationChoice.file, almanac_file=str(path), time_of_week=319488.0
        ),
        None,
        PLACE,
    )
    reading = gnss.sample(0, 0.0, body_state())
    assert reading.satellites > 0
    assert gnss.constellation.satellites[30].nmea == 31


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 healthy satellites"),
        ("nothing of the kind\n", "0 healthy satellites"),
        (ENTRY.format(prn=1, health="000", anomaly="x"), "line 11: 'x' is not a number"),
        (ENTRY.format(prn=1, health="000", anomaly="nan"), "'mean anom' is missing"),
        (ENTRY.format(prn=0, health="000", anomaly="1"), "id 0"),
        (2 * ENTRY.format(prn=1, health="000", anomaly="1"), "two entries for one"),
        (ENTRY.format(prn=1, health="000", anomaly="1").replace("SQRT", "ROOT"), "sqrt"),
    ],
)
def test_a_bad_almanac_is_refused_by_file_and_line(tmp_path, text, message):
    path = almanac(tmp_path, text)
    with pytest.raises(ParameterError, match=r"almanac\.alm") as refusal:
        read_yuma(path)
    assert message in str(refusal.value)


def test_time_of_week():
    # GPS week 2399 begins on Sunday, 2025-12-28, at 23:59:42 UTC of the day before.
    start = datetime.datetime(2025, 12, 27, 23, 59, 42, tzinfo=datetime.timezone.utc)
    assert time_of_week(start) == 0.0
    assert time_of_week(start + datetime.timedelta(days=2, seconds=1.5)) == 2 * 86400 + 1.5


# of the reader's own
@pytest.mark.filterwarnings("ignore:In a future version of xarray:FutureWarning")
@pytest.mark.parametrize("constellation", list(ConstellationChoice)[:3])
def test_pseudoranges_read_back_by_an_independent_reader(tmp_path, constellation):
    given = GnssParameters(
        constellation=constellation, error_mode=ErrorMode.pseudorange, rinex_on=True
    )
    gnss = Gnss(given, None, PLACE)
    path = tmp_path / "drive.26o"
    antenna = ecef_of_geodetic(PLACE.latitude, PLACE.longitude, PLACE.height)
    written, texts = [], []
    for k in range(6):
        texts.append(gnss.sample(k, 0.5 * k, body_state()).rinex_epoch)
        written.append({s.name: distance for s, distance in gnss.observations})
    path.write_text("".join(texts), encoding="ascii", newline="\n")
    assert all(len(line) <= 80 for line in path.read_text(encoding="ascii").splitlines())
    read = georinex.load(path)
    assert read.attrs["version"] == 3.04
    assert read.attrs["position"] == pytest.approx(antenna, abs=1e-4)
    first = datetime.datetime(2026, 1, 1, 0, 0, 18)  # GPS time is ahead by the leap seconds
    expected = [np.datetime64(first + datetime.timedelta(seconds=0.5 * k)) for k in range(6)]
    assert (read.time.values == np.array(expected)).all()
    for epoch, ranges in zip(read.time.values, written, strict=True):
        found = read["C1C"].sel(time=epoch).dropna("sv").to_series().to_dict()
        # millimetres
        assert found == pytest.approx(ranges, abs=5.1e-4)


def utc(text):
    return datetime.datetime.fromisoformat(f"{text}+00:00")


@pytest.mark.parametrize(
    ("instant", "ahead"),
    [
        # of IERS, Bulletin C, and of the history of UTC (USNO, tai-utc.dat, less 19 s)
        ("1980-01-06T00:00:00", 0),
        ("1981-06-30T23:59:59", 0),
        ("1981-07-01T00:00:00", 1),
        ("1985-07-01T00:00:00", 4),
        ("1990-12-31T23:59:59", 6),
        ("1999-01-01T00:00:00", 13),
        ("2005-12-31T23:59:59", 13),
        ("2006-01-01T00:00:00", 14),
        ("2008-12-31T23:59:59", 14),
        ("2012-07-01T00:00:00", 16),
        ("2015-06-30T23:59:59", 16),
        ("2016-12-31T23:59:59", 17),
        ("2017-01-01T00:00:00", 18),
        ("2026-01-01T00:00:00", 18),
    ],
)
def test_gps_time_is_ahead_of_utc_by_the_leap_seconds_of_the_date(instant, ahead):
    assert leap_seconds(utc(instant)) == ahead
    assert gps_time(utc(instant)) - utc(instant) == datetime.timedelta(seconds=ahead)
    assert utc_time(gps_time(utc(instant))) == utc(instant)


def test_weeks_of_gps_begin_when_published():
    # the numbers of weeks began again at 0 at the end of week 1023 and of week 2047 (CGSIC)
    assert time_of_week(utc("1999-08-21T23:59:47")) == 0.0
    assert time_of_week(utc("2019-04-06T23:59:42")) == 0.0
    assert time_of_week(utc("1980-01-06T00:00:00")) == 0.0


def test_a_run_over_a_leap_second_goes_on_in_gps_time():
    given = GnssParameters(utc_start="2016-12-31T23:59:58Z", rinex_on=True, nmea_on=True)
    gnss = Gnss(given, None, PLACE)
    readings = [gnss.sample(k, float(k), body_state()) for k in range(5)]
    epochs = [next(t for t in r.rinex_epoch.splitlines() if t[0] == ">") for r in readings]
    assert [text[2:29] for text in epochs] == [
        f"2017 01 01 00 00 {second:2d}.0000000" for second in (15, 16, 17, 18, 19)
    ]
    clocks = [r.nmea_sentences.split(",")[1] for r in readings]
    assert clocks == ["235958.00", "235959.00", "235959.00", "000000.00", "000001.00"]


def test_satellites_stand_as_at_the_start_in_utc_unless_told_otherwise():
    def places(**given):
        gnss = Gnss(GnssParameters(**given), None, PLACE)
        return gnss.sample_batch(0, [0.0], [body_state()])

    start = "2010-05-04T03:02:01Z"  # 15 s ahead
    second = ((2 * 24 + 3) * 60 + 2) * 60 + 1 + 15  # a Tuesday; weeks begin on Sundays
    follows = places(utc_start=start)
    np.testing.assert_array_equal(follows, places(time_of_week=float(second)))
    assert not np.array_equal(follows, places())
    assert not np.array_equal(places(time_of_week=1.0, utc_start=start), follows)


def test_an_almanac_is_used_at_the_time_of_utc_start(tmp_path):
    text = ENTRY.format(prn=1, health="000", anomaly="1")
    given = {
        "constellation": ConstellationChoice.file,
        "almanac_file": str(almanac(tmp_path, text)),
    }
    packed = [
        pack(GnssParameters(**given, **more), MountParameters())[TIME_OF_WEEK]
        for more in ({}, {"time_of_week": 7.0}, {"utc_start": "2025-12-27T23:59:43Z"})
    ]
    assert packed == [345618.0, 7.0, 1.0]  # 2026-01-01 is a Thursday


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, 0),
        ({"rinex_on": True}, 0),
        ({"time_of_week": 3.0}, 0),  # nothing tells the time
        ({"utc_start": "2026-02-01", "rinex_on": True}, 0),  # it follows
        ({"time_of_week": 3.0, "nmea_on": True}, 1),
        ({"time_of_week": 3.0, "utc_start": "2026-02-01"}, 1),
        ({"time_of_week": 345618.0, "nmea_on": True}, 0),
        ({"time_of_week": 604799.5, "utc_start": "2025-12-27T23:59:42"}, 0),
        ({"time_of_week": 604800.0, "utc_start": "2025-12-27T23:59:42"}, 0),
    ],
)
def test_a_time_of_week_that_is_not_that_of_utc_start_is_told(given, told):
    sentences = warnings_of(GnssParameters(**given))
    assert len(sentences) == told
    assert all("time_of_week = 3 s is not that of utc_start = 2026-0" in s for s in sentences)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00+01:00"])
def test_an_instant_beyond_the_calendar_is_refused(text):
    with pytest.raises(ParameterError, match=r"utc_start = .* is no date and time"):
        Gnss(GnssParameters(utc_start=text), None, PLACE)


# --- headers, by the columns of the format (RINEX 3.04, table A2)

SYSTEMS = {"gps": "G", "gps_galileo": "EG", "all": "EGR"}


def header_lines(constellation):
    satellites = walker_constellation(constellation).satellites
    start = utc("2026-01-01T00:00:18.500000")
    text = header(satellites, start, (1234567.12345, -0.5, 6e6), 0.5)
    lines = text.splitlines()
    assert all(len(line) == 80 for line in lines)
    return satellites, [(line[:60], line[60:].rstrip()) for line in lines]


@pytest.mark.parametrize("constellation", list(ConstellationChoice)[:3])
def test_a_header_has_its_fields_in_their_columns(constellation):
    satellites, lines = header_lines(constellation)
    letters = SYSTEMS[constellation.name]
    assert lines[0] == (
        f"     3.04           OBSERVATION DATA    {letters if len(letters) == 1 else 'M':20}",
        "RINEX VERSION / TYPE",
    )
    found = {label: content for content, label in lines}
    assert found["PGM / RUN BY / DATE"] == f"{'sensor-fmus':40}{'20260101 000000 UTC':20}"
    place = found["APPROX POSITION XYZ"]
    assert [place[k : k + 14] for k in (0, 14, 28)] == [
        "  1234567.1235",
        "       -0.5000",
        "  6000000.0000",
    ]
    types = [content for content, label in lines if label == "SYS / # / OBS TYPES"]
    assert types == [f"{letter}    1 C1C{'':50}" for letter in letters]
    assert found["INTERVAL"] == f"{'     0.500':60}"
    first = "  2026     1     1     0     0   18.5000000     GPS"
    assert found["TIME OF FIRST OBS"] == f"{first:60}"
    assert lines[-1] == ("", "END OF HEADER") or lines[-1] == (" " * 60, "END OF HEADER")
    labels = [label for _, label in lines]
    glonass = [s.name for s in satellites if s.name[0] == "R"]
    assert labels.count("GLONASS SLOT / FRQ #") == -(-len(glonass) // 8)
    assert labels.count("GLONASS COD/PHS/BIS") == (1 if glonass else 0)
    assert len(set(labels)) == len(labels) - (len(letters) - 1) - max(0, len(glonass) // 8 - 1)


def test_the_frequency_channels_of_glonass_are_eight_a_line():
    satellites, lines = header_lines(ConstellationChoice.all)
    names = [s.name for s in satellites if s.name[0] == "R"]
    slots = [content for content, label in lines if label == "GLONASS SLOT / FRQ #"]
    assert len(names) == 24
    assert [line[:4] for line in slots] == [" 24 ", "    ", "    "]
    fields = [line[4 + 7 * k : 11 + 7 * k] for line in slots for k in range(8)]
    assert fields == [f"{name}  0 " for name in names]
    (biases,) = (content for content, label in lines if label == "GLONASS COD/PHS/BIS")
    assert (biases[:4], biases[4:13], biases[13:].strip()) == (" C1C", "    0.000", "")


@pytest.mark.filterwarnings("ignore:In a future version of xarray:FutureWarning")
@pytest.mark.parametrize("constellation", list(ConstellationChoice)[:3])
def test_an_independent_reader_finds_what_a_header_says(tmp_path, constellation):
    satellites, lines = header_lines(constellation)
    path = tmp_path / "drive.26o"
    path.write_text("".join(f"{c:60}{label:20}\n" for c, label in lines), encoding="ascii")
    read = georinex.rinexheader(path)
    assert (read["version"], read["rinextype"]) == (3.04, "obs")
    assert read["fields"] == {letter: ["C1C"] for letter in SYSTEMS[constellation.name]}
    assert read["position"] == pytest.approx([1234567.1235, -0.5, 6e6], abs=1e-9)
    assert float(read["interval"]) == 0.5
    assert read["t0"] == datetime.datetime(2026, 1, 1, 0, 0, 18, 500000)
    if constellation == ConstellationChoice.all:
        glonass = read["GLONASS SLOT / FRQ #"].split()
        assert glonass[0] == "24"
        assert [s.name for s in satellites if s.name in glonass] == glonass[1::2]
        assert set(glonass[2::2]) == {"0"}
