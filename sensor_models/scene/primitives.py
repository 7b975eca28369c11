"""Meshes that a manifest describes by a few numbers: boxes, balls, cylinders, terrain and so on.

Each consists of parts, so that the side of a box or the cap of a cylinder can have its own
material. Faces are counter-clockwise seen from outside. Vertices are shared only within a part, so
that interpolated normals keep the edges between parts sharp.

A sphere, cylinder or capsule of n segments has its vertices on the true surface. Faces of a
cylinder are inside of that by at most r (1 - cos(pi / n)), 0.5 % of the radius for 32 segments;
those of a sphere, which bend along both directions, by at most twice as much.

A formula for heights is arithmetic in x and y (m) with + - * / **, numbers, pi and the functions
listed in ``FUNCTIONS``; nothing else of Python is understood or run.
"""

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.schema import Box, Capsule, Cylinder, Plane, Sphere

Floats = NDArray[np.float64]

#: Functions of one number, except those of two.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "cos": np.cos,
    "exp": np.exp,
    "max": np.maximum,
    "min": np.minimum,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}
_TAKES_TWO = ("max", "min")
#: How many corners a formula is evaluated for at once.
_AT_ONCE = 2**14
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


@dataclass(frozen=True)
class Piece:
    """A part of a mesh as it comes from a file or a description, not yet checked."""

    vertices: Floats  # (n, 3)
    faces: NDArray[np.integer]  # (m, 3)
    names: tuple[str, ...] = ()  # names that a manifest can use for it: group, material
    properties: dict[str, NDArray[Any]] = field(default_factory=dict)  # "vertex.NAME", "face.NAME"
    material: str = ""  # the name of its own material in a file
    texture: int = -1  # which of the textures of its file; -1 for none
    maps: tuple[int, int, int] = (-1, -1, -1)  # likewise, of roughness, normals and emission
    #: Of the corners of each face, (m, 3, 2): where in the texture they are.
    texture_places: NDArray[np.float32] | None = None
    postures: Floats | None = None  # (k, n, 3): vertices at evenly spaced times of a clip
    clip_length: float = 0.0  # s, of that clip


def plane(shape: Plane) -> list[Piece]:
    """A rectangle that faces up."""
    return [_rectangle((0, 0, 0), (shape.size[0], 0, 0), (0, shape.size[1], 0), "plane")]


def box(shape: Box) -> list[Piece]:
    """The six sides of a box."""
    x, y, z = shape.size
    return [
        _rectangle((0, y / 2, 0), (-x, 0, 0), (0, 0, z), "left"),
        _rectangle((0, -y / 2, 0), (x, 0, 0), (0, 0, z), "right"),
        _rectangle((x / 2, 0, 0), (0, y, 0), (0, 0, z), "front"),
        _rectangle((-x / 2, 0, 0), (0, -y, 0), (0, 0, z), "back"),
        _rectangle((0, 0, z / 2), (x, 0, 0), (0, y, 0), "top"),
        _rectangle((0, 0, -z / 2), (x, 0, 0), (0, -y, 0), "bottom"),
    ]


def sphere(shape: Sphere) -> list[Piece]:
    """A sphere with poles on z."""
    along = max(2, shape.segments // 2)
    polar = math.pi * np.arange(1, along) / along
    return [_round(shape.radius, polar, np.zeros(len(polar)), shape.segments, "sphere")]


def capsule(shape: Capsule) -> list[Piece]:
    """A cylinder around z that ends in half spheres."""
    along = max(1, shape.segments // 4)
    polar = 0.5 * math.pi * np.arange(1, along + 1) / along
    shift = np.repeat([0.5 * shape.height, -0.5 * shape.height], along)
    polar = np.concatenate([polar, math.pi - polar[::-1]])
    return [_round(shape.radius, polar, shift, shape.segments, "capsule")]


def _round(radius: float, polar: Floats, shift: Floats, around: int, name: str) -> Piece:
    """Rings of a sphere, at angles from +z, shifted along z, closed at the poles."""
    azimuth = 2.0 * math.pi * np.arange(around) / around
    rings = np.stack(
        [
            radius * np.outer(np.sin(polar), np.cos(azimuth)),
            radius * np.outer(np.sin(polar), np.sin(azimuth)),
            np.outer(radius * np.cos(polar) + shift, np.ones(around)),
        ],
        axis=-1,
    )
    poles = [[0.0, 0.0, radius + shift[0]], [0.0, 0.0, shift[-1] - radius]]
    vertices = np.vstack([rings.reshape(-1, 3), poles])
    north, south, last = len(vertices) - 2, len(vertices) - 1, (len(polar) - 1) * around
    here, there = np.arange(around), np.roll(np.arange(around), -1)
    caps = [_columns(north, here, there), _columns(south, last + there, last + here)]
    walls = [
        strip
        for ring in range(len(polar) - 1)
        for strip in _strip(ring * around + here, ring * around + there, around)
    ]
    return Piece(vertices, np.vstack(caps + walls), (name,))


def cylinder(shape: Cylinder) -> list[Piece]:
    """The side of a cylinder, and its caps."""
    azimuth = 2.0 * math.pi * np.arange(shape.segments) / shape.segments
    circle = shape.radius * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=-1)
    top = np.column_stack([circle, np.full(shape.segments, shape.height / 2)])
    bottom = top * (1.0, 1.0, -1.0)
    here, there = np.arange(shape.segments), np.roll(np.arange(shape.segments), -1)
    side = np.vstack(_strip(here, there, shape.segments))
    pieces = [Piece(np.vstack([top, bottom]), side, ("side",))]
    if shape.capped:
        fan = _columns(shape.segments, here, there)
        for name, rim, faces in (("top", top, fan), ("bottom", bottom, fan[:, ::-1])):
            centre = [[0.0, 0.0, rim[0, 2]]]
            pieces.append(Piece(np.vstack([rim, centre]), faces, (name,)))
    return pieces


def terrain(heights: Floats, size: tuple[float, float]) -> list[Piece]:
    """A grid of heights over a rectangle: rows run along x, the first row is at +y."""
    rows, columns = heights.shape
    x = np.linspace(-size[0] / 2, size[0] / 2, columns)
    y = np.linspace(size[1] / 2, -size[1] / 2, rows)
    vertices = np.empty((rows, columns, 3))
    vertices[:, :, 0], vertices[:, :, 1], vertices[:, :, 2] = x, y[:, None], heights
    faces = np.empty((2, rows - 1, columns - 1, 3), np.uint32)
    corner = np.arange((rows - 1) * columns, dtype=np.uint32).reshape(-1, columns)[:, :-1]
    right, below = corner + 1, corner + columns
    for triangle, corners in enumerate(((corner, below, right), (right, below, below + 1))):
        for place, vertex in enumerate(corners):
            faces[triangle, :, :, place] = vertex
    return [Piece(vertices.reshape(-1, 3), faces.reshape(-1, 3), ("terrain",))]


def without_unknown(terrain: Piece) -> Piece:
    """A terrain with holes where a corner has no height (NaN)."""
    unknown = np.isnan(terrain.vertices[:, 2])
    if not unknown.any():
        return terrain
    lowest = np.nanmin(terrain.vertices[:, 2])  # of no triangle, so any height will do
    vertices = np.where(np.isnan(terrain.vertices), lowest, terrain.vertices)
    return replace(
        terrain, vertices=vertices, faces=terrain.faces[~unknown[terrain.faces].any(axis=1)]
    )


def heights_of_formula(formula: str, size: tuple[float, float], cells: tuple[int, int]) -> Floats:
    """Heights at the corners of cells over a rectangle; ValueError for a wrong formula."""
    x = np.linspace(-size[0] / 2, size[0] / 2, cells[0] + 1)
    y = np.linspace(size[1] / 2, -size[1] / 2, cells[1] + 1)
    heights = np.empty((len(y), len(x)))
    rows = max(1, _AT_ONCE // len(x))  # nested operations hold one array each at the same time
    try:
        tree = ast.parse(formula.strip(), mode="eval")
        with np.errstate(all="ignore"):  # the check of the mesh finds what is not finite
            for start in range(0, len(y), rows):
                some = y[start : start + rows, None]
                known = {"x": x[None, :], "y": some, "pi": math.pi}
                heights[start : start + rows] = _value(tree.body, known)
    except (SyntaxError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"{formula!r} is no formula of x and y: {error}") from error
    return heights


def _value(node: ast.AST, known: dict[str, Any]) -> Any:
    """The value of a formula; everything that is not listed here is refused."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return np.float64(node.value)  # a power of Python's whole numbers can fill the memory
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, known), _value(node.right, known))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.operand, known))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        name, taken = node.func.id, [_value(part, known) for part in node.args]
        if name not in FUNCTIONS:
            raise ValueError(f"{name!r} is none of {', '.join(FUNCTIONS)}")
        if len(taken) != (2 if name in _TAKES_TWO else 1):
            raise ValueError(
                f"{name} takes {'two numbers' if name in _TAKES_TWO else 'one number'}"
            )
        return FUNCTIONS[name](*taken)
    raise ValueError(f"{ast.unparse(node)!r} is not understood in a formula of x and y")


def _rectangle(
    middle: tuple[float, ...], along: tuple[float, ...], up: tuple[float, ...], name: str
) -> Piece:
    """Two triangles; ``along`` x ``up`` points outside."""
    centre, a, b = (np.array(part, np.float64) for part in (middle, along, up))
    corners = centre + 0.5 * np.array([-a - b, a - b, a + b, b - a])
    return Piece(corners, np.array([[0, 1, 2], [0, 2, 3]]), (name,))


def _strip(here: Any, there: Any, below: int) -> list[NDArray[np.int64]]:
    """Triangles between a ring of vertices and the next ring."""
    return [_columns(here, here + below, there), _columns(there, here + below, there + below)]


def _columns(*parts: Any) -> NDArray[np.int64]:
    return np.stack(np.broadcast_arrays(*parts), axis=-1)
