"""What a radar's rays meet: facets as planes in float64, their materials and their motion.

The ray engine works in float32 and gives no more than the facet that is hit. 10 um are a phase of
0.03 rad at 77 GHz, so the plane of the facet is made of its corners in float64, and all lengths
are those to that plane. Normals are those of facets: a radar sees the facets of a mesh.

Places are relative to the sensor, in the axes of the world.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import float32_at, int32_at
from sensor_models.kernels.math.rotations import Triple, cross, dot, minus, plus, times
from sensor_models.kernels.options import INLINE
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.scene_view import FACES, SceneView

Floats = NDArray[np.float64]


#: Radii of the first Fresnel zone that a mirror reaches at least.
ZONES = 3.0


class Reflectors(NamedTuple):
    """Facets and surfaces of a scene in the band of a radar."""

    vertices: NDArray[np.int64]  # of each owner: address of its mesh's vertices
    transforms: Floats  # (owners, 3, 4): mesh to its body, or to the world
    thickness: NDArray[np.int64]  # of each owner: address of what its faces have, 0 for no pane
    kind: NDArray[np.int64]  # of each material: conductor, with an index, or diffuse alone
    indices: NDArray[np.complex128]  # of each material: n - j k
    rms: Floats  # of each material: roughness, m
    diffuse: Floats  # of each material: reflectance; NaN: what the roughness takes
    clear: NDArray[np.int32]  # of each material: whether panes of it let waves through
    spacing: Floats  # of each owner: the widest that its tubes may be, m
    extents: NDArray[np.int64]  # of each owner: address of how far the plane of each face reaches
    flats: NDArray[np.int64]  # of each owner: address of the flat piece that each face is part of
    scales: Floats  # of each owner: by how much it is larger than its mesh
    sizes: Floats  # of each owner: the longest side of the box around it, m


class Plane(NamedTuple):
    """A facet as an infinite plane; a normal of no length stands for no facet."""

    normal: Triple
    point: Triple


@njit(**INLINE)
def _corner(reflectors: Reflectors, owner: int, vertex: int) -> Triple:
    """A vertex of a mesh, in its own frame."""
    address = reflectors.vertices[owner]
    return (
        float(float32_at(address, 3 * vertex)),
        float(float32_at(address, 3 * vertex + 1)),
        float(float32_at(address, 3 * vertex + 2)),
    )


@njit(**INLINE)
def _turned(rows: Floats, vector: Triple) -> Triple:
    """A vector times the first three columns of three rows."""
    return (
        rows[0, 0] * vector[0] + rows[0, 1] * vector[1] + rows[0, 2] * vector[2],
        rows[1, 0] * vector[0] + rows[1, 1] * vector[1] + rows[1, 2] * vector[2],
        rows[2, 0] * vector[0] + rows[2, 1] * vector[1] + rows[2, 2] * vector[2],
    )


@njit(**INLINE)
def _on_body(pose: Floats, vector: Triple) -> Triple:
    """A vector of a body in the world: nine numbers of a rotation by rows."""
    return (
        pose[0] * vector[0] + pose[1] * vector[1] + pose[2] * vector[2],
        pose[3] * vector[0] + pose[4] * vector[1] + pose[5] * vector[2],
        pose[6] * vector[0] + pose[7] * vector[1] + pose[8] * vector[2],
    )


@njit(**ACCESS)
def plane_of(
    view: SceneView, reflectors: Reflectors, owner: int, face: int, sensor: Triple
) -> Plane:
    """The plane of a facet, as its body is at the middle of the frame."""
    faces, rows = view.tables[owner, FACES], reflectors.transforms[owner]
    a = _corner(reflectors, owner, int32_at(faces, 3 * face))
    b = _corner(reflectors, owner, int32_at(faces, 3 * face + 1))
    c = _corner(reflectors, owner, int32_at(faces, 3 * face + 2))
    normal: Triple = cross(_turned(rows, minus(b, a)), _turned(rows, minus(c, a)))
    point: Triple = plus(_turned(rows, a), (rows[0, 3], rows[1, 3], rows[2, 3]))
    body = view.body_of[owner]
    if body >= 0:
        pose = view.bodies.poses[0, body]
        normal = _on_body(pose, normal)
        point = plus(_on_body(pose, point), (pose[9], pose[10], pose[11]))
    square = dot(normal, normal)
    scale = 1.0 / math.sqrt(square) if square > 0.0 else 0.0
    return Plane(times(scale, normal), minus(point, sensor))


@njit(**ACCESS)
def zone_room(reflectors: Reflectors, owner: int, face: int, wavenumber: float) -> float:
    """The longest r1 r2 / (r1 + r2), in m, for which a facet's plane is a mirror.

    It has to reach three times as far as the first Fresnel zone, sqrt(lambda r1 r2 / (r1 + r2)).
    """
    extent = reflectors.scales[owner] * float32_at(reflectors.extents[owner], face)
    room: float = extent * extent * wavenumber / (2.0 * math.pi * ZONES * ZONES)
    return room


@njit(**INLINE)
def velocity_at(view: SceneView, motions: Floats, owner: int, point: Triple) -> Triple:
    """The velocity of a point of what an owner is on.

    ``motions`` are of each body: velocity, angular velocity, and its origin relative to the sensor.
    """
    body = view.body_of[owner]
    if body < 0:
        return 0.0, 0.0, 0.0
    row = motions[body]
    arm = minus(point, (row[6], row[7], row[8]))
    found: Triple = plus((row[0], row[1], row[2]), cross((row[3], row[4], row[5]), arm))
    return found
