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
from sensor_models.kernels.math.turns import cosine_and_sine
from sensor_models.kernels.radar.batches import (
    BATCH,
    LIGHT,
    MIDDLE,
    POWER,
    ROW,
    ROW_SHARE,
    ROWS,
    SLOT,
    STEP,
    STEP_SHARE,
    Batch,
    Waveform,
    find_slots,
    new_batch,
    parts_of,
    range_cell,
    steer,
    take,
    whole,
    wrapped,
)
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
    Pages,
)
from sensor_models.kernels.radar.simd import (
    BYTES,
    add_eight,
    add_eight_to_both,
    fetch,
    mix_eight,
)
from sensor_models.kernels.radar.windows import REACH, WEIGHTS, from_table
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
Cube = NDArray[np.complex128]

#: Cells of range in a block, and with what blocks reach into their neighbours.
BLOCK = 8
SPAN = BLOCK + 2 * REACH
#: Paths that are fetched before they are counted.
AHEAD = 32
#: Directions that the strongest paths are told apart by, along y and z each.
SECTORS = 16


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
        first, size = pages.numbers[page].ctypes.data, 8 * PATH_SIZE
        for path in range(pages.used[page, 2]):
            fetch(first + size * (path + AHEAD))
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


class Strongest(NamedTuple):
    """The strongest path of each cell of range and Doppler and of each sector of directions."""

    power: NDArray[np.float32]  # (samples, chirps, SECTORS, SECTORS) as far as arrays tell apart;
    # kernels take it as one row
    entity: NDArray[np.int32]


class Bench(NamedTuple):
    """What a thread works with."""

    batch: Batch
    weights: Singles
    rows: Singles  # (rows of Doppler, cells of range x parts)
    used: NDArray[np.bool_]


@njit(cache=True)
def new_bench(wave: Waveform) -> Bench:
    """Room for a thread's work."""
    size = parts_of(len(wave.transmitters) * len(wave.receivers))
    return Bench(
        new_batch(wave),
        np.zeros(WEIGHTS, np.float32),
        np.empty((ROWS * wave.chirps, SPAN * size), np.float32),
        np.zeros(ROWS * wave.chirps, np.bool_),
    )


@njit(**ACCESS)
def _weigh(range_rows: Singles, batch: Batch, lane: int, weights: Singles) -> None:
    """The kernel of a path in the cells of range around it."""
    step = int(batch.columns[STEP * BATCH + lane])
    share = np.float32(batch.columns[STEP_SHARE * BATCH + lane])
    row, target = range_rows.ctypes.data + 4 * WEIGHTS * step, weights.ctypes.data
    for first in range(0, 4 * WEIGHTS, BYTES):
        mix_eight(target + first, row + first, row + 4 * WEIGHTS + first, share)


@njit(**ACCESS)
def _row_at(bench: Bench, row: int) -> int:
    """The address of a row of Doppler, which is empty if it was not used yet."""
    if not bench.used[row]:
        bench.used[row] = True
        bench.rows[row, :] = 0.0
    address: int = bench.rows.ctypes.data + 4 * bench.rows.shape[1] * row
    return address


@njit(**ACCESS)
def _add_path(wave: Waveform, lane: int, range_rows: Singles, bench: Bench, block: int) -> None:
    """Add a path of a batch to the rows of Doppler on both sides of it, or to the one it is on."""
    columns, weights = bench.batch.columns, bench.weights
    _weigh(range_rows, bench.batch, lane, weights)
    size = 4 * len(bench.batch.parts) // BATCH  # bytes of a cell
    source = bench.batch.parts.ctypes.data + lane * size
    first = size * (int(columns[MIDDLE * BATCH + lane]) - block * BLOCK)
    row, share = int(columns[ROW * BATCH + lane]), np.float32(columns[ROW_SHARE * BATCH + lane])
    here, more = _row_at(bench, row) + first, np.float32(1.0) - share
    if share == np.float32(0.0):
        for cell in range(2 * REACH + 1):
            for part in range(0, size, BYTES):
                add_eight(here + cell * size + part, source + part, weights[cell])
        return
    if row + 1 < ROWS * wave.chirps:
        there = _row_at(bench, row + 1) + first
    else:
        there, share = _row_at(bench, 0) + first, -share if wave.chirps % 2 == 0 else share
    for cell in range(2 * REACH + 1):
        one, other = more * weights[cell], share * weights[cell]
        for part in range(0, size, BYTES):
            at = cell * size + part
            add_eight_to_both(here + at, there + at, source + part, one, other)


@njit(**CALLED)
def _add_batch(
    wave: Waveform,
    count: int,
    range_rows: Singles,
    bench: Bench,
    block: int,
) -> None:
    """Add the first paths of a batch to their rows of Doppler."""
    for lane in range(count):
        _add_path(wave, lane, range_rows, bench, block)


@njit(**CALLED)
def _compare(
    entities: NDArray[np.int32],
    batch: Batch,
    places: NDArray[np.int32],
    first: int,
    last: int,
    strongest: Strongest,
) -> None:
    """Keep those paths of a batch that are the strongest of their cell and sector."""
    for lane in range(last - first):
        slot, power = int(batch.columns[SLOT * BATCH + lane]), batch.columns[POWER * BATCH + lane]
        if power > strongest.power[slot]:
            strongest.power[slot] = power
            strongest.entity[slot] = entities[places[first + lane]]


@njit(nogil=True, cache=True)
def add_paths(
    _view: SceneView,
    claims: Ints,
    paths: Floats,
    entities: NDArray[np.int32],
    wave: Waveform,
    places: NDArray[np.int32],
    starts: Ints,
    range_rows: Singles,
    doppler_table: Floats,
    slabs: Singles,
    strongest: Strongest,
    sectors: tuple[int, int],
) -> None:
    """Add the paths of each block to its slab: (blocks, chirps, SPAN * parts)."""
    bench = new_bench(wave)
    block = claim(claims)
    while block < len(starts) - 1:
        for first in range(starts[block], starts[block + 1], BATCH):
            last = min(first + BATCH, starts[block + 1])
            take(paths, wave, places, first, last, True, bench.batch)
            find_slots(wave, bench.batch, sectors)
            steer(wave, bench.batch)
            _add_batch(wave, last - first, range_rows, bench, block)
            _compare(entities, bench.batch, places, first, last, strongest)
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
        source = rows[row]
        for k in range(-REACH, REACH + 1):
            weight = from_table(table, nearest + k - place)
            cell, sign = wrapped(float(nearest + k), chirps, -0.5 * chirps)
            target = slab[round(cell) % chirps]
            factor = np.float32(sign * weight)
            for part in range(len(source)):  # a loop that becomes vectors
                target[part] += factor * source[part]


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
    size = parts_of(channels)
    for chirp in range(slabs.shape[1]):
        row = slabs[block, chirp]
        for channel in range(channels):
            place = at * size + 2 * channel
            cube[cell, chirp, channel] += sign * complex(row[place], row[place + 1])


@njit(**ACCESS)
def _turned(place: Floats, y: float, z: float, per_metre: float) -> complex:
    """The factor of an antenna in a direction."""
    c, s = cosine_and_sine(-per_metre * (place[0] * y + place[1] * z))
    return complex(c, s)


@njit(**CALLED)
def _beat_path(
    wave: Waveform, batch: Batch, chirp: int, lane: int, received: NDArray[np.complex128],
    signal: Cube,
) -> None:  # fmt: skip
    """Add a path of a batch to the samples of all transmitters' chirps at a place of the frame.

    ``received`` is room for what each receiver has of it.
    """
    p, per_metre = batch.columns, wave.frequency / LIGHT
    slow = (chirp - 0.5 * (wave.chirps - 1)) * wave.repetition
    length, speed = p[PATH_LENGTH * BATCH + lane], p[PATH_SPEED * BATCH + lane]
    doppler = 2.0 * speed * per_metre
    amplitude = complex(p[PATH_RE * BATCH + lane], p[PATH_IM * BATCH + lane])
    out_y, out_z = p[PATH_OUT_Y * BATCH + lane], p[PATH_OUT_Z * BATCH + lane]
    in_y, in_z = p[PATH_IN_Y * BATCH + lane], p[PATH_IN_Z * BATCH + lane]
    for t in range(len(wave.transmitters)):
        gone = 2.0 * speed * wave.instants[t]  # until the transmitter fires
        moved = 2.0 * speed * slow + gone
        step = 2.0 * math.pi * (wave.slope * (length - moved) / LIGHT - doppler) / wave.rate
        phase = -2.0 * math.pi * doppler * slow - 0.5 * (wave.samples - 1) * step
        c, s = cosine_and_sine(-per_metre * gone)
        sent = complex(c, s) * _turned(wave.transmitters[t], out_y, out_z, per_metre)
        sent *= amplitude * complex(math.cos(phase), math.sin(phase))
        for r in range(len(received)):
            received[r] = sent * _turned(wave.receivers[r], in_y, in_z, per_metre)
        turn = complex(math.cos(step), math.sin(step))
        for sample in range(wave.samples):
            for r in range(len(received)):
                signal[chirp, sample, t * len(received) + r] += received[r]
                received[r] *= turn


@njit(nogil=True, cache=True)
def beat(
    _view: SceneView,
    claims: Ints,
    paths: Floats,
    wave: Waveform,
    places: NDArray[np.int32],
    signal: Cube,
) -> None:
    """The de-chirped samples of all paths: (chirps, samples, channels), from their middles."""
    batch, received = new_batch(wave), np.zeros(len(wave.receivers), np.complex128)
    chirp = claim(claims)
    while chirp < wave.chirps:
        for first in range(0, len(places), BATCH):
            last = min(first + BATCH, len(places))
            take(paths, wave, places, first, last, False, batch)
            for lane in range(last - first):
                _beat_path(wave, batch, chirp, lane, received, signal)
        chirp = claim(claims)
