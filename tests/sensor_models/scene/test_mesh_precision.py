"""Meshes far from the origin of their file keep their shape, and say what they lose."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from scenes.making import Solid, write_glb
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.scene_files import HEAD, TETRAHEDRON, obj, ply, write_manifest

VERTICES, FACES = TETRAHEDRON
#: A place in zone 32 of UTM, with millimetres that single precision cannot hold there.
FAR = np.array([691_234.567, 5_334_567.891, 519.123])


def scene_with(folder: Path, vertices: NDArray[np.float64], more: str = "") -> Scene:
    (folder / "a.obj").write_bytes(obj(vertices, {("g", "wood"): FACES}))
    text = f'[meshes.a]\nfile = "a.obj"\n[[instances]]\nmesh = "a"\n{more}'
    return load_scene(write_manifest(folder, text, HEAD))


def in_world(scene: Scene) -> NDArray[np.float64]:
    """The vertices of the first instance where it stands."""
    (instance,) = scene.instances
    vertices = scene.meshes[instance.mesh].vertices.astype(np.float64)
    return vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]


@pytest.mark.parametrize("place", [FAR, FAR / 1000.0, -FAR])
def test_a_mesh_far_from_its_origin_keeps_its_shape(
    tmp_path: Path, place: NDArray[np.float64], caplog: pytest.LogCaptureFixture
) -> None:
    scene = scene_with(tmp_path, VERTICES + place)
    found = np.sort(in_world(scene), axis=0)
    # 1 m around its middle, single precision is good to 6e-8 m; double to 1e-9 m at 5e6 m.
    np.testing.assert_allclose(found, np.sort(VERTICES + place, axis=0), rtol=0.0, atol=2e-7)
    np.testing.assert_allclose(scene.meshes[0].origin, place, atol=1.0)
    assert not caplog.records


def test_every_format_that_can_keep_a_far_place_does(tmp_path: Path) -> None:
    ascii_ply = ply(VERTICES + FAR, FACES).replace(b"property float", b"property double")
    (tmp_path / "a.ply").write_bytes(ascii_ply)
    solid = Solid()
    for face in FACES:
        solid.polygon("wood", VERTICES[face])
    write_glb(tmp_path / "a.glb", solid)
    data = (tmp_path / "a.glb").read_bytes()
    size = int.from_bytes(data[12:16], "little")
    tree = json.loads(data[20 : 20 + size])
    tree["nodes"][0]["translation"] = [FAR[0], FAR[2], -FAR[1]]  # y up
    tree["buffers"][0]["uri"] = "a.bin"
    (tmp_path / "a.bin").write_bytes(data[28 + size :])
    (tmp_path / "a.gltf").write_text(json.dumps(tree), encoding="utf-8")
    for name in ("a.ply", "a.gltf"):
        text = f'[meshes.a]\nfile = "{name}"\nmaterial = "wood"\n[[instances]]\nmesh = "a"\n'
        scene = load_scene(write_manifest(tmp_path, text, HEAD))
        found = np.unique(np.round(in_world(scene), 7), axis=0)
        np.testing.assert_allclose(found, np.unique(VERTICES + FAR, axis=0), rtol=0.0, atol=3e-7)


def test_the_instance_turns_and_scales_what_was_moved(tmp_path: Path) -> None:
    more = "position = [10, 20, 30]\nroll_pitch_yaw_deg = [0, 0, 90]\nscale = [1, 2, 3]\n"
    near = in_world(scene_with(tmp_path, VERTICES, more))
    far = in_world(scene_with(tmp_path, VERTICES + FAR, more))
    x, y, z = FAR * (1.0, 2.0, 3.0)
    # Double precision is good to 2e-9 m at these places.
    shift = np.sort(far, axis=0) - np.sort(near, axis=0)
    np.testing.assert_allclose(shift, np.tile([-y, x, z], (4, 1)), rtol=0.0, atol=5e-7)


def test_rays_meet_a_far_mesh_where_it_is(tmp_path: Path) -> None:
    scene = scene_with(tmp_path, VERTICES * 10.0 + FAR)
    with RayScene(scene) as rays:
        # At (2, 3) of ten metres the sloping face is 5 m above the ground of the mesh.
        hits = rays.trace(FAR + np.array([2.0, 3.0, 55.0]), [[0.0, 0.0, -1.0]])
    assert hits.t[0] == pytest.approx(50.0, abs=1e-4)  # single precision at 50 m


def test_volumes_of_media_stay_where_they_are(tmp_path: Path) -> None:
    more = (
        '[media.fog]\nabsorption = 0.1\n[[volumes]]\nmesh = "a"\nmedium = "fog"\n'
        "position = [1, 2, 3]\n"
    )
    scene = scene_with(tmp_path, VERTICES + FAR, more)
    (volume,) = scene.volumes
    moved = scene.instances[0].transform[:3, 3] + (1.0, 2.0, 3.0)
    np.testing.assert_array_equal(volume.instance.transform[:3, 3], moved)


def test_a_mesh_near_its_origin_is_left_as_it_is(tmp_path: Path) -> None:
    scene = scene_with(tmp_path, VERTICES + np.array([12.3, -4.5, 6.7]))
    assert scene.meshes[0].origin == (0.0, 0.0, 0.0)
    np.testing.assert_array_equal(scene.instances[0].transform, np.eye(4))


def test_what_is_lost_all_the_same_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wide = VERTICES * 100_000.0 + 0.0123
    with caplog.at_level(logging.WARNING):
        scene_with(tmp_path, wide + FAR)
    (record,) = caplog.records
    # At 50 km from the middle, half of the spacing of single precision is 2 mm.
    assert "meshes.a: single precision moves vertices by up to" in record.getMessage()
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        scene_with(tmp_path, VERTICES * 10_000.0 + 0.0123 + FAR)
    assert not caplog.records


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        (VERTICES * 3e6, "farther than 1e\\+06 m from its middle"),
        (VERTICES + 1e10, "farther than 1e\\+09 m from the origin"),
    ],
)
def test_what_no_precision_holds_is_refused(
    tmp_path: Path, vertices: NDArray[np.float64], message: str
) -> None:
    with pytest.raises(SceneError, match=f"meshes.a: has vertices {message}"):
        scene_with(tmp_path, vertices)
