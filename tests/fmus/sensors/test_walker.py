"""A person who walks, seen by FMUs: shapes are those of the instants of frames."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scenes.walker import CYCLE
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.fmus.host import open_fmu

PERSON = 40
#: From the side of the person, who stands at (12, -3) and looks along y.
VIEW = {
    "body.position.x": 8.0,
    "body.position.y": -3.0,
    "body.position.z": 1.0,
}
CAMERA = {
    "scene": "crossing", "width": 48, "height": 64, "horizontal_fov": 0.42, "max_range": 50.0,
    "sample_rate": 10.0, "normalize_range": False,
}  # fmt: skip


@pytest.fixture
def run(fmu_directory: Path, tmp_path: Path) -> Any:
    """Runs a camera over instants; gives its depth frames."""

    def take(cut: list[float], name: str, **more: Any) -> list[np.ndarray]:
        out = tmp_path / name
        with open_fmu(fmu_directory / "DepthCamera.fmu", "eye") as camera:
            camera.initialize({**CAMERA, **VIEW, "output_directory": str(out), **more})
            for time, after in pairwise(cut):
                camera.step(time, after - time)
            camera.terminate()
        return [np.load(file) for file in sorted(out.glob("*.depth.npy"))]

    return take


def test_each_frame_has_the_shape_of_its_instant(run: Any) -> None:
    frames = run([0.1 * k for k in range(9)], "out")
    scene = load_scene("crossing")
    pose = np.array([[*scene.bodies[0].position, *scene.bodies[0].orientation]])
    half = 24 / np.tan(0.21)
    u, v = np.meshgrid(np.arange(48) + 0.5 - 24.0, np.arange(64) + 0.5 - 32.0)
    along = np.stack([np.full_like(u, half), -u, -v], axis=-1)
    masks = []
    with RayScene(scene, 1) as rays:
        for number, frame in enumerate(frames):
            bodies = MovingBodies(pose[None], 0, 0, np.array([0.1 * number]))
            hits = rays.trace((8.0, -3.0, 1.0), along / half, bodies=bodies)
            seen = hits.entity_id == PERSON
            np.testing.assert_allclose(frame[seen], hits.t[seen], rtol=1e-4)
            masks.append(seen)
    assert masks[0].sum() > 100
    assert all((one != other).sum() > 20 for one, other in pairwise(masks))


def test_bits_do_not_depend_on_steps_and_a_cycle_comes_again(run: Any) -> None:
    fine = run([0.01 * k for k in range(61)], "fine")
    coarse = run([0.0, 0.25, 0.5, 0.6], "coarse")  # what is seen is known at the start of a step
    assert len(fine) >= len(coarse) == 6
    for one, other in zip(fine, coarse, strict=False):
        np.testing.assert_array_equal(one, other)
    again = run([0.0, CYCLE, 2.0 * CYCLE], "again", sample_rate=1.0 / CYCLE)
    differs = np.abs(again[0] - again[1]) > 1e-3
    assert differs.mean() < 0.002  # pixels at an edge


def test_a_saved_state_continues_with_the_same_shapes(fmu_directory: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_fmu(fmu_directory / "DepthCamera.fmu", "eye") as camera:
        camera.initialize({**CAMERA, **VIEW, "output_directory": str(out)})
        camera.step(0.0, 0.35)
        state = camera.saved()
        camera.step(0.35, 0.2)
        first = np.load(camera.get("frame.file"))
        camera.restore(state)
        camera.step(0.35, 0.2)
        np.testing.assert_array_equal(np.load(camera.get("frame.file")), first)
        camera.terminate()
