"""Surfaces as the kernels see them: parts of the two-layer surface, retro-reflection, edges."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.kernels.light import surfaces as kernel
from sensor_models.light.surfaces import oren_nayar, pack_surface
from sensor_models.scene.model import SurfaceKind, SurfaceParameters
from tests import optics_twins as twins

UP = (0.0, 0.0, 1.0)
UNITS = st.floats(0.0, 1.0)
POLAR = st.floats(0.0, 1.57)
AZIMUTHS = st.floats(0.0, math.tau)
SIGMAS = st.floats(1e-4, 1.0)
SURFACES = st.builds(
    SurfaceParameters,
    diffuse_reflectance=st.floats(0.0, 0.6),
    ior=st.floats(0.5, 3.0),
    extinction=st.one_of(st.just(0.0), st.floats(0.0, 5.0)),
    roughness_beckmann=SIGMAS,
    roughness_oren_nayar=st.floats(0.0, 1.5),
    retro_reflectance=st.floats(0.0, 100.0),
)


def pack(kind, parameters, two_way=False):
    return tuple(pack_surface(kind, parameters, two_way).tolist())


def surface_of(kind=SurfaceKind.two_layer, two_way=False, **parameters):
    return pack(kind, SurfaceParameters(**parameters), two_way)


def direction(polar, azimuth=0.0):
    return (
        math.sin(polar) * math.cos(azimuth),
        math.sin(polar) * math.sin(azimuth),
        math.cos(polar),
    )


def brdf(surface, light, viewer, outside=1.0):
    return kernel.brdf(surface, light, viewer, UP, outside)


def retro(surface, polar, outside=1.0, floor=0.0):
    return kernel.retro(surface, math.cos(polar), math.sin(polar) ** 2, outside, floor)


def masking(sigma, c_l, c_v):
    return 4.0 * c_l * c_v * kernel.visibility(2.0 * sigma**2, c_l, c_v)


@pytest.mark.acceptance("BRDF-1")
@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.1, 0.3, 0.5, 0.7071, 1.0])
def test_brdf_1_facets_cover_the_surface_once(sigma):
    # Over y = ln tan² the integrand is smooth and falls off exponentially: the sum of points is
    # exact to rounding, and half a step of dω = π cos⁴ tan² dy / cos.
    y = np.arange(-60.0, 60.0, 0.05)
    cos_squared = 1.0 / (1.0 + np.exp(y))
    covered = sum(
        kernel.facets(2.0 * sigma**2, c2 * e) * math.pi * c2 * c2 * e
        for c2, e in zip(cos_squared, np.exp(y), strict=True)
    )
    assert covered * 0.05 == pytest.approx(1.0, abs=1e-9)  # of the row


@pytest.mark.acceptance("BRDF-2")
def test_brdf_2_density_of_facets():
    for degrees, expected in ((0, 1.768388), (30, 0.386546), (60, 0.0906543)):
        angle = math.radians(degrees)
        density = kernel.facets(0.18, math.sin(angle) ** 2)
        assert density == pytest.approx(expected, abs=1e-6)  # of the row
    for sigma in (1e-4, 0.01, 0.3, 1.0):
        closed = 1.0 / (2.0 * math.pi * sigma**2)
        assert kernel.facets(2.0 * sigma**2, 0.0) == pytest.approx(closed, rel=1e-14)


@pytest.mark.acceptance("BRDF-3")
def test_brdf_3_masking_and_shadowing():
    assert masking(0.3, 1.0, 1.0) == pytest.approx(1.0, abs=1e-15)  # roundings
    for degrees, sigma, expected in (
        (60, 0.3, 0.805823),
        (60, 0.1, 0.971286),
        (80, 0.3, 0.383781),
        (80, 0.1, 0.780092),
    ):
        c = math.cos(math.radians(degrees))
        assert masking(sigma, c, c) == pytest.approx(expected, abs=1e-6)  # of the row


@pytest.mark.acceptance("BRDF-4")
def test_brdf_4_masking_alone():
    # from straight above nothing is masked, so the other direction's part is left
    assert masking(0.3, 0.5, 1.0) == pytest.approx(0.892472, abs=1e-6)  # of the row


@pytest.mark.acceptance("BRDF-5")
@settings(deadline=None, max_examples=300)
@given(SIGMAS, POLAR, POLAR)
def test_brdf_5_masking_takes_a_share(sigma, light, viewer):
    share = masking(sigma, math.cos(light), math.cos(viewer))
    assert 0.0 <= share <= 1.0 + 1e-15  # roundings
    expected = twins.masking(sigma, math.cos(light), math.cos(viewer))
    # roundings
    assert share == pytest.approx(expected, rel=1e-12)


@pytest.mark.acceptance("BRDF-5")
@settings(deadline=None, max_examples=300)
@given(SURFACES, st.sampled_from(SurfaceKind), st.booleans(), POLAR, POLAR, AZIMUTHS)
def test_brdf_5_light_and_viewer_can_change_places(parameters, kind, two_way, l_at, v_at, azimuth):
    if kind == SurfaceKind.dielectric:
        parameters = SurfaceParameters(**{**vars(parameters), "extinction": 0.0})
    surface = pack(kind, parameters, two_way)
    light, viewer = direction(l_at), direction(v_at, azimuth)
    # of the row
    assert brdf(surface, light, viewer) == pytest.approx(brdf(surface, viewer, light), rel=1e-12)


@pytest.mark.acceptance("BRDF-6")
@pytest.mark.parametrize(
    ("degrees", "expected"),
    [(0, 0.159155), (10, 0.0267266), (30, 1.204715e-3), (60, 4.33904e-4)],
)
def test_brdf_6_top_layer_back_to_the_light(degrees, expected):
    surface = surface_of(ior=1.5, roughness_beckmann=0.1, diffuse_reflectance=0.0)
    polar = math.radians(degrees)
    # of the row, but that the row has 6 digits
    digits = 10.0 ** (math.floor(math.log10(expected)) - 5)
    assert retro(surface, polar) == pytest.approx(expected, rel=1e-6, abs=digits)
    light = direction(polar)
    assert brdf(surface, light, light) == pytest.approx(expected, rel=1e-6, abs=digits)


@pytest.mark.acceptance("BRDF-7")
def test_brdf_7_factors_of_the_base_layer():
    assert oren_nayar(0.8, 0.3) == pytest.approx((0.948494, 0.225), abs=1e-6)  # of the row
    assert oren_nayar(0.8, 0.0) == (1.0, 0.0)


def base_layer(diffuse, sigma, light, viewer):
    surface = surface_of(diffuse_reflectance=diffuse, roughness_oren_nayar=sigma)
    s = float(np.dot(light, viewer)) - light[2] * viewer[2]
    return kernel.base_layer(surface, light[2], viewer[2], s)


@pytest.mark.acceptance("BRDF-8")
def test_brdf_8_base_layer():
    for degrees, expected in ((0, 0.241532), (30, 0.258072), (60, 0.327476)):
        light = direction(math.radians(degrees))
        assert base_layer(0.8, 0.3, light, light) == pytest.approx(expected, abs=1e-6)  # of the row
    light, viewer = direction(math.radians(60.0)), direction(math.radians(60.0), math.pi)
    assert base_layer(0.8, 0.3, light, viewer) == pytest.approx(0.198560, abs=1e-6)  # of the row


@pytest.mark.acceptance("BRDF-9")
@settings(deadline=None, max_examples=200)
@given(UNITS, POLAR, POLAR, AZIMUTHS)
def test_brdf_9_a_base_without_roughness_is_lambert(diffuse, light, viewer, azimuth):
    f = base_layer(diffuse, 0.0, direction(light), direction(viewer, azimuth))
    assert f == pytest.approx(diffuse / math.pi, abs=1e-12)  # of the row


@pytest.mark.acceptance("BRDF-10", "BRDF-11")
@pytest.mark.parametrize(
    ("two_way", "expected"),
    [(False, (0.391026, 0.248954, 0.314810)), (True, (0.381751, 0.238290, 0.272101))],
)
def test_brdf_10_and_11_both_layers_back_to_the_light(two_way, expected):
    surface = surface_of(two_way=two_way)
    for degrees, f in zip((0, 30, 60), expected, strict=True):
        light = direction(math.radians(degrees))
        assert retro(surface, math.radians(degrees)) == pytest.approx(f, abs=1e-6)  # of the row
        assert brdf(surface, light, light) == pytest.approx(f, abs=1e-6)


@settings(deadline=None, max_examples=500)
@given(SURFACES, st.booleans(), st.floats(1.0, 1.6), POLAR, POLAR, AZIMUTHS)
def test_the_two_layer_surface_is_its_twin(parameters, two_way, outside, l_at, v_at, azimuth):
    surface = pack(SurfaceKind.two_layer, parameters, two_way)
    light, viewer = direction(l_at), direction(v_at, azimuth)
    expected = twins.two_layer(
        parameters, np.array(light), np.array(viewer), np.array(UP), two_way, outside
    )
    # At a roughness of 1e-4, angles of 1e-16 rad change the density of facets by 1e-11.
    assert brdf(surface, light, viewer, outside) == pytest.approx(expected, rel=1e-9)


@settings(deadline=None, max_examples=300)
@given(SURFACES, st.booleans(), st.floats(1.0, 1.6), POLAR)
def test_the_way_back_is_a_case_of_all_directions(parameters, two_way, outside, polar):
    surface = pack(SurfaceKind.two_layer, parameters, two_way)
    light = direction(polar)
    # roundings of an angle against the roughness, as above
    assert retro(surface, polar, outside) == pytest.approx(
        brdf(surface, light, light, outside), rel=1e-9
    )


@pytest.mark.parametrize("kind", SurfaceKind)
@pytest.mark.parametrize(
    ("light", "viewer"), [(100.0, 10.0), (10.0, 100.0), (100.0, 100.0), (90.00001, 10.0)]
)
def test_the_back_side_is_dark(kind, light, viewer):
    surface = surface_of(kind, retro_reflectance=50.0)
    assert brdf(surface, direction(math.radians(light)), direction(math.radians(viewer))) == 0.0


@pytest.mark.parametrize("cosine", [0.0, -1e-9, -1.0, math.nan])
def test_nothing_comes_back_from_a_side_that_light_does_not_reach(cosine):
    surface = surface_of()
    assert kernel.retro(surface, cosine, 0.5, 1.0, 0.0) == 0.0
    assert kernel.specular_share(surface, cosine, 1.0, 1e-6) == 0.0


@settings(deadline=None, max_examples=300)
@given(SURFACES, st.booleans(), st.floats(1e-18, 1e-3), st.floats(1e-18, 1e-3), AZIMUTHS)
def test_reflectance_is_finite_at_grazing_angles(parameters, two_way, c_l, c_v, azimuth):
    surface = pack(SurfaceKind.two_layer, parameters, two_way)
    light, viewer = (1.0, 0.0, c_l), (math.cos(azimuth), math.sin(azimuth), c_v)
    assert 0.0 <= brdf(surface, light, viewer) < math.inf
    assert 0.0 <= kernel.retro(surface, c_l, 1.0, 1.0, 0.0) < math.inf


def test_opposite_directions_in_the_plane_of_the_surface_are_finite():
    assert math.isfinite(brdf(surface_of(), (1.0, 0.0, 1e-300), (-1.0, 0.0, 1e-300)))


@numba.njit
def shade(surfaces, materials, cosines, result):
    for i in range(len(result)):
        surface, c = kernel.surface_at(surfaces, materials[i]), cosines[i]
        light = (math.sqrt(1.0 - c * c), 0.0, c)
        f = kernel.brdf(surface, light, light, (0.0, 0.0, 1.0), 1.0)
        f += kernel.retro(surface, c, 1.0 - c * c, 1.0, 0.0)
        result[i] = f + kernel.specular_share(surface, c, 1.0, 1e-6)


def test_a_loop_over_hits_counts_no_references_to_the_table():
    # All threads that shade would share the counter, and wait for each other.
    surfaces = np.array([surface_of(), surface_of(SurfaceKind.lambert)])
    shade(surfaces, np.array([0, 1]), np.full(2, 0.5), np.empty(2))
    (code,) = shade.inspect_llvm().values()
    counted = [line for line in code.splitlines() if "@NRT_incref(" in line and "call" in line]
    # once where the kernel is entered, or not at all
    assert len([line for line in counted if "surfaces" in line]) <= 1


@pytest.mark.parametrize("angle", [0.0, 1e-6, 1e-4, 3e-4, 1e-2])
def test_the_smoothest_surface_keeps_its_digits(angle):
    surface = surface_of(roughness_beckmann=1e-4, diffuse_reflectance=0.0)
    c = math.cos(angle)
    expected = 0.04 * twins.facets(1e-4, angle) * twins.masking(1e-4, c, c) / (4.0 * c * c)
    # a few roundings
    assert retro(surface, angle) == pytest.approx(expected, rel=1e-12)
    light = direction(angle)
    # an angle of 1e-16 rad out of 1e-4, four times
    assert brdf(surface, light, light) == pytest.approx(expected, rel=1e-11)


def test_a_mirror_counts_as_the_smoothest_surface():
    assert surface_of(roughness_beckmann=0.0) == surface_of(roughness_beckmann=1e-4)


def test_glass_under_water_reflects_as_the_ratio_of_indices():
    surface = surface_of(diffuse_reflectance=0.0)
    ratio = (0.17 / 2.83) ** 2 / 0.04
    # a few roundings
    assert retro(surface, 0.2, outside=1.33) / retro(surface, 0.2) == pytest.approx(
        ratio, rel=1e-12
    )


def test_a_clear_interface_has_a_top_and_no_base():
    surface = surface_of(SurfaceKind.dielectric, diffuse_reflectance=0.8)
    bare = surface_of(diffuse_reflectance=0.0)
    for polar in (0.0, 0.3, 1.2):
        assert retro(surface, polar) == retro(bare, polar)


@pytest.mark.acceptance("TREE-8")
def test_tree_8_glint_of_a_window():
    surface = surface_of(SurfaceKind.dielectric, roughness_beckmann=1e-4)
    f = retro(surface, 0.0, floor=math.tan(1.5e-3) ** 2)
    assert f == pytest.approx(1414.71, rel=1e-3)  # of the row
    # the share within the cone: R0 at right angles
    assert f * math.pi * 3e-3**2 == pytest.approx(0.04, rel=1e-3)  # of the row


@pytest.mark.acceptance("TREE-11")
@pytest.mark.parametrize(
    ("sigma", "degrees", "expected", "tolerance"),
    [(0.01, 0.0, 0.0111249, 1e-4), (0.001, 0.0, 0.529412, 1e-4), (0.01, 60.0, 0.0220, 2e-2)],
)
def test_tree_11_share_that_goes_on_as_from_a_mirror(sigma, degrees, expected, tolerance):
    surface = surface_of(roughness_beckmann=sigma)
    c = math.cos(math.radians(degrees))
    share = kernel.specular_share(surface, c, 1.0, math.tan(1.5e-3) ** 2)
    whole = twins.fresnel(1.0, 1.5, c)[0]
    assert share / whole == pytest.approx(expected, rel=tolerance)  # of the row


def test_a_lambert_surface_throws_nothing_in_the_mirror_direction():
    assert kernel.specular_share(surface_of(SurfaceKind.lambert), 0.7, 1.0, 1e-6) == 0.0


@pytest.mark.parametrize("kind", SurfaceKind)
@pytest.mark.parametrize("polar", [0.0, 0.5, 1.3])
def test_sheeting_adds_its_lobe_toward_the_source_to_any_surface(kind, polar):
    plain, sheeting = surface_of(kind), surface_of(kind, retro_reflectance=120.0)
    # difference of two numbers of the order of 100
    assert retro(sheeting, polar) - retro(plain, polar) == pytest.approx(
        120.0 * math.cos(polar) ** 2, rel=1e-12
    )


def coefficient(entrance, observation):
    """The coefficient of retroreflection of unit sheeting, angles in degrees."""
    surface = surface_of(SurfaceKind.lambert, diffuse_reflectance=0.0, retro_reflectance=1.0)
    # to the side, so that the entrance angle stays
    tilt, side = math.radians(entrance), math.radians(observation)
    light = direction(tilt)
    viewer = (math.cos(side) * light[0], math.sin(side), math.cos(side) * light[2])
    return brdf(surface, light, viewer) * light[2] * viewer[2]


def test_sheeting_fades_as_the_minima_of_white_sheeting_in_astm_d4956():
    # type I: 70, 30 at 30 degrees, 30 at 0.5 degrees; type III: 250, 150, 95. The model lies
    # between the two: 0.43 to 0.60 and 0.38 to 0.43.
    reference = coefficient(4.0, 0.2)
    assert 30 / 70 < coefficient(30.0, 0.2) / reference < 150 / 250
    assert 95 / 250 < coefficient(4.0, 0.5) / reference < 30 / 70


def test_sheeting_sends_its_light_into_the_stated_solid_angle():
    # rings about the source, the sheeting faces it
    steps = (np.arange(4000) + 0.5) * 1e-5
    rings = [
        coefficient(0.0, math.degrees(step)) * math.tau * math.sin(step) * 1e-5 for step in steps
    ]
    # the lobe is narrow against the cosine, to 1e-4
    assert sum(rings) == pytest.approx(kernel.RETRO_SOLID_ANGLE, rel=3e-4)
