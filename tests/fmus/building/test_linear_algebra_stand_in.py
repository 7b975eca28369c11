"""What stands in for OpenBLAS in FMUs that multiply no matrices: plain loops, until it is lent."""

import ctypes
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fmus.building.standalone import elf, imports, linear_algebra
from sensor_models._levels import this_platform

pytestmark = pytest.mark.skipif(this_platform() != "linux64", reason="is made for Linux")

ROWS_FIRST, COLUMNS_FIRST = 101, 102
FORMS = {111: lambda a: a, 112: lambda a: a.T, 113: lambda a: a.conj().T}
UPPER, LOWER = 121, 122
TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}

Array = NDArray[Any]


@pytest.fixture(scope="module")
def modules() -> dict[str, Path]:
    path = imports.search_path(Path())
    found = {
        m: imports.find_file(m, path) for m in (linear_algebra.PRODUCTS, linear_algebra.SYSTEMS)
    }
    return {name: file for name, file in found.items() if file is not None}


@pytest.fixture(scope="module")
def original(modules: dict[str, Path]) -> Path:
    library = linear_algebra.library_of(modules)
    if library is None:
        pytest.skip("this NumPy comes without OpenBLAS")
    return library


@pytest.fixture(scope="module")
def stand_in(
    modules: dict[str, Path], original: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The library, under the name of the one in whose place it is."""
    folder = tmp_path_factory.mktemp("stand_in")
    content = linear_algebra.stand_in(modules, folder)
    assert content is not None
    (folder / original.name).write_bytes(content)
    return folder / original.name


class Loops:
    """The functions of such a library, by their plain names."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        known = elf.symbols(library.read_bytes())
        found = {name: linear_algebra.LOOPS.fullmatch(name) for name, here in known.items() if here}
        self.names = {match[1]: name for name, match in found.items() if match}
        self._integer = ctypes.c_int64 if "64" in self.names["ddot"] else ctypes.c_int

    def products(self) -> int:
        return int(self._library.sensor_fmus_products())

    def call(self, name: str, *arguments: Any, result: Any = None) -> Any:
        """Call one; factors are numbers of NumPy's."""
        function = getattr(self._library, self.names[name])
        function.restype = result
        held = [v if isinstance(v, int) else np.asarray(v) for v in arguments]
        return function(*(self._converted(name[0], value) for value in held))

    def _converted(self, letter: str, value: Any) -> Any:
        if isinstance(value, int):  # a dimension or a step, or one of the constants above
            return self._integer(value) if abs(value) < 100 else ctypes.c_int(value)
        if value.ndim or letter in "cz":
            return ctypes.c_void_p(value.ctypes.data)
        return {"s": ctypes.c_float, "d": ctypes.c_double}[letter](float(value))


@pytest.fixture(scope="module")
def loops(stand_in: Path) -> Loops:
    return Loops(stand_in)


def some(letter: str, *shape: int) -> Array:
    """Small whole numbers, whose products are exact; no two arrays of a shape are alike."""
    numbers = np.random.default_rng([len(shape), *shape]).integers(-9, 9, (2, *shape))
    values = numbers[0] + 1j * numbers[1] if letter in "cz" else numbers[0]
    return np.asarray(values).astype(TYPES[letter])


def stored(matrix: Array, order: int, form: int) -> tuple[Array, int]:
    """A matrix as it lies in memory to be meant in some form, and its leading dimension."""
    given = FORMS[form](matrix)  # each form undoes itself
    laid = np.array(given if order == ROWS_FIRST else given.T, order="C")
    return laid, laid.shape[1]


@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize("order", [ROWS_FIRST, COLUMNS_FIRST])
@pytest.mark.parametrize("beta", [0, 2])
def test_matrices_are_multiplied(loops: Loops, letter: str, order: int, beta: int) -> None:
    m, n, k = 3, 4, 5
    left, right, before = some(letter, m, k), some(letter, k, n), some(letter, m, n)
    alpha, factor = some(letter, 1)[0], np.asarray(beta, TYPES[letter])
    for form_a, form_b in itertools.product(FORMS, FORMS):
        a, lda = stored(left, order, form_a)
        b, ldb = stored(right, order, form_b)
        c, ldc = stored(before if beta else np.full_like(before, np.nan), order, 111)
        arguments = (order, form_a, form_b, m, n, k, alpha, a, lda, b, ldb, factor, c, ldc)
        loops.call(f"{letter}gemm", *arguments)
        expected = alpha * (left @ right) + (beta * before if beta else 0)
        np.testing.assert_array_equal(c if order == ROWS_FIRST else c.T, expected)


@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize("order", [ROWS_FIRST, COLUMNS_FIRST])
@pytest.mark.parametrize("steps", [(1, 1), (2, -3)])
def test_matrices_and_vectors_are_multiplied(
    loops: Loops, letter: str, order: int, steps: tuple[int, int]
) -> None:
    m, n = 3, 4
    matrix, alpha, beta = some(letter, m, n), some(letter, 1)[0], some(letter, 2)[0]
    for form in FORMS:
        a, lda = stored(matrix, order, form)
        rows, columns = (m, n) if form == 111 else (n, m)
        x, y = some(letter, n), some(letter, m)
        wide_x, wide_y = spread(x, steps[0]), spread(y, steps[1])
        arguments = (rows, columns, alpha, a, lda, wide_x, steps[0], beta, wide_y, steps[1])
        loops.call(f"{letter}gemv", order, form, *arguments)
        expected = alpha * (matrix @ x) + beta * y
        np.testing.assert_array_equal(gathered(wide_y, steps[1], m), expected)


def spread(vector: Array, step: int) -> Array:
    """A vector with gaps; one with a negative step lies backwards."""
    wide = np.zeros((len(vector) - 1) * abs(step) + 1, vector.dtype)
    wide[:: abs(step)] = vector[:: 1 if step > 0 else -1]
    return wide


def gathered(wide: Array, step: int, count: int) -> Array:
    return wide[:: abs(step)][:count][:: 1 if step > 0 else -1]


@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize("order", [ROWS_FIRST, COLUMNS_FIRST])
@pytest.mark.parametrize("triangle", [UPPER, LOWER])
def test_half_of_a_symmetric_product_is_made(
    loops: Loops, letter: str, order: int, triangle: int
) -> None:
    n, k = 4, 3
    matrix, before = some(letter, n, k), some(letter, n, n)
    alpha, beta = some(letter, 1)[0], some(letter, 2)[0]
    whole = alpha * (matrix @ matrix.T) + beta * before
    is_made = np.triu(np.ones((n, n), bool)) if triangle == UPPER else np.tri(n, dtype=bool)
    for form in (111, 112):
        a, lda = stored(matrix, order, form)
        c, ldc = stored(before, order, 111)
        loops.call(f"{letter}syrk", order, triangle, form, n, k, alpha, a, lda, beta, c, ldc)
        found = c if order == ROWS_FIRST else c.T
        np.testing.assert_array_equal(found, np.where(is_made, whole, before))


@pytest.mark.parametrize("steps", [(1, 1), (3, -2)])
def test_vectors_are_multiplied_and_added(loops: Loops, steps: tuple[int, int]) -> None:
    for letter, kind in (("s", ctypes.c_float), ("d", ctypes.c_double)):
        x, y = some(letter, 7), some(letter, 7, 1)[:, 0]
        pair = (spread(x, steps[0]), steps[0], spread(y, steps[1]), steps[1])
        assert loops.call(f"{letter}dot", 7, *pair, result=kind) == x @ y
    for letter in "cz":
        x, y = some(letter, 7), some(letter, 7, 1)[:, 0]
        pair = (spread(x, steps[0]), steps[0], spread(y, steps[1]), steps[1])
        for name, expected in (("dotu", x @ y), ("dotc", x.conj() @ y)):
            found = np.zeros(1, TYPES[letter])
            loops.call(f"{letter}{name}_sub", 7, *pair, found)
            assert found[0] == expected
    for letter in TYPES if "saxpy" in loops.names else ():  # since NumPy 2.4
        x, y, alpha = some(letter, 7), some(letter, 7, 1)[:, 0], some(letter, 1)[0]
        wide = spread(y, steps[1])
        loops.call(f"{letter}axpy", 7, alpha, spread(x, steps[0]), steps[0], wide, steps[1])
        np.testing.assert_array_equal(gathered(wide, steps[1], 7), alpha * x + y)


#: Whole numbers are multiplied without a library of linear algebra.
NUMPY_WITH_IT = """
import ctypes, sys
import numpy as np
loops = ctypes.CDLL(sys.argv[1])
before = loops.sensor_fmus_products()
random = np.random.default_rng(1)
for kind in (np.float32, np.float64, np.complex64, np.complex128):
    for m, k, n in ((1, 1, 1), (2, 3, 4), (5, 1, 2), (7, 8, 6)):
        a, b = random.integers(-9, 9, (m, k)), random.integers(-9, 9, (k, n))
        for left, right in ((a, b), (b.T, a.T), (a, a.T), (a, b[:, 0]), (a[0], b), (a[0], b[:, 0])):
            for part in (slice(None), slice(None, None, -1)):
                found = left.astype(kind)[part] @ right.astype(kind)
                assert (found == left[part] @ right).all(), (kind, left.shape, right.shape)
            assert (np.dot(left.astype(kind), right.astype(kind)) == np.dot(left, right)).all()
assert np.convolve([1.0, 2.0], [1.0, 3.0]).tolist() == [1.0, 5.0, 6.0]
print(loops.sensor_fmus_products() - before)
"""


def test_numpy_multiplies_with_it(stand_in: Path) -> None:
    """NumPy's own library takes the one of that name that is open already."""
    environment = {**os.environ, "LD_PRELOAD": str(stand_in)}
    command = [sys.executable, "-c", NUMPY_WITH_IT, str(stand_in)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 100


def test_a_library_that_is_lent_is_called_instead(
    loops: Loops, stand_in: Path, original: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.so"  # another file is another library
    copy.write_bytes(stand_in.read_bytes())
    lent, to = ctypes.CDLL(str(original)), ctypes.CDLL(str(copy))
    named = [n for n, here in elf.symbols(copy.read_bytes()).items() if here]
    assert to.sensor_fmus_lend(ctypes.c_void_p(lent._handle)) == len(named) - 2  # both of its own
    x = some("d", 5)
    other = Loops(copy)
    before = other.products()
    assert other.call("ddot", 5, x, 1, x, 1, result=ctypes.c_double) == x @ x
    assert other.products() == before
    assert loops.call("ddot", 5, x, 1, x, 1, result=ctypes.c_double) == x @ x
    assert loops.products() > 0
