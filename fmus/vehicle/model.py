"""Vehicle and scene as a model of MuJoCo.

The chassis is free; each wheel hangs on a vertical slide with spring and damper and turns about
the lateral axis; boom and stick of the arm turn about lateral axes. The wheels
are driven by speed servos, the arm by position servos, all with limited torque. Quantities that
are not parameters scale with the mass, so that vehicles of any mass behave alike.

Contacts are soft, with Coulomb friction in an elliptic cone, the same in all directions: a wheel
that turns on the spot scrubs sideways. A wheel touches the ground
like a ball, in one point, which costs least. MuJoCo's contacts are a convex relaxation, in which a
sliding body is lifted by

    friction * b * speed of sliding / k,

where k (1/s2) and b (1/s) are the rates at which overlap and sliding are reduced. With the engine's
usual b, wheels that scrub would leave the ground and hop at each inner step. So b is low, and a
high ``impratio`` compensates for that where wheels stick. Wheels roll on the middle of the overlap,
with a radius that is 0.1 % too small.

Solids that are not ground (``Solid.is_ground``) touch only chassis and arm, and the chassis is as
wide as the vehicle. Parts of the vehicle do not touch each other.

Invisible walls stand at the border of all ground. Not modelled: deformable tyres and ground, air,
a brake (a wheel at command 0 creeps by torque over servo gain: 0.035 rad/s on a slope of 15
degrees).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import mujoco  # type: ignore[import-untyped]  # it carries no types
import numpy as np
from numpy.typing import NDArray

from fmus.vehicle.parameters import (
    BOOM_SHARE,
    CHASSIS_SHARE,
    DRIVES_SHARE,
    STICK_SHARE,
    SUSPENSION_SHARE,
    UNSPRUNG_SHARE,
    WHEEL_SHARE,
    VehicleCommands,
    VehicleParameters,
)
from fmus.vehicle.solids import Solid, SolidScene, Terrain
from sensor_models.core.quantities import quantities_of
from sensor_models.scene.model import Body

#: What can touch what, as bits: ground touches all of the vehicle, obstacles all but its wheels.
GROUND, OBSTACLE = 1, 2
#: Groups of geoms, for rays that search only ground.
GROUND_GROUP, OBSTACLE_GROUP, VEHICLE_GROUP = 0, 1, 2

WHEELS = ("wheel_1", "wheel_2", "wheel_3", "wheel_4")
ARM_JOINTS = ("joint_1", "joint_2")
SLIDING_RATE = 1.0  # 1/s
FRICTION_TO_NORMAL = 1000  # how much harder friction is than the normal force, impratio
_SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1))  # front or rear, left or right

WHEEL_HALF_WIDTH = 0.12  # m
TRAVEL = 0.1  # m, of a suspension in either direction
CHASSIS_HEIGHT = 0.35  # m
BOOM_LENGTH, STICK_LENGTH = 0.8, 0.7  # m
#: Directions of boom and stick above the horizontal in the pose for travel.
BOOM_ANGLE, STICK_ANGLE = math.radians(60.0), math.radians(-70.0)

RESPONSE = 0.25  # s, time constant of the drives and of the arm
SERVO_RATE = 800.0  # 1/s, gain of a drive over its inertia
DRIVE_INERTIA = 0.005  # kg m2 for each kg of the vehicle, of a motor behind its gear
ROLLING_LOSS = 1e-3  # N m s/rad for each kg: what slows a wheel that rolls freely
#: For each kg of the vehicle: stiffness, damping, greatest torque and inertia of the servos.
_SERVOS = ((100.0, 4.5, 1.5, 0.02), (40.0, 1.2, 0.6, 0.01))

_BORDER_HEIGHT, _BORDER_THICKNESS = 100.0, 1.0  # m
_LEAST_RELIEF = 1e-3  # m, the engine needs a terrain with some thickness


@dataclass(frozen=True)
class VehicleModel:
    """A compiled model, and where in its arrays the parts of the vehicle are."""

    engine: Any  # mujoco.MjModel
    wheels: NDArray[np.int64]  # joints
    suspensions: NDArray[np.int64]
    arm: NDArray[np.int64]
    body: int


def build_model(
    parameters: VehicleParameters,
    world: SolidScene,
    bodies: Iterable[Body],
    gravity: tuple[float, float, float],
) -> VehicleModel:
    """The model of a vehicle in a scene; movable bodies are placed from outside at any time."""
    root = Element("mujoco", model="vehicle")
    SubElement(root, "compiler", angle="radian")
    option = {"integrator": "RK4", "cone": "elliptic", "impratio": str(FRICTION_TO_NORMAL)}
    option |= {"timestep": repr(parameters.time_step), "gravity": _text(gravity)}
    flags = SubElement(SubElement(root, "option", option), "flag")
    flags.set("autoreset", "disable")  # the simulation checks for divergence itself
    flags.set("island", "disable")  # no use with a single vehicle, and a tenth of the time
    assets, worldbody = SubElement(root, "asset"), SubElement(root, "worldbody")
    for number, terrain in enumerate(world.terrains):
        _add_terrain(assets, worldbody, f"terrain_{number}", terrain)
    for solid in (*world.solids, *_border(world)):
        _add_solid(worldbody, solid, unique_prefix=f"{len(worldbody)} ")
    for body in bodies:
        if body.name in world.bodies:
            attributes = {"name": f"body {body.name}", "mocap": "true"}
            _add_solid(SubElement(worldbody, "body", attributes), world.bodies[body.name], "body ")
    _add_vehicle(worldbody, parameters, -gravity[2] * parameters.mass)
    _add_grip(root, worldbody, parameters.friction)
    _add_servos(root, parameters)
    engine = mujoco.MjModel.from_xml_string(tostring(root, "unicode"))
    _fill_terrains(engine, world.terrains)
    return _located(engine)


def _located(engine: Any) -> VehicleModel:
    def joints(names: Iterable[str]) -> NDArray[np.int64]:
        return np.array([engine.joint(name).id for name in names])

    return VehicleModel(
        engine,
        joints(WHEELS),
        joints(f"suspension of {wheel}" for wheel in WHEELS),
        joints(ARM_JOINTS),
        engine.body("vehicle").id,
    )


def _text(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(number)) for number in numbers)


# ---- scene -------------------------------------------------------------------------------------


def _add_terrain(assets: Element, worldbody: Element, name: str, terrain: Terrain) -> None:
    rows, columns = terrain.heights.shape
    relief = max(float(np.ptp(terrain.heights)), _LEAST_RELIEF)
    size = _text((*terrain.half_size, relief, 2.0))  # and 2 m of ground below the lowest point
    SubElement(assets, "hfield", name=name, nrow=str(rows), ncol=str(columns), size=size)
    low = terrain.position + np.array([0.0, 0.0, terrain.heights.min()])
    attributes = {"type": "hfield", "hfield": name, "name": f"{name} {terrain.name}"}
    attributes |= {"pos": _text(low), "xyaxes": _text(terrain.rotation.T[:2].ravel())}
    SubElement(worldbody, "geom", attributes | _meets(is_ground=True))


def _fill_terrains(engine: Any, terrains: Iterable[Terrain]) -> None:
    """Write heights into the engine's arrays, as shares of the relief."""
    for number, terrain in enumerate(terrains):
        first = engine.hfield_adr[number]
        above = terrain.heights - terrain.heights.min()
        engine.hfield_data[first : first + above.size] = (
            above.ravel() / engine.hfield_size[number, 2]
        )


def _add_solid(parent: Element, solid: Solid, unique_prefix: str) -> None:
    half = solid.half_size
    attributes = {
        "name": unique_prefix + solid.name,
        "type": "cylinder" if solid.is_round else "box",
        "size": _text((half[0], half[2]) if solid.is_round else half),
        "pos": _text(solid.position),
        "euler": _text((0.0, 0.0, solid.yaw)),
    }
    SubElement(parent, "geom", attributes | _meets(solid.is_ground))


def _meets(is_ground: bool) -> dict[str, str]:
    """What a part of the scene touches; friction is that of the vehicle's parts."""
    return {
        "contype": str(GROUND if is_ground else OBSTACLE),
        "conaffinity": "0",
        "group": str(GROUND_GROUP if is_ground else OBSTACLE_GROUP),
        "friction": "0 0 0",
    }


def _border(world: SolidScene) -> list[Solid]:
    """Four walls around all ground."""
    if not (world.border()[1] > world.border()[0]).all():
        return []  # there is no ground to start on
    (x0, y0), (x1, y1) = world.border()
    middle, half = np.array([x0 + x1, y0 + y1]) / 2.0, np.array([x1 - x0, y1 - y0]) / 2.0
    walls = []
    for axis in (0, 1):
        size = np.array([*half, _BORDER_HEIGHT])
        size[axis] = _BORDER_THICKNESS
        for sign in (-1.0, 1.0):
            place = np.array([*middle, 0.0])
            place[axis] += sign * (half[axis] - _BORDER_THICKNESS)
            walls.append(Solid("border", place, size))
    return walls


# ---- vehicle -----------------------------------------------------------------------------------


def _add_vehicle(worldbody: Element, own: VehicleParameters, weight: float) -> None:
    vehicle = SubElement(worldbody, "body", name="vehicle")
    SubElement(vehicle, "freejoint", name="vehicle")
    middle = own.wheel_radius + 0.4 * CHASSIS_HEIGHT
    half = (
        own.wheel_base / 2.0 + own.wheel_radius + 0.03,
        own.track / 2.0 + WHEEL_HALF_WIDTH,
        CHASSIS_HEIGHT / 2.0,
    )
    for name, share, place, size, meets in (
        # The arm is forward of the middle, so the mass of the chassis is behind it.
        ("chassis", CHASSIS_SHARE, (-0.07, 0.0, middle), half, GROUND | OBSTACLE),
        ("drives", DRIVES_SHARE, (-0.04, 0.0, own.wheel_radius), (*half[:2], 0.05), 0),
    ):
        part = _part(name, share * own.mass, own.friction, meets)
        box = {"type": "box", "size": _text(size), "pos": _text(place)}
        SubElement(vehicle, "geom", part | box)
    for wheel, sides in zip(WHEELS, _SIDES, strict=True):
        _add_wheel(vehicle, wheel, sides, own, weight)
    _add_arm(vehicle, own, middle + CHASSIS_HEIGHT / 2.0)


def _part(
    name: str, mass: float, friction: float, meets: int = GROUND | OBSTACLE
) -> dict[str, str]:
    return {
        "name": name,
        "mass": repr(mass),
        "contype": "0",
        "conaffinity": str(meets),
        "group": str(VEHICLE_GROUP),
        "friction": _text((friction, 0.0, 0.0)),
    }


def _add_wheel(
    vehicle: Element, wheel: str, sides: tuple[int, int], own: VehicleParameters, weight: float
) -> None:
    along, aside = sides[0] * own.wheel_base / 2.0, sides[1] * own.track / 2.0
    place = _text((along, aside, own.wheel_radius))
    hub = SubElement(vehicle, "body", name=f"hub of {wheel}", pos=place)
    load = (0.25 - UNSPRUNG_SHARE) * weight
    SubElement(
        hub,
        "joint",
        name=f"suspension of {wheel}",
        type="slide",
        axis="0 0 1",
        stiffness=repr(own.suspension_stiffness),
        damping=repr(own.suspension_damping),
        springref=repr(-load / own.suspension_stiffness),  # 0 is where the spring carries its share
        limited="true",
        range=_text((-TRAVEL, TRAVEL)),
    )
    light = SUSPENSION_SHARE * own.mass
    _add_inertia(hub, light, (0.01 * light, 0.01 * light, 0.01 * light))
    body = SubElement(hub, "body", name=f"body of {wheel}")
    loss, armature = repr(ROLLING_LOSS * own.mass), repr(DRIVE_INERTIA * own.mass)
    joint = {"name": wheel, "type": "hinge", "axis": "0 1 0"}
    SubElement(body, "joint", joint, damping=loss, armature=armature)
    turning = _wheel_inertia(own)
    _add_inertia(body, WHEEL_SHARE * own.mass, (turning / 2.0, turning, turning / 2.0))
    ball = _part(f"tyre of {wheel}", 0.0, own.friction, meets=0)  # but the ground, see _add_grip
    SubElement(body, "geom", ball | {"type": "sphere", "size": repr(own.wheel_radius)})


def _add_grip(root: Element, worldbody: Element, friction: float) -> None:
    """Add the contacts between wheels and ground."""
    contact = SubElement(root, "contact")
    grip = {"condim": "3", "friction": _text((friction, friction, 0.0, 0.0, 0.0))}
    grip["solreffriction"] = _text((-1.0, -SLIDING_RATE))
    for ground in worldbody.findall(f"geom[@group='{GROUND_GROUP}']"):
        for wheel in WHEELS:
            SubElement(
                contact, "pair", grip, geom1=ground.get("name", ""), geom2=f"tyre of {wheel}"
            )


def _add_inertia(body: Element, mass: float, inertia: tuple[float, float, float]) -> None:
    attributes = {"pos": "0 0 0", "mass": repr(mass), "diaginertia": _text(inertia)}
    SubElement(body, "inertial", attributes)


def _wheel_inertia(own: VehicleParameters) -> float:
    """The inertia of a disc about its axis."""
    return 0.5 * WHEEL_SHARE * own.mass * own.wheel_radius**2


def _add_arm(vehicle: Element, own: VehicleParameters, height: float) -> None:
    """Add boom and stick: beams with the directions of the travel pose."""
    commands = quantities_of(VehicleCommands)
    parent, place = vehicle, (0.1, 0.0, height)
    for joint, field, share, length, angle, servo in (
        ("joint_1", "boom", BOOM_SHARE, BOOM_LENGTH, BOOM_ANGLE, _SERVOS[0]),
        ("joint_2", "stick", STICK_SHARE, STICK_LENGTH, STICK_ANGLE, _SERVOS[1]),
    ):
        body = SubElement(parent, "body", name=field, pos=_text(place))
        limits = _text((commands[field].minimum - 0.1, commands[field].maximum + 0.1))
        hinge = {"name": joint, "type": "hinge", "axis": "0 -1 0", "limited": "true"}
        SubElement(body, "joint", hinge, range=limits, armature=repr(servo[3] * own.mass))
        end = (length * math.cos(angle), 0.0, length * math.sin(angle))
        # not capsules: the engine lets these pass through a wall once they reach through it
        beam = {"type": "box", "size": "0.06 0.06", "fromto": _text((0.0, 0.0, 0.0, *end))}
        SubElement(body, "geom", _part(field, share * own.mass, own.friction) | beam)
        parent, place = body, end


def _add_servos(root: Element, own: VehicleParameters) -> None:
    """Drives of the wheels, then those of the arm: the order of the engine's controls."""
    actuators = SubElement(root, "actuator")
    # the engine refuses limits of 0
    inertia = DRIVE_INERTIA * own.mass + _wheel_inertia(own) if own.drive_torque > 0.0 else 0.0
    for wheel in WHEELS:
        _add_servo(actuators, wheel, 0.0, SERVO_RATE * inertia, own.drive_torque or math.inf)
    for joint, (stiffness, damping, torque, _) in zip(ARM_JOINTS, _SERVOS, strict=True):
        _add_servo(actuators, joint, *(own.mass * value for value in (stiffness, damping, torque)))


def _add_servo(
    actuators: Element, joint: str, stiffness: float, damping: float, torque: float
) -> None:
    """Add a position servo, or a speed servo if it has no stiffness; both follow with a delay."""
    servo = {"joint": joint, "dyntype": "filter", "dynprm": repr(RESPONSE), "biastype": "affine"}
    servo["gainprm"] = repr(stiffness or damping)
    servo["biasprm"] = _text((0.0, -stiffness, -damping))
    if math.isfinite(torque):
        servo |= {"forcelimited": "true", "forcerange": _text((-torque, torque))}
    SubElement(actuators, "general", servo)
