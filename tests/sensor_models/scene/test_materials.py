"""The library of materials, and materials of a manifest's own."""

import math
from pathlib import Path

import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.materials import HIGHEST_BASE_REFLECTANCE, material_library
from sensor_models.scene.model import Material, SurfaceKind
from tests.sensor_models.scene_files import BOX, write_manifest

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


def test_the_nearest_of_the_sets_whose_bands_hold_a_wavelength_counts(tmp_path: Path) -> None:
    table = (
        'kind = "lambert"\nsource = "made"\nsurface = [\n'
        "{ wavelength = 5e-7, band = [4e-7, 8e-7], diffuse_reflectance = 0.1 },\n"
        "{ wavelength = 9e-7, band = [6e-7, 1e-6], diffuse_reflectance = 0.2 }]"
    )
    material = own_material(tmp_path, table)
    found = {w: material.at(w).diffuse_reflectance for w in (4e-7, 6.9e-7, 7.1e-7, 1e-6)}
    assert found == {4e-7: 0.1, 6.9e-7: 0.1, 7.1e-7: 0.2, 1e-6: 0.2}
    # 5.9e-7 is nearer to none of both that holds it but the first.
    assert material.at(5.9e-7).diffuse_reflectance == 0.1


@pytest.mark.parametrize(
    ("name", "wavelength", "message"),
    [
        ("asphalt", 3.9e-3, r"asphalt: has no numbers for 3\.9 mm \(radar\), its bands are"),
        ("leaf", 550e-9, r"leaf: has no numbers for 550 nm \(visible\), its bands are 850 nm to"),
        (
            "glass",
            1064e-9,
            r"glass: .* 1064 nm \(near infrared\), its bands are .* 1000 nm and 1450",
        ),
        ("steel", 10.6e-6, r"steel: has no numbers for 10\.6 um \(infrared\)"),
        ("water", 1900e-9, r"water: has no numbers for 1900 nm \(short-wave infrared\)"),
        ("water", 300e-9, r"water: has no numbers for 300 nm \(ultraviolet\)"),
        ("water", 5e-4, r"water: has no numbers for 0\.5 mm \(submillimetre\)"),
    ],
)
def test_a_wavelength_outside_of_all_bands_is_refused(
    name: str, wavelength: float, message: str
) -> None:
    with pytest.raises(ParameterError, match=f"material {message}"):
        material_library()[name].at(wavelength)


def test_the_library_holds_at_the_wavelengths_of_the_lidars_there_are() -> None:
    for material in material_library().values():
        near = {material.at(nm * 1e-9) for nm in (850, 865, 903, 905, 940, 1000)}
        far = {material.at(nm * 1e-9) for nm in (1450, 1535, 1550, 1565, 1620)}
        assert near == {material.at_wavelength[905e-9]}
        assert far == {material.at_wavelength[1550e-9]}


def test_a_set_that_names_its_wavelength_holds_a_tenth_to_either_side(tmp_path: Path) -> None:
    table = (
        'kind = "lambert"\nsource = "made"\n'
        "surface = [{ wavelength = 1e-6, diffuse_reflectance = 0.3 }]"
    )
    material = own_material(tmp_path, table)
    assert material.at(0.9e-6) == material.at(1.1e-6)
    for outside in (0.899e-6, 1.101e-6):
        with pytest.raises(ParameterError, match="its bands are 900 nm to 1100 nm"):
            material.at(outside)


RADAR = "{ band = [3e-3, 4e-3], ior = 2.29, extinction = 0.07, roughness_rms = 1e-4 }"


def test_one_material_has_numbers_for_eyes_lidars_and_radars(tmp_path: Path) -> None:
    table = (
        'kind = "lambert"\nsource = "made"\nsurface = [\n'
        "{ wavelength = 450e-9, diffuse_reflectance = 0.1 },\n"
        "{ wavelength = 650e-9, diffuse_reflectance = 0.3 },\n"
        "{ wavelength = 850e-9, diffuse_reflectance = 0.5 },\n"
        f"{RADAR},\n]"
    )
    material = own_material(tmp_path, table)
    seen = material.between(380e-9, 780e-9)
    assert [(w, numbers.diffuse_reflectance) for w, numbers in seen.items()] == [
        (450e-9, 0.1),
        (650e-9, 0.3),
    ]
    assert material.at(865e-9).diffuse_reflectance == 0.5
    numbers = material.radar_at(3.893e-3)
    assert numbers is not None
    assert (numbers.ior, numbers.extinction, numbers.roughness_rms) == (2.29, 0.07, 1e-4)
    assert numbers.diffuse_reflectance is None
    with pytest.raises(ParameterError, match=r"no numbers for 12\.5 mm \(radar\).* 3 mm to 4 mm"):
        material.radar_at(12.5e-3)


def test_a_material_without_numbers_for_radars_says_so(tmp_path: Path) -> None:
    assert material_library()["leaf"].radar_at(3.9e-3) is None
    table = 'kind = "lambert"\nsource = "made"\nsurface = [{ diffuse_reflectance = 0.3 }]'
    assert own_material(tmp_path, table).radar_at(3.9e-3) is None


def test_numbers_for_all_light_are_numbers_for_the_visible_too(tmp_path: Path) -> None:
    table = 'kind = "lambert"\nsource = "made"\nsurface = [{ diffuse_reflectance = 0.3 }]'
    seen = own_material(tmp_path, table).between(380e-9, 780e-9)
    assert {w: numbers.diffuse_reflectance for w, numbers in seen.items()} == {780e-9: 0.3}


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
