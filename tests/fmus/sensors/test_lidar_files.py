"""FMU ``Lidar``: its files as other programs read them, the index, and disks that give trouble."""

import json
import shutil
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from numpy.lib.recfunctions import repack_fields
from pypcd4 import PointCloud
from trimesh.exchange.ply import load_ply

from sensor_models.lidar.readers import read_cloud
from sensor_models.output.clouds import CloudFormat
from sensor_models.output.points import POINT, POINT_WITH_NORMAL
from sensor_models.output.sinks import WriteFiles
from tests.fmus.host import Instance, open_fmu
from tests.fmus.lidar_runs import (
    COLUMNS,
    PERIOD,
    ROWS,
    SPEED,
    STREET,
    TURN_RATE,
    Points,
    begin,
    body_at,
    clouds_of,
    drive,
    files_of,
    index_of,
    parameters_in,
    steps_of,
)
from tests.sensor_models.scene_files import write_manifest

#: Two echoes from some rays: one of them from the air.
MIST = """
[world]
medium = "mist"

[media.mist]
absorption = 0.005
"""
ECHOES = {
    "return_mode": 4,
    "max_returns": 3,
    "ambient.return_probability": 0.5,
    "ambient.return_scale": 2.0,
}


@pytest.fixture
def street(tmp_path: Path) -> str:
    return str(write_manifest(tmp_path, MIST + STREET))


def sweep(lidar: Instance, frames: int, first: int = 0) -> None:
    """Steps in which sweeps become complete, one in each but the first."""
    for k in range(first, frames + 1):
        lidar.set(body_at(PERIOD * k))
        lidar.step(PERIOD * k, PERIOD)


def flush(lidar: Instance) -> None:
    """Wait until all files are there."""
    state = lidar.saved()
    lidar.terminate()
    lidar.restore(state)


def written(fmu: Path, street: str, folder: Path, output_format: CloudFormat, **more: Any) -> Path:
    """The file of one sweep."""
    with open_fmu(fmu) as lidar:
        begin(lidar, street, folder, output_format=output_format, **ECHOES, **more)
        sweep(lidar, 1)
        lidar.terminate()
        file = Path(lidar.get("frame.file"))
    assert file == folder / f"sensor-000000.points.{output_format.name}"
    return file


def read(file: Path) -> Points:
    """The records of a file, as a program of others gives them."""
    if file.suffix == ".pcd":
        found: Points = PointCloud.from_path(file).pc_data
        return found
    with file.open("rb") as stream:
        vertices = load_ply(stream)["metadata"]["_ply_raw"]["vertex"]["data"]
    names = [name for name in vertices.dtype.names if name not in ("nx", "ny", "nz")]
    own: Points = repack_fields(vertices[names])
    return own


@pytest.mark.parametrize("normals", [False, True])
@pytest.mark.parametrize("output_format", [CloudFormat.pcd, CloudFormat.ply])
def test_other_programs_read_the_same_points_from_every_format(
    lidar_fmu: Path, street: str, tmp_path: Path, output_format: CloudFormat, normals: bool
) -> None:
    known = np.load(
        written(lidar_fmu, street, tmp_path / "npy", CloudFormat.npy, output_normals=normals),
        mmap_mode="r",
    )
    file = written(lidar_fmu, street, tmp_path / "other", output_format, output_normals=normals)
    found = read(file)
    assert known.dtype == (POINT_WITH_NORMAL if normals else POINT)
    assert len(known) > ROWS * COLUMNS
    assert set(known["atmospheric"]) == {0, 1}
    assert found.dtype == known.dtype
    assert found.tobytes() == known.tobytes()


@pytest.mark.parametrize("output_format", [CloudFormat.las, CloudFormat.laz])
def test_laspy_reads_the_same_points(
    lidar_fmu: Path, street: str, tmp_path: Path, output_format: CloudFormat
) -> None:
    counts = {"intensity.bits": 8}
    known = np.load(written(lidar_fmu, street, tmp_path / "npy", CloudFormat.npy, **counts))
    found = laspy.read(written(lidar_fmu, street, tmp_path / "other", output_format, **counts))
    assert len(found.points) == len(known)
    for axis in "xyz":  # in steps of 0.1 mm
        np.testing.assert_allclose(found[axis], known[axis], rtol=0.0, atol=0.51e-4)
    assert np.array_equal(found["gps_time"], known["time"])
    assert np.array_equal(found["intensity_raw"], known["intensity"])
    # Normalised to 16 bits, as the standard has it.
    assert len(np.unique(known["intensity"])) > 5
    assert np.array_equal(found.intensity, 256.0 * known["intensity"])
    assert np.array_equal(found["number_of_returns"], known["return_count"])
    for name in ("return_number", "range", "azimuth", "entity_id", "ring", "atmospheric"):
        assert np.array_equal(found[name], known[name])


def test_records_of_a_ray_count_its_returns_from_the_nearest(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    points = np.load(written(lidar_fmu, street, tmp_path, CloudFormat.npy))
    first = np.flatnonzero(points["return_number"] == 1)
    counts = points["return_count"][first]
    assert set(counts) == {1, 2}
    assert np.array_equal(np.diff([*first, len(points)]), counts)
    second = points["return_number"] == 2
    assert (points["range"][second] > points["range"][np.flatnonzero(second) - 1]).all()


def test_the_index_has_the_parameters_and_then_a_line_for_each_frame(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    with open_fmu(lidar_fmu, "roof") as lidar:
        where = {"mount.position.z": 1.5, "seed": 12, "preset": "VLP-16"}
        begin(lidar, street, tmp_path, **where, **{"pattern.beams": "OS1-64"})
        drive(lidar, steps_of(0.05, 0.25))
        lidar.terminate()
    assert set(index_of(tmp_path)[0]) == {"sensor", "format_version", "parameters"}
    parameters = parameters_in(tmp_path)
    assert parameters.keys() == set(lidar.names("parameter"))
    # What was set, what the preset gives, and what is left.
    given = {"seed": 12, "mount.position.z": 1.5, "pattern.columns": COLUMNS, "scene": street}
    given |= {"pattern.type": "spinning", "pattern.beams": "OS1-64", "output_format": "npy"}
    preset = {"min_range": 0.5, "max_range": 100.0, "intensity.kind": "reflectivity"}
    for name, value in {**given, **preset, "preset": "VLP-16", "max_returns": 8}.items():
        assert parameters[name] == value, name
    clouds = clouds_of(tmp_path)
    assert len(clouds) == 2
    for frame, (points, line) in enumerate(zip(clouds, index_of(tmp_path)[1:], strict=True)):
        start = PERIOD * frame
        angle = 0.5 * TURN_RATE * start
        assert line.pop("time") == pytest.approx(start)
        assert line.pop("duration") == pytest.approx(PERIOD)
        assert line.pop("position") == pytest.approx([SPEED * start, 0.0, 1.5], rel=1e-12)
        orientation = [np.cos(angle), 0.0, 0.0, np.sin(angle)]
        assert line.pop("orientation") == pytest.approx(orientation, rel=1e-12)
        assert line == {
            "sensor": "roof",
            "file": f"roof-{frame:06d}.points.npy",
            "frame": frame,
            "kind": "points",
            "format": "npy",
            "points": len(points),
            "output_frame": "sensor",
            "cut_off": {"depth": 0, "events": 0, "nesting": 0, "branches": 0, "echoes": 0},
        }


@pytest.mark.parametrize("output_double", [False, True])
@pytest.mark.parametrize("output_format", CloudFormat)
def test_positions_in_the_world_are_good_to_a_millimetre_at_the_coordinates_of_a_map(
    lidar_fmu: Path, tmp_path: Path, output_format: CloudFormat, output_double: bool
) -> None:
    """A wall 7 m ahead at UTM coordinates, where float32 has steps of 0.5 m."""
    east, north = 500_000.25, 5_000_000.75
    box = f"""
[meshes.wall]
box = {{ size = [1, 40, 40] }}
material = "concrete"

[[instances]]
mesh = "wall"
position = [{east + 7.5}, {north}, 0]
"""
    scene = str(write_manifest(tmp_path, box))
    own = {"output_frame": 1, "output_format": output_format, "output_double": output_double}
    values = {**own, "body.position.x": east, "body.position.y": north, "scan_mode": 0}
    angles = {"azimuth.min": -0.4, "azimuth.max": 0.4, "elevation.min": -0.2, "elevation.max": 0.2}
    values |= {f"pattern.{name}": value for name, value in angles.items()}
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, scene, tmp_path / "out", **values)
        lidar.step(0.0, PERIOD)
        lidar.step(PERIOD, PERIOD)
        lidar.terminate()
    line = index_of(tmp_path / "out")[1]
    file = tmp_path / "out" / line["file"]
    found = laspy.read(file) if file.suffix in (".las", ".laz") else None
    points = read_cloud(file) if found is None else found
    shift = line.get("shift", [0.0, 0.0, 0.0])
    assert any(shift) == (not output_double and found is None)
    if output_format == CloudFormat.pcd:
        assert PointCloud.from_path(file).metadata.viewpoint[:3] == tuple(shift)
    x, y, z = (np.asarray(points[k], float) + m for k, m in zip("xyz", shift, strict=True))
    azimuth, elevation = (np.asarray(points[name], float) for name in ("azimuth", "elevation"))
    assert len(x) > 100
    np.testing.assert_allclose(x, east + 7.0, rtol=0.0, atol=1e-3)
    np.testing.assert_allclose(y, north + 7.0 * np.tan(azimuth), rtol=0.0, atol=1e-3)
    height = 7.0 * np.tan(elevation) / np.cos(azimuth)
    np.testing.assert_allclose(z, height, rtol=0.0, atol=1e-3)


PANES = """
[meshes.pane]
box = { size = [0.01, 40, 40] }
material = "glass"
""" + "".join(f"[[instances]]\nmesh = 'pane'\nposition = [{3 + k}, 0, 0]\n" for k in range(3))
BANKS = """
[meshes.bank]
box = { size = [0.5, 40, 40] }
[meshes.wall]
box = { size = [1, 40, 40] }
material = "concrete"
[[instances]]
mesh = "wall"
position = [9, 0, 0]
[media.mist]
absorption = 0.01
""" + "".join(
    f"[[volumes]]\nmesh = 'bank'\nmedium = 'mist'\nposition = [{3 + k}, 0, 0]\n" for k in range(2)
)


@pytest.mark.parametrize(
    ("limit", "scene", "told"),
    [
        # At the second face of the first pane, where nothing goes on that came through the first.
        # How deep a tree is followed is a choice, and no warning.
        ("depth", PANES, 0),
        ("events", BANKS, 1),  # at the second of four boundaries
    ],
)
def test_light_that_limits_cut_off_is_counted_and_told_once(
    lidar_fmu: Path, tmp_path: Path, limit: str, scene: str, told: int
) -> None:
    angles = {"azimuth.min": -0.1, "azimuth.max": 0.1, "elevation.min": -0.1, "elevation.max": 0.1}
    values = {f"pattern.{name}": value for name, value in angles.items()} | {"scan_mode": 0}
    with open_fmu(lidar_fmu) as lidar:
        manifest = str(write_manifest(tmp_path, scene))
        begin(lidar, manifest, tmp_path / "out", **values, **{f"max_{limit}": 1})
        for k in range(4):
            lidar.step(PERIOD * k, PERIOD)
        lidar.terminate()
        messages = [message.text for message in lidar.messages if "cut off" in message.text]
    assert len(messages) == told
    assert all(f"'{limit}': " in message for message in messages)
    lines = index_of(tmp_path / "out")[1:]
    assert len(lines) >= 3
    for line in lines:
        assert line["cut_off"][limit] == ROWS * COLUMNS
        assert sum(line["cut_off"].values()) == ROWS * COLUMNS


def test_media_nested_too_deep_are_counted_and_told_once(lidar_fmu: Path, tmp_path: Path) -> None:
    """Ten boxes of fog within one another before a wall: eight are remembered."""
    scene = '[media.fog]\nabsorption = 1e-6\n[meshes.wall]\nmaterial = "brick"\n'
    scene += "box = { size = [1, 40, 40] }\n"
    scene += '[[instances]]\nmesh = "wall"\nposition = [20, 0, 0]\n'
    for k in range(10):
        size = [10.0 - 0.2 * k, 20.0 - 0.2 * k, 20.0 - 0.2 * k]
        scene += f'[meshes.bank_{k}]\nbox = {{ size = {size} }}\nmaterial = "brick"\n'
        scene += f'[[volumes]]\nmedium = "fog"\nmesh = "bank_{k}"\nposition = [8, 0, 0]\n'
    angles = {"azimuth.min": -0.1, "azimuth.max": 0.1, "elevation.min": -0.1, "elevation.max": 0.1}
    values = {f"pattern.{name}": value for name, value in angles.items()} | {"scan_mode": 0}
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, str(write_manifest(tmp_path, scene)), tmp_path / "out", **values)
        for k in range(3):
            lidar.step(PERIOD * k, PERIOD)
        lidar.terminate()
        (message,) = (m.text for m in lidar.messages if "cut off" in m.text)
    assert f"'nesting': {2 * ROWS * COLUMNS}" in message
    for line in index_of(tmp_path / "out")[1:]:
        assert line["cut_off"]["nesting"] == sum(line["cut_off"].values()) == 2 * ROWS * COLUMNS


def test_the_pose_is_in_the_header_of_a_pcd(lidar_fmu: Path, street: str, tmp_path: Path) -> None:
    place = {"mount.position.z": 1.5}
    for name, frame, expected in (
        ("sensor", 0, "0.0 0.0 1.5 1.0"),
        ("world", 1, "0.0 0.0 0.0 1.0"),
    ):
        file = written(
            lidar_fmu, street, tmp_path / name, CloudFormat.pcd, output_frame=frame, **place
        )
        assert f"\nVIEWPOINT {expected} 0.0 0.0 0.0\n".encode() in file.read_bytes()


def test_without_files_nothing_is_written(lidar_fmu: Path, street: str, tmp_path: Path) -> None:
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path / "out", write_files=WriteFiles.off)
        sweep(lidar, 6)  # more than there is memory for at a time
        lidar.terminate()
        assert lidar.get("frame.count") == 6
        assert lidar.get("frame.points") > 300
        assert lidar.get("frame.file") == ""
    assert not (tmp_path / "out").exists()


def test_files_go_to_a_fresh_directory_where_none_is_named(
    lidar_fmu: Path, street: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with open_fmu(lidar_fmu, "on the roof") as lidar:
        begin(lidar, street, Path(), **{"output_directory": "", "write_files": WriteFiles.on})
        sweep(lidar, 1)
        lidar.terminate()
        file = Path(lidar.get("frame.file"))
    assert file.parent.parent == tmp_path
    assert file.parent.name.startswith("on_the_roof-")
    assert len(np.load(file)) == lidar_points(file)


def lidar_points(file: Path) -> int:
    """What the index says of a file."""
    (line,) = [line for line in index_of(file.parent)[1:] if line["file"] == file.name]
    number: int = line["points"]
    return number


# ---- trouble -------------------------------------------------------------------------------------


def test_a_directory_that_cannot_be_written_is_refused_at_initialisation(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with open_fmu(lidar_fmu) as lidar:
        lidar.set({"scene": street, "output_directory": str(tmp_path / "file" / "out")})
        lidar.set_up()
        lidar.enter()
        assert str(tmp_path / "file" / "out") in lidar.refusal(lidar.exit)
        lidar.set({"output_directory": str(tmp_path / "out")})
        lidar.exit()
        lidar.step(0.0, 0.1)


def trouble(lidar: Instance, first: int) -> tuple[str, int]:
    """What is said of a frame whose file cannot be written, and in which step.

    That is the step that makes the frame or the one after it, as the disk has it.
    """
    lidar.messages.clear()
    for k in (first, first + 1):
        try:
            sweep(lidar, k, k)
        except FMICallException:
            (message,) = lidar.messages
            return message.text, k
    raise AssertionError("nothing was refused")


def check_it_goes_on(lidar: Instance, first: int) -> str:
    """Whether frames go on after files could not be written; what is said at the end."""
    sweep(lidar, first + 2, first)
    assert lidar.get("frame.count") == first + 2
    assert lidar.get("nearest.range") > 0.0
    lidar.messages.clear()
    with pytest.raises(FMICallException):
        lidar.terminate()
    (message,) = lidar.messages
    return message.text


def test_a_directory_that_is_removed_is_an_error_that_names_it(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, out)
        sweep(lidar, 1)
        flush(lidar)
        earlier = files_of(out)
        shutil.rmtree(out)
        message, step = trouble(lidar, 2)
        assert str(out) in message
        assert "No such file or directory" in message
        lost = step + 2 - len(earlier)
        assert f"{lost} of {step + 2} frames are lost" in check_it_goes_on(lidar, step)
        file = lidar.get("frame.file")
        assert not file or Path(file).name in earlier


@pytest.mark.parametrize("output_format", CloudFormat)
def test_a_full_disk_is_an_error_that_names_the_file_and_with_space_again_files_go_on(
    lidar_fmu: Path, street: str, tmp_path: Path, output_format: CloudFormat
) -> None:
    resource = pytest.importorskip("resource", reason="limits of files are for POSIX systems")
    out = tmp_path / "out"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, out, output_format=output_format)
        sweep(lidar, 2)
        flush(lidar)
        earlier = files_of(out)
        try:  # less than a cloud has, more than the index
            resource.setrlimit(resource.RLIMIT_FSIZE, (6000, before[1]))
            message, step = trouble(lidar, 3)
            sweep(lidar, step, step)  # which waits for all before it
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert f"{out}/sensor-000002.points.{output_format.name}" in message
        assert "File too large" in message
        told = check_it_goes_on(lidar, step + 1)
        newest = Path(lidar.get("frame.file"))
    lines = [json.loads(line) for line in (out / "index.jsonl").read_text().splitlines()]
    (loss,) = [line for line in lines if "lost" in line]
    assert loss["frames"][0] == len(earlier)
    assert f"{loss['lost']} of {step + 3} frames are lost" in told
    assert not list(out.glob(".*"))
    files = files_of(out)
    assert {name: files[name] for name in earlier} == earlier
    assert len(files) == step + 3 - loss["lost"]
    assert newest == out / max(files)


def test_an_error_between_the_frames_of_a_step_loses_none_of_them(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with open_fmu(lidar_fmu) as lidar, open_fmu(lidar_fmu) as undisturbed:
        begin(lidar, street, out)
        begin(undisturbed, street, tmp_path / "other")
        for each in (lidar, undisturbed):
            sweep(each, 1)
            flush(each)
        shutil.rmtree(out)
        # One of the twelve sweeps finds out that one before it could not be written.
        refused = 0
        for start, step in ((2 * PERIOD, 10 * PERIOD), (12 * PERIOD, PERIOD)):
            for each in (lidar, undisturbed):
                each.set(body_at(start))
            try:
                lidar.step(start, step)
            except FMICallException:
                refused += 1
                lidar.step(start, step)
            undisturbed.step(start, step)
        assert refused == 1
        files = ("frame.file", "frame.lost")
        names = [name for name in lidar.names("output") if name not in files]
        assert lidar.get_all(names) == undisturbed.get_all(names)
        assert lidar.get("frame.count") == 12
