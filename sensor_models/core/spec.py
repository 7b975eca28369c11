"""The declaration of a sensor, made once and without FMI.

A ``SensorSpec`` has everything that other code needs to know of a sensor: its parameters, its
inputs, its readings, its files, and the function that makes it. FMUs, their descriptions and
reference pages, the command lines, the checks of presets and the tests of all sensors are made from
it (``catalog``). The contract of the sensor itself is in ``sensor``.

Quantities are declared in dataclasses (``quantities``). A ``Group`` is one of these with a prefix
before the names of its quantities, so that a sensor may have the same dataclass several times.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.body import BodyParameters, EulerAngles
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import BodyState
from sensor_models.core.quantities import (
    ParameterError,
    Quantity,
    integer,
    quantities_of,
    real,
    string,
)

if TYPE_CHECKING:
    from sensor_models.core.sensor import Sensor, Setup

T = TypeVar("T")

#: Names of the parameters that choose a preset, and that list what keeps its own value beside it.
PRESET, PRESET_EXCEPT = "preset", "preset_except"
#: Names of the input for the handle of a scene, and of the parameter that names a scene instead.
SCENE_HANDLE, SCENE = "scene_handle", "scene"

#: Packages that every sensor imports, and further ones of sensors that load scenes.
PACKAGES = ("numpy", "tomli")
SCENE_PACKAGES = ("embreex", "pillow", "pydantic", "trimesh")


@dataclass(frozen=True)
class Group:
    """A dataclass of quantities as part of a sensor, with a prefix before their names."""

    declaring: type
    prefix: str = ""

    def name(self, name: str) -> str:
        """The full name of one of its quantities."""
        return f"{self.prefix}.{name}" if self.prefix else name

    def scalars(self) -> Iterator[tuple[str, Quantity, Any]]:
        """Full name, declaration and default of each scalar, in the order of the fields."""
        for quantity in quantities_of(self.declaring).values():
            for name, value in quantity.parts(quantity.default):
                yield self.name(name), quantity, value

    def build(self, value_of: Callable[[str], Any]) -> Any:
        """An instance, from a function that gives the value of a scalar by its full name."""
        fields: dict[str, Any] = {}
        for field, quantity in quantities_of(self.declaring).items():
            parts = [value_of(self.name(name)) for name, _ in quantity.parts(quantity.default)]
            fields[field] = tuple(parts) if quantity.components else parts[0]
        try:
            return self.declaring(**fields)
        except ParameterError as error:
            if not self.prefix:
                raise
            raise ParameterError(f"{self.prefix}.{error}") from error


class Groups:
    """Instances of the dataclasses of groups."""

    def __init__(self, instances: Mapping[Group, Any]) -> None:
        self.instances = instances

    def of(self, declaring: type[T], prefix: str = "") -> T:
        """The instance of one group."""
        instance: T = self.instances[Group(declaring, prefix)]
        return instance

    def by_name(self) -> dict[str, Any]:
        """All values by their full names, in the form of an index of files."""
        return {
            group.name(name): part
            for group, instance in self.instances.items()
            for field, quantity in quantities_of(instance).items()
            for name, part in quantity.parts(getattr(instance, field))
        }


def scalars_of(groups: Iterable[Group]) -> list[tuple[str, Quantity, Any]]:
    """Full name, declaration and default of all scalars of some groups, in order."""
    return [scalar for group in groups for scalar in group.scalars()]


@dataclass(frozen=True)
class PresetParameters:
    """The choice of a product."""

    preset: str = string(
        "",
        "Named parameter set; a parameter set to something else than its start wins over it",
        name=PRESET,
    )
    preset_except: str = string(
        "",
        "Parameters, or groups of them, that keep their own value beside a preset although it "
        "equals their start; separated by commas",
        name=PRESET_EXCEPT,
    )


@dataclass(frozen=True)
class LogParameters:
    """The log that results go to, together with those of other sensors."""

    log: str = string(
        "",
        "Path of a log that results go to, which sensors of one process may share: a file for"
        " Foxglove if it ends with .mcap, a server for its viewer if it is an address such as"
        " ws://127.0.0.1:8765, else the directory of a bag of ROS 2; empty for none",
    )
    log_body: str = string("base_link", "Name of the body's frame in the log")


@dataclass(frozen=True)
class SampleOutputs:
    """Outputs that every sensor has."""

    count: int = integer(0, "Number of samples so far", name="sample.count")
    time: float = real(0.0, "s", "Instant the newest sample belongs to", name="sample.time")


@dataclass(frozen=True)
class FrameOutputs:
    """The newest frame."""

    count: int = integer(0, "Number of frames so far", name="frame.count")
    time: float = real(0.0, "s", "Instant the newest frame belongs to", name="frame.time")
    file: str = string("", "Path of the newest complete file of a frame", name="frame.file")
    lost: int = integer(
        0, "Number of frames whose files could not be written so far", name="frame.lost"
    )


class MessagePorts(Protocol):
    """Messages in memory for other tools: variables that hold their addresses."""

    @property
    def parameters(self) -> tuple[Group, ...]:
        """The parameters of messages."""

    @property
    def inputs(self) -> tuple[Group, ...]:
        """The input variables; each group is one message."""

    @property
    def outputs(self) -> tuple[Group, ...]:
        """The output variables; each group is one message."""

    def mime_type(self, name: str) -> str:
        """The type of the message that a group is about."""

    def wanted(self, parameters: Groups) -> bool:
        """Whether messages are made with these parameters."""

    def open(self, setup: "Setup") -> Any:
        """The object that makes the messages of one sensor."""


def all_depend(output: str, given: str) -> bool:
    """Whether an output depends on an input at the start: on all, if nothing else is said."""
    del output, given
    return True


@dataclass(frozen=True)
class SensorSpec:
    """One kind of sensor."""

    name: str
    text: str
    #: Makes a sensor from its setup.
    create: "Callable[[Setup], Sensor]"
    #: Inputs that are interpolated between two known states (body or joint), in that order.
    state: tuple[Group, ...]
    #: What the sensor reports, besides number and time of the sample.
    readings: tuple[Group, ...]
    parameters: tuple[Group, ...] = ()
    #: Inputs that hold until they are set again: faults, temperature, the handle of a scene.
    held: tuple[Group, ...] = ()
    #: The parameters of records and files.
    sinks: tuple[Group, ...] = ()
    #: What writes the files of its frames (``output.frame_files``); None if it takes no frames.
    frames: Callable[..., Any] | None = None
    #: Texts among the readings that are written to files beside a record (``output.text_logs``).
    texts: tuple[Any, ...] = ()
    #: Outputs that name further files of the newest frame, with the suffixes of these files.
    more_files: tuple[tuple[Group, str], ...] = ()
    #: Parts of its frames that tools can have without files (``output.frame_binaries``).
    binaries: tuple[Any, ...] = ()
    #: Messages in memory for other tools, if it has any (``messages.ports``).
    messages: MessagePorts | None = None
    #: Whether sample 0 of an output depends on an input.
    depends: Callable[[str, str], bool] = all_depend
    #: Whether its step is compiled: ``create`` makes a ``stepped.SteppedSensor``.
    compiled: bool = False
    #: A communication step that suits it, s.
    step: float = 0.01
    #: Packages that it imports when it is loaded.
    packages: tuple[str, ...] = PACKAGES

    @property
    def all_parameters(self) -> tuple[Group, ...]:
        """Its own parameters, then those that all sensors have, then those of the sinks."""
        body = (Group(BodyParameters),) if self.has_body else ()
        shared = Group(PresetParameters), Group(SamplingParameters), Group(LogParameters)
        messages = () if self.messages is None else self.messages.parameters
        return (*self.parameters, *body, *shared, *self.sinks, *messages)

    @property
    def inputs(self) -> tuple[Group, ...]:
        """All inputs."""
        messages = () if self.messages is None else self.messages.inputs
        angles = (Group(EulerAngles),) if self.has_body else ()
        return (*self.state, *angles, *self.held, *messages)

    @property
    def has_body(self) -> bool:
        """Whether it is mounted on a body, whose state comes first in ``state``."""
        return self.state[:1] == (Group(BodyState),)

    @property
    def outputs(self) -> tuple[Group, ...]:
        """All outputs."""
        if self.frames is not None:
            files = (group for group, _ in self.more_files)
            messages = () if self.messages is None else self.messages.outputs
            return (Group(SampleOutputs), Group(FrameOutputs), *self.readings, *files, *messages)
        return (*self.readings, Group(SampleOutputs))

    def groups(self) -> tuple[Group, ...]:
        """All groups: its own parameters first."""
        return (*self.all_parameters, *self.inputs, *self.outputs)

    @property
    def sees(self) -> bool:
        """Whether it can take the handle of a scene."""
        return any(name == SCENE_HANDLE for name, _, _ in scalars_of(self.held))

    @property
    def needs_scene(self) -> bool:
        """Whether there is always a scene: without a handle, the one that is named."""
        return any(name == SCENE and start for name, _, start in scalars_of(self.parameters))

    def known_at_start(self, output: str) -> list[str]:
        """The inputs and parameters that sample 0 of an output depends on.

        The number and the time of the sample depend on none. Frames are taken in steps, so their
        outputs keep their start values until then.
        """
        counted = any(output == name for name, _, _ in Group(SampleOutputs).scalars())
        if counted or self.frames is not None:
            return []
        inputs = [name for name, _, _ in scalars_of(self.inputs) if self.depends(output, name)]
        return [*inputs, *(name for name, _, _ in scalars_of(self.all_parameters))]

    def start_state(self) -> NDArray[np.float64]:
        """The state that the inputs start with."""
        return np.array([value for _, _, value in scalars_of(self.state)], np.float64)

    def build(self, values: Mapping[str, Any]) -> Groups:
        """The parameters, from values by their names and the defaults of the others.

        Raises:
            ParameterError: for an unknown name, or a value out of range.
        """
        taken = {name: value for name, _, value in scalars_of(self.all_parameters)}
        for name in values:
            if name not in taken:
                raise ParameterError(f"{name} is no parameter of {self.name}")
        taken.update(values)
        return Groups({group: group.build(taken.__getitem__) for group in self.all_parameters})

    def make(self, setup: "Setup") -> "Sensor":
        """A sensor of this kind."""
        return self.create(setup)
