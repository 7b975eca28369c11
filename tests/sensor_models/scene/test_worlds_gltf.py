"""glTF named directly: nodes as entities, where trimesh has them, with their looks."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene, SurfaceKind
from sensor_models.scene.worlds.placing import quaternion_of
from tests.sensor_models.scene import world_files

#: From y up to z up.
UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def triangles_of(scene: Scene) -> np.ndarray:
    """The triangles of a scene in the world, in an order of their own."""
    found = []
    for instance in scene.instances:
        mesh = scene.meshes[instance.mesh]
        places = mesh.vertices.astype(float) + np.array(mesh.origin)
        places = places @ instance.transform[:3, :3].T + instance.transform[:3, 3]
        found.append(places[mesh.faces])
    return in_order(np.vstack(found))


def in_order(triangles: np.ndarray) -> np.ndarray:
    """Triangles that begin with their least corner, sorted; the way round is kept."""
    triangles = np.round(triangles, 4) + 0.0
    turned = [np.roll(t, -min(range(3), key=lambda k: tuple(t[k])), axis=0) for t in triangles]
    return np.array(sorted(turned, key=lambda t: tuple(t.ravel())))


def test_triangles_are_where_trimesh_has_them(tmp_path: Path) -> None:
    path = world_files.write_gltf(tmp_path)
    truth = trimesh.load_scene(path, process=False)
    expected = [geometry.triangles for geometry in truth.dump()]
    ours = triangles_of(load_scene(path))
    assert len(ours) == 4 * 12 + 2
    assert ours == pytest.approx(in_order(np.vstack(expected) @ UP.T), abs=1e-4)


def test_nodes_are_entities_in_the_order_of_the_tree(tmp_path: Path) -> None:
    scene = load_scene(world_files.write_gltf(tmp_path))
    named = [(i.name, i.entity_id) for i in scene.instances]
    assert named == [("house", 1), ("house", 1), ("turned", 2), ("mirrored", 3), ("sheared", 4)]
    # the mesh of a node that turns and scales is the file's own; the other two have their own
    assert len(scene.meshes) == 5
    turned = scene.instances[2].transform[:3, :3]
    assert np.linalg.norm(turned, axis=0) == pytest.approx([2.0, 0.5, 1.0])


def test_looks_decide_what_materials_are_taken_for(tmp_path: Path) -> None:
    materials = {m.name: m for m in load_scene(world_files.write_gltf(tmp_path)).materials}
    assert materials["red"].source.startswith("guess: steel, as metallic is 1")
    assert materials["red"].color == pytest.approx((0.9063, 0.0, 0.0), abs=1e-4)  # 0.8 is linear
    clear = materials["clear"]
    assert clear.kind is SurfaceKind.dielectric
    assert clear.at(905e-9).ior == 1.37
    assert clear.source.endswith("the refractive index is the file's")


def test_a_picture_counts_with_its_mean_and_must_be_in_the_folder(tmp_path: Path) -> None:
    import json

    from PIL import Image

    data = world_files.write_gltf(tmp_path).read_bytes()
    size = int.from_bytes(data[12:16], "little")
    tree = json.loads(data[20 : 20 + size])
    (tmp_path / "part.bin").write_bytes(data[28 + size :])
    Image.new("RGB", (2, 2), (51, 102, 0)).save(tmp_path / "green.png")
    tree["buffers"][0]["uri"] = "part.bin"
    tree["images"], tree["textures"] = [{"uri": "green.png"}], [{"source": 0}]
    look = tree["materials"][0]["pbrMetallicRoughness"]
    look |= {"baseColorFactor": [1, 1, 1, 1], "baseColorTexture": {"index": 0}}
    path = tmp_path / "boxes.gltf"
    path.write_text(json.dumps(tree))
    scene = load_scene(path)
    assert [file.name for file in scene.files] == ["boxes.gltf", "part.bin", "green.png"]
    colors = {m.name: m.color for m in scene.materials}
    assert colors["red"] == pytest.approx((0.2, 0.4, 0.0), abs=1e-3)
    tree["images"] = [{"uri": "../green.png"}]
    path.write_text(json.dumps(tree))
    with pytest.raises(SceneError, match=r"boxes.gltf: images\[0\]: '../green.png' lies outside"):
        load_scene(path)


@pytest.mark.parametrize("seed", range(8))
def test_quaternions_of_matrices(seed: int) -> None:
    q = np.random.default_rng(seed).normal(size=4)
    q[0] *= seed % 4 != 0  # half a turn
    w, x, y, z = q / np.linalg.norm(q)
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    assert abs(np.dot(quaternion_of(turn), (w, x, y, z))) == pytest.approx(1.0, abs=1e-12)
