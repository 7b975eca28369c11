"""Rays against triangles one by one, in float64: the slow twin of the ray engine."""

from typing import NamedTuple

import numpy as np

from sensor_models.scene.model import (
    Instance,
    Material,
    Mesh,
    Scene,
    SurfaceKind,
    SurfaceParameters,
)

LAMBERT = Material("matt", SurfaceKind.lambert, {905e-9: SurfaceParameters()})


class Soup(NamedTuple):
    """The triangles of a scene in the world, and what each belongs to."""

    corners: np.ndarray  # (n, 3, 3)
    instance: np.ndarray
    primitive: np.ndarray


def pose_matrix(pose):
    """The matrix of a position and a unit quaternion w, x, y, z: columns are turned axes."""
    w, x, y, z = pose[3:]
    matrix = np.eye(4)
    for axis in range(3):
        v = np.eye(3)[axis]
        u = np.array([x, y, z])
        matrix[:3, axis] = v + 2.0 * np.cross(u, np.cross(u, v) + w * v)
    matrix[:3, 3] = pose[:3]
    return matrix


def soup_of(scene, poses=None):
    """All triangles of a scene."""
    if poses is None:
        poses = [[*body.position, *body.orientation] for body in scene.bodies]
    corners, instances, primitives = [np.zeros((0, 3, 3))], [], []
    for index, instance in enumerate(scene.instances):
        mesh = scene.meshes[instance.mesh]
        matrix = np.asarray(instance.transform, float)
        if instance.body >= 0:
            matrix = pose_matrix(poses[instance.body]) @ matrix
        world = mesh.vertices.astype(float) @ matrix[:3, :3].T + matrix[:3, 3]
        corners.append(world[mesh.faces])
        instances += [index] * len(mesh.faces)
        primitives += range(len(mesh.faces))
    return Soup(np.concatenate(corners), np.array(instances, int), np.array(primitives, int))


class Crossings(NamedTuple):
    """Where rays cross triangles, (rays, triangles); t is inf where they do not."""

    t: np.ndarray
    u: np.ndarray
    v: np.ndarray
    margin: np.ndarray  # least barycentric weight: how far the plane is crossed inside the edges


def crossings(soup, origins, directions, t_min=1e-6, t_max=np.inf):
    """Every ray against every triangle (Moeller and Trumbore, 1997)."""
    directions = np.asarray(directions, float)
    origins = np.broadcast_to(np.asarray(origins, float), directions.shape)
    a = soup.corners[:, 0]
    e1, e2 = soup.corners[:, 1] - a, soup.corners[:, 2] - a
    p = np.cross(directions[:, None], e2[None])
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / (p * e1).sum(-1)
        s = origins[:, None] - a[None]
        u = (s * p).sum(-1) * inverse
        q = np.cross(s, e1[None])
        v = (directions[:, None] * q).sum(-1) * inverse
        t = (e2[None] * q).sum(-1) * inverse
        margin = np.minimum(np.minimum(u, v), 1.0 - u - v)
        hit = (margin >= 0.0) & (t > t_min) & (t <= t_max)
    return Crossings(np.where(hit, t, np.inf), u, v, margin)


def nearest(found):
    """The column of the nearest crossing of each ray, the lowest of several, -1 for none."""
    column = found.t.argmin(axis=1)
    return np.where(np.isfinite(found.t[np.arange(len(column)), column]), column, -1)


def grazes(found, width):
    """Rays that pass an edge of a triangle within a part of its size: float32 may see it so."""
    return (np.isfinite(found.margin) & (np.abs(found.margin) < width)).any(axis=1)


def mesh_of(vertices, faces, **more):
    """A mesh of one material."""
    faces = np.asarray(faces, np.uint32).reshape(-1, 3)
    return Mesh(
        np.asarray(vertices, np.float32).reshape(-1, 3),
        faces,
        more.pop("face_material", np.zeros(len(faces), np.int32)),
        **more,
    )


def scene_of(*meshes, **more):
    """A scene with each mesh standing at its own coordinates, with the entity id 100, 101, ..."""
    instances = more.pop(
        "instances",
        tuple(Instance(k, np.eye(4), 100 + k, f"mesh {k}") for k in range(len(meshes))),
    )
    materials = more.pop("materials", (LAMBERT,))
    return Scene("test", tuple(meshes), tuple(instances), materials, **more)


def random_triangles(random, count, spread=10.0, size=2.0):
    """Corners of triangles of all directions, (count, 3, 3), as float32 holds them."""
    middle = random.uniform(-spread, spread, (count, 1, 3))
    return (middle + random.uniform(-size, size, (count, 3, 3))).astype(np.float32)


def mesh_of_corners(corners):
    """A mesh of triangles that share no vertices."""
    return mesh_of(corners, np.arange(3 * len(corners)))


def unit_vectors(random, count):
    """Directions, evenly over the sphere."""
    v = random.normal(size=(count, 3))
    return (v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32)


BOX_FACES = [
    [0, 2, 1], [0, 3, 2], [4, 5, 6], [4, 6, 7], [0, 1, 5], [0, 5, 4],
    [1, 2, 6], [1, 6, 5], [2, 3, 7], [2, 7, 6], [3, 0, 4], [3, 4, 7],
]  # fmt: skip


def box(low, high):
    """A closed box with faces to the outside."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    ring = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    return mesh_of([(*p, z) for z in (z0, z1) for p in ring], BOX_FACES)


def sphere(radius, rings=24, middle=(0.0, 0.0, 0.0), smooth=True):
    """A closed sphere with faces to the outside and the normals of a true one."""
    polar = np.linspace(0.0, np.pi, rings + 1)[1:-1]
    around = np.arange(2 * rings) * np.pi / rings
    p, a = (grid.ravel() for grid in np.meshgrid(polar, around, indexing="ij"))
    ring = np.stack([np.sin(p) * np.cos(a), np.sin(p) * np.sin(a), np.cos(p)], axis=1)
    points = np.concatenate([[[0.0, 0.0, 1.0]], ring, [[0.0, 0.0, -1.0]]])
    n, last, faces = 2 * rings, len(points) - 1, []
    for k in range(n):
        after = (k + 1) % n
        faces.append((0, 1 + k, 1 + after))
        faces.append((last, last - n + after, last - n + k))
        for row in range(rings - 2):
            up, down = 1 + row * n, 1 + (row + 1) * n
            faces += [(up + k, down + k, down + after), (up + k, down + after, up + after)]
    normals = points.astype(np.float32) if smooth else None
    return mesh_of(radius * points + np.asarray(middle), faces, vertex_normals=normals)


def turned_quaternion(axis, angle):
    """The unit quaternion w, x, y, z of a turn."""
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def shifted(x=0.0, y=0.0, z=0.0, scale=(1.0, 1.0, 1.0)):
    """A transform that scales and then shifts."""
    matrix = np.diag([*scale, 1.0])
    matrix[:3, 3] = x, y, z
    return matrix
