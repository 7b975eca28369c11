"""Kernels as Python calls them: what they are given, what they give back, what they raise."""

import gc
import platform
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.kernels import compiling, machine_code, quick
from sensor_models.kernels.carried import NotCarriedError
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.values import MOST_COPIED, UnknownKindError, Words, kind_of

FLOATS = np.arange(24.0).reshape(4, 6)


class Pair(NamedTuple):
    """Two of something."""

    first: object
    second: object


class Choice(IntEnum):
    """An integer that is no int to the letter."""

    two = 2


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


ARRAYS = (
    FLOATS,
    FLOATS[1:3, ::2],
    FLOATS.T,
    FLOATS[:0],
    FLOATS[:, ::-1],
    read_only(FLOATS),
    FLOATS.astype(np.float32),
    np.arange(6, dtype=np.int64),
    np.arange(6, dtype=np.int32)[::2],
    np.array(3.5),
    np.zeros((2, 0, 3), np.uint8),
    np.array([True, False]),
    np.zeros(3, [("a", "<f4"), ("b", "<i4")]),
)
NUMBERS = st.one_of(
    st.floats(),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.sampled_from(
        [np.float64(0.25), np.float32(1.5), np.int32(-7), np.int64(2**40), np.bool_(1)]
    ),
    st.just(Choice.two),
    st.none(),
)
VALUES = st.recursive(
    st.one_of(NUMBERS, st.sampled_from(ARRAYS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.tuples(inner, inner).map(lambda p: Pair(*p))
    ),
    max_leaves=6,
)
ARGUMENTS = st.lists(VALUES, min_size=1, max_size=4).map(tuple)


# ---- arguments -----------------------------------------------------------------------------------


@pytest.mark.skipif(
    platform.python_implementation() != "CPython" or sys.maxsize < 2**62,
    reason="values lie otherwise in the memory of other interpreters",
)
def test_compiled_code_reads_arguments_on_this_interpreter():
    """Else all would go on, slowly, by the way through Python."""
    kinds = tuple(map(kind_of, (FLOATS, 1, 2.0, True, (3, FLOATS[0]))))
    assert quick.quick_words(kinds, kinds) is not None


@given(ARGUMENTS)
def test_the_quick_way_has_the_words_of_the_way_through_python(arguments):
    kinds = tuple(map(kind_of, arguments))
    words = quick.quick_words(kinds, kinds)
    if words is not None:
        found = words.of(arguments)
        assert found is None or bytes(found) == Words(kinds)(arguments)


@given(ARGUMENTS, ARGUMENTS)
def test_the_quick_way_takes_nothing_of_another_kind(arguments, others):
    kinds = tuple(map(kind_of, arguments))
    words = quick.quick_words(kinds, kinds)
    if words is None or len(others) != len(arguments):
        return
    found = words.of(others)
    if found is not None:
        # What lies in more order than is asked for, or can be written besides, may be given.
        assert bytes(found) == Words(kinds)(others)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**200])
def test_numbers_that_are_too_large_are_refused(number):
    with pytest.raises((struct.error, OverflowError)):
        twice(number)


@pytest.mark.parametrize("number", [0, -1, 2**30 - 1, 2**30, -(2**60), 2**61, 2**62 - 1, -(2**62)])
def test_integers_of_all_lengths_arrive(number):
    assert twice(number) == 2 * number


def test_what_kernels_do_not_take_is_named():
    with pytest.raises(UnknownKindError, match="kernels take no dict"):
        kind_of({})
    crooked = np.frombuffer(b"\0" * 17, np.uint8)[1:].view(np.float64)
    with pytest.raises(UnknownKindError, match="not aligned"):
        kind_of(crooked)


# ---- results -------------------------------------------------------------------------------------


@njit(cache=True)
def twice(x):
    return 2 * x


@njit(cache=True)
def total(array, scale=1.0):
    found = 0.0
    for item in array.flat:
        found += item
    return scale * found


@njit(cache=True)
def many(number, array):
    return number > 1, number, (array[0], array), np.full(3, 0.5 * number)


@njit(cache=True)
def pair(array):
    return Pair(array.size, array[::2])


@njit(cache=True)
def nothing(array):
    array[0] = 7.0


@njit(cache=True)
def fail(kind):
    if kind == 0:
        raise ValueError("no such kind")
    if kind == 1:
        raise ZeroDivisionError
    return 1 // (kind - 2)


@njit(cache=True)
def flattened(array):
    return array.reshape(-1).sum()  # calls a function of Numba's own


def test_results_come_back_as_they_are():
    large, number, (first, array), made = many(3, FLOATS[1])
    assert (large, number, first) == (True, 3, 6.0)
    assert (type(large), type(number), type(first)) == (bool, int, float)
    np.testing.assert_array_equal(array, FLOATS[1])
    np.testing.assert_array_equal(made, [1.5] * 3)
    found = pair(np.arange(5.0))
    assert isinstance(found, Pair)
    assert found.first == 5
    np.testing.assert_array_equal(found.second, [0.0, 2.0, 4.0])
    array = np.zeros(2)
    assert nothing(array) is None
    assert array[0] == 7.0


def test_arguments_may_be_named_and_left_out():
    assert total(FLOATS) == FLOATS.sum()
    assert total(FLOATS, scale=2.0) == 2.0 * FLOATS.sum()
    with pytest.raises(TypeError):
        total()


@pytest.mark.parametrize("array", ARRAYS[:8])
def test_arrays_are_read_as_they_lie(array):
    assert total(array) == array.sum()


@njit
def halves(count):
    return np.full(count, 0.5)


@njit
def same_twice(count):
    made = np.full(count, 0.5)
    return made, made


def test_memory_of_results_is_given_back(monkeypatch):
    made = halves(MOST_COPIED)
    freed = []
    monkeypatch.setattr(machine_code, "_free", freed.append)
    kept = made[1:]
    del made
    gc.collect()
    assert freed == [], "a view still shows it"
    np.testing.assert_array_equal(kept, np.full(MOST_COPIED - 1, 0.5))
    del kept
    gc.collect()
    assert len(freed) == 1


def test_a_small_result_is_copied_and_its_memory_given_back_at_once(monkeypatch):
    freed = []
    monkeypatch.setattr(machine_code, "_free", freed.append)
    made = halves(MOST_COPIED // 8)
    assert len(freed) == 1
    np.testing.assert_array_equal(made, np.full(MOST_COPIED // 8, 0.5))
    made[0] = 1.0
    assert made.flags.c_contiguous
    assert made.flags.writeable
    assert made.ctypes.data % 8 == 0


def test_two_results_in_one_memory_stay_so():
    one, other = same_twice(3)
    one[0] = 7.0
    np.testing.assert_array_equal(other, [7.0, 0.5, 0.5])


@njit
def pair_of(a, b, c, d):
    return Pair(a, (d, b, c))


@given(st.floats(), st.booleans(), st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**63 - 1))
def test_numbers_of_a_result_lie_as_in_a_struct(a, b, c, d):
    found = pair_of(a, b, np.int32(c), d)
    assert repr(found) == repr(Pair(a, (d, b, c)))


def test_calls_at_once_keep_their_results_apart():
    """Each call has memory of its own, also where Python switches threads before it is read."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(number):
        return all(pair_of(1.0, True, number, k) == (1.0, (k, True, number)) for k in range(3000))

    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(work, range(8)))
    finally:
        sys.setswitchinterval(interval)


def test_exceptions_come_out():
    with pytest.raises(ValueError, match="no such kind"):
        fail(0)
    with pytest.raises(ZeroDivisionError):
        fail(1)
    with pytest.raises(ZeroDivisionError):
        fail(2)
    assert fail(3) == 1


def test_a_kernel_that_cannot_be_kept_works_and_is_counted():
    assert flattened(FLOATS) == FLOATS.sum()
    assert flattened.stats.not_kept == 1
    assert twice(1) == 2
    assert twice.stats.not_kept == 0


#: Two threads that ask for functions for C: one looks for machine code already, the other one
#: comes to the lock of that while the first one has it.
TWO_THREADS = """
import threading
from sensor_models.kernels import compiling
from sensor_models.kernels.math.unpacking import enter

@compiling.cfunc("int32(intp)")
def other(number):
    return number + 1

class Told:
    def __enter__(self):
        if threading.current_thread() is second:
            is_asking.set()
        lock.acquire()
    def __exit__(self, *_):
        lock.release()

lock, compiling._lock = compiling._lock, Told()
is_held, is_asking = threading.Event(), threading.Event()
vars(enter).pop("ctypes", None)

def look_for_code():
    with compiling._lock:
        is_held.set()
        is_asking.wait()
        enter.address

def ask_for_function():
    is_held.wait()
    other.address

first = threading.Thread(target=look_for_code, daemon=True)
second = threading.Thread(target=ask_for_function, daemon=True)
for thread in (first, second): thread.start()
for thread in (first, second): thread.join(20.0)
print(first.is_alive(), second.is_alive(), flush=True)
"""


def test_threads_that_ask_for_functions_do_not_wait_for_each_other_for_ever():
    command = [sys.executable, "-W", "error", "-c", TWO_THREADS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "False False\n"


@njit(cache=True)
def shortened(array):
    return array[1:]


@njit(cache=True)
def shortened_sum(array):
    return shortened(array).sum()


def test_a_kernel_that_another_one_calls_can_be_called_itself():
    assert shortened_sum(np.arange(4.0)) == 6.0  # compiles both, and makes machine code of one
    np.testing.assert_array_equal(shortened(np.arange(4.0)), [1.0, 2.0, 3.0])
    assert shortened.dispatcher(np.arange(4.0)).tolist() == [1.0, 2.0, 3.0], "through Numba"


class Carried:
    """Libraries in which kernels are carried for other arguments than those of a call."""

    def __init__(self, *kinds):
        self.kinds = [tuple(kind_of(value) for value in values) for values in kinds]

    def level(self):
        return "x86-64-v3"

    def call(self, name, kinds):
        return None

    def kinds_for(self, name):
        return self.kinds


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1, 2.0, Pair(1.0, 2.0)), r": first is int64 and not float64$"),
        ((1.0, 2.0, Pair(1.0, 2)), r"both\.second is int64 and not float64$"),
        ((1.0, True, Pair(1.0, 1)), r"second is bool and not float64, both\.second is int64"),
        ((1.0, 2.0, (1.0, 2.0)), r"both is \('tuple', ''.* and not \('tuple'"),
    ],
)
def test_a_kernel_that_is_not_carried_is_refused_by_the_argument_that_differs(
    monkeypatch, given, message
):
    @njit
    def add(first, second, both):
        return first + second + both.second

    monkeypatch.setattr(compiling, "LIBRARIES", Carried((1.0, 2.0), (1.0, 2.0, Pair(1.0, 2.0))))
    with pytest.raises(NotCarriedError, match=message) as told:
        add(*given)
    assert "add" in str(told.value)
    assert add.stats.compiled == 0


def test_a_kernel_that_no_fmu_carries_is_refused_where_kernels_are_carried(monkeypatch):
    @njit
    def add(value):
        return value + 1

    monkeypatch.setattr(compiling, "LIBRARIES", Carried())
    with pytest.raises(NotCarriedError, match=r"add> is carried by no FMU of this process: build"):
        add(1)
    with pytest.raises(NotCarriedError, match=r"add> cannot be called: kernels take no str"):
        add("1")
    monkeypatch.undo()
    assert add(1) == 2  # as it is where no kernels are carried
