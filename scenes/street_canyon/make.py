"""Makes mesh and textures of ``street_canyon``: ``python -m scenes.street_canyon.make``."""

from collections.abc import Sequence
from pathlib import Path

from scenes.making import Solid, write_glb
from scenes.textures import write_asphalt, write_brick, write_stone

HALF_WIDTH = 10.0  # m, from the middle of the street to the houses
KERB = 6.5  # m, from the middle of the street to the pavement
DEPTH = 12.0  # m, of a house
STOREY = 3.5  # m
PROUD = 0.05  # m, by which a window stands out of its wall

#: House by house along x: start, end, storeys, material. The gaps are a square and a side street.
LEFT = (
    (30.0, 52.0, 5, "brick"),
    (52.0, 70.0, 7, "plaster_white"),
    (70.0, 96.0, 9, "concrete"),
    (110.0, 132.0, 8, "stone"),
    (132.0, 158.0, 11, "concrete"),
    (158.0, 176.0, 5, "brick"),
)
RIGHT = (
    (34.0, 60.0, 6, "stone"),
    (60.0, 80.0, 8, "brick"),
    (80.0, 98.0, 6, "plaster_white"),
    (110.0, 128.0, 10, "concrete"),
    (128.0, 150.0, 7, "brick"),
    (150.0, 172.0, 6, "plaster_white"),
)


def make(folder: Path) -> None:
    """Write the meshes into a folder."""
    write_glb(folder / "street.glb", street())
    write_asphalt(folder / "asphalt.png")
    write_brick(folder / "brick.png")
    write_stone(folder / "stone.png")


def street() -> Solid:
    """A street along x with houses on both sides, and a bridge of glass and steel across it."""
    solid = Solid()
    solid.box("asphalt", (-30.0, -KERB, -0.3), (230.0, KERB, 0.0))
    for side, houses in ((1.0, LEFT), (-1.0, RIGHT)):
        low, high = sorted((side * KERB, side * HALF_WIDTH))
        solid.box("concrete", (-30.0, low, -0.3), (230.0, high, 0.12))
        for house in houses:
            _add_house(solid, side, house)
    for x in range(-26, 228, 8):
        solid.box("road_marking", (x, -0.07, -0.01), (x + 3.0, 0.07, 0.005))
    _add_bridge(solid, 120.0)
    return solid


def _add_house(solid: Solid, side: float, house: Sequence[float | str]) -> None:
    """A house with rows of windows toward the street; glass stands before its wall."""
    start, end, storeys, material = house
    low, high = sorted((side * HALF_WIDTH, side * (HALF_WIDTH + DEPTH)))
    solid.box(str(material), (start, low, -0.3), (end, high, STOREY * storeys + 0.8))
    count = int((end - start) // 3.6)
    pitch = (end - start) / count
    front = side * (HALF_WIDTH - PROUD)
    for storey in range(int(storeys)):
        bottom, top = STOREY * storey + 1.0, STOREY * storey + 2.8
        for window in range(count):
            x, wide = start + pitch * (window + 0.5), 0.32 * pitch
            near, far = sorted((front, side * (HALF_WIDTH - PROUD + 0.012)))
            solid.box("glass", (x - wide, near, bottom), (x + wide, far, top))


def _add_bridge(solid: Solid, x: float) -> None:
    """A footbridge from house to house: a floor of steel, walls and roof of glass."""
    solid.box("steel", (x, -HALF_WIDTH, 7.0), (x + 3.0, HALF_WIDTH, 7.3))
    solid.box("glass", (x, -HALF_WIDTH, 10.0), (x + 3.0, HALF_WIDTH, 10.012))
    for side in (x + 0.02, x + 2.968):
        solid.box("glass", (side, -HALF_WIDTH, 7.3), (side + 0.012, HALF_WIDTH, 10.0))


if __name__ == "__main__":
    make(Path(__file__).parent)
