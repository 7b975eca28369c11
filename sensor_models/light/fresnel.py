"""Fresnel's and Snell's laws for arrays; equations and source: ``kernels.light.fresnel``.

Indices are of the medium that light comes from (``outside``, clear) and of the one it meets.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.kernels.light import fresnel as kernel

Floats = NDArray[np.float64]


class Split(NamedTuple):
    """Reflection and refraction of rays at an interface; NaN is the direction of no refraction."""

    reflectance: Floats
    reflected: Floats
    refracted: Floats


def reflectance(
    cosines: ArrayLike, ior: float, extinction: float = 0.0, outside: float = 1.0
) -> Floats:
    """Reflectance of unpolarised light at angles of incidence given by their cosines."""
    given = np.asarray(cosines, dtype=np.float64)
    result = np.empty(given.size)
    kernel.reflectance_of_each(outside, ior, extinction, given.ravel(), result)
    return result.reshape(given.shape)


def split(directions: ArrayLike, normals: ArrayLike, ior: float, outside: float = 1.0) -> Split:
    """Reflectance, reflected and refracted directions of rays that meet a clear interface.

    Args:
        directions: (n, 3), of unit length.
        normals: (n, 3), of unit length, on the side that the rays come from.
        ior: index of the medium that they meet.
        outside: index of the medium that they come from.
    """
    along, across = np.broadcast_arrays(*np.atleast_2d(directions, normals))
    rays = Split(np.empty(len(along)), np.empty(along.shape), np.empty(along.shape))
    kernel.split_each(
        np.ascontiguousarray(along, dtype=np.float64),
        np.ascontiguousarray(across, dtype=np.float64),
        outside,
        ior,
        *rays,
    )
    return rays
