"""Low-pass and delay of the sensing element against closed forms and a slow integration."""

import math

import numpy as np
import pytest

from sensor_models.kernels.inertial import sensing_element as element

CUTOFF = 20.0
OMEGA = 2.0 * math.pi * CUTOFF


def filtered(order, times, inputs):
    """The response to an input that is the same on all axes."""
    coefficients = np.zeros(element.FILTER_COEFFICIENTS)
    state = np.zeros(element.FILTER_STATE_SIZE)
    outputs = []
    for k, (time, u) in enumerate(zip(times, inputs, strict=True)):
        dt = time - times[k - 1] if k else 0.0
        element.filter_coefficients(coefficients, CUTOFF, order, dt)
        x, y, z = element.low_pass(coefficients, state, (u, 2.0 * u, -u), dt)
        # factors of 2 and -1 are exact
        assert (y, z) == (2.0 * x, -x)
        outputs.append(x)
    return np.array(outputs)


def integrated(order, times, inputs, parts=400):
    """The same by small steps of the midpoint rule."""
    x, v = inputs[0], 0.0
    outputs = [x]
    for k in range(1, len(times)):
        h = (times[k] - times[k - 1]) / parts
        for part in range(parts):
            u = inputs[k - 1] + (inputs[k] - inputs[k - 1]) * (part + 0.5) / parts
            if order == 1:
                x += h * OMEGA * (u - (x + 0.5 * h * OMEGA * (u - x)))
            else:
                a = OMEGA**2 * (u - x) - math.sqrt(2.0) * OMEGA * v
                half_x, half_v = x + 0.5 * h * v, v + 0.5 * h * a
                a = OMEGA**2 * (u - half_x) - math.sqrt(2.0) * OMEGA * half_v
                x, v = x + h * half_v, v + h * a
        outputs.append(x)
    return np.array(outputs)


@pytest.mark.parametrize("order", [1, 2])
def test_the_low_pass_solves_its_equation_at_any_steps(order):
    generator = np.random.default_rng(3)
    times = np.concatenate([[0.0], np.cumsum(generator.uniform(1e-3, 3e-2, 60))])
    inputs = generator.normal(size=times.size)
    # the midpoint rule at 400 parts a step of at most 3.8 / ω is off by (3.8/400)^2 / 6 of 1
    expected = integrated(order, times, inputs)
    assert filtered(order, times, inputs) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("steps", [(0.05,), (0.01,) * 5, (0.001,) * 50, (0.02, 0.005, 0.025)])
def test_the_response_to_a_ramp_is_exact_however_it_is_cut(steps):
    times = np.concatenate([[0.0], np.cumsum(steps)])
    end = times[-1]
    first = end - (1.0 - math.exp(-OMEGA * end)) / OMEGA
    rate = OMEGA / math.sqrt(2.0)
    second = end - (1.0 - math.exp(-rate * end) * math.cos(rate * end)) / rate
    # up to 50 steps of a few roundings of numbers below 0.05
    assert filtered(1, times, times)[-1] == pytest.approx(first, abs=1e-15)
    assert filtered(2, times, times)[-1] == pytest.approx(second, abs=1e-15)


@pytest.mark.parametrize("order", [1, 2])
def test_the_low_pass_has_lost_3_db_at_its_cutoff(order):
    times = np.arange(40_000) / 20_000.0
    outputs = filtered(order, times, np.sin(OMEGA * times))[20_000:]
    # 20 whole periods; the linear course between 1000 samples a period costs 2e-6 of the amplitude
    assert math.sqrt(2.0) * np.std(outputs) == pytest.approx(math.sqrt(0.5), rel=1e-5)


@pytest.mark.parametrize("order", [1, 2])
def test_a_constant_input_passes_from_the_first_sample_on(order):
    times = np.array([0.0, 0.01, 0.5, 0.5001])
    # a sum of products of 0 and the input
    assert filtered(order, times, np.full(4, 0.3)).tolist() == [0.3] * 4


def remembered(instants, signal):
    ring = np.zeros(element.RING_STATE_SIZE)
    for t in instants:
        element.remember(ring, tuple(float(x) for x in signal(t)), t)
    return ring


def line(t):
    return (1.0 + 2.0 * t, -t, 0.5)


def test_a_past_signal_is_recalled_linearly_between_samples():
    ring = remembered(np.arange(200) * 0.125, line)
    for back in (0.0, 0.01, 0.125, 0.3, 5.0, 63 * 0.125):
        instant = 199 * 0.125 - back
        # one rounding of a number below 51
        assert element.recall(ring, instant) == pytest.approx(line(instant), abs=1e-14)


def test_samples_need_not_be_equally_spaced():
    instants = np.cumsum(np.random.default_rng(5).uniform(0.01, 1.0, 50))
    ring = remembered(instants, line)
    for instant in np.linspace(instants[0], instants[-1], 333):
        assert element.recall(ring, instant) == pytest.approx(line(instant), abs=1e-13)


def test_an_instant_that_was_sampled_is_recalled_bit_by_bit():
    ring = remembered(np.arange(20) * 0.25, lambda t: (math.sin(t), 0.1 * t, t / 3.0))
    for k in range(20):
        t = 0.25 * k
        assert element.recall(ring, t) == (math.sin(t), 0.1 * t, t / 3.0)


def test_what_is_older_than_memory_is_its_oldest_row():
    assert element.recall(remembered([3.0], line), -10.0) == line(3.0)
    assert element.recall(remembered(np.arange(5.0), line), -10.0) == line(0.0)
    oldest = 200.0 - element.RING_ROWS
    assert element.recall(remembered(np.arange(200.0), line), 0.0) == line(oldest)
