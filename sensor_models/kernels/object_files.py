"""Object files of kernels, made of what Numba has compiled (``machine_code`` says what is in one).

From Numba's module all that the kernel does not need is dropped, and with it every reference to
Python. What is left calls the C library, Embree, and functions for the memory of arrays and lists,
which are added here. An object that would call anything else is not made (``UnsuitableError``):
such a kernel is called through Numba.

What is private to Numba in this is in ``private``; its version is bounded in pyproject.toml.
"""

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from sensor_models._levels import ARM_LINUX
from sensor_models.kernels import private
from sensor_models.kernels.machine_code import MachineCode, address_of
from sensor_models.kernels.values import PLAIN, Kind, class_at, place_of

#: FMI's names of the platforms that libraries are made for, and what LLVM calls these.
TRIPLES = {
    "linux64": "x86_64-unknown-linux-gnu",
    "win64": "x86_64-pc-windows-gnu",
    ARM_LINUX: "aarch64-unknown-linux-gnu",
}


class UnsuitableError(RuntimeError):
    """A compiled kernel that cannot be an object of its own."""


def make(
    name: str,
    compiled: Any,
    arguments: tuple[Kind, ...],
    nogil: bool,
    for_c: bool,
    platforms: Sequence[str],
) -> dict[str, MachineCode]:
    """The objects of a kernel that Numba has compiled, by platform.

    Args:
        name: of its function; one that no other object has.
        compiled: what Numba's dispatcher has for one signature.
        arguments: their kinds.
        nogil: whether it gives up Python's lock.
        for_c: whether C calls it, too.
        platforms: those that objects for libraries are made for (``TRIPLES``); "" is this process,
            and comes last, because LLVM changes what it emits.
    """
    from llvmlite import binding

    if not hasattr(binding, "create_new_module_pass_manager"):
        raise UnsuitableError("this LLVM has other passes")
    machine, entry = private.machine_of(compiled), compiled.fndesc.llvm_func_name
    module = private.module_of(compiled)
    _keep_only(module, (entry,), machine)
    private.optimise(compiled, module)
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
    return {
        platform: MachineCode(
            *known, _for_library(module, own, platform) if platform else machine.emit_object(module)
        )
        for platform in platforms
    }


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

    text = private.counted_anywhere(str(module))
    if found := re.findall(r"@llvm\.x86\.[\w.]+", text):
        raise UnsuitableError(f"{', '.join(sorted(set(found)))} is for x86 only")
    return binding.parse_assembly(text)


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
    return private.RUNTIME if any(wanted) else ""


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
