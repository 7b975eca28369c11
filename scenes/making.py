"""What the scripts of the scenes share: building meshes part by part, and writing them.

A script gives the same bytes wherever it runs: coordinates are rounded to a tenth of a
millimetre, which hides the last bits of sines, and random numbers come from Python's own
generator, whose ``random()`` is promised to stay as it is.
"""

import json
import math
import random
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Point = Sequence[float]
Floats = NDArray[np.float64]


class Solid:
    """Triangles in parts, each named by its material; x forward, y left, z up."""

    def __init__(self) -> None:
        self._parts: dict[str, tuple[list[Floats], list[tuple[int, int, int]]]] = {}

    def polygon(self, material: str, corners: Iterable[Point]) -> None:
        """A convex polygon, counter-clockwise seen from outside."""
        vertices, faces = self._parts.setdefault(material, ([], []))
        start = len(vertices)
        vertices.extend(np.array(corner, float) for corner in corners)
        faces.extend((start, start + n, start + n + 1) for n in range(1, len(vertices) - start - 1))

    def hexahedron(self, material: str, corners: Sequence[Point], open_sides: str = "") -> None:
        """Six sides over eight corners: four below and four above them, counter-clockwise."""
        sides = {
            "bottom": (3, 2, 1, 0),
            "top": (4, 5, 6, 7),
            **{str(n): (n, (n + 1) % 4, (n + 1) % 4 + 4, n + 4) for n in range(4)},
        }
        for name, side in sides.items():
            if name not in open_sides.split():
                self.polygon(material, [corners[n] for n in side])

    def box(self, material: str, low: Point, high: Point, open_sides: str = "") -> None:
        """A box between two corners."""
        (x, y, z), (X, Y, Z) = low, high  # noqa: N806 - the far corner of the near one
        floor = [(x, y), (X, y), (X, Y), (x, Y)]
        corners = [(*c, z) for c in floor] + [(*c, Z) for c in floor]
        self.hexahedron(material, corners, open_sides)

    def pane(self, material: str, corners: Sequence[Point], thickness: float) -> None:
        """A slab of glass: a closed body, so that light leaves it again."""
        front = [np.array(corner, float) for corner in corners]
        normal = np.cross(front[1] - front[0], front[2] - front[0])
        inward = -thickness * normal / np.linalg.norm(normal)
        self.hexahedron(material, [corner + inward for corner in front] + front)

    def tube(self, material: str, start: Point, end: Point, radii: Point, sides: int) -> None:
        """A tapered tube, open at its ends."""
        first, second = _rings(start, end, radii, sides)
        for n in range(sides):
            m = (n + 1) % sides
            self.polygon(material, [first[n], first[m], second[m], second[n]])

    def disc(self, material: str, centre: Point, normal: Point, radius: float, sides: int) -> None:
        """A flat disc."""
        end = np.array(centre, float) + np.array(normal, float)
        ring, _ = _rings(centre, end, (radius, radius), sides)
        self.polygon(material, ring)

    def leaf(self, material: str, base: Point, along: Floats, across: Floats) -> None:
        """A leaf of four corners."""
        root = np.array(base, float)
        middle = root + 0.45 * along
        self.polygon(material, [root, middle + across, root + along, middle - across])

    def parts(self) -> dict[str, tuple[Floats, NDArray[np.int64]]]:
        """Vertices and faces by material; vertices in one place are kept once."""
        found = {}
        for material, (vertices, faces) in self._parts.items():
            rounded = np.round(np.array(vertices), 4) + 0.0  # no negative zeros
            kept, index = np.unique(rounded, axis=0, return_inverse=True)
            triangles = index.ravel()[np.array(faces)]
            sides = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
            found[material] = (kept, triangles[sides])
        return found


def write_glb(file: Path, solid: Solid) -> None:
    """Write a binary glTF with one node for each material, y up as glTF has it."""
    chunks: list[bytes] = []
    views, accessors, nodes, meshes, materials = [], [], [], [], []
    for number, (material, (vertices, faces)) in enumerate(sorted(solid.parts().items())):
        upright = (vertices[:, [0, 2, 1]] * (1.0, 1.0, -1.0) + 0.0).astype("<f4")
        small = len(vertices) <= 65535
        indices = faces.astype("<u2" if small else "<u4")
        for data, count, target in ((upright, len(upright), 34962), (indices, indices.size, 34963)):
            start = sum(map(len, chunks))
            chunks.append(data.tobytes() + b"\0" * (-data.nbytes % 4))
            views.append(
                {"buffer": 0, "byteOffset": start, "byteLength": data.nbytes, "target": target}
            )
            accessors.append({"bufferView": len(views) - 1, "count": count})
        accessors[-2] |= {
            "componentType": 5126,
            "type": "VEC3",
            "min": upright.min(axis=0).tolist(),
            "max": upright.max(axis=0).tolist(),
        }
        accessors[-1] |= {"componentType": 5123 if small else 5125, "type": "SCALAR"}
        primitive = {"attributes": {"POSITION": 2 * number}, "indices": 2 * number + 1}
        meshes.append({"name": material, "primitives": [primitive | {"material": number}]})
        nodes.append({"name": material, "mesh": number})
        materials.append({"name": material})
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes)))}],
        "nodes": nodes,
        "meshes": meshes,
        "materials": materials,
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": sum(map(len, chunks))}],
    }
    write_tree(file, tree, b"".join(chunks))


def write_tree(file: Path, tree: dict[str, object], binary: bytes) -> None:
    """Write a binary glTF: its tree as JSON, and what that refers to."""
    text = json.dumps(tree, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    content = struct.pack("<I4s", len(text), b"JSON") + text
    content += struct.pack("<I4s", len(binary), b"BIN\0") + binary
    file.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(content)) + content)


def bush(seed: int, radius: float, height: float, leaves: int, leaf: float) -> Solid:
    """A bush on the ground around the origin: stems, each with a ball of leaves at its end."""
    draw = random.Random(seed)
    solid = Solid()
    balls = []
    for number in range(13):
        turn = 2.4 * number + 0.5 * draw.random()
        reach = 0.62 * radius * math.sqrt((number + 0.5) / 13)
        top = height * (0.62 - 0.40 * (number / 13) ** 2 + 0.12 * draw.random())
        end = np.array([reach * math.cos(turn), reach * math.sin(turn), top])
        middle = end * (0.45, 0.45, 0.55)
        solid.tube("bark", (0.0, 0.0, -0.1), middle, (0.02, 0.014), 4)
        solid.tube("bark", middle, end, (0.014, 0.005), 4)
        balls.append(end)
    for number in range(leaves):
        place = _inside(draw)
        place *= float(np.linalg.norm(place)) ** -0.4  # more of them outside, in the light
        base = balls[number % len(balls)] + 0.42 * radius * place * (1.0, 1.0, 0.9)
        base[2] = max(base[2], 0.03)
        _add_leaf(solid, draw, base, place, leaf)
    return solid


def tree(seed: int, height: float, leaves: int) -> Solid:
    """A tree on the ground at the origin: trunk, three levels of branches, leaves on the last."""
    draw = random.Random(seed)
    solid = Solid()
    top = np.array([0.0, 0.0, 0.36 * height])
    solid.tube("bark", (0.0, 0.0, -0.3), top, (0.032 * height, 0.022 * height), 8)
    twigs: list[Floats] = []
    _branch(solid, draw, top, np.array([0.0, 0.0, 1.0]), 0.24 * height, 0.02 * height, 3, twigs)
    for number in range(leaves):
        place = _inside(draw)
        base = twigs[number % len(twigs)] + 0.1 * height * place
        _add_leaf(solid, draw, base, place, 0.046 * height)
    return solid


def _branch(
    solid: Solid,
    draw: random.Random,
    start: Floats,
    way: Floats,
    length: float,
    radius: float,
    levels: int,
    twigs: list[Floats],
) -> None:
    """Four branches from a point, each with branches of its own; the first goes on upward."""
    for number in range(4):
        spread = 0.8 if number else 0.15
        turn = 2.1 * number + 0.8 * draw.random()
        side = np.cross(way, (math.cos(turn), math.sin(turn), 0.2))
        direction = (
            way + (0.0, 0.0, 0.15) + spread * side / np.linalg.norm(side) + 0.15 * _inside(draw)
        )
        direction /= np.linalg.norm(direction)
        end = start + length * (0.8 + 0.4 * draw.random()) * direction
        solid.tube("bark", start, end, (radius, 0.6 * radius), 5 if levels > 1 else 3)
        if levels > 1:
            _branch(solid, draw, end, direction, 0.72 * length, 0.5 * radius, levels - 1, twigs)
        else:
            twigs.append(end)


def _add_leaf(
    solid: Solid, draw: random.Random, base: Floats, outward: Floats, length: float
) -> None:
    along = outward / (np.linalg.norm(outward) + 1e-9) + 1.3 * _inside(draw)
    along *= length * (0.7 + 0.6 * draw.random()) / np.linalg.norm(along)
    across = np.cross(along, _inside(draw))
    across *= 0.3 * np.linalg.norm(along) / (np.linalg.norm(across) + 1e-9)
    solid.leaf("leaf", base, along, across)


def _inside(draw: random.Random) -> Floats:
    """A point within the unit sphere."""
    while True:
        point = np.array([2.0 * draw.random() - 1.0 for _ in range(3)])
        if 0.0025 < float(point @ point) < 1.0:
            return point


def _rings(start: Point, end: Point, radii: Point, sides: int) -> tuple[list[Floats], list[Floats]]:
    """Corners around two points, counter-clockwise seen from the second."""
    first, last = np.array(start, float), np.array(end, float)
    axis = (last - first) / np.linalg.norm(last - first)
    a = np.cross(axis, (0.0, 0.0, 1.0) if abs(axis[2]) < 0.9 else (1.0, 0.0, 0.0))
    a /= np.linalg.norm(a)
    b = np.cross(axis, a)
    angles = [2.0 * math.pi * n / sides for n in range(sides)]
    around = [math.cos(angle) * a + math.sin(angle) * b for angle in angles]
    return [first + radii[0] * c for c in around], [last + radii[1] * c for c in around]
