"""Exposure that follows the light: the law, its levels, and what single pictures get."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sensor_models.camera.ccd.auto_exposure import (
    AutoExposure,
    AutoExposureParameters,
    Metered,
    Metering,
    level_of,
)
from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import (
    RAW,
    Bayer,
    ChipParameters,
    FilterParameters,
    LightParameters,
    OpticsParameters,
    PictureParameters,
    SensorModel,
    WhiteBalance,
)
from sensor_models.core.quantities import ParameterError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.smallest_scene import smallest_scene

TAU = 0.3
SIZE = {"width": 48, "height": 32}
EVEN = {**SIZE, "focal_length": 10.0, "image_distance": 10.0, "f_number": 2.0}  # no vignetting


def exposures(rates, period, **parameters):
    """Those of frames whose light gives such levels per second."""
    own = AutoExposure(AutoExposureParameters(**parameters), 0.0)
    found = []
    for number, rate in enumerate(rates):
        exposure = own.next(number * period) or own.goal(rate)
        own.learn(Metered(number * period, exposure, rate * exposure))
        found.append(exposure)
    return np.array(found)


@pytest.mark.parametrize("period", [0.01, 1.0 / 30.0, 0.1])
@pytest.mark.parametrize("change", [10.0, 0.1])
def test_it_settles_as_a_lag_of_the_first_order_does(period, change):
    """5 % of a change are left after three time constants, and it never goes beyond the goal."""
    count = round(5.0 * TAU / period)
    rates = np.array([100.0] * 3 + [100.0 * change] * count)
    found = exposures(rates, period, time_constant=TAU)
    np.testing.assert_allclose(found[:4], 0.18 / 100.0, rtol=1e-12)  # frame 3 is a surprise
    left = np.log(found[3:] * rates[-1] / 0.18) / math.log(change)
    passed = period * np.arange(len(left))
    np.testing.assert_allclose(left, np.exp(-passed / TAU), rtol=1e-9)
    assert (np.diff(left) < 0.0).all()
    assert (left > 0.0).all()
    assert left[round(3.0 * TAU / period)] <= 0.05


def test_without_a_time_constant_the_next_frame_is_right():
    found = exposures(np.array([3.0, 300.0, 300.0]), 0.1, time_constant=0.0)
    np.testing.assert_allclose(found, [0.06, 0.06, 0.0006], rtol=1e-12)


def test_it_goes_on_from_what_was_exposed_otherwise():
    own = AutoExposure(AutoExposureParameters(time_constant=TAU), 0.0)
    assert own.next(0.0) is None
    own.learn(Metered(1.0, 0.02, 0.72))  # four times too long
    assert own.next(1.0) == pytest.approx(0.02)
    assert own.next(1.0 + TAU * math.log(2.0)) == pytest.approx(0.01)


def test_limits_hold_also_in_the_dark():
    limits = {"minimum": 1e-3, "maximum": 1e-2}
    found = exposures(np.array([1e9, 1e9, 0.0, 0.0, 18.0]), 10.0, **limits)
    np.testing.assert_allclose(found, [1e-3, 1e-3, 1e-3, 1e-2, 1e-2], rtol=1e-6)


def test_a_state_is_taken_up_to_the_bit_and_others_are_refused():
    one, other = (AutoExposure(AutoExposureParameters(), 0.01) for _ in range(2))
    other.state = one.state
    assert other.next(1.0) is None
    one.learn(Metered(0.1, 1.0 / 3.0, 0.7))
    other.state = one.state
    assert other.next(0.234) == one.next(0.234)
    for wrong in (np.zeros(3), np.zeros((2, 3)), [[0.0, math.nan, 1.0]], [[0.0, -1.0, 1.0]]):
        with pytest.raises(ParameterError, match="no state of an automatic exposure"):
            one.state = wrong
    assert other.next(0.234) == one.next(0.234)


def test_bad_parameters_are_refused_with_the_cure():
    for wrong in ({"minimum": 0.2, "maximum": 0.1}, {"minimum": 0.2}):
        with pytest.raises(ParameterError, match=r"minimum = 0.2 s is more than .*maximum = 0.1 s"):
            AutoExposure(AutoExposureParameters(**wrong), 0.0)
    picture = PictureParameters(bit_depth=8)  # a black level of 100 of 255
    chip = ChipParameters(model=SensorModel.emva)
    with pytest.raises(ParameterError, match=r"target = 0.18 .* 0.392 .* give exposure_time"):
        CcdCamera(picture=picture, sensor=chip, colors=RAW)
    CcdCamera(picture=picture, sensor=chip)  # the black level is taken off its pictures
    CcdCamera(picture=PictureParameters(bit_depth=8, exposure_time=0.01), sensor=chip)


def test_levels_are_means_that_a_sun_does_not_darken():
    image = np.random.default_rng(1).uniform(0.5, 1.5, (60, 80))
    assert level_of(image, Metering.mean) == pytest.approx(image.mean(), rel=0.01)
    assert level_of(7.0 * image, Metering.mean) == pytest.approx(
        7.0 * level_of(image, Metering.mean)
    )
    bright = image.copy()
    bright[10:13, 40:44] = 1e6
    assert level_of(bright, Metering.mean) == pytest.approx(image.mean(), rel=0.01)
    bright[0, 0] = math.nan
    assert level_of(bright, Metering.mean) == pytest.approx(image.mean(), rel=0.01)
    assert level_of(np.full((2, 2), math.nan), Metering.mean) == 0.0


def test_the_middle_counts_most_if_that_is_wanted():
    even = np.full((40, 60), 0.3)
    assert level_of(even, Metering.centre_weighted) == pytest.approx(0.3)
    middle = np.zeros((40, 60))
    middle[10:30, 15:45] = 1.0  # a quarter of the picture: within one standard deviation
    assert level_of(middle, Metering.mean) == pytest.approx(0.25)
    inside = math.erf(math.sqrt(0.5)) / math.erf(math.sqrt(2.0))
    assert level_of(middle, Metering.centre_weighted) == pytest.approx(inside**2, abs=0.01)


@pytest.fixture(scope="module")
def rays():
    with RayScene(smallest_scene(), threads=2) as opened:
        yield opened


@pytest.mark.parametrize(
    ("sensor", "picture", "auto"),
    [
        ({"model": SensorModel.emva}, {}, {}),
        ({"model": SensorModel.emva}, {"bands": 1, "bit_depth": 14}, {}),
        ({"model": SensorModel.emva}, {"bayer": Bayer.grbg}, {"target": 0.3}),
        ({"model": SensorModel.emva, "black_level": 500.0}, {}, {"target": 0.25}),
        ({}, {"full_scale": 3.0}, {"on": True}),
        ({}, {"full_scale": 1e8}, {}),
    ],
)
@pytest.mark.parametrize("colors", [RAW, replace(RAW, white_balance=WhiteBalance.gray_world)])
def test_a_picture_that_stands_alone_has_the_mean_that_is_aimed_at(
    rays, sensor, picture, auto, colors
):
    chip, own = ChipParameters(**sensor), AutoExposureParameters(**auto, minimum=1e-9)
    camera = CcdCamera(
        OpticsParameters(**EVEN), PictureParameters(**picture), chip, auto=own, colors=colors
    )
    light = np.empty((32, 48, camera.picture.bands), np.float32)
    light[:] = 2e7 * np.random.default_rng(2).uniform(0.5, 1.5, (32, 48, 1))
    light[:] *= np.array([1.0, 0.6, 0.3])[: light.shape[2]]
    found = camera.develop(rays.pool, light, 0)[0].astype(float)
    assert found.mean() / camera.largest == pytest.approx(own.target, rel=0.02)
    brighter = camera.develop(rays.pool, 10.0 * light, 0)[0].astype(float)
    assert brighter.mean() == pytest.approx(found.mean(), rel=0.01)


def test_an_exposure_that_is_given_wins(rays):
    light = np.full((32, 48, 3), 2e7, np.float32)
    chip = ChipParameters(model=SensorModel.emva)
    optics = OpticsParameters(**EVEN)
    given = CcdCamera(optics, PictureParameters(exposure_time=1e-4), chip, colors=RAW)
    assert not given.follows_light
    fixed = given.develop(rays.pool, light, 0)[0]
    assert fixed.mean() == pytest.approx(100.0 + 0.25 * 2000.0, rel=0.01)
    free = CcdCamera(optics, PictureParameters(), chip, colors=RAW)
    assert free.follows_light
    np.testing.assert_array_equal(free.develop(rays.pool, light, 0, 1e-4)[0], fixed)
    relative = CcdCamera(optics, PictureParameters(exposure_time=1.0), colors=RAW)
    assert not relative.follows_light
    assert (relative.develop(rays.pool, np.full_like(light, 0.6), 0)[0] == 153).all()
    assert CcdCamera(optics, PictureParameters()).follows_light


def test_saturation_is_counted_at_the_full_well_and_at_the_largest_number(rays):
    light = np.full((32, 48, 1), 1e4, np.float32)
    light[:8] = 1e9
    for picture in ({}, {"gain": 0.5}, {"gamma": 0.5}, {"gain": 4.0, "gamma": 2.0}):
        for sensor in (ChipParameters(model=SensorModel.emva), ChipParameters()):
            own = PictureParameters(bands=1, exposure_time=1e-3, full_scale=1e3, **picture)
            camera = CcdCamera(OpticsParameters(**EVEN), own, sensor)
            numbers = camera.develop(rays.pool, light, 0)[0]
            assert camera.saturated(numbers) == pytest.approx(0.25, abs=1e-12)


def test_what_is_probed_for_the_first_frame_is_what_the_frame_sees():
    """Also with several rays a pixel, a lens that blurs and a gain for each band."""
    pose = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, -12, -10, 1.6]])
    camera = CcdCamera(
        OpticsParameters(width=200, height=150, sample_factor=2, pupil_samples=32),
        PictureParameters(motion_samples=2),
        ChipParameters(model=SensorModel.emva),
        (FilterParameters(gain=2.0),),
        LightParameters(rays=4),
    )
    with RayScene(load_scene("yard"), threads=2) as rays:
        probed = camera.probe(rays, pose[0])
        seen = camera.expose(rays, pose, exposure_time=1e-4)
        colors = camera.colors(seen.light, camera.day(rays))
        frame = camera.level_rate(seen.light, colors)
        numbers = camera.develop(rays.pool, seen.light, 0, colors=colors)[0]
    assert probed == pytest.approx(frame, rel=0.05)
    assert numbers.mean() / camera.largest == pytest.approx(0.18, rel=0.05)
