"""What Embree is given: transforms of instances, vertices and faces.

An instance on a body is at

    x_world = R(q) (L x_mesh) + p - offset

with the pose (p, q) of the body and the instance's own transform L in the body's frame. Normals
are turned by the inverse transpose of R L. All in float64; Embree is given float32.

The corners of faces are brought to the order of their coordinates. Facets with the same corners,
whichever comes first and whichever way round, are then the same to Embree: a ray meets both at
the same t, to the last bit. ``kernels.tracing.hits`` brings hits back to the order of the mesh.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sensor_models.kernels.math.memory import float32_at, put_float32, put_int32
from sensor_models.kernels.tracing.embree import WIDTH, place_geometry
from sensor_models.kernels.tracing.packets import U, V, W
from sensor_models.kernels.tracing.scene_view import ROW_SHIFT, TURNED_OVER, SceneView

Floats = NDArray[np.float64]


class Placements(NamedTuple):
    """Embree's instances."""

    geometries: NDArray[np.int64]  # their addresses
    owners: NDArray[np.int32]
    bodies: NDArray[np.int32]  # rows of poses
    transforms: Floats  # (n, 4, 4), mesh to body


@njit(cache=True)
def body_matrix(pose: Floats) -> Floats:
    """The 4 x 4 matrix of a pose: position, then unit quaternion w, x, y, z."""
    w, x, y, z = pose[3], pose[4], pose[5], pose[6]
    matrix = np.eye(4)
    matrix[0, :3] = (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y))
    matrix[1, :3] = (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x))
    matrix[2, :3] = (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y))
    matrix[:3, 3] = pose[:3]
    return matrix


@njit(cache=True)
def multiply(a: Floats, b: Floats, out: Floats) -> None:
    """Write the product of two 4 x 4 matrices: NumPy's needs SciPy when compiled."""
    for row in range(4):
        for column in range(4):
            out[row, column] = 0.0
            for k in range(4):
                out[row, column] += a[row, k] * b[k, column]


@njit(cache=True)
def normal_matrix(matrix: Floats, out: NDArray[np.float32]) -> None:
    """Write the inverse transpose of a transform's linear part, but for a positive factor."""
    cofactors = np.empty((3, 3))
    for row in range(3):
        for column in range(3):
            r1, r2, c1, c2 = (row + 1) % 3, (row + 2) % 3, (column + 1) % 3, (column + 2) % 3
            cofactors[row, column] = (
                matrix[r1, c1] * matrix[r2, c2] - matrix[r1, c2] * matrix[r2, c1]
            )
    determinant = 0.0
    largest = 0.0
    for column in range(3):
        determinant += matrix[0, column] * cofactors[0, column]
        for row in range(3):
            largest = max(largest, abs(cofactors[row, column]))
    sign = -1.0 if determinant < 0.0 else 1.0
    out[:, :] = sign / largest * cofactors


@njit(nogil=True, cache=True)
def place_instances(
    placements: Placements, poses: Floats, moved: NDArray[np.bool_], view: SceneView
) -> None:
    """Give Embree the transforms of the instances whose bodies moved."""
    columns = np.empty(12, np.float32)
    matrix = np.empty((4, 4))
    for k in range(len(placements.geometries)):
        body = placements.bodies[k]
        if not moved[body]:
            continue
        multiply(body_matrix(poses[body]), placements.transforms[k], matrix)
        for column in range(4):
            for row in range(3):
                shift = view.offset[row] if column == 3 else 0.0
                columns[3 * column + row] = matrix[row, column] - shift
        place_geometry(placements.geometries[k], columns.ctypes.data)
        normal_matrix(matrix, view.normal_matrices[placements.owners[k]])


@njit(nogil=True, cache=True)
def write_vertices(
    vertices: NDArray[np.float32], matrix: Floats, offset: Floats, address: int
) -> None:
    """Write transformed vertices to Embree's memory."""
    for k in range(len(vertices)):
        x, y, z = np.float64(vertices[k, 0]), np.float64(vertices[k, 1]), np.float64(vertices[k, 2])
        for row in range(3):
            value = matrix[row, 0] * x + matrix[row, 1] * y + matrix[row, 2] * z
            shifted = value + (matrix[row, 3] - offset[row])
            put_float32(address, 3 * k + row, np.float32(shifted))


@njit(cache=True)
def _comes_before(vertices: int, a: int, b: int) -> bool:
    """Whether a vertex comes before another by x, then y, then z."""
    for axis in range(3):
        one, other = float32_at(vertices, 3 * a + axis), float32_at(vertices, 3 * b + axis)
        if one != other:
            first: bool = one < other
            return first
    return False


@njit(nogil=True, cache=True)
def write_faces(
    faces: NDArray[np.uint32], vertices: int, address: int, orders: NDArray[np.uint16]
) -> None:
    """Write faces to Embree's memory, corners in the order of their coordinates.

    ``orders`` says of each face where its corners have gone (``kernels.tracing.scene_view``).
    """
    for face in range(len(faces)):
        first, second, third = 0, 1, 2
        a, b, c = np.int64(faces[face, 0]), np.int64(faces[face, 1]), np.int64(faces[face, 2])
        over = 0
        if _comes_before(vertices, b, a):
            a, b, first, second, over = b, a, second, first, 1 - over
        if _comes_before(vertices, c, b):
            b, c, second, third, over = c, b, third, second, 1 - over
            if _comes_before(vertices, b, a):
                a, b, first, second, over = b, a, second, first, 1 - over
        put_int32(address, 3 * face, np.int32(a))
        put_int32(address, 3 * face + 1, np.int32(b))
        put_int32(address, 3 * face + 2, np.int32(c))
        row_1 = W if first == 1 else U if second == 1 else V
        row_2 = W if first == 2 else U if second == 2 else V
        rows = row_1 // WIDTH + (row_2 // WIDTH << ROW_SHIFT)
        orders[face] = rows + TURNED_OVER * over
