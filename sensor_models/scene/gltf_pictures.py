"""Base colours of glTF materials that are pictures.

Of a material its ``baseColorTexture`` and ``baseColorFactor`` are used: the picture (in a buffer, a
data URI or a file), how it goes on beyond its edges, and which coordinates it is laid by. What
cannot be read is logged and left out, as pictures do not matter to most sensors.

Not used: textures of roughness, metal, normals, occlusion and emission, KHR_texture_transform,
filters of samplers, alpha.

Source: Khronos, glTF 2.0 Specification, sections 3.8 and 3.9.2.
"""

import base64
import binascii
import logging
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.model import Texture, Wrap
from sensor_models.scene.pictures import MOST_TEXELS_OF_SCENE, texture_of

_WRAPS = {10497: Wrap.repeat, 33071: Wrap.clamp, 33648: Wrap.mirror}
_REPEAT = 10497

_log = logging.getLogger(__name__)


class Look(NamedTuple):
    """The picture of a material."""

    texture: int  # which one of those that were read
    coordinates: str  # the attribute of vertices that it is laid by


class GltfPictures:
    """Pictures of the materials of a file."""

    def __init__(self, tree: Any, chunk: bytes, read_file: Callable[[str], bytes]) -> None:
        """``chunk`` holds the first buffer of a GLB."""
        self._tree, self._chunk, self._read_file = tree, chunk, read_file
        self.textures: list[Texture] = []
        self.looks: dict[int, Look] = {}
        self.whole = True  # nothing was left out
        self._known: dict[tuple[Any, ...], int] = {}
        for number, material in enumerate(tree.get("materials", [])):
            given = material.get("pbrMetallicRoughness", {})
            if "baseColorTexture" not in given:
                continue
            try:
                self.looks[number] = self._look(given)
            except (MeshFileError, SceneError, LookupError, TypeError, ValueError) as error:
                self.whole = False
                _log.warning(
                    "material %r is shown without its picture: %s", material.get("name"), error
                )

    def _look(self, given: Any) -> Look:
        reference = given["baseColorTexture"]
        if reference.get("extensions"):
            raise MeshFileError(f"its texture needs {', '.join(reference['extensions'])}")
        texture = self._tree["textures"][reference["index"]]
        samplers = self._tree.get("samplers", [])
        sampler = samplers[texture["sampler"]] if "sampler" in texture else {}
        wrap = tuple(_WRAPS[sampler.get(key, _REPEAT)] for key in ("wrapS", "wrapT"))
        red, green, blue = (float(part) for part in given.get("baseColorFactor", [1.0] * 4)[:3])
        key = (texture["source"], wrap, red, green, blue)
        if key not in self._known:
            name, data = self._image(texture["source"])
            made = texture_of(data, name, (red, green, blue), (wrap[0], wrap[1]))
            taken = sum(known.pixels[..., 0].size for known in self.textures)
            if taken + made.pixels[..., 0].size > MOST_TEXELS_OF_SCENE:
                raise MeshFileError(f"has pictures of more than {MOST_TEXELS_OF_SCENE} texels")
            self._known[key] = len(self.textures)
            self.textures.append(made)
        return Look(self._known[key], f"TEXCOORD_{int(reference.get('texCoord', 0))}")

    def _image(self, number: int) -> tuple[str, bytes]:
        """The name and the file of a picture."""
        image = self._tree["images"][number]
        name = str(image.get("name", number))
        if "uri" not in image:
            return name, self._view(image["bufferView"])
        uri = str(image["uri"])
        if not uri.startswith("data:"):
            return uri, self._read_file(unquote(uri))
        return name, _decoded(uri)

    def buffer(self, number: int) -> bytes:
        """The bytes of a buffer: in the file, as text, or in a file of its own."""
        buffer = self._tree["buffers"][number]
        if "uri" not in buffer:
            return self._chunk
        uri = str(buffer["uri"])
        return _decoded(uri) if uri.startswith("data:") else self._read_file(unquote(uri))

    def _view(self, number: int) -> bytes:
        view = self._tree["bufferViews"][number]
        start, length = int(view.get("byteOffset", 0)), int(view["byteLength"])
        data = self.buffer(view["buffer"])
        if start < 0 or not 0 <= length <= len(data) - start:
            raise MeshFileError(f"bufferViews[{number}] goes beyond its buffer")
        return data[start : start + length]


def _decoded(uri: str) -> bytes:
    """The content of a data URI."""
    head, _, text = uri.partition(",")
    if not head.endswith(";base64"):
        raise MeshFileError("has a picture in a data URI that is not of base64")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise MeshFileError(f"has a damaged data URI: {error}") from error
