"""The depth camera against Open3D's ray casting on the same mesh and pinhole."""

import warnings

import numpy as np
import pytest

from sensor_models.camera import DepthCamera, DepthCameraParameters
from sensor_models.camera.depth.camera import matrices_of
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin

POSE = np.array([0.3, -0.2, 0.1, 0.9, 0.1, -0.3, 0.2])


def test_mask_depth_and_faces_are_those_of_open3d() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own imports
        # Large, and brought by the bench extra only; the brute-force twin is tested elsewhere.
        open3d = pytest.importorskip("open3d")
    random = np.random.default_rng(12)
    triangles = twin.random_triangles(random, 3000)
    mesh = twin.mesh_of_corners(triangles)
    peer = open3d.t.geometry.RaycastingScene()
    peer.add_triangles(open3d.core.Tensor(mesh.vertices), open3d.core.Tensor(mesh.faces))
    camera = DepthCamera(
        DepthCameraParameters(
            width=640,
            height=480,
            min_range=0.0,
            max_range=1e3,
            normalize_range=False,
            return_faces=True,
        )
    )
    with RayScene(twin.scene_of(mesh)) as rays:
        frame = camera.capture(rays, POSE)
    directions = camera.axes @ matrices_of(POSE[3:]).T
    starts = np.broadcast_to(POSE[:3], directions.shape)
    lines = np.concatenate([starts, directions], axis=-1).astype(np.float32)
    cast = peer.cast_rays(open3d.core.Tensor(lines))
    distance = cast["t_hit"].numpy()
    face = cast["primitive_ids"].numpy().astype(np.int64)
    hit = np.isfinite(distance)
    assert 0.3 < hit.mean() < 1.0
    differing = (frame.face >= 0) != hit
    assert differing.mean() < 1e-4  # rays at edges, where rounding decides
    same = hit & (frame.face == face)
    assert (hit & ~same).mean() < 1e-4  # likewise, of edges that two faces share
    depth = distance * camera.axes[..., 0]
    np.testing.assert_allclose(frame.image[same], depth[same], rtol=0, atol=1e-4)
