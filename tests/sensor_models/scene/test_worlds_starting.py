"""The first manifest of a world of one's own, from mesh files alone."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

from sensor_models.core.toml_files import read_toml
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.pictures import scene_command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three meshes: a house of glass and brick, a tank, a part in millimetres."""
    house = trimesh.Scene()
    for name, height in (("brick wall", 4.0), ("window", 1.0)):
        own = trimesh.creation.box((2.0, 6.0, height))
        own.visual = trimesh.visual.TextureVisuals(
            material=trimesh.visual.material.PBRMaterial(name=name)
        )
        house.add_geometry(own, geom_name=name)
    place = tmp_path / "meshes"
    place.mkdir()
    house.export(place / "house.glb")
    trimesh.creation.icosphere(radius=1.5).export(tmp_path / "steel tank.stl")
    trimesh.creation.box((4000.0, 20.0, 15.0)).export(tmp_path / "beam.ply")
    return tmp_path


def run(*words: object) -> int:
    return scene_command.main([str(word) for word in ("new", *words)])


def test_meshes_become_a_world_that_rays_meet(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [folder / "meshes" / "house.glb", folder / "steel tank.stl", folder / "beam.ply"]
    manifest = folder / "scene.toml"
    assert run(*files, "--output", manifest) == 0
    said = capsys.readouterr().out
    assert "4 entities" in said
    assert "beam.ply: 4000 x 20 x 15 m, 12 triangles; if these are millimetres" in said
    text = manifest.read_text(encoding="utf-8")
    assert "# meshes/house.glb: 2 x 6 x 4 m" in text  # of the file, whose y is up
    scene = load_scene(manifest)
    assert [scene.labels[i.label] for i in scene.instances] == [
        "house", "steel tank", "beam", "ground",
    ]  # fmt: skip
    content = read_toml(manifest)
    parts = content["meshes"]["house"]["parts"]
    assert parts["brick wall"]["material"] == "brick"
    assert parts["window"]["material"] == "glass"
    assert content["meshes"]["steel tank"]["material"] == "steel"
    assert content["meshes"]["beam"]["material"] == "plastic_white"
    with RayScene(scene) as rays:
        hits = rays.trace([[1.2, 0.0, 30.0], [40.0, 40.0, 30.0]], np.tile([0.0, 0.0, -1.0], (2, 1)))
    ids = {scene.labels[i.label]: i.entity_id for i in scene.instances}
    assert hits.entity_id.tolist() == [ids["beam"], ids["ground"]]
    np.testing.assert_allclose(hits.t, [22.5, 30.0], atol=1e-4)


def test_ground_is_left_out_and_names_are_kept_apart(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "beam.ply").write_bytes((folder / "beam.ply").read_bytes())
    manifest = folder / "scene.toml"
    both = (folder / "beam.ply", folder / "other" / "beam.ply")
    assert run(*both, "--no-ground", "--output", manifest) == 0
    meshes = read_toml(manifest)["meshes"]
    assert len(meshes) == 2
    assert {mesh["file"] for mesh in meshes.values()} == {"beam.ply", "other/beam.ply"}
    assert len(load_scene(manifest).instances) == 2


def test_a_mesh_named_ground_is_no_plane(folder: Path) -> None:
    (folder / "ground.ply").write_bytes((folder / "beam.ply").read_bytes())
    assert run(folder / "ground.ply", "--output", folder / "scene.toml") == 0
    assert len(load_scene(folder / "scene.toml").instances) == 2


def test_what_is_wrong_is_told_in_a_line(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, beam = folder / "scene.toml", folder / "beam.ply"
    empty = folder / "empty.obj"
    empty.write_text("# nothing\n")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "scene.toml"
    for file, output, said in (
        (folder / "none.ply", manifest, "cannot be read"),
        (folder / "scene.txt", manifest, "cannot be read"),
        (empty, manifest, "empty.obj"),
        (beam, elsewhere, "is not in the folder of the manifest"),
    ):
        assert run(file, "--output", output) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
        assert not output.exists()
    manifest.write_text("mine")
    assert run(beam, "--output", manifest) == 1
    assert "is there already, and nothing is written over" in capsys.readouterr().err
    assert manifest.read_text() == "mine"
