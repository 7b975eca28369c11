"""The parts of the ray tree: media around a branch, the stack of branches, places in the heap."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.kernels.light import media as media_kernel
from sensor_models.kernels.light.branches import (
    AHEAD,
    AROUND,
    DEPTH,
    EVENTS,
    MEDIA,
    MOST_BRANCHES,
    NESTING,
    NODE,
    NUMBER,
    OWNERS,
    RAY,
    START_X,
    WEIGHT,
    enter,
    entry_of,
    leave,
    medium_of,
    new_branches,
    push,
    step_down,
)
from sensor_models.kernels.light.segments import draw_ahead
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import LidarParameters
from sensor_models.scene.model import Medium
from tests import lidar_scenes as rig


def fresh(rows=1):
    """Branches that start at the origin with all light, in no volume."""
    branches = new_branches(rows)
    branches.numbers[:] = 0.0
    branches.numbers[:, WEIGHT] = 1.0
    return branches


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4))))
def test_media_around_a_branch_nest_like_a_list(steps):
    branches, around = fresh(), []
    for entering, owner in steps:
        if entering and len(around) < NESTING:
            enter(branches, 0, owner, 10 + owner)
            around.append(owner)
        elif not entering:
            entry = entry_of(branches, 0, owner)
            newest = max((k for k, other in enumerate(around) if other == owner), default=-1)
            assert entry == newest
            if entry >= 0:
                leave(branches, 0, entry)
                del around[entry]
        held = branches.ids[0, AROUND]
        assert branches.ids[0, OWNERS : OWNERS + held].tolist() == around
        assert branches.ids[0, MEDIA : MEDIA + held].tolist() == [10 + owner for owner in around]
        assert medium_of(branches, 0) == (10 + around[-1] if around else 0)


def test_media_beyond_the_last_that_there_is_room_for_are_forgotten():
    branches = fresh()
    for owner in range(NESTING + 3):
        assert enter(branches, 0, owner, owner) == (owner < NESTING)
    assert branches.ids[0, AROUND] == NESTING
    assert medium_of(branches, 0) == NESTING - 1
    assert entry_of(branches, 0, NESTING) == -1


def test_a_branch_takes_over_all_that_its_ray_knows():
    flight, branches = fresh(WIDTH), new_branches(MOST_BRANCHES)
    flight.ids[3, :OWNERS] = [3, 7, 5, 2, 9, 0]
    enter(flight, 3, 6, 1)
    enter(flight, 3, 4, 2)
    flight.numbers[3] = [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.5, 8.0, 7.0, 4.0, 0.25]
    place = push(flight, 3, branches, (0.0, 1.0, 0.0), (0.1, 0.2, 0.3), 0.25)
    step_down(branches, place, 2)
    expected = [1.1, 2.2, 3.3, 0.0, 1.0, 0.0, 0.125, 8.0, 7.0, 4.0, 0.25]
    assert branches.numbers[place].tolist() == expected
    ids = branches.ids[place]
    assert (ids[RAY], ids[NUMBER], ids[NODE], ids[DEPTH], ids[EVENTS]) == (3, 7, 12, 3, 9)
    assert ids[AROUND] == 2
    assert medium_of(branches, place) == 2
    assert flight.numbers[3, START_X] == 1.0  # the ray itself stays as it was


def test_a_stack_without_room_drops_what_comes():
    flight, branches = fresh(WIDTH), new_branches(2)
    along, off = (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    assert [push(flight, 0, branches, along, off, 1.0) for _ in range(3)] == [0, 1, -1]
    assert branches.filled[0] == 2


def path_of(medium):
    device = Lidar(LidarParameters(), rig.aim(), seed=3)
    return device._path(rig.scene(rig.across(5.0), media=(medium,)), 0)


def test_each_entry_into_a_medium_has_a_draw_of_its_own():
    path = path_of(Medium(absorption=0.1, return_probability=1.0, return_scale=3.0))
    flight, drawn = fresh(), set()
    for number in range(6):
        for node in (0, 1, 2, 2**17 - 2):  # the last is the last node of depth 16
            for event in (0, 1, 64):
                flight.ids[0, [NUMBER, NODE, EVENTS]] = number, node, event
                draw_ahead(path, flight, 0)
                drawn.add(flight.numbers[0, AHEAD])
    assert len(drawn) == 6 * 4 * 3
    assert all(0.0 < value < math.inf for value in drawn)


def test_a_medium_that_does_not_answer_has_its_echo_nowhere():
    path, flight = path_of(Medium(absorption=0.1)), fresh()
    assert path.media[0, media_kernel.RETURN_PROBABILITY] == 0.0
    draw_ahead(path, flight, 0)
    assert flight.numbers[0, AHEAD] == math.inf


def test_the_stack_has_room_for_the_deepest_tree():
    """Rays of one packet that split wherever they can: none of the branches is dropped."""
    panes = [rig.across(2.0 + 0.5 * k, of=1, thickness=0.2) for k in range(6)]
    fogs = tuple((1, rig.across(2.3 + 0.5 * k, thickness=0.1)) for k in range(5))
    seen = rig.scene(
        *panes,
        rig.across(9.0),
        materials=(rig.lambert(), rig.glass(2.4)),
        media=(Medium(), Medium(absorption=1e-6)),
        volumes=fogs,
    )
    own = rig.ALL | {"max_depth": 13, "weight_cutoff": 0.0}
    alone = rig.capture(seen, rig.aim(0.1, 0.05), own=own)
    together = rig.capture(seen, rig.aim(np.full(2 * WIDTH, 0.1), 0.05), own=own)
    assert len(alone) == 15
    for name in ("range", "intensity", "node"):
        np.testing.assert_array_equal(
            together[name].reshape(2 * WIDTH, 15), np.tile(alone[name], (2 * WIDTH, 1))
        )
