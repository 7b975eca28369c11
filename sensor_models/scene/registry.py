"""Open scenes under handles: whole numbers that a master can pass from one part to another.

``open_scene`` reads a scene and gives it a handle; ``attach`` uses the scene of a handle, in the
same process or in another one of the same user on the same machine::

    with open_scene("yard") as world:
        send(world.number)                             # to those that want to see it
        world.move(time, bodies)                       # only the one that opened it can do this
        world.bodies_at([time - 0.05])                 # where they were, in any process

    with attach(number) as world:
        hits = world.rays().trace(origins, directions, 100.0)

Within a process, all users of a handle share one ``Scene`` and one ``RayScene``, which is built
when it is first traced. Another process reads the scene from the same files, which must not have
changed since; the states of the bodies are in memory that both processes see (``pose_memory``). A
scene stays open until its last user in any process has left it: if the process that opened it was
killed, the others still see its bodies where they were last (``shared_file``).

``share_scene`` is for those that name a scene and are connected to nobody who moves its bodies:
all of them in a process share one, until its files change.

After a fork, the child sees the scenes of its parent, but cannot move their bodies.
"""

import math
import os
import threading
import weakref
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sensor_models.core.frames import SHORTEST, unit_orientation
from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.tracing.histories import turn_to_unit_length
from sensor_models.scene import shared_file
from sensor_models.scene.history import History, SeenBodies
from sensor_models.scene.manifest import load_scene, manifest_path
from sensor_models.scene.model import Scene
from sensor_models.scene.pose_memory import (
    BODY_SIZE,
    POSE_SIZE,
    BodyStates,
    Floats,
    PoseMemory,
    changed_file,
    new_content,
    read_description,
)
from sensor_models.scene.shared_file import SharedFile

if TYPE_CHECKING:
    from sensor_models.scene.tracing import RayScene

__all__ = [
    "BODY_SIZE",
    "BodyStates",
    "SceneHandle",
    "SceneHandleError",
    "attach",
    "open_scene",
    "share_scene",
]


class SceneHandleError(ValueError):
    """A handle without a scene that can be used; the message says why."""

    def __init__(self, number: int, reason: str) -> None:
        self.number = number
        super().__init__(f"scene_handle = {number} {reason}")


class SceneHandle:
    """One use of an open scene, until it is closed or no longer referred to."""

    def __init__(self, shared: "_OpenScene", *, owner: bool) -> None:
        self.number = shared.file.number
        self.scene = shared.scene
        self._shared = shared
        self._owner = owner
        #: Ends this use, once.
        self.close = weakref.finalize(self, _registry.leave, shared)

    def states(self) -> BodyStates:
        """A copy of the newest states of all bodies."""
        return self._open().poses.read()

    @property
    def record(self) -> int:
        """Counts the changes of the bodies: while it is the same, their past is the same."""
        return self._open().poses.newest

    def history(self, since: float) -> History:
        """A copy of the states of all bodies, from the newest one at or before a time on.

        It goes back as far as the memory that processes share (``pose_memory``).
        """
        _, times, states = self._open().poses.since(since)
        return History.of_records(times, states)

    def bodies_at(self, times: ArrayLike) -> SeenBodies:
        """The states of all bodies at these instants, as they are known now (``scene.history``)."""
        instants = np.asarray(times, float).reshape(-1)
        return self.history(float(instants.min(initial=np.inf))).at(instants)

    def move(self, time: float, bodies: ArrayLike) -> None:
        """Give all bodies the states that they have at ``time``: (n, BODY_SIZE).

        They become part of the past that ``history`` shows. If ``time`` is not after the newest
        one, they replace the states from then on. Orientations are brought to unit length. If a
        value is not allowed, nothing changes.
        """
        shared = self._open()
        if not self._owner or shared.process != os.getpid():
            raise SceneHandleError(self.number, "is moved only by whoever opened it")
        if not math.isfinite(time):
            raise ParameterError(f"time = {time} s is not a finite number")
        shared.poses.write(time, _checked_states(bodies, self.scene))

    def rays(self, *, placed: bool = True) -> "RayScene":
        """The scene for tracing, which this process shares, with its bodies where they are now.

        With ``placed`` = False bodies are not moved, for callers that give their places with each
        run.
        """
        return self._open().rays(placed)

    @property
    def has_same_files(self) -> bool:
        """Whether the files of the scene are still as they were read."""
        return changed_file(read_description(self._open().file.memory).files) is None

    def _open(self) -> "_OpenScene":
        if not self.close.alive:
            raise SceneHandleError(self.number, "was closed and cannot be used any more")
        return self._shared

    def __enter__(self) -> "SceneHandle":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_scene(name_or_path: str | Path, wanted: int = 0) -> SceneHandle:
    """Open a scene under a new handle.

    ``wanted`` is the handle that it had before, in a run that is to be continued; if that is in
    use, the scene gets another one.
    """
    return _registry.open(name_or_path, wanted)


def share_scene(name_or_path: str | Path) -> SceneHandle:
    """Use a scene whose bodies rest; all who ask this process for the same files share it."""
    return _registry.share(name_or_path)


def attach(number: int) -> SceneHandle:
    """Use the scene of a handle; ``SceneHandleError`` says why that is not possible."""
    return _registry.attach(number)


def _checked_states(bodies: ArrayLike, scene: Scene) -> Floats:
    states = np.array(bodies, float)
    if states.shape != (len(scene.bodies), BODY_SIZE):
        raise ParameterError(
            f"states of shape {states.shape} do not fit {len(scene.bodies)} bodies x {BODY_SIZE}"
        )
    wrong = turn_to_unit_length(states, SHORTEST)
    if wrong >= 0:
        name = scene.bodies[wrong].name
        w, x, y, z = states[wrong, 3:POSE_SIZE].tolist()
        unit_orientation(w, x, y, z, f"{name}.orientation")
        raise ParameterError(f"the state of {name} = {states[wrong].tolist()} is not finite")
    return states


class _OpenScene:
    """A scene in this process, for all its users."""

    def __init__(self, scene: Scene, file: SharedFile, poses: PoseMemory) -> None:
        self.scene = scene
        self.file = file
        self.poses = poses
        self.process = os.getpid()
        self.users = 0
        self._rays: RayScene | None = None
        self._placed = 0
        self._placing = threading.Lock()

    def rays(self, placed: bool) -> "RayScene":
        from sensor_models.scene.tracing import RayScene  # Embree is imported only for tracing

        with self._placing:
            if self._rays is None:
                self._rays, self._placed = RayScene(self.scene), 0
            if placed:
                newest = self.poses.read()
                if newest.record != self._placed:
                    self._rays.move_all(newest.bodies[:, :POSE_SIZE])
                    self._rays.commit()
                    self._placed = newest.record
            return self._rays

    def release(self) -> None:
        self._rays = None  # freed when nothing traces it any more
        del self.poses  # this keeps the memory
        self.file.close()


class _Registry:
    """The open scenes of this process by their handles."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start empty. Also called in a forked child, where a lock may be held by no thread."""
        self._lock = threading.RLock()
        self._scenes: dict[int, _OpenScene] = {}
        self._sharing = threading.Lock()
        self._resting: dict[Path, _OpenScene] = {}  # which nobody moves, by their manifests

    def open(self, name_or_path: str | Path, wanted: int) -> SceneHandle:
        scene = load_scene(name_or_path)
        file = shared_file.create(new_content(scene), wanted)
        with self._lock:
            return self._use(_open_scene(scene, file), owner=True)

    def share(self, name_or_path: str | Path) -> SceneHandle:
        path = manifest_path(name_or_path)
        with self._sharing:  # never taken when something is freed, so files are read under it
            known = self._use_resting(path)
            if known is not None:
                if known.has_same_files:
                    return known
                known.close()
            with self.open(name_or_path, 0) as opened, self._lock:
                self._resting[path] = opened._shared
                return self._use(opened._shared, owner=False)

    def _use_resting(self, path: Path) -> SceneHandle | None:
        with self._lock:
            known = self._resting.get(path)
            return None if known is None else self._use(known, owner=False)

    def attach(self, number: int) -> SceneHandle:
        with self._lock:
            known = self._scenes.get(number)
            return self._use(_attached(number) if known is None else known, owner=False)

    def _use(self, shared: _OpenScene, *, owner: bool) -> SceneHandle:
        shared.users += 1
        self._scenes[shared.file.number] = shared
        return SceneHandle(shared, owner=owner)

    def leave(self, shared: _OpenScene) -> None:
        with self._lock:
            shared.users -= 1
            if shared.users:
                return
            if self._scenes.get(shared.file.number) is shared:  # not after a fork
                del self._scenes[shared.file.number]
            self._resting = {p: s for p, s in self._resting.items() if s is not shared}
            shared.release()


def _open_scene(scene: Scene, file: SharedFile) -> _OpenScene:
    place = read_description(file.memory).place
    return _OpenScene(scene, file, PoseMemory(file.memory, place, len(scene.bodies)))


def _attached(number: int) -> _OpenScene:
    """The scene that another process has opened."""
    file = shared_file.attach(number)
    if file is None:
        raise SceneHandleError(
            number,
            "is no open scene: nobody has opened it on this machine as this user, or all who used"
            " it have ended; allowed is the scene_handle of an Environment that has been"
            " initialised",
        )
    try:
        return _open_scene(_same_scene(file), file)
    except BaseException:
        file.close()
        raise


def _same_scene(file: SharedFile) -> Scene:
    """The scene of a shared file, read from the same files as by the process that opened it."""
    try:
        description = read_description(file.memory)
    except ValueError as error:
        raise SceneHandleError(file.number, f"cannot be used: its memory {error}") from error
    changed = changed_file(description.files)
    if changed is not None:
        raise SceneHandleError(file.number, f"cannot be used: {changed} since the scene was opened")
    scene = load_scene(description.files[0][0])
    if tuple(body.name for body in scene.bodies) != description.bodies:
        raise SceneHandleError(
            file.number, "cannot be used: this version reads other bodies from its files"
        )
    return scene


_registry = _Registry()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_registry.forget)
