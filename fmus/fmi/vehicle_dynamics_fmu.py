"""FMU ``VehicleDynamics``: a vehicle in a scene, for masters that have no dynamics engine.

It is not a sensor: its inputs are commands, and its outputs have the names of the inputs of sensors
and ``Environment``. Commands that are set before a step hold during the step; outputs describe its
end. Its movable bodies are those of the scene that it was built for; if another scene is chosen,
those of the same names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fmus.fmi.base import FmuBase
from fmus.fmi.environment_fmu import EnvironmentFmu, MovableBody
from fmus.fmi.variables import Variable, declare
from fmus.vehicle.model import ARM_JOINTS, WHEELS
from fmus.vehicle.parameters import (
    ArmJointState,
    BodyAccelerations,
    VehicleCommands,
    VehicleParameters,
    WheelState,
)
from fmus.vehicle.simulation import VehicleSimulation
from fmus.vehicle.traffic import at_rest
from sensor_models.core.frames import BodyState
from sensor_models.core.quantities import string
from sensor_models.core.spec import SCENE_PACKAGES, Group
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Body
from sensor_models.sight.scene import DEFAULT_SCENE


@dataclass(frozen=True)
class SceneParameters:
    """The scene in which it drives."""

    scene: str = string(
        DEFAULT_SCENE, "Path of a scene's manifest, or the name of a built-in scene"
    )


class VehicleDynamicsFmu(FmuBase):
    """The vehicle behind FMI variables."""

    model_name = "VehicleDynamics"
    description_text = "Skid-steered vehicle with an arm, and traffic, simulated by MuJoCo"
    PACKAGES = (*FmuBase.PACKAGES, *SCENE_PACKAGES, "mujoco")
    PARAMETERS = (Group(VehicleParameters), Group(SceneParameters))
    COMMANDS: ClassVar[Group] = Group(VehicleCommands)
    #: Outputs, in the order of a reading.
    MOTION: ClassVar[tuple[Group, ...]] = (
        Group(BodyState),
        Group(BodyAccelerations),
        *(Group(WheelState, wheel) for wheel in WHEELS),
        *(Group(ArmJointState, f"arm.{joint}") for joint in ARM_JOINTS),
    )

    @classmethod
    def bodies(cls) -> tuple[Body, ...]:
        """The movable bodies with outputs: the same ones that Environment has inputs for."""
        return EnvironmentFmu.bodies()

    @classmethod
    def declared(cls) -> list[Variable]:
        """Commands, the vehicle and its scene, its motion, the states of the bodies."""
        traffic = (Group(MovableBody, body.name) for body in cls.bodies())
        return [
            *declare((cls.COMMANDS,), "input"),
            *declare(cls.PARAMETERS, "parameter"),
            *declare((*cls.MOTION, *traffic), "output"),
        ]

    @classmethod
    def proper_names(cls) -> Sequence[str]:
        """The names of bodies, wheels and joints: each wheel has its own encoder."""
        return [*(body.name for body in cls.bodies()), *WHEELS, *ARM_JOINTS]

    @classmethod
    def known_at_start(cls, output: str) -> Sequence[str]:
        """The vehicle depends on its commands, the traffic on no input."""
        is_traffic = output.partition(".")[0] in {body.name for body in cls.bodies()}
        parameters = [v.name for v in cls.table().of_causality("parameter")]
        return parameters if is_traffic else super().known_at_start(output)

    def create_run(self, start: float) -> "Drive":
        """The vehicle and its scene; the vehicle is put on the ground at the start of the run."""
        return Drive(self, start)

    @classmethod
    def groups(cls) -> Sequence[Group]:
        """Its parameters, its commands, its motion."""
        return (*cls.PARAMETERS, cls.COMMANDS, *cls.MOTION)


class Drive:
    """A vehicle that follows the inputs of an instance."""

    #: A step is simulated to its end, and the outputs describe that end.
    inputs_at_step_end = True

    def __init__(self, fmu: VehicleDynamicsFmu, start: float) -> None:
        self._fmu = fmu
        parameters = fmu.parameters()
        scene = load_scene(parameters.of(SceneParameters).scene)
        self._simulation = VehicleSimulation(parameters.of(VehicleParameters), scene, start)
        self._traffic = np.array([at_rest(body) for body in fmu.bodies()])
        self._given: list[Any] = []  # the inputs that the last commands were made of
        self._last = VehicleCommands()
        self._places = self._match([body.name for body in scene.bodies])
        table = fmu.table()
        self._inputs = table.of_causality("input")
        first = table.of_causality("output")[0].reference - table.first["Real"]
        count = len(table.of_causality("output"))
        self._outputs = fmu.values.of_type("Real")[first : first + count]

    def _match(self, names: list[str]) -> list[tuple[int, int]]:
        """Places of the bodies among outputs and in the scene; warns of those it does not have."""
        own = [body.name for body in self._fmu.bodies()]
        if lacking := [name for name in own if name not in names]:
            self._fmu.warn(f"the scene lacks {', '.join(lacking)}: these outputs do not move")
        return [(place, names.index(name)) for place, name in enumerate(own) if name in names]

    def open(self) -> None:
        """There is nothing to write."""

    def begin(self) -> None:
        """Put the vehicle on the ground."""
        self._simulation.start(self._commands())
        self._publish_motion()

    def observe(self, time: float, end: float) -> None:
        """Drive until ``time``."""
        del end
        self._simulation.advance(time, self._commands())
        self._publish_motion()

    def _commands(self) -> VehicleCommands:
        """The commands that are set now; as a rule those of the step before."""
        values = self._fmu.values
        given = [values.get(variable) for variable in self._inputs]
        if given != self._given:
            by_name = self._fmu.table().by_name
            self._last = self._fmu.COMMANDS.build(lambda name: values.get(by_name[name]))
            self._given = given
        return self._last

    def _publish_motion(self) -> None:
        traffic = self._simulation.traffic()
        for place, row in self._places:
            self._traffic[place] = traffic[row]
        motion = self._simulation.reading()
        self._outputs[:] = np.concatenate([*map(np.ravel, motion), self._traffic.ravel()])

    def publish(self) -> None:
        """There is nothing to write."""

    def close(self) -> None:
        """Nothing to release."""

    def state(self) -> dict[str, NDArray[Any]]:
        """The state of motion, and what else the engine remembers."""
        return self._simulation.state()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()``."""
        self._simulation.restore(arrays)
