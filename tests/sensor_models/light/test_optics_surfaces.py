"""Materials: acceptance rows over the hemisphere, packing, refusals and doubts."""

import logging
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.light import surfaces as kernel
from sensor_models.light.surfaces import (
    bidirectional_reflectance,
    check_material,
    check_surface,
    pack_materials,
    pack_surface,
)
from sensor_models.scene.model import Material, SurfaceKind, SurfaceParameters

UP = np.array([0.0, 0.0, 1.0])
LAMBERT, TWO_LAYER, DIELECTRIC, _ = SurfaceKind


def toward(degrees):
    return np.array([math.sin(math.radians(degrees)), 0.0, math.cos(math.radians(degrees))])


def hemisphere(rings, sectors):
    """Directions and their cosine-weighted solid angles; rings by the rule of Gauss."""
    nodes, weights = np.polynomial.legendre.leggauss(rings)
    polar = (nodes + 1.0) * math.pi / 4.0
    azimuth = (np.arange(sectors) + 0.5) * math.tau / sectors
    theta, phi = np.meshgrid(polar, azimuth, indexing="ij")
    directions = np.stack(
        [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1
    ).reshape(-1, 3)
    solid = (weights * math.pi / 4.0 * np.sin(polar) * np.cos(polar))[:, None] * math.tau / sectors
    return directions, np.broadcast_to(solid, theta.shape).ravel()


FINE = hemisphere(300, 720)
COARSE = hemisphere(100, 180)


def albedo(row, degrees, grid=FINE):
    """The share of light from one direction that goes anywhere."""
    directions, weights = grid
    return float(bidirectional_reflectance(row, toward(degrees), directions, UP) @ weights)


def material(kind=TWO_LAYER, name="paint", two_way=False, **parameters):
    return Material(name, kind, {905e-9: SurfaceParameters(**parameters)}, two_way)


@pytest.mark.acceptance("LAM-1")
def test_lam_1_lambert_surface():
    row = pack_surface(LAMBERT, SurfaceParameters(diffuse_reflectance=0.8))
    directions = np.array([toward(0.0), toward(60.0)])
    f = bidirectional_reflectance(row, directions, directions, UP)
    # of the row
    assert f == pytest.approx([0.2546479, 0.2546479], abs=1e-7)
    assert f * directions[:, 2] == pytest.approx([0.2546479, 0.1273240], abs=1e-7)


@pytest.mark.acceptance("LAM-2")
@pytest.mark.parametrize("reflectance", [0.0, 0.1, 0.8, 1.0])
@pytest.mark.parametrize("degrees", [0.0, 60.0, 89.0])
def test_lam_2_lambert_surface_sends_back_its_reflectance(reflectance, degrees):
    row = pack_surface(LAMBERT, SurfaceParameters(diffuse_reflectance=reflectance))
    assert albedo(row, degrees, COARSE) == pytest.approx(reflectance, abs=1e-9)  # of the row


@pytest.mark.acceptance("LAM-3")
def test_lam_3_the_back_of_a_lambert_surface_is_dark():
    row = pack_surface(LAMBERT, SurfaceParameters())
    lights = np.array([toward(120.0), toward(10.0), toward(120.0), toward(90.0001)])
    viewers = np.array([toward(10.0), toward(120.0), toward(120.0), toward(10.0)])
    assert bidirectional_reflectance(row, lights, viewers, UP).tolist() == [0.0] * 4


@pytest.mark.acceptance("BRDF-12")
@pytest.mark.parametrize(("degrees", "expected"), [(0, 0.75879), (60, 0.77938)])
def test_brdf_12_albedo_of_the_base(degrees, expected):
    # an index of 1 leaves nothing of the top layer
    row = pack_surface(TWO_LAYER, SurfaceParameters(ior=1.0))
    assert albedo(row, degrees) == pytest.approx(expected, abs=1e-3)  # of the row


@pytest.mark.acceptance("BRDF-13", "BRDF-14")
@pytest.mark.parametrize(
    ("two_way", "expected"),
    [(False, (0.864, 0.868, 0.922, 1.017, 1.119)), (True, (0.789, 0.793, 0.810, 0.774, 0.581))],
)
def test_brdf_13_and_14_albedo_of_both_layers(two_way, expected):
    row = pack_surface(TWO_LAYER, SurfaceParameters(diffuse_reflectance=0.9), two_way)
    for degrees, share in zip((0, 30, 60, 75, 85), expected, strict=True):
        assert albedo(row, degrees) == pytest.approx(share, abs=5e-3)  # of the row


@pytest.mark.parametrize(
    ("sigma", "expected"), [(0.05, 0.99441), (0.1, 0.97529), (0.3, 0.76288), (0.5, 0.49789)]
)
def test_the_top_layer_of_a_perfect_mirror_loses_what_is_scattered_twice(sigma, expected):
    mirror = SurfaceParameters(
        diffuse_reflectance=0.0, ior=1.0, extinction=1e3, roughness_beckmann=sigma
    )
    # five digits are known, and this metal reflects all but 4e-6
    assert albedo(pack_surface(TWO_LAYER, mirror), 0.0) == pytest.approx(expected, abs=2e-5)


@settings(deadline=None, max_examples=40)
@given(
    st.floats(0.0, 0.97),
    st.floats(1.0, 3.0),
    st.floats(0.0, 5.0),
    st.floats(0.1, 1.0),
    st.floats(0.0, 1.5),
    st.floats(0.0, 80.0),
)
def test_two_way_surfaces_send_back_no_more_than_they_get(
    diffuse, ior, extinction, beckmann, oren_nayar, degrees
):
    surface = SurfaceParameters(diffuse, ior, extinction, beckmann, oren_nayar)
    share = albedo(pack_surface(TWO_LAYER, surface, two_way=True), degrees, COARSE)
    # the quadrature's error on the narrowest of these lobes
    assert 0.0 <= share <= 1.0 + 1e-3


def test_materials_are_packed_by_the_band_of_the_wavelength():
    two = Material(
        "paint",
        TWO_LAYER,
        {905e-9: SurfaceParameters(ior=1.5), 1550e-9: SurfaceParameters(ior=1.4)},
        two_way=True,
    )
    grey = Material("grey", LAMBERT, {905e-9: SurfaceParameters(band=(1e-7, 1e-4))})
    table = pack_materials([grey, two], 1500e-9)
    assert table.shape == (2, kernel.SURFACE_SIZE)
    assert table[:, kernel.KIND].tolist() == [kernel.LAMBERT, kernel.TWO_LAYER]
    assert table[:, kernel.TWO_WAY].tolist() == [0.0, 1.0]
    assert table[1, kernel.IOR] == 1.4
    assert pack_materials([two], 905e-9)[0, kernel.IOR] == 1.5
    assert pack_materials([], 905e-9).shape == (0, kernel.SURFACE_SIZE)
    with pytest.raises(ParameterError, match=r"material paint: has no numbers for 3\.9 mm"):
        pack_materials([two, grey], 3.9e-3)


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (LAMBERT, {"diffuse_reflectance": 1.1}, "diffuse_reflectance = 1.1 is out of range"),
        (LAMBERT, {"diffuse_reflectance": -0.1}, "allowed is 0 to 1"),
        (TWO_LAYER, {"ior": 0.0}, "ior = 0.0 is out of range"),
        (TWO_LAYER, {"extinction": -1.0}, "extinction = -1.0 is out of range"),
        (TWO_LAYER, {"roughness_beckmann": 1.5}, "roughness_beckmann = 1.5"),
        (TWO_LAYER, {"roughness_oren_nayar": 2.0}, "roughness_oren_nayar = 2.0 rad"),
        (TWO_LAYER, {"retro_reflectance": -1.0}, "at least 0 1/sr"),
        (TWO_LAYER, {"ior": math.nan}, "ior = nan is not a finite number"),
        (DIELECTRIC, {"extinction": 7.26}, "a metal is a two_layer surface"),
        (LAMBERT, {"retro_reflectance": 2000.0}, "more light than it gets"),
        (DIELECTRIC, {"retro_reflectance": 5000.0}, "more light than it gets"),
    ],
)
def test_surfaces_that_cannot_be_are_refused(kind, parameters, message):
    with pytest.raises(ParameterError, match=message):
        check_surface(kind, SurfaceParameters(**parameters))
    with pytest.raises(ParameterError, match="material paint at 905 nm: "):
        pack_materials([material(kind, **parameters)], 905e-9)


def test_a_material_without_numbers_is_refused():
    with pytest.raises(ParameterError, match="known at no wavelength"):
        check_material(Material("void", LAMBERT, {}))


@pytest.mark.parametrize("kind", SurfaceKind)
def test_brilliant_sheeting_is_possible(kind):
    check_surface(kind, SurfaceParameters(diffuse_reflectance=0.2, retro_reflectance=1000.0))


def test_a_white_lambert_surface_is_possible():
    check_surface(LAMBERT, SurfaceParameters(diffuse_reflectance=1.0))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"diffuse_reflectance": 0.98}, "near grazing angles"),
        ({"ior": 1.2, "extinction": 7.26}, "should be 0, not 0.8"),
    ],
)
def test_doubtful_materials_are_logged_and_packed(parameters, message, caplog):
    with caplog.at_level(logging.WARNING):
        pack_materials([material(**parameters)], 905e-9)
    assert [record.getMessage() for record in caplog.records if message in record.getMessage()]


def test_common_materials_raise_no_doubts(caplog):
    bare_metal = {"ior": 1.2, "extinction": 7.26, "diffuse_reflectance": 0.0}
    with caplog.at_level(logging.WARNING):
        pack_materials([material(), material(LAMBERT), material(**bare_metal)], 905e-9)
    assert caplog.records == []
