r"""How much light a branch of a ray must have left for a detector to notice it.

An echo counts if its intensity I = W^2 rho A(2Q) (``kernels.lidar.echoes``) is at least that of the
threshold, I_0. Whatever a branch of weight W and reduced path Q meets further on, W does not grow,
A does not either, and rho is at most that of the strongest that the scene has, rho_0: of the glint
of a smooth surface that faces the ray, of retro-reflective sheeting, of a medium. So branches are
given up that have less than

    W_0 = sqrt(I_0 / (rho_0 A(2Q)))

without any echo being lost. With the spot w = 2 Q tan(theta) + E, a detector of radius R receives
at most (R / w)^2 of what is densest in it, wherever it is: A <= 2 R^2 / (w^2 (1 - e^-2)). So W_0 is
a straight line in Q, or more.

Glints, with their slopes s^2 and the reflectance R_0 at right angles (``kernels.light.surfaces``):

    f (n.l) <= R_0 / 4 pi s^2,    s^2 <= 1

Nothing is given up by this if beams are divided into rays, as their echoes are added before they
are compared, and by surfaces that are tables.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.light.beam import CLAMP, DETECTOR, EMITTER, SCALE, SPREAD
from sensor_models.kernels.light.fresnel import reflectance_at_normal
from sensor_models.kernels.light.media import BACKSCATTER, MEDIUM_IOR
from sensor_models.kernels.light.surfaces import (
    BASE,
    BASE_SLOPE,
    DIELECTRIC,
    EXTINCTION,
    IOR,
    KIND,
    LAMBERT,
    RETRO,
    SLOPE_SQUARED,
)
from sensor_models.lidar.parameters import LidarParameters, PathConvention

Floats = NDArray[np.float64]

#: Of the least weight, as strengths and weights are rounded.
MARGIN = 0.999


class Least(NamedTuple):
    """The least weight of a branch that is followed."""

    weight: float  # anywhere
    detected_from: float  # at the sensor
    detected_by: float  # and so much more for each m of its reduced path


def greatest_strength(surfaces: Floats, media: Floats, tables: Floats, cone: float) -> float:
    """The most that anything in a scene sends back, in 1/sr."""
    if len(tables):
        return math.inf
    indices = np.unique(media[:, MEDIUM_IOR]).tolist()
    found = float(media[:, BACKSCATTER].max(initial=0.0))
    for row in surfaces:
        matt = row[BASE] + max(row[BASE_SLOPE], 0.0)
        found = max(found, matt + row[RETRO] + _glint(row, indices, cone))
    return found


def _glint(row: Floats, indices: list[float], cone: float) -> float:
    """The most that the top layer of a surface sends back, from any of some media."""
    if row[KIND] == LAMBERT:
        return 0.0
    inside = indices if row[KIND] == DIELECTRIC else [row[IOR]]
    most = max(
        reflectance_at_normal(one, other, row[EXTINCTION]) for one in indices for other in inside
    )
    slope_squared = max(float(row[SLOPE_SQUARED]), cone)
    return float(most * max(1.0 / slope_squared, slope_squared) / (4.0 * math.pi))


def least_of(own: LidarParameters, beam: Floats, strength: float) -> Least:
    """The least weights of a lidar with a packed beam, where nothing sends back more than this."""
    if own.min_intensity == 0.0 or own.subrays > 1 or strength == 0.0:
        return Least(own.weight_cutoff, 0.0, 0.0)
    most, needed = 1.0 if beam[CLAMP] else SCALE, own.min_intensity / strength
    if own.path_convention != PathConvention.round_trip:
        return Least(max(own.weight_cutoff, MARGIN * needed / most), 0.0, 0.0)
    root = MARGIN * math.sqrt(needed)
    weight = max(own.weight_cutoff, root / math.sqrt(most))
    spread, emitter, detector = beam[SPREAD], beam[EMITTER], beam[DETECTOR]
    if detector == 0.0:
        return Least(weight, 0.0, 0.0)
    densest = root / (detector * math.sqrt(2.0 * SCALE))
    return Least(weight, float(densest * emitter), float(densest * 2.0 * spread))
