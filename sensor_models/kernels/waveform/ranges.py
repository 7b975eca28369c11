"""Echoes of pulses whose rays met what somebody else has found: ranges in, echoes out.

Histogram, receiver and extraction are those of all pulses (``pulses``). There is no second way for
light: what a ray meets sends it straight back.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.layout import Detector
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.waveform.histogram import (
    add_energy,
    clear,
    energy_of,
    place_of,
    see_light,
)
from sensor_models.kernels.waveform.layout import (
    Extraction,
    Floats,
    Histograms,
    Pulse,
    Receiver,
    new_found,
    new_histograms,
    new_work,
)
from sensor_models.kernels.waveform.pulses import describe_echo, find_echoes, make_signal
from sensor_models.kernels.waveform.receiver import clipped_from

# Columns of what is known of each ray, and of what is told of each echo.
RANGE, STRENGTH, FACING, LIT = range(4)
NUMBERS_OF_ECHO = 6


@njit(**ACCESS)
def take_ranges(
    pulse: Pulse, receiver: Receiver, under: Histograms, at: int, rays: NDArray[np.float64]
) -> None:
    """Add what the rays of a pulse met to its histogram."""
    for part in range(len(rays)):
        way, strength, facing = rays[part, RANGE], rays[part, STRENGTH], rays[part, FACING]
        if not np.isfinite(way):
            continue
        if receiver.band_area > 0.0:
            see_light(pulse, receiver, under, at, part, strength, facing, rays[part, LIT])
        own = pulse.share[part], pulse.toward[part]
        energy = energy_of(pulse, *own, way, 1.0, strength)
        add_energy(pulse, under, at, place_of(pulse, way), energy)


@njit(cache=True, nogil=True, error_model="numpy")
def hear_pulses(
    detector: Detector,
    pulse: Pulse,
    receiver: Receiver,
    ask: Extraction,
    tau: float,
    first: int,
    rays: NDArray[np.float64],
    counts: NDArray[np.int64],
    echoes: Floats,
) -> None:
    """The echoes of pulses in range, of rays (pulses, subrays, 4); the first has a number."""
    under, found = new_histograms(pulse.samples, len(pulse.share)), new_found(pulse.samples)
    work = new_work(pulse.samples, len(receiver.filter) // 2, pulse.shape)
    for row in range(len(rays)):
        clear(under, 0)
        under.ray[0] = first + row
        take_ranges(pulse, receiver, under, 0, rays[row])
        made = make_signal(detector, pulse, receiver, ask, under, 0, work)
        begin, end, level, sigma, background = made
        counts[row] = 0
        if end <= begin:
            continue
        clip = clipped_from(receiver, background, pulse.step)
        echo_count = find_echoes(receiver, ask, work, (begin, end), (level, sigma, clip), found)
        for i in range(echo_count):
            own = found.echoes[i]
            described = describe_echo(pulse, receiver, ask, tau, background, level, own)
            if detector.least_range <= described[0] <= detector.most_range:
                for k in range(NUMBERS_OF_ECHO):
                    echoes[row, counts[row], k] = described[k]
                counts[row] += 1
