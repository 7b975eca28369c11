"""From a checked manifest to a scene: names become numbers, tables become what they describe.

Materials, media and meshes are numbered in the order of first use; materials that nothing uses
are left out. The medium that fills the world has number 0. An instance without an entity id gets
the next free one, from 1 on, in the order of the manifest.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.earth_magnetism import field_of_world
from sensor_models.core.frames import Quaternion, matrix_from_quaternion, unit_orientation
from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError
from sensor_models.scene.errors import SceneError
from sensor_models.scene.limits import MAX_INSTANCES
from sensor_models.scene.materials import defined_material, find_material, material_library
from sensor_models.scene.media import defined_medium
from sensor_models.scene.meshes import build_mesh, is_closed
from sensor_models.scene.model import (
    NO_LABEL,
    Body,
    Clip,
    Instance,
    Joint,
    Material,
    Medium,
    MediumVolume,
    Mesh,
    Scene,
)
from sensor_models.scene.schema import InstanceTable, Manifest, Place, Pose, VolumeTable
from sensor_models.scene.sky import sky_of
from sensor_models.scene.source import Source
from sensor_models.scene.warmth import Warming

_T = TypeVar("_T")

_IDENTITY = (1.0, 0.0, 0.0, 0.0)
_LARGEST_ID = 2**31 - 1


class Assembly:
    """A scene while it is assembled: names become numbers, in the order of first use."""

    def __init__(self, path: Path, manifest: Manifest, allow_outside: bool) -> None:
        self.path = path
        self.manifest = manifest
        self.known_materials: Mapping[str, Material] = {}
        self.materials: dict[str, int] = {}
        self.bodies = _numbers((body.name for body in manifest.bodies), path, "bodies")
        self.source = Source(
            manifest=path,
            allow_outside=allow_outside,
            material_index=self._material_index,
            is_material=lambda name: name in self.known_materials,
            label_number=self._label_number,
            files=[path],
        )

    def scene(self) -> Scene:
        """The assembled scene; ``SceneError`` for the first thing that is wrong."""
        manifest = self.manifest
        self._define_materials()
        self._check_joints()
        visible = {table.mesh for table in manifest.instances}
        meshes = {
            name: build_mesh(name, table, self.source, name in visible)
            for name, table in manifest.meshes.items()
        }
        numbers = {name: number for number, name in enumerate(meshes)}
        media = self._media()
        closed = cache(lambda name: is_closed(meshes[name]))  # many volumes may have one mesh
        materials = [self.known_materials[name] for name in self.materials]
        warming = Warming(list(meshes.values()), materials)
        instances = tuple(self._instances(numbers, meshes, warming))
        self._check_clips(warming.meshes, instances)
        volumes = tuple(
            self._volume(number, table, meshes, numbers, list(media), closed)
            for number, table in enumerate(manifest.volumes)
        )
        return Scene(
            name=manifest.name,
            meshes=tuple(warming.meshes),
            instances=instances,
            materials=tuple(warming.materials),
            bodies=tuple(self._body(number) for number in range(len(manifest.bodies))),
            media=tuple(media.values()),
            volumes=volumes,
            gravity=manifest.world.gravity,
            magnetic_field=self._magnetic_field(),
            origin=self._origin(),
            sky=sky_of(manifest.sky),
            textures=tuple(self.source.textures),
            labels={number: name for name, number in manifest.labels.items()},
            files=tuple(self.source.files),
            notes=tuple(self.source.notes),
        )

    def _define_materials(self) -> None:
        """Know the materials of the library, and those of the manifest."""
        library, brdfs = material_library(), self.source.brdfs
        own = {
            name: defined_material(name, table, self.path, library, brdfs)
            for name, table in self.manifest.materials.items()
        }
        self.known_materials = {**library, **own}

    def _origin(self) -> Georeference | None:
        """Where the world is on the Earth, if that is given."""
        given = self.manifest.world.origin
        if given is None:
            return None
        latitude, longitude, heading = map(
            math.radians, (given.latitude_deg, given.longitude_deg, given.heading_deg)
        )
        return Georeference(latitude, longitude, given.height, heading)

    def _magnetic_field(self) -> tuple[float, float, float]:
        """The field that is given, or that of the Earth."""
        world, origin = self.manifest.world, self._origin()
        if world.earth_field_date is None or origin is None:  # the schema wants both
            return world.magnetic_field
        try:
            return field_of_world(origin, world.earth_field_date)
        except ParameterError as error:
            raise SceneError(self.path, "world.earth_field_date", str(error)) from error

    def _media(self) -> dict[str, Medium]:
        """The media by name; the first fills the world."""
        tables = self.manifest.media
        media = {name: defined_medium(name, table, self.path) for name, table in tables.items()}
        world = self.manifest.world.medium
        if world is None:
            return {"": Medium(), **media}
        first = self._named(world, media, "world.medium", "medium")
        return {world: first, **media}

    def _instances(
        self, numbers: Mapping[str, int], meshes: Mapping[str, Mesh], warming: Warming
    ) -> Iterable[Instance]:
        tables = self.manifest.instances
        count = sum(max(1, len(table.places)) for table in tables)
        if count > MAX_INSTANCES:
            reason = f"are {count} with all places, a scene may have {MAX_INSTANCES}"
            raise SceneError(self.path, "instances", reason)
        ids = self._entity_ids()
        for number, table in enumerate(tables):
            key = f"instances[{number}]"
            mesh = self._named(table.mesh, numbers, f"{key}.mesh", "mesh")
            origin = meshes[table.mesh].origin
            label = (
                NO_LABEL if table.label is None else self._label_number(table.label, f"{key}.label")
            )
            for nth, transform in enumerate(self._transforms(table, key)):
                many = len(table.places) > 1
                name = table.name or table.mesh
                instance = Instance(
                    mesh=mesh,
                    transform=_from_origin(transform, origin),
                    entity_id=next(ids),
                    name=f"{name}_{nth + 1}" if many else name,
                    label=label,
                    body=self._body_number(table.body, key),
                )
                yield warming.warmed(instance, table.temperature)

    def _entity_ids(self) -> Iterator[int]:
        """The entity ids of all instances in their order; given ones may be given again."""
        given: list[int | None] = []
        for number, table in enumerate(self.manifest.instances):
            count = max(1, len(table.places))
            if table.entity_id is None:
                given += [None] * count
                continue
            if table.entity_id + count - 1 > _LARGEST_ID:
                reason = f"goes beyond {_LARGEST_ID} with its places"
                raise SceneError(self.path, f"instances[{number}].entity_id", reason)
            given += range(table.entity_id, table.entity_id + count)
        taken = {entity for entity in given if entity is not None}
        free = (entity for entity in range(1, _LARGEST_ID) if entity not in taken)
        return (next(free) if entity is None else entity for entity in given)

    def _volume(
        self,
        number: int,
        table: VolumeTable,
        meshes: Mapping[str, Mesh],
        numbers: Mapping[str, int],
        media: list[str],
        closed: Callable[[str], bool],
    ) -> MediumVolume:
        key = f"volumes[{number}]"
        mesh = self._named(table.mesh, meshes, f"{key}.mesh", "mesh")
        if mesh.postures is not None:
            raise SceneError(self.path, f"{key}.mesh", f"{table.mesh!r} has a clip, no volume may")
        if not closed(table.mesh):
            reason = f"{table.mesh!r} is not closed, so it has no inside"
            raise SceneError(self.path, f"{key}.mesh", reason)
        medium = self._named(
            table.medium, {name: i for i, name in enumerate(media)}, f"{key}.medium", "medium"
        )
        instance = Instance(
            mesh=numbers[table.mesh],
            transform=_from_origin(self._transform(table, table.scale, key), mesh.origin),
            entity_id=0,  # rays do not stop at it
            name=table.name or table.medium,
            body=self._body_number(table.body, key),
        )
        return MediumVolume(medium, instance)

    def _body(self, number: int) -> Body:
        table, key = self.manifest.bodies[number], f"bodies[{number}]"
        orientation = self._orientation(table, key)
        parent = -1
        if table.parent is not None:
            parent = self._named(table.parent, self.bodies, f"{key}.parent", "body")
            if parent >= number:
                reason = f"{table.parent!r} must be given before the bodies that it carries"
                raise SceneError(self.path, f"{key}.parent", reason)
        joints = tuple(
            Joint(joint.name, joint.kind, _unit(joint.axis), joint.anchor, joint.start)
            for joint in table.joints
        )
        clip = Clip(table.clip.start, table.clip.rate, table.clip.loop)
        return Body(table.name, table.position, orientation, parent, joints, clip)

    def _check_clips(self, meshes: list[Mesh], instances: tuple[Instance, ...]) -> None:
        """Refuse meshes that change their shape on no body, or differently on one."""
        lengths: dict[int, float] = {}
        for number, instance in enumerate(instances):
            length = meshes[instance.mesh].clip_length
            if length == 0.0:
                continue
            key = f"instance {instance.name or number}"
            if instance.body < 0:
                reason = "has a mesh with a clip, which only a body can have"
                raise SceneError(self.path, key, reason)
            if lengths.setdefault(instance.body, length) != length:
                reason = f"has a clip of {length:g} s on a body with one of"
                raise SceneError(self.path, key, f"{reason} {lengths[instance.body]:g} s")

    def _check_joints(self) -> None:
        """Refuse joints that have the name of another one, or of a body that is free."""
        bodies = self.manifest.bodies
        taken = {body.name for body in bodies if body.parent is None and not body.joints}
        for number, body in enumerate(bodies):
            for nth, joint in enumerate(body.joints):
                if joint.name in taken:
                    key = f"bodies[{number}].joints[{nth}].name"
                    reason = f"{joint.name!r} is the name of another joint, or of a free body"
                    raise SceneError(self.path, key, reason)
                taken.add(joint.name)

    def _transforms(self, table: InstanceTable, key: str) -> Iterable[NDArray[np.float64]]:
        base = self._transform(table, table.scale, key)
        for place in table.places or (Place(),):
            yield _of_place(place) @ base

    def _transform(
        self, pose: Pose, scale: tuple[float, float, float], key: str
    ) -> NDArray[np.float64]:
        transform = np.eye(4)
        rotation = matrix_from_quaternion(np.array(self._orientation(pose, key)))
        transform[:3, :3] = rotation * np.array(scale)
        transform[:3, 3] = pose.position
        return transform

    def _orientation(self, pose: Pose, key: str) -> Quaternion:
        if pose.roll_pitch_yaw_deg is not None:
            return _quaternion_of_angles(*map(math.radians, pose.roll_pitch_yaw_deg))
        try:
            return unit_orientation(*(pose.orientation or _IDENTITY), name="it")
        except ParameterError as error:
            raise SceneError(self.path, f"{key}.orientation", str(error)) from error

    def _body_number(self, name: str | None, key: str) -> int:
        return -1 if name is None else self._named(name, self.bodies, f"{key}.body", "body")

    def _label_number(self, name: str, key: str) -> int:
        return self._named(name, self.manifest.labels, key, "label")

    def _material_index(self, name: str, key: str) -> int:
        find_material(name, self.path, key, self.known_materials)
        return self.materials.setdefault(name, len(self.materials))

    def _named(self, name: str, known: Mapping[str, _T], key: str, what: str) -> _T:
        if name not in known:
            there = ", ".join(filter(None, known)) or "none"
            raise SceneError(self.path, key, f"there is no {what} {name!r}, there are: {there}")
        return known[name]


def _numbers(names: Iterable[str], path: Path, key: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number, name in enumerate(names):
        if name in numbers:
            raise SceneError(path, f"{key}[{number}].name", f"{name!r} is given twice")
        numbers[name] = number
    return numbers


def _unit(axis: tuple[float, float, float]) -> tuple[float, float, float]:
    """A vector of length 1."""
    length = math.hypot(*axis)
    return axis[0] / length, axis[1] / length, axis[2] / length


def _from_origin(
    transform: NDArray[np.float64], origin: tuple[float, float, float]
) -> NDArray[np.float64]:
    """The transform of a mesh whose vertices are relative to a point of its frame."""
    if origin == (0.0, 0.0, 0.0):
        return transform
    moved = transform.copy()
    moved[:3, 3] += transform[:3, :3] @ np.array(origin)
    return moved


def _of_place(place: Place) -> NDArray[np.float64]:
    """The transform of a place: scale, turn about the vertical, shift."""
    yaw = math.radians(place.yaw_deg)
    transform = np.eye(4)
    transform[:3, :3] = place.scale * matrix_from_quaternion(
        np.array(_quaternion_of_angles(0.0, 0.0, yaw))
    )
    transform[:3, 3] = place.position
    return transform


def _quaternion_of_angles(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Turns about the x, then the y, then the z axis of the outer frame, as a quaternion."""
    (a, b), (c, d), (e, f) = ((math.cos(t / 2), math.sin(t / 2)) for t in (roll, pitch, yaw))
    return (
        a * c * e + b * d * f,
        b * c * e - a * d * f,
        a * d * e + b * c * f,
        a * c * f - b * d * e,
    )
