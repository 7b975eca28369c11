"""The noise of single states: its laws, bounds, correlation and state."""

import math

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.core.random import stream_key
from sensor_models.inertial.corruption import BoundMode
from sensor_models.inertial.noise import Noise, NoiseParameters, NoiseType

KEY = stream_key(1, "sensor", "noise")
WALK = NoiseParameters(type=NoiseType.random_walk, walk=0.5)
MARKOV = NoiseParameters(type=NoiseType.gauss_markov, std=0.3, time_constant=2.0)


def simulate(parameters, steps, dt=0.1, factor=None):
    noise = Noise(parameters, KEY, factor)
    return np.array([noise.sample(k, dt if k else 0.0) for k in range(steps)])


@pytest.mark.acceptance("COR-13")
@pytest.mark.parametrize("law", [NoiseType.normal, NoiseType.uniform])
def test_cor_13_the_standard_deviation_that_is_entered_is_delivered(law):
    drawn = simulate([NoiseParameters(type=law, std=0.1, bias=0.25)] * 8, 10_000)
    # 80000 draws scatter by 0.25 %
    assert np.std(drawn) == pytest.approx(0.1, rel=0.01)
    assert np.mean(drawn) == pytest.approx(0.25, abs=4.0 * 0.1 / math.sqrt(80_000))


def test_uniform_noise_fills_its_interval():
    drawn = simulate([NoiseParameters(type=NoiseType.uniform, std=1.0)] * 4, 5000)
    half_width = math.sqrt(3.0)
    assert np.abs(drawn).max() <= half_width
    # the outermost of 20000 draws leaves out 1/20000 of the interval on average
    assert min(drawn.max(), -drawn.min()) > half_width * (1.0 - 1e-3)


def test_an_offset_alone_is_constant():
    assert simulate([NoiseParameters(bias=0.5), NoiseParameters()], 3).tolist() == [[0.5, 0.0]] * 3


def test_a_walk_starts_at_zero_and_sums_white_steps():
    walks = simulate([WALK] * 8, 2000)
    assert walks[0].tolist() == [0.0] * 8
    steps = np.diff(walks, axis=0)
    # 16000 draws scatter by 0.6 %, and their correlation by 0.8 %
    assert np.std(steps) == pytest.approx(0.5 * math.sqrt(0.1), rel=0.024)
    assert abs(np.mean(steps[1:] * steps[:-1])) / np.var(steps) < 0.032


def test_the_step_of_a_drift_may_vary():
    noise = Noise([WALK] * 4, KEY)
    noise.sample(0, 0.0)
    before, steps = noise.state, []
    for k in range(1, 4001):
        dt = 0.01 if k % 2 else 1.0
        after = noise.sample(k, dt)
        steps.append((after - before) / math.sqrt(dt))
        before = after
    # 8000 draws each scatter by 0.8 %
    assert np.std(steps[::2]) == pytest.approx(0.5, rel=0.032)
    assert np.std(steps[1::2]) == pytest.approx(0.5, rel=0.032)


def test_a_stationary_start_has_the_long_run_law():
    settings = {"type": NoiseType.gauss_markov, "std": 0.3, "time_constant": 1e9}
    frozen = simulate([NoiseParameters(**settings, stationary_start=True)] * 4000, 2)
    # 4000 draws scatter by 1.1 %; in 1e-10 of a time constant nothing moves by more than 1e-4
    assert np.std(frozen[0]) == pytest.approx(0.3, rel=0.045)
    assert np.abs(frozen[1] - frozen[0]).max() < 1e-4
    assert simulate([NoiseParameters(**settings)] * 4, 1).tolist() == [[0.0] * 4]


@pytest.mark.parametrize("mode", BoundMode)
def test_bounds_need_not_be_symmetric(mode):
    bounds = {"bound_min": -0.1, "bound_max": 0.4, "bound_mode": mode}
    settings = {"type": NoiseType.random_walk, "walk": 0.3, "bias": 10.0, **bounds}
    drawn = simulate([NoiseParameters(**settings)] * 4, 3000) - 10.0
    # the offset costs digits
    assert -0.1 - 1e-14 <= drawn.min() < -0.05
    assert 0.35 < drawn.max() <= 0.4 + 1e-14


def test_bounds_that_leave_out_zero_are_kept_from_the_first_sample_on():
    drawn = simulate([NoiseParameters(type=NoiseType.random_walk, bound_min=0.5, bound_max=1.0)], 3)
    assert drawn.ravel().tolist() == [0.5, 0.5, 0.5]


def test_a_factor_gives_noise_of_its_covariance():
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, -0.5], [0.0, -0.5, 1.0]])
    white = [NoiseParameters(type=NoiseType.normal, bias=bias) for bias in (0.0, 1.0, 2.0)]
    drawn = simulate(white, 20_000, factor=np.linalg.cholesky(covariance))
    # entries scatter by at most sqrt(2/20000) times 4
    assert np.cov(drawn.T) == pytest.approx(covariance, abs=0.16)
    assert np.mean(drawn, axis=0) == pytest.approx([0.0, 1.0, 2.0], abs=4.0 * 2.0 / 141.0)


def test_a_diagonal_factor_is_the_same_as_standard_deviations():
    stds = [0.1, 2.0, 0.0]
    given = [NoiseParameters(type=NoiseType.normal, std=std) for std in stds]
    assert simulate(given, 5).tolist() == simulate(given, 5, factor=np.diag(stds)).tolist()


def test_states_are_independent_and_the_first_ones_do_not_depend_on_how_many_follow():
    few, many = simulate([WALK] * 3, 50), simulate([WALK] * 9, 50)
    assert many[:, :3].tobytes() == few.tobytes()
    steps = np.diff(simulate([WALK] * 6, 5001), axis=0)
    correlations = np.corrcoef(steps.T) - np.eye(6)
    assert np.abs(correlations).max() < 4.5 / math.sqrt(5000)


def test_a_restored_state_continues_bit_by_bit_and_reset_replays():
    noise = Noise([WALK, MARKOV], KEY)
    first = [noise.sample(k, 0.1 if k else 0.0) for k in range(20)]
    saved = noise.state
    later = [noise.sample(k, 0.1) for k in range(20, 40)]
    noise.state = saved
    assert (
        np.array([noise.sample(k, 0.1) for k in range(20, 40)]).tobytes()
        == np.array(later).tobytes()
    )
    noise.reset()
    assert noise.sample(0, 0.0).tobytes() == first[0].tobytes()
    with pytest.raises(ValueError, match="state has shape"):
        noise.state = np.zeros(3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"std": -1.0}, "noise.std = -1.0 is out of range"),
        ({"bound_min": 1.0, "bound_max": 1.0}, "bound_min = 1.0 is not below bound_max = 1.0"),
        ({"bound_mode": BoundMode.pull, "bound_max": 1.0}, "pull needs both bounds or none"),
        (
            {"type": NoiseType.random_walk, "stationary_start": True},
            "stationary_start = True while noise.type is random_walk",
        ),
    ],
)
def test_parameters_that_make_no_noise_are_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        NoiseParameters(**settings)


def test_factors_that_do_not_fit_are_refused():
    normal = NoiseParameters(type=NoiseType.normal)
    with pytest.raises(ParameterError, match=r"shape \(2, 2\) is no finite matrix of 1 x 1"):
        Noise([normal], KEY, np.eye(2))
    with pytest.raises(ParameterError, match=r"noise\.type normal on all states"):
        Noise([normal, WALK], KEY, np.eye(2))


@pytest.mark.parametrize("dt", [-0.1, math.nan, math.inf])
def test_a_time_that_goes_backward_is_refused(dt):
    with pytest.raises(ParameterError, match="dt = "):
        Noise([WALK], KEY).sample(0, dt)
