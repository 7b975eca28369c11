"""The receiver: truth and errors."""

import dataclasses
import math

import allantools
import numpy as np
import pymap3d
import pytest

from sensor_models.core.frames import MountParameters
from sensor_models.core.georeference import Georeference
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import (
    CEP_OVER_SIGMA,
    R95_OVER_SIGMA,
    ConstellationChoice,
    ErrorMode,
    GnssParameters,
)
from sensor_models.kernels.gnss import layout as at
from tests import oracles
from tests.trajectories import Swing, body_state

PLACE = Georeference(math.radians(48.1), math.radians(11.6), 520.0)
IDEAL = {
    "error_mode": ErrorMode.off,
    "velocity_white": 0.0,
}


def make(origin=PLACE, mount=(0.0, 0.0, 0.0), **parameters):
    identity = {key: parameters.pop(key) for key in ("seed", "sensor") if key in parameters}
    mounted = MountParameters(mount)
    return Gnss(GnssParameters(**parameters), mounted, origin, **identity)


def east_north_up(readings, origin=PLACE):
    """Reported positions along east, north and up of the origin, by an independent library."""
    columns = readings[:, at.LATITUDE], readings[:, at.LONGITUDE], readings[:, at.HEIGHT]
    place = (origin.latitude, origin.longitude, origin.height)
    return np.column_stack(pymap3d.geodetic2enu(*columns, *place, deg=False))


def still(count, step=1.0, position=(0.0, 0.0, 0.0)):
    return step * np.arange(count), np.tile(body_state(position), (count, 1))


# --- truth ---------------------------------------------------------------------------------------


@pytest.mark.acceptance("GNSS-5")
@pytest.mark.parametrize(
    ("heading_deg", "place"),
    [
        (0.0, (48.1179844960, 11.6134297676, 550.3921)),
        (30.0, (48.1110766652, 11.6250569293, 550.3916)),
    ],
)
def test_gnss_5_a_place_of_the_world_on_the_earth(heading_deg, place):
    origin = dataclasses.replace(PLACE, heading=math.radians(heading_deg))
    reading = make(origin, **IDEAL).sample(0, 0.0, body_state((1000.0, 2000.0, 30.0)))
    # the tolerances of the acceptance row
    assert math.degrees(reading.latitude) == pytest.approx(place[0], abs=1e-9)
    assert math.degrees(reading.longitude) == pytest.approx(place[1], abs=1e-9)
    assert reading.height == pytest.approx(place[2], abs=1e-4)


@pytest.mark.acceptance("GNSS-8")
def test_gnss_8_velocity_is_along_the_axes_at_the_antenna():
    body = body_state((5000.0, 0.0, 0.0), velocity=(20.0, 0.0, 0.0))
    reading = make(**IDEAL).sample(0, 0.0, body)
    # the tolerance of the acceptance row
    expected = pytest.approx((19.9999863, -0.0174402, 0.0156482), abs=1e-6)
    assert reading.velocity == expected


def test_the_lever_arm_moves_and_speeds_up_the_antenna():
    swing, lever = Swing(), (0.4, -1.2, 0.7)
    gnss = make(mount=lever, **IDEAL)
    for index, time in enumerate((0.0, 0.13, 0.4)):
        reading = gnss.sample(index, time, swing.state(time))
        turn = swing.rotation(time)
        omega = swing.angle(time, 1) * swing.direction()
        antenna = swing.path(time) + turn @ lever
        velocity = swing.path(time, 1) + np.cross(omega, turn @ lever)
        row = np.array([[0.0, reading.latitude, reading.longitude, reading.height]])
        # rounding of Earth-fixed positions
        assert east_north_up(row)[0] == pytest.approx(antenna, abs=1e-8)
        # up at the antenna differs from z by some 1e-6 at a few metres
        assert reading.velocity == pytest.approx(velocity, abs=2e-5)


def test_a_world_at_the_south_pole_has_places_too():
    pole = Georeference(-math.pi / 2, 0.0, 2800.0)
    reading = make(pole, **IDEAL).sample(0, 0.0, body_state((300.0, 400.0, 0.0)))
    oracle = pymap3d.enu2geodetic(300.0, 400.0, 0.0, -math.pi / 2, 0.0, 2800.0, deg=False)
    # rounding of Earth-fixed positions, in radians and in metres
    assert (reading.latitude, reading.longitude) == pytest.approx(oracle[:2], abs=1e-10)
    assert reading.height == pytest.approx(oracle[2], abs=1e-7)


def test_what_is_given_wins_over_the_scene():
    assert Georeference().or_else(PLACE) == PLACE
    assert Georeference().or_else(None) == Georeference()
    assert PLACE.or_else(Georeference(0.1, 0.2)) == PLACE


# --- the sky -------------------------------------------------------------------------------------


def used(gnss):
    return [satellite.number - 1 for satellite, _ in gnss.observations]


@pytest.mark.acceptance("GNSS-14")
def test_gnss_14_satellites_and_dilution_of_a_place():
    gnss = make(elevation_mask=math.radians(10.0), **IDEAL)
    reading = gnss.sample(0, 0.0, body_state())
    assert used(gnss) == [0, 1, 4, 13, 16, 17, 20]
    assert reading.satellites == 7
    found = (reading.dop_position, reading.dop_horizontal, reading.dop_vertical)
    # the tolerance of the acceptance row
    assert found == pytest.approx((1.985398, 1.037533, 1.692729), abs=1e-5)


@pytest.mark.acceptance("GNSS-16")
def test_gnss_16_a_day_of_satellites():
    times = 300.0 * np.arange(288)
    rows = make(**IDEAL).sample_batch(0, times, np.tile(body_state(), (288, 1)))
    satellites, dilution = rows[:, at.SATELLITES], rows[:, at.DILUTIONS + 1]
    assert (satellites.min(), satellites.max()) == (6, 9)
    # the tolerance of the acceptance row
    assert satellites.mean() == pytest.approx(7.701, abs=1e-3)
    assert (dilution.mean(), dilution.max()) == pytest.approx((1.802, 2.908), abs=1e-3)


def test_directions_and_distances_as_another_library_has_them():
    gnss = make(constellation=ConstellationChoice.all, error_mode=ErrorMode.dop)
    gnss.sample(0, 777.0, body_state((100.0, -50.0, 3.0)))
    places = gnss.constellation.positions(777.0)
    azimuth, elevation, distance = pymap3d.ecef2aer(*places.T, *gnss.antenna, deg=False)
    sky = gnss.sky
    ranges = dict(gnss.observations)
    for satellite, true in zip(gnss.constellation.satellites, distance, strict=True):
        # roundings of 3e7 m
        assert ranges.get(satellite, true) == pytest.approx(true, abs=1e-7)
    # roundings of angles of size 1
    assert np.arcsin(sky[:, 3]) == pytest.approx(elevation, abs=1e-12)
    assert np.arctan2(sky[:, 1], sky[:, 2]) % math.tau == pytest.approx(azimuth, abs=1e-11)


def test_an_open_sky_is_that_of_the_last_whole_second():
    slow, exact = make(**IDEAL), make(error_mode=ErrorMode.dop)
    for index, time in enumerate((0.0, 0.4, 0.9, 1.2, 1.9)):
        lazy = slow.sample(index, time, body_state())
        new = exact.sample(index, time, body_state())
        if time in (0.0, 1.2):
            assert lazy.dop_position == new.dop_position
        else:
            assert lazy.dop_position != new.dop_position
            assert lazy.dop_position == pytest.approx(new.dop_position, rel=1e-3)


# --- errors --------------------------------------------------------------------------------------


def test_off_reports_the_truth_with_any_other_error_given():
    reading = make(error_mode=ErrorMode.off, velocity_correlated=3.0).sample(0, 0.0, body_state())
    assert reading.velocity == (0.0, 0.0, 0.0)
    assert reading.accuracy == (0.0, 0.0)
    # one rounding each
    assert reading.latitude == pytest.approx(PLACE.latitude, abs=1e-15)
    assert reading.height == pytest.approx(520.0, abs=2e-9)


@pytest.mark.acceptance("GNSS-19")
def test_gnss_19_spread_correlation_and_allan_deviation_of_the_error():
    sigma, tau = 1.2, 60
    gnss = make(error_correlated=(sigma, 2.0), error_white=(0.0, 0.0))
    found = east_north_up(gnss.sample_batch(0, *still(400_000)))
    for error, size in zip(found.T, (sigma, sigma, 2.0), strict=True):
        assert error.std() == pytest.approx(size, rel=0.04)
        correlation = np.corrcoef(error[tau:], error[:-tau])[0, 1]
        assert correlation == pytest.approx(math.exp(-1.0), abs=0.03)
        _, deviation, _, _ = allantools.oadev(error, 1.0, data_type="freq", taus=[tau])
        assert deviation[0] / size == pytest.approx(0.579812, rel=0.04)


def test_axes_of_the_fixed_error_are_independent():
    gnss = make(error_correlated=(3.0, 5.0), error_white=(1.0, 2.0), error_time_constant=1e-3)
    readings = gnss.sample_batch(0, *still(40_000, 0.01))
    found = np.cov(east_north_up(readings).T)
    # four standard errors of a (co)variance of 40 000 independent samples
    expected = np.diag([10.0, 10.0, 29.0])
    spread = 4.0 * np.sqrt(2.0 / 40_000) * np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert (np.abs(found - expected) < spread).all()
    # roundings
    accuracy = readings[0, at.ACCURACY : at.ACCURACY + 2]
    assert accuracy == pytest.approx([math.sqrt(10.0), math.sqrt(29.0)], rel=1e-14)
    radii = np.hypot(*east_north_up(readings)[:, :2].T)
    assert np.median(radii) == pytest.approx(CEP_OVER_SIGMA * math.sqrt(10.0), rel=0.02)
    assert np.quantile(radii, 0.95) == pytest.approx(R95_OVER_SIGMA * math.sqrt(10.0), rel=0.02)


@pytest.mark.parametrize("mode", [ErrorMode.dop, ErrorMode.pseudorange])
def test_the_error_has_the_covariance_of_the_geometry(mode):
    gnss = make(error_mode=mode, range_correlated=1.2, range_white=0.5, error_time_constant=1e-5)
    readings = gnss.sample_batch(0, *still(40_000, 1e-3))  # the sky stands still for 40 s
    found = np.cov(east_north_up(readings).T)
    sky = gnss.sky[gnss.sky[:, 0] >= 2.0]
    matrix = np.column_stack([-sky[:, 1:4], np.ones(len(sky))])
    weights = np.ones(len(sky)) if mode == ErrorMode.dop else sky[:, 3] ** 2
    inverse = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    expected = (1.2**2 + 0.5**2) * inverse[:3, :3]
    # five standard errors of a (co)variance of 40 000 independent samples, and 40 s of motion
    spread = 5.0 * np.sqrt(2.0 / 40_000) * np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert (np.abs(found - expected) < spread + 0.01 * np.abs(expected)).all()
    variances = np.diag(expected)
    accuracy = math.sqrt(0.5 * (variances[0] + variances[1])), math.sqrt(variances[2])
    # roundings, and 1 ms of motion of the sky
    assert readings[-1, at.ACCURACY : at.ACCURACY + 2] == pytest.approx(accuracy, rel=1e-9)


def test_velocity_errors_are_white_and_lasting():
    gnss = make(velocity_white=0.3, velocity_correlated=0.4, error_time_constant=0.1)
    found = gnss.sample_batch(0, *still(40_000, 0.1))[:, at.VELOCITY : at.VELOCITY + 3]
    for axis in found.T:
        # four standard errors with some correlation
        assert axis.var() == pytest.approx(0.25, rel=0.05)
        lag = np.mean(axis[1:] * axis[:-1])
        assert lag == pytest.approx(0.16 * math.exp(-1.0), abs=0.01)


def test_the_error_model_does_not_matter_to_the_velocity():
    readings = [
        make(error_mode=mode).sample_batch(0, *still(5))[:, at.VELOCITY]
        for mode in (ErrorMode.fixed, ErrorMode.dop, ErrorMode.pseudorange)
    ]
    # the antenna is in one place, so only the draws are left
    assert (readings[0] == readings[1]).all()
    assert (readings[0] == readings[2]).all()


def test_pseudoranges_are_distances_with_errors():
    gnss = make(error_mode=ErrorMode.pseudorange, range_correlated=2.0)
    gnss.sample(0, 0.0, body_state())
    antenna = np.array(pymap3d.geodetic2ecef(*gnss.antenna, deg=False))
    true = np.linalg.norm(gnss.constellation.positions(0.0) - antenna, axis=1)
    errors = [distance - true[s.number - 1] for s, distance in gnss.observations]
    assert all(1e-6 < abs(error) < 50.0 for error in errors)
    ideal = make(**IDEAL)
    ideal.sample(0, 0.0, body_state())
    # rounding of distances of 2e7 m
    assert [distance for _, distance in ideal.observations] == pytest.approx(
        true[used(ideal)].tolist(), abs=1e-7
    )
    # An open sky is surveyed once a second, but ranges belong to the instant.
    ideal.sample(1, 0.7, body_state((30.0, 0.0, 0.0)))
    antenna = np.array(pymap3d.geodetic2ecef(*ideal.antenna, deg=False))
    true = np.linalg.norm(ideal.constellation.positions(0.7) - antenna, axis=1)
    assert [distance for _, distance in ideal.observations] == pytest.approx(
        true[used(ideal)].tolist(), abs=1e-7
    )


def test_the_turn_of_the_body_turns_the_lever():
    turn = oracles.turn((0, 0, 1), math.pi / 2)
    reading = make(mount=(10.0, 0.0, 0.0), **IDEAL).sample(0, 0.0, body_state(orientation=turn))
    row = np.array([[0.0, reading.latitude, reading.longitude, reading.height]])
    # rounding of Earth-fixed positions
    assert east_north_up(row)[0] == pytest.approx([0.0, 10.0, 0.0], abs=1e-8)


def test_a_georeference_there_and_back():
    place = dataclasses.replace(PLACE, heading=1.0)
    point = np.array([4000.0, -2500.0, 60.0])
    geodetic = place.to_geodetic(point)
    # rounding of Earth-fixed positions
    assert place.to_world(*geodetic) == pytest.approx(point, abs=1e-8)
    reading = make(place, **IDEAL).sample(0, 0.0, body_state(point))
    assert (reading.latitude, reading.longitude) == pytest.approx(geodetic[:2], abs=1e-15)
    assert reading.height == pytest.approx(geodetic[2], abs=1e-8)
