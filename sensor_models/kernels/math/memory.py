"""Memory by its address, for kernels that share it with a C library or between threads.

Nothing is checked: an address must come from memory that something else keeps alive. ``index``
counts items of the type, not bytes.
"""

from collections.abc import Callable
from typing import Any

from sensor_models.kernels.compiling import intrinsic

#: Alignments in bytes that are relied on.
_ALIGNMENTS = {"uint16": 2, "int32": 4, "int64": 4, "float32": 4}


def _place(target: Any, builder: Any, item: Any, address: Any, index: Any) -> Any:
    """Pointer to an item; Numba keeps numbers in memory as LLVM has them."""
    start = builder.inttoptr(address, target.get_data_type(item).as_pointer())
    return builder.gep(start, [index])


def _reader(name: str) -> Callable[..., Any]:
    def read(_context: Any, _address: Any, _index: Any) -> Any:
        from numba import types

        item = getattr(types, name)

        def emit(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            place = _place(target, builder, item, *arguments)
            return builder.load(place, align=_ALIGNMENTS[name])

        return item(types.intp, types.intp), emit

    reader: Callable[..., Any] = intrinsic(read)
    return reader


def _writer(name: str) -> Callable[..., Any]:
    def write(_context: Any, _address: Any, _index: Any, _value: Any) -> Any:
        from numba import types

        item = getattr(types, name)

        def emit(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            address, index, value = arguments
            place = _place(target, builder, item, address, index)
            builder.store(value, place, align=_ALIGNMENTS[name])
            return target.get_dummy_value()

        return types.void(types.intp, types.intp, item), emit

    writer: Callable[..., Any] = intrinsic(write)
    return writer


@intrinsic
def move_bytes(_context: Any, _to: Any, _from: Any, _count: Any) -> Any:
    """Copy bytes from one address to another; both stretches may overlap."""
    from llvmlite import ir
    from numba import types

    def emit(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        byte, size = ir.IntType(8).as_pointer(), ir.IntType(64)
        to, source, count = arguments
        places = [builder.inttoptr(address, byte) for address in (to, source)]
        move = builder.module.declare_intrinsic("llvm.memmove", [byte, byte, size])
        builder.call(move, [*places, count, ir.Constant(ir.IntType(1), 0)])
        return target.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp), emit


uint16_at = _reader("uint16")
int32_at = _reader("int32")
int64_at = _reader("int64")
float32_at = _reader("float32")
put_int32 = _writer("int32")
put_int64 = _writer("int64")
put_float32 = _writer("float32")


@intrinsic
def claim_at(_context: Any, _address: Any) -> Any:
    """Add one to a 64-bit counter that threads share; returns what it was."""
    from llvmlite import ir
    from numba import types

    def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        counter = builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(64)))
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", counter, one, "monotonic")

    return types.int64(types.intp), emit


@intrinsic
def call_kernel_at(_context: Any, _kernel: Any, _result: Any, _error: Any, _words: Any) -> Any:
    """Call the kernel at an address, as ``kernels.machine_code`` says; returns its status."""
    from llvmlite import ir
    from numba import types

    def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.IntType(32), [byte] * 3).as_pointer()
        kernel, *places = arguments
        given = [builder.inttoptr(place, byte) for place in places]
        return builder.call(builder.inttoptr(kernel, function), given)

    return types.int32(types.intp, types.intp, types.intp, types.intp), emit


def _viewer(name: str, dimensions: int) -> Callable[..., Any]:
    """A function of an address and as many lengths as the array has dimensions."""

    def view() -> Any:
        from numba import types

        array_type = types.Array(getattr(types, name), dimensions, "C")
        return array_type(*[types.intp] * (1 + dimensions)), _emit_view

    def vector(_context: Any, _address: Any, _size: Any) -> Any:
        return view()

    def matrix(_context: Any, _address: Any, _rows: Any, _columns: Any) -> Any:
        return view()

    def block(_context: Any, _address: Any, _blocks: Any, _rows: Any, _columns: Any) -> Any:
        return view()

    viewer: Callable[..., Any] = intrinsic((vector, matrix, block)[dimensions - 1])
    return viewer


def _emit_view(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """An array over memory."""
    from numba import types
    from numba.np.arrayobj import populate_array

    address, *shape = arguments
    array_type = signature.return_type
    view = context.make_array(array_type)(context, builder)
    size = context.get_abi_sizeof(context.get_value_type(array_type.dtype))
    width = context.get_constant(types.intp, size)
    strides = [width]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    pointer = builder.inttoptr(address, view.data.type)
    populate_array(view, data=pointer, shape=shape, strides=strides, itemsize=width, meminfo=None)
    return view._getvalue()


#: Arrays of some length, of rows, or of blocks of rows, over memory whose users nobody counts.
float64s_at = _viewer("float64", 1)
float64_rows_at = _viewer("float64", 2)
float64_blocks_at = _viewer("float64", 3)
int64s_at = _viewer("int64", 1)
int32s_at = _viewer("int32", 1)
uint64s_at = _viewer("uint64", 1)
uint64_blocks_at = _viewer("uint64", 3)
