"""Tables of bidirectional reflectance that a manifest names."""

from pathlib import Path

import pytest

from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from tests.brdf_tables import lambert_rows
from tests.sensor_models.scene.openmaterial.asset_files import brdf_content, write
from tests.sensor_models.scene_files import write_manifest

PLATE = """
[meshes.plate]
plane = { size = [2, 2] }
material = "grey"
[[instances]]
mesh = "plate"
[materials.grey]
source = "measured"
"""
TABLE = 'kind = "tabulated"\nbrdf = ["grey_brdf.xompt"]\n'


def test_a_manifest_names_a_table_and_adds_to_it(tmp_path: Path) -> None:
    write(tmp_path / "grey_brdf.xompt", **brdf_content(lambert_rows(0.4)))
    more = "surface = [{ wavelength = 905e-9, band = [850e-9, 1e-6], retro_reflectance = 5 },"
    radar = " { wavelength = 3.9e-3, ior = 2.0 }]\n"
    (grey,) = load_scene(write_manifest(tmp_path, PLATE + TABLE + more + radar)).materials
    numbers = grey.at(990e-9)
    assert numbers.diffuse_reflectance == pytest.approx(0.4, rel=1e-6)
    assert numbers.retro_reflectance == 5.0
    assert numbers.brdf is not None
    assert grey.radar_at(3.9e-3).ior == 2.0


REFUSED = {
    "no table": ('kind = "tabulated"\n', r"materials.grey.brdf: is missing"),
    "of another kind": (
        'kind = "lambert"\nbrdf = ["a"]\nsurface = [{ diffuse_reflectance = 0.5 }]\n',
        r"materials.grey.brdf: is for tabulated, the kind is lambert",
    ),
    "of a base": ('base = "wood"\nbrdf = ["a"]\n', r"materials.grey.brdf: is what the base gives"),
    "no file": (TABLE.replace("grey_", "none_"), r"materials.grey.brdf\[0\]: 'none_brdf.xompt'"),
    "outside": (TABLE.replace('"grey', '"../grey'), r"materials.grey.brdf\[0\]: .* lies outside"),
    "another wavelength": (
        TABLE + "surface = [{ wavelength = 532e-9, retro_reflectance = 5 }]\n",
        r"materials.grey.surface: has 5.32e-07 m, its tables do not",
    ),
    "another number": (
        TABLE + "surface = [{ wavelength = 905e-9, diffuse_reflectance = 0.5 }]\n",
        r"diffuse_reflectance: is nothing that a tabulated surface has: retro_reflectance",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_tables_that_do_not_fit_are_refused(tmp_path: Path, case: str) -> None:
    write(tmp_path / "grey_brdf.xompt", **brdf_content(lambert_rows(0.4)))
    text, reason = REFUSED[case]
    manifest = write_manifest(tmp_path, PLATE + text)
    with pytest.raises(SceneError, match=reason) as refusal:
        load_scene(manifest)
    assert str(refusal.value).startswith(str(manifest))


def test_a_table_with_more_light_than_there_is_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "grey_brdf.xompt", **brdf_content(lambert_rows(1.4)))
    manifest = write_manifest(tmp_path, PLATE + TABLE)
    with pytest.raises(SceneError, match=r"grey_brdf.xompt: brdf.lookupTable: is unphysical"):
        load_scene(manifest)
