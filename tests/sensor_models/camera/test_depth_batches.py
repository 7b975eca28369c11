"""Many cameras in one call are as many single ones."""

import numpy as np
import pytest

from sensor_models.camera import (
    DepthCamera,
    DepthCameraParameters,
    FramePlacementParameters,
    ImageNoiseParameters,
)
from sensor_models.core.quantities import ParameterError
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin
from tests.sensor_models.camera.test_depth_camera import AT_ORIGIN, EVERYTHING, random_scene

SMALL = DepthCameraParameters(width=9, height=7, **EVERYTHING)


def some_poses(*shape):
    random = np.random.default_rng(4)
    return np.concatenate(
        [random.uniform(-5.0, 5.0, (*shape, 3)), random.normal(size=(*shape, 4))], axis=-1
    )


def same_bits(one, other):
    return all(
        (a is None and b is None) or a.tobytes() == b.tobytes()
        for a, b in zip(one, other, strict=True)
    )


def test_a_batch_has_environments_sensors_rows_and_columns():
    poses = some_poses(3, 2)
    camera = DepthCamera(SMALL)
    with RayScene(random_scene(), threads=2) as rays:
        batch = camera.capture(rays, poses)
        assert batch.image.shape == (3, 2, 7, 9)
        assert batch.points.shape == (3, 2, 7, 9, 3)
        for place in np.ndindex(3, 2):
            single = camera.capture(rays, poses[place])
            of_batch = type(single)(*(None if a is None else a[place] for a in batch))
            assert same_bits(single, of_batch)


def test_cameras_of_a_batch_have_noise_of_their_own():
    camera = DepthCamera(SMALL, ImageNoiseParameters(on=True))
    with RayScene(twin.scene_of(twin.box((-3, -3, -3), (3, 3, 3))), threads=2) as rays:
        batch = camera.capture(rays, np.tile(AT_ORIGIN, (2, 2, 1))).image
        single = camera.capture(rays, AT_ORIGIN).image
    assert batch[0, 0].tobytes() == single.tobytes()
    flat = batch.reshape(4, -1)
    assert len({image.tobytes() for image in flat}) == 4


def test_cameras_of_a_batch_have_placements_of_their_own():
    camera = DepthCamera(SMALL, placement=FramePlacementParameters(on=True))
    with RayScene(random_scene(), threads=2) as rays:
        batch = camera.capture(rays, np.tile(AT_ORIGIN, (4, 1))).image
        single = camera.capture(rays, AT_ORIGIN).image
    assert batch[0].tobytes() == single.tobytes()
    assert batch[1].tobytes() != single.tobytes()


def test_each_environment_may_have_a_scene_of_its_own():
    noise = ImageNoiseParameters(on=True, edge_dropout=0.5)
    camera, poses = DepthCamera(SMALL, noise), some_poses(2, 3)
    with RayScene(random_scene(1)) as one, RayScene(random_scene(2)) as two:
        both = camera.capture([one, two], poses)
        first, second = camera.capture(one, poses), camera.capture(two, poses)
        with pytest.raises(ParameterError, match="2 scenes do not fit"):
            camera.capture([one, two], poses[0])
    assert both.image[0].tobytes() == first.image[0].tobytes()
    assert both.image[1].tobytes() == second.image[1].tobytes()
    assert first.image.tobytes() != second.image.tobytes()


def test_threads_do_not_change_a_bit():
    noise = ImageNoiseParameters(on=True, edge_dropout=0.5)
    camera, poses = DepthCamera(SMALL, noise), some_poses(50)
    frames = []
    for threads in (1, 2, 5):
        with RayScene(random_scene(), threads) as rays:
            frames.append(camera.capture(rays, poses))
    assert same_bits(frames[0], frames[1])
    assert same_bits(frames[0], frames[2])


def test_a_frame_goes_into_the_arrays_of_an_earlier_one():
    camera, poses = DepthCamera(SMALL), some_poses(2)
    with RayScene(random_scene()) as rays:
        first = camera.capture(rays, poses[0])
        before = first.image.copy()
        again = camera.capture(rays, poses[1], out=first)
        assert again is first
        assert (first.image != before).any()
        with pytest.raises(ValueError, match=r"out.image is not of a frame"):
            camera.capture(rays, poses, out=first)


@pytest.mark.parametrize(
    ("poses", "options", "message"),
    [
        (np.zeros(6), {}, r"shape \(6,\)"),
        (np.zeros((5, 7)), {"rolling": True}, r"not \(\.\.\., 7, 7\)"),
        (np.zeros(7), {}, "no direction"),
        ([np.nan, 0, 0, 1, 0, 0, 0], {}, "not finite"),
    ],
)
def test_bad_poses_are_refused(poses, options, message):
    with RayScene(random_scene()) as rays, pytest.raises(ParameterError, match=message):
        DepthCamera(SMALL).capture(rays, poses, **options)


def test_no_cameras_give_no_images():
    with RayScene(random_scene()) as rays:
        assert DepthCamera(SMALL).capture(rays, np.empty((0, 7))).image.shape == (0, 7, 9)
