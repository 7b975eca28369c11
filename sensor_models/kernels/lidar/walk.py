r"""Range walk: how far off a lidar's range is for the power and the width of an echo.

A table has the error in m, as a full-waveform lidar of the same pulse and receiver finds it
(``lidar.walk``), over

    x = log2(S / T)             the peak S that a target at right angles would have, over the
                                threshold T; S = P a I / R^2, with the pulse's peak power P, the
                                area a of the receiver and the intensity I in 1/sr
    y = log2(1 + u / s)         by how much the target's tilt widens the echo: u = w tan(alpha) / c
                                for a spot of radius w = R tan(theta) + E, over the s of a flat one

and is taken linearly in between, as it ends beyond.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.layout import Detector
from sensor_models.kernels.light.beam import EMITTER, SPREAD
from sensor_models.kernels.tracing.packets import ACCESS

#: Steps of the table in an octave of power and of width.
POWER_STEPS, WIDTH_STEPS = 4.0, 8.0
#: Tilts count up to this tangent.
STEEPEST = 100.0


@njit(**ACCESS)
def walked(detector: Detector, distance: float, intensity: float, cosine: float) -> float:
    """A range as the receiver finds it; ``cosine`` is that between beam and normal."""
    table = detector.walk
    powers, widths = table.shape
    if powers == 0 or not (intensity > 0.0 and distance > 0.0):
        return distance
    ratio = detector.walk_power * intensity / (distance * distance)
    tangent = math.sqrt(max(1.0 - cosine * cosine, 0.0)) / max(cosine, 1.0 / STEEPEST)
    spot = distance * detector.beam_shape[SPREAD] + detector.beam_shape[EMITTER]
    x = POWER_STEPS * math.log2(max(ratio, 1.0))
    y = WIDTH_STEPS * math.log2(1.0 + detector.walk_width * spot * tangent)
    x, y = min(x, powers - 1.0), min(y, widths - 1.0)
    i, j = min(int(x), powers - 2), min(int(y), widths - 2)
    u, v = x - i, y - j
    low = (1.0 - v) * table[i, j] + v * table[i, j + 1]
    high = (1.0 - v) * table[i + 1, j] + v * table[i + 1, j + 1]
    return float(max(distance + (1.0 - u) * low + u * high, 0.0))
