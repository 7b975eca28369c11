"""What a full-waveform lidar is asked for, as its kernels see it.

Time is counted in samples of the gate: sample k lies at t_start + (k + 1/2) t_res, in the middle
of its bin. Energies are in J, power in W, the ``level`` of a detector in A, or in photons of a
shot for a ``spad``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.waveform.simd import SIXTEEN

Floats = NDArray[np.float64]

#: Detectors.
IDEAL, APD, SIPM, SPAD = range(4)
#: Ways to extract echoes.
PEAK, LEADING_EDGE, CFD, CENTROID, GAUSSIAN = range(5)
#: Echoes that a pulse may have.
MOST_ECHOES = 15
#: Samples that a fit works on at a time.
FIT_BLOCK = 128
# Rows of the room of a fit, of N = 3 (MOST_ECHOES + 1) numbers at most: derivatives at some samples
# and, after the last one, what is left there; the matrix of a step, the one that is damped, and the
# next one; right sides and the step; then echoes, three numbers a row.
NUMBERS_OF_FIT = 3 * (MOST_ECHOES + 1)
DERIVATIVES, MATRIX = 0, NUMBERS_OF_FIT + 1
DAMPED = MATRIX + NUMBERS_OF_FIT
NEXT_MATRIX = DAMPED + NUMBERS_OF_FIT
SLOPE = NEXT_MATRIX + NUMBERS_OF_FIT
NEXT_SLOPE, CHANGE, TRIAL = SLOPE + 1, SLOPE + 2, SLOPE + 3
SPARE = TRIAL + MOST_ECHOES + 1
FIT_ROWS = SPARE + MOST_ECHOES + 1

#: Pulses that are under way together, and samples that all their histograms may have.
MOST_PULSES, MOST_UNDER_WAY = 16, 1 << 16

# Rows of Receiver.beyond: the sum of the squares of the weights of the filter from one on, and one
# over its root.
SQUARES, ROOT = range(2)

# Ways in which an arrival is shared by samples: one has it; two do, by their distances; three do,
# by a quadratic spline, which widens all arrivals by the same variance.
ONE_SAMPLE, TWO_SAMPLES, THREE_SAMPLES = range(3)
#: What the spline adds to the variance of an arrival, in samples squared.
SPLINE_VARIANCE = 0.25

# Columns of Found.echoes: amplitude in W; place and standard deviation in samples; the middle of
# what lights it and how far that reaches at least; the noise there, as a multiple of the gate's.
AMPLITUDE, PLACE, WIDTH, MIDDLE, REACH, NOISE = range(6)

# Columns of Histograms.numbers and Histograms.ids: of the strongest arrival of a bin.
COSINE, NORMAL_X, NORMAL_Y, NORMAL_Z = range(4)
ENTITY, MATERIAL, LABEL, NODE, ATMOSPHERIC = range(5)


class Pulse(NamedTuple):
    """A pulse on its way out, and the way of its light into the histogram."""

    offset: Floats  # (subrays, 2), m: to the left and up, in the plane of the aperture
    slope: Floats  # (subrays, 2): of the rays, to the left and up
    share: Floats  # (subrays,): of the pulse's energy, 1 in sum
    toward: Floats  # (subrays,): cosine between a ray and the axis, the receiver's normal
    energy: float  # of the pulse, times response and gain, J
    area: float  # of the receiver, m2
    focus: float  # distance of the virtual focus behind the aperture, m; inf for parallel rays
    rayleigh: float  # m; the weight of rays falls with the irradiance if it is above 0
    start: float  # of the gate, s
    step: float  # of the gate, s
    samples: int
    sharing: int  # how an arrival is shared by samples
    shape: Floats  # (odd,): the pulse over samples, 1 in sum; with the sharing it is the pulse
    passed: Floats  # (odd,): the share of the pulse that has passed after each sample of the shape
    haze: Floats  # W that haze sends back of the whole pulse, from the first sample on


class Receiver(NamedTuple):
    """What makes a signal of light."""

    kind: int
    noise: bool
    key: NDArray[np.uint64]  # of its draws
    optics: float  # share of the light that comes through
    response: float  # A/W of the current behind the gain; photons of a sample and W for a spad
    density: float  # q M F: A2/Hz of noise for each A of current behind the gain
    floor: float  # A2/Hz of noise in the dark, both-sided
    dark: float  # level in the dark
    impedance: float  # V/A
    least_bit: float  # V; 0 for none
    full_scale: float  # V
    filter: Floats  # (odd,), 1 in sum
    squares: float  # sum of the squares of the filter
    beyond: Floats  # (2, odd + 1), by the first weight that counts: rows below
    photon: float  # energy of a photon, J
    probability: float  # of a photon to be detected
    cells: float
    recovery: int  # samples
    charge: float  # of a fired cell, C
    shots: float
    piles_up: bool  # whether the first photons of a spad are reported as they were counted
    band_area: float  # W of background for each W/m2/sr/m
    sun: Floats  # (3,), toward the sun
    sunlight: float  # W/m2/m
    skylight: float  # W/m2/sr/m


class Extraction(NamedTuple):
    """How echoes are found in a waveform."""

    way: int
    sigma: float  # of an echo of a flat target, in samples, filter included
    filter_sigma: float  # of the filter, in samples
    threshold: float  # in standard deviations of the noise
    least: float  # W
    fraction: float  # of the peak, of the leading edge; 0 for the threshold
    cfd_fraction: float
    cfd_delay: float  # in samples
    most: int
    least_width: float  # of an echo, as a share of ``sigma``
    dead: float  # in samples


class Records(NamedTuple):
    """Where waveforms go, and what points have besides those of a lidar."""

    first: int  # the ray of the first row, of points too
    samples: NDArray[np.float32]  # (rays of a batch * samples,), W; none if they are not kept
    spans: NDArray[np.int32]  # (rays of a batch, 2): first sample, number of samples
    places: NDArray[np.int64]  # (rays of a batch,): of the first of them in ``samples``
    filled: NDArray[np.int64]  # (chunks,): where the samples of each end, side by side from its own
    lines: Floats  # (rays of a batch, 6): where each starts and goes, in the frame of the points
    word: int  # of a record, where amplitude, width, signal-to-noise and probability begin
    tau: float  # W of amplitude at 1 m for an intensity of 1/sr
    gap: float  # m: the widest between neighbouring rays, across any line in the aperture
    coarse: NDArray[np.int64]  # (chunks,): echoes of surfaces whose depth between rays shows


class Histograms(NamedTuple):
    """Pulses that are under way, and what comes back of each over time."""

    ray: NDArray[np.int64]  # (pulses,)
    pose: Floats  # (pulses, 12), of the sensor
    frame: Floats  # (pulses, 9): the beam's axis in the world, to its left, and up
    goes_on: NDArray[np.int64]  # (pulses, subrays): rays that do not end at the first surface
    going: NDArray[np.int64]  # (pulses,): how many these are
    touched: NDArray[np.int64]  # (pulses, 2): the first sample with energy, the one after the last
    energy: Floats  # (pulses, samples), J
    best: Floats  # (pulses, samples): energy of the strongest arrival of each
    numbers: Floats  # (pulses, samples, 4): of that
    ids: NDArray[np.int32]  # (pulses, samples, 5)
    light: Floats  # (pulses, 2): share of the rays that met a surface, radiance of what they met
    ends: Floats  # (pulses, subrays): the place at which haze ends on the way of each ray


class Work(NamedTuple):
    """What a thread makes of one histogram."""

    power: Floats  # (samples,), W
    level: Floats  # (samples + 2 half,): before the filter; sample k lies at half + k, 0 beyond
    signal: Floats  # (samples,), W
    weights: Floats  # (SIXTEEN - 1 + odd + SIXTEEN - 1,): the pulse's shape between zeros


class Found(NamedTuple):
    """The echoes of a waveform, and room to find them.

    Few arrays: a call that is not inlined copies all numbers that describe each.
    """

    place: NDArray[np.int64]  # (MOST_ECHOES + 1,): candidates
    echoes: Floats  # (MOST_ECHOES + 1, 6): columns above
    smooth: Floats  # (samples,)
    noise: Floats  # (samples,): standard deviation of the noise over that at the gate's start
    room: Floats  # (FIT_ROWS, FIT_BLOCK), what a fit works on


@njit(cache=True)
def new_histograms(samples: int, subrays: int) -> Histograms:
    """Room for some pulses; fewer where histograms are long."""
    pulses = min(max(MOST_UNDER_WAY // samples, 1), MOST_PULSES)
    return Histograms(
        np.zeros(pulses, np.int64),
        np.zeros((pulses, 12)),
        np.zeros((pulses, 9)),
        np.zeros((pulses, subrays), np.int64),
        np.zeros(pulses, np.int64),
        np.zeros((pulses, 2), np.int64),
        np.zeros((pulses, samples)),
        np.zeros((pulses, samples)),
        np.zeros((pulses, samples, 4)),
        np.zeros((pulses, samples, 5), np.int32),
        np.zeros((pulses, 2)),
        np.full((pulses, subrays), np.inf),
    )


@njit(cache=True)
def new_work(samples: int, half: int, shape: Floats) -> Work:
    """Room for a waveform, for a filter that reaches so far to either side, and a pulse's shape.

    Power has room behind it, as it is made ``SIXTEEN`` samples at a time.
    """
    weights = np.zeros(len(shape) + 2 * SIXTEEN - 2)
    weights[SIXTEEN - 1 : SIXTEEN - 1 + len(shape)] = shape
    power = np.zeros(samples + SIXTEEN)[:samples]
    return Work(power, np.zeros(samples + 2 * half), np.zeros(samples), weights)


@njit(cache=True)
def new_found(samples: int) -> Found:
    """Room for the echoes of a waveform."""
    n = MOST_ECHOES + 1
    return Found(
        np.zeros(n, np.int64),
        np.zeros((n, NOISE + 1)),
        np.zeros(samples),
        np.ones(samples),
        np.zeros((FIT_ROWS, FIT_BLOCK)),
    )
