r"""The chirps of a radar, its antennas, and what follows from both.

With the slope S, samples N_s at the rate f_s, N_c chirps of each of N_tx transmitters T_c apart:

    bandwidth B = S N_s / f_s,   range cell c / 2 B,   farthest range c f_s / 2 S
    T_r = N_tx T_c in turns (tdm), T_c at once (ideal)
    speed cell lambda / (2 N_c T_r),   fastest lambda / (4 T_r)
    noise of a cell   k_B T_0 F f_s e_r e_d e_a / (N_s N_c N_v),  a unit scatterer being 1

The instants of TDM count from the middle of the frame, so that its phases do.
"""

import csv
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.radar.batches import Waveform
from sensor_models.kernels.radar.windows import TAPS
from sensor_models.radar.ray_parameters import (
    LIGHT,
    AntennaParameters,
    ChirpParameters,
    Mimo,
    Window,
    WindowParameters,
)

Floats = NDArray[np.float64]

BOLTZMANN = 1.380649e-23  # J/K
ROOM = 290.0  # K, that noise figures are for
#: Steps of a table of gains from -90 to 90 degrees.
PATTERN_STEPS = 1800


@dataclass(frozen=True)
class Radio:
    """Chirps and antennas together."""

    antenna: AntennaParameters
    chirp: ChirpParameters
    window: WindowParameters

    @property
    def wavelength(self) -> float:
        """Of the carrier, m."""
        return LIGHT / self.antenna.frequency

    @cached_property
    def transmitters(self) -> Floats:
        """Places (y, z) in m."""
        default = np.column_stack([2.0 * self.wavelength * np.arange(3), np.zeros(3)])
        return _places("transmitters", self.antenna.transmitters, default)

    @cached_property
    def receivers(self) -> Floats:
        """Places (y, z) in m."""
        default = np.column_stack([0.5 * self.wavelength * np.arange(4), np.zeros(4)])
        return _places("receivers", self.antenna.receivers, default)

    @cached_property
    def virtual(self) -> Floats:
        """Places of the virtual array: the sums of all pairs, transmitter by transmitter."""
        pairs = self.transmitters[:, np.newaxis] + self.receivers[np.newaxis]
        places: Floats = pairs.reshape(-1, 2)
        return places

    @property
    def repetition(self) -> float:
        """From a chirp of a transmitter to its next, s."""
        turns = len(self.transmitters) if self.antenna.mimo == Mimo.tdm else 1
        return turns * self.chirp.interval

    @cached_property
    def instants(self) -> Floats:
        """When transmitters fire within a repetition, from its middle, s."""
        count = len(self.transmitters)
        if self.antenna.mimo != Mimo.tdm:
            return np.zeros(count)
        times: Floats = (np.arange(count, dtype=float) - 0.5 * (count - 1)) * self.chirp.interval
        return times

    @property
    def bandwidth(self) -> float:
        """That is swept while samples are taken, Hz."""
        return self.chirp.slope * self.chirp.samples / self.chirp.sample_rate

    @property
    def range_cell(self) -> float:
        """The range of a cell, m."""
        return LIGHT / (2.0 * self.bandwidth)

    @property
    def farthest(self) -> float:
        """The range from where on targets fold, m."""
        return LIGHT * self.chirp.sample_rate / (2.0 * self.chirp.slope)

    @property
    def speed_cell(self) -> float:
        """The speed of a cell, m/s."""
        return self.wavelength / (2.0 * self.chirp.count * self.repetition)

    @property
    def fastest(self) -> float:
        """The speed from where on targets fold, m/s."""
        return self.wavelength / (4.0 * self.repetition)

    @property
    def duration(self) -> float:
        """Of a frame, s."""
        return self.chirp.count * self.repetition

    @property
    def shift_of_speed(self) -> float:
        """By what a closing target reads too near, m for each m/s."""
        return self.antenna.frequency / self.chirp.slope

    @cached_property
    def weights(self) -> Floats:
        """Of the virtual antennas, of the sum 1."""
        w = np.ones(len(self.virtual))
        for axis in range(2):
            w *= _weights_along(self.virtual[:, axis], self.window.angle)
        whole: Floats = w / w.sum()
        return whole

    @property
    def noise(self) -> float:
        """Mean power of the noise of a cell after all three transforms, W."""
        return self.noise_of_channel * float((self.weights**2).sum())

    @property
    def noise_of_channel(self) -> float:
        """Mean power of the noise of a cell of a channel, W."""
        widths = noise_bandwidth(self.window.range) * noise_bandwidth(self.window.doppler)
        return self.noise_of_draw * widths

    @property
    def noise_of_draw(self) -> float:
        """The same without windows."""
        power = BOLTZMANN * ROOM * self.antenna.noise_figure * self.chirp.sample_rate
        return power / (self.chirp.samples * self.chirp.count)

    def received(self, rcs: float, distance: float, gain: float | None = None) -> float:
        """The radar equation: power in W of a target, gain both ways alike."""
        own = self.antenna
        g = own.gain if gain is None else gain
        area = self.wavelength**2 * rcs / ((4.0 * math.pi) ** 3 * distance**4)
        return own.transmit_power / own.loss * g * g * area

    @cached_property
    def pattern(self) -> Floats:
        """Root of the gain by azimuth and by elevation, as the kernels take it."""
        return pattern_of(self.antenna)

    @cached_property
    def kernel_waveform(self) -> Waveform:
        """As the kernels take it."""
        return Waveform(
            self.antenna.frequency,
            self.chirp.slope,
            self.chirp.sample_rate,
            self.chirp.samples,
            self.chirp.count,
            self.repetition,
            np.ascontiguousarray(self.transmitters),
            np.ascontiguousarray(self.receivers),
            np.ascontiguousarray(self.instants),
            0.5 / self.range_cell,
            self.shift_of_speed / self.range_cell,
            1.0 / self.speed_cell,
        )


def noise_bandwidth(window: Window) -> float:
    """By what a window widens the noise of a cell."""
    return 1.0 + 2.0 * float((TAPS[int(window)] ** 2).sum())


def _places(name: str, text: str, default: Floats) -> Floats:
    """Places of antennas out of their text."""
    if not text.strip():
        return default
    try:
        rows = [[float(part) for part in row.replace(",", " ").split()] for row in text.split(";")]
        rows = [row for row in rows if row]
        found = np.array(rows, float)
    except ValueError:
        found = np.zeros(0)
    if found.ndim != 2 or found.shape[1] != 2 or not np.isfinite(found).all():
        raise ParameterError(
            f"{name} = {text!r} is not understood, allowed are pairs y z in m, separated by "
            "semicolons: 0 0; 0.0078 0"
        )
    if len(found) > 256:
        raise ParameterError(f"{name} has {len(found)} places, allowed are at most 256")
    return found


def _weights_along(places: Floats, window: Window) -> Floats:
    """The weights of antennas by their places along an axis."""
    steps = np.unique(np.round(places, 9))
    span = steps[-1] - steps[0]
    if span == 0.0 or window == Window.rectangular:
        return np.ones(len(places))
    turn = 2.0 * np.pi * (places - 0.5 * (steps[0] + steps[-1])) / (span + span / (len(steps) - 1))
    a, b = TAPS[int(window)]
    weights: Floats = 1.0 + 2.0 * a * np.cos(turn) + 2.0 * b * np.cos(2.0 * turn)
    return weights


def pattern_of(antenna: AntennaParameters) -> Floats:
    """The table of an antenna's pattern."""
    angles = 2.0 * np.arctan(np.linspace(-1.0, 1.0, PATTERN_STEPS + 1))
    root = math.sqrt(antenna.gain)
    if antenna.pattern == "cos2":
        one = np.cos(angles)
        return np.stack([root * one, one])
    if antenna.pattern == "isotropic":
        return np.stack([np.full(len(angles), root), np.ones(len(angles))])
    table = _pattern_file(Path(antenna.pattern))
    azimuth, elevation = (
        10.0 ** (np.interp(np.degrees(angles), table[:, 0], column) / 20.0)
        for column in table[:, 1:].T
    )
    return np.stack([root * azimuth, elevation])


def _pattern_file(path: Path) -> Floats:
    """Angles, and gains of both axes in dB relative to the one ahead."""
    names = ("angle_deg", "azimuth_db", "elevation_db")
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = [[float(row[name]) for name in names] for row in csv.DictReader(stream)]
        table = np.array(rows, float).reshape(-1, 3)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ParameterError(
            f"pattern = {str(path)!r} is not cos2, isotropic, or a CSV file with the columns "
            f"{', '.join(names)}: {error!r}"
        ) from error
    if len(table) < 2 or not np.isfinite(table).all() or (np.diff(table[:, 0]) <= 0).any():
        raise ParameterError(f"pattern = {str(path)!r}: needs two angles or more, rising")
    return table
