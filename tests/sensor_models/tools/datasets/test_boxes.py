"""What is labelled: boxes, visibility, masks."""

from dataclasses import replace

import numpy as np
import pytest

from sensor_models.camera.depth.camera import DepthCamera
from sensor_models.camera.depth.parameters import DepthCameraParameters
from sensor_models.scene.model import Body, Instance
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.datasets.boxes import Boxes, run_lengths
from tests import oracles_rays as twin

CAMERA = DepthCamera(
    DepthCameraParameters(
        width=400, height=300, horizontal_fov=1.0, max_range=50.0, segmentation=True
    )
)
POSE = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


def cubes(*boxes, turn=None):
    """A scene of boxes with ids from 1, of which the first is a car."""
    meshes = [twin.box(*box) for box in boxes]
    place = np.eye(4) if turn is None else turn
    instances = [
        Instance(k, np.eye(4) if k else place, k + 1, label=-1 if k else 7)
        for k in range(len(meshes))
    ]
    return replace(twin.scene_of(*meshes, instances=instances), labels={7: "car"})


def annotated(scene, pose=POSE):
    with RayScene(scene, threads=1) as rays:
        frame = CAMERA.capture(rays, pose)
    boxes = Boxes(scene, ["car"], 1)
    (found,) = boxes.annotate(CAMERA, pose, np.zeros((0, 7)), frame.entity)
    boxes.close()
    return found, frame


def test_a_box_in_full_view_has_its_closed_form():
    """A plate of 2 x 1 m at 10 m: f = 200 / tan(0.5), sides 2 f / 10 and f / 10."""
    found, frame = annotated(cubes([(10.0, -1.0, -0.5), (10.4, 1.0, 0.5)]))
    f = 200.0 / np.tan(0.5)
    np.testing.assert_allclose(
        found["full_bbox"], [200 - f / 10, 150 - f / 20, f / 5, f / 10], rtol=1e-6
    )
    assert found["visibility"] == 1.0
    assert found["truncation"] == 0.0
    assert found["area"] == (frame.entity == 1).sum()
    left, top, width, height = found["bbox"]
    assert abs(left - (200 - f / 10)) <= 1
    assert abs(top - (150 - f / 20)) <= 1
    assert abs(width - f / 5) <= 1
    assert abs(height - f / 10) <= 1
    np.testing.assert_allclose(found["box_3d"]["centre"], [10.2, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(found["box_3d"]["size"], [0.4, 2.0, 1.0], atol=1e-6)


def test_visibility_is_the_share_that_others_leave():
    # A wall at 5 m hides all to the left of the middle: a half of the front, by symmetry.
    scene = cubes([(10.0, -1.0, -0.5), (10.4, 1.0, 0.5)], [(5.0, 0.0, -3.0), (5.1, 3.0, 3.0)])
    found, _ = annotated(scene)
    assert found["visibility"] == pytest.approx(0.5, abs=0.01)
    assert found["truncation"] == 0.0


def test_truncation_is_the_share_outside_of_the_image():
    # The left edge of the image is at y = 10 tan(0.5) = 5.463 m at 10 m: a box around it.
    edge = 10.0 * np.tan(0.5)
    scene = cubes([(10.0, edge - 1.0, -0.5), (10.0001, edge + 3.0, 0.5)])
    found, _ = annotated(scene)
    assert found["truncation"] == pytest.approx(0.75, abs=1e-3)
    assert found["visibility"] == pytest.approx(1.0, abs=0.01)  # of what would be in the image


def test_boxes_of_what_is_turned_are_turned():
    turn = np.eye(4)
    c, s = np.cos(0.4), np.sin(0.4)
    turn[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) * 2.0
    turn[:3, 3] = (12.0, 1.0, 0.0)
    found, _ = annotated(cubes([(-1.0, -0.5, -0.25), (1.0, 0.5, 0.25)], turn=turn))
    box = found["box_3d"]
    np.testing.assert_allclose(box["size"], [4.0, 2.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(box["centre"], [12.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(np.abs(np.array(box["axes"]).T @ [c, s, 0.0]), [1, 0, 0], atol=1e-6)


def test_masks_are_run_lengths_down_the_columns():
    random = np.random.default_rng(1)
    for share in (0.0, 0.3, 1.0):
        mask = random.random((7, 11)) < share
        coded = run_lengths(mask)
        assert sum(coded["counts"]) == mask.size
        flat = np.concatenate([[k % 2 == 1] * n for k, n in enumerate(coded["counts"])])
        np.testing.assert_array_equal(flat.reshape(11, 7).T, mask)
        assert coded["size"] == [7, 11]


def test_an_entity_on_a_body_goes_with_it():
    mesh = twin.box((-1, -1, -1), (1, 1, 1))
    scene = twin.scene_of(
        mesh, instances=[Instance(0, np.eye(4), 5, label=7, body=0)], bodies=(Body("car"),)
    )
    scene = replace(scene, labels={7: "car"})
    bodies = np.array([[9.0, 2.0, 0.0, np.cos(0.3), 0.0, 0.0, np.sin(0.3)]])
    with RayScene(scene, threads=1) as rays:
        rays.move_all(bodies)
        rays.commit()
        frame = CAMERA.capture(rays, POSE)
    boxes = Boxes(scene, ["car"], 1)
    (found,) = boxes.annotate(CAMERA, POSE, bodies, frame.entity)
    boxes.close()
    np.testing.assert_allclose(found["box_3d"]["centre"], [9.0, 2.0, 0.0], atol=1e-6)
    assert found["visibility"] == pytest.approx(1.0, abs=0.01)
