"""USD as a world: what ``usd_stage`` found on a stage, with our axes, units and names.

Axes       ``upAxis`` becomes our z, and ``metersPerUnit`` metres; what the file does not say is
           as USD has it: y up, and centimetres.
Entities   A shape, at each of its places, in the order of the stage, with its path as the name.
Meshes     Faces become fans around their first corner, those with a dent are cut by ears. What is
           the same is kept once. Subsets of faces are parts of their own.
Shapes     Curves have ``SEGMENTS`` segments, as those of MuJoCo.
Bodies     Rigid bodies are free bodies.

Source: Pixar, OpenUSD, UsdGeom and UsdPhysics.
"""

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.limits import MAX_FILE_BYTES, refuse_above_limit
from sensor_models.scene.primitives import Piece
from sensor_models.scene.worlds.faces import triangles_of
from sensor_models.scene.worlds.files import Color, Files, Place, mean_color
from sensor_models.scene.worlds.guesses import Look, srgb
from sensor_models.scene.worlds.placing import placed, quaternion_of
from sensor_models.scene.worlds.usd_plain import PlainShape, axis_turn, plain_shape
from sensor_models.scene.worlds.usd_reader import Staged, staged
from sensor_models.scene.worlds.world import World, file_name

Floats = NDArray[np.float64]

#: From the file's axes to ours.
_UP = {
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "X": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    "Z": np.eye(3),
}
_EARTH = 9.81  # m/s2
#: Matrices in single precision count as turns while no point moves farther than this, m.
_STILL = 1e-5
_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".tga", ".tif", ".tiff", ".webp")


def fill_world(world: World, data: bytes, files: Files, geometry: str) -> None:
    """Put what is on a stage into a world."""
    found = staged(world.path, files, geometry)
    try:
        _Reader(world, data, files, found).read()
    except MeshFileError as error:
        raise SceneError(world.path, "", str(error)) from error


class _Reader:
    """A stage while it becomes a world."""

    def __init__(self, world: World, data: bytes, files: Files, found: Staged) -> None:
        self.world, self.data, self.files, self.found = world, data, files, found
        self.about = found.about
        self.metres = float(self.about["metres"])
        if not 1e-6 <= self.metres <= 1e6:
            raise SceneError(world.path, "metersPerUnit", f"is {self.metres}, allowed 1e-6 to 1e6")
        self.turn = _UP[self.about["up"]]
        self.pictures: dict[str, dict[str, str]] = {}  # that were not read, and where, by why
        self.means: dict[str, Color] = {}
        self.materials: dict[tuple[str, int], str] = {}
        self.looks = [self._look(look) for look in self.about["looks"]]
        self.pieces: dict[tuple[Any, ...], tuple[str, Piece]] = {}
        self.plain: dict[tuple[Any, ...], tuple[str, PlainShape]] = {}
        self.bodies: list[tuple[str, Floats]] = []
        self.own_triangles = self.names = 0

    def read(self) -> None:
        """Enter all shapes and bodies."""
        self._note()
        self._add_gravity()
        for body in self.about["bodies"]:
            self._add_body(body)
        arrays = self.found.arrays
        order = np.argsort(arrays["entity"], kind="stable")
        names = ("shape", "entity", "body", "number")
        shapes, *columns = (arrays[name][order].tolist() for name in names)
        for number, *where, matrix in zip(shapes, *columns, arrays["matrix"][order], strict=True):
            shape = self.about["shapes"][number]
            try:
                self._enter(shape, where, self._ours(matrix))
            except MeshFileError as error:
                path = shape["path"]
                raise SceneError(self.world.path, path, str(error)) from error
        if not self.world.content["instances"]:
            raise MeshFileError("has no shape that can be seen")

    def _ours(self, matrix: Floats) -> Floats:
        """A matrix between frames with our axes and in metres; USD's are for rows."""
        ours = np.eye(4)
        ours[:3, :3] = self.turn @ matrix[:3, :3].T @ self.turn.T
        ours[:3, 3] = self.metres * (self.turn @ matrix[3, :3])
        return ours

    def _note(self) -> None:
        """Note what is not taken."""
        notes = self.world.notes
        if not self.about["says_metres"]:
            notes.append("units: metersPerUnit is not given, so lengths are in centimetres")
        for kind, (count, path) in self.about["left_out"].items():
            notes.append(f"{kind}: {count}, the first is {path}")
        for suffix, asset in self.about["unread"].items():
            notes.append(f"layers of the kind {suffix}: left out, the first is {asset}")
        for state, pictures in self.pictures.items():
            asset, place = next(iter(pictures.items()))
            notes.append(f"pictures {state}: {len(pictures)}, the first is {asset} in {place}")
        if self.about["others"]:
            layers = self.about["others"]
            reason = "other axes or units than the stage, which USD does not convert"
            notes.append(f"layers with {reason}: {len(layers)}, the first is {layers[0]}")

    def _add_gravity(self) -> None:
        if self.about["gravity"] is None:
            return
        given, size = self.about["gravity"]
        direction = self.turn @ np.array(given, np.float64)
        length = float(np.linalg.norm(direction))
        direction = direction / length if length > 0.0 else np.array([0.0, 0.0, -1.0])
        size = size * self.metres if 0.0 <= size < np.inf else _EARTH
        self.world.content["world"] = {"gravity": (size * direction + 0.0).tolist()}

    def _add_body(self, body: dict[str, Any]) -> None:
        name = self.world.word(body["path"].rpartition("/")[2], "body")
        matrix = self._ours(np.array(body["matrix"]))
        if not np.isfinite(matrix).all():
            raise SceneError(
                self.world.path, body["path"], "is placed by numbers that are not finite"
            )
        pose = np.eye(4)
        left, _, right = np.linalg.svd(matrix[:3, :3])
        pose[:3, :3] = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
        pose[:3, 3] = matrix[:3, 3]
        self.bodies.append((name, np.linalg.inv(pose).astype(np.float64)))
        self.world.content["bodies"].append(
            {
                "name": name,
                "position": pose[:3, 3].tolist(),
                "orientation": quaternion_of(pose[:3, :3]),
            }
        )

    # ---- shapes ----------------------------------------------------------------------------------

    def _enter(self, about: dict[str, Any], where: list[int], matrix: Floats) -> None:
        """Enter a shape at a place: of an entity, on a body, with a number in its scatter."""
        entity, body, number = where
        name, scatters = about["path"], about.get("scattered", "")
        if number >= 0:
            name = f"{scatters}[{number}]{name.removeprefix(scatters)}"
        table = {"name": name, "entity_id": entity}
        if about["label"]:
            labels = self.world.content.setdefault("labels", {})
            table["label"] = about["label"][:200]
            labels.setdefault(table["label"], len(labels) + 1)
        if body >= 0:
            carrier, inverse = self.bodies[body]
            table["body"], matrix = carrier, inverse @ matrix
        for part in range(len(about["parts"])):
            mesh_and_pose = self._part(about, part, matrix)
            if mesh_and_pose is not None:
                self.world.content["instances"].append({**mesh_and_pose, **table})

    def _part(self, about: dict[str, Any], part: int, matrix: Floats) -> dict[str, Any] | None:
        """The mesh and the pose of a part of a shape; None if it has no extent."""
        plain = None
        if about["kind"] == "Mesh":
            name, piece = self._piece(about, part)
        else:
            matrix = matrix.copy()
            matrix[:3, :3] = matrix[:3, :3] @ self.turn @ axis_turn(about["numbers"])
            name, plain = self._plain(about)
            piece = plain.piece
        if not len(piece.faces):
            return None
        material = self._material(about, about["parts"][part][0])
        pose, baked = placed(piece, matrix, _STILL)
        if baked is not piece:
            self.own_triangles += len(baked.faces)
            refuse_above_limit(self.own_triangles)
            name = self._named(f"{name}_placed")
        elif plain is not None and plain.kind:
            mesh = self.world.shape(plain.kind, plain.numbers, material, **plain.more)
            return {"mesh": mesh, **pose}
        return {"mesh": self.world.mesh(name, baked, material), **pose}

    def _named(self, stem: str) -> str:
        """A name for the file of a mesh, which no other one has."""
        self.names += 1
        return f"{stem}_{self.names}"

    def _plain(self, about: dict[str, Any]) -> tuple[str, PlainShape]:
        """A shape that is no mesh, with a name for its file; without faces if it has no extent."""
        key = (about["kind"], *about["numbers"].values())
        if key not in self.plain:
            shape = plain_shape(about, self.metres, self.world.path)
            self.plain[key] = self._named(about["kind"].lower()), shape
        return self.plain[key]

    def _piece(self, about: dict[str, Any], part: int) -> tuple[str, Piece]:
        """The triangles of a part of a mesh, with the name of its file."""
        arrays, numbers = self.found.arrays, about["numbers"]
        known = (*numbers, about["left"], *(faces for _, faces in about["parts"]), part)
        if known not in self.pieces:
            points, counts, corners, holes = (arrays[f"m{number}"] for number in numbers)
            chosen = self._chosen(about, part, len(counts), holes)
            if not np.isfinite(points).all():
                number = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
                reason = f"point {number} is not finite: {points[number]}"
                raise SceneError(self.world.path, about["path"], reason)
            try:
                faces = triangles_of(counts, corners, points, chosen)
            except ValueError as error:
                raise SceneError(self.world.path, about["path"], str(error)) from error
            faces = faces[:, [0, 2, 1]] if about["left"] else faces
            vertices = points.astype(np.float64) @ self.turn.T * self.metres + 0.0
            if len(about["parts"]) > 1:
                used, compact = np.unique(faces, return_inverse=True)
                vertices, faces = vertices[used], compact.reshape(-1, 3)
            name = self._named(file_name(about["path"].rpartition("/")[2]))
            self.pieces[known] = name, Piece(vertices, faces)
        return self.pieces[known]

    def _chosen(
        self, about: dict[str, Any], part: int, count: int, holes: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Which faces of a mesh belong to a part: what no subset has belongs to the first."""
        owner = np.zeros(count, np.int64)
        for number, (_, faces) in enumerate(about["parts"][1:], 1):
            chosen = self.found.arrays[f"m{faces}"]
            owner[chosen[(chosen >= 0) & (chosen < count)]] = number
        owner[holes[(holes >= 0) & (holes < count)]] = -1
        is_own: NDArray[np.bool_] = owner == part
        return is_own

    # ---- looks -----------------------------------------------------------------------------------

    def _material(self, about: dict[str, Any], look: int) -> str:
        key = about["path"], look  # instances of a scatter share it
        if key not in self.materials:
            names = [name for name in reversed(about["path"].split("/")) if name]
            found = self.world.material(replace(self.looks[look], others=tuple(names[:2])))
            self.materials[key] = found
        return self.materials[key]

    def _look(self, look: dict[str, Any]) -> Look:
        values = look["values"]
        color = [srgb(part) for part in values["color"]] if "color" in values else [0.5] * 3
        if values.get("picture"):
            mean = self._picture(values["picture"])
            color = list(mean) if mean is not None else color
        through = max(values.get("transmission", 0.0), 1.0 - values.get("opacity", 1.0))
        if look.get("model") == "OmniGlass":
            through = 1.0
        ior = values.get("ior")
        return Look(
            name=look["name"],
            color=(color[0], color[1], color[2]),
            metallic=_share(values.get("metallic", 0.0)),
            roughness=_share(values.get("roughness", 0.5)),
            transmission=_share(through),
            ior=ior if ior is not None and 1.0 <= ior <= 10.0 else None,
        )

    def _picture(self, picture: dict[str, str]) -> Color | None:
        """The mean colour of a picture; None, and a note, if its kind is not read."""
        asks = Place(self.world.path, picture["place"])
        outer, _, inner = picture["file"].partition("[")
        inner = inner.removesuffix("]")
        if not outer or Path(inner or outer).suffix.lower() not in _PICTURES:
            state = "of kinds that are not read" if outer else "that do not exist"
            self.pictures.setdefault(state, {}).setdefault(picture["asset"], asks.place)
            return None
        if picture["file"] not in self.means:
            is_own = Path(outer).resolve() == self.world.path.resolve()
            data = self.data if is_own else self.files.read(outer, asks, (asks.file.parent,))
            data = _unpacked(data, inner, asks) if inner else data
            self.means[picture["file"]] = mean_color(data, asks)
        return self.means[picture["file"]]


def _unpacked(data: bytes, inner: str, asks: Place) -> bytes:
    """A file in a USDZ package."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            size = package.getinfo(inner).file_size
            if size > min(MAX_FILE_BYTES, len(data)):  # packages are not compressed
                raise ValueError(f"has {size} bytes in a package of {len(data)}")
            return package.read(inner)
    except Exception as error:  # a damaged package can raise anything inside of the reader
        reason = re.sub(r"\s+", " ", f"{inner!r} cannot be read from its package: {error}")
        raise SceneError(asks.file, asks.place, reason) from error


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0) if value == value else 0.0
