"""Paths taken by batches: their cells, and what each channel has of them, as vectors.

Phases of delays are reckoned in float64, and so are angles until whole turns are taken off them.
What is added up is float32 (``synthesis``).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.turns import cosine_and_sine, rounded
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.pages import (
    PATH_IM,
    PATH_IN_Y,
    PATH_IN_Z,
    PATH_LENGTH,
    PATH_OUT_Y,
    PATH_OUT_Z,
    PATH_RE,
    PATH_SIZE,
    PATH_SPEED,
)
from sensor_models.kernels.radar.simd import (
    BYTES,
    EIGHT,
    fetch,
    multiply_eight,
    single_cosine_and_sine,
    turn_eights,
)
from sensor_models.kernels.radar.windows import STEPS
from sensor_models.kernels.tracing.packets import ACCESS

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

LIGHT = 299792458.0
#: Rows to a cell of Doppler.
ROWS = 16


class Waveform(NamedTuple):
    """A frame of chirps, and where antennas are."""

    frequency: float  # Hz, at the middle of a chirp
    slope: float  # Hz/s
    rate: float  # Hz
    samples: int
    chirps: int
    repetition: float  # s, from a chirp of one transmitter to its next
    transmitters: Floats  # (n, 2): y, z in m
    receivers: Floats
    instants: Floats  # (transmitters,): when each fires, from the middle of the frame, s
    # Cells of range for each m of a path there and back, of range and of Doppler for each m/s.
    per_length: float
    per_speed: float
    doppler_per_speed: float


@njit(**ACCESS)
def range_cell(wave: Waveform, length: float, speed: float) -> float:
    """Where a path lies in range, in cells."""
    return wave.per_length * length - wave.per_speed * speed


@njit(**ACCESS)
def doppler_cell(wave: Waveform, speed: float) -> float:
    """Where a path lies in Doppler, in cells; closing ones are below 0."""
    return -wave.doppler_per_speed * speed


@njit(**ACCESS)
def whole(x: float) -> float:
    """The whole number at or below a number."""
    near: float = rounded(x)
    return near - (1.0 if near > x else 0.0)


@njit(**ACCESS)
def wrapped(cell: float, count: int, first: float) -> tuple[float, float]:
    """A cell brought into count cells from ``first`` on, and the sign that this costs."""
    turns = whole((cell - first) / count)
    odd = (count % 2 == 0) & (turns != 2.0 * rounded(0.5 * turns))
    return cell - turns * count, -1.0 if odd else 1.0


# Columns of a batch of paths: those of a path; the cell of range, the step of the kernel's table
# and the share of the way to the next one; the row of Doppler and the share of the way to the next
# one; the cell of Doppler; power, and which strongest path that is to be compared with.
(MIDDLE, STEP, STEP_SHARE, ROW, ROW_SHARE, NEAR, POWER, SLOT) = range(PATH_SIZE, PATH_SIZE + 8)
BATCH_SIZE = PATH_SIZE + 8
#: Paths of a batch, which become vectors.
BATCH = 16
#: Bytes of the real and imaginary parts of numbers of all of them.
PAIR = 2 * 4 * BATCH


class Batch(NamedTuple):
    """Some paths, column by column of ``BATCH``."""

    columns: Floats  # the amplitude with its phase
    # Complex numbers, the column of real parts and then that of imaginary parts: in each channel,
    # transmitter by transmitter, and the same path by path; as each receiver has it; by what the
    # amplitude is turned, and the amplitude.
    steered: Singles
    parts: Singles
    toward: Singles
    turns: Singles


@njit(**ACCESS)
def parts_of(channels: int) -> int:
    """Numbers that a cell of a row has: real and imaginary parts, in whole eights."""
    return -(-2 * channels // EIGHT) * EIGHT


@njit(cache=True)
def new_batch(wave: Waveform) -> Batch:
    """Room for a batch."""
    size = parts_of(len(wave.transmitters) * len(wave.receivers))
    return Batch(
        np.zeros(BATCH_SIZE * BATCH),
        np.zeros(size * BATCH, np.float32),
        np.zeros(size * BATCH, np.float32),
        np.zeros(2 * len(wave.receivers) * BATCH, np.float32),
        np.zeros(4 * BATCH, np.float32),
    )


@njit(**CALLED)
def take(
    paths: Floats,
    wave: Waveform,
    places: NDArray[np.int32],
    first: int,
    last: int,
    wraps: bool,
    batch: Batch,
) -> None:
    """Take paths, find their cells, and turn amplitudes by the phases of delays.

    With ``wraps``, amplitudes get the signs of cells beyond the ends of the cube.
    """
    p, end = batch.columns, len(places) - 1
    for lane in range(BATCH):  # what comes next lies anywhere on the pages
        fetch(paths.ctypes.data + 8 * PATH_SIZE * places[min(first + BATCH + lane, end)])
    for lane in range(min(last - first, BATCH)):
        path = paths[places[first + lane]]
        for k in range(PATH_SIZE):
            p[k * BATCH + lane] = path[k]
    for lane in range(BATCH):
        length, speed = p[PATH_LENGTH * BATCH + lane], p[PATH_SPEED * BATCH + lane]
        cell, sign = wrapped(range_cell(wave, length, speed), wave.samples, -0.5)
        fine, other = wrapped(doppler_cell(wave, speed), wave.chirps, -0.5 * wave.chirps)
        middle = min(whole(cell + 0.5), wave.samples - 1.0)
        step = (middle - cell + 0.5) * STEPS
        p[MIDDLE * BATCH + lane], p[STEP * BATCH + lane] = middle, whole(step)
        p[STEP_SHARE * BATCH + lane] = step - whole(step)
        row = (fine + 0.5 * wave.chirps) * ROWS
        p[ROW * BATCH + lane], p[ROW_SHARE * BATCH + lane] = whole(row), row - whole(row)
        near = whole(fine + 0.5)
        p[NEAR * BATCH + lane] = near + (wave.chirps if near < 0.0 else 0.0)
        delay = length * (1.0 / LIGHT)
        c, s = cosine_and_sine(wave.frequency * delay - 0.5 * wave.slope * delay * delay)
        sign = sign * other if wraps else 1.0
        c, s = sign * c, sign * s
        x, y = p[PATH_RE * BATCH + lane], p[PATH_IM * BATCH + lane]
        p[PATH_RE * BATCH + lane], p[PATH_IM * BATCH + lane] = c * x - s * y, s * x + c * y
        p[POWER * BATCH + lane] = x * x + y * y


@njit(**CALLED)
def steer(wave: Waveform, batch: Batch) -> None:
    """The amplitudes of a batch in each channel."""
    p, turns, per_metre = batch.columns, batch.turns, wave.frequency / LIGHT
    for lane in range(BATCH):
        turns[2 * BATCH + lane] = np.float32(p[PATH_RE * BATCH + lane])
        turns[3 * BATCH + lane] = np.float32(p[PATH_IM * BATCH + lane])
    turn = turns.ctypes.data
    amplitude, toward, steered = turn + PAIR, batch.toward.ctypes.data, batch.steered.ctypes.data
    for r in range(len(wave.receivers)):
        y, z = -per_metre * wave.receivers[r, 0], -per_metre * wave.receivers[r, 1]
        for lane in range(BATCH):
            turns[lane], turns[BATCH + lane] = single_cosine_and_sine(
                y * p[PATH_IN_Y * BATCH + lane] + z * p[PATH_IN_Z * BATCH + lane]
            )
        _multiply(toward + r * PAIR, turn, amplitude)
    for t in range(len(wave.transmitters)):
        y, z = -per_metre * wave.transmitters[t, 0], -per_metre * wave.transmitters[t, 1]
        moved = -2.0 * per_metre * wave.instants[t]
        for lane in range(BATCH):
            way = y * p[PATH_OUT_Y * BATCH + lane] + z * p[PATH_OUT_Z * BATCH + lane]
            way += moved * p[PATH_SPEED * BATCH + lane]
            turns[lane], turns[BATCH + lane] = single_cosine_and_sine(way)
        for r in range(len(wave.receivers)):
            _multiply(steered, turn, toward + r * PAIR)
            steered += PAIR
    size = len(batch.steered) // BATCH
    for part in range(0, size, EIGHT):
        for lane in range(0, BATCH, EIGHT):
            target = batch.parts.ctypes.data + 4 * (lane * size + part)
            source = batch.steered.ctypes.data + 4 * (part * BATCH + lane)
            turn_eights(target, 4 * size, source, 4 * BATCH)


@njit(**ACCESS)
def _multiply(target: int, one: int, other: int) -> None:
    """Products of the complex numbers of a batch, by the addresses of their real parts."""
    for first in range(0, 4 * BATCH, BYTES):
        multiply_eight(target + first, one + first, other + first, 4 * BATCH)


@njit(**ACCESS)
def _sector(one: float, other: float, count: int) -> float:
    """The sector of the mean of two sines."""
    sector: float = min(max(whole((0.25 * (one + other) + 0.5) * count), 0.0), count - 1.0)
    return sector


@njit(**CALLED)
def find_slots(wave: Waveform, batch: Batch, sectors: tuple[int, int]) -> None:
    """Find which strongest path each of a batch is to be compared with."""
    p = batch.columns
    for lane in range(BATCH):
        y = _sector(p[PATH_OUT_Y * BATCH + lane], p[PATH_IN_Y * BATCH + lane], sectors[0])
        z = _sector(p[PATH_OUT_Z * BATCH + lane], p[PATH_IN_Z * BATCH + lane], sectors[1])
        cell = p[MIDDLE * BATCH + lane] * wave.chirps + p[NEAR * BATCH + lane]
        p[SLOT * BATCH + lane] = (cell * sectors[0] + y) * sectors[1] + z
