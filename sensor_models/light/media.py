r"""Media of a scene as the kernels take them, and where their numbers come from.

Equations and source of attenuation and echoes: ``kernels.light.media``. The extinction of weather
is worked out where a scene is read (``scene.weather``). Extensions:

    back-scatter     b = α c τ / 2S       pulse length τ, lidar ratio S; what the stretch of medium
                                          sends back that one pulse lights at a time
    absorption       α = 4π k/λ           of a clear solid or liquid of extinction k

Lidar ratio 18.8 sr: water droplets.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import ParameterError, Quantity
from sensor_models.kernels.light import media as kernel
from sensor_models.scene.model import Medium

Floats = NDArray[np.float64]

SPEED_OF_LIGHT = 299_792_458.0

DEFAULT_PULSE_LENGTH = 5e-9
DEFAULT_LIDAR_RATIO = 18.8


def _range(name: str, unit: str, minimum: float, maximum: float = math.inf) -> Quantity:
    return Quantity("real", name, "", None, unit, minimum, maximum)


RANGES = (
    _range("absorption", "1/m", 0.0),
    _range("return_shape", "1", 1e-3, 1e5),
    _range("return_scale", "m", 1e-9),
    _range("return_probability", "1", 0.0, 1.0),
    _range("ior", "1", 1.0, 1e3),
    _range("backscatter", "1/sr", 0.0),
)


def check_medium(medium: Medium) -> None:
    """Refuse a medium that cannot be; ``ParameterError`` says why."""
    for quantity in RANGES:
        value = getattr(medium, quantity.name)
        refusal = None if value is None else quantity.refusal(quantity.name, value)
        if refusal is not None:
            raise ParameterError(f"medium {medium.name}: {refusal}")


def backscatter(
    absorption: float,
    pulse_length: float = DEFAULT_PULSE_LENGTH,
    lidar_ratio: float = DEFAULT_LIDAR_RATIO,
) -> float:
    """The back-scatter strength in 1/sr of a medium of some extinction."""
    return absorption * SPEED_OF_LIGHT * pulse_length / (2.0 * lidar_ratio)


def pack_media(media: Sequence[Medium], pulse_length: float = DEFAULT_PULSE_LENGTH) -> Floats:
    """The kernels' table of media, a row for each.

    Args:
        media: of the scene.
        pulse_length: of the lidar, in s; for media that do not say their back-scatter strength.
    """
    table = np.zeros((len(media), kernel.MEDIUM_SIZE))
    for row, medium in zip(table, media, strict=True):
        check_medium(medium)
        row[kernel.ABSORPTION] = medium.absorption
        row[kernel.RETURN_SHAPE] = medium.return_shape
        row[kernel.RETURN_SCALE] = medium.return_scale
        row[kernel.RETURN_PROBABILITY] = medium.return_probability
        row[kernel.MEDIUM_IOR] = medium.ior
        row[kernel.BACKSCATTER] = (
            backscatter(medium.absorption, pulse_length, medium.lidar_ratio)
            if medium.backscatter is None
            else medium.backscatter
        )
    return table


def absorption_by_extinction(extinction: float, wavelength: float) -> float:
    """Absorption in 1/m of a clear solid or liquid by the imaginary part of its index."""
    return 4.0 * math.pi * extinction / wavelength


def echo_distances(medium: Medium, draws: ArrayLike) -> Floats:
    """Distances from the entry to the echo for uniform draws of (0, 1); infinite for none."""
    given = np.asarray(draws, dtype=np.float64)
    result = np.empty(given.size)
    kernel.echo_distance_of_each(pack_media([medium]), given.ravel(), result)
    return result.reshape(given.shape)


def echo_probability(medium: Medium, lengths: ArrayLike) -> Floats:
    """The probability of an echo within a way of some length, in m."""
    given = np.asarray(lengths, dtype=np.float64)
    result = np.empty(given.size)
    kernel.echo_probability_of_each(pack_media([medium]), given.ravel(), result)
    return result.reshape(given.shape)


def echo_density(medium: Medium, distances: ArrayLike) -> Floats:
    """The density of the distances of echoes, in 1/m."""
    given = np.asarray(distances, dtype=np.float64)
    result = np.empty(given.size)
    kernel.echo_density_of_each(pack_media([medium]), given.ravel(), result)
    return result.reshape(given.shape)
