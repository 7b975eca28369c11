"""Almanacs that are read, and observation files, read back by an independent reader."""

import datetime
import math

import georinex
import numpy as np
import pytest

from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError
from sensor_models.gnss.constellation import read_yuma
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import ConstellationChoice, ErrorMode, GnssParameters
from sensor_models.gnss.rinex import time_of_week
from sensor_models.kernels.gnss.geodesy import ecef_of_geodetic
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
