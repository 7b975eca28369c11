"""What a full-waveform lidar measures with, beside its scan pattern.

Names are those of VANE's twelve inputs and of section 31 of the physics; what it shares with
``Lidar`` is declared there. Angles of divergence are full ones here, as VANE has them.
"""

import dataclasses
import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sensor_models.core.quantities import (
    NO_LIMIT,
    ParameterError,
    boolean,
    check,
    choice,
    integer,
    real,
)
from sensor_models.kernels.waveform.layout import MOST_ECHOES
from sensor_models.lidar.parameters import (
    LidarParameters,
    OutputFrame,
    ReturnMode,
    ScanMode,
)
from sensor_models.light.media import SPEED_OF_LIGHT

#: Samples that a gate may have.
MOST_SAMPLES = 1 << 20
#: Full width at half maximum over standard deviation of a Gaussian.
FWHM = 2.0 * math.sqrt(2.0 * math.log(2.0))


def as_lidar(name: str) -> Any:
    """Declare a quantity as ``Lidar`` does."""
    (own,) = (field for field in dataclasses.fields(LidarParameters) if field.name == name)
    return dataclasses.field(default=own.default, metadata=own.metadata)


class RayWeight(IntEnum):
    """What the rays of a beam stand for."""

    power = 0
    irradiance = 1


class SubrayPattern(IntEnum):
    """How the rays of a beam are chosen."""

    spiral = 0
    grid = 1
    spacing = 2


class AirLight(IntEnum):
    """What the medium around sends back."""

    stochastic = 0
    single_scattering = 1


class SpadCorrection(IntEnum):
    """What becomes of the first photons that a spad counts."""

    none = 0
    coates = 1


class Binning(IntEnum):
    """How an arrival enters the histogram."""

    linear = 0
    nearest = 1


class ExtractionWay(IntEnum):
    """How echoes are found in a waveform."""

    peak = 0
    leading_edge = 1
    cfd = 2
    centroid = 3
    gaussian = 4


class ReceiverType(IntEnum):
    """Detectors."""

    ideal = 0
    apd = 1
    sipm = 2
    spad = 3


@dataclass(frozen=True)
class WaveformParameters:
    """Scan, pulse, beam, gate and extraction."""

    scan_mode: ScanMode = as_lidar("scan_mode")
    motion_slices: int = as_lidar("motion_slices")
    min_range: float = as_lidar("min_range")
    max_range: float = as_lidar("max_range")
    range_step: float = as_lidar("range_step")
    max_depth: int = as_lidar("max_depth")
    max_events: int = as_lidar("max_events")
    weight_cutoff: float = as_lidar("weight_cutoff")
    accept_half_angle: float = as_lidar("accept_half_angle")
    wavelength: float = as_lidar("wavelength")
    output_frame: OutputFrame = as_lidar("output_frame")
    motion_correction: bool = as_lidar("motion_correction")
    output_normals: bool = as_lidar("output_normals")
    peak_power: float = real(1.0, "W", "Peak power of a pulse", minimum=1e-12)
    aperture_radius: float = real(
        0.0125, "m", "Radius of the beam at the aperture, within which is 1 - 1/e2 of its power",
        minimum=1e-6, maximum=1.0,
    )  # fmt: skip
    divergence_full_angle: float = real(
        0.01, "rad", "Full angle of the beam, to 1/e2 of its intensity on the axis",
        minimum=0.0, maximum=0.5,
    )  # fmt: skip
    pulse_duration: float = real(
        5e-9, "s", "Full width at half maximum of the power of a pulse; 0 for an impulse that "
        "fills one sample", minimum=0.0, maximum=1e-3,
    )  # fmt: skip
    det_length: float = real(0.03, "m", "Length of the receiver", minimum=1e-6, maximum=10.0)
    det_width: float = real(0.03, "m", "Width of the receiver", minimum=1e-6, maximum=10.0)
    det_response: float = real(
        1.0, "1", "Response of the receiver at the wavelength", minimum=0.0, maximum=1.0
    )
    gain: float = real(1.0, "1", "Factor of all received power", minimum=1e-12)
    t_start: float = real(
        0.0, "s", "Start of the gate, after the peak of the pulse was sent; below 0 before it, for "
        "the rise of near echoes", minimum=-1e-3,
    )  # fmt: skip
    t_stop: float = real(1e-6, "s", "End of the gate", minimum=1e-12, maximum=1e-2)
    t_res: float = real(0.5e-9, "s", "Time between two samples", minimum=1e-13, maximum=1e-3)
    binning: Binning = choice(
        Binning.linear,
        "An arrival is shared by the samples around it, so that its time is kept, or goes to its "
        "bin",
    )
    ray_weight: RayWeight = choice(
        RayWeight.power,
        "Rays keep their power, or lose it with the irradiance as the beam widens: the reading "
        "of the source, which counts the spreading twice for a target that fills the beam",
    )
    subray_pattern: SubrayPattern = choice(
        SubrayPattern.spiral,
        "Rays of a beam: subrays on a spiral, of shares that give the beam's middle and width; a "
        "square of subray_side, cut by the aperture; the same by target_spacing at the end of the "
        "range",
        name="beam.pattern",
    )
    subrays: int = integer(
        19, "Rays of a beam, if they lie on a spiral", minimum=1, maximum=100_000,
        name="beam.subrays",
    )  # fmt: skip
    subray_side: int = integer(
        51, "Rays along a side of the square around the aperture", minimum=1, maximum=1000,
        name="beam.side",
    )  # fmt: skip
    target_spacing: float = real(
        0.05, "m", "Greatest distance between neighbouring rays at target_range", minimum=1e-4,
        name="beam.target_spacing",
    )  # fmt: skip
    target_range: float = real(
        80.0, "m", "Range that target_spacing is meant for", minimum=1e-3, name="beam.target_range"
    )
    air_light: AirLight = choice(
        AirLight.single_scattering,
        "What the medium around sends back: what the lidar equation gives of all of the way, or an "
        "echo now and then, from a distance by a gamma law, as of Lidar",
        name="ambient.waveform",
    )
    spad_correction: SpadCorrection = choice(
        SpadCorrection.coates,
        "Waveforms of a spad: Coates' inverse of the first photons, or their histogram itself",
        name="spad.correction",
    )
    extraction: ExtractionWay = choice(ExtractionWay.gaussian, "How echoes are found")
    threshold: float = real(
        5.0, "1", "Least signal of an echo, in standard deviations of the noise", minimum=1e-9
    )
    threshold_absolute: float = real(
        0.0, "W", "Least signal of an echo; the greater one of both counts", minimum=0.0
    )
    leading_edge_fraction: float = real(
        0.5, "1", "Share of the peak that a leading edge is taken at; 0 for the threshold, with "
        "its range walk", minimum=0.0, maximum=0.99, name="leading_edge.fraction",
    )  # fmt: skip
    cfd_fraction: float = real(
        0.5, "1", "Fraction of the constant-fraction discriminator", minimum=0.01, maximum=0.99,
        name="cfd.fraction",
    )  # fmt: skip
    cfd_delay: float = real(
        0.0, "s", "Delay of the discriminator; 0 for the width of an echo at half its height",
        minimum=0.0, name="cfd.delay",
    )  # fmt: skip
    max_echoes: int = integer(
        8, "Echoes of a pulse that are reported", minimum=1, maximum=MOST_ECHOES
    )
    least_width: float = real(
        0.5, "1", "Least width of a fitted echo, as a share of a flat target's",
        minimum=0.0, maximum=1.0,
    )  # fmt: skip

    def __post_init__(self) -> None:
        check(self)
        if not self.min_range < self.max_range:
            raise ParameterError(
                f"min_range = {self.min_range} m must be less than max_range = {self.max_range} m"
            )
        if not self.t_start < self.t_stop:
            raise ParameterError(
                f"t_start = {self.t_start} s must be less than t_stop = {self.t_stop} s"
            )
        if self.samples > MOST_SAMPLES:
            raise ParameterError(
                f"t_res = {self.t_res} s makes {self.samples} samples of the gate, at most "
                f"{MOST_SAMPLES} are allowed"
            )

    @property
    def samples(self) -> int:
        """Samples of the gate."""
        return max(math.ceil((self.t_stop - self.t_start) / self.t_res - 1e-9), 1)

    @property
    def pulse_sigma(self) -> float:
        """Standard deviation of the pulse, s."""
        return self.pulse_duration / FWHM

    @property
    def pulse_energy(self) -> float:
        """Energy of a pulse of this peak power, J."""
        if self.pulse_duration == 0.0:
            return self.peak_power * self.t_res
        return self.peak_power * self.pulse_sigma * math.sqrt(2.0 * math.pi)

    @property
    def reach(self) -> float:
        """Range at which the gate ends or that is the greatest one allowed, m."""
        return min(self.max_range, 0.5 * SPEED_OF_LIGHT * self.t_stop, NO_LIMIT)

    def as_lidar(self) -> LidarParameters:
        """What of it a ``Lidar`` has."""
        names = {field.name for field in dataclasses.fields(LidarParameters)}
        own: dict[str, Any] = {n: v for n, v in vars(self).items() if n in names - {"subrays"}}
        own["max_range"] = max(self.reach, self.min_range + 1e-9)
        own |= {"return_mode": ReturnMode.all, "max_returns": self.max_echoes}
        return LidarParameters(**own, pulse_length=self.pulse_duration)


@dataclass(frozen=True)
class ReceiverParameters:
    """The detector and its optics."""

    type: ReceiverType = choice(
        ReceiverType.ideal, "Detector: the optical power itself, or what makes a signal of it"
    )
    noise: bool = boolean(True, "Whether the detector is noisy; its mean signal if it is not")
    efficiency: float = real(0.8, "1", "Quantum efficiency of an apd", minimum=1e-6, maximum=1.0)
    gain: float = real(100.0, "1", "Gain of an apd, or of each cell of a sipm", minimum=1.0)
    k: float = real(
        0.02, "1", "Ratio of ionisation of an apd, for its excess noise", minimum=0.0, maximum=1.0
    )
    filter_sigma: float = real(
        1e-9, "s", "Standard deviation of the Gaussian filter behind apd and sipm", minimum=0.0,
        maximum=1e-3,
    )  # fmt: skip
    dark_current: float = real(1e-9, "A", "Dark current of an apd before its gain", minimum=0.0)
    dark_counts: float = real(1e6, "Hz", "Rate of dark counts of a sipm or spad", minimum=0.0)
    noise_current: float = real(
        2e-12, "A/sqrt(Hz)", "Noise of the amplifier behind apd and sipm", minimum=0.0
    )
    band: float = real(30e-9, "m", "Optical band that background light comes through", minimum=0.0)
    field_of_view: float = real(
        0.0, "rad", "Full angle of view; 0 for the divergence", minimum=0.0, maximum=3.0
    )
    transmission: float = real(
        0.8, "1", "Share of the light that comes through the optics; an ideal receiver has none",
        minimum=1e-6, maximum=1.0,
    )  # fmt: skip
    cells: int = integer(1000, "Cells of a sipm", minimum=1)
    pde: float = real(
        0.2, "1", "Probability that a sipm or spad detects a photon", minimum=1e-6, maximum=1.0
    )
    recovery_time: float = real(
        20e-9, "s", "Time in which a cell of a sipm fires once", minimum=0.0, maximum=1e-3
    )
    shots: int = integer(1000, "Shots that a spad counts the first photons of", minimum=1)
    dead_time: float = real(
        0.0, "s", "Time after an echo's rise in which no other one is noticed", minimum=0.0
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class AdcParameters:
    """The converter behind apd and sipm."""

    impedance: float = real(1e4, "V/A", "Transimpedance before it", minimum=1e-12)
    bits: int = integer(0, "Bits; 0 for no converter", minimum=0, maximum=16)
    full_scale: float = real(1.0, "V", "Signal of the largest number", minimum=1e-12)

    def __post_init__(self) -> None:
        check(self)
