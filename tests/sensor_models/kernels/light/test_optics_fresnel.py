"""Fresnel and Snell: acceptance rows, complex amplitudes as a twin, the edges of the range."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sensor_models.kernels.light import fresnel
from tests import optics_twins as twins

INDICES = st.floats(0.05, 10.0)
EXTINCTIONS = st.one_of(st.just(0.0), st.floats(1e-9, 10.0))
# above 0: the twin divides by them
COSINES = st.floats(1e-6, 1.0)
DOWN = (0.0, 0.0, -1.0)
UP = (0.0, 0.0, 1.0)


def reflectance(degrees, ior, extinction=0.0, outside=1.0):
    return fresnel.reflectance(outside, ior, extinction, math.cos(math.radians(degrees)))


def falling(degrees):
    angle = math.radians(degrees)
    return math.sin(angle), 0.0, -math.cos(angle)


def next_to_the_critical_angle(outside, ior, extinction, cosine):
    """Where a rounding of the index moves the reflectance by its root, or nearly so."""
    square = complex(ior, extinction) ** 2 / outside**2 - 1.0 + cosine**2
    return abs(square) < 1e-6


def largest_angle_that_goes_through(ior):
    low, high = 0.0, 90.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reflectance(middle, 1.0, 0.0, ior) == 1.0 else (middle, high)
    return low


@pytest.mark.acceptance("FR-1")
def test_fr_1_clear_media_at_right_angles():
    for compute in (fresnel.reflectance_at_normal, lambda *at: fresnel.reflectance(*at, 1.0)):
        assert compute(1.0, 1.5, 0.0) == pytest.approx(0.04, abs=1e-9)
        assert compute(1.0, 1.33, 0.0) == pytest.approx(0.0200593, abs=1e-7)


@pytest.mark.acceptance("FR-2")
@pytest.mark.parametrize(
    ("ior", "extinction", "expected"),
    [(1.2, 7.26, 0.9165908), (2.9, 3.1, 0.5326350), (0.15, 3.6, 0.9579905)],
)
def test_fr_2_metals_at_right_angles(ior, extinction, expected):
    # tolerance of the row
    assert fresnel.reflectance_at_normal(1.0, ior, extinction) == pytest.approx(expected, abs=1e-6)
    assert reflectance(0.0, ior, extinction) == pytest.approx(expected, abs=1e-6)


@pytest.mark.acceptance("FR-3")
@pytest.mark.parametrize(
    ("degrees", "expected"),
    [(30, 0.041523), (45, 0.050240), (60, 0.089187), (75, 0.253061), (85, 0.612800)],
)
def test_fr_3_glass_at_an_angle(degrees, expected):
    assert reflectance(degrees, 1.5) == pytest.approx(expected, abs=1e-6)  # of the row


@pytest.mark.acceptance("FR-4")
def test_fr_4_one_polarisation_vanishes_at_the_angle_of_brewster():
    cosine = math.cos(math.atan(1.5))
    assert math.degrees(math.acos(cosine)) == pytest.approx(56.3099, abs=5e-5)  # four digits
    # tolerances of the row
    assert fresnel.polarised_reflectance(1.0, 1.5, 0.0, cosine)[1] == pytest.approx(0.0, abs=1e-9)
    assert fresnel.reflectance(1.0, 1.5, 0.0, cosine) == pytest.approx(0.0739645, abs=1e-7)


@pytest.mark.acceptance("FR-5")
def test_fr_5_total_reflection_inside_of_glass_and_water():
    assert reflectance(40.0, 1.0, 0.0, 1.5) == pytest.approx(0.245291, abs=1e-6)  # of the row
    assert reflectance(42.0, 1.0, 0.0, 1.5) == 1.0
    # the row gives the angles with four digits
    assert largest_angle_that_goes_through(1.5) == pytest.approx(41.8103, abs=5e-5)
    assert largest_angle_that_goes_through(1.33) == pytest.approx(48.7535, abs=5e-5)


@pytest.mark.acceptance("FR-6")
@pytest.mark.parametrize(("degrees", "expected"), [(45, 0.912563), (60, 0.901241), (80, 0.853640)])
def test_fr_6_aluminium_at_an_angle(degrees, expected):
    assert reflectance(degrees, 1.2, 7.26) == pytest.approx(expected, abs=1e-6)  # of the row


@pytest.mark.acceptance("FR-7")
@settings(deadline=None, max_examples=500)
@given(INDICES, INDICES, EXTINCTIONS, COSINES)
def test_fr_7_what_is_not_reflected_goes_through(outside, ior, extinction, cosine):
    assume(not next_to_the_critical_angle(outside, ior, extinction, cosine))
    _, transmittance = twins.fresnel(outside, complex(ior, extinction), cosine)
    reflected = fresnel.reflectance(outside, ior, extinction, cosine)
    # of the row; the twin's differences of nearly equal amplitudes need it
    assert reflected + transmittance == pytest.approx(1.0, abs=1e-12)


@pytest.mark.acceptance("FR-8")
@pytest.mark.parametrize(("degrees", "expected"), [(30, 22.0824), (45, 32.1176), (60, 40.6281)])
def test_fr_8_refraction_into_water(degrees, expected):
    _, _, refracted = fresnel.split(falling(degrees), UP, 1.0, 1.33)
    angle = math.degrees(math.atan2(refracted[0], -refracted[2]))
    assert angle == pytest.approx(expected, abs=1e-4)  # of the row
    assert np.linalg.norm(refracted) == pytest.approx(1.0, abs=1e-14)  # a few roundings


@pytest.mark.acceptance("FR-9")
def test_fr_9_from_water_to_glass():
    assert reflectance(45.0, 1.5, 0.0, 1.33) == pytest.approx(0.00591793, abs=1e-8)  # of the row


@pytest.mark.acceptance("FR-10")
def test_fr_10_everything_is_reflected_in_the_limit_of_grazing_angles():
    assert reflectance(89.9, 1.5) == pytest.approx(0.989912, abs=1e-6)  # of the row
    for ior, extinction in ((1.5, 0.0), (1.0 + 1e-9, 0.0), (1.2, 7.26), (0.15, 3.6)):
        # rounding of a quotient
        assert fresnel.reflectance(1.0, ior, extinction, 0.0) == pytest.approx(1.0, abs=1e-14)


@settings(deadline=None, max_examples=500)
@given(INDICES, INDICES, EXTINCTIONS, COSINES)
def test_reflectance_is_that_of_the_amplitudes(outside, ior, extinction, cosine):
    assume(not next_to_the_critical_angle(outside, ior, extinction, cosine))
    expected, _ = twins.fresnel(outside, complex(ior, extinction), cosine)
    # the twin's differences of amplitudes
    assert fresnel.reflectance(outside, ior, extinction, cosine) == pytest.approx(
        expected, abs=1e-12
    )


@settings(deadline=None, max_examples=300)
@given(INDICES, INDICES, EXTINCTIONS, st.floats(-0.5, 1.5))
def test_reflectance_stays_between_nothing_and_all(outside, ior, extinction, cosine):
    for share in fresnel.polarised_reflectance(outside, ior, extinction, cosine):
        assert 0.0 <= share <= 1.0


@settings(deadline=None, max_examples=300)
@given(st.floats(1.0, 3.0), st.floats(1.0, 3.0), st.floats(0.0, 89.0))
def test_an_interface_reflects_as_much_on_the_way_back(first, second, degrees):
    reflected, _, refracted = fresnel.split(falling(degrees), UP, first, second)
    if reflected < 1.0:
        back = fresnel.reflectance(second, first, 0.0, -refracted[2])
        # angles next to the critical one move by roundings and their root
        assert back == pytest.approx(reflected, abs=1e-6)


def test_nearly_equal_indices_keep_all_digits_of_what_little_they_reflect():
    # at right angles the amplitude is (n - 1)/(n + 1)
    contrast = (1.0 + 1e-9) - 1.0
    expected = (contrast / (2.0 + contrast)) ** 2
    # a few roundings
    assert fresnel.reflectance(1.0, 1.0 + 1e-9, 0.0, 1.0) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("cosine", [0.0, 1e-9, 0.5, 1.0])
def test_equal_indices_reflect_nothing_and_bend_nothing(cosine):
    assert fresnel.reflectance(1.33, 1.33, 0.0, cosine) == 0.0
    direction = (math.sqrt(1.0 - cosine**2), 0.0, -cosine)
    through, refracted = fresnel.refract(direction, UP, 1.33, 1.33)
    assert through
    # a root of a square
    assert refracted == pytest.approx(direction, abs=1e-15)


def test_total_reflection_lets_nothing_through():
    through, direction = fresnel.refract(falling(42.0), UP, 1.5, 1.0)
    assert not through
    assert direction == falling(42.0)
    share, mirrored, _ = fresnel.split(falling(42.0), UP, 1.5, 1.0)
    assert share == 1.0
    assert mirrored == (falling(42.0)[0], 0.0, -falling(42.0)[2])


def test_a_grazing_ray_is_reflected():
    share, _, _ = fresnel.split((1.0, 0.0, -0.9e-6), UP, 1.0, 1.5)
    assert share == 1.0
    share, _, _ = fresnel.split((1.0, 0.0, -1.1e-6), UP, 1.0, 1.5)
    assert share < 1.0


def test_a_ray_at_right_angles_goes_straight_on_and_straight_back():
    share, mirrored, refracted = fresnel.split(DOWN, UP, 1.0, 1.5)
    assert share == pytest.approx(0.04, abs=1e-16)  # one rounding
    assert mirrored == UP
    assert refracted == pytest.approx(DOWN, abs=1e-16)  # one rounding
    assert fresnel.reflect(DOWN, DOWN) == UP
