"""Pictures of glTF materials: base colour, roughness and metal, normals, emission.

Of each the picture is used (in a buffer, a data URI or a file), its factors, how it goes on beyond
its edges, and which coordinates it is laid by: all of a material by the same. An ``emissiveFactor``
without a picture is a picture of one texel; with ``KHR_materials_emissive_strength`` it is in
cd/m2, which is what the extension says of physical units. What cannot be read is logged and left
out, as pictures do not matter to most sensors.

Not used, but named in ``notes``: occlusion, pictures of other extensions, alpha that is not opaque.
Not used: KHR_texture_transform, filters of samplers, factors of roughness and metal without a
picture, as the manifest says what materials are.

Source: Khronos, glTF 2.0 Specification, sections 3.8 and 3.9.
"""

import base64
import binascii
import logging
import math
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.model import Texture, Use, Wrap
from sensor_models.scene.pictures import MOST_TEXELS_OF_SCENE, plain_light, texture_of

_WRAPS = {10497: Wrap.repeat, 33071: Wrap.clamp, 33648: Wrap.mirror}
_REPEAT = 10497
_STRENGTH = "KHR_materials_emissive_strength"
#: For messages about pictures.
_WORDS = {
    Use.color: "picture",
    Use.roughness: "picture of roughness and metal",
    Use.normals: "picture of normals",
    Use.emission: "picture of emission",
}

_log = logging.getLogger(__name__)


class Look(NamedTuple):
    """The pictures of a material."""

    pictures: tuple[int, int, int, int]  # which of those that were read, by ``Use``; -1 for none
    coordinates: str  # the attribute of vertices that they are laid by; "" where none is needed


class _Given(NamedTuple):
    """A picture that a material asks for."""

    use: Use
    reference: Any
    factor: tuple[float, float, float]


class GltfPictures:
    """Pictures of the materials of a file."""

    def __init__(self, tree: Any, chunk: bytes, read_file: Callable[[str], bytes]) -> None:
        """``chunk`` holds the first buffer of a GLB."""
        self._tree, self._chunk, self._read_file = tree, chunk, read_file
        self.textures: list[Texture] = []
        self.looks: dict[int, Look] = {}
        self.whole = True  # nothing was left out that may be there next time
        self._known: dict[tuple[Any, ...], int] = {}
        self.notes = unused_looks(tree)
        for number, material in enumerate(tree.get("materials", [])):
            try:
                given, light = _given(material)
            except (AttributeError, TypeError, ValueError) as error:
                self._tell(material, "pictures", error)
                continue
            look = self._look(material, given, light)
            if max(look.pictures) >= 0:
                self.looks[number] = look

    def _tell(self, material: Any, what: str, error: Exception) -> None:
        self.whole = False
        name = material.get("name") if isinstance(material, dict) else None
        _log.warning("material %r is shown without its %s: %s", name, what, error)

    def _look(self, material: Any, given: list[_Given], light: tuple[float, float, float]) -> Look:
        found, coordinates = [-1, -1, -1, -1], ""
        for each in given:
            try:
                laid_by = f"TEXCOORD_{int(each.reference.get('texCoord', 0))}"
                if coordinates and laid_by != coordinates:
                    raise MeshFileError(f"it is laid by {laid_by}, another by {coordinates}")
                found[each.use] = self._texture(each)
                coordinates = laid_by
            except (MeshFileError, SceneError, LookupError, TypeError, ValueError) as error:
                self._tell(material, _WORDS[each.use], error)
        if any(light):
            found[Use.emission] = self._entered(("light", *light), plain_light(light))
        color, rough, normals, emission = found
        return Look((color, rough, normals, emission), coordinates)

    def _texture(self, given: _Given) -> int:
        reference = given.reference
        if reference.get("extensions"):
            raise MeshFileError(f"its texture needs {', '.join(reference['extensions'])}")
        texture = self._tree["textures"][reference["index"]]
        samplers = self._tree.get("samplers", [])
        sampler = samplers[texture["sampler"]] if "sampler" in texture else {}
        wrap = tuple(_WRAPS[sampler.get(key, _REPEAT)] for key in ("wrapS", "wrapT"))
        key = (texture["source"], wrap, given.use, *given.factor)
        if key in self._known:
            return self._known[key]
        name, data = self._image(texture["source"])
        made = texture_of(data, name, given.factor, (wrap[0], wrap[1]), given.use)
        return self._entered(key, made)

    def _entered(self, key: tuple[Any, ...], made: Texture) -> int:
        """The number of a picture, which is entered on first use."""
        if key not in self._known:
            taken = sum(known.pixels[..., 0].size for known in self.textures)
            if taken + made.pixels[..., 0].size > MOST_TEXELS_OF_SCENE:
                raise MeshFileError(f"has pictures of more than {MOST_TEXELS_OF_SCENE} texels")
            self._known[key] = len(self.textures)
            self.textures.append(made)
        return self._known[key]

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


def _given(material: Any) -> tuple[list[_Given], tuple[float, float, float]]:
    """The pictures that a material asks for, and its light without a picture, cd/m2."""
    found, base = [], material.get("pbrMetallicRoughness", {})
    if "baseColorTexture" in base:
        color = _three(base.get("baseColorFactor", [1.0] * 4))
        found.append(_Given(Use.color, base["baseColorTexture"], color))
    if "metallicRoughnessTexture" in base:
        factors = float(base.get("roughnessFactor", 1.0)), float(base.get("metallicFactor", 1.0))
        found.append(_Given(Use.roughness, base["metallicRoughnessTexture"], (3.0, *factors)))
    if "normalTexture" in material:
        scale = float(material["normalTexture"].get("scale", 1.0))
        found.append(_Given(Use.normals, material["normalTexture"], (scale, scale, 1.0)))
    extended = material.get("extensions", {}).get(_STRENGTH, {})
    strength = float(extended.get("emissiveStrength", 1.0))
    red, green, blue = (strength * part for part in _three(material.get("emissiveFactor", [0] * 3)))
    light = red, green, blue
    if not all(0.0 <= part < math.inf for part in light):
        raise ValueError(f"its emission is {light}")
    if "emissiveTexture" in material and any(light):
        found.append(_Given(Use.emission, material["emissiveTexture"], light))
        return found, (0.0, 0.0, 0.0)
    return found, light


def _three(values: Any) -> tuple[float, float, float]:
    red, green, blue = (float(part) for part in values[:3])
    return red, green, blue


def unused_looks(tree: Any, unread: tuple[str, ...] = ()) -> list[str]:
    """What is not used of the looks of materials: each kind once, with the first that has it.

    ``unread`` names pictures besides, which are not read from this file.
    """
    found: dict[str, list[str]] = {}
    for number, material in enumerate(tree.get("materials", [])):
        name = str(material.get("name", number))
        base = material.get("pbrMetallicRoughness", {})
        kinds = [key for key in ("occlusionTexture", *unread) if key in material or key in base]
        if material.get("alphaMode", "OPAQUE") != "OPAQUE" and not unread:
            kinds.append(f"alphaMode {material['alphaMode']}")
        for extension, content in (material.get("extensions") or {}).items():
            if isinstance(content, dict):
                kinds += [f"{extension} {key}" for key in content if key.endswith("Texture")]
        for kind in kinds:
            found.setdefault(kind, []).append(name)
    return [
        f"{kind}: of {len(names)} material{'s' * (len(names) > 1)}, the first is {names[0]!r}"
        for kind, names in found.items()
    ]
