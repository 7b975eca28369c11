"""Libraries of materials of Wavefront OBJ: the pictures of their diffuse colours.

``newmtl``, ``Kd`` and ``map_Kd`` are read, of its options ``-clamp``; ``Kd`` is linear and
multiplies the picture. Of all else nothing is used: a manifest says what materials are.

Source: Wavefront Technologies, MTL material format (.mtl), Advanced Visualizer Manual.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.model import Texture, Wrap
from sensor_models.scene.pictures import texture_of

MAX_MTL_BYTES = 2**24

_log = logging.getLogger(__name__)


@dataclass
class _Entry:
    factor: tuple[float, float, float] = (1.0, 1.0, 1.0)
    picture: str = ""
    wrap: Wrap = Wrap.repeat


def textures_of(
    libraries: list[str], used: set[str], read_file: Callable[[str], bytes]
) -> tuple[dict[str, Texture], bool]:
    """The textures of those materials of some libraries that are used; whether these are all.

    What cannot be read is logged and left out, as pictures do not matter to most sensors.
    """
    found: dict[str, Texture] = {}
    whole = True
    for library in libraries:
        try:
            entries = _entries(read_file(library))
        except (MeshFileError, SceneError, ValueError) as error:
            _log.warning("the materials of %s are shown without pictures: %s", library, error)
            whole = False
            continue
        folder = PurePosixPath(library.replace("\\", "/")).parent
        for name, entry in entries.items():
            if name in used and name not in found and entry.picture:
                file = str(folder / entry.picture.replace("\\", "/"))
                try:
                    wrap = (entry.wrap, entry.wrap)
                    found[name] = texture_of(read_file(file), file, entry.factor, wrap)
                except (MeshFileError, SceneError) as error:
                    _log.warning("material %r is shown without its picture: %s", name, error)
                    whole = False
    return found, whole


def _entries(data: bytes) -> dict[str, _Entry]:
    """The materials of a library by name."""
    if len(data) > MAX_MTL_BYTES:
        raise MeshFileError(f"has {len(data)} bytes, at most {MAX_MTL_BYTES} are read")
    entries: dict[str, _Entry] = {}
    entry = _Entry()
    for line in data.decode("utf-8", "replace").splitlines():
        head, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if head == "newmtl":
            entry = entries.setdefault(rest, _Entry())
        elif head == "Kd" and rest.split()[:1] not in (["spectral"], ["xyz"]):
            values = [float(word) for word in rest.split()[:3]]
            red, green, blue = (values * 3)[:3] if len(values) == 1 else values
            entry.factor = (red, green, blue)
        elif head == "map_Kd":
            entry.picture = rest.split()[-1] if rest.startswith("-") else rest
            entry.wrap = Wrap.clamp if "-clamp on" in rest else Wrap.repeat
    return entries
