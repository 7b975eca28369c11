"""Media: acceptance rows of echoes, packing, and where extinctions come from."""

import math

import numpy as np
import pytest
from scipy import integrate

from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.light import media as kernel
from sensor_models.light import media
from sensor_models.scene import weather
from sensor_models.scene.model import Medium

LAWS = [(2.0, 5.0, 10.0), (3.5, 2.0, 7.0), (0.5, 4.0, 2.0)]


def medium(shape=1.0, scale=1.0, probability=1.0, **others):
    return Medium(
        "fog",
        return_shape=shape,
        return_scale=scale,
        return_probability=probability,
        **others,
    )


def over_all_distances(law, weight):
    """The integral of weight times density, over y = ln x, where there is no pole."""

    def at(y):
        x = math.exp(y)
        return weight(x) * float(media.echo_density(law, x)) * x

    return integrate.quad(at, -80.0, 8.0, points=[0.0, 3.0], epsabs=1e-12, limit=200)[0]


@pytest.mark.acceptance("AMB-3")
@pytest.mark.parametrize(("shape", "scale", "mean"), LAWS)
def test_amb_3_densities_of_echoes(shape, scale, mean):
    law = medium(shape, scale)
    # of the row
    assert over_all_distances(law, lambda _: 1.0) == pytest.approx(1.0, abs=1e-8)
    assert over_all_distances(law, lambda x: x) == pytest.approx(mean, abs=1e-8)


@pytest.mark.acceptance("AMB-4")
@pytest.mark.parametrize(("shape", "scale", "p"), [(2.0, 5.0, 0.0735759), (3.5, 2.0, 0.1220415)])
def test_amb_4_density_at_its_mode(shape, scale, p):
    at = [4.9, 5.0, 5.1]
    density = media.echo_density(medium(shape, scale), at)
    assert density[1] == pytest.approx(p, abs=1e-7)  # of the row
    assert density[1] == density.max()


@pytest.mark.acceptance("AMB-5")
@pytest.mark.parametrize(
    ("shape", "scale", "share"), [(2.0, 5.0, 0.593994), (1.0, 10.0, 0.632121), (3.5, 2.0, 0.811427)]
)
def test_amb_5_share_of_echoes_within_ten_metres(shape, scale, share):
    law = medium(shape, scale)
    assert float(media.echo_probability(law, 10.0)) == pytest.approx(share, abs=1e-6)  # of the row


@pytest.mark.acceptance("AMB-6")
def test_amb_6_echoes_of_many_pulses():
    law, count = medium(2.0, 5.0, 0.4), 200_000
    distances = media.echo_distances(law, np.random.default_rng(6).uniform(size=count))
    echoes = distances[distances <= 12.0]
    probability = float(media.echo_probability(law, 12.0))
    assert probability == pytest.approx(0.276624, abs=1e-6)  # six digits are printed
    spread = math.sqrt(probability * (1.0 - probability) / count)
    assert len(echoes) / count == pytest.approx(probability, abs=4.0 * spread)
    assert echoes.mean() == pytest.approx(6.2220, abs=4.0 * echoes.std() / math.sqrt(len(echoes)))


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 2.0, 40.0])
def test_distances_follow_their_law_from_the_first_draw_to_the_last(shape):
    law = medium(shape, 3.0, 0.25)
    shares = (np.arange(2000) + 0.5) / 2000
    distances = media.echo_distances(law, 0.25 * shares)
    # quantile and distribution undo each other: roundings
    assert media.echo_probability(law, distances) == pytest.approx(0.25 * shares, rel=1e-10)


def test_draws_above_the_probability_have_no_echo():
    distances = media.echo_distances(medium(2.0, 5.0, 0.4), [0.3999, 0.4, 0.7, math.nan])
    assert distances[0] < math.inf
    assert distances[1:].tolist() == [math.inf] * 3


def test_a_medium_without_echoes_has_none_for_any_draw():
    assert media.echo_distances(medium(probability=0.0), [1e-300, 0.5]).tolist() == [math.inf] * 2
    assert media.echo_probability(medium(probability=0.0), [1.0, math.inf]).tolist() == [0.0] * 2


def test_a_pole_of_the_density_at_the_entry_is_sampled_without_harm():
    law = medium(0.5, 4.0)
    assert float(media.echo_density(law, 0.0)) == math.inf
    distances = media.echo_distances(law, [1e-300, 2.0**-53, 0.5])
    assert np.all(np.isfinite(distances))
    assert np.all(np.diff(distances) > 0.0)


def test_shapes_of_arrays_are_kept():
    for evaluate in (media.echo_distances, media.echo_probability, media.echo_density):
        assert evaluate(medium(), np.full((2, 3), 0.5)).shape == (2, 3)


def test_media_are_packed_in_order():
    table = media.pack_media([Medium(), medium(2.0, 5.0, 0.4, absorption=0.06, ior=1.33)])
    assert table.shape == (2, kernel.MEDIUM_SIZE)
    assert table[0].tolist() == [0.0, 1.0, 1.0, 0.0, 1.0, 0.0]
    # c τ / 2S of 5 ns and 18.8 sr is 0.03987 m/sr
    assert table[1] == pytest.approx([0.06, 2.0, 5.0, 0.4, 1.33, 2.392e-3], abs=1e-6)
    assert table[1, kernel.BACKSCATTER] == media.backscatter(0.06)


def test_a_stated_backscatter_is_taken_as_it_is():
    table = media.pack_media([Medium(absorption=0.06, backscatter=0.0)], pulse_length=1e-8)
    assert table[0, kernel.BACKSCATTER] == 0.0


def test_backscatter_follows_pulse_and_lidar_ratio():
    fog = medium(absorption=0.06, lidar_ratio=9.4)
    longer = media.pack_media([fog], 10e-9)[0, kernel.BACKSCATTER]
    assert longer == pytest.approx(4.0 * media.backscatter(0.06), rel=1e-15)  # a rounding


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"absorption": -0.1}, "medium fog: absorption = -0.1 1/m is out of range"),
        ({"shape": 0.0}, "medium fog: return_shape = 0.0"),
        ({"scale": 0.0}, "return_scale = 0.0 m"),
        ({"probability": 1.5}, "allowed is 0 to 1"),
        ({"ior": 0.9}, "ior = 0.9"),
        ({"backscatter": -1.0}, "at least 0 1/sr"),
        ({"absorption": math.nan}, "not a finite number"),
    ],
)
def test_media_that_cannot_be_are_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        media.pack_media([medium(**wrong)])


def test_fog_leaves_a_contrast_of_five_percent_at_its_visibility():
    for visibility in (10.0, 50.0, 400.0):
        absorption = weather.absorption_by_visibility(visibility, 1550e-9)
        # the inverse of an exponential
        assert kernel.transmission(absorption, visibility) == pytest.approx(0.05, rel=1e-14)
    assert weather.absorption_by_visibility(50.0) == pytest.approx(0.0599, abs=1e-4)  # 3 digits


def test_haze_leaves_five_percent_of_green_light_at_its_visibility():
    for visibility in (800.0, 3e3, 2e4, 1e5):
        left = kernel.transmission(weather.absorption_by_visibility(visibility), visibility)
        assert left == pytest.approx(0.05, rel=1e-12)  # rounding


@pytest.mark.parametrize(
    ("visibility", "exponent"), [(400.0, 0.0), (750.0, 0.25), (3e3, 0.82), (2e4, 1.3), (6e4, 1.6)]
)
def test_haze_is_clearer_to_longer_waves(visibility, exponent):
    ratio = weather.absorption_by_visibility(
        visibility, 1100e-9
    ) / weather.absorption_by_visibility(visibility)
    # roundings; twice the wavelength of green light
    assert ratio == pytest.approx(2.0**-exponent, rel=1e-12)


def decibels_per_km(absorption):
    return -10.0 * math.log10(kernel.transmission(absorption, 1000.0))


def test_rain_and_snow_attenuate_as_recommended():
    # roundings of a logarithm of an exponential
    assert decibels_per_km(weather.absorption_by_rain(1.0)) == pytest.approx(1.076, rel=1e-12)
    assert decibels_per_km(weather.absorption_by_rain(25.0)) == pytest.approx(
        1.076 * 25.0**0.67, rel=1e-12
    )
    wet, dry = (weather.absorption_by_snow(1.0, 1550e-9, wet=wet) for wet in (True, False))
    assert decibels_per_km(wet) == pytest.approx(3.7855466 + 1.023e-4 * 1550, rel=1e-12)
    assert decibels_per_km(dry) == pytest.approx(5.4958776 + 5.42e-5 * 1550, rel=1e-12)
    assert weather.absorption_by_snow(2.0, 905e-9) / weather.absorption_by_snow(
        1.0, 905e-9
    ) == pytest.approx(2.0**1.38, rel=1e-12)
    assert weather.absorption_by_rain(0.0) == 0.0


def test_absorption_of_a_clear_solid_by_its_index():
    # over one wavelength the amplitude falls by e^-2πk, the power by its square
    assert kernel.transmission(media.absorption_by_extinction(0.01, 905e-9), 905e-9) == (
        pytest.approx(math.exp(-4.0 * math.pi * 0.01), rel=1e-12)
    )
