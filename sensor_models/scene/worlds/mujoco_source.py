"""MJCF and URDF, prepared for MuJoCo's compiler: to be seen, or to be simulated.

MuJoCo gets one text and the files that it names, and opens none itself: included files are put in
their place, and each file is looked for in the folder of the world, or in the ROS package around it
(the nearest folder above with a ``package.xml``). Other files are refused, unless they are allowed.

Left out is what has no surface and moves nothing: actuators, sensors, contacts, tendons, lights,
cameras, skins and flexible bodies. What of that could be seen is noted with its first place.
Pictures on surfaces count with their mean colour. What is to be simulated (``dynamic``) keeps all
that moves it: actuators, tendons, contacts, constraints and key frames.

A URDF is read with its visual shapes, which MuJoCo leaves out by itself, and with its fixed links.
Shapes in files that MuJoCo does not read (Collada) are noted; a link without any others is then
seen in its collision shapes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from sensor_models.scene.errors import SceneError
from sensor_models.scene.worlds.files import Color, Files, mean_color
from sensor_models.scene.worlds.formats import COLLISION, WorldOptions
from sensor_models.scene.worlds.xml_files import MAX_BYTES, MAX_ELEMENTS, Node, parse_xml

#: Parts of an MJCF that have no surface, and what of them moves it.
_MOVING = ("actuator", "tendon", "equality", "contact", "keyframe")
_UNSEEN = ("visual", "statistic", "sensor", "custom", "deformable", *_MOVING)
#: What could be seen, but is not taken.
_NOT_TAKEN = ("light", "camera", "site", "flexcomp", "skin", "plugin", "flex")
_FILES_OF_ASSETS = ("mesh", "hfield")
_MESHES = (".stl", ".obj", ".msh")
_MOST_INCLUDED = 200


@dataclass
class Prepared:
    """A model for the compiler."""

    root: Node
    files: dict[str, bytes] = field(default_factory=dict)
    is_urdf: bool = False
    colors: dict[str, Color] = field(default_factory=dict)  # means of pictures, by material
    notes: list[str] = field(default_factory=list)  # what was left out

    def add(self, data: bytes, suffix: str) -> str:
        """Hand a file to the compiler; returns the name that it goes by there."""
        name = f"{len(self.files)}{suffix.lower()}"
        self.files[name] = data
        return name


def dynamic(data: bytes, files: Files) -> Prepared | None:
    """A model from its file with all that moves it; None if it has no actuator."""
    root = parse_xml(data, files.world)
    if root.tag != "mujoco":
        return None
    model = _mjcf(root, files, is_moved=True)
    return model if any(node.children for node in root.of("actuator")) else None


def prepared(data: bytes, files: Files, options: WorldOptions) -> Prepared:
    """A model from its file."""
    root = parse_xml(data, files.world)
    if root.tag == "robot":
        return _urdf(root, files, options)
    if root.tag != "mujoco":
        reason = f"begins with {root.tag!r}, known are mujoco (MJCF) and robot (URDF)"
        raise SceneError(files.world, root.place, reason)
    return _mjcf(root, files)


# ---- MJCF ----------------------------------------------------------------------------------------


def _mjcf(root: Node, files: Files, *, is_moved: bool = False) -> Prepared:
    model = Prepared(root)
    _include(root, files)
    _note_unseen(model)
    kept = (*_MOVING, "site") if is_moved else ()
    _drop(root, tuple(tag for tag in (*_UNSEEN, *_NOT_TAKEN) if tag not in kept))
    if not is_moved:
        _drop(root, ("inertial",))
        for option in root.of("option"):  # old models have some that MuJoCo refuses by now
            option.children.clear()
            option.attributes = {k: v for k, v in option.attributes.items() if k == "gravity"}
    compiler = _compiler(root)
    strip = compiler.get("strippath") == "true"
    folders = {
        "mesh": compiler.get("meshdir", compiler.get("assetdir", "")),
        "hfield": compiler.get("meshdir", compiler.get("assetdir", "")),
        "texture": compiler.get("texturedir", compiler.get("assetdir", "")),
        "model": compiler.get("assetdir", ""),
    }
    pictures: dict[str, Color] = {}
    for asset in (node for node in root.walk() if node.tag in folders):
        home = (files.world.parent / folders[asset.tag], asset.file.parent / folders[asset.tag])
        if asset.tag == "texture":
            _flatten_texture(asset, files, home, strip, pictures)
        elif asset.tag == "model":
            reason = "attaches another model: write it into the file, or include it"
            raise SceneError(asset.file, asset.place, reason)
        elif "file" in asset.attributes:
            _add_asset(asset, files, home, strip, model)
    for node in root.walk():
        if node.tag == "material" and node.attributes.get("texture") in pictures:
            model.colors[node.attributes.get("name", "")] = pictures[node.attributes["texture"]]
    # what is only seen may have any mass; what is simulated has the one that it says
    _set_compiler(root, {}, {} if is_moved else _ANY_MASS)
    return model


def _include(root: Node, files: Files) -> None:
    """Put the elements of included files into their places."""
    count, included = sum(1 for _ in root.walk()), 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        while (place := _first_include(node)) >= 0:
            include = node.children[place]
            name = include.attributes.get("file", "")
            folders = (files.world.parent, include.file.parent)
            path, data = files.find(name, include, folders)
            inner = parse_xml(data[:MAX_BYTES], path)
            count, included = count + sum(1 for _ in inner.walk()), included + 1
            if included > _MOST_INCLUDED or count > MAX_ELEMENTS:
                reason = f"makes more than {_MOST_INCLUDED} files or {MAX_ELEMENTS} elements"
                raise SceneError(include.file, include.place, reason)
            node.children[place : place + 1] = inner.children
        waiting += node.children


def _first_include(node: Node) -> int:
    return next((i for i, child in enumerate(node.children) if child.tag == "include"), -1)


def _note_unseen(model: Prepared) -> None:
    """Note what could be seen, but is not taken, each kind once."""
    found: dict[str, list[Node]] = {}
    for node in model.root.walk():
        own = node.tag
        if own == "geom" and node.attributes.get("type") == "sdf":
            own = "geom of type sdf"
        if own in (*_NOT_TAKEN, "geom of type sdf"):
            found.setdefault(own, []).append(node)
    for kind, nodes in found.items():
        where = f"{nodes[0].file.name}, line {nodes[0].line}"
        model.notes.append(f"{kind}: {len(nodes)} left out, the first in {where}")


def _drop(node: Node, tags: tuple[str, ...]) -> None:
    """Remove elements wherever they are, and geoms that need a plugin."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        here.children = [
            child
            for child in here.children
            if child.tag not in tags and child.attributes.get("type") != "sdf"
        ]
        waiting += here.children


def _compiler(root: Node) -> dict[str, str]:
    """The attributes of all compiler elements; later ones win."""
    return {k: v for node in root.of("compiler") for k, v in node.attributes.items()}


#: What makes the compiler take bodies whatever their inertia is.
_ANY_MASS = {"boundmass": "1e-6", "boundinertia": "1e-9", "balanceinertia": "true"}


def _set_compiler(
    root: Node, more: Mapping[str, str], usual: Mapping[str, str] = _ANY_MASS
) -> None:
    """Say that files go by their plain names, and what holds if the file does not say it."""
    kept, place = _compiler(root), next(root.of("compiler"), root)
    for name in ("meshdir", "texturedir", "assetdir", "strippath"):
        kept.pop(name, None)
    root.children = [child for child in root.children if child.tag != "compiler"]
    root.children.insert(0, Node("compiler", {**usual, **kept, **more}, place.file, place.line))


def _base(name: str, strip: bool) -> str:
    name = name.replace("\\", "/")
    return PurePosixPath(name).name if strip else name


def _add_asset(
    node: Node, files: Files, folders: tuple[Path, ...], strip: bool, model: Prepared
) -> None:
    """Hand a mesh or a height field to the compiler."""
    name = _base(node.attributes["file"], strip)
    data = files.read(name, node, folders)
    node.attributes.setdefault("name", PurePosixPath(name).stem)
    node.attributes["file"] = model.add(data, PurePosixPath(name).suffix)


def _flatten_texture(
    node: Node,
    files: Files,
    folders: tuple[Path, ...],
    strip: bool,
    pictures: dict[str, Color],
) -> None:
    """Replace a picture by its mean colour, as it would be read only to be looked at."""
    name = node.attributes.get("file")
    own = node.attributes.get("name", PurePosixPath(name or "").stem)
    if name is not None:
        pictures[own] = mean_color(files.read(_base(name, strip), node, folders), node)
    flat = {"type": "2d", "builtin": "flat", "width": "8", "height": "8", "name": own or "texture"}
    node.attributes.clear()
    node.attributes.update(flat)


# ---- URDF ----------------------------------------------------------------------------------------


def _urdf(root: Node, files: Files, options: WorldOptions) -> Prepared:
    model = Prepared(root, is_urdf=True)
    mimics = [node for node in root.walk() if node.tag == "mimic"]
    if mimics:
        where = f"{mimics[0].file.name}, line {mimics[0].line}"
        model.notes.append(f"mimic: {len(mimics)} joints move by themselves, the first in {where}")
    visible = options.geometry != COLLISION
    own = next(root.of("mujoco"), Node("mujoco", {}, root.file, root.line))
    root.children = [own, *(c for c in root.children if c.tag in ("material", "link", "joint"))]
    own.children = list(own.of("compiler"))
    for link in root.of("link"):
        _choose_shapes(link, visible, model)
    tokens: dict[tuple[str, str], str] = {}
    for mesh in (node for node in root.walk() if node.tag == "mesh"):
        _add_urdf_mesh(mesh, files, tokens, model)
    settings = {"fusestatic": "false", "strippath": "false"}
    _set_compiler(own, {**settings, "discardvisual": "false" if visible else "true"})
    return model


def _choose_shapes(link: Node, visible: bool, model: Prepared) -> None:
    """Keep the shapes that are wanted; those in files of other kinds are replaced and noted."""
    wanted = "visual" if visible else "collision"
    there = list(link.of(wanted))
    unread = [shape for shape in there if _unread_file(shape)]
    for shape in unread:
        name, node = str(_unread_file(shape)), next(n for n in shape.walk() if n.tag == "mesh")
        where = f"{node.file.name}, line {node.line}"
        model.notes.append(f"{name} in {where}: left out, meshes are {', '.join(_MESHES)}")
    shapes = [shape for shape in there if shape not in unread]
    if visible and unread and not shapes:
        shapes = [shape for shape in link.of("collision") if not _unread_file(shape)]
        for shape in shapes:
            shape.tag = "visual"
    # what a link weighs moves nothing here, and some versions of MuJoCo refuse links without mass
    inertia = {"ixx": "1", "ixy": "0", "ixz": "0", "iyy": "1", "iyz": "0", "izz": "1"}
    inner = [Node("mass", {"value": "1"}, link.file, link.line)]
    inner.append(Node("inertia", inertia, link.file, link.line))
    link.children = [Node("inertial", {}, link.file, link.line, inner), *shapes]


def _unread_file(shape: Node) -> str | None:
    """The mesh file of a shape, if MuJoCo does not read its kind."""
    for node in shape.walk():
        name = node.attributes.get("filename", "")
        if node.tag == "mesh" and PurePosixPath(name).suffix.lower() not in _MESHES:
            return name
    return None


def _add_urdf_mesh(
    node: Node, files: Files, tokens: dict[tuple[str, str], str], model: Prepared
) -> None:
    """Hand a mesh to the compiler, once for each of its scales."""
    given = node.attributes.get("filename", "")
    key = given, node.attributes.get("scale", "")
    if key not in tokens:
        places = list(_places(given, files))
        folder, name = next((p for p in places if (p[0] / p[1]).is_file()), places[0])
        tokens[key] = model.add(files.read(name, node, (folder,)), PurePosixPath(given).suffix)
    node.attributes["filename"] = tokens[key]


def _places(given: str, files: Files) -> Iterator[tuple[Path, str]]:
    """Folders and the name of a file as URDF writes it, the most likely first."""
    scheme, mark, rest = given.partition("://")
    if not mark:
        yield files.world.parent, given
        return
    name = unquote(rest)
    if scheme == "file":
        yield files.world.parent, name
        return
    below = str(PurePosixPath(*PurePosixPath(name).parts[1:]))  # without the package's name
    for folder in (files.root(), files.world.parent):
        yield folder, below
        yield folder, name
