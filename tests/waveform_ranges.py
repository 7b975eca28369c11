"""What presets of the full-waveform lidar read of walls: ``python -m tests.waveform_ranges FMU``.

A wall across the x axis at some ranges, of some reflectances and of retro-reflective sheeting, is
seen through the FMU by fmpy, with nothing set but scene, preset and files. Of the points within
3 deg of the wall's normal it is told: the mean of the range's error and its standard deviation,
both in mm, how many echoes a pulse has, and how many of them are the wall's by their entity. Rows
of a table in Markdown are printed.
"""

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fmpy import extract, simulate_fmu

from sensor_models.output.clouds import CloudFormat
from sensor_models.output.sinks import WriteFiles

RANGES = (1.0, 3.0, 10.0, 30.0, 99.0)
PRESETS = ("VLP-16 APD", "LMS-Q560")
#: Diffuse reflectance, and coefficient of retroreflection in 1/sr.
WALLS = {"0.1": (0.1, 0.0), "0.5": (0.5, 0.0), "0.9": (0.9, 0.0), "retro": (0.1, 300.0)}
ENTITY = 7
NEAR = np.radians(3.0)


@dataclass(frozen=True)
class Reading:
    """What was read of a wall."""

    pulses: int
    echoes: int
    of_wall: int
    bias: float  # m
    spread: float  # m


def write_wall(folder: Path, distance: float, wall: str) -> Path:
    """A scene with a wall across the x axis, as far away as it can be that wide."""
    diffuse, retro = WALLS[wall]
    surface = f"diffuse_reflectance = {diffuse}, retro_reflectance = {retro}"
    path = folder / "wall.toml"
    path.write_text(
        'format = 1\nname = "wall"\n'
        f'[materials.wall]\nkind = "lambert"\nsource = "none"\nsurface = [{{ {surface} }}]\n'
        f"[meshes.wall]\nbox = {{ size = [0.2, {0.4 * distance}, {0.3 * distance}] }}\n"
        'material = "wall"\n'
        f'[[instances]]\nmesh = "wall"\nentity_id = {ENTITY}\n'
        f"position = [{distance + 0.1}, {0.01 * distance}, {0.013 * distance}]\n"
    )
    return path


def read_wall(fmu: Path, preset: str, distance: float, wall: str, unpacked: str = "") -> Reading:
    """What a preset reads of a wall in one frame."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        values = {
            "preset": preset,
            "scene": str(write_wall(folder, distance, wall)),
            "output_directory": str(folder / "out"),
            "output_format": int(CloudFormat.npy),
            "write_files": int(WriteFiles.on),
        }
        found = simulate_fmu(
            unpacked or str(fmu), stop_time=0.2, output_interval=0.1, start_values=values,
            output=["frame.points"],
        )  # fmt: skip
        assert len(found) > 1
        points = np.load(sorted((folder / "out").rglob("*points*.npy"))[-1])
    return reading_of(points, distance)


def reading_of(points: np.ndarray, distance: float) -> Reading:
    """What points within some degrees of a wall's normal say."""
    azimuth, elevation = points["azimuth"].astype(float), points["elevation"].astype(float)
    points = points[(np.abs(azimuth) < NEAR) & (np.abs(elevation) < NEAR)]
    azimuth, elevation = points["azimuth"].astype(float), points["elevation"].astype(float)
    error = points["range"] - distance / (np.cos(azimuth) * np.cos(elevation))
    if not len(points):
        return Reading(0, 0, 0, np.nan, np.nan)
    return Reading(
        pulses=len(np.unique(np.stack([azimuth, elevation]), axis=1).T),
        echoes=len(points),
        of_wall=int((points["entity_id"] == ENTITY).sum()),
        bias=float(error.mean()),
        spread=float(error.std()),
    )


def rows(fmu: Path) -> Iterator[str]:
    """The rows of the table."""
    yield "| preset | wall | " + " | ".join(f"{distance:g} m" for distance in RANGES) + " |"
    yield "| --- " * (2 + len(RANGES)) + "|"
    unpacked = extract(str(fmu))
    for preset in PRESETS:
        for wall in WALLS:
            cells = []
            for distance in RANGES:
                own = read_wall(fmu, preset, distance, wall, unpacked)
                cell = f"{1e3 * own.bias:+.0f} ± {1e3 * own.spread:.0f}" if own.echoes else "none"
                if own.echoes != own.pulses or own.of_wall != own.echoes:
                    cell += f" ({own.echoes} echoes of {own.pulses}, {own.of_wall} the wall's)"
                cells.append(cell)
            yield f"| {preset} | {wall} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fmu", type=Path)
    for row in rows(parser.parse_args().fmu):
        print(row, flush=True)


if __name__ == "__main__":
    main()
