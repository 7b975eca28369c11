"""The beam factor: acceptance rows, clamping, and the ends of its range."""

import math

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.light import beam as kernel
from sensor_models.light.beam import BeamMode, BeamParameters, beam_factor

SCALE = 1.0 / (1.0 - math.exp(-2.0))
EXACT = BeamMode.exact


def factor(path, **parameters):
    return float(beam_factor(BeamParameters(**parameters), path))


@pytest.mark.acceptance("BEAM-1")
def test_beam_1_a_detector_as_wide_as_the_beam():
    assert factor(0.0, emitter_radius=0.01) == pytest.approx(1.0, abs=1e-9)  # of the row
    assert kernel.exact_share(0.01, 0.0, 0.01) == pytest.approx(0.864665, abs=1e-6)


@pytest.mark.acceptance("BEAM-2")
def test_beam_2_a_detector_on_the_axis_over_distance():
    expected = [0.901615, 0.316713, 0.0315752, 0.00900008, 0.00240440]
    factors = beam_factor(BeamParameters(emitter_radius=0.01), [1.0, 10.0, 50.0, 100.0, 200.0])
    # of the row, but that it has six digits
    assert factors == pytest.approx(expected, rel=2e-6)


@pytest.mark.acceptance("BEAM-3")
@pytest.mark.parametrize("path", [0.5, 5.0, 50.0, 500.0])
def test_beam_3_the_closed_form_is_the_scaled_exact_one_on_the_axis(path):
    spot = 0.01 + path * math.tan(1.5e-3)
    ratio = factor(path, emitter_radius=0.01) / kernel.exact_share(0.01, 0.0, spot)
    assert ratio == pytest.approx(SCALE, abs=1e-9)  # of the row
    assert pytest.approx(1.1565176, abs=1e-7) == SCALE
    assert factor(path, emitter_radius=0.01) == factor(path, emitter_radius=0.01, mode=EXACT)


@pytest.mark.acceptance("BEAM-4")
@pytest.mark.parametrize("mode", BeamMode)
def test_beam_4_a_detector_wider_than_the_emitter(mode):
    wide = {"detector_radius": 0.02, "emitter_radius": 0.01, "mode": mode}
    assert factor(0.0, clamp=False, **wide) == pytest.approx(1.156130, abs=1e-6)  # of the row
    assert factor(0.0, **wide) == 1.0


BESIDE = {"emitter_radius": 5e-3, "detector_radius": 0.01, "detector_offset": 0.02}


@pytest.mark.acceptance("BEAM-5")
def test_beam_5_a_detector_beside_the_beam():
    factors = beam_factor(BeamParameters(**BESIDE), [10.0, 50.0, 200.0])
    assert factors == pytest.approx([0.0615850, 0.0314012, 0.00246252], rel=1e-5)  # of the row


@pytest.mark.acceptance("BEAM-6")
def test_beam_6_the_exact_share_beside_the_beam():
    factors = beam_factor(BeamParameters(mode=EXACT, **BESIDE), [10.0, 50.0, 200.0])
    expected = [0.0818923, 0.0272043, 0.00212928]
    assert factors / SCALE == pytest.approx(expected, rel=1e-5)  # of the row


@pytest.mark.acceptance("BEAM-7")
def test_beam_7_the_far_field():
    spot = 200.0 * math.tan(1.5e-3)
    unscaled = kernel.closed_share(0.01, 0.0, spot)
    # of the row
    assert unscaled == pytest.approx(2.21975e-3, rel=1e-4)
    assert 2.0 * (0.01 / spot) ** 2 == pytest.approx(2.22222e-3, rel=1e-4)


@pytest.mark.parametrize("mode", BeamMode)
def test_a_beam_without_width_or_divergence_loses_nothing(mode):
    parallel = BeamParameters(divergence_half_angle=0.0, mode=mode, detector_offset=0.02)
    assert beam_factor(parallel, [0.0, 1.0, 1e6]).tolist() == [1.0] * 3


@pytest.mark.parametrize("mode", BeamMode)
def test_a_point_on_the_axis_is_received_whole(mode):
    for clamp in (True, False):
        assert factor(0.0, mode=mode, clamp=clamp) == 1.0


def test_a_point_off_the_axis_is_received_by_a_detector_that_covers_it():
    assert factor(0.0, detector_offset=0.02) == 0.0
    assert factor(0.0, detector_offset=0.02, mode=EXACT) == 0.0
    assert factor(0.0, detector_offset=0.005) == 0.0
    assert factor(0.0, detector_offset=0.005, mode=EXACT) == 1.0


@pytest.mark.parametrize("mode", BeamMode)
def test_on_the_axis_the_factor_falls_with_distance(mode):
    factors = beam_factor(BeamParameters(emitter_radius=0.01, mode=mode), np.linspace(0, 300, 500))
    assert np.all(np.diff(factors) < 0.0)


def test_shapes_of_arrays_are_kept():
    assert beam_factor(BeamParameters(), np.ones((2, 3))).shape == (2, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"divergence_half_angle": 0.2},
        {"detector_radius": 0.0},
        {"detector_offset": -1.0},
        {"emitter_radius": math.nan},
    ],
)
def test_beams_that_cannot_be_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        BeamParameters(**wrong)
