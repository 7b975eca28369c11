r"""Photon transfer after EMVA 1288: noise over signal, from pairs of pictures.

In a part of the picture that is lit evenly, each exposure gives two pictures. With their mean μ in
digital numbers above the black level, and the variance σ² = mean((a - b)²)/2 between the two, which
holds no pattern of the pixels (EMVA 1288, release 4.0, section 7.2),

    σ² = σ_dark² + K μ,     K in DN/e-

The slope below 70 % of the saturation is K; the saturation is where σ² is largest.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fmus.tools.validation.methods.outcome import Outcome, Run

#: Pixels of the square in the middle that is evaluated.
SIDE = 160
#: Part of the saturation up to which the slope is fitted.
LINEAR = 0.7


def photon_transfer(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """Photon transfer; ``at`` is the exposure in s, that of the first run is the dark one.

    ``gain``, DN/e-; ``dark_noise`` and ``full_well``, e-; ``snr``, the largest signal to noise
    ratio, dB; ``dynamic_range``, dB, with the noise of the steps in it; ``black``, the mean of the
    dark pictures. The curve ``variance`` is over the mean.
    """
    black = float(options["black"])
    means, variances = [], []
    for run in runs:
        pair = [_middle(frame) for frame in run.frames(".picture.npy")][:2]
        if len(pair) < 2:
            raise ValueError(f"an exposure of {run.at:g} s has fewer than two pictures")
        means.append(float(np.mean(pair)))
        variances.append(float(np.mean((pair[0] - pair[1]) ** 2) / 2.0))
    mean, variance = np.array(means) - black, np.array(variances)
    top = int(np.argmax(variance))
    used = np.flatnonzero((mean <= LINEAR * mean[top]) & (np.arange(len(mean)) > 0))
    if len(used) < 3:
        raise ValueError("fewer than three exposures are below 70 % of the saturation")
    slope = float(np.polyfit(mean[used], variance[used] - variance[0], 1, w=1.0 / mean[used])[0])
    full_well, dark = float(mean[top] / slope), float(np.sqrt(variance[0]) / slope)
    order = np.argsort(mean)
    return Outcome(
        {
            "gain": slope,
            "dark_noise": dark,
            "full_well": full_well,
            "snr": 10.0 * float(np.log10(full_well)),
            "dynamic_range": 20.0 * float(np.log10(full_well / dark)),
            "black": float(mean[0] + black),
        },
        {"variance": (mean[order], variance[order])},
        axis="mean / DN",
    )


def _middle(frame: Any) -> Any:
    """The middle of a picture of one band."""
    picture = np.asarray(frame, float)
    height, width = picture.shape[0], picture.shape[1]
    picture = picture.reshape(height, width)
    row, column = max(height // 2 - SIDE // 2, 0), max(width // 2 - SIDE // 2, 0)
    return picture[row : row + SIDE, column : column + SIDE]
