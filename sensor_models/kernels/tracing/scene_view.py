"""A scene as compiled kernels see it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Places in SceneView.handles. The first two are columns of Bodies.scenes as well.
SURFACES, VOLUMES, KEEP_NEAREST, KEEP_ALL, COUNT_CROSSINGS, PASS_CLEAR = range(6)
# Columns of SceneView.tables.
FACE_MATERIAL, FACE_LABEL, FACES, VERTEX_NORMALS, CORNER_ORDERS = range(5)
TABLES = 5


# Corner orders: where a packet has the weights of a face's second and third corner, counted in
# rows, and whether Embree has the face turned over.
ROW_SHIFT, ROW_BITS, TURNED_OVER = 5, 31, 1024
#: Stands for "no label" in tables of labels.
NO_LABEL = -1


class Bodies(NamedTuple):
    """The movable bodies of a scene, and where they are during one run of a kernel.

    A pose is 12 numbers: the rotation matrix by rows, then the position. Poses are known at knots,
    which lie evenly over a frame: a ray that is sent at the share s of the frame sees a body as it
    is at s * spans knots. Runs that make a part of a frame are given the knots of that part.
    """

    scenes: NDArray[np.int64]  # (bodies, 2): addresses of Embree's scenes, 0 for none
    shapes: NDArray[np.float64]  # (bodies, 9), in the frame of the body: Embree's origin, then the
    # middle and the half sides of a box around all that is on it; negative ones for nothing
    poses: NDArray[np.float64]  # (knots, bodies, 12)
    balls: NDArray[np.float64]  # (blocks, 4, packets.BLOCK): middle and radius of a ball in the
    # world that holds a body at all these knots, of block after block of bodies; a negative radius
    # for none
    order: NDArray[np.int64]  # (blocks * packets.BLOCK,): which body it is; a block's are close
    groups: NDArray[np.float64]  # (groups, 4, packets.BLOCK): the same around each block
    boxes: NDArray[np.float64]  # (bodies, 6): a box in the world that does, least and most corner
    phases: NDArray[np.float64]  # (knots, bodies): of the clips of bodies that change their shape,
    # in lengths of the clip, of which the whole part does not matter; (0, 0) if there are none
    first: int  # knot of the frame that ``poses`` begins with
    spans: int  # stretches between the knots of the whole frame; 0 for bodies that stand still


class SceneView(NamedTuple):
    """A scene as kernels see it; ``RayScene`` makes it and keeps alive what it points to."""

    handles: NDArray[np.int64]  # addresses of Embree's scenes and of the filters, 0 for none
    offset: NDArray[np.float64]  # (3,), m: where the world's origin of float32 lies
    volumes: int  # number of closed volumes: owners below it are volumes
    entity: NDArray[np.int32]  # of each owner
    label: NDArray[np.int32]  # of each owner
    tables: NDArray[np.int64]  # (owners, 5): addresses of what its mesh has, 0 for nothing
    body_of: NDArray[np.int32]  # of each owner, -1 for the world itself
    normal_matrices: NDArray[np.float32]  # (owners, 3, 3): normals of its mesh to its body or world
    in_place: NDArray[np.float32]  # of each owner: what normals that Embree has in the frame of the
    # body, or world, are multiplied with, -1 if its mesh is mirrored; 0 where Embree has them in
    # the mesh's frame
    bodies: Bodies
