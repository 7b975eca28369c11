"""Replaces ``numpy.linalg._umath_linalg`` in FMUs that do not carry OpenBLAS (``blas.c``).

If an FMU joins the process that carries NumPy's module and OpenBLAS, NumPy is switched to them
(``lend``), and this module then passes everything on to NumPy's.
"""

import ctypes
import importlib.machinery
import importlib.util
import os
from typing import Any

_lent: list[Any] = []


def lend(library: str) -> None:
    """Make NumPy call a library; the module that belongs to it is in the packages beside it.

    The library that it replaces is already open and has the same name.
    """
    if _lent:
        return
    in_its_place = ctypes.CDLL(os.path.basename(library))  # noqa: PTH119 - pathlib is late
    in_its_place.sensor_fmus_lend(ctypes.c_void_p(ctypes.CDLL(library)._handle))
    packages = os.path.dirname(os.path.dirname(library))  # noqa: PTH120
    name = __name__.rpartition(".")[2]
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        file = os.path.join(packages, "numpy", "linalg", f"{name}{suffix}")  # noqa: PTH118
        if os.path.isfile(file):  # noqa: PTH113
            spec = importlib.util.spec_from_file_location(__name__, file)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            _lent.append(module)
            return


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if not _lent:
        raise RuntimeError(
            "this FMU carries no linear algebra, as its sensor takes no systems of equations"
            " apart; FMUs of sensors from files of one's own (--module) carry it"
        )
    return getattr(_lent[0], name)
