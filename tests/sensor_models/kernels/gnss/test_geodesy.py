"""Geodesy: published examples, an independent library, round trips."""

import math

import numpy as np
import pymap3d
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.kernels.gnss.geodesy import (
    SEMI_MAJOR,
    SEMI_MINOR,
    combine,
    ecef_of_geodetic,
    geodetic_of_ecef,
    local_axes,
    world_axes,
)

# EPSG Guidance Note 7-2: 53°48'33.820"N 2°07'46.380"E, 73.0 m.
EPSG = (
    math.radians(53.0 + 48.0 / 60.0 + 33.820 / 3600.0),
    math.radians(2.0 + 7.0 / 60.0 + 46.380 / 3600.0),
    73.0,
)

latitudes = st.floats(-math.pi / 2, math.pi / 2)
longitudes = st.floats(-math.pi, math.pi)
heights = st.floats(-1e4, 3e7)


@pytest.mark.acceptance("GNSS-1")
def test_gnss_1_published_place_in_ecef():
    # the tolerance of the acceptance row: the source prints millimetres
    expected = pytest.approx((3771793.968, 140253.342, 5124304.349), abs=1e-3)
    assert ecef_of_geodetic(*EPSG) == expected


@pytest.mark.acceptance("GNSS-2")
def test_gnss_2_published_place_from_another():
    origin = (math.radians(55.0), math.radians(5.0), 200.0)
    way = np.subtract(ecef_of_geodetic(*EPSG), ecef_of_geodetic(*origin))
    seen = np.array(local_axes(*origin[:2])) @ way
    # the tolerance of the acceptance row: the source prints millimetres
    assert seen == pytest.approx([-189013.869, -128642.040, -4220.171], abs=1e-3)


@pytest.mark.acceptance("GNSS-3")
def test_gnss_3_there_and_back():
    rng = np.random.default_rng(3)
    places = np.column_stack(
        [
            np.arcsin(rng.uniform(-1.0, 1.0, 1500)),
            rng.uniform(-math.pi, math.pi, 1500),
            np.where(rng.random(1500) < 0.5, rng.uniform(-1e4, 1e4, 1500), 3e7 * rng.random(1500)),
        ]
    )
    edges = [(s * math.pi / 2, 0.0, h) for s in (-1, 1) for h in (-1e4, 0.0, 3e7)]
    edges += [(0.0, longitude, 100.0) for longitude in (-3.0, 0.0, 1.0, math.pi)]
    for place in [*places.tolist(), *edges]:
        ecef = ecef_of_geodetic(*place)
        again = ecef_of_geodetic(*geodetic_of_ecef(*ecef))
        # The row asks for 1e-8 m, which is two units in the last place of 3e7 m.
        assert math.dist(ecef, again) < 1e-8 + 2.0 * np.spacing(max(map(abs, ecef))), place


@pytest.mark.acceptance("GNSS-3")
def test_gnss_3_the_pole_has_the_longitude_0():
    assert geodetic_of_ecef(0.0, 0.0, SEMI_MINOR) == (math.pi / 2, 0.0, 0.0)
    assert geodetic_of_ecef(0.0, 0.0, -SEMI_MINOR) == (-math.pi / 2, 0.0, 0.0)


@given(latitudes, longitudes, heights)
def test_as_another_library_has_it(latitude, longitude, height):
    ecef = ecef_of_geodetic(latitude, longitude, height)
    oracle = pymap3d.geodetic2ecef(latitude, longitude, height, deg=False)
    # rounding of sums of numbers up to 4e7 m
    assert ecef == pytest.approx([float(part) for part in oracle], abs=3e-8)


@given(latitudes, longitudes, latitudes, longitudes, heights)
def test_local_axes_as_another_library_has_them(latitude, longitude, there, along, height):
    way = np.subtract(
        ecef_of_geodetic(there, along, height), ecef_of_geodetic(latitude, longitude, 0.0)
    )
    oracle = pymap3d.geodetic2enu(there, along, height, latitude, longitude, 0.0, deg=False)
    seen = np.array(local_axes(latitude, longitude)) @ way
    # rounding of sums of numbers up to 4e7 m
    assert seen == pytest.approx([float(part) for part in oracle], abs=1e-7)


@given(latitudes, longitudes, st.floats(-6.0, 6.0))
def test_axes_of_a_world_are_orthonormal_and_right_handed(latitude, longitude, heading):
    axes = np.array(world_axes(latitude, longitude, heading))
    # some roundings of numbers of size 1
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-15)
    assert np.cross(axes[0], axes[1]) == pytest.approx(axes[2], abs=1e-15)


def test_the_heading_is_the_azimuth_of_y():
    east, north, _ = local_axes(0.7, 0.3)
    x, y, _ = world_axes(0.7, 0.3, math.pi / 2)
    # one rounding of cos(pi / 2)
    assert y == pytest.approx(east, abs=1e-15)
    assert x == pytest.approx([-part for part in north], abs=1e-15)
    tilted = world_axes(0.7, 0.3, math.radians(30.0))[1]
    azimuth = math.atan2(np.dot(tilted, east), np.dot(tilted, north))
    assert azimuth == pytest.approx(math.radians(30.0), abs=1e-15)


def test_combine_is_a_sum_along_axes():
    axes = ((1.0, 2.0, 3.0), (0.5, 0.0, -1.0), (0.0, 4.0, 0.0))
    assert combine(axes, (2.0, -2.0, 0.25)) == (1.0, 5.0, 8.0)


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (500.0, -500.0, 100.0), (math.nan, 0.0, 7e6)])
def test_no_latitude_at_the_centre_of_the_earth(place):
    assert all(math.isnan(part) for part in geodetic_of_ecef(*place))


def test_the_equator_is_the_semi_major_axis():
    assert geodetic_of_ecef(SEMI_MAJOR, 0.0, 0.0) == (0.0, 0.0, 0.0)
    assert geodetic_of_ecef(-SEMI_MAJOR, 0.0, 0.0) == (0.0, math.pi, 0.0)
