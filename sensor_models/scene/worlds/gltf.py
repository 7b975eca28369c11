"""glTF and GLB as a world.

Nodes      A node with a mesh is an entity, numbered from 1 in the order of the tree, each with its
           parts. Meshes that several nodes use are kept once, unless a node shears or mirrors them.
Axes       The file's y becomes our z, its z our -y; lengths are in metres.
Materials  Colour, metallic, roughness, transmission (KHR_materials_transmission, or alpha that
           blends) and refractive index (KHR_materials_ior) are the look that materials are guessed
           by; the index of what transmits is used as it is. Pictures count with their mean colour.
Left out   Lines and points, animations, skins, morphs, lights and cameras; each is noted once.
           A mesh of a manifest may have an animation (``gltf_clips``).

Source: Khronos, glTF 2.0 Specification, sections 3.5 to 3.9 and 5.
"""

import base64
import binascii
import copy
import struct
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.gltf_accessors import Accessors
from sensor_models.scene.gltf_pictures import unused_looks
from sensor_models.scene.gltf_tree import is_split_of, parsed_tree, plain_tree
from sensor_models.scene.openmaterial.sheets import thickened
from sensor_models.scene.primitives import Piece
from sensor_models.scene.worlds.files import Color, Files, Place, mean_color
from sensor_models.scene.worlds.guesses import Look, srgb
from sensor_models.scene.worlds.placing import placed
from sensor_models.scene.worlds.world import World, file_name

Floats = NDArray[np.float64]

#: From y up to z up.
_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
#: What looks of materials have that is no mean colour.
_UNREAD = ("metallicRoughnessTexture", "normalTexture", "emissiveTexture", "emissiveFactor")
#: Where the vertices are in an assignment texture.
_PLACES = "_TEXCOORD_0"
_TRIANGLES, _STRIP, _FAN = 4, 5, 6
_NOTED = ("animations", "skins", "cameras")


def fill_world(world: World, data: bytes, files: Files) -> None:
    """Put the nodes of a file into a world."""
    try:
        _Reader(world, data, files).read()
    except MeshFileError as error:
        raise SceneError(world.path, "", str(error)) from error


class _Reader:
    """A file while it is read."""

    def __init__(self, world: World, data: bytes, files: Files) -> None:
        self.world, self.files = world, files
        text, self.rest = _chunks(data)
        tree = parsed_tree(text)
        self._note(tree)
        self.buffers = [self._buffer(tree, n) for n in range(len(tree.get("buffers", [])))]
        self.raw = copy.deepcopy({k: tree.get(k, []) for k in ("materials", "images", "textures")})
        stored = sum(map(len, self.buffers))
        self.tree = plain_tree(tree, stored, self._laid_by())
        self.accessors = Accessors(self.tree, self.buffers)
        self.pieces: dict[int, Piece | None] = {}
        self.looks: dict[tuple[Any, ...], str] = {}
        self.count = 0

    def read(self) -> None:
        """Enter all nodes of the scene."""
        for number, transform, entity in self._nodes():
            self._enter(number, transform, entity)
        if not self.world.content["instances"]:
            raise MeshFileError("has no triangles")

    def _note(self, tree: Any) -> None:
        """Note what could be seen, but is not taken."""
        for key in _NOTED:
            if tree.get(key):
                self.world.notes.append(f"{key}: {len(tree[key])} left out, the first is {key}[0]")
        lights = tree.get("extensions", {}).get("KHR_lights_punctual", {}).get("lights", [])
        if lights:
            self.world.notes.append(f"lights: {len(lights)} left out")
        self.world.notes += unused_looks(tree, _UNREAD)

    # ---- nodes -----------------------------------------------------------------------------------

    def _nodes(self) -> Iterator[tuple[int, Floats, int]]:
        """Nodes with a mesh, their places in the world, and their entities."""
        nodes = self.tree.get("nodes", [])
        children = {c for node in nodes for c in node.get("children", [])}
        roots = [n for n in range(len(nodes)) if n not in children]
        scenes = self.tree.get("scenes", [])
        if scenes:
            roots = scenes[self.tree.get("scene", 0)].get("nodes", [])
        waiting = [(n, np.eye(4), 0) for n in reversed(roots)]
        while waiting:
            number, above, entity = waiting.pop()
            node = nodes[number]
            here = above @ _matrix(node)
            own = [c for c in node.get("children", []) if self._is_part(node, number, nodes[c])]
            if "mesh" in node or own:
                if entity == 0:
                    self.count += 1
                yield from [(number, here, entity or self.count)] if "mesh" in node else []
            others = [c for c in node.get("children", []) if c not in own]
            waiting += [(c, here, 0) for c in reversed(others)]
            waiting += [(c, here, self.count) for c in reversed(own)]

    @staticmethod
    def _is_part(node: Any, number: int, child: Any) -> bool:
        """Whether a child stands for one of several primitives of the node's mesh."""
        return is_split_of(str(child.get("name", "")), str(node.get("name", number)))

    def _enter(self, number: int, transform: Floats, entity: int) -> None:
        node = self.tree["nodes"][number]
        mesh = self.tree["meshes"][node["mesh"]]
        piece = self._piece(node["mesh"])
        if piece is None:
            return
        name = str(node.get("name") or mesh.get("name") or f"node_{number}")
        name = name.rpartition(".primitive_")[0] or name
        own = str(mesh.get("name") or name)
        turned = np.eye(4)
        turned[:3, :3] = _UP @ transform[:3, :3] @ _UP.T
        turned[:3, 3] = _UP @ transform[:3, 3]
        for nth, (part, material) in enumerate(self._painted(mesh, piece, (own, name))):
            solid = self._thickened(name, part, material, turned)
            pose, baked = placed(solid, turned)
            label = file_name(own) + (f"_part_{nth}" if part is not piece else "")
            label = f"{label}_{node['mesh']}" if baked is part else f"{label}_node_{number}"
            table = {"mesh": self.world.mesh(label, baked, material), "name": name[:200]}
            self.world.content["instances"].append({**table, "entity_id": entity, **pose})

    # ---- what is known besides (OpenMATERIAL) ----------------------------------------------------

    def _laid_by(self) -> dict[int, str]:
        """The attributes that pictures of materials are laid by, of those that tell faces apart."""
        known, materials = self.world.known, self.raw["materials"]
        if known is None:
            return {}
        names = [str(material.get("name", "")) for material in materials]
        return {n: _PLACES[1:] for n, name in enumerate(names) if known.picture_of(name)}

    def _painted(self, mesh: Any, piece: Piece, names: tuple[str, ...]) -> list[tuple[Piece, str]]:
        """The parts of a piece with their materials."""
        primitive = mesh["primitives"][0]
        number, known = primitive.get("material"), self.world.known
        name = "" if number is None else str(self.raw["materials"][number].get("name", ""))
        if known is not None and known.picture_of(name) and _PLACES in primitive["attributes"]:
            places = self.accessors.numbers(primitive["attributes"][_PLACES], "VEC2")
            scale = 1.0 if places.dtype.kind == "f" else 1.0 / np.iinfo(places.dtype).max
            return known.painted(name, piece, places.astype(np.float64) * scale)
        return [(piece, self._material(number, names))]

    def _thickened(self, node: str, piece: Piece, material: str, transform: Floats) -> Piece:
        """A sheet of a clear material with the thickness of its node."""
        known = self.world.known
        thickness = 0.0 if known is None else known.thickness(node)
        if thickness <= 0.0 or not self.world.is_clear(material):
            return piece
        size = abs(float(np.linalg.det(transform[:3, :3]))) ** (1.0 / 3.0)
        return piece if size == 0.0 else thickened(piece, thickness / size)

    # ---- meshes ----------------------------------------------------------------------------------

    def _piece(self, number: int) -> Piece | None:
        """The triangles of a mesh, which has one primitive; None for lines and points."""
        if number not in self.pieces:
            primitive = self.tree["meshes"][number]["primitives"][0]
            vertices = self.accessors.numbers(primitive["attributes"]["POSITION"], "VEC3")
            order = np.arange(len(vertices))
            if "indices" in primitive:
                order = (
                    self.accessors.numbers(primitive["indices"], "SCALAR").astype(np.int64).ravel()
                )
            faces = _faces(order, primitive.get("mode", _TRIANGLES))
            if faces is None:
                self.world.notes.append(f"meshes[{number}]: lines or points, left out")
                self.pieces[number] = None
            else:
                self.pieces[number] = Piece(vertices.astype(np.float64) @ _UP.T + 0.0, faces)
        return self.pieces[number]

    def _buffer(self, tree: Any, number: int) -> bytes:
        """The bytes of a buffer: in the file, as text, or in a file of its own."""
        uri = tree["buffers"][number].get("uri")
        if uri is None:
            return self.rest
        return self._file(str(uri), f"buffers[{number}]")

    def _file(self, uri: str, place: str) -> bytes:
        if uri.startswith("data:"):
            try:
                return base64.b64decode(uri.partition(",")[2], validate=True)
            except binascii.Error as error:
                raise MeshFileError(f"has {place} with damaged data: {error}") from error
        home = self.world.path.parent
        return self.files.read(unquote(uri), Place(self.world.path, place), (home,))

    # ---- materials -------------------------------------------------------------------------------

    def _material(self, number: int | None, others: tuple[str, ...]) -> str:
        """The material of a primitive."""
        key = number, others
        if key not in self.looks:
            self.looks[key] = self.world.material(self._look(number, others))
        return self.looks[key]

    def _look(self, number: int | None, others: tuple[str, ...]) -> Look:
        if number is None:
            return Look("", others=others)
        material = self.raw["materials"][number]
        base = material.get("pbrMetallicRoughness", {})
        red, green, blue, alpha = base.get("baseColorFactor", (1.0, 1.0, 1.0, 1.0))
        picture = self._picture(base.get("baseColorTexture"))
        more = material.get("extensions", {})
        through = more.get("KHR_materials_transmission", {}).get("transmissionFactor", 0.0)
        if material.get("alphaMode") == "BLEND":
            through = max(through, 1.0 - alpha)
        return Look(
            name=str(material.get("name", "")),
            color=(srgb(red) * picture[0], srgb(green) * picture[1], srgb(blue) * picture[2]),
            metallic=float(base.get("metallicFactor", 1.0)),
            roughness=float(base.get("roughnessFactor", 1.0)),
            transmission=float(through),
            ior=more.get("KHR_materials_ior", {}).get("ior"),
            others=others,
        )

    def _picture(self, texture: Any) -> Color:
        """The mean colour of a texture; white if there is none that is read."""
        if texture is None:
            return 1.0, 1.0, 1.0
        number = self.raw["textures"][texture["index"]].get("source")
        if number is None:
            return 1.0, 1.0, 1.0
        image, place = self.raw["images"][number], f"images[{number}]"
        if "uri" in image:
            data = self._file(str(image["uri"]), place)
        else:
            view = self.tree["bufferViews"][image["bufferView"]]
            start = view.get("byteOffset", 0)
            data = self.buffers[view["buffer"]][start : start + view["byteLength"]]
        return mean_color(data, Place(self.world.path, place))


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    """The JSON of a file, and the binary part behind it if it is a GLB."""
    if data[:4] != b"glTF":
        return data, b""
    if len(data) < 20:
        raise MeshFileError("is no whole GLB file of version 2")
    _, version, length, size = struct.unpack_from("<4sIII", data)
    if version != 2 or length > len(data) or 20 + size > length or data[16:20] != b"JSON":
        raise MeshFileError("is no whole GLB file of version 2")
    return data[20 : 20 + size], data[28 + size : length]


def _faces(order: NDArray[np.int64], mode: int) -> NDArray[np.int64] | None:
    """Triangles from vertices in their order; None for points and lines."""
    if mode == _TRIANGLES:
        return order[: len(order) // 3 * 3].reshape(-1, 3)
    if len(order) < 3 or mode not in (_STRIP, _FAN):
        return None
    if mode == _FAN:
        first = np.full(len(order) - 2, order[0])
        return np.stack([order[1:-1], order[2:], first], axis=-1)
    faces = np.stack([order[:-2], order[1:-1], order[2:]], axis=-1)
    faces[1::2] = faces[1::2, [0, 2, 1]]
    return faces


def _matrix(node: Any) -> Floats:
    """The transform of a node in its parent."""
    if "matrix" in node:
        return np.array(node["matrix"], np.float64).reshape(4, 4).T
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    length = float(np.sqrt(x * x + y * y + z * z + w * w))
    if not 0.0 < length < np.inf:
        raise MeshFileError(f"has a node with the rotation {node['rotation']}")
    x, y, z, w = (part / length for part in (x, y, z, w))
    matrix = np.eye(4)
    turn = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    matrix[:3, :3] = np.array(turn) * np.array(node.get("scale", (1.0, 1.0, 1.0)))
    matrix[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return matrix
