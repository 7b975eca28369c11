"""Memory by its address, for kernels that share it with a C library or between threads.

Nothing is checked: an address must come from memory that something else keeps alive. ``index``
counts items of the type, not bytes.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

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


def _viewer(item: Any, dimensions: int) -> Callable[..., Any]:
    """A function of an address and as many lengths as the array has dimensions."""
    array_type = types.Array(item, dimensions, "C")

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        address, *shape = arguments
        view = context.make_array(array_type)(context, builder)
        size = context.get_abi_sizeof(context.get_value_type(item))
        width = context.get_constant(types.intp, size)
        strides = [width]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        pointer = builder.inttoptr(address, view.data.type)
        populate_array(
            view, data=pointer, shape=shape, strides=strides, itemsize=width, meminfo=None
        )
        return view._getvalue()

    signature = array_type(*[types.intp] * (1 + dimensions))

    def vector(_context: Any, _address: Any, _size: Any) -> Any:
        return signature, emit

    def matrix(_context: Any, _address: Any, _rows: Any, _columns: Any) -> Any:
        return signature, emit

    def block(_context: Any, _address: Any, _blocks: Any, _rows: Any, _columns: Any) -> Any:
        return signature, emit

    viewer: Callable[..., Any] = intrinsic((vector, matrix, block)[dimensions - 1])
    return viewer


#: Arrays of some length, of rows, or of blocks of rows, over memory whose users nobody counts.
float64s_at = _viewer(types.float64, 1)
float64_rows_at = _viewer(types.float64, 2)
float64_blocks_at = _viewer(types.float64, 3)
int64s_at = _viewer(types.int64, 1)
int32s_at = _viewer(types.int32, 1)
uint64s_at = _viewer(types.uint64, 1)
uint64_blocks_at = _viewer(types.uint64, 3)
