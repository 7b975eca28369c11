"""Libraries of materials of Wavefront OBJ: the pictures that they lay onto surfaces.

``map_Kd`` with ``Kd`` is the colour, ``map_Pr`` with ``Pr`` the roughness, ``map_Pm`` with ``Pm``
the share of metal, ``norm`` or a ``map_Bump`` in colours the normals, ``map_Ke`` with ``Ke`` what
a surface sends by itself in cd/m2; a ``Ke`` without a picture is a picture of one texel. Of options
``-clamp`` is followed, and ``-bm`` for normals. Factors are linear; without a picture, only ``Ke``
counts: a manifest says what materials are. Grey bump maps are heights and not used, nor are other
maps; ``notes`` name them.

Sources: Wavefront Technologies, MTL material format (.mtl), Advanced Visualizer Manual; the
extension for physically based rendering by Clara.io (Pr, Pm, Ke, norm).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.model import Texture, Use, Wrap
from sensor_models.scene.pictures import plain_light, roughness_of, texture_of

MAX_MTL_BYTES = 2**24

_log = logging.getLogger(__name__)


#: The names of factors, and of the pictures that they multiply.
_FACTORS = {"Kd": "map_Kd", "Pr": "map_Pr", "Pm": "map_Pm", "Ke": "map_Ke"}
#: Other names of pictures, and what all of them are for.
_ALIASES = {"map_Bump": "norm", "map_bump": "norm", "bump": "norm"}
_USES = {
    "map_Kd": Use.color,
    "map_Pr": Use.roughness,
    "map_Pm": Use.roughness,
    "norm": Use.normals,
    "map_Ke": Use.emission,
}
_Color = tuple[float, float, float]


class _Picture(NamedTuple):
    name: str
    wrap: Wrap
    lean: float  # factor of what normals lean


@dataclass
class _Entry:
    factors: dict[str, _Color] = field(default_factory=dict)  # by the names of their pictures
    pictures: dict[str, _Picture] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)


class Library(NamedTuple):
    """What libraries say of the materials that are used."""

    looks: dict[str, dict[Use, Texture]]  # by material
    whole: bool  # nothing was left out that may be there next time
    notes: list[str]  # what is not used


def looks_of(libraries: list[str], used: set[str], read_file: Callable[[str], bytes]) -> Library:
    """The pictures of those materials of some libraries that are used.

    What cannot be read is logged and left out, as pictures do not matter to most sensors.
    """
    found = Library({}, True, [])
    for library in libraries:
        try:
            entries = _entries(read_file(library))
        except (MeshFileError, SceneError, ValueError) as error:
            _log.warning("the materials of %s are shown without pictures: %s", library, error)
            found = found._replace(whole=False)
            continue
        folder = PurePosixPath(library.replace("\\", "/")).parent
        for name, entry in entries.items():
            if name in used and name not in found.looks:
                look, whole, notes = _look(name, entry, folder, read_file)
                found.looks.update({name: look} if look else {})
                found = found._replace(whole=found.whole and whole, notes=found.notes + notes)
    return found


def _look(
    name: str, entry: _Entry, folder: PurePosixPath, read_file: Callable[[str], bytes]
) -> tuple[dict[Use, Texture], bool, list[str]]:
    """The pictures of a material, whether these are all, and what is not used of it."""
    read: dict[str, Texture] = {}
    whole, notes = True, [f"{key} of material {name!r}" for key in entry.unused]
    for key, picture in entry.pictures.items():
        file = str(folder / picture.name.replace("\\", "/"))
        factor = entry.factors.get(key, (1.0, 1.0, 1.0))
        if _USES[key] is Use.normals:
            factor = picture.lean, picture.lean, 1.0
        try:
            wrap = picture.wrap, picture.wrap
            made = texture_of(read_file(file), file, factor, wrap, _USES[key])
        except (MeshFileError, SceneError) as error:
            _log.warning("material %r is shown without its picture: %s", name, error)
            whole = False
            continue
        if key == "norm" and bool(np.all(made.pixels == made.pixels[..., :1])):
            notes.append(f"heights of material {name!r}, {file}: a map of normals is needed")
        else:
            read[key] = made
    look = {_USES[key]: made for key, made in read.items() if _USES[key] is not Use.roughness}
    if "map_Pr" in read or "map_Pm" in read:
        rough, metal = read.get("map_Pr"), read.get("map_Pm")
        look[Use.roughness] = roughness_of(rough, metal)
    light = entry.factors.get("map_Ke", (0.0, 0.0, 0.0))
    if "map_Ke" not in entry.pictures and any(light):
        look[Use.emission] = plain_light(light)
    return look, whole, notes


def _entries(data: bytes) -> dict[str, _Entry]:
    """The materials of a library by name."""
    if len(data) > MAX_MTL_BYTES:
        raise MeshFileError(f"has {len(data)} bytes, at most {MAX_MTL_BYTES} are read")
    entries: dict[str, _Entry] = {}
    entry = _Entry()
    for line in data.decode("utf-8", "replace").splitlines():
        head, _, rest = line.strip().partition(" ")
        head, rest = _ALIASES.get(head, head), rest.strip()
        if head == "newmtl":
            entry = entries.setdefault(rest, _Entry())
        elif head in _FACTORS and rest.split()[:1] not in (["spectral"], ["xyz"]):
            entry.factors[_FACTORS[head]] = _color(rest)
        elif head in _USES:
            entry.pictures[head] = _picture(rest)
        elif head.startswith("map_") or head in ("disp", "decal", "refl"):
            entry.unused.append(head)
    return entries


def _color(rest: str) -> _Color:
    """One or three numbers, which must not be negative or endless."""
    values = [float(word) for word in rest.split()[:3]]
    if not all(0.0 <= value < float("inf") for value in values):
        raise ValueError(f"has a factor of {rest}")
    red, green, blue = (values * 3)[:3] if len(values) == 1 else values
    return red, green, blue


def _picture(rest: str) -> _Picture:
    words = rest.split()
    name = words[-1] if rest.startswith("-") else rest
    lean = float(words[words.index("-bm") + 1]) if "-bm" in words[:-1] else 1.0
    return _Picture(name, Wrap.clamp if "-clamp on" in rest else Wrap.repeat, lean)
