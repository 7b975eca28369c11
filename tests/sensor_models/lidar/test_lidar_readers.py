"""Point clouds read from files, and lidars made of names."""

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.lidar.named import named_lidar
from sensor_models.lidar.parameters import ReturnMode
from sensor_models.lidar.readers import CloudError, read_cloud
from sensor_models.output.clouds import CloudFormat
from sensor_models.output.points import POINT, POINT_WITH_NORMAL
from sensor_models.presets import list_presets
from tests.sensor_models.output.cloud_points import written

FORMATS = list(CloudFormat)


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize("record", [POINT, POINT_WITH_NORMAL])
def test_what_is_written_is_read_with_all_its_fields(tmp_path, output_format, record):
    generator = np.random.default_rng(3)
    points = np.frombuffer(generator.bytes(50 * record.itemsize), record).copy()
    for name in record.names:  # bytes at random may be no numbers
        if record[name].kind == "f":
            points[name] = generator.normal(0.0, 10.0, 50)
    points["return_number"], points["return_count"] = 200, 201  # more than LAS has room for
    found = read_cloud(written(tmp_path, output_format, points))
    for name in record.names:
        if name in "xyz" and output_format in (CloudFormat.las, CloudFormat.laz):
            # of steps of 0.1 mm, to the nearest
            np.testing.assert_allclose(found[name], points[name], rtol=0, atol=0.51e-4)
        else:
            np.testing.assert_array_equal(found[name], points[name], err_msg=name)


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_file_without_points_is_read(tmp_path, output_format):
    assert len(read_cloud(written(tmp_path, output_format, np.zeros(0, POINT)))) == 0


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"1 2 3", "is none of pcd, ply, npy, las, laz"),
        ("a.pcd", b"no header", "has no line DATA"),
        ("a.pcd", b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nPOINTS 1\nDATA ascii\n1 2 3\n", "ascii"),
        ("a.pcd", b"FIELDS x\nSIZE 4\nTYPE F\nCOUNT 3\nPOINTS 1\nDATA binary\n", "several values"),
        ("a.pcd", b"FIELDS x\nSIZE 4\nTYPE F\nPOINTS 9\nDATA binary\n1234", "9 points, it has 1"),
        ("a.pcd", b"FIELDS x\nSIZE 4\nTYPE F\nPOINTS 1\nDATA binary\n1234", "has no field y"),
        ("a.pcd", b"FIELDS x\nSIZE 4\nPOINTS 1\nDATA binary\n1234", "TYPE"),
        ("a.ply", b"ply\nformat ascii 1.0\nelement vertex 0\nend_header\n", "binary_little_endian"),
        (
            "a.ply",
            b"ply\nformat binary_little_endian 1.0\nelement vertex 1\nelement face 1\nend_header\n",
            "vertex alone",
        ),
        ("a.npy", b"not one", "cannot be read as npy"),
        ("a.las", b"not one", "cannot be read as las"),
        ("a.laz", b"", "cannot be read as laz"),
    ],
)
def test_what_is_no_cloud_is_refused_with_a_reason(tmp_path, name, content, reason):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CloudError, match=reason) as caught:
        read_cloud(path)
    assert str(path) in str(caught.value)


def test_an_array_of_plain_numbers_is_no_cloud(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((5, 3)))
    with pytest.raises(CloudError, match="no list of records"):
        read_cloud(tmp_path / "a.npy")


# ---- lidars by name ----------------------------------------------------------------------------


@pytest.mark.parametrize("preset", list_presets("Lidar"))
def test_every_preset_makes_a_lidar(preset):
    lidar, rate = named_lidar(preset)
    assert rate > 0.0
    assert lidar.rays == lidar.pattern.rows * lidar.pattern.columns > 100


def test_settings_go_on_top_of_a_preset_as_values_or_as_texts():
    texts = {
        "return_mode": "dual",
        "pattern.columns": "2048",
        "sample_rate": "5",
        "beam.on": "false",
        "beam.mode": "exact",
        "mount.position.z": "1.5",
    }
    values = {**texts, "return_mode": ReturnMode.dual, "sample_rate": 5.0, "beam.on": False}
    for settings in (texts, values):
        lidar, rate = named_lidar("OS0-128", settings)
        assert rate == 5.0
        assert lidar.parameters.return_mode is ReturnMode.dual
        assert lidar.parameters.returns == 2
        assert lidar.pattern.columns == 2048
        assert not lidar.parameters.beam_on
        assert lidar.beam.mode.name == "exact"
        assert lidar.mount.position == (0.0, 0.0, 1.5)
        assert lidar.parameters.max_range == 50.0  # of the preset


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pattern.colums": "5"}, "did you mean pattern.columns"),
        ({"pattern.columns": "many"}, "pattern.columns = 'many' cannot be read"),
        ({"beam.on": "perhaps"}, "needed is true or false"),
        ({"return_mode": "best"}, "strongest, first, last, dual, all"),
        ({"beam.detector_radius": "-1"}, "beam.detector_radius"),
        ({"sample_rate": "-1"}, "sample_rate"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        named_lidar("", settings)
