"""Labelled entities in an image: boxes in 2D and 3D, masks, visibility and truncation.

An entity is labelled if an instance of it has one of the wanted semantic labels. Its box in 3D is
the smallest around all its instances in the frame of its body, or of its first instance if it is
on none. Of that box, seen by a camera with any lens:

full box      around its edges in front of the camera, also outside of the image and behind others;
              edges are followed point by point where the lens bends them
truncation    share of the full box that is outside of the image (KITTI)
visibility    pixels that show the entity, over those that would if nothing else were in the scene
visible box   around the pixels that show it (COCO ``bbox``), and their mask, run-length encoded by
              columns as COCO has it

Source: Lin and others, "Microsoft COCO", ECCV 2014, and its API for the encoding; Geiger, Lenz,
Urtasun, "Are we ready for autonomous driving?", CVPR 2012, for truncation. KITTI counts occlusion
in four steps by eye; here it is a share by rays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.lens import image_of
from sensor_models.core.frames import MountParameters, matrix_from_quaternion
from sensor_models.kernels.camera.ways import Lens
from sensor_models.scene.model import Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import Pose

Floats = NDArray[np.float64]

#: Corners of a unit cube.
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
_EDGES = [
    (a, b) for a in range(8) for b in range(a) if np.abs(_CORNERS[a] - _CORNERS[b]).sum() == 2
]
#: Where edges of boxes are cut off that go behind the camera, m.
NEAR = 1e-3
#: Points of an edge that a lens bends.
POINTS = 65


class Eye(Protocol):
    """The pixels of a camera that boxes are drawn into."""

    @property
    def axes(self) -> Floats:
        """Unit rays through the middles of the pixels in the sensor frame, (rows, columns, 3)."""

    @property
    def lens(self) -> Lens:
        """From directions to pixels."""

    @property
    def reach(self) -> float:
        """How far it sees, m."""

    @property
    def mount(self) -> MountParameters:
        """Where it sits on its body."""

    def sensor_pose(self, body: Floats) -> Pose:
        """Position and quaternion in the world, of the pose of its body."""


@dataclass(frozen=True)
class Entity:
    """A labelled entity of a scene."""

    entity_id: int
    label: int
    name: str
    body: int  # -1 for the world
    centre: Floats  # of its box, in the frame of the body
    size: Floats  # along the axes of its box, m
    axes: Floats  # (3, 3), columns are the axes of the box, in the frame of the body


def entities_of(scene: Scene, labels: Sequence[str]) -> list[Entity]:
    """The entities with these labels, in the order of their ids."""
    wanted = {number for number, name in scene.labels.items() if name in labels}
    by_id: dict[int, list[int]] = {}
    for place, instance in enumerate(scene.instances):
        by_id.setdefault(instance.entity_id, []).append(place)
    found = []
    for entity_id, places in sorted(by_id.items()):
        own = [scene.instances[place].label for place in places]
        label = next((label for label in own if label in wanted), None)
        if label is not None:
            found.append(_entity(scene, entity_id, label, places))
    return found


def _entity(scene: Scene, entity_id: int, label: int, places: Sequence[int]) -> Entity:
    first = scene.instances[places[0]]
    axes = np.eye(3)
    if first.body < 0:  # turned as its first instance
        left, _, right = np.linalg.svd(first.transform[:3, :3])
        axes = left @ right
    points = np.concatenate(
        [
            scene.meshes[scene.instances[p].mesh].vertices.astype(float)
            @ scene.instances[p].transform[:3, :3].T
            + scene.instances[p].transform[:3, 3]
            for p in places
        ]
    )
    along = points @ axes
    low, high = along.min(axis=0), along.max(axis=0)
    centre = axes @ ((low + high) / 2.0)
    name = first.name or f"entity {entity_id}"
    return Entity(entity_id, label, name, first.body, centre, high - low, axes)


class Boxes:
    """Finds the labelled entities of a scene in the images of cameras."""

    def __init__(self, scene: Scene, labels: Sequence[str], smallest: int) -> None:
        self.entities = entities_of(scene, labels)
        self._scene, self._smallest = scene, smallest
        self._alone: dict[int, RayScene] = {}

    def close(self) -> None:
        """Free what was built."""
        for rays in self._alone.values():
            rays.close()
        self._alone.clear()

    def annotate(
        self, camera: Eye, pose: Floats, bodies: Floats, seen: NDArray[np.int32]
    ) -> list[dict[str, Any]]:
        """What is seen of each entity in an image of entities, (rows, columns)."""
        place, turn = camera.sensor_pose(pose)
        origin, axes = np.array(place), matrix_from_quaternion(np.array(turn))
        found = []
        for entity in self.entities:
            mask = seen == entity.entity_id
            pixels = int(np.count_nonzero(mask))
            if pixels < self._smallest:
                continue
            centre, box = _in_world(entity, bodies)
            corners = centre + (_CORNERS * entity.size / 2.0) @ box.T
            full = _full_box(camera.lens, (corners - origin) @ axes)
            alone = self._pixels_alone(entity, bodies, camera, origin, axes, full)
            found.append(
                {
                    "entity_id": entity.entity_id,
                    "name": entity.name,
                    "category_id": entity.label,
                    "bbox": _box_of(mask),
                    "area": pixels,
                    "iscrowd": 0,
                    "segmentation": run_lengths(mask),
                    "full_bbox": full,
                    "truncation": _truncation(full, *mask.shape),
                    "visibility": pixels / max(alone, pixels),
                    "box_3d": {
                        "centre": (axes.T @ (centre - origin)).tolist(),
                        "size": entity.size.tolist(),
                        "axes": (axes.T @ box).tolist(),
                        "centre_world": centre.tolist(),
                    },
                }
            )
        return found

    def _pixels_alone(
        self,
        entity: Entity,
        bodies: Floats,
        camera: Eye,
        origin: Floats,
        axes: Floats,
        full: list[float],
    ) -> int:
        """How many pixels of the image would show an entity if it were alone."""
        rows, columns = camera.axes.shape[:2]
        left, top, width, height = full
        # One more to each side: a bent edge may pass a little outside of its points.
        first_column, last_column = max(0, int(left) - 1), min(columns, int(left + width) + 2)
        first_row, last_row = max(0, int(top) - 1), min(rows, int(top + height) + 2)
        part = camera.axes[first_row:last_row, first_column:last_column]
        if part.size == 0:
            return 0
        rays = self._scene_of(entity)
        if len(bodies):
            rays.move_all(bodies)
            rays.commit()
        hits = rays.trace_bare(origin, part @ axes.T, camera.reach)
        return int(np.isfinite(hits.t).sum())

    def _scene_of(self, entity: Entity) -> RayScene:
        if entity.entity_id not in self._alone:
            own = tuple(i for i in self._scene.instances if i.entity_id == entity.entity_id)
            self._alone[entity.entity_id] = RayScene(
                replace(self._scene, instances=own, volumes=()), threads=1
            )
        return self._alone[entity.entity_id]


def _in_world(entity: Entity, bodies: Floats) -> tuple[Floats, Floats]:
    """Centre and axes of a box in the world."""
    if entity.body < 0:
        return entity.centre, entity.axes
    pose = bodies[entity.body]
    turn = matrix_from_quaternion(pose[3:])
    return pose[:3] + turn @ entity.centre, turn @ entity.axes


def _full_box(lens: Lens, corners: Floats) -> list[float]:
    """The box in the image around a box whose corners are in the frame of the camera."""
    share = np.linspace(0.0, 1.0, POINTS if lens.bends or lens.fisheye else 2)[:, None]
    edges = [
        one + share * (other - one)
        for one, other in (_ahead(lens, corners[a], corners[b]) for a, b in _EDGES)
        if lens.fisheye or max(one[0], other[0]) >= NEAR
    ]
    image = image_of(lens, np.concatenate(edges))
    low, high = np.nanmin(image, axis=0), np.nanmax(image, axis=0)
    return [*low.tolist(), *(high - low).tolist()]


def _ahead(lens: Lens, one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """The ends of an edge, or of its part in front of a pinhole, where it passes that."""
    if lens.fisheye or (one[0] >= NEAR) == (other[0] >= NEAR):
        return one, other
    cut = one + (NEAR - one[0]) / (other[0] - one[0]) * (other - one)
    return (one, cut) if one[0] >= NEAR else (cut, other)


def _truncation(box: Sequence[float], rows: int, columns: int) -> float:
    left, top, width, height = box
    inside_x = max(0.0, min(left + width, columns) - max(left, 0.0))
    inside_y = max(0.0, min(top + height, rows) - max(top, 0.0))
    area = width * height
    return float(1.0 - inside_x * inside_y / area) if area > 0.0 else 0.0


def _box_of(mask: NDArray[np.bool_]) -> list[float]:
    """Left, top, width and height of the pixels of a mask."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top = columns[0], rows[0]
    return [float(left), float(top), float(columns[-1] + 1 - left), float(rows[-1] + 1 - top)]


def run_lengths(mask: NDArray[np.bool_]) -> dict[str, Any]:
    """A mask as COCO's uncompressed runs: lengths of 0 and 1 in turn, down the columns."""
    flat = mask.ravel(order="F")
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    bounds = np.concatenate([[0], edges, [len(flat)]])
    counts = np.diff(bounds).tolist()
    if len(flat) and flat[0]:
        counts = [0, *counts]
    return {"size": list(mask.shape), "counts": counts}
