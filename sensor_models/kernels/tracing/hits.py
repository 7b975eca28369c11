"""What a ray of a packet hit: compiled access to its parts.

All but ``is_hit`` and ``hit_distance`` are asked of rays that hit something.
"""

import math

import numpy as np

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import float32_at, int32_at, uint16_at
from sensor_models.kernels.tracing.embree import INVALID_ID, WIDTH
from sensor_models.kernels.tracing.moving import turn_out
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    BEST_T,
    GEOMETRY,
    INSTANCE,
    NORMAL,
    PRIMITIVE,
    SENT,
    Packet,
    Triple,
    U,
    V,
    W,
)
from sensor_models.kernels.tracing.scene_view import (
    CORNER_ORDERS,
    FACE_LABEL,
    FACE_MATERIAL,
    FACES,
    NO_LABEL,
    ROW_BITS,
    ROW_SHIFT,
    TURNED_OVER,
    VERTEX_NORMALS,
    SceneView,
)

#: A coordinate of a normal: Embree's are single, those of moved bodies double.
Number = float | np.float32


@njit(**ACCESS)
def is_hit(packet: Packet, lane: int) -> bool:
    """Whether a ray hit anything."""
    hit: bool = packet.words[GEOMETRY + lane] != INVALID_ID
    return hit


@njit(**ACCESS)
def hit_distance(packet: Packet, lane: int) -> float:
    """The t of a hit, infinite for a miss."""
    distance: float = packet.floats[BEST_T + lane]
    return distance


@njit(**ACCESS)
def hit_owner(packet: Packet, lane: int) -> int:
    """The owner of the facet that was hit."""
    instance: int = packet.words[INSTANCE + lane]
    geometry: int = packet.words[GEOMETRY + lane]
    return geometry if instance == INVALID_ID else instance


@njit(**ACCESS)
def hit_instance(view: SceneView, packet: Packet, lane: int) -> int:
    """Index of the instance that was hit, negative if it was a volume's boundary."""
    instance: int = hit_owner(packet, lane) - view.volumes
    return instance


@njit(**ACCESS)
def hit_primitive(packet: Packet, lane: int) -> int:
    """Index of the face that was hit, in its mesh."""
    primitive: int = packet.words[PRIMITIVE + lane]
    return primitive


@njit(**ACCESS)
def hit_barycentrics(view: SceneView, packet: Packet, lane: int) -> tuple[float, float]:
    """Weights u, v of the second and third vertex of the face."""
    floats = packet.floats
    order = _corner_order(view, packet, lane)
    floats[W + lane] = np.float32(1.0) - floats[U + lane] - floats[V + lane]
    second, third = order & ROW_BITS, (order >> ROW_SHIFT) & ROW_BITS
    # Looked up, as a branch would be mispredicted for every other ray.
    return floats[second * WIDTH + lane], floats[third * WIDTH + lane]


@njit(**ACCESS)
def _corner_order(view: SceneView, packet: Packet, lane: int) -> int:
    """Where Embree has the corners of the face that was hit (``kernels.tracing.instances``)."""
    orders = view.tables[hit_owner(packet, lane), CORNER_ORDERS]
    order: int = uint16_at(orders, hit_primitive(packet, lane))
    return order


@njit(**ACCESS)
def hit_entity(view: SceneView, packet: Packet, lane: int) -> int:
    """Entity id of what was hit."""
    entity: int = view.entity[hit_owner(packet, lane)]
    return entity


@njit(**ACCESS)
def hit_material(view: SceneView, packet: Packet, lane: int) -> int:
    """Index of the material of the face that was hit."""
    materials = view.tables[hit_owner(packet, lane), FACE_MATERIAL]
    material: int = int32_at(materials, hit_primitive(packet, lane))
    return material


@njit(**ACCESS)
def hit_label(view: SceneView, packet: Packet, lane: int) -> int:
    """Semantic label of the face that was hit, or else of its instance."""
    owner = hit_owner(packet, lane)
    labels = view.tables[owner, FACE_LABEL]
    label: int = view.label[owner]
    if labels != 0:
        of_face: int = int32_at(labels, hit_primitive(packet, lane))
        return label if of_face == NO_LABEL else of_face
    return label


@njit(**ACCESS)
def hit_normal(view: SceneView, packet: Packet, lane: int) -> Triple:
    """Unit normal of the face that was hit, to its outside, in the world."""
    x, y, z = hit_outward(view, packet, lane)
    scale = _scale_to_unit(x, y, z)
    return scale * x, scale * y, scale * z


@njit(**ACCESS)
def hit_outward(view: SceneView, packet: Packet, lane: int) -> Triple:
    """As ``hit_normal``, but of any length: for who scales those of all lanes at once."""
    x, y, z = hit_across(view, packet, lane)
    if _corner_order(view, packet, lane) >= TURNED_OVER:
        return -x, -y, -z
    return x, y, z


@njit(**ACCESS)
def hit_across(view: SceneView, packet: Packet, lane: int) -> Triple:
    """As ``hit_outward``, but it may point inside: for who turns normals to a side by themselves.

    To know the outside takes a look into a table of all faces.
    """
    owner = hit_owner(packet, lane)
    x = packet.floats[NORMAL + lane]
    y = packet.floats[NORMAL + WIDTH + lane]
    z = packet.floats[NORMAL + 2 * WIDTH + lane]
    factor = view.in_place[owner]
    if factor == 0.0:
        x, y, z = _off_mesh(view, owner, x, y, z)
        factor = np.float32(1.0)
    x, y, z = _to_world(view, packet, lane, owner, x, y, z)
    return factor * np.float64(x), factor * np.float64(y), factor * np.float64(z)


@njit(**ACCESS)
def hit_smooth_normal(view: SceneView, packet: Packet, lane: int) -> Triple:
    """Unit normal interpolated between the vertices, or the face's where there are none.

    That of the face also stands in where the normals of the vertices cancel out.
    """
    owner = hit_owner(packet, lane)
    flat: Triple = hit_normal(view, packet, lane)
    if view.tables[owner, VERTEX_NORMALS] == 0:
        return flat
    u, v = hit_barycentrics(view, packet, lane)
    x: Number
    y: Number
    z: Number
    x, y, z = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for corner in range(3):
        weight = (np.float32(1.0) - u - v, u, v)[corner]
        at = _vertex_normal(view, owner, 3 * hit_primitive(packet, lane) + corner)
        x, y, z = x + weight * at[0], y + weight * at[1], z + weight * at[2]
    x, y, z = _off_mesh(view, owner, x, y, z)
    x, y, z = _to_world(view, packet, lane, owner, x, y, z)
    scale = _scale_to_unit(x, y, z)
    if scale < math.inf:
        return scale * np.float64(x), scale * np.float64(y), scale * np.float64(z)
    return flat


@njit(**ACCESS)
def _vertex_normal(view: SceneView, owner: int, corner: int) -> Triple:
    """The normal at a corner of a face, in the frame of the mesh."""
    normals = view.tables[owner, VERTEX_NORMALS]
    first = 3 * int32_at(view.tables[owner, FACES], corner)
    return (
        float32_at(normals, first),
        float32_at(normals, first + 1),
        float32_at(normals, first + 2),
    )


@njit(**ACCESS)
def _to_world(
    view: SceneView, packet: Packet, lane: int, owner: int, x: Number, y: Number, z: Number
) -> tuple[np.float32, np.float32, np.float32]:
    """A vector of what an owner is on, in the world: bodies as they are when the ray is sent."""
    body = view.body_of[owner]
    if body < 0:
        return np.float32(x), np.float32(y), np.float32(z)
    vector = np.float64(x), np.float64(y), np.float64(z)
    a, b, c = turn_out(view, body, packet.doubles[SENT + lane], vector)
    return np.float32(a), np.float32(b), np.float32(c)


@njit(**ACCESS)
def _off_mesh(
    view: SceneView, owner: int, x: Number, y: Number, z: Number
) -> tuple[Number, Number, Number]:
    """A normal of a mesh in the frame of the body that it is on, or the world."""
    m = view.normal_matrices
    return (
        m[owner, 0, 0] * x + m[owner, 0, 1] * y + m[owner, 0, 2] * z,
        m[owner, 1, 0] * x + m[owner, 1, 1] * y + m[owner, 1, 2] * z,
        m[owner, 2, 0] * x + m[owner, 2, 1] * y + m[owner, 2, 2] * z,
    )


@njit(**ACCESS)
def _scale_to_unit(x: Number, y: Number, z: Number) -> float:
    # In float64: the length of a facet's normal is its area, whose square may be out of range.
    return 1.0 / math.sqrt(np.float64(x) * x + np.float64(y) * y + np.float64(z) * z)
