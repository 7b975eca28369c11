"""Data sets: what is drawn, what is labelled, and that a sample is the same wherever it is made."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from fmus.tools import command
from sensor_models.core.frames import matrix_from_quaternion
from sensor_models.core.quantities import ParameterError
from sensor_models.output.holding import HeldError, Hold
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.datasets.dataset import DatasetError, make_dataset, make_samples
from sensor_models.tools.datasets.description import read_description
from sensor_models.tools.datasets.draws import Drawer
from sensor_models.tools.pictures.dataset_command import main as look
from sensor_models.tools.workers.local import LocalPool
from tests import oracles_rays as twin

TEXT = """
[dataset]
name = "yard"
scene = "yard"
samples = 6
seed = 3
shard = 4
format = "npz"
[pose]
area = [-12, -8, 12, 8]
height = [1.0, 2.0]
on = ["road", "ground"]
look_at = "vehicle_1"
pitch_deg = [-2, 2]
clearance = 0.8
[bodies.vehicle_1]
area = [-8, -6, 8, 6]
on = ["road", "ground"]
clearance = 2.0
[materials]
asphalt = ["asphalt", "concrete", "grass"]
[weather]
visibility = [100, 2000]
[sun]
elevation_deg = [5, 80]
[boxes]
labels = ["vehicle"]
[sensors.front]
sensor = "DepthCamera"
[sensors.front.parameters]
width = 96
height = 72
horizontal_fov = 1.3
max_range = 60.0
return_pointcloud = true
[sensors.top]
sensor = "Lidar"
preset = "VLP-16"
parameters = { "pattern.columns" = 90 }
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("described") / "yard.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def samples(path):
    return list(make_samples(path, range(6)))


@pytest.fixture(scope="module")
def made(path, tmp_path_factory):
    directory = tmp_path_factory.mktemp("made")
    with LocalPool(2) as pool:
        make_dataset(str(path), str(directory), pool)  # paths may be texts
    return directory


def assert_same(one, other):
    assert one.pose == other.pose
    assert one.about == other.about
    assert one.annotations == other.annotations
    for sensor, arrays in one.arrays.items():
        for name, array in arrays.items():
            assert array.tobytes() == other.arrays[sensor][name].tobytes()  # also where it is NaN


def test_a_sample_is_the_same_alone_and_after_others(path, samples):
    for number in (4, 1, 4):
        (alone,) = make_samples(path, [number])
        assert_same(alone, samples[number])
    assert samples[0].pose != samples[1].pose


def test_shards_hold_the_samples_to_the_bit(made, samples):
    assert sorted(p.name for p in made.glob("*.npz")) == ["shard-00000.npz", "shard-00001.npz"]
    for shard, first in enumerate((0, 4)):
        with np.load(made / f"shard-{shard:05d}.npz") as found:
            for place, number in enumerate(found["samples"]):
                assert number == first + place
                own = samples[number].arrays
                for name in ("image", "entity", "label"):
                    np.testing.assert_array_equal(found[f"front.{name}"][place], own["front"][name])
                ends = found["top.first"]
                points = found["top.points"][ends[place] : ends[place + 1]]
                np.testing.assert_array_equal(points, own["top"]["points"])
                assert len(points) > 100
        lines = (made / f"shard-{shard:05d}.jsonl").read_text().splitlines()
        for line, sample in zip(map(json.loads, lines), samples[first:], strict=False):
            assert line["sample"] == sample.number
            assert line["pose"] == sample.pose
            assert line["visibility"] == sample.about["visibility"]


def test_a_data_set_that_was_stopped_goes_on(made, path, samples):
    (made / "shard-00001.jsonl").unlink()
    before = (made / "shard-00000.npz").stat().st_mtime_ns
    seen = []
    with LocalPool(1) as pool:
        make_dataset(path, made, pool, lambda *done: seen.append(done))
    assert seen == [(6, 6)]
    assert (made / "shard-00000.npz").stat().st_mtime_ns == before
    test_shards_hold_the_samples_to_the_bit(made, samples)


def test_another_data_set_is_not_mixed_in(made, path, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(TEXT.replace("seed = 3", "seed = 4"))
    with LocalPool(1) as pool, pytest.raises(DatasetError, match="holds another data set"):
        make_dataset(other, made, pool)


def test_images_and_tables_hold_the_same(path, samples, tmp_path):
    other = tmp_path / "images.toml"
    other.write_text(TEXT.replace('format = "npz"', 'format = "images"'))
    with LocalPool(1) as pool:
        make_dataset(other, tmp_path / "out", pool)
    folder = tmp_path / "out" / "shard-00000"
    own = samples[2].arrays["front"]
    with Image.open(folder / "front" / "000002.image.png") as picture:
        scale = float(picture.text["scale"])
        depth = np.asarray(picture) * scale
    near = np.isfinite(own["image"]) & (own["image"] < 60.0)
    np.testing.assert_allclose(depth[near], own["image"][near], atol=0.51 * scale)
    with Image.open(folder / "front" / "000002.entity.png") as picture:
        np.testing.assert_array_equal(np.asarray(picture).astype(int) - 1, own["entity"])
    points = pq.read_table(folder / "top.parquet").to_pandas()
    truth = samples[2].arrays["top"]["points"]
    np.testing.assert_array_equal(points[points["sample"] == 2]["x"], truth["x"])
    coco = json.loads((tmp_path / "out" / "annotations.json").read_text())
    for image in coco["images"]:
        assert (tmp_path / "out" / image["file_name"]).exists()


# ---- what is drawn -------------------------------------------------------------------------------


def test_poses_keep_their_rules(path, samples):
    """A hundred poses, looked around with many more rays than they were drawn with."""
    scene = load_scene("yard")
    with RayScene(scene, threads=1) as rays:
        drawer = Drawer(read_description(path), rays)
        around = twin.unit_vectors(np.random.default_rng(0), 3000)
        for number in range(100):
            drawn = drawer.draw(number)
            x, y, z = drawn.pose[:3]
            assert -12 <= x <= 12
            assert -8 <= y <= 8
            below = rays.trace((x, y, z), [[0.0, 0.0, -1.0]])
            assert 0.999 <= below.t[0] <= 2.001
            assert scene.labels[below.label[0]] in ("road", "ground")
            assert rays.trace((x, y, z), around).t.min() > 0.55  # some lie between the probes
            axes = matrix_from_quaternion(drawn.pose[3:])
            ahead = drawn.bodies[0, :3] - drawn.pose[:3]
            turned = np.degrees(np.arccos(axes[:, 0] @ ahead / np.linalg.norm(ahead)))
            assert turned <= 2.01  # the pitch on top of looking there
            assert 100.0 <= drawn.about["visibility"] <= 2000.0


def test_draws_fill_their_ranges(path):
    with RayScene(load_scene("yard"), threads=1) as rays:
        drawer = Drawer(read_description(path), rays)
        drawn = [drawer.draw(number) for number in range(120)]
    picked = [one.about["materials"]["asphalt"] for one in drawn]
    assert {name: 20 < picked.count(name) < 60 for name in set(picked)} == dict.fromkeys(
        ("asphalt", "concrete", "grass"), True
    )
    shares = np.log([one.about["visibility"] / 100.0 for one in drawn]) / np.log(20.0)
    assert abs(shares.mean() - 0.5) < 0.1
    ups = [np.degrees(np.arcsin(one.about["sun"][2])) for one in drawn]
    assert 5.0 <= min(ups) < 15.0
    assert 70.0 < max(ups) <= 80.0


def test_looks_change_what_is_seen_and_not_where(path):
    scene = load_scene("yard")
    with RayScene(scene, threads=1) as rays:
        drawer = Drawer(read_description(path), rays)
        drawn = next(
            d for d in map(drawer.draw, range(50)) if d.about["materials"]["asphalt"] == "grass"
        )
        other = rays.with_looks(drawn.looks)
        place = [m.name for m in scene.materials].index("asphalt")
        ray = [[0.0, 0.0, -1.0]]
        one, two = rays.trace((0.0, 0.0, 5.0), ray), other.trace((0.0, 0.0, 5.0), ray)
        np.testing.assert_array_equal(one.t, two.t)
        assert other.scene.materials[place] != scene.materials[place]
        assert other.scene.media[0].absorption != scene.media[0].absorption
        assert rays.scene is scene


# ---- what is labelled ----------------------------------------------------------------------------


def test_points_of_an_entity_are_in_its_box(samples):
    """What the camera measured of each vehicle lies in the box that is said of it."""
    checked = 0
    for sample in samples:
        arrays = sample.arrays["front"]
        for found in sample.annotations["front"]:
            points = arrays["points"][arrays["entity"] == found["entity_id"]].astype(float)
            box = found["box_3d"]
            local = (points - box["centre"]) @ np.array(box["axes"])
            assert (np.abs(local) <= np.array(box["size"]) / 2.0 + 2e-3).all()
            assert 0.0 < found["visibility"] <= 1.0
            checked += 1
    assert checked >= 4


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("samples = 6", "samples = 0", "dataset.samples = 0 must be"),
        ("samples = 6", "samplez = 6", "dataset.samples is missing"),
        ('format = "npz"', 'format = "zip"', "is none of npz, images"),
        ("height = [1.0, 2.0]", "height = [2.0, 1.0]", "pose.height = [2.0, 1.0] must be rising"),
        ("area = [-12, -8, 12, 8]", "area = [1, 2]", "pose.area = [1, 2] must be 4 numbers"),
        ('sensor = "Lidar"', 'sensor = "Imu"', "sensors.top.sensor = 'Imu' is none of"),
        ("visibility = [100, 2000]", "visibility = [0, 10]", "must be above 0"),
        ('look_at = "vehicle_1"', 'look_at = "tree"', "'tree' is no body of the scene"),
        ('"concrete"', '"cheese"', "materials.asphalt: ['cheese'], known"),
        ('labels = ["vehicle"]', 'labels = ["cat"]', "boxes.labels: ['cat'], the scene has"),
        ('preset = "VLP-16"', 'preset = "VLP-17"', "VLP-17"),
        ("clearance = 0.8", "clearance = 90.0", "none of 1000 poses"),
        (
            "samples = 6",
            "samples = 20000000000",
            "samples = 20000000000 must be a whole",
        ),
        (
            "samples = 6",
            "samples = 6.5",
            "samples = 6.5 must be a whole number of 1 to 10000000",
        ),
        (
            "shard = 4",
            "shard = 1000000",
            "shard = 1000000 must be a whole number of 1 to 100000",
        ),
        ("seed = 3", "seed = -1", "dataset.seed = -1 must be a whole number of 0 to 2147483647"),
        (
            "[sensors.front",
            '[sensors."../../evil"',
            "sensors.'../../evil' is no name",
        ),
        ("[sensors.front", '[sensors."/tmp/evil"', "sensors.'/tmp/evil' is no name"),
        ("[sensors.front", '[sensors."front.image"', "sensors.'front.image' is no name"),
        ("[sensors.front", "[sensors.TOP", "only in case"),
        ("[sensors.front", "[sensors.con", "sensors.'con' is a device of Windows"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, old, new, said):
    assert old in TEXT
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(ParameterError) as refusal:
        list(make_samples(path, [0]))
    assert said in str(refusal.value)


def test_a_data_set_that_is_refused_leaves_no_file(tmp_path):
    """A name that is a path would be one outside of the directory."""
    path, out = tmp_path / "wrong.toml", tmp_path / "deep" / "out"
    path.write_text(TEXT.replace("[sensors.front", '[sensors."../../evil"'))
    with LocalPool(1) as pool, pytest.raises(ParameterError, match="is no name"):
        make_dataset(path, out, pool)
    assert list(tmp_path.rglob("*")) == [path]


def test_two_processes_do_not_make_files_in_one_directory(path, tmp_path):
    with (
        Hold(tmp_path),
        LocalPool(1) as pool,
        pytest.raises(HeldError, match=f"in use by process {os.getpid()} on "),
    ):
        make_dataset(path, tmp_path, pool)


def test_the_command_makes_a_data_set(path, tmp_path, capsys):
    output = tmp_path / "out"
    arguments = ["dataset", str(path), "--output", str(output), "--workers", "1"]
    assert command.main(arguments) == 0
    assert capsys.readouterr().out.strip() == str(output / "dataset.json")
    assert command.main(["dataset", str(tmp_path / "none.toml")]) == 1
    assert "none.toml" in capsys.readouterr().err


def test_the_example_can_be_read():
    example = Path(__file__).parents[4] / "examples" / "dataset" / "yard.toml"
    assert read_description(example).samples == 200


def test_a_picture_shows_the_first_samples(path, tmp_path, capsys):
    output = tmp_path / "look.png"
    arguments = [str(path), "--samples", "3", "--across", "2", "--output", str(output)]
    assert look(arguments) == 0
    with Image.open(output) as picture:
        assert picture.size == (2 * 96, 2 * 72)
        pixels = np.asarray(picture)
    assert (pixels == (0, 255, 0)).all(axis=-1).any(), "what is seen has a box"
    assert look([str(tmp_path / "none.toml")]) == 1
    assert "none.toml" in capsys.readouterr().err


# ---- pictures and radars -------------------------------------------------------------------------

LIGHT = """
[dataset]
name = "light"
scene = "yard"
samples = 3
shard = 2
format = "{format}"
[pose]
area = [-12, -8, 12, 8]
height = [1.0, 2.0]
on = ["road", "ground"]
look_at = "vehicle_1"
clearance = 0.8
[sun]
elevation_deg = [20, 80]
[boxes]
labels = ["vehicle"]
[sensors.eye]
sensor = "CcdCamera"
[sensors.eye.parameters]
"pixels.width" = 64
"pixels.height" = 48
"intrinsics.fx" = 50
"intrinsics.fy" = 50
bands = 3
gamma = 0.5
exposure_time = 0.4
[sensors.cone]
sensor = "Radar"
parameters = {{ length = 30.0 }}
[sensors.radar]
sensor = "Radar"
[sensors.radar.parameters]
model = "ray_traced"
"chirp.samples" = 64
"chirp.count" = 16
"fov.azimuth" = 0.4
"fov.elevation" = 0.2
"rays.angle" = 0.02
"""


def test_pictures_and_targets_of_the_same_samples(tmp_path):
    path = tmp_path / "light.toml"
    path.write_text(LIGHT.format(format="npz"))
    samples = list(make_samples(path, range(3)))
    for sample in samples:
        eye, boxes = sample.arrays["eye"], sample.annotations["eye"]
        assert (eye["image"].shape, eye["image"].dtype) == ((48, 64, 3), np.uint8)
        assert 5 < eye["image"].mean() < 250
        assert boxes, "it looks at a vehicle"
        for box in boxes:
            assert (eye["entity"] == box["entity_id"]).sum() == box["area"]
    (again,) = make_samples(path, [1])
    assert_same(again, samples[1])
    targets = [len(s.arrays[name]["targets"]) for s in samples for name in ("cone", "radar")]
    assert min(targets) > 0
    for sample in samples:
        found = sample.arrays["radar"]["targets"]
        assert (found["range"] > 0.0).all()
        assert np.isfinite(found["rcs"]).all()


def test_pictures_and_targets_as_files(tmp_path):
    path = tmp_path / "light.toml"
    path.write_text(LIGHT.format(format="images"))
    with LocalPool(1) as pool:
        make_dataset(path, tmp_path / "out", pool)
    samples = list(make_samples(path, range(2)))
    folder = tmp_path / "out" / "shard-00000"
    for sample in samples:
        with Image.open(folder / "eye" / f"{sample.number:06d}.image.png") as image:
            np.testing.assert_array_equal(np.asarray(image), sample.arrays["eye"]["image"])
    table = pq.read_table(folder / "radar.parquet").to_pydict()
    wanted = [number for s in samples for number in s.arrays["radar"]["targets"]["range"]]
    np.testing.assert_array_equal(table["range"], wanted)
