"""The library of materials, and materials of a manifest's own."""

import math
from pathlib import Path

import pytest

from sensor_models.scene.manifest import load_scene
from sensor_models.scene.materials import HIGHEST_BASE_REFLECTANCE, material_library
from sensor_models.scene.model import Material, SurfaceKind
from tests.models.scene_files import BOX, write_manifest

LIDAR_WAVELENGTHS = {905e-9, 1550e-9}


def reflectance_at_normal_incidence(n: float, k: float) -> float:
    """Fresnel's formula from air."""
    return ((n - 1.0) ** 2 + k**2) / ((n + 1.0) ** 2 + k**2)


def test_library_has_many_everyday_materials_at_both_wavelengths() -> None:
    library = material_library()
    assert len(library) >= 20
    for material in library.values():
        assert set(material.at_wavelength) == LIDAR_WAVELENGTHS, material.name


def test_every_material_names_a_source_or_says_that_it_is_an_estimate() -> None:
    for material in material_library().values():
        published = any(year in material.source for year in ("19", "20", "ASTM"))
        assert published or material.source.startswith("estimate: "), material.name


def test_several_materials_are_measured() -> None:
    measured = [
        name
        for name, material in material_library().items()
        if not material.source.startswith("estimate")
    ]
    assert len(measured) >= 10


@pytest.mark.parametrize(
    ("name", "wavelength", "measured"),
    [
        # Between the neighbours of the wavelength in the tables that the library names.
        ("leaf", 905e-9, (0.522, 0.523)),
        ("leaf", 1550e-9, (0.250, 0.253)),
        ("soil", 905e-9, (0.353, 0.359)),
        ("soil", 1550e-9, (0.470, 0.472)),
        ("gravel", 905e-9, (0.160, 0.162)),
        ("gravel", 1550e-9, (0.149, 0.151)),
    ],
)
def test_measured_reflectances_are_those_of_the_spectra(
    name: str, wavelength: float, measured: tuple[float, float]
) -> None:
    low, high = measured
    assert low <= material_library()[name].at(wavelength).diffuse_reflectance <= high


@pytest.mark.parametrize(
    ("name", "reflectances"),
    [
        # Of bulk metals in handbooks: aluminium dips where its bands absorb, near 850 nm.
        ("aluminium", (0.88, 0.975)),
        ("copper", (0.965, 0.975)),
        ("steel", (0.60, 0.73)),  # clean iron
    ],
)
def test_metals_reflect_as_handbooks_say(name: str, reflectances: tuple[float, float]) -> None:
    material = material_library()[name]
    for wavelength, expected in zip(sorted(LIDAR_WAVELENGTHS), reflectances, strict=True):
        numbers = material.at(wavelength)
        assert numbers.diffuse_reflectance == 0.0
        found = reflectance_at_normal_incidence(numbers.ior, numbers.extinction)
        assert found == pytest.approx(expected, abs=0.02)  # handbooks differ by so much


def test_window_glass_passes_most_of_the_light() -> None:
    glass = material_library()["glass"]
    for wavelength in LIDAR_WAVELENGTHS:
        numbers = glass.at(wavelength)
        assert reflectance_at_normal_incidence(numbers.ior, 0.0) == pytest.approx(0.041, abs=1e-3)
        absorption = 4.0 * math.pi * numbers.extinction / wavelength  # 1/m
        assert 0.7 < math.exp(-absorption * 0.004) < 0.9  # 4 mm of clear float glass: about 0.8


def test_water_swallows_1550_nm_within_a_few_millimetres() -> None:
    water = material_library()["water"]
    depths = {
        wavelength: wavelength / (4.0 * math.pi * water.at(wavelength).extinction)
        for wavelength in LIDAR_WAVELENGTHS
    }
    # Published absorption is 7 to 9 1/m at 905 nm and 800 to 1200 1/m at 1550 nm.
    assert 1.0 / 9.0 < depths[905e-9] < 1.0 / 7.0
    assert 1.0 / 1200.0 < depths[1550e-9] < 1.0 / 790.0


def test_no_material_sends_back_more_than_it_gets() -> None:
    for material in material_library().values():
        for numbers in material.at_wavelength.values():
            coat = reflectance_at_normal_incidence(numbers.ior, numbers.extinction)
            coat = coat if material.kind is not SurfaceKind.lambert else 0.0
            assert numbers.diffuse_reflectance <= HIGHEST_BASE_REFLECTANCE
            assert coat + (1.0 - coat) * numbers.diffuse_reflectance <= 1.0, material.name


def test_plants_are_darker_at_1550_nm_where_their_water_absorbs() -> None:
    library = material_library()
    for name in ("leaf", "needle", "grass", "skin", "snow"):
        near, short_wave = (library[name].at(w).diffuse_reflectance for w in (905e-9, 1550e-9))
        assert short_wave < 0.7 * near, name


def own_material(folder: Path, table: str) -> Material:
    text = BOX.replace("brick", "mine") + f"[materials.mine]\n{table}\n"
    return load_scene(write_manifest(folder, text)).materials[0]


def test_a_material_may_have_one_set_of_numbers_for_all_wavelengths(tmp_path: Path) -> None:
    table = 'kind = "lambert"\nsource = "made"\nsurface = [{ diffuse_reflectance = 0.3 }]'
    material = own_material(tmp_path, table)
    assert material.at(532e-9) == material.at(1550e-9)
    assert material.at(905e-9).diffuse_reflectance == 0.3


def test_the_nearest_known_wavelength_holds(tmp_path: Path) -> None:
    table = (
        'kind = "lambert"\nsource = "made"\nsurface = [{ wavelength = 5e-7, '
        "diffuse_reflectance = 0.1 }, { wavelength = 9e-7, diffuse_reflectance = 0.2 }]"
    )
    material = own_material(tmp_path, table)
    assert material.at(6.9e-7).diffuse_reflectance == 0.1
    assert material.at(7.1e-7).diffuse_reflectance == 0.2


def test_a_base_lends_its_numbers_and_takes_another_colour(tmp_path: Path) -> None:
    material = own_material(tmp_path, 'base = "paint_red"\ncolor = [0, 1, 0]')
    base = material_library()["paint_red"]
    assert (material.name, material.color) == ("mine", (0.0, 1.0, 0.0))
    assert (material.kind, material.at_wavelength) == (base.kind, base.at_wavelength)
    assert material.source == base.source


def test_a_scene_may_redefine_a_name_of_the_library(tmp_path: Path) -> None:
    table = 'kind = "lambert"\nsource = "made"\nsurface = [{ diffuse_reflectance = 0.9 }]'
    text = BOX + f"[materials.brick]\n{table}\n"
    scene = load_scene(write_manifest(tmp_path, text))
    assert scene.materials[0].at(905e-9).diffuse_reflectance == 0.9


def test_a_mirror_of_metal_has_no_base(tmp_path: Path) -> None:
    table = (
        'kind = "two_layer"\nsource = "made"\ntwo_way = true\n'
        "surface = [{ ior = 1.2, extinction = 7.26, diffuse_reflectance = 0 }]"
    )
    material = own_material(tmp_path, table)
    assert material.two_way
    assert material.at(905e-9).diffuse_reflectance == 0.0
