"""Assets of OpenMATERIAL as scenes: which material is which, and what lidars make of it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene, SurfaceKind
from sensor_models.tools.pictures.scene_command import main
from tests import lidar_scenes as rig
from tests.brdf_tables import lambert_rows
from tests.sensor_models.scene.openmaterial import asset_files
from tests.sensor_models.scene.openmaterial.asset_files import NAMES, write


@pytest.fixture(scope="module")
def asset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asset_files.write_asset(tmp_path_factory.mktemp("asset") / "plates")


@pytest.fixture(scope="module")
def scene(asset: Path) -> Scene:
    return load_scene(asset)


def materials(scene: Scene) -> dict:
    return {material.name: material for material in scene.materials}


def test_each_material_is_what_its_numbers_say(scene: Scene) -> None:
    known = materials(scene)
    paint = known["Matt_Paint"]
    assert paint.kind is SurfaceKind.tabulated
    assert paint.at(905e-9).diffuse_reflectance == pytest.approx(0.1, rel=1e-6)
    assert paint.source.startswith("OpenMATERIAL paint")
    metal = paint.radar_at(3.893e-3)
    index = complex(metal.ior, -metal.extinction)
    assert index**2 == pytest.approx(-2e5 - 7e6j, rel=1e-9)
    glass = known["Window"]
    assert glass.kind is SurfaceKind.dielectric
    assert glass.at(905e-9).ior == 1.52  # of the temperature that is nearest to 293 K
    steel = known["Sheet_Metal"]
    assert steel.kind is SurfaceKind.two_layer
    assert steel.at(905e-9).diffuse_reflectance == 0.0
    assert steel.at(905e-9).extinction == 3.59
    assert steel.at(905e-9).roughness_beckmann == pytest.approx(math.sqrt(2.0) * 0.1)


def test_what_says_nothing_of_light_is_guessed_but_for_radars(scene: Scene) -> None:
    road = materials(scene)["Road"]
    assert road.source.startswith("guess: asphalt, as 'Road' has 'road'")
    assert road.at(905e-9).diffuse_reflectance == 0.12
    numbers = road.radar_at(3.893e-3)
    assert complex(numbers.ior, -numbers.extinction) ** 2 == pytest.approx(4.0 - 0.5j, rel=1e-9)
    assert numbers.roughness_rms == 5e-4


def test_replaced_names_and_names_without_a_mapping(scene: Scene) -> None:
    known = materials(scene)
    assert known["Other_Name"].at(905e-9).retro_reflectance == 70.0
    assert known["Not_Mapped"].source.startswith("guess: ")


def test_faces_have_the_materials_of_their_texels(scene: Scene) -> None:
    """A quarter of the plate is red: its area to one texel, its triangles in one plane."""
    known = materials(scene)
    area = {}
    for instance in scene.instances:
        if not instance.name.startswith("Grp_Painted"):
            continue
        mesh = scene.meshes[instance.mesh]
        corners = mesh.vertices[mesh.faces].astype(float)
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        name = scene.materials[mesh.face_material[0]].name
        area[name] = 0.5 * np.linalg.norm(across, axis=1).sum()
        assert instance.entity_id == 6
        assert np.allclose(across[:, 1:], 0.0, atol=1e-6)
    whole = asset_files.SIDE**2
    assert sum(area.values()) == pytest.approx(whole, rel=1e-6)
    assert area["rgb:255;0;0"] == pytest.approx(0.25 * whole, abs=whole / 40)
    assert known["rgb:255;0;0"].at(905e-9).retro_reflectance == 70.0
    assert known["rgb:0;0;255"].kind is SurfaceKind.tabulated


def test_a_lidar_sees_tables_panes_and_texels(scene: Scene) -> None:
    """Intensities of matt tables are those of the closed form; light passes the pane."""
    angles = np.array([asset_files.azimuth(number) for number in range(len(NAMES))])
    by_ray = {
        name: rig.capture(scene, rig.aim(angle), own=rig.ALL)
        for name, angle in zip(NAMES, angles, strict=True)
    }
    matt = rig.scene(rig.across(10.0), materials=(rig.lambert(0.1),))
    expected = rig.capture(matt, rig.aim(angles[:1]))["intensity"][0]
    assert by_ray["Matt_Paint"]["intensity"][0] == pytest.approx(expected, rel=1e-3)
    # the middle of the painted plate is blue, which is the same paint
    angle = angles[NAMES.index("Painted")]
    expected = rig.capture(matt, rig.aim(angle))["intensity"][0]
    assert by_ray["Painted"]["intensity"][0] == pytest.approx(expected, rel=1e-3)
    ranges = by_ray["Window"]["range"]
    cosine = math.cos(angles[1])
    front = 10.0 / cosine
    inside = math.sqrt(1.52**2 - math.sin(angles[1]) ** 2)
    back = front + 1.52**2 * asset_files.WINDOW_THICKNESS / inside
    # rays start off a surface by what its place is uncertain by
    assert ranges[:2] == pytest.approx([front, back], abs=5e-5)


def test_an_asset_and_the_manifest_of_its_import_are_the_same_scene(
    asset: Path, scene: Scene, tmp_path: Path
) -> None:
    assert main(["import", str(asset), str(tmp_path / "scene")]) == 0
    other = load_scene(tmp_path / "scene" / "scene.toml")
    assert [m.name for m in other.materials] == [m.name for m in scene.materials]
    for one, two in zip(scene.materials, other.materials, strict=True):
        assert one.source == two.source
        assert one.at_radar == two.at_radar
        for wavelength, numbers in one.at_wavelength.items():
            brdf = two.at_wavelength[wavelength].brdf
            if numbers.brdf is None:
                assert two.at_wavelength[wavelength] == numbers
                continue
            assert brdf is not None
            assert (brdf.values == numbers.brdf.values).all()
            assert (brdf.theta == numbers.brdf.theta).all()
    for one, two in zip(scene.meshes, other.meshes, strict=True):
        assert (one.vertices == two.vertices).all()
        assert (one.face_material == two.face_material).all()


def test_a_kept_scene_has_its_tables(asset: Path, scene: Scene) -> None:
    again = load_scene(asset)
    assert again is not scene
    brdf = materials(again)["Matt_Paint"].at(905e-9).brdf
    assert brdf is not None
    assert (brdf.values == materials(scene)["Matt_Paint"].at(905e-9).brdf.values).all()


def test_check_lists_guesses_and_what_is_not_taken(asset: Path, capsys) -> None:
    assert main(["check", str(asset)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert any(line.startswith("guess      Road: asphalt") for line in said)
    assert any(line.startswith("not taken  lightDefinitions: 1 left out") for line in said)
    mapped = "not taken  material 'Not_Mapped' is not in the mapping, guessed by its look"
    assert mapped in said
    assert "not taken  paint.xomp: densityData: not used" in said


def test_check_lists_what_is_unphysical_and_what_was_done(tmp_path: Path, capsys) -> None:
    path = asset_files.write_asset(tmp_path)
    name, content, _ = UNPHYSICAL["permittivity"]
    write(tmp_path / "materials" / "tables" / f"{name}.xompt", **content)
    assert main(["check", str(path)]) == 1
    assert "epsilon' = -0.384" in capsys.readouterr().err
    for choice, done in (("guess", "left out"), ("take", "used")):
        assert main(["check", str(path), "--unphysical", choice]) == 0
        said = capsys.readouterr().out.splitlines()
        head = f"unphysical road_emp.xompt: electromagneticProperties: {done}: epsilon' = -0.384"
        assert any(line.startswith(head) for line in said)


# ---- what no body has ----------------------------------------------------------------------------

UNPHYSICAL = {
    "permittivity": (
        "road_emp",
        {"electromagneticProperties": [[3.893e-3, 300.0, 50.0, 1.0, 0.0, -0.384, 2.22]]},
        "electromagneticProperties: is unphysical: epsilon' = -0.384 at 3.893 mm of what does not",
    ),
    "gain": (
        "road_emp",
        {"electromagneticProperties": [[3.893e-3, 300.0, 50.0, 1.0, 0.0, 4.0, -0.5]]},
        "epsilon'' = -0.5 at 3.893 mm amplifies",
    ),
    "permeability": (
        "road_emp",
        {"electromagneticProperties": [[3.893e-3, 300.0, 50.0, 0.5, 0.0, 4.0, 0.5]]},
        "mu = 0.5 - 0j at 3.893 mm",
    ),
    "albedo": (
        "paint_brdf",
        asset_files.brdf_content(lambert_rows(1.5)),
        "brdf.lookupTable: is unphysical: at 905 nm the albedo is 1.5 for light from",
    ),
    "index": (
        "glass_optical",
        {"opticalProperties": [[905e-9, 293, 0.8, 0.0]]},
        "n = 0.8 at 905 nm of what is clear",
    ),
    "amplifier": (
        "glass_optical",
        {"opticalProperties": [[905e-9, 293, 1.5, -0.1]]},
        "kappa = -0.1 at 905 nm amplifies",
    ),
}


@pytest.mark.parametrize("case", UNPHYSICAL)
def test_unphysical_numbers_are_refused_or_taken_by_choice(tmp_path: Path, case: str) -> None:
    path = asset_files.write_asset(tmp_path)
    name, content, reason = UNPHYSICAL[case]
    write(tmp_path / "materials" / "tables" / f"{name}.xompt", **content)
    with pytest.raises(SceneError) as refusal:
        load_scene(path)
    assert str(refusal.value).startswith(str(tmp_path / "materials" / "tables" / f"{name}.xompt"))
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)
    guessed = materials(load_scene(path, unphysical="guess"))
    changed = {"road_emp": "Road", "paint_brdf": "Matt_Paint", "glass_optical": "Window"}[name]
    assert guessed[changed].source.startswith("guess: ")
    if case not in ("amplifier", "gain"):
        taken = materials(load_scene(path, unphysical="take"))[changed]
        if case == "albedo":
            assert taken.at(905e-9).diffuse_reflectance == pytest.approx(1.0, rel=1e-3)
        if case == "permittivity":
            numbers = taken.radar_at(3.893e-3)
            index = complex(numbers.ior, -numbers.extinction)
            assert index**2 == pytest.approx(-0.384 - 2.22j, rel=1e-9)


def test_a_steep_roughness_is_refused(tmp_path: Path) -> None:
    path = asset_files.write_asset(tmp_path)
    rough = {"surfaceHeightRms": 0.8, "surfaceCorrelationLength": 1.0, "sources": "estimate"}
    write(tmp_path / "materials" / "steel.xomp", materialProperties={"surfaceRoughness": rough})
    with pytest.raises(SceneError, match=r"a height of 0.8 m over 1 m, a slope of 1.13"):
        load_scene(path)


# ---- what is refused -----------------------------------------------------------------------------


def edited(path: Path, **changes) -> None:
    content = json.loads(path.read_text())
    for key, value in changes.items():
        content[key] = value
    path.write_text(json.dumps(content))


REFUSED = {
    "outside": (
        "plates.xoma",
        {"materialMappingUri": "../table.xomm"},
        r"materialMappingUri: '../table.xomm' lies outside of",
    ),
    "missing": (
        "table.xomm",
        {"materialMapping": [["Road", "none.xomp", ""]]},
        r"materialMapping\[0\]: 'none.xomp' does not exist",
    ),
    "version": (
        "table.xomm",
        {"metadata": asset_files.about("table", "2.0.0")},
        r"metadata.openMaterial3dVersion: is '2.0.0', 1.0 and 1.1 are read",
    ),
    "rows": (
        "table.xomm",
        {"materialMapping": [["Road", "none.xomp"]]},
        r"materialMapping\[0\]: is no list of 3 texts",
    ),
    "cell": (
        "materials/tables/paint_brdf.xompt",
        {"brdf": {"lookupTable": [[905e-9, 0.0, "x", 0.0, 0.1]]}},
        r"brdf.lookupTable\[0\]\[2\]: is 'x', allowed is a finite number or null",
    ),
    "angle": (
        "materials/tables/paint_brdf.xompt",
        {"brdf": {"lookupTable": [[905e-9, 0.0, 1.7, 0.0, 0.1]]}},
        r"brdf.lookupTable: has 0, 1.7, 0, 0.1; allowed are angles of 0 to pi/2",
    ),
    "no metadata": ("materials/glass.xomp", {"metadata": None}, r"metadata: is missing"),
    "thickness": (
        "plates.xoma",
        {"geometryProperties": [{"node": "Grp_Window", "thickness": -1}]},
        r"geometryProperties\[0\].thickness: is not from 0 to 100 m",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_broken_file_gives_one_message_with_file_and_place(tmp_path: Path, case: str) -> None:
    path = asset_files.write_asset(tmp_path)
    name, changes, reason = REFUSED[case]
    edited(tmp_path / name, **changes)
    with pytest.raises(SceneError, match=reason) as refusal:
        load_scene(path)
    assert str(refusal.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize("text", ["{", "[1]", '{"metadata": NaN}', "[" * 100_000, "\x00"])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    path = asset_files.write_asset(tmp_path)
    path.write_text(text)
    with pytest.raises(SceneError, match=r"is no JSON|is no object of JSON"):
        load_scene(path)


def test_an_asset_without_a_mesh_says_which_are_read(tmp_path: Path) -> None:
    path = asset_files.write_asset(tmp_path)
    (tmp_path / "plates.gltf").rename(tmp_path / "plates.fbx")
    with pytest.raises(SceneError, match=r"no mesh beside it, .*plates.fbx is not read, convert"):
        load_scene(path)
