"""FMU ``VehicleDynamics`` of a model of MuJoCo: any MJCF with actuators, for masters without one.

It is built with ``build_fmus.py --scene MODEL.xml``, beside an ``Environment`` for the same world.
Its inputs are the commands of the actuators, ``control.NAME``; its outputs have the names of the
inputs of ``Environment`` and of sensors: the joints, the state of every body that moves, and as
``body`` the one that the parameter ``body`` names. Commands that are set before a step hold during
the step; outputs describe its end.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fmus.fmi.base import FmuBase
from fmus.fmi.environment_fmu import JOINT_INPUTS, MovableBody
from fmus.fmi.variables import Variable, declare
from fmus.vehicle.parameters import BodyAccelerations
from fmus.vehicle.robot import Robot
from sensor_models.core.frames import BodyState
from sensor_models.core.quantities import ParameterError, real, string
from sensor_models.core.spec import SCENE_PACKAGES, Group
from sensor_models.scene.manifest import manifest_path
from sensor_models.scene.model import Body, Joint
from sensor_models.scene.worlds.dynamics import dynamics_of, load_dynamics


@dataclass(frozen=True)
class RobotParameters:
    """Which model is simulated, and how."""

    scene: str = string("", "The world that it was built for, or another one with the same bodies")
    keyframe: str = string("", "Key frame of the model to start from; empty for its first position")
    time_step: float = real(
        0.0, "s", "Longest inner step of the simulation; 0 for that of the model", minimum=0.0
    )
    body: str = string("", "The body whose motion the outputs body.* are; empty for the first")


class RobotDynamicsFmu(FmuBase):
    """The model behind FMI variables; a build adds which one (``build_fmus.ROBOT``)."""

    description_text = "Model of MuJoCo that is moved by its actuators"
    PACKAGES = (*FmuBase.PACKAGES, *SCENE_PACKAGES, "mujoco")
    PARAMETERS = (Group(RobotParameters),)
    MOTION: ClassVar[tuple[Group, ...]] = (Group(BodyState), Group(BodyAccelerations))
    #: The name of the world that it was built for.
    built_for: ClassVar[str]

    @classmethod
    @abstractmethod
    def bodies(cls) -> tuple[Body, ...]:
        """The bodies that move."""

    @classmethod
    @abstractmethod
    def actuators(cls) -> Mapping[str, str]:
        """Names of the commands, and what they mean."""

    @classmethod
    def joints(cls) -> tuple[Joint, ...]:
        """The joints of bodies that are not free."""
        return tuple(joint for body in cls.bodies() for joint in body.joints)

    @classmethod
    def commands(cls) -> Group:
        """One input for each actuator."""
        fields = [(name, float, real(0.0, "1", text)) for name, text in cls.actuators().items()]
        declared = dataclasses.make_dataclass("Commands", fields, frozen=True)
        declared.__doc__ = "The commands of the actuators."
        return Group(declared, "control")

    @classmethod
    def outputs(cls) -> Sequence[Group]:
        """All outputs, in the order of a reading."""
        return (
            *cls.MOTION,
            *(Group(JOINT_INPUTS[joint.kind], joint.name) for joint in cls.joints()),
            *(Group(MovableBody, body.name) for body in cls.bodies()),
        )

    @classmethod
    def declared(cls) -> list[Variable]:
        """Commands, the choice of the model, its motion."""
        parameters = [
            dataclasses.replace(v, start=cls.built_for) if v.name == "scene" else v
            for v in declare(cls.PARAMETERS, "parameter")
        ]
        commands = declare((cls.commands(),), "input")
        return [*commands, *parameters, *declare(cls.outputs(), "output")]

    @classmethod
    def proper_names(cls) -> Sequence[str]:
        """The names of bodies, joints and actuators."""
        bodies, joints = (b.name for b in cls.bodies()), (j.name for j in cls.joints())
        return [*bodies, *joints, *cls.actuators()]

    @classmethod
    def groups(cls) -> Sequence[Group]:
        """Its parameters, its commands, its motion."""
        kinds = {joint.kind for joint in cls.joints()}
        joints = (Group(group) for kind, group in JOINT_INPUTS.items() if kind in kinds)
        return (*cls.PARAMETERS, cls.commands(), *cls.MOTION, *joints, Group(MovableBody))

    def create_run(self, start: float) -> "RobotRun":
        """The model, at its start."""
        return RobotRun(self, start)


class RobotRun:
    """A model that follows the commands of an instance."""

    #: A step is simulated to its end, and the outputs describe that end.
    inputs_at_step_end = True

    def __init__(self, fmu: RobotDynamicsFmu, start: float) -> None:
        own = fmu.parameters().of(RobotParameters)
        model = dynamics_of(manifest_path(own.scene))
        if model is None:
            raise ParameterError(f"scene = {own.scene!r} is no world with actuators")
        engine = load_dynamics(model)
        self._robot = Robot(engine, start, keyframe=own.keyframe, step=own.time_step)
        if (len(self._robot.bodies), engine.nu) != (len(fmu.bodies()), len(fmu.actuators())):
            raise ParameterError(
                f"scene = {own.scene!r} has {len(self._robot.bodies)} bodies that move and"
                f" {engine.nu} actuators; this FMU was built for {fmu.built_for}, which has"
                f" {len(fmu.bodies())} and {len(fmu.actuators())}"
            )
        self._body = _place_of(own.body, [body.name for body in fmu.bodies()])
        table, values = fmu.table(), fmu.values.of_type("Real")
        self._commands = _part(values, table.first["Real"], table.of_causality("input"))
        self._outputs = _part(values, table.first["Real"], table.of_causality("output"))

    def open(self) -> None:
        """There is nothing to write."""

    def begin(self) -> None:
        """Put it where it starts."""
        self._robot.start(self._commands)
        self._publish_motion()

    def observe(self, time: float, end: float) -> None:
        """Simulate until ``time``."""
        del end
        self._robot.advance(time, self._commands)
        self._publish_motion()

    def _publish_motion(self) -> None:
        robot = self._robot
        states = robot.states()
        own = states[self._body], robot.accelerations(self._body)
        self._outputs[:] = np.concatenate([*own, robot.joints(), states.ravel()])

    def publish(self) -> None:
        """There is nothing to write."""

    def close(self) -> None:
        """Nothing to release."""

    def state(self) -> dict[str, NDArray[Any]]:
        """The state of motion, and what else the engine remembers."""
        return self._robot.state()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()``."""
        self._robot.restore(arrays)


def _place_of(body: str, names: Sequence[str]) -> int:
    """Which of the bodies is meant."""
    if body and body not in names:
        raise ParameterError(f"body = {body!r} is none of {', '.join(names)}")
    return names.index(body) if body else 0


def _part(
    values: NDArray[np.float64], first: int, variables: Sequence[Variable]
) -> NDArray[np.float64]:
    """The values of variables that stand one after the other."""
    place = variables[0].reference - first
    return values[place : place + len(variables)]
