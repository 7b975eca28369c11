"""Embree, the library that finds what a ray hits: loading it, and calling it.

Embree 4 comes with the package embreex, whose own interface to it is not used: it traces ray by
ray, on one thread. Where there is no such package, as for Linux on ARM, that of the system is taken
(Debian's libembree4-4). The library is loaded once; its functions are called in two ways:

``library``  ctypes prototypes, for building scenes. A call gives up the global lock. Each thread
             has its own error at a device, which ``check`` turns into an exception.
intrinsics   for compiled kernels. The call names a symbol that this module makes known when it is
             imported; a kernel is linked to it when it is loaded, so a module with such a kernel
             must import this one. The prefix keeps our symbols apart from those of another Embree
             in the process.

Rays are traced in packets of ``WIDTH`` rays, as wide as the vectors of the processor. The
functions for other widths work as well, with the same hits; ``HALF`` is that of packets whose rays
go all ways (``queries``).

Source: Embree 4 API reference (rtcNewDevice, rtcSetGeometryTransform, rtcIntersect4/8/16, ...).
"""

import contextlib
import ctypes
import ctypes.util
import importlib.util
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sensor_models._levels import ARM_LEVEL, LEVELS, chosen_for_numba
from sensor_models.kernels import machine_code
from sensor_models.kernels.carried import LIBRARIES
from sensor_models.kernels.compiling import intrinsic

PREFIX = "sensor_models_"

#: Rays in a packet, by the level of processors that kernels are compiled for.
PACKETS = {**dict(zip(LEVELS, (4, 8, 16), strict=True)), ARM_LEVEL: 4}

#: The library's name where it is installed for a system with ELF files.
SONAME = "libembree4.so.4"

# Constants of Embree's headers.
PROPERTY_VERSION = 0
GEOMETRY_TRIANGLE = 0
GEOMETRY_INSTANCE = 121
BUFFER_INDEX = 0
BUFFER_VERTEX = 1
FORMAT_UINT3 = 0x5003
FORMAT_FLOAT3 = 0x9003
FORMAT_FLOAT3X4_COLUMNS = 0x9234
SCENE_ROBUST = 4
SCENE_FILTER_IN_ARGUMENTS = 8
RAY_QUERY_FILTER = 2
RAY_QUERY_COHERENT = 1 << 16
INVALID_ID = -1

ERRORS = {
    1: "unknown error",
    2: "invalid argument",
    3: "invalid operation",
    4: "out of memory",
    5: "processor without the vector instructions that Embree needs",
    6: "cancelled",
}

_POINTER = ctypes.c_void_p
_INT = ctypes.c_int
_UINT = ctypes.c_uint
_SIZE = ctypes.c_size_t

#: Result and arguments of the functions that build scenes.
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "rtcNewDevice": (_POINTER, ctypes.c_char_p),
    "rtcReleaseDevice": (None, _POINTER),
    "rtcGetDeviceError": (_INT, _POINTER),
    "rtcGetDeviceProperty": (ctypes.c_ssize_t, _POINTER, _INT),
    "rtcNewScene": (_POINTER, _POINTER),
    "rtcReleaseScene": (None, _POINTER),
    "rtcSetSceneFlags": (None, _POINTER, _INT),
    "rtcCommitScene": (None, _POINTER),
    "rtcNewGeometry": (_POINTER, _POINTER, _INT),
    "rtcReleaseGeometry": (None, _POINTER),
    "rtcSetNewGeometryBuffer": (_POINTER, _POINTER, _INT, _UINT, _INT, _SIZE, _SIZE),
    "rtcSetGeometryInstancedScene": (None, _POINTER, _POINTER),
    "rtcSetGeometryTimeStepCount": (None, _POINTER, _UINT),
    "rtcSetGeometryTransform": (None, _POINTER, _UINT, _INT, _POINTER),
    "rtcCommitGeometry": (None, _POINTER),
    "rtcAttachGeometryByID": (None, _POINTER, _POINTER, _UINT),
}


class EmbreeError(RuntimeError):
    """Embree is missing, or did not do what it was asked to."""


def packet_width(machine: str, features: Mapping[str, bool]) -> int:
    """Rays in a packet, by what the processor's vectors hold."""
    if machine.lower() not in ("x86_64", "amd64"):
        return 4
    if all(features.get(name) for name in ("avx512f", "avx512cd", "avx512dq", "avx512bw")):
        return 16
    return 8 if features.get("avx") else 4


def _width() -> int:
    """Rays in a packet, by what kernels are compiled for: the width is compiled into them."""
    level = LIBRARIES.level() or chosen_for_numba()
    return (
        PACKETS[level] if level in PACKETS else packet_width(platform.machine(), _host_features())
    )


def _host_features() -> Mapping[str, bool]:
    from llvmlite import binding

    try:
        return dict(binding.get_host_cpu_features())
    except RuntimeError:  # not known of every platform
        return {}


# By the processor, not by what Embree says: it is the same for all kernels of a process.
WIDTH = _width()


def library_candidates(package: Path) -> Iterator[Path]:
    """Where the tools that repair wheels put a bundled library: Linux and Windows, macOS."""
    folders = (
        package.parent / "embreex.libs",
        package / ".dylibs",
        package.parent / "embreex.dylibs",
        package / ".libs",
        package,
    )
    for folder in folders:
        for file in sorted(folder.glob("*embree4*")):
            if ".so" in file.name or file.suffix in (".dll", ".dylib"):
                yield file


def find_library() -> str:
    """Path of Embree's library."""
    found = importlib.util.find_spec("embreex")
    package = None if found is None or found.origin is None else Path(found.origin).parent
    for candidate in library_candidates(package) if package else ():
        return str(candidate)
    if installed := ctypes.util.find_library("embree4") or _by_soname():
        return installed
    if package is None:
        raise EmbreeError(
            "Scenes need Embree 4, which the package embreex brings: it is not installed for "
            "this Python (pip install embreex), and none is installed for the system"
        )
    raise EmbreeError(
        f"Scenes need Embree 4: no library named *embree4* lies beside the package embreex in "
        f"{package}, and none is installed for the system"
    )


def _by_soname() -> str:
    """Embree's library as Linux's loader knows it, which needs no compiler or cache of names."""
    with contextlib.suppress(OSError):
        ctypes.CDLL(SONAME)
        return SONAME
    return ""


def load_library(path: str) -> ctypes.CDLL:
    """Embree with the prototypes of what is called; its version is checked."""
    try:
        if hasattr(os, "add_dll_directory") and Path(path).is_absolute():
            os.add_dll_directory(str(Path(path).parent))  # holds the libraries that it needs
        loaded = ctypes.CDLL(path)
        for name, (result, *arguments) in PROTOTYPES.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as failure:
        raise EmbreeError(f"Embree's library {path} cannot be used: {failure}") from failure
    return loaded


library = load_library(find_library())

#: Rays that are handed over at once where those of a packet go all ways.
HALF = 8 if WIDTH == 16 else WIDTH

#: The C function that kernels call for the nearest hit: four addresses, and it returns nothing.
INTERSECT, INTERSECT_HALF = f"rtcIntersect{WIDTH}", f"rtcIntersect{HALF}"
#: The same of what asks only whether a ray hits anything.
OCCLUDED, OCCLUDED_HALF = f"rtcOccluded{WIDTH}", f"rtcOccluded{HALF}"
for _name in (INTERSECT, OCCLUDED, INTERSECT_HALF, OCCLUDED_HALF):
    machine_code.make_known(PREFIX + _name, getattr(library, _name))


def _calling(function: str) -> Any:
    """Code that calls a function of Embree's which takes four addresses and returns nothing."""

    def emit(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils

        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)] * 4)
        called = cgutils.get_or_insert_function(builder.module, kind, PREFIX + function)
        builder.call(called, arguments)
        return target.get_dummy_value()

    return emit


@intrinsic
def intersect_packet(_context: Any, _valid: Any, _scene: Any, _rays: Any, _arguments: Any) -> Any:
    """``rtcIntersect4/8/16``: addresses of valid flags, scene, packet and arguments."""
    from numba import types

    return types.void(types.intp, types.intp, types.intp, types.intp), _calling(INTERSECT)


@intrinsic
def occlude_packet(_context: Any, _valid: Any, _scene: Any, _rays: Any, _arguments: Any) -> Any:
    """``rtcOccluded4/8/16``, likewise; the t_max of a ray that hits anything becomes -inf."""
    from numba import types

    return types.void(types.intp, types.intp, types.intp, types.intp), _calling(OCCLUDED)


@intrinsic
def intersect_half(_context: Any, _valid: Any, _scene: Any, _rays: Any, _arguments: Any) -> Any:
    """``intersect_packet`` for ``HALF`` rays."""
    from numba import types

    return types.void(types.intp, types.intp, types.intp, types.intp), _calling(INTERSECT_HALF)


@intrinsic
def occlude_half(_context: Any, _valid: Any, _scene: Any, _rays: Any, _arguments: Any) -> Any:
    """``occlude_packet`` for ``HALF`` rays."""
    from numba import types

    return types.void(types.intp, types.intp, types.intp, types.intp), _calling(OCCLUDED_HALF)


def new_device(threads: int) -> int:
    """A device; ``threads`` build its scenes, 0 stands for all processors."""
    device = library.rtcNewDevice(f"threads={threads}".encode())
    if not device:
        raise EmbreeError(f"Embree gives no device: {_error_of(None)}")
    version = library.rtcGetDeviceProperty(device, PROPERTY_VERSION)
    if version // 10000 != 4:
        library.rtcReleaseDevice(device)
        raise EmbreeError(f"Embree 4 is needed, this is version {version // 10000}")
    return int(device)


def _error_of(device: int | None) -> str | None:
    code = library.rtcGetDeviceError(device)
    return None if code == 0 else ERRORS.get(code, f"error {code}")


def check(device: int, doing: str) -> None:
    """Raise what went wrong at a device in this thread since the last check."""
    error = _error_of(device)
    if error is not None:
        raise EmbreeError(f"Embree failed while {doing}: {error}")
