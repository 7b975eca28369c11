"""The beam of the lidar: how much of it comes back, and what it hits where it is divided."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from sensor_models.lidar.lidar import beam_spread
from sensor_models.lidar.parameters import PathConvention
from sensor_models.light.beam import BeamMode, BeamParameters
from tests import lidar_scenes as rig
from tests import oracles_rays as triangles

#: Rays and points are float32.
FLOAT32 = 1e-5


def factor(x, mode=BeamMode.closed_form, reflectance=0.8, **beam):
    """The beam factor that a plate at x shows, one way."""
    own = {"beam_on": True, "path_convention": PathConvention.one_way}
    seen = rig.scene(rig.across(x), materials=(rig.lambert(reflectance),))
    (point,) = rig.capture(seen, own=own, beam=BeamParameters(mode=mode, **beam))
    return point["intensity"] * math.pi / reflectance


COAXIAL = {"emitter_radius": 0.01, "detector_radius": 0.01}
BESIDE = {"emitter_radius": 0.005, "detector_radius": 0.01, "detector_offset": 0.02}
INSIDE = 1.0 - math.exp(-2.0)


@pytest.mark.acceptance("BEAM-1")
@pytest.mark.parametrize("mode", BeamMode)
def test_beam_1_a_detector_as_wide_as_the_beam_sees_all_that_counts(mode):
    # A beam that does not widen is at any range what it is at 0.
    found = factor(10.0, mode, divergence_half_angle=0.0, **COAXIAL)
    assert found == pytest.approx(1.0, rel=FLOAT32)
    assert found * INSIDE == pytest.approx(0.864665, rel=FLOAT32)


@pytest.mark.acceptance("BEAM-2")
@pytest.mark.parametrize(
    ("x", "expected"),
    [(1, 0.901615), (10, 0.316713), (50, 0.0315752), (100, 0.00900008), (200, 0.00240440)],
)
def test_beam_2_intensities_fall_as_the_beam_widens(x, expected):
    assert factor(float(x), **COAXIAL) == pytest.approx(expected, rel=FLOAT32)


@pytest.mark.acceptance("BEAM-3")
@pytest.mark.parametrize("x", [2.0, 30.0, 150.0])
def test_beam_3_on_the_axis_the_factor_is_the_exact_share_by_a_constant(x):
    width = x * math.tan(1.5e-3) + 0.01
    share = 1.0 - math.exp(-2.0 * (0.01 / width) ** 2)
    for mode in BeamMode:
        assert factor(x, mode, **COAXIAL) / share == pytest.approx(1.1565176, rel=FLOAT32)


@pytest.mark.acceptance("BEAM-4")
@pytest.mark.parametrize(("clamp", "expected"), [(False, 1.156130), (True, 1.0)])
def test_beam_4_a_wider_detector_is_clamped(clamp, expected):
    beam = {"emitter_radius": 0.01, "detector_radius": 0.02, "divergence_half_angle": 0.0}
    assert factor(10.0, clamp=clamp, **beam) == pytest.approx(expected, rel=FLOAT32)


@pytest.mark.acceptance("BEAM-5")
@pytest.mark.parametrize(("x", "expected"), [(10, 0.0615850), (50, 0.0314012), (200, 0.00246252)])
def test_beam_5_the_closed_form_of_a_detector_beside_the_beam(x, expected):
    assert factor(float(x), **BESIDE) == pytest.approx(expected, rel=2e-5)


@pytest.mark.acceptance("BEAM-6")
@pytest.mark.parametrize(("x", "expected"), [(10, 0.0818923), (50, 0.0272043), (200, 0.00212928)])
def test_beam_6_the_exact_share_of_a_detector_beside_the_beam(x, expected):
    assert factor(float(x), BeamMode.exact, **BESIDE) * INSIDE == pytest.approx(expected, rel=2e-5)


@pytest.mark.acceptance("BEAM-7")
def test_beam_7_far_away_it_is_the_square_of_the_range():
    found = factor(200.0, emitter_radius=0.0, detector_radius=0.01) * INSIDE
    assert found == pytest.approx(2.21975e-3, rel=1e-4)
    assert found == pytest.approx(2.22222e-3, rel=2e-3)  # the law has an error of (R/w)^2


def test_both_ways_widen_the_beam():
    (point,) = rig.capture(
        rig.scene(rig.across(25.0)), own={"beam_on": True}, beam=BeamParameters(**COAXIAL)
    )
    assert point["intensity"] == pytest.approx(0.0315752 * 0.8 / math.pi, rel=FLOAT32)


# ---- beams of several rays --------------------------------------------------------------------


@pytest.mark.parametrize("rays", [2, 10, 100, 1000])
def test_rays_of_a_beam_spread_like_its_power(rays):
    spread = beam_spread(rays, 1.5e-3)
    squared = (spread**2).sum(axis=1)
    assert squared.max() <= 1.5e-3**2
    # u = 2 r^2 / a^2 is exponential, cut at 2: its mean is (1 - 3 e^-2) / (1 - e^-2). Rays stand
    # in the middle of equal shares, which leaves an error of the second order.
    mean = (1.0 - 3.0 * math.exp(-2.0)) / INSIDE
    tolerance = 0.5 / rays**1.5 + 1e-12
    assert 2.0 * squared.mean() / 1.5e-3**2 == pytest.approx(mean, rel=tolerance)
    if rays >= 100:
        # The spiral is even: means of both axes vanish, and each has half of the moment.
        np.testing.assert_allclose(spread.mean(axis=0), 0.0, atol=1.5e-3 * 2.0 / rays)
        np.testing.assert_allclose((spread**2).mean(axis=0), squared.mean() / 2.0, rtol=5.0 / rays)


def test_one_ray_is_the_axis():
    assert beam_spread(1, 0.1).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("subrays", [2, 16, 64, 65, 300, 1000])
def test_a_plate_that_fills_the_beam_answers_as_to_one_ray(subrays):
    seen = rig.scene(rig.across(30.0))
    beam = BeamParameters(divergence_half_angle=5e-3)
    (many,) = rig.capture(seen, own={"subrays": subrays}, beam=beam)
    (one,) = rig.capture(seen, beam=beam)
    # Rays are up to 5 mrad off: cosines and ranges of the second order.
    assert many["intensity"] == pytest.approx(one["intensity"], rel=2e-5)
    assert many["range"] == pytest.approx(one["range"], rel=2e-5)
    assert many["return_count"] == 1


def share_of_half_plane(edge):
    """The power of a Gaussian beam cut at its radius 1 on one side of a line at ``edge``."""

    def slice_of(x):
        root = math.sqrt(max(1.0 - x * x, 0.0))
        return math.exp(-2.0 * x * x) * special.erf(math.sqrt(2.0) * root)

    below, _ = integrate.quad(slice_of, -1.0, edge)
    whole, _ = integrate.quad(slice_of, -1.0, 1.0)
    return below / whole


@pytest.mark.parametrize("edge", [-0.7, -0.2, 0.0, 0.5])
def test_the_parts_of_a_beam_at_an_edge_are_echoes_of_their_own(edge):
    """A plate covers the footprint up to ``edge`` radii; the rest goes on to a wall."""
    half_angle, x = 4e-3, 20.0
    left = x * math.tan(half_angle * edge)
    corners = [(x, -30, -31), (x, left, -31), (x, left, 32), (x, -30, 32)]
    plate = triangles.mesh_of(corners, [[0, 1, 2], [0, 2, 3]])
    seen = rig.scene(plate, rig.across(40.0, half=60.0))
    beam = BeamParameters(divergence_half_angle=half_angle)
    expected = share_of_half_plane(edge)
    errors = []
    for rays in (30, 300, 1000):
        near, far = rig.capture(seen, own=rig.ALL | {"subrays": rays}, beam=beam)
        assert (near["entity_id"], far["entity_id"]) == (100, 101)
        assert near["intensity"] + far["intensity"] == pytest.approx(0.8 / math.pi, rel=1e-4)
        errors.append(near["intensity"] * math.pi / 0.8 - expected)
        # An even spiral errs by some rays on the line; their number goes with the root.
        assert abs(errors[-1]) < 1.0 / rays**0.75
    assert abs(errors[-1]) < 0.01


def test_echoes_of_a_beam_closer_than_half_a_pulse_become_one():
    beam = BeamParameters(divergence_half_angle=4e-3)
    for gap, count in ((0.7, 1), (0.8, 2)):  # c tau / 2 is 0.749 m
        plate = rig.box((20.0, -30.0, -31.0), (20.1, 0.0, 32.0))
        seen = rig.scene(plate, rig.across(20.0 + gap))
        points = rig.capture(seen, own=rig.ALL | {"subrays": 100}, beam=beam)
        assert len(points) == count


def test_a_beam_on_a_slanted_plate_reads_its_middle():
    beam = BeamParameters(divergence_half_angle=4e-3)
    plate = rig.turned(rig.across(20.0), (0, 0, 1), 1.0, (20.0, 0.0, 0.0))
    (point,) = rig.capture(rig.scene(plate), own={"subrays": 400}, beam=beam)
    # The footprint is 20 * 4e-3 * tan(1) * 2 = 0.25 m deep; second order: b^2 tan^2.
    assert point["range"] == pytest.approx(20.0, rel=1e-4)
    assert point["intensity"] == pytest.approx(0.8 / math.pi * math.cos(1.0), rel=1e-3)


@pytest.mark.parametrize("subrays", [30, 33, 64, 1000])
def test_echoes_of_a_divided_beam_do_not_chain_past_the_window(subrays):
    """Edges of plates at 10.0, 10.6 and 11.0 m in one beam, and a window of 0.75 m."""
    seen = rig.scene(
        rig.box((10.0, 0.012, -5.0), (10.1, 5.0, 5.0)),
        rig.box((10.6, -0.013, -5.0), (10.7, 5.0, 5.0)),
        rig.across(11.0),
    )
    own = rig.ALL | {"subrays": subrays, "pulse_length": 5e-9}  # a window of half a pulse, 0.749 m
    points = rig.capture(seen, own=own, beam=BeamParameters(divergence_half_angle=5e-3))
    assert len(points) == 2
    assert 10.0 < points["range"][0] < 10.6
    assert points["range"][1] == pytest.approx(11.0, abs=2e-3)
    # But for sub-rays that meet the narrow side of a plate.
    assert points["intensity"].sum() == pytest.approx(0.8 / math.pi, rel=2e-3)
