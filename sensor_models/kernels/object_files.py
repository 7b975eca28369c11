"""Object files of kernels, made of what Numba has compiled (``machine_code`` says what is in one).

From Numba's module all that the kernel does not need is dropped, and with it every reference to
Python. What is left calls the C library, Embree, and functions for the memory of arrays and lists,
which are added here. An object that would call anything else is not made (``UnsuitableError``):
such a kernel is called through Numba.

Numba itself stops before machine code (``without_machine_code``): that of each function which a
kernel calls, and what calls it from Python, took more than a third of the time of compiling.

Numba's convention of calls, and its modules of compiled functions, are private to it; its version
is bounded in pyproject.toml.
"""

import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from sensor_models._levels import ARM_LINUX
from sensor_models.kernels.machine_code import MachineCode, address_of
from sensor_models.kernels.values import PLAIN, Kind, class_at, place_of

#: FMI's names of the platforms that libraries are made for, and what LLVM calls these.
TRIPLES = {
    "linux64": "x86_64-unknown-linux-gnu",
    "win64": "x86_64-pc-windows-gnu",
    ARM_LINUX: "aarch64-unknown-linux-gnu",
}

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

#: Numba makes the values in an exception's text Python's here. They are left out instead.
UNWRAP = re.compile(
    r"^define [^@\n]*@(__excinfo_unwrap_args\w+)\((\w+)[^)]*\)[^{\n]*\{$.*?^\}$", re.M | re.S
)


#: Numba's code that counts down who uses an array was made for x86 before, with an intrinsic of it.
COUNT_DOWN = re.compile(r"^declare i8 @llvm\.x86\.atomic\.sub\.cc\.i64\(.*$", re.M)
COUNT_DOWN_OF_ARM = """
define internal i8 @sensor_fmus_count_down(ptr %count, i64 %by, i32 %condition) {
  %before = atomicrmw sub ptr %count, i64 %by monotonic, align 8
  %last = icmp eq i64 %before, %by
  %answer = zext i1 %last to i8
  ret i8 %answer
}
"""

#: Options of Numba's: nothing that calls a function from Python or from C.
NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class UnsuitableError(RuntimeError):
    """A compiled kernel that cannot be an object of its own."""


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


@contextmanager
def without_machine_code() -> Iterator[None]:
    """Have Numba compile as far as LLVM's optimised modules, and no further.

    What it makes inside is for ``make`` and for kernels that call it, and cannot be called. Other
    threads compile before or after.
    """
    from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary, JITCPUCodegen
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.cpu import CPUContext
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    stops = (
        (JITCPUCodegen, "_add_module", lambda _codegen, _module: None),
        (JITCodeLibrary, "_finalize_specific", lambda _library: None),
        (CPUContext, "get_executable", _not_executable),
        (CPUCodeLibrary, "_optimize_functions", _optimize_defined),
    )
    with global_compiler_lock:
        rtsys.initialize(cpu_target.target_context)  # machine code that Numba needs itself
        usual = [(place, name, place.__dict__[name]) for place, name, _ in stops]
        for place, name, instead in stops:
            setattr(place, name, instead)
        try:
            yield
        finally:
            for place, name, function in usual:
                setattr(place, name, function)


def make(
    name: str,
    compiled: Any,
    arguments: tuple[Kind, ...],
    nogil: bool,
    for_c: bool,
    platforms: Sequence[str] = (),
) -> tuple[MachineCode, dict[str, MachineCode]]:
    """The object of a kernel that Numba has compiled, and those for libraries by platform.

    Args:
        name: of its function; one that no other object has.
        compiled: what Numba's dispatcher has for one signature.
        arguments: their kinds.
        nogil: whether it gives up Python's lock.
        for_c: whether C calls it, too.
        platforms: those that objects for libraries are made for (``TRIPLES``).
    """
    from llvmlite import binding

    if not hasattr(binding, "create_new_module_pass_manager"):
        raise UnsuitableError("this LLVM has other passes")
    machine, entry = compiled.library.codegen._tm, compiled.fndesc.llvm_func_name
    module = _without_python(compiled.library._final_module)
    _keep_only(module, (entry,), machine)
    c_name = f"{name}_c" if for_c else ""
    module.link_in(binding.parse_assembly(_wrappers(module.get_function(entry), name, c_name)))
    module.link_in(binding.parse_assembly(_needed_runtime(module)))
    _keep_only(module, (name, c_name), machine)
    needs = tuple(sorted({f.name for f in module.functions if _is_elsewhere(f)}))
    if missing := [function for function in needs if address_of(function) is None]:
        raise UnsuitableError(f"{name} calls {', '.join(missing)}")
    result = kind_of_type(compiled.signature.return_type)
    known = (name, c_name, arguments, result, nogil, needs)
    own = tuple(filter(None, (name, c_name)))
    others = {p: MachineCode(*known, _for_library(module, own, p)) for p in platforms}
    return MachineCode(*known, machine.emit_object(module)), others


def without_places() -> None:
    """Leave out of machine code made from now on where on this machine its sources lie.

    It holds the places of all statements that raise; equal sources are to give equal libraries.
    """
    from numba.core.ir import Loc

    def shorten(loc: Any, name: str) -> None:
        known = re.match(r"(?:.*[\\/])?((?:sensor_models|numba)[\\/].*)", name)
        loc.__dict__["filename"] = known[1] if known else re.split(r"[\\/]", name)[-1]

    Loc.filename = property(lambda loc: loc.__dict__["filename"], shorten)


def _for_library(module: Any, names: tuple[str, ...], platform: str) -> bytes:
    """The object of a module that a library of a platform, with functions by name, is linked of.

    What Numba has optimised for this process is for the same instructions elsewhere, too: types
    and alignments of x86-64 are those of all platforms. For ARM other instructions are chosen.
    """
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(TRIPLES[platform])
    is_arm = platform == ARM_LINUX
    machine = target.create_target_machine(
        cpu="generic" if is_arm else os.environ["NUMBA_CPU_NAME"],
        features="" if is_arm else os.environ["NUMBA_CPU_FEATURES"],
        opt=3,
        reloc="pic",
        codemodel="default",
    )
    copy = _for_arm(module) if is_arm else binding.parse_bitcode(module.as_bitcode())
    copy.triple, copy.data_layout = TRIPLES[platform], str(machine.target_data)
    if platform == "win64":
        for name in names:
            copy.get_function(name).storage_class = "dllexport"
    content: bytes = machine.emit_object(copy)
    return content


def _for_arm(module: Any) -> Any:
    """A copy of a module that has nothing of x86 in it; LLVM would end the process otherwise."""
    from llvmlite import binding

    text = COUNT_DOWN.sub(COUNT_DOWN_OF_ARM, str(module))
    text = text.replace("@llvm.x86.atomic.sub.cc.i64(", "@sensor_fmus_count_down(")
    if found := re.findall(r"@llvm\.x86\.[\w.]+", text):
        raise UnsuitableError(f"{', '.join(sorted(set(found)))} is for x86 only")
    return binding.parse_assembly(text)


def _without_python(module: Any) -> Any:
    """A copy of a module, whose exceptions have no text that is made at run time."""
    from llvmlite import binding

    if not any(f.name.startswith("__excinfo_unwrap_args") for f in module.functions):
        return binding.parse_bitcode(module.as_bitcode())
    stub = r"define \2 @\1(\2 %values) {\n  ret \2 null\n}"
    return binding.parse_assembly(UNWRAP.sub(stub, str(module)))


def _keep_only(module: Any, names: tuple[str, ...], machine: Any) -> None:
    """Drop what these functions do not need."""
    from llvmlite import binding

    for function in module.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


def _is_elsewhere(function: Any) -> bool:
    return function.is_declaration and not function.name.startswith("llvm.")


def _needed_runtime(module: Any) -> str:
    """What manages the memory of arrays, if a kernel makes any."""
    wanted = (f.name.startswith("NRT_MemInfo") for f in module.functions if f.is_declaration)
    return RUNTIME if any(wanted) else ""


def _wrappers(entry: Any, name: str, c_name: str) -> str:
    """The functions that call a kernel, as LLVM's text."""
    types = [str(argument.type) for argument in entry.arguments]
    if any("*" in kind for kind in types):
        raise UnsuitableError("LLVM before 15 has another text")
    result, error, *own = types
    lines = [
        f"declare i32 @{_quoted(entry.name)}({', '.join(types)})",
        f"define i32 @{name}({result} %result, {error} %error, ptr %words) {{",
    ]
    for k, kind in enumerate(own):
        lines.append(f"  %place{k} = getelementptr i64, ptr %words, i64 {k}")
        lines.append(f"  %value{k} = load {kind}, ptr %place{k}, align 8")
    given = "".join(f", {kind} %value{k}" for k, kind in enumerate(own))
    call = f"call i32 @{_quoted(entry.name)}({result} %result, {error} %error{given})"
    lines += [f"  %status = {call}", "  ret i32 %status", "}"]
    if c_name:
        lines += _for_c(entry, c_name, own)
    return "\n".join(lines)


def _for_c(entry: Any, c_name: str, own: list[str]) -> list[str]:
    """A function with the kernel's own arguments; its result is an int32, and 0 if it raises."""
    taken = ", ".join(f"{kind} %value{k}" for k, kind in enumerate(own))
    given = "".join(f", {kind} %value{k}" for k, kind in enumerate(own))
    return [
        f"define i32 @{c_name}({taken}) {{",
        "  %result = alloca i64",
        "  %error = alloca ptr",
        "  store i64 0, ptr %result",
        f"  %status = call i32 @{_quoted(entry.name)}(ptr %result, ptr %error{given})",
        "  %answer = load i32, ptr %result",
        "  ret i32 %answer",
        "}",
    ]


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.$-]+", name) else f'"{name}"'


def type_of_kind(kind: Kind) -> Any:
    """Numba's type for a kind."""
    from numba import types
    from numba.np.numpy_support import from_dtype

    if kind[0] == "none":
        return types.none
    if kind[0] == "array":
        text = kind[1]
        item = np.dtype(eval(text, {}) if text.startswith("[") else text)
        return types.Array(from_dtype(item), kind[2], kind[3], readonly=not kind[4])
    if kind[0] == "tuple":
        parts = tuple(type_of_kind(part) for part in kind[2:])
        make: Any = class_at(kind[1])
        return types.BaseTuple.from_types(parts, make.__self__ if kind[1] else tuple)
    return from_dtype(np.dtype(kind[0]))


def kind_of_type(found: Any) -> Kind:
    """The kind of one of Numba's types."""
    from numba import types
    from numba.np.numpy_support import as_dtype

    if isinstance(found, types.Optional):
        raise UnsuitableError(f"{found} is none of a kernel's types")
    if isinstance(found, types.NoneType):
        return ("none",)
    if isinstance(found, types.Array):
        item = as_dtype(found.dtype)
        text = item.str if item.names is None else repr(item.descr)
        return ("array", text, found.ndim, found.layout, found.mutable)
    if isinstance(found, types.BaseTuple):
        named = getattr(found, "instance_class", tuple)
        return ("tuple", place_of(named), *map(kind_of_type, found.types))
    if isinstance(found, (types.Number, types.Boolean)):
        return PLAIN[as_dtype(found).type]
    raise UnsuitableError(f"{found} is none of a kernel's types")
