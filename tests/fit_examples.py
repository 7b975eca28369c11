"""Data for the examples of docs/fitting.md: ``python -m tests.fit_examples DIRECTORY``.

Each is made with numbers that are known, by generators that are not ours.
"""

import math
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from tests import noise_generators as make


def still_log(folder: Path, samples: int = 20_000) -> Path:
    """A gyroscope with N = 1e-3, B = 3e-4, K = 3e-5, and one axis of an accelerometer in steps."""
    rng = np.random.default_rng(11)
    rate = 20.0
    columns = {"time": np.arange(samples) / rate}
    for axis in "xyz":
        columns[f"gyro_{axis}"] = make.own(samples, rate, rng, 1e-3, 3e-4, 3e-5)
    step = 0.02
    columns["acc_z"] = step * np.rint((9.81 + 0.1 * rng.standard_normal(samples)) / step)
    return write_table(folder / "still.csv", columns)


def write_table(path: Path, columns: dict[str, np.ndarray]) -> Path:
    table = np.stack(list(columns.values()), axis=1)
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="", fmt="%.12g")
    return path


def flat_fields(folder: Path) -> Path:
    """Frames of 100 x 80 pixels: K = 0.2, 8 electrons of noise, 15000 of full well, QE 0.5."""
    rng = np.random.default_rng(3)
    description = []
    for number, photons in enumerate((0.0, 500.0, 3000.0, 9000.0, 20_000.0, 60_000.0)):
        for frame in range(3):
            electrons = rng.poisson(0.5 * photons, (80, 100)) + rng.normal(0.0, 8.0, (80, 100))
            counts = np.clip(np.rint(0.2 * np.minimum(electrons, 15_000) + 60.0), 0, 4095)
            Image.fromarray(counts.astype(np.uint16)).save(folder / f"level{number}-{frame}.png")
        dark = "true" if photons == 0.0 else "false"
        description.append(
            f'[[frames]]\nfiles = ["level{number}-*.png"]\nexposure = 0.01\n'
            f"dark = {dark}\nphotons = {photons}\n"
        )
    (folder / "frames.toml").write_text("\n".join(description))
    return folder


def wall_clouds(folder: Path) -> Path:
    """Four beams on walls at 5 and 20 m: 0.03 m of noise, 3000 of 3200 rays come back."""
    rng = np.random.default_rng(4)
    kind = np.dtype([(f, "<f4") for f in ("x", "y", "z", "intensity")] + [("ring", "<u2")])
    for name, distance in (("near", 5.0), ("far", 20.0)):
        for frame in range(2):
            ring = rng.integers(0, 4, 3000)
            elevation, azimuth = np.radians(2.0 * ring - 3.0), rng.uniform(-0.2, 0.2, 3000)
            level = np.cos(elevation)
            u = (level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation))
            r = distance / u[0] + rng.normal(0.0, 0.03, 3000)
            points = np.zeros(3000, kind)
            for axis, direction in zip("xyz", u, strict=True):
                points[axis] = r * direction
            points["intensity"], points["ring"] = np.rint(60.0 * u[0]), ring
            if frame == 0:
                np.save(folder / f"{name}-0.npy", points)
                continue
            head = (
                "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z intensity ring\nSIZE 4 4 4 4 2\n"
                "TYPE F F F F U\nCOUNT 1 1 1 1 1\nWIDTH 3000\nHEIGHT 1\nPOINTS 3000\nDATA binary\n"
            )
            (folder / f"{name}-1.pcd").write_bytes(head.encode() + points.tobytes())
    (folder / "walls.toml").write_text(
        '[[frames]]\nfiles = ["near-*"]\ndistance = 5.0\nnormal = [1, 0, 0]\n'
        "reflectance = 0.6\nrays = 3200\n"
        '[[frames]]\nfiles = ["far-*"]\nelevation = [-4, 4]\n'
    )
    return folder


def wall_depths(folder: Path) -> Path:
    """Walls at 1, 2 and 4 m by a pair of 500 pixels and 0.1 m: 0.1 pixels, 5 % holes."""
    rng = np.random.default_rng(5)
    description = "focal_length = 500.0\nbaseline = 0.1\n"
    for z in (1.0, 2.0, 4.0):
        disparity = 500.0 * 0.1 / z + 0.1 * rng.standard_normal((48, 64))
        depth = np.rint(1e3 * 50.0 / disparity).astype(np.uint16)
        depth[rng.random(depth.shape) < 0.05] = 0
        Image.fromarray(depth).save(folder / f"wall-{z:g}.png")
        description += f'[[frames]]\nfiles = ["wall-{z:g}.png"]\ndistance = {z}\n'
    (folder / "walls.toml").write_text(description)
    return folder


def roof_log(folder: Path) -> Path:
    """A still receiver: 1.5 m over 40 s, and 0.4 m in each fix."""
    rng = np.random.default_rng(6)
    n = 3000
    lasting = [make.gauss_markov(n, 1.0, 1.5, 40.0, rng) for _ in range(3)]
    east, north, up = np.array(lasting) + 0.4 * rng.standard_normal((3, n))
    columns = {"t": np.arange(n), "lat": 48.0 + north / 111_200.0, "lon": 11.0 + east / 74_600.0}
    return write_table(folder / "roof.csv", {**columns, "alt": up})


def turn_log(folder: Path) -> Path:
    """An encoder of 2048 codes that turns with 3 rad/s, with 1 mrad of noise."""
    rng = np.random.default_rng(7)
    time = np.arange(4000) * 1e-3
    step = math.tau / 2048
    codes = np.floor((3.0 * time + rng.normal(0.0, 1e-3, 4000)) / step) % 2048
    return write_table(folder / "turn.csv", {"time": time, "position": step * codes})


def main() -> None:
    folder = Path(sys.argv[1])
    for name in ("flat", "clouds", "depths"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    still_log(folder, 144_000)
    flat_fields(folder / "flat")
    wall_clouds(folder / "clouds")
    wall_depths(folder / "depths")
    roof_log(folder)
    turn_log(folder)


if __name__ == "__main__":
    main()
