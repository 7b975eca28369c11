"""The step of readings that are whole multiples of one, and what rounding to it adds to noise."""

import numpy as np

from sensor_models.tools.fitting.estimates import Floats

#: How far from a multiple a value may be, in steps: values were rounded when they were written.
SLACK = 0.1
#: Samples that are looked at, and how often values must repeat on average.
LOOKED_AT, REPEATS = 1 << 18, 1.2
#: Differences this much smaller than the largest value are rounding of floats.
ROUNDING = 1e-9


def step_of(values: Floats, repeats: float = REPEATS) -> float:
    """The step between values, 0 if they are on no grid or repeat less often than they must."""
    some = values[np.isfinite(values)][:LOOKED_AT]
    levels = np.unique(some)
    if len(levels) < 2:
        return 0.0
    apart = np.diff(levels)
    real = apart > ROUNDING * max(float(np.abs(levels).max()), float(levels[-1] - levels[0]))
    levels = levels[np.concatenate(([True], real))]
    if len(levels) < 3 or len(some) < repeats * len(levels):
        return 0.0
    step = float(np.median(np.diff(levels)[np.diff(levels) < 1.5 * np.diff(levels).min()]))
    for _ in range(3):
        codes = np.rint((levels - levels[0]) / step)
        step = float(codes @ (levels - levels[0]) / (codes @ codes))
    off = np.abs((levels - levels[0]) / step - np.rint((levels - levels[0]) / step))
    return step if float(off.max()) < SLACK else 0.0
