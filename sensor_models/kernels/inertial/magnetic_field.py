r"""Magnetic flux density in the world: a uniform field and dipoles.

    B(p) = B0 + sum over dipoles  mu0/(4 pi) (3 (m . n) n - m) / d^3

Symbols: B0 the uniform field, m the moment of a dipole, d and n distance and direction from it to
the point p. Source: AGX, section 4.5.

mu0/(4 pi) is 1e-7, as it was by definition until 2019 and as the acceptance rows have it; the
value measured since (CODATA 2022) is smaller by a relative 1.3e-10.
Not modelled: the extent of a magnet. At a dipole's own place the field is not finite.

A dipole is a row of six: position, moment.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple, dot, minus, plus, times, triple_at
from sensor_models.kernels.options import INLINE, PLAIN

Floats = NDArray[np.float64]

DIPOLE_SIZE = 6

MU0_4PI = 1e-7

FIELD_SIGNATURE = "UniTuple(float64, 3)(float64[::1], float64[:,::1], UniTuple(float64, 3))"


@njit(**INLINE, error_model="numpy")
def dipole_field(dipole: Floats, point: Triple) -> Triple:
    """The field of one dipole at a point of the world."""
    way = minus(point, triple_at(dipole, 0))
    moment = triple_at(dipole, 3)
    distance = math.sqrt(dot(way, way))
    direction = times(1.0 / distance, way)
    factor = MU0_4PI / (distance * distance * distance)
    field: Triple = times(factor, minus(times(3.0 * dot(moment, direction), direction), moment))
    return field


@njit(FIELD_SIGNATURE, **PLAIN)
def field_at(uniform: Floats, dipoles: Floats, point: Triple) -> Triple:
    """A uniform field and that of some dipoles, at a point of the world."""
    field: Triple = triple_at(uniform, 0)
    for i in range(dipoles.shape[0]):
        field = plus(field, dipole_field(dipoles[i], point))
    return field
