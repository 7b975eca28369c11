"""Makes the meshes and textures of the scene ``yard``: ``python -m scenes.yard.make``."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from scenes.making import Floats, Point, Solid, bush, tree, write_glb
from scenes.textures import (
    write_arrows,
    write_asphalt,
    write_brick,
    write_priority,
    write_road,
    write_stone,
)
from scenes.walls import PANE, Wall, add_wall

SECTIONS = 16  # of a wheel


def make(folder: Path) -> None:
    """Write the meshes into a folder."""
    write_glb(folder / "bush.glb", bush(seed=3, radius=0.8, height=1.5, leaves=850, leaf=0.15))
    write_glb(folder / "tree.glb", tree(seed=8, height=7.0, leaves=1900))
    write_glb(folder / "building.glb", building())
    write_glb(folder / "car.glb", car())
    write_glb(folder / "van.glb", van())
    write_glb(folder / "container.glb", container())
    write_asphalt(folder / "asphalt.png")
    write_road(folder / "road.png")
    write_brick(folder / "brick.png")
    write_stone(folder / "stone.png")
    write_arrows(folder / "arrows.png")
    write_priority(folder / "priority.png")


def building() -> Solid:
    """A house of two storeys, 14 m by 8 m, with its long front toward -y."""
    solid = Solid()
    x, y, height, thick = 7.0, 4.0, 6.0, 0.3
    storeys = (0.9, 3.9)
    long_side = [(1.0 + 3.3 * n, z, 2.7 + 3.3 * n, z + 1.5) for n in range(4) for z in storeys]
    door = (6.15, 0.0, 7.15, 2.2)
    side = [(s, z, s + 1.6, z + 1.5) for s in (1.6, 4.8) for z in storeys]
    for start, end, windows, doors in (
        ((-x, -y), (x, -y), long_side, [door]),
        ((x, -y), (x, y), side, []),
        ((x, y), (-x, y), long_side, []),
        ((-x, y), (-x, -y), side, []),
    ):
        add_wall(solid, Wall(start, end, height, thick, windows, doors))
    solid.box("concrete", (-x + thick, -y + thick, 2.85), (x - thick, y - thick, 3.05))
    solid.box("wood", (-x + thick, -y + thick, 0.02), (x - thick, y - thick, 0.06))
    for shelf in (-4.0, 0.5, 4.5):
        solid.box("cardboard", (shelf, 2.6, 0.06), (shelf + 1.6, 3.4, 1.7))
    _roof(solid, x, y, height)
    return solid


def _roof(solid: Solid, x: float, y: float, eaves: float) -> None:
    """A gable roof along x that stands over by half a metre."""
    over, rise, thick = 0.5, 2.2, 0.16
    slope = rise / y
    low, high = eaves - over * slope, eaves + rise
    for sign in (-1.0, 1.0):
        edge = [(-x - over, sign * (y + over), low), (x + over, sign * (y + over), low)]
        ridge = [(x + over, 0.0, high), (-x - over, 0.0, high)]
        below = edge + ridge if sign < 0 else [edge[1], edge[0], ridge[1], ridge[0]]
        solid.hexahedron("roof_tile", below + [(a, b, c + thick) for a, b, c in below])
    for end in (-x, x):
        gable = [(end, -y, eaves), (end, y, eaves), (end, 0.0, high)]
        solid.polygon("plaster_white", gable if end > 0 else gable[::-1])
    solid.box("brick", (2.6, 0.4, high - 1.2), (3.4, 1.2, high + 0.9))


def car() -> Solid:
    """A saloon of 4.4 m, x forward, on the ground, its middle over the origin."""
    solid = Solid()
    side = [
        (-2.15, 0.34),
        (2.12, 0.30),
        (2.20, 0.52),
        (2.02, 0.72),
        (1.05, 0.90),
        (-1.62, 0.96),
        (-2.12, 0.92),
        (-2.20, 0.60),
    ]
    _hull(solid, side, 0.86, 0.06)
    below = [(-1.75, 0.95), (1.10, 0.89)]
    above = [(-1.10, 1.43), (0.22, 1.43)]
    _cabin(solid, below, above, 0.76, 0.57)
    _trim(solid, rear=-2.2, front=2.2, lamp_height=0.66, half_width=0.86)
    _wheels(solid, (-1.32, 1.36), 0.32, 0.88)
    return solid


def van() -> Solid:
    """A delivery van of 5.4 m, x forward, on the ground, its middle over the origin."""
    solid = Solid()
    side = [
        (-2.65, 0.34),
        (2.62, 0.34),
        (2.70, 0.60),
        (2.62, 0.95),
        (1.95, 1.22),
        (-2.70, 1.22),
        (-2.70, 0.60),
    ]
    _hull(solid, side, 0.98, 0.05)
    _cabin(solid, [(0.75, 1.22), (2.02, 1.22)], [(0.75, 2.15), (1.35, 2.15)], 0.95, 0.85)
    load = [(-2.68, -0.95), (0.74, -0.95), (0.74, 0.95), (-2.68, 0.95)]
    roof = [(-2.64, -0.88), (0.74, -0.88), (0.74, 0.88), (-2.64, 0.88)]
    solid.hexahedron("paint", [(*c, 1.22) for c in load] + [(*c, 2.4) for c in roof])
    _trim(solid, rear=-2.7, front=2.7, lamp_height=0.80, half_width=0.98)
    _wheels(solid, (-1.65, 1.75), 0.35, 1.0)
    return solid


def _hull(solid: Solid, side: Sequence[tuple[float, float]], half: float, bevel: float) -> None:
    """The lower body: a side view drawn out over the width, narrower at its faces."""
    middle = np.mean(side, axis=0)
    inner = [tuple(middle + (np.array(c) - middle) * (1.0 - bevel)) for c in side]
    for sign in (-1.0, 1.0):
        face = [(x, sign * half, z) for x, z in inner]
        solid.polygon("paint", face if sign < 0 else face[::-1])
        for n in range(len(side)):
            m = (n + 1) % len(side)
            ring = [
                (inner[n][0], sign * half, inner[n][1]),
                (side[n][0], sign * (half - bevel), side[n][1]),
                (side[m][0], sign * (half - bevel), side[m][1]),
                (inner[m][0], sign * half, inner[m][1]),
            ]
            solid.polygon("paint", ring if sign < 0 else ring[::-1])
    for n in range(len(side)):
        (x0, z0), (x1, z1) = side[n], side[(n + 1) % len(side)]
        wide = half - bevel
        solid.polygon("paint", [(x0, -wide, z0), (x0, wide, z0), (x1, wide, z1), (x1, -wide, z1)])


def _cabin(
    solid: Solid,
    below: Sequence[tuple[float, float]],
    above: Sequence[tuple[float, float]],
    half_below: float,
    half_above: float,
) -> None:
    """Pillars and panes between the body and a roof, and two seats behind them."""
    (x0, z0), (x1, z1) = below
    (u0, w0), (u1, w1) = above
    low = [(x0, -half_below, z0), (x1, -half_below, z1), (x1, half_below, z1), (x0, half_below, z0)]
    top = [(u0, -half_above, w0), (u1, -half_above, w1), (u1, half_above, w1), (u0, half_above, w0)]
    for n in range(4):
        m = (n + 1) % 4
        _glazed(solid, [np.array(c) for c in (low[n], low[m], top[m], top[n])])
    solid.hexahedron("paint", top + [(x, y, z + 0.04) for x, y, z in top])
    seat = 0.5 * (u0 + u1)
    for y in (-0.38, 0.38):
        solid.box(
            "plastic_black", (seat - 0.1, y - 0.22, z0 - 0.4), (seat + 0.05, y + 0.22, z0 + 0.3)
        )


def _glazed(solid: Solid, corners: list[Floats]) -> None:
    """A side of a cabin: a painted rim around a pane."""
    middle = sum(corners) / 4.0
    inner = [c + 0.11 * (middle - c) for c in corners]
    for n in range(4):
        m = (n + 1) % 4
        solid.polygon("paint", [corners[n], corners[m], inner[m], inner[n]])
    solid.pane("glass", inner, PANE)


def _trim(solid: Solid, rear: float, front: float, lamp_height: float, half_width: float) -> None:
    """Lamps, number plates of retro-reflective sheeting, bumpers."""
    for sign in (-1.0, 1.0):
        y = sign * (half_width - 0.26)
        low, high = lamp_height - 0.07, lamp_height + 0.05
        solid.box("acrylic_red", (rear - 0.01, y - 0.15, low), (rear + 0.1, y + 0.15, high))
        solid.box("plastic_white", (front - 0.2, y - 0.15, low), (front - 0.01, y + 0.15, high))
    for x, sign in ((rear - 0.012, -1.0), (front + 0.012, 1.0)):
        plate = [(x, -0.26, 0.46), (x, 0.26, 0.46), (x, 0.26, 0.57), (x, -0.26, 0.57)]
        solid.polygon("retro_sheeting", plate if sign > 0 else plate[::-1])
    wide = half_width - 0.1
    solid.box("plastic_black", (rear - 0.005, -wide, 0.28), (rear + 0.15, wide, 0.44))
    solid.box("plastic_black", (front - 0.15, -wide, 0.26), (front + 0.005, wide, 0.42))


def _wheels(solid: Solid, axles: Point, radius: float, track: float) -> None:
    for x in axles:
        for sign in (-1.0, 1.0):
            outer, inner = (x, sign * track, radius), (x, sign * (track - 0.22), radius)
            solid.tube("rubber", inner, outer, (radius, radius), SECTIONS)
            hub = (x, sign * (track + 0.004), radius)
            solid.disc("rubber", outer, (0.0, sign, 0.0), radius, SECTIONS)
            solid.disc("aluminium", hub, (0.0, sign, 0.0), 0.64 * radius, SECTIONS)
            solid.disc("rubber", inner, (0.0, -sign, 0.0), radius, SECTIONS)


def container() -> Solid:
    """A container of 20 feet with corrugated walls, on the ground, doors toward +x."""
    solid = Solid()
    x, y, height = 3.03, 1.22, 2.59
    solid.box("paint", (-x, -y, 0.0), (x, y, 0.16))
    solid.box("paint", (-x, -y, height - 0.12), (x, y, height))
    for a in (-x, x - 0.15):
        for b in (-y, y - 0.15):
            solid.box("paint", (a, b, 0.16), (a + 0.15, b + 0.15, height - 0.12))
    waves = [(-x + 0.15 + 0.07 * n, 0.0 if n // 2 % 2 else 0.04) for n in range(83)]
    for sign in (-1.0, 1.0):
        for (s0, d0), (s1, d1) in pairwise(waves):
            wall = [
                (s0, sign * (y - d0), 0.16),
                (s1, sign * (y - d1), 0.16),
                (s1, sign * (y - d1), height - 0.12),
                (s0, sign * (y - d0), height - 0.12),
            ]
            solid.polygon("paint", wall if sign < 0 else wall[::-1])
    solid.box("paint", (-x + 0.02, -y + 0.15, 0.16), (-x + 0.05, y - 0.15, height - 0.12))
    solid.box("paint", (x - 0.06, -y + 0.15, 0.16), (x - 0.02, y - 0.15, height - 0.12))
    for b in (-0.75, -0.25, 0.25, 0.75):
        solid.tube("steel", (x, b, 0.1), (x, b, height - 0.08), (0.02, 0.02), 6)
    return solid


if __name__ == "__main__":
    make(Path(__file__).parent)
