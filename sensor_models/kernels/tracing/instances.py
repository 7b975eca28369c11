"""What Embree is given, vertices, faces and instances, and where bodies are.

Meshes lie in the frame of the body that they are on, or in the world, by the transform L of their
instance, relative to an origin c of Embree's there:

    x = L x_mesh - c

Normals are turned by the inverse transpose of L. All in float64; Embree is given float32.

The corners of faces are brought to the order of their coordinates. Facets with the same corners,
whichever comes first and whichever way round, are then the same to Embree: a ray meets both at
the same t, to the last bit. ``kernels.tracing.hits`` brings hits back to the order of the mesh.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import float32_at, put_float32, put_int32
from sensor_models.kernels.options import INLINE
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import BLOCK, Triple, U, V, W
from sensor_models.kernels.tracing.scene_view import ROW_SHIFT, TURNED_OVER, Bodies

Floats = NDArray[np.float64]


@njit(nogil=True, cache=True)
def place_bodies(shapes: Floats, poses: Floats, bodies: Bodies) -> None:
    """Write the poses of bodies as rays take them, and what holds them in the world.

    ``poses`` are (knots, bodies, 7): position, then unit quaternion w, x, y, z. A blend of two
    poses is within the box that holds both: its middle lies between theirs, and it turns by less.
    """
    low, high = np.empty(3), np.empty(3)
    for body in range(poses.shape[1]):
        low[:], high[:] = math.inf, -math.inf
        for knot in range(len(poses)):
            rows = rotation_rows(poses, knot, body)
            for row in range(3):
                middle = bodies.poses[knot, body, 9 + row] = poses[knot, body, row]
                side = 0.0
                for k in range(3):
                    bodies.poses[knot, body, 3 * row + k] = rows[row][k]
                    middle += rows[row][k] * shapes[body, 3 + k]
                    side += abs(rows[row][k]) * shapes[body, 6 + k]
                low[row], high[row] = min(low[row], middle - side), max(high[row], middle + side)
        for row in range(3):
            bodies.boxes[body, row], bodies.boxes[body, 3 + row] = low[row], high[row]
    bodies.balls[:, :3], bodies.balls[:, 3] = 0.0, -math.inf
    bodies.groups[:, :3], bodies.groups[:, 3] = 0.0, -math.inf
    bodies.order[:] = 0
    count = 0
    for body in range(len(shapes)):
        if shapes[body, 6] >= 0.0:
            bodies.order[count] = body
            count += 1
    seen = bodies.order[:count]
    bring_together(bodies.boxes, seen)
    for place in range(len(seen)):
        put_ball(bodies.boxes, seen[place : place + 1], bodies.balls, place)
    for block in range((len(seen) + BLOCK - 1) // BLOCK):
        put_ball(bodies.boxes, seen[BLOCK * block : BLOCK * (block + 1)], bodies.groups, block)


@njit(cache=True)
def bring_together(boxes: Floats, order: NDArray[np.int64]) -> None:
    """Sort bodies so that those of a block lie close together.

    By x into slabs of about as many blocks as there are slabs, those by y (Leutenegger, Lopez and
    Edgington 1997, "STR"). What moves among sensors stands on the ground; and one body that is far
    off does not spoil the blocks of the others, as it would a grid.
    """
    if len(order) <= BLOCK:
        return
    sort_along(boxes, 0, order)
    blocks = (len(order) + BLOCK - 1) // BLOCK
    slab = BLOCK * math.ceil(math.sqrt(blocks))
    for first in range(0, len(order), slab):
        sort_along(boxes, 1, order[first : first + slab])


@njit(cache=True)
def sort_along(boxes: Floats, axis: int, order: NDArray[np.int64]) -> None:
    """Sort bodies by the middles of their boxes along an axis.

    Item by item: of arrays that are indexed by arrays Numba makes calls of its own.
    """
    middles, before = np.empty(len(order)), order.copy()
    for place in range(len(order)):
        middles[place] = boxes[order[place], axis] + boxes[order[place], 3 + axis]
    sorted_places = np.argsort(middles)
    for place in range(len(order)):
        order[place] = before[sorted_places[place]]


@njit(cache=True)
def put_ball(boxes: Floats, members: NDArray[np.int64], balls: Floats, place: int) -> None:
    """Write the ball around the boxes of some bodies to a place in a table of balls."""
    square = 0.0
    for row in range(3):
        low, high = math.inf, -math.inf
        for member in members:
            low, high = min(low, boxes[member, row]), max(high, boxes[member, 3 + row])
        balls[place // BLOCK, row, place % BLOCK] = 0.5 * (low + high)
        square += (high - low) ** 2
    balls[place // BLOCK, 3, place % BLOCK] = 0.5 * math.sqrt(square)


@njit(**INLINE)
def rotation_rows(poses: Floats, knot: int, body: int) -> tuple[Triple, Triple, Triple]:
    """The rows of the rotation matrix of a pose."""
    w, x = poses[knot, body, 3], poses[knot, body, 4]
    y, z = poses[knot, body, 5], poses[knot, body, 6]
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@njit(cache=True)
def normal_matrix(matrix: Floats, out: NDArray[np.float32]) -> None:
    """Write the inverse transpose of a transform's linear part, but for a positive factor.

    Item by item, here and above: where Numba assigns one array to another it also compiles what
    tells their shapes in an error, forty functions for texts.
    """
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
    factor = (-1.0 if determinant < 0.0 else 1.0) / largest
    for row in range(3):
        for column in range(3):
            out[row, column] = factor * cofactors[row, column]


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
def _comes_before(vertices: int, a: int | np.int64, b: int | np.int64) -> bool:
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
