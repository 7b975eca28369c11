"""Thermal pictures against Planck's and Kirchhoff's laws."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expn

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import (
    Bayer,
    ChipParameters,
    LightParameters,
    OpticsParameters,
    PictureParameters,
    SensorModel,
    Sharing,
)
from sensor_models.camera.ccd.thermal import ThermalOutput, ThermalParameters
from sensor_models.core.quantities import ParameterError
from sensor_models.light.thermal import OF_GLASS, OF_METAL, USUAL, emissivity_of, mean_share
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.materials import material_library
from sensor_models.scene.planck import band_radiance
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.camera.test_ccd_mitsuba import looking
from tests.sensor_models.scene_files import write_manifest

LOWER, UPPER = 8e-6, 14e-6
AIR = 290.0
#: A sky that is black and as warm as the air.
CLOUDS = f'[sky]\npreset = "overcast"\nair_temperature = {AIR}\n'
MATERIAL = """
[materials.NAME]
kind = "KIND"
source = "estimate"
surface = [{ wavelength = 905e-9, NUMBERS }]
OTHERS
"""


def radiance(temperature: float, lower: float = LOWER, upper: float = UPPER) -> float:
    """Of a black body between two wavelengths by SciPy, W/m2/sr; CODATA 2018."""
    h, k, c = 6.62607015e-34, 1.380649e-23, 299792458.0

    def law(micrometres: float) -> float:
        wavelength = 1e-6 * micrometres
        exponent = h * c / (wavelength * k * temperature)
        return 2e-6 * h * c * c / wavelength**5 / math.expm1(exponent)

    return float(quad(law, 1e6 * lower, 1e6 * upper, epsrel=1e-12)[0])


def matt(name: str = "matt", **others: float) -> str:
    lines = "\n".join(f"{key} = {value}" for key, value in others.items())
    text = MATERIAL.replace("KIND", "lambert").replace("NAME", name)
    return text.replace("NUMBERS", "diffuse_reflectance = 0.5").replace("OTHERS", lines)


def metal(name: str = "metal", rough: float = 1e-3, **others: float) -> str:
    lines = "\n".join(f"{key} = {value}" for key, value in others.items())
    text = MATERIAL.replace("KIND", "two_layer").replace("NAME", name)
    numbers = f"ior = 1.2, extinction = 7, diffuse_reflectance = 0, roughness_beckmann = {rough}"
    return text.replace("NUMBERS", numbers).replace("OTHERS", lines)


def placed(mesh: str, material: str, shape: str, place: str = "") -> str:
    head = f'[meshes.{mesh}]\n{shape}\nmaterial = "{material}"\n'
    return f'{head}[[instances]]\nmesh = "{mesh}"\n{place}\n'


PLATE = "plane = { size = [4, 4] }"


def camera_of(size: int = 12, angle: float = 6.0, rays: int = 16, **others) -> CcdCamera:
    focal = size / 2.0 / math.tan(math.radians(angle / 2.0))
    optics = OpticsParameters(width=size, height=size, intrinsics=(focal, focal, 0.0, 0.0))
    given = {"picture": PictureParameters(bands=1, bit_depth=16), **others}
    thermal = given.pop("thermal", ThermalParameters(on=True))
    return CcdCamera(
        optics, light=LightParameters(rays=rays, sharing=Sharing.none), thermal=thermal, **given
    )


def seen_by(
    camera: CcdCamera, path: Path, eye: list[float], target: list[float] | None = None
) -> np.ndarray:
    """The radiance of each pixel in the band, W/m2/sr."""
    pose = looking(np.array(eye), np.array(target or [0.0, 1e-6, 0.0]))
    with RayScene(load_scene(path), threads=2) as rays:
        seen = camera.expose(rays, pose)
    lens = math.pi * camera.optics.lens_transmission / (4.0 * camera.optics.stops**2)
    return seen.light[:, :, 0].astype(float) / lens


def test_the_band_integral_is_that_of_plancks_law() -> None:
    for temperature in (150.0, 220.0, 290.0, 310.0, 400.0, 1000.0):
        wanted = radiance(temperature)
        assert band_radiance(LOWER, UPPER, temperature) == pytest.approx(wanted, rel=1e-9)
        camera = camera_of(size=1)
        light = np.full((1, 1, 1), wanted * math.pi * 0.9 / (4.0 * 2.0**2), np.float32)
        assert camera.heat.apparent(light)[0, 0, 0] == pytest.approx(temperature, abs=2e-3)


@pytest.mark.parametrize("emissivity", [0.0, 0.3, 0.95, 1.0])
@pytest.mark.parametrize("temperature", [250.0, 310.0])
def test_a_grey_body_before_an_even_surround(
    tmp_path: Path, emissivity: float, temperature: float
) -> None:
    """L = ε B(T) + (1 - ε) B(surround), for matt bodies and mirrors."""
    wanted = emissivity * radiance(temperature) + (1.0 - emissivity) * radiance(AIR)
    for name, material in (("matt", matt), ("metal", metal)):
        text = CLOUDS + material(temperature=temperature, emissivity=emissivity)
        path = write_manifest(tmp_path, text + placed("plate", name, PLATE))
        found = seen_by(camera_of(), path, [0.3, -3.0, 4.0])
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_all_is_alike_where_all_is_as_warm(tmp_path: Path) -> None:
    """Kirchhoff: in a room of one temperature emissivities do not tell, nor do corners."""
    parts = [
        matt("floor", emissivity=0.5),
        matt("wall", emissivity=0.9),
        metal("mirror", emissivity=0.05),
        placed("floor", "floor", "box = { size = [6, 6, 0.2] }"),
        placed("wall", "wall", "box = { size = [6, 0.2, 6] }", "position = [0, 2, 0]"),
        placed("side", "mirror", "box = { size = [0.2, 6, 6] }", "position = [2, 0, 0]"),
        placed("pane", "glass", "box = { size = [1, 0.02, 1] }", "position = [0.5, 1, 0.7]"),
    ]
    path = write_manifest(tmp_path, CLOUDS + "".join(parts))
    found = seen_by(camera_of(24, 60.0), path, [-1.5, -2.0, 1.2], [1.5, 2.0, 0.6])
    np.testing.assert_allclose(found, radiance(AIR), rtol=1e-5)


def test_a_plate_shows_the_sky_that_it_mirrors(tmp_path: Path) -> None:
    """At the height that the mirrored way has; a matt one shows the mean by the cosine law."""
    zenith = 230.0
    sky = f'[sky]\npreset = "clear"\nair_temperature = {AIR}\nzenith_temperature = {zenith}\n'
    share = radiance(zenith) / radiance(AIR)
    for height in (10.0, 30.0, 60.0, 85.0):
        angle = math.radians(height)
        eye = [0.0, -5.0 * math.cos(angle), 5.0 * math.sin(angle)]
        text = sky + metal(emissivity=0.2, temperature=300.0)
        path = write_manifest(tmp_path, text + placed("plate", "metal", PLATE))
        found = seen_by(camera_of(2, 0.01), path, eye)
        above = radiance(AIR) * (1.0 - (1.0 - share) ** (1.0 / math.sin(angle)))
        wanted = 0.2 * radiance(300.0) + 0.8 * above
        # The coat blurs by a tenth of a degree, over which the sky at 10 degrees is not linear.
        np.testing.assert_allclose(found, wanted, rtol=2e-3 if height < 20.0 else 3e-4)
    text = sky + matt(emissivity=0.2, temperature=300.0)
    path = write_manifest(tmp_path, text + placed("plate", "matt", PLATE))
    found = seen_by(camera_of(rays=4096), path, [0.0, -3.0, 4.0])
    mean = 1.0 - 2.0 * float(expn(3, -math.log(1.0 - share)))
    assert mean_share(1.0 - share) == pytest.approx(mean, rel=1e-6)
    wanted = 0.2 * radiance(300.0) + 0.8 * radiance(AIR) * mean
    assert found.mean() == pytest.approx(wanted, rel=1e-4)


def test_the_sky_itself_is_cold_above_and_as_the_air_below(tmp_path: Path) -> None:
    sky = f'[sky]\npreset = "clear"\nair_temperature = {AIR}\nrelative_humidity = 0.5\n'
    path = write_manifest(tmp_path, sky + placed("plate", "concrete", PLATE))
    scene = load_scene(path)
    celsius = AIR - 273.15
    vapour = 0.5 * 6.112 * math.exp(17.62 * celsius / (243.12 + celsius))
    emissivity = 0.24 + 2.98e-8 * vapour**2 * math.exp(3000.0 / AIR)
    assert scene.sky.zenith_emissivity == pytest.approx(emissivity, rel=1e-12)
    up = seen_by(camera_of(2, 0.1), path, [50.0, 0.0, 1.0], [50.0, 1e-4, 9.0])
    np.testing.assert_allclose(up, emissivity * radiance(AIR), rtol=1e-5)
    for target in ([50.0, 90.0, 1.0 - 1.0], [50.0, 900.0, 1.0 + 0.01]):
        level = seen_by(camera_of(2, 1e-5), path, [50.0, 0.0, 1.0], target)
        np.testing.assert_allclose(level, radiance(AIR), rtol=1e-5)


def test_an_instance_has_a_temperature_of_its_own(tmp_path: Path) -> None:
    """And shares nothing else: rays, ids and the other sensors see what they saw."""
    places = ["position = [-3, 0, 0]\ntemperature = 320.0", "position = [3, 0, 0]"]
    text = (
        CLOUDS + matt(emissivity=1.0, temperature=300.0) + placed("plate", "matt", PLATE, places[0])
    )
    text += f'[[instances]]\nmesh = "plate"\n{places[1]}\n'
    path = write_manifest(tmp_path, text)
    scene = load_scene(path)
    assert [m.name for m in scene.materials] == ["matt", "matt at 320 K"]
    assert [len(mesh.faces) for mesh in scene.meshes] == [2, 2]
    assert scene.materials[1].at_wavelength == scene.materials[0].at_wavelength
    for x, temperature in ((-3.0, 320.0), (3.0, 300.0)):
        found = seen_by(camera_of(), path, [x, -3.0, 4.0], [x, 1e-6, 0.0])
        np.testing.assert_allclose(found, radiance(temperature), rtol=1e-5)


def test_media_shine_as_warm_as_the_air_where_their_band_holds(tmp_path: Path) -> None:
    head = '[world]\nmedium = "air"\n[media.air]\nabsorption = 0.05\n'
    body = matt(emissivity=1.0, temperature=320.0) + placed("plate", "matt", PLATE)
    for band, left in (("", math.exp(-0.05 * 5.0)), ("band = [3e-7, 2e-6]\n", 1.0)):
        path = write_manifest(tmp_path, head + band + CLOUDS + body)
        found = seen_by(camera_of(2, 1e-3), path, [0.0, -3.0, 4.0])
        wanted = left * radiance(320.0) + (1.0 - left) * radiance(AIR)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_emissivities_of_kinds() -> None:
    library = material_library()
    assert emissivity_of(library["concrete"]) == USUAL
    assert emissivity_of(library["steel"]) == OF_METAL
    assert emissivity_of(library["glass"]) == OF_GLASS


def test_the_air_of_the_camera_wins_over_that_of_the_scene(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, CLOUDS + matt() + placed("plate", "matt", PLATE))
    camera = camera_of(thermal=ThermalParameters(on=True, air_temperature=260.0))
    np.testing.assert_allclose(seen_by(camera, path, [0.3, -3.0, 4.0]), radiance(260.0), rtol=1e-5)


def developed(camera: CcdCamera, path: Path, frame: int = 0) -> np.ndarray:
    with RayScene(load_scene(path), threads=2) as rays:
        seen = camera.expose(rays, looking(np.array([0.3, -3.0, 4.0]), np.array([0.0, 1e-6, 0.0])))
        return camera.develop(rays.pool, seen.light, frame)[0]


def test_digital_numbers_are_linear_in_temperature(tmp_path: Path) -> None:
    span = {"output": ThermalOutput.temperature, "temperature": (273.15, 373.15)}
    camera = camera_of(thermal=ThermalParameters(on=True, **span))
    assert not camera.follows_light
    for temperature in (280.0, 310.0, 373.0, 400.0):
        text = CLOUDS + matt(emissivity=1.0, temperature=temperature)
        numbers = developed(camera, write_manifest(tmp_path, text + placed("p", "matt", PLATE)))
        wanted = min((temperature - 273.15) / 100.0, 1.0) * 65535.0
        np.testing.assert_allclose(numbers, wanted, atol=2.0)  # 2 of 0.0015 K each
        facts = camera.heat.facts()
        told = facts["temperature_offset"] + facts["temperature_scale"] * numbers
        np.testing.assert_allclose(told, min(temperature, 373.15), atol=3e-3)


def test_digital_numbers_are_linear_in_light(tmp_path: Path) -> None:
    """As any picture: E = π L τ / 4N² for an exposure over full scale, without a curve."""
    picture = PictureParameters(bands=1, bit_depth=16, exposure_time=1e-2, full_scale=0.2)
    camera = camera_of(picture=picture)
    text = CLOUDS + matt(emissivity=1.0, temperature=310.0) + placed("p", "matt", PLATE)
    numbers = developed(camera, write_manifest(tmp_path, text))
    light = math.pi * radiance(310.0) * 0.9 / (4.0 * 2.0**2)
    wanted = light * 1e-2 / 0.2 * 65535.0 * camera.vignette.reshape(12, 12)
    np.testing.assert_allclose(numbers[..., 0], wanted, rtol=1e-5, atol=0.51)


def test_noise_is_that_of_its_temperature(tmp_path: Path) -> None:
    netd = 0.05
    span = {"output": ThermalOutput.temperature, "temperature": (295.0, 305.0)}
    camera = camera_of(size=96, thermal=ThermalParameters(on=True, netd=netd, **span))
    text = CLOUDS + matt(emissivity=1.0, temperature=300.0) + placed("p", "matt", PLATE)
    path = write_manifest(tmp_path, text)
    found = [
        295.0 + 10.0 / 65535.0 * developed(camera, path, frame).astype(float) for frame in (0, 1)
    ]
    # 9216 pixels: the deviation is known to 0.74 %, its mean to netd / 96.
    assert found[0].std() == pytest.approx(netd, rel=0.03)
    assert found[0].mean() == pytest.approx(300.0, abs=4.0 * netd / 96.0)
    assert abs(np.corrcoef(found[0].ravel(), found[1].ravel())[0, 1]) < 0.04
    again = 295.0 + 10.0 / 65535.0 * developed(camera, path, 1).astype(float)
    np.testing.assert_array_equal(again, found[1])


def test_what_a_thermal_camera_has_not_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"bayer = rggb is not for thermal\.on"):
        camera_of(picture=PictureParameters(bands=3, bayer=Bayer.rggb))
    span = ThermalParameters(on=True, output=ThermalOutput.temperature)
    with pytest.raises(ParameterError, match=r"needs sensor\.model = relative"):
        camera_of(thermal=span, sensor=ChipParameters(model=SensorModel.emva))
    with pytest.raises(ParameterError, match=r"thermal\.wavelength\.lower = 1\.4e-05 is not below"):
        ThermalParameters(wavelength=(14e-6, 8e-6))
    with pytest.raises(ParameterError, match=r"thermal\.temperature\.lower = 300 is not below"):
        ThermalParameters(temperature=(300.0, 300.0))
