"""Where a sensor sits on its body: as mounted, or drawn at random for training of networks.

With randomisation, each component of the translation and each of the angles roll, pitch, yaw is
uniform within its limits, which replace the mount's own pose. The rotation is about the turned
axes x, y, z in that order: R = R_x(roll) R_y(pitch) R_z(yaw). The pose is drawn once for each run;
a camera can also draw it for each frame. A draw is a function of (seed, sensor, run or frame,
axis).

Source: GYM, whose limits are the defaults. Its comments swap minimum and maximum; its names are
right.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import XYZ, MountParameters
from sensor_models.core.quantities import ParameterError, boolean, check, real
from sensor_models.core.random import stream_key
from sensor_models.kernels.math.random_placement import draw_poses, turn_of_angles

ANGLES = ("roll", "pitch", "yaw")
FIVE_DEGREES = math.radians(5.0)


@dataclass(frozen=True)
class PlacementParameters:
    """Limits of a random pose on the body."""

    on: bool = boolean(
        False, "Draw the pose on the body instead of taking mount's", name="mount.randomization.on"
    )
    min_translation: tuple[float, float, float] = real(
        (0.07, -0.06, 0.01),
        "m",
        "Least position in the body frame",
        components=XYZ,
        name="mount.randomization.min_translation",
    )
    max_translation: tuple[float, float, float] = real(
        (0.12, 0.03, 0.04),
        "m",
        "Greatest position in the body frame",
        components=XYZ,
        name="mount.randomization.max_translation",
    )
    min_rotation: tuple[float, float, float] = real(
        (-FIVE_DEGREES,) * 3,
        "rad",
        "Least angles about the turned axes x, y, z",
        components=ANGLES,
        name="mount.randomization.min_rotation",
    )
    max_rotation: tuple[float, float, float] = real(
        (FIVE_DEGREES,) * 3,
        "rad",
        "Greatest angles about the turned axes x, y, z",
        components=ANGLES,
        name="mount.randomization.max_rotation",
    )

    def __post_init__(self) -> None:
        check(self)
        for what in ("translation", "rotation"):
            low, high = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if any(a > b for a, b in zip(low, high, strict=True)):
                raise ParameterError(
                    f"mount.randomization.min_{what} = {low} must not exceed max_{what} = {high}"
                )


@dataclass(frozen=True)
class FramePlacementParameters(PlacementParameters):
    """Limits of a random pose that may be drawn for each frame."""

    every_frame: bool = boolean(
        False, "Draw it for each frame, not once a run", name="mount.randomization.every_frame"
    )


def placed(
    mount: MountParameters, placement: PlacementParameters, seed: int, identity: str
) -> MountParameters:
    """Where a sensor sits in a run that draws its place once: there or as mounted."""
    if not placement.on:
        return mount
    return draw_placement(placement, stream_key(seed, identity, "placement"), 0)


def draw_placement(
    parameters: PlacementParameters, key: NDArray[np.uint64], index: int, camera: int = 0
) -> MountParameters:
    """The pose on the body of one reset or frame, for one camera of a batch."""
    ((x, y, z, *turn),) = draw_placements(parameters, key, index, 1, camera).tolist()
    return MountParameters((x, y, z), tuple(turn))


def draw_placements(
    parameters: PlacementParameters,
    key: NDArray[np.uint64],
    index: int,
    count: int,
    first: int = 0,
) -> NDArray[np.float64]:
    """Poses on their bodies of some cameras of a batch, (count, 7): position, quaternion."""
    limits = np.array(
        [
            [*parameters.min_translation, *parameters.min_rotation],
            [*parameters.max_translation, *parameters.max_rotation],
        ]
    )
    poses = np.empty((count, 7))
    draw_poses(key, index, first, limits, poses)
    return poses


def quaternion_of(roll: float, pitch: float, yaw: float) -> tuple[float, float, float, float]:
    """The rotation about the turned axes x, y, z, in that order."""
    w, x, y, z = turn_of_angles(float(roll), float(pitch), float(yaw))
    return w, x, y, z
