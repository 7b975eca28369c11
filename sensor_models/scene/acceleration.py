"""A scene inside Embree: what is built from it, and the tables that say what a hit belongs to.

Three Embree scenes are made, of what is traced or committed apart:

static   instances that stand still. Their triangles, brought to the world, lie in one hierarchy,
         which is the fastest to trace. Only where that would multiply a mesh beyond
         ``MOST_COPIED`` triangles is the mesh built once and instanced.
moving   instances on bodies, each with a transform. Moving bodies rebuilds the small hierarchy
         over the instances, never that of triangles.
volumes  the boundaries of the media, which stop no light.

The id of a geometry in its scene is its owner: volumes first, then instances, in scene order.

Memory  Faces, materials, labels and normals stay in the arrays of the meshes and are read there
        by address. Embree holds copies of vertices and faces, and its hierarchy.
Offset  Embree works in float32, which resolves 0.06 mm at 1 km and 0.5 m at the 6000 km of
        geocentric coordinates. Where a scene reaches beyond ``NEAR``, Embree's origin is moved
        to the scene's middle. That helps where transforms hold the large numbers: vertices of a
        mesh are float32 themselves.
"""

import weakref
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.tracing import embree
from sensor_models.kernels.tracing.embree import check, library
from sensor_models.kernels.tracing.instances import (
    Placements,
    normal_matrix,
    place_instances,
    write_faces,
    write_vertices,
)
from sensor_models.kernels.tracing.rays import filter_addresses
from sensor_models.kernels.tracing.scene_view import (
    CORNER_ORDERS,
    FACE_LABEL,
    FACE_MATERIAL,
    FACES,
    MOVING,
    STATIC,
    VERTEX_NORMALS,
    VOLUMES,
    SceneView,
)
from sensor_models.scene.checks import checked_mesh, checked_transform
from sensor_models.scene.errors import SceneError
from sensor_models.scene.model import Instance, Mesh, Scene

Floats = NDArray[np.float64]

#: Triangles that may be added to a scene by copying meshes that stand in several places.
MOST_COPIED = 2_000_000

#: Coordinates beyond this, in m, move Embree's origin.
NEAR = 1000.0

FLAGS = embree.SCENE_ROBUST | embree.SCENE_FILTER_IN_ARGUMENTS

#: The pose of what stands still: position, then w, x, y, z.
AT_REST = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


class Acceleration:
    """Embree's side of a scene. Not safe for threads: ``RayScene`` keeps them apart."""

    def __init__(self, scene: Scene, threads: int) -> None:
        materials = len(scene.materials)
        self._meshes = [
            checked_mesh(mesh, f"mesh {index}", scene.name, materials)
            for index, mesh in enumerate(scene.meshes)
        ]
        self.owners = [*(volume.instance for volume in scene.volumes), *scene.instances]
        self._transforms = _checked_transforms(self.owners, scene)
        #: Pose of each body, and last of the world.
        self.poses = np.array([*([*b.position, *b.orientation] for b in scene.bodies), AT_REST])
        self.view = self._new_view(len(scene.volumes))
        self.device = embree.new_device(threads)
        self._scenes: list[int] = []
        #: Frees everything of Embree's, once.
        self.release = weakref.finalize(self, _release, self.device, self._scenes)
        try:
            self._build()
        except BaseException:
            self.release()
            raise

    def move(self, moved: NDArray[np.bool_]) -> None:
        """Bring the instances on the bodies that moved to where ``poses`` has them."""
        place_instances(self._placements, self.poses, moved, self.view)
        for part in (MOVING, VOLUMES):
            if (self._bodies_in[part] & moved).any():
                library.rtcCommitScene(int(self.view.handles[part]))
        check(self.device, "moving bodies")

    def _new_view(self, volumes: int) -> SceneView:
        count = len(self.owners)
        tables = np.zeros((count, 5), np.int64)
        for owner, instance in enumerate(self.owners):
            mesh = self._meshes[instance.mesh]
            tables[owner, FACE_MATERIAL] = mesh.face_material.ctypes.data
            tables[owner, FACES] = mesh.faces.ctypes.data
            if mesh.face_label is not None:
                tables[owner, FACE_LABEL] = mesh.face_label.ctypes.data
            if mesh.vertex_normals is not None:
                tables[owner, VERTEX_NORMALS] = mesh.vertex_normals.ctypes.data
        return SceneView(
            handles=np.array([0, 0, 0, *filter_addresses()], np.int64),
            offset=self._choose_offset(),
            volumes=volumes,
            entity=np.array([instance.entity_id for instance in self.owners], np.int32),
            label=np.array([instance.label for instance in self.owners], np.int32),
            tables=tables,
            normal_matrices=np.zeros((count, 3, 3), np.float32),
            in_world=np.zeros(count, np.float32),
        )

    def _choose_offset(self) -> Floats:
        """The middle of the scene in whole metres, or zero if it lies around the origin."""
        if not self.owners:
            return np.zeros(3)
        points = np.concatenate([self._corners(owner) for owner in range(len(self.owners))])
        if np.abs(points).max() <= NEAR:
            return np.zeros(3)
        return np.asarray(np.round((points.min(axis=0) + points.max(axis=0)) / 2.0))

    def _corners(self, owner: int) -> Floats:
        """Corners of the box around an instance, in the world, as if its body were not turned."""
        instance, matrix = self.owners[owner], self._transforms[owner]
        vertices = self._meshes[instance.mesh].vertices
        if len(vertices) == 0:
            vertices = np.zeros((1, 3), np.float32)
        sides = np.stack([vertices.min(axis=0), vertices.max(axis=0)]).astype(float)
        box = np.stack(np.meshgrid(*sides.T, indexing="ij"), axis=-1).reshape(-1, 3)
        corners: Floats = box @ matrix[:3, :3].T + matrix[:3, 3] + self.poses[instance.body, :3]
        return corners

    def _build(self) -> None:
        geometries: dict[int, dict[int, int]] = {STATIC: {}, MOVING: {}, VOLUMES: {}}
        self._of_mesh: dict[int, tuple[int, NDArray[np.uint16]]] = {}
        self._corner_orders: list[NDArray[np.uint16]] = []
        instanced = _instanced_meshes(self.owners, self._meshes)
        for owner, instance in enumerate(self.owners):
            if len(self._meshes[instance.mesh].faces) == 0:
                continue
            still = STATIC if instance.body < 0 else MOVING
            part = VOLUMES if owner < self.view.volumes else still
            make = instance.body >= 0 or instance.mesh in instanced
            geometries[part][owner] = self._instance(owner) if make else self._triangles(owner)
        self._remember_placements(geometries)
        place_instances(self._placements, self.poses, np.ones(len(self.poses), np.bool_), self.view)
        for part, of_part in geometries.items():
            if of_part:
                self.view.handles[part] = self._committed(of_part)

    def _triangles(self, owner: int) -> int:
        """A geometry of triangles in the world."""
        matrix = self._transforms[owner]
        self.view.in_world[owner] = -1.0 if np.linalg.det(matrix[:3, :3]) < 0.0 else 1.0
        normal_matrix(matrix, self.view.normal_matrices[owner])
        mesh = self._meshes[self.owners[owner].mesh]
        geometry, orders = self._geometry(mesh, matrix, self.view.offset)
        self._keep_orders(owner, orders)
        return geometry

    def _instance(self, owner: int) -> int:
        """An instance of a mesh that has its own hierarchy, built at its first use."""
        index = self.owners[owner].mesh
        if index not in self._of_mesh:
            triangles, orders = self._geometry(self._meshes[index], np.eye(4), np.zeros(3))
            self._of_mesh[index] = self._committed({0: triangles}), orders
        scene, orders = self._of_mesh[index]
        self._keep_orders(owner, orders)
        geometry = library.rtcNewGeometry(self.device, embree.GEOMETRY_INSTANCE)
        library.rtcSetGeometryInstancedScene(geometry, scene)
        return int(geometry)

    def _keep_orders(self, owner: int, orders: NDArray[np.uint16]) -> None:
        self._corner_orders.append(orders)
        self.view.tables[owner, CORNER_ORDERS] = orders.ctypes.data

    def _geometry(
        self, mesh: Mesh, matrix: Floats, offset: Floats
    ) -> tuple[int, NDArray[np.uint16]]:
        """A geometry of triangles, and the orders of their corners."""
        geometry = library.rtcNewGeometry(self.device, embree.GEOMETRY_TRIANGLE)
        vertices = self._buffer(
            geometry, embree.BUFFER_VERTEX, embree.FORMAT_FLOAT3, len(mesh.vertices)
        )
        write_vertices(mesh.vertices, matrix, offset, vertices)
        faces = self._buffer(geometry, embree.BUFFER_INDEX, embree.FORMAT_UINT3, len(mesh.faces))
        orders = np.empty(len(mesh.faces), np.uint16)
        write_faces(mesh.faces, vertices, faces, orders)
        library.rtcCommitGeometry(geometry)
        check(self.device, "reading a mesh")
        return int(geometry), orders

    def _buffer(self, geometry: int, kind: int, layout: int, count: int) -> int:
        """The address of a new buffer of triples; Embree pads it, as it reads beyond the end."""
        address = library.rtcSetNewGeometryBuffer(geometry, kind, 0, layout, 12, count)
        check(self.device, f"making room for {count} items")
        return int(address)

    def _committed(self, geometries: dict[int, int]) -> int:
        """A scene of geometries under their ids, ready to be traced."""
        scene = library.rtcNewScene(self.device)
        self._scenes.append(scene)
        library.rtcSetSceneFlags(scene, FLAGS)
        for owner, geometry in geometries.items():
            library.rtcAttachGeometryByID(scene, geometry, owner)
            library.rtcReleaseGeometry(geometry)  # the scene keeps it
        library.rtcCommitScene(scene)
        check(self.device, "building a hierarchy")
        return int(scene)

    def _remember_placements(self, geometries: dict[int, dict[int, int]]) -> None:
        """What moving needs: the geometries with a transform, and which scenes hold a body."""
        placed = {
            owner: geometry
            for of_part in geometries.values()
            for owner, geometry in of_part.items()
            if self.view.in_world[owner] == 0.0
        }
        bodies = [self.owners[owner].body for owner in placed]
        last = len(self.poses) - 1
        self._placements = Placements(
            geometries=np.array(list(placed.values()), np.int64),
            owners=np.array(list(placed), np.int32),
            bodies=np.array([body if body >= 0 else last for body in bodies], np.int32),
            transforms=self._transforms[np.array(list(placed), np.intp)],
        )
        self._bodies_in = {part: np.zeros(len(self.poses), np.bool_) for part in geometries}
        for part, of_part in geometries.items():
            for owner in of_part:
                self._bodies_in[part][self.owners[owner].body] = True


def _release(device: int, scenes: list[int]) -> None:
    for scene in scenes:
        library.rtcReleaseScene(scene)
    library.rtcReleaseDevice(device)


def _checked_transforms(owners: list[Instance], scene: Scene) -> Floats:
    """The transforms of all owners, whose references are checked, too."""
    transforms = np.empty((len(owners), 4, 4))
    for index, instance in enumerate(owners):
        key = instance.name or f"instance with entity id {instance.entity_id}"
        if not 0 <= instance.mesh < len(scene.meshes):
            raise SceneError(scene.name, key, f"mesh {instance.mesh} does not exist")
        if not -1 <= instance.body < len(scene.bodies):
            raise SceneError(scene.name, key, f"body {instance.body} does not exist")
        transforms[index] = checked_transform(instance.transform, key, scene.name)
    return transforms


def _instanced_meshes(owners: list[Instance], meshes: list[Mesh]) -> set[int]:
    """Meshes that stand still in so many places that they are not copied to each."""
    uses = Counter(instance.mesh for instance in owners if instance.body < 0)
    copied, instanced = 0, set()
    for mesh, count in uses.items():
        copies = (count - 1) * len(meshes[mesh].faces)
        if copied + copies > MOST_COPIED:
            instanced.add(mesh)
        else:
            copied += copies
    return instanced
