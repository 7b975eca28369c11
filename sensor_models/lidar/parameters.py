"""What a lidar measures with, beside its scan pattern (``lidar.patterns``) and its beam.

Names are those of AGX where it has the quantity; its defaults mean "no error". Not part of AGX:
merge window, returns but the strongest, detection probability, calibrated intensities, steps of
the range. Crosstalk between sensors is not modelled.
"""

import math
from dataclasses import dataclass
from enum import IntEnum

from sensor_models.core.quantities import (
    NO_LIMIT,
    ParameterError,
    boolean,
    check,
    choice,
    integer,
    real,
)
from sensor_models.kernels.light.branches import MOST_DEPTH, MOST_EVENTS
from sensor_models.light.beam import BeamParameters
from sensor_models.light.media import DEFAULT_PULSE_LENGTH, SPEED_OF_LIGHT

#: Stands for "as the scene has it" among the numbers of the medium.
OF_SCENE = -1.0
#: Acceptance half-angle of a detector of which nothing is known.
LEAST_ACCEPTANCE = 1e-3
#: Returns that a ray may have; formats of files count no further.
MOST_RETURNS = 15


#: Reflectance of the largest count: with 8 bits, a count is 1 %, and signs have room above 100.
FULL_REFLECTIVITY = 2.55


class ScanMode(IntEnum):
    """When the rays of a frame are sent."""

    instant = 0
    rolling = 1


class ReturnMode(IntEnum):
    """Which returns of a ray are reported."""

    strongest = 0
    first = 1
    last = 2
    dual = 3
    all = 4


class PathConvention(IntEnum):
    """Which way counts for the intensity."""

    round_trip = 0
    one_way = 1


class IntensityKind(IntEnum):
    """The quantity that an intensity stands for."""

    raw = 0
    reflectivity = 1


class OutputFrame(IntEnum):
    """The frame that points are in."""

    sensor = 0
    world = 1


@dataclass(frozen=True)
class LidarParameters:
    """Scan, detection and output."""

    scan_mode: ScanMode = choice(
        ScanMode.instant,
        "Send all rays of a frame at once, or each at its own time while the sensor moves",
    )
    motion_slices: int = integer(
        32,
        "Parts of a rolling frame at whose ends the movable bodies of the scene are interpolated; "
        "each ray sees them at its own time, blended between the two ends around it",
        minimum=1,
        maximum=10_000,
    )
    min_range: float = real(0.0, "m", "Least range of a return", minimum=0.0)
    max_range: float = real(
        NO_LIMIT, "m", "Greatest range of a return; 1e300 for no limit", minimum=0.0
    )
    range_resolution: float = real(
        0.0, "m", "Echoes of one ray closer than this become one; 0 for never", minimum=0.0
    )
    range_step: float = real(
        0.0, "m", "Step that reported ranges are rounded to; 0 for none", minimum=0.0
    )
    return_mode: ReturnMode = choice(ReturnMode.strongest, "Which returns of a ray are reported")
    max_returns: int = integer(
        8, "Returns of a ray that are reported if all are", minimum=1, maximum=MOST_RETURNS
    )
    max_depth: int = integer(
        4,
        "Reflections and refractions that a ray is followed through",
        minimum=0,
        maximum=MOST_DEPTH,
    )
    max_events: int = integer(
        32,
        "Boundaries of media that a ray is followed through",
        minimum=1,
        maximum=MOST_EVENTS - 1,
    )
    weight_cutoff: float = real(
        1e-4, "1", "Share of the light below which a branch is given up", minimum=0.0, maximum=1.0
    )
    min_intensity: float = real(
        0.0, "1/sr", "Detection threshold: raw intensity of the weakest echo", minimum=0.0
    )
    detection_probability: float = real(
        1.0,
        "1",
        "Probability that an echo above the threshold is detected",
        minimum=0.0,
        maximum=1.0,
    )
    accept_half_angle: float = real(
        0.0,
        "rad",
        "Half-angle of the cone in which the detector accepts light; 0 for the beam's divergence, "
        "at least 1 mrad",
        minimum=0.0,
        maximum=0.1,
    )
    path_convention: PathConvention = choice(
        PathConvention.round_trip, "Whether losses count there and back, or on the way there only"
    )
    wavelength: float = real(905e-9, "m", "Wavelength", minimum=1e-9, maximum=1e-3)
    pulse_length: float = real(
        DEFAULT_PULSE_LENGTH,
        "s",
        "Length of a pulse: how much of a medium answers at a time",
        minimum=0.0,
        maximum=1e-3,
    )
    beam_on: bool = boolean(
        False, "Let the intensity fall with range as the beam widens", name="beam.on"
    )
    subrays: int = integer(
        1,
        "Rays that a beam is divided into, spread over its cross-section; with more than one, "
        "an edge may be hit by a part of the beam",
        minimum=1,
        maximum=1000,
        name="beam.subrays",
    )
    intensity_kind: IntensityKind = choice(
        IntensityKind.raw,
        "Raw intensity in 1/sr, or the reflectance of a plate that would return as much",
        name="intensity.kind",
    )
    intensity_bits: int = integer(
        0,
        "Bits of the counts that intensities are reported in; 0 for numbers of their own unit",
        minimum=0,
        maximum=16,
        name="intensity.bits",
    )
    intensity_full_scale: float = real(
        0.0,
        "1",
        "Intensity of the largest count: 0 for 1/pi 1/sr (a white plate), or for a reflectance of "
        "2.55 (then 8 bits count percents)",
        minimum=0.0,
        name="intensity.full_scale",
    )
    output_frame: OutputFrame = choice(
        OutputFrame.sensor, "Frame of the points: the sensor's at the time of each, or the world's"
    )
    motion_correction: bool = boolean(
        False,
        "Points in the frame that the sensor had at the start of the sweep, its motion taken out; "
        "without effect in the world frame",
    )
    output_normals: bool = boolean(False, "Write the normals of what was hit, toward the sensor")

    def __post_init__(self) -> None:
        check(self)
        if not self.min_range < self.max_range:
            raise ParameterError(
                f"min_range = {self.min_range} m must be less than max_range = {self.max_range} m"
            )

    @property
    def returns(self) -> int:
        """Room for the returns of a ray."""
        return {ReturnMode.dual: 2, ReturnMode.all: self.max_returns}.get(self.return_mode, 1)

    @property
    def merge_window(self) -> float:
        """Echoes closer than this are one: also those of a divided beam within half a pulse."""
        if self.subrays == 1:
            return self.range_resolution
        return max(self.range_resolution, 0.5 * SPEED_OF_LIGHT * self.pulse_length)

    @property
    def full_scale(self) -> float:
        """Intensity of the largest count."""
        if self.intensity_full_scale > 0.0:
            return self.intensity_full_scale
        if self.intensity_kind == IntensityKind.raw:
            return 1.0 / math.pi
        return FULL_REFLECTIVITY

    @property
    def largest_count(self) -> int:
        """The largest count of an intensity, 0 where it is no count."""
        return int(2**self.intensity_bits) - 1

    @property
    def normalised_full_scale(self) -> float:
        """Intensity of the largest count where formats have 16 bits.

        Counts of b bits become counts of 16 by a factor of 2^(16 - b), as LAS demands.
        """
        if self.intensity_bits:
            return (2**16 - 1) * 2.0 ** (self.intensity_bits - 16)
        return self.full_scale

    def acceptance(self, beam: BeamParameters) -> float:
        """Half-angle of the cone in which the detector accepts light."""
        return self.accept_half_angle or max(beam.divergence_half_angle, LEAST_ACCEPTANCE)


@dataclass(frozen=True)
class LidarNoiseParameters:
    """Errors of ranges and angles."""

    distance_sigma_base: float = real(
        0.0,
        "m",
        "Standard deviation of ranges near the sensor",
        minimum=0.0,
        name="noise.distance_sigma_base",
    )
    distance_sigma_slope: float = real(
        0.0,
        "1",
        "Growth of the standard deviation of ranges with the range",
        minimum=0.0,
        name="noise.distance_sigma_slope",
    )
    azimuth_sigma: float = real(
        0.0,
        "rad",
        "Standard deviation between the true and the reported azimuth of a ray",
        minimum=0.0,
        name="noise.azimuth_sigma",
    )
    elevation_sigma: float = real(
        0.0,
        "rad",
        "Standard deviation between the true and the reported elevation of a ray",
        minimum=0.0,
        name="noise.elevation_sigma",
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class AmbientParameters:
    """The medium that fills the world, where it shall be another one than the scene's."""

    absorption: float = real(
        OF_SCENE,
        "1/m",
        "Extinction of the medium around; -1 for the scene's",
        minimum=OF_SCENE,
        name="ambient.absorption",
    )
    return_shape: float = real(
        OF_SCENE,
        "1",
        "Shape of the gamma law of distances that the medium answers from; -1 for the scene's",
        minimum=OF_SCENE,
        name="ambient.return_shape",
    )
    return_scale: float = real(
        OF_SCENE,
        "m",
        "Scale of the gamma law; -1 for the scene's",
        minimum=OF_SCENE,
        name="ambient.return_scale",
    )
    return_probability: float = real(
        OF_SCENE,
        "1",
        "Share of the rays that the medium answers; -1 for the scene's",
        minimum=OF_SCENE,
        maximum=1.0,
        name="ambient.return_probability",
    )

    def __post_init__(self) -> None:
        check(self)
        for name, value in vars(self).items():
            if OF_SCENE < value < 0.0:
                raise ParameterError(
                    f"ambient.{name} = {value} is out of range, allowed is at least 0, or -1 for "
                    "the scene's"
                )
