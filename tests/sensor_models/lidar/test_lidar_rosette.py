"""Rosettes: prisms and mirror against Snell's law, closed forms and a published pattern."""

import math

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.lidar.patterns import PatternParameters, PatternType, make_pattern

INDEX = 1.51


def rosette(duration=0.1, **values):
    values = {"rows": 1, "columns": 2000, "prism_index": INDEX, **values}
    return make_pattern(PatternParameters(type=PatternType.rosette, **values), duration)


def off_axis(pattern, frame=0):
    """Angles between the rays and the x axis."""
    return np.arccos(np.clip(pattern.directions(frame)[:, 0], -1.0, 1.0))


# --- the naive twin


def unit(vector):
    return vector / math.sqrt(vector @ vector)


def refracted(ray, normal, before, after):
    """Snell's law by its meaning: n times the part along the surface is the same."""
    along = before / after * (ray - (ray @ normal) * normal)
    return along + math.sqrt(1.0 - along @ along) * normal


def thick_end(angle):
    return np.array([0.0, math.cos(angle), math.sin(angle)])


def traced(beam, index, wedges, angles):
    """One beam through both prisms, axis x, faces found from where the glass is thick."""
    axis = np.array([1.0, 0.0, 0.0])
    ray = refracted(beam, axis, 1.0, index)
    # the glass of the first grows toward its thick end in the direction of the light
    face = unit(axis - math.tan(wedges[0]) * thick_end(angles[0]))
    ray = refracted(ray, face, index, 1.0)
    # that of the second grows against it
    face = unit(axis + math.tan(wedges[1]) * thick_end(angles[1]))
    ray = refracted(ray, face, 1.0, index)
    return refracted(ray, axis, index, 1.0)


def test_prisms_bend_beams_as_snell_s_law_has_it():
    wedges, phases, speeds, spread = (0.3, 0.25), (0.4, 2.0), (700.0, -450.0), 0.09
    pattern = rosette(
        rows=3,
        columns=50,
        prism_wedge=wedges,
        prism_phase=phases,
        prism_speed=speeds,
        prism_spread=spread,
    )
    for frame in (0, 3):
        expected = []
        for column in range(50):
            time = (frame + column / 50) * 0.1
            angles = [phase + speed * time for phase, speed in zip(phases, speeds, strict=True)]
            for tilt in (spread / 2, 0.0, -spread / 2):
                beam = np.array([math.cos(tilt), 0.0, math.sin(tilt)])
                expected.append(traced(beam, INDEX, wedges, angles))
        # angles of the prisms reach 300 rad, whose roundings are 6e-14
        np.testing.assert_allclose(pattern.directions(frame), expected, rtol=0, atol=1e-12)


# --- closed forms


def test_the_first_prism_alone_draws_a_circle():
    wedge = math.radians(20.0)
    pattern = rosette(prism_wedge=(wedge, 0.0))
    deviation = math.asin(INDEX * math.sin(wedge)) - wedge
    # of the cosine near 1, whose roundings grow by 1 / sin(deviation)
    np.testing.assert_allclose(off_axis(pattern), deviation, rtol=0, atol=1e-14)


def test_the_second_prism_alone_draws_a_circle():
    wedge = math.radians(20.0)
    pattern = rosette(prism_wedge=(0.0, wedge))
    inside = wedge - math.asin(math.sin(wedge) / INDEX)
    np.testing.assert_allclose(off_axis(pattern), math.asin(INDEX * math.sin(inside)), atol=1e-14)


def test_thin_wedges_draw_the_first_order_rosette():
    wedges, phases, speeds = (0.010, 0.007), (0.3, 1.0), (800.0, -500.0)
    pattern = rosette(prism_wedge=wedges, prism_phase=phases, prism_speed=speeds)
    times = pattern.offset * 0.1
    first_order = (INDEX - 1.0) * sum(
        wedge * np.exp(1j * (phase + speed * times))
        for wedge, phase, speed in zip(wedges, phases, speeds, strict=True)
    )
    azimuth, elevation = pattern.angles(0)
    # what is left out is of the third order of the wedges: 1e-6
    np.testing.assert_allclose(azimuth + 1j * elevation, first_order, rtol=0, atol=2e-6)


def test_prisms_that_stand_against_each_other_let_light_straight_through():
    pattern = rosette(prism_wedge=(0.0, 0.0))
    assert off_axis(pattern).max() == 0.0
    # equal wedges, thick ends opposite: two parallel faces
    pattern = rosette(prism_wedge=(0.3, 0.3), prism_phase=(0.0, math.pi), prism_speed=(50.0, 50.0))
    assert np.abs(pattern.directions(0)[:, 1:]).max() < 1e-15


def test_the_mid_40_has_the_field_of_view_of_its_manual():
    pattern = rosette(columns=10_000)  # its prisms are the defaults
    widest = max(off_axis(pattern, frame).max() for frame in range(10))
    assert math.degrees(2.0 * widest) == pytest.approx(38.4, abs=0.05)  # the manual's digits


def test_a_mirror_throws_its_axis_around():
    tilt, speed, phase = math.radians(50.0), 300.0, 0.7
    pattern = rosette(
        prism_wedge=(0.0, 0.0), mirror_tilt=tilt, mirror_speed=speed, mirror_phase=phase
    )
    azimuth, elevation = pattern.angles(0)
    np.testing.assert_allclose(elevation, math.radians(10.0), rtol=0, atol=1e-14)
    turned = np.exp(1j * (azimuth - phase - speed * pattern.offset * 0.1))
    np.testing.assert_allclose(turned, 1.0, rtol=0, atol=1e-13)


def test_a_prism_that_lags_behind_the_mirror_moves_the_elevation_up_and_down():
    wedge, tilt, ahead = math.radians(20.0), math.radians(55.0), math.tau * 10.0
    pattern = rosette(
        prism_wedge=(wedge, 0.0),
        prism_speed=(-1000.0, 0.0),
        mirror_tilt=tilt,
        mirror_speed=-1000.0 - ahead,
    )
    bend = math.asin(INDEX * math.sin(wedge)) - wedge
    # the mirror leaves the angle to its axis as it is: spherical law of cosines
    axis = 2.0 * tilt - math.pi / 2.0
    phase = ahead * pattern.offset * 0.1
    expected = math.cos(bend) * math.sin(axis) + math.sin(bend) * math.cos(axis) * np.cos(phase)
    np.testing.assert_allclose(np.sin(pattern.angles(0)[1]), expected, rtol=0, atol=1e-12)


# --- time


def test_all_beams_of_a_group_fire_together_and_time_runs_through_the_frames():
    pattern = rosette(rows=4, columns=100, prism_spread=0.05)
    assert (pattern.offset.reshape(100, 4) == np.arange(100)[:, None] / 100).all()
    assert (pattern.ring.reshape(100, 4) == np.arange(4)).all()
    twice = rosette(duration=0.2, rows=4, columns=200, prism_spread=0.05)
    both = np.concatenate([pattern.directions(6), pattern.directions(7)])
    np.testing.assert_allclose(both, twice.directions(3), rtol=0, atol=1e-12)


def test_a_pattern_repeats_if_all_parts_make_whole_turns():
    turns = math.tau / 0.1
    closed = {"prism_speed": (3 * turns, -turns), "mirror_tilt": 1.0, "mirror_speed": 2 * turns}
    assert rosette(**closed).repeats
    assert (rosette(**closed).angles(0)[0] == rosette(**closed).angles(9)[0]).all()
    assert not rosette(**{**closed, "mirror_speed": 2.1 * turns}).repeats
    assert not rosette(**{**closed, "prism_speed": (3 * turns, -0.9 * turns)}).repeats
    assert not rosette().repeats


def test_late_frames_are_as_exact_as_early_ones():
    pattern = rosette(columns=10, prism_speed=(math.tau * 12.5, math.tau * -7.5))  # 1.25, -0.75
    late = pattern.directions(4_000_001)
    # 4e6 times the roundings of a turn, 1e-16
    np.testing.assert_allclose(late, pattern.directions(1), rtol=0, atol=1e-8)


def test_frames_fill_the_field_of_view_more_and_more():
    pattern = rosette(columns=10_000)
    seen, counts = set(), []
    for frame in range(5):
        cells = np.floor(np.degrees(np.transpose(pattern.angles(frame))) / 0.25).astype(int)
        seen.update(map(tuple, cells))
        counts.append(len(seen))
    assert counts == sorted(set(counts))
    assert counts[4] > 2 * counts[0]


# --- refusals


def test_prisms_that_keep_the_light_are_refused():
    with pytest.raises(ParameterError, match=r"pattern.prism.wedge = .*\(total reflection"):
        rosette(prism_wedge=(math.radians(42.0), 0.0))  # its critical angle is 41.5 deg
    rosette(prism_wedge=(math.radians(41.0), 0.0))
    with pytest.raises(ParameterError, match="total reflection"):
        rosette(rows=2, prism_wedge=(math.radians(41.0), 0.0), prism_spread=0.1)


def test_a_rosette_needs_the_duration_of_its_frames():
    with pytest.raises(ParameterError, match="sample_rate = 0 Hz leaves the duration"):
        rosette(duration=0.0)
