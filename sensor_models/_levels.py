"""The processors that libraries of kernels are made for: the levels of x86-64, and 64-bit ARM.

Each level names the instructions that all of its processors have, and LLVM knows it as a processor:
v2 SSE4.2 and POPCNT, v3 AVX2, FMA and BMI2, v4 AVX-512 (F, BW, CD, DQ, VL).

For Linux on ARM there is one level, which all of its 64-bit processors have. Numba compiles for the
machine that it runs on only, so LLVM makes the library from what was optimised for v2, whose
vectors are as wide (128 bits).

Source: System V Application Binary Interface, AMD64 supplement, table 3.1.
"""

import os
import platform
import sys
from collections.abc import Iterable

#: The lowest first.
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")

#: What LLVM is told of a level besides its name. By itself it takes vectors of 256 bits for v4, as
#: the first processors of that level become slower with wider ones. Embree uses the wide ones in
#: any case, and with them a lidar's frame takes an eighth less time.
FEATURES = {"x86-64-v4": "-prefer-256-bit"}

#: FMI's name of Linux on ARM, its only level, and the level of x86-64 that it is made from.
ARM_LINUX, ARM_LEVEL, ARM_IS_MADE_FROM = "aarch64-linux", "armv8-a", LEVELS[0]

_PLATFORMS = {"linux": "linux64", "win32": "win64", "darwin": "darwin64"}


def this_platform() -> str:
    """FMI's name for this machine, "" if no libraries are made for its processor."""
    if sys.platform == "linux" and platform.machine() == "aarch64":
        return ARM_LINUX
    is_x86 = platform.machine().lower() in ("x86_64", "amd64") and sys.maxsize > 2**32
    return _PLATFORMS.get(sys.platform, "") if is_x86 else ""


def levels_of(platform_name: str) -> tuple[str, ...]:
    """The levels of a platform's processors, the lowest first."""
    return (ARM_LEVEL,) if platform_name == ARM_LINUX else LEVELS


def platforms_at(level: str, platforms: Iterable[str]) -> list[str]:
    """Those of some platforms that get a library from what is compiled for a level of x86-64."""
    return [p for p in platforms if p != ARM_LINUX or level == ARM_IS_MADE_FROM]


def variables_of(level: str) -> dict[str, str]:
    """The environment variables that have Numba compile for a level."""
    return {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": FEATURES.get(level, "")}


def chosen_for_numba() -> str:
    """The level that Numba is told to compile for, "" if that is for this processor alone."""
    name = os.environ.get("NUMBA_CPU_NAME", "")
    chosen = {key: os.environ.get(key, "") for key in variables_of(name)}
    is_level = name in LEVELS and "NUMBA_CPU_FEATURES" in os.environ
    return name if is_level and chosen == variables_of(name) else ""


def host_level() -> str:
    """The best level that this processor has, "" if it has none; by LLVM, for builds."""
    if this_platform() in ("", ARM_LINUX):
        return ""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if not (features.get("sse4.2") and features.get("popcnt")):
        return ""
    if not all(features.get(name) for name in ("avx2", "fma", "bmi", "bmi2", "f16c", "movbe")):
        return LEVELS[0]
    wide = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
    return LEVELS[2 if all(features.get(name) for name in wide) else 1]
