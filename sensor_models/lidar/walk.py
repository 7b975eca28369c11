r"""Range walk of a lidar: what its receiver makes of bright, weak and tilted targets.

A table of errors (``kernels.lidar.walk``) is made of waveforms, once for a sensor. An echo is that
of a plate: the rays of a beam (``beam_spread``), each delayed by its way to the tilted plate, of
the pulse behind the receiver's filter, s^2 = (FWHM / 2.355)^2 + s_f^2, clipped at the saturation
(power is counted before the filter). It is timed by the code of the full-waveform lidar
(``kernels.waveform.extraction``), and the error is that to the middle of the beam. So the table has
what a full-waveform lidar without noise finds, but for the steps of its samples and for targets
that are no plates as large as the beam.

    threshold      rise above the threshold: early by s sqrt(2 ln(S/T)), more so where tilted
    leading_edge   rise above a share of the peak that is seen: early where it is clipped
    cfd            zero of f x(t) - x(t - d), with d the FWHM: off where it is clipped

Not in it: noise, echoes that overlap, recovery from saturation (a clipped signal has no tail here).
"""

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import check, choice, real
from sensor_models.kernels.lidar.walk import POWER_STEPS, WIDTH_STEPS
from sensor_models.kernels.waveform import layout
from sensor_models.kernels.waveform.extraction import extract_all
from sensor_models.light.media import SPEED_OF_LIGHT

Floats = NDArray[np.float64]

#: Octaves of power above the threshold, and of width.
POWER_OCTAVES, WIDTH_OCTAVES = 20, 4
#: Rays of the beam, samples of the s of a flat echo, and how many s the samples reach to.
RAYS, SAMPLES_OF_S, REACH = 400, 24.0, 7.0
FWHM = 2.0 * math.sqrt(2.0 * math.log(2.0))


class WalkMode(IntEnum):
    """How a receiver times an echo."""

    none = 0
    threshold = 1
    leading_edge = 2
    cfd = 3


#: The same as ways of extraction.
WAYS = {
    WalkMode.threshold: layout.LEADING_EDGE,
    WalkMode.leading_edge: layout.LEADING_EDGE,
    WalkMode.cfd: layout.CFD,
}


@dataclass(frozen=True)
class WalkParameters:
    """Pulse and receiver, as far as ranges depend on them."""

    mode: WalkMode = choice(
        WalkMode.none,
        "How echoes are timed: ranges are then off by what power, saturation and incidence do to "
        "that, from a table of waveforms; none for ranges without such errors",
    )
    peak_power: float = real(30.0, "W", "Peak power of a pulse", minimum=1e-12)
    pulse_duration: float = real(
        5e-9, "s", "Full width at half maximum of a pulse", minimum=1e-12, maximum=1e-3
    )
    area: float = real(4e-4, "m2", "Area of the receiver, with its losses", minimum=1e-12)
    filter_sigma: float = real(
        1e-9, "s", "Standard deviation of the receiver's filter", minimum=0.0, maximum=1e-3
    )
    threshold: float = real(2e-8, "W", "Power at which an echo is noticed", minimum=1e-18)
    saturation: float = real(
        0.0, "W", "Power beyond which the signal is clipped; 0 for none", minimum=0.0
    )
    fraction: float = real(
        0.5, "1", "Share of the peak of a leading edge, or of the discriminator",
        minimum=0.01, maximum=0.99,
    )  # fmt: skip
    reference_power: float = real(
        0.0,
        "W",
        "Peak power of an echo at right angles whose range is right, as devices are calibrated; 0 "
        "for none, so that the middle of an echo is right",
        minimum=0.0,
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def sigma(self) -> float:
        """Standard deviation of the echo of a flat target, s."""
        return math.hypot(self.pulse_duration / FWHM, self.filter_sigma)

    @property
    def per_intensity(self) -> float:
        """Power over the threshold, of an intensity of 1/sr at 1 m."""
        return self.peak_power * self.area / self.threshold

    @property
    def per_spot(self) -> float:
        """Widening over the s of a flat target, of a spot of 1 m that is tilted by 45 deg."""
        return 1.0 / (SPEED_OF_LIGHT * self.sigma)


def walk_table(own: WalkParameters, across: Floats) -> Floats:
    """Errors in m, (powers, widths).

    Args:
        own: pulse and receiver.
        across: places of the rays of a beam across its tilt, in radii to 1/e^2.
    """
    if own.mode == WalkMode.none:
        return np.zeros((0, 0))
    powers = 2.0 ** (np.arange(POWER_OCTAVES * POWER_STEPS + 1) / POWER_STEPS)
    widths = 2.0 ** (np.arange(WIDTH_OCTAVES * WIDTH_STEPS + 1) / WIDTH_STEPS) - 1.0
    table = np.stack([_errors_of(own, powers, width, across) for width in widths], axis=1)
    if own.reference_power > 0.0:
        at = np.log2(max(own.reference_power / own.threshold, 1.0)) * POWER_STEPS
        table -= np.interp(at, np.arange(len(powers)), table[:, 0])
    return np.ascontiguousarray(table)


def _errors_of(own: WalkParameters, powers: Floats, width: float, across: Floats) -> Floats:
    """Errors in m of echoes of many powers and one width, in s of a flat one."""
    delays = 2.0 * width * across  # u is of the radius, both ways
    reach = REACH + np.abs(delays).max()
    times = np.arange(-reach, reach, 1.0 / SAMPLES_OF_S)
    echo = np.exp(-0.5 * (times - delays[:, None]) ** 2).mean(axis=0)
    echo *= own.pulse_duration / FWHM / own.sigma  # the filter lowers the peak
    signals = powers[:, None] * echo  # over the threshold
    if own.saturation > 0.0:
        signals = np.minimum(signals, own.saturation / own.threshold)
    seen = echo.max() * powers > 1.0
    first = _first_echoes(own, signals)
    errors = (first / SAMPLES_OF_S - reach) * own.sigma * 0.5 * SPEED_OF_LIGHT
    # What stays below the threshold has the error of the weakest that does not.
    noticed = np.flatnonzero(seen & (first >= 0.0))
    least = noticed[0] if len(noticed) else len(errors) - 1
    errors[:least] = errors[least] if len(noticed) else 0.0
    return np.asarray(errors, float)


def _first_echoes(own: WalkParameters, signals: Floats) -> Floats:
    """Where the first echo of each is, in samples; -1 for none."""
    ask = layout.Extraction(
        way=WAYS[own.mode],
        sigma=SAMPLES_OF_S,
        filter_sigma=0.0,
        threshold=0.0,
        least=1.0,
        fraction=0.0 if own.mode == WalkMode.threshold else own.fraction,
        cfd_fraction=own.fraction,
        cfd_delay=FWHM * SAMPLES_OF_S,
        most=1,
        least_width=0.0,
        dead=0.0,
    )
    counts = np.zeros(len(signals), np.int64)
    echoes = np.zeros((len(signals), layout.MOST_ECHOES, 3))
    found = layout.new_found(signals.shape[1])
    extract_all(np.ascontiguousarray(signals), ask, 1.0, 0.0, np.inf, found, counts, echoes)
    return np.where(counts > 0, echoes[:, 0, 1], -1.0)
