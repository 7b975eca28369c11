"""The chip of the FMU CcdCamera by EMVA's reference implementation of its standard 1288.

A wall that glows evenly is taken at a row of exposure times, and the same again in the dark. The
package ``emva1288`` works out gain, quantum efficiency, noise, full well and non-uniformities from
the files and the photons a pixel, which follow from the radiance in closed form. It must find what
was set.

Two chips: an even one, and one with fixed patterns. These change two of the even one's numbers, as
they do in a real chip: half of the pixels have dark electrons by the DSNU, and those have shot
noise; and pixels that saturate one after the other lower the level of the largest variance,
which is what the standard calls saturation.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fmus.flat_fields import BACK, CHIP, COLUMNS, GLOW, PITCH, ROWS, photons_a_second, take
from tests.sensor_models.scene_files import write_manifest

pytest.importorskip("emva1288", reason="needs emva1288, EMVA's implementation of its standard")

from emva1288.process.data import Data1288
from emva1288.process.loader import LoadImageData
from emva1288.process.results import Results1288

PATTERNS = {"dsnu": 3.0, "prnu": 0.005}
#: Shares of a full well: the sensitivity is fitted up to 70 %, saturation found near 100 %.
LEVELS = [*np.arange(0.02, 0.9, 0.04), *np.arange(0.9, 1.06, 0.01)]
SPATIAL, STACK = 0.5, 40


def exposures() -> list[float]:
    """Two frames a level, then those for the fixed patterns."""
    full = CHIP["full_well"] / CHIP["qe"] / photons_a_second()
    return [full * level for level in LEVELS for _ in range(2)] + [full * SPATIAL] * STACK


def images_of(bright: list[Path], dark: list[Path]) -> dict[str, Any]:
    """Files by kind, exposure time and photons, as the package wants them."""
    times, pairs = exposures(), 2 * len(LEVELS)
    temporal: dict[float, Any] = {}
    for first in range(0, pairs, 2):
        own = {0.0: dark[first : first + 2]}
        own[times[first] * photons_a_second()] = bright[first : first + 2]
        temporal[times[first]] = {p: list(map(str, files)) for p, files in own.items()}
    stacks = {0.0: dark[pairs:], times[-1] * photons_a_second(): bright[pairs:]}
    spatial = {times[-1]: {p: list(map(str, files)) for p, files in stacks.items()}}
    return {"temporal": temporal, "spatial": spatial}


def load(path: str, **_: Any) -> np.ndarray:
    return np.load(path).reshape(ROWS, COLUMNS)


def found(fmu: Path, folder: Path, patterns: dict[str, float]) -> dict[str, float]:
    """What the package finds."""
    scene = str(write_manifest(folder, GLOW))
    own = {f"sensor.{name}": value for name, value in patterns.items()}
    bright = take(fmu, scene, folder / "bright", exposures(), own)
    dark = take(fmu, scene, folder / "dark", exposures(), {**own, **BACK})
    with pytest.MonkeyPatch.context() as patch:
        # version 1.0.2 calls a function that NumPy 2 has no more
        patch.setattr(np, "asfarray", lambda a: np.asarray(a, float), raising=False)
        loaded = LoadImageData(images_of(bright, dark), fload=load)
        results = Results1288(Data1288(loaded.data).data, pixel_area=(1e6 * PITCH) ** 2)
        numbers = {
            "gain": results.K,
            "quantum efficiency": results.QE / 100.0,
            "dark noise": results.sigma_d,
            "full well": results.u_e_sat,
        }
        if patterns:
            numbers |= {"dsnu": results.DSNU1288, "prnu": results.PRNU1288 / 100.0}
    return {name: float(value() if callable(value) else value) for name, value in numbers.items()}


def test_an_even_chip_has_the_numbers_that_were_set(fmu_directory: Path, tmp_path: Path) -> None:
    numbers = found(fmu_directory / "CcdCamera.fmu", tmp_path, {})
    print(numbers)
    assert numbers["gain"] == pytest.approx(CHIP["system_gain"], rel=0.02)
    assert numbers["quantum efficiency"] == pytest.approx(CHIP["qe"], rel=0.02)
    assert numbers["dark noise"] == pytest.approx(CHIP["read_noise"], rel=0.02)
    assert numbers["full well"] == pytest.approx(CHIP["full_well"], rel=0.02)


def test_a_chip_with_fixed_patterns_has_them(fmu_directory: Path, tmp_path: Path) -> None:
    numbers = found(fmu_directory / "CcdCamera.fmu", tmp_path, PATTERNS)
    print(numbers)
    assert numbers["dsnu"] == pytest.approx(PATTERNS["dsnu"], rel=0.05)
    assert numbers["prnu"] == pytest.approx(PATTERNS["prnu"], rel=0.05)
    assert numbers["gain"] == pytest.approx(CHIP["system_gain"], rel=0.02)
    assert numbers["quantum efficiency"] == pytest.approx(CHIP["qe"], rel=0.02)
    # of a normal law around 0 the positive half has a mean of sigma / sqrt(2 pi)
    electrons = PATTERNS["dsnu"] / math.sqrt(2.0 * math.pi)
    noise = math.sqrt(CHIP["read_noise"] ** 2 + electrons)
    assert numbers["dark noise"] == pytest.approx(noise, rel=0.02)
