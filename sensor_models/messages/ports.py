"""The declaration of a sensor that outputs messages of OSI, or takes them.

Specs have an ``OsiPorts``: parameters, and the variables of messages. The code that makes messages
(``osi``) is imported only if they are wanted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import XYZ
from sensor_models.core.quantities import ParameterError, boolean, check, integer, real, string
from sensor_models.core.sensor import Setup
from sensor_models.core.spec import Group, Groups
from sensor_models.messages import osmp

if TYPE_CHECKING:
    from sensor_models.messages.osi import OsiMessages

Floats = NDArray[np.float64]


#: The largest id of an object; the next one stands for none.
LARGEST_ID = 2**64 - 2


def pairs_of(table: str) -> dict[str, int]:
    """Bodies of the scene and the ids of their objects: ``vehicle_1 = 17, vehicle_2 = 18``."""
    pairs: dict[str, int] = {}
    for entry in filter(None, (part.strip() for part in table.split(","))):
        name, equals, number = (piece.strip() for piece in entry.partition("="))
        if not (name and equals and number.isdecimal()):
            raise ParameterError(
                f"osi.bodies: {entry!r} cannot be read, needed is the name of a movable body, an"
                " equals sign and the id of a moving object"
            )
        if len(number) > 20 or int(number) > LARGEST_ID:
            raise ParameterError(f"osi.bodies: the id of {name} is above {LARGEST_ID}")
        pairs[name] = int(number)
    return pairs


@dataclass(frozen=True)
class OsiParameters:
    """Whether messages of OSI are made, and what they depend on."""

    on: bool = boolean(
        False,
        "Give OSI messages at the outputs OSMPSensor..., and take those at inputs",
        name="osi.on",
    )
    sensor_view: bool = boolean(
        False, "Give a SensorView besides, with an entry for each ray", name="osi.sensor_view"
    )
    sensor_id: int = integer(0, "Id of the sensor in messages", minimum=0, name="osi.sensor_id")
    rear_axle: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m",
        "Middle of the rear axle in the frame of the body: the origin of a host vehicle",
        components=XYZ,
        name="osi.rear_axle",
    )
    one_way_time: bool = boolean(
        False,
        "Give the time of flight of reflections for one way, as some models read it",
        name="osi.one_way_time",
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class OsiInputParameters:
    """How a SensorView moves the scene."""

    bodies: str = string(
        "",
        "Movable bodies of the scene and the ids of the moving objects that they follow, such as"
        " vehicle_1 = 17, vehicle_2 = 18",
        name="osi.bodies",
    )
    host_body: bool = boolean(
        False,
        "Take the motion of the body from the host vehicle of OSMPSensorViewIn instead of body.*",
        name="osi.host_body",
    )

    def __post_init__(self) -> None:
        pairs_of(self.bodies)


@dataclass(frozen=True)
class Rays:
    """The rays of a frame, in the order of a cloud's."""

    directions: Floats  # (n, 3), unit vectors in the sensor frame
    offsets: Floats  # (n,), s after the start of the frame
    rows: int
    columns: int


@dataclass(frozen=True)
class OsiPorts:
    """The messages of a sensor, as part of its spec."""

    #: Whether it takes a SensorView.
    takes_view: bool = False
    #: The rays of a frame, for sensors with returns of rays.
    rays: Callable[[Setup], Rays] | None = None

    @property
    def parameters(self) -> tuple[Group, ...]:
        """Parameters of messages."""
        more = (Group(OsiInputParameters),) if self.takes_view else ()
        return (Group(OsiParameters), *more)

    @property
    def inputs(self) -> tuple[Group, ...]:
        """Binary inputs."""
        return (Group(osmp.BinaryInput, osmp.VIEW_IN),) if self.takes_view else ()

    @property
    def outputs(self) -> tuple[Group, ...]:
        """Binary outputs."""
        return tuple(Group(osmp.BinaryOutput, name) for name in (osmp.DATA_OUT, osmp.VIEW_OUT))

    def wanted(self, parameters: Groups) -> bool:
        """Whether messages are made with these parameters."""
        return parameters.of(OsiParameters).on

    def open(self, setup: Setup) -> "OsiMessages":
        """The messages of a sensor."""
        from sensor_models.messages.osi import OsiMessages  # imported only if messages are wanted

        return OsiMessages(setup, self)

    def mime_type(self, name: str) -> str:
        """The type of a binary variable."""
        return osmp.mime_type(name)
