"""The receiver: truth, errors, fixes, carrier, latency, states."""

import dataclasses
import math

import allantools
import numpy as np
import pymap3d
import pytest

from sensor_models.core.frames import MountParameters
from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError, quantities_of
from sensor_models.gnss.gnss import Gnss, parse_utc
from sensor_models.gnss.parameters import (
    CEP_OVER_SIGMA,
    R95_OVER_SIGMA,
    ConstellationChoice,
    ErrorMode,
    GnssParameters,
    GnssReading,
    Multipath,
    Solution,
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
    rate = parameters.pop("rate", 0.0)
    identity = {key: parameters.pop(key) for key in ("seed", "sensor") if key in parameters}
    mounted = MountParameters(mount)
    return Gnss(GnssParameters(**parameters), mounted, origin, rate=rate, **identity)


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
    # roundings of 3e7 m, and of angles of size 1
    assert sky[:, 7] == pytest.approx(distance, abs=1e-7)
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


# --- fix, carrier, latency -----------------------------------------------------------------------


def test_without_a_fix_the_reading_holds():
    gnss = make()
    seen = gnss.sample(0, 0.0, body_state())
    blind = make(elevation_mask=math.radians(89.0))
    first = blind.sample(0, 0.0, body_state())
    assert seen.fix == 3
    assert (first.fix, first.carrier_solution, first.dop_position) == (0, 0, 99.99)
    place = (first.latitude, first.longitude, first.height)
    assert place == (PLACE.latitude, PLACE.longitude, PLACE.height)


def mask_for(count):
    """An elevation mask that leaves so many satellites."""
    gnss = make(**IDEAL)
    gnss.sample(0, 0.0, body_state())
    sines = np.sort(gnss.sky[:, 3])[::-1]
    return math.asin(0.5 * (sines[count - 1] + sines[count]))


@pytest.mark.parametrize(("count", "fix"), [(5, 3), (4, 3), (3, 2), (2, 0)])
def test_the_fix_goes_with_the_satellites(count, fix):
    gnss = make(elevation_mask=mask_for(count), **IDEAL)
    reading = gnss.sample(0, 0.0, body_state((3.0, 4.0, 25.0)))
    assert (reading.satellites, reading.fix) == (count, fix)
    if fix == 2:
        assert reading.height == 520.0  # of the origin, as there was no height before
        assert reading.accuracy[1] == 99.99 or reading.accuracy == (0.0, 0.0)
    if fix == 0:
        assert reading.latitude == PLACE.latitude


def test_a_wrong_held_height_moves_a_2d_fix_of_pseudoranges():
    def fix(height):
        gnss = make(
            error_mode=ErrorMode.pseudorange,
            elevation_mask=mask_for(3),
            range_correlated=0.0,
            range_white=0.0,
        )
        reading = gnss.sample(0, 0.0, body_state((0.0, 0.0, height)))
        row = np.array([[0.0, reading.latitude, reading.longitude, reading.height]])
        return east_north_up(row)[0]

    # roundings at the ground
    assert np.hypot(*fix(0.0)[:2]) < 1e-6
    assert np.hypot(*fix(100.0)[:2]) > 5.0


def carriers(gnss, count=30, step=1.0):
    return [gnss.sample(k, k * step, body_state()).carrier_solution for k in range(count)]


def test_rtk_is_float_until_it_has_converged():
    gnss = make(solution=Solution.rtk, rtk_convergence_time=10.0)
    assert carriers(gnss, 20) == [1] * 10 + [2] * 10
    assert carriers(make(solution=Solution.rtk, rtk_convergence_time=0.0), 3) == [2, 2, 2]
    assert carriers(make(), 3) == [0, 0, 0]


def test_rtk_converges_at_a_rate_that_has_no_exact_step():
    gnss = make(solution=Solution.rtk, rtk_convergence_time=1.0)
    assert carriers(gnss, 12, 0.1) == [1] * 10 + [2] * 2


def test_rtk_stays_float_with_too_few_satellites():
    gnss = make(solution=Solution.rtk, rtk_convergence_time=2.0, rtk_minimum_satellites=8)
    assert carriers(gnss, 8) == [1] * 8


def test_float_errors_are_twenty_times_as_large():
    both = {"solution": Solution.rtk, "rtk_convergence_time": 100.0}
    loose = make(**both).sample_batch(0, *still(50))
    tight = make().sample_batch(0, *still(50))
    # the position on the Earth rounds to 1e-9 m
    assert east_north_up(loose) == pytest.approx(20.0 * east_north_up(tight), abs=1e-5)
    assert loose[0, at.ACCURACY] == pytest.approx(20.0 * tight[0, at.ACCURACY], rel=1e-15)


def test_a_fix_is_shown_after_the_latency():
    gnss = make(latency=0.25, rate=10.0)
    instants = []
    for k in range(20):
        gnss.sample(k, k / 10.0, body_state())
        instants.append(gnss.shown_time(k / 10.0))
        later = gnss.shown_time(k / 10.0 + 0.05)
        assert later == pytest.approx((k - 2) / 10.0 if k >= 2 else -math.inf)
    assert instants[:3] == [-math.inf] * 3
    assert instants[3:] == [k / 10.0 for k in range(17)]
    assert make(latency=0.25, rate=10.0).shown(99.0) is None


def test_without_latency_the_newest_fix_is_shown():
    gnss = make()
    for k in range(3):
        assert gnss.sample(k, float(k), body_state()) == gnss.shown(float(k))


# --- repeating, states, bad values ---------------------------------------------------------------

MODES = [
    {"error_mode": ErrorMode.fixed},
    {"error_mode": ErrorMode.dop, "constellation": ConstellationChoice.gps_galileo},
    {"error_mode": ErrorMode.pseudorange, "constellation": ConstellationChoice.all},
    {"solution": Solution.rtk, "rtk_convergence_time": 3.0, "velocity_correlated": 0.2},
    {"latency": 1.5, "rate": 1.0},
]


@pytest.mark.parametrize("mode", MODES)
def test_a_state_continues_bit_by_bit(mode):
    gnss, other = make(**mode), make(**mode)
    for k in range(6):
        gnss.sample(k, float(k), body_state())
    other.state = gnss.state
    for k in range(6, 12):
        assert gnss.sample(k, float(k), body_state()) == other.sample(k, float(k), body_state())
        assert gnss.shown(float(k)) == other.shown(float(k))
    assert (gnss.state == other.state).all()


@pytest.mark.parametrize("mode", MODES)
def test_a_reset_and_a_new_sample_0_replay(mode):
    gnss = make(**mode)
    first = [gnss.sample(k, float(k), body_state()) for k in range(5)]
    gnss.reset()
    assert (gnss.state == make(**mode).state).all()
    assert [gnss.sample(k, float(k), body_state()) for k in range(5)] == first
    assert [gnss.sample(k, float(k), body_state()) for k in range(5)] == first


@pytest.mark.parametrize("mode", MODES)
def test_a_batch_is_the_samples_one_by_one(mode):
    times, bodies = still(8)
    one, all_at_once = make(**mode), make(**mode)
    for k in range(8):
        one.sample(k, times[k], bodies[k])
    all_at_once.sample_batch(0, times, bodies)
    assert (one.state == all_at_once.state).all()


def test_other_seeds_and_sensors_have_other_noise():
    heights = {make(seed=seed).sample(0, 0.0, body_state()).height for seed in range(5)}
    heights |= {make(sensor=name).sample(0, 0.0, body_state()).height for name in "abc"}
    assert len(heights) == 8


@pytest.mark.parametrize("mode", MODES[:3])
def test_uneven_steps_keep_the_spread(mode):
    rng = np.random.default_rng(1)
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(1.0, 600.0, 4000))])
    gnss = make(error_white=(0.0, 0.0), **mode)
    if mode["error_mode"] == ErrorMode.fixed:
        error = east_north_up(gnss.sample_batch(0, times, np.tile(body_state(), (4001, 1))))
        assert error[:, 0].std() == pytest.approx(1.2, rel=0.05)  # 2000 or so are independent
    else:
        gnss.sample_batch(0, times, np.tile(body_state(), (4001, 1)))
        assert np.isfinite(gnss.state).all()


@pytest.mark.parametrize(
    ("time", "body", "message"),
    [
        (math.nan, body_state(), "time = nan"),
        (2.0, body_state((math.nan, 0.0, 0.0)), "finite"),
        (2.0, body_state(velocity=(0.0, math.inf, 0.0)), "finite"),
        (1.0, body_state(), "later than"),
    ],
)
def test_a_bad_sample_is_refused_and_changes_nothing(time, body, message):
    gnss = make()
    gnss.sample(0, 0.0, body_state())
    gnss.sample(1, 1.0, body_state())
    before = gnss.state
    with pytest.raises(ParameterError, match=message):
        gnss.sample(2, time, body)
    assert (gnss.state == before).all()
    gnss.sample(2, 2.0, body_state())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"latency": 0.5}, "needs a sampling rate"),
        ({"latency": 500.0, "rate": 1000.0}, "under way"),
        ({"utc_start": "yesterday"}, "utc_start = 'yesterday'"),
        ({"error_time_constant": 0.0}, "error.time_constant = 0.0 s"),
        ({"multipath": Multipath.bias}, "multipath = bias while error.mode is fixed"),
        ({"constellation": ConstellationChoice.file}, "almanac_file = ''"),
        ({"almanac_file": "x.yuma"}, "constellation = gps"),
        (
            {"constellation": ConstellationChoice.file, "almanac_file": "/nowhere.yuma"},
            "almanac file /nowhere.yuma",
        ),
    ],
)
def test_bad_parameters_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        make(**given)


def test_the_centre_of_the_earth_is_refused():
    with pytest.raises(ParameterError, match="centre"):
        make(Georeference()).sample(0, 0.0, body_state((0.0, 0.0, -6_378_000.0)))


def test_a_state_of_another_receiver_is_refused():
    gnss = make()
    with pytest.raises(ValueError, match="needs"):
        gnss.state = make(constellation=ConstellationChoice.all).state


def test_names_are_those_of_the_specification():
    parameters = {q.name for q in quantities_of(GnssParameters).values()}
    assert parameters == {
        "error.mode", "error.correlated", "error.white", "error.time_constant", "velocity.white",
        "velocity.correlated", "range.correlated", "range.white", "constellation", "almanac_file",
        "time_of_week", "utc_start", "elevation_mask", "sky_visibility", "multipath",
        "nlos.probability", "nlos.mean", "solution", "rtk.convergence_time",
        "rtk.minimum_satellites", "latency", "nmea.on", "geoid_undulation",
    }  # fmt: skip
    outputs = [
        name
        for field, q in quantities_of(GnssReading).items()
        for name, _ in q.parts(getattr(GnssReading(), field))
    ]
    assert outputs == [
        "latitude", "longitude", "height", "velocity.east", "velocity.north", "velocity.up", "fix",
        "carrier_solution", "satellites", "dop.geometric", "dop.position", "dop.horizontal",
        "dop.vertical", "dop.time", "accuracy.horizontal", "accuracy.vertical", "nmea.sentences",
    ]  # fmt: skip
    origins = {q.name for q in quantities_of(Georeference).values()}
    assert origins == {f"origin.{name}" for name in ("latitude", "longitude", "height", "heading")}


@pytest.mark.parametrize(
    "text", ["2026-01-01T00:00:00Z", "2026-01-01", "2026-01-01T01:00:00+01:00"]
)
def test_one_instant_in_several_forms(text):
    assert parse_utc(text).isoformat() == "2026-01-01T00:00:00+00:00"


def test_time_of_week_belongs_to_the_start():
    early = Gnss(GnssParameters(**IDEAL), None, PLACE)
    late = Gnss(GnssParameters(**IDEAL), None, PLACE, start=500.0)
    assert early.sample(0, 0.0, body_state()) == late.sample(0, 500.0, body_state())
    assert early.utc_at(0.0) == late.utc_at(500.0)


def test_the_turn_of_the_body_turns_the_lever():
    turn = oracles.turn((0, 0, 1), math.pi / 2)
    reading = make(mount=(10.0, 0.0, 0.0), **IDEAL).sample(0, 0.0, body_state(orientation=turn))
    row = np.array([[0.0, reading.latitude, reading.longitude, reading.height]])
    # rounding of Earth-fixed positions
    assert east_north_up(row)[0] == pytest.approx([0.0, 10.0, 0.0], abs=1e-8)
