"""What the surfaces of a scene are to a radar.

A material that has numbers for the radar's band is what these say. One that has none for any
radar is taken for what its numbers for light suggest: a metal for a perfect conductor, what light
goes through for glass, plants for diffuse alone, all else for concrete. Those two indices are
formulas of ITU-R P.2040-3: n - j k = sqrt(a f^b - j 17.98 c f^d / f), f in GHz.

A body of a clear material whose faces are parallel and at most 50 mm apart is a pane, which lets a
part of a wave through. Other bodies let none.
"""

import cmath
import hashlib
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.radar.fields import CONDUCTOR, DIFFUSE, INDEXED
from sensor_models.kernels.radar.reflectors import Reflectors
from sensor_models.radar.ray_parameters import LIGHT
from sensor_models.scene.materials import METAL_EXTINCTION
from sensor_models.scene.model import Instance, Material, Mesh, Scene, SurfaceKind

Floats = NDArray[np.float64]

#: a, b, c and d of the relative permittivity and the conductivity (S/m).
CONCRETE = (5.24, 0.0, 0.0462, 0.7822)
GLASS = (6.31, 0.0, 0.0036, 1.3394)
#: Materials that scatter all ways, and the share that they send back: an assumption.
PLANTS = frozenset({"leaf", "needle", "grass", "grass_dry"})
PLANT_REFLECTANCE = 0.05
#: Faces of a pane are this far apart at the most, m, and parallel to this cosine.
THICKEST, PARALLEL = 0.05, 0.9999
#: Faces lie in one plane whose normals, and depths by the size of the mesh, agree to this.
SAME_NORMAL, SAME_DEPTH = 1e3, 1e4
#: And to this, per m, they do so as far as a wave can tell: 5 um, and 0.4 um over a tube of 4 cm.
FLAT_NORMAL, FLAT_DEPTH = 1e5, 2e5
#: What rows of whole numbers are mixed with: odd, its bits spread.
MIXER = np.int64(-7046029254386353131)
#: Tubes are at most so small a part of an object (of the middle one of its three sides): with a
#: twentieth, corners of three faces came out 1.7 dB short where the grid met them badly.
SHARE = 30.0
#: Tubes are at most so much longer than narrow: 6.6 times, the cross section of a post scattered by
#: 0.5 dB from frame to frame, which is 0.15 dB with square ones.
LONGEST = 3.0
#: Meshes whose planes and panes a process remembers: a radar that starts again has the same ones.
MOST_KEPT = 256


def itu_index(numbers: tuple[float, float, float, float], frequency: float) -> complex:
    """The index n - j k of a material of ITU-R P.2040."""
    a, b, c, d = numbers
    f = frequency / 1e9
    return cmath.sqrt(a * f**b - 1j * 17.98 * c * f**d / f)


def surface_of(material: Material, frequency: float) -> tuple[int, complex, float, float]:
    """Kind, index, roughness and diffuse reflectance of a material; NaN: by the roughness."""
    given = material.radar_at(LIGHT / frequency)
    if given is not None:
        diffuse = np.nan if given.diffuse_reflectance is None else given.diffuse_reflectance
        if given.ior is None:
            return DIFFUSE, 1.0 + 0j, 0.0, diffuse
        return INDEXED, complex(given.ior, -given.extinction), given.roughness_rms, diffuse
    if any(s.extinction > METAL_EXTINCTION for s in material.at_wavelength.values()):
        return CONDUCTOR, 1.0 + 0j, 0.0, 0.0
    if material.kind == SurfaceKind.dielectric:
        return INDEXED, itu_index(GLASS, frequency), 0.0, 0.0
    if material.name in PLANTS:
        return DIFFUSE, 1.0 + 0j, 0.0, PLANT_REFLECTANCE
    return INDEXED, itu_index(CONCRETE, frequency), 0.0, 0.0


class Planes(NamedTuple):
    """What is found out of a mesh by its shape; nobody may change it, as others have it, too."""

    extents: NDArray[np.float32]  # of each face, see ``plane_extents``
    flats: NDArray[np.int32]  # likewise, ``flat_pieces``
    thickness: NDArray[np.float32] | None  # ``pane_thickness``


_kept: dict[bytes, Planes] = {}


def planes_of(mesh: Mesh, clear: NDArray[np.bool_]) -> Planes:
    """The planes and panes of a mesh, by which materials are clear."""
    digest = hashlib.sha256(clear.tobytes())
    for array in (mesh.vertices, mesh.faces, mesh.face_material):
        digest.update(repr((array.shape, array.dtype)).encode())
        digest.update(np.ascontiguousarray(array).data)
    key = digest.digest()
    found = _kept.pop(key, None)
    if found is None:
        found = Planes(plane_extents(mesh), flat_pieces(mesh), pane_thickness(mesh, clear))
    _kept[key] = found  # the last one that was used is the last one to go
    for old in list(_kept)[:-MOST_KEPT]:
        _kept.pop(old, None)  # another thread may have been here
    return found


class RadarScene:
    """A scene as a radar's tubes meet it; keeps alive what the kernels point to."""

    def __init__(self, scene: Scene, frequency: float, spacing: float) -> None:
        self.scene = scene
        owners = [*(volume.instance for volume in scene.volumes), *scene.instances]
        used = {instance.mesh for instance in owners}
        self._vertices = {m: np.ascontiguousarray(scene.meshes[m].vertices) for m in used}
        surfaces = [surface_of(material, frequency) for material in scene.materials]
        self.kinds = np.array([surface[0] for surface in surfaces], np.int64).reshape(-1)
        clear = np.array([m.kind == SurfaceKind.dielectric for m in scene.materials], bool)
        self._planes = {m: planes_of(scene.meshes[m], clear) for m in used}
        self.sizes = np.array([self._sizes(instance) for instance in owners]).reshape(-1, 3)
        middle = np.sort(self.sizes, axis=1)[:, 1] if len(owners) else np.zeros(0)
        #: Whether anything of an owner does more than scatter.
        self.mirrors = np.array(
            [bool((self.kinds[scene.meshes[i.mesh].face_material] != DIFFUSE).any())
             for i in owners], bool,
        )  # fmt: skip
        self.owners = owners
        least = 0.5 * LIGHT / frequency
        facets = np.array([0.5 * self._facets(i, LIGHT / frequency) for i in owners], float)
        self._widest = np.minimum(spacing, np.maximum(facets, least))
        self.tables = Reflectors(
            vertices=np.array([self._vertices[i.mesh].ctypes.data for i in owners], np.int64),
            transforms=np.array([self._transform(i) for i in owners], float).reshape(-1, 3, 4),
            thickness=np.array([self._pane(i) for i in owners], np.int64),
            kind=self.kinds,
            indices=np.array([surface[1] for surface in surfaces], complex).reshape(-1),
            rms=np.array([surface[2] for surface in surfaces], float).reshape(-1),
            diffuse=np.array([surface[3] for surface in surfaces], float).reshape(-1),
            clear=(clear & (self.kinds == INDEXED)).astype(np.int32),
            extents=np.array([self._planes[i.mesh].extents.ctypes.data for i in owners], np.int64),
            flats=np.array([self._planes[i.mesh].flats.ctypes.data for i in owners], np.int64),
            scales=np.array([self._scale(instance) for instance in owners], float).reshape(-1),
            sizes=np.ascontiguousarray(self.sizes.max(axis=1, initial=0.0)),
            spacing=np.minimum(self._widest, np.maximum(middle / SHARE, least)),
        )
        #: Of the box around each owner, in the frame of its body or the world.
        self.corners = [self._corners(owner) for owner in range(len(owners))]

    def spacing_of(self, owner: int, wide: float, high: float) -> tuple[float, float]:
        """The widest that tubes at an object may be across and upward, m.

        ``wide`` and ``high`` are the sides of its picture. What stands or lies straight in it, as a
        post does, is thin along one side: along the other, that side counts instead.
        """
        least, thin = self.tables.spacing[owner], 2.0 * float(np.sort(self.sizes[owner])[1])

        def along(side: float, other: float) -> float:
            share = min(side / (2.0 * SHARE), LONGEST * least) if other <= thin else 0.0
            return float(min(self._widest[owner], max(share, least)))

        return along(wide, high), along(high, wide)

    @staticmethod
    def _transform(instance: Instance) -> Any:
        return np.asarray(instance.transform, float)[:3]

    def _sizes(self, instance: Instance) -> Floats:
        """The sides of the box around an instance, along the axes of its mesh, m."""
        vertices = self._vertices[instance.mesh]
        if len(vertices) == 0:
            return np.zeros(3)
        sides = np.ptp(vertices.astype(float), axis=0)
        stretch = np.linalg.norm(np.asarray(instance.transform, float)[:3, :3], axis=0)
        found: Floats = sides * stretch
        return found

    def _facets(self, instance: Instance, wavelength: float) -> float:
        """The size of the facets that mirror: the side of a square of two of them, in the median.

        Facets below two wavelengths stand for something round. Tubes that are larger find a facet
        of another slope in each, and cross sections that differ by 1 dB from frame to frame.
        """
        mesh = self.scene.meshes[instance.mesh]
        faces = mesh.faces[self.kinds[mesh.face_material] != DIFFUSE]
        if len(faces) == 0:
            return math.inf
        corners = self._vertices[instance.mesh].astype(float)[faces]
        corners = corners @ np.asarray(instance.transform, float)[:3, :3].T
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        size = math.sqrt(float(np.median(np.linalg.norm(normals, axis=1))))
        return size if size < 2.0 * wavelength else math.inf

    @staticmethod
    def _scale(instance: Instance) -> float:
        """By how much an instance is larger than its mesh, in the mean of all directions."""
        volume = abs(float(np.linalg.det(np.asarray(instance.transform, float)[:3, :3])))
        return float(volume ** (1.0 / 3.0))

    def _pane(self, instance: Instance) -> int:
        thickness = self._planes[instance.mesh].thickness
        return 0 if thickness is None else int(thickness.ctypes.data)

    def _corners(self, owner: int) -> Floats:
        """The corners of the box around an owner, in the frame of its body or the world."""
        vertices = self._vertices[self.owners[owner].mesh].astype(float)
        if len(vertices) == 0:
            return np.zeros((0, 3))
        sides = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
        box = np.stack(np.meshgrid(*sides.T, indexing="ij"), axis=-1).reshape(-1, 3)
        matrix = self.tables.transforms[owner]
        found: Floats = box @ matrix[:, :3].T + matrix[:, 3]
        return found


def plane_extents(mesh: Mesh) -> NDArray[np.float32]:
    """How far the plane reaches that each face lies in, m: of all faces of the mesh in it.

    That is the area by the longest side of a box around, so it is the width of a strip, and little
    where faces lie in one plane far apart.
    """
    if len(mesh.faces) == 0:
        return np.zeros(0, np.float32)
    corners = mesh.vertices.astype(float)[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    double = np.linalg.norm(normals, axis=1)
    normals /= np.maximum(double, 1e-30)[:, np.newaxis]
    size = max(float(np.ptp(corners.reshape(-1, 3), axis=0).max()), 1e-9)
    depth = np.einsum("ij,ij->i", normals, corners.mean(axis=1)) / size
    keys = np.round(np.column_stack([normals * SAME_NORMAL, depth * SAME_DEPTH])).astype(np.int64)
    _, plane = np.unique(_mixed(keys), return_inverse=True)
    count = int(plane.max()) + 1
    area = np.bincount(plane, 0.5 * double, count)
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, plane, corners.min(axis=1))
    np.maximum.at(high, plane, corners.max(axis=1))
    longest = np.maximum((high - low).max(axis=1), 1e-30)
    return np.ascontiguousarray((area / longest)[plane], np.float32)


def _mixed(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each row, which tells it from others."""
    found = np.zeros(len(keys), np.int64)
    for column in keys.T:
        found = (found + column) * MIXER
        found ^= found >> 29
    return found


def flat_pieces(mesh: Mesh) -> NDArray[np.int32]:
    """A number for the flat piece that each face is part of: its least face.

    Of a piece are faces of one material that lie in one plane and hang together by their edges:
    what is cut off from it has gaps between that rays must not miss.
    """
    count = len(mesh.faces)
    pieces = np.arange(count)
    if count == 0:
        return pieces.astype(np.int32)
    corners = mesh.vertices.astype(float)[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-30)[:, np.newaxis]
    depth = np.einsum("ij,ij->i", normals, corners.mean(axis=1))
    keys = np.column_stack([normals * FLAT_NORMAL, depth * FLAT_DEPTH, mesh.face_material])
    plane = _mixed(np.round(keys).astype(np.int64))
    bits = (mesh.vertices.astype(np.float32) + np.float32(0.0)).view(np.int32)  # no -0
    points = _mixed(bits.astype(np.int64))[mesh.faces]
    sides = np.sort(points[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    _, edge = np.unique(_mixed(np.column_stack([np.repeat(plane, 3), sides])), return_inverse=True)
    edge, faces = edge.reshape(-1), np.repeat(np.arange(count), 3)
    least = np.empty(int(edge.max()) + 1, np.int64)
    while True:  # the least face that is known goes on over edges, and then along what it is of
        least[:] = count
        np.minimum.at(least, edge, pieces[faces])
        found = pieces.copy()
        np.minimum.at(found, faces, least[edge])
        np.minimum.at(found, pieces, found.copy())
        found = found[found]
        if (found == pieces).all():
            return np.ascontiguousarray(pieces, np.int32)
        pieces = found


def pane_thickness(mesh: Mesh, clear: NDArray[np.bool_]) -> NDArray[np.float32] | None:
    """The thickness of the pane that each face is one side of, 0 for none; None if all are none.

    The other side is looked for among the clear faces straight behind the middle of a face. A mesh
    that its instances stretch has the thickness of the mesh as it is.
    """
    faces = np.flatnonzero(clear[mesh.face_material]) if len(clear) else np.zeros(0, int)
    if len(faces) == 0:
        return None
    corners = mesh.vertices.astype(float)[mesh.faces[faces]]
    edges = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normals = np.cross(*edges)
    area = np.linalg.norm(normals, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        normals = normals / area[:, np.newaxis]
    middles = corners.mean(axis=1)
    found = np.zeros(len(mesh.faces), np.float32)
    for place, face in enumerate(faces):
        found[face] = _behind(place, normals, middles, corners)
    return found if found.any() else None


def _behind(place: int, normals: Floats, middles: Floats, corners: Floats) -> float:
    """How far behind the middle of a face another one faces the other way, 0 for none."""
    normal = normals[place]
    opposite = normals @ normal < -PARALLEL
    depth = (middles[place] - middles) @ normal
    near = np.flatnonzero(opposite & (depth > 1e-6) & (depth <= THICKEST))
    for other in near[np.argsort(depth[near])]:
        a, b, c = corners[other]
        point = middles[place] - depth[other] * normal
        if _holds(a, b, c, point):
            return float(depth[other])
    return 0.0


def _holds(a: Floats, b: Floats, c: Floats, point: Floats) -> bool:
    """Whether a triangle holds a point of its plane, its edges included."""
    # least squares of two shares, whose equations are solved faster than they are handed over
    left, right, way = b - a, c - a, point - a
    square, other, both = left @ left, right @ right, left @ right
    of_left, of_right = left @ way, right @ way
    size = square * other - both * both
    first = (other * of_left - both * of_right) / size
    second = (square * of_right - both * of_left) / size
    return bool(min(first, second) >= -1e-6 and first + second <= 1.0 + 1e-6)
