"""What is on a stage of USD, as numbers: the part of ``usd_stage`` that knows the schemas.

Time       Attributes that change have their first sample.
Seen       What is visible and has the purpose ``default`` or ``render``; or what collides.
Entities   Each shape at each place is one, numbered from 1 in the order of the stage; an instance
           of a point instancer is one with all its shapes.
Bodies     A prim that is a rigid body, with all below it but other rigid bodies.
Labels     ``semantics:labels:*``, or the older ``semantic:*:params:semanticData``, of the prim or
           of the nearest one above it.

It runs in the process of ``usd_stage`` and imports nothing of the project.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade

TIME = Usd.TimeCode.EarliestTime()

#: Attributes of the shapes that are no meshes, with a letter for each kind.
PLAIN = {
    "Cube": ("size",),
    "Sphere": ("radius",),
    "Cylinder": ("radius", "height", "axis"),
    "Cylinder_1": ("radiusTop", "radiusBottom", "height", "axis"),
    "Capsule": ("radius", "height", "axis"),
    "Capsule_1": ("radiusTop", "radiusBottom", "height", "axis"),
    "Cone": ("radius", "height", "axis"),
    "Plane": ("width", "length", "axis"),
}
#: Inputs of surfaces: UsdPreviewSurface; OmniPBR and OmniGlass; OpenPBR and Standard Surface.
INPUTS = {
    "color": ("diffuseColor", "diffuse_color_constant", "glass_color", "base_color"),
    "picture": ("diffuse_texture",),
    "metallic": ("metallic", "metallic_constant", "base_metalness", "metalness"),
    "roughness": ("roughness", "reflection_roughness_constant", "specular_roughness"),
    "opacity": ("opacity", "opacity_constant", "geometry_opacity"),
    "transmission": ("transmission_weight", "transmission"),
    "ior": ("ior", "glass_ior", "specular_ior", "specular_IOR"),
}
#: Inputs whose pictures, or light, are not taken.
MAPS = (
    *("roughness", "metallic", "normal", "normalmap_texture", "occlusion", "ORM_texture"),
    *("reflectionroughness_texture", "metallic_texture"),
    *("emissiveColor", "emissive_color_texture", "emission_color"),
)
_MOST_PLACES = 2**20
_MOST_PRIMS = 2**21


@dataclass(frozen=True)
class State:
    """What prims have from those above them."""

    matrix: Any
    purpose: str = "default"
    collides: bool = False
    body: int = -1
    label: str = ""


def described(stage: Any, geometry: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The stage as JSON and arrays."""
    found = Stage(stage, geometry == "collision")
    found.visit_all()
    arrays = {f"m{number}": array for number, array in enumerate(found.arrays)}
    columns = list(zip(*found.places, strict=True)) if found.places else [[]] * 5
    names = ("shape", "entity", "body", "number", "matrix")
    arrays |= {
        name: np.concatenate(column) if column else np.zeros(0)
        for name, column in zip(names, columns, strict=True)
    }
    gravity = next((p for p in stage.Traverse() if p.IsA(UsdPhysics.Scene)), None)
    about = {
        "up": str(UsdGeom.GetStageUpAxis(stage)),
        "metres": UsdGeom.GetStageMetersPerUnit(stage),
        "says_metres": stage.HasAuthoredMetadata("metersPerUnit"),
        "gravity": None if gravity is None else _gravity(gravity),
        "shapes": found.shapes,
        "looks": found.looks,
        "bodies": found.bodies,
        "left_out": found.left_out,
    }
    return about, arrays


def _gravity(prim: Any) -> list[Any]:
    scene = UsdPhysics.Scene(prim)
    return [[*scene.GetGravityDirectionAttr().Get(TIME)], scene.GetGravityMagnitudeAttr().Get(TIME)]


class Stage:
    """A stage while it is read."""

    def __init__(self, stage: Any, collides: bool) -> None:
        self.stage, self.collides = stage, collides
        self.shapes: list[dict[str, Any]] = []
        self.looks: list[dict[str, Any]] = []
        self.bodies: list[dict[str, Any]] = []
        self.arrays: list[NDArray[Any]] = []
        self.places: list[tuple[NDArray[Any], ...]] = []
        self.left_out: dict[str, list[Any]] = {}  # by kind: how often, and where first
        self.entities = self.prims = 0
        self._meshes: dict[str, tuple[Any, ...]] = {}
        self._contents: dict[bytes, int] = {}
        self._looks: dict[Any, int] = {}
        self._within: list[str] = []  # the instancers that are open

    def visit_all(self) -> None:
        """Enter all that is on the stage."""
        for shape, number, state, matrix in self._below(
            self.stage.GetPseudoRoot(), State(Gf.Matrix4d(1.0))
        ):
            if number is None:
                self.entities += 1
                self._place(shape, [self.entities], state.body, [-1], [matrix])
            else:
                entities = self.entities + number[0]
                self._place(shape, entities, state.body, number[1], matrix)

    def _place(self, shape: int, entities: Any, body: int, numbers: Any, matrices: Any) -> None:
        count = len(entities)
        self.places.append(
            (
                np.full(count, shape),
                np.asarray(entities, np.int64),
                np.full(count, body),
                np.asarray(numbers, np.int64),
                np.asarray(matrices, np.float64).reshape(count, 4, 4),
            )
        )

    def note(self, kind: str, prim: Any, count: int = 1) -> None:
        """Note something that is not taken."""
        known = self.left_out.setdefault(kind, [0, str(prim.GetPath())])
        known[0] += count

    # ---- prims -----------------------------------------------------------------------------------

    def _below(self, top: Any, above: State) -> Any:
        """Shapes below a prim and in it, each with its state and its matrix or matrices."""
        waiting = [(top, above)]
        while waiting:
            prim, state = waiting.pop()
            self.prims += 1
            if self.prims > _MOST_PRIMS:
                raise ValueError(f"has more than {_MOST_PRIMS} prims, with all instances")
            kind = str(prim.GetTypeName())
            if prim.IsA(UsdGeom.Imageable):
                imageable = UsdGeom.Imageable(prim)
                if imageable.GetVisibilityAttr().Get(TIME) == "invisible":
                    continue
                state = self._state(prim, imageable, state)
            if kind == "PointInstancer":
                if self.collides:
                    continue
                yield from self._scattered(prim, state)
                continue
            shape = self._shape(prim, kind, state) if self._is_seen(prim, state) else None
            if shape is not None:
                yield shape, None, state, state.matrix
            children = prim.GetFilteredChildren(
                Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
            )
            waiting += [(child, state) for child in reversed(children)]

    def _state(self, prim: Any, imageable: Any, state: State) -> State:
        """The state of a prim from that of the one above it."""
        purpose = imageable.GetPurposeAttr()
        if purpose.HasAuthoredValue():
            state = replace(state, purpose=str(purpose.Get()))
        if prim.IsA(UsdGeom.Xformable):
            xform = UsdGeom.Xformable(prim)
            own = xform.GetLocalTransformation(TIME)
            above = Gf.Matrix4d(1.0) if xform.GetResetXformStack() else state.matrix
            state = replace(state, matrix=own * above)
            if xform.TransformMightBeTimeVarying():
                self.note("animation (the first sample is taken)", prim)
        if prim.GetAppliedSchemas():
            state = self._applied(prim, state)
        return replace(state, label=_label(prim) or state.label)

    def _applied(self, prim: Any, state: State) -> State:
        """The state with what schemas say that a prim has applied."""
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            enabled = UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get(TIME)
            state = replace(state, collides=enabled is not False)
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            enabled = UsdPhysics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr().Get(TIME)
            if self._within:
                self.note("rigid bodies in point instancers (they stand still)", prim)
            elif enabled is not False:
                matrix = np.array(state.matrix).tolist()
                self.bodies.append({"path": str(prim.GetPath()), "matrix": matrix})
                state = replace(state, body=len(self.bodies) - 1)
        return state

    def _is_seen(self, prim: Any, state: State) -> bool:
        if not prim.IsA(UsdGeom.Imageable):
            if prim.IsA(UsdPhysics.Joint):
                self.note("physics joints (bodies on them are free)", prim)
            return False
        if prim.HasAPI(UsdLux.LightAPI) or prim.IsA(UsdGeom.Camera):
            self.note("cameras" if prim.IsA(UsdGeom.Camera) else "lights", prim)
            return False
        if not prim.IsA(UsdGeom.Boundable) or prim.GetTypeName() == "SkelRoot":
            if prim.GetTypeName() == "SkelRoot":
                self.note("skeletons (meshes are taken as they were modelled)", prim)
            return False
        if self.collides:
            return state.collides
        return state.purpose in ("default", "render")

    # ---- point instancers ------------------------------------------------------------------------

    def _scattered(self, prim: Any, state: State) -> Any:
        """The shapes of an instancer, each with all its places."""
        path = str(prim.GetPath())
        if path in self._within:
            raise ValueError(f"{path} is a prototype of itself")
        if state.purpose not in ("default", "render"):
            return
        instancer = UsdGeom.PointInstancer(prim)
        chosen = _choices(instancer, path)
        places = _instance_matrices(instancer, path, len(chosen))
        mask = instancer.ComputeMaskAtTime(TIME)
        shown = np.array(mask, bool) if mask else np.ones(len(chosen), bool)
        rank = np.cumsum(shown)  # entities count those that are shown
        self._within.append(path)
        parts = [
            _spread(shape, matrix, places[here], here, rank[here])
            for here, prototype in self._prototypes(instancer, path, chosen, shown)
            for shape, matrix in self._prototype_shapes(prototype, path, state)
        ]
        self._within.pop()
        total = sum(len(part[3]) for part in parts)
        if total > _MOST_PLACES:
            raise ValueError(f"{path} has {total} shapes, at most {_MOST_PLACES} are read")
        for shape, ranks, numbers, matrices in parts:
            yield shape, (ranks, numbers), state, matrices @ np.array(state.matrix)
        if not self._within:
            self.entities += int(shown.sum())

    def _prototypes(self, instancer: Any, path: str, chosen: Any, shown: Any) -> Any:
        """The prototypes that are shown, with the numbers of their instances."""
        for number, target in enumerate(instancer.GetPrototypesRel().GetForwardedTargets()):
            here = np.flatnonzero(shown & (chosen == number))
            if not len(here):
                continue
            prototype = self.stage.GetPrimAtPath(target)
            if not prototype:
                raise ValueError(f"{path} has the prototype {target}, which does not exist")
            yield here, prototype

    def _prototype_shapes(self, prototype: Any, path: str, state: State) -> Any:
        """The shapes of a prototype, with their matrices in its instances."""
        own = replace(state, matrix=Gf.Matrix4d(1.0), purpose="default")
        for shape, _, _, matrix in self._below(prototype, own):
            self.shapes[shape]["scattered"] = path
            yield shape, matrix

    # ---- shapes ----------------------------------------------------------------------------------

    def _shape(self, prim: Any, kind: str, state: State) -> int | None:
        """The number of a shape, entered; None if it is left out."""
        if kind == "Mesh":
            shape = self._mesh(prim)
        elif kind in PLAIN:
            values = {name: prim.GetAttribute(name).Get(TIME) for name in PLAIN[kind]}
            if kind == "Capsule_1" and values["radiusTop"] != values["radiusBottom"]:
                self.note("capsules of two radii", prim)
                return None
            look = self._look_of([prim], prim)[0]
            shape = {"kind": kind, "numbers": values, "parts": [[look, -1]]}
        else:
            self.note(f"{kind or 'shapes without a type'}", prim)
            return None
        shape |= {"path": str(prim.GetPath()), "label": state.label}
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def _mesh(self, prim: Any) -> dict[str, Any]:
        """A mesh: what instances of a prototype share is read once."""
        key = str(_home(prim).GetPath())
        if key not in self._meshes:
            self._meshes[key] = self._mesh_anew(prim)
        # materials may come from above an instance, and differ
        numbers, left, subsets = self._meshes[key]
        prims = [prim, *(prim.GetChild(name) for name, _ in subsets)]
        looks = self._look_of(prims, prim)
        parts = list(zip(looks, [-1, *(faces for _, faces in subsets)], strict=True))
        return {"kind": "Mesh", "numbers": numbers, "left": left, "parts": parts}

    def _mesh_anew(self, prim: Any) -> tuple[list[int], bool, list[tuple[str, int]]]:
        """The arrays of a mesh, whether it is left-handed, and its subsets by name."""
        mesh = UsdGeom.Mesh(prim)
        if mesh.GetSubdivisionSchemeAttr().Get() not in ("none", None):
            self.note("subdivision (its control cage is taken)", prim)
        numbers = [
            self._array(mesh.GetPointsAttr(), np.float32, 3),
            self._array(mesh.GetFaceVertexCountsAttr(), np.int32),
            self._array(mesh.GetFaceVertexIndicesAttr(), np.int32),
            self._array(mesh.GetHoleIndicesAttr(), np.int32),
        ]
        left = mesh.GetOrientationAttr().Get() == "leftHanded"
        subsets = [
            (subset.GetPrim().GetName(), self._array(subset.GetIndicesAttr(), np.int32))
            for subset in UsdGeom.Subset.GetGeomSubsets(mesh, UsdGeom.Tokens.face)
            if subset.GetFamilyNameAttr().Get() in ("materialBind", "", None)
        ]
        return numbers, left, subsets

    def _array(self, attribute: Any, dtype: Any, width: int = 0) -> int:
        """The number of an array, which is kept once."""
        value = attribute.Get(TIME) if attribute else None
        array = np.asarray(value if value is not None else [], dtype)
        array = np.ascontiguousarray(array.reshape((-1, width) if width else -1))
        digest = hashlib.blake2b(array.tobytes() + str((dtype, array.shape)).encode()).digest()
        if digest not in self._contents:
            self._contents[digest] = len(self.arrays)
            self.arrays.append(array)
        return self._contents[digest]

    # ---- looks -----------------------------------------------------------------------------------

    def _look_of(self, prims: list[Any], shape: Any) -> list[int]:
        """The looks of prims: of their materials, or the colour that a shape is displayed in."""
        materials = UsdShade.MaterialBindingAPI.ComputeBoundMaterials(prims)[0]
        found = []
        for material in materials:
            look = None if material else _displayed(shape)
            key = repr(look) if look else str(_home(material.GetPrim()).GetPath())
            if key not in self._looks:
                self._looks[key] = len(self.looks)
                self.looks.append(look or _look(material))
                for name in self.looks[-1].pop("maps", ()):
                    self.note(f"maps {name} of materials", material.GetPrim())
            found.append(self._looks[key])
        return found


def _home(prim: Any) -> Any:
    """The prim that instances share, or a prim itself."""
    return prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim


def _choices(instancer: Any, path: str) -> NDArray[np.int64]:
    """The numbers of the prototypes of all instances."""
    chosen = np.array(instancer.GetProtoIndicesAttr().Get(TIME) or [], np.int64)
    if len(chosen) > _MOST_PLACES:
        raise ValueError(f"{path} has {len(chosen)} instances, at most {_MOST_PLACES} are read")
    count = len(instancer.GetPrototypesRel().GetForwardedTargets())
    if len(chosen) and not 0 <= chosen.min() <= chosen.max() < count:
        raise ValueError(f"{path} has protoIndices beyond its {count} prototypes")
    return chosen


def _instance_matrices(instancer: Any, path: str, count: int) -> NDArray[np.float64]:
    """Matrices of scale, turn and shift for each instance.

    Files round orientations, often to 16 bits: they are made unit quaternions again, as otherwise
    instances would be sheared by a thousandth.
    """
    positions = _rows(instancer.GetPositionsAttr(), 3)
    matrices = np.zeros((len(positions), 4, 4))
    turns = np.tile(np.eye(3), (len(positions), 1, 1))
    orientations = next(
        (
            q
            for q in map(instancer.GetPrim().GetAttribute, ("orientationsf", "orientations"))
            if q and q.Get(TIME)
        ),
        None,
    )
    scales = _rows(instancer.GetScalesAttr(), 3)
    if orientations is not None:
        turns = _turns(_rows(orientations, 4))
    numbers = {len(positions), len(turns), len(scales) or len(positions), count}
    if len(numbers) > 1:
        raise ValueError(f"{path} has {count} protoIndices, and other numbers of places: {numbers}")
    matrices[:, :3, :3] = turns * (scales[:, :, None] if len(scales) else 1.0)
    matrices[:, 3, :3], matrices[:, 3, 3] = positions, 1.0
    return matrices


def _rows(attribute: Any, width: int) -> NDArray[np.float64]:
    value = attribute.Get(TIME) if attribute else None
    return np.array(value if value else [], np.float64).reshape(-1, width)


def _turns(quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matrices for rows from quaternions x, y, z, w."""
    length = np.linalg.norm(quaternions, axis=1)
    quaternions = np.where(length[:, None] > 0.0, quaternions, (0.0, 0.0, 0.0, 1.0))
    x, y, z, w = (quaternions / np.where(length > 0.0, length, 1.0)[:, None]).T
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)],
        [2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)],
        [2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def _spread(
    shape: int, matrix: Any, places: Any, here: Any, rank: Any
) -> tuple[int, Any, Any, Any]:
    """A part of a prototype at all places of it: shape, ranks, numbers and matrices."""
    inside = np.array(matrix, np.float64).reshape(-1, 4, 4)
    matrices = (inside[None] @ places[:, None]).reshape(-1, 4, 4)
    times = len(inside)
    return shape, np.repeat(rank, times), np.repeat(here, times), matrices


def _displayed(prim: Any) -> dict[str, Any]:
    """The look of a shape without a material."""
    gprim, values = UsdGeom.Gprim(prim), dict[str, Any]()
    color = gprim.GetDisplayColorPrimvar().ComputeFlattened(TIME)
    if color is not None and len(color):
        mean = np.asarray(color, np.float64).reshape(-1, 3).mean(axis=0)
        values["color"] = mean.tolist()
    opacity = gprim.GetDisplayOpacityPrimvar().ComputeFlattened(TIME)
    if opacity is not None and len(opacity):
        values["opacity"] = float(np.mean(opacity))
    return {"name": "", "values": values}


def _look(material: Any) -> dict[str, Any]:
    """The look of a material."""
    look = {"name": material.GetPrim().GetName(), "path": str(material.GetPath()), "values": {}}
    shader = next(
        (s for s in (material.ComputeSurfaceSource(c)[0] for c in ("", "mdl")) if s), None
    )
    if shader is None:
        return look
    identifier = shader.GetPrim().GetAttribute("info:mdl:sourceAsset:subIdentifier")
    look["model"] = str(shader.GetIdAttr().Get() or (identifier and identifier.Get()) or "")
    for quantity, names in INPUTS.items():
        for name in names:
            shader_input = shader.GetInput(name)
            if shader_input:
                _take(look["values"], quantity, shader_input)
                break
    look["maps"] = [name for name in MAPS if _says(shader.GetInput(name))]
    if shader.GetInput("enable_opacity") and not shader.GetInput("enable_opacity").Get():
        look["values"].pop("opacity", None)
    return look


def _says(shader_input: Any) -> bool:
    """Whether an input has a picture, or a colour that is not black."""
    value = shader_input.Get(TIME) if shader_input else None
    if isinstance(value, Gf.Vec3f):
        return bool(max(value) > 0.0 or shader_input.HasConnectedSource())
    if isinstance(value, Sdf.AssetPath):
        return bool(value.path)
    return bool(shader_input) and shader_input.HasConnectedSource()


def _take(values: dict[str, Any], quantity: str, shader_input: Any) -> None:
    """Enter the value of an input, or the picture that it is connected to."""
    for attribute in UsdShade.Utils.GetValueProducingAttributes(shader_input):
        source = UsdShade.Shader(attribute.GetPrim())
        if source and source.GetIdAttr().Get() == "UsdUVTexture":
            file = source.GetInput("file")
            asset = file.Get(TIME) if file else None
            fallback = source.GetInput("fallback")
            if quantity == "color" and isinstance(asset, Sdf.AssetPath):
                values["picture"] = _picture(asset, attribute.GetPrim())
            elif fallback and fallback.Get(TIME) is not None and quantity != "color":
                values[quantity] = float(fallback.Get(TIME)[0])
            return
        value = attribute.Get(TIME)
        if isinstance(value, Sdf.AssetPath):
            values["picture"] = _picture(value, attribute.GetPrim())
        elif quantity == "color" and value is not None and not isinstance(value, (str, bool)):
            values["color"] = [float(part) for part in value][:3]
        elif isinstance(value, (int, float)):
            values[quantity] = float(value)


def _picture(asset: Any, prim: Any) -> dict[str, str] | None:
    if not asset.path:
        return None
    return {"asset": asset.path, "file": asset.resolvedPath, "place": str(prim.GetPath())}


def _label(prim: Any) -> str:
    """The semantic label that a prim itself has."""
    for name in prim.GetPropertyNames():
        if name.startswith("semantics:labels:"):
            value = prim.GetAttribute(name).Get(TIME)
            return str(value[0]) if value else ""
        if name.startswith("semantic:") and name.endswith(":params:semanticData"):
            return str(prim.GetAttribute(name).Get(TIME) or "")
    return ""
