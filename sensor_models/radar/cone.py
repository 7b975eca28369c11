"""Cone sensor: range, angles and speed of the nearest point of each obstacle in a cone.

The model is that of CONE: a sensor by a function, between one that knows where objects are and one
that simulates its physics. The nearest of all points of all lines of all faces (``obstacles``) is
found exactly (``kernels.radar.cone``), and with it, in the sensor frame (x forward, y left, z up):

    range      |q|
    azimuth    atan2(y, x)                  (CONE 3.7), positive to the left as of all sensors here
    elevation  atan2(z, x)                  (CONE 3.8), the projected angle; or the true one,
               atan2(z, sqrt(x^2 + y^2))
    speed      |q_k - q_(k-1)| / (t_k - t_(k-1))     (CONE 3.9), by the time of the simulation; or
               of closing, the fall of the range in that time, which has a sign

Each obstacle is compared with itself in the frame before, and has no speed where it was not seen.
So has the nearest of all, also in a frame in which another obstacle was the nearest before: the
source compares the points of two objects there.

Lines lie up to (extent of the face) / (2 (N - 1)) beside the nearest point of a face, N being
their number: at a distance r an angle of atan(extent / (2 (N - 1) r)) (CONE 4.1). With an odd
number a line runs through the middle of a face.

Not modelled: what hides what (obstacles behind others are targets, too; the nearest cannot be
hidden), noise, reflectivity and lobes of the antenna: all that a radar's physics does.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.frames import (
    MountParameters,
)
from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.radar.cone import STACK, Cone
from sensor_models.kernels.radar.obstacles import find_nearest
from sensor_models.radar.obstacles import Obstacles
from sensor_models.radar.parameters import Cap, ConeParameters, ElevationMode, SpeedMode
from sensor_models.sight.mount import pose_of

Floats = NDArray[np.float64]


class Target(NamedTuple):
    """An obstacle in the cone."""

    entity_id: int
    range: float  # m
    azimuth: float  # rad
    elevation: float  # rad
    speed: float  # m/s, NaN where nothing is known of the frame before
    point: tuple[float, float, float]  # m, sensor frame: what is nearest of it


class Detections(NamedTuple):
    """What is in the cone at an instant."""

    targets: list[Target]  # the nearest first


class Seen(NamedTuple):
    """What a frame leaves for the next one."""

    time: float
    entity_ids: NDArray[np.int64]  # the nearest first
    points: Floats  # (n, 3)


class ConeRadar:
    """A cone sensor on its body."""

    def __init__(
        self, parameters: ConeParameters | None = None, mount: MountParameters | None = None
    ) -> None:
        self.parameters = own = parameters or ConeParameters()
        self.mount = mount or MountParameters()
        self._cone = cone_of(own)
        self._before: Seen | None = None
        self._segments = np.zeros((STACK, 2), np.int64)

    def reset(self) -> None:
        """Back to before the first frame."""
        self._before = None

    def sensor_pose(self, body: ArrayLike) -> Floats:
        """Position and quaternion of the sensor in the world, of the pose of its body."""
        return np.concatenate(pose_of(self.mount, body))

    def detect(
        self, obstacles: Obstacles, body: ArrayLike, bodies: ArrayLike, time: float
    ) -> Detections:
        """The obstacles in the cone; ``bodies`` are the poses of the scene's."""
        own, sensor = self.parameters, self.sensor_pose(body)
        poses = np.ascontiguousarray(bodies, float).reshape(-1, 7)
        nearest = np.empty((len(obstacles.entity_ids), 4))
        nodes = np.empty(obstacles.depth + 1, np.int64)
        lines = own.lines_per_face
        find_nearest(
            self._cone, obstacles.tables, sensor, poses, lines, nearest, nodes, self._segments
        )
        order = np.argsort(nearest[:, 0], kind="stable")
        order = order[np.isfinite(nearest[order, 0])]
        points = nearest[order][:, [3, 1, 2]]  # the cone has left, up, forward
        now = Seen(time, obstacles.entity_ids[order], points)
        targets = [
            Target(entity, *self._polar(point, distance), speed, tuple(point))
            for entity, point, distance, speed in zip(
                now.entity_ids.tolist(),
                points.tolist(),
                nearest[order, 0].tolist(),
                self._speeds(now),
                strict=True,
            )
        ]
        self._before = now
        return Detections(targets)

    def _polar(self, point: list[float], distance: float) -> tuple[float, float, float]:
        """Range, azimuth and elevation."""
        x, y, z = point
        projected = self.parameters.elevation_mode == ElevationMode.projected
        return distance, math.atan2(y, x), math.atan2(z, x if projected else math.hypot(x, y))

    def placed(self, seen: Target, reported: Target) -> Target:
        """A target whose point is where its range and angles say, if errors changed these."""
        distance, azimuth, elevation = polar = reported[1:4]
        if polar == seen[1:4]:
            return reported
        level = math.cos(elevation)
        x, y, z = level * math.cos(azimuth), level * math.sin(azimuth), math.sin(elevation)
        if self.parameters.elevation_mode == ElevationMode.projected:
            x, y, z = 1.0, math.tan(azimuth), math.tan(elevation)
        scale = distance / math.hypot(x, y, z)
        return reported._replace(point=(scale * x, scale * y, scale * z))

    def _speeds(self, now: Seen) -> list[float]:
        """The speeds of obstacles since the frame before."""
        speeds = np.full(len(now.entity_ids), math.nan)
        before = self._before
        if before is None or now.time <= before.time:
            return speeds.tolist()
        _, here, there = np.intersect1d(now.entity_ids, before.entity_ids, return_indices=True)
        points, old = now.points[here], before.points[there]
        if self.parameters.speed_mode == SpeedMode.closing:
            way = np.linalg.norm(old, axis=1) - np.linalg.norm(points, axis=1)
        else:
            way = np.linalg.norm(points - old, axis=1)
        speeds[here] = way / (now.time - before.time)
        known: list[float] = speeds.tolist()
        return known

    @property
    def state(self) -> dict[str, Floats]:
        """What is remembered of the frame before."""
        before = self._before
        if before is None:
            return {"seen": np.zeros((0, 4)), "seen_at": np.zeros(0)}
        return {
            "seen": np.column_stack([before.entity_ids, before.points]),
            "seen_at": np.array([before.time]),
        }

    @state.setter
    def state(self, saved: dict[str, Floats]) -> None:
        seen, at = saved["seen"], saved["seen_at"]
        fits = seen.ndim == 2 and seen.shape[1:] == (4,) and at.shape in ((0,), (1,))
        if not fits or not (np.isfinite(seen).all() and np.isfinite(at).all()):
            raise ParameterError("this is no state of a radar")
        if (seen[:, 0] != np.floor(seen[:, 0])).any() or (len(seen) and not len(at)):
            raise ParameterError("this is no state of a radar")
        ids, points = seen[:, 0].astype(np.int64), seen[:, 1:].copy()
        self._before = Seen(float(at[0]), ids, points) if len(at) else None


def cone_of(parameters: ConeParameters) -> Cone:
    """The cone that parameters describe."""
    side = math.tan(0.5 * parameters.h_angle) ** -2
    up = math.tan(0.5 * parameters.v_angle) ** -2
    growth = math.sqrt(max(side, up) + 1.0)
    return Cone(side, up, parameters.length, growth, parameters.cap == Cap.sphere)
