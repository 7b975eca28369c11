"""Meshes: files in all formats against the same solid, primitives against closed forms."""

import base64
import json
import math
from pathlib import Path

import numpy as np
import pytest
import trimesh
from numpy.typing import NDArray
from PIL import Image

from scenes.making import Solid, write_glb
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.meshes import is_closed, vertex_normals
from sensor_models.scene.model import NO_LABEL, Mesh, Scene
from tests.sensor_models.scene_files import (
    HEAD,
    TETRAHEDRON,
    area,
    obj,
    ply,
    stl,
    volume,
    write_manifest,
)

VERTICES, FACES = TETRAHEDRON
LABELS = HEAD + "labels = { cap = 4, rest = 5 }\n"


def scene_of(folder: Path, text: str, head: str = HEAD) -> Scene:
    """A scene with one mesh, which is seen once."""
    text = f'[meshes.a]\n{text}\n[[instances]]\nmesh = "a"\n'
    return load_scene(write_manifest(folder, text, head))


def mesh_of(folder: Path, text: str, head: str = HEAD) -> Mesh:
    return scene_of(folder, text, head).meshes[0]


def glb_tetrahedron() -> Solid:
    solid = Solid()
    for number, face in enumerate(FACES):
        solid.polygon("wood" if number else "brick", VERTICES[face])
    return solid


def test_a_trimesh_before_4_6_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of Debian 13 has no load_scene."""
    monkeypatch.delattr(trimesh, "load_scene")
    write_glb(tmp_path / "a.glb", glb_tetrahedron())
    mesh = mesh_of(tmp_path, 'file = "a.glb"\nmaterial = "asphalt"\n')
    assert len(mesh.faces) == len(FACES)


def write_all_formats(folder: Path) -> list[str]:
    """The tetrahedron in every format that is read, z up in all of them."""
    (folder / "a.ply").write_bytes(ply(VERTICES, FACES))
    (folder / "a.stl").write_bytes(stl(VERTICES[FACES]))
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in triangle)
        + "endloop\nendfacet\n"
        for triangle in VERTICES[FACES]
    )
    (folder / "b.stl").write_text(f"solid a\n{facets}endsolid a\n", encoding="ascii")
    (folder / "a.obj").write_bytes(obj(VERTICES, {("g", "wood"): FACES}))
    write_glb(folder / "a.glb", glb_tetrahedron())
    data = (folder / "a.glb").read_bytes()
    size = int.from_bytes(data[12:16], "little")
    tree = json.loads(data[20 : 20 + size])
    tree["buffers"][0]["uri"] = "binary%20part.bin"  # a name with a space, as URIs write it
    tree["images"] = [{"uri": "missing.png"}]
    (folder / "binary part.bin").write_bytes(data[28 + size :])
    (folder / "a.gltf").write_text(json.dumps(tree), encoding="utf-8")
    return ["a.ply", "a.stl", "b.stl", "a.obj", "a.glb", "a.gltf"]


def test_every_format_gives_the_same_solid(tmp_path: Path) -> None:
    for name in write_all_formats(tmp_path):
        mesh = mesh_of(tmp_path, f'file = "{name}"\nmaterial = "wood"')
        assert mesh.vertices.dtype == np.float32
        # Corners at 0 and 1 are exact in single precision.
        assert volume(mesh.vertices, mesh.faces) == pytest.approx(1.0 / 6.0, abs=1e-15), name
        corners = {tuple(vertex) for vertex in mesh.vertices.tolist()}
        assert corners == {tuple(vertex) for vertex in VERTICES.tolist()}, name
        assert is_closed(mesh), name


def test_all_files_that_were_read_are_known(tmp_path: Path) -> None:
    write_all_formats(tmp_path)
    scene = scene_of(tmp_path, 'file = "a.gltf"\nmaterial = "wood"')
    assert [file.name for file in scene.files] == ["scene.toml", "a.gltf", "binary part.bin"]


def test_a_file_is_scaled_and_stood_upright(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_bytes(ply([[0, 0, 0], [1, 0, 0], [0, 2, 0]], [[0, 1, 2]]))
    mesh = mesh_of(tmp_path, 'file = "a.ply"\nmaterial = "wood"\nscale = 10\nup = "y"')
    np.testing.assert_array_equal(mesh.vertices[2], (0.0, 0.0, 20.0))


def test_gltf_has_y_up_unless_told_otherwise(tmp_path: Path) -> None:
    solid = Solid()
    solid.polygon("wood", [(0, 0, 0), (0, 1, 0), (0, 0, 3)])
    write_glb(tmp_path / "a.glb", solid)
    upright = mesh_of(tmp_path, 'file = "a.glb"')
    assert upright.vertices[:, 2].max() == 3.0
    as_it_is = mesh_of(tmp_path, 'file = "a.glb"\nup = "z"')
    assert as_it_is.vertices[:, 1].max() == 3.0


def test_nodes_of_a_gltf_place_and_mirror_their_meshes(tmp_path: Path) -> None:
    write_glb(tmp_path / "a.glb", glb_tetrahedron())
    data = (tmp_path / "a.glb").read_bytes()
    size = int.from_bytes(data[12:16], "little")
    tree = json.loads(data[20 : 20 + size])
    for node in tree["nodes"]:
        node |= {"scale": [-2, 1, 1], "translation": [5, 0, 0]}
    tree["buffers"][0]["uri"] = "a.bin"
    (tmp_path / "a.bin").write_bytes(data[28 + size :])
    (tmp_path / "a.gltf").write_text(json.dumps(tree), encoding="utf-8")
    mesh = mesh_of(tmp_path, 'file = "a.gltf"')
    assert (mesh.vertices[:, 0].min(), mesh.vertices[:, 0].max()) == (3.0, 5.0)
    # Mirrored and still turned outside: all numbers are exact.
    assert volume(mesh.vertices, mesh.faces) == pytest.approx(2.0 / 6.0, abs=1e-15)


def materials_by_face(scene: Scene) -> list[str]:
    return [scene.materials[index].name for index in scene.meshes[0].face_material]


def gltf_of_primitives(count: int) -> bytes:
    """A glTF of one node, whose mesh has a triangle at each x = 0 .. count - 1 as a primitive."""
    corners = np.zeros((count, 3, 3), "<f4")
    corners[:, 1, 1] = corners[:, 2, 2] = 1.0
    corners[:, :, 0] = np.arange(count)[:, np.newaxis]
    uri = "data:application/octet-stream;base64," + base64.b64encode(corners.tobytes()).decode()
    of_each = {"componentType": 5126, "type": "VEC3", "count": 3}
    tree = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "fence"}],
        "buffers": [{"byteLength": corners.nbytes, "uri": uri}],
        "bufferViews": [{"buffer": 0, "byteLength": corners.nbytes}],
        "accessors": [{"bufferView": 0, "byteOffset": 36 * n, **of_each} for n in range(count)],
        "meshes": [{"primitives": [{"attributes": {"POSITION": n}} for n in range(count)]}],
    }
    return json.dumps(tree).encode()


def test_primitives_of_a_mesh_are_all_there_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensor_models.scene.kept.directory", lambda: None)
    count = 4000  # of random names with six digits, two would be the same
    (tmp_path / "a.gltf").write_bytes(gltf_of_primitives(count))
    mesh = mesh_of(tmp_path, "file = 'a.gltf'\nmaterial = 'wood'\n")
    assert np.array_equal(mesh.vertices[mesh.faces[:, 0], 0], np.arange(count))


def test_the_node_of_a_mesh_of_several_primitives_is_a_part_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.gltf").write_bytes(gltf_of_primitives(3))
    text = "file = 'a.gltf'\nmaterial = 'wood'\nparts.fence = { label = 'cap' }\n"
    labels = mesh_of(tmp_path, text, LABELS).face_label
    assert labels is not None
    assert labels.tolist() == [4, 4, 4]


def test_own_material_names_of_a_file_are_used_or_mapped(tmp_path: Path) -> None:
    groups = {("lid", "red"): FACES[:1], ("hull", "wood"): FACES[1:]}
    (tmp_path / "a.obj").write_bytes(obj(VERTICES, groups))
    scene = scene_of(tmp_path, 'file = "a.obj"\nparts.red = { material = "brick" }')
    assert sorted(materials_by_face(scene)) == ["brick", "wood", "wood", "wood"]


def test_groups_of_a_file_have_materials_and_labels(tmp_path: Path) -> None:
    groups = {("lid", "wood"): FACES[:1], ("hull", "wood"): FACES[1:]}
    (tmp_path / "a.obj").write_bytes(obj(VERTICES, groups))
    text = 'file = "a.obj"\nparts.lid = { material = "glass", label = "cap" }'
    scene = scene_of(tmp_path, text, LABELS)
    lid = np.array(materials_by_face(scene)) == "glass"
    (mesh,) = scene.meshes
    assert mesh.face_label is not None
    np.testing.assert_array_equal(mesh.face_label, np.where(lid, 4, NO_LABEL))
    # The lid is the one face in z = 0.
    flat = (mesh.vertices[mesh.faces][:, :, 2] == 0.0).all(axis=1)
    np.testing.assert_array_equal(lid, flat)


def test_a_file_with_unknown_names_needs_a_material(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_bytes(obj(VERTICES, {("g", "red"): FACES}))
    with pytest.raises(SceneError, match=r"meshes\.a\.material: is missing .* 'red', is not known"):
        mesh_of(tmp_path, 'file = "a.obj"')


def test_ranges_of_faces_stand_over_everything_else(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_bytes(ply(VERTICES, FACES, labels=[7, 7, 7, 7]))
    text = (
        'file = "a.ply"\nmaterial = "wood"\nvertex_labels = "label"\n'
        'faces = [{ first = 1, count = 2, material = "brick", label = "cap" }]'
    )
    scene = scene_of(tmp_path, text, LABELS)
    assert materials_by_face(scene) == ["wood", "brick", "brick", "wood"]
    np.testing.assert_array_equal(scene.meshes[0].face_label, [7, 4, 4, 7])


@pytest.mark.acceptance("GRID-7")
def test_grid_7_label_of_a_face_is_that_of_its_first_vertex(tmp_path: Path) -> None:
    triangle = VERTICES[:3], [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    (tmp_path / "a.ply").write_bytes(ply(*triangle, labels=[7, 8, 9]))
    mesh = mesh_of(tmp_path, 'file = "a.ply"\nmaterial = "wood"\nvertex_labels = "label"')
    np.testing.assert_array_equal(mesh.face_label, [7, 8, 9])


def test_labels_of_faces_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_bytes(ply(VERTICES, FACES, kinds=[3, -1, 5, 6]))
    mesh = mesh_of(tmp_path, 'file = "a.ply"\nmaterial = "wood"\nface_labels = "kind"')
    np.testing.assert_array_equal(mesh.face_label, [3, NO_LABEL, 5, 6])


def test_a_label_property_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_bytes(ply(VERTICES, FACES, labels=[1, 2, 3, 4]))
    with pytest.raises(SceneError, match=r"no property vertex\.kind, it has vertex\.label"):
        mesh_of(tmp_path, 'file = "a.ply"\nmaterial = "wood"\nvertex_labels = "kind"')


def test_parts_of_a_box_are_its_sides(tmp_path: Path) -> None:
    sides = {"left": (1, 1), "right": (1, -1), "front": (0, 1), "back": (0, -1), "top": (2, 1)}
    for side, (axis, sign) in (sides | {"bottom": (2, -1)}).items():
        text = f'box = {{ size = [2, 2, 2] }}\nmaterial = "wood"\nparts.{side} = '
        scene = scene_of(tmp_path, text + '{ material = "brick" }')
        mesh = scene.meshes[0]
        brick = np.array(materials_by_face(scene)) == "brick"
        assert brick.sum() == 2
        assert (mesh.vertices[mesh.faces][brick][:, :, axis] == sign).all()


def test_a_box_is_closed_and_looks_outside(tmp_path: Path) -> None:
    mesh = mesh_of(tmp_path, 'box = { size = [1, 2, 3] }\nmaterial = "wood"')
    assert is_closed(mesh)
    assert volume(mesh.vertices, mesh.faces) == 6.0
    assert area(mesh.vertices, mesh.faces) == 22.0


@pytest.mark.parametrize("segments", [3, 8, 33, 64])
def test_a_cylinder_is_a_prism_over_a_regular_polygon(tmp_path: Path, segments: int) -> None:
    text = f'cylinder = {{ radius = 2, height = 3, segments = {segments} }}\nmaterial = "wood"'
    mesh = mesh_of(tmp_path, text)
    polygon = 0.5 * segments * 2.0**2 * math.sin(2.0 * math.pi / segments)
    assert is_closed(mesh)
    # Vertices are single precision, so volumes are good to some parts in 1e7.
    assert volume(mesh.vertices, mesh.faces) == pytest.approx(3.0 * polygon, rel=1e-6)


@pytest.mark.parametrize("segments", [4, 9, 64])
def test_a_sphere_is_closed_with_all_vertices_on_its_surface(tmp_path: Path, segments: int) -> None:
    text = f'sphere = {{ radius = 2, segments = {segments} }}\nmaterial = "wood"'
    mesh = mesh_of(tmp_path, text)
    assert is_closed(mesh)
    np.testing.assert_allclose(np.linalg.norm(mesh.vertices, axis=1), 2.0, rtol=2e-7)  # single
    whole = 4.0 / 3.0 * math.pi * 2.0**3
    missing = 1.0 - volume(mesh.vertices, mesh.faces) / whole
    # Inside by at most 1 - cos(pi / n) in radius around the axis and along it, so three times
    # twice that in volume.
    assert 0.0 < missing < 6.0 * (1.0 - math.cos(math.pi / (2 * (segments // 2))))


def test_smooth_normals_of_a_sphere_point_along_its_radii(tmp_path: Path) -> None:
    text = 'sphere = { radius = 2, segments = 64 }\nmaterial = "wood"\nsmooth = true'
    mesh = mesh_of(tmp_path, text)
    assert mesh.vertex_normals is not None
    # The mean of faces that lie unevenly around a vertex is off by less than their own tilt.
    cosines = np.einsum("ij,ij->i", mesh.vertex_normals, mesh.vertices / 2.0)
    assert cosines.min() > math.cos(math.pi / 64)


def test_smooth_normals_keep_the_edge_between_side_and_cap(tmp_path: Path) -> None:
    text = 'cylinder = { radius = 1, height = 2 }\nmaterial = "wood"\nsmooth = true'
    mesh = mesh_of(tmp_path, text)
    assert mesh.vertex_normals is not None
    upright = np.abs(mesh.vertex_normals[:, 2])
    assert set(np.round(upright, 6)) == {0.0, 1.0}  # single precision has seven digits


def test_a_vertex_without_area_has_a_normal_all_the_same() -> None:
    vertices = np.zeros((3, 3), np.float32)
    faces = np.array([[0, 1, 2]], np.uint32)
    np.testing.assert_array_equal(vertex_normals(vertices, faces), [[0, 0, 1]] * 3)


def test_a_mesh_with_a_hole_is_not_closed(tmp_path: Path) -> None:
    mesh = mesh_of(tmp_path, 'box = { size = [1, 1, 1] }\nmaterial = "wood"')
    holed = Mesh(mesh.vertices, mesh.faces[:-1], mesh.face_material[:-1])
    assert is_closed(mesh)
    assert not is_closed(holed)


def test_a_mesh_with_a_face_inside_out_is_not_closed(tmp_path: Path) -> None:
    mesh = mesh_of(tmp_path, 'box = { size = [1, 1, 1] }\nmaterial = "wood"')
    faces = mesh.faces.copy()
    faces[0] = faces[0, ::-1]
    assert not is_closed(Mesh(mesh.vertices, faces, mesh.face_material))


def heights_at(mesh: Mesh) -> dict[tuple[float, float], float]:
    return {(x, y): z for x, y, z in mesh.vertices.tolist()}


def test_a_formula_is_worth_what_it_says_at_every_corner(tmp_path: Path) -> None:
    text = 'heightmap = { size = [8, 4], cells = [4, 2], formula = "FORMULA" }\nmaterial = "soil"'
    formula = "-x * 2 + max(y, 0) ** 2 / 4 + 0.5 * sin(pi * x) - min(1, abs(x)) + exp(0) + sqrt(4)"
    mesh = mesh_of(tmp_path, text.replace("FORMULA", formula + " + cos(0) + tanh(0)"))
    for (x, y), z in heights_at(mesh).items():
        truth = -2.0 * x + max(y, 0.0) ** 2 / 4.0 - min(1.0, abs(x)) + 4.0
        assert z == pytest.approx(truth, abs=1e-6)  # single precision; the sine is 0 at all corners
    assert len(mesh.faces) == 2 * 4 * 2


def test_terrain_looks_up(tmp_path: Path) -> None:
    text = 'heightmap = { size = [9, 9], formula = "x * x - 3 * y" }\nmaterial = "soil"'
    mesh = mesh_of(tmp_path, text)
    corners = mesh.vertices[mesh.faces].astype(float)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (normals[:, 2] > 0.0).all()


def test_rows_of_heights_start_at_the_far_side(tmp_path: Path) -> None:
    text = 'heightmap = { size = [2, 2], heights = [[1, 2], [3, 4]] }\nmaterial = "soil"'
    heights = heights_at(mesh_of(tmp_path, text))
    assert heights == {(-1, 1): 1, (1, 1): 2, (-1, -1): 3, (1, -1): 4}


@pytest.mark.parametrize(("dtype", "full"), [(np.uint8, 255), (np.uint16, 65535)])
def test_grey_of_a_picture_is_height(
    tmp_path: Path, dtype: type[np.unsignedinteger], full: int
) -> None:
    grey: NDArray[np.unsignedinteger] = np.array([[0, full], [full // 3, full]], dtype)
    Image.fromarray(grey).save(tmp_path / "a.png")
    text = 'heightmap = { size = [2, 2], image = "a.png", low = -1, high = 5 }\nmaterial = "soil"'
    scene = scene_of(tmp_path, text)
    # 255 and 65535 divide by three; heights are single precision.
    expected = {(-1, 1): -1, (1, 1): 5, (-1, -1): 1, (1, -1): 5}
    assert heights_at(scene.meshes[0]) == pytest.approx(expected, abs=1e-6)
    assert scene.files[1].name == "a.png"


def test_a_picture_in_colour_is_no_heightmap(tmp_path: Path) -> None:
    Image.new("RGB", (2, 2)).save(tmp_path / "a.png")
    text = 'heightmap = { size = [2, 2], image = "a.png" }\nmaterial = "soil"'
    with pytest.raises(SceneError, match=r"heightmap\.image: a\.png is no grey picture"):
        mesh_of(tmp_path, text)
