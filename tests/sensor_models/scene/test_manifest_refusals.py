"""A bad scene gives one clear message: file, key, reason."""

import json
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from sensor_models.scene.errors import SceneError
from sensor_models.scene.limits import MAX_FILE_BYTES, MAX_INSTANCES, MAX_TRIANGLES
from sensor_models.scene.manifest import load_scene
from tests.sensor_models.scene_files import BOX, HEAD, TETRAHEDRON, obj, ply, stl, write_manifest

VERTICES, FACES = TETRAHEDRON


def mesh(file: str) -> str:
    return f'[meshes.a]\nfile = "{file}"\nmaterial = "wood"\n[[instances]]\nmesh = "a"\n'


def refusal(path: Path, **known: bool) -> str:
    """The message with which a scene is refused, without the path of its manifest."""
    with pytest.raises(SceneError) as caught:
        load_scene(path, **known)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


#: A world on the Earth.
EARTH = "[world]\norigin = { latitude_deg = 48.1, longitude_deg = 11.6 }\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("instnces = []", "instnces: is unknown, known: format, name.*did you mean instances"),
        (BOX + "colour = 3", r"instances\[0\].colour: is unknown, known: .*mesh"),
        (BOX.replace("size = [1, 2, 3]", ""), r"meshes.box.box.size: is missing"),
        (BOX.replace("3]", "-3]"), r"meshes.box.box.size\[2\]: must be greater than 0, not -3"),
        (BOX.replace("3]", "'3']"), r"meshes.box.box.size\[2\]: must be a valid number, not '3'"),
        (BOX.replace("3]", "nan]"), r"meshes.box.box.size\[2\]: must be a finite number, not nan"),
        ("[instances]\nmesh = 'a'", "instances: must be a list"),
        ("world = 3", "world: must be a table"),
        ("[meshes.a]\nmaterial = 'wood'", "meshes.a: needs exactly one of file, .*, has none"),
        (BOX.replace("material", "sphere = {radius = 1}\nmaterial"), "has box and sphere"),
        (BOX.replace("brick", "brik"), "meshes.box.material: 'brik' is no material.*'brick'"),
        (BOX.replace('material = "brick"', ""), "meshes.box.material: is missing for part 'left'"),
        (BOX + "label = 'x'", r"instances\[0\].label: there is no label 'x', there are: none"),
        (BOX + "body = 'x'", r"instances\[0\].body: there is no body 'x', there are: none"),
        ("[[instances]]\nmesh = 'x'", r"instances\[0\].mesh: there is no mesh 'x'"),
        (
            "[world]\norigin = { latitude_deg = 91, longitude_deg = 0 }",
            "world.origin.latitude_deg: must be less than or equal to 90, not 91",
        ),
        ("[world]\norigin = { latitude_deg = 9 }", "world.origin.longitude_deg: is missing"),
        ("[world]\nearth_field_date = 2026-07-01", "world: earth_field_date needs an origin"),
        (
            EARTH + "earth_field_date = 2026-07-01\nmagnetic_field = [0, 0, 0]",
            "world: gives magnetic_field and earth_field_date, allowed is one",
        ),
        (
            EARTH + "earth_field_date = 2031-07-01",
            r"world.earth_field_date: date = 2031\.\d+ \(year\) is out of range",
        ),
        (EARTH + "earth_field_date = 'today'", "world.earth_field_date: must be a valid date"),
        ("[world]\nmedium = 'x'", "world.medium: there is no medium 'x', there are: none"),
        (BOX + "orientation = [0, 0, 0, 0]", r"instances\[0\].orientation: .* has no direction"),
        (
            BOX + "orientation = [1, 0, 0, 0]\nroll_pitch_yaw_deg = [0, 0, 0]",
            r"instances\[0\]: gives orientation and roll_pitch_yaw_deg",
        ),
        ("[[bodies]]\nname='b'\n[[bodies]]\nname='b'", r"bodies\[1\].name: 'b' is given twice"),
        ("[[bodies]]\nname='a b'", r"bodies\[0\].name: String should match pattern"),
        (BOX + "entity_id = 4294967296", r"instances\[0\].entity_id: must be less than or equal"),
        ("[sky]\nsun_direction = [0, 0, 0]", "sky: sun_direction has no direction"),
        ("[sky]\nsun_spectrum = [[5e-7, 1], [4e-7, 1]]", "sky: sun_spectrum needs wavelengths"),
        ("[meshes.a]\nbox = {size = [1,1,1]}\nscale = 2", "meshes.a: scale is for meshes from a"),
        (
            BOX.replace("material", "parts.lid = {material = 'wood'}\nmaterial"),
            "meshes.box.parts.lid: is no part of the mesh, which has left, right, front",
        ),
        (
            BOX.replace("material", "faces = [{first = 0, count = 1}]\nmaterial"),
            "meshes.box.faces: is for meshes of one part, use parts: left",
        ),
        (
            "[meshes.a]\nplane = {size = [1, 1]}\nmaterial = 'wood'\n[media.f]\nabsorption = 1\n"
            "[[volumes]]\nmedium = 'f'\nmesh = 'a'",
            r"volumes\[0\].mesh: 'a' is not closed",
        ),
    ],
)
def test_a_bad_manifest_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = write_manifest(tmp_path, text)
    with pytest.raises(SceneError, match=message):
        load_scene(path)
    refusal(path)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("", "format: is missing"),
        ('format = 2\nname = "x"', "format: must be 1, not 2"),
        ('format = 1\nname = ""', "name: String should have at least 1 character"),
        ("format = ", "is no TOML: Invalid value"),
        ("x = [" + "[" * 5000, "line 1, x: has more than 32 lists or tables"),
    ],
)
def test_a_file_that_is_no_manifest_is_refused(tmp_path: Path, head: str, message: str) -> None:
    assert message in refusal(write_manifest(tmp_path, "", head))


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    path.write_bytes(HEAD.encode("utf-16"))
    assert "is no TOML" in refusal(path)


def test_a_manifest_without_end_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    with path.open("wb") as stream:
        stream.truncate(2**40)
    assert "bytes, at most" in refusal(path)


@pytest.mark.parametrize("name", ["missing.toml", "folder", "zero\0byte.toml", "/dev/null"])
def test_a_path_to_no_manifest_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(SceneError, match=r"does not exist|is no regular file|is no file name"):
        load_scene(str(tmp_path / name))


@pytest.mark.parametrize(
    ("material", "message"),
    [
        (
            "kind = 'lambert'\nsurface = [{ior = 1.5}]",
            r"surface\[0\].ior: is nothing that a lambert",
        ),
        ("kind = 'lambert'\nsurface = [{}]", r"surface\[0\].diffuse_reflectance: is missing"),
        ("kind = 'lambert'", "surface: is missing"),
        ("surface = [{diffuse_reflectance = 0.5}]", "kind: is missing"),
        (
            "kind = 'lambert'\ntwo_way = true\nsurface = [{diffuse_reflectance = 0.5}]",
            "two_way: is for two_layer, the kind is lambert",
        ),
        (
            "kind = 'lambert'\nsurface = [{diffuse_reflectance = 1.5}]",
            r"surface\[0\].diffuse_reflectance: must be less than or equal to 1",
        ),
        (
            "kind = 'dielectric'\nsurface = [{ior = 1.5, diffuse_reflectance = 0.1}]",
            r"surface\[0\].diffuse_reflectance: is nothing that a dielectric surface has",
        ),
        (
            "kind = 'dielectric'\nsurface = [{ior = 1.5, extinction = 3}]",
            r"surface\[0\].extinction: 3.0 lets no light through",
        ),
        (
            "kind = 'two_layer'\nsurface = [{ior = 1, extinction = 7, diffuse_reflectance = 0.5}]",
            r"surface\[0\].diffuse_reflectance: must be given as 0 under a metal",
        ),
        (
            "kind = 'two_layer'\nsurface = [{ior = 1.5, diffuse_reflectance = 0.98}]",
            r"surface\[0\].diffuse_reflectance: 0.98 is above 0.97",
        ),
        (
            "kind = 'lambert'\nsurface = [{diffuse_reflectance = 0}, {diffuse_reflectance = 1}]",
            r"surface\[1\]: wavelength 9.05e-07 is given twice",
        ),
        (
            "kind = 'lambert'\nsurface = [{band = [9e-7, 8e-7], diffuse_reflectance = 0.5}]",
            r"surface\[0\].band: needs two wavelengths that rise",
        ),
        (
            "kind = 'lambert'\nsurface = [{band = [9e-7, 4e-3], diffuse_reflectance = 0.5}]",
            r"surface\[0\].band: has light and radar waves",
        ),
        (
            "kind = 'lambert'\nsurface = [{wavelength = 7e-7, band = [8e-7, 9e-7], "
            "diffuse_reflectance = 0.5}]",
            r"surface\[0\].band: does not hold the wavelength",
        ),
        (
            "kind = 'lambert'\nsurface = [{wavelength = 4e-3, ior = 2, roughness_beckmann = 0.1}]",
            r"surface\[0\].roughness_beckmann: is nothing that a radar takes",
        ),
        (
            "kind = 'lambert'\nsurface = [{wavelength = 4e-3, roughness_rms = 1e-4}]",
            r"surface\[0\].ior: is missing, a radar needs it or diffuse_reflectance",
        ),
        (
            "kind = 'lambert'\nsurface = [{wavelength = 4e-3, extinction = 1, "
            "diffuse_reflectance = 0.1}]",
            r"surface\[0\].ior: is missing beside extinction",
        ),
        (
            "kind = 'lambert'\nsurface = [{diffuse_reflectance = 0.1, roughness_rms = 1e-4}]",
            r"surface\[0\].roughness_rms: is for radars",
        ),
        ("base = 'wod'", "base: 'wod' is no material, .*did you mean 'wood'"),
        ("base = 'wood'\nkind = 'lambert'", "kind: is what the base gives"),
    ],
)
def test_a_material_that_contradicts_itself_is_refused(
    tmp_path: Path, material: str, message: str
) -> None:
    source = "" if "base" in material else "source = 'estimate'\n"
    path = write_manifest(tmp_path, f"[materials.m]\n{source}{material}\n")
    with pytest.raises(SceneError, match=f"materials.m.{message}"):
        load_scene(path)
    refusal(path)


@pytest.mark.parametrize(
    ("medium", "message"),
    [
        ("", "media.m: needs a preset, or numbers"),
        ("preset = 'fog'", "media.m.visibility: is missing, fog needs it"),
        ("preset = 'rain'\nvisibility = 5", "media.m.visibility: goes with no preset 'rain'"),
        ("rate_mm_h = 5\nabsorption = 1", "media.m.rate_mm_h: needs a preset"),
        ("absorption = -1", "media.m.absorption: must be greater than or equal to 0"),
        ("absorption = 1\nwavelength = 9e-7", "media.m.wavelength: is for presets only"),
    ],
)
def test_a_medium_that_contradicts_itself_is_refused(
    tmp_path: Path, medium: str, message: str
) -> None:
    assert message in refusal(write_manifest(tmp_path, f"[media.m]\n{medium}\n"))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.ply", ply([[0, 0, 0], [1, 0, 0], [np.nan, 1, 0]], [[0, 1, 2]]), "vertex 2 is not fin"),
        ("a.ply", ply(VERTICES, [[0, 1, 9]]), "face 0 names vertices [0 1 9], there are 4"),
        ("a.ply", ply(VERTICES, np.zeros((0, 3))), "has no triangles"),
        ("a.ply", ply(VERTICES, FACES)[:-8], "a.ply is cut off: 4 faces announced, 3 there"),
        ("a.ply", ply(VERTICES * 1e9, FACES), "has vertices farther than 1e+06 m"),
        (
            "a.obj",
            obj(VERTICES, {("g", "wood"): [[0, 1, 9]]}),
            "a.obj cannot be read as obj, line 8: vertex 10 of 4 so far",
        ),
        ("a.obj", b"v 0 0 0\n", "has no triangles"),
        ("a.obj", b"", "has no triangles"),
        ("a.stl", stl(VERTICES[FACES])[:-3], "a.stl is neither a whole binary STL"),
        ("a.stl", b"solid x\nendsolid x\n", "a.stl is neither a whole binary STL"),
        ("a.glb", b"glTF", "a.glb cannot be read as glb"),
        ("a.glb", b"glTF" + struct.pack("<II", 2, 5000), "a.glb is no whole GLB file"),
        ("a.gltf", b"{", "a.gltf cannot be read as gltf"),
        ("a.gltf", b'{"extensionsRequired": ["KHR_draco_mesh_compression"]}', "is not supported"),
        ("a.xyz", b"1 2 3", "a.xyz is none of glb, gltf, obj, stl, ply"),
    ],
)
def test_a_bad_mesh_file_is_refused(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    found = refusal(write_manifest(tmp_path, mesh(name)))
    assert found.startswith("meshes.a")
    assert message in found


def glb_with_accessor(count: int) -> bytes:
    tree = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"count": count, "componentType": 5126, "type": "VEC3"}],
    }
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    return struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text


def test_a_triangle_bomb_is_refused_by_its_header(tmp_path: Path) -> None:
    many = 10**8
    assert many > MAX_TRIANGLES
    bombs = {
        "a.ply": ply(VERTICES, FACES).replace(b"face 4", b"face %d" % many),
        "a.glb": glb_with_accessor(3 * many),
        "b.glb": glb_with_accessor(3 * 2**19).replace(
            b'[{"mesh": 0}]', b"[" + b", ".join([b'{"mesh": 0}'] * 65) + b"]"
        ),
    }
    bombs["b.glb"] = repaired(bombs["b.glb"])
    said = {
        "a.ply": f"announces {many} of face, a scene has less room",
        "a.glb": f"has accessors[0].count = {3 * many}, allowed are 0 to",
        "b.glb": f"has {65 * 2**19} triangles, a scene may have {MAX_TRIANGLES} in all",
    }
    for name, data in bombs.items():
        (tmp_path / name).write_bytes(data)
        found = refusal(write_manifest(tmp_path, mesh(name)))
        assert f"meshes.a.file: {name} {said[name]}" in found


def repaired(glb: bytes) -> bytes:
    """A GLB whose text was changed, with the lengths that it now has."""
    text = glb[20:] + b" " * (-len(glb) % 4)
    return struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text


def test_a_file_above_the_limit_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "a.stl").open("wb") as stream:
        stream.truncate(84 + 50 * 10**8)  # takes no room on the disk
    assert f"at most {MAX_FILE_BYTES} are read" in refusal(write_manifest(tmp_path, mesh("a.stl")))


@pytest.mark.parametrize(
    "shape",
    [
        "heightmap = { size = [1, 1], formula = 'x', cells = [60000, 60000] }",
        "heightmap = { size = [1, 1], image = 'huge.png' }",
    ],
)
def test_a_described_triangle_bomb_is_refused(tmp_path: Path, shape: str) -> None:
    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 0, 0, 0, 0)
    chunk = b"IHDR" + header
    png = (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    )
    idat = b"IDAT" + zlib.compress(b"")
    png += struct.pack(">I", len(idat) - 4) + idat + struct.pack(">I", zlib.crc32(idat))
    (tmp_path / "huge.png").write_bytes(png)
    found = refusal(write_manifest(tmp_path, f"[meshes.a]\nmaterial = 'wood'\n{shape}\n"))
    assert found.startswith("meshes.a.heightmap.")
    assert "7200000000 triangles" in found or "huge.png" in found


def test_meshes_that_are_too_many_together_are_refused(tmp_path: Path) -> None:
    each = "heightmap = { size = [1, 1], formula = '0', cells = [3500, 3500] }\nmaterial = 'wood'\n"
    text = f"[meshes.a]\n{each}[meshes.b]\n{each}"
    assert "meshes.b: has 49000000 triangles" in refusal(write_manifest(tmp_path, text))


def test_too_many_instances_are_refused(tmp_path: Path) -> None:
    places = ",".join(["{}"] * 1025)
    copies = f'[[instances]]\nmesh = "box"\nplaces = [{places}]\n' * (MAX_INSTANCES // 1024)
    found = refusal(write_manifest(tmp_path, BOX + copies))
    assert found.startswith("instances: are 104")


@pytest.mark.parametrize("name", ["../a.ply", "{tmp}/a.ply", "link.ply", "inner/../../a.ply"])
def test_a_path_outside_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.ply").write_bytes(ply(*TETRAHEDRON))
    (tmp_path / "scene" / "inner").mkdir(parents=True)
    (tmp_path / "scene" / "link.ply").symlink_to(tmp_path / "a.ply")
    path = write_manifest(tmp_path / "scene", mesh(name.format(tmp=tmp_path.as_posix())))
    found = refusal(path)
    assert found.startswith("meshes.a.file: ")
    assert "lies outside of the scene's folder" in found


def test_a_file_that_a_mesh_file_names_must_lie_inside_too(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(b"\0" * 100)
    (tmp_path / "scene").mkdir()
    tree = json.loads(glb_with_accessor(3)[20:])
    tree["buffers"] = [{"uri": "../secret.bin", "byteLength": 100}]
    tree["bufferViews"] = [{"buffer": 0, "byteLength": 100}]
    tree["accessors"][0]["bufferView"] = 0
    (tmp_path / "scene" / "a.gltf").write_text(json.dumps(tree), encoding="utf-8")
    found = refusal(write_manifest(tmp_path / "scene", mesh("a.gltf")))
    assert "lies outside of the scene's folder" in found


@pytest.mark.parametrize("name", ["missing.ply", "folder", "zero\\u0000byte.ply", "loop.ply"])
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop.ply").symlink_to("loop.ply")
    found = refusal(write_manifest(tmp_path, mesh(name)))
    assert found.startswith("meshes.a.file: ")
    assert "does not exist" in found or "is no regular file" in found or "is no file name" in found


def test_a_device_is_never_opened(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, mesh("/dev/zero"))
    assert "is no regular file" in refusal(path, allow_outside=True)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("formula = '__import__(1)'", "formula: '__import__' is none of abs, cos"),
        ("formula = 'x.real'", "formula: 'x.real' is not understood"),
        ("formula = 'sin(x, y)'", "formula: sin takes one number"),
        ("formula = '9**9**9**9'", "vertex 0 is not finite"),
        ("formula = 'x +'", "formula: 'x +' is no formula of x and y"),
        ("formula = 'sqrt(-1 - x*x)'", "vertex 0 is not finite"),
        ("heights = [[1, 2], [3]]", "heights: has rows of different lengths"),
        ("heights = [[1, 2]]", "needs at least two rows"),
        ("image = 'no.png'", "image: no.png is no readable PNG"),
    ],
)
def test_a_bad_heightmap_is_refused(tmp_path: Path, shape: str, message: str) -> None:
    (tmp_path / "no.png").write_bytes(b"\x89PNG")
    text = f"[meshes.a]\nmaterial = 'wood'\nheightmap = {{ size = [1, 1], {shape} }}\n"
    assert message in refusal(write_manifest(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[meshes.a]\nbox = { size = [1, 0xLARGE, 1] }", "box"),
        ("[[instances]]\nmesh = 'a'\nentity_id = 0xLARGE", "entity_id"),
        ("labels = { a = 0xLARGE }", "labels"),
        ("[world]\nearth_field_date = 0xLARGE", "earth_field_date"),
        ("unknown = 0oLARGE", "unknown"),
    ],
)
def test_an_integer_that_python_does_not_write_is_refused_by_its_key(
    tmp_path: Path, text: str, key: str
) -> None:
    found = refusal(write_manifest(tmp_path, text.replace("LARGE", "7" * 20_000)))
    assert re.match(rf"line \d+, {key}: has a number of \d+ digits or more", found)
