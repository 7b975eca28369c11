"""Pictures of roughness, metal, normals and light: what is read, and what is said of the rest."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene, Texture, Use, Wrap
from sensor_models.scene.worlds.formats import WorldOptions
from sensor_models.scene.worlds.reading import read_world
from sensor_models.tools.pictures.scene_command import main
from tests.sensor_models.scene.test_textures import FACES, MANIFEST, gltf, picture, scene_of
from tests.sensor_models.scene_files import write_manifest

STRENGTH = "KHR_materials_emissive_strength"


def grey(level: int, side: int = 2) -> bytes:
    return picture(pixels=np.full((side, side), level, np.uint8))


def by_use(scene: Scene) -> dict[Use, Texture]:
    return {texture.use: texture for texture in scene.textures}


def full_gltf(**material: Any) -> dict[str, Any]:
    """A rectangle with all maps: pictures 0 to 3, all by the same coordinates."""
    tree = gltf({"uri": "c.png"})
    tree["images"] = [{"uri": f"{name}.png"} for name in "crne"]
    tree["textures"] = [{"source": k, "sampler": 0} for k in range(4)]
    own = tree["materials"][1]
    own["pbrMetallicRoughness"] |= {
        "metallicRoughnessTexture": {"index": 1}, "roughnessFactor": 0.5, "metallicFactor": 0.25,
    }  # fmt: skip
    own["normalTexture"] = {"index": 2, "scale": 0.5}
    own["emissiveTexture"] = {"index": 3}
    own["emissiveFactor"] = [1.0, 0.5, 0.25]
    own["extensions"] = {STRENGTH: {"emissiveStrength": 40.0}}
    own |= material
    return tree


def write_all(folder: Path, tree: dict[str, Any]) -> None:
    for name, level in zip("crne", (10, 20, 30, 40), strict=True):
        (folder / f"{name}.png").write_bytes(grey(level))
    (folder / "m.gltf").write_text(json.dumps(tree))


def test_a_gltf_has_all_its_maps(tmp_path: Path) -> None:
    write_all(tmp_path, full_gltf())
    for _ in range(2):  # read, and kept
        scene = scene_of(tmp_path, "m.gltf")
        found = by_use(scene)
        levels = {use: int(texture.pixels[0, 0, 0]) for use, texture in found.items()}
        assert levels == {Use.color: 10, Use.roughness: 20, Use.normals: 30, Use.emission: 40}
        assert found[Use.roughness].factor == (3.0, 0.5, 0.25)
        assert found[Use.normals].factor == (0.5, 0.5, 1.0)
        assert found[Use.emission].factor == (40.0, 20.0, 10.0)
        assert all(texture.wrap == (Wrap.clamp, Wrap.mirror) for texture in scene.textures)
        mesh = scene.meshes[0]
        numbers = [scene.textures.index(found[use]) for use in Use]
        assert mesh.face_texture is not None
        assert mesh.face_maps is not None
        assert mesh.face_texture.tolist() == [numbers[0]] * len(FACES)
        assert mesh.face_maps.tolist() == [numbers[1:]] * len(FACES)
        assert scene.notes == ()


def test_light_without_a_picture_needs_no_coordinates(tmp_path: Path) -> None:
    """And is multiplied by what the manifest says of the mesh."""
    tree = gltf({"uri": "c.png"})
    tree["materials"][1] = {"name": "lamp", "emissiveFactor": [0.0, 1.0, 0.5]}
    del tree["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"]
    (tmp_path / "m.gltf").write_text(json.dumps(tree))
    text = MANIFEST.replace('file = "FILE"', 'file = "m.gltf"\nluminance = 300.0')
    scene = load_scene(write_manifest(tmp_path, text))
    (texture,) = scene.textures
    assert (texture.use, texture.factor) == (Use.emission, (0.0, 300.0, 150.0))
    assert (texture.pixels == 255).all()
    mesh = scene.meshes[0]
    assert mesh.face_texture is None
    assert mesh.face_maps is not None
    assert mesh.face_maps.tolist() == [[-1, -1, 0]] * len(FACES)


def test_a_black_lamp_is_none(tmp_path: Path) -> None:
    """glTF multiplies a picture by an ``emissiveFactor`` that is black without one."""
    tree = full_gltf()
    del tree["materials"][1]["emissiveFactor"]
    write_all(tmp_path, tree)
    assert Use.emission not in by_use(scene_of(tmp_path, "m.gltf"))


def test_maps_by_other_coordinates_are_left_out_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_all(tmp_path, full_gltf(normalTexture={"index": 2, "texCoord": 1}))
    with caplog.at_level(logging.WARNING):
        found = by_use(scene_of(tmp_path, "m.gltf"))
    assert set(found) == {Use.color, Use.roughness, Use.emission}
    assert "is shown without its picture of normals: it is laid by TEXCOORD_1" in caplog.text


def test_what_is_not_used_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = full_gltf(
        occlusionTexture={"index": 0}, alphaMode="BLEND",
        extensions={"KHR_materials_clearcoat": {"clearcoatTexture": {"index": 0}}},
    )  # fmt: skip
    tree["materials"].append({"name": "other", "occlusionTexture": {"index": 0}})
    write_all(tmp_path, tree)
    path = write_manifest(tmp_path, MANIFEST.replace("FILE", "m.gltf"))
    for _ in range(2):  # also of what was kept
        assert main(["check", str(path)]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if "not taken" in line]
        assert lines == [
            "not taken  m.gltf: occlusionTexture: of 2 materials, the first is 'twin'",
            "not taken  m.gltf: alphaMode BLEND: of 1 material, the first is 'twin'",
            "not taken  m.gltf: KHR_materials_clearcoat clearcoatTexture: of 1 material, the first"
            " is 'twin'",
        ]


OBJ = (
    "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\n"
    "usemtl one\nf 1/1 2/2 3/3\nusemtl lamp\nf 1 3 4\n"
)


def test_an_obj_has_the_maps_of_its_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rough.png").write_bytes(grey(100, 4))
    (tmp_path / "metal.png").write_bytes(grey(200, 2))
    (tmp_path / "light.png").write_bytes(grey(50))
    (tmp_path / "bump.png").write_bytes(grey(90))
    (tmp_path / "lean.png").write_bytes(picture())
    (tmp_path / "m.mtl").write_text(
        "newmtl one\nPr 0.5\nmap_Pr rough.png\nmap_Pm metal.png\nKe 3 2 1\nmap_Ke light.png\n"
        "map_Bump -bm 0.25 lean.png\nmap_Ns gloss.png\nnewmtl lamp\nKe 7\nbump bump.png\n"
    )
    (tmp_path / "m.obj").write_text(OBJ)
    scene = scene_of(tmp_path, "m.obj")
    first = {t.use: t for t in scene.textures if t.name != "light"}
    rough = first[Use.roughness]
    assert rough.pixels.shape == (4, 4, 3)
    assert (rough.pixels[..., 1] == 100).all()
    assert (rough.pixels[..., 2] == 200).all()
    assert rough.factor == (3.0, 0.5, 1.0)
    assert first[Use.normals].factor == (0.25, 0.25, 1.0)
    assert first[Use.emission].factor == (3.0, 2.0, 1.0)
    (lamp,) = (t for t in scene.textures if t.name == "light")
    assert (lamp.use, lamp.factor) == (Use.emission, (7.0, 7.0, 7.0))
    mesh = scene.meshes[0]
    assert mesh.face_maps is not None
    uses = [[-1 if k < 0 else scene.textures[k].use for k in row] for row in mesh.face_maps]
    assert uses == [[Use.roughness, Use.normals, Use.emission], [-1, -1, Use.emission]]
    assert main(["check", str(tmp_path / "scene.toml")]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "not taken" in line]
    assert told == [
        "not taken  m.obj: map_Ns of material 'one'",
        "not taken  m.obj: heights of material 'lamp', bump.png: a map of normals is needed",
    ]


def test_a_manifest_lays_all_maps(tmp_path: Path) -> None:
    for name, level in zip("rmne", (20, 25, 30, 40), strict=True):
        (tmp_path / f"{name}.png").write_bytes(grey(level))
    keys = 'roughness = "r.png", metal = "m.png", normals = "n.png", lean = 2, emission = "e.png"'
    text = MANIFEST.replace('file = "FILE"', "plane = { size = [1, 1] }").replace(
        "[[inst", f"texture = {{ size = [1, 1], luminance = 9, {keys} }}\n[[inst"
    )
    scene = load_scene(write_manifest(tmp_path, text))
    found = by_use(scene)
    assert found[Use.roughness].pixels[0, 0].tolist() == [255, 20, 25]
    assert found[Use.normals].factor == (2.0, 2.0, 1.0)
    assert found[Use.emission].factor == (9.0, 9.0, 9.0)
    assert Use.color not in found
    assert scene.meshes[0].face_texture is None
    with pytest.raises(SceneError, match="names no picture, allowed are image, roughness"):
        load_scene(write_manifest(tmp_path, text.replace(keys, "lean = 1")))
    with pytest.raises(SceneError, match=r"meshes\.m\.texture\.normals"):
        load_scene(write_manifest(tmp_path, text.replace('"n.png"', '"none.png"')))


def test_a_world_in_gltf_says_that_it_takes_no_maps(tmp_path: Path) -> None:
    write_all(tmp_path, full_gltf())
    world = read_world(tmp_path / "m.gltf", (tmp_path / "m.gltf").read_bytes(), WorldOptions())
    kinds = ("metallicRoughnessTexture", "normalTexture", "emissiveTexture", "emissiveFactor")
    assert world.notes == [f"{kind}: of 1 material, the first is 'twin'" for kind in kinds]
