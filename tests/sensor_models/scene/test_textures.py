"""Textures of mesh files and manifests: what is read, what is left out, and what is refused."""

import base64
import io
import json
import logging
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sensor_models.scene import pictures
from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.manifest import load_scene, scene_folder
from sensor_models.scene.model import Scene, Wrap
from sensor_models.scene.pictures import texture_of
from tests.sensor_models.scene_files import write_manifest

COLORS = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 99, 199]]], np.uint8)
MANIFEST = """
[meshes.m]
file = "FILE"
material = "concrete"
[[instances]]
mesh = "m"
"""
#: Two triangles and where their corners are in a picture, by vertex.
PLACES = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], "<f4")
LAID = np.array([[0, 1], [2, 1], [2, 0], [0, 0]], "<f4")
FACES = np.array([[0, 1, 2], [0, 2, 3]], "<u2")


def picture(kind: str = "PNG", pixels: np.ndarray = COLORS) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


def scene_of(folder: Path, file: str) -> Scene:
    return load_scene(write_manifest(folder, MANIFEST.replace("FILE", file)))


def gltf(image: dict[str, Any], **texture: Any) -> dict[str, Any]:
    """A glTF of one textured rectangle with its buffer in a data URI."""
    parts = [PLACES.tobytes(), LAID.tobytes(), FACES.tobytes() + b"\0" * 4]
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    data = b"".join(parts)
    views = [
        {"buffer": 0, "byteOffset": s, "byteLength": len(p)}
        for s, p in zip(starts, parts, strict=False)
    ]
    kinds = (("VEC3", 5126, 4), ("VEC2", 5126, 4), ("SCALAR", 5123, 6))
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{
            "attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 1,
        }]}],
        "materials": [{"name": "twin"}, {"name": "twin", "pbrMetallicRoughness": {
            "baseColorFactor": [0.5, 0.25, 1.0, 1.0], "baseColorTexture": {"index": 0, **texture},
        }}],
        "textures": [{"source": 0, "sampler": 0}],
        "samplers": [{"wrapS": 33071, "wrapT": 33648}],
        "images": [image],
        "accessors": [
            {"bufferView": n, "type": kind, "componentType": component, "count": count}
            for n, (kind, component, count) in enumerate(kinds)
        ],
        "bufferViews": views,
        "buffers": [{
            "byteLength": len(data),
            "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode(),
        }],
    }  # fmt: skip


def check_gltf(scene: Scene) -> None:
    (texture,) = scene.textures
    np.testing.assert_array_equal(texture.pixels, COLORS)
    assert texture.factor == (0.5, 0.25, 1.0)
    assert texture.wrap == (Wrap.clamp, Wrap.mirror)
    (mesh,) = scene.meshes
    assert mesh.face_texture is not None
    assert mesh.texture_places is not None
    assert mesh.face_texture.tolist() == [0, 0]
    np.testing.assert_array_equal(mesh.texture_places, LAID[FACES])


def test_a_gltf_has_its_picture_in_a_file_a_text_or_its_buffer(tmp_path: Path) -> None:
    (tmp_path / "my map.png").write_bytes(picture())
    text = "data:image/png;base64," + base64.b64encode(picture()).decode()
    for name, image in (("file", {"uri": "my%20map.png"}), ("text", {"uri": text})):
        (tmp_path / f"{name}.gltf").write_text(json.dumps(gltf(image)))
        scene = scene_of(tmp_path, f"{name}.gltf")
        check_gltf(scene)
        assert (tmp_path / "my map.png" in scene.files) == (name == "file")
        check_gltf(scene_of(tmp_path, f"{name}.gltf"))  # as it was kept
    tree = gltf({"bufferView": 3, "mimeType": "image/png"})
    data = base64.b64decode(tree["buffers"][0].pop("uri").partition(",")[2])
    whole = data + picture()
    whole += b"\0" * (-len(whole) % 4)
    view = {"buffer": 0, "byteOffset": len(data), "byteLength": len(picture())}
    tree["bufferViews"].append(view)
    tree["buffers"][0]["byteLength"] = len(whole)
    (tmp_path / "one.glb").write_bytes(glb(tree, whole))
    check_gltf(scene_of(tmp_path, "one.glb"))


def glb(tree: dict[str, Any], data: bytes) -> bytes:
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    content = struct.pack("<I4s", len(text), b"JSON") + text
    content += struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(content)) + content


@pytest.mark.parametrize(
    ("image", "texture"),
    [
        ({"uri": "missing.png"}, {}),
        ({"uri": "../outside.png"}, {}),
        ({"uri": "data:image/png;base64,%%%"}, {}),
        ({"bufferView": 0}, {}),
        ({"bufferView": 7}, {}),
        ({"uri": "good.png"}, {"extensions": {"KHR_texture_transform": {}}}),
    ],
)
def test_a_mesh_is_read_without_a_picture_that_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, image: Any, texture: Any
) -> None:
    folder = tmp_path / "scene"
    folder.mkdir()
    (tmp_path / "outside.png").write_bytes(picture())
    (folder / "good.png").write_bytes(picture())
    (folder / "m.gltf").write_text(json.dumps(gltf(image, **texture)))
    for _ in range(2):  # it is told again
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            scene = scene_of(folder, "m.gltf")
        assert scene.textures == ()
        assert scene.meshes[0].face_texture is None
        assert "material 'twin' is shown without its picture" in caplog.text


def test_a_picture_that_comes_later_is_seen(tmp_path: Path) -> None:
    (tmp_path / "m.gltf").write_text(json.dumps(gltf({"uri": "late.png"})))
    assert scene_of(tmp_path, "m.gltf").textures == ()
    (tmp_path / "late.png").write_bytes(picture())
    check_gltf(scene_of(tmp_path, "m.gltf"))


def test_a_picture_that_goes_is_missed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Also by a file of the same content elsewhere, for which the mesh was kept."""
    (tmp_path / "m.gltf").write_text(json.dumps(gltf({"uri": "goes.png"})))
    (tmp_path / "goes.png").write_bytes(picture())
    check_gltf(scene_of(tmp_path, "m.gltf"))
    (tmp_path / "goes.png").unlink()
    with caplog.at_level(logging.WARNING):
        assert scene_of(tmp_path, "m.gltf").textures == ()
    assert "material 'twin' is shown without its picture" in caplog.text


def test_an_obj_has_the_pictures_of_its_library(tmp_path: Path) -> None:
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "a b.jpg").write_bytes(picture("JPEG", np.full((4, 4, 3), 90, np.uint8)))
    (tmp_path / "maps" / "m.mtl").write_text(
        "newmtl one\nKd 0.5 0.5 1\nmap_Kd a b.jpg\nnewmtl two\nmap_Kd -clamp on missing.png\n"
    )
    (tmp_path / "m.obj").write_text(
        "mtllib maps/m.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 3 0\nvt 3 0.25\n"
        "usemtl one\nf 1/1 2/2 3/3\nf 1 3 4\nusemtl two\nf 1/1 2/2 3/3\nf 1/9 2/9 3/9\n"
    )
    scene = scene_of(tmp_path, "m.obj")
    (texture,) = scene.textures
    assert texture.factor == (0.5, 0.5, 1.0)
    np.testing.assert_allclose(texture.pixels, 90, atol=2)
    mesh = scene.meshes[0]
    assert mesh.face_texture is not None
    assert mesh.texture_places is not None
    assert mesh.face_texture.tolist() == [0, -1, -1, -1]
    np.testing.assert_allclose(mesh.texture_places[0], [[0, 1], [3, 1], [3, 0.75]])


def test_textures_of_the_manifest_come_between_part_and_mesh(tmp_path: Path) -> None:
    for name, level in (("a", 10), ("b", 20)):
        (tmp_path / f"{name}.png").write_bytes(
            picture(pixels=np.full((2, 2), level, np.uint8))  # grey
        )
    text = """
[meshes.m]
box = { size = [2, 2, 2] }
material = "concrete"
texture = { image = "a.png", size = [2, 2] }
parts.top = { texture = { image = "b.png", size = [1, 4] } }
[[instances]]
mesh = "m"
"""
    scene = load_scene(write_manifest(tmp_path, text))
    assert sorted(int(t.pixels[0, 0, 0]) for t in scene.textures) == [10, 20]
    mesh = scene.meshes[0]
    assert mesh.face_texture is not None
    level = np.array([int(t.pixels[0, 0, 0]) for t in scene.textures])[mesh.face_texture]
    corners = mesh.vertices[mesh.faces]
    np.testing.assert_array_equal(level == 20, (corners[:, :, 2] == 1.0).all(axis=1))


def test_what_is_no_picture_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    text = MANIFEST.replace('file = "FILE"', "plane = { size = [1, 1] }").replace(
        'material = "concrete"',
        'material = "concrete"\ntexture = { image = "a.png", size = [1, 1] }',
    )
    with pytest.raises(SceneError, match=r"meshes.m.texture.image: .*a.png, which cannot be read"):
        load_scene(write_manifest(tmp_path, text))
    monkeypatch.setattr(pictures, "MOST_TEXELS", 3)
    with pytest.raises(MeshFileError, match="of 2 x 2 texels, allowed are 3"):
        texture_of(picture(), "x")


def test_textures_change_nothing_else(tmp_path: Path) -> None:
    """What other sensors read of the yard is the same without its textures."""
    folder = scene_folder("yard")
    text = (folder / "scene.toml").read_text(encoding="utf-8")
    for file in folder.iterdir():
        if file.suffix == ".glb":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    plain = re.sub(r"(?m)^(texture|parts\.brick) = .*\n|, texture = \{[^}]*\}", "", text)
    assert "texture" not in plain
    (tmp_path / "scene.toml").write_text(plain, encoding="utf-8")
    without, given = load_scene(tmp_path / "scene.toml"), load_scene("yard")
    assert given.textures
    assert without.textures == ()
    assert given.materials == without.materials
    for one, other in zip(given.meshes, without.meshes, strict=True):
        for name in ("vertices", "faces", "face_material", "face_label", "vertex_normals"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
