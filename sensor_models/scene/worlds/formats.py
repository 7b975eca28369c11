"""Which files are worlds, and how they are read; imports nothing that takes time."""

from dataclasses import dataclass
from pathlib import Path

#: What worlds end in.
MUJOCO, GLTF, OPENMATERIAL = (".xml", ".urdf"), (".glb", ".gltf"), (".xoma",)
USD = (".usd", ".usda", ".usdc", ".usdz")
SUFFIXES = (*MUJOCO, *GLTF, *USD, *OPENMATERIAL)

VISUAL, COLLISION = "visual", "collision"

#: What is done with numbers of materials that no body has: the file is refused, they are left out
#: and the material is guessed, or they are used.
REFUSE, GUESS, TAKE = UNPHYSICAL = "refuse", "guess", "take"


@dataclass(frozen=True)
class WorldOptions:
    """How a world is read."""

    allow_outside: bool = False  # it may name files outside of its folder
    geometry: str = VISUAL  # or COLLISION: which shapes of a robot are taken
    guesses: Path | None = None  # rules for materials that come before all others
    unphysical: str = REFUSE  # or GUESS or TAKE: numbers of materials that no body has


def is_world(path: Path) -> bool:
    """Whether a file is a world that is no manifest."""
    return path.suffix.lower() in SUFFIXES
