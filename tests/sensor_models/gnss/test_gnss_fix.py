"""The receiver over time: fixes, carrier, states, and what is refused."""

import math

import numpy as np
import pytest

from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError, quantities_of
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import (
    ConstellationChoice,
    ErrorMode,
    GnssParameters,
    GnssReading,
    Multipath,
    Solution,
)
from sensor_models.gnss.texts import parse_utc
from sensor_models.kernels.gnss import layout as at
from tests.sensor_models.gnss.test_gnss import IDEAL, PLACE, east_north_up, make, still
from tests.trajectories import body_state

# --- fix, carrier --------------------------------------------------------------------------------


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


# --- repeating, states, bad values ---------------------------------------------------------------

MODES = [
    {"error_mode": ErrorMode.fixed},
    {"error_mode": ErrorMode.dop, "constellation": ConstellationChoice.gps_galileo},
    {"error_mode": ErrorMode.pseudorange, "constellation": ConstellationChoice.all},
    {"solution": Solution.rtk, "rtk_convergence_time": 3.0, "velocity_correlated": 0.2},
]


@pytest.mark.parametrize("mode", MODES)
def test_a_state_continues_bit_by_bit(mode):
    gnss, other = make(**mode), make(**mode)
    for k in range(6):
        gnss.sample(k, float(k), body_state())
    other.state = gnss.state
    for k in range(6, 12):
        assert gnss.sample(k, float(k), body_state()) == other.sample(k, float(k), body_state())
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


def test_a_bad_sample_ends_a_batch_where_it_stands():
    times, bodies = still(6)
    bodies[4, 2] = math.nan
    batch, single = make(), make()
    with pytest.raises(ParameterError, match="finite numbers"):
        batch.sample_batch(0, times, bodies)
    for k in range(4):
        single.sample(k, times[k], bodies[k])
    assert (batch.state == single.state).all()
    with pytest.raises(ParameterError, match="later than"):
        batch.sample_batch(4, times[3:5], bodies[3:5] * 0.0 + body_state())


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
        "rtk.minimum_satellites", "latency", "nmea.on", "rinex.on", "geoid_undulation",
            "dropout.interval", "dropout.duration", "record_pseudoranges",
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
        "rinex.epoch",
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
