"""Shapes of USD that are no meshes: cubes, spheres, cylinders, capsules, cones and planes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene import primitives, schema
from sensor_models.scene.errors import SceneError
from sensor_models.scene.primitives import Piece
from sensor_models.scene.worlds.world import SEGMENTS

#: From the z axis of our shapes to the axis of the file's; the x axis of planes is their width.
_AXES = {
    "X": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}


@dataclass(frozen=True)
class PlainShape:
    """A shape of the manifest, or triangles if the manifest has no such shape."""

    piece: Piece  # the same as triangles
    kind: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


def axis_turn(numbers: Mapping[str, Any]) -> NDArray[np.float64]:
    """From our shape to that of the file."""
    return _AXES[str(numbers.get("axis", "Z"))]


def plain_shape(about: Mapping[str, Any], metres: float, file: Path) -> PlainShape:
    """A shape around z; without faces if it has no extent."""
    numbers = {k: metres * float(v) for k, v in about["numbers"].items() if k != "axis"}
    for name, value in numbers.items():
        if not math.isfinite(value) or abs(value) > 1e6:
            raise SceneError(file, about["path"], f"has {name} = {value:g} m, allowed are 0 to 1e6")
    low, high = numbers.pop("radiusBottom", 1.0), numbers.pop("radiusTop", 1.0)
    if min(numbers.values()) <= 0.0 or min(low, high) < 0.0 or max(low, high) == 0.0:
        return PlainShape(Piece(np.zeros((0, 3)), np.zeros((0, 3), np.int64)))
    kind = about["kind"].partition("_")[0]
    if kind == "Cube":
        side = numbers["size"]
        box = schema.Box(size=(side, side, side))
        return PlainShape(_joined(primitives.box(box)), "box", {"size": [side] * 3})
    if kind == "Plane":
        plane = schema.Plane(size=(numbers["width"], numbers["length"]))
        size = {"size": list(plane.size)}
        return PlainShape(_joined(primitives.plane(plane)), "plane", size)
    if about["kind"].endswith("_1"):
        numbers["radius"] = low
        if low != high and kind == "Cylinder":
            return PlainShape(_frustum(low, high, numbers["height"]))
    if kind == "Cone":
        return PlainShape(_frustum(numbers["radius"], 0.0, numbers["height"]))
    round_shape = {**numbers, "segments": SEGMENTS}
    pieces = _ROUND[kind](round_shape)
    return PlainShape(_joined(pieces), kind.lower(), round_shape, {"smooth": True})


_ROUND: Mapping[str, Callable[[dict[str, Any]], list[Piece]]] = {
    "Sphere": lambda numbers: primitives.sphere(schema.Sphere(**numbers)),
    "Cylinder": lambda numbers: primitives.cylinder(schema.Cylinder(**numbers)),
    "Capsule": lambda numbers: primitives.capsule(schema.Capsule(**numbers)),
}


def _joined(pieces: list[Piece]) -> Piece:
    """Pieces as one."""
    starts = np.cumsum([0] + [len(piece.vertices) for piece in pieces])
    faces = [piece.faces + start for piece, start in zip(pieces, starts[:-1], strict=True)]
    return Piece(np.vstack([piece.vertices for piece in pieces]), np.vstack(faces))


def _frustum(low: float, high: float, height: float) -> Piece:
    """A cone, or what is left of it when its top is cut off; its middle at the origin."""
    angles = 2.0 * np.pi * np.arange(SEGMENTS) / SEGMENTS
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(SEGMENTS)], axis=-1)
    half = np.array([0.0, 0.0, height / 2.0])
    vertices = np.vstack([low * ring - half, high * ring + half, [-half, half]])
    here = np.arange(SEGMENTS)
    there = np.roll(here, -1)
    bottom, top = np.full(SEGMENTS, 2 * SEGMENTS), np.full(SEGMENTS, 2 * SEGMENTS + 1)
    strips = [(here, there, there + SEGMENTS), (here, there + SEGMENTS, here + SEGMENTS)]
    strips += [(bottom, there, here), (top, here + SEGMENTS, there + SEGMENTS)]
    faces = np.vstack([np.stack(strip, axis=-1) for strip in strips])
    corners = vertices[faces]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    return Piece(vertices + 0.0, faces[area > 0.0])
