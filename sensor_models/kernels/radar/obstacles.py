"""Obstacles around a cone sensor: the nearest point of each of them.

The faces of a mesh are the leaves of a balanced binary tree, node n of which has the children
2 n + 1 and 2 n + 2. A node knows a ball around all that is below it. A ball is left out if it is
not in the cone that is widened by its radius (``kernels.radar.cone``), or if it is not nearer
than what was found of the same obstacle.

A mesh is in the scene by instances, in its own frame: brought to the cone by x -> M x + c with

    M = S R_s^T (R_b L),   c = S R_s^T (p_b + R_b l - p_s)

L, l being the transform of the instance, p_b and R_b the pose of its body, p_s and R_s that of the
sensor, and S the turn of the sensor's axes (x forward, y left, z up) into those of the cone
(x left, y up, z forward).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import (
    Triple,
    conjugate,
    dot,
    minus,
    plus,
    quaternion_at,
    triple_at,
    turn,
)
from sensor_models.kernels.options import INLINE, PLAIN
from sensor_models.kernels.radar.cone import Cone, is_inside, nearest_of_face

Floats = NDArray[np.float64]
Rows = tuple[Triple, Triple, Triple, Triple]


class Obstacles(NamedTuple):
    """Meshes and their instances."""

    vertices: NDArray[np.float32]  # (n, 3), m, of all meshes
    faces: NDArray[np.int32]  # (m, 4), places in the vertices
    balls: Floats  # (nodes, 4): middle and radius; a radius below 0 is that of nothing
    trees: NDArray[np.int64]  # (instances, 3): its first ball, its leaves, its first face
    transforms: Floats  # (instances, 3, 4): rows of L and l, to its body or the world
    stretch: Floats  # (instances,): by how much lengths grow at the most
    body_of: NDArray[np.int32]  # (instances,), -1 for the world
    slot_of: NDArray[np.int32]  # (instances,): which obstacle it is a part of


@njit(**PLAIN)
def find_nearest(
    cone: Cone,
    obstacles: Obstacles,
    sensor: Floats,
    bodies: Floats,
    lines: int,
    nearest: Floats,
    nodes: NDArray[np.int64],
    segments: NDArray[np.int64],
) -> None:
    """Write the nearest point of each obstacle: distance, x, y, z in the cone's axes.

    The distance of an obstacle of which nothing is in the cone is inf. ``sensor`` and the rows of
    ``bodies`` are poses in the world: position, then unit quaternion w, x, y, z. ``nodes`` and
    ``segments`` are room for work.
    """
    nearest[:, 0] = math.inf
    for instance in range(len(obstacles.trees)):
        rows = _placed(obstacles, instance, sensor, bodies)
        slot = obstacles.slot_of[instance]
        _search(cone, obstacles, instance, rows, lines, nearest[slot], nodes, segments)


@njit(**INLINE)
def _placed(obstacles: Obstacles, instance: int, sensor: Floats, bodies: Floats) -> Rows:
    """The columns of M and c of an instance."""
    body, matrix = obstacles.body_of[instance], obstacles.transforms[instance]
    back, here = conjugate(quaternion_at(sensor, 3)), triple_at(sensor, 0)
    x = (matrix[0, 0], matrix[1, 0], matrix[2, 0])
    y = (matrix[0, 1], matrix[1, 1], matrix[2, 1])
    z = (matrix[0, 2], matrix[1, 2], matrix[2, 2])
    origin = (matrix[0, 3], matrix[1, 3], matrix[2, 3])
    if body >= 0:
        pose = bodies[body]
        there = quaternion_at(pose, 3)
        x, y, z = turn(there, x), turn(there, y), turn(there, z)
        origin = plus(turn(there, origin), triple_at(pose, 0))
    origin = minus(origin, here)
    return (
        _axes(turn(back, x)),
        _axes(turn(back, y)),
        _axes(turn(back, z)),
        _axes(turn(back, origin)),
    )


@njit(**INLINE)
def _axes(forward_left_up: Triple) -> Triple:
    """A vector of the sensor in the axes of the cone."""
    return forward_left_up[1], forward_left_up[2], forward_left_up[0]


@njit(**INLINE)
def _bring(rows: Rows, x: float, y: float, z: float) -> Triple:
    """A point of a mesh in the axes of the cone."""
    return (
        rows[0][0] * x + rows[1][0] * y + rows[2][0] * z + rows[3][0],
        rows[0][1] * x + rows[1][1] * y + rows[2][1] * z + rows[3][1],
        rows[0][2] * x + rows[1][2] * y + rows[2][2] * z + rows[3][2],
    )


@njit(**INLINE)
def _corner(obstacles: Obstacles, rows: Rows, vertex: int) -> Triple:
    """A vertex in the axes of the cone."""
    at = obstacles.vertices
    x, y, z = at[vertex, 0], at[vertex, 1], at[vertex, 2]
    corner: Triple = _bring(rows, float(x), float(y), float(z))
    return corner


@njit(**PLAIN)
def _search(
    cone: Cone,
    obstacles: Obstacles,
    instance: int,
    rows: Rows,
    lines: int,
    best: Floats,
    nodes: NDArray[np.int64],
    segments: NDArray[np.int64],
) -> None:
    """Look for a nearer point in the tree of an instance."""
    first, leaves = obstacles.trees[instance, 0], obstacles.trees[instance, 1]
    first_face, balls = obstacles.trees[instance, 2], obstacles.balls
    stretch = obstacles.stretch[instance]
    nodes[0], waiting = 0, 1
    while waiting > 0:
        waiting -= 1
        node = nodes[waiting]
        if _lower_bound(cone, balls, first + node, rows, stretch) >= best[0]:
            continue
        if node < leaves - 1:
            one, other = 2 * node + 1, 2 * node + 2
            distance = _lower_bound(cone, balls, first + one, rows, stretch)
            other_distance = _lower_bound(cone, balls, first + other, rows, stretch)
            nearer, further = (one, other) if distance <= other_distance else (other, one)
            nodes[waiting], nodes[waiting + 1] = further, nearer
            waiting += 2
            continue
        corners = obstacles.faces[first_face + node - leaves + 1]
        face = (
            _corner(obstacles, rows, corners[0]),
            _corner(obstacles, rows, corners[1]),
            _corner(obstacles, rows, corners[2]),
            _corner(obstacles, rows, corners[3]),
        )
        distance, point = nearest_of_face(cone, face, lines, best[0], segments)
        if distance < best[0]:
            best[0], best[1], best[2], best[3] = distance, point[0], point[1], point[2]


@njit(**INLINE)
def _lower_bound(cone: Cone, balls: Floats, ball: int, rows: Rows, stretch: float) -> float:
    """No point of a ball that is in the cone is nearer; inf if there is none."""
    radius = balls[ball, 3] * stretch
    middle = _bring(rows, balls[ball, 0], balls[ball, 1], balls[ball, 2])
    if radius < 0.0 or not is_inside(cone, middle, radius):
        return math.inf
    distance: float = math.sqrt(dot(middle, middle)) - radius
    return distance
