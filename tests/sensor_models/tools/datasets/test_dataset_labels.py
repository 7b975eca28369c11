"""Labels of data sets as KITTI's text files, read by what its development kit says of the columns.

By the readme of the kit a line has type, truncated, occluded, alpha, bbox (left, top, right and
bottom in pixels), dimensions (height, width and length in metres), location (x, y and z in the
frame of the camera) and rotation_y (about y in that frame). A camera has x to the right, y down and
z forward.
"""

import json
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from sensor_models.camera.depth.camera import DepthCamera
from sensor_models.camera.depth.parameters import DepthCameraParameters
from sensor_models.core.quantities import ParameterError
from sensor_models.scene.model import Body, Instance
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.datasets.boxes import Boxes
from sensor_models.tools.datasets.dataset import make_dataset, make_samples
from sensor_models.tools.datasets.kitti import label_line
from sensor_models.tools.workers.local import LocalPool
from tests import oracles_rays as twin

#: Of the numbers in the files.
DIGIT = 0.51e-6
CAMERA = DepthCamera(
    DepthCameraParameters(
        width=400, height=300, horizontal_fov=1.0, max_range=50.0, segmentation=True
    )
)
FOCAL = 200.0 / math.tan(0.5)
AT_ORIGIN = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


class Label(NamedTuple):
    """A line, column by column."""

    type: str
    truncated: float
    occluded: int
    alpha: float
    bbox: np.ndarray
    height: float
    width: float
    length: float
    location: np.ndarray
    rotation_y: float


def read_line(line):
    kind, truncated, occluded, *numbers = line.split(" ")
    values = np.array(list(map(float, numbers)))
    assert len(values) == 12
    return Label(
        kind, float(truncated), int(occluded), values[0], values[1:5], *values[5:8], values[8:11],
        values[11],
    )  # fmt: skip


def corners_of(label):
    """The corners in the frame of KITTI's camera: ``computeBox3D.m``."""
    h, w, l = label.height, label.width, label.length  # noqa: E741 - the names of the kit
    x = [l / 2, l / 2, -l / 2, -l / 2, l / 2, l / 2, -l / 2, -l / 2]
    y = [0, 0, 0, 0, -h, -h, -h, -h]
    z = [w / 2, -w / 2, -w / 2, w / 2, w / 2, -w / 2, -w / 2, w / 2]
    c, s = math.cos(label.rotation_y), math.sin(label.rotation_y)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return (turn @ np.array([x, y, z])).T + label.location


def projected(corners, matrix):
    """Left, top, right and bottom of points in an image: ``projectToImage.m``."""
    pixels = corners @ np.asarray(matrix).T
    pixels = pixels[:, :2] / pixels[:, 2:]
    return np.concatenate([pixels.min(axis=0), pixels.max(axis=0)])


def label_of(body, *others, low=(-2.0, -1.0, 0.0), high=(2.0, 1.0, 1.5), camera=CAMERA):
    """The label of a box on a body that is there, behind others that stand still."""
    meshes = [twin.box(low, high), *(twin.box(*other) for other in others)]
    instances = [Instance(0, np.eye(4), 1, label=7, body=0)]
    instances += [Instance(k, np.eye(4), k + 1) for k in range(1, len(meshes))]
    scene = twin.scene_of(*meshes, instances=instances, bodies=(Body("car"),))
    scene, bodies = replace(scene, labels={7: "car"}), np.array([body])
    with RayScene(scene, threads=1) as rays:
        rays.move_all(bodies)
        rays.commit()
        seen = camera.capture(rays, AT_ORIGIN).entity
    boxes = Boxes(scene, ["car"], 1)
    (found,) = boxes.annotate(camera, AT_ORIGIN, bodies, seen)
    boxes.close()
    line = label_line(found, "Car", (400, 300))
    assert line.endswith("\n")
    return read_line(line[:-1])


def turned(yaw):
    return [math.cos(yaw / 2.0), 0.0, 0.0, math.sin(yaw / 2.0)]


@pytest.mark.parametrize("yaw", [0.0, 0.5, 1.8, -1.2, 3.1, -3.1])
def test_a_car_has_the_columns_of_its_closed_form(yaw):
    label = label_of([14.0, 3.0, -1.4, *turned(yaw)])
    assert (label.type, label.truncated, label.occluded) == ("Car", 0.0, 0)
    assert (label.height, label.width, label.length) == (1.5, 2.0, 4.0)
    # The origin of the body is the middle of the lower face: 3 m to the left, 1.4 m down.
    np.testing.assert_allclose(label.location, [-3.0, 1.4, 14.0], atol=DIGIT)
    # Who drives ahead is at -90 degrees, and turning to the left is negative, as y points down.
    expected = math.remainder(-math.pi / 2.0 - yaw, math.tau)
    assert label.rotation_y == pytest.approx(expected, abs=DIGIT)
    seen_at = math.atan2(-3.0, 14.0)
    assert -math.pi <= label.alpha <= math.pi
    assert math.remainder(label.alpha - (expected - seen_at), math.tau) == pytest.approx(
        0.0, abs=DIGIT
    )
    # The middle of the first pixel is at 0.
    matrix = [[FOCAL, 0.0, 199.5], [0.0, FOCAL, 149.5], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(label.bbox, projected(corners_of(label), matrix), atol=1e-3)


def test_what_leaves_the_image_is_cut_there():
    # The edge of the image is at y = 5.463 m, 10 m ahead: a quarter of a thin plate is inside.
    edge = 10.0 * math.tan(0.5)
    plate = {"low": (0.0, -1.0, -0.5), "high": (0.0001, 3.0, 0.5)}
    label = label_of([10.0, edge, 0.0, *turned(0.0)], **plate)
    assert label.truncated == pytest.approx(0.75, abs=1e-3)
    assert label.bbox[0] == 0.0
    np.testing.assert_allclose(label.bbox[2], FOCAL * (1.0 - edge) / 10.0 + 199.5, atol=1e-2)


@pytest.mark.parametrize(("hidden", "occluded"), [(0.1, 0), (0.3, 1), (0.5, 1), (0.7, 2)])
def test_occlusion_goes_by_the_share_that_others_hide(hidden, occluded):
    """A wall at 5 m hides a share of a plate at 10 m that is 2 m wide."""
    wall = ((5.0, 0.5 - hidden, -3.0), (5.1, 3.0, 3.0))
    plate = {"low": (0.0, -1.0, -0.5), "high": (0.01, 1.0, 0.5)}
    label = label_of([10.0, 0.0, 0.0, *turned(0.0)], wall, **plate)
    assert (label.occluded, label.truncated) == (occluded, 0.0)
    # The box is that of the whole object.
    np.testing.assert_allclose(label.bbox[[0, 2]], 199.5 + FOCAL * np.array([-0.1, 0.1]), atol=0.2)


def test_the_axis_that_stands_is_the_height_and_the_middle_is_kept():
    lying = [12.0, 1.0, 0.0, math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0]  # about its length
    label = label_of(lying, low=(-2.0, -1.0, -0.75), high=(2.0, 1.0, 0.75))
    np.testing.assert_allclose([label.height, label.width, label.length], [2.0, 1.5, 4.0])
    np.testing.assert_allclose(label.location, [-1.0, 1.0, 12.0], atol=2e-6)
    assert label.rotation_y == pytest.approx(-math.pi / 2.0, abs=2e-6)
    tilted = [12.0, 1.0, 0.0, math.cos(0.1), 0.0, math.sin(0.1), 0.0]
    label = label_of(tilted, low=(-2.0, -1.0, -0.75), high=(2.0, 1.0, 0.75))
    np.testing.assert_allclose(label.location - [0.0, 0.75, 0.0], [-1.0, 0.0, 12.0], atol=2e-6)
    assert label.rotation_y == pytest.approx(-math.pi / 2.0, abs=2e-6)


# ---- files of a data set -------------------------------------------------------------------------

TEXT = """
[dataset]
name = "labels"
scene = "yard"
samples = 12
seed = 3
shard = 5
[pose]
area = [-12, -8, 12, 8]
height = [1.0, 2.0]
on = ["road", "ground"]
clearance = 0.8
[bodies.vehicle_1]
area = [-8, -6, 8, 6]
on = ["road", "ground"]
clearance = 2.0
[boxes]
labels = ["vehicle", "container"]
kitti = { vehicle = "Car" }
[sensors.front]
sensor = "DepthCamera"
parameters = { width = 160, height = 120, horizontal_fov = 1.6, return_pointcloud = true }
"""


def test_files_of_a_data_set_hold_what_the_camera_measured(tmp_path):
    """Points that the camera has of an object lie in its box, for the reader of the kit."""
    path, out = tmp_path / "labels.toml", tmp_path / "out"
    path.write_text(TEXT)
    with LocalPool(2) as pool:
        make_dataset(path, out, pool)
    folder = out / "kitti" / "front" / "label_2"
    assert sorted(file.name for file in folder.iterdir()) == [f"{k:06d}.txt" for k in range(12)]
    matrix = json.loads((out / "dataset.json").read_text())["cameras"]["front"]["camera_matrix"]
    types = {8: "Car", 11: "container"}  # by the numbers of the yard
    inside, checked = 0, set()
    for sample in make_samples(path, range(12)):
        lines = (folder / f"{sample.number:06d}.txt").read_text().splitlines()
        annotations = sample.annotations["front"]
        assert len(lines) == len(annotations)
        front = sample.arrays["front"]
        for label, found in zip(map(read_line, lines), annotations, strict=True):
            assert label.type == types[found["category_id"]]
            x, y, z = front["points"][front["entity"] == found["entity_id"]].astype(float).T
            points = np.stack([-y, -z, x], axis=1) - label.location
            c, s = math.cos(label.rotation_y), math.sin(label.rotation_y)
            along, across = c * points[:, 0] - s * points[:, 2], s * points[:, 0] + c * points[:, 2]
            assert (np.abs(along) <= label.length / 2.0 + 2e-3).all()
            assert (np.abs(across) <= label.width / 2.0 + 2e-3).all()
            assert (np.abs(points[:, 1] + label.height / 2.0) <= label.height / 2.0 + 2e-3).all()
            checked.add(label.type)
            corners = corners_of(label)
            if corners[:, 2].min() > 0.0:  # all of it is ahead
                box = np.clip(projected(corners, matrix), 0.0, [159.0, 119.0, 159.0, 119.0])
                np.testing.assert_allclose(label.bbox, box, atol=0.01)
                inside += 1
    assert checked == {"Car", "container"}
    assert inside >= 6


def test_there_are_no_files_unless_they_are_asked_for(tmp_path):
    path = tmp_path / "labels.toml"
    path.write_text(TEXT.replace('kitti = { vehicle = "Car" }\n', ""))
    with LocalPool(1) as pool:
        make_dataset(path, tmp_path / "out", pool)
    assert (tmp_path / "out" / "annotations.json").exists()
    assert not (tmp_path / "out" / "kitti").exists()


def test_a_label_keeps_its_own_name_where_none_is_given(tmp_path):
    path, out = tmp_path / "labels.toml", tmp_path / "out"
    path.write_text(TEXT.replace('{ vehicle = "Car" }', "{}"))
    with LocalPool(1) as pool:
        make_dataset(path, out, pool)
    text = "".join(file.read_text() for file in (out / "kitti/front/label_2").iterdir())
    assert {line.split()[0] for line in text.splitlines()} == {"vehicle", "container"}


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ('{ cat = "Cat" }', "boxes.kitti.cat is unknown, known: vehicle, container"),
        ('{ vehicle = "my car" }', "boxes.kitti.vehicle = 'my car' must be one word"),
        ("{ vehicle = 3 }", "boxes.kitti.vehicle = 3 must be one word"),
        ("true", "boxes.kitti must be a table"),
    ],
)
def test_types_that_make_no_sense_are_refused(tmp_path, new, said):
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT.replace('{ vehicle = "Car" }', new))
    with pytest.raises(ParameterError) as refusal:
        list(make_samples(path, [0]))
    assert said in str(refusal.value)
