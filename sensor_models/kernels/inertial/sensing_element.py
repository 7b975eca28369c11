r"""The sensing element of a triaxial sensor: low-pass and delay of the ideal signal.

Low-pass of cutoff f_c, ω = 2π f_c, from input u to output x:

    order 1   x' = ω (u - x)                            -3 dB at f_c
    order 2   x'' = ω² (u - x) - √2 ω x'                 Butterworth, -3 dB at f_c

solved exactly for an input that is linear between samples, at any time between them. On a ramp of
slope s the output follows u with a constant lag L, L = 1/ω or √2/ω; the deviation from that decays
by a matrix, so with e = x - (u - s L) and f = x' - s

    (e, f) <- A (e, f),   s = (u - last u)/dt

It starts in equilibrium with the first input. Where the motion is known between samples
(``steps``), the inputs lie closer than the samples: at least 12 in a period of the cutoff, but at
most 64 in a sampling period, so that the straight lines between them take sinc(1/12)^2 of a signal
at the cutoff, 0.2 dB. Where only samples are known, a signal near half their rate loses 4.7 dB
more: 80 Hz of 200 Hz.

Noise in front of the low-pass is drawn for each input, with the deviation density sqrt(rate of
inputs), so it is white up to half that rate. What a low-pass of order 1 would let pass of the noise
beyond is missing: at most 15 % of the power; of order 2 it is 1 %.

Delay: the value at t_k is that of t_k - delay - jitter |n|, n a normal draw that the axes share
(they are sampled at once). |n| has the mean square 1, so ``jitter`` is the root mean square of the
random part, and nothing is taken from the future. The signal is linear between samples. Before the
first sample, and before the oldest of the ``RING_ROWS`` in memory, it is taken as constant.

Not modelled: what the input does between the instants that it is taken at, hence aliasing of faster
signals.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.inertial.corruption import clamp
from sensor_models.kernels.options import PLAIN

Floats = NDArray[np.float64]
Vector = tuple[float, float, float]

#: Layout of the coefficients of the low-pass: lag and the matrix A, by rows.
LAG, EE, EF, FE, FF = range(5)
FILTER_COEFFICIENTS = 5
#: Layout of its state: was there an input, then output, slope and last input of three axes.
FILTER_STARTED = 0
OUTPUT, SLOPE, INPUT = 1, 4, 7
FILTER_STATE_SIZE = 10

#: Past signals in memory: a row of time and three values each, as a ring.
RING_ROWS = 64
ROW_SIZE = 4
#: Layout of the ring's state: how many rows were written, then the rows.
WRITTEN = 0
FIRST_ROW = 1
RING_STATE_SIZE = FIRST_ROW + RING_ROWS * ROW_SIZE
#: No normal draw is larger (the quantile of 1 - 2^-53 is 8.21).
LARGEST_DRAW = 8.3


@njit(**PLAIN)
def filter_coefficients(coefficients: Floats, cutoff: float, order: int, dt: float) -> None:
    """Fill the coefficients of the low-pass for samples ``dt`` apart."""
    omega = 2.0 * math.pi * cutoff
    if order == 1:
        coefficients[LAG] = 1.0 / omega
        coefficients[EE] = math.exp(-omega * dt)
        coefficients[EF] = coefficients[FE] = coefficients[FF] = 0.0
        return
    # damping and frequency of the oscillation are equal at the damping ratio 1/√2
    rate = omega * math.sqrt(0.5)
    decay = math.exp(-rate * dt)
    cosine, sine = decay * math.cos(rate * dt), decay * math.sin(rate * dt)
    coefficients[LAG] = 1.0 / rate
    coefficients[EE] = cosine + sine
    coefficients[EF] = sine / rate
    coefficients[FE] = -2.0 * rate * sine
    coefficients[FF] = cosine - sine


@njit(**PLAIN)
def start_filter(state: Floats, signal: Vector) -> None:
    """Put the low-pass in equilibrium with its input."""
    state[FILTER_STARTED] = 1.0
    for axis in range(3):
        state[OUTPUT + axis] = state[INPUT + axis] = signal[axis]
        state[SLOPE + axis] = 0.0


@njit(**PLAIN, error_model="numpy")
def low_pass(coefficients: Floats, state: Floats, signal: Vector, dt: float) -> Vector:
    """The output of the low-pass, ``dt`` after the last one."""
    if state[FILTER_STARTED] == 0.0:
        start_filter(state, signal)
        return signal
    lag = coefficients[LAG]
    for axis in range(3):
        before, now = state[INPUT + axis], signal[axis]
        slope = (now - before) / dt
        e = state[OUTPUT + axis] - (before - slope * lag)
        f = state[SLOPE + axis] - slope
        follower = now - slope * lag
        state[OUTPUT + axis] = follower + coefficients[EE] * e + coefficients[EF] * f
        state[SLOPE + axis] = slope + coefficients[FE] * e + coefficients[FF] * f
        state[INPUT + axis] = now
    return state[OUTPUT], state[OUTPUT + 1], state[OUTPUT + 2]


@njit(**PLAIN)
def remember(state: Floats, signal: Vector, time: float) -> None:
    """Write a signal into the ring."""
    row = FIRST_ROW + (int(state[WRITTEN]) % RING_ROWS) * ROW_SIZE
    state[row] = time
    for axis in range(3):
        state[row + 1 + axis] = signal[axis]
    state[WRITTEN] += 1.0


@njit(**PLAIN, error_model="numpy")
def recall(state: Floats, time: float) -> Vector:
    """The signal at an instant, which is not after the newest in the ring."""
    newest = int(state[WRITTEN]) - 1
    row = later = FIRST_ROW + (newest % RING_ROWS) * ROW_SIZE
    for number in range(newest - 1, max(newest - RING_ROWS, -1), -1):
        if state[row] <= time:
            break
        later = row
        row = FIRST_ROW + (number % RING_ROWS) * ROW_SIZE
    share = 1.0
    if row != later:
        share = clamp((time - state[row]) / (state[later] - state[row]), 0.0, 1.0)
    return (
        state[row + 1] + share * (state[later + 1] - state[row + 1]),
        state[row + 2] + share * (state[later + 2] - state[row + 2]),
        state[row + 3] + share * (state[later + 3] - state[row + 3]),
    )
