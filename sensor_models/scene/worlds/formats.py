"""Which files are worlds, and how they are read; imports nothing that takes time."""

from dataclasses import dataclass
from pathlib import Path

#: What worlds end in.
MUJOCO, GLTF = (".xml", ".urdf"), (".glb", ".gltf")
USD = (".usd", ".usda", ".usdc", ".usdz")
SUFFIXES = (*MUJOCO, *GLTF, *USD)

VISUAL, COLLISION = "visual", "collision"


@dataclass(frozen=True)
class WorldOptions:
    """How a world is read."""

    allow_outside: bool = False  # it may name files outside of its folder
    geometry: str = VISUAL  # or COLLISION: which shapes of a robot are taken
    guesses: Path | None = None  # rules for materials that come before all others


def is_world(path: Path) -> bool:
    """Whether a file is a world that is no manifest."""
    return path.suffix.lower() in SUFFIXES
