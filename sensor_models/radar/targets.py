r"""Targets of a radar's cube: thresholds, peaks between the cells, radar cross sections.

Directions are those of a grid of u = sin(azimuth) cos(elevation) along y and w = sin(elevation)
along z, twice as fine as the array tells apart. In turns (TDM), the phases that a target collects
between transmitters are taken off with the speed of its cell, later with its own.

Peaks between the cells. A scatterer at a share s of the way to its larger neighbour has there and
in its own cell the amplitudes K(1 - s) and K(s): the s that fits is exact for one scatterer and
known windows; with Hann it is (2 r - 1) / (r + 1), r being their ratio. The direction is where the
power is highest, by a search of ever smaller steps. The amplitude is what is left when K of both
shares is taken off, and the cross section follows by the radar equation, with the gain at the
measured direction.

Thresholds, for a false alarm rate p of independent exponential cells:

    cell averaging      alpha = N (p^(-1/N) - 1)
    ordered statistic   p = prod_(i = 0)^(k - 1) (N - i) / (N - i + alpha)

Windows make neighbours depend on each other: with Hann and a guard of 2, three times as many false
alarms come out as p says. p is the nominal one.

Side lobes. A target is in all cells, by K of each axis and by the array's pattern. A peak that is
not twice as strong as what stronger ones make at its place is left out; the source has no such
step, and without it the side lobes of one strong target fill a list.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.radar.detection import find_peaks, look_around
from sensor_models.kernels.radar.directions import Array, look_at, side_lobes, steer
from sensor_models.kernels.radar.tubes import root_gain
from sensor_models.kernels.radar.windows import kernel_at
from sensor_models.radar.ray_parameters import CfarParameters, CfarType, RayTracedParameters, Window
from sensor_models.radar.ray_traced import Image
from sensor_models.radar.waveform import Radio
from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]

#: Directions of a grid at the most: those of a large sparse array are as far apart as that asks.
MOST_DIRECTIONS = 512
#: A peak counts if it is by this factor stronger than what others make there.
ABOVE_SIDE_LOBES = 2.0
#: Candidates that are looked at for each target that is listed.
CANDIDATES = 32


class RadarTarget(NamedTuple):
    """A target in a list."""

    entity_id: int  # of the strongest path in its cell, -1 for none
    range: float  # m
    azimuth: float  # rad
    elevation: float  # rad
    speed: float  # m/s, positive when closing
    rcs: float  # m2
    snr: float  # power of the peak over the mean power of noise in a cell
    power: float  # W


class Peak(NamedTuple):
    """A peak between the cells."""

    cells: tuple[float, float]  # of range and Doppler, the latter from -N/2 on
    sines: tuple[float, float]  # u and w
    power: float


def threshold_factor(kind: CfarType, window: int, rank: int, false_alarm: float) -> float:
    """What the mean or the ordered cell is multiplied with."""
    if kind == CfarType.ca:
        return float(window * (false_alarm ** (-1.0 / window) - 1.0))
    low, high = 0.0, 1.0
    while _ordered_rate(window, rank, high) > false_alarm:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if _ordered_rate(window, rank, middle) > false_alarm else (low, middle)
        )
    return 0.5 * (low + high)


def _ordered_rate(window: int, rank: int, alpha: float) -> float:
    """The share of false alarms of the ordered statistic."""
    return math.prod((window - i) / (window - i + alpha) for i in range(rank))


def share_of_way(window: Window, count: int, ratio: float) -> float:
    """How far a scatterer lies toward the larger neighbour, by the ratio of both amplitudes."""
    if window == Window.hann and count > 32:
        return min(max((2.0 * ratio - 1.0) / (ratio + 1.0), 0.0), 0.5)
    low, high = 0.0, 0.5
    for _ in range(50):
        middle = 0.5 * (low + high)
        found = kernel_at(int(window), count, 1.0 - middle) / kernel_at(int(window), count, middle)
        low, high = (middle, high) if found < ratio else (low, middle)
    return 0.5 * (low + high)


class Detector:
    """Makes a list of targets of a cube."""

    def __init__(self, parameters: RayTracedParameters, radio: Radio) -> None:
        self.parameters, self.radio = parameters, radio
        self._u, self._w = _grid(radio.virtual, radio.wavelength)
        self._steering = self._table()
        self._array = Array(
            radio.virtual / radio.wavelength,
            radio.weights,
            self._turn_phases(1.0) / (2.0 * math.pi),
        )
        self._steps = _step(self._u), _step(self._w)
        cfar = parameters.cfar
        self._alpha = threshold_factor(
            CfarType(cfar.type), cfar.window, cfar.rank, cfar.false_alarm
        )
        self._powers = np.zeros((0, 0, 0), np.float32)
        self._found = np.zeros((0, 0, 0), bool)

    def targets(self, rays: RayScene, image: Image) -> list[RadarTarget]:
        """The targets of a cube, the strongest first."""
        powers = self._look(rays, image)
        places = np.flatnonzero(self._mark(rays, powers).ravel())
        strength = powers.ravel()[places]
        most = self.parameters.tracing.max_targets
        order = np.argsort(-strength, kind="stable")[: CANDIDATES * most]
        cells = np.stack(np.unravel_index(places[order], powers.shape), axis=1)
        peaks: list[Peak] = []
        for row, chirp, direction in cells.tolist():
            if len(peaks) == most:
                break
            if self._is_side_lobe(
                row, chirp, direction, float(powers[row, chirp, direction]), peaks
            ):
                continue
            peaks.append(self._refined(image, row, chirp, direction))
        found = [self._target(image, peak) for peak in peaks]
        return sorted(found, key=lambda target: -target.power)

    def load(self, rays: RayScene, image: Image) -> None:
        """Compile or load what targets may need, whether an image shows such or not."""
        self.targets(rays, image)
        self._is_side_lobe(0, 0, 0, 0.0, [self._refined(image, 0, 0, 0)])

    # ---- thresholds --------------------------------------------------------------------------

    def _look(self, rays: RayScene, image: Image) -> NDArray[np.float32]:
        """The power of each cell in each direction."""
        shape = (*image.cube.shape[:2], self._steering.shape[2])
        if self._powers.shape != shape:
            self._powers, self._found = np.empty(shape, np.float32), np.empty(shape, bool)
        rays.run(look_around, image.cube, self._steering, self._powers)
        return self._powers

    def _mark(self, rays: RayScene, powers: NDArray[np.float32]) -> NDArray[np.bool_]:
        """The peaks above their thresholds."""
        cfar: CfarParameters = self.parameters.cfar
        test = int(cfar.type), cfar.window, cfar.guard, cfar.rank
        # Without noise a threshold would find the rounding of sums.
        least = 0.0 if self.parameters.tracing.noise else self._alpha * self.radio.noise
        lines, found = (whole.reshape(len(whole), -1) for whole in (powers, self._found))
        rays.run(find_peaks, powers, lines, len(self._w), test, self._alpha, least, found)
        return self._found

    def _is_side_lobe(
        self, row: int, chirp: int, direction: int, power: float, peaks: list[Peak]
    ) -> bool:
        """Whether stronger peaks make what is found in a cell."""
        if self.parameters.cfar.side_lobes or not peaks:
            return False
        own, chirps = self.parameters, self.parameters.chirp.count
        u, w = self._direction(direction)
        doppler = chirp if chirp < (chirps + 1) // 2 else chirp - chirps
        made: float = side_lobes(
            self._array,
            np.array([[*peak.cells, *peak.sines, peak.power] for peak in peaks]),
            (float(row), float(doppler)),
            (u, w),
            (int(own.window.range), int(own.window.doppler)),
            (own.chirp.samples, chirps),
        )
        return power < ABOVE_SIDE_LOBES * made * made

    # ---- directions --------------------------------------------------------------------------

    def _direction(self, number: int) -> tuple[float, float]:
        """The sines u and w of a direction of the grid."""
        return float(self._u[number % len(self._u)]), float(self._w[number // len(self._u)])

    def _turn_phases(self, doppler: float) -> Floats:
        """The phases that a speed makes from transmitter to transmitter, by channel."""
        turns = 2.0 * math.pi * doppler / (self.radio.chirp.count * self.radio.repetition)
        phases: Floats = np.repeat(turns * self.radio.instants, len(self.radio.receivers))
        return phases

    def _table(self) -> NDArray[np.complex64]:
        """Conjugate weights of all directions of the grid, (Doppler, channels, directions)."""
        chirps = self.parameters.chirp.count
        u, w = np.meshgrid(self._u, self._w)
        k = 2.0 * math.pi / self.radio.wavelength
        places = self.radio.virtual
        phase = -k * (places[:, :1] * u.ravel() + places[:, 1:] * w.ravel())
        still = self.radio.weights[:, np.newaxis] * np.exp(-1j * phase)
        cells = np.fft.fftfreq(chirps, 1.0 / chirps)
        turns = np.array([self._turn_phases(cell) for cell in cells])
        table = np.exp(-1j * turns)[:, :, np.newaxis] * still
        return np.ascontiguousarray(table.astype(np.complex64))

    # ---- peaks between cells -----------------------------------------------------------------

    def _refined(self, image: Image, row: int, chirp: int, direction: int) -> Peak:
        """A peak, between the cells of all axes."""
        own, chirps = self.parameters, self.parameters.chirp.count
        u, w = self._direction(direction)
        cube = image.cube
        first = chirp if chirp < (chirps + 1) // 2 else chirp - chirps
        doppler, share = float(first), 0.0
        for _ in range(2):  # the speed turns the antennas' phases, and they show the direction
            share = self._between(
                own.window.doppler,
                chirps,
                [self._seen(cube[row, (chirp + k) % chirps], u, w, doppler) for k in (-1, 0, 1)],
            )
            doppler = first + share
            u, w = steer(self._array, cube[row, chirp], (u, w), self._steps, doppler)
        samples = own.chirp.samples
        around = [self._seen(cube[(row + k) % samples, chirp], u, w, doppler) for k in (-1, 0, 1)]
        along = self._between(own.window.range, samples, around)
        amplitude = around[1] / kernel_at(int(own.window.range), samples, along)
        amplitude /= kernel_at(int(own.window.doppler), chirps, share)
        return Peak((row + along, doppler), (u, w), float(amplitude**2))

    @staticmethod
    def _between(window: Window, count: int, around: "list[float]") -> float:
        """Where between -1/2 and 1/2 a peak lies, by the amplitudes before, at and after it."""
        before, here, after = around
        if here == 0.0:
            return 0.0
        share = share_of_way(Window(window), count, max(before, after) / here)
        return share if after >= before else -share

    def _seen(self, channels: NDArray[np.complex64], u: float, w: float, doppler: float) -> float:
        """The amplitude that is seen in a direction."""
        return float(look_at(self._array, channels, u, w, doppler))

    def _target(self, image: Image, peak: Peak) -> RadarTarget:
        radio = self.radio
        u, w = peak.sines
        elevation = math.asin(min(max(w, -1.0), 1.0))
        level = math.sqrt(max(1.0 - w * w, 1e-12))
        azimuth = math.asin(min(max(u / level, -1.0), 1.0))
        distance = max(peak.cells[0], 0.0) * radio.range_cell
        speed = -peak.cells[1] * radio.speed_cell
        ahead = math.sqrt(max(1.0 - u * u - w * w, 0.0))
        gain = root_gain(radio.pattern, ahead, u, w) ** 2
        unit = radio.received(1.0, distance, gain) if distance > 0.0 and gain > 0.0 else math.inf
        return RadarTarget(
            self._entity(image, peak), distance, azimuth, elevation, speed,
            peak.power / unit, peak.power / radio.noise, peak.power,
        )  # fmt: skip

    def _entity(self, image: Image, peak: Peak) -> int:
        """The entity of the strongest path within a cell and a sector."""
        powers, entities = image.strongest
        samples, chirps, across, upward = powers.shape
        row, chirp = round(peak.cells[0]), round(peak.cells[1])
        rows = [r for r in range(row - 1, row + 2) if 0 <= r < samples]
        y, z = _sectors(peak.sines[0], across), _sectors(peak.sines[1], upward)
        cells = np.ix_(rows, [c % chirps for c in range(chirp - 1, chirp + 2)], y, z)
        near = powers[cells]
        place = np.unravel_index(int(near.argmax()), near.shape)
        return int(entities[cells][place]) if near[place] > 0.0 else -1


def _step(axis: Floats) -> float:
    """By how much the directions of a grid differ along an axis."""
    return float(axis[1] - axis[0]) if len(axis) > 1 else 0.0


def _sectors(sine: float, count: int) -> list[int]:
    """The sectors that a direction may lie in: its own, and the one that it is nearer to."""
    place = (0.5 * sine + 0.5) * count
    own = min(max(int(place), 0), count - 1)
    other = min(max(own + (1 if place - own > 0.5 else -1), 0), count - 1)
    return sorted({own, other})


def _grid(virtual: Floats, wavelength: float) -> tuple[Floats, Floats]:
    """The directions that are looked at, along y and along z."""
    axes = []
    for axis in range(2):
        span = float(np.ptp(virtual[:, axis]))
        if span == 0.0:
            axes.append(np.zeros(1))
            continue
        count = 2 * math.ceil(2.0 * span / wavelength + 1.0)
        axes.append(np.linspace(-1.0, 1.0, min(count, MOST_DIRECTIONS), endpoint=False))
    u, w = axes
    return u + 0.5 * (u[1] - u[0]) if len(u) > 1 else u, w + 0.5 * (w[1] - w[0]) if len(
        w
    ) > 1 else w
