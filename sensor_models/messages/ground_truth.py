"""The ground truth of a scenario player in a SensorView: where the moving objects are.

The moving objects of the ground truth are read: id, position and orientation of the middle of the
bounding box, and their rates. A table of ids (``pairs_of``) says which movable body of the scene
follows which object:

    osi.bodies = "vehicle_1 = 17, vehicle_2 = 18"

Detections name what they hit by the same ids (``objects_of_entities``), so that consumers find it
in the ground truth. What does not fit is told once (``ObjectWatch``).

The origin of a body may be anywhere. The middle of the box around its meshes is put where the
middle of the object's box is, and the body rotates like the object (``BodyMover``).

If ``osi.host_body`` is on, the host vehicle's object gives the motion of the sensor's own body.
The origin of a host vehicle is the middle of its rear axle: ``bbcenter_to_rear`` from the middle
of its box, and ``osi.rear_axle`` in the frame of our body.

Source: ASAM OSI 3.8.0, osi_groundtruth.proto, osi_object.proto, osi_common.proto.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import rotate_vector
from sensor_models.core.quantities import ParameterError
from sensor_models.messages.wire import WireError, as_double, as_message, fields
from sensor_models.scene.model import Scene
from sensor_models.scene.pose_memory import BODY_SIZE

Floats = NDArray[np.float64]
Triple = tuple[float, float, float]
ZERO: Triple = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class MovingObject:
    """An object of a ground truth; the pose is that of the middle of its box."""

    id: int
    position: Triple = ZERO
    orientation: Triple = ZERO  # roll, pitch, yaw
    velocity: Triple = ZERO
    orientation_rate: Triple = ZERO
    center_to_rear: Triple = ZERO  # from the middle of the box, in the object's frame

    @property
    def quaternion(self) -> Floats:
        """Its orientation."""
        return quaternion_of(*self.orientation)

    @property
    def angular_velocity(self) -> Floats:
        """Its angular velocity in the world."""
        return angular_velocity_of(self.orientation, self.orientation_rate)


@dataclass(frozen=True)
class GroundTruth:
    """The moving objects at an instant."""

    objects: Mapping[int, MovingObject]
    host: int | None  # id of the host vehicle


# ---- angles ------------------------------------------------------------------------------------


def quaternion_of(roll: float, pitch: float, yaw: float) -> Floats:
    """The quaternion of a rotation by yaw about z, pitch about the new y, roll about the new x."""
    (cr, sr), (cp, sp), (cy, sy) = (
        (math.cos(0.5 * angle), math.sin(0.5 * angle)) for angle in (roll, pitch, yaw)
    )
    return np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )


def angles_of(w: float, x: float, y: float, z: float) -> Triple:
    """Roll, pitch and yaw of a unit quaternion; the roll is 0 if the pitch is upright."""
    sine = min(max(2.0 * (w * y - z * x), -1.0), 1.0)
    pitch = math.asin(sine)
    if abs(pitch) > 0.5 * math.pi - 1e-6:
        return 0.0, pitch, -2.0 * math.copysign(1.0, pitch) * math.atan2(x, w)
    yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    return roll, pitch, yaw


def angular_velocity_of(angles: Triple, rates: Triple) -> Floats:
    """The angular velocity in the world, from angles and their rates."""
    _, pitch, yaw = angles
    about_x = (math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), -math.sin(pitch))
    about_y = (-math.sin(yaw), math.cos(yaw), 0.0)
    turns = np.array([about_x, about_y, (0.0, 0.0, 1.0)])
    result: Floats = np.array(rates) @ turns
    return result


# ---- reading -----------------------------------------------------------------------------------


def read_view(name: str, message: bytes) -> GroundTruth | None:
    """The ground truth of a SensorView; None if it has none.

    Raises:
        ParameterError: with the name of the variable, if the bytes are not such a message.
    """
    try:
        return _view(message)
    except WireError as error:
        raise ParameterError(f"{name} is no SensorView: {error}") from error


def _view(message: bytes) -> GroundTruth | None:
    truth, host = None, None
    for number, value in fields(message):
        if number == 7:
            truth = _truth(as_message(value))
        elif number == 8:
            host = _identifier(as_message(value))
    if truth is None:
        return None
    return GroundTruth(truth.objects, host if host is not None else truth.host)


def _truth(message: memoryview) -> GroundTruth:
    objects, host = {}, None
    for number, value in fields(message):
        if number == 3:
            host = _identifier(as_message(value))
        elif number == 5:
            found = _object(as_message(value))
            objects[found.id] = found
    return GroundTruth(objects, host)


def _object(message: memoryview) -> MovingObject:
    known: dict[str, Triple] = {}
    name = 0
    for number, value in fields(message):
        if number == 1:
            name = _identifier(as_message(value))
        elif number == 2:
            base = {2: "position", 3: "orientation", 4: "velocity", 6: "orientation_rate"}
            for part, content in fields(as_message(value)):
                if part in base:
                    known[base[part]] = _triple(as_message(content), base[part])
        elif number == 5:
            for part, content in fields(as_message(value)):
                if part == 4:
                    known["center_to_rear"] = _triple(as_message(content), "bbcenter_to_rear")
    return MovingObject(name, **known)


def _identifier(message: memoryview) -> int:
    for number, value in fields(message):
        if number == 1 and isinstance(value, int):
            return value
    return 0


def _triple(message: memoryview, name: str) -> Triple:
    found = [0.0, 0.0, 0.0]
    for number, value in fields(message):
        if 1 <= number <= 3:
            found[number - 1] = as_double(value)
    if not all(map(math.isfinite, found)):
        raise WireError(f"{name} = {found} of a moving object is not finite")
    return found[0], found[1], found[2]


# ---- driving the scene -------------------------------------------------------------------------


def middle_of(scene: Scene, body: int) -> Floats:
    """The middle of the box around the meshes of a body, in its frame."""
    corners = []
    for instance in scene.instances:
        if instance.body == body:
            points = scene.meshes[instance.mesh].vertices.astype(np.float64)
            turned = points @ instance.transform[:3, :3].T + instance.transform[:3, 3]
            corners += [turned.min(axis=0), turned.max(axis=0)]
    if not corners:
        return np.zeros(3)
    middle: Floats = 0.5 * (np.min(corners, axis=0) + np.max(corners, axis=0))
    return middle


def state_of(found: MovingObject, middle: Floats) -> Floats:
    """The state of a body whose point ``middle`` is the middle of an object's box."""
    turn, rate = found.quaternion, found.angular_velocity
    arm = rotate_vector(turn, middle)
    position = np.array(found.position) - arm
    velocity = np.array(found.velocity) - np.cross(rate, arm)
    return np.concatenate([position, turn, velocity, rate])


def host_state(truth: GroundTruth, rear_axle: Floats) -> Floats:
    """The state of the sensor's body, whose point ``rear_axle`` is the middle of the axle."""
    if truth.host is None or truth.host not in truth.objects:
        raise ParameterError(
            f"OSMPSensorViewIn has no moving object for the host vehicle, id {truth.host}, which"
            " osi.host_body takes the motion of the body from"
        )
    host = truth.objects[truth.host]
    return state_of(host, rear_axle - np.array(host.center_to_rear))


class BodyMover:
    """Moves the bodies of one scene like moving objects."""

    def __init__(self, scene: Scene, pairs: Mapping[str, int]) -> None:
        names = [body.name for body in scene.bodies]
        if unknown := sorted(set(pairs) - set(names)):
            known = ", ".join(names) or "none"
            raise ParameterError(
                f"osi.bodies names {', '.join(unknown)}, the movable bodies of the scene"
                f" {scene.name} are {known}"
            )
        self.scene = scene
        self._bodies = [(names.index(name), number) for name, number in pairs.items()]
        self._middles = {place: middle_of(scene, place) for place, _ in self._bodies}

    def states(self, truth: GroundTruth, before: Floats) -> Floats:
        """The states of all bodies; bodies without an object are as before."""
        states = np.array(before).reshape(-1, BODY_SIZE)
        for place, number in self._bodies:
            if number in truth.objects:
                states[place] = state_of(truth.objects[number], self._middles[place])
        return states


def objects_of_entities(scene: Scene, pairs: Mapping[str, int]) -> dict[int, int]:
    """The ids of moving objects by the entities on the bodies that follow them."""
    if not pairs:
        return {}
    numbers = [pairs.get(body.name) for body in scene.bodies]
    carried = ((each.entity_id, numbers[each.body]) for each in scene.instances if each.body >= 0)
    return {entity: number for entity, number in carried if number is not None}


class ObjectWatch:
    """Tells once what of a ground truth, of the table of ids and of the scene does not fit."""

    def __init__(self, pairs: Mapping[str, int], warn: Callable[[str], None]) -> None:
        self._pairs, self._warn = pairs, warn
        self._looked = False

    def look(self, truth: GroundTruth) -> None:
        """Compare the table with the first ground truth."""
        if self._looked:
            return
        self._looked = True
        there = set(truth.objects) - {truth.host}
        if lost := sorted(there - set(self._pairs.values())):
            self._warn(
                f"OSMPSensorViewIn has moving objects that no body of the scene follows, so that"
                f" the sensor does not see them: ids {_listed(lost)}; osi.bodies gives bodies to"
                " objects"
            )
        awaited = [f"{n} = {i}" for n, i in self._pairs.items() if i not in truth.objects]
        if awaited:
            self._warn(
                f"osi.bodies has {_listed(awaited)}, but OSMPSensorViewIn begins without such"
                f" objects; its ids are {_listed(sorted(truth.objects))}; these bodies stay where"
                " they are until their objects come"
            )

    def look_at_scene(self, scene: Scene) -> None:
        """Compare the table with the entities of a scene."""
        ids, mapped = set(self._pairs.values()), objects_of_entities(scene, self._pairs)
        if same := sorted({i.entity_id for i in scene.instances} & ids - set(mapped)):
            self._warn(
                f"entities {_listed(same)} of the scene {scene.name} have ids that osi.bodies gives"
                " to moving objects: detections do not tell them apart; give these entities others"
            )


def _listed(items: Sequence[Any], most: int = 10) -> str:
    """Items as a text; of many, the first ones."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(map(str, items[:most])) + more or "none"
