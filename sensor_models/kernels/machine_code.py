"""Machine code of kernels: made by Numba once, loaded without it ever after.

Numba takes 0.2 s to be imported and as much again for its first kernel, so what it has compiled is
kept as an object file of its own (``MachineCode``), or in a library with others (``carried``), with
one function that is called alike for all kernels (``Entry``):

    int32_t call(void *result, void **error, const int64_t *words)

It reads the arguments from words of 8 bytes (``values``) and calls the kernel by Numba's
convention: 0, or the number of an exception, whose description ``error`` points to then. A kernel
that C calls has a function with its own arguments, too.

LLVM alone loads an object (``load``), which calls nothing but the C library and Embree.
``object_files`` makes it.
"""

import ctypes
import re
import sys
import threading
from dataclasses import dataclass, fields
from typing import Any

from sensor_models.kernels import private
from sensor_models.kernels.values import Kind, Result, Words

#: Functions of the C library that kernels may call, or that LLVM makes of what they do.
C_LIBRARY = re.findall(
    r"\w+",
    """
    acos acosf acosh asin asinf asinh atan atan2 atan2f atanf atanh cbrt ceil ceilf copysign
    copysignf cos cosf cosh erf erfc exp exp2 exp2f expf expm1 fabs fabsf floor floorf fma fmaf
    fmax fmaxf fmin fminf fmod fmodf frexp hypot hypotf ldexp lgamma log log10 log1p log2 log2f
    logf nearbyint nearbyintf nextafter pow powf rint rintf round roundf sin sincos sinf sinh sqrt
    sqrtf tan tanf tanh tgamma trunc truncf free malloc memcmp memcpy memmove memset realloc
    """,
)

#: Numba's names for functions of the C library.
ALIASES = {"numba_nextafter": "nextafter", "NRT_Allocate": "malloc", "NRT_Free": "free"}

#: Addresses of other functions that modules of kernels make known: those of Embree.
SYMBOLS: dict[str, int] = {}

_lock = threading.RLock()


@dataclass(frozen=True)
class Entry:
    """What has to be known of a compiled kernel to call it."""

    #: Name of the function that takes words, and of the one for C ("" if there is none).
    name: str
    c_name: str
    arguments: tuple[Kind, ...]
    result: Kind
    #: Whether it gives up Python's lock.
    nogil: bool
    #: Names of the functions that it calls.
    needs: tuple[str, ...]


@dataclass(frozen=True)
class MachineCode(Entry):
    """A kernel as an object file."""

    object_file: bytes


def to_json(entry: Entry) -> dict[str, Any]:
    """What is known of a kernel, for JSON."""
    return {field.name: getattr(entry, field.name) for field in fields(Entry)}


def from_json(known: dict[str, Any]) -> dict[str, Any]:
    """The fields of an entry; JSON has no tuples."""
    return {name: as_tuples(value) for name, value in known.items()}


def as_tuples(value: Any) -> Any:
    """A value with tuples for its lists, and for those in them."""
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


# ---- calling -------------------------------------------------------------------------------------


def _release(information: int) -> None:
    """Give back the memory of an array that a kernel has made, unless it has other views."""
    if information and private.count_down(information) == 0:
        _free(information)


class Call:
    """A loaded kernel, called with Python's values."""

    def __init__(self, code: Entry, address: int, c_address: int) -> None:
        kind = ctypes.CFUNCTYPE if code.nogil else ctypes.PYFUNCTYPE
        pointer = ctypes.c_void_p
        self._function = kind(ctypes.c_int32, pointer, pointer, pointer)(address)
        self._words = Words(code.arguments)
        result = Result(code.result, _release)
        #: What reads the result out of memory, and how many bytes it is.
        self.read, self.size = result.read, result.size
        self._memory = ctypes.c_char * result.size
        self.arguments, self.nogil, self.address = code.arguments, code.nogil, address
        #: Address of the function for C, 0 if there is none.
        self.c_address = c_address

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """Call it; its exceptions are raised."""
        return self.run(self._words(arguments))

    def run(self, words: Any) -> Any:
        """Call it with the words of its arguments."""
        result, error = self._memory(), ctypes.c_void_p()
        if self._function(result, ctypes.byref(error), words) > 0:
            raise private.exception_at(ctypes.addressof(error))
        return self.read(result)


def _c_functions() -> dict[str, Any]:
    """The functions of the C library by name, as far as there are such."""
    by_platform: dict[str, tuple[str | None, ...]] = {
        "linux": ("libm.so.6", "libc.so.6", None),
        "win32": ("ucrtbase", "msvcrt"),
    }
    names = by_platform.get(sys.platform, (None,))
    found: dict[str, Any] = {}
    for name in names:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        for function in C_LIBRARY:
            if function not in found and hasattr(library, function):
                found[function] = getattr(library, function)
    return found


_functions = _c_functions()
_free = _functions["free"]
_free.argtypes, _free.restype = [ctypes.c_void_p], None


def make_known(name: str, function: Any) -> None:
    """Let kernels call a function of ctypes by a name."""
    SYMBOLS[name] = ctypes.cast(function, ctypes.c_void_p).value or 0


def tell_llvm() -> None:
    """Make the functions that are known now known to LLVM, for Numba when it compiles."""
    from llvmlite import binding

    for name, address in SYMBOLS.items():
        binding.add_symbol(name, address)


def address_of(name: str) -> int | None:
    """Where a function is that kernels call, None if it is none of those that they may."""
    if name in SYMBOLS:
        return SYMBOLS[name]
    function = _functions.get(ALIASES.get(name, name))
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


# ---- loading -------------------------------------------------------------------------------------


class _Engine:
    """LLVM's loader, with all objects that were loaded."""

    def __init__(self) -> None:
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        for name in C_LIBRARY:  # LLVM may call one that the kernel does not name
            if (address := address_of(name)) is not None:
                binding.add_symbol(name, address)
        self._add_symbol = binding.add_symbol
        target = binding.Target.from_default_triple()
        machine = target.create_target_machine(jit=True, codemodel="jitdefault")
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        self._read = binding.ObjectFileRef.from_data

    def load(self, code: MachineCode) -> tuple[int, int]:
        """The addresses of both functions."""
        for name in code.needs:  # what LLVM does not find it takes to be at 0
            address = address_of(name)
            if address is None:
                raise ImportError(f"{code.name} needs {name}, which nobody has made known")
            self._add_symbol(name, address)
        self._engine.add_object_file(self._read(code.object_file))
        self._engine.finalize_object()
        address = self._engine.get_function_address(code.name)
        return address, self._engine.get_function_address(code.c_name) if code.c_name else 0


_engine: _Engine | None = None


def load(code: MachineCode) -> Call:
    """Make a kernel callable."""
    global _engine  # noqa: PLW0603 - there is one, made when it is needed
    with _lock:
        if _engine is None:
            _engine = _Engine()
        return Call(code, *_engine.load(code))
