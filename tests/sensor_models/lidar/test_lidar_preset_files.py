"""Every lidar preset in every format, as programs of others read it."""

import laspy
import numpy as np
import pytest
from pypcd4 import PointCloud
from trimesh.exchange.ply import load_ply

from sensor_models.lidar.named import named_lidar
from sensor_models.output.clouds import CloudFile, CloudFormat
from sensor_models.presets import list_presets
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene

PRESETS = list_presets("Lidar")
SENSOR = np.array([0.3, 0.2, 1.8, 1.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def yard():
    with RayScene(load_scene("yard")) as rays:
        yield rays


def read(path, output_format):
    """The fields of a file."""
    if output_format == CloudFormat.pcd:
        return PointCloud.from_path(path).pc_data
    if output_format == CloudFormat.npy:
        return np.load(path)
    with path.open("rb") as stream:
        return load_ply(stream)["metadata"]["_ply_raw"]["vertex"]["data"]


@pytest.mark.parametrize("preset", PRESETS)
def test_intensities_are_the_same_in_every_format(tmp_path, yard, preset):
    lidar, _ = named_lidar(preset, {})
    cloud = lidar.capture(yard, SENSOR, out=lidar.new_cloud(normals=False))
    expected = cloud.points()
    own = lidar.parameters
    assert len(np.unique(expected["intensity"])) > 5
    for output_format in CloudFormat:
        path = tmp_path / f"cloud.{output_format.name}"
        CloudFile(cloud, output_format, full_intensity=own.normalised_full_scale).write(path)
        if output_format not in (CloudFormat.las, CloudFormat.laz):
            found = read(path, output_format)
            for name in expected.dtype.names:
                np.testing.assert_array_equal(found[name], expected[name], name)
            continue
        las = laspy.read(path)
        np.testing.assert_array_equal(las["intensity_raw"], expected["intensity"])
        exact = expected["intensity"].astype(float)
        if own.intensity_bits:  # the standard: times 65536 / 2^bits
            normalised = exact * 2.0 ** (16 - own.intensity_bits)
        else:  # a white plate face to face has the largest count
            normalised = np.rint(np.clip(exact * np.pi, 0.0, 1.0) * 65535)
        np.testing.assert_array_equal(las.intensity, normalised)
        assert len(np.unique(las.intensity)) > 5
