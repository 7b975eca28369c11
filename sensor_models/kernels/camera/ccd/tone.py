r"""From what a chip has counted to the numbers of a picture.

    b  = min(g (n - n0), 1)     g: gains of the white balance, over the range of n
    c  = M b
    DN = floor(largest T(c) + 1/2),   c clipped to [0, 1]

T is c^γ, or the curve of sRGB: 12.92 c up to 0.0031308, else 1.055 c^(1/2.4) - 0.055. Bands end at
1 before they are mixed, so what saturates them all is white.

Source: PHYSICS-2, 36; IEC 61966-2-1.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.rays import claim

Floats = NDArray[np.float64]

POWER, SRGB = 0, 1
#: Pixels that a thread claims at once.
CHUNK = 4096
#: Parts of full scale, evenly spread over its root, most of which have one number throughout: the
#: curve is looked up there, as a power takes as long as all else. What rounding may move over the
#: end of a part, as a share; and what stands for a part whose number changes.
PARTS, SLACK, CHANGES = 4096, 1e-12, -1


class Tone(NamedTuple):
    """What becomes of the numbers of a chip."""

    gains: Floats  # (channels,): g
    matrix: Floats  # (channels, channels)
    black: float  # n0
    curve: int  # ``POWER`` or ``SRGB``
    gamma: float  # exponent of ``POWER``
    largest: float  # digital number


@njit(**ACCESS)
def toned(tone: Tone, share: float) -> float:
    """A share of full scale as a digital number."""
    q = min(max(share, 0.0), 1.0)
    if tone.curve == SRGB:
        q = 12.92 * q if q <= 0.0031308 else 1.055 * q ** (1.0 / 2.4) - 0.055
    elif tone.gamma != 1.0:
        q = q**tone.gamma
    return float(math.floor(tone.largest * q + 0.5))


@njit(**ACCESS)
def tabulate(tone: Tone, known: NDArray[np.int32]) -> None:
    """Write the number of each part of full scale, or ``CHANGES``."""
    for part in range(PARTS + 1):
        least, most = (part / PARTS) ** 2, ((part + 1) / PARTS) ** 2
        first, last = toned(tone, least * (1.0 - SLACK)), toned(tone, most * (1.0 + SLACK))
        known[part] = int(first) if first == last else CHANGES


@njit(**ACCESS)
def number_of(tone: Tone, known: NDArray[np.int32], share: float) -> np.uint16:
    """As ``toned``, by the parts that are known, if any are."""
    if len(known) > 0:
        found = known[int(math.sqrt(min(max(share, 0.0), 1.0)) * PARTS)]
        if found != CHANGES:
            return np.uint16(found)
    return np.uint16(toned(tone, share))


@njit(nogil=True, cache=True, error_model="numpy")
def grade(
    claims: NDArray[np.int64],
    tone: Tone,
    counted: NDArray[np.float32],
    numbers: NDArray[np.uint16],
) -> None:
    """The numbers of all pixels, (pixels, channels)."""
    channels = counted.shape[1]
    # So that small pictures do not wait for a table that they hardly need.
    known = np.empty(PARTS + 1 if counted.size > 4 * PARTS else 0, np.int32)
    if len(known) > 0:
        tabulate(tone, known)
    first = claim(claims) * CHUNK
    while first < len(counted):
        for pixel in range(first, min(first + CHUNK, len(counted))):
            for channel in range(channels):
                total = 0.0
                for other in range(channels):
                    above = tone.gains[other] * (np.float64(counted[pixel, other]) - tone.black)
                    total += tone.matrix[channel, other] * min(above, 1.0)
                numbers[pixel, channel] = number_of(tone, known, total)
        first = claim(claims) * CHUNK
