"""USD as a world: what rays meet, by formulas and usd-core's transforms; names, looks, refusals."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.scene.worlds.formats import WorldOptions
from sensor_models.scene.worlds.reading import read_world
from sensor_models.scene.worlds.world import TESSELLATION
from sensor_models.tools.pictures.scene_command import main
from tests.sensor_models.scene import world_files
from tests.sensor_models.scene.test_worlds import same_scene
from tests.sensor_models.scene.test_worlds_gltf import triangles_of
from tests.sensor_models.scene.usd_truth import ranges_of

HEAD = '#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n)\n'


def scene_of(tmp_path: Path, text: str, head: str = HEAD) -> Scene:
    path = tmp_path / "a.usda"
    path.write_text(head + text)
    return load_scene(path)


def notes_of(path: Path) -> list[str]:
    return read_world(path, path.read_bytes(), WorldOptions()).notes


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world_files.write_usd(tmp_path_factory.mktemp("yard"))


@pytest.mark.parametrize("seed", range(3))
def test_rays_meet_what_formulas_say(yard: Path, seed: int) -> None:
    """Instances, scatters, subsets, dents, axes and units; but for rays that graze an edge."""
    draws = np.random.default_rng(seed)
    goals = draws.uniform((-9.0, -6.0, 0.0), (9.0, 10.0, 4.0), (20000, 3))
    origins = np.array([[3.0, -7.0, 3.0], [-8.0, 5.0, 3.0], [1.0, 2.0, 6.0]])[seed] + 0.0 * goals
    directions = goals - origins
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    expected = ranges_of(yard, origins, directions)
    with RayScene(load_scene(yard), 1) as rays:
        hits = rays.trace(origins, directions, 100.0)
    met = np.isfinite(expected) & np.isfinite(hits.t)
    assert (np.isfinite(expected) == np.isfinite(hits.t)).mean() > 0.998
    cos = np.abs((np.where(met[:, None], hits.normal, 0.0) * directions).sum(axis=1))
    away = np.abs(np.where(met, hits.t, 0.0) - np.where(met, expected, 0.0))
    # faces lie inside of curves: a ray meets them later, the more so the flatter it comes
    curved = np.isin(hits.entity_id, (1, 2, 12))
    largest = 0.6  # m, the radius of the tent
    allowed = 1e-4 + np.where(curved, TESSELLATION * largest, 0.0) / np.maximum(cos, 0.01)
    assert met.sum() > 7000
    # a ray by an edge of one shape may meet what is behind it
    assert (away <= allowed)[met].mean() > 0.998
    assert len(np.unique(hits.entity_id[met])) >= 8


def test_shapes_are_entities_in_the_order_of_the_stage(yard: Path) -> None:
    scene = load_scene(yard)
    named = [(i.entity_id, i.name) for i in scene.instances]
    assert list(dict.fromkeys(named)) == [
        (1, "/Yard/tent"),
        (2, "/Yard/post"),
        (3, "/Yard/ground"),
        (4, "/Yard/turned/arch"),
        (5, "/Yard/flipped/arch"),
        (6, "/Yard/moving/arch"),
        (7, "/Yard/left"),
        (8, "/Yard/trees[0]/pole/arch"),
        (9, "/Yard/trees[1]/group/inner/box"),
        (10, "/Yard/trees[3]/pole/arch"),
        (11, "/Yard/crate/hull"),
        (12, "/Yard/crate/axle"),
    ]
    labels = {i.name: scene.labels[i.label] for i in scene.instances if i.label in scene.labels}
    assert labels == {"/Yard/left": "kerb"}
    assert [file.name for file in scene.files] == [
        "yard.usda",
        "more.usda",
        "part.usda",
        "planks.png",
    ]
    # the arch has two parts, once for all that turn and scale it, and once more mirrored
    arches = {i.mesh for i in scene.instances if "arch" in i.name}
    assert len(arches) == 4


def test_rigid_bodies_move_with_what_is_below_them(yard: Path) -> None:
    from pxr import Usd, UsdGeom

    scene = load_scene(yard)
    (body,) = scene.bodies
    assert body.name == "crate"
    stage = Usd.Stage.Open(str(yard))
    matrix = UsdGeom.XformCache().GetLocalToWorldTransform(stage.GetPrimAtPath("/Yard/crate"))
    place = matrix.ExtractTranslation()
    assert body.position == pytest.approx((place[0] / 100, -place[2] / 100, place[1] / 100))
    on_it = [i.name for i in scene.instances if i.body == 0]
    assert on_it == ["/Yard/crate/hull", "/Yard/crate/axle"]
    assert scene.gravity == pytest.approx((0.0, 0.0, -9.5))


def test_looks_and_pictures_decide_what_materials_are_taken_for(yard: Path) -> None:
    materials = {m.name: m for m in load_scene(yard).materials}
    assert materials["oak"].source.startswith("guess: wood, as 'oak' has 'oak'")
    assert materials["oak"].color == pytest.approx((130 / 255, 90 / 255, 40 / 255), abs=1e-3)
    assert materials["brushed"].source.startswith("guess: steel, as metallic is 0.9")
    assert materials["brushed"].color == pytest.approx((0.4845, 0.4845, 0.5371), abs=1e-3)
    assert any(m.color == (1.0, 0.0, 0.0) for m in materials.values())  # what is displayed


def test_what_is_left_out_is_named_once_with_its_place(yard: Path) -> None:
    assert notes_of(yard) == [
        "animation (the first sample is taken): 1, the first is /Yard/moving",
        "subdivision (its control cage is taken): 1, the first is /Yard/left",
        "lights: 1, the first is /Yard/sun",
        "cameras: 1, the first is /Yard/view",
        "BasisCurves: 1, the first is /Yard/grass",
    ]


def test_collision_shapes_are_taken_on_request(yard: Path) -> None:
    names = [i.name for i in load_scene(yard, geometry="collision").instances]
    assert names == ["/Yard/crate/hull"]


@pytest.mark.parametrize("write", [world_files.write_usdc, world_files.write_usdz])
def test_binary_layers_and_packages_are_the_same_scene(
    tmp_path: Path, yard: Path, write: Callable[[Path], Path]
) -> None:
    scene, truth = load_scene(write(tmp_path)), load_scene(yard)
    assert np.array_equal(triangles_of(scene), triangles_of(truth))
    assert [i.name for i in scene.instances] == [i.name for i in truth.instances]
    assert {m.color for m in scene.materials} == {m.color for m in truth.materials}
    assert len(scene.files) == len(set(scene.files))


def test_a_world_that_is_converted_is_the_same_to_the_last_bit(
    tmp_path: Path, yard: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(yard), str(tmp_path / "scene")]) == 0
    assert "not taken  lights: 1, the first is /Yard/sun" in capsys.readouterr().out
    assert same_scene(load_scene(yard), load_scene(tmp_path / "scene"))


def test_a_layer_that_changes_is_read_anew(tmp_path: Path) -> None:
    path = world_files.write_usd(tmp_path)
    first = load_scene(path)
    more = tmp_path / "more.usda"
    more.write_text(more.read_text().replace("width = 3000", "width = 4000"))
    assert not same_scene(first, load_scene(path))


def test_orientations_that_were_rounded_are_turns(tmp_path: Path) -> None:
    """0.7 in 16 bits is no part of a unit quaternion; instances keep their size and mesh."""
    text = """def PointInstancer "a"
{
    rel prototypes = </a/b>
    int[] protoIndices = [0, 0]
    point3f[] positions = [(0, 0, 0), (9, 0, 0)]
    quath[] orientations = [(0.7, 0, 0, 0.7), (0.1, 0.2, 0.3, 0.4)]
    def Cone "b"
    {
    }
}
"""
    one, two = scene_of(tmp_path, text).instances
    assert one.mesh == two.mesh
    expected = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert one.transform[:3, :3] == pytest.approx(np.array(expected), abs=1e-6)
    assert two.transform[:3, :3] @ two.transform[:3, :3].T == pytest.approx(np.eye(3), abs=1e-6)


@pytest.mark.parametrize(
    ("axis", "expected"), [("X", (3.0, 1.0, 1.0)), ("Y", (1.0, 3.0, 1.0)), ("Z", (1.0, 1.0, 3.0))]
)
@pytest.mark.parametrize("kind", ["Cylinder", "Capsule", "Cone", "Cylinder_1", "Capsule_1"])
def test_axes_of_round_shapes(
    tmp_path: Path, kind: str, axis: str, expected: tuple[float, ...]
) -> None:
    """Bounds are those of USD's schema: a height along the axis, of capsules without its ends."""
    height = 2.0 if kind.startswith("Capsule") else 3.0
    radius = "radius" if "_" not in kind else "radiusTop"
    text = f'double height = {height}\ndouble {radius} = 0.5\ntoken axis = "{axis}"\n'
    text += "" if "_" not in kind else "double radiusBottom = 0.5\n"
    triangles = triangles_of(scene_of(tmp_path, f'def {kind} "a"\n{{\n{text}}}\n'))
    size = triangles.max(axis=(0, 1)) - triangles.min(axis=(0, 1))
    assert size == pytest.approx(expected, abs=2e-3)


def test_a_cylinder_of_two_radii_is_a_cone_without_its_top(tmp_path: Path) -> None:
    text = "double height = 3\ndouble radiusBottom = 2\ndouble radiusTop = 1\n"
    triangles = triangles_of(
        scene_of(tmp_path, f'def Cylinder_1 "a"\n{{\n{text}token axis = "Z"\n}}\n')
    )
    volume = np.linalg.det(triangles).sum() / 6.0
    assert volume == pytest.approx(np.pi * (4.0 + 2.0 + 1.0), rel=1e-3)


def test_a_cone_points_along_its_axis(tmp_path: Path) -> None:
    text = 'def Cone "a"\n{\ndouble height = 3\ndouble radius = 0.5\ntoken axis = "X"\n}\n'
    corners = triangles_of(scene_of(tmp_path, text)).reshape(-1, 3)
    at_top = corners[corners[:, 0] > 1.4999]
    assert np.abs(at_top[:, 1:]).max() < 1e-6


def test_faces_look_outwards_whatever_the_orientation(tmp_path: Path) -> None:
    """A tetrahedron that is given right-handed, left-handed, and mirrored has one volume."""
    mesh = (
        "int[] faceVertexCounts = [3, 3, 3, 3]\n"
        "int[] faceVertexIndices = [{}]\n"
        "point3f[] points = [(0,0,0),(1,0,0),(0,1,0),(0,0,1)]\n"
    )
    right = "0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3"
    left = "0, 1, 2, 0, 3, 1, 1, 3, 2, 2, 3, 0"
    mirror = 'float3 xformOp:scale = (1, 1, -1)\nuniform token[] xformOpOrder = ["xformOp:scale"]\n'
    for corners, more in (
        (right, ""),
        (left, 'uniform token orientation = "leftHanded"\n'),
        (right, mirror),
    ):
        text = f'def Mesh "a"\n{{\n{mesh.format(corners)}{more}}}\n'
        triangles = triangles_of(scene_of(tmp_path, text))
        assert np.linalg.det(triangles).sum() / 6.0 == pytest.approx(1.0 / 6.0, abs=1e-4)


@pytest.mark.parametrize(
    ("axis", "top"), [("X", (0.0, 0.0, 1.0)), ("Y", (0.0, -1.0, 0.0)), ("Z", (1.0, 0.0, 0.0))]
)
def test_up_axes_and_units(tmp_path: Path, axis: str, top: tuple[float, ...]) -> None:
    """Where a corner on the file's x axis comes to be, with another unit."""
    head = f'#usda 1.0\n(\n    metersPerUnit = 0.1\n    upAxis = "{axis}"\n)\n'
    mesh = (
        "int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]\n"
        f"point3f[] points = [(0, 0, 0), {'(10, 0, 0)' if axis != 'Y' else '(0, 0, 10)'},"
        " (0.1, 0.2, 0.3)]\n"
    )
    corners = triangles_of(scene_of(tmp_path, f'def Mesh "a"\n{{\n{mesh}}}\n', head))
    there = corners.reshape(-1, 3)
    assert there[np.argmax(np.linalg.norm(there, axis=1))] == pytest.approx(top, abs=1e-6)


def test_what_the_file_does_not_say_is_as_usd_has_it(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, 'def Cube "a"\n{\n}\n', "#usda 1.0\n")
    assert np.ptp(triangles_of(scene), axis=(0, 1)) == pytest.approx([0.02] * 3)
    (note,) = notes_of(tmp_path / "a.usda")
    assert note == "units: metersPerUnit is not given, so lengths are in centimetres"


def test_pictures_that_are_missing_and_layers_in_other_units_are_named(tmp_path: Path) -> None:
    path = world_files.write_usd(tmp_path)
    (tmp_path / "planks.png").unlink()
    part = tmp_path / "part.usda"
    part.write_text(part.read_text().replace("0.01", "1"))
    assert notes_of(path)[-2:] == [
        "pictures that do not exist: 1, the first is planks.png in /Yard/turned/Looks/oak/planks",
        "layers with other axes or units than the stage, which USD does not convert: 1,"
        " the first is part.usda",
    ]


def test_maps_that_are_not_taken_are_named(tmp_path: Path) -> None:
    text = """def Cube "a" (prepend apiSchemas = ["MaterialBindingAPI"])
{
    rel material:binding = </thing>
}
def Material "thing"
{
    token outputs:surface.connect = </thing/shader.outputs:surface>
    def Shader "shader"
    {
        uniform token info:id = "UsdPreviewSurface"
        color3f inputs:emissiveColor = (1, 0, 0)
        float inputs:roughness.connect = </thing/rough.outputs:r>
        float inputs:metallic = 0.5
        normal3f inputs:normal.connect = </thing/rough.outputs:rgb>
        token outputs:surface
    }
    def Shader "rough"
    {
        uniform token info:id = "UsdUVTexture"
        asset inputs:file = @none.png@
        float outputs:r
        float3 outputs:rgb
    }
}
"""
    path = tmp_path / "a.usda"
    path.write_text('#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n)\n' + text)
    assert notes_of(path) == [
        f"maps {name} of materials: 1, the first is /thing"
        for name in ("roughness", "normal", "emissiveColor")
    ]


def test_looks_of_omniverse_are_read(tmp_path: Path) -> None:
    text = """def Cube "a" (prepend apiSchemas = ["MaterialBindingAPI"])
{
    rel material:binding = </thing>
    custom string semantic:Semantics:params:semanticData = "box"
}
def Material "thing"
{
    token outputs:mdl:surface.connect = </thing/s.outputs:out>
    def Shader "s"
    {
        uniform token info:implementationSource = "sourceAsset"
        uniform asset info:mdl:sourceAsset = @OmniPBR.mdl@
        uniform token info:mdl:sourceAsset:subIdentifier = "OmniPBR"
        color3f inputs:diffuse_color_constant = (0.5, 0, 0)
        float inputs:metallic_constant = 0.95
        bool inputs:enable_opacity = 0
        float inputs:opacity_constant = 0.1
        token outputs:out
    }
}
"""
    scene = scene_of(tmp_path, text)
    (material,) = scene.materials
    assert material.source.startswith("guess: steel, as metallic is 0.95")
    assert material.color == pytest.approx((0.7354, 0.0, 0.0), abs=1e-3)
    assert [scene.labels[i.label] for i in scene.instances] == ["box"]


def test_a_material_that_no_face_has_is_not_guessed(tmp_path: Path) -> None:
    """Subsets cover the mesh, so its own material counts for nothing."""
    text = """def Mesh "a"
{
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    color3f[] primvars:displayColor = [(1, 0, 0)]
    def GeomSubset "all" (prepend apiSchemas = ["MaterialBindingAPI"])
    {
        uniform token elementType = "face"
        uniform token familyName = "materialBind"
        int[] indices = [0]
        rel material:binding = </oak>
    }
}
def Material "oak"
{
}
"""
    assert [m.name for m in scene_of(tmp_path, text).materials] == ["oak"]


# ---- refused -------------------------------------------------------------------------------------

TRIANGLE = """def Mesh "a"
{{
    int[] faceVertexCounts = [{}]
    int[] faceVertexIndices = [{}]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
}}
"""
BAD = {
    "no usd": ("nothing", "", "USD says: "),
    "text": (HEAD, 'def Mesh "a"\n{\n    int[ = 3\n}\n', "bad.usda: line 8: USD says: "),
    "corner": (HEAD, TRIANGLE.format(3, "0, 1, 7"), "/a: has the corner 7, and 3 points"),
    "count": (HEAD, TRIANGLE.format(4, "0, 1, 2"), "/a: has faces with 4 corners together, and 3"),
    "negative": (HEAD, TRIANGLE.format(-3, "0, 1, 2"), "/a: has a face with -3 corners"),
    "finite": (
        HEAD,
        TRIANGLE.format(3, "0, 1, 2").replace("1, 0", "inf, 0"),
        "/a: point 1 is not finite",
    ),
    "place": (
        HEAD,
        'def Cube "a"\n{\n    float3 xformOp:scale = (1, nan, 1)\n'
        '    uniform token[] xformOpOrder = ["xformOp:scale"]\n}\n',
        "/a: places a mesh by numbers that are not finite",
    ),
    "clips": (
        HEAD,
        'def Cube "a" (\n    clips = {\n        dictionary default = {\n'
        "            asset[] assetPaths = [@../secret.usda@]\n"
        '            string primPath = "/a"\n            double2[] active = [(0, 0)]\n'
        "            double2[] times = [(0, 0)]\n        }\n    }\n)\n{\n"
        "    double size.timeSamples = {\n        0: 2,\n    }\n}\n",
        "(value clips)",
    ),
    "nothing": (HEAD, 'def Xform "a"\n{\n}\n', "has no shape that can be seen"),
    "units": (HEAD.replace("= 1", "= 0"), 'def Cube "a"\n{\n}\n', "metersPerUnit: is 0.0"),
    "outside": (HEAD, 'def "a" (references = @../secret.usda@)\n{\n}\n', "'../secret.usda' lies"),
    "absolute": (HEAD, 'def "a" (payload = @/etc/passwd.usd@)\n{\n}\n', "'/etc/passwd.usd' lies"),
    "absent": (HEAD, 'def "a" (references = @no.usda@)\n{\n}\n', "/a: USD says: Could not open"),
    "itself": (HEAD, 'def "a" (references = @bad.usda@</a>)\n{\n}\n', "/a: USD says: Cycle"),
    "prototype": (
        HEAD,
        'def PointInstancer "a"\n{\n    int[] protoIndices = [3]\n'
        "    point3f[] positions = [(0, 0, 0)]\n}\n",
        "/a has protoIndices beyond its 0 prototypes",
    ),
    "picture": (
        HEAD,
        world_files.USD_PART.partition(")\n")[2].replace("planks.png", "../planks.png"),
        "planks.png' lies outside",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_world_gives_one_message_with_file_and_place(tmp_path: Path, case: str) -> None:
    head, text, expected = BAD[case]
    for name in ("secret.usda", "planks.png"):
        (tmp_path / name).write_text(HEAD)
    folder = tmp_path / "world"
    folder.mkdir()
    (folder / "bad.usda").write_text(head + text)
    with pytest.raises(SceneError) as refused:
        load_scene(folder / "bad.usda")
    assert expected in str(refused.value)
    assert "bad.usda" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    path = world_files.write_usd(tmp_path / "world")
    outside = tmp_path / "part.usda"
    (path.parent / "part.usda").rename(outside)
    (path.parent / "part.usda").symlink_to(outside)
    with pytest.raises(SceneError, match=r"yard.usda: 'part.usda' lies outside of"):
        load_scene(path)
    assert len(load_scene(path, allow_outside=True).instances) > 10


def test_without_usd_core_one_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    with pytest.raises(SceneError, match=r"pip install 'sensor-fmus\[usd\]'"):
        scene_of(tmp_path, 'def Cube "nobody_has_kept_it"\n{\n}\n')
