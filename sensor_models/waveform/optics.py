r"""The beam of a full-waveform lidar, and what kernels are given of it.

    f   = r / tan(Theta/2)              distance of the virtual focus behind the aperture
    N   = ceil(2 (r + R tan(Theta/2)) / x)          rays along a side, x apart at the range R
    w_0 = 2 lambda / (pi Theta),  z_r = pi w_0^2 / lambda,  w(z) = w_0 sqrt(1 + (z / z_r)^2)

with the waist at the virtual focus, so that w = r at the aperture. Rays of a square have the shares
q ~ e^(-2 rho^2 / r^2), those of a spiral equal ones, at radii of equal power.

Source: VANE, eq. 7-11; Theta is its full angle, which eq. 11 takes for a half one there.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.waveform.layout import Pulse
from sensor_models.waveform.parameters import (
    Binning,
    RayWeight,
    SubrayPattern,
    WaveformParameters,
)

Floats = NDArray[np.float64]

#: Standard deviations that Gaussian kernels reach to: 2e-9 of their sum lies beyond.
KERNEL_REACH = 6.0
#: Angle between the rays of a spiral.
GOLDEN = math.pi * (3.0 - math.sqrt(5.0))


def focal_distance(radius: float, full_angle: float) -> float:
    """Distance of the virtual focus behind the aperture, m; infinite for parallel rays."""
    return radius / math.tan(0.5 * full_angle) if full_angle > 0.0 else math.inf


def rays_along_side(radius: float, full_angle: float, reach: float, spacing: float) -> int:
    """Rays along a side of the square so that they lie no further apart at a range."""
    return math.ceil(2.0 * (radius + reach * math.tan(0.5 * full_angle)) / spacing)


def waist_of(wavelength: float, full_angle: float) -> tuple[float, float]:
    """Radius of the waist and Rayleigh length, m."""
    waist = 2.0 * wavelength / (math.pi * full_angle)
    return waist, math.pi * waist * waist / wavelength


def spot_radius(wavelength: float, full_angle: float, from_focus: float) -> float:
    """Radius to 1/e^2 of the intensity at a distance from the virtual focus, m."""
    waist, rayleigh = waist_of(wavelength, full_angle)
    return waist * math.hypot(1.0, from_focus / rayleigh)


def rays_of_square(side: int, radius: float) -> Floats:
    """Places of rays in the aperture, (n, 2) in m: the middles of the cells of a square."""
    along = (np.arange(side) - 0.5 * (side - 1)) * (2.0 * radius / side)
    left, up = np.meshgrid(along, along, indexing="ij")
    places = np.stack([left.ravel(), up.ravel()], axis=1)
    inside: Floats = places[(places**2).sum(axis=1) <= radius * radius]
    return inside


def rays_of_spiral(count: int, radius: float) -> Floats:
    """Places of rays of equal power in the aperture, (n, 2) in m (Vogel 1979)."""
    if count == 1:
        return np.zeros((1, 2))
    share = (np.arange(count) + 0.5) / count
    rho = radius * np.sqrt(-0.5 * np.log1p(share * np.expm1(-2.0)))
    turn = np.arange(count) * GOLDEN
    return np.stack([rho * np.cos(turn), rho * np.sin(turn)], axis=1)


def subrays_of(own: WaveformParameters) -> tuple[Floats, Floats]:
    """Places of the rays in the aperture, and their shares of the power."""
    radius = own.aperture_radius
    if own.subray_pattern == SubrayPattern.spiral:
        places = rays_of_spiral(own.subrays, radius)
        return places, np.full(len(places), 1.0 / len(places))
    side = own.subray_side
    if own.subray_pattern == SubrayPattern.spacing:
        full, spacing = own.divergence_full_angle, own.target_spacing
        side = rays_along_side(radius, full, own.target_range, spacing)
    places = rays_of_square(side, radius)
    share = np.exp(-2.0 * (places**2).sum(axis=1) / radius**2)
    return places, share / share.sum()


def gaussian_kernel(sigma: float) -> Floats:
    """A Gaussian over samples, 1 in sum; ``sigma`` in samples."""
    half = math.ceil(KERNEL_REACH * sigma)
    if half == 0:
        return np.ones(1)
    kernel: Floats = np.exp(-0.5 * (np.arange(-half, half + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    return kernel


def pack_pulse(own: WaveformParameters) -> Pulse:
    """The pulse as kernels take it."""
    places, share = subrays_of(own)
    focus = focal_distance(own.aperture_radius, own.divergence_full_angle)
    slope = places / focus
    rayleigh = 0.0
    if own.ray_weight == RayWeight.irradiance and own.divergence_full_angle > 0.0:
        rayleigh = waist_of(own.wavelength, own.divergence_full_angle)[1]
    return Pulse(
        offset=places,
        slope=slope,
        share=share,
        toward=1.0 / np.sqrt(1.0 + (slope**2).sum(axis=1)),
        energy=own.pulse_energy * own.det_response * own.gain,
        area=own.det_length * own.det_width,
        focus=focus,
        rayleigh=rayleigh,
        start=own.t_start,
        step=own.t_res,
        samples=own.samples,
        split=own.binning == Binning.linear,
        shape=gaussian_kernel(own.pulse_sigma / own.t_res),
    )
