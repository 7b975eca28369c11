"""A replacement for OpenBLAS in FMUs that multiply no matrices (``blas.c``).

OpenBLAS, with the Fortran libraries that it needs, would be half of an FMU that does not see a
scene. It is replaced by a small library with the same name and functions. The build runs the FMU
with this library, and fails if a run calls any of the functions, because the last bits of results
would then differ from those of the ordinary FMU. NumPy's functions that solve systems of equations
are replaced by a module that refuses them.
"""

import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fmus.binding.compile import find_compiler
from fmus.building.kernel_libraries import TARGETS, digest_of, run
from fmus.building.standalone import elf, interpreter
from sensor_models._levels import this_platform

HERE = Path(__file__).parent
SOURCE = HERE / "blas.c"
FLAGS = ("-std=gnu11", "-shared", "-fPIC", "-O2", "-g0", "-s", "-fvisibility=hidden", "-Wall")

#: NumPy's module that products are in, and the one that calls LAPACK and becomes another.
PRODUCTS, SYSTEMS = "numpy._core._multiarray_umath", "numpy.linalg._umath_linalg"
IN_ITS_PLACE = HERE / "stand_ins" / "linear_algebra.py"

#: What products call, whatever a build of OpenBLAS puts around the names.
LOOPS = re.compile(r".*cblas_([sdcz](?:axpy|gemm|gemv|syrk)|[sd]dot|[cz]dot[uc]_sub)(?:64)?_?")


def library_of(modules: Mapping[str, Path]) -> Path | None:
    """The library of linear algebra that came with NumPy; None if there is none."""
    needed = interpreter.needed_by(modules[PRODUCTS]) if PRODUCTS in modules else ()
    found = [file for file in needed if "blas" in file.name and interpreter.is_in_packages(file)]
    return found[0] if found else None


def stand_in(modules: Mapping[str, Path], kept: Path) -> bytes | None:
    """The library that replaces it among these modules; None if that is not possible."""
    original = library_of(modules)
    if this_platform() != "linux64" or original is None or SYSTEMS not in modules:
        return None
    named = {m: elf.symbols(modules[m].read_bytes()) for m in (PRODUCTS, SYSTEMS)}
    has = {name for name, here in elf.symbols(original.read_bytes()).items() if here}
    wanted = {m: {n for n, here in names.items() if not here} & has for m, names in named.items()}
    if not all(LOOPS.fullmatch(name) for name in wanted[PRODUCTS]):
        return None
    return _compiled(sorted(wanted[PRODUCTS] | wanted[SYSTEMS]), original, kept)


def _compiled(names: list[str], original: Path, kept: Path) -> bytes:
    """The library; the same one is compiled only once."""
    compiler, version = find_compiler()
    header = _header(names)
    made_of = (version, repr(FLAGS), original.name, header, SOURCE.read_bytes())
    library = kept / f"{digest_of(*made_of)}.so"
    if library.is_file():
        return library.read_bytes()
    target = ["-target", TARGETS["linux64"]] if compiler[0] == sys.executable else []
    with tempfile.TemporaryDirectory(dir=kept) as folder:
        Path(folder, "names.h").write_text(header, encoding="utf-8")
        aside = Path(folder, library.name)
        command = [*compiler, *target, *FLAGS, f"-I{folder}", f"-Wl,-soname,{original.name}"]
        run([*command, str(SOURCE), "-ldl", "-o", str(aside)])
        aside.replace(library)
    return library.read_bytes()


def _header(names: list[str]) -> str:
    """The functions to be declared; those of products get loops."""
    found = [LOOPS.fullmatch(name) for name in names]
    functions = [match[1] if match else "missing" for match in found]
    lines = [
        f"NAMED({name}, {k}, {f})" for k, (name, f) in enumerate(zip(names, functions, strict=True))
    ]
    integer = "int64_t" if any("64_" in name for name in names) else "int"
    sizes = f"#define COUNT {len(names)}\n#define INTEGER {integer}\n"
    return f"{sizes}#define NAMES(NAMED) {' '.join(lines)}\n"
