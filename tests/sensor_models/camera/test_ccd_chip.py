"""The chip of the CCD camera: from light to digital numbers."""

import math

import numpy as np
import pytest
from scipy import stats

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.mosaic import demosaiced
from sensor_models.camera.ccd.parameters import (
    RAW,
    Bayer,
    ChipParameters,
    FilterParameters,
    OpticsParameters,
    PictureParameters,
    SensorModel,
)
from sensor_models.camera.ccd.responses import (
    curve_of,
    electrons_per_joule,
    responses,
    trapezoid,
    wavelengths_of,
)
from sensor_models.camera.ccd.thermal import ThermalParameters
from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.camera.ccd.chip import poisson
from sensor_models.scene.tracing import RayScene
from tests.smallest_scene import smallest_scene

EMVA = ChipParameters(model=SensorModel.emva, dark_current=0.0)
SIDE = 100


@pytest.fixture(scope="module")
def rays():
    with RayScene(smallest_scene(), threads=2) as opened:
        yield opened


def numbers_of(rays, light, frame=0, sensor=EMVA, flat=True, seed=0, **picture):
    """Digital numbers of electrons per second (or W/m2), all pixels the same or as given."""
    given = np.asarray(light, float)
    shape = (SIDE, SIDE) if given.ndim == 0 else given.shape[:2]
    picture = {"bands": 1, "exposure_time": 1.0, **picture}
    optics = OpticsParameters(width=shape[1], height=shape[0])
    camera = CcdCamera(optics, PictureParameters(**picture), sensor, colors=RAW, seed=seed)
    if flat:
        camera.vignette[:] = 1.0
    image = np.broadcast_to(given.reshape(*given.shape[:2], -1), (*shape, picture["bands"]))
    developed, lost = camera.develop(rays.pool, image.astype(np.float32), frame)
    assert lost == np.count_nonzero(~np.isfinite(image))
    return developed[:, :, 0] if developed.shape[2] == 1 else developed


@pytest.mark.parametrize("sensor", [ChipParameters(), EMVA], ids=["relative", "emva"])
def test_a_picture_of_even_light_is_darker_where_the_lens_lets_less_through(rays, sensor):
    optics = OpticsParameters(width=SIDE, height=SIDE)
    camera = CcdCamera(optics, PictureParameters(bands=1, exposure_time=1.0), sensor, colors=RAW)
    light = 0.8 if sensor.model == SensorModel.relative else 8_000.0
    full = np.full((SIDE, SIDE, 1), light, np.float32)
    bright = numbers_of(rays, light, sensor=sensor)
    found, _ = camera.develop(rays.pool, full, 0)
    dark = numbers_of(rays, 0.0, sensor=sensor).mean()
    share = (found[:, :, 0] - dark) / (bright.mean() - dark)
    vignette = camera.vignette.reshape(SIDE, SIDE)
    assert vignette.min() < 0.8
    # a number is rounded, and one of the chip's has the noise of 8,000 electrons at most
    allowed = 1.0 / bright.mean() if sensor.model == SensorModel.relative else 0.06
    np.testing.assert_allclose(share, vignette, atol=allowed)


@pytest.mark.acceptance("CCD-7", "CCD-8")
def test_gain_gamma_and_rounding(rays):
    relative, light = ChipParameters(), np.array([[0.25, 0.5, 1.0, 1.2]])
    assert numbers_of(rays, light, sensor=relative, gamma=0.5).tolist() == [[128, 180, 255, 255]]
    found = numbers_of(rays, light, sensor=relative, gamma=0.5, gain=1.5)
    assert found.tolist() == [[156, 221, 255, 255]]
    found = numbers_of(rays, [[0.5 * 0.64]], sensor=relative, gamma=0.5, gain=1.2)
    assert found.tolist() == [[158]]
    assert numbers_of(rays, [[math.nan, 0.5]], sensor=relative).tolist() == [[0, 128]]


@pytest.mark.acceptance("CCD-9", "CCD-10")
def test_bands_are_integrals_of_spectrum_filter_and_response():
    places = np.linspace(400e-9, 700e-9, 3001)
    band = responses(1, (FilterParameters(center=550e-9, width=30e-9),), places)[0]
    assert 1e9 * (trapezoid(places) @ band) == pytest.approx(75.199, rel=1e-4)
    response = np.interp(places, [400e-9, 700e-9], [0.5, 1.0])
    assert 1e9 * (trapezoid(places) @ (band * response)) == pytest.approx(56.399, rel=1e-4)
    coarse = wavelengths_of(True, ThermalParameters())  # what the camera takes
    band = responses(1, (FilterParameters(center=550e-9, width=30e-9),), coarse)[0]
    assert 1e9 * (trapezoid(coarse) @ band) == pytest.approx(75.199, rel=1e-4)


@pytest.mark.acceptance("EMVA-1", "EMVA-2")
def test_photons_of_an_irradiance():
    def photons(irradiance, area, time, wavelength):
        per_joule = electrons_per_joule(ChipParameters(qe=1.0), np.array([wavelength]))[0]
        return irradiance * area * time * per_joule

    assert photons(1e-2, 1e-12, 1e-3, 1e-6) == pytest.approx(50.34117, abs=1e-5)
    assert photons(1.0, 4.65e-6**2, 1e-3, 550e-9) == pytest.approx(59867.60, abs=1e-2)


@pytest.mark.acceptance("EMVA-3", "EMVA-4", "EMVA-5")
@pytest.mark.parametrize(
    ("photons", "mean", "variance"),
    [(0, 100.0, 1.08333), (100, 115.0, 4.83333), (1000, 250.0, 38.58333),
     (10000, 1600.0, 376.08333), (25000, 3850.0, 938.58333)],
)  # fmt: skip
def test_mean_and_variance_of_the_default_chip(rays, photons, mean, variance):
    electrons = 0.6 * photons
    # A full well of 15000 electrons is the last mean: the draws above it are cut off.
    sensor = ChipParameters(model=SensorModel.emva, dark_current=0.0, full_well=1e6)
    found = numbers_of(rays, electrons, sensor=sensor).astype(float)
    assert 0.25**2 * (16.0 + electrons) + 1.0 / 12.0 == pytest.approx(variance, abs=1e-5)
    clipped = stats.norm(mean, math.sqrt(variance)).sf(4095.5)
    assert clipped < 1e-13
    assert found.mean() == pytest.approx(mean, abs=4.0 * math.sqrt(variance / found.size))
    assert found.var() == pytest.approx(variance, rel=0.06)  # 4 sigma of 1e4 draws
    if photons in (100, 1000, 10000):
        snr = electrons / math.sqrt(16.0 + 1.0 / 12.0 / 0.25**2 + electrons)
        wanted = {100: 6.82288, 1000: 24.14857, 10000: 77.34802}[photons]
        assert snr == pytest.approx(wanted, abs=1e-5)
        measured = (found.mean() - 100.0) / found.std()
        assert measured == pytest.approx(wanted, rel=0.03)


@pytest.mark.acceptance("EMVA-6")
def test_limits_of_the_default_chip():
    noise = 16.0 + 1.0 / 12.0 / 0.25**2
    least = (math.sqrt(noise + 0.25) + 0.5) / 0.6
    most = EMVA.full_well / 0.6
    assert least == pytest.approx(7.82208, abs=1e-5)
    assert most == 25000.0
    assert 20.0 * math.log10(most / least) == pytest.approx(70.092, abs=1e-3)
    assert 20.0 * math.log10(math.sqrt(EMVA.full_well)) == pytest.approx(41.761, abs=1e-3)


@pytest.mark.acceptance("EMVA-7")
def test_photon_transfer_of_the_chip(rays):
    """Two images a level, by differences, as the standard has it."""
    means, variances = [], []
    levels = np.linspace(0.02, 0.7, 20) * EMVA.full_well
    for number, electrons in enumerate((0.0, *levels)):
        light = np.full((400, 500), electrons)
        one, two = (numbers_of(rays, light, 2 * number + k).astype(float) for k in (0, 1))
        means.append(0.5 * (one.mean() + two.mean()))
        variances.append(0.5 * (one - two).var())
    slope = np.polyfit(np.array(means) - means[0], np.array(variances) - variances[0], 1)[0]
    assert slope / 0.25 == pytest.approx(1.0, rel=0.01)
    assert math.sqrt(variances[0]) == pytest.approx(1.0408, rel=0.01)
    gain = np.polyfit(levels / 0.6, np.array(means[1:]) - means[0], 1)[0]
    assert gain / slope == pytest.approx(0.6, rel=0.01)


@pytest.mark.acceptance("EMVA-8")
def test_above_the_full_well_nothing_varies(rays):
    found = numbers_of(rays, 1.2 * EMVA.full_well)
    assert found.var() == 0.0
    assert found[0, 0] == 3850


@pytest.mark.acceptance("EMVA-10")
@pytest.mark.parametrize("mean", [25.0, 64.0, 1000.0, 3e5])
def test_poisson_draws_of_even_numbers(mean):
    count = 1_000_000
    draws = (np.arange(count) + 0.5) / count
    found = np.array([poisson(mean, draw) for draw in draws])
    assert found.var() / mean == pytest.approx(1.0, abs=1e-4)
    some = draws[:: count // 2000]
    assert np.abs([poisson(mean, u) for u in some] - stats.poisson(mean).ppf(some)).max() <= 1.0


@pytest.mark.parametrize("mean", [0.3, 3.0, 24.9])
def test_small_poisson_draws_are_the_quantiles(mean):
    draws = (np.arange(2000) + 0.5) / 2000
    found = [poisson(mean, draw) for draw in draws]
    np.testing.assert_array_equal(found, stats.poisson(mean).ppf(draws))


def test_dark_current_doubles_with_the_temperature(rays):
    sensor = ChipParameters(model=SensorModel.emva, dark_current=500.0, read_noise=0.0)
    cool, warm, hot = (
        numbers_of(rays, 0.0, sensor=sensor, temperature=298.15 + k).mean() - 100.0
        for k in (0.0, 8.0, 16.0)
    )
    assert cool == pytest.approx(125.0, abs=1.0)
    assert warm == pytest.approx(250.0, abs=1.0)
    assert hot == pytest.approx(500.0, abs=1.5)


def test_the_fixed_pattern_is_of_the_seed_and_stays(rays):
    sensor = ChipParameters(
        model=SensorModel.emva, dark_current=0.0, read_noise=0.0, dsnu=40.0, prnu=0.1
    )
    means = [
        np.mean([numbers_of(rays, 4000.0, k, sensor, seed=seed) for k in range(30)], axis=0)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(means[0], means[1])
    assert abs(np.corrcoef(means[0].ravel(), means[2].ravel())[0, 1]) < 0.05
    spread = 0.25 * math.hypot(40.0, 400.0)
    assert means[0].std() == pytest.approx(
        math.hypot(spread, 0.25 * math.sqrt(4000 / 30)), rel=0.05
    )


@pytest.mark.parametrize("dark_current", [0.0, 2.0])
def test_the_fixed_pattern_of_dark_frames_is_the_one_that_is_set(rays, dark_current):
    """Its spread over the pixels, by the method of EMVA 1288: that of means over many frames."""
    sensor = ChipParameters(
        model=SensorModel.emva, dark_current=dark_current, read_noise=4.0, dsnu=3.0
    )
    frames = 100
    stack = [numbers_of(rays, 0.0, k, sensor).astype(float) for k in range(frames)]
    mean = np.mean(stack, axis=0)
    left = np.var(stack, axis=0, ddof=1).mean() / frames  # what noise leaves in the means
    measured = math.sqrt(mean.var() - left) / sensor.system_gain
    assert measured == pytest.approx(3.0, rel=0.05)
    level = sensor.black_level + sensor.system_gain * dark_current
    assert mean.mean() == pytest.approx(level, abs=4.0 * 0.25 * 3.0 / SIDE)


def test_noise_differs_from_frame_to_frame_and_by_seed_only(rays):
    first = numbers_of(rays, 1000.0)
    np.testing.assert_array_equal(numbers_of(rays, 1000.0), first)
    assert (numbers_of(rays, 1000.0, 1) != first).mean() > 0.8
    assert (numbers_of(rays, 1000.0, seed=1) != first).mean() > 0.8


def test_a_mosaic_has_its_colours_in_their_places(rays):
    light = np.broadcast_to((0.2, 0.4, 0.8), (4, 6, 3))
    raw = numbers_of(rays, light, sensor=ChipParameters(), bands=3, bayer=Bayer.rggb)
    red, green, blue = 51, 102, 204
    np.testing.assert_array_equal(raw[::2, ::2], red)
    np.testing.assert_array_equal(raw[1::2, 1::2], blue)
    np.testing.assert_array_equal(raw[::2, 1::2], green)
    for bayer, cell in (
        (Bayer.bggr, (blue, green, green, red)),
        (Bayer.grbg, (green, red, blue, green)),
        (Bayer.gbrg, (green, blue, red, green)),
    ):
        raw = numbers_of(rays, light, sensor=ChipParameters(), bands=3, bayer=bayer)
        assert tuple(raw[:2, :2].ravel()) == cell
        whole = numbers_of(
            rays, light, sensor=ChipParameters(), bands=3, bayer=bayer, demosaic=True
        )
        np.testing.assert_array_equal(whole, np.broadcast_to((red, green, blue), (4, 6, 3)))


def test_demosaic_is_bilinear():
    random = np.random.default_rng(4)
    raw = random.integers(0, 4096, (8, 10))
    found = demosaiced(raw, Bayer.rggb)
    # At a red pixel: green of its four neighbours, blue of the four at its corners.
    green = np.mean([raw[3, 4], raw[5, 4], raw[4, 3], raw[4, 5]])
    blue = np.mean([raw[3, 3], raw[3, 5], raw[5, 3], raw[5, 5]])
    assert tuple(found[4, 4]) == (raw[4, 4], green, blue)
    assert found[4, 5, 0] == (raw[4, 4] + raw[4, 6]) / 2


def test_curves_are_pairs():
    np.testing.assert_allclose(curve_of("400:0.2, 700:0.5", "x"), [[4e-7, 0.2], [7e-7, 0.5]])
    for wrong in ("400", "700:0.1 400:0.2", "400:0.1 500:1.5", "a:b c:d", "400:-0.1 500:0.2"):
        with pytest.raises(ParameterError, match=r"sensor.qe_curve = .* is no curve"):
            curve_of(wrong, "sensor.qe_curve")
