"""Makes the person of ``crossing``: ``python -m scenes.crossing.make``."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenes.making import write_tree
from scenes.walker import CYCLE, KEYS, Bone, Skin, body_skins, lifts, rotations, skeleton

CLIP = "walk"


def make(folder: Path) -> None:
    """Write the mesh into a folder."""
    write_walker(folder / "walker.glb")


def write_walker(file: Path) -> None:
    """Write the person as a binary glTF with a skin and an animation."""
    bones = skeleton()
    skins = body_skins(bones)
    writer = _Writer()
    meshes = [
        {"name": material, "primitives": [writer.primitive(skin) | {"material": number}]}
        for number, (material, skin) in enumerate(skins.items())
    ]
    inverse = np.tile(np.eye(4), (len(bones), 1, 1))
    inverse[:, :3, 3] = [-upright(np.array(bone.place)) for bone in bones]
    bind = writer.accessor(np.swapaxes(inverse, 1, 2).reshape(-1, 16).astype("<f4"), "MAT4")
    feet = [skin for skin in skins.values() if skin.vertices][-1]
    animation = _animation(writer, bones, lifts(feet, bones))
    first = len(bones)
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, *range(first, first + len(meshes))]}],
        "nodes": [
            *(_node(bones, number) for number in range(first)),
            *({"name": mesh["name"], "mesh": k, "skin": 0} for k, mesh in enumerate(meshes)),
        ],
        "meshes": meshes,
        "materials": [{"name": material} for material in skins],
        "skins": [{"joints": list(range(first)), "inverseBindMatrices": bind}],
        "animations": [animation],
    }
    write_tree(file, tree | writer.tables(), writer.binary())


def upright(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """A vector with y up, as glTF has it."""
    return vector[..., [0, 2, 1]] * (1.0, 1.0, -1.0) + 0.0


def _node(bones: list[Bone], number: int) -> dict[str, Any]:
    bone = bones[number]
    above = np.zeros(3) if bone.parent < 0 else np.array(bones[bone.parent].place)
    shift = np.round(upright(np.array(bone.place) - above), 4) + 0.0
    children = [k for k, other in enumerate(bones) if other.parent == number]
    node: dict[str, Any] = {"name": bone.name, "translation": shift.tolist()}
    return node | ({"children": children} if children else {})


def _animation(writer: "_Writer", bones: list[Bone], lift: list[float]) -> dict[str, Any]:
    """One cycle: a turn of each bone, and the hips up and down."""
    shares = np.arange(KEYS) / (KEYS - 1)
    times = writer.accessor((CYCLE * shares).round(5).astype("<f4")[:, np.newaxis], "SCALAR")
    turns = [rotations(share % 1.0, bones) for share in shares.tolist()]
    samplers, channels = [], []
    for number in range(len(bones)):
        values = np.array([_quaternion(*turns[key][number]) for key in range(KEYS)])
        samplers.append((writer.accessor(values.round(6).astype("<f4") + 0.0, "VEC4"), "rotation"))
        channels.append(number)
    hips = np.array([bones[0].place] * KEYS)
    hips[:, 2] += lift
    samplers.append((writer.accessor(upright(hips).round(4).astype("<f4"), "VEC3"), "translation"))
    channels.append(0)
    return {
        "name": CLIP,
        "samplers": [{"input": times, "output": output} for output, _ in samplers],
        "channels": [
            {"sampler": k, "target": {"node": node, "path": samplers[k][1]}}
            for k, node in enumerate(channels)
        ],
    }


def _quaternion(degrees: float, axis: str) -> tuple[float, float, float, float]:
    """A turn as glTF has it: x, y, z, w with y up."""
    s, c = math.sin(math.radians(degrees) / 2.0), math.cos(math.radians(degrees) / 2.0)
    return (0.0, 0.0, -s, c) if axis == "y" else (0.0, s, 0.0, c)


class _Writer:
    """Accessors with their bytes."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._views: list[dict[str, Any]] = []
        self._accessors: list[dict[str, Any]] = []

    def accessor(self, values: NDArray[Any], kind: str, **more: Any) -> int:
        """Enter rows of numbers; the number of their accessor."""
        component = {"f4": 5126, "u2": 5123, "u1": 5121}[values.dtype.str[1:]]
        start = sum(map(len, self._chunks))
        self._chunks.append(values.tobytes() + b"\0" * (-values.nbytes % 4))
        self._views.append({"buffer": 0, "byteOffset": start, "byteLength": values.nbytes})
        own = {"bufferView": len(self._views) - 1, "count": len(values), "type": kind}
        limits = {"min": values.min(axis=0).tolist(), "max": values.max(axis=0).tolist()}
        self._accessors.append(own | {"componentType": component} | limits | more)
        return len(self._accessors) - 1

    def primitive(self, skin: Skin) -> dict[str, Any]:
        """Enter the triangles of a skin."""
        places = upright(np.array(skin.vertices)).round(4).astype("<f4") + np.float32(0.0)
        joints = np.zeros((len(places), 4), "<u1")
        joints[:, :2] = skin.bones
        weights = np.zeros((len(places), 4), "<u1")
        weights[:, 1] = np.round(255.0 * np.array(skin.shares))
        weights[:, 0] = 255 - weights[:, 1]
        joints[weights == 0] = 0
        faces = np.array(skin.faces).reshape(-1, 1).astype("<u2")
        return {
            "attributes": {
                "POSITION": self.accessor(places, "VEC3"),
                "JOINTS_0": self.accessor(joints, "VEC4"),
                "WEIGHTS_0": self.accessor(weights, "VEC4", normalized=True),
            },
            "indices": self.accessor(faces, "SCALAR"),
        }

    def tables(self) -> dict[str, Any]:
        """What was entered, for the tree."""
        size = sum(map(len, self._chunks))
        return {
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": size}],
        }

    def binary(self) -> bytes:
        """What was entered, as bytes."""
        return b"".join(self._chunks)


if __name__ == "__main__":
    make(Path(__file__).parent)
