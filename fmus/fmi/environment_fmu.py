"""FMU ``Environment``: a scene that the sensors share, and where its movable bodies are.

It is not a sensor: it has no clock, and passes the states of the bodies on in each step. It has
inputs for the free bodies of the scene that it was built for, which start with the poses in that
scene, and for the joints of the others: position and velocity, or the orientation and angular
velocity of a ball. Bodies on joints follow what carries them (``kernels.bodies.links``).

If another scene is chosen, bodies and joints without inputs stay where that scene puts them, and
inputs for what it does not have do nothing; a warning names them.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fmus.fmi.base import FmuBase
from fmus.fmi.fmu_state import StateError
from fmus.fmi.variables import Variable, declare
from sensor_models.core.body import (
    IDLE_ANGLES,
    IDLE_QUATERNION,
    ROLL_PITCH_YAW,
    OrientationInput,
    OrientationParameters,
    angles_of_orientation,
    orientation_of_angles,
)
from sensor_models.core.frames import IDENTITY, WXYZ, XYZ, Quaternion, normalised_orientation
from sensor_models.core.quantities import boolean, integer, real, string
from sensor_models.core.spec import SCENE_PACKAGES, Group
from sensor_models.kernels.bodies.links import VALUES
from sensor_models.scene.linkage import Linkage
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Body, Joint
from sensor_models.scene.registry import BODY_SIZE, open_scene
from sensor_models.sight.scene import DEFAULT_SCENE

#: Where the orientation is in the state of a body, and the angles among its inputs.
_ORIENTATION = slice(3, 7)
_VECTOR_PART = slice(4, 7)
_ANGLES = slice(BODY_SIZE, BODY_SIZE + 3)


@dataclass(frozen=True)
class MovableBody:
    """The state of a body, in the order in which the registry expects it."""

    position: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m",
        "Position of the body's origin in the world frame",
        components=XYZ,
    )
    orientation: tuple[float, float, float, float] = real(
        IDENTITY,
        "1",
        "Orientation of the body: unit quaternion, takes vectors of the body to the world frame",
        components=WXYZ,
    )
    velocity: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m/s",
        "Velocity of the body's origin in the world frame",
        components=XYZ,
    )
    angular_velocity: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "rad/s",
        "Angular velocity of the body in the world frame",
        components=XYZ,
    )


@dataclass(frozen=True)
class BodyAngles:
    """The orientation of a body as angles."""

    euler: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "rad",
        "Orientation of the body, where orientation_input is euler: it is turned by yaw about z of "
        "the world, then by pitch about its y and by roll about its x; wrapped or not",
        components=ROLL_PITCH_YAW,
    )


@dataclass(frozen=True)
class Hinge:
    """A joint that turns its body about an axis."""

    position: float = real(0.0, "rad", "Angle of the joint")
    velocity: float = real(0.0, "rad/s", "Angular velocity of the joint")


@dataclass(frozen=True)
class Slide:
    """A joint that shifts its body along an axis."""

    position: float = real(0.0, "m", "Position of the joint along its axis")
    velocity: float = real(0.0, "m/s", "Velocity of the joint along its axis")


@dataclass(frozen=True)
class Ball:
    """A joint that turns its body about a point."""

    orientation: tuple[float, float, float, float] = real(
        IDENTITY,
        "1",
        "Orientation of the body, from where the scene has it on what carries it",
        components=WXYZ,
    )
    angular_velocity: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "rad/s",
        "Angular velocity of the body on what carries it, in the frame of the body",
        components=XYZ,
    )


@dataclass(frozen=True)
class EnvironmentParameters(OrientationParameters):
    """The choice of the scene."""

    scene: str = string(
        DEFAULT_SCENE,
        "Path of a scene's manifest or of a world, or the name of a built-in scene",
    )
    inputs_at_step_end: bool = boolean(
        False,
        "Inputs set before a step describe its end (masters that step the dynamics first) "
        "instead of its beginning (the FMI rule)",
    )


@dataclass(frozen=True)
class EnvironmentOutputs:
    """The output that sensors are connected to."""

    scene_handle: int = integer(
        0, "Handle of the scene for sensors, also in other processes; 0 before initialisation"
    )


class EnvironmentFmu(FmuBase):
    """A scene behind FMI variables."""

    model_name = "Environment"
    description_text = "Scene that sensors share, with the poses of its movable bodies"
    PACKAGES = (*FmuBase.PACKAGES, *SCENE_PACKAGES)
    PARAMETERS = (Group(EnvironmentParameters),)

    #: The scene that it was built for; the parameter ``scene`` starts with it.
    built_for: ClassVar[str] = DEFAULT_SCENE

    @classmethod
    def bodies(cls) -> tuple[Body, ...]:
        """The movable bodies of the scene that it was built for."""
        return _bodies_of(cls.built_for)

    @classmethod
    def free_bodies(cls) -> tuple[Body, ...]:
        """Those that have inputs for their poses."""
        return tuple(body for body in cls.bodies() if body.is_free)

    @classmethod
    def joints(cls) -> tuple[Joint, ...]:
        """The joints of the others, which have inputs for their positions."""
        return tuple(joint for body in cls.bodies() for joint in body.joints)

    @classmethod
    def declared(cls) -> list[Variable]:
        """The states of the bodies, the scene and its handle."""
        return [
            *(variable for body in cls.free_bodies() for variable in _inputs_of(body)),
            *(variable for joint in cls.joints() for variable in _inputs_of_joint(joint)),
            *(
                dataclasses.replace(v, start=cls.built_for) if v.name == "scene" else v
                for v in declare(cls.PARAMETERS, "parameter")
            ),
            *declare((Group(EnvironmentOutputs),), "output"),
        ]

    @classmethod
    def proper_names(cls) -> Sequence[str]:
        """The names of the bodies."""
        return [body.name for body in cls.bodies()]

    @classmethod
    def known_at_start(cls, output: str) -> Sequence[str]:
        """The scene alone: its handle stays the same wherever the bodies move."""
        return ("scene",)

    def create_run(self, start: float) -> "World":
        """The scene, opened."""
        return World(self, start)

    @classmethod
    def groups(cls) -> Sequence[Group]:
        """Its parameters, a body, its output."""
        kinds = {joint.kind for joint in cls.joints()}
        joints = (Group(group) for kind, group in JOINT_INPUTS.items() if kind in kinds)
        bodies = Group(MovableBody), Group(BodyAngles)
        return (*cls.PARAMETERS, *bodies, *joints, Group(EnvironmentOutputs))


class World:
    """An open scene whose bodies follow the inputs of an instance."""

    def __init__(self, fmu: EnvironmentFmu, start: float) -> None:
        self._fmu, self._start = fmu, start
        own = fmu.parameters().of(EnvironmentParameters)
        self.inputs_at_step_end = own.inputs_at_step_end
        self._takes_angles = own.orientation_input == OrientationInput.euler
        # A saved state has the handle that the sensors saved together with it were given.
        self._output = fmu.table().by_name["scene_handle"]
        self._scene = open_scene(own.scene, wanted=fmu.values.get(self._output))
        _, self._time, self._states = self._scene.states()
        self._linkage = Linkage(self._scene.scene)
        self._values = self._linkage.values_at_start()
        bodies = {body.name: place for place, body in enumerate(self._scene.scene.bodies)}
        free = [body.name for body in self._scene.scene.bodies if body.is_free]
        self._places = {name: bodies[name] for name in free}
        self._free_bodies = fmu.free_bodies()
        self._from, self._into = self._match_joints()
        joint_names = [joint.name for joint in self._linkage.joints]
        names = [body.name for body in self._free_bodies]
        self._warn_of_others(
            own.scene,
            [*names, *(joint.name for joint in fmu.joints())],
            [*free, *joint_names],
        )
        self._unconnected: set[str] = set()
        self._told_of_idle: set[str] = set()
        starts = [v.start for v in fmu.table().of_causality("input") if v.type_name == "Real"]
        rows = np.reshape(starts[: _ANGLES.stop * len(self._free_bodies)], (-1, _ANGLES.stop))
        self._at_start = dict(zip((b.name for b in self._free_bodies), rows, strict=True))

    def _match_joints(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the numbers of joints are among the inputs, and where they go."""
        own = {(joint.name, joint.kind): n for n, joint in enumerate(self._linkage.joints)}
        place = _ANGLES.stop * len(self._free_bodies)
        taken: list[int] = []
        into: list[int] = []
        for joint in self._fmu.joints():
            count, number = _SIZES[joint.kind], own.get((joint.name, joint.kind))
            if number is not None:
                taken += range(place, place + count)
                into += range(number * VALUES, number * VALUES + count)
            place += count
        return np.array(taken, np.int64), np.array(into, np.int64)

    def _warn_of_others(self, scene: str, inputs: Sequence[str], there: Sequence[str]) -> None:
        """Warn of bodies and joints that only the inputs or only the scene has."""
        if lacking := [name for name in inputs if name not in there]:
            self._fmu.warn(f"scene {scene} lacks {', '.join(lacking)}: these inputs do nothing")
        if resting := [name for name in there if name not in inputs]:
            self._fmu.warn(
                f"scene {scene} has {', '.join(resting)}, which this FMU has no inputs for: they"
                " do not move; an Environment built with build_fmus.py --scene moves them"
            )

    def open(self) -> None:
        """There is nothing to write."""

    def begin(self) -> None:
        """Pass on where the bodies are at the start."""
        self.observe(self._start, self._start)

    def observe(self, time: float, end: float) -> None:
        """Pass on where the bodies are."""
        del end
        states = self._states.copy()
        values, free = self._fmu.values.of_type("Real"), self._free_bodies
        inputs = values[: _ANGLES.stop * len(free)].reshape(-1, _ANGLES.stop)
        for body, given in zip(free, inputs, strict=True):
            if body.name in self._places:
                row = states[self._places[body.name]]
                row[:] = given[:BODY_SIZE]
                row[_ORIENTATION] = self._orientation(body.name, given)
        self._values.ravel()[self._into] = values[self._from]
        self._linkage.move(self._values, states)
        self._move(time, states)

    def _orientation(
        self, body: str, given: NDArray[np.float64]
    ) -> NDArray[np.float64] | Quaternion:
        self._tell_of_idle(body, given)
        if self._takes_angles:
            return orientation_of_angles(given[_ANGLES], f"{body}.euler")
        w, x, y, z = given[_ORIENTATION].tolist()
        orientation, connected = normalised_orientation(w, x, y, z, f"{body}.orientation")
        if not connected and body not in self._unconnected:
            self._unconnected.add(body)
            self._fmu.warn(
                f"{body}.orientation is all zeros, as if not connected: taken as 1, 0, 0, 0"
            )
        return orientation

    def _tell_of_idle(self, body: str, given: NDArray[np.float64]) -> None:
        """Say once that somebody sets the orientation that does not count."""
        part = _VECTOR_PART if self._takes_angles else _ANGLES
        # the first pose of a body is in both; and some masters set all to 0 that is not connected
        is_set = given[part].any() and not np.array_equal(given[part], self._at_start[body][part])
        if body in self._told_of_idle or not is_set:
            return
        self._told_of_idle.add(body)
        message = IDLE_QUATERNION if self._takes_angles else IDLE_ANGLES
        self._fmu.warn(message.replace("body.", f"{body}.", 1))

    def _move(self, time: float, states: NDArray[np.float64]) -> None:
        self._scene.move(time, states)
        self._time, self._states = time, states
        self._fmu.values.set(self._output, self._scene.number)

    def publish(self) -> None:
        """There is nothing to write."""

    def close(self) -> None:
        """Leave the scene; it stays open as long as a sensor uses it."""
        self._scene.close()

    def state(self) -> dict[str, NDArray[Any]]:
        """Where the bodies are."""
        return {"time": np.array([self._time]), "bodies": self._states.copy()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put the bodies where they were; the handle does not change."""
        if arrays.keys() != {"time", "bodies"} or arrays["time"].shape != (1,):
            raise StateError("the state's arrays are not those of this FMU")
        self._move(float(arrays["time"][0]), arrays["bodies"])


#: The inputs of each kind of joint, and how many numbers these are.
JOINT_INPUTS: dict[str, type] = {"hinge": Hinge, "slide": Slide, "ball": Ball}
_SIZES = {"hinge": 2, "slide": 2, "ball": VALUES}


@cache
def _bodies_of(scene: str) -> tuple[Body, ...]:
    return load_scene(scene).bodies


def _inputs_of(body: Body) -> list[Variable]:
    """The inputs for a body, which start with the pose that its scene gives."""
    w, x, y, z = body.orientation
    at_rest = (*body.position, w, x, y, z, *(0.0,) * 6, *angles_of_orientation(w, x, y, z))
    groups = Group(MovableBody, body.name), Group(BodyAngles, body.name)
    variables = declare(groups, "input")
    return [dataclasses.replace(v, start=s) for v, s in zip(variables, at_rest, strict=True)]


def _inputs_of_joint(joint: Joint) -> list[Variable]:
    """The inputs for a joint, which start where the scene has it."""
    variables = declare((Group(JOINT_INPUTS[joint.kind], joint.name),), "input")
    if joint.kind == "ball":
        return variables
    return [dataclasses.replace(variables[0], start=joint.start), *variables[1:]]
