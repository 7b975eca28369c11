"""What is told to the caches of the processor."""

from typing import Any

from sensor_models.kernels.compiling import intrinsic


@intrinsic
def prefetch(_context: Any, _address: Any) -> Any:
    """Have the 64 bytes around an address brought into the caches, as they are read soon."""
    from llvmlite import ir
    from numba import types

    def emit(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        bring = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        how = [ir.Constant(number, k) for k in (0, 3, 1)]  # to read, into all caches, data
        builder.call(bring, [builder.inttoptr(arguments[0], byte), *how])
        return target.get_dummy_value()

    return types.void(types.intp), emit
