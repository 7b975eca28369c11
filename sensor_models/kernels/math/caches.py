"""What is told to the caches of the processor."""

from collections.abc import Callable
from typing import Any

from sensor_models.kernels.compiling import intrinsic


def _bringer(to_write: int) -> Callable[[int], None]:
    def bring(_context: Any, _address: Any) -> Any:
        from llvmlite import ir
        from numba import types

        def emit(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            called = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
            how = [ir.Constant(number, k) for k in (to_write, 3, 1)]  # into all caches, data
            builder.call(called, [builder.inttoptr(arguments[0], byte), *how])
            return target.get_dummy_value()

        return types.void(types.intp), emit

    bringer: Callable[[int], None] = intrinsic(bring)
    return bringer


#: Have the 64 bytes around an address brought into the caches, as they are read soon.
prefetch = _bringer(0)
#: The same, as they are written to soon: no other processor keeps them.
prefetch_to_write = _bringer(1)
