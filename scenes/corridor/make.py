"""Makes the mesh of the scene ``corridor``: ``python -m scenes.corridor.make``."""

from pathlib import Path

from scenes.making import Solid, write_glb
from scenes.walls import PANE, Wall, add_wall

LENGTH, HALF_WIDTH, HEIGHT, THICK = 30.0, 1.2, 2.7, 0.25  # m


def make(folder: Path) -> None:
    """Write the meshes into a folder."""
    write_glb(folder / "corridor.glb", corridor())


def corridor() -> Solid:
    """A corridor from the origin along x: windows on its right, doors on its left."""
    solid = Solid()
    far = HALF_WIDTH + THICK
    windows = [(1.5 + 4.0 * n, 0.9, 3.5 + 4.0 * n, 2.2) for n in range(7)]
    doors = [(s, 0.0, s + 1.0, 2.1) for s in (2.0, 8.0, 14.0, 20.0, 26.0)]
    add_wall(solid, Wall((0.0, -far), (LENGTH, -far), HEIGHT, THICK, windows))
    add_wall(solid, Wall((LENGTH, far), (0.0, far), HEIGHT, THICK, doors=doors))
    add_wall(solid, Wall((LENGTH, -far), (LENGTH, far), HEIGHT, THICK, doors=[(0.9, 0, 2.0, 2.1)]))
    add_wall(solid, Wall((0.0, far), (0.0, -far), HEIGHT, THICK))
    solid.box("ceramic", (0.0, -far, -0.1), (LENGTH, far, 0.0))
    solid.box("plaster_white", (0.0, -far, HEIGHT), (LENGTH, far, HEIGHT + 0.2))
    _add_glass_door(solid, 17.0)
    return solid


def _add_glass_door(solid: Solid, x: float) -> None:
    """Two panes from wall to wall, one of them a door that stands open at a right angle."""
    top, wide = 2.25, HALF_WIDTH
    solid.box("plaster_white", (x - 0.05, -wide, top), (x + 0.05, wide, HEIGHT))
    for y in (-wide, 0.0, wide - 0.06):
        solid.box("aluminium", (x - 0.03, y, 0.0), (x + 0.03, y + 0.06, top))
    pane = [(x, wide - 0.06, 0.0), (x, 0.06, 0.0), (x, 0.06, top), (x, wide - 0.06, top)]
    solid.pane("glass", pane, PANE)
    door = [(x, -wide + 0.06, 0.02), (x + 1.1, -wide + 0.06, 0.02)]
    solid.pane("glass", [*door, (x + 1.1, -wide + 0.06, top), (x, -wide + 0.06, top)], PANE)
    solid.tube(
        "steel", (x + 0.98, -wide + 0.1, 0.9), (x + 0.98, -wide + 0.1, 1.3), (0.012, 0.012), 8
    )


if __name__ == "__main__":
    make(Path(__file__).parent)
