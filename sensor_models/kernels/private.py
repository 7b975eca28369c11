"""All that kernels use of other packages without its being promised, in one place.

Nothing else in the package looks into Numba, llvmlite, CPython or NumPy. ``INTERFACES`` names each
use with its reason; for each of them ``tests/sensor_models/kernels/test_private.py`` has a test of
its name, so that a new version says which one it breaks. What FMUs carry was made by then, and
depends on the last four alone.

If one of the first four changes, kernels are called through Numba (``compiling``): slower to start,
with the same results.
"""

import ctypes
import gc
import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: The newest versions that the tests were run with; ``make test-lowest`` runs the oldest allowed.
RUN_WITH = {"numba": "0.68.1", "llvmlite": "0.50.0", "numpy": "2.4.6"}

#: What is used, and what for.
INTERFACES = {
    "stops": "Numba is stopped before it links, optimises and makes machine code of each function"
    " that a kernel calls",
    "modules": "the modules of a compiled function and of what it calls, the passes and the target"
    " machine, to emit an object file of all",
    "texts": "values in the text of an exception are Python's in Numba's code; they are left out",
    "places": "the path of each statement that raises is shortened: equal sources, equal libraries",
    "kernels_in_kernels": "`_numba_type_`, `get_call_template` and the typing context of a target:"
    " Numba takes a kernel or an intrinsic of ours for its own function, with any constants",
    "counting": "the option `_nrt` leaves out the counting of references to arrays",
    "results": "how a kernel returns: a status, the description of an exception, and arrays with a"
    " count of references before their memory (`NRT_MemInfo`)",
    "objects": "where CPython and NumPy keep the parts of a tuple, a number and an array",
}

# ---- objects -------------------------------------------------------------------------------------

# Words of 8 bytes (of 4 where it says so) from the start of an object, on 64-bit machines.
#: Its type; of a tuple its size, and the bytes before its items; of a float its value.
TYPE, TUPLE_SIZE, TUPLE_ITEMS, FLOAT_VALUE = 1, 2, tuple.__basicsize__, 2
#: Of an integer sign and number of digits, and the first digit (4); bits of a digit.
INTEGER_HEAD, INTEGER_DIGITS, DIGIT_BITS = 2, 6, 30
#: Of an array: memory, lengths, strides, description; dimensions (4) and flags (4).
ARRAY_DATA, ARRAY_LENGTHS, ARRAY_STRIDES, ARRAY_TYPE = 2, 4, 5, 7
ARRAY_DIMENSIONS, ARRAY_FLAGS = 6, 16

# ---- counting ------------------------------------------------------------------------------------

#: For functions that make no array and keep none (``options``).
NO_COUNTING = {"_nrt": False}

# ---- results -------------------------------------------------------------------------------------


def exception_at(place: int) -> BaseException:
    """The exception whose description by Numba a pointer at this place leads to."""
    address = ctypes.c_void_p.from_address(place).value or 0
    start = ctypes.c_void_p.from_address(address).value or 0
    size = ctypes.c_int32.from_address(address + 8).value
    kind, arguments, place = pickle.loads(ctypes.string_at(start, size))
    if not all(isinstance(value, (str, int, float)) for value in arguments or ()):
        arguments = (f"an array does not fit: {place}",)  # its text is not made, see UNWRAP
    error: BaseException = kind(*(arguments or ()))
    return error


def count_of(information: int) -> int:
    """How many arrays are in memory that a kernel has made."""
    return ctypes.c_size_t.from_address(information).value


def count_down(information: int) -> int:
    """Count one array less in memory that a kernel has made; returns how many are left."""
    count = ctypes.c_size_t.from_address(information)
    count.value -= 1
    return count.value


#: Memory of arrays and lists: Numba's header (count, destructor, its information, address, size,
#: external), and the items, aligned, behind it, or apart where they grow. Numba's code counts, and
#: calls ``NRT_MemInfo_call_dtor`` at 0.
RUNTIME = """
declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %small = icmp ult i64 %wide, 16
  %step = select i1 %small, i64 16, i64 %wide
  %room = add i64 %size, 48
  %total = add i64 %room, %step
  %block = call ptr @malloc(i64 %total)
  %missing = icmp eq ptr %block, null
  br i1 %missing, label %out, label %fill
fill:
  %start = ptrtoint ptr %block to i64
  %behind = add i64 %start, 47
  %beyond = add i64 %behind, %step
  %down = sub i64 0, %step
  %place = and i64 %beyond, %down
  %items = inttoptr i64 %place to ptr
  call void @sensor_fmus_header(ptr %block, ptr null, ptr null, ptr %items, i64 %size)
  br label %out
out:
  ret ptr %block
}

define ptr @NRT_MemInfo_alloc(i64 %size) {
  %block = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 16)
  ret ptr %block
}

define ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %destructor) {
  %items = call ptr @malloc(i64 %size)
  %block = call ptr @malloc(i64 48)
  call void @sensor_fmus_header(
    ptr %block, ptr @sensor_fmus_free, ptr %destructor, ptr %items, i64 %size)
  ret ptr %block
}

define ptr @NRT_MemInfo_varsize_realloc(ptr %block, i64 %size) {
  %data = getelementptr i8, ptr %block, i64 24
  %length = getelementptr i8, ptr %block, i64 32
  %before = load ptr, ptr %data
  %items = call ptr @realloc(ptr %before, i64 %size)
  store ptr %items, ptr %data
  store i64 %size, ptr %length
  ret ptr %items
}

define void @NRT_MemInfo_call_dtor(ptr %block) {
  %place = getelementptr i8, ptr %block, i64 8
  %destructor = load ptr, ptr %place
  %none = icmp eq ptr %destructor, null
  br i1 %none, label %out, label %destroy
destroy:
  %next = getelementptr i8, ptr %block, i64 16
  %information = load ptr, ptr %next
  %data = getelementptr i8, ptr %block, i64 24
  %items = load ptr, ptr %data
  %length = getelementptr i8, ptr %block, i64 32
  %size = load i64, ptr %length
  call void %destructor(ptr %items, i64 %size, ptr %information)
  br label %out
out:
  call void @free(ptr %block)
  ret void
}

define void @sensor_fmus_free(ptr %items, i64 %size, ptr %destructor) {
  %none = icmp eq ptr %destructor, null
  br i1 %none, label %out, label %destroy
destroy:
  call void %destructor(ptr %items, i64 %size, ptr null)
  br label %out
out:
  call void @free(ptr %items)
  ret void
}

define void @sensor_fmus_header(ptr %block, ptr %destructor, ptr %next, ptr %items, i64 %size) {
  store i64 1, ptr %block
  %first = getelementptr i8, ptr %block, i64 8
  store ptr %destructor, ptr %first
  %second = getelementptr i8, ptr %block, i64 16
  store ptr %next, ptr %second
  %third = getelementptr i8, ptr %block, i64 24
  store ptr %items, ptr %third
  %fourth = getelementptr i8, ptr %block, i64 32
  store i64 %size, ptr %fourth
  %fifth = getelementptr i8, ptr %block, i64 40
  store ptr null, ptr %fifth
  ret void
}
"""

#: Numba's code that counts down who uses an array was made for x86 before, with an intrinsic of it.
COUNT_DOWN = re.compile(r"^declare i8 @llvm\.x86\.atomic\.sub\.cc\.i64\(.*$", re.M)
COUNT_DOWN_ANYWHERE = """
define internal i8 @sensor_fmus_count_down(ptr %count, i64 %by, i32 %condition) {
  %before = atomicrmw sub ptr %count, i64 %by monotonic, align 8
  %last = icmp eq i64 %before, %by
  %answer = zext i1 %last to i8
  ret i8 %answer
}
"""


def counted_anywhere(text: str) -> str:
    """A module's text whose counting of users of arrays is for any processor."""
    text = COUNT_DOWN.sub(COUNT_DOWN_ANYWHERE, text)
    return text.replace("@llvm.x86.atomic.sub.cc.i64(", "@sensor_fmus_count_down(")


# ---- texts, modules, places ----------------------------------------------------------------------

#: Numba makes the values in an exception's text Python's here. They are left out instead.
UNWRAP = re.compile(
    r"^define [^@\n]*@(__excinfo_unwrap_args\w+)\((\w+)[^)]*\)[^{\n]*\{$.*?^\}$", re.M | re.S
)


def machine_of(compiled: Any) -> Any:
    """The target machine that Numba has compiled for."""
    return compiled.library.codegen._tm


def module_of(compiled: Any) -> Any:
    """The module of what Numba has compiled with all that it calls, not yet optimised.

    Its exceptions have no text that is made at run time.
    """
    from llvmlite import binding

    module = _whole(compiled.library)
    if not any(f.name.startswith("__excinfo_unwrap_args") for f in module.functions):
        return module
    stub = r"define \2 @\1(\2 %values) {\n  ret \2 null\n}"
    return binding.parse_assembly(UNWRAP.sub(stub, str(module)))


def without_places() -> None:
    """Leave out of machine code made from now on where on this machine its sources lie.

    It holds the places of all statements that raise; equal sources are to give equal libraries.
    """
    from numba.core.ir import Loc

    def shorten(loc: Any, name: str) -> None:
        known = re.match(r"(?:.*[\\/])?((?:sensor_models|numba)[\\/].*)", name)
        loc.__dict__["filename"] = known[1] if known else re.split(r"[\\/]", name)[-1]

    Loc.filename = property(lambda loc: loc.__dict__["filename"], shorten)


# ---- stops ---------------------------------------------------------------------------------------

#: Options of Numba's: nothing that calls a function from Python or from C.
NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


#: How a function is linked that others see.
VISIBLE = ("external", "weak_odr", "linkonce_odr")


def _not_executable(_context: Any, library: Any, known: Any, environment: Any) -> Any:
    """What stands for a function without machine code; a call of it would raise an error."""
    from numba import _dynfunc

    library._ensure_finalized()
    refuses = ctypes.cast(ctypes.pythonapi.PyErr_NoMemory, ctypes.c_void_p).value
    name = known.qualname
    return _dynfunc.make_function(known.lookup_module(), name, "", refuses, environment, (library,))


def _optimize_defined(library: Any, module: Any) -> None:
    """What Numba does, but not for the functions that a module only declares, which are most."""
    module.data_layout = library._codegen._data_layout
    for function in module.functions:
        if not function.is_declaration:
            passes, builder = library._codegen._function_pass_manager()
            passes.run(function, builder)


def _equal_options(compare: Any) -> Any:
    """What stands for the comparison of two sets of options: equal if the same ones are set."""
    return lambda one, two: one._values == getattr(two, "_values", None) or compare(one, two)


def _link_later(library: Any) -> None:
    """What stands for the completion of a function: nothing is linked to it, nor optimised.

    Numba does both with all that a function calls, directly or not, and for each function anew. For
    objects it is done once, for a kernel as a whole (``module_of``, ``optimise``); callers that
    Numba compiles by itself get the whole, too.
    """
    library._raise_if_finalized()
    library._finalized = True
    library._get_module_for_linking = lambda: _defined_as("linkonce_odr", _whole(library))


def _whole(library: Any) -> Any:
    """A copy of the module of a function, with all that it calls."""
    module = library._final_module.clone()
    for called in _called_by(library):
        # weak: LLVM would drop what is linked but once where nothing has called it so far
        module.link_in(_defined_as("weak_odr", called._final_module.clone()))
    return module


def _called_by(library: Any) -> list[Any]:
    """The libraries of what a function calls, and of what these call, each once."""
    found = {library: None}  # an ordered set
    left = [library]
    while left:
        new = [called for called in left.pop()._linking_libraries if called not in found]
        found.update(dict.fromkeys(new))
        left += new
    return list(found)[1:]


def _defined_as(linkage: str, module: Any) -> Any:
    """A module whose functions others may define as well."""
    for function in module.functions:
        if not function.is_declaration and function.linkage.name in VISIBLE:
            function.linkage = linkage
    return module


def optimise(compiled: Any, module: Any) -> None:
    """Optimise a module as Numba does: cheaply, then in full."""
    codegen = compiled.library._codegen
    cheap = {"loop_vectorize": codegen._loopvect, "slp_vectorize": False, "cost": "cheap"}
    for options in ({**cheap, "opt": codegen._opt_level}, {}):
        passes, builder = codegen._module_pass_manager(**options)
        passes.run(module, builder)


@contextmanager
def without_machine_code() -> Iterator[None]:
    """Have Numba compile as far as the modules of single functions, and no further.

    Machine code of each function that a kernel calls, and what calls that from Python, took more
    than a third of the time of compiling; to link and optimise each, a third of what was left. What
    is made inside is for object files and for kernels that call it, and cannot be called. Other
    threads compile before or after.

    Garbage is not collected meanwhile: looking for it among the many objects that Numba keeps took
    a seventh of the time. Sets of options are equal at once if the same ones are set: Numba reads
    each option of both, for every look-up of what it has compiled, a twentieth of the time.
    """
    from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary, JITCPUCodegen
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.cpu import CPUContext
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys
    from numba.core.targetconfig import TargetConfig

    stops = (
        (JITCPUCodegen, "_add_module", lambda _codegen, _module: None),
        (JITCodeLibrary, "_finalize_specific", lambda _library: None),
        (CPUContext, "get_executable", _not_executable),
        (CPUCodeLibrary, "_optimize_functions", _optimize_defined),
        (CPUCodeLibrary, "finalize", _link_later),
        (TargetConfig, "__eq__", _equal_options(TargetConfig.__eq__)),
    )
    with global_compiler_lock:
        rtsys.initialize(cpu_target.target_context)  # machine code that Numba needs itself
        usual = [(place, name, place.__dict__[name]) for place, name, _ in stops]
        for place, name, instead in stops:
            setattr(place, name, instead)
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()
            for place, name, function in usual:
                setattr(place, name, function)


# ---- kernels in kernels --------------------------------------------------------------------------


def type_of_function(made: Any) -> Any:
    """What Numba takes one of its functions for that another one calls."""
    return made._numba_type_


def once_for_constants(made: Any) -> Any:
    """One of Numba's functions, to which callers give integers that are constants as any others.

    For Numba each constant has a type of its own, and it would compile the function anew for each
    that a caller names. That took a quarter of the time of compiling, and the code was no faster:
    what is inlined knows its constants.
    """
    from numba.core import types

    usual = made.get_call_template

    def number(given: Any) -> Any:
        return given.literal_type if isinstance(given, types.IntegerLiteral) else given

    def template(given: Any, named: Any) -> Any:
        return usual(tuple(map(number, given)), {name: number(t) for name, t in named.items()})

    made.get_call_template = template
    return made


def type_of_intrinsic(function: Any) -> Any:
    """What Numba takes an intrinsic for, of a function that makes its code."""
    from numba.core.registry import cpu_target
    from numba.extending import intrinsic

    made = intrinsic(function)
    cpu_target.typing_context.refresh()  # so that it knows what was made just now
    return cpu_target.typing_context.resolve_value_type(made)
