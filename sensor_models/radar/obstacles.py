"""What a cone sensor takes for obstacles: all instances of a scene with one entity id are one.

Faces. The source divides quads into lines, and a scene has triangles. Two triangles (a, b, c) and
(a, c, d) that follow each other in a mesh are one quad if they are a parallelogram: planes and the
sides of boxes, in the manifest as in most files. Their corners are in order, so none are swapped.
A triangle is a quad whose last corner is its first. Lines run from the edge (a, d) to the edge
(b, c); those of a triangle start at its first corner.

Proxies. Predecessors of the source had the box around an object, or the middle of that box, for the
object. The boxes here are those of the meshes in their own frames, and turn with them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.radar.obstacles import Obstacles as Tables
from sensor_models.radar.parameters import ObstacleShape
from sensor_models.scene.model import NO_LABEL, Instance, Mesh, Scene

Floats = NDArray[np.float64]
Quads = NDArray[np.int64]

#: Share of its size by which a parallelogram may miss its last corner.
SQUARE = 1e-5
#: By how much balls are larger than what they hold, as a share of radius and distance.
ROUNDING = 1e-9
#: Bits of a place along each axis by which faces are sorted.
PLACE_BITS = 10
#: The sides of a box, whose corners are counted by the bits of x, y and z, seen from outside; the
#: lines of the upright ones are level.
SIDES = np.array(
    [[0, 2, 6, 4], [1, 5, 7, 3], [0, 4, 5, 1], [2, 3, 7, 6], [0, 1, 3, 2], [4, 6, 7, 5]]
)


@dataclass(frozen=True)
class Obstacles:
    """The obstacles of a scene."""

    tables: Tables
    entity_ids: NDArray[np.int64]  # of each obstacle, rising
    depth: int  # of the highest tree
    #: Faces with a corner that is not finite; they are left out.
    bad_faces: int


@dataclass(frozen=True)
class _Tree:
    """A mesh, ready to be looked at."""

    vertices: NDArray[np.float32]
    faces: Quads
    balls: Floats
    bad_faces: int

    @property
    def leaves(self) -> int:
        return (len(self.balls) + 1) // 2


def obstacles_of(
    scene: Scene,
    shape: ObstacleShape = ObstacleShape.lines,
    ignored: Iterable[str] = (),
) -> Obstacles:
    """The obstacles of a scene but for those whose instance or label has an ignored name."""
    names = set(ignored)
    labels = {number for number, name in scene.labels.items() if name in names}
    seen = [i for i in scene.instances if i.name not in names and i.label not in labels]
    trees: dict[int, _Tree] = {}
    for mesh in sorted({instance.mesh for instance in seen}):
        tree = _tree_of(scene.meshes[mesh], shape, labels)
        if tree is not None:
            trees[mesh] = tree
    seen = [instance for instance in seen if instance.mesh in trees]
    entity_ids, slots = np.unique([i.entity_id for i in seen], return_inverse=True)
    places = dict(zip(trees, _places(trees.values()), strict=True))
    tables = _tables(list(trees.values()), seen, places, slots)
    return Obstacles(
        tables,
        entity_ids.astype(np.int64),
        max((tree.leaves.bit_length() for tree in trees.values()), default=1),
        sum(tree.bad_faces for tree in trees.values()),
    )


def unknown_names(scene: Scene, names: Iterable[str]) -> list[str]:
    """The names that neither an instance nor a label of a scene has."""
    known = {instance.name for instance in scene.instances} | set(scene.labels.values())
    return sorted(set(names) - known)


def faces_of(vertices: NDArray[np.float32], triangles: NDArray[np.uint32]) -> Quads:
    """The faces of triangles, (m, 4): parallelograms, and triangles that end where they began."""
    corners = triangles.astype(np.int64)
    first, second = corners[:-1], corners[1:]
    # (a, b, c) and (a, c, d), by place: files may have vertices of their own for each triangle.
    at = vertices.astype(np.float64)
    a, b, c, d = at[first[:, 0]], at[first[:, 1]], at[first[:, 2]], at[second[:, 2]]
    size = np.abs(np.stack([b - a, c - a, d - a])).max(axis=(0, 2), initial=0.0)
    same = (at[second[:, 0]] == a).all(axis=1) & (at[second[:, 1]] == c).all(axis=1)
    paired = same & (np.abs(a + c - b - d).max(axis=1, initial=0.0) <= SQUARE * size)
    begins = np.zeros(len(corners) + 1, bool)
    for place in np.flatnonzero(paired):  # a triangle is part of one quad
        begins[place] = not (place > 0 and begins[place - 1])
    begins = begins[: len(corners)]
    quads = np.column_stack([corners, corners[:, 0]])
    quads[begins, 3] = np.roll(corners, -1, axis=0)[begins, 2]
    return quads[~np.concatenate([[False], begins[:-1]])] if len(corners) else quads


def _tree_of(mesh: Mesh, shape: ObstacleShape, left_out: set[int]) -> _Tree | None:
    """The tree of a mesh; None if nothing of it is left."""
    triangles = mesh.faces
    if mesh.face_label is not None and left_out:
        triangles = triangles[~np.isin(mesh.face_label, list(left_out - {NO_LABEL}))]
    vertices, faces = mesh.vertices, faces_of(mesh.vertices, triangles)
    good = np.isfinite(vertices[faces]).all(axis=(1, 2))
    bad_faces, faces = int((~good).sum()), faces[good]
    if len(faces) == 0:
        return None
    if shape != ObstacleShape.lines:
        vertices, faces = _proxy(vertices[np.unique(faces)], shape)
    low, high = vertices[faces].min(axis=1), vertices[faces].max(axis=1)
    order = np.argsort(_morton(0.5 * low + 0.5 * high), kind="stable")
    balls = _balls(low[order].astype(float), high[order].astype(float))
    return _Tree(vertices, faces[order], balls, bad_faces)


def _proxy(points: NDArray[np.float32], shape: ObstacleShape) -> tuple[NDArray[np.float32], Quads]:
    """The box around points, or its middle."""
    low, high = points.min(axis=0), points.max(axis=0)
    if shape == ObstacleShape.box_center:
        return (0.5 * (low + high)).reshape(1, 3), np.zeros((1, 4), np.int64)
    bits = (np.arange(8)[:, np.newaxis] >> np.arange(3)) & 1
    return np.where(bits == 1, high, low).astype(np.float32), SIDES


def _morton(points: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Numbers that are close for points that are close: the bits of x, y and z in turns."""
    low, high = points.min(axis=0), points.max(axis=0)
    cells = 2**PLACE_BITS - 1
    share = (points - low) / np.where(high > low, high - low, 1.0)
    places = (share * cells).astype(np.uint64)
    code = np.zeros(len(points), np.uint64)
    for bit in range(PLACE_BITS):
        for axis in range(3):
            one = (places[:, axis] >> np.uint64(bit)) & np.uint64(1)
            code |= one << np.uint64(3 * bit + axis)
    return code


def _balls(low: Floats, high: Floats) -> Floats:
    """The balls of a balanced tree over boxes, from the root down."""
    missing = (1 << (len(low) - 1).bit_length()) - len(low)
    low = np.vstack([low, np.full((missing, 3), np.inf)])
    high = np.vstack([high, np.full((missing, 3), -np.inf)])
    levels = [(low, high)]
    while len(low) > 1:
        low, high = np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])
        levels.append((low, high))
    low, high = (np.vstack(ends[::-1]) for ends in zip(*levels, strict=True))
    balls = np.zeros((len(low), 4))
    there = low[:, 0] <= high[:, 0]
    balls[:, 3] = -1.0
    balls[there, :3] = 0.5 * (low[there] + high[there])
    balls[there, 3] = 0.5 * np.linalg.norm(high[there] - low[there], axis=1)
    balls[there, 3] += ROUNDING * (balls[there, 3] + np.abs(balls[there, :3]).sum(axis=1))
    return balls


def _places(trees: Iterable[_Tree]) -> Iterator[tuple[int, int, int]]:
    """First ball, leaves and first face of each tree in the tables of all."""
    ball = face = 0
    for tree in trees:
        yield ball, tree.leaves, face
        ball, face = ball + len(tree.balls), face + len(tree.faces)


def _tables(
    trees: list[_Tree],
    seen: list[Instance],
    places: dict[int, tuple[int, int, int]],
    slots: NDArray[np.intp],
) -> Tables:
    """The tables of trees and of their instances."""
    starts = np.cumsum([0, *(len(tree.vertices) for tree in trees)])
    faces = [tree.faces + start for tree, start in zip(trees, starts, strict=False)]
    transforms = np.array([instance.transform[:3] for instance in seen]).reshape(-1, 3, 4)
    stretch = np.linalg.norm(transforms[:, :, :3], ord=2, axis=(1, 2)) if seen else np.zeros(0)
    return Tables(
        vertices=np.vstack([np.zeros((0, 3), np.float32), *(tree.vertices for tree in trees)]),
        faces=np.vstack([np.zeros((0, 4), np.int64), *faces]).astype(np.int32),
        balls=np.vstack([np.zeros((0, 4)), *(tree.balls for tree in trees)]),
        trees=np.array([places[i.mesh] for i in seen], np.int64).reshape(-1, 3),
        transforms=np.ascontiguousarray(transforms, np.float64),
        stretch=np.ascontiguousarray(stretch, np.float64),
        body_of=np.array([instance.body for instance in seen], np.int32),
        slot_of=np.asarray(slots, np.int32).reshape(-1),
    )
