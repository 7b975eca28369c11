"""A scene as compiled kernels see it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Places in SceneView.handles.
STATIC, MOVING, VOLUMES, KEEP_NEAREST, KEEP_ALL, COUNT_CROSSINGS = range(6)
# Columns of SceneView.tables.
FACE_MATERIAL, FACE_LABEL, FACES, VERTEX_NORMALS, CORNER_ORDERS = range(5)


# Corner orders: where a packet has the weights of a face's second and third corner, counted in
# rows, and whether Embree has the face turned over.
ROW_SHIFT, ROW_BITS, TURNED_OVER = 5, 31, 1024
#: Stands for "no label" in tables of labels.
NO_LABEL = -1


class SceneView(NamedTuple):
    """A scene as kernels see it; ``RayScene`` makes it and keeps alive what it points to."""

    handles: NDArray[np.int64]  # addresses of Embree's scenes and of the filters, 0 for none
    offset: NDArray[np.float64]  # (3,), m: where the world's origin of float32 lies
    volumes: int  # number of closed volumes: owners below it are volumes
    entity: NDArray[np.int32]  # of each owner
    label: NDArray[np.int32]  # of each owner
    tables: NDArray[np.int64]  # (owners, 5): addresses of what its mesh has, 0 for nothing
    normal_matrices: NDArray[np.float32]  # (owners, 3, 3): normals of its mesh to the world
    in_world: NDArray[np.float32]  # of each owner: what normals that Embree has in the world are
    # multiplied with, -1 if its mesh is mirrored; 0 where Embree has them in the mesh's frame
