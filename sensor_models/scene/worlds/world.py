"""A world as a reader builds it: the content of a manifest, and the meshes that it names.

Names become words that FMI variables can have: letters, digits and underscores; a name that is
taken gets a number.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.materials import material_library
from sensor_models.scene.model import Brdf, SurfaceKind
from sensor_models.scene.primitives import Piece
from sensor_models.scene.worlds.guesses import Look, Rule, guessed

Floats = NDArray[np.float64]

#: Segments of spheres, cylinders and capsules: ``TESSELLATION`` is as far as their faces are inside
#: of the true surface, at most, as a share of the radius: two sagittas of half a segment.
SEGMENTS = 96
TESSELLATION = 2.0 * (1.0 - float(np.cos(np.pi / SEGMENTS)))


class Known(Protocol):
    """What is known of the materials of a world besides their looks."""

    def material(self, look: Look) -> str | None:
        """The name of the material of a look, entered in the world; None if it is not known."""

    def picture_of(self, name: str) -> bool:
        """Whether the faces of a material of the mesh are told apart by the texels of a picture."""

    def painted(self, name: str, piece: Piece, places: Floats) -> list[tuple[Piece, str]]:
        """A piece of such a material by the materials of its texels.

        ``places`` are those of its vertices in the picture, (n, 2).
        """

    def thickness(self, node: str) -> float:
        """How thick the sheets of a node are, in m; 0 if that is not known."""


@dataclass
class World:
    """What was read so far."""

    path: Path
    name: str
    rules: list[Rule]
    meshes: dict[str, Piece] = field(default_factory=dict)  # by file names
    files: list[Path] = field(default_factory=list)  # besides the world's own
    digests: dict[Path, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # what was not taken
    content: dict[str, Any] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)  # names of bodies and joints
    #: Tables of bidirectional reflectance by file names, and by wavelength.
    brdfs: dict[str, Mapping[float, Brdf]] = field(default_factory=dict)
    #: What is known of materials besides their looks (``openmaterial``).
    known: Known | None = None
    _materials: dict[tuple[Any, ...], str] = field(default_factory=dict)
    _meshes: dict[tuple[str, ...], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.content = {"format": 1, "name": self.name[:200] or "world"}
        self.content |= {"world": {}, "materials": {}, "meshes": {}, "bodies": [], "instances": []}

    def material(self, look: Look) -> str:
        """The name of the material of a look, entered if it is new."""
        found = None if self.known is None else self.known.material(look)
        if found is not None:
            return found
        base, source = guessed(look, self.rules)
        color = tuple(min(max(round(float(part), 4), 0.0), 1.0) for part in look.color)
        ior = look.ior if material_library()[base].kind is SurfaceKind.dielectric else None
        key = look.name, base, (color[0], color[1], color[2]), ior
        if key not in self._materials:
            red, green, blue = (round(255 * part) for part in color)
            name = look.name or f"{base}_{red:02x}{green:02x}{blue:02x}"
            table: dict[str, Any] = {"base": base, "color": list(color), "source": source}
            if ior is not None and 1.0 <= ior <= 10.0:
                table = {"kind": "dielectric", "surface": [{"ior": ior}], **table}
                table["source"] = f"{source[:150]}; the refractive index is the file's"
                del table["base"]
            self._materials[key] = self.entered("materials", name, table)
        return self._materials[key]

    def is_clear(self, material: str) -> bool:
        """Whether light goes through a material of the world."""
        table = self.content["materials"][material]
        base = table.get("base")
        kind = table.get("kind") if base is None else material_library()[base].kind.name
        return bool(kind == SurfaceKind.dielectric.name)

    def shape(self, kind: str, numbers: dict[str, Any], material: str, **more: Any) -> str:
        """The name of a mesh of a plain shape with a material."""
        key = (kind, repr(numbers), material)
        if key not in self._meshes:
            table = {kind: numbers, "material": material, **more}
            self._meshes[key] = self.entered("meshes", f"{kind}_{material}", table)
        return self._meshes[key]

    def mesh(self, name: str, piece: Piece, material: str) -> str:
        """The name of a mesh of a file with a material; the piece is kept once for a name."""
        key = ("file", name, material)
        if key not in self._meshes:
            file = f"meshes/{name}.ply"
            self.meshes.setdefault(file, piece)
            table = {"file": file, "up": "z", "material": material}
            self._meshes[key] = self.entered("meshes", name, table)
        return self._meshes[key]

    def word(self, name: str, fallback: str) -> str:
        """A name for a body or joint that no other one has."""
        text = re.sub(r"\W", "_", name or fallback, flags=re.ASCII)[:90]
        text = text if re.match("[A-Za-z_]", text) else f"_{text}"
        chosen = free(text, self.taken)
        self.taken.add(chosen)
        return chosen

    def entered(self, table: str, name: str, value: Any) -> str:
        """Enter a table of the manifest under a name that is free."""
        chosen = free(name[:180] or "unnamed", self.content[table])
        self.content[table][chosen] = value
        return chosen


def free(name: str, taken: Any) -> str:
    """The name, with a number if it is taken."""
    chosen, number = name, 1
    while chosen in taken:
        number += 1
        chosen = f"{name}_{number}"
    return chosen


def file_name(name: str) -> str:
    """A name that a file may have on any system."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:100] or "mesh"
