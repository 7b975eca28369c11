r"""The beam of a full-waveform lidar, and what kernels are given of it.

    f   = r / tan(Theta/2)              distance of the virtual focus behind the aperture
    N   = ceil(2 (r + R tan(Theta/2)) / x)          rays along a side, x apart at the range R
    w_0 = 2 lambda / (pi Theta),  z_r = pi w_0^2 / lambda,  w(z) = w_0 sqrt(1 + (z / z_r)^2)

with the waist at the virtual focus, so that w = r at the aperture. Rays of a square have the shares
q ~ e^(-2 rho^2 / r^2). Those of a spiral lie at radii of equal power. Equal shares would put the
middle of 19 rays 3 % of r off the axis, and ranges at 60 deg of incidence with it; they are changed
by as little as gives the beam's middle, and its width in all directions.

Haze: of a metre of a medium with back-scatter beta and extinction alpha, R away, comes

    E (c/2) beta O(R) a b e^(-2 alpha R) / R^2,     O(R) = R^2 / (R^2 + (D / phi)^2)

with the diameter D of the receiver and its field of view phi.

Source: VANE, eq. 7-11; Theta is its full angle, which eq. 11 takes for a half one there.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.waveform import layout
from sensor_models.kernels.waveform.layout import Pulse
from sensor_models.light.media import SPEED_OF_LIGHT
from sensor_models.scene.model import Medium
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
#: Least share of a ray of a spiral, of an equal one.
LEAST_SHARE = 0.2
#: Least standard deviation of a pulse, in samples, for arrivals that three samples share: what the
#: spline leaves of it is to be half a sample at least.
LEAST_SPLINE = 0.75


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


def widest_gap(places: Floats) -> float:
    """The widest gap between neighbours among places seen along any line, m."""
    turns = np.arange(36) * (math.pi / 36)
    along = places @ np.stack([np.cos(turns), np.sin(turns)])
    return float(np.diff(np.sort(along, axis=0), axis=0).max(initial=0.0))


def balanced(places: Floats, radius: float) -> Floats:
    """Shares of the rays of a spiral that have the beam's moments of first and second order.

    They differ from equal ones by as little as possible in squares. Rays that are too few for that
    (a share would fall to less than a fifth of an equal one) keep equal shares.
    """
    count, x, y = len(places), *(places / radius).T
    equal = np.full(count, 1.0 / count)
    # Of e^(-2 rho^2 / r^2) within r, along each axis.
    width = 0.25 * (1.0 - 3.0 * math.exp(-2.0)) / (1.0 - math.exp(-2.0))
    moments = np.stack([np.ones(count), x, y, x * x, y * y, x * y])
    wanted = np.array([1.0, 0.0, 0.0, width, width, 0.0])
    change, *_ = np.linalg.lstsq(moments, wanted - moments @ equal, rcond=None)
    shares: Floats = equal + change
    kept = np.abs(moments @ shares - wanted).max() < 1e-9 and shares.min() >= LEAST_SHARE / count
    return shares if kept else equal


def subrays_of(own: WaveformParameters) -> tuple[Floats, Floats]:
    """Places of the rays in the aperture, and their shares of the power."""
    radius = own.aperture_radius
    if own.subray_pattern == SubrayPattern.spiral:
        places = rays_of_spiral(own.subrays, radius)
        return places, balanced(places, radius)
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


def sharing_of(own: WaveformParameters) -> int:
    """How the samples around an arrival share it."""
    if own.binning == Binning.nearest:
        return layout.ONE_SAMPLE
    if own.pulse_sigma < LEAST_SPLINE * own.t_res:
        return layout.TWO_SAMPLES
    return layout.THREE_SAMPLES


def shape_of(own: WaveformParameters) -> Floats:
    """The pulse over samples, less what the sharing of arrivals widens it by."""
    sigma = own.pulse_sigma / own.t_res
    if sharing_of(own) == layout.THREE_SAMPLES:
        sigma = math.sqrt(sigma * sigma - layout.SPLINE_VARIANCE)
    return gaussian_kernel(sigma)


def haze_of(
    own: WaveformParameters, medium: Medium, field_of_view: float, noise: float, wall: float
) -> Floats:
    """Power over samples that a medium around sends back of a pulse, as far as it matters.

    That is where it is above the power ``noise``, and above that of a ``wall``, in W from a metre
    away. The curve is taken at eight places a sample, so that its rise at the aperture is smooth.
    """
    beta = medium.absorption / medium.lidar_ratio
    if medium.backscatter is not None:
        duration = own.pulse_duration or own.t_res
        beta = 2.0 * medium.backscatter / (SPEED_OF_LIGHT * duration)
    shape, fine = shape_of(own), 8
    half = len(shape) // 2
    times = own.t_start + (np.arange(-half * fine, (own.samples + half) * fine) + 0.5) * (
        own.t_res / fine
    )
    way = 0.5 * SPEED_OF_LIGHT * times / medium.ior
    area = own.det_length * own.det_width
    blind = math.sqrt(4.0 * area / math.pi) / field_of_view
    with np.errstate(over="ignore"):
        each = np.exp(-2.0 * medium.absorption * way) / (way**2 + blind**2)
    energy = np.where(way > 0.0, each, 0.0).reshape(-1, fine).mean(axis=1)
    energy *= own.pulse_energy * own.det_response * own.gain * beta * area
    energy *= 0.5 * SPEED_OF_LIGHT * own.t_res / medium.ior
    power = np.convolve(energy, shape, "valid") / own.t_res
    inner = way.reshape(-1, fine)[half : half + own.samples].mean(axis=1)
    seen = np.nonzero((power > noise) & (power * inner**2 > wall))[0]
    return np.ascontiguousarray(power[: seen[-1] + 1] if len(seen) else power[:0])


def pack_pulse(own: WaveformParameters) -> Pulse:
    """The pulse as kernels take it."""
    places, share = subrays_of(own)
    focus = focal_distance(own.aperture_radius, own.divergence_full_angle)
    slope, shape = places / focus, shape_of(own)
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
        sharing=sharing_of(own),
        shape=shape,
        passed=np.cumsum(shape) - 0.5 * shape,
        haze=np.zeros(0),
    )
