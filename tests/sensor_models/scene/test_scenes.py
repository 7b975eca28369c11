"""The scenes that come with the models."""

import importlib
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sensor_models.scene.manifest import load_scene, scene_folder
from sensor_models.scene.meshes import is_closed
from sensor_models.scene.model import Instance, Mesh, Scene, SurfaceKind
from sensor_models.scene.tracing import RayScene

ROOT = Path(__file__).parents[3]
SCENES = (
    "bush_and_wall",
    "corridor",
    "crossing",
    "radar_range",
    "street_canyon",
    "targets",
    "yard",
)
LARGEST_FOLDER = 300_000  # bytes
LARGEST_PICTURE = 120_000  # bytes


@pytest.fixture(scope="module", params=SCENES)
def scene(request: pytest.FixtureRequest) -> Scene:
    return load_scene(request.param)


def test_all_scenes_are_tested_here() -> None:
    assert sorted(file.parent.name for file in (ROOT / "scenes").glob("*/scene.toml")) == list(
        SCENES
    )


def test_a_scene_is_small(scene: Scene) -> None:
    folder = scene_folder(scene.name)
    made = (file for file in folder.rglob("*") if "__pycache__" not in file.parts)
    assert sum(file.stat().st_size for file in made if file.is_file()) < LARGEST_FOLDER


def test_a_script_makes_the_same_bytes_again(scene: Scene, tmp_path: Path) -> None:
    importlib.import_module(f"scenes.{scene.name}.make").make(tmp_path)
    made = sorted(tmp_path.iterdir())
    assert made
    for file in made:
        assert file.read_bytes() == (scene_folder(scene.name) / file.name).read_bytes(), file.name


def test_every_mesh_file_is_made_by_the_script(scene: Scene, tmp_path: Path) -> None:
    importlib.import_module(f"scenes.{scene.name}.make").make(tmp_path)
    made = {file.name for file in tmp_path.iterdir()} | {"scene.toml"}
    assert {file.name for file in scene.files} <= made


def test_every_scene_has_a_picture(scene: Scene) -> None:
    picture = ROOT / "docs" / "scenes" / f"{scene.name}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < LARGEST_PICTURE


def test_everything_that_is_seen_has_a_label(scene: Scene) -> None:
    assert all(instance.label in scene.labels for instance in scene.instances)


def test_glass_is_closed_so_that_light_leaves_it_again(scene: Scene) -> None:
    for mesh in scene.meshes:
        for index, material in enumerate(scene.materials):
            faces = mesh.faces[mesh.face_material == index]
            if material.kind is SurfaceKind.dielectric and len(faces):
                part = Mesh(mesh.vertices, faces, np.zeros(len(faces), np.int32))
                assert is_closed(part), material.name


def test_the_yard_has_what_a_lidar_meets() -> None:
    yard = load_scene("yard")
    assert [body.name for body in yard.bodies] == ["vehicle_1", "vehicle_2", "vehicle_3"]
    materials = {material.name: material for material in yard.materials}
    assert {"glass", "steel", "aluminium", "retro_sheeting", "leaf"} <= set(materials)
    assert materials["retro_sheeting"].at(905e-9).retro_reflectance > 100.0
    kinds = {material.kind for material in yard.materials}
    assert kinds == set(SurfaceKind) - {SurfaceKind.tabulated}  # which only files of others have
    trees = [instance for instance in yard.instances if yard.labels[instance.label] == "tree"]
    assert len({instance.mesh for instance in trees}) == 1 < len(trees)


def test_vehicles_stand_on_the_ground_and_face_forward() -> None:
    yard = load_scene("yard")
    for instance in yard.instances:
        if instance.body >= 0:
            low = yard.meshes[instance.mesh].vertices.min(axis=0)
            high = yard.meshes[instance.mesh].vertices.max(axis=0)
            assert abs(float(low[2])) < 0.02  # wheels are polygons, and some touch with a side
            length, width, height = high - low
            assert length > width > 1.0 < height < 3.0


def test_plants_and_posts_of_the_yard_stand_in_its_ground() -> None:
    yard = load_scene("yard")
    by_label: dict[str, list[Instance]] = {}
    for instance in yard.instances:
        by_label.setdefault(yard.labels[instance.label], []).append(instance)
    ground = replace(yard, instances=tuple(by_label["ground"] + by_label["road"]))
    posts = [instance for instance in by_label["pole"] if not instance.name.startswith("lamp_")]
    posts += [instance for instance in by_label["pole"] if instance.name.startswith("lamp_post")]
    rooted = by_label["tree"] + by_label["bush"] + posts
    eyes = np.array([(*instance.transform[:2, 3], 50.0) for instance in rooted])
    with RayScene(ground) as rays:
        heights = 50.0 - rays.trace(eyes, np.tile([0.0, 0.0, -1.0], (len(eyes), 1))).t
    for instance, height in zip(rooted, heights.tolist(), strict=True):
        vertices = yard.meshes[instance.mesh].vertices @ instance.transform[:3, :3].T
        foot = float(vertices[:, 2].min() + instance.transform[2, 3])
        assert foot < height + 0.04, instance.name  # the lawn lies 3 cm below the road
        assert foot > height - 0.6, instance.name  # roots of the largest tree


def test_targets_lie_at_their_distances_and_hide_none() -> None:
    targets = load_scene("targets")
    plates = [i for i in targets.instances if i.name.startswith("plate_")]
    assert len(plates) == 16
    eye = np.array([0.0, 0.0, 1.5])
    with RayScene(targets) as rays:
        for plate in plates:
            percent, distance = divmod(plate.entity_id, 100)
            # All over the plate but for its last millimetres; the middle comes first.
            spots = [(0.0, 0.0)] + [(a, b) for a in (-0.49, 0.49) for b in (-0.49, 0.49)]
            points = np.array([plate.transform @ (a, b, 0.0, 1.0) for a, b in spots])[:, :3]
            ways = points - eye
            ways /= np.linalg.norm(ways, axis=1, keepdims=True)
            hits = rays.trace(eye, ways, 200.0)
            assert set(hits.entity_id.tolist()) == {plate.entity_id}
            assert float(hits.t[0]) == pytest.approx(distance, abs=1e-5)  # single precision at 80 m
            material = targets.materials[int(hits.material[0])]
            assert material.kind is SurfaceKind.lambert
            assert material.at(905e-9).diffuse_reflectance == percent / 100.0
            assert abs(float(hits.normal[0] @ ways[0])) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("way", "bush", "wall"), [((1, 0, 0), 6, 8), ((0, 1, 0), 86, 88)])
def test_a_beam_meets_the_bush_and_the_wall_behind_it(
    way: tuple[int, int, int], bush: int, wall: int
) -> None:
    scene = load_scene("bush_and_wall")
    axis = np.array(way, float)
    across = np.cross(axis, (0.0, 0.0, 1.0))
    # A cone of 5 mrad around the beam, as wide as the lidar of the example.
    turns, radii = np.meshgrid(np.linspace(0.0, math.tau, 40), np.linspace(0.0, 5e-3, 40))
    ways = axis + (radii * np.cos(turns))[..., None] * across
    ways = (ways + (radii * np.sin(turns))[..., None] * (0.0, 0.0, 1.0)).reshape(-1, 3)
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    with RayScene(scene) as rays:
        hits = rays.trace(np.array([0.0, 0.0, 1.0]), ways, 200.0)
    leaves, bricks = hits.entity_id == bush, hits.entity_id == wall
    assert leaves.sum() + bricks.sum() == len(ways)
    # First a larger echo of the bush, then a smaller one of the wall.
    assert 0.05 * len(ways) < bricks.sum() < leaves.sum()
    assert np.abs(hits.t[leaves] - bush).max() < 1.0
    # 5 mrad off the normal is 1e-3 m at 88 m.
    np.testing.assert_allclose(hits.t[bricks], wall, atol=2e-3)


def test_the_corridor_is_30_m_of_wall_to_wall() -> None:
    corridor = load_scene("corridor")
    eye = np.array([1.0, 0.5, 2.55])  # above the doors and the panes
    with RayScene(corridor) as rays:
        back = rays.trace(eye, np.array([[-1.0, 0.0, 0.0]]), 100.0)
        sides = rays.trace(eye, np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]), 100.0)
    inside = 0.25  # m, thickness of the walls
    assert float(back.t[0]) == pytest.approx(1.0 - inside, abs=1e-5)  # single precision
    assert float(sides.t.sum()) == pytest.approx(2.4, abs=1e-5)
