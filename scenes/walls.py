"""Walls with windows and doors, for the scripts of the scenes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scenes.making import Floats, Solid

PANE = 0.006  # m, thickness of a pane
BAR = 0.07  # m, width of a window's frame
RECESS = 0.14  # m, from the outside of a wall to its windows and doors
LEAF = 0.06  # m, thickness of doors and frames

#: Left, bottom, right and top of a hole in a wall, in m along it and upward.
Opening = tuple[float, float, float, float]


@dataclass(frozen=True)
class Wall:
    """A wall on the ground from start to end, its outside on the right hand."""

    start: tuple[float, float]
    end: tuple[float, float]
    height: float
    thick: float
    windows: Sequence[Opening] = ()
    doors: Sequence[Opening] = ()

    def at(self, along: float, up: float, inward: float = 0.0) -> Floats:
        """A point of the wall."""
        a, b = np.array([*self.start, 0.0]), np.array([*self.end, 0.0])
        way = (b - a) / np.linalg.norm(b - a)
        out = np.cross(way, (0.0, 0.0, 1.0))
        return a + along * way - inward * out + np.array([0.0, 0.0, up])

    @property
    def length(self) -> float:
        """From start to end."""
        return float(np.hypot(self.end[0] - self.start[0], self.end[1] - self.start[1]))


def add_wall(solid: Solid, wall: Wall) -> None:
    """Both faces of a wall, the reveals of its openings, and what is in them."""
    openings = [*wall.windows, *wall.doors]
    columns = sorted({0.0, wall.length, *(s for o in openings for s in (o[0], o[2]))})
    rows = sorted({0.0, wall.height, *(z for o in openings for z in (o[1], o[3]))})
    for s0, s1 in pairwise(columns):
        for z0, z1 in pairwise(rows):
            if not any(o[0] <= s0 < o[2] and o[1] <= z0 < o[3] for o in openings):
                corners = _rim((s0, z0, s1, z1))
                solid.polygon("plaster_white", [wall.at(*c) for c in corners])
                solid.polygon("plaster_white", [wall.at(*c, wall.thick) for c in corners[::-1]])
    for opening in openings:
        rim = _rim(opening)
        for a, b in zip(rim, rim[1:] + rim[:1], strict=True):
            corners = [(*a, 0.0), (*a, wall.thick), (*b, wall.thick), (*b, 0.0)]
            solid.polygon("stone", [wall.at(*c) for c in corners])
    for opening in wall.windows:
        _add_window(solid, wall, opening)
    for opening in wall.doors:
        _add_slab(solid, "wood", wall, opening)


def _add_window(solid: Solid, wall: Wall, opening: Opening) -> None:
    """A frame with a bar in the middle, and panes in it."""
    s0, z0, s1, z1 = opening
    middle = 0.5 * (s0 + s1)
    for frame in (
        (s0, z0, s1, z0 + BAR),
        (s0, z1 - BAR, s1, z1),
        (s0, z0 + BAR, s0 + BAR, z1 - BAR),
        (s1 - BAR, z0 + BAR, s1, z1 - BAR),
        (middle - BAR / 2, z0 + BAR, middle + BAR / 2, z1 - BAR),
    ):
        _add_slab(solid, "plastic_white", wall, frame)
    for left, right in ((s0 + BAR, middle - BAR / 2), (middle + BAR / 2, s1 - BAR)):
        rim = _rim((left, z0 + BAR, right, z1 - BAR))
        solid.pane("glass", [wall.at(*c, RECESS + LEAF / 2) for c in rim], PANE)


def _add_slab(solid: Solid, material: str, wall: Wall, place: Opening) -> None:
    rim = _rim(place)
    inner = [wall.at(*corner, RECESS + LEAF) for corner in rim]
    solid.hexahedron(material, inner + [wall.at(*corner, RECESS) for corner in rim])


def _rim(opening: Opening) -> list[tuple[float, float]]:
    s0, z0, s1, z1 = opening
    return [(s0, z0), (s1, z0), (s1, z1), (s0, z1)]
