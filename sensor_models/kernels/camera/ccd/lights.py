r"""The light of a scene for cameras: spectra at some wavelengths, and what materials do to them.

All spectra are sampled at the same wavelengths, n of them. A scene is lit by a sun far away, by a
sky of one radiance above the horizon and by a ground of one radiance below it, where no surface is
in the way.

For a surface of reflectance C with the geometry of the base layer (``kernels.light.surfaces``)

    f_d = (a C + q C² + B C s/t) / π

with a, q and B, the columns of ``orders``, from its roughness alone.

Of the radiance ``sky``, a way up to the height whose sine is h has the share 1 - t^(1/h), with the
transmittance t of the air above, ``clearness``: all of it in the visible, where t counts as 0, and
at thermal wavelengths what the air on that way sends by itself (``light.thermal``).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.textures import Textures
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.packets import ACCESS

Floats = NDArray[np.float64]

#: Columns of ``Light.orders``.
CONSTANT, SQUARE, SLOPE = range(3)
#: Sine of the height below which the way through the air grows no longer.
LEAST_HEIGHT = 1e-3
#: The least that counts of the share of light from around, so that some rays are always sent.
LEAST_SHARE = 0.2


class Light(NamedTuple):
    """Sun, sky and materials of a scene."""

    toward_sun: Floats  # (3,), unit vector
    is_sunny: bool  # there is light of a sun
    disc_cosine: float  # of the sun's half angle
    sun: Floats  # (n,), W/m2/m on what faces it
    disc: Floats  # (n,), W/m2/sr/m, the sun itself
    sky: Floats  # (n,), W/m2/sr/m
    ground: Floats  # (n,), W/m2/sr/m, what lies below the horizon
    base: Floats  # (materials, n): C
    top: Floats  # (materials, n): colour of what the top layer mirrors
    clear: Floats  # (materials, n): share that an interface lets through, besides Fresnel's
    sunlit: Floats  # (materials, n): radiance of a bounce, facing the sun
    bounce: Floats  # (materials, n): R', what a surface sends back of all light
    emission: Floats  # (materials, n), W/m2/sr/m, besides that of pictures
    lamps: Floats  # (materials, n), W/m2/sr/m: the mean over its faces, with pictures
    has_emission: NDArray[np.bool_]  # (materials,): it is a lamp
    surfaces: Floats  # (materials, SURFACE_SIZE): how coats and bases reflect what points get
    cones: Floats  # (materials,): tan² of the half cone whose mirrored light is a branch; 0: none
    clearness: float  # t
    mean_share: float  # of ``sky``, over all of it by the cosine law
    contrast: float  # irradiance of the sun over that of the whole sky (``of_around``)
    closed: float  # share of ``ground`` that comes from what hides the sky where light bounces
    orders: Floats  # (materials, 3): CONSTANT, SQUARE and SLOPE
    clear_mean: Floats  # (materials,): mean of ``clear``
    has_glass: bool  # any material is clear
    is_clear: NDArray[np.int32]  # (materials,): 1 for those
    rays: int  # sent to sky and surroundings from each point that is seen
    looks_up: bool  # a ray says whether the sky is open where light bounces
    key: NDArray[np.uint64]  # of the draws of these rays
    frame: int  # number of the frame, for draws
    textures: Textures


@njit(**ACCESS)
def of_around(light: Light, cosine: float, left: float) -> float:
    """About which share of the light of a matt point comes from around, not from the sun.

    A point faces the sun with a cosine, of whose light something is left. ``LEAST_SHARE`` at least.
    """
    share = 1.0 / (1.0 + light.contrast * left * max(cosine, 0.0))
    return float(max(share, LEAST_SHARE))


@njit(**ACCESS)
def sky_share(light: Light, height: float) -> float:
    """The share of the sky's radiance that a way up to a height, given by its sine, has."""
    if light.clearness == 0.0:
        return 1.0
    return float(1.0 - light.clearness ** (1.0 / max(height, LEAST_HEIGHT)))
