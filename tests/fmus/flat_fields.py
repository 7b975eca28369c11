"""Flat fields through the FMU CcdCamera: a wall that glows evenly, at a row of exposure times.

The photons that a pixel gets follow from the radiance in closed form.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sensor_models.output.images import ImageFormat
from tests.fmus.host import open_fmu

RADIANCE = 2e6  # W/m2/sr/m, from 300 to 1100 nm
GLOW = f"""
[materials.glow]
kind = "lambert"
source = "none"
surface = [{{ diffuse_reflectance = 0 }}]
emission = [[300e-9, {RADIANCE}], [1100e-9, {RADIANCE}]]
[meshes.glow]
box = {{ size = [0.1, 100, 100] }}
material = "glow"
[[instances]]
mesh = "glow"
position = [10, 0, 0]
"""
COLUMNS, ROWS, PITCH = 240, 160, 4.65e-6
CHIP = {
    "qe": 0.6, "system_gain": 0.25, "read_noise": 4.0, "full_well": 15000.0, "dark_current": 0.0,
}  # fmt: skip
#: A lens that is far from its chip lights it evenly; the filter lets pass 400 to 700 nm.
CAMERA = {
    "sensor.model": 1, "bands": 1, "bit_depth": 12, "gamma": 1.0, "light.rays": 1,
    "pixels.width": COLUMNS, "pixels.height": ROWS,
    "ccd_size.width": COLUMNS * PITCH, "ccd_size.height": ROWS * PITCH,
    "focal_length": 1.0, "image_distance": 1.0, "f_number": 4.0, "lens_transmission": 0.9,
    "infrared_filter": True, "sample_rate": 20.0, "segmentation": False, "write_files": 1 + 1,
    "output_format": int(ImageFormat.npy),
    **{f"sensor.{name}": value for name, value in CHIP.items()},
}  # fmt: skip
BACK = {"body.orientation.w": 0.0, "body.orientation.z": 1.0}


def photons_a_second() -> float:
    """Of a pixel: E = pi L V / (4 N^2) over its area, with the wavelength over h c."""
    planck, light = 6.62607015e-34, 299792458.0
    irradiance = math.pi * RADIANCE * CAMERA["lens_transmission"] / (4.0 * CAMERA["f_number"] ** 2)
    return irradiance * PITCH**2 * (700e-9**2 - 400e-9**2) / 2.0 / (planck * light)


def take(
    fmu: Path, scene: str, folder: Path, exposures: Sequence[float], more: Mapping[str, Any]
) -> list[Path]:
    """The files of frames of these exposure times."""
    period = 1.0 / {**CAMERA, **more}["sample_rate"]
    with open_fmu(fmu) as camera:
        own: dict[str, Any] = {"scene": scene, "output_directory": str(folder), **CAMERA}
        camera.initialize({**own, "exposure": exposures[0], **more})
        for number, time in enumerate([*exposures, exposures[-1]]):
            camera.set({"exposure": time})
            camera.step(period * number, period)
        camera.terminate()
        assert camera.get("frame.lost") == 0
    lines = [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]
    frames = [line for line in lines if "exposure" in line][: len(exposures)]
    np.testing.assert_allclose([frame["exposure"] for frame in frames], exposures, rtol=1e-9)
    return [folder / frame["file"] for frame in frames]
