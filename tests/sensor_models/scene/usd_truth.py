"""What a ray meets on a stage of USD, by plain formulas and usd-core's own transforms.

Polygons are met where a plane is met inside of them (even and odd crossings), round shapes by
quadratic equations in their own frames; nothing is made of triangles.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pxr import Usd, UsdGeom

TIME = Usd.TimeCode.EarliestTime()
AXES = {"X": (1, 2, 0), "Y": (2, 0, 1), "Z": (0, 1, 2)}
UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def places_of(stage: Usd.Stage) -> Iterator[tuple[Usd.Prim, np.ndarray]]:
    """Shapes that are seen, each at all its places: matrices for rows, to the stage."""
    cache = UsdGeom.XformCache(TIME)
    instancers = [p for p in stage.TraverseAll() if p.IsA(UsdGeom.PointInstancer)]
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdGeom.Gprim) or prim.IsA(UsdGeom.BasisCurves):
            continue
        if any(prim.GetPath().HasPrefix(i.GetPath()) for i in instancers):
            continue
        imageable = UsdGeom.Imageable(prim)
        hidden = imageable.ComputeVisibility(TIME) == "invisible"
        if not hidden and imageable.ComputePurpose() in ("default", "render"):
            yield prim, np.array(cache.GetLocalToWorldTransform(prim))
    for instancer in instancers:
        outer = [i for i in instancers if i != instancer and _is_within(instancer, i)]
        if not outer:
            base = np.array(cache.GetLocalToWorldTransform(instancer))
            yield from ((p, m @ base) for p, m in _scattered(instancer, cache))


def _is_within(prim: Usd.Prim, other: Usd.Prim) -> bool:
    return prim.GetPath().HasPrefix(other.GetPath())


def _scattered(prim: Usd.Prim, cache: UsdGeom.XformCache) -> Iterator[tuple[Usd.Prim, np.ndarray]]:
    """Shapes of an instancer in its frame, by the transforms that usd-core has with prototypes."""
    instancer = UsdGeom.PointInstancer(prim)
    include, ignore = UsdGeom.PointInstancer.IncludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
    own = instancer.ComputeInstanceTransformsAtTime(TIME, TIME, include, ignore)
    mask = instancer.ComputeMaskAtTime(TIME) or [True] * len(own)
    targets = instancer.GetPrototypesRel().GetTargets()
    for chosen, place, shown in zip(instancer.GetProtoIndicesAttr().Get(), own, mask, strict=True):
        if not shown:
            continue
        root = prim.GetStage().GetPrimAtPath(targets[chosen])
        reach = iter(Usd.PrimRange(root))
        for part in reach:
            inner = np.array(cache.ComputeRelativeTransform(part, root)[0])
            if part == root:
                inner = np.eye(4)
            if part.IsA(UsdGeom.PointInstancer):
                reach.PruneChildren()
                yield from ((p, m @ inner @ np.array(place)) for p, m in _scattered(part, cache))
            elif part.IsA(UsdGeom.Gprim):
                yield part, inner @ np.array(place)


def ranges_of(path: Path, origins: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Ranges in metres of rays in our axes; infinite where nothing is met."""
    stage = Usd.Stage.Open(str(path))
    metres = UsdGeom.GetStageMetersPerUnit(stage)
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    starts, ways = origins @ UP / metres, directions @ UP / metres
    nearest = np.full(len(origins), np.inf)
    for prim, matrix in places_of(stage):
        inverse = np.linalg.inv(matrix)
        o, d = starts @ inverse[:3, :3] + inverse[3, :3], ways @ inverse[:3, :3]
        for t in _meetings(prim, o, d):
            nearest = np.where((t > 0.0) & (t < nearest), t, nearest)
    return nearest


def _meetings(prim: Usd.Prim, o: np.ndarray, d: np.ndarray) -> Iterator[np.ndarray]:
    """Where rays meet a shape in its own frame; NaN where they do not."""
    kind = str(prim.GetTypeName())

    def value(name: str) -> float:
        return float(prim.GetAttribute(name).Get(TIME))

    if kind == "Mesh":
        yield from _polygons(UsdGeom.Mesh(prim), o, d)
        return
    if kind == "Cube":
        half = value("size") / 2.0
        for order in AXES.values():
            yield from _disc(o[:, order], d[:, order], (-half, half), (half, half))
        return
    order = AXES[prim.GetAttribute("axis").Get()]
    o, d = o[:, order], d[:, order]
    if kind == "Plane":  # with y as its axis z is the length, and comes first here
        yield from _disc(o, d, (0.0,), (value("length") / 2.0, value("width") / 2.0))
        return
    half, radius = value("height") / 2.0, value("radius")
    if kind == "Cone":
        slope = radius / (2.0 * half)
        yield from _quadric(o, d, (1.0, 1.0, -(slope**2)), (0.0, 0.0, half), 0.0, (-half, half))
        yield from _disc(o, d, (-half,), (radius,))
        return
    yield from _quadric(o, d, (1.0, 1.0, 0.0), (0.0, 0.0, 0.0), radius**2, (-half, half))
    if kind == "Cylinder":
        yield from _disc(o, d, (-half, half), (radius,))
    else:
        for end, limits in ((half, (half, np.inf)), (-half, (-np.inf, -half))):
            yield from _quadric(o, d, (1.0, 1.0, 1.0), (0.0, 0.0, end), radius**2, limits)


def _quadric(o, d, weights, centre, level, limits) -> Iterator[np.ndarray]:
    """Where weights . (p - centre)^2 is a level, within limits of z."""
    w, s = np.array(weights), o - np.array(centre)
    a, b, c = (w * d * d).sum(1), 2.0 * (w * d * s).sum(1), (w * s * s).sum(1) - level
    with np.errstate(all="ignore"):
        root = np.sqrt(b * b - 4.0 * a * c)
        for sign in (-1.0, 1.0):
            t = (-b + sign * root) / (2.0 * a)
            z = o[:, 2] + t * d[:, 2]
            yield np.where((z >= limits[0]) & (z <= limits[1]), t, np.nan)


def _disc(o, d, heights, size) -> Iterator[np.ndarray]:
    """Discs of a radius, or rectangles of two half sides, at heights of z."""
    for height in heights:
        with np.errstate(all="ignore"):
            t = (height - o[:, 2]) / d[:, 2]
            at = o + t[:, None] * d
            inside = np.hypot(at[:, 0], at[:, 1]) <= size[0]
            if len(size) == 2:
                inside = (np.abs(at[:, 0]) <= size[0]) & (np.abs(at[:, 1]) <= size[1])
            yield np.where(inside, t, np.nan)


def _polygons(mesh: UsdGeom.Mesh, o, d) -> Iterator[np.ndarray]:
    points = np.array(mesh.GetPointsAttr().Get(TIME), float)
    corners, first = np.array(mesh.GetFaceVertexIndicesAttr().Get(TIME)), 0
    holes = set(mesh.GetHoleIndicesAttr().Get(TIME) or [])
    for number, count in enumerate(mesh.GetFaceVertexCountsAttr().Get(TIME)):
        ring = points[corners[first : first + count]]
        first += count
        if number in holes:
            continue
        normal = sum(np.cross(ring[k], ring[(k + 1) % count]) for k in range(count))
        kept = [axis for axis in range(3) if axis != np.argmax(np.abs(normal))]
        with np.errstate(all="ignore"):
            t = ((ring[0] - o) @ normal) / (d @ normal)
            at = (o + t[:, None] * d)[:, kept]
        yield np.where(_inside(at, ring[:, kept]), t, np.nan)


def _inside(at, ring) -> np.ndarray:
    """Whether a ray to the right crosses the ring an odd number of times."""
    odd = np.zeros(len(at), bool)
    for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        with np.errstate(all="ignore"):
            crosses = (a[1] > at[:, 1]) != (b[1] > at[:, 1])
            left = at[:, 0] < a[0] + (at[:, 1] - a[1]) * (b[0] - a[0]) / (b[1] - a[1])
        odd ^= crosses & left
    return odd
