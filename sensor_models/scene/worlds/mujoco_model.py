"""A compiled model of MuJoCo as a world.

Bodies     A body that moves is a body of the scene: free ones and mocap bodies, bodies on joints,
           and bodies that are fixed to one of these. The root of a URDF is free, unless its name is
           world. What does not move belongs to the world. All begin at the model's first position.
Shapes     Those that MuJoCo's viewer shows (groups 0 to 2), or those that collide; in a URDF the
           visual or the collision shapes. Of those to be seen, what is invisible (alpha 0) is left
           out, as by MuJoCo's rays.
Entities   The id of a shape is its number in the compiled model, plus one.
Curves     Spheres, ellipsoids, cylinders and capsules have 96 segments; their faces are inside of
           the true surface by at most ``TESSELLATION`` = 0.11 % of the radius.
Planes     An infinite plane ends ``PLANE`` from its middle. MuJoCo's rays see a plane from above
           only, ours from both sides.
Heights    Height fields have sides and a bottom, and their cells MuJoCo's diagonals.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import matrix_from_quaternion
from sensor_models.scene.errors import SceneError
from sensor_models.scene.linkage import rotation_product
from sensor_models.scene.primitives import Piece
from sensor_models.scene.worlds.formats import COLLISION
from sensor_models.scene.worlds.guesses import Look
from sensor_models.scene.worlds.world import SEGMENTS, World, file_name, free

Floats = NDArray[np.float64]

#: Half the side of a plane without an end, m.
PLANE = 500.0

_PLANE, _HFIELD, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = range(8)
_FREE, _BALL, _SLIDE, _HINGE = range(4)
_KINDS = {_BALL: "ball", _SLIDE: "slide", _HINGE: "hinge"}
#: What MuJoCo gives a shape without a colour of its own.
_NO_COLOR = (0.5, 0.5, 0.5, 1.0)


class Model:
    """The arrays of a compiled model, and which of its bodies move."""

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        *,
        is_urdf: bool = False,
        colors: Mapping[str, tuple[float, float, float]] | None = None,
    ) -> None:
        self.arrays = arrays
        self.is_urdf = is_urdf
        self.colors = dict(colors or {})
        parents = arrays["body_parentid"]
        self.moves: NDArray[np.bool_] = np.zeros(len(parents), bool)
        for body in range(1, len(parents)):
            own = arrays["body_jntnum"][body] or arrays["body_mocapid"][body] >= 0
            root = is_urdf and parents[body] == 0 and self.name("body", body) != "world"
            self.moves[body] = own or root or self.moves[parents[body]]
        #: MuJoCo's numbers of the bodies of the scene, in their order.
        self.bodies = np.flatnonzero(self.moves)

    def name(self, kind: str, number: int) -> str:
        """The name of a thing, empty if it has none."""
        return bytes(self.arrays[f"{kind}_names"][number]).decode("utf-8", "replace")

    def of(self, name: str, number: int) -> Any:
        """A row of an array, as Python's numbers."""
        return self.arrays[name][number].tolist()


def fill_world(world: World, model: Model, geometry: str) -> None:
    """Put the bodies and shapes of a model into a world."""
    world.content["world"] = {"gravity": model.arrays["gravity"].tolist()}
    names = _add_bodies(world, model)
    geoms = range(len(model.arrays["geom_type"]))
    shapes = [geom for geom in geoms if _is_taken(model, geom, geometry)]
    instances: set[str] = set()
    for geom in shapes:
        _add_shape(world, model, geom, names, instances)
    if not shapes:
        other = "collision" if geometry != COLLISION else "visual"
        reason = f"has no shape that is {geometry} geometry; the other choice is {other}"
        raise SceneError(world.path, "", reason)
    _add_view(world, model, shapes)


def _is_taken(model: Model, geom: int, geometry: str) -> bool:
    if model.of("geom_type", geom) > _MESH:
        return False
    collides = bool(model.of("geom_contype", geom) or model.of("geom_conaffinity", geom))
    if geometry == COLLISION:
        return collides
    group = model.of("geom_group", geom)
    shown = group == 1 or not collides if model.is_urdf else group <= 2
    return bool(shown and _color(model, geom)[3] > 0.0)


# ---- bodies --------------------------------------------------------------------------------------


def _add_bodies(world: World, model: Model) -> dict[int, str]:
    """Enter the bodies that move; returns their names by MuJoCo's numbers."""
    names: dict[int, str] = {
        body: world.word(model.name("body", body), f"body_{body}") for body in model.bodies.tolist()
    }
    for body, name in names.items():
        table: dict[str, Any] = {
            "name": name,
            "position": model.of("xpos", body),
            "orientation": model.of("xquat", body),
        }
        parent = model.of("body_parentid", body)
        joints = list(_joints(world, model, body))
        is_mocap = model.of("body_mocapid", body) >= 0
        if parent in names and not is_mocap and not _is_free(model, body):
            table["parent"] = names[parent]
        if joints:
            table["joints"] = joints
        world.content["bodies"].append(table)
    return names


def _is_free(model: Model, body: int) -> bool:
    first, count = model.of("body_jntadr", body), model.of("body_jntnum", body)
    return bool(count and model.of("jnt_type", first) == _FREE)


def _joints(world: World, model: Model, body: int) -> Iterator[dict[str, Any]]:
    if _is_free(model, body):
        return
    first, count = model.of("body_jntadr", body), model.of("body_jntnum", body)
    for number in range(first, first + count):
        kind = model.of("jnt_type", number)
        table: dict[str, Any] = {
            "name": world.word(model.name("jnt", number), f"joint_{number}"),
            "kind": _KINDS[kind],
        }
        if kind != _BALL:
            table["axis"] = model.of("jnt_axis", number)
            table["start"] = model.of("qpos0", model.of("jnt_qposadr", number))
        if kind != _SLIDE:
            table["anchor"] = model.of("jnt_pos", number)
        yield table


# ---- shapes --------------------------------------------------------------------------------------


def _add_shape(
    world: World, model: Model, geom: int, names: Mapping[int, str], taken: set[str]
) -> None:
    """Enter a shape as an instance."""
    body = model.of("geom_bodyid", geom)
    own, carrier = model.name("geom", geom), model.name("body", body)
    name = free(own or f"{carrier or 'body'}.{geom}", taken)
    taken.add(name)
    position, orientation = model.arrays["geom_pos"][geom], model.arrays["geom_quat"][geom]
    if body not in names:
        turn = model.arrays["xquat"][body]
        position = model.arrays["xpos"][body] + matrix_from_quaternion(turn) @ position
        orientation = rotation_product(turn, orientation)
    mesh, scale = _mesh_of(world, model, geom)
    table: dict[str, Any] = {"mesh": mesh, "name": name, "entity_id": geom + 1}
    table |= {"position": position.tolist(), "orientation": orientation.tolist()}
    if scale is not None:
        table["scale"] = scale
    if body in names:
        table["body"] = names[body]
    world.content["instances"].append(table)


def _mesh_of(world: World, model: Model, geom: int) -> tuple[str, list[float] | None]:
    """The mesh of a shape, and the scale of its instance."""
    kind, size = model.of("geom_type", geom), model.of("geom_size", geom)
    material = world.material(_look(model, geom))
    if kind == _MESH:
        number = model.of("geom_dataid", geom)
        name = file_name(model.name("mesh", number) or f"mesh_{number}")
        return world.mesh(f"{name}_{number}", _mesh_piece(model, number), material), None
    if kind == _HFIELD:
        number = model.of("geom_dataid", geom)
        return world.mesh(f"heights_{number}", _heights_piece(model, number), material), None
    if kind == _CAPSULE:
        numbers = {"radius": size[0], "height": 2.0 * size[1], "segments": SEGMENTS}
        return world.shape("capsule", numbers, material, smooth=True), None
    if kind == _PLANE:
        half = [side if side > 0.0 else PLANE for side in size[:2]]
        return world.shape("plane", {"size": [2.0, 2.0]}, material), [*half, 1.0]
    if kind == _BOX:
        return world.shape("box", {"size": [2.0, 2.0, 2.0]}, material), size
    if kind == _CYLINDER:
        numbers = {"radius": 1.0, "height": 2.0, "segments": SEGMENTS}
        scale = [size[0], size[0], size[1]]
        return world.shape("cylinder", numbers, material, smooth=True), scale
    scale = [size[0]] * 3 if kind == _SPHERE else size
    ball = {"radius": 1.0, "segments": SEGMENTS}
    return world.shape("sphere", ball, material, smooth=True), scale


def _color(model: Model, geom: int) -> tuple[float, ...]:
    """Red, green, blue and alpha: of the material, unless the shape has a colour of its own."""
    own = tuple(round(part, 6) for part in model.of("geom_rgba", geom))
    material = model.of("geom_matid", geom)
    if material >= 0 and own == _NO_COLOR:
        return tuple(model.of("mat_rgba", material))
    return own


def _look(model: Model, geom: int) -> Look:
    material, color = model.of("geom_matid", geom), _color(model, geom)
    name = "" if material < 0 else model.name("mat", material)
    picture = model.colors.get(name, (1.0, 1.0, 1.0)) if material >= 0 else (1.0, 1.0, 1.0)
    mesh = model.of("geom_dataid", geom) if model.of("geom_type", geom) == _MESH else -1
    names = [
        model.name("geom", geom),
        model.name("mesh", mesh) if mesh >= 0 else "",
        model.name("body", model.of("geom_bodyid", geom)),
    ]

    def share(key: str, usual: float) -> float:
        value = usual if material < 0 else model.of(key, material)
        return float(value) if 0.0 <= value <= 1.0 else usual  # -1: not given

    return Look(
        name=name,
        color=(color[0] * picture[0], color[1] * picture[1], color[2] * picture[2]),
        metallic=share("mat_metallic", 0.0),
        roughness=share("mat_roughness", 0.5),
        transmission=1.0 - min(max(color[3], 0.0), 1.0),
        others=tuple(name for name in names if name),
    )


def _mesh_piece(model: Model, number: int) -> Piece:
    """A mesh in the frame that its shapes are placed by."""
    arrays = model.arrays
    first, count = model.of("mesh_vertadr", number), model.of("mesh_vertnum", number)
    vertices = arrays["mesh_vert"][first : first + count].astype(np.float64) + 0.0
    first, count = model.of("mesh_faceadr", number), model.of("mesh_facenum", number)
    return Piece(vertices, arrays["mesh_face"][first : first + count].astype(np.int64))


def _heights_piece(model: Model, number: int) -> Piece:
    """A height field as a solid: rows run along x, the first at -y, cells split from there on."""
    rows, columns = model.of("hfield_nrow", number), model.of("hfield_ncol", number)
    x, y, high, low = model.of("hfield_size", number)
    first = model.of("hfield_adr", number)
    heights = model.arrays["hfield_data"][first : first + rows * columns].astype(np.float64)
    top = np.empty((rows, columns, 3))
    top[:, :, 0], top[:, :, 1] = np.linspace(-x, x, columns), np.linspace(-y, y, rows)[:, None]
    top[:, :, 2] = high * heights.reshape(rows, columns)
    place = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = place[:-1, :-1], place[:-1, 1:], place[1:, 1:], place[1:, :-1]
    faces = [np.stack(corners, axis=-1).reshape(-1, 3) for corners in ((a, b, c), (a, c, d))]
    vertices = [top.reshape(-1, 3)]
    rim = np.concatenate([place[0], place[1:, -1], place[-1, -2::-1], place[-2:0:-1, 0]])
    under = vertices[0][rim] * (1.0, 1.0, 0.0) - (0.0, 0.0, low)
    vertices += [under, np.array([[0.0, 0.0, -low]])]
    here = np.arange(len(rim)) + rows * columns
    there, middle = np.roll(here, -1), rows * columns + len(rim)
    faces.append(np.stack([rim, here, np.roll(rim, -1)], axis=-1))
    faces.append(np.stack([np.roll(rim, -1), here, there], axis=-1))
    faces.append(np.stack([there, here, np.full_like(here, middle)], axis=-1))
    return Piece(np.vstack(vertices) + 0.0, np.vstack(faces).astype(np.int64))


def _add_view(world: World, model: Model, shapes: list[int]) -> None:
    """Enter a view of all that has an end."""
    ended = [geom for geom in shapes if model.of("geom_type", geom) not in (_PLANE, _HFIELD)]
    if not ended:
        return
    arrays = model.arrays
    places = np.array(
        [
            arrays["xpos"][b] + matrix_from_quaternion(arrays["xquat"][b]) @ arrays["geom_pos"][g]
            for g, b in ((g, arrays["geom_bodyid"][g]) for g in ended)
        ]
    )
    low, high = places.min(axis=0), places.max(axis=0)
    middle, reach = (low + high) / 2.0, max(float(np.linalg.norm(high - low)), 0.5)
    eye = middle + 1.3 * reach * np.array([0.75, -1.0, 0.55])
    world.content["view"] = {
        "position": [round(float(part), 3) for part in eye],
        "target": [round(float(part), 3) for part in middle],
        "field_of_view_deg": 50.0,
    }
