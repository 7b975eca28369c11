"""Point clouds in files: programs of others read back what was given, field by field."""

from datetime import date

import laspy
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.lib.recfunctions import repack_fields
from pypcd4 import PointCloud
from trimesh.exchange.ply import load_ply

from sensor_models.output.clouds import CloudFile, CloudFormat, Viewpoint
from sensor_models.output.points import (
    FIELDS,
    POINT,
    POINT_WITH_NORMAL,
    CloudBuffer,
    record_of,
)

EXACT = [CloudFormat.pcd, CloudFormat.ply, CloudFormat.npy]
LASER = [CloudFormat.las, CloudFormat.laz]
RECORDS = [POINT, POINT_WITH_NORMAL, record_of(wide=True)]

SENSOR = Viewpoint(False, (1.5, -2e-5, 3.0), (0.5, 0.5, -0.5, 0.5))
WORLD = Viewpoint(True, SENSOR.position, SENSOR.orientation)
FAR = (500_000.0, -5_000_000.0, 0.0)
SHIFTED = Viewpoint(True, SENSOR.position, SENSOR.orientation, FAR)
KINDS = pytest.mark.parametrize(
    ("normals", "wide"), [(False, False), (True, False), (False, True), (True, True)]
)


def random_points(shape, record=POINT_WITH_NORMAL, seed=3):
    """Points of any bits, but for positions, which are within 100 m."""
    generator = np.random.default_rng(seed)
    count = int(np.prod(shape))
    points = np.frombuffer(generator.bytes(count * record.itemsize), record).copy()
    for axis in "xyz":
        points[axis] = generator.uniform(-100.0, 100.0, count)
    return points.reshape(shape)


def clouds(record=POINT_WITH_NORMAL):
    """Clouds of none, one and several points, with every value that a field can have."""
    return st.integers(0, 6).flatmap(lambda count: arrays(record, count))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where the examples of a property are written, one over the other."""
    return tmp_path_factory.mktemp("clouds") / "cloud"


def write(path, points, output_format, viewpoint=SENSOR, **more):
    return CloudFile(points, output_format, viewpoint, **more).write(path)


def read_exact(path, output_format):
    """The records of a file as an independent program gives them."""
    if output_format == CloudFormat.pcd:
        return PointCloud.from_path(path).pc_data
    if output_format == CloudFormat.npy:
        return np.load(path, mmap_mode="r")
    with path.open("rb") as stream:
        vertices = load_ply(stream)["metadata"]["_ply_raw"]["vertex"]["data"]
    own = [name for name in vertices.dtype.names if name not in ("nx", "ny", "nz")]
    if "nx" in vertices.dtype.names:
        for axis in "xyz":
            np.testing.assert_array_equal(vertices[f"n{axis}"], vertices[f"normal_{axis}"])
    return repack_fields(vertices[own])


# --- the record


def test_a_point_has_the_same_size_in_every_program():
    assert POINT.itemsize == 60
    assert POINT_WITH_NORMAL.itemsize == 72
    assert list(FIELDS) == list(record_of(normals=True, echoes=True).names)
    assert record_of(normals=True, echoes=True).names[: len(POINT_WITH_NORMAL)] == (
        POINT_WITH_NORMAL.names
    )
    assert record_of(echoes=True).itemsize == 60 + 16


@KINDS
def test_a_record_has_room_for_what_is_asked_for(normals, wide):
    record = record_of(normals=normals, wide=wide)
    assert record.itemsize == 60 + 12 * normals + 12 * wide
    assert {record[axis].itemsize for axis in "xyz"} == {8 if wide else 4}
    assert record.names == (POINT_WITH_NORMAL if normals else POINT).names


# --- buffers


def buffer_of(points, counts):
    """A buffer that holds points (rays, returns)."""
    record = points.dtype
    buffer = CloudBuffer(
        *points.shape, normals="normal_x" in record.names, wide=record["x"].itemsize == 8
    )
    buffer.returns[:], buffer.counts[:] = points, counts
    return buffer


def rays_of(points, counts):
    """The valid points, one by one."""
    return np.array(
        [points[r, k] for r, count in enumerate(counts) for k in range(count)], points.dtype
    )


@KINDS
@given(data=st.data())
def test_a_buffer_gives_the_returns_of_one_ray_after_the_other(normals, wide, data):
    rays, returns = data.draw(st.integers(0, 20)), data.draw(st.integers(1, 5))
    counts = data.draw(arrays(np.uint8, rays, elements=st.integers(0, returns)))
    points = random_points((rays, returns), record_of(normals=normals, wide=wide))
    buffer, naive = buffer_of(points, counts), rays_of(points, counts)
    for _ in range(2):  # as they are, then packed
        assert buffer.points(normals=normals).tobytes() == naive.tobytes()
        plain = buffer.points()
        assert plain.dtype == record_of(wide=wide)
        for name in POINT.names:
            assert plain[name].tobytes() == naive[name].tobytes()
        packed = buffer.pack()
        assert packed.tobytes() == naive.tobytes()
        assert np.shares_memory(packed, buffer.words) or not len(naive)


def test_a_buffer_without_room_for_normals_has_none():
    buffer = CloudBuffer(4, 2, normals=False)
    with pytest.raises(ValueError, match="no room for normals"):
        buffer.points(normals=True)


def test_a_packed_buffer_is_no_longer_ray_by_ray_until_it_is_cleared():
    buffer = buffer_of(random_points((4, 2)), [0, 2, 1, 2])
    buffer.pack()
    with pytest.raises(ValueError, match="packed"):
        _ = buffer.returns
    buffer.clear()
    assert buffer.returns.shape == (4, 2)
    assert not len(buffer.points())


@KINDS
def test_a_saved_buffer_is_loaded_as_it_was(normals, wide):
    points = random_points((4, 2), record_of(normals=normals, wide=wide))
    one = buffer_of(points, [0, 2, 1, 2])
    one.nearest, one.number, one.lost[:] = (2.5, 3), 5, range(1, 6)
    one.shift[:] = FAR
    other = CloudBuffer(4, 2, normals=normals, wide=wide)
    other.load(one.saved(4), 4)
    assert other.points(normals=normals).tobytes() == one.points(normals=normals).tobytes()
    assert (other.nearest, other.number) == (one.nearest, one.number)
    assert other.cut_off == one.cut_off
    assert tuple(other.shift) == FAR


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("counts", np.array([1, 3], np.uint8)),
        ("counts", np.array([1], np.uint8)),
        ("counts", np.array([1, 2])),
        ("points", np.zeros(1, np.uint8)),
        ("lost", np.zeros(3, np.int64)),
        ("shift", np.zeros(2)),
    ],
)
def test_saved_points_that_do_not_fit_the_rays_are_refused(name, value):
    saved = buffer_of(random_points((2, 2)), [1, 2]).saved(2)
    CloudBuffer(2, 2).load(saved, 2)
    with pytest.raises(ValueError, match="damaged"):
        CloudBuffer(2, 2).load({**saved, name: value}, 2)


@pytest.mark.parametrize("output_format", CloudFormat)
@KINDS
def test_a_buffer_gives_the_same_file_as_its_points(tmp_path, output_format, normals, wide):
    points = random_points((50, 3), record_of(normals=normals, wide=wide))
    counts = np.random.default_rng(1).integers(0, 4, 50).astype(np.uint8)
    told = write(tmp_path / "raw", buffer_of(points, counts), output_format)
    assert told["points"] == counts.sum()
    write(tmp_path / "points", rays_of(points, counts), output_format)
    assert (tmp_path / "raw").read_bytes() == (tmp_path / "points").read_bytes()


# --- what is read back


@pytest.mark.parametrize("output_format", EXACT)
@pytest.mark.parametrize("record", RECORDS)
@example(points=np.zeros(0, POINT_WITH_NORMAL))
@given(points=clouds())
def test_records_keep_every_bit(place, record, output_format, points):
    points = points[list(record.names)].astype(record)
    write(place, points, output_format)
    found = read_exact(place, output_format)
    assert found.dtype == record
    assert found.tobytes() == points.tobytes()


@pytest.mark.parametrize("output_format", LASER)
@pytest.mark.parametrize("record", RECORDS)
@example(points=np.zeros(0, POINT_WITH_NORMAL))
@given(points=clouds())
def test_las_keeps_positions_to_half_a_step_and_all_else_exactly(
    place, record, output_format, points
):
    points = points[list(record.names)].astype(record)
    told = write(place, points, output_format)
    finite = np.all([np.isfinite(points[axis]) for axis in "xyz"], axis=0)
    found, expected = laspy.read(place), points[finite]
    assert told["points"] == len(found) == len(expected)
    for axis, step in zip("xyz", found.header.scales, strict=True):
        exact = expected[axis].astype(float)
        # The reader adds offset and product in float64, whose rounding is beside the step's.
        rounding = 4 * np.finfo(float).eps * np.abs(exact).max(initial=0.0)
        error = np.abs(np.asarray(found[axis]) - exact)
        assert (error <= 0.5 * step * (1 + 1e-6) + rounding).all()
    changed = {"time": "gps_time"} | {
        name: f"{name}_raw" for name in ("intensity", "return_number", "return_count")
    }
    for name in record.names[3:]:
        values = np.asarray(found[changed.get(name, name)])
        assert values.tobytes() == expected[name].tobytes(), name


@pytest.mark.parametrize("output_format", CloudFormat)
def test_time_stamps_are_kept_to_the_last_bit(tmp_path, output_format):
    points = random_points(1000)
    points["time"] = 1e9 + np.arange(1000) * 1.1e-7
    write(tmp_path / "cloud", points, output_format)
    if output_format in LASER:
        found = np.asarray(laspy.read(tmp_path / "cloud").gps_time)
    else:
        found = read_exact(tmp_path / "cloud", output_format)["time"]
    assert found.tobytes() == points["time"].tobytes()


@pytest.mark.parametrize("output_format", CloudFormat)
def test_equal_clouds_are_equal_files(tmp_path, output_format):
    points = random_points(10_000)
    for name in ("a", "b"):
        write(tmp_path / name, points.copy(), output_format)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("output_format", EXACT)
def test_a_selection_of_fields_is_written_without_gaps(tmp_path, output_format):
    points = random_points(20)
    write(tmp_path / "cloud", points[["x", "y", "z", "time"]][::2], output_format)
    found = read_exact(tmp_path / "cloud", output_format)
    assert found.dtype.itemsize == 20
    for name in ("x", "y", "z", "time"):
        assert found[name].tobytes() == points[name][::2].tobytes()


def test_las_takes_positions_alone(tmp_path):
    points = random_points(20)[["x", "y", "z"]]
    write(tmp_path / "cloud", points, CloudFormat.las)
    found = laspy.read(tmp_path / "cloud")
    np.testing.assert_allclose(found.x, points["x"], rtol=0, atol=0.5001e-4)  # half a step
    assert not found.gps_time.any()


def test_npy_is_mapped_and_not_read(tmp_path):
    points = random_points(20, POINT)
    write(tmp_path / "cloud", points, CloudFormat.npy)
    found = np.load(tmp_path / "cloud", mmap_mode="r")
    assert isinstance(found, np.memmap)
    assert found["ring"][7] == points["ring"][7]


# --- frames and poses


def test_pcd_has_the_pose_of_the_sensor_as_viewpoint_of_a_cloud_in_its_frame(tmp_path):
    write(tmp_path / "cloud", random_points(2), CloudFormat.pcd, SENSOR)
    viewpoint = PointCloud.from_path(tmp_path / "cloud").metadata.viewpoint
    assert viewpoint == (*SENSOR.position, *SENSOR.orientation)


def test_pcd_has_no_viewpoint_for_a_cloud_in_the_world(tmp_path):
    write(tmp_path / "cloud", random_points(2), CloudFormat.pcd, WORLD)
    assert PointCloud.from_path(tmp_path / "cloud").metadata.viewpoint == (0, 0, 0, 1, 0, 0, 0)


@pytest.mark.parametrize(("viewpoint", "frame"), [(SENSOR, "sensor"), (WORLD, "world")])
def test_ply_says_frame_pose_and_units(tmp_path, viewpoint, frame):
    told = write(tmp_path / "cloud", random_points(2), CloudFormat.ply, viewpoint)
    header = (tmp_path / "cloud").read_bytes().partition(b"end_header\n")[0].decode()
    comments = [line for line in header.splitlines() if line.startswith("comment ")]
    assert comments[:3] == [
        f"comment points are in the {frame} frame",
        "comment sensor position x y z [m]: 1.5 -2e-05 3.0",
        "comment sensor orientation w x y z [1]: 0.5 0.5 -0.5 0.5",
    ]
    assert "comment range [m]: Distance to the sensor" in comments
    assert "comment nz [1]: Normal of the surface" in comments
    assert told["output_frame"] == frame


# --- LAS


def las_of(tmp_path, points, output_format=CloudFormat.las):
    write(tmp_path / "cloud", points, output_format)
    return laspy.read(tmp_path / "cloud")


@pytest.mark.parametrize("output_format", LASER)
def test_las_is_of_the_version_and_point_format_that_have_time(tmp_path, output_format):
    header = las_of(tmp_path, random_points(3), output_format).header
    assert (header.version, header.point_format.id) == ("1.4", 6)
    assert header.global_encoding.wkt
    assert header.creation_date == date(1970, 1, 1)
    assert header.are_points_compressed == (output_format == CloudFormat.laz)
    described = {extra.name: extra.description for extra in header.point_format.extra_dimensions}
    assert described["range"] == "Distance to the sensor, m"
    assert described["return_count_raw"] == "Returns of the ray"


def test_las_counts_intensity_in_the_same_steps_in_all_files(tmp_path):
    points = np.zeros(7, POINT)
    points["intensity"] = [0.0, 1.0, 0.25, 40.0, -1.0, np.nan, np.inf]
    assert las_of(tmp_path, points).intensity.tolist() == [0, 65535, 16384, 65535, 0, 0, 65535]


def test_las_has_65535_for_the_intensity_that_it_is_told(tmp_path):
    points = np.zeros(4, POINT)
    points["intensity"] = [0.0, 1.0, 255.0, 300.0]
    write(tmp_path / "cloud", points, CloudFormat.las, full_intensity=65535 / 256)
    assert laspy.read(tmp_path / "cloud").intensity.tolist() == [0, 256, 65280, 65535]


def test_las_puts_more_returns_than_it_knows_at_the_most(tmp_path):
    points = np.zeros(3, POINT)
    points["return_number"], points["return_count"] = [1, 15, 200], [1, 20, 255]
    found = las_of(tmp_path, points)
    assert np.asarray(found.return_number).tolist() == [1, 15, 15]
    assert np.asarray(found.number_of_returns).tolist() == [1, 15, 15]
    assert found["return_number_raw"].tolist() == [1, 15, 200]
    assert found["return_count_raw"].tolist() == [1, 20, 255]


def test_las_takes_no_label_for_a_class_of_its_standard(tmp_path):
    points = np.zeros(2, POINT)
    points["label"] = [7, -1]
    found = las_of(tmp_path, points)
    assert not found.classification.any()
    assert found["label"].tolist() == [7, -1]


def test_las_counts_tenths_of_millimetres_about_the_middle(tmp_path):
    points = np.zeros(2, POINT)
    points["x"], points["z"] = [5e6, 5e6 + 100], [0.00015, -0.00026]
    found = las_of(tmp_path, points)
    assert found.header.scales.tolist() == [1e-4, 1e-4, 1e-4]
    assert found.header.offsets.tolist() == [5e6 + 50, 0.0, -1.0]
    assert found.Z.tolist() == [10_002, 9_997]


def test_las_takes_larger_steps_only_along_an_axis_that_needs_them(tmp_path):
    points = np.zeros(2, POINT)
    points["x"], points["y"], points["z"] = [-4e5, 4e5], [-2e5, 2e5], [-3e38, 3e38]
    header = las_of(tmp_path, points).header
    np.testing.assert_array_equal(header.scales, [1e-3, 1e-4, 1e30])


def test_las_leaves_out_points_without_a_finite_position(tmp_path):
    points = np.zeros(4, POINT)
    points["x"], points["y"], points["ring"] = [0, np.nan, 0, 0], [0, 0, np.inf, 0], range(4)
    assert write(tmp_path / "cloud", points, CloudFormat.las)["points"] == 2
    assert laspy.read(tmp_path / "cloud")["ring"].tolist() == [0, 3]


# --- far from the origin


def test_a_shift_is_where_each_format_has_room_for_it(tmp_path):
    points = random_points(20, POINT)
    for output_format in CloudFormat:
        told = write(tmp_path / output_format.name, points, output_format, SHIFTED)
        assert told["shift"] == FAR
    pcd = PointCloud.from_path(tmp_path / "pcd")
    assert pcd.metadata.viewpoint == (*FAR, 1.0, 0.0, 0.0, 0.0)
    header = (tmp_path / "ply").read_bytes().partition(b"end_header")[0].decode()
    assert "comment add to x y z [m]: 500000.0 -5000000.0 0.0\n" in header
    for name in ("las", "laz"):
        found = laspy.read(tmp_path / name)
        for axis, offset in zip("xyz", FAR, strict=True):
            exact = points[axis].astype(float) + offset
            np.testing.assert_allclose(found[axis], exact, rtol=0.0, atol=0.51e-4)


# --- Open3D


@pytest.mark.parametrize("output_format", [CloudFormat.pcd, CloudFormat.ply])
def test_open3d_reads_every_field(tmp_path, output_format):
    # By no means needed to run this project, and a large package: an extra for comparisons.
    open3d = pytest.importorskip("open3d", reason="needs the extra 'bench'")
    path = tmp_path / f"cloud.{output_format.name}"
    points = random_points(100)
    write(path, points, output_format)
    found = open3d.t.io.read_point_cloud(str(path)).point
    expected = {
        "positions": np.stack([points[axis] for axis in "xyz"], axis=1),
        "normals": np.stack([points[f"normal_{axis}"] for axis in "xyz"], axis=1),
        **{name: points[name][:, None] for name in POINT.names[3:]},
    }
    if output_format == CloudFormat.ply:  # has them under both names
        expected |= {f"normal_{axis}": points[f"normal_{axis}"][:, None] for axis in "xyz"}
    assert sorted(found) == sorted(expected)
    for name, values in expected.items():
        assert found[name].numpy().dtype == values.dtype
        np.testing.assert_array_equal(found[name].numpy(), values, name)
    simple = open3d.io.read_point_cloud(str(path))
    np.testing.assert_array_equal(np.asarray(simple.points), expected["positions"])
    assert simple.has_normals()
