r"""Paths made into the cube of a radar: range, Doppler, channel.

A path of the length l there and back, of the delay t = l / c and the speed v of closing, is a tone
in the samples of a chirp and in the chirps of a frame:

    range     r = (S t - 2 v / lambda) N_s / f_s          cells
    Doppler   d = -2 v N_c T_r / lambda                   cells
    phase     2 pi (f_c t - S t^2 / 2) - k (x_t . d_out + x_r . d_in) - 4 pi v t_m / lambda

with the places x of transmitter and receiver and the instant t_m at which a transmitter fires,
from the middle of the frame. ``kernel`` adds a K(r' - r) K(d' - d) to the cells around (r, d),
which is what the transform of windowed samples would give (``windows``), if the path stays in its
cell of range during the frame. ``beat`` makes the samples, with that, and has them transformed.

Order. Paths are sorted by blocks of cells of range, in the order of their list. A thread adds up
the paths of a block, first to rows 1/16 of a Doppler cell apart (linear between two), then those
rows to the cells around them. Blocks reach into each other; their sums are added in the end, in
order. So the cube depends on no thread.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import INLINE
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.shooting import (
    PATH_IM,
    PATH_IN_Y,
    PATH_IN_Z,
    PATH_LENGTH,
    PATH_OUT_Y,
    PATH_OUT_Z,
    PATH_RE,
    PATH_SPEED,
    Pages,
)
from sensor_models.kernels.radar.windows import REACH, from_table
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Cube = NDArray[np.complex128]

LIGHT = 299792458.0
#: Cells of range in a block, and with what blocks reach into their neighbours.
BLOCK = 8
SPAN = BLOCK + 2 * REACH
#: Rows to a cell of Doppler.
ROWS = 16
#: Directions that the strongest paths are told apart by, along y and z each.
SECTORS = 16


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


@njit(**INLINE)
def range_cell(wave: Waveform, length: float, speed: float) -> float:
    """Where a path lies in range, in cells."""
    doppler = 2.0 * speed * wave.frequency / LIGHT
    return (wave.slope * length / LIGHT - doppler) * wave.samples / wave.rate


@njit(**INLINE)
def doppler_cell(wave: Waveform, speed: float) -> float:
    """Where a path lies in Doppler, in cells; closing ones are below 0."""
    return -2.0 * speed * wave.frequency / LIGHT * wave.chirps * wave.repetition


@njit(**INLINE)
def turns_of(wave: Waveform, length: float) -> float:
    """The phase of a delay, in turns."""
    delay = length / LIGHT
    return wave.frequency * delay - 0.5 * wave.slope * delay * delay


@njit(**INLINE)
def wrapped(cell: float, count: int, first: float) -> tuple[float, float]:
    """A cell brought into count cells from ``first`` on, and the sign that this costs."""
    turns = math.floor((cell - first) / count)
    odd = (count % 2 == 0) and (int(turns) % 2 != 0)
    return cell - turns * count, -1.0 if odd else 1.0


@njit(cache=True)
def sort_paths(
    pages: Pages, order: Ints, wave: Waveform, places: NDArray[np.int32], starts: Ints
) -> None:
    """Sort the paths of pages, which are taken in an order, by blocks of range.

    ``places`` gets page and path as one number, ``starts`` where each block begins.
    """
    page_size = pages.numbers.shape[1]
    starts[:] = 0
    for page in order:
        for path in range(pages.used[page, 2]):
            starts[_block(wave, pages.numbers[page, path]) + 1] += 1
    for block in range(1, len(starts)):
        starts[block] += starts[block - 1]
    filled = starts[:-1].copy()
    for page in order:
        for path in range(pages.used[page, 2]):
            block = _block(wave, pages.numbers[page, path])
            places[filled[block]] = page * page_size + path
            filled[block] += 1


@njit(**INLINE)
def _block(wave: Waveform, path: Floats) -> int:
    """The block of range of a path."""
    cell = range_cell(wave, path[PATH_LENGTH], path[PATH_SPEED])
    inside, _ = wrapped(cell, wave.samples, -0.5)
    return min(int(inside + 0.5), wave.samples - 1) // BLOCK


@njit(**CALLED)
def steer(wave: Waveform, path: Floats, sign: float, channels: NDArray[np.complex128]) -> None:
    """The amplitude of a path in each channel, transmitter by transmitter."""
    k = 2.0 * math.pi * wave.frequency / LIGHT
    turns = turns_of(wave, path[PATH_LENGTH])
    phase = 2.0 * math.pi * (turns - math.floor(turns))
    start = sign * complex(path[PATH_RE], path[PATH_IM])
    start *= complex(math.cos(phase), math.sin(phase))
    receivers = len(wave.receivers)
    for r in range(receivers):
        at = wave.receivers[r]
        phase = -k * (at[0] * path[PATH_IN_Y] + at[1] * path[PATH_IN_Z])
        channels[r] = start * complex(math.cos(phase), math.sin(phase))
    for t in range(len(wave.transmitters) - 1, -1, -1):
        at = wave.transmitters[t]
        phase = -k * (at[0] * path[PATH_OUT_Y] + at[1] * path[PATH_OUT_Z])
        phase -= 2.0 * k * path[PATH_SPEED] * wave.instants[t]
        factor = complex(math.cos(phase), math.sin(phase))
        for r in range(receivers):
            channels[t * receivers + r] = factor * channels[r]


class Strongest(NamedTuple):
    """The strongest path of each cell of range and Doppler and of each sector of directions."""

    power: NDArray[np.float32]  # (samples, chirps, SECTORS, SECTORS) as far as arrays tell apart
    entity: NDArray[np.int32]


@njit(**INLINE)
def _sector(one: float, other: float, count: int) -> int:
    """The sector of the mean of two sines."""
    place = (0.25 * (one + other) + 0.5) * count
    return min(max(int(place), 0), count - 1)


@njit(**INLINE)
def _add_row(
    rows: Floats, row: int, first: int, factor: float, weights: Floats, parts: Floats
) -> None:
    """Add a path to a row of Doppler: to the cells of range around it."""
    size = len(parts)
    target = rows[row]
    for cell in range(2 * REACH + 1):
        weight = factor * weights[cell]
        at = (first + cell) * size
        for part in range(size):
            target[at + part] += weight * parts[part]


class Bench(NamedTuple):
    """What a thread works with."""

    channels: NDArray[np.complex128]
    parts: Floats  # the same memory
    weights: Floats
    rows: Floats
    used: NDArray[np.bool_]


@njit(**CALLED)
def _add_block(
    pages: Pages,
    wave: Waveform,
    places: NDArray[np.int32],
    starts: Ints,
    range_table: Floats,
    bench: Bench,
    strongest: Strongest,
    block: int,
) -> None:
    """Add the paths of a block to rows of Doppler."""
    page_size, rows, used = pages.numbers.shape[1], bench.rows, bench.used
    for place in range(starts[block], starts[block + 1]):
        at = np.int64(places[place])
        page, number = at // page_size, at % page_size
        path = pages.numbers[page, number]
        speed = path[PATH_SPEED]
        cell, sign = wrapped(range_cell(wave, path[PATH_LENGTH], speed), wave.samples, -0.5)
        middle = int(cell + 0.5)
        for k in range(2 * REACH + 1):
            bench.weights[k] = from_table(range_table, (middle + k - REACH) - cell)
        fine, other = wrapped(doppler_cell(wave, speed), wave.chirps, -0.5 * wave.chirps)
        steer(wave, path, sign * other, bench.channels)
        row_place = (fine + 0.5 * wave.chirps) * ROWS
        row = int(row_place)
        share = row_place - row
        for step in range(2):
            at_row, factor = row + step, share if step else 1.0 - share
            if factor == 0.0:
                continue
            if at_row == ROWS * wave.chirps:
                at_row, factor = 0, -factor if wave.chirps % 2 == 0 else factor
            if not used[at_row]:
                used[at_row] = True
                rows[at_row, :] = 0.0
            _add_row(rows, at_row, middle - block * BLOCK, factor, bench.weights, bench.parts)
        near, row = math.floor(fine + 0.5) % wave.chirps, middle % wave.samples
        y = _sector(path[PATH_OUT_Y], path[PATH_IN_Y], strongest.power.shape[2])
        z = _sector(path[PATH_OUT_Z], path[PATH_IN_Z], strongest.power.shape[3])
        power = path[PATH_RE] * path[PATH_RE] + path[PATH_IM] * path[PATH_IM]
        if power > strongest.power[row, near, y, z]:
            strongest.power[row, near, y, z] = power
            strongest.entity[row, near, y, z] = pages.entities[page, number]


@njit(nogil=True, cache=True)
def add_paths(
    _view: SceneView,
    claims: Ints,
    pages: Pages,
    wave: Waveform,
    places: NDArray[np.int32],
    starts: Ints,
    range_table: Floats,
    doppler_table: Floats,
    slabs: Floats,
    strongest: Strongest,
) -> None:
    """Add the paths of each block to its slab: (blocks, chirps, SPAN * channels * 2)."""
    count = len(wave.transmitters) * len(wave.receivers)
    channels = np.empty(count, np.complex128)
    bench = Bench(
        channels,
        channels.view(np.float64),
        np.empty(2 * REACH + 1),
        np.empty((ROWS * wave.chirps, SPAN * 2 * count)),
        np.zeros(ROWS * wave.chirps, np.bool_),
    )
    block = claim(claims)
    while block < len(starts) - 1:
        _add_block(pages, wave, places, starts, range_table, bench, strongest, block)
        _gather(bench.rows, bench.used, doppler_table, wave.chirps, slabs[block])
        block = claim(claims)


@njit(**CALLED)
def _gather(
    rows: Floats, used: NDArray[np.bool_], table: Floats, chirps: int, slab: Floats
) -> None:
    """Add the rows that were used to the cells of Doppler around them."""
    slab[:, :] = 0.0
    for row in range(len(used)):
        if not used[row]:
            continue
        used[row] = False
        place = row / ROWS - 0.5 * chirps
        nearest = math.floor(place + 0.5)
        for k in range(-REACH, REACH + 1):
            weight = from_table(table, nearest + k - place)
            cell, sign = wrapped(float(nearest + k), chirps, -0.5 * chirps)
            target = slab[round(cell) % chirps]
            factor = sign * weight
            source = rows[row]
            for part in range(len(source)):
                target[part] += factor * source[part]


@njit(nogil=True, cache=True)
def assemble(
    _view: SceneView, claims: Ints, slabs: Floats, samples: int, channels: int, cube: Cube
) -> None:
    """Add up the slabs of all blocks in the cube, (samples, chirps, channels)."""
    blocks = slabs.shape[0]
    block = claim(claims)
    while block < blocks:
        for cell in range(block * BLOCK, min((block + 1) * BLOCK, samples)):
            cube[cell, :, :] = 0.0
            for other in range(block - 2, block + 3):  # the last block may be a short one
                _add_slab(slabs, other, blocks, cell, samples, channels, cube)
        block = claim(claims)


@njit(**INLINE)
def _add_slab(
    slabs: Floats, other: int, blocks: int, cell: int, samples: int, channels: int, cube: Cube
) -> None:
    """Add what a block has for a cell of range; the last one reaches around into the first."""
    block, shift = other % blocks, 0
    if other < 0:
        shift = -samples
    elif other >= blocks:
        shift = samples
    at = cell - (block * BLOCK + shift) + REACH
    if at < 0 or at >= SPAN:
        return
    sign = -1.0 if (shift != 0 and samples % 2 == 0) else 1.0
    for chirp in range(slabs.shape[1]):
        row = slabs[block, chirp]
        for channel in range(channels):
            place = 2 * (at * channels + channel)
            cube[cell, chirp, channel] += sign * complex(row[place], row[place + 1])


@njit(**CALLED)
def _beat_chirp(
    pages: Pages,
    wave: Waveform,
    places: NDArray[np.int32],
    chirp: int,
    channels: NDArray[np.complex128],
    signal: Cube,
) -> None:
    """The samples of the chirps of all transmitters at one place of the frame."""
    page_size, receivers = pages.numbers.shape[1], len(wave.receivers)
    k = 2.0 * math.pi * wave.frequency / LIGHT
    slow = (chirp - 0.5 * (wave.chirps - 1)) * wave.repetition
    for place in places:
        at = np.int64(place)
        path = pages.numbers[at // page_size, at % page_size]
        speed = path[PATH_SPEED]
        steer(wave, path, 1.0, channels)
        for t in range(len(wave.transmitters)):
            # The way that is gone until the transmitter fires is in the channels, at the carrier.
            moved = 2.0 * speed * (slow + wave.instants[t])
            delay = (path[PATH_LENGTH] - moved) / LIGHT
            doppler = 2.0 * speed * wave.frequency / LIGHT
            step = 2.0 * math.pi * (wave.slope * delay - doppler) / wave.rate
            phase = -2.0 * k * speed * slow - 0.5 * (wave.samples - 1) * step
            turn = complex(math.cos(step), math.sin(step))
            value = complex(math.cos(phase), math.sin(phase))
            for sample in range(wave.samples):
                for r in range(receivers):
                    channel = t * receivers + r
                    signal[chirp, sample, channel] += value * channels[channel]
                value *= turn


@njit(nogil=True, cache=True)
def beat(
    _view: SceneView,
    claims: Ints,
    pages: Pages,
    wave: Waveform,
    places: NDArray[np.int32],
    signal: Cube,
) -> None:
    """The de-chirped samples of all paths: (chirps, samples, channels), from their middles."""
    channels = np.empty(len(wave.transmitters) * len(wave.receivers), np.complex128)
    chirp = claim(claims)
    while chirp < wave.chirps:
        _beat_chirp(pages, wave, places, chirp, channels, signal)
        chirp = claim(claims)
