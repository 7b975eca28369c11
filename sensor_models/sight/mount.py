"""Where a sensor on a body is in the world."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.frames import (
    MountParameters,
    multiply_quaternions,
    normalise_quaternion,
    rotate_vector,
)
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.sensor import Setup

Floats = NDArray[np.float64]


class Pose(NamedTuple):
    """Position and quaternion of a sensor in the world, as an index of files has them."""

    position: tuple[float, ...]
    orientation: tuple[float, ...]


def mount_of(setup: Setup) -> MountParameters:
    """Where a sensor sits in its run: as mounted, or as drawn."""
    mount, placement = (
        setup.parameters.of(MountParameters),
        setup.parameters.of(PlacementParameters),
    )
    return placed(mount, placement, setup.sampling.seed, setup.identity)


def pose_of(mount: MountParameters, body: ArrayLike) -> Pose:
    """The pose of a sensor, of the state or the pose of its body."""
    pose = np.asarray(body, float)
    turn = normalise_quaternion(pose[3:7])
    place = pose[:3] + rotate_vector(turn, np.array(mount.position))
    both = multiply_quaternions(turn, np.array(mount.orientation))
    return Pose(tuple(place.tolist()), tuple(both.tolist()))


def poses_of(mount: MountParameters, bodies: Floats) -> Floats:
    """Poses of a sensor as kernels take them, (n, 12), of the states or poses of its body."""
    from sensor_models.kernels.tracing.sensor_poses import place_sensor  # of the ray engine

    poses = np.empty((len(bodies), 12))
    place_sensor(bodies, np.array([*mount.position, *mount.orientation]), poses)
    return poses
