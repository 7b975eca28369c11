"""Scenes that processes share: the same poses, changed files, killed processes, forks."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.scene import shared_file
from sensor_models.scene.registry import SceneHandle, SceneHandleError, attach, open_scene
from tests.peer import Peer
from tests.rail_scene import FIELD, is_whole, move, watch, watch_past, write_rail

#: Different states that a reader sees while they are written.
SEEN = 2000


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
def peer(shared: Path) -> Iterator[Peer]:
    with Peer() as process:
        yield process


def opened_by(peer: Peer, manifest: Path) -> int:
    """The handle of a scene that another process opens."""
    number: int = peer.ask(f"(w := open_scene({str(manifest)!r})).number")
    return number


def does_not_wait(call: Callable[[], Any]) -> Any:
    """The result of a call that must not wait for a process that has stopped.

    It would wait for ever; the time that it has is only for that to be told.
    """
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()
    thread.join(300.0)
    assert results, "it was waited for"
    return results[0]


# ---- what both see -------------------------------------------------------------------------------


def test_another_process_sees_the_scene_and_its_bodies(
    shared: Path, manifest: Path, peer: Peer
) -> None:
    with open_scene(manifest) as world:
        assert peer.ask(f"(w := attach({world.number})).number") == world.number
        assert peer.ask("w.scene.magnetic_field") == list(FIELD)
        assert peer.ask("w.states().bodies.tolist()") == world.states().bodies.tolist()
        move(world, 1, 4)
        assert peer.ask("[w.states().record, w.states().time]") == [3, 3.0]
        assert peer.ask("w.states().bodies.tolist()") == world.states().bodies.tolist()
        assert peer.ask("w.rays().trace([3, 3, 10], [[0, 0, -1]], 50.0).t.tolist()") == [6.0]


def test_a_process_that_only_sees_a_scene_moves_nothing(manifest: Path, peer: Peer) -> None:
    with open_scene(manifest) as world:
        peer.ask(f"(w := attach({world.number})).number")
        assert "is moved only by whoever opened it" in peer.ask("w.move(1.0, w.states().bodies)")
        assert world.states().record == 0


@pytest.mark.parametrize(("look", "wanted"), [(watch, SEEN), (watch_past, SEEN // 20)])
def test_no_state_is_torn_while_others_read_it(
    manifest: Path, peer: Peer, tmp_path: Path, look: Any, wanted: int
) -> None:
    """Until both readers have seen many states that were new to them, however long that takes."""
    number, end = opened_by(peer, manifest), tmp_path / "end"
    with Peer() as second, attach(number) as world:
        second.ask(f"(w := attach({number})).number")
        peer.tell(f"move_until(w, {str(end)!r})")
        second.tell(f"{look.__name__}(w, {wanted})")
        seen = look(world, wanted), second.answer()
        end.touch()
        assert peer.answer() > 0
    assert np.array(seen).tolist() == np.zeros_like(seen).tolist()


def test_processes_meet_however_they_were_started(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(shared_file.DIRECTORY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with open_scene(manifest) as world, Peer(XDG_RUNTIME_DIR="", TMPDIR="") as other:
        assert other.ask(f"attach({world.number}).number") == world.number


# ---- files that change ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scene.toml", "wagon.obj"])
def test_a_file_that_changed_is_named(manifest: Path, peer: Peer, name: str) -> None:
    with open_scene(manifest) as world:
        file = manifest.with_name(name)
        file.write_text(file.read_text() + "\n# another one\n")
        said = peer.ask(f"attach({world.number})")
        assert said.startswith(f"scene_handle = {world.number} cannot be used")
        assert f"{file} has changed since the scene was opened" in said
        with attach(world.number) as here:
            assert here.scene is world.scene, "what is in memory is as it was"


def test_a_file_that_is_gone_is_named(manifest: Path, peer: Peer) -> None:
    with open_scene(manifest) as world:
        manifest.with_name("wagon.obj").unlink()
        said = peer.ask(f"attach({world.number})")
        assert f"{manifest.with_name('wagon.obj')} cannot be read" in said


# ---- processes that end --------------------------------------------------------------------------


def test_a_process_that_ends_leaves_its_scenes(shared: Path, manifest: Path, peer: Peer) -> None:
    number = opened_by(peer, manifest)
    assert [file.name for file in shared.iterdir()] == [f"scene-{number}"]
    peer.tell("sys.exit()")
    peer.process.wait()
    assert list(shared.iterdir()) == []


def test_a_killed_owner_leaves_nothing_that_blocks_the_next_start(
    shared: Path, manifest: Path, peer: Peer
) -> None:
    number = opened_by(peer, manifest)
    with attach(number) as world:
        peer.tell("move(w, 0, 10**9)")
        while world.states().record < 100:
            pass
    peer.kill()  # in the middle of its moves, and nobody else sees the scene
    assert [file.name for file in shared.iterdir()] == [f"scene-{number}"]
    with does_not_wait(lambda: open_scene(manifest)) as world:
        assert [file.name for file in shared.iterdir()] == [f"scene-{world.number}"]
        with pytest.raises(SceneHandleError, match=f"scene_handle = {number} is no open scene"):
            attach(number)
    assert list(shared.iterdir()) == []


def test_the_handle_of_a_killed_owner_is_refused_and_cleared_away(
    shared: Path, manifest: Path, peer: Peer
) -> None:
    number = opened_by(peer, manifest)
    peer.kill()
    with pytest.raises(SceneHandleError, match="all who used it have ended"):
        attach(number)
    assert list(shared.iterdir()) == []


def test_who_sees_the_scene_of_a_killed_owner_sees_its_last_whole_state(
    shared: Path, manifest: Path, peer: Peer
) -> None:
    number = opened_by(peer, manifest)
    with attach(number) as world:
        peer.tell("move(w, 0, 10**9)")
        while world.states().record < 1000:
            pass
        peer.kill()
        states = world.states()
        assert states.time == states.record - 1
        assert is_whole(states)
    assert list(shared.iterdir()) == []


def test_a_killed_user_keeps_nothing(shared: Path, manifest: Path, peer: Peer) -> None:
    with open_scene(manifest) as world:
        peer.ask(f"(w := attach({world.number})).number")
        peer.kill()
    assert list(shared.iterdir()) == []


def test_a_stopped_user_is_not_waited_for(shared: Path, manifest: Path, peer: Peer) -> None:
    world = open_scene(manifest)
    peer.ask(f"(w := attach({world.number})).number")
    peer.process.send_signal(signal.SIGSTOP)
    try:
        move(world, 0, 100)
        does_not_wait(world.close)
        with does_not_wait(lambda: open_scene(manifest)) as another:
            assert another.states().record == 0
    finally:
        peer.process.send_signal(signal.SIGCONT)
    assert peer.ask("w.states().time") == 99.0, "it sees the scene as long as it likes"
    assert peer.ask("w.close()") is None
    assert list(shared.iterdir()) == []


def test_processes_that_come_and_go_at_once_do_not_disturb_each_other(
    shared: Path, manifest: Path
) -> None:
    come_and_go = (
        f"[(w := open_scene({str(manifest)!r})), (v := attach(w.number)), w.move(1.0,"
        " w.states().bodies), w.close(), v.states().time, v.close()][4]"
    )
    with Peer() as one, Peer() as two, Peer() as three:
        for other in (one, two, three):
            other.tell(f"[{come_and_go} for _ in range(200)]")
        for other in (one, two, three):
            assert other.answer() == [1.0] * 200
    assert list(shared.iterdir()) == []


# ---- forks ---------------------------------------------------------------------------------------


def in_child(check: str, world: SceneHandle) -> bool:
    """Whether a check holds in a forked child of this process, which then ends."""
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        good = False
        try:
            good = bool(eval(check, {**globals(), "world": world}))
        finally:
            os._exit(0 if good else 1)
    return os.waitpid(child, 0)[1] == 0


def refused(world: SceneHandle) -> bool:
    """Whether the scene cannot be moved."""
    try:
        world.move(5.0, world.states().bodies)
    except SceneHandleError:
        return True
    return False


# Python 3.12 warns of forks where there are other threads, as there are in this process.
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(
    "check",
    [
        "world.states().time == 2.0",
        "attach(world.number).states().time == 2.0",
        "refused(world)",
        "refused(attach(world.number))",
        "abs(world.rays().trace([2, 2, 9], [[0, 0, -1]], 50.0).t[0] - 6.0) < 1e-5",
        "world.close() is None",
        "attach(world.number).close() is None",
    ],
)
def test_a_forked_child_sees_the_scene_but_does_not_rule_it(
    shared: Path, manifest: Path, check: str
) -> None:
    with open_scene(manifest) as world:
        world.rays()
        move(world, 0, 3)
        assert in_child(check, world)
        move(world, 3, 4)
        assert world.states().time == 3.0
        with attach(world.number) as here:
            assert here.scene is world.scene
    assert list(shared.iterdir()) == []


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_that_outlives_its_parent_keeps_the_memory_but_not_the_handle(
    shared: Path, manifest: Path
) -> None:
    world = open_scene(manifest)
    move(world, 0, 2)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os.read(reading, 1)  # until the parent has left
        os._exit(0 if np.all(world.states().bodies[:, :3] == 1.0) else 1)
    world.close()
    assert list(shared.iterdir()) == []
    os.write(writing, b"x")
    assert os.waitpid(child, 0)[1] == 0
    os.close(reading)
    os.close(writing)
