"""What the surfaces of a scene do to signals of satellites: which are opaque, which are mirrors.

Everything blocks but dielectric materials (glass). A mirror is a plane: all opaque facets of an
instance that lie in one plane and face the same way, at least ``LEAST_AREA`` together. Only what
does not move is a mirror.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.gnss import multipath as at
from sensor_models.scene.model import Instance, Scene, SurfaceKind

Floats = NDArray[np.float64]

#: Of the facets of a mirror, m2. A wavelength is 0.19 m, and so is what smaller ones blur.
LEAST_AREA = 1.0
#: Facets are in one plane if their normals and their distances from the origin agree to this.
NORMAL_STEP, LEVEL_STEP = 1e-3, 1e-2


def opaque_materials(scene: Scene) -> NDArray[np.bool_]:
    """Which materials of a scene stop a signal."""
    return np.array([material.kind is not SurfaceKind.dielectric for material in scene.materials])


def find_mirrors(scene: Scene) -> Floats:
    """The mirrors of a scene, as the kernel takes them."""
    opaque = opaque_materials(scene)
    rows = [
        row
        for instance in scene.instances
        if instance.body < 0
        for row in _planes_of(scene, instance, opaque)
    ]
    return np.array(rows).reshape(-1, at.MIRROR_SIZE)


def _planes_of(scene: Scene, instance: Instance, opaque: NDArray[np.bool_]) -> Iterator[Floats]:
    """The mirrors of one instance."""
    mesh = scene.meshes[instance.mesh]
    turn, shift = instance.transform[:3, :3], instance.transform[:3, 3]
    corners = (mesh.vertices.astype(np.float64) @ turn.T + shift)[mesh.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    if np.linalg.det(turn) < 0.0:  # a mesh that is turned inside out by its transform
        across = -across
    doubled = np.linalg.norm(across, axis=1)
    kept = opaque[mesh.face_material] & (doubled > 0.0)
    corners, across, doubled = corners[kept], across[kept], doubled[kept]
    if not len(corners):
        return
    normals = across / doubled[:, None]
    levels = (normals * corners[:, 0]).sum(axis=1)
    steps = np.round(np.column_stack([normals / NORMAL_STEP, levels / LEVEL_STEP]))
    _, group = np.unique(steps, axis=0, return_inverse=True)
    areas = np.bincount(group.ravel(), 0.5 * doubled)
    for number in np.flatnonzero(areas >= LEAST_AREA):
        own = group.ravel() == number
        yield _row(normals[own], doubled[own], corners[own])


def _row(normals: Floats, weights: Floats, corners: Floats) -> Floats:
    """The mirror of some facets."""
    normal = weights @ normals
    normal /= np.linalg.norm(normal)
    points = corners.reshape(-1, 3)
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    row = np.empty(at.MIRROR_SIZE)
    row[at.NORMAL : at.NORMAL + 3] = normal
    row[at.LEVEL] = normal @ points.mean(axis=0)
    row[at.CENTRE : at.CENTRE + 3] = centre
    row[at.RADIUS] = np.linalg.norm(points - centre, axis=1).max() + LEVEL_STEP
    return row
