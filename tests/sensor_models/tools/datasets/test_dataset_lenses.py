"""Data sets of cameras whose lenses bend the image: boxes through the lens, numbers in files."""

import json

import cv2
import numpy as np
import pytest
from PIL import Image

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import LightParameters, OpticsParameters
from sensor_models.core.frames import MountParameters
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.datasets.boxes import Boxes
from sensor_models.tools.datasets.dataset import make_dataset, make_samples
from sensor_models.tools.datasets.pictures import PictureEye
from sensor_models.tools.workers.local import LocalPool
from tests.sensor_models.tools.datasets.test_boxes import POSE, cubes

TEXT = """
[dataset]
name = "bent"
scene = "yard"
samples = 3
shard = 3
format = "images"
[pose]
area = [-12, -8, 12, 8]
height = [1.0, 2.0]
on = ["road", "ground"]
look_at = "vehicle_1"
clearance = 0.8
[boxes]
labels = ["vehicle"]
[sensors.eye]
sensor = "CcdCamera"
[sensors.eye.parameters]
"pixels.width" = 96
"pixels.height" = 64
"intrinsics.fx" = 60
"light.rays" = 1
bit_depth = 12
"""
LENSES = {
    "barrel": {"k1": -0.28, "k2": 0.07, "p1": 1e-3, "p2": -2e-3},
    "rational": {"k1": 0.1, "k2": -0.05, "k3": 0.01, "k4": 0.2, "k5": 0.02, "k6": 0.001},
    "fisheye": {"k1": -0.02, "k2": 0.003},
}
#: Corners of a cube, and its edges.
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
EDGES = [(a, b) for a in range(8) for b in range(a) if np.abs(CORNERS[a] - CORNERS[b]).sum() == 2]


def by_opencv(name, points, matrix):
    """Where OpenCV projects points of the frame x forward, y left, z up; middles at halves."""
    own = LENSES[name]
    ahead = np.stack([-points[:, 1], -points[:, 2], points[:, 0]], axis=1)[:, None]
    rest = np.zeros(3)
    if name == "fisheye":
        terms = np.array([own["k1"], own["k2"], 0.0, 0.0])
        found, _ = cv2.fisheye.projectPoints(ahead, rest, rest, matrix, terms)
    else:
        order = ("k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6")
        terms = np.array([own.get(key, 0.0) for key in order])
        found, _ = cv2.projectPoints(ahead, rest, rest, matrix, terms)
    return found[:, 0] + 0.5


def edges_of(box):
    """Points of the edges of a box in 3D."""
    ends = box["centre"] + (CORNERS * np.array(box["size"]) / 2.0) @ np.array(box["axes"]).T
    share = np.linspace(0.0, 1.0, 400)[:, None]
    return np.concatenate([ends[a] + share * (ends[b] - ends[a]) for a, b in EDGES])


@pytest.mark.parametrize("name", LENSES)
def test_pictures_have_boxes_through_their_lens(tmp_path, name):
    """Each full box is around the edges of the box in 3D, point by point through OpenCV's lens."""
    lens = "".join(f'"distortion.{key}" = {value}\n' for key, value in LENSES[name].items())
    lens += '"distortion.model" = "fisheye"\n' if name == "fisheye" else ""
    path, out = tmp_path / "bent.toml", tmp_path / "out"
    path.write_text(TEXT + lens)
    with LocalPool(1) as pool:
        make_dataset(path, out, pool)
    about = json.loads((out / "dataset.json").read_text())["cameras"]["eye"]
    assert (about["fisheye"], about["largest"]) == (name == "fisheye", 4095)
    assert about["distortion"][:2] == [LENSES[name]["k1"], LENSES[name]["k2"]]
    checked = 0
    for sample in make_samples(path, range(3)):
        assert sample.annotations["eye"], "it looks at a vehicle"
        for found in sample.annotations["eye"]:
            edges = edges_of(found["box_3d"])
            if edges[:, 0].min() < 1.0:
                continue  # beside the camera
            image = by_opencv(name, edges, np.array(about["camera_matrix"]))
            low, high = image.min(axis=0), image.max(axis=0)
            np.testing.assert_allclose(found["full_bbox"], [*low, *(high - low)], atol=0.05)
            left, top, width, height = found["bbox"]
            rows, columns = np.nonzero(sample.arrays["eye"]["entity"] == found["entity_id"])
            assert (columns.min(), rows.min()) == (left, top)
            assert (np.array([left, top]) >= low - 1.0).all()
            assert (np.array([left + width, top + height]) <= high + 1.0).all()
            checked += 1
    assert checked >= 2


def test_pictures_of_12_bit_are_as_bright_as_they_are(tmp_path):
    path, out = tmp_path / "deep.toml", tmp_path / "out"
    path.write_text(TEXT)
    with LocalPool(1) as pool:
        make_dataset(path, out, pool)
    (sample,) = make_samples(path, [1])
    file = out / "shard-00000" / "eye" / "000001.image.png"
    with Image.open(file) as picture:
        scale = float(picture.text["scale"])
    assert scale == 4095 / 65535
    stored = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)[:, :, ::-1]
    np.testing.assert_array_equal(np.round(scale * stored), sample.arrays["eye"]["image"])


def test_an_edge_beyond_the_fold_of_a_lens_stays_outside_of_the_image():
    """Far off the axis a barrel's polynomial folds back into the picture; the box does not."""
    optics = OpticsParameters(
        width=96, height=72, intrinsics=(100.0, 100.0, 0.0, 0.0),
        distortion=(-0.28, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    )  # fmt: skip
    camera = CcdCamera(optics, light=LightParameters(rays=1))
    eye = PictureEye(camera.axes(), camera.flow_lens(), MountParameters())
    # A plate from the middle of the picture to far to the left of it.
    scene = cubes([(2.0, -0.2, -0.3), (2.1, 12.0, 0.3)])
    with RayScene(scene, threads=1) as rays:
        pose = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]])
        seen = camera.expose(rays, pose)
    boxes = Boxes(scene, ["car"], 1)
    (found,) = boxes.annotate(eye, POSE, np.zeros((0, 7)), seen.entity)
    boxes.close()
    left, _, width, _ = found["full_bbox"]
    assert left < 0.0
    assert found["truncation"] > 0.05
    assert found["bbox"][0] == 0.0
    assert left + width >= found["bbox"][2] - 1.0
    assert found["visibility"] == pytest.approx(1.0, abs=0.01)
