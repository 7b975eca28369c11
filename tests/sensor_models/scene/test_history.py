"""The past of a scene's bodies: what is kept, what lies between, what is said of the rest."""

import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.core.frames import interpolate_body
from sensor_models.scene import pose_memory, shared_file
from sensor_models.scene.history import History, Sight, same_instant
from sensor_models.scene.pose_memory import BODY_SIZE, INSTANT, slots_for
from sensor_models.scene.registry import SceneHandle, attach, open_scene
from tests.peer import Peer
from tests.rail_scene import write_rail

SPEED, TURN = np.array([8.0, -1.0, 0.5]), 0.7


def states_at(time: float) -> np.ndarray:
    """Two bodies: one that goes straight and turns, one on a circle."""
    states = np.zeros((2, BODY_SIZE))
    states[0, :3], states[0, 7:10], states[0, 12] = SPEED * time, SPEED, TURN
    states[0, 3], states[0, 6] = math.cos(0.5 * TURN * time), math.sin(0.5 * TURN * time)
    states[1, :3] = math.cos(time), math.sin(time), 0.0
    states[1, 3], states[1, 7:10] = 1.0, (-math.sin(time), math.cos(time), 0.0)
    return states


def known(times: np.ndarray) -> History:
    return History(np.asarray(times, float), np.array([states_at(time) for time in times]))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SceneHandle:
    monkeypatch.setenv(shared_file.DIRECTORY_VARIABLE, str(tmp_path / "shared"))
    with open_scene(write_rail(tmp_path / "rail")) as opened:
        yield opened


# ---- between known states ------------------------------------------------------------------------


def test_between_known_states_bodies_are_interpolated_as_a_sensors_own() -> None:
    history, instants = known([0.0, 0.1, 0.3]), np.array([0.0, 0.02, 0.1, 0.15, 0.29, 0.3])
    seen = history.at(instants)
    assert seen.about == {}
    np.testing.assert_allclose(seen.states[:, 0, :3], np.outer(instants, SPEED), atol=1e-14)
    np.testing.assert_allclose(seen.states[:, 0, 6], np.sin(0.5 * TURN * instants), atol=1e-12)
    # A circle by cubics: h^4 / 384 of a fourth derivative of 1.
    circle = np.stack([np.cos(instants), np.sin(instants)], axis=1)
    np.testing.assert_allclose(seen.states[:, 1, :2], circle, atol=0.2**4 / 384.0)
    between = interpolate_body(states_at(0.1)[1], states_at(0.3)[1], 0.3 - 0.1, (0.15 - 0.1) / 0.2)
    np.testing.assert_allclose(seen.states[3, 1], between, atol=1e-12)


@pytest.mark.parametrize("off", [-4e-10, 0.0, 4e-10])
def test_an_instant_that_is_known_but_for_rounding_has_that_state(off: float) -> None:
    for history in (known([0.0, 0.1]), known([0.0, 0.1, 0.2])):
        seen = history.at([0.1 + off])
        assert seen.states[0].tobytes() == states_at(0.1).tobytes()
        assert seen.about == {}


@pytest.mark.parametrize(("share", "same"), [(0.6, True), (-0.6, True), (1.6, False)])
def test_late_instants_are_the_same_up_to_a_share_of_them(share: float, same: bool) -> None:
    """Masters add up time: at 1e6 s its roundings are as much larger."""
    late = 1e6
    other = late + share * INSTANT * late
    assert same_instant(late, other) == same
    history = known([0.0, late]).followed_by(known([other, late + 5.0]))
    assert len(history.times) == (3 if same else 4)


def test_bodies_stand_still_where_they_are_not_known_and_that_is_said() -> None:
    history = known([1.0, 1.5])
    seen = history.at([0.5, 1.2, 2.0])
    assert seen.states[0].tobytes() == states_at(1.0).tobytes()
    assert seen.states[2].tobytes() == states_at(1.5).tobytes()
    assert seen.about == {"bodies_known_from": 1.0, "bodies_known_until": 1.5}
    assert history.at([1.2, 2.0]).about == {"bodies_known_until": 1.5}
    assert history.at([1.5 + 1e-7]).about == {}, "a millionth of a step is rounding"


def test_what_is_newer_replaces_what_it_reaches_back_to() -> None:
    own = known([0.0, 0.1, 0.2, 0.3])
    other = History(np.array([0.2, 0.4]), np.ones((2, 2, BODY_SIZE)))
    both = own.followed_by(other)
    assert both.times.tolist() == [0.0, 0.1, 0.2, 0.4]
    assert (both.states[2:] == 1.0).all()
    manifest = History(np.array([-np.inf]), np.zeros((1, 2, BODY_SIZE)))
    assert manifest.followed_by(other).times.tolist() == [0.2, 0.4]
    assert known([0.0, 1.0, 2.0]).since(1.5).times.tolist() == [1.0, 2.0]
    foreign = History(np.array([0.2]), np.zeros((1, 5, BODY_SIZE)))
    assert own.followed_by(foreign) is foreign


# ---- the ring ------------------------------------------------------------------------------------


def test_the_past_is_the_same_in_every_process(world: SceneHandle) -> None:
    for k in range(30):
        world.move(0.1 * k, states_at(0.1 * k))
    instants = [0.0, 0.55, 1.234, 2.9]
    here = world.bodies_at(instants)
    expected = known(0.1 * np.arange(30)).at(instants)
    np.testing.assert_allclose(here.states, expected.states, rtol=0.0, atol=1e-12)
    with Peer() as peer:
        peer.ask(f"(w := attach({world.number})).number")
        assert peer.ask(f"w.bodies_at({instants}).states.tolist()") == here.states.tolist()
        world.move(3.0, states_at(3.0))
        assert peer.ask("w.bodies_at([2.95]).states.tolist()") == [
            world.bodies_at([2.95]).states[0].tolist()
        ]


def test_before_anybody_moves_them_bodies_are_where_the_manifest_has_them(
    world: SceneHandle,
) -> None:
    seen = world.bodies_at([-5.0, 0.0, 1e9])
    assert seen.about == {}
    assert (seen.states[:, 0, 0] == 5.0).all()
    world.move(1.0, states_at(1.0))
    assert world.history(0.0).times.tolist() == [1.0]


def test_a_state_for_a_known_instant_replaces_it(world: SceneHandle) -> None:
    for time in (0.0, 0.1, 0.2):
        world.move(time, states_at(time))
    again = states_at(0.2)
    again[0, 0] = 99.0
    world.move(0.2 + 1e-12, again)
    assert world.history(0.0).times.tolist() == [0.0, 0.1, 0.2 + 1e-12]
    assert world.bodies_at([0.2]).states[0, 0, 0] == 99.0


def test_time_that_goes_back_forgets_what_lies_after(world: SceneHandle) -> None:
    for k in range(10):
        world.move(0.1 * k, states_at(0.1 * k))
    world.move(0.35, states_at(0.35))
    times = world.history(0.0).times
    np.testing.assert_allclose(times, [0.0, 0.1, 0.2, 0.3, 0.35])
    world.move(0.4, states_at(0.4))
    np.testing.assert_allclose(world.history(0.22).times, [0.2, 0.3, 0.35, 0.4])


def test_the_ring_keeps_as_much_as_it_says_and_says_where_it_begins(
    world: SceneHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = slots_for(2)
    for k in range(slots + 50):
        world.move(float(k), states_at(float(k)))
    times = world.history(0.0).times
    assert times[-1] == slots + 49.0
    assert slots - 3 <= len(times) <= slots
    assert (np.diff(times) == 1.0).all()
    seen = world.bodies_at([3.0])
    assert seen.about == {"bodies_known_from": times[0]}
    assert seen.states[0].tobytes() == states_at(times[0]).tobytes()


@pytest.mark.parametrize(("bodies", "slots"), [(0, 1024), (20, 1024), (1000, 80), (10**6, 16)])
def test_the_ring_is_bounded_in_records_and_bytes(bodies: int, slots: int) -> None:
    assert slots_for(bodies) == slots
    assert slots == 16 or 8 * slots * (2 + BODY_SIZE * bodies) <= pose_memory.MOST_BYTES


# ---- what a sensor keeps -------------------------------------------------------------------------


def test_a_sensor_keeps_what_its_frame_needs_beyond_the_ring(world: SceneHandle) -> None:
    sight, count = Sight(), slots_for(2) + 200
    for k in range(count):
        world.move(1e-3 * k, states_at(1e-3 * k))
        if k % 100 == 0:
            sight.follow(world, 0.0)
    sight.follow(world, 0.0)
    end = 1e-3 * (count - 1)
    moving, about = sight.over(0.0, end, 50)
    assert about == {}
    assert moving is not None
    expected = np.outer(np.linspace(0.0, end, 51), SPEED)
    np.testing.assert_allclose(moving.poses[:, 0, :3], expected, atol=1e-9)


def test_a_saved_sight_continues_with_the_same_bits_in_another_scene(
    world: SceneHandle, tmp_path: Path
) -> None:
    sight = Sight()
    for k in range(5):
        world.move(0.1 * k, states_at(0.1 * k))
        sight.follow(world, 0.0)
    with open_scene(write_rail(tmp_path / "other")) as elsewhere:
        resumed = Sight.of({"bodies": sight.state})
        # Whoever moves the bodies goes on from the instant that was saved.
        elsewhere.move(0.4, states_at(0.4))
        for k in (5, 6):
            for scene, own in ((world, sight), (elsewhere, resumed)):
                scene.move(0.1 * k, states_at(0.1 * k))
                own.follow(scene, 0.0)
        poses = [own.over(0.0, 0.6, 40)[0].poses for own in (sight, resumed)]
        assert poses[0].tobytes() == poses[1].tobytes()


def test_a_sight_that_has_seen_nothing_is_saved_like_any_other(world: SceneHandle) -> None:
    sight = Sight.of({"bodies": Sight().state})
    assert sight.state.tobytes() == Sight().state.tobytes()
    world.move(0.0, states_at(0.0))
    sight.follow(world, 0.0)
    assert sight.over(0.0, 0.0, 0)[0].poses[0, 0, 0] == 0.0


def test_another_scene_has_another_past(world: SceneHandle, tmp_path: Path) -> None:
    sight = Sight()
    world.move(0.0, states_at(0.0))
    sight.follow(world, 0.0)
    with open_scene(write_rail(tmp_path / "other")) as elsewhere:
        elsewhere.move(0.5, states_at(2.0))
        sight.follow(elsewhere, 0.0)
        moving, about = sight.over(0.2, 0.0, 0)
    assert about == {"bodies_known_from": 0.5}
    assert moving.poses[0, 0, :3].tolist() == (SPEED * 2.0).tolist()


def test_bodies_that_nobody_has_moved_stay_the_same_object(world: SceneHandle) -> None:
    sight = Sight()
    sight.follow(world, 0.0)
    unmoved, about = sight.over(0.0, 0.0, 0)
    sight.follow(world, 5.0)
    assert sight.over(5.0, 0.1, 8)[0] is unmoved
    assert (about, unmoved.spans, len(unmoved.poses)) == ({}, 0, 1)
    world.move(5.0, states_at(2.0))
    sight.follow(world, 5.0)
    assert sight.over(5.0, 0.0, 0)[0].poses[0, 0, :3].tolist() == (SPEED * 2.0).tolist()


def test_a_sight_knows_at_each_look_what_a_new_one_would(world: SceneHandle) -> None:
    """Looks without news, after news, after time went back, and further back than before."""
    kept, random = Sight(), np.random.default_rng(4)
    now = 0.0
    for turn in range(200):
        if random.random() < 0.5:
            now = max(0.0, now + random.normal(0.05, 0.1))
            world.move(now, states_at(now + turn))
        since = max(0.0, now - random.choice([0.0, 0.03, 0.4]))
        new = Sight()
        for sight in (kept, new):
            sight.follow(world, since)
        seen, about = kept.over(since, 0.1, 16)
        expected, also = new.over(since, 0.1, 16)
        assert seen.poses.tobytes() == expected.poses.tobytes()
        assert about == also


@pytest.mark.parametrize(
    "table",
    [
        np.zeros(3),
        np.zeros((1, 5)),
        np.full((1, 14), np.nan),
        np.zeros((2, 14)),
        np.array([[-np.inf, *[0.0] * 13], [1.0, *[0.0] * 13]]),
        np.array([[np.inf, *[0.0] * 13]]),
    ],
)
def test_a_damaged_sight_is_refused(table: np.ndarray) -> None:
    with pytest.raises(ValueError, match="states of movable bodies are damaged"):
        Sight.of({"bodies": table})


def test_a_part_of_a_frame_has_the_knots_of_the_frame(world: SceneHandle) -> None:
    sight = Sight()
    for k in range(4):
        world.move(0.1 * k, states_at(0.1 * k))
    sight.follow(world, 0.0)
    whole, _ = sight.over(0.05, 0.2, 32)
    part, _ = sight.over(0.05, 0.2, 32, (7, 11))
    assert (part.first, part.spans) == (7, 32)
    assert part.poses.tobytes() == whole.poses[7:12].tobytes()
    with attach(world.number) as other:
        still = Sight()
        still.follow(other, 0.3)
        alone, _ = still.over(0.3, 0.0, 0)
    assert (alone.first, alone.spans, len(alone.poses)) == (0, 0, 1)


def test_a_body_that_turns_once_between_two_states_is_not_still() -> None:
    """Its states are equal, but it has a rate: only what has no velocity at all stands still."""
    state = np.zeros((1, BODY_SIZE))
    state[0, 3], state[0, 12] = 1.0, 0.5
    history = History(np.array([0.0, 1.0]), np.array([state, state]))
    found = history.at([0.25]).states[0, 0]
    np.testing.assert_array_equal(found, interpolate_body(state[0], state[0], 1.0, 0.25))
    assert abs(found[6]) > 0.01
