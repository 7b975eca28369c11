"""The parts of a scene that a vehicle can stand on or run into.

A scene is made for rays: triangles without an inside. An engine wants solids, so

- a mesh whose vertices are a regular grid becomes a terrain of the same triangles,
- a level surface becomes a slab below it, unless it is as narrow as a painted line,
- any other connected part becomes an upright box or cylinder, whichever is smaller around it,
- a movable body becomes one box in its own frame.

Leaves and twigs do not resist, and parts that begin higher above the ground than a vehicle reaches
are left out, so a tree is only its trunk. A hollow part (a room whose walls are connected) becomes
solid.

Finding the solids of a scene takes longer than a second of driving in it, and a vehicle that is
reset finds the same ones again. So those of the last few scenes are kept, by all that they are
made of.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.model import Instance, Mesh, Scene

Floats = NDArray[np.float64]

#: Materials that a vehicle passes through.
GIVES_WAY = ("leaf", "needle")
WOOD = "bark"
THINNEST_WOOD = 0.12  # m, what is thinner bends
REACH = 2.3  # m above the ground, to which the arm comes
LEVEL = 0.01  # m, thickness up to which a part is a surface
SLAB_THICKNESS = 0.5  # m, enough for wheels that press in
NARROWEST_SLAB = 0.3  # m, less is a painted line
HIGHEST_STEP = 0.3  # m, what a wheel can be asked to climb
_JOINED = 1e-4  # m between vertices that are one
_INSIDE = 0.02  # m by which a part may look out of another that hides it
_MOST_KEPT = 4  # scenes whose solids a process remembers


@dataclass(frozen=True)
class Terrain:
    """Heights over a rectangle in a frame of its own: rows along x, the first at -y."""

    name: str
    heights: Floats
    half_size: tuple[float, float]
    position: Floats
    rotation: Floats  # (3, 3), terrain to world

    def height_at(self, x: float, y: float) -> float:
        """The height of the terrain, which is not tilted, at a place; NaN outside of it.

        Each cell is two triangles that share the diagonal from its lower to its upper corner.
        """
        local = self.rotation.T @ (np.array([x, y, 0.0]) - self.position)
        rows, columns = self.heights.shape
        place = (local[:2] / self.half_size + 1.0) / 2.0 * (columns - 1, rows - 1)
        if not ((place >= 0.0) & (place <= (columns - 1, rows - 1))).all():
            return math.nan
        column, row = np.minimum(place.astype(int), (columns - 2, rows - 2))
        u, v = place - (column, row)
        low, high = self.heights[row, column], self.heights[row + 1, column + 1]
        if u > v:
            between = (1.0 - u) * low + (u - v) * self.heights[row, column + 1] + v * high
        else:
            between = (1.0 - v) * low + (v - u) * self.heights[row + 1, column] + u * high
        return float(between + self.position[2])


@dataclass(frozen=True)
class Solid:
    """An upright box, or a cylinder if ``is_round``."""

    name: str
    position: Floats  # of its middle
    half_size: Floats
    yaw: float = 0.0
    is_round: bool = False
    is_ground: bool = False  # wheels roll on it

    @property
    def top(self) -> float:
        """Its highest point."""
        return float(self.position[2] + self.half_size[2])

    def is_at(self, x: float, y: float) -> bool:
        """Whether a point is in the rectangle around it."""
        offset = (np.array([x, y, 0.0]) - self.position) @ turn_z(self.yaw)
        return bool((np.abs(offset[:2]) <= self.half_size[:2]).all())

    def corners(self) -> Floats:
        """The corners of the box around it, (8, 3)."""
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return np.asarray(signs * self.half_size @ turn_z(self.yaw).T + self.position)

    def hides(self, other: "Solid") -> bool:
        """Whether another solid lies in this one, which is a box."""
        local = (other.corners() - self.position) @ turn_z(self.yaw)
        return not self.is_round and bool((np.abs(local) <= self.half_size + _INSIDE).all())


@dataclass(frozen=True)
class SolidScene:
    """All solid parts of a scene."""

    terrains: tuple[Terrain, ...]
    solids: tuple[Solid, ...]
    bodies: dict[str, Solid]  # boxes in the frames of the movable bodies

    def height_at(self, x: float, y: float) -> float:
        """The highest ground at a place; NaN where there is none."""
        return _height(self.terrains, self.solids, x, y)

    def border(self) -> Floats:
        """The smallest upright rectangle around all ground: ((x, y) low, (x, y) high)."""
        corners = [np.empty((0, 2))]
        signs = np.array([[a, b, 0.0] for a in (-1, 1) for b in (-1, 1)])
        for terrain in self.terrains:
            scaled = signs * [*terrain.half_size, 0.0]
            corners.append((scaled @ terrain.rotation.T + terrain.position)[:, :2])
        for solid in self.solids:
            if solid.is_ground:
                corners.append(solid.corners()[:, :2])
        points = np.concatenate(corners)
        ends = [points.min(axis=0), points.max(axis=0)] if len(points) else [[0.0, 0.0]] * 2
        return np.array(ends)


_kept: dict[bytes, SolidScene] = {}


def solids_of(scene: Scene) -> SolidScene:
    """The solids of a scene, which nobody may change: other vehicles have the same ones."""
    key = _digest(scene)
    found = _kept.pop(key, None) or _find_solids(scene)
    _kept[key] = found  # the last one that was used is the last one to go
    for old in list(_kept)[:-_MOST_KEPT]:
        _kept.pop(old, None)  # another thread may have been here
    return found


def _digest(scene: Scene) -> bytes:
    """What the solids of a scene depend on."""
    digest = hashlib.sha256()
    names = [material.name for material in scene.materials], [body.name for body in scene.bodies]
    places = [(i.mesh, i.body, i.name, i.entity_id) for i in scene.instances]
    digest.update(repr((names, places)).encode())
    for instance in scene.instances:
        digest.update(instance.transform.tobytes())
    for mesh in scene.meshes:
        for array in (mesh.vertices, mesh.faces, mesh.face_material):
            digest.update(repr((array.shape, array.dtype)).encode())
            digest.update(array.tobytes())
    return digest.digest()


def _find_solids(scene: Scene) -> SolidScene:
    fixed = [i for i in scene.instances if i.body < 0]
    grids = {id(i): _terrain(i, scene.meshes[i.mesh]) for i in fixed}
    terrains = tuple(terrain for terrain in grids.values() if terrain is not None)
    parts = [part for i in fixed if grids[id(i)] is None for part in _parts(i, scene)]
    slabs = [s for name, corners in parts if (s := _slab(name, corners)) is not None]

    def ground(x: float, y: float) -> float:
        height = _height(terrains, slabs, x, y)
        return 0.0 if math.isnan(height) else height

    standing = [(name, corners) for name, corners in parts if np.ptp(corners[:, 2]) > LEVEL]
    solids = [s for part in standing if (s := _obstacle(*part, ground)) is not None]
    return SolidScene(terrains, (*slabs, *_visible(solids)), _bodies(scene))


def _visible(solids: list[Solid]) -> list[Solid]:
    """The solids that no other one hides."""
    seen: list[Solid] = []
    for solid in sorted(solids, key=lambda s: -float(np.prod(s.half_size))):
        if not any(larger.hides(solid) for larger in seen):
            seen.append(solid)
    return seen


def _height(terrains: Iterable[Terrain], solids: Iterable[Solid], x: float, y: float) -> float:
    """The highest ground at a place; NaN where there is none."""
    heights = [terrain.height_at(x, y) for terrain in terrains]
    heights += [solid.top for solid in solids if solid.is_ground and solid.is_at(x, y)]
    return max((height for height in heights if not math.isnan(height)), default=math.nan)


def _name(instance: Instance) -> str:
    return instance.name or f"entity {instance.entity_id}"


def _scaled(instance: Instance, mesh: Mesh) -> tuple[Floats, Floats]:
    """The vertices in a frame that is only turned and shifted, and that turn."""
    linear = instance.transform[:3, :3]
    scale = np.linalg.norm(linear, axis=0)
    return mesh.vertices * scale, linear / scale


def _terrain(instance: Instance, mesh: Mesh) -> Terrain | None:
    """The instance as a grid of heights, if it is one."""
    vertices, rotation = _scaled(instance, mesh)
    x, y = (np.unique(vertices[:, axis].round(5)) for axis in (0, 1))
    if min(len(x), len(y)) < 3 or len(x) * len(y) != len(vertices) or rotation[2, 2] < 0.99999:
        return None
    if max(np.ptp(np.diff(x)), np.ptp(np.diff(y))) > 1e-3 * min(np.diff(x)[0], np.diff(y)[0]):
        return None
    order = np.lexsort((vertices[:, 0].round(5), vertices[:, 1].round(5)))
    middle = np.array([(x[0] + x[-1]) / 2.0, (y[0] + y[-1]) / 2.0, 0.0])
    return Terrain(
        _name(instance),
        vertices[order, 2].reshape(len(y), len(x)),
        (float(x[-1] - x[0]) / 2.0, float(y[-1] - y[0]) / 2.0),
        rotation @ middle + instance.transform[:3, 3],
        rotation,
    )


def _parts(instance: Instance, scene: Scene) -> Iterator[tuple[str, Floats]]:
    """The connected parts of an instance that are hard: name and vertices in the world."""
    mesh = scene.meshes[instance.mesh]
    soft = [n for n, material in enumerate(scene.materials) if material.name in GIVES_WAY]
    is_hard = ~np.isin(mesh.face_material, soft)
    faces, material = mesh.faces[is_hard].astype(np.int64), mesh.face_material[is_hard]
    if len(faces) == 0:
        return
    world = mesh.vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
    label = _components(mesh.vertices, faces)[faces[:, 0]]
    for number in np.unique(label):
        corners = world[np.unique(faces[label == number])]
        is_wood = scene.materials[material[label == number][0]].name == WOOD
        if not is_wood or 2.0 * _rectangle(corners[:, :2])[1].min() >= THINNEST_WOOD:
            yield _name(instance), corners


def _components(vertices: NDArray[Any], faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each vertex, the same for all that faces connect."""
    _, place = np.unique((vertices / _JOINED).round(), axis=0, return_inverse=True)
    place = place.ravel()
    corners = place[faces]
    label = np.arange(place.max() + 1)
    while True:
        before = label.copy()
        np.minimum.at(label, corners, label[corners].min(axis=1, keepdims=True))
        label = label[label]  # each vertex takes over what the vertex of its number has learned
        if np.array_equal(label, before):
            return label[place]


def _slab(name: str, corners: Floats) -> Solid | None:
    """The ground below a level surface."""
    if np.ptp(corners[:, 2]) > LEVEL:
        return None
    middle, half, yaw = _rectangle(corners[:, :2])
    if 2.0 * half.min() < NARROWEST_SLAB:
        return None
    top = corners[:, 2].max()
    thick = SLAB_THICKNESS / 2.0
    return Solid(name, np.array([*middle, top - thick]), np.array([*half, thick]), yaw, False, True)


def _obstacle(name: str, corners: Floats, ground: Callable[[float, float], float]) -> Solid | None:
    """An obstacle: the smaller one of an upright box and an upright cylinder around a part."""
    low, high = corners[:, 2].min(), corners[:, 2].max()
    middle, half, yaw = _rectangle(corners[:, :2])
    below = ground(*middle)
    if low > below + REACH or high < below:
        return None
    is_step = high < below + HIGHEST_STEP and 2.0 * half.min() > NARROWEST_SLAB
    centre = (corners[:, :2].min(axis=0) + corners[:, :2].max(axis=0)) / 2.0
    radius = np.linalg.norm(corners[:, :2] - centre, axis=1).max()
    is_round = math.pi * radius**2 < 4.0 * half[0] * half[1]
    if is_round:
        middle, half = centre, np.array([radius, radius])
    height = (high - low) / 2.0
    position, size = np.array([*middle, low + height]), np.array([*half, height])
    return Solid(name, position, np.maximum(size, LEVEL / 2.0), yaw, is_round, is_step)


def _rectangle(points: Floats) -> tuple[Floats, Floats, float]:
    """The smallest rectangle around points: middle, half its sides, its angle (to a degree)."""
    angles = np.radians(np.arange(90.0))
    cosine, sine = np.cos(angles), np.sin(angles)
    along = np.outer(points[:, 0], cosine) + np.outer(points[:, 1], sine)
    across = np.outer(points[:, 1], cosine) - np.outer(points[:, 0], sine)
    best = int(np.argmin((np.ptp(along, axis=0) * np.ptp(across, axis=0)).round(9)))
    ends = np.array([[f(v[:, best]) for v in (along, across)] for f in (np.min, np.max)])
    yaw = float(angles[best])
    return turn_z(yaw)[:2, :2] @ ends.mean(axis=0), (ends[1] - ends[0]) / 2.0, yaw


def turn_z(yaw: float) -> Floats:
    """The rotation by an angle about the vertical."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _bodies(scene: Scene) -> dict[str, Solid]:
    """A box around all that each movable body carries, in its own frame."""
    found = {}
    for number, body in enumerate(scene.bodies):
        corners = [
            scene.meshes[i.mesh].vertices @ i.transform[:3, :3].T + i.transform[:3, 3]
            for i in scene.instances
            if i.body == number
        ]
        if corners:
            points = np.concatenate(corners)
            low, high = points.min(axis=0), points.max(axis=0)
            found[body.name] = Solid(body.name, (low + high) / 2.0, (high - low) / 2.0)
    return found
