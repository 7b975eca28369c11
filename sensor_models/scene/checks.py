"""Checks of a scene before it is given to a library that does not check."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import SceneError
from sensor_models.scene.limits import MAX_POSTURES
from sensor_models.scene.model import Mesh


def checked_mesh(mesh: Mesh, key: str, scene: str, materials: int) -> Mesh:
    """A mesh with arrays of the right types and without gaps; copied only if they were not."""
    known: dict[str, Any] = {
        "vertices": _packed(mesh.vertices, np.float32, (-1, 3), key, scene),
        "faces": _packed(mesh.faces, np.uint32, (-1, 3), key, scene),
    }
    vertices, faces = known["vertices"], known["faces"]
    known["face_material"] = _packed(mesh.face_material, np.int32, (len(faces),), key, scene)
    if mesh.face_label is not None:
        known["face_label"] = _packed(mesh.face_label, np.int32, (len(faces),), key, scene)
    if mesh.postures is not None:
        shape = (-1, *vertices.shape)
        postures = known["postures"] = _packed(mesh.postures, np.float32, shape, key, scene)
        _check_postures(postures, mesh.clip_length, key, scene)
    if mesh.vertex_normals is not None:
        known["vertex_normals"] = _packed(
            mesh.vertex_normals, np.float32, vertices.shape, key, scene
        )
    if not np.isfinite(vertices).all():
        raise SceneError(scene, key, "has a vertex that is not finite")
    if len(faces) and faces.max() >= len(vertices):
        raise SceneError(scene, key, f"has vertex index {faces.max()} of {len(vertices)} vertices")
    _check_materials(known["face_material"], materials, key, scene)
    return dataclasses.replace(mesh, **known)


def _check_postures(
    postures: NDArray[np.float32], clip_length: float, key: str, scene: str
) -> None:
    if not 2 <= len(postures) <= MAX_POSTURES:
        reason = f"has {len(postures)} postures, allowed are 2 to {MAX_POSTURES}"
        raise SceneError(scene, key, reason)
    if not 0.0 < clip_length < np.inf:
        raise SceneError(scene, key, f"has a clip of {clip_length} s, allowed is more than 0")
    if not np.isfinite(postures).all():
        raise SceneError(scene, key, "has a posture with a vertex that is not finite")


def _check_materials(indices: NDArray[np.int32], count: int, key: str, scene: str) -> None:
    if len(indices) and not 0 <= indices.min() <= indices.max() < count:
        wrong = indices.min() if indices.min() < 0 else indices.max()
        raise SceneError(scene, key, f"has material {wrong} of {count}")


def _packed(values: Any, kind: type, shape: tuple[int, ...], key: str, scene: str) -> NDArray[Any]:
    array = np.asarray(values)
    fits = array.ndim == len(shape) and all(
        want in (-1, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = " x ".join("n" if side < 0 else str(side) for side in shape)
        raise SceneError(scene, key, f"has an array of shape {array.shape}, not {wanted}")
    if array.dtype.kind == "i" and kind is np.uint32 and array.size and array.min() < 0:
        raise SceneError(scene, key, f"has vertex index {array.min()}")
    return np.ascontiguousarray(array, kind)


def checked_transform(transform: Any, key: str, scene: str) -> NDArray[np.float64]:
    """A 4 x 4 matrix that is finite and invertible."""
    matrix = np.ascontiguousarray(transform, np.float64)
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
        raise SceneError(scene, key, "its transform is no 4 x 4 matrix of finite numbers")
    if not (matrix[3] == (0.0, 0.0, 0.0, 1.0)).all():
        raise SceneError(scene, key, "the last row of its transform is not 0 0 0 1")
    # 1e-30: far below any scale of use, and float32 keeps the inverse.
    if abs(np.linalg.det(matrix[:3, :3])) < 1e-30:
        raise SceneError(scene, key, "its transform flattens the mesh")
    return matrix
