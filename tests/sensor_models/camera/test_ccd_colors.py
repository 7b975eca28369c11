"""Pictures as people see them: white balance, colour matrix and tone of the CCD camera."""

import math

import numpy as np
import pytest

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.colors import CHART, balance, color_difference, lab
from sensor_models.camera.ccd.parameters import (
    RAW,
    Bayer,
    ChipParameters,
    ColorMatrix,
    ColorParameters,
    FilterParameters,
    LightParameters,
    OpticsParameters,
    PictureParameters,
    SensorModel,
    Tone,
    WhiteBalance,
)
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.scene_files import write_manifest
from tests.smallest_scene import smallest_scene

EMVA = ChipParameters(model=SensorModel.emva, dark_current=0.0, read_noise=0.0)
#: Pairs of Lab colours and their ΔE: the test data of Sharma, Wu and Dalal 2005, table 1.
PAIRS = """
50 2.6772 -79.7751 50 0 -82.7485 2.0425
50 3.1571 -77.2803 50 0 -82.7485 2.8615
50 2.8361 -74.0200 50 0 -82.7485 3.4412
50 -1.3802 -84.2814 50 0 -82.7485 1.0000
50 -1.1848 -84.8006 50 0 -82.7485 1.0000
50 -0.9009 -85.5211 50 0 -82.7485 1.0000
50 0 0 50 -1 2 2.3669
50 -1 2 50 0 0 2.3669
50 2.49 -0.001 50 -2.49 0.0009 7.1792
50 2.49 -0.001 50 -2.49 0.0010 7.1792
50 2.49 -0.001 50 -2.49 0.0011 7.2195
50 2.49 -0.001 50 -2.49 0.0012 7.2195
50 -0.001 2.49 50 0.0009 -2.49 4.8045
50 -0.001 2.49 50 0.0010 -2.49 4.8045
50 -0.001 2.49 50 0.0011 -2.49 4.7461
50 2.5 0 50 0 -2.5 4.3065
50 2.5 0 73 25 -18 27.1492
50 2.5 0 61 -5 29 22.8977
50 2.5 0 56 -27 -3 31.9030
50 2.5 0 58 24 15 19.4535
50 2.5 0 50 3.1736 0.5854 1.0000
50 2.5 0 50 3.2972 0 1.0000
50 2.5 0 50 1.8634 0.5757 1.0000
50 2.5 0 50 3.2592 0.3350 1.0000
60.2574 -34.0099 36.2677 60.4626 -34.1751 39.4387 1.2644
63.0109 -31.0961 -5.8663 62.8187 -29.7946 -4.0864 1.2630
61.2901 3.7196 -5.3901 61.4292 2.2480 -4.9620 1.8731
35.0831 -44.1164 3.7933 35.0232 -40.0716 1.5901 1.8645
22.7233 20.0904 -46.6940 23.0331 14.9730 -42.5619 2.0373
36.4612 47.8580 18.3852 36.2715 50.5065 21.2231 1.4146
90.8027 -2.0831 1.4410 91.1528 -1.6435 0.0447 1.4441
90.9257 -0.5406 -0.9208 88.6381 -0.8985 -0.7239 1.5381
6.7747 -0.2908 -2.4247 5.8714 -0.0985 -2.2286 0.6377
2.0776 0.0795 -1.1350 0.9033 -0.0636 -0.5514 0.9082
"""


def test_color_differences_are_those_of_the_published_pairs():
    pairs = np.array([line.split() for line in PAIRS.strip().splitlines()], float)
    assert len(pairs) == 34
    first, second, wanted = pairs[:, :3], pairs[:, 3:6], pairs[:, 6]
    np.testing.assert_allclose(color_difference(first, second), wanted, atol=5e-5)
    np.testing.assert_allclose(color_difference(second, first), wanted, atol=5e-5)


def test_lab_of_the_primaries():
    """Of sRGB under D65, as many tables have them."""
    found = lab([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    wanted = [
        [100.0, 0.0, 0.0], [53.24, 80.09, 67.20], [87.73, -86.18, 83.18], [32.30, 79.19, -107.86],
    ]  # fmt: skip
    np.testing.assert_allclose(found, wanted, atol=0.02)


def linear(numbers: np.ndarray) -> np.ndarray:
    """sRGB numbers from 0 to 255 as light."""
    c = np.asarray(numbers, float) / 255.0
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def chart_scene(sun: str, tilt: float) -> str:
    """A chart of 6 x 4 patches of 0.1 m, tilted about the x axis."""
    parts = [f'[sky]\npreset = "{sun}"\nsun_direction = [0.4, -0.6, 0.7]']
    for number, patch in enumerate(CHART):
        across, down = number % 6 - 2.5, 1.5 - number // 6
        y, z = 0.1 * down * math.cos(tilt), 0.1 * down * math.sin(tilt)
        color = [round(part / 255.0, 6) for part in patch]
        parts.append(f"""
[materials.patch{number}]
kind = "lambert"
source = "estimate"
color = {color}
surface = [{{ wavelength = 905e-9, diffuse_reflectance = 0.5 }}]
[meshes.patch{number}]
box = {{ size = [0.1, 0.1, 0.001] }}
material = "patch{number}"
[[instances]]
mesh = "patch{number}"
position = [{0.1 * across}, {y}, {1.0 + z}]
roll_pitch_yaw_deg = [{math.degrees(tilt)}, 0, 0]
""")
    return "".join(parts)


def above(tilt: float) -> np.ndarray:
    """The pose of a camera 1 m from the chart that looks at it, its rows along those of it."""
    ahead = np.array([0.0, math.sin(tilt), -math.cos(tilt)])
    left = np.array([-1.0, 0.0, 0.0])
    turn = np.stack([ahead, left, np.cross(ahead, left)], axis=1)
    return np.array([[*turn.ravel(), *(np.array([0.0, 0.0, 1.0]) - ahead)]])


@pytest.mark.parametrize(
    ("sun", "tilt", "sensor", "picture"),
    [
        ("clear", 0.0, {}, {}),
        ("overcast", 0.0, {}, {}),
        ("clear", math.pi / 3.0, {}, {}),  # less sky, more sun than the grey has that is balanced
        ("clear", 0.0, {"model": SensorModel.emva}, {}),
        ("clear", 0.0, {"model": SensorModel.emva}, {"bayer": Bayer.rggb, "demosaic": True}),
        ("clear", 0.0, {"qe_curve": "400:0.3 530:0.7 700:0.35"}, {}),
    ],
    ids=["clear", "overcast", "tilted", "emva", "mosaic", "qe"],
)
def test_the_patches_of_a_chart_have_their_colors(tmp_path, sun, tilt, sensor, picture):
    """Every patch, by the numbers of the picture, against what is published of the chart.

    The exposure is set by the middle grey of the chart, as a photographer does it.
    """
    scene = load_scene(write_manifest(tmp_path, chart_scene(sun, tilt)))
    optics = OpticsParameters(width=120, height=80, intrinsics=(184.0, 184.0, 0.0, 0.0),
                              vignetting=0.0)  # fmt: skip
    camera = CcdCamera(
        optics, PictureParameters(**picture), ChipParameters(**sensor),
        light=LightParameters(rays=64), colors=ColorParameters(tone=Tone.srgb),
    )  # fmt: skip
    camera.vignette[:] = 1.0
    with RayScene(scene, threads=2) as rays:
        seen = camera.expose(rays, above(tilt))
        colors = camera.colors(seen.light, camera.day(rays))

        def patches(exposure):
            numbers, _ = camera.develop(rays.pool, seen.light, 0, exposure, colors)
            full = numbers / camera.largest
            found = []
            for number in range(24):
                row, column = 40 + 18.4 * (number // 6 - 1.5), 60 + 18.4 * (number % 6 - 2.5)
                own = np.s_[round(row) - 5 : round(row) + 5, round(column) - 5 : round(column) + 5]
                found.append(linear(255.0 * full[own].reshape(-1, 3)).mean(axis=0))
            return np.array(found)

        exposure = camera.auto_exposure().goal(camera.level_rate(seen.light, colors))
        for _ in range(3):
            exposure *= linear(121.7) / patches(exposure)[21].mean()
        found = patches(exposure)
    off = color_difference(lab(found), lab(linear(np.array(CHART))))
    assert np.median(off) <= 3.0
    assert off.max() <= 6.0
    assert colors.residual.median <= 1.0
    assert colors.residual.worst <= 4.0


def test_gains_are_those_of_grey_and_none_is_below_one():
    np.testing.assert_allclose(balance([2.0, 4.0, 1.0]), [2.0, 1.0, 4.0])
    np.testing.assert_allclose(balance([0.0, 4.0, 1.0]), [1.0, 1.0, 4.0])
    np.testing.assert_allclose(balance([0.0, 0.0, 0.0]), [1.0, 1.0, 1.0])


@pytest.fixture(scope="module")
def rays():
    with RayScene(smallest_scene(), threads=2) as opened:
        yield opened


def camera_of(colors: ColorParameters, sensor: ChipParameters, **picture) -> CcdCamera:
    own = CcdCamera(
        OpticsParameters(width=30, height=20),
        PictureParameters(**{"exposure_time": 1.0, **picture}), sensor, colors=colors,
    )  # fmt: skip
    own.vignette[:] = 1.0
    return own


def srgb(share: np.ndarray) -> np.ndarray:
    c = np.clip(share, 0.0, 1.0)
    return np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1.0 / 2.4) - 0.055)


def test_the_chain_by_its_formula(rays):
    """Gains, matrix and curve against NumPy, of light without noise."""
    gains, values = (1.5, 1.0, 2.0), (1.2, -0.1, -0.1, -0.2, 1.3, -0.1, 0.05, -0.25, 1.2)
    own = ColorParameters(
        white_balance=WhiteBalance.gains, gains=gains, color_matrix=ColorMatrix.values,
        values=values, tone=Tone.srgb,
    )  # fmt: skip
    light = np.random.default_rng(3).uniform(0.0, 1.4, (20, 30, 3)).astype(np.float32)
    camera = camera_of(own, ChipParameters())
    found, _ = camera.develop(rays.pool, light, 0)
    seen = (
        np.minimum(np.minimum(light.astype(float), 1.0) * gains, 1.0) @ np.reshape(values, (3, 3)).T
    )
    wanted = np.floor(255.0 * srgb(seen) + 0.5)
    assert np.abs(found - wanted).max() <= 1.0  # where float32 is at the edge between two
    assert np.mean(found != wanted) < 1e-3


def test_counted_pictures_lose_their_black_level(rays):
    """12 bit: a linear picture over the range that is left, without noise."""
    own = ColorParameters(
        white_balance=WhiteBalance.gains, gains=(2.0, 1.0, 1.0), color_matrix=ColorMatrix.none
    )
    camera = camera_of(own, EMVA)
    light = np.zeros((20, 30, 3), np.float32)
    light[10:] = 6000.0
    found, _ = camera.develop(rays.pool, light, 0)
    assert (found[:10] == 0).all()
    wanted = 0.25 * 6000.0 / (4095.0 - 100.0) * 4095.0
    np.testing.assert_allclose(
        found[10:].mean(axis=(0, 1)), [2.0 * wanted, wanted, wanted], rtol=2e-3
    )


@pytest.mark.parametrize("bayer", list(Bayer))
def test_raw_pictures_and_mosaics_stay_what_the_chip_has_counted(rays, bayer):
    light = np.random.default_rng(4).uniform(0.0, 9e3, (20, 30, 3)).astype(np.float32)
    raw = camera_of(RAW, EMVA, bayer=bayer)
    assert raw.processing.is_raw
    numbers, _ = raw.develop(rays.pool, light, 0)
    assert numbers.min() >= 90
    usual = camera_of(ColorParameters(), EMVA, bayer=bayer)
    if bayer == Bayer.none:
        assert not usual.processing.is_raw
    else:
        np.testing.assert_array_equal(usual.develop(rays.pool, light, 0)[0], numbers)
    assert camera_of(ColorParameters(), EMVA, bands=1).processing.is_raw
    assert camera_of(ColorParameters(), EMVA, bands=4).processing.is_raw
    assert camera_of(ColorParameters(), ChipParameters(), bands=4).processing.is_raw


def test_which_curve_is_taken(rays):
    """Of 8 bits that of sRGB, unless a gamma is given."""
    light = np.full((20, 30, 1), 0.25, np.float32)

    def number(**picture):
        tone = picture.pop("tone", Tone.by_depth)
        camera = camera_of(ColorParameters(tone=tone), ChipParameters(), bands=1, **picture)
        return int(camera.develop(rays.pool, light, 0)[0][0, 0, 0])

    assert number() == math.floor(255 * float(srgb(np.array(0.25))) + 0.5) == 137
    assert number(tone=Tone.power) == 64
    assert number(gamma=0.5) == 128
    assert number(gamma=0.5, tone=Tone.srgb) == 137
    assert number(bit_depth=12) == 1024
    assert number(bit_depth=12, tone=Tone.srgb) == math.floor(4095 * float(srgb(np.array(0.25)))
                                                             + 0.5)  # fmt: skip


def test_a_gray_world_is_gray(rays):
    own = ColorParameters(
        white_balance=WhiteBalance.gray_world, color_matrix=ColorMatrix.none, tone=Tone.power
    )
    camera = camera_of(own, ChipParameters(), bit_depth=16)
    light = np.random.default_rng(5).uniform(0.1, 0.3, (20, 30, 3)).astype(np.float32)
    light *= np.array([1.0, 0.5, 0.25], np.float32)
    found, _ = camera.develop(rays.pool, light, 0)
    means = found.mean(axis=(0, 1))
    np.testing.assert_allclose(means, means[0], rtol=0.01)


@pytest.mark.parametrize("model", list(SensorModel))
def test_what_is_white_for_the_chip_is_white_in_the_picture(rays, model):
    sensor = ChipParameters(model=model, full_well=1e6)
    camera = camera_of(ColorParameters(), sensor)
    day = np.linspace(1.0, 3.0, len(camera.wavelengths))
    light = np.full((20, 30, 3), 1e9, np.float32)
    colors = camera.colors(light, day)
    assert colors.gains.min() == 1.0
    numbers, _ = camera.develop(rays.pool, light, 0, colors=colors)
    assert (numbers == camera.largest).all()
    assert camera.saturated(numbers) == 1.0


def test_the_matrix_has_no_hue_of_its_own_and_a_band_without_light_does_no_harm(rays):
    blind = tuple(FilterParameters(center=1.5e-6, width=1e-9) for _ in range(1))
    camera = CcdCamera(OpticsParameters(width=30, height=20), filters=blind)
    colors = camera.colors(np.ones((20, 30, 3), np.float32))
    np.testing.assert_allclose(colors.matrix.sum(axis=1), 1.0, atol=1e-9)
    assert np.isfinite(colors.transform).all()
    assert colors.facts()["color_residual"]["median_delta_e"] > 1.0
