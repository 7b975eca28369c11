"""From echoes to returns: sorting, merging, detecting and choosing, against slow twins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.core.random import stream_key
from sensor_models.kernels.lidar.returns import (
    INTENSITY,
    MOST_ECHOES,
    NODE,
    PATH,
    RANGE,
    lies_before,
    make_room,
    new_echoes,
    place_for,
    select,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import LidarParameters, ReturnMode
from tests import oracles_lidar as twin
from tests.lidar_scenes import aim

LANE = 2
KEYS = np.array([stream_key(3, "lidar", f"term {k}") for k in range(5)])


def task_of(**own):
    """What the kernels are asked for by a lidar with these parameters."""
    return Lidar(LidarParameters(**own), aim())._task(0, (0.0, 0.0), (0, 1))


def list_of(pairs):
    """A list of echoes of (range, intensity), of nodes 0, 1, ... in this order."""
    echoes = new_echoes()
    for node, (distance, intensity) in enumerate(pairs):
        place = place_for(echoes, LANE, distance, intensity)
        if place >= 0:
            echoes.numbers[LANE, place] = 0.0
            echoes.ids[LANE, place] = 0
            echoes.numbers[LANE, place, RANGE] = distance
            echoes.numbers[LANE, place, INTENSITY] = intensity
            echoes.numbers[LANE, place, PATH] = 2.0 * distance
            echoes.ids[LANE, place, NODE] = node
    return echoes


def returns_of(pairs, ray=0, **own):
    """Returns as (range, intensity, node)."""
    echoes = list_of(pairs)
    count = select(task_of(**own), echoes, KEYS, LANE, ray)
    places = echoes.chosen[:count]
    rows = echoes.numbers[LANE, places]
    nodes = echoes.ids[LANE, places, NODE]
    return [
        (float(r[RANGE]), float(r[INTENSITY]), int(n)) for r, n in zip(rows, nodes, strict=True)
    ]


lists = st.lists(
    st.tuples(
        st.sampled_from([1.0, 2.0, 2.1, 2.25, 3.0, 7.5, 7.75, 20.0, 300.0]),
        st.sampled_from([1e-6, 0.01, 0.02, 0.1, 0.25, 1.0, 1e4]),
    ),
    max_size=12,
)


@given(lists, st.sampled_from(ReturnMode), st.integers(1, 15))
def test_each_mode_chooses_the_returns_of_its_twin(pairs, mode, most):
    found = returns_of(pairs, return_mode=mode, max_returns=most)
    numbered = [(*pair, node) for node, pair in enumerate(pairs)]
    expected = twin.chosen(numbered, mode, most)
    # Echoes that are equal in both are interchangeable.
    assert [echo[:2] for echo in found] == [echo[:2] for echo in expected]


@given(lists, st.sampled_from([0.05, 0.15, 0.3, 1.0, 6.0]))
def test_merged_echoes_are_those_of_the_twin(pairs, window):
    found = returns_of(pairs, return_mode=ReturnMode.all, max_returns=15, range_resolution=window)
    expected = twin.merged([(*pair, node) for node, pair in enumerate(pairs)], window)
    assert len(found) == len(expected)
    for echo, (middle, total, best) in zip(found, expected, strict=True):
        assert echo[0] == pytest.approx(middle, rel=1e-12)  # sums in float64
        assert echo[1] == pytest.approx(total, rel=1e-12)
        assert pairs[echo[2]] == best[:2]


def test_echoes_at_the_resolution_stay_apart():
    own = {"return_mode": ReturnMode.all, "range_resolution": 0.5}
    assert len(returns_of([(4.0, 1.0), (4.5, 1.0)], **own)) == 2
    (one,) = returns_of([(4.0, 1.0), (4.25, 3.0)], **own)
    assert one == (4.1875, 4.0, 1)


def test_the_window_counts_from_the_first_of_a_group():
    own = {"return_mode": ReturnMode.all, "range_resolution": 0.5}
    pairs = [(4.0 + 0.25 * k, 1.0) for k in range(4)]
    assert returns_of(pairs, **own) == [(4.125, 2.0, 0), (4.625, 2.0, 2)]


def test_a_merged_echo_has_the_mean_path_of_its_parts():
    echoes = list_of([(4.0, 1.0), (4.25, 3.0)])
    select(task_of(range_resolution=0.5), echoes, KEYS, LANE, 0)
    assert echoes.numbers[LANE, 0, PATH] == 2.0 * 4.1875


def test_dual_gives_the_second_strongest_where_the_strongest_is_the_last():
    own = {"return_mode": ReturnMode.dual}
    assert returns_of([(1.0, 1.0), (2.0, 2.0), (3.0, 5.0)], **own) == [(2.0, 2.0, 1), (3.0, 5.0, 2)]
    assert returns_of([(1.0, 5.0), (2.0, 2.0), (3.0, 1.0)], **own) == [(1.0, 5.0, 0), (3.0, 1.0, 2)]
    assert returns_of([(3.0, 1.0)], **own) == [(3.0, 1.0, 0)]


def test_of_echoes_of_the_same_strength_the_nearer_counts():
    assert returns_of([(5.0, 1.0), (4.0, 1.0), (6.0, 1.0)]) == [(4.0, 1.0, 1)]


@given(
    st.permutations(range(MOST_ECHOES + 40)),
    st.lists(st.integers(1, 30), min_size=MOST_ECHOES + 40, max_size=MOST_ECHOES + 40),
)
def test_a_full_list_keeps_the_strongest_echoes(order, strengths):
    pairs = [(1.0 + number, float(strengths[number])) for number in order]
    echoes = list_of(pairs)
    assert echoes.held[LANE] == MOST_ECHOES
    kept = sorted((row[RANGE], row[INTENSITY]) for row in echoes.numbers[LANE])
    assert kept == sorted(sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:MOST_ECHOES])


def test_lists_of_other_rays_are_left_alone():
    echoes = list_of([(k + 1.0, 1.0) for k in range(5)])
    select(task_of(range_resolution=3.0), echoes, KEYS, LANE, 0)
    assert [int(held) for held in echoes.held] == [2 * (lane == LANE) for lane in range(WIDTH)]


def test_parts_of_a_beam_are_merged_before_there_is_no_room():
    task = task_of(subrays=1000, range_resolution=0.1)
    echoes = new_echoes()
    for part in range(1000):
        distance = 5.0 if part % 3 else 8.0
        place = place_for(echoes, LANE, distance, 1e-3)
        assert place >= 0
        echoes.numbers[LANE, place] = 0.0
        echoes.ids[LANE, place] = 0
        echoes.numbers[LANE, place, RANGE] = distance
        echoes.numbers[LANE, place, INTENSITY] = 1e-3
        make_room(task, echoes, LANE)
    select(task, echoes, KEYS, LANE, 0)
    assert echoes.held[LANE] == 2
    # Sums of 1000 terms in float64.
    np.testing.assert_allclose(echoes.numbers[LANE, :2, RANGE], [5.0, 8.0], rtol=1e-12)
    np.testing.assert_allclose(echoes.numbers[LANE, :2, INTENSITY], [0.666, 0.334], rtol=1e-12)


def test_detection_keeps_each_echo_with_its_probability():
    pairs = [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]
    own = {"return_mode": ReturnMode.all, "detection_probability": 0.3}
    rays, task, kept = 20_000, task_of(**own), np.zeros(3)
    for ray in range(rays):
        echoes = list_of(pairs)
        for place in echoes.chosen[: select(task, echoes, KEYS, LANE, ray)]:
            kept[echoes.ids[LANE, place, NODE]] += 1
    # 4 sigma of a binomial share
    np.testing.assert_allclose(kept / rays, 0.3, atol=4.0 * math.sqrt(0.21 / rays))


def test_a_threshold_holds_for_what_parts_of_a_beam_add_up_to():
    parts = [(4.0, 0.02)] * 4 + [(9.0, 0.02)]
    own = {"subrays": 10, "min_intensity": 0.05, "return_mode": ReturnMode.all}
    assert [echo[0] for echo in returns_of(parts, **own)] == [4.0]


def test_echoes_at_one_range_are_sorted_by_node():
    echoes = list_of([(2.0, 1.0), (2.0, 3.0), (1.0, 1.0)])
    assert lies_before(echoes, LANE, 0, 1)
    assert not lies_before(echoes, LANE, 1, 0)
    assert lies_before(echoes, LANE, 2, 0)


def test_no_echoes_make_no_returns():
    for mode in ReturnMode:
        assert returns_of([], return_mode=mode) == []
