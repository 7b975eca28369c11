"""Where the peaks in the cube of a radar lie between the directions of its grid.

A scatterer in the direction u = sin(azimuth) cos(elevation), w = sin(elevation) makes in a channel

    e^(-2 pi j (y u + z w) + 2 pi j d t)

y and z being the place of the virtual antenna in wavelengths, d the cell of Doppler and t by how
many turns one of these goes on until the transmitter of the channel fires. Looking in a direction
is the sum over the channels, times their weights and the conjugate of that.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.turns import cosine_and_sine
from sensor_models.kernels.radar.windows import kernel_at

Floats = NDArray[np.float64]
Channels = NDArray[np.complex64]

#: Rounds of the search, each of which goes on or halves its steps.
ROUNDS = 24
#: What rounding may add to the length of a direction.
ROUNDING = 1e-12
#: An axis of channels that has no more than this of its own is one of those before.
LEAST_AXIS = 1e-6
#: Cells beside a peak that are in its main lobe.
MAIN_LOBE = 2
#: With fewer channels than this, all that a main lobe holds would be next to all there is.
FEWEST_CHANNELS = 8
#: Sources that are taken off besides those that make peaks.
MOST_UNRESOLVED = 4


class Array(NamedTuple):
    """The channels of a radar."""

    places: Floats  # (channels, 2): y and z in wavelengths
    weights: Floats  # of the sum 1
    turns: Floats  # for each cell of Doppler


@njit(cache=True)
def look_at(array: Array, channels: Channels, u: float, w: float, doppler: float) -> float:
    """The amplitude that is seen in a direction."""
    re = im = 0.0
    for channel in range(len(array.weights)):
        turns = array.places[channel, 0] * u + array.places[channel, 1] * w
        c, s = cosine_and_sine(turns - array.turns[channel] * doppler)
        x, y = channels[channel].real, channels[channel].imag
        re += array.weights[channel] * (x * c - y * s)
        im += array.weights[channel] * (x * s + y * c)
    return math.hypot(re, im)


@njit(cache=True)
def steer(
    array: Array,
    channels: Channels,
    start: tuple[float, float],
    steps: tuple[float, float],
    doppler: float,
) -> tuple[float, float]:
    """The direction of the highest power near one, by ever smaller steps."""
    u, w = start
    wide, high = 0.5 * steps[0], 0.5 * steps[1]
    for _ in range(ROUNDS):
        best, to_u, to_w = -1.0, u, w
        for move in range(9):
            left, up = move % 3 - 1, move // 3 - 1
            if (wide == 0.0 and left != 0) or (high == 0.0 and up != 0):
                continue  # the same direction once more
            a, b = u + left * wide, w + up * high
            if a * a + b * b > 1.0 + ROUNDING:
                continue
            found = look_at(array, channels, a, b, doppler)
            if found > best:
                best, to_u, to_w = found, a, b
        if to_u == u and to_w == w:
            wide, high = 0.5 * wide, 0.5 * high
        u, w = to_u, to_w
    return u, w


@njit(cache=True)
def envelope(window: int, count: int, cells: float) -> float:
    """The most that what lies within half a cell of a peak may make so many cells beside it.

    Relative to what it makes at the peak.
    """
    most = 0.0
    for step in range(-2, 3):
        most = max(most, abs(kernel_at(window, count, cells + 0.25 * step)))
    found: float = most / kernel_at(window, count, 0.5)
    return found


@njit(cache=True)
def side_lobes(
    powers: NDArray[np.float32],
    peaks: Floats,
    cell: tuple[int, int, int],
    width: int,
    windows: tuple[int, int],
    reach: tuple[float, float],
) -> float:
    """The amplitude that peaks make together in a cell and a direction, at the most.

    It is what is seen in that direction, or the next ones, where a peak is, by the ``envelope`` of
    both windows: so it holds for several scatterers that make one peak, too. In its main lobe these
    may be cells beside it, as scatterers add up to something else there. ``powers`` are (range,
    Doppler, directions), of which ``width`` lie side by side. ``peaks`` have rows and columns of
    their own in the first two places. What a transform is cut off at is ``reach``, in cells.
    """
    samples, chirps, _ = powers.shape
    made = 0.0
    for peak in peaks:
        row, chirp = int(peak[0]), int(peak[1])
        along = abs(_around(cell[0] - row, samples))
        over = abs(_around(cell[1] - chirp, chirps))
        if along > reach[0] or over > reach[1]:
            continue
        near = 1 if along <= MAIN_LOBE and over <= MAIN_LOBE else 0
        most = _highest(powers, row, chirp, cell[2], width, near)
        share = envelope(windows[0], samples, along) * envelope(windows[1], chirps, over)
        made += math.sqrt(most) * share
    return made


@njit(cache=True)
def _highest(
    powers: NDArray[np.float32], row: int, chirp: int, direction: int, width: int, near: int
) -> float:
    """The highest power in a direction and those beside it, in cells so near to one."""
    samples, chirps, _ = powers.shape
    column, most = direction % width, 0.0
    for r in range(row - near, row + near + 1):
        for c in range(chirp - near, chirp + near + 1):
            line = powers[r % samples, c % chirps]
            for step in range(-1, 2):
                if 0 <= column + step < width:
                    most = max(most, float(line[direction + step]))
    return most


@njit(cache=True)
def _around(difference: int, count: int) -> int:
    """A difference of cells, the shorter way around."""
    return (difference + count // 2) % count - count // 2


@njit(cache=True)
def left_over(
    array: Array,
    channels: Channels,
    sources: Floats,
    widths: tuple[float, float],
    direction: tuple[float, float],
    doppler: float,
) -> float:
    """The power that is seen in a direction of what is left beside sources (n, 3): u, w, Doppler.

    What they make in the channels is taken off, by the least squares of the weighted channels. A
    peak may be several scatterers that are not resolved: of the strongest one, which comes first,
    all that its main lobe holds is taken off, and what is left then elsewhere, while that is more
    than what is left here. ``widths`` are those of a main lobe along y and z.
    """
    count = len(array.weights)
    room = len(sources) + 4 + MOST_UNRESOLVED
    taken, left = np.zeros((room, count), np.complex128), channels.astype(np.complex128)
    used = 0
    for source in sources:
        used = _take_off(array, left, taken, used, (source[0], source[1], source[2]))
    if count >= FEWEST_CHANNELS:
        u, w = sources[0, 0], sources[0, 1]
        for side in (-0.5, 0.5):
            if widths[0] > 0.0:
                used = _take_off(array, left, taken, used, (u + side * widths[0], w, sources[0, 2]))
            if widths[1] > 0.0:
                used = _take_off(array, left, taken, used, (u, w + side * widths[1], sources[0, 2]))
    found: float = _seen(array, left, direction[0], direction[1], doppler)
    for _ in range(MOST_UNRESOLVED):
        u, w, most = _strongest(array, left, widths, sources[0, 2])
        aside = (widths[0] > 0.0) & (abs(u - direction[0]) >= 0.5 * widths[0])
        apart = aside | ((widths[1] > 0.0) & (abs(w - direction[1]) >= 0.5 * widths[1]))
        if most <= found or not apart:
            break
        before = used
        used = _take_off(array, left, taken, used, (u, w, sources[0, 2]))
        if used == before:
            break
        found = _seen(array, left, direction[0], direction[1], doppler)
    return found


@njit(cache=True)
def rest_of(array: Array, channels: Channels, sources: Floats) -> NDArray[np.complex128]:
    """What is left of channels beside sources (n, 3), as in ``left_over``."""
    count = len(array.weights)
    taken, left = np.zeros((len(sources), count), np.complex128), channels.astype(np.complex128)
    used = 0
    for source in sources:
        used = _take_off(array, left, taken, used, (source[0], source[1], source[2]))
    return left


@njit(cache=True)
def _strongest(
    array: Array, left: NDArray[np.complex128], widths: tuple[float, float], doppler: float
) -> tuple[float, float, float]:
    """The direction that most is left in, by quarters of a main lobe, and its power."""
    across = math.ceil(4.0 / widths[0]) if widths[0] > 0.0 else 0
    upward = math.ceil(4.0 / widths[1]) if widths[1] > 0.0 else 0
    best = (0.0, 0.0, -1.0)
    for up in range(-upward, upward + 1):
        for aside in range(-across, across + 1):
            u, w = 0.25 * aside * widths[0], 0.25 * up * widths[1]
            power = _seen(array, left, u, w, doppler)
            if power > best[2] and u * u + w * w <= 1.0:
                best = (u, w, power)
    return best


@njit(cache=True)
def _seen(array: Array, left: NDArray[np.complex128], u: float, w: float, doppler: float) -> float:
    """The power of what is left in a direction."""
    total = 0j
    for channel in range(len(array.weights)):
        total += array.weights[channel] * _phase(array, channel, u, w, doppler) * left[channel]
    power: float = total.real**2 + total.imag**2
    return power


@njit(cache=True)
def _phase(array: Array, channel: int, u: float, w: float, doppler: float) -> complex:
    """What a channel is multiplied with to look in a direction."""
    turns = array.places[channel, 0] * u + array.places[channel, 1] * w
    c, s = cosine_and_sine(turns - array.turns[channel] * doppler)
    return complex(c, s)


@njit(cache=True)
def _take_off(
    array: Array,
    left: NDArray[np.complex128],
    taken: NDArray[np.complex128],
    used: int,
    source: tuple[float, float, float],
) -> int:
    """Take what a source makes off the channels; ``taken`` are axes at right angles."""
    count = len(left)
    axis = np.empty(count, np.complex128)
    for channel in range(count):
        axis[channel] = _phase(array, channel, source[0], source[1], source[2]).conjugate()
    for k in range(used):
        share = _product(array, taken[k], axis)
        for channel in range(count):
            axis[channel] -= share * taken[k, channel]
    length = _product(array, axis, axis).real
    if length < LEAST_AXIS:
        return used
    share = _product(array, axis, left) / length
    scale = 1.0 / math.sqrt(length)
    for channel in range(count):
        left[channel] -= share * axis[channel]
        taken[used, channel] = scale * axis[channel]
    return used + 1


@njit(cache=True)
def _product(array: Array, one: NDArray[np.complex128], other: NDArray[np.complex128]) -> complex:
    """The weighted product of two sets of channels."""
    total = 0j
    for channel in range(len(one)):
        total += array.weights[channel] * one[channel].conjugate() * other[channel]
    product: complex = total
    return product
