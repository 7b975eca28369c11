"""FMU ``Environment``: a scene that the sensors share, and where its movable bodies are.

It is not a sensor: it has no clock, and passes the states of the bodies on in each step. It has
inputs for the bodies of the scene that it was built for, which start with the poses in that scene.
If another scene is chosen, bodies without inputs stay where that scene puts them, and inputs for
bodies that it does not have do nothing; a warning names them.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fmus.base import FmuBase
from fmus.fmu_state import StateError
from fmus.variables import Variable, declare
from sensor_models.core.frames import IDENTITY, WXYZ, XYZ, Quaternion, normalised_orientation
from sensor_models.core.quantities import boolean, integer, real, string
from sensor_models.core.spec import SCENE_PACKAGES, Group
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Body
from sensor_models.scene.registry import BODY_SIZE, open_scene
from sensor_models.sight.scene import DEFAULT_SCENE

#: Where the orientation is in the state of a body.
_ORIENTATION = slice(3, 7)


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
class EnvironmentParameters:
    """The choice of the scene."""

    scene: str = string(
        DEFAULT_SCENE, "Path of a scene's manifest, or the name of a built-in scene"
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
        """The movable bodies that it has inputs for."""
        return _bodies_of(cls.built_for)

    @classmethod
    def declared(cls) -> list[Variable]:
        """The states of the bodies, the scene and its handle."""
        return [
            *(variable for body in cls.bodies() for variable in _inputs_of(body)),
            *(
                dataclasses.replace(v, start=cls.built_for) if v.name == "scene" else v
                for v in declare(cls.PARAMETERS, "parameter")
            ),
            *declare((Group(EnvironmentOutputs),), "output"),
        ]

    @classmethod
    def inputs_of(cls, output: str) -> Sequence[str]:
        """No inputs: the handle stays the same wherever the bodies move."""
        return ()

    def create_run(self, start: float) -> "World":
        """The scene, opened."""
        return World(self, start)

    @classmethod
    def groups(cls) -> Sequence[Group]:
        """Its parameters, a body, its output."""
        return (*cls.PARAMETERS, Group(MovableBody), Group(EnvironmentOutputs))


class World:
    """An open scene whose bodies follow the inputs of an instance."""

    def __init__(self, fmu: EnvironmentFmu, start: float) -> None:
        self._fmu, self._start = fmu, start
        own = fmu.parameters().of(EnvironmentParameters)
        self.inputs_at_step_end = own.inputs_at_step_end
        # A saved state has the handle that the sensors saved together with it were given.
        self._output = fmu.table().by_name["scene_handle"]
        self._scene = open_scene(own.scene, wanted=fmu.values.get(self._output))
        _, self._time, self._states = self._scene.states()
        self._places = self._match(own.scene)
        self._unconnected: set[str] = set()

    def _match(self, scene: str) -> dict[str, int]:
        """The scene's number of each body with inputs; warns of bodies that only one side has."""
        places = {body.name: place for place, body in enumerate(self._scene.scene.bodies)}
        names = [body.name for body in self._fmu.bodies()]
        if lacking := [name for name in names if name not in places]:
            self._fmu.warn(f"scene {scene} lacks {', '.join(lacking)}: these inputs do nothing")
        if resting := [name for name in places if name not in names]:
            self._fmu.warn(
                f"scene {scene} has {', '.join(resting)}, which this FMU has no inputs for: they"
                " do not move; an Environment built with build_fmus.py --scene moves them"
            )
        return places

    def open(self) -> None:
        """There is nothing to write."""

    def begin(self) -> None:
        """Pass on where the bodies are at the start."""
        self.observe(self._start, self._start)

    def observe(self, time: float, end: float) -> None:
        """Pass on where the bodies are."""
        del end
        states = self._states.copy()
        inputs = self._fmu.values.of_type("Real").reshape(-1, BODY_SIZE)
        for body, given in zip(self._fmu.bodies(), inputs, strict=True):
            if body.name in self._places:
                row = states[self._places[body.name]]
                row[:] = given
                row[_ORIENTATION] = self._orientation(body.name, given[_ORIENTATION].tolist())
        self._move(time, states)

    def _orientation(self, body: str, given: list[float]) -> Quaternion:
        w, x, y, z = given
        orientation, connected = normalised_orientation(w, x, y, z, f"{body}.orientation")
        if not connected and body not in self._unconnected:
            self._unconnected.add(body)
            self._fmu.warn(
                f"{body}.orientation is all zeros, as if not connected: taken as 1, 0, 0, 0"
            )
        return orientation

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


@cache
def _bodies_of(scene: str) -> tuple[Body, ...]:
    return load_scene(scene).bodies


def _inputs_of(body: Body) -> list[Variable]:
    """The inputs for a body, which start with the pose that its scene gives."""
    starts = [*body.position, *body.orientation]
    variables = declare((Group(MovableBody, body.name),), "input")
    poses = [dataclasses.replace(v, start=s) for v, s in zip(variables, starts, strict=False)]
    return [*poses, *variables[len(starts) :]]
