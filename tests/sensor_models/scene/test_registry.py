"""Open scenes and their handles, inside of one process."""

import gc
import math
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.scene import shared_file
from sensor_models.scene.errors import SceneError
from sensor_models.scene.registry import (
    BODY_SIZE,
    SceneHandle,
    SceneHandleError,
    attach,
    open_scene,
    share_scene,
)
from tests.rail_scene import FIELD, write_rail

AT_REST = [0.0] * 6


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the shared memory, for this test alone."""
    directory = tmp_path / "shared"
    monkeypatch.setenv(shared_file.DIRECTORY_VARIABLE, str(directory))
    return directory


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return write_rail(tmp_path / "rail")


@pytest.fixture
def world(shared: Path, manifest: Path) -> Iterator[SceneHandle]:
    with open_scene(manifest) as opened:
        yield opened


def states_at(x: float) -> np.ndarray:
    """States of both bodies, the wagon at x."""
    states = np.zeros((2, BODY_SIZE))
    states[:, 3] = 1.0
    states[0, 0] = x
    return states


# ---- handles -------------------------------------------------------------------------------------


def test_handles_are_positive_and_fit_an_integer_of_fmi(shared: Path, manifest: Path) -> None:
    worlds = [open_scene(manifest) for _ in range(20)]
    numbers = [world.number for world in worlds]
    assert len(set(numbers)) == 20
    assert all(isinstance(n, int) and 0 < n < 2**31 for n in numbers)
    for world in worlds:
        world.close()


def test_a_handle_that_is_gone_does_not_come_again(shared: Path, manifest: Path) -> None:
    numbers = set()
    for _ in range(50):
        with open_scene(manifest) as world:
            numbers.add(world.number)
    assert len(numbers) == 50


def test_all_users_in_a_process_share_scene_and_rays(world: SceneHandle) -> None:
    with attach(world.number) as other:
        assert other.number == world.number
        assert other.scene is world.scene
        assert other.rays() is world.rays()
        assert other.scene.magnetic_field == FIELD


def test_a_handle_that_was_asked_for_is_given_if_it_is_free(shared: Path, manifest: Path) -> None:
    with open_scene(manifest, wanted=123) as world, open_scene(manifest, wanted=123) as other:
        assert world.number == 123
        assert other.number not in (0, 123)
    with open_scene(manifest, wanted=123) as again:
        assert again.number == 123


@pytest.mark.parametrize("number", [-5, 0, 1, 2**31 - 1, 2**31, 2**70])
def test_unknown_handle_is_refused_and_says_so(shared: Path, number: int) -> None:
    with pytest.raises(SceneHandleError, match=rf"^scene_handle = {number} is no open scene"):
        attach(number)


def test_a_scene_that_cannot_be_read_leaves_nothing(shared: Path, tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="does not exist"):
        open_scene(tmp_path / "nowhere.toml")
    assert not shared.exists() or list(shared.iterdir()) == []


def test_a_scene_is_open_until_its_last_user_leaves(shared: Path, manifest: Path) -> None:
    first = open_scene(manifest)
    second = attach(first.number)
    third = attach(first.number)
    first.close()
    second.close()
    assert third.states().record == 0
    with attach(third.number) as fourth:
        assert fourth.scene is third.scene
    third.close()
    with pytest.raises(SceneHandleError, match="is no open scene"):
        attach(third.number)
    assert list(shared.iterdir()) == []


def test_a_forgotten_handle_keeps_nothing_open(shared: Path, manifest: Path) -> None:
    world = open_scene(manifest)
    other = attach(world.number)
    number = world.number
    del world, other
    gc.collect()
    assert list(shared.iterdir()) == []
    with pytest.raises(SceneHandleError):
        attach(number)


def test_a_closed_handle_is_of_no_use_and_may_be_closed_again(world: SceneHandle) -> None:
    other = attach(world.number)
    other.close()
    other.close()
    for use in (other.states, other.rays, lambda: other.move(0.0, states_at(0.0))):
        with pytest.raises(SceneHandleError, match="was closed"):
            use()
    assert world.states().record == 0


# ---- bodies --------------------------------------------------------------------------------------


def test_bodies_begin_where_the_manifest_has_them(world: SceneHandle) -> None:
    record, time, bodies = world.states()
    assert (record, time) == (0, -math.inf)
    assert bodies.tolist() == [
        [5.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, *AT_REST],
        [0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0, *AT_REST],
    ]


def test_states_are_those_that_were_given_last(world: SceneHandle) -> None:
    given = np.random.default_rng(1).normal(size=(2, BODY_SIZE))
    given[:, 3:7] = [[1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]]
    with attach(world.number) as other:
        world.move(1.0, states_at(2.0))
        world.move(2.5, given)
        record, time, bodies = other.states()
        assert (record, time) == (2, 2.5)
        assert np.array_equal(bodies, given)
        bodies[:] = 0.0
        assert np.array_equal(other.states().bodies, given), "a copy was handed out"


def test_orientations_come_out_at_unit_length(world: SceneHandle) -> None:
    states = states_at(0.0)
    states[1, 3:7] = [0.0, 3.0, 0.0, 4.0]
    world.move(0.0, states)
    assert world.states().bodies[1, 3:7].tolist() == [0.0, 0.6, 0.0, 0.8]


def test_rays_meet_the_bodies_where_they_are_now(world: SceneHandle) -> None:
    ahead = [[1.0, 0.0, 0.0]]
    with attach(world.number) as other:
        for x in (5.0, 9.0, 30.0):
            if x != 5.0:
                world.move(x, states_at(x))
            hits = other.rays().trace([0.0, 0.0, 0.0], ahead, 100.0)
            # the near side of a box of 2 m; float32 resolves 2e-6 m at 30 m
            assert hits.t[0] == pytest.approx(x - 1.0, abs=4e-6)
            assert hits.entity_id[0] == 7


def test_threads_that_trace_first_at_the_same_time_get_one_acceleration_structure(
    world: SceneHandle,
) -> None:
    start = threading.Barrier(8)
    found = []

    def use() -> None:
        with attach(world.number) as other:
            start.wait()
            found.append(other.rays())

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_only_who_opened_a_scene_moves_its_bodies(world: SceneHandle) -> None:
    with attach(world.number) as other:
        with pytest.raises(SceneHandleError, match=r"scene_handle = \d+ is moved only by whoever"):
            other.move(0.0, states_at(0.0))
        assert other.states().record == 0


def spoilt(row: int, column: int, value: float) -> np.ndarray:
    states = states_at(0.0)
    states[row, column] = value
    return states


@pytest.mark.parametrize(
    ("time", "states", "message"),
    [
        (math.nan, states_at(0.0), "time = nan s"),
        (math.inf, states_at(0.0), "time = inf s"),
        (1.0, spoilt(1, 0, math.nan), "the state of lever .* not finite"),
        (1.0, spoilt(0, 12, math.inf), "the state of wagon .* not finite"),
        (1.0, spoilt(0, 5, math.inf), r"wagon\.orientation = .* has no direction"),
        (1.0, spoilt(1, 3, 0.0), r"lever\.orientation = .* has no direction"),
        (1.0, states_at(0.0)[:1], r"shape \(1, 13\) do not fit 2 bodies"),
        (1.0, states_at(0.0)[:, :7], r"shape \(2, 7\) do not fit 2 bodies"),
    ],
)
def test_states_that_cannot_be_are_refused_and_nothing_moves(
    world: SceneHandle, time: float, states: np.ndarray, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        world.move(time, states)
    assert world.states().record == 0


# ---- the memory, with rights, owners and locks as POSIX has them ---------------------------------


def test_the_memory_is_for_its_user_alone(shared: Path, world: SceneHandle) -> None:
    (file,) = shared.iterdir()
    assert file.name == f"scene-{world.number}"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700


def test_a_directory_of_somebody_else_is_refused(
    shared: Path, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.mkdir(mode=0o700)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(PermissionError, match=f"{shared}: it belongs to user {owner}"):
        open_scene(manifest)


def test_a_directory_that_others_may_enter_is_refused(shared: Path, manifest: Path) -> None:
    shared.mkdir()
    shared.chmod(0o755)
    with pytest.raises(PermissionError, match=r"is open to others \(mode 755\)"):
        open_scene(manifest)


@pytest.mark.parametrize("what", ["link", "file"])
def test_a_link_or_a_file_is_no_directory(shared: Path, manifest: Path, what: str) -> None:
    if what == "link":
        manifest.parent.chmod(0o700)
        shared.symlink_to(manifest.parent)
    else:
        shared.write_text("")
    with pytest.raises(PermissionError, match="is no directory"):
        open_scene(manifest)


def test_memory_that_is_no_scene_is_refused(shared: Path, world: SceneHandle) -> None:
    (file,) = shared.iterdir()
    content = file.read_bytes()
    place = shared / "scene-77"
    wrong = {
        "empty": b"",
        "short": content[:50],
        "cut": content[:-8],
        "foreign": b"x" * len(content),
        "version": content[:8] + b"\7" + content[9:],
        "description": content.replace(b'"bodies"', b'"dobies"'),
        "text": content.replace(b'{"files"', b'("files"'),
    }
    for name, spoilt_content in wrong.items():
        place.write_bytes(spoilt_content)
        with place.open("rb") as user:
            use(user.fileno())
            with pytest.raises(SceneHandleError, match="scene_handle = 77"):
                attach(77)
        assert world.states().record == 0, name


def use(descriptor: int) -> None:
    """Be a user of a file, as another process would be."""
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_SH)


# ---- scenes that nobody moves --------------------------------------------------------------------


def test_all_who_name_the_same_files_share_a_scene(shared: Path, manifest: Path) -> None:
    with share_scene(manifest) as first, share_scene(manifest.parent) as second:
        assert first.number == second.number
        assert first.scene is second.scene
        assert first.rays() is second.rays()
        with open_scene(manifest) as moved:  # the one of an Environment is another
            moved.move(1.0, states_at(3.0))
            assert moved.number != first.number
            assert first.states().bodies[0, 0] == moved.scene.bodies[0].position[0] != 3.0


def test_nobody_can_move_a_scene_that_is_shared(shared: Path, manifest: Path) -> None:
    with share_scene(manifest) as world, pytest.raises(SceneHandleError, match="moved only by"):
        world.move(1.0, states_at(3.0))


def test_a_shared_scene_is_there_until_its_last_user_has_left(shared: Path, manifest: Path) -> None:
    first, second = share_scene(manifest), share_scene(manifest)
    first.close()
    assert attach(second.number).scene is second.scene
    number = second.number
    second.close()
    gc.collect()
    with pytest.raises(SceneHandleError):
        attach(number)
    with share_scene(manifest) as later:
        assert later.number != number


def test_a_scene_whose_files_have_changed_is_read_anew(shared: Path, manifest: Path) -> None:
    with share_scene(manifest) as before:
        manifest.write_text(manifest.read_text() + "\n# another line\n")
        with share_scene(manifest) as after, share_scene(manifest) as third:
            assert after.number != before.number
            assert third.number == after.number


def test_threads_that_ask_at_once_share_a_scene(shared: Path, manifest: Path) -> None:
    handles: list[SceneHandle] = []
    ready = threading.Barrier(8)

    def ask() -> None:
        ready.wait()
        handles.append(share_scene(manifest))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({handle.number for handle in handles}) == 1
    for handle in handles:
        handle.close()
