"""A scene inside Embree: what is built from it, and the tables that say what a hit belongs to.

The world, and each movable body in its own frame, has two Embree scenes that are traced separately:
one of the surfaces, and one of the boundaries of media, which stop no light. They do not change
after they are built. Each run is told where bodies are (``Bodies`` of
``kernels.tracing.scene_view``), and rays are transformed to their frames
(``kernels.tracing.moving``).

Triangles are transformed to the world, or to their body, and are in one hierarchy, which is fastest
to trace. Only if copies of a mesh would have more than ``MOST_COPIED`` triangles, or fewer on
bodies, the mesh is built once and instanced.

The id of a geometry in its scene is its owner: volumes first, then instances, in scene order.

Shapes  A mesh that changes its shape has several sets of vertices, which Embree blends by the time
        of a ray (``Bodies.phases``). Boxes around bodies hold all of them.
Memory  Faces, materials, labels and normals stay in the arrays of the meshes and are read there
        by address. Embree holds copies of vertices and faces, and its hierarchy.
Offset  Embree works in float32, which resolves 0.06 mm at 1 km and 0.5 m at the 6000 km of
        geocentric coordinates. If a scene reaches beyond ``NEAR``, Embree's origin is moved to
        the scene's middle, and likewise for each body. That helps if the large numbers are in
        transforms: vertices of a mesh are float32 themselves. Bodies lose no precision wherever
        they move, because rays are transformed to their frames in float64.
"""

import weakref
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.tracing import embree
from sensor_models.kernels.tracing.embree import check, library
from sensor_models.kernels.tracing.instances import (
    normal_matrix,
    place_bodies,
    write_faces,
    write_vertices,
)
from sensor_models.kernels.tracing.packets import BLOCK
from sensor_models.kernels.tracing.rays import filter_addresses
from sensor_models.kernels.tracing.scene_view import (
    CORNER_ORDERS,
    FACE_LABEL,
    FACE_MATERIAL,
    FACES,
    SURFACES,
    TABLES,
    VERTEX_NORMALS,
    VOLUMES,
    Bodies,
    SceneView,
)
from sensor_models.scene.checks import checked_mesh, checked_transform
from sensor_models.scene.devices import device_for
from sensor_models.scene.errors import SceneError
from sensor_models.scene.model import Instance, Mesh, Scene

Floats = NDArray[np.float64]

#: How many triangles may be added to a scene by copying meshes that are in several places.
MOST_COPIED = 2_000_000
#: The same for bodies, which have a hierarchy each: as much as stays in the processor's cache. With
#: a copy for each of 1000 cars, a sweep took four times as long as with one copy for all.
MOST_COPIED_TO_BODIES = 10_000

#: Coordinates beyond this, in m, move Embree's origin.
NEAR = 1000.0

FLAGS = embree.SCENE_ROBUST | embree.SCENE_FILTER_IN_ARGUMENTS

#: Boxes around bodies are larger than they need to be, by a share and by metres.
MARGIN = 1e-4


class Acceleration:
    """The Embree scenes of a scene. They do not change, so any number of threads may use them."""

    def __init__(self, scene: Scene, threads: int, origin: Floats | None = None) -> None:
        """``origin`` is Embree's in the world; None for one that suits the scene."""
        self._origin = origin
        materials = len(scene.materials)
        self._meshes = [
            checked_mesh(mesh, f"mesh {index}", scene.name, materials)
            for index, mesh in enumerate(scene.meshes)
        ]
        self.owners = [*(volume.instance for volume in scene.volumes), *scene.instances]
        self._transforms = _checked_transforms(self.owners, scene)
        self._clips = [body.clip for body in scene.bodies]
        self._clip_lengths = scene.clip_lengths
        #: Poses of the bodies as in the scene's manifest.
        self.poses = np.array([[*b.position, *b.orientation] for b in scene.bodies]).reshape(-1, 7)
        #: The scene with its bodies there.
        self.view = self._new_view(len(scene.volumes))
        self.device = device_for(threads)
        self._scenes: list[int] = []
        #: Frees the Embree scenes, once.
        self.release = weakref.finalize(self, _release, self._scenes)
        try:
            self._build()
        except BaseException:
            self.release()
            raise
        self.view = self.view_of(self.poses[np.newaxis], 0, 0)

    def view_of(
        self, poses: Floats, first: int, spans: int, times: Floats | None = None
    ) -> SceneView:
        """The scene with its bodies at poses (knots, bodies, 7), see ``Bodies`` of the kernels.

        ``times`` are those of the knots in s. Without them clips are at their first shape.
        """
        bodies, count = self.view.bodies, len(self.poses)
        there = Bodies(
            bodies.scenes,
            bodies.shapes,
            np.empty((len(poses), count, 12)),
            np.empty_like(bodies.balls),
            np.empty_like(bodies.order),
            np.empty_like(bodies.groups),
            np.empty_like(bodies.boxes),
            self._phases(len(poses), times),
            int(first),
            int(spans),
        )
        place_bodies(bodies.shapes, np.ascontiguousarray(poses, np.float64), there)
        return self.view._replace(bodies=there)

    def _phases(self, knots: int, times: Floats | None) -> Floats:
        """How far the clips of bodies are at knots; nothing if no body has one."""
        if not self._clip_lengths.any():
            return np.zeros((0, 0))
        phases = np.zeros((knots, len(self._clips)))
        if times is not None:
            for body in np.flatnonzero(self._clip_lengths):
                length = float(self._clip_lengths[body])
                phases[:, body] = self._clips[body].phase_at(times, length)
        return phases

    def _new_view(self, volumes: int) -> SceneView:
        count = len(self.owners)
        tables = np.zeros((count, TABLES), np.int64)
        for owner, instance in enumerate(self.owners):
            mesh = self._meshes[instance.mesh]
            tables[owner, FACE_MATERIAL] = mesh.face_material.ctypes.data
            tables[owner, FACES] = mesh.faces.ctypes.data
            if mesh.face_label is not None:
                tables[owner, FACE_LABEL] = mesh.face_label.ctypes.data
            if mesh.vertex_normals is not None:
                tables[owner, VERTEX_NORMALS] = mesh.vertex_normals.ctypes.data
        return SceneView(
            handles=np.array([0, 0, *filter_addresses()], np.int64),
            offset=_origin_for(self._all_corners()) if self._origin is None else self._origin,
            volumes=volumes,
            entity=np.array([instance.entity_id for instance in self.owners], np.int32),
            label=np.array([instance.label for instance in self.owners], np.int32),
            tables=tables,
            body_of=np.array([instance.body for instance in self.owners], np.int32),
            normal_matrices=np.zeros((count, 3, 3), np.float32),
            in_place=np.zeros(count, np.float32),
            bodies=self._new_bodies(),
        )

    def _new_bodies(self) -> Bodies:
        """The bodies of the scene, without what is on them."""
        count = len(self.poses)
        shapes, placed = np.zeros((count, 9)), np.empty((1, count, 12))
        shapes[:, 6:] = -1.0
        blocks, boxes = -(-count // BLOCK), np.zeros((count, 6))
        balls, groups = np.zeros((blocks, 4, BLOCK)), np.zeros((-(-blocks // BLOCK), 4, BLOCK))
        order, scenes = np.zeros(blocks * BLOCK, np.int64), np.zeros((count, 2), np.int64)
        return Bodies(
            scenes, shapes, placed, balls, order, groups, boxes, self._phases(1, None), 0, 0
        )

    def _all_corners(self) -> Floats:
        """Corners of the boxes around all instances, in the world, as if no body were turned."""
        found = [np.zeros((0, 3))]
        for owner, instance in enumerate(self.owners):
            shift = self.poses[instance.body, :3] if instance.body >= 0 else 0.0
            found.append(self._corners(owner) + shift)
        return np.concatenate(found)

    def _corners(self, owner: int) -> Floats:
        """Corners of the box around an instance, in the frame of its body or the world."""
        instance, matrix = self.owners[owner], self._transforms[owner]
        mesh = self._meshes[instance.mesh]
        vertices = mesh.vertices if mesh.postures is None else mesh.postures.reshape(-1, 3)
        if len(vertices) == 0:
            vertices = np.zeros((1, 3), np.float32)
        sides = np.stack([vertices.min(axis=0), vertices.max(axis=0)]).astype(float)
        box = np.stack(np.meshgrid(*sides.T, indexing="ij"), axis=-1).reshape(-1, 3)
        corners: Floats = box @ matrix[:3, :3].T + matrix[:3, 3]
        return corners

    def _build(self) -> None:
        self._of_mesh: dict[int, tuple[int, NDArray[np.uint16]]] = {}
        self._corner_orders: list[NDArray[np.uint16]] = []
        instanced = _instanced_meshes(self.owners, self._meshes)
        places: dict[tuple[int, int], list[int]] = {}
        for owner, instance in enumerate(self.owners):
            normal_matrix(self._transforms[owner], self.view.normal_matrices[owner])
            if len(self._meshes[instance.mesh].faces):
                part = VOLUMES if owner < self.view.volumes else SURFACES
                places.setdefault((instance.body, part), []).append(owner)
        for body in {body for body, _ in places if body >= 0}:
            self._shape(body, [*places.get((body, SURFACES), ()), *places.get((body, VOLUMES), ())])
        for (body, part), owners in places.items():
            origin = self.view.offset if body < 0 else self.view.bodies.shapes[body, :3]
            scene = self._committed(
                {
                    owner: self._instance(owner, origin)
                    if self.owners[owner].mesh in instanced
                    else self._triangles(owner, origin)
                    for owner in owners
                }
            )
            if body < 0:
                self.view.handles[part] = scene
            else:
                self.view.bodies.scenes[body, part] = scene

    def _shape(self, body: int, owners: list[int]) -> None:
        """Find Embree's origin on a body, and a box around what is on it."""
        shape = self.view.bodies.shapes[body]
        corners = np.concatenate([self._corners(owner) for owner in owners])
        least, most = corners.min(axis=0), corners.max(axis=0)
        shape[:3], shape[3:6] = _origin_for(corners), 0.5 * (least + most)
        shape[6:] = (0.5 + MARGIN) * (most - least) + MARGIN

    def _triangles(self, owner: int, origin: Floats) -> int:
        """A geometry of triangles in the world, or on their body."""
        matrix = self._transforms[owner]
        self.view.in_place[owner] = -1.0 if np.linalg.det(matrix[:3, :3]) < 0.0 else 1.0
        geometry, orders = self._geometry(self._meshes[self.owners[owner].mesh], matrix, origin)
        self._keep_orders(owner, orders)
        return geometry

    def _instance(self, owner: int, origin: Floats) -> int:
        """An instance of a mesh that has its own hierarchy, built at its first use."""
        index = self.owners[owner].mesh
        if index not in self._of_mesh:
            triangles, orders = self._geometry(self._meshes[index], np.eye(4), np.zeros(3))
            self._of_mesh[index] = self._committed({0: triangles}), orders
        scene, orders = self._of_mesh[index]
        self._keep_orders(owner, orders)
        geometry = library.rtcNewGeometry(self.device, embree.GEOMETRY_INSTANCE)
        library.rtcSetGeometryInstancedScene(geometry, scene)
        columns = self._transforms[owner, :3].T.copy()
        columns[3] -= origin
        place = columns.astype(np.float32)
        layout = embree.FORMAT_FLOAT3X4_COLUMNS
        library.rtcSetGeometryTransform(geometry, 0, layout, place.ctypes.data)
        library.rtcCommitGeometry(geometry)
        return int(geometry)

    def _keep_orders(self, owner: int, orders: NDArray[np.uint16]) -> None:
        self._corner_orders.append(orders)
        self.view.tables[owner, CORNER_ORDERS] = orders.ctypes.data

    def _geometry(
        self, mesh: Mesh, matrix: Floats, offset: Floats
    ) -> tuple[int, NDArray[np.uint16]]:
        """A geometry of triangles, and the orders of their corners."""
        geometry = library.rtcNewGeometry(self.device, embree.GEOMETRY_TRIANGLE)
        shapes = [mesh.vertices] if mesh.postures is None else list(mesh.postures)
        if len(shapes) > 1:
            library.rtcSetGeometryTimeStepCount(geometry, len(shapes))
        count, first = len(mesh.vertices), 0
        for slot, shape in enumerate(shapes):
            vertices = self._buffer(
                geometry, embree.BUFFER_VERTEX, embree.FORMAT_FLOAT3, count, slot
            )
            write_vertices(shape, matrix, offset, vertices)
            first = first or vertices
        faces = self._buffer(geometry, embree.BUFFER_INDEX, embree.FORMAT_UINT3, len(mesh.faces))
        orders = np.empty(len(mesh.faces), np.uint16)
        write_faces(mesh.faces, first, faces, orders)
        library.rtcCommitGeometry(geometry)
        check(self.device, "reading a mesh")
        return int(geometry), orders

    def _buffer(self, geometry: int, kind: int, layout: int, count: int, slot: int = 0) -> int:
        """The address of a new buffer of triples; Embree pads it, as it reads beyond the end."""
        address = library.rtcSetNewGeometryBuffer(geometry, kind, slot, layout, 12, count)
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


def _release(scenes: list[int]) -> None:
    for scene in scenes:
        library.rtcReleaseScene(scene)


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


def _origin_for(corners: Floats) -> Floats:
    """The middle of some corners in whole metres, or zero if they lie around the origin."""
    if len(corners) == 0 or np.abs(corners).max() <= NEAR:
        return np.zeros(3)
    return np.asarray(np.round((corners.min(axis=0) + corners.max(axis=0)) / 2.0))


def _instanced_meshes(owners: list[Instance], meshes: list[Mesh]) -> set[int]:
    """Meshes that are in so many places that they are not copied to each."""
    instanced = set()
    for on_bodies, most in ((False, MOST_COPIED), (True, MOST_COPIED_TO_BODIES)):
        uses = Counter(instance.mesh for instance in owners if (instance.body >= 0) == on_bodies)
        copied = 0
        for mesh, count in uses.items():
            copies = (count - 1) * len(meshes[mesh].faces)
            if copied + copies > most:
                instanced.add(mesh)
            else:
                copied += copies
    return instanced
