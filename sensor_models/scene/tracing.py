"""Rays in a scene: the nearest hit, all hits, and the medium at a point.

``RayScene`` holds a scene in the ray engine. Several threads may trace it at once, each with the
movable bodies at other places and other instants, because nothing is moved in it: each run is told
where bodies are. Kernels that make and shade their own rays run on its threads through ``run``.
``kernels.tracing.rays`` has the functions that they can call, and says how exact a hit is and why
it does not depend on threads and the order of the geometry.
"""

import copy
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.frames import SHORTEST, unit_orientation
from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.tracing.arrays import (
    BareHits,
    Hits,
    Rays,
    find_volumes,
    trace_all,
    trace_bare,
    trace_nearest,
)
from sensor_models.kernels.tracing.scene_view import SURFACES, VOLUMES, SceneView
from sensor_models.scene.acceleration import Acceleration
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import Scene
from sensor_models.threads.pool import Pool, Users, Work

__all__ = ["AllHits", "BareHits", "Hits", "MovingBodies", "RayScene"]

#: The most hits of a ray; the time grows with the square of their number.
MOST_HITS = 1024
HITS_RANGE = f"1 to {MOST_HITS}"

Floats = NDArray[np.float64]

AnyHits = TypeVar("AnyHits", Hits, BareHits)

#: Half a unit in the last place of float32, as a share.
HALF_UNIT = 2.0**-24

#: Fields of hits that are ids; the others are float32.
_IDS = frozenset(("instance", "primitive", "entity_id", "material", "label"))


class AllHits(NamedTuple):
    """All surfaces along rays."""

    found: NDArray[np.int32]  # the number along each ray, which may be more than are kept
    hits: Hits  # (..., max_hits) each, sorted by t; padded with misses


class RayScene:
    """A scene that rays can be sent into.

    ``threads`` is the number of threads that trace and build; 0 for all processors. ``origin`` is
    the place near which float32 resolves most; None to choose one. Parts of a divided scene give
    the same bits only if they have the same origin. Free the scene with ``close`` or as a context
    manager; otherwise it is freed with the object.
    """

    def __init__(self, scene: Scene, threads: int = 0, *, origin: ArrayLike | None = None) -> None:
        if threads < 0:
            raise ParameterError(f"threads = {threads} is out of range, allowed is at least 0")
        self.scene = scene
        #: The threads that kernels run on.
        self.pool = Pool(threads)
        self._acceleration = Acceleration(
            scene, self.pool.threads, None if origin is None else np.array(origin, float)
        )
        self._poses = self._acceleration.poses.copy()  # of the bodies, as they were given
        self._committed = self._acceleration.view
        self._posing = threading.Lock()
        #: The point that resting geometry is stored relative to; empty if there is none.
        self._rests_from: tuple[float, ...] | None = None
        self._users = Users()

    @property
    def threads(self) -> int:
        """The number of threads that trace and build."""
        return self.pool.threads

    def trace(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_range: float = np.inf,
        *,
        smooth_normals: bool = False,
        coherent: bool | None = None,
        bodies: MovingBodies | None = None,
        out: Hits | None = None,
    ) -> Hits:
        """The nearest surface along each ray.

        ``origins`` are (3,) or as many as ``directions``, which are (n, 3), or (rows, columns, 3)
        for a grid of neighbours; results have the shape (n,) or (rows, columns). ``coherent``
        says that consecutive rays are close to each other, which is faster if it is true (None:
        true for grids). ``bodies`` are as for ``run``. ``out`` are the results of an earlier trace
        of as many rays, to be reused.
        """
        rays, shape = _rays(origins, directions, max_range, coherent)
        hits = new_hits(Hits, shape) if out is None else _fitting(out, shape)
        self.run(trace_nearest, rays, smooth_normals, flat(hits), bodies=bodies)
        return hits

    def trace_bare(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_range: float = np.inf,
        *,
        coherent: bool | None = None,
        out: BareHits | None = None,
    ) -> BareHits:
        """Like ``trace``, but only which face was hit, and where.

        If facets are at exactly the same distance, any of them may be hit, the same in each run.
        """
        rays, shape = _rays(origins, directions, max_range, coherent)
        hits = new_hits(BareHits, shape) if out is None else _fitting(out, shape)
        self.run(trace_bare, rays, flat(hits))
        return hits

    def trace_all(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_range: float = np.inf,
        *,
        max_hits: int = 16,
        smooth_normals: bool = False,
    ) -> "AllHits":
        """All surfaces along each ray, the nearest ``max_hits`` of them, sorted by distance."""
        if not 1 <= max_hits <= MOST_HITS:
            raise ParameterError(f"max_hits = {max_hits} is out of range, allowed is {HITS_RANGE}")
        rays, shape = _rays(origins, directions, max_range, None)
        counts, hits = np.zeros(shape, np.int32), new_hits(Hits, (*shape, max_hits))
        self.run(trace_all, rays, max_hits, smooth_normals, counts.reshape(-1), flat(hits))
        return AllHits(counts, hits)

    def volumes_at(
        self,
        points: ArrayLike,
        *,
        bodies: MovingBodies | None = None,
        times: Floats | None = None,
    ) -> NDArray[np.int32]:
        """The volumes (indices into ``Scene.volumes``) that hold each of (n, 3) points.

        The outermost is first; rows are padded with -1. A point that is not finite is in none.
        ``bodies`` are as for ``run``; ``times`` are the instants of the points as shares of their
        frame.
        """
        places = np.ascontiguousarray(points, np.float64).reshape(-1, 3)
        inside = np.full((len(places), len(self.scene.volumes)), -1, np.int32)
        if inside.size:
            at = np.zeros(len(places)) if times is None else np.ascontiguousarray(times, float)
            self.run(find_volumes, places, at, inside, bodies=bodies)
        return inside

    def medium_at(self, points: ArrayLike) -> NDArray[np.int32]:
        """The medium (index into ``Scene.media``) at each of (n, 3) points.

        It is that of the innermost volume around the point, else that of the world, and -1 at
        a point that is not finite.
        """
        places = np.ascontiguousarray(points, np.float64).reshape(-1, 3)
        inside = self.volumes_at(places)
        media = np.array([*(volume.medium for volume in self.scene.volumes), 0], np.int32)
        held = (inside >= 0).sum(axis=1)
        padded = np.concatenate([np.full((len(places), 1), -1, np.int32), inside], axis=1)
        found = media[padded[np.arange(len(places)), held]]
        return np.where(np.isfinite(places).all(axis=1), found, -1).astype(np.int32)

    def run(
        self,
        kernel: Callable[..., Any],
        *arguments: Any,
        bodies: MovingBodies | None = None,
        view: SceneView | None = None,
        threads: int = 0,
    ) -> None:
        """Call ``kernel(view, claims, *arguments)`` on all threads and wait for them.

        The kernel must release the global lock; it divides its work by ``claim(claims)``.

        Args:
            kernel: what to call.
            arguments: its arguments.
            bodies: where the bodies are for this call only; None for where they were committed.
            view: a result of ``view_of``, for several calls with the same places of bodies.
            threads: the number of threads that there is work for; 0 for all.
        """
        self.begin(kernel, *arguments, bodies=bodies, view=view, threads=threads).end()

    def begin(
        self,
        kernel: Callable[..., Any],
        *arguments: Any,
        bodies: MovingBodies | None = None,
        view: SceneView | None = None,
        threads: int = 0,
    ) -> Work:
        """Like ``run``, but the calling thread is free until it waits by ``Work.end``.

        Arguments must not be changed until then, but bodies may be moved.
        """
        with self._users.one_more(self._closed_error):
            seen = self.view_of(bodies) if view is None else view
        claims = self.pool.new_claims(threads)

        def take_part() -> None:
            with self._users.one_more(self._closed_error):
                kernel(seen, claims, *arguments)

        return self.pool.begin(take_part, claims, threads)

    def view_of(self, bodies: MovingBodies | None) -> SceneView:
        """For ``run``: the scene with bodies here, None for where they were committed."""
        return self._committed if bodies is None else self._acceleration.view_of(*bodies)

    @property
    def view(self) -> SceneView:
        """The scene as an argument of kernels, valid until it is closed."""
        with self._users.one_more(self._closed_error):
            return self._committed

    def _closed_error(self) -> Exception:
        return ValueError(f"the ray scene of {self.scene.name} is closed")

    def with_looks(self, scene: Scene) -> "RayScene":
        """The same geometry, with its bodies where they are, under other materials, air and sky.

        Nothing is built. The result works as long as this scene is open, and need not be closed;
        bodies that are moved here later are not moved in it.
        """
        other = copy.copy(self)
        other.scene = scene
        return other

    def rounding_at(self, point: Sequence[float]) -> float:
        """How far float32 may shift resting geometry for a ray that starts at a point, in m.

        0 if nothing rests. It does not concern movable bodies: rays are transformed to their frames
        in float64.
        """
        if self._rests_from is None:  # Python's numbers are faster; called in each step
            view = self.view
            rests = view.handles[SURFACES] != 0 or view.handles[VOLUMES] != 0
            self._rests_from = tuple(view.offset.tolist()) if rests else ()
        off = (abs(a - b) for a, b in zip(point, self._rests_from, strict=False))
        return HALF_UNIT * max(off, default=0.0)

    def move(self, body: int, position: ArrayLike, orientation: ArrayLike) -> None:
        """Give a body a new pose, a quaternion w, x, y, z; rays see it after ``commit``."""
        count = len(self.scene.bodies)
        if not 0 <= body < count:
            raise ParameterError(f"body = {body} is out of range, the scene has {count} bodies")
        pose = np.array([*np.asarray(position), *np.asarray(orientation)], float)
        self._set_poses(np.array([body]), pose.reshape(1, 7))

    def move_all(self, poses: ArrayLike) -> None:
        """Give all bodies new poses: (n, 7), positions and then quaternions w, x, y, z."""
        count = len(self.scene.bodies)
        table = np.array(poses, float)
        if table.shape != (count, 7):
            raise ParameterError(f"poses of shape {table.shape} do not fit {count} bodies x 7")
        self._set_poses(np.arange(count), table)

    def _set_poses(self, bodies: NDArray[np.intp], poses: NDArray[np.float64]) -> None:
        lengths = np.sqrt((poses[:, 3:] ** 2).sum(axis=1))
        good = np.isfinite(poses).all(axis=1) & (lengths >= SHORTEST) & (lengths < np.inf)
        for row in np.flatnonzero(~good):
            name = self.scene.bodies[bodies[row]].name
            if not np.isfinite(poses[row, :3]).all():
                place = tuple(poses[row, :3].tolist())
                raise ParameterError(f"{name}.position = {place} is not finite")
            w, x, y, z = poses[row, 3:].tolist()
            unit_orientation(w, x, y, z, name=f"{name}.orientation")
        poses[:, 3:] /= lengths[:, None]
        with self._posing:
            self._poses[bodies] = poses

    def commit(self) -> None:
        """Make new poses of bodies valid for rays that are sent later."""
        with self._users.one_more(self._closed_error), self._posing:
            self._committed = self._acceleration.view_of(self._poses[np.newaxis], 0, 0)

    def close(self) -> None:
        """Free the memory of the scene; waits for rays under way."""
        if self._users.close():
            self.pool.close()
            self._acceleration.release()

    def __enter__(self) -> "RayScene":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def new_hits(kind: type[AnyHits], shape: tuple[int, ...]) -> AnyHits:
    """Arrays for the hits of this many rays."""
    layouts = [_layout(name, shape) for name in kind._fields]
    arrays: list[Any] = [np.empty(axes, number) for axes, number in layouts]
    return kind(*arrays)


def flat(hits: AnyHits) -> AnyHits:
    """The same hits, in the shape for a list of rays."""
    layouts = [_layout(name, (-1,)) for name in hits._fields]
    arrays: list[Any] = [a.reshape(axes) for a, (axes, _) in zip(hits, layouts, strict=True)]
    return type(hits)(*arrays)


def _layout(name: str, shape: tuple[int, ...]) -> tuple[tuple[int, ...], Any]:
    """Shape and type of an array of hits."""
    return (*shape, 3) if name == "normal" else shape, np.int32 if name in _IDS else np.float32


def _fitting(hits: AnyHits, shape: tuple[int, ...]) -> AnyHits:
    for name, array in zip(hits._fields, hits, strict=True):
        axes, number = _layout(name, shape)
        if array.shape != axes or array.dtype != number or not array.flags.c_contiguous:
            raise ValueError(f"out is not of a trace of rays of the shape {shape}")
    return hits


def _rays(
    origins: ArrayLike, directions: ArrayLike, max_range: float, coherent: bool | None
) -> tuple[Rays, tuple[int, ...]]:
    """Rays as arguments of kernels, and the shape of their results."""
    along = np.ascontiguousarray(directions, np.float32)
    if along.ndim not in (2, 3) or along.shape[-1] != 3:
        raise ValueError(f"directions of shape {along.shape} are not n x 3 or rows x columns x 3")
    shape = along.shape[:-1]
    start = np.ascontiguousarray(origins, np.float64)
    if start.shape not in ((3,), (*shape, 3)):
        raise ValueError(f"origins of shape {start.shape} do not fit directions of {along.shape}")
    grid = len(shape) == 2
    rows, columns = shape if grid else (1, shape[0])
    near = grid if coherent is None else coherent
    rays = Rays(rows, columns, start.reshape(-1, 3), along.reshape(-1, 3), float(max_range), near)
    return rays, shape
