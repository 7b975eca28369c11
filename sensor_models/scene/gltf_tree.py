"""The JSON of a glTF: what it asks for is checked before trimesh makes anything from it.

Accessors, views of buffers, meshes and nodes may all be shared, and an accessor without a buffer
stands for zeros, so a few kilobytes can ask for any number of vertices. What is made of a file is
therefore compared with the bytes that its buffers really have: sharing may add to them
``MAX_SHARED_BYTES`` while the file is read, and ``MAX_SHARED`` vertices or triangles to the result.

``plain_tree`` also leaves out what is not used: looks, cameras, animations and all attributes but
positions, those of the application, whose names begin with an underscore, and the coordinates that
pictures are laid by (``gltf_pictures``), whose names it lets begin with one. Meshes of several
primitives become several meshes, each on a node of its own, as trimesh gives such nodes random
names, of which two may be the same.

Source: Khronos, glTF 2.0 Specification, sections 3.5 to 3.7.
"""

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.limits import MAX_VERTICES, refuse_above_limit, refuse_parts_above_limit

#: Vertices, and triangles, that a file may have beyond what its buffers can hold: about 1 GB.
MAX_SHARED = 2**23
#: Bytes of all views, and of all accessors, beyond those of the buffers.
MAX_SHARED_BYTES = 2**28
#: Values in the JSON; each takes about a hundred bytes of memory.
MAX_VALUES = 2**22
#: Steps from all nodes up to their roots, each of which takes trimesh some 10 us.
MAX_STEPS = 2**20

#: Extensions about looks, which are not used.
_IGNORED_EXTENSIONS = re.compile(r"KHR_materials_|KHR_texture_|EXT_texture_|KHR_lights_")
_UNUSED = ("images", "textures", "samplers", "animations", "skins", "cameras", "extensionsRequired")

#: Between the name and the number of a material.
_MARK = "\x1f"

_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_SIZES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
#: The fewest bytes of a position, and of the three indices of a triangle.
_LEAST_VERTEX, _LEAST_TRIANGLE = 12, 3


def parsed_tree(data: bytes) -> Any:
    """The JSON of a glTF, unless it has more values than there is memory for."""
    values = sum(data.count(sign) for sign in (b",", b"[", b"{"))
    if values > MAX_VALUES:
        raise MeshFileError(f"has {values} values in its JSON, allowed are {MAX_VALUES}")
    tree = json.loads(data)
    if not isinstance(tree, dict):
        raise MeshFileError("has JSON that is no object")
    return tree


def plain_tree(tree: Any, stored: int, laid_by: Mapping[int, str] = MappingProxyType({})) -> Any:
    """The tree without what is not used; refused if it asks for more than its bytes may.

    ``laid_by`` names the attribute that the picture of a material is laid by.
    """
    for needed in tree.get("extensionsRequired", []):
        if not _IGNORED_EXTENSIONS.match(needed):
            raise MeshFileError(f"needs the glTF extension {needed}, which is not supported")
    for key in _UNUSED:
        tree.pop(key, None)
    for number, material in enumerate(tree.get("materials", [])):
        name = str(material.get("name", ""))
        tree["materials"][number] = {"name": marked(name, number) if number in laid_by else name}
    _strip(tree, laid_by)
    check_tree(tree, stored)
    _split_meshes(tree)
    return tree


def check_tree(tree: Any, stored: int) -> None:
    """Refuse a tree that asks for more than its bytes may, or whose nodes are no trees."""
    _check_bytes(tree, stored)
    _check_uses(tree, stored)
    _check_steps(tree.get("nodes", []))


def marked(name: str, number: int) -> str:
    """The name of a material with its number, which trimesh does not tell."""
    return f"{name}{_MARK}{number}"


def unmarked(name: str) -> tuple[str, int]:
    """The name of a material and its number, or -1 if that is not told."""
    name, _, number = name.partition(_MARK)
    return name, int(number) if number.isdecimal() else -1


def _strip(tree: Any, laid_by: Mapping[int, str]) -> None:
    """Leave attributes out that are not used, and cameras, which trimesh takes out with nodes."""
    for _, primitive in _primitives(tree):
        primitive.pop("targets", None)
        kept = laid_by.get(primitive.get("material", -1))
        for name in list(primitive["attributes"]):
            if name == kept:
                primitive["attributes"][f"_{name}"] = primitive["attributes"][name]
            if name != "POSITION" and not name.startswith("_"):
                del primitive["attributes"][name]
    for node in tree.get("nodes", []):
        node.pop("camera", None)


def _primitives(tree: Any) -> Iterator[tuple[int, Any]]:
    """All primitives, with the numbers of their meshes."""
    for number, mesh in enumerate(tree.get("meshes", [])):
        for primitive in mesh["primitives"]:
            yield number, primitive


# ---- bounds --------------------------------------------------------------------------------------


def _check_bytes(tree: Any, stored: int) -> None:
    """Refuse views and accessors that take more memory than the file has bytes for."""
    views = tree.get("bufferViews", [])
    taken = [_whole(views, "bufferViews", i, "byteLength", stored) for i in range(len(views))]
    _refuse_bytes("bufferViews", sum(taken), stored)
    accessors = tree.get("accessors", [])
    taken = [_bytes_of(accessors, number) for number in range(len(accessors))]
    _refuse_bytes("accessors", sum(taken), stored)


def _refuse_bytes(what: str, taken: int, stored: int) -> None:
    if taken > stored + MAX_SHARED_BYTES:
        raise MeshFileError(
            f"has {what} of {taken} bytes together, its buffers have {stored}, and at most"
            f" {MAX_SHARED_BYTES} more are read"
        )


def _bytes_of(accessors: Any, number: int) -> int:
    """The memory that an accessor takes."""
    count = _whole(accessors, "accessors", number, "count", MAX_VERTICES)
    known = accessors[number]
    try:
        return count * int(_COMPONENTS[known["type"]] * _SIZES[known["componentType"]])
    except (KeyError, TypeError) as error:
        raise MeshFileError(f"has accessors[{number}] without a known type") from error


def _whole(items: Any, key: str, number: int, name: str, most: int) -> int:
    """A number of a table that counts something."""
    value = items[number].get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        given = repr(value) if not isinstance(value, int) or abs(value) < 2**64 else "far more"
        raise MeshFileError(f"has {key}[{number}].{name} = {given}, allowed are 0 to {most}")
    return value


def _check_uses(tree: Any, stored: int) -> None:
    """Refuse more vertices, triangles or parts than a scene may have, wherever nodes repeat them.

    What no node uses is made once.
    """
    uses = [0] * len(tree.get("meshes", []))
    for number, node in enumerate(tree.get("nodes", [])):
        if "mesh" in node:
            uses[_whole(tree["nodes"], "nodes", number, "mesh", len(uses) - 1)] += 1
    vertices = triangles = parts = 0
    accessors = tree.get("accessors", [])
    for mesh, primitive in _primitives(tree):
        times = max(1, uses[mesh])
        parts += times
        vertices += times * _count_of(accessors, primitive["attributes"]["POSITION"])
        triangles += times * _triangles_of(primitive, accessors)
    refuse_parts_above_limit(parts)
    refuse_above_limit(triangles)
    for what, asked, least in (
        ("vertices", vertices, _LEAST_VERTEX),
        ("triangles", triangles, _LEAST_TRIANGLE),
    ):
        if asked > stored // least + MAX_SHARED:
            raise MeshFileError(
                f"asks for {asked} {what} with its {parts} parts, more than {stored} bytes of"
                f" buffers and {MAX_SHARED} repeated ones: give a shape once, and instances in the"
                " manifest with their places"
            )


def _count_of(accessors: Any, number: Any) -> int:
    if not isinstance(number, int) or not 0 <= number < len(accessors):
        raise MeshFileError(f"uses the accessor {number!r} of {len(accessors)}")
    return int(accessors[number]["count"])


def _triangles_of(primitive: Any, accessors: Any) -> int:
    corners = primitive.get("indices", primitive["attributes"]["POSITION"])
    per_triangle = 3 if primitive.get("mode", 4) == 4 else 1
    return _count_of(accessors, corners) // per_triangle


def _check_steps(nodes: Any) -> None:
    """Refuse nodes that are no trees, or trees that are too deep."""
    parents: dict[int, int] = {}
    for number, node in enumerate(nodes):
        for child in node.get("children", []):
            if child in parents:
                raise MeshFileError(f"has nodes[{child}] as a child of two nodes")
            parents[child] = number
    depths: dict[int, int] = {}
    for number in range(len(nodes)):
        path = [number]
        while path[-1] in parents and path[-1] not in depths:
            path.append(parents[path[-1]])
            if len(path) > len(nodes):
                raise MeshFileError(f"has nodes[{number}] within itself")
        depth = depths.get(path[-1], 0)
        for above, place in enumerate(reversed(path)):
            depths[place] = depth + above
    steps = sum(depths.values())
    if steps > MAX_STEPS:
        raise MeshFileError(
            f"has {len(nodes)} nodes with {steps} steps up to their roots, allowed are {MAX_STEPS}"
        )


# ---- meshes of several primitives ----------------------------------------------------------------


def _split_meshes(tree: Any) -> None:
    """Put every primitive into a mesh of its own, on a node of its own."""
    places: list[range] = []
    meshes: list[Any] = []
    for mesh in tree.get("meshes", []):
        places.append(range(len(meshes), len(meshes) + len(mesh["primitives"])))
        meshes += [{**mesh, "primitives": [primitive]} for primitive in mesh["primitives"]]
    nodes = tree.get("nodes", [])
    for number in range(len(nodes)):
        node = nodes[number]
        if "mesh" not in node:
            continue
        numbers = places[node["mesh"]]
        if len(numbers) == 1:
            node["mesh"] = numbers[0]
            continue
        del node["mesh"]
        name = str(node.get("name", number))
        own = [{"mesh": place, "name": split_name(name, k)} for k, place in enumerate(numbers)]
        node["children"] = [*node.get("children", []), *range(len(nodes), len(nodes) + len(own))]
        nodes += own
    if meshes:
        tree["meshes"] = meshes


def split_name(name: str, place: int) -> str:
    """The name of the node of one of several primitives; sorted as text they keep their order."""
    return f"{name}.primitive_{place:06d}"


def is_split_of(name: str, node: str) -> bool:
    """Whether a node is that of a primitive of a node's mesh."""
    place = name.rpartition("_")[2]
    return place.isdecimal() and name == split_name(node, int(place))
