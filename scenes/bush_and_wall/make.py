"""Makes the mesh of the scene ``bush_and_wall``: ``python -m scenes.bush_and_wall.make``."""

from pathlib import Path

from scenes.making import bush, write_glb


def make(folder: Path) -> None:
    """Write the meshes into a folder."""
    write_glb(folder / "bush.glb", bush(seed=1, radius=0.85, height=1.7, leaves=1700, leaf=0.085))


if __name__ == "__main__":
    make(Path(__file__).parent)
