"""What a radar measures with."""

import math
from dataclasses import dataclass
from enum import IntEnum

from sensor_models.core.quantities import (
    ParameterError,
    check,
    choice,
    integer,
    real,
    string,
)


class RadarModel(IntEnum):
    """How a radar sees."""

    cone = 0
    ray_traced = 1


class Cap(IntEnum):
    """What a cone ends with."""

    flat = 0
    sphere = 1


class ElevationMode(IntEnum):
    """What an elevation is the angle of."""

    projected = 0
    true = 1


class SpeedMode(IntEnum):
    """What a speed is the change of."""

    magnitude = 0
    closing = 1


class ObstacleShape(IntEnum):
    """What stands for an obstacle."""

    lines = 0
    bounding_box = 1
    box_center = 2


@dataclass(frozen=True)
class ConeParameters:
    """The cone, its lines and its angles."""

    model: RadarModel = choice(
        RadarModel.cone,
        "How it sees: the nearest point of each obstacle in a cone, or what chirps bring back "
        "along rays",
    )
    h_angle: float = real(
        math.radians(45.0),
        "rad",
        "Horizontal opening of the cone from side to side, more than 0 and less than pi",
        minimum=0.0,
        maximum=math.pi,
    )
    v_angle: float = real(
        math.radians(45.0),
        "rad",
        "Vertical opening of the cone from side to side, more than 0 and less than pi",
        minimum=0.0,
        maximum=math.pi,
    )
    length: float = real(20.0, "m", "Distance of the front of the cone, more than 0", minimum=0.0)
    lines_per_face: int = integer(
        100,
        "Lines that a face is looked at by, from one of its edges to the other",
        minimum=2,
        maximum=1_000_000,
    )
    cap: Cap = choice(
        Cap.flat, "Front of the cone: a plane across its axis, or a sphere around the sensor"
    )
    elevation_mode: ElevationMode = choice(
        ElevationMode.projected,
        "Elevation as atan2(z, x), or as the true angle above the plane of x and y",
    )
    speed_mode: SpeedMode = choice(
        SpeedMode.magnitude,
        "Speed of the nearest point in the sensor frame without a sign, or of closing, which is "
        "positive where the range falls",
    )
    obstacles: ObstacleShape = choice(
        ObstacleShape.lines,
        "What stands for an obstacle: the lines of its faces, those of the box around each of its "
        "meshes, which turns with it, or the middle of that box",
    )
    ignore: str = string(
        "",
        "Names of instances and of labels of the scene that are no obstacles, such as the ground "
        "and the sensor's own vehicle; separated by commas",
    )

    def __post_init__(self) -> None:
        check(self)
        for name in ("h_angle", "v_angle"):
            opening = getattr(self, name)
            if not 0.0 < opening < math.pi:
                raise ParameterError(
                    f"{name} = {opening} is out of range, allowed is more than 0 and less than pi"
                )
        if self.length == 0.0:
            raise ParameterError("length = 0.0 is out of range, allowed is more than 0 m")

    @property
    def ignored(self) -> frozenset[str]:
        """The names that are ignored."""
        return frozenset(name.strip() for name in self.ignore.split(",") if name.strip())
