"""Drift, an error stage of all triaxial sensors.

Model and deviations: ``kernels.inertial.corruption`` (CORR). Codes and limits are in
``core.codes``, faults in ``core.faults``.
"""

from enum import IntEnum

from sensor_models.kernels.inertial import corruption as kernel


class DriftType(IntEnum):
    """Which slow error is added to a signal."""

    none = 0
    random_walk = 1
    gauss_markov = 2
    flicker = 3


class BoundMode(IntEnum):
    """How a drift is kept within its bounds."""

    truncated = kernel.TRUNCATED
    reflect = kernel.REFLECT
    pull = kernel.PULL
    clamp = kernel.CLAMP
