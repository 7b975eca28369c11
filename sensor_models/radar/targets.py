r"""Targets of a radar's cube: thresholds, peaks between the cells, radar cross sections.

Directions are those of a grid of u = sin(azimuth) cos(elevation) along y and w = sin(elevation)
along z, twice as fine as the array tells apart. In turns (TDM), the phases that a target collects
between transmitters are taken off with the speed of its cell, later with its own.

Speeds fold at lambda / (4 T_r). A target beyond has other phases between the transmitters of TDM
than its cell says, which makes several peaks in wrong directions. With ``speed_extended``, the
phases of each folding v + 2 h v_max are tried on the channels of a peak, as many foldings as there
are transmitters; the one that is highest in some direction tells speed and direction, and explains
the other peaks of that cell. A wrong one is 1.6 dB lower with the default array.

Peaks between the cells. A scatterer at a share s of the way to its larger neighbour has there and
in its own cell the amplitudes K(1 - s) and K(s): the s that fits is exact for one scatterer and
known windows; with Hann it is (2 r - 1) / (r + 1), r being their ratio. The direction is where the
power is highest, by a search of ever smaller steps. The amplitude is what is left when K of both
shares is taken off, and the cross section follows by the radar equation, with the gain at the
measured direction.

Thresholds are those of ``thresholds``: for a number of false alarms per frame.

Side lobes. A target is in all cells, by K of each axis and by the array's pattern. A peak is left
out that is not twice as strong as what stronger ones make at its place: as far from them as windows
tell apart, that is what is seen in its direction where they are, by the side lobes of the windows;
nearer, what their directions explain of its channels, by least squares. If they are several
scatterers that are not resolved, their main lobe is taken off as a whole. The source has no such
step, and without it the side lobes of one strong target fill a list.

A peak between the last cell of range and the first one, where ranges fold, is taken for a target at
the farthest range, not at the antennas.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.radar.detection import find_peaks, look_around
from sensor_models.kernels.radar.directions import (
    MAIN_LOBE,
    Array,
    left_over,
    look_at,
    rest_of,
    side_lobes,
    steer,
)
from sensor_models.kernels.radar.ray_tubes import root_gain
from sensor_models.kernels.radar.windows import REACH, kernel_at
from sensor_models.radar.ray_parameters import (
    Mimo,
    RayTracedParameters,
    SpeedExtended,
    Synthesis,
    Window,
)
from sensor_models.radar.ray_traced import FEWEST, Image
from sensor_models.radar.thresholds import test_of
from sensor_models.radar.waveform import Radio
from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]
#: A cell of range, one of Doppler from 0 on, and a direction of the grid.
Cell = tuple[int, int, int]

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

    cell: Cell  # the one that it is highest in
    cells: tuple[float, float]  # of range and Doppler, the latter from -N/2 on
    sines: tuple[float, float]  # u and w
    power: float


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
        chirp = parameters.chirp
        tested = chirp.samples * chirp.count * len(self._u) * len(self._w)
        self._test = test_of(
            parameters.cfar, Window(parameters.window.range), chirp.samples, tested
        )
        # What the transforms are cut off at, and half as far as the array's main lobe reaches.
        kernels = parameters.tracing.synthesis == Synthesis.kernel
        kernels = kernels and min(chirp.samples, chirp.count) >= FEWEST
        self._reach = (REACH + 2.0, REACH + 2.0) if kernels else (math.inf, math.inf)
        self._extends = (
            parameters.tracing.speed_extended == SpeedExtended.hypotheses
            and parameters.antenna.mimo == Mimo.tdm
            and len(radio.transmitters) > 1
        )
        self._widths = _width(self._array.places[:, 0]), _width(self._array.places[:, 1])
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
            cell = row, chirp, direction
            if not self._is_side_lobe(image, powers, cell, peaks):
                peaks.append(self._refined(image, cell, peaks))
        found = [self._target(image, peak) for peak in peaks]
        return sorted(found, key=lambda target: -target.power)

    def load(self, rays: RayScene, image: Image) -> None:
        """Compile or load what targets may need, whether an image shows such or not."""
        self.targets(rays, image)
        cell = 0, 0, 0
        peak = self._refined(image, cell, [])
        self._is_side_lobe(image, self._powers, cell, [peak])
        self._left_over(image, cell, [peak])
        self._folded(image, cell, [peak])
        root_gain(self.radio.pattern, 1.0, 0.0, 0.0)

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
        own = self._test
        test = int(own.kind), own.cells, own.guard, own.rank, own.apart
        # Without noise a threshold would find the rounding of sums.
        least = 0.0 if self.parameters.tracing.noise else own.alpha * self.radio.noise
        lines, found = (whole.reshape(len(whole), -1) for whole in (powers, self._found))
        rays.run(find_peaks, powers, lines, len(self._w), test, own.alpha, least, found)
        return self._found

    def _is_side_lobe(
        self, image: Image, powers: NDArray[np.float32], cell: Cell, peaks: list[Peak]
    ) -> bool:
        """Whether stronger peaks make what is found in a cell."""
        if self.parameters.cfar.side_lobes or not peaks:
            return False
        own, power = self.parameters, float(powers[cell])
        made: float = side_lobes(
            powers,
            np.array([peak.cell[:2] for peak in peaks], float),
            cell,
            len(self._u),
            (int(own.window.range), int(own.window.doppler)),
            self._reach,
        )
        if power >= ABOVE_SIDE_LOBES * made * made:
            return False
        near = [peak for peak in peaks if self._is_near(peak.cell, cell)]
        return not near or self._left_over(image, cell, near) < power / ABOVE_SIDE_LOBES

    def _is_near(self, one: Cell, other: Cell) -> bool:
        """Whether windows leave two cells in one main lobe."""
        counts = self.parameters.chirp.samples, self.parameters.chirp.count
        return all(
            min((a - b) % count, (b - a) % count) <= MAIN_LOBE
            for a, b, count in zip(one[:2], other[:2], counts, strict=True)
        )

    def _left_over(self, image: Image, cell: Cell, near: list[Peak]) -> float:
        """The power of a cell in its direction without what peaks in the same place make there."""
        row, chirp, direction = cell
        found: float = left_over(
            self._array,
            image.cube[row, chirp],
            _sources(near),
            self._widths,
            self._direction(direction),
            float(self._signed(chirp)),
        )
        return found

    def _signed(self, chirp: int) -> int:
        """A cell of Doppler, counted from the middle of the spectrum."""
        chirps = self.parameters.chirp.count
        return chirp if chirp < (chirps + 1) // 2 else chirp - chirps

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
        self._still = still = self.radio.weights[:, np.newaxis] * np.exp(-1j * phase)
        cells = np.fft.fftfreq(chirps, 1.0 / chirps)
        turns = np.array([self._turn_phases(cell) for cell in cells])
        table = np.exp(-1j * turns)[:, :, np.newaxis] * still
        return np.ascontiguousarray(table.astype(np.complex64))

    # ---- peaks between cells -----------------------------------------------------------------

    def _refined(self, image: Image, cell: Cell, peaks: list[Peak]) -> Peak:
        """A peak, between the cells of all axes; ``peaks`` are those that were found before."""
        own, chirps = self.parameters, self.parameters.chirp.count
        row, chirp, direction = cell
        cube, first, share = image.cube, self._signed(chirp), 0.0
        u, w = self._direction(direction)
        if self._extends:
            near = [peak for peak in peaks if self._is_near(peak.cell, cell)]
            folding, direction = self._folded(image, cell, near)
            first += folding * chirps
            u, w = self._direction(direction)
        doppler = float(first)
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
        place = row + along + (samples if row + along < 0.0 else 0.0)  # where ranges fold
        return Peak(cell, (place, doppler), (u, w), float(amplitude**2))

    def _folded(self, image: Image, cell: Cell, near: list[Peak]) -> tuple[int, int]:
        """How often the speed of a peak is folded, and the direction of the grid that it has then.

        What peaks in the same place make is taken off its channels.
        """
        row, chirp, _ = cell
        channels = rest_of(self._array, image.cube[row, chirp], _sources(near))
        count, cells = len(self.radio.transmitters), self.parameters.chirp.count
        doppler, best = self._signed(chirp), (-1.0, 0, 0)
        for folding in range(-count, count + 1):
            extended = doppler + folding * cells
            if abs(extended) <= 0.5 * count * cells:
                turns = np.exp(-1j * self._turn_phases(extended))
                seen = np.abs((channels * turns) @ self._still)
                best = max(best, (float(seen.max()), folding, int(seen.argmax())))
        return best[1:]

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
        distance = peak.cells[0] * radio.range_cell
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
        rows = [r % samples for r in range(row - 1, row + 2)]
        y, z = _sectors(peak.sines[0], across), _sectors(peak.sines[1], upward)
        cells = np.ix_(rows, [c % chirps for c in range(chirp - 1, chirp + 2)], y, z)
        near = powers[cells]
        place = np.unravel_index(int(near.argmax()), near.shape)
        return int(entities[cells][place]) if near[place] > 0.0 else -1


def _sources(peaks: list[Peak]) -> Floats:
    """Directions and Doppler of peaks, as the kernels take them."""
    return np.array([[*peak.sines, peak.cells[1]] for peak in peaks]).reshape(-1, 3)


def _step(axis: Floats) -> float:
    """By how much the directions of a grid differ along an axis."""
    return float(axis[1] - axis[0]) if len(axis) > 1 else 0.0


def _width(places: Floats) -> float:
    """The sine by which an array of places in wavelengths tells directions apart; 0: it does not.

    That of an array of one place more, so that of evenly spaced ones it is the first zero.
    """
    steps = np.unique(np.round(places, 6))
    return 0.0 if len(steps) < 2 else float((len(steps) - 1) / (len(steps) * np.ptp(steps)))


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
