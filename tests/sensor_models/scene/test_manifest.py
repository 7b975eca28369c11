"""Scenes from manifests: names, poses, numbers, digests."""

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import build_fmus
import sensor_models
from scenes.making import Solid, write_glb
from sensor_models.core.georeference import Georeference
from sensor_models.scene.errors import SceneError
from sensor_models.scene.gltf_tree import MAX_SHARED
from sensor_models.scene.limits import MAX_INSTANCES, MAX_PARTS, MAX_TRIANGLES, MAX_VERTICES
from sensor_models.scene.manifest import digest_of, load_scene, manifest_path, scene_folder
from sensor_models.scene.materials import material_library
from sensor_models.scene.model import Clip
from sensor_models.scene.schema import json_schema
from tests.sensor_models.scene_files import BOX, HEAD, TETRAHEDRON, ply, write_manifest

ROOT = Path(build_fmus.__file__).parent


def test_smallest_manifest_is_an_empty_scene(tmp_path: Path) -> None:
    scene = load_scene(write_manifest(tmp_path, ""))
    assert (scene.name, scene.meshes, scene.instances, scene.bodies) == ("test", (), (), ())
    assert scene.gravity == (0.0, 0.0, -9.80665)
    assert scene.media[0].absorption == 0.0


def test_world_holds_gravity_and_magnetic_field(tmp_path: Path) -> None:
    text = "[world]\ngravity = [0, 0, -1.62]\nmagnetic_field = [1e-6, 2e-6, -3e-6]\n"
    scene = load_scene(write_manifest(tmp_path, text))
    assert scene.gravity == (0.0, 0.0, -1.62)
    assert scene.magnetic_field == (1e-6, 2e-6, -3e-6)


def test_a_world_may_be_somewhere_on_the_earth(tmp_path: Path) -> None:
    assert load_scene(write_manifest(tmp_path, "")).origin is None
    place = "latitude_deg = -33.5, longitude_deg = 151, height = 20, heading_deg = 90"
    scene = load_scene(write_manifest(tmp_path, f"[world]\norigin = {{ {place} }}\n"))
    expected = Georeference(math.radians(-33.5), math.radians(151.0), 20.0, math.pi / 2)
    assert scene.origin == expected
    assert scene.magnetic_field == (0.0, 0.0, 0.0)


def test_the_field_of_the_earth_is_turned_as_the_world_is(tmp_path: Path) -> None:
    # Published with the model: 2025.0, 28 km, 89 N, 121 W; north, east and down in nT.
    north, east, down = -255.0, -1482.0, 56194.0
    place = "latitude_deg = 89, longitude_deg = -121, height = 28000, heading_deg = 90"
    text = f"[world]\norigin = {{ {place} }}\nearth_field_date = 2025-01-01\n"
    field = load_scene(write_manifest(tmp_path, text)).magnetic_field
    # y points east then, and x south; values are published to whole nT
    assert np.array(field) * 1e9 == pytest.approx([-north, east, -down], abs=0.51)


def test_a_folder_stands_for_the_manifest_in_it(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, BOX)
    assert load_scene(tmp_path).files == load_scene(path).files == (path.resolve(),)


def test_a_name_is_a_built_in_scene_whatever_lies_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "yard").mkdir()
    write_manifest(tmp_path / "yard", BOX)
    monkeypatch.chdir(tmp_path)
    # FMUs that were opened in this process before have scenes of their own, which come first.
    monkeypatch.setattr(sensor_models, "__path__", [str(ROOT / "sensor_models")])
    assert manifest_path("yard") == ROOT / "scenes" / "yard" / "scene.toml"
    assert manifest_path("./yard") == tmp_path / "yard" / "scene.toml"
    assert manifest_path(Path("yard")) == tmp_path / "yard" / "scene.toml"


def test_an_unknown_name_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensor_models, "__path__", [str(ROOT / "sensor_models")])
    known = "bush_and_wall, corridor, crossing, radar_range, street_canyon, targets, yard"
    with pytest.raises(SceneError, match=rf"'yrad'.*{known}"):
        scene_folder("yrad")


@pytest.mark.parametrize("name", ["..", "../scenes/yard", "", "yard/"])
def test_a_name_cannot_leave_the_folder_of_scenes(name: str) -> None:
    with pytest.raises(SceneError):
        scene_folder(name)


def test_instances_are_scaled_then_turned_then_shifted(tmp_path: Path) -> None:
    text = """
[[instances]]
mesh = "box"
scale = [2, 1, 1]
roll_pitch_yaw_deg = [0, 0, 90]
position = [10, 20, 30]
"""
    instance = load_scene(write_manifest(tmp_path, BOX + text)).instances[1]
    moved = instance.transform @ (1.0, 0.0, 0.0, 1.0)
    # x doubled, turned to y: exact but for the rounding of the sine of 45 degrees
    np.testing.assert_allclose(moved, (10.0, 22.0, 30.0, 1.0), atol=1e-14)


@pytest.mark.parametrize(
    ("angles", "vector", "turned"),
    [
        ((90, 0, 0), (0, 1, 0), (0, 0, 1)),
        ((0, 90, 0), (1, 0, 0), (0, 0, -1)),
        ((0, 0, 90), (1, 0, 0), (0, 1, 0)),
        ((90, 0, 90), (0, 1, 0), (0, 0, 1)),  # about x first: then the turn about z does nothing
        ((0, 90, 90), (0, 0, 1), (0, 1, 0)),
    ],
)
def test_angles_turn_about_x_then_y_then_z(
    tmp_path: Path,
    angles: tuple[int, ...],
    vector: tuple[int, ...],
    turned: tuple[int, ...],
) -> None:
    text = f'[[bodies]]\nname = "b"\nroll_pitch_yaw_deg = {list(angles)}\n'
    text += BOX + f"roll_pitch_yaw_deg = {list(angles)}\n"
    scene = load_scene(write_manifest(tmp_path, text))
    rotation = scene.instances[0].transform[:3, :3]
    np.testing.assert_allclose(rotation @ vector, turned, atol=1e-15)  # rounding of sines
    assert math.isclose(math.hypot(*scene.bodies[0].orientation), 1.0, abs_tol=1e-15)


def test_places_are_instances_of_their_own(tmp_path: Path) -> None:
    text = BOX + (
        'name = "crate"\nentity_id = 7\nposition = [0, 0, 1.5]\n'
        "places = [{ position = [1, 2, 0] }, { position = [5, 0, 0], yaw_deg = 180, scale = 2 }]\n"
    )
    first, second = load_scene(write_manifest(tmp_path, text)).instances
    assert (first.name, first.entity_id) == ("crate_1", 7)
    assert (second.name, second.entity_id) == ("crate_2", 8)
    assert first.mesh == second.mesh
    np.testing.assert_array_equal(first.transform[:3, 3], (1.0, 2.0, 1.5))
    moved = second.transform @ (0.5, 0.0, 0.0, 1.0)  # half a metre along x, seen from behind
    np.testing.assert_allclose(moved, (4.0, 0.0, 3.0, 1.0), atol=1e-15)  # rounding of sines


def test_entity_ids_that_are_not_given_are_the_free_ones(tmp_path: Path) -> None:
    more = '[[instances]]\nmesh = "box"\n'
    text = BOX + more + "entity_id = 2\n" + more + more + "entity_id = 2\n"
    scene = load_scene(write_manifest(tmp_path, text))
    assert [instance.entity_id for instance in scene.instances] == [1, 2, 3, 2]


def test_labels_and_bodies_go_by_name(tmp_path: Path) -> None:
    head = "labels = { crate = 5, door = 9 }\n"
    text = '[[bodies]]\nname = "cart"\nposition = [1, 2, 3]\n[[bodies]]\nname = "arm"\n'
    text += BOX + 'body = "arm"\nlabel = "door"\n'
    scene = load_scene(write_manifest(tmp_path, text, HEAD + head))
    assert scene.labels == {5: "crate", 9: "door"}
    assert (scene.instances[0].label, scene.instances[0].body) == (9, 1)
    assert scene.bodies[0].position == (1.0, 2.0, 3.0)


def test_only_materials_in_use_are_in_the_scene(tmp_path: Path) -> None:
    text = BOX + '[materials.mine]\nbase = "wood"\n[meshes.other]\n'
    text += 'sphere = { radius = 1 }\nmaterial = "glass"\n[[instances]]\nmesh = "other"\n'
    scene = load_scene(write_manifest(tmp_path, text))
    assert [material.name for material in scene.materials] == ["brick", "glass"]
    assert set(scene.meshes[1].face_material) == {1}


def test_media_fill_the_world_and_volumes(tmp_path: Path) -> None:
    text = """
[world]
medium = "mist"
[media.bank]
absorption = 0.2
[media.mist]
preset = "fog"
visibility = 400
[[volumes]]
medium = "bank"
mesh = "box"
position = [1, 2, 3]
"""
    scene = load_scene(write_manifest(tmp_path, BOX + text))
    assert [medium.name for medium in scene.media] == ["mist", "bank"]
    (volume,) = scene.volumes
    assert scene.media[volume.medium].absorption == 0.2
    np.testing.assert_array_equal(volume.instance.transform[:3, 3], (1.0, 2.0, 3.0))


def test_mesh_of_a_volume_alone_needs_no_material(tmp_path: Path) -> None:
    text = """
[meshes.room]
box = { size = [4, 4, 4] }
[media.bank]
absorption = 0.2
[[volumes]]
medium = "bank"
mesh = "room"
"""
    scene = load_scene(write_manifest(tmp_path, text))
    assert len(scene.volumes) == 1


def test_digest_follows_every_file(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_bytes(ply(*TETRAHEDRON))
    text = '[meshes.a]\nfile = "a.ply"\nmaterial = "wood"\n'
    path = write_manifest(tmp_path, text)
    first = digest_of(load_scene(path))
    assert digest_of(load_scene(path)) == first
    (tmp_path / "a.ply").write_bytes(ply(2.0 * TETRAHEDRON[0], TETRAHEDRON[1]))
    second = digest_of(load_scene(path))
    write_manifest(tmp_path, text + "# changed\n")
    assert len({first, second, digest_of(load_scene(path))}) == 3


def test_digest_does_not_depend_on_where_the_folder_lies(tmp_path: Path) -> None:
    shutil.copytree(scene_folder("yard"), tmp_path / "elsewhere")
    assert digest_of(load_scene(tmp_path / "elsewhere")) == digest_of(load_scene("yard"))


def test_a_file_gone_since_is_noticed_by_the_digest(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, BOX)
    scene = load_scene(path)
    path.unlink()
    with pytest.raises(SceneError, match=r"scene\.toml: cannot be read"):
        digest_of(scene)


def test_files_outside_are_read_if_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_bytes(ply(*TETRAHEDRON))
    (tmp_path / "inner").mkdir()
    text = '[meshes.a]\nfile = "../a.ply"\nmaterial = "wood"\n'
    path = write_manifest(tmp_path / "inner", text)
    assert len(load_scene(path, allow_outside=True).meshes[0].faces) == 4


def test_links_within_the_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_bytes(ply(*TETRAHEDRON))
    (tmp_path / "b.ply").symlink_to("a.ply")
    text = '[meshes.a]\nfile = "b.ply"\nmaterial = "wood"\n'
    scene = load_scene(write_manifest(tmp_path, text))
    assert scene.files[1] == (tmp_path / "a.ply").resolve()


def test_published_schema_is_up_to_date() -> None:
    published = (ROOT / "docs" / "scene.schema.json").read_text(encoding="utf-8")
    # If this fails: python -m sensor_models.scene schema > docs/scene.schema.json
    assert json.loads(published) == json.loads(json_schema())


def test_example_of_the_documents_is_a_scene(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "scenes.md").read_text(encoding="utf-8")
    example, panel, person = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    house = Solid()
    for number, part in enumerate(("Walls", "Window_Glass", "entrance")):
        house.box(part, (2 * number, 0, 0), (2 * number + 1, 1, 1))
    write_glb(tmp_path / "house.glb", house)
    ground = example.replace('"grass"', '"panel"')
    scene = load_scene(write_manifest(tmp_path, ground + panel, ""))
    numbers = {material.name: material for material in scene.materials}["panel"]
    assert numbers.at(865e-9).diffuse_reflectance == 0.51
    assert numbers.radar_at(3.893e-3) is not None
    scene = load_scene(write_manifest(tmp_path, example, ""))
    assert {material.name for material in scene.materials} >= {"glass", "door", "plaster_white"}
    assert [medium.name for medium in scene.media] == ["mist", "smoke"]
    assert scene.instances[2].body == 0
    (tmp_path / "person.glb").write_bytes((scene_folder("crossing") / "walker.glb").read_bytes())
    scene = load_scene(write_manifest(tmp_path, person))
    assert scene.bodies[0].clip == Clip(0.2, 1.1, loop=True)
    assert scene.plays_clips


def test_documents_name_the_limits_and_the_size_of_the_library() -> None:
    text = (ROOT / "docs" / "scenes.md").read_text(encoding="utf-8")
    assert f"{MAX_TRIANGLES:,} triangles" in text
    assert f"{MAX_INSTANCES:,} instances" in text
    assert f"{MAX_VERTICES:,} vertices" in text
    assert f"{MAX_PARTS:,} parts" in text
    assert f"{MAX_SHARED:,} vertices and as many triangles more" in text
    assert f"has {len(material_library())} everyday materials" in text
