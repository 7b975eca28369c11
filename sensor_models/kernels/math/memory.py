"""Memory by its address, for kernels that share it with a C library or between threads.

Nothing is checked: an address must come from memory that something else keeps alive. ``index``
counts items of the type, not bytes.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

#: Types, with the alignment in bytes that is relied on.
_ITEMS = {
    types.uint16: (ir.IntType(16), 2),
    types.int32: (ir.IntType(32), 4),
    types.int64: (ir.IntType(64), 4),
    types.float32: (ir.FloatType(), 4),
}


def _place(builder: Any, item: Any, address: Any, index: Any) -> Any:
    start = builder.inttoptr(address, ir.PointerType(_ITEMS[item][0]))
    return builder.gep(start, [index])


def _reader(item: Any) -> Callable[..., Any]:
    def read(_context: Any, _address: Any, _index: Any) -> Any:
        def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.load(_place(builder, item, *arguments), align=_ITEMS[item][1])

        return item(types.intp, types.intp), emit

    reader: Callable[..., Any] = intrinsic(read)
    return reader


def _writer(item: Any) -> Callable[..., Any]:
    def write(_context: Any, _address: Any, _index: Any, _value: Any) -> Any:
        def emit(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            address, index, value = arguments
            builder.store(value, _place(builder, item, address, index), align=_ITEMS[item][1])
            return target.get_dummy_value()

        return types.void(types.intp, types.intp, item), emit

    writer: Callable[..., Any] = intrinsic(write)
    return writer


uint16_at = _reader(types.uint16)
int32_at = _reader(types.int32)
int64_at = _reader(types.int64)
float32_at = _reader(types.float32)
put_int32 = _writer(types.int32)
put_int64 = _writer(types.int64)
put_float32 = _writer(types.float32)


@intrinsic
def claim_at(_context: Any, _address: Any) -> Any:
    """Add one to a 64-bit counter that threads share; returns what it was."""

    def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        counter = builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(64)))
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", counter, one, "monotonic")

    return types.int64(types.intp), emit
