"""Polygons as triangles.

A convex polygon becomes a fan around its first corner, which is what renderers do with it. One with
a dent is cut by ears, corner by corner; a polygon of more than ``MOST_CORNERS`` stays a fan.

Source: Meisters, Polygons have ears, The American Mathematical Monthly 82 (1975).
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.limits import refuse_above_limit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Of a polygon that is cut by ears, which takes time with the square of its corners.
MOST_CORNERS = 512


def triangles_of(
    counts: NDArray[np.int32], corners: NDArray[np.int32], points: Floats, chosen: NDArray[np.bool_]
) -> Ints:
    """The triangles of the chosen polygons, in their order; ValueError for damaged ones."""
    if len(counts) and counts.min() < 0:
        raise ValueError(f"has a face with {counts.min()} corners")
    if counts.sum(dtype=np.int64) != len(corners):
        total = counts.sum(dtype=np.int64)
        raise ValueError(f"has faces with {total} corners together, and {len(corners)} are given")
    if len(corners) and not 0 <= corners.min() <= corners.max() < len(points):
        wrong = np.flatnonzero((corners < 0) | (corners >= len(points)))[0]
        raise ValueError(f"has the corner {corners[wrong]}, and {len(points)} points")
    starts = (np.cumsum(counts, dtype=np.int64) - counts)[chosen]
    sizes = counts[chosen].astype(np.int64)
    starts, sizes = starts[sizes > 2], sizes[sizes > 2]
    refuse_above_limit(int((sizes - 2).sum()))
    order = np.arange(int((sizes - 2).sum()))
    first = np.cumsum(sizes - 2) - (sizes - 2)
    place = order - np.repeat(first, sizes - 2)
    begin = np.repeat(starts, sizes - 2)
    faces = np.stack([begin, begin + place + 1, begin + place + 2], axis=-1)
    for face in _dented(starts, sizes, corners, points):
        ring = starts[face] + np.arange(sizes[face])
        cut = _ears(points[corners[ring]].astype(np.float64))
        faces[first[face] : first[face] + sizes[face] - 2] = ring[cut]
    triangles: Ints = corners[faces].astype(np.int64)
    return triangles


def _dented(starts: Ints, sizes: Ints, corners: NDArray[np.int32], points: Floats) -> Ints:
    """The polygons that have a dent."""
    found: list[Ints] = []
    for size in np.unique(sizes):
        if not 3 < size <= MOST_CORNERS:
            continue
        which = np.flatnonzero(sizes == size)
        rings = points[corners[starts[which][:, None] + np.arange(size)]].astype(np.float64)
        ahead = np.roll(rings, -1, axis=1) - rings
        turns = np.cross(np.roll(ahead, 1, axis=1), ahead)
        spokes = rings[:, 1:] - rings[:, :1]
        normals = np.cross(spokes[:, :-1], spokes[:, 1:]).sum(axis=1)
        along = np.einsum("fkx,fx->fk", turns, normals)
        least = -1e-9 * np.einsum("fx,fx->f", normals, normals)
        found.append(which[(along < least[:, None]).any(axis=1)])
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _ears(ring: Floats) -> Ints:
    """The triangles of a polygon with dents, which is seen along its normal."""
    spokes = ring[1:] - ring[:1]
    normal = np.cross(spokes[:-1], spokes[1:]).sum(axis=0)
    drop = int(np.argmax(np.abs(normal)))
    kept = [axis for axis in range(3) if axis != drop]
    flat = ring[:, kept]
    u, v = flat.T
    area = float((u * np.roll(v, -1) - v * np.roll(u, -1)).sum())
    flat = flat if area > 0.0 else flat * (1.0, -1.0)
    left, triangles = list(range(len(ring))), []
    while len(left) > 3:
        ear = next((k for k in range(len(left)) if _is_ear(flat, left, k)), 0)
        triangles.append((left[ear - 1], left[ear], left[(ear + 1) % len(left)]))
        del left[ear]
    return np.array([*triangles, tuple(left)], np.int64)


def _is_ear(flat: Floats, left: list[int], k: int) -> bool:
    """Whether a corner sticks out, with no other corner in its triangle."""
    a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
    if _side(flat[a], flat[b], flat[c : c + 1])[0] <= 0.0:
        return False
    others = flat[[corner for corner in left if corner not in (a, b, c)]]
    inside = (
        (_side(flat[a], flat[b], others) >= 0.0)
        & (_side(flat[b], flat[c], others) >= 0.0)
        & (_side(flat[c], flat[a], others) >= 0.0)
    )
    # corners that repeat one of the three do not count: bridges to holes have such
    own = (others[:, None] == flat[[a, b, c]][None]).all(axis=2).any(axis=1)
    return not bool((inside & ~own).any())


def _side(a: Floats, b: Floats, points: Floats) -> Floats:
    """Positive for points to the left of the way from a to b."""
    ahead = b - a
    sides: Floats = ahead[0] * (points[:, 1] - a[1]) - ahead[1] * (points[:, 0] - a[0])
    return sides
