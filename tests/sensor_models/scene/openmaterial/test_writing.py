"""Our materials as OpenMATERIAL: read back by our numbers, and by those that everybody reads."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from sensor_models.light.surfaces import bidirectional_reflectance, pack_surface
from sensor_models.light.tabulated import shape
from sensor_models.scene.brdf import even_reflectance, largest_albedo
from sensor_models.scene.materials import defined_material, material_library
from sensor_models.scene.model import Material, SurfaceKind
from sensor_models.scene.openmaterial.documents import parsed
from sensor_models.scene.openmaterial.materials import material_table, read_properties
from sensor_models.scene.openmaterial.tables import Verdict
from sensor_models.scene.openmaterial.writing import MAPPING, is_bulk
from sensor_models.scene.schema import MaterialTable
from sensor_models.scene.tables import validated
from sensor_models.scene.worlds.files import Files
from sensor_models.tools.pictures.scene_command import main
from tests.sensor_models.scene.test_brdf import drawn

LIBRARY = material_library()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("materials") / "ours"
    assert main(["export-materials", str(folder)]) == 0
    return folder


def properties(folder: Path, name: str, *, by_own: bool):
    file = folder / "materials" / f"{name}.xomp"
    content = json.loads(file.read_text())
    if not by_own:
        del content["materialProperties"]["customProperties"]
    files = Files(file, allow_outside=False)
    return read_properties(file, json.dumps(content).encode(), files, Verdict("refuse"))


def read_back(folder: Path, name: str) -> Material:
    given = properties(folder, name, by_own=True)
    table = material_table(given, LIBRARY["rubber"], "guess: rubber")
    return defined_material(name, validated(MaterialTable, table, folder), folder, LIBRARY)


def test_the_mapping_names_all_materials_with_their_sources(written: Path) -> None:
    rows = parsed((written / MAPPING).read_bytes(), written / MAPPING).pairs("materialMapping", 3)
    assert [row[0] for row in rows] == list(LIBRARY)
    assert len(rows) == 42
    for name, file, source in rows:
        assert (written / file).is_file()
        assert source == LIBRARY[name].source


def test_files_have_what_the_schemas_of_the_standard_demand(written: Path) -> None:
    """Required keys, patterns and ranges of the schemas of version 1.1.0."""
    always = {"name", "uuid", "openMaterial3dVersion", "copyrights", "license", "authors"}
    ends = {
        "brdf": (
            "_brdf.xompt",
            5,
            [1e-9, 0, 0, 0, 0],
            [17.16e-3, 1.570796, 1.570796, 6.283185, 1e9],
        ),
        "opticalProperties": ("_optical.xompt", 4, [1e-9, 0, 0, 0], [17.16e-3, 1e9, 1e9, 1e9]),
        "electromagneticProperties": (
            *("_emp.xompt", 7, [1e-9, 0, 0, 1, 0, -1e9, 0]),
            [17.16e-3, 1e9, 100, 1e9, 1e9, 1e9, 1e9],
        ),
    }
    for file in written.rglob("*.xom*"):
        content = json.loads(file.read_text())
        about = content["metadata"]
        assert always <= about.keys()
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", about["uuid"])
        assert about["openMaterial3dVersion"] == "1.1.0"
        if file.suffix != ".xompt":
            continue
        assert about["sources"]
        (kind,) = content.keys() - {"metadata"}
        end, width, low, high = ends[kind]
        assert file.name.endswith(end)
        rows = content[kind]["lookupTable"] if kind == "brdf" else content[kind]
        assert rows == sorted(rows)
        table = np.array(rows)
        assert table.shape[1] == width
        assert (table >= low).all()
        assert (table <= high).all()


@pytest.mark.parametrize("name", LIBRARY)
def test_a_material_is_read_back_to_the_last_bit(written: Path, name: str) -> None:
    assert read_back(written, name) == LIBRARY[name]


@pytest.mark.parametrize("name", LIBRARY)
def test_what_others_read_says_the_same(written: Path, name: str) -> None:
    ours, given = LIBRARY[name], properties(written, name, by_own=False)
    assert given.own is None
    known = {w: one for w, one in ours.at_radar.items() if one.ior is not None}
    assert given.radar.keys() == known.keys()
    for wavelength, one in known.items():
        index = complex(one.ior or 0.0, -one.extinction)
        assert given.radar[wavelength] == pytest.approx(index, rel=1e-9)
    assert given.retro == max(one.retro_reflectance for one in ours.at_wavelength.values())
    if is_bulk(ours):
        assert not given.brdfs
        for wavelength, numbers in ours.at_wavelength.items():
            index = complex(numbers.ior, -numbers.extinction)
            assert given.light[wavelength] == pytest.approx(index, rel=1e-12)
            assert given.slope == pytest.approx(numbers.roughness_beckmann, rel=1e-9)
        return
    assert given.brdfs.keys() == ours.at_wavelength.keys()
    for brdf in given.brdfs.values():
        assert largest_albedo(brdf).albedo <= 1.0
    if ours.kind is SurfaceKind.lambert:
        for wavelength, numbers in ours.at_wavelength.items():
            expected = numbers.diffuse_reflectance / math.pi
            assert given.brdfs[wavelength].values == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", ["plastic_black", "plastic_white", "paint_silver"])
def test_a_coated_material_is_read_back_to_one_percent_in_the_median(
    written: Path, name: str
) -> None:
    light, viewer = drawn(4000)
    brdf = properties(written, name, by_own=False).brdfs[905e-9]
    row = pack_surface(SurfaceKind.two_layer, LIBRARY[name].at(905e-9), LIBRARY[name].two_way)
    true = bidirectional_reflectance(row, light, viewer, np.array([0.0, 0.0, 1.0]))
    found = shape(brdf, light, viewer) * even_reflectance(brdf)
    assert np.median(np.abs(found / true - 1.0)) < 0.01


def test_nothing_is_written_over(written: Path, capsys) -> None:
    assert main(["export-materials", str(written)]) == 1
    assert "is not empty" in capsys.readouterr().err


def test_files_of_materials_are_the_same_at_each_writing(written: Path, tmp_path: Path) -> None:
    assert main(["export-materials", str(tmp_path / "again")]) == 0
    for file in ("materials/brick.xomp", "materials/brick_brdf.xompt", MAPPING):
        assert (tmp_path / "again" / file).read_bytes() == (written / file).read_bytes()
