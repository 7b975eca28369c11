"""A part of a scene in memory, with its own acceleration structure, and its answers.

Opening a part takes memory only for its own facets: those of other parts are never read. A part
can be sent to another process, which opens it again.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.kernels.caster.keys import MISS, cast_keys
from sensor_models.kernels.tracing.arrays import Rays
from sensor_models.scene.model import Instance, Material, Mesh, Scene, SurfaceKind
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.caster.facets import FacetProperty
from sensor_models.tools.caster.parts import Parts
from sensor_models.tools.caster.views import Rays as AnyRays

#: The approximate memory of a facet: arrays, Embree's copies and its hierarchy.
BYTES_A_FACET = 170


class Hits(NamedTuple):
    """The hits of a block, with an entry for each ray that hit anything."""

    rays: NDArray[np.int32]  # in the block
    keys: NDArray[np.uint64]  # of kernels.caster.keys
    weights: NDArray[np.float32]  # (n, 2): u and v
    normals: NDArray[np.float32]  # (n, 3)
    values: NDArray[Any]  # (n, bands)


class Part:
    """One part of a scene, ready for rays."""

    def __init__(self, parts: Parts, number: int, threads: int = 1) -> None:
        self._made_of = parts, number, threads
        folder, self.info = parts.folder(number), parts.parts[number]
        self._facets = np.load(folder / "facets.npy")
        self._property = _property(folder, len(parts.bands))
        mesh = Mesh(
            np.load(folder / "vertices.npy"),
            np.load(folder / "faces.npy"),
            np.zeros(len(self._facets), np.int32),
        )
        there = np.eye(4)
        there[:3, 3] = parts.origin
        scene = Scene(
            name=str(folder),
            meshes=(mesh,),
            instances=(Instance(0, there, 0),),
            materials=(Material("part", SurfaceKind.lambert, {}),),
        )
        self._rays = RayScene(scene, threads, origin=parts.origin)

    def __reduce__(self) -> tuple[Any, ...]:
        return Part, self._made_of

    def __sizeof__(self) -> int:
        """The memory that it takes: because of this, schedulers do not move it."""
        return BYTES_A_FACET * self.info.facets

    def cast(self, view: AnyRays, first_row: int, rows: int) -> Hits:
        """What the rays of some rows of a view hit in this part."""
        origin, directions = view.rays(first_row, rows)
        return self.cast_rays(origin, directions, rows)

    def cast_rays(self, origins: ArrayLike, directions: ArrayLike, rows: int = 1) -> Hits:
        """What rays hit in this part; ``rows`` of neighbours if they are a grid."""
        along = np.ascontiguousarray(directions, np.float32).reshape(-1, 3)
        start = np.ascontiguousarray(origins, np.float64).reshape(-1, 3)
        count = len(along)
        rays = Rays(rows, count // rows, start, along, np.inf, rows > 1)
        keys, faces = np.empty(count, np.uint64), np.empty(count, np.int32)
        weights = np.empty((count, 2), np.float32)
        normals = np.empty((count, 3), np.float32)
        self._rays.run(cast_keys, rays, self._facets, keys, faces, weights, normals)
        hit = np.flatnonzero(keys != np.uint64(MISS)).astype(np.int32)
        if len(hit) < count:  # usual if there are several parts
            keys, faces, weights, normals = keys[hit], faces[hit], weights[hit], normals[hit]
        found = self._property.at(faces, weights[:, 0], weights[:, 1])
        return Hits(hit, keys, weights, normals, found)

    def close(self) -> None:
        """Free the acceleration structure."""
        self._rays.close()


class _NoProperty:
    """The property of facets of a scene without bands."""

    def at(self, faces: ArrayLike, _u: ArrayLike, _v: ArrayLike) -> NDArray[Any]:
        return np.empty((len(np.asarray(faces)), 0), np.float32)


def _property(folder: Path, bands: int) -> "FacetProperty | _NoProperty":
    """The property of a part's facets; only the pages that are used are read from the disk."""
    if bands == 0:
        return _NoProperty()
    values = np.load(folder / "values.npy", mmap_mode="r")
    if values.ndim == 2:
        return FacetProperty(values)
    corners = np.arange(3 * len(values), dtype=np.uint32).reshape(-1, 3)
    return FacetProperty(values.reshape(-1, bands), corners)
