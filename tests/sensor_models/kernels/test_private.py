"""What kernels use of other packages without its being promised: a test of each, by its name."""

import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite import binding
from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Flags
from numba.core.cpu import CPUContext
from numba.core.targetconfig import TargetConfig

from sensor_models.kernels import private, quick
from sensor_models.kernels.compiling import intrinsic, njit
from sensor_models.kernels.math.bits import word_of
from sensor_models.kernels.values import Words, kind_of

KERNELS = Path(private.__file__).parent
STOPS = (
    (JITCPUCodegen, "_add_module"),
    (JITCodeLibrary, "_finalize_specific"),
    (CPUContext, "get_executable"),
    (CPUCodeLibrary, "_optimize_functions"),
    (CPUCodeLibrary, "finalize"),
    (TargetConfig, "__eq__"),
)


@njit
def picked(array, place):
    if place < 0:
        raise ValueError("there is no such place")
    return array[place]


def compiled():
    """What Numba makes of a function that raises, as far as it is asked to."""
    made = numba.njit(**private.NO_WRAPPERS)(vars(picked)["py_func"])
    with private.without_machine_code():
        made.compile((numba.float64[::1], numba.int64))
    (found,) = made.overloads.values()
    return found


def test_each_interface_has_a_test():
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert set(private.INTERFACES) <= tests
    assert len(private.INTERFACES) <= 8


#: Names that begin with one underscore, behind a dot, in modules of others.
PRIVATE = re.compile(
    r"\b(?:library|codegen|fndesc|context|target|dispatcher|optimised|binding|np|numba|types)"
    r"\._(?!_)\w+|\bnumba\._\w+|_numba_type_\b(?! )|_final_module|\._tm\b|_dynfunc|\b_nrt\b"
)


def test_no_other_module_looks_into_other_packages():
    for file in KERNELS.rglob("*.py"):
        found = PRIVATE.findall(re.sub(r'""".*?"""', "", file.read_text(), flags=re.S))
        own = {"_numba_type_"} if file.name == "compiling.py" else set()
        assert file.name == "private.py" or set(found) <= own, file


def test_stops():
    usual = [vars(place)[name] for place, name in STOPS]
    with private.without_machine_code():
        assert all(vars(p)[n] is not f for (p, n), f in zip(STOPS, usual, strict=True))
        changed, default = Flags(), Flags()
        changed.fastmath = True
        default.nrt = False  # which is what it is without
        assert default == Flags() != changed != "options"
    assert [vars(place)[name] for place, name in STOPS] == usual
    assert numba.njit(lambda x: 2 * x)(21) == 42


def test_stops_are_taken_back_after_an_error():
    @njit
    def wrong(number):
        return number.no_such_field

    usual = [vars(place)[name] for place, name in STOPS]
    with pytest.raises(numba.TypingError):
        wrong(1.0)
    assert [vars(place)[name] for place, name in STOPS] == usual


@pytest.mark.parametrize(
    "changed", ["_optimize_defined", "_not_executable", "_link_later", "module_of", "optimise"]
)
def test_kernels_are_called_through_numba_where_interfaces_have_changed(monkeypatch, changed):
    @njit
    def tripled(number):
        return 3 * number

    def gone(*_):
        raise AttributeError("Numba has no such attribute")

    monkeypatch.setattr(private, changed, gone)
    assert tripled(14) == 42
    assert tripled.stats.not_kept == 1


def test_modules():
    found = compiled()
    module, machine = private.module_of(found), private.machine_of(found)
    assert module.get_function(found.fndesc.llvm_func_name)
    assert binding.ObjectFileRef.from_data(machine.emit_object(module))


def test_texts():
    """The code that makes Python's values of those in a text is found, and left out."""

    @numba.njit(**private.NO_WRAPPERS)
    def refused(number):
        raise ValueError(number)

    with private.without_machine_code():
        refused.compile((numba.int64,))
    (found,) = refused.overloads.values()
    before = str(found.library._final_module)
    assert len(private.UNWRAP.findall(before)) == 1
    stubbed = str(private.module_of(found))
    assert "@Py" in private.UNWRAP.search(before)[0]
    assert "@Py" not in (private.UNWRAP.search(stubbed) or [""])[0]


PLACES = """
from sensor_models.kernels import private
private.without_places()
import numba
@numba.njit
def refused(number):
    if number < 0:
        raise ValueError("no")
    return number
refused(1)
from numba.core.ir import Loc
print(Loc("/some/where/sensor_models/kernels/a.py", 1).filename)
print(Loc("/some/where/else/b.py", 1).filename)
"""


def test_places():
    done = subprocess.run(
        [sys.executable, "-c", PLACES], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["sensor_models/kernels/a.py", "b.py"], done.stderr


def test_modules_have_all_that_is_called_once_and_optimised():
    """What a kernel calls is linked to it when its object is made, however deep it lies."""
    made = numba.njit(**private.NO_WRAPPERS)(lambda array: picked(array, 1) + picked(array, 2))
    with private.without_machine_code():
        made.compile((numba.float64[::1],))
    (found,) = made.overloads.values()
    own, module = found.library._final_module, private.module_of(found)
    assert {f.is_declaration for f in own.functions if "picked" in f.name} == {True}
    assert {f.is_declaration for f in module.functions if "picked" in f.name} == {False}
    calls = re.compile(r" call [^\n]*picked")
    assert calls.search(str(module))
    private.optimise(found, module)
    assert not calls.search(str(module))


@intrinsic
def doubled(_context, _number):
    from numba import types

    def emit(_target, builder, _signature, values):
        return builder.fadd(values[0], values[0])

    return types.float64(types.float64), emit


def test_kernels_in_kernels():
    """A kernel that Numba compiles calls one of ours, and intrinsics."""

    @numba.njit
    def both(array):
        return picked(array, 1) + doubled(4.0), word_of(1.0)

    assert both(np.array([1.0, 2.0])) == (10.0, 0x3FF0000000000000)


@njit
def scaled(value, factor):
    return value * factor


def test_kernels_in_kernels_once_for_constants():
    """What is called with one constant and another is compiled once."""

    @numba.njit  # which compiles it in this process, whatever was cached
    def with_constants(value):
        return scaled(value, 2) + scaled(value, 3) + scaled(value, len((value, value)))

    assert with_constants(1.5) == 1.5 * 7
    assert list(scaled.optimised.overloads) == [(numba.float64, numba.int64)]


def test_counting():
    """Without the option, references to arrays are counted; with it they are not."""

    def sliced(array, out):
        part = array[1:]
        for i in range(part.size):
            out[i] = part[i]

    texts = []
    for options in ({}, private.NO_COUNTING):
        made = numba.njit(**options)(sliced)
        made.compile((numba.float64[::1], numba.float64[::1]))
        (text,) = made.inspect_llvm().values()
        texts.append(re.findall(r"call [^\n]*@NRT_\w*ref", text))
    assert texts[0]
    assert not texts[1]


@njit
def filled(count):
    return np.full(count, 2.5)


def test_results():
    """A result of an array, an exception with its text, and memory that is counted."""
    assert filled(3).tolist() == [2.5, 2.5, 2.5]
    large = filled(10_000)
    assert large.sum() == 25_000.0
    with pytest.raises(ValueError, match="there is no such place"):
        picked(np.zeros(1), -1)
    assert not picked.stats.not_kept


def test_objects():
    """Compiled code finds the words of arguments where Python has these."""
    array = np.arange(24.0).reshape(4, 6)
    for value in (
        array[1:3, ::2],
        array.T,
        -1.5,
        np.float64(2.0),
        1 - 2**60,
        2**30,
        True,
        (1, (2.0,)),
    ):
        kinds = (kind_of(value),)
        words = quick.quick_words(kinds, kinds)
        assert words is not None
        assert words.of((value,)) == Words(kinds)((value,)), value
