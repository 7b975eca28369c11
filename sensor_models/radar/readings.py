"""What a radar reports, whatever its model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sensor_models.core.quantities import boolean, integer, real, string

#: Targets on outputs.
MOST_TARGETS = 16


@dataclass(frozen=True)
class NearestTargetOutputs:
    """The nearest target; as it is made, none."""

    detected: bool = boolean(False, "Whether there is a target in the newest frame")
    range: float = real(0.0, "m", "Range of the nearest target; 0 for none")
    azimuth: float = real(0.0, "rad", "Its azimuth in the sensor frame, positive to the left")
    elevation: float = real(0.0, "rad", "Its elevation in the sensor frame, positive upward")
    speed: float = real(
        0.0,
        "m/s",
        "Its speed, positive when closing; of cone by speed_mode, and 0 if it is new",
    )
    entity_id: int = integer(-1, "Its entity id; -1 for none")
    target_count: int = integer(
        0,
        "Number of targets in the newest frame, of which 16 are on outputs: of cone the nearest, "
        "of ray_traced the strongest",
    )


@dataclass(frozen=True)
class TargetOutput:
    """One of the targets; as it is made, none."""

    range: float = real(
        0.0, "m", "Range of a target, counted from the nearest (cone) or strongest; 0 for none"
    )
    azimuth: float = real(0.0, "rad", "Its azimuth in the sensor frame, positive to the left")
    elevation: float = real(0.0, "rad", "Its elevation in the sensor frame, positive upward")
    speed: float = real(
        0.0, "m/s", "Its speed, positive when closing; of cone by speed_mode, and 0 if it is new"
    )
    rcs: float = real(0.0, "m2", "Its radar cross section; 0 of cone")
    snr: float = real(0.0, "1", "Power of its peak over that of the noise; 0 of cone")
    entity_id: int = integer(-1, "Its entity id; -1 for none")


@dataclass(frozen=True)
class CubeOutputs:
    """The cube of the newest frame."""

    file: str = string(
        "", "Path of the newest complete cube; empty of cone, which has none", name="cube.file"
    )


@dataclass(frozen=True)
class Detection:
    """A target in a file."""

    entity_id: int = integer(-1, "Entity id")
    range: float = real(0.0, "m", "Range")
    azimuth: float = real(0.0, "rad", "Azimuth in the sensor frame, positive to the left")
    elevation: float = real(0.0, "rad", "Elevation in the sensor frame, positive upward")
    speed: float = real(
        0.0, "m/s", "Speed, positive when closing; of cone by speed_mode, NaN if it is new"
    )
    x: float = real(0.0, "m", "Its place in the sensor frame, forward; of cone its nearest point")
    y: float = real(0.0, "m", "Its place in the sensor frame, to the left")
    z: float = real(0.0, "m", "Its place in the sensor frame, upward")
    rcs: float = real(0.0, "m2", "Radar cross section, NaN of cone")
    snr: float = real(0.0, "1", "Power of its peak over that of the noise, NaN of cone")


class TargetRow(NamedTuple):
    """A target on the outputs."""

    range: float
    azimuth: float
    elevation: float
    speed: float
    rcs: float
    snr: float
    entity_id: int


#: The outputs of a target that there is not.
NO_TARGET = TargetRow(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1)


def values_of(rows: Sequence[TargetRow], nearest: int) -> tuple[Any, ...]:
    """The readings of a frame, scalar by scalar; ``nearest`` is the row of the nearest target."""
    some = list(rows[:MOST_TARGETS])
    some += [NO_TARGET] * (MOST_TARGETS - len(some))
    listed = [value for row in some for value in row]
    if not rows:
        return (False, 0.0, 0.0, 0.0, 0.0, -1, 0, *listed)
    near = rows[nearest]
    own = (True, near.range, near.azimuth, near.elevation, near.speed, near.entity_id)
    return (*own, len(rows), *listed)
