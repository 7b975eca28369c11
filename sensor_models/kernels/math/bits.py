"""The bits of a float64, compiled."""

from typing import Any

from sensor_models.kernels.compiling import intrinsic


@intrinsic
def word_of(_context: Any, _number: Any) -> Any:
    """The bits of a float64."""
    from llvmlite import ir
    from numba import types

    def emit(_target: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], ir.IntType(64))

    return types.uint64(types.float64), emit


@intrinsic
def number_of(_context: Any, _word: Any) -> Any:
    """The float64 of some bits."""
    from llvmlite import ir
    from numba import types

    def emit(_target: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], ir.DoubleType())

    return types.float64(types.uint64), emit
