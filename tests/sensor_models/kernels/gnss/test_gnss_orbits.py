"""Orbits: rows of the specification, Kepler's equation, what every orbit keeps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.gnss.constellation import WALKERS, walker_constellation
from sensor_models.gnss.parameters import ConstellationChoice
from sensor_models.kernels.gnss import orbits as at


def yuma_row(**more):
    row = np.zeros((1, at.ORBIT_SIZE))
    row[0, at.ECCENTRICITY] = 0.1102590561e-1
    row[0, at.REFERENCE] = 319488.0
    row[0, at.INCLINATION] = 0.9847221889
    row[0, at.NODE_RATE] = -0.7737465154e-8
    row[0, at.AXIS] = 5153.642090**2
    row[0, at.NODE] = 2.345197091
    row[0, at.PERIGEE] = 0.863190763
    row[0, at.ANOMALY] = 1.332284785
    row[0, at.MEAN_MOTION] = math.sqrt(at.GRAVITATION / row[0, at.AXIS] ** 3)
    row[0, at.FOLDED] = 1.0
    for name, value in more.items():
        row[0, getattr(at, name.upper())] = value
    return row


@pytest.mark.acceptance("GNSS-13")
@pytest.mark.parametrize(
    ("time", "place"),
    [
        (0.0, (-16180765.353, 1404287.719, 21015337.461)),
        (3600.0, (-20909562.122, -5678963.287, 15361418.809)),
    ],
)
def test_gnss_13_satellite_5_of_the_gps_pattern(time, place):
    gps = walker_constellation(ConstellationChoice.gps)
    # the tolerance of the acceptance row
    assert gps.positions(time)[5] == pytest.approx(place, abs=1e-2)


@pytest.mark.acceptance("GNSS-17")
def test_gnss_17_an_orbit_of_an_almanac():
    place = at.satellite_position(yuma_row(), 0, 319488.0)
    # the tolerance of the acceptance row
    assert place == pytest.approx((18173790.841, 7815695.405, 17622569.655), abs=1e-2)


@given(st.floats(-50.0, 50.0), st.floats(0.0, 0.3))
def test_kepler(mean_anomaly, eccentricity):
    angle = at.eccentric_anomaly(mean_anomaly, eccentricity)
    # a few roundings of numbers up to 50
    assert angle - eccentricity * math.sin(angle) == pytest.approx(mean_anomaly, abs=3e-14)


def test_an_almanac_holds_for_half_a_week_each_way():
    row = yuma_row()
    before, after = 319488.0 - 302000.0, 319488.0 - 302000.0 + at.WEEK
    assert at.satellite_position(row, 0, before) == at.satellite_position(row, 0, after)


def test_a_pattern_does_not_jump_at_the_end_of_a_week():
    gps = walker_constellation(ConstellationChoice.gps)
    way = gps.positions(at.WEEK + 0.5) - gps.positions(at.WEEK - 0.5)
    assert np.linalg.norm(way, axis=1).max() < 5000.0


def test_a_place_by_rotations_of_the_orbital_plane():
    row = yuma_row()
    time = 319488.0 + 4321.0
    mean = row[0, at.ANOMALY] + row[0, at.MEAN_MOTION] * 4321.0
    angle = mean
    for _ in range(200):  # Kepler's equation by plain iteration
        angle = mean + row[0, at.ECCENTRICITY] * math.sin(angle)
    e, a = row[0, at.ECCENTRICITY], row[0, at.AXIS]
    in_plane = [a * (math.cos(angle) - e), a * math.sqrt(1 - e * e) * math.sin(angle), 0.0]
    node = row[0, at.NODE] + row[0, at.NODE_RATE] * 4321.0 - at.EARTH_RATE * time
    place = about_z(node) @ about_x(row[0, at.INCLINATION]) @ about_z(row[0, at.PERIGEE]) @ in_plane
    # a millionth of a metre in 2.6e7, which is some roundings of the angles
    assert at.satellite_position(row, 0, time) == pytest.approx(place, abs=1e-6)


def about_z(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def about_x(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


@pytest.mark.parametrize("walker", WALKERS)
def test_satellites_of_a_pattern_never_meet(walker):
    orbits = walker.orbits()
    places = np.empty((len(orbits), 3))
    for time in np.arange(0.0, 50_000.0, 400.0):
        at.satellite_positions(orbits, time, places)
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        assert apart[~np.eye(len(orbits), dtype=bool)].min() > 1e5
        # rounding of sums of squares of 3e7
        assert np.linalg.norm(places, axis=1) == pytest.approx(walker.radius, rel=1e-14)


def test_all_systems_have_satellites_of_their_own():
    everything = walker_constellation(ConstellationChoice.all)
    assert len(everything.orbits) == 72
    assert len(np.unique(everything.orbits[:, at.NUMBER])) == 72
    names = [satellite.name for satellite in everything.satellites]
    assert (names[0], names[24], names[71]) == ("G01", "E01", "R24")
    assert [satellite.nmea for satellite in everything.satellites][48] == 65
