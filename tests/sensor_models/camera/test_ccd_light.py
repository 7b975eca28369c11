"""The light that a CCD camera sees: materials, sun, sky, mirrors, glass, media, lamps."""

import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import (
    ChipParameters,
    FilterParameters,
    LightParameters,
    OpticsParameters,
    PictureParameters,
)
from sensor_models.camera.ccd.responses import electrons_per_joule
from sensor_models.kernels.light.fresnel import reflectance
from sensor_models.light.scenery import Scenery
from sensor_models.light.spectra import (
    GRID,
    coefficients_of,
    color_matching,
    color_spectrum,
    linear_color,
    observers,
    shown_color,
    sigmoid,
)
from sensor_models.light.spectra import reflectance as spectrum_of
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.materials import material_library
from sensor_models.scene.schema import SkyTable
from sensor_models.scene.sky import sky_of, sunlight_above_air, transmission
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.scene_files import write_manifest

CLEAR = SkyTable(preset="clear", sun_direction=(0.4, -0.6, 0.7))
SINE = 0.7 / math.sqrt(0.4**2 + 0.6**2 + 0.7**2)
#: A sun of 2 and a sky of 0.3 at all wavelengths.
EVEN = """
[sky]
sun_direction = [0, 0, 1]
sun_spectrum = [[300e-9, 2.0], [1100e-9, 2.0]]
sky_spectrum = [[300e-9, 0.3], [1100e-9, 0.3]]
"""


def matt(name: str, share: float) -> str:
    return (
        f'[materials.{name}]\nkind = "lambert"\nsource = "estimate"\n'
        f"surface = [{{ diffuse_reflectance = {share} }}]\n"
    )


def placed(mesh: str, material: str, shape: str, where: str = "") -> str:
    mesh_table = f'[meshes.{mesh}]\n{shape}\nmaterial = "{material}"\n'
    return f'{mesh_table}[[instances]]\nmesh = "{mesh}"\n{where}\n'


GROUND = placed("ground", "grey", "plane = { size = [2000, 2000] }")
#: Downward from 5 m above the ground, the picture's columns along -y.
DOWN = np.array([[0.0, 0, 1, 0, 1, 0, -1, 0, 0, 0, 0, 5.0]])


def radiance(folder: Path, text: str, pose=DOWN, *, side=8, rays=16, moving=None, **light):
    """Radiance of the pixels of a narrow picture of light that is the same at all wavelengths."""
    optics = OpticsParameters(
        width=side, height=side, intrinsics=(40.0, 40.0, 0.0, 0.0), f_number=1.0
    )
    lighting = LightParameters(rays=rays, **light)
    camera = CcdCamera(optics, PictureParameters(bands=1), light=lighting)
    with RayScene(load_scene(write_manifest(folder, text))) as scene:
        seen = camera.expose(scene, pose, moving=moving)
    return seen.light[:, :, 0] / camera.response.sum()


@pytest.mark.acceptance("COL-1")
def test_color_matching_functions():
    found = color_matching([550e-9]).ravel()
    np.testing.assert_allclose(found, (0.4337147, 0.9944625, 0.0087578), atol=1e-6)


@pytest.mark.acceptance("COL-3")
def test_the_spectrum_of_a_colour():
    found = coefficients_of(0.2, 0.4, 0.1)
    np.testing.assert_allclose(found, (-17.226529, 14.447387, -3.224538), atol=1e-5)
    values = sigmoid(found, [450e-9, 550e-9, 650e-9])
    np.testing.assert_allclose(values, (0.1128203, 0.4038580, 0.1013011), atol=1e-5)


@pytest.mark.acceptance("COL-4")
def test_all_colours_of_the_library_come_back():
    for material in material_library().values():
        wanted = np.clip(linear_color(material.color), 0.001, 0.999)
        found = observers() @ color_spectrum(material.color, GRID)
        np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.acceptance("COL-5")
def test_a_leaf_has_its_red_edge():
    places = np.array([450, 550, 650, 700, 730, 780]) * 1e-9
    wanted = (0.01712, 0.13128, 0.01348, 0.05780, 0.26205, 0.522)
    np.testing.assert_allclose(spectrum_of(material_library()["leaf"], places), wanted, atol=1e-4)


def test_a_measured_spectrum_counts_more_than_a_colour(tmp_path: Path):
    text = """
[materials.painted]
kind = "lambert"
color = [1, 0, 0]
source = "estimate"
surface = [
  { wavelength = 450e-9, diffuse_reflectance = 0.1 },
  { wavelength = 650e-9, diffuse_reflectance = 0.5 },
]
""" + placed("a", "painted", "plane = { size = [1, 1] }")
    (material,) = load_scene(write_manifest(tmp_path, text)).materials
    found = spectrum_of(material, np.array([400, 450, 500, 550, 650, 700]) * 1e-9)
    np.testing.assert_allclose(found, (0.1, 0.1, 0.2, 0.3, 0.5, 0.5), atol=1e-12)


@pytest.mark.acceptance("SUN-1")
def test_sun_and_sky_of_a_clear_day():
    above = sunlight_above_air(550e-9)
    sun, lost = (above * share for share in (transmission(550e-9, SINE), 1.0))
    assert sun * 1e-9 == pytest.approx(1.108698, rel=1e-5)
    sky = SINE * (lost - sun) / (2.0 * math.pi)
    assert sky * 1e-9 == pytest.approx(0.0709178, rel=1e-5)
    known = sky_of(CLEAR)
    for pairs, wanted in ((known.sun_spectrum, sun), (known.sky_spectrum, sky)):
        assert np.interp(550e-9, *np.array(pairs).T) == pytest.approx(wanted, rel=2e-3)


def both(wavelength: float) -> tuple[float, float]:
    """Sun and sky by their formulas."""
    above, through = sunlight_above_air(wavelength), transmission(wavelength, SINE)
    return above * through, SINE * above * (1.0 - through) / (2.0 * math.pi)


@pytest.mark.acceptance("SUN-2")
def test_the_illuminance_of_a_clear_day():
    luminous = color_matching(GRID)[1] * 683.0 * 5e-9
    light = np.array([both(wavelength) for wavelength in GRID])
    sky = float(luminous @ light[:, 1]) * math.pi
    assert sky == pytest.approx(15758.0, rel=1e-3)
    assert sky + SINE * float(luminous @ light[:, 0]) == pytest.approx(71552.0, rel=1e-3)


@pytest.mark.acceptance("SUN-3", "SUN-4")
def test_photons_and_electrons_of_a_grey_plate():
    def energy(wavelength: float) -> float:
        """Energy in one pixel at f/2 in 0.1 ms, J/m."""
        sun, sky = both(wavelength)
        plate = 0.18 / math.pi * (SINE * sun + math.pi * sky)
        return plate * math.pi / 16.0 * 4.65e-6**2 * 1e-4

    photons = electrons_per_joule(ChipParameters(qe=1.0), np.array([550e-9]))[0]
    assert energy(550e-9) / (math.pi / 16.0 * 4.65e-6**2 * 1e-4) == pytest.approx(
        5.70111e7, rel=1e-5
    )
    assert energy(550e-9) * 10e-9 * photons == pytest.approx(670.165, rel=1e-5)
    places = np.arange(500, 600, 5) * 1e-9
    per_joule = electrons_per_joule(ChipParameters(), places)
    total = sum(energy(w) * 5e-9 * e for w, e in zip(places, per_joule, strict=True))
    assert total == pytest.approx(3973.88, rel=1e-5)


@pytest.mark.acceptance("SUN-3")
def test_a_camera_sees_the_plate_as_bright_as_that(tmp_path: Path):
    text = "[sky]\npreset = 'clear'\nsun_direction = [0.4, -0.6, 0.7]\n" + matt("grey", 0.18)
    optics = OpticsParameters(width=2, height=2, intrinsics=(40.0, 40.0, 0, 0), f_number=2.0,
                              lens_transmission=1.0)  # fmt: skip
    band = FilterParameters(center=550e-9, width=10e-9)
    camera = CcdCamera(optics, PictureParameters(bands=1), filters=(band,))
    with RayScene(load_scene(write_manifest(tmp_path, text + GROUND))) as rays:
        seen = camera.expose(rays, DOWN)
    width = camera.response.sum() / (math.pi / 16.0)
    assert width == pytest.approx(10e-9 * math.sqrt(2.0 * math.pi), rel=1e-3)
    # The filter is narrow, and the spectrum bends little within it.
    np.testing.assert_allclose(seen.light, 5.70111e7 * width * math.pi / 16.0, rtol=5e-3)


def test_six_bands_each_see_their_part_of_the_spectrum(tmp_path: Path):
    """A plate reflects each of six bands differently, under light that changes with wavelength.

    Filters are triangles of 20 nm to both sides, within which the plate's reflectance is even and
    the light a straight line: their integrals are 20 nm times what is in their middles.
    """
    middles, width = 1e-9 * np.array([440.0, 540, 640, 740, 840, 940]), 20e-9
    shares = np.array([0.1, 0.7, 0.3, 0.6, 0.2, 0.5])
    pairs = ",".join(
        f"{{ wavelength = {middle + side}, diffuse_reflectance = {share} }}"
        for middle, share in zip(middles, shares, strict=True)
        for side in (-30e-9, 30e-9)
    )
    text = f"""
[sky]
sun_direction = [0, 0, 1]
sun_spectrum = [[400e-9, 2.0e9], [1000e-9, 1.1e9]]
sky_spectrum = [[400e-9, 0.5e9], [1000e-9, 0.2e9]]
[materials.plate]
kind = "lambert"
source = "estimate"
surface = [{pairs}]
""" + placed("ground", "plate", "plane = { size = [2000, 2000] }")
    filters = tuple(
        FilterParameters(curve=f"{m - 20:g}:0 {m:g}:1 {m + 20:g}:0", gain=1.0 + 0.1 * k)
        for k, m in enumerate(1e9 * middles)
    )
    optics = OpticsParameters(width=3, height=3, intrinsics=(40.0, 40.0, 0.0, 0.0), f_number=2.0)
    picture = PictureParameters(
        bands=6, infrared_filter=False, exposure_time=0.5, full_scale=8.0, bit_depth=12, gamma=0.5
    )
    camera = CcdCamera(optics, picture, filters=filters)
    with RayScene(load_scene(write_manifest(tmp_path, text))) as rays:
        seen = camera.expose(rays, DOWN)
        numbers, lost = camera.develop(rays.pool, seen.light, 0)
    sun, sky = (np.interp(middles, [400e-9, 1000e-9], ends) for ends in ([2.0, 1.1], [0.5, 0.2]))
    bright = 1e9 * shares / math.pi * (sun + math.pi * sky)
    light = math.pi * optics.lens_transmission / (4.0 * 2.0**2) * bright * width
    np.testing.assert_allclose(seen.light, np.broadcast_to(light, (3, 3, 6)), rtol=1e-5)
    charge = (1.0 + 0.1 * np.arange(6)) * light * 0.5 / 8.0
    wanted = np.floor(4095.0 * np.sqrt(charge) + 0.5)  # where the axis is, nothing is vignetted
    assert wanted.min() > 100.0
    assert wanted.max() < 4095.0
    np.testing.assert_array_equal(numbers[1, 1], wanted)
    assert lost == 0


def test_open_ground_has_the_light_of_sun_and_sky(tmp_path: Path):
    found = radiance(tmp_path, EVEN + matt("grey", 0.5) + GROUND)
    np.testing.assert_allclose(found, 0.5 / math.pi * (2.0 + math.pi * 0.3), rtol=1e-5)


def test_a_shadow_has_the_light_of_the_sky_alone(tmp_path: Path):
    """A black roof high above: no sun below it, and the sky but for the roof's share."""
    roof = placed("roof", "black", "plane = { size = [20, 20] }", "position = [0, 0, 30]")
    text = EVEN + matt("grey", 0.5) + matt("black", 0.0) + GROUND + roof
    found = radiance(tmp_path, text, rays=4096)
    a = 10.0 / math.hypot(10.0, 30.0)  # of a square seen from below its middle
    share = 4.0 / math.pi * a * math.atan(10.0 / math.hypot(10.0, 30.0))
    assert found.mean() == pytest.approx(0.5 * 0.3 * (1.0 - share), rel=1e-3)


def test_a_bounce_brings_light_to_what_faces_the_ground(tmp_path: Path):
    """The lower side of a small plate sees sunny ground: R R' (E + pi L) / pi."""
    plate = placed("plate", "white", "plane = { size = [0.5, 0.5] }", "position = [0, 0, 40]")
    text = EVEN + matt("grey", 0.4) + matt("white", 0.8) + GROUND + plate
    up = np.array([[0.0, 0, -1, 0, 1, 0, 1, 0, 0, 0, 0, 39.0]])
    found = radiance(tmp_path, text, up, rays=64)
    wanted = 0.8 * 0.4 / math.pi * (2.0 + math.pi * 0.3)
    assert found.mean() == pytest.approx(wanted, rel=2e-3)  # but for its own small shadow


def test_a_bounce_is_as_bright_at_any_height(tmp_path: Path):
    """The scene before, all of it 7 m higher: what bounces starts at the ground, wherever it is."""
    ground = placed("ground", "grey", "plane = { size = [2000, 2000] }", "position = [0, 0, 7]")
    plate = placed("plate", "white", "plane = { size = [0.5, 0.5] }", "position = [0, 0, 47]")
    text = EVEN + matt("grey", 0.4) + matt("white", 0.8) + ground + plate
    up = np.array([[0.0, 0, -1, 0, 1, 0, 1, 0, 0, 0, 0, 46.0]])
    found = radiance(tmp_path, text, up, rays=64)
    wanted = 0.8 * 0.4 / math.pi * (2.0 + math.pi * 0.3)
    assert found.mean() == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_rough_base_is_brighter_where_the_sun_is_behind_the_viewer(tmp_path: Path, side):
    """Fujii's form of Oren and Nayar, without a top layer: sun at 60 degrees, viewer at 45."""
    sun, share, variance = (side * math.sin(math.radians(60.0)), 0.0, 0.5), 0.5, 0.5**2
    text = (
        EVEN.replace("[0, 0, 1]", str(list(sun))).replace("0.3]", "0.0]")
        + '[materials.grey]\nkind = "two_layer"\nsource = "estimate"\nsurface = [{'
        + f" diffuse_reflectance = {share}, ior = 1.0, roughness_oren_nayar = 0.5 }}]\n"
        + GROUND
    )
    c = math.sqrt(0.5)  # looks down to -x from above +x
    pose = np.array([[-c, 0, -c, 0, -1, 0, -c, 0, c, 5.0, 0, 5.0]])
    found = radiance(tmp_path, text, pose)
    s = side * c * math.sin(math.radians(60.0))
    t = max(0.5, c) if s > 0.0 else 1.0
    a = 1.0 - 0.5 * variance / (variance + 0.33) + 0.17 * share * variance / (variance + 0.13)
    b = 0.45 * variance / (variance + 0.09)
    wanted = share / math.pi * 2.0 * 0.5 * (a + b * s / t)
    assert found.mean() == pytest.approx(wanted, rel=0.01)


@pytest.mark.parametrize("looks_up", [False, True])
def test_the_ground_below_the_horizon_is_that_of_a_fifth(tmp_path: Path, looks_up):
    level = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 2.0]])
    found = radiance(tmp_path, EVEN, level, sky_at_bounce=looks_up)
    np.testing.assert_allclose(found[:4], 0.3, rtol=1e-5)
    np.testing.assert_allclose(found[4:], 0.2 / math.pi * (2.0 + math.pi * 0.3), rtol=1e-5)


def test_a_mirror_shows_what_is_before_it(tmp_path: Path):
    """A wall in the mirror is as bright as the wall, but for Fresnel's share and the tint."""
    mirror = """
[materials.silver]
kind = "two_layer"
color = [0.9, 0.9, 0.9]
source = "estimate"
surface = [
  { diffuse_reflectance = 0, ior = 0.15, extinction = 3.6, roughness_beckmann = 0.0001 },
]
"""
    parts = placed("mirror", "silver", "box = { size = [0.1, 4, 4] }", "position = [3.05, 0, 2]")
    wall = placed("wall", "grey", "box = { size = [0.1, 40, 40] }", "position = [-5, 0, 2]")
    text = EVEN + matt("grey", 0.5) + mirror + parts + wall
    text = text.replace("sun_direction = [0, 0, 1]", "sun_direction = [1, 0, 1]")
    level = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 2.0]])
    behind = np.array([[-1.0, 0, 0, 0, -1, 0, 0, 0, 1, 0, 0, 2.0]])
    direct = radiance(tmp_path, text, behind, rays=256).mean()
    # S of a mirror is that of its entry for all light: 0 diffuse; so its colour counts.
    found = radiance(tmp_path, text, level, rays=256).mean()
    whole = reflectance(1.0, 0.15, 3.6, 1.0)
    gray = float(linear_color((0.9,) * 3)[0])
    assert found == pytest.approx(direct * whole * min(1.0, gray / whole), rel=0.02)


@pytest.mark.parametrize(("ior", "extinction"), [(0.96, 6.69), (0.15, 3.6), (2.9, 3.1)])
def test_a_metal_without_a_colour_is_as_bright_as_its_n_and_k_say(tmp_path: Path, ior, extinction):
    """At right angles R0 = ((n - 1)^2 + k^2) / ((n + 1)^2 + k^2): 0.91 of aluminium, not 0.24."""
    metal = f"""
[materials.bare]
kind = "two_layer"
source = "estimate"
[[materials.bare.surface]]
diffuse_reflectance = 0
ior = {ior}
extinction = {extinction}
roughness_beckmann = 0.0001
"""
    parts = placed("mirror", "bare", "box = { size = [0.1, 4, 4] }", "position = [3.05, 0, 2]")
    wall = placed("wall", "grey", "box = { size = [0.1, 40, 40] }", "position = [-5, 0, 2]")
    text = EVEN + matt("grey", 0.5) + metal + parts + wall
    text = text.replace("sun_direction = [0, 0, 1]", "sun_direction = [1, 0, 1]")
    level = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 2.0]])
    behind = np.array([[-1.0, 0, 0, 0, -1, 0, 0, 0, 1, 0, 0, 2.0]])
    direct = radiance(tmp_path, text, behind, rays=256).mean()
    wanted = ((ior - 1.0) ** 2 + extinction**2) / ((ior + 1.0) ** 2 + extinction**2)
    found = radiance(tmp_path, text, level, rays=256).mean()
    assert found / direct == pytest.approx(wanted, rel=0.02)
    # Where light bounces off it the metal counts as a matt surface of the same share.
    scene = load_scene(write_manifest(tmp_path, text))
    (bare,) = [m for m in scene.materials if m.name == "bare"]
    np.testing.assert_allclose(linear_color(shown_color(bare)), wanted, rtol=1e-6)
    places = np.array([400e-9, 550e-9, 700e-9])
    np.testing.assert_allclose(spectrum_of(bare, places), wanted, rtol=1e-6)


def test_a_closed_room_is_dark(tmp_path: Path):
    """Neither sun nor sky come in, by default."""
    room = ""
    for k, (size, place) in enumerate(
        [((0.1, 6, 6), (3, 0, 2)), ((0.1, 6, 6), (-3, 0, 2)), ((6, 0.1, 6), (0, 3, 2)),
         ((6, 0.1, 6), (0, -3, 2)), ((6, 6, 0.1), (0, 0, -1)), ((6, 6, 0.1), (0, 0, 5))]
    ):  # fmt: skip
        shape, where = f"box = {{ size = {list(size)} }}", f"position = {list(place)}"
        room += placed(f"side_{k}", "grey", shape, where)
    inside = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 2.0]])
    text = EVEN + matt("grey", 0.5) + room
    assert not radiance(tmp_path, text, inside, rays=64).any()
    # Without the rays to the sky each bounce has the whole sky above it: 0.5 x 0.3 / 2.
    open_sky = radiance(tmp_path, text, inside, rays=64, sky_at_bounce=False)
    assert open_sky.mean() == pytest.approx(0.5 * 0.5 * 0.3 * 0.5, rel=0.5)


def test_glass_takes_fresnels_share_and_its_colour(tmp_path: Path):
    glass = """
[materials.pane]
kind = "dielectric"
color = [0.5, 0.5, 0.5]
source = "estimate"
surface = [{ ior = 1.5 }]
"""
    pane = placed("pane", "pane", "box = { size = [0.8, 0.8, 0.1] }", "position = [0, 0, 3]")
    open_air = radiance(tmp_path, EVEN + matt("grey", 0.5) + GROUND, side=4).mean()
    text = EVEN + matt("grey", 0.5) + glass + GROUND + pane
    found = radiance(tmp_path, text, rays=256, side=4).mean()
    tint = float(linear_color((0.5,) * 3)[0]) ** 0.5  # of two interfaces
    # The ground below is in the shade of the pane, and the pane mirrors the sky a little.
    through = 0.96 * 0.96 * tint * (1.0 + 0.04**2)
    shaded = open_air - 0.5 / math.pi * 2.0 * (1.0 - through)
    mirrored = 0.3 * 0.04 * (1.0 + 0.96**2 * tint**2)
    assert found == pytest.approx(through * shaded + mirrored, rel=0.02)


def box_above(material: str, height: float, where: str = "") -> str:
    """A thin box between the ground and a sun straight above, wider than the picture."""
    shape = "box = { size = [4, 4, 0.1] }"
    place = f"position = [0, 0, {height}]\n{where}"
    return placed(f"{material}_{height:.0f}", material, shape, place)


@pytest.mark.parametrize("where", ["", 'body = "lift"'])
@pytest.mark.parametrize(
    ("stack", "panes"),
    [(("pane",), 1), (("pane", "pane"), 2), (("pane", "plate"), None), (("plate", "pane"), None)],
)
def test_the_sun_comes_through_glass_and_through_nothing_else(tmp_path: Path, stack, panes, where):
    """On the ground below panes and plates, in any order; a plate among them makes it dark."""
    dark_sky = EVEN.replace("300e-9, 0.3", "300e-9, 0").replace("1100e-9, 0.3", "1100e-9, 0")
    glass = """
[[bodies]]
name = "lift"
[materials.pane]
kind = "dielectric"
color = [0.5, 0.5, 0.5]
source = "estimate"
surface = [{ ior = 1.5 }]
"""
    text = dark_sky + matt("grey", 0.5) + matt("plate", 0.0) + glass + GROUND
    for number, name in enumerate(stack):
        text += box_above(name, 10.0 + 5.0 * number, where)
    found = radiance(tmp_path, text)
    tint = float(linear_color((0.5,) * 3)[0]) ** 0.5  # of two interfaces
    share = 0.0 if panes is None else (0.96**2 * tint) ** panes
    np.testing.assert_allclose(found, 0.5 / math.pi * 2.0 * share, rtol=1e-5)


def test_fog_hides_what_is_far_behind_the_light_of_the_sky(tmp_path: Path):
    fog = '[world]\nmedium = "fog"\n[media.fog]\nabsorption = 0.2\n'
    text = fog + EVEN + matt("grey", 0.5) + GROUND
    found = radiance(tmp_path, text)
    left = math.exp(-0.2 * 5.0)
    wanted = left * 0.5 / math.pi * (2.0 + math.pi * 0.3) + (1.0 - left) * 0.3
    np.testing.assert_allclose(found[3:5, 3:5], wanted, rtol=5e-3)


def test_the_sun_itself_is_as_bright_as_its_light(tmp_path: Path):
    up = np.array([[0.0, 0, -1, 0, 1, 0, 1, 0, 0, 0, 0, 1.0]])
    found = radiance(tmp_path, EVEN, up, side=1)
    assert found[0, 0] == pytest.approx(0.3 + 2.0 / 6.794e-5, rel=1e-6)


def test_a_lamp_lights_what_is_around_it(tmp_path: Path):
    lamp = """
[materials.lamp]
kind = "lambert"
source = "estimate"
surface = [{ diffuse_reflectance = 0 }]
emission = [[300e-9, 100.0], [1100e-9, 100.0]]
"""
    above = placed("lamp", "lamp", "plane = { size = [2, 2] }",
                   "position = [0, 0, 6]\nroll_pitch_yaw_deg = [180, 0, 0]")  # fmt: skip
    found = radiance(tmp_path, matt("grey", 0.5) + lamp + GROUND + above, rays=4096)
    a = 1.0 / math.hypot(1.0, 6.0)
    share = 4.0 / math.pi * a * math.atan(a)
    assert found[3:5, 3:5].mean() == pytest.approx(0.5 * 100.0 * share, rel=0.02)
    up = np.array([[0.0, 0, -1, 0, 1, 0, 1, 0, 0, 0, 0, 1.0]])
    direct = radiance(tmp_path, matt("grey", 0.5) + lamp + GROUND + above, up, side=2)
    np.testing.assert_allclose(direct, 100.0, rtol=1e-5)


def test_a_rough_metal_sends_the_light_of_the_sky_back(tmp_path: Path):
    """Under a sky all around and no sun, single scattering leaves 0.763 of it (PHYSICS 6)."""
    metal = """
[materials.metal]
kind = "two_layer"
color = [1, 1, 1]
source = "estimate"
surface = [
  { diffuse_reflectance = 0, ior = 0.001, extinction = 60, roughness_beckmann = 0.3 },
]
"""
    plate = placed("plate", "metal", "plane = { size = [8, 8] }")
    text = EVEN.replace("2.0]", "0.0]") + metal + plate
    found = radiance(tmp_path, text, rays=256)[3:5, 3:5].mean()
    assert found == pytest.approx(0.3 * 0.76288, rel=0.01)


def test_a_scene_without_light_is_dark(tmp_path: Path):
    scene = load_scene(write_manifest(tmp_path, matt("grey", 0.5) + GROUND))
    assert Scenery(scene, [500e-9, 600e-9]).is_dark
    assert not Scenery(load_scene("yard"), [500e-9, 600e-9]).is_dark


@pytest.mark.acceptance("EXP-1")
def test_edges_that_move_blur_over_the_exposure_and_lean_by_the_rows(tmp_path: Path):
    """A wall's edge at 500 px/s: 5 px in 10 ms; 768 rows of 20 us lean by 7.67 px."""
    lamp = """
[materials.lamp]
kind = "lambert"
source = "estimate"
surface = [{ diffuse_reflectance = 0 }]
emission = [[300e-9, 1.0], [1100e-9, 1.0]]
[[bodies]]
name = "wall"
"""
    wall = placed("wall", "lamp", "box = { size = [0.1, 20, 20] }",
                  'position = [10.05, -10, 0]\nbody = "wall"')  # fmt: skip
    scene = load_scene(write_manifest(tmp_path, lamp + wall))
    level = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0.0]])
    speed = 500.0 * 10.0 / 100.0  # m/s toward +y, so the edge moves to the left

    def picture(time: float, **chosen) -> np.ndarray:
        optics = OpticsParameters(width=40, height=768, intrinsics=(100.0, 4000.0, 20.0, 384.0))
        camera = CcdCamera(
            optics, PictureParameters(bands=1, exposure_time=time, **chosen),
            light=LightParameters(rays=1),
        )  # fmt: skip
        duration = camera.duration(time)
        poses = np.array([[[0, 0, 0, 1, 0, 0, 0]], [[0, speed * duration, 0, 1, 0, 0, 0]]], float)
        moving = MovingBodies(poses, 0, 1) if duration > 0.0 else None
        with RayScene(scene) as rays:
            seen = camera.expose(rays, np.repeat(level, 2, axis=0), exposure_time=time,
                                 moving=moving)  # fmt: skip
        return seen.light[:, :, 0] / camera.response.sum()

    blurred = picture(0.01, motion_samples=64).mean(axis=0)
    # A ramp from light at the right of where it began to dark at the left of where it ended.
    inside = np.flatnonzero((blurred > 0.02) & (blurred < 0.98))
    ramp = np.polyfit(inside[1:-1], blurred[inside[1:-1]], 1)[0]
    assert 1.0 / ramp == pytest.approx(5.0, abs=0.1)
    rows = picture(0.01, shutter=1, line_time=20e-6)
    edge = rows.shape[1] - rows.sum(axis=1)
    lean = np.polyfit(np.arange(768), edge, 1)[0] * 767
    assert lean == pytest.approx(-7.67, abs=0.2)
