"""Meshes of a glTF that an animation changes: their vertices at evenly spaced times.

Of an animation (a *clip*) those channels are used that move, turn and scale nodes. At a time each
node n has the transform T_n = T_parent(n) M_n in the file. A vertex p of a mesh on the node is at
T_n p; if the node has a skin with the joints j, their inverse bind matrices B_j and the weights
w_j of the vertex, it is at

    sum_j w_j T_j B_j p / sum_j w_j

whatever the transform of the node itself. Between the times that are taken here, the ray engine
blends vertices linearly: a point that goes around at w, r off its axis, is within r (w h)^2 / 8 of
its way, with the times h apart.

Channels of ``weights`` (morph targets) are left out, and said once to the log.

Source: Khronos, glTF 2.0 Specification, sections 3.7.3 (skins) and 3.11 (animations), appendix C
(interpolation).
"""

import logging
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.gltf_accessors import Accessors
from sensor_models.scene.gltf_pictures import Look
from sensor_models.scene.limits import MAX_POSTURES, refuse_above_limit
from sensor_models.scene.primitives import Piece

Floats = NDArray[np.float64]

#: Postures of a second of a clip, if their number is not given.
A_SECOND = 60.0
#: Transforms of nodes that are kept at once: nodes times postures.
MOST_TRANSFORMS = 2**22

_PATHS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}
_AT_REST = {
    "translation": (0.0, 0.0, 0.0),
    "rotation": (0.0, 0.0, 0.0, 1.0),
    "scale": (1.0, 1.0, 1.0),
}
_TRIANGLES = 4

_log = logging.getLogger(__name__)


class Clip(NamedTuple):
    """An animation, and how it is sampled."""

    animation: Any
    times: Floats  # s, of the postures

    @property
    def length(self) -> float:
        """How long it lasts, in s."""
        return float(self.times[-1])


def pieces_of_clip(
    tree: Any, accessors: Accessors, name: str, postures: int, looks: Mapping[int, Look]
) -> list[Piece]:
    """The pieces of a file with their vertices at the times of a clip; ``postures`` 0: enough."""
    clip = _clip_of(tree, accessors, name, postures)
    nodes = tree.get("nodes", [])
    if len(nodes) * len(clip.times) > MOST_TRANSFORMS:
        raise MeshFileError(
            f"has {len(nodes)} nodes in {len(clip.times)} postures, allowed are"
            f" {MOST_TRANSFORMS} together"
        )
    places = _transforms(tree, _moved(tree, accessors, clip), len(clip.times))
    meshes = _Meshes(tree, accessors, places, clip.length, looks)
    shown = (number for number in _shown(tree) if "mesh" in nodes[number])
    return [piece for number in shown for piece in meshes.on_node(number)]


def _clip_of(tree: Any, accessors: Accessors, name: str, postures: int) -> Clip:
    """The animation of a name."""
    animations = tree.get("animations", [])
    names = [str(known.get("name", number)) for number, known in enumerate(animations)]
    if name not in names:
        raise MeshFileError(f"has no clip {name!r}, it has: {', '.join(names) or 'none'}")
    animation = animations[names.index(name)]
    ends = [
        float(accessors.floats(sampler["input"], "SCALAR").max(initial=0.0))
        for sampler in animation["samplers"]
    ]
    length = max(ends, default=0.0)
    if not length > 0.0:
        raise MeshFileError(f"has the clip {name!r} of no length")
    count = postures or min(math.ceil(length * A_SECOND) + 1, MAX_POSTURES)
    return Clip(animation, np.linspace(0.0, length, max(count, 2)))


# ---- nodes ---------------------------------------------------------------------------------------


def _moved(tree: Any, accessors: Accessors, clip: Clip) -> dict[tuple[int, str], Floats]:
    """What the clip does: (postures, 3 or 4) by node and path."""
    found: dict[tuple[int, str], Floats] = {}
    morphs = False
    for channel in clip.animation["channels"]:
        target = channel["target"]
        path = target["path"]
        if "node" not in target:
            continue
        if path not in _PATHS:
            morphs = True
            continue
        if not 0 <= target["node"] < len(tree.get("nodes", [])):
            raise MeshFileError(f"moves the node {target['node']}, which does not exist")
        sampler = clip.animation["samplers"][channel["sampler"]]
        found[target["node"], path] = _sampled(accessors, sampler, path, clip.times)
    if morphs:
        _log.warning("morph targets of the clip %r are left out", clip.animation.get("name"))
    return found


def _sampled(accessors: Accessors, sampler: Any, path: str, times: Floats) -> Floats:
    """A channel at some times; before its first key and after its last one it rests."""
    keys = accessors.floats(sampler["input"], "SCALAR")[:, 0]
    values = accessors.floats(sampler["output"], _PATHS[path])
    law = sampler.get("interpolation", "LINEAR")
    each = 3 if law == "CUBICSPLINE" else 1
    if len(keys) == 0 or (np.diff(keys) <= 0.0).any() or len(values) != each * len(keys):
        raise MeshFileError("has an animation whose times do not rise, or do not fit its values")
    first = np.clip(np.searchsorted(keys, times, "right") - 1, 0, max(len(keys) - 2, 0))
    after = np.minimum(first + 1, len(keys) - 1)
    step = np.where(after > first, keys[after] - keys[first], 1.0)
    share = np.clip((times - keys[first]) / step, 0.0, 1.0)[:, np.newaxis]
    if law == "STEP":
        return np.where(share < 1.0, values[first], values[after])
    if law == "CUBICSPLINE":
        return _unit(_spline(values.reshape(len(keys), 3, -1), first, after, step, share), path)
    if path == "rotation":
        return _turned_evenly(_unit(values, path), first, after, share)
    return values[first] + share * (values[after] - values[first])


def _spline(
    values: Floats, first: NDArray[np.intp], after: NDArray[np.intp], step: Floats, t: Floats
) -> Floats:
    """Cubic Hermite between keys of in-tangent, value and out-tangent (appendix C.5)."""
    out = step[:, np.newaxis] * values[first, 2]
    into = step[:, np.newaxis] * values[after, 0]
    start, end = values[first, 1], values[after, 1]
    return np.asarray(
        (2 * t**3 - 3 * t**2 + 1) * start
        + (t**3 - 2 * t**2 + t) * out
        + (3 * t**2 - 2 * t**3) * end
        + (t**3 - t**2) * into
    )


def _turned_evenly(
    values: Floats, first: NDArray[np.intp], after: NDArray[np.intp], share: Floats
) -> Floats:
    """Between two quaternions along the shorter way at an even rate (appendix C.4)."""
    start, end = values[first], values[after]
    cosine = (start * end).sum(axis=1, keepdims=True)
    end, cosine = np.where(cosine < 0.0, -end, end), np.abs(cosine)
    angle = np.arccos(np.minimum(cosine, 1.0))
    near = angle < 1e-6
    sine = np.where(near, 1.0, np.sin(angle))
    one = np.where(near, 1.0 - share, np.sin((1.0 - share) * angle) / sine)
    other = np.where(near, share, np.sin(share * angle) / sine)
    return _unit(one * start + other * end, "rotation")


def _unit(values: Floats, path: str) -> Floats:
    """Quaternions of unit length; other values as they are."""
    if path != "rotation":
        return values
    length = np.sqrt((values**2).sum(axis=1, keepdims=True))
    if not (length > 0.0).all():
        raise MeshFileError("has an animation with a rotation of no length")
    return np.asarray(values / length)


def _transforms(tree: Any, moved: Mapping[tuple[int, str], Floats], count: int) -> Floats:
    """The transforms of all nodes in the file, (nodes, postures, 4, 4)."""
    nodes = tree.get("nodes", [])
    found = np.zeros((len(nodes), count, 4, 4))
    for number, parent in _downwards(nodes):
        own = _own_transform(nodes[number], number, moved, count)
        found[number] = own if parent < 0 else found[parent] @ own
    return found


def _downwards(nodes: Any) -> Iterator[tuple[int, int]]:
    """All nodes with their parents, -1 for none; parents come first. They are known as trees."""
    children = {child for node in nodes for child in node.get("children", [])}
    waiting = [(number, -1) for number in range(len(nodes)) if number not in children]
    while waiting:
        number, parent = waiting.pop()
        yield number, parent
        waiting += [(child, number) for child in nodes[number].get("children", [])]


def _own_transform(
    node: Any, number: int, moved: Mapping[tuple[int, str], Floats], count: int
) -> Floats:
    """The transform of a node in its parent, (postures, 4, 4)."""
    matrix = np.tile(np.eye(4), (count, 1, 1))
    if "matrix" in node:
        matrix[:] = np.array(node["matrix"], np.float64).reshape(4, 4).T
        return matrix
    shift, turn, scale = (
        moved.get((number, path), np.tile(np.array(node.get(path, rest), np.float64), (count, 1)))
        for path, rest in _AT_REST.items()
    )
    x, y, z, w = _unit(turn, "rotation").T
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    matrix[:, :3, :3] = np.moveaxis(np.array(rows), -1, 0) * scale[:, np.newaxis, :]
    matrix[:, :3, 3] = shift
    return matrix


def _shown(tree: Any) -> list[int]:
    """The nodes of the scene that is shown, as the file has them in order."""
    nodes, scenes = tree.get("nodes", []), tree.get("scenes", [])
    if not scenes:
        return list(range(len(nodes)))
    waiting = list(scenes[tree.get("scene", 0)].get("nodes", []))
    shown = set()
    while waiting:
        number = waiting.pop()
        shown.add(number)
        waiting += nodes[number].get("children", [])
    return sorted(shown)


# ---- meshes --------------------------------------------------------------------------------------


class _Meshes:
    """Meshes on nodes that move."""

    def __init__(
        self,
        tree: Any,
        accessors: Accessors,
        places: Floats,
        length: float,
        looks: Mapping[int, Look],
    ) -> None:
        self._tree, self._accessors, self._places = tree, accessors, places
        self._length, self._looks = length, looks

    def on_node(self, number: int) -> Iterator[Piece]:
        """The pieces of the mesh of a node."""
        node = self._tree["nodes"][number]
        mesh = self._tree["meshes"][node["mesh"]]
        names = tuple(str(item["name"]) for item in (mesh, node) if item.get("name"))
        for primitive in mesh["primitives"]:
            if primitive.get("mode", _TRIANGLES) != _TRIANGLES:
                raise MeshFileError("has a mesh in a clip that is not of triangles")
            yield self._piece(number, node, primitive, names)

    def _piece(self, number: int, node: Any, primitive: Any, names: tuple[str, ...]) -> Piece:
        attributes = primitive["attributes"]
        points = self._accessors.floats(attributes["POSITION"], "VEC3")
        refuse_above_limit(len(points) * self._places.shape[1])
        if "skin" in node:
            postures = self._skinned(node["skin"], attributes, points)
        else:
            here = self._places[number]
            postures = points @ np.swapaxes(here[:, :3, :3], 1, 2) + here[:, np.newaxis, :3, 3]
        faces = self._faces(primitive, len(points))
        material = primitive.get("material")
        own = "" if material is None else str(self._tree["materials"][material].get("name", ""))
        look = self._looks.get(-1 if material is None else material)
        places = None
        if look is not None and not look.coordinates:
            places = np.zeros((len(faces), 3, 2), np.float32)
        elif look is not None and look.coordinates in attributes:
            laid = self._accessors.floats(attributes[look.coordinates], "VEC2")
            places = laid.astype(np.float32)[faces]
        return Piece(
            postures[0],
            faces,
            names=tuple(dict.fromkeys(name for name in (*names, own) if name)),
            material=own,
            texture=-1 if look is None or places is None else look.pictures[0],
            maps=(-1, -1, -1) if look is None or places is None else look.pictures[1:],
            texture_places=places,
            postures=postures,
            clip_length=self._length,
        )

    def _faces(self, primitive: Any, vertices: int) -> NDArray[np.int64]:
        order = np.arange(vertices)
        if "indices" in primitive:
            order = self._accessors.numbers(primitive["indices"], "SCALAR").astype(np.int64).ravel()
        if len(order) and order.max() >= vertices:
            raise MeshFileError(f"has a triangle with vertex {order.max()} of {vertices}")
        return order[: len(order) // 3 * 3].reshape(-1, 3)

    def _skinned(self, number: int, attributes: Mapping[str, int], points: Floats) -> Floats:
        """Vertices of a mesh with a skin, (postures, vertices, 3)."""
        skin = self._tree["skins"][number]
        joints: list[int] = skin["joints"]
        bones = self._places[joints]  # (joints, postures, 4, 4)
        if "inverseBindMatrices" in skin:
            bind = self._accessors.floats(skin["inverseBindMatrices"], "MAT4")
            if len(bind) < len(joints):
                raise MeshFileError(f"has skins[{number}] with {len(bind)} inverse bind matrices")
            bones = bones @ np.swapaxes(bind[: len(joints)].reshape(-1, 1, 4, 4), 2, 3)
        found = np.zeros((bones.shape[1], len(points), 3))
        total = np.zeros(len(points))
        for group in range(len(attributes)):  # four joints each
            if f"JOINTS_{group}" not in attributes:
                break
            which = self._accessors.numbers(attributes[f"JOINTS_{group}"], "VEC4").astype(np.int64)
            weights = self._accessors.floats(attributes[f"WEIGHTS_{group}"], "VEC4")
            if which.shape != weights.shape or len(which) != len(points):
                raise MeshFileError(f"has skins[{number}] on a mesh whose weights do not fit it")
            if which.size and which.max() >= len(joints):
                raise MeshFileError(f"has a vertex on joint {which.max()} of {len(joints)}")
            _add_bones(found, points, bones, which, weights)
            total += weights.sum(axis=1)
        if not (total > 0.0).all():
            raise MeshFileError(f"has skins[{number}] with a vertex without weights")
        return np.asarray(found / total[:, np.newaxis])


def _add_bones(
    found: Floats, points: Floats, bones: Floats, which: NDArray[np.int64], weights: Floats
) -> None:
    """Add the shares of four joints to each vertex, bone by bone."""
    for bone in np.unique(which[weights > 0.0]).tolist():
        share = np.where(which == bone, weights, 0.0).sum(axis=1)
        held = np.flatnonzero(share)
        turned = points[held] @ np.swapaxes(bones[bone, :, :3, :3], 1, 2)
        moved = turned + bones[bone, :, np.newaxis, :3, 3]
        found[:, held] += share[held, np.newaxis] * moved
