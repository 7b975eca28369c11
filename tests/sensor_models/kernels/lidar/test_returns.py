"""From echoes to returns: sorting, merging, detecting and choosing, against slow twins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.kernels.lidar.echoes import (
    ECHOES_OF_PART,
    INTENSITY,
    NODE,
    PATH,
    RANGE,
    new_echoes,
    place_for,
)
from sensor_models.kernels.lidar.returns import detect, lies_before, new_lists, select, sort
from sensor_models.kernels.light.paths import ECHO_LIMIT, LIMITS
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import LidarParameters, ReturnMode
from tests import oracles_lidar as twin
from tests.lidar_scenes import aim

PLACE = 2


def detector_of(**own):
    """The detector of a lidar with these parameters."""
    return Lidar(LidarParameters(**own), aim(), seed=3)._detector(0)


def list_of(pairs, place=PLACE, echoes=None):
    """A table of echoes of one ray, (range, intensity), of nodes 0, 1, ... in this order."""
    echoes = echoes or new_echoes(WIDTH, 1000)
    lost = np.zeros(LIMITS, np.int64)
    for node, (distance, intensity) in enumerate(pairs):
        at = place_for(echoes, place, distance, intensity, lost)
        echoes.numbers[at] = 0.0
        echoes.ids[at, :-1] = 0
        echoes.numbers[at, [RANGE, INTENSITY, PATH]] = distance, intensity, 2.0 * distance
        echoes.ids[at, NODE] = node
    assert not lost.any()
    return echoes


def chosen_of(detector, echoes, ray=0):
    """Places of the returns in the table."""
    lists = new_lists()
    count = select(detector, echoes, lists, PLACE, ray)
    return lists.order[lists.chosen[:count]]


def returns_of(pairs, ray=0, **own):
    """Returns as (range, intensity, node)."""
    echoes = list_of(pairs)
    return [
        (*map(float, echoes.numbers[place, [RANGE, INTENSITY]]), int(echoes.ids[place, NODE]))
        for place in chosen_of(detector_of(**own), echoes, ray)
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
    (place,) = chosen_of(detector_of(range_resolution=0.5), echoes)
    assert echoes.numbers[place, PATH] == 2.0 * 4.1875


def test_dual_gives_the_second_strongest_where_the_strongest_is_the_last():
    own = {"return_mode": ReturnMode.dual}
    assert returns_of([(1.0, 1.0), (2.0, 2.0), (3.0, 5.0)], **own) == [(2.0, 2.0, 1), (3.0, 5.0, 2)]
    assert returns_of([(1.0, 5.0), (2.0, 2.0), (3.0, 1.0)], **own) == [(1.0, 5.0, 0), (3.0, 1.0, 2)]
    assert returns_of([(3.0, 1.0)], **own) == [(3.0, 1.0, 0)]


def test_of_echoes_of_the_same_strength_the_nearer_counts():
    assert returns_of([(5.0, 1.0), (4.0, 1.0), (6.0, 1.0)]) == [(4.0, 1.0, 1)]


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 5)), max_size=200))
def test_sorting_keeps_the_order_of_equal_echoes(pairs):
    echoes, lists = list_of([(float(r), float(i)) for r, i in pairs]), new_lists()
    echoes.ids[:, NODE] = 0
    lists.order[: len(pairs)] = range(len(pairs))
    sort(echoes, lists, len(pairs))
    expected = sorted(range(len(pairs)), key=lambda k: (pairs[k][0], -pairs[k][1]))
    assert lists.order[: len(pairs)].tolist() == expected


@given(st.randoms(use_true_random=False))
def test_a_ray_with_all_the_echoes_it_may_have_keeps_the_strongest_and_counts_the_others(random):
    pairs = [(1.0 + k, float(k % 30 + 1)) for k in range(ECHOES_OF_PART + 40)]
    random.shuffle(pairs)
    echoes, lost = new_echoes(WIDTH, 1), np.zeros(LIMITS, np.int64)
    for distance, intensity in pairs:
        place = place_for(echoes, PLACE, distance, intensity, lost)
        if place >= 0:
            echoes.numbers[place, [RANGE, INTENSITY]] = distance, intensity
    assert lost[ECHO_LIMIT] == lost.sum() == 40
    assert echoes.sizes[PLACE] == ECHOES_OF_PART
    kept = [tuple(row) for row in echoes.numbers[:ECHOES_OF_PART, [RANGE, INTENSITY]].tolist()]
    best = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:ECHOES_OF_PART]
    assert sorted(kept) == sorted(best)
    assert place_for(echoes, PLACE + 1, 1.0, 1.0, lost) == ECHOES_OF_PART  # others have room
    assert lost.sum() == 40


def test_lists_of_other_rays_are_left_alone():
    echoes = list_of([(k + 1.0, 1.0) for k in range(5)])
    before = echoes.sizes.copy()
    other = list_of([(2.0, 1.0), (2.5, 1.0)], PLACE + 1, echoes)
    assert len(chosen_of(detector_of(range_resolution=3.0), other)) == 1
    assert (other.sizes - before)[[PLACE, PLACE + 1]].tolist() == [0, 2]
    assert other.numbers[5:7, RANGE].tolist() == [2.0, 2.5]


@pytest.mark.parametrize("parts", [4, 33, 1000])
def test_however_many_parts_a_beam_has_they_are_merged_as_a_whole(parts):
    """The window counts from the first of a group, also where groups touch."""
    own = {"subrays": parts, "range_resolution": 0.75, "return_mode": ReturnMode.all}
    pairs = [((10.0, 10.6, 11.0)[part % 3], 1.0 / parts) for part in range(parts)]
    expected = twin.merged([(*pair, 0) for pair in pairs], 0.75)
    found = returns_of(pairs, **own)
    assert len(found) == len(expected) == 2
    # Sums of up to 1000 terms in float64.
    for echo, (middle, total, _) in zip(found, expected, strict=True):
        assert echo[:2] == pytest.approx((middle, total), rel=1e-12)


def test_detection_keeps_each_echo_with_its_probability():
    pairs = [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]
    own = {"return_mode": ReturnMode.all, "detection_probability": 0.3}
    rays, detector, kept = 20_000, detector_of(**own), np.zeros(3)
    echoes, lists = list_of(pairs), new_lists()
    for ray in range(rays):
        count = select(detector, echoes, lists, PLACE, ray)
        for place in lists.order[lists.chosen[:count]]:
            kept[echoes.ids[place, NODE]] += 1
    # 4 sigma of a binomial share
    np.testing.assert_allclose(kept / rays, 0.3, atol=4.0 * math.sqrt(0.21 / rays))


def test_a_threshold_holds_for_what_parts_of_a_beam_add_up_to():
    parts = [(4.0, 0.02)] * 4 + [(9.0, 0.02)]
    own = {"subrays": 10, "min_intensity": 0.05, "return_mode": ReturnMode.all}
    assert [echo[0] for echo in returns_of(parts, **own)] == [4.0]


def test_echoes_at_one_range_are_sorted_by_node():
    echoes = list_of([(2.0, 1.0), (2.0, 3.0), (1.0, 1.0)])
    assert lies_before(echoes, 0, 1)
    assert not lies_before(echoes, 1, 0)
    assert lies_before(echoes, 2, 0)


def test_far_echoes_of_a_ray_share_no_draws_with_the_next_ray():
    detector, detected = detector_of(detection_probability=0.5), []
    echoes = list_of([(1.0 + k, 1.0) for k in range(200)])
    for ray in (7, 8):
        order = np.arange(200)
        found = np.zeros(200, bool)
        found[order[: detect(detector, echoes, order, 200, ray)]] = True
        detected.append(found)
    assert (detected[0][64:128] != detected[1][:64]).sum() > 10  # 32 of 64, by chance 4 sigma


def test_no_echoes_make_no_returns():
    for mode in ReturnMode:
        assert returns_of([], return_mode=mode) == []
