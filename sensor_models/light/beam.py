"""The beam of a lidar as the kernels take it; equations and source: ``kernels.light.beam``."""

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import boolean, check, choice, real
from sensor_models.kernels.light import beam as kernel

Floats = NDArray[np.float64]


class BeamMode(IntEnum):
    """How the share of the beam that meets the detector is computed."""

    closed_form = 0
    exact = 1


@dataclass(frozen=True)
class BeamParameters:
    """A beam and its detector."""

    mode: BeamMode = choice(
        BeamMode.closed_form,
        "Formula of the share that is received; the closed one is too small near a detector "
        "beside the beam",
    )
    divergence_half_angle: float = real(
        1.5e-3,
        "rad",
        "Angle between the axis and where 1/e2 of its intensity is left; datasheets tend to state "
        "the double",
        minimum=0.0,
        maximum=0.1,
    )
    detector_radius: float = real(0.01, "m", "Radius of the detector", minimum=1e-9)
    detector_offset: float = real(
        0.0, "m", "Distance of the centre of the detector from the axis of the beam", minimum=0.0
    )
    emitter_radius: float = real(0.0, "m", "Radius of the beam where it starts", minimum=0.0)
    clamp: bool = boolean(
        True, "Whether the beam factor of a detector that is wider than the emitter stops at 1"
    )

    def __post_init__(self) -> None:
        check(self)


def pack_beam(parameters: BeamParameters) -> Floats:
    """The parameters as the kernels take them."""
    packed = np.zeros(kernel.BEAM_SIZE)
    packed[kernel.SPREAD] = math.tan(parameters.divergence_half_angle)
    packed[kernel.EMITTER] = parameters.emitter_radius
    packed[kernel.DETECTOR] = parameters.detector_radius
    packed[kernel.OFFSET] = parameters.detector_offset
    packed[kernel.EXACT] = parameters.mode == BeamMode.exact
    packed[kernel.CLAMP] = parameters.clamp
    return packed


def beam_factor(parameters: BeamParameters, paths: ArrayLike) -> Floats:
    """The beam factor after reduced paths in m, there and back."""
    given = np.asarray(paths, dtype=np.float64)
    result = np.empty(given.size)
    kernel.beam_factor_of_each(pack_beam(parameters), given.ravel(), result)
    return result.reshape(given.shape)
