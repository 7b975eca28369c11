"""Draws that rays share a block of random words for, whichever columns are made together."""

import itertools

import numpy as np
import pytest

from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import LidarNoiseParameters, LidarParameters, ReturnMode
from sensor_models.lidar.patterns import ScanPattern
from sensor_models.scene.model import Medium
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import poses_of
from tests import lidar_scenes as rig

MIST = Medium(
    "mist", 0.001, return_shape=2.0, return_scale=2.0, return_probability=0.4, backscatter=1.0
)
COLUMNS = 37


def lidar_of(rows: int) -> Lidar:
    """Rays ahead, with errors of their ranges, whose echoes are all kept."""
    angles = np.linspace(-0.2, 0.2, rows * COLUMNS)
    return Lidar(
        LidarParameters(return_mode=ReturnMode.all, max_returns=4),
        ScanPattern.from_arrays(angles, 0.1 * angles, rows=rows),
        noise=LidarNoiseParameters(distance_sigma_base=0.02),
        seed=5,
    )


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_echoes_and_errors_of_a_ray_do_not_depend_on_the_columns_it_is_made_with(rows: int) -> None:
    lidar = lidar_of(rows)
    poses = poses_of(lidar.mount, np.array([rig.AT_ORIGIN], float).reshape(1, -1)[:, :7])
    found = []
    with RayScene(rig.scene(rig.across(12.0), media=(MIST,)), threads=1) as rays:
        for cuts in ((0, COLUMNS), (0, 5, 6, 19, COLUMNS), (0, 1, 3, 10, 33, COLUMNS)):
            cloud = lidar.new_cloud()
            for part in itertools.pairwise(cuts):
                lidar.scan(rays, poses, 3, (0.0, 0.0), part, cloud)
            found.append(cloud.points())
    assert 0 < np.count_nonzero(found[0]["atmospheric"]) < rows * COLUMNS
    assert len(np.unique(found[0]["range"])) > rows * COLUMNS / 2
    for other in found[1:]:
        assert other.tobytes() == found[0].tobytes()
