r"""From the light on a chip to digital numbers, for each pixel by itself.

relative   q = gain V E t / full scale, clamped to [0, 1];  DN = floor(largest q^γ + 1/2), or
           largest q where ``tone`` goes on with it
emva       μ = (V s t + dark t) (1 + PRNU) + DSNU electrons, a Poisson draw of it, plus normal read
           noise, at most the full well;  y = floor(K e + y0 + 1/2), clipped to 0..largest. Gain and
           γ act on y / largest after that, if they are not 1. Where DSNU takes μ below zero, e is μ
           itself plus read noise: the black level is there so that such pixels can be told.

s counts electrons per second. PRNU and DSNU are normal draws by pixel and channel alone, so they
are the same in each frame; draws of noise go by frame, pixel and channel.

A Poisson draw is a function of one uniform draw u: for means below 25 the smallest k whose
probabilities add up to u, else with the normal quantile w of u (Giles 2016)

    floor(μ + sqrt(μ) w + (2 + w²)/6 - (2w + w³)/(72 sqrt(μ)))

Source: PHYSICS 15.6, PHYSICS-2 32.1; EMVA 1288 Release 4.0.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.normal_law import quantile
from sensor_models.kernels.math.philox import block, normal, open_unit
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.rays import claim

Floats = NDArray[np.float64]

RELATIVE, EMVA = 0, 1
#: Rows of keys.
NOISE, DSNU, PRNU = range(3)
#: From this mean on, Poisson draws are of Giles' formula.
LARGE_MEAN = 25.0


class Chip(NamedTuple):
    """A chip and one exposure of it."""

    model: int  # ``RELATIVE`` or ``EMVA``
    frame: int  # number of the frame, for draws
    columns: int  # of pixels
    exposure: float  # s
    full_scale: float  # J/m2 that give the largest number
    gains: Floats  # (bands,), factors
    gamma: float  # exponent of the share of full scale
    largest: float  # digital number
    rounds: bool  # a light becomes a whole number here, not by ``tone``; counts are always whole
    dark: float  # electrons of this exposure
    read_noise: float  # electrons
    full_well: float  # electrons
    system_gain: float  # K, digital numbers per electron
    black: float  # y0, digital number
    dsnu: float  # electrons
    prnu: float  # share
    cell: NDArray[np.int64]  # (2, 2): band of the pixels of a cell; empty without a mosaic
    keys: NDArray[np.uint64]  # (3, 2): of noise, DSNU and PRNU


@njit(cache=True, error_model="numpy")
def poisson(mean: float, draw: float) -> float:
    """The Poisson count whose distribution function passes a uniform draw."""
    if not mean > 0.0:
        return 0.0
    if mean < LARGE_MEAN:
        count, share = 0.0, math.exp(-mean)
        total = share
        while total < draw and count < 300.0:
            count += 1.0
            share *= mean / count
            total += share
        return count
    root, w = math.sqrt(mean), quantile(draw - 0.5)
    drawn = mean + root * w + (2.0 + w * w) / 6.0 - (2.0 * w + w * w * w) / (72.0 * root)
    return float(max(math.floor(drawn), 0.0))


@njit(**ACCESS)
def graded(chip: Chip, band: int, value: float) -> float:
    """A normalised value after gain and gamma, as a digital number."""
    q = min(max(chip.gains[band] * value, 0.0), 1.0)
    if chip.gamma != 1.0:
        q = q**chip.gamma
    if not chip.rounds:
        return float(chip.largest * q)
    return float(math.floor(chip.largest * q + 0.5))


@njit(**ACCESS)
def counted(chip: Chip, band: int, signal: float, lane: int) -> float:
    """The digital number of electrons, with their noise."""
    mean = signal * chip.exposure + chip.dark
    if chip.prnu > 0.0:
        mean *= 1.0 + chip.prnu * normal(chip.keys[PRNU], 0, lane)
    if chip.dsnu > 0.0:
        mean += chip.dsnu * normal(chip.keys[DSNU], 0, lane)
    a, b, c, _ = block(chip.keys[NOISE], chip.frame, lane)
    electrons: float = poisson(mean, open_unit(a)) if mean > 0.0 else mean
    if chip.read_noise > 0.0:
        radius = math.sqrt(-2.0 * math.log(open_unit(b)))
        electrons += chip.read_noise * radius * math.cos(2.0 * math.pi * open_unit(c))
    electrons = min(electrons, chip.full_well)
    y = float(math.floor(chip.system_gain * electrons + chip.black + 0.5))
    y = min(max(y, 0.0), chip.largest)
    if chip.gains[band] != 1.0 or chip.gamma != 1.0:
        y = graded(chip, band, y / chip.largest)
    return float(y)


@njit(nogil=True, cache=True, error_model="numpy")
def develop(
    claims: NDArray[np.int64],
    chip: Chip,
    light: NDArray[np.float32],
    vignette: Floats,
    numbers: NDArray[np.float32],
    lost: NDArray[np.int64],
) -> None:
    """Digital numbers of all pixels, (pixels, channels), and of each row how many had no light.

    With a mosaic there is one channel, and ``light`` has all bands.
    """
    mosaic = chip.cell.size > 0
    row = claim(claims)
    while row * chip.columns < len(numbers):
        for column in range(chip.columns):
            pixel = row * chip.columns + column
            for channel in range(numbers.shape[1]):
                band = chip.cell[row & 1, column & 1] if mosaic else channel
                signal = float(light[pixel, band]) * vignette[pixel]
                lane = pixel * numbers.shape[1] + channel
                if not math.isfinite(signal):
                    lost[row] += 1
                    numbers[pixel, channel] = 0.0
                elif chip.model == RELATIVE:
                    value = signal * chip.exposure / chip.full_scale
                    numbers[pixel, channel] = graded(chip, band, value)
                else:
                    numbers[pixel, channel] = counted(chip, band, signal, lane)
        row = claim(claims)
