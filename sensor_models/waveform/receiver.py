r"""Detectors: what their numbers mean, and what kernels are given of them.

    R   = eta q lambda / (h c)                    A/W
    F   = k M + (1 - k) (2 - 1/M)                 McIntyre's excess noise
    B   = 1 / (4 sqrt(pi) s_f)                    noise bandwidth of a Gaussian filter
    var = 2 q M^2 F (R (P + P_b) + I_d) B + i_n^2 B
    nu  = e^(-T^2/2) / (2 pi sqrt(2) s_f)         rate of false alarms at a threshold of T sigma
    P_b = L band Omega_fov A_rx tau               background light, Omega_fov = pi fov^2 / 4

Source: section 31 of the physics; McIntyre (1966), Rice (1944).
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.random import stream_key
from sensor_models.kernels.waveform.layout import Extraction, Receiver
from sensor_models.scene.model import Sky
from sensor_models.waveform.optics import gaussian_kernel
from sensor_models.waveform.parameters import (
    FWHM,
    AdcParameters,
    ReceiverParameters,
    ReceiverType,
    SpadCorrection,
    WaveformParameters,
)

PLANCK = 6.62607015e-34  # J s
LIGHT_SPEED = 299_792_458.0  # m/s
CHARGE = 1.602176634e-19  # C


def photon_energy(wavelength: float) -> float:
    """Energy of a photon, J."""
    return PLANCK * LIGHT_SPEED / wavelength


def responsivity(wavelength: float, efficiency: float) -> float:
    """Current of a photodiode for each watt of light, A/W."""
    return efficiency * CHARGE / photon_energy(wavelength)


def excess_noise(gain: float, k: float) -> float:
    """McIntyre's factor of excess noise."""
    return k * gain + (1.0 - k) * (2.0 - 1.0 / gain)


def noise_bandwidth(filter_sigma: float) -> float:
    """Noise bandwidth of a Gaussian filter, Hz."""
    return 1.0 / (4.0 * math.sqrt(math.pi) * filter_sigma)


def shot_noise(own: ReceiverParameters, wavelength: float, power: float, bandwidth: float) -> float:
    """Standard deviation of the current of an apd from light and dark current, A."""
    primary = responsivity(wavelength, own.efficiency) * power + own.dark_current
    factor = own.gain**2 * excess_noise(own.gain, own.k)
    return math.sqrt(2.0 * CHARGE * factor * primary * bandwidth)


def thermal_noise(own: ReceiverParameters, bandwidth: float) -> float:
    """Standard deviation of the current from the amplifier, A."""
    return own.noise_current * math.sqrt(bandwidth)


def signal_to_noise(
    own: ReceiverParameters, wavelength: float, power: float, background: float, bandwidth: float
) -> float:
    """Current of a signal over the standard deviation that it has, for an apd."""
    signal = own.gain * responsivity(wavelength, own.efficiency) * power
    shot = shot_noise(own, wavelength, power + background, bandwidth)
    return signal / math.hypot(shot, thermal_noise(own, bandwidth))


def false_alarm_rate(threshold: float, filter_sigma: float) -> float:
    """Rate at which noise rises above a threshold in standard deviations, 1/s."""
    return math.exp(-0.5 * threshold**2) / (2.0 * math.pi * math.sqrt(2.0) * filter_sigma)


def threshold_for(probability: float, gate: float, filter_sigma: float) -> float:
    """The threshold, in standard deviations, that noise crosses in a gate so seldom."""
    rate = -math.log1p(-probability) / gate
    return math.sqrt(-2.0 * math.log(rate * 2.0 * math.pi * math.sqrt(2.0) * filter_sigma))


def spectrum_at(spectrum: tuple[tuple[float, float], ...], wavelength: float) -> float:
    """A spectrum at a wavelength, 0 outside of what it covers."""
    if not spectrum:
        return 0.0
    known, values = np.array(sorted(spectrum)).T
    return float(np.interp(wavelength, known, values, left=0.0, right=0.0))


def beyond(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of the squares of a filter's weights from each of them on, and one over their roots.

    Added up from the end, so that those of the outermost weights are exact as well.
    """
    squares = np.cumsum(np.append(kernel**2, 0.0)[::-1])[::-1]
    root = 1.0 / np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    return np.ascontiguousarray(np.stack([squares, root]))


def _response_of(own: ReceiverParameters, pulse: WaveformParameters) -> tuple[float, float, float]:
    """The signal of a watt, the charge of an event that shot noise goes by, and the dark signal."""
    photon, step = photon_energy(pulse.wavelength), pulse.t_res
    charge = CHARGE * own.gain
    # Of an apd: A/W and the charge of an electron behind the gain, with its excess noise.
    density = charge * excess_noise(own.gain, own.k)
    if own.type == ReceiverType.sipm:
        return charge * own.pde / photon, charge, charge * own.dark_counts
    if own.type == ReceiverType.spad:
        return own.pde * step / photon, density, own.dark_counts * step
    if own.type == ReceiverType.ideal:
        return 1.0, density, 0.0
    response = own.gain * responsivity(pulse.wavelength, own.efficiency)
    return response, density, own.gain * own.dark_current


def pack_receiver(
    own: ReceiverParameters,
    adc: AdcParameters,
    pulse: WaveformParameters,
    sky: Sky,
    key: tuple[int, str],
) -> Receiver:
    """The detector as kernels take it; ``key`` is the seed and whose draws they are."""
    step, kind = pulse.t_res, own.type
    analogue = kind in (ReceiverType.apd, ReceiverType.sipm)
    kernel = gaussian_kernel(own.filter_sigma / step) if analogue else np.ones(1)
    response, density, dark = _response_of(own, pulse)
    view = own.field_of_view or pulse.divergence_full_angle
    seen = own.band * 0.25 * math.pi * view**2 * (pulse.det_length * pulse.det_width)
    return Receiver(
        kind=int(kind),
        noise=own.noise,
        key=stream_key(*key, "receiver.noise"),
        optics=1.0 if kind == ReceiverType.ideal else own.transmission,
        response=response,
        density=density,
        floor=0.5 * own.noise_current**2,
        dark=dark,
        impedance=adc.impedance,
        least_bit=adc.full_scale / (2.0**adc.bits - 1.0) if analogue and adc.bits else 0.0,
        full_scale=adc.full_scale,
        filter=kernel,
        squares=float((kernel**2).sum()),
        beyond=beyond(kernel),
        photon=photon_energy(pulse.wavelength),
        probability=own.pde,
        cells=float(own.cells),
        recovery=round(own.recovery_time / step),
        charge=CHARGE * own.gain,
        shots=float(own.shots),
        piles_up=pulse.spad_correction == SpadCorrection.none,
        band_area=0.0 if kind == ReceiverType.ideal else seen * own.transmission,
        sun=np.array(sky.sun_direction, float),
        sunlight=spectrum_at(sky.sun_spectrum, pulse.wavelength),
        skylight=spectrum_at(sky.sky_spectrum, pulse.wavelength),
    )


def pack_extraction(own: WaveformParameters, receiver: ReceiverParameters) -> Extraction:
    """How echoes are found, as kernels take it."""
    analogue = receiver.type in (ReceiverType.apd, ReceiverType.sipm)
    own_filter = receiver.filter_sigma if analogue else 0.0
    sigma = math.hypot(own.pulse_sigma, own_filter)
    step = own.t_res
    return Extraction(
        way=int(own.extraction),
        sigma=sigma / step,
        filter_sigma=own_filter / step,
        threshold=own.threshold,
        least=own.threshold_absolute,
        fraction=own.leading_edge_fraction,
        cfd_fraction=own.cfd_fraction,
        cfd_delay=(own.cfd_delay or max(FWHM * sigma, step)) / step,
        most=own.max_echoes,
        least_width=own.least_width,
        dead=receiver.dead_time / step,
    )
