"""Codes and limits of a scalar signal, the last stages of all sensors that have them.

Model: ``kernels.inertial.corruption`` (CORR).
"""

from enum import IntEnum
from typing import Any, NamedTuple

from sensor_models.core.quantities import NO_LIMIT, ParameterError, choice, integer
from sensor_models.kernels.inertial import corruption as kernel


class RoundingMode(IntEnum):
    """Which code a value between two codes becomes."""

    toward_zero = kernel.TOWARD_ZERO
    floor = kernel.FLOOR
    ceil = kernel.CEIL
    round = kernel.ROUND


def rounding_mode() -> Any:
    """Declare which code a value between two codes becomes."""
    return choice(
        RoundingMode.toward_zero,
        "Which code a value between two codes becomes; round takes halves away from 0",
        name="discretization.mode",
    )


def bits_of_codes() -> Any:
    """Declare the number of bits of a code."""
    return integer(
        0,
        "Number of bits of a code, instead of a step: 2^bits codes from saturation.min to "
        "saturation.max; 0 for none",
        minimum=0,
        maximum=32,
        name="discretization.bits",
    )


class Grid(NamedTuple):
    """Where codes lie: at ``anchor`` and all multiples of ``step`` from there; 0 for none."""

    step: float
    anchor: float = 0.0


NO_GRID = Grid(0.0)


def bits_without_limits(bits: int, name: str) -> ParameterError:
    """The error of a signal that has no limits to spread bits between."""
    return ParameterError(
        f"discretization.bits = {bits} needs saturation.min.{name} and saturation.max.{name},"
        " allowed is 0 without them"
    )


def grid_of_bits(lower: float, upper: float, bits: int) -> Grid:
    """The 2^bits codes from a lower to an upper limit, the limits included."""
    if not (bits >= 1 and -NO_LIMIT < lower <= upper < NO_LIMIT):
        raise ParameterError(
            f"{bits} bits between {lower} and {upper} make no codes, "
            "allowed are 1 bit or more and two finite limits in order"
        )
    return Grid((upper - lower) / (2**bits - 1), lower)


def legal_limits(
    lower: float, upper: float, grid: Grid, names: tuple[str, str]
) -> tuple[float, float]:
    """The outermost codes within two limits, so that what is limited is a code.

    ``names`` are those of the limits, for messages.
    """
    # both are rounded whatever they are, so that an FMU that is built without limits carries what
    # one with limits calls
    lowest = kernel.round_to_code(float(lower), grid.step, grid.anchor, kernel.CEIL)
    highest = kernel.round_to_code(float(upper), grid.step, grid.anchor, kernel.FLOOR)
    lowest = lowest if lower > -NO_LIMIT else lower
    highest = highest if upper < NO_LIMIT else upper
    if not lowest <= highest:
        raise ParameterError(
            f"{names[0]} = {lower} and {names[1]} = {upper} have no code between them, "
            f"allowed are limits with a code, which come every {grid.step}"
        )
    return lowest, highest
