"""An asset of OpenMATERIAL (``.xoma``): which of its materials are which, for the mesh beside it.

A name of a material in the mesh, or what ``materialReplacement`` has in its place, is looked up in
the mapping (``.xomm``); materials with an assignment texture by the colours of its texels. A name
that is not in the mapping is guessed by its look, as in any other world.

Left out, and noted: external assets, light sources and lights of materials.
"""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import SceneError
from sensor_models.scene.materials import material_library
from sensor_models.scene.openmaterial.documents import MAX_BYTES, parsed
from sensor_models.scene.openmaterial.materials import Properties, material_table, read_properties
from sensor_models.scene.openmaterial.tables import Verdict
from sensor_models.scene.openmaterial.texels import divided, nearest_colors, picture_of
from sensor_models.scene.primitives import Piece
from sensor_models.scene.worlds.files import Files, Place
from sensor_models.scene.worlds.formats import MUJOCO, OPENMATERIAL, SUFFIXES, WorldOptions
from sensor_models.scene.worlds.guesses import Look, guessed
from sensor_models.scene.worlds.world import World, file_name, free

Floats = NDArray[np.float64]

#: What meshes end in, in the order in which they are looked for.
MESHES = tuple(suffix for suffix in SUFFIXES if suffix not in (*MUJOCO, *OPENMATERIAL))
#: Mesh formats of the standard that are not read.
_NOT_READ = (".fbx",)
_RGB = re.compile(r"rgb:(\d{1,3});(\d{1,3});(\d{1,3})")
_NOT_TAKEN = ("externalAssetReferences", "lightDefinitions", "emissiveLightMapping")


class Asset:
    """What an asset knows of the materials of its mesh."""

    def __init__(self, world: World, data: bytes, files: Files, options: WorldOptions) -> None:
        self.world, self.files, self.file = world, files, world.path
        self.verdict = Verdict(options.unphysical)
        self.document = parsed(data, world.path)
        pairs = self.document.pairs
        self.replaced = {row[0]: row[1] for row in pairs("materialReplacement", 2)}
        self.pictures = {
            row[0]: (row[1], number)
            for number, row in enumerate(pairs("materialTextureAssignment", 2))
        }
        self.sheets = self._thickness()
        self.mapping = self._mapping()
        self._properties: dict[str, Properties] = {}
        self._entered: dict[tuple[Any, ...], str] = {}
        self._numbers: dict[str, NDArray[np.int32]] = {}
        self._missing: list[str] = []

    def mesh(self) -> tuple[Path, bytes]:
        """The mesh beside the asset, and its content."""
        for suffix in MESHES:
            name = self.file.with_suffix(suffix).name
            if (self.file.parent / name).is_file():
                return self.files.find(name, Place(self.file, ""), (self.file.parent,))
        other = next((s for s in _NOT_READ if self.file.with_suffix(s).is_file()), None)
        there = "" if other is None else f"; {self.file.stem}{other} is not read, convert it"
        reason = f"there is no mesh beside it, {self.file.stem} with {', '.join(MESHES)}{there}"
        raise SceneError(self.file, "", reason)

    def note_the_rest(self) -> None:
        """Note what was not taken or not known."""
        for key in _NOT_TAKEN:
            count = len(self.document.objects(key))
            if count:
                self.world.notes.append(f"{key}: {count} left out, the first is {key}[0]")
        for name in dict.fromkeys(self._missing):
            self.world.notes.append(f"material {name!r} is not in the mapping, guessed by its look")
        self.world.notes += self.verdict.notes

    # ---- what an asset says ----------------------------------------------------------------------

    def _thickness(self) -> dict[str, float]:
        found = {}
        for part in self.document.objects("geometryProperties"):
            node, thickness = part.text("node"), part.number("thickness")
            if node is None or (thickness is not None and not 0.0 <= thickness <= 100.0):
                part.refuse("thickness", "is not from 0 to 100 m, or its node has no name")
            found[node] = thickness or 0.0
        return found

    def _mapping(self) -> dict[str, tuple[Path, str, int]]:
        """Files of materials by names and colours, with the mapping and the row they are from."""
        name = self.document.text("materialMappingUri")
        if name is None:
            return {}
        place = Place(self.file, "materialMappingUri")
        path, data = self.files.find(name, place, (self.file.parent,), MAX_BYTES)
        rows = parsed(data, path).pairs("materialMapping", 3)
        return {row[0]: (path, row[1], number) for number, row in reversed(list(enumerate(rows)))}

    def _read(self, key: str) -> Properties:
        """The material that a key of the mapping names."""
        mapping, name, number = self.mapping[key]
        place = Place(mapping, f"materialMapping[{number}]")
        path, data = self.files.find(name, place, (mapping.parent,), MAX_BYTES)
        if str(path) not in self._properties:
            found = read_properties(path, data, self.files, self.verdict)
            self._properties[str(path)] = found
        return self._properties[str(path)]

    # ---- what the reader of the mesh asks --------------------------------------------------------

    def material(self, look: Look) -> str | None:
        """The name of the material of a look, entered in the world; None if it is not known."""
        key = self.replaced.get(look.name, look.name)
        if key not in self.mapping:
            if look.name:
                self._missing.append(look.name)
            return None
        return self._enter(key, look.name, look)

    def _enter(self, key: str, name: str, look: Look) -> str:
        given = self._read(key)
        table = self._table(given, look)
        place = name, str(given.file), repr(table.get("color"))
        if place not in self._entered:
            if given.brdfs and given.own is None:
                table["brdf"] = [self._brdf_file(given)]
            entered = self.world.entered("materials", name or given.name, table)
            self._entered[place] = entered
        return self._entered[place]

    def _table(self, given: Properties, look: Look) -> dict[str, Any]:
        """The table of a manifest of a material; our own numbers have a colour, others a look."""
        base, why = guessed(look, self.world.rules)
        table = material_table(given, material_library()[base], why)
        color = [min(max(round(float(part), 4), 0.0), 1.0) for part in look.color]
        own = None if given.own is None else given.own.get("color")
        return {**table, "color": color if own is None else own}

    def _brdf_file(self, given: Properties) -> str:
        """The name that the tables of a material have in the world."""
        for name, brdfs in self.world.brdfs.items():
            if brdfs is given.brdfs:
                return name
        taken = {name.removesuffix("_brdf.xompt") for name in self.world.brdfs}
        name = f"{free(f'tables/{file_name(given.file.stem)}', taken)}_brdf.xompt"
        self.world.brdfs[name] = given.brdfs
        return name

    def picture_of(self, name: str) -> bool:
        """Whether the faces of a material of the mesh are told apart by the texels of a picture."""
        return name in self.pictures

    def painted(self, name: str, piece: Piece, places: Floats) -> list[tuple[Piece, str]]:
        """A piece of such a material by the materials of its texels."""
        keys = [key for key in self.mapping if _RGB.fullmatch(key)]
        if not keys:
            place = f"materialTextureAssignment[{self.pictures[name][1]}]"
            raise SceneError(self.file, place, "needs colours, of which the mapping has none")
        if name not in self._numbers:
            self._numbers[name] = self._texels(name, keys)
        return [
            (part, self._enter(keys[number], keys[number], _look_of(keys[number])))
            for number, part in divided(piece, places, self._numbers[name])
        ]

    def _texels(self, name: str, keys: list[str]) -> NDArray[np.int32]:
        file, number = self.pictures[name]
        place = Place(self.file, f"materialTextureAssignment[{number}]")
        _, data = self.files.find(file, place, (self.file.parent,))
        colors = np.array([_color_of(key) for key in keys], np.int64)
        if colors.max() > 255:
            raise SceneError(self.mapping[keys[0]][0], "materialMapping", "has a colour above 255")
        return nearest_colors(picture_of(data, place), colors.astype(np.uint8))

    def thickness(self, node: str) -> float:
        """How thick the sheets of a node are, in m; 0 if that is not known."""
        return self.sheets.get(node, 0.0)


def _color_of(key: str) -> list[int]:
    found = _RGB.fullmatch(key)
    return [] if found is None else [int(part) for part in found.groups()]


def _look_of(key: str) -> Look:
    """The look of a colour, which stands for a material and not for what people see."""
    return dataclasses.replace(Look(""), others=(key,))
