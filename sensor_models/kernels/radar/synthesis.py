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
order. So the cube depends on no thread. Rows and blocks are float32: that rounds some 120 dB below
the strongest path of a row, while the kernel is cut off at 47 dB.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.turns import cosine_and_sine, rounded
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.shooting import (
    PATH_IM,
    PATH_IN_Y,
    PATH_IN_Z,
    PATH_LENGTH,
    PATH_OUT_Y,
    PATH_OUT_Z,
    PATH_RE,
    PATH_SIZE,
    PATH_SPEED,
    Pages,
)
from sensor_models.kernels.radar.windows import REACH, STEPS, from_table
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
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


@njit(**ACCESS)
def _block(wave: Waveform, path: Floats) -> int:
    """The block of range of a path."""
    cell = range_cell(wave, path[PATH_LENGTH], path[PATH_SPEED])
    inside, _ = wrapped(cell, wave.samples, -0.5)
    return int(min(whole(inside + 0.5), wave.samples - 1.0) / BLOCK)


@njit(nogil=True, cache=True)
def count_paths(
    _view: SceneView,
    claims: Ints,
    pages: Pages,
    order: Ints,
    wave: Waveform,
    blocks: NDArray[np.int32],
    counts: Ints,
) -> None:
    """Find the block of range of each path, and count those of each page, in their order."""
    place = claim(claims)
    while place < len(order):
        page = order[place]
        counts[place, :] = 0
        for path in range(pages.used[page, 2]):
            blocks[place, path] = _block(wave, pages.numbers[page, path])
        for path in range(pages.used[page, 2]):
            counts[place, blocks[place, path]] += 1
        place = claim(claims)


@njit(nogil=True, cache=True)
def sort_paths(
    _view: SceneView,
    claims: Ints,
    pages: Pages,
    order: Ints,
    blocks: NDArray[np.int32],
    firsts: Ints,
    places: NDArray[np.int32],
) -> None:
    """Sort paths by blocks of range; ``firsts`` says where the first of each page and block goes.

    ``places`` gets page and path as one number.
    """
    page_size = pages.numbers.shape[1]
    place = claim(claims)
    while place < len(order):
        first, filled = order[place] * page_size, firsts[place]
        for path in range(pages.used[order[place], 2]):
            block = blocks[place, path]
            places[filled[block]] = first + path
            filled[block] += 1
        place = claim(claims)


# Columns of a batch of paths: those of a path; the cell of range, the step of the kernel's table
# and the share of the way to the next one; the row of Doppler and the share of the way to the next
# one; the cell of Doppler; power, and which strongest path that is to be compared with.
(MIDDLE, STEP, STEP_SHARE, ROW, ROW_SHARE, NEAR, POWER, SLOT) = range(PATH_SIZE, PATH_SIZE + 8)
BATCH_SIZE = PATH_SIZE + 8
#: Paths of a batch, which become vectors.
BATCH = 16


class Batch(NamedTuple):
    """Some paths, column by column of ``BATCH``."""

    columns: Floats  # the amplitude with its phase
    steered: Floats  # real and imaginary part in each channel, transmitter by transmitter
    toward: Floats  # and as each receiver has it; then the turn of a transmitter


@njit(cache=True)
def new_batch(wave: Waveform) -> Batch:
    """Room for a batch."""
    receivers, channels = len(wave.receivers), len(wave.transmitters) * len(wave.receivers)
    return Batch(
        np.zeros(BATCH_SIZE * BATCH),
        np.zeros(2 * channels * BATCH),
        np.zeros(2 * (receivers + 1) * BATCH),
    )


@njit(**CALLED)
def _take(
    pages: Pages,
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
    size, p = pages.numbers.shape[1], batch.columns
    for lane in range(min(last - first, BATCH)):
        at = np.int64(places[first + lane])
        path = pages.numbers[at // size, at % size]
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
def _steer(wave: Waveform, batch: Batch) -> None:
    """The amplitudes of a batch in each channel."""
    p, toward, steered = batch.columns, batch.toward, batch.steered
    per_metre = wave.frequency / LIGHT
    receivers = len(wave.receivers)
    for r in range(receivers):
        y, z = -per_metre * wave.receivers[r, 0], -per_metre * wave.receivers[r, 1]
        at = 2 * r * BATCH
        for lane in range(BATCH):
            c, s = cosine_and_sine(
                y * p[PATH_IN_Y * BATCH + lane] + z * p[PATH_IN_Z * BATCH + lane]
            )
            re, im = p[PATH_RE * BATCH + lane], p[PATH_IM * BATCH + lane]
            toward[at + lane], toward[at + BATCH + lane] = c * re - s * im, s * re + c * im
    for t in range(len(wave.transmitters)):
        y, z = -per_metre * wave.transmitters[t, 0], -per_metre * wave.transmitters[t, 1]
        moved = -2.0 * per_metre * wave.instants[t]
        turned = 2 * receivers * BATCH
        for lane in range(BATCH):
            turns = y * p[PATH_OUT_Y * BATCH + lane] + z * p[PATH_OUT_Z * BATCH + lane]
            c, s = cosine_and_sine(turns + moved * p[PATH_SPEED * BATCH + lane])
            toward[turned + lane], toward[turned + BATCH + lane] = c, s
        for r in range(receivers):
            at, to = 2 * r * BATCH, 2 * (t * receivers + r) * BATCH
            for lane in range(BATCH):
                c, s = toward[turned + lane], toward[turned + BATCH + lane]
                re, im = toward[at + lane], toward[at + BATCH + lane]
                steered[to + lane] = c * re - s * im
                steered[to + BATCH + lane] = s * re + c * im


class Strongest(NamedTuple):
    """The strongest path of each cell of range and Doppler and of each sector of directions."""

    power: NDArray[np.float32]  # (samples, chirps, SECTORS, SECTORS) as far as arrays tell apart;
    # kernels take it as one row
    entity: NDArray[np.int32]


@njit(**ACCESS)
def _sector(one: float, other: float, count: int) -> float:
    """The sector of the mean of two sines."""
    sector: float = min(max(whole((0.25 * (one + other) + 0.5) * count), 0.0), count - 1.0)
    return sector


@njit(**CALLED)
def _find_slots(wave: Waveform, batch: Batch, sectors: tuple[int, int]) -> None:
    """Find which strongest path each of a batch is to be compared with."""
    p = batch.columns
    for lane in range(BATCH):
        y = _sector(p[PATH_OUT_Y * BATCH + lane], p[PATH_IN_Y * BATCH + lane], sectors[0])
        z = _sector(p[PATH_OUT_Z * BATCH + lane], p[PATH_IN_Z * BATCH + lane], sectors[1])
        cell = p[MIDDLE * BATCH + lane] * wave.chirps + p[NEAR * BATCH + lane]
        p[SLOT * BATCH + lane] = (cell * sectors[0] + y) * sectors[1] + z


@njit(**CALLED)
def _add_row(row: Singles, first: int, factor: float, weights: Singles, parts: Singles) -> None:
    """Add a path to a row of Doppler, (cells, parts): to the cells of range around it."""
    share = np.float32(factor)
    for cell in range(2 * REACH + 1):
        weight, at = share * weights[cell], first + cell
        for part in range(len(parts)):  # a loop that becomes vectors
            row[at, part] += weight * parts[part]


class Bench(NamedTuple):
    """What a thread works with."""

    batch: Batch
    parts: Singles  # one path: real and imaginary part in each channel
    weights: Singles
    rows: Singles  # (rows of Doppler, cells of range, parts)
    used: NDArray[np.bool_]


@njit(**CALLED)
def _add_path(wave: Waveform, lane: int, range_rows: Floats, bench: Bench, block: int) -> None:
    """Add a path of a batch to its rows of Doppler."""
    columns, steered, parts = bench.batch.columns, bench.batch.steered, bench.parts
    rows, used, weights = bench.rows, bench.used, bench.weights
    step, share = int(columns[STEP * BATCH + lane]), columns[STEP_SHARE * BATCH + lane]
    for k in range(2 * REACH + 1):
        before = range_rows[step, k]
        weights[k] = before + share * (range_rows[step + 1, k] - before)
    for part in range(len(parts)):
        parts[part] = steered[part * BATCH + lane]
    first = int(columns[MIDDLE * BATCH + lane]) - block * BLOCK
    row, share = int(columns[ROW * BATCH + lane]), columns[ROW_SHARE * BATCH + lane]
    for step in range(2):
        at_row, factor = row + step, share if step else 1.0 - share
        if factor == 0.0:
            continue
        if at_row == ROWS * wave.chirps:
            at_row, factor = 0, -factor if wave.chirps % 2 == 0 else factor
        if not used[at_row]:
            used[at_row] = True
            rows[at_row, :, :] = 0.0
        _add_row(rows[at_row], first, factor, weights, parts)


@njit(**CALLED)
def _compare(pages: Pages, batch: Batch, lane: int, at: int, strongest: Strongest) -> None:
    """Keep a path of a batch if it is the strongest of its cell and sector."""
    slot, power = int(batch.columns[SLOT * BATCH + lane]), batch.columns[POWER * BATCH + lane]
    if power > strongest.power[slot]:
        size = pages.entities.shape[1]
        strongest.power[slot] = power
        strongest.entity[slot] = pages.entities[at // size, at % size]


@njit(nogil=True, cache=True)
def add_paths(
    _view: SceneView,
    claims: Ints,
    pages: Pages,
    wave: Waveform,
    places: NDArray[np.int32],
    starts: Ints,
    range_rows: Floats,
    doppler_table: Floats,
    slabs: Singles,
    strongest: Strongest,
    sectors: tuple[int, int],
) -> None:
    """Add the paths of each block to its slab: (blocks, chirps, SPAN * channels * 2)."""
    count = len(wave.transmitters) * len(wave.receivers)
    bench = Bench(
        new_batch(wave),
        np.empty(2 * count, np.float32),
        np.empty(2 * REACH + 1, np.float32),
        np.empty((ROWS * wave.chirps, SPAN, 2 * count), np.float32),
        np.zeros(ROWS * wave.chirps, np.bool_),
    )
    block = claim(claims)
    while block < len(starts) - 1:
        for first in range(starts[block], starts[block + 1], BATCH):
            last = min(first + BATCH, starts[block + 1])
            _take(pages, wave, places, first, last, True, bench.batch)
            _find_slots(wave, bench.batch, sectors)
            _steer(wave, bench.batch)
            for lane in range(last - first):
                _add_path(wave, lane, range_rows, bench, block)
                at = np.int64(places[first + lane])
                _compare(pages, bench.batch, lane, at, strongest)
        _gather(bench.rows, bench.used, doppler_table, wave.chirps, slabs[block])
        block = claim(claims)


@njit(**CALLED)
def _gather(
    rows: Singles, used: NDArray[np.bool_], table: Floats, chirps: int, slab: Singles
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
            factor = np.float32(sign * weight)
            for span in range(SPAN):  # a reshaped array would need Numba's runtime
                source = rows[row, span]
                first = span * len(source)
                for part in range(len(source)):
                    target[first + part] += factor * source[part]


@njit(nogil=True, cache=True)
def assemble(
    _view: SceneView, claims: Ints, slabs: Singles, samples: int, channels: int, cube: Cube
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


@njit(**ACCESS)
def _add_slab(
    slabs: Singles, other: int, blocks: int, cell: int, samples: int, channels: int, cube: Cube
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
def _beat_path(wave: Waveform, batch: Batch, chirp: int, lane: int, signal: Cube) -> None:
    """Add a path of a batch to the samples of all transmitters' chirps at a place of the frame."""
    steered, receivers = batch.steered, len(wave.receivers)
    slow = (chirp - 0.5 * (wave.chirps - 1)) * wave.repetition
    length = batch.columns[PATH_LENGTH * BATCH + lane]
    speed = batch.columns[PATH_SPEED * BATCH + lane]
    doppler = 2.0 * speed * wave.frequency / LIGHT
    for t in range(len(wave.transmitters)):
        # The way that is gone until the transmitter fires is in the channels, at the carrier.
        moved = 2.0 * speed * (slow + wave.instants[t])
        step = 2.0 * math.pi * (wave.slope * (length - moved) / LIGHT - doppler) / wave.rate
        phase = -2.0 * math.pi * doppler * slow - 0.5 * (wave.samples - 1) * step
        turn = complex(math.cos(step), math.sin(step))
        value = complex(math.cos(phase), math.sin(phase))
        for sample in range(wave.samples):
            for r in range(receivers):
                channel = t * receivers + r
                at = 2 * channel * BATCH + lane
                signal[chirp, sample, channel] += value * complex(steered[at], steered[at + BATCH])
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
    batch = new_batch(wave)
    chirp = claim(claims)
    while chirp < wave.chirps:
        for first in range(0, len(places), BATCH):
            last = min(first + BATCH, len(places))
            _take(pages, wave, places, first, last, False, batch)
            _steer(wave, batch)
            for lane in range(last - first):
                _beat_path(wave, batch, chirp, lane, signal)
        chirp = claim(claims)
