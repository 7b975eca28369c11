"""Runs of the FMU ``Lidar`` that tests make, the scenes that they write, and what came of it."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fmus.host import Instance

Points = NDArray[np.void]
Floats = NDArray[np.float64]

#: A street along x between two walls, with a third across it, each the box of one entity.
STREET = """
[meshes.side]
box = { size = [400, 1, 60] }
material = "concrete"

[meshes.end]
box = { size = [1, 60, 60] }
material = "brick"

[[instances]]
mesh = "side"
position = [0, 8.5, 0]
entity_id = 1

[[instances]]
mesh = "side"
position = [0, -8.5, 0]
entity_id = 2

[[instances]]
mesh = "end"
position = [60.5, 0, 0]
entity_id = 3
"""
HALF_WIDTH, END, LENGTH = 8.0, 60.0, 200.0

#: A wall across the x axis with a box on a body before it. The body goes by the name of one for
#: which the FMU ``Environment`` has inputs.
WAGON = """
[meshes.wall]
box = { size = [1, 40, 40] }
material = "concrete"

[meshes.wagon]
box = { size = [2, 6, 6] }
material = "brick"

[[bodies]]
name = "vehicle_1"
position = [20, 0, 0]

[[instances]]
mesh = "wall"
position = [40.5, 0, 0]
entity_id = 1

[[instances]]
mesh = "wagon"
body = "vehicle_1"
entity_id = 7
"""
#: From the middle of the wagon to the face that looks along -x.
HALF_WAGON = 1.0

GRID, SPINNING = 0, 1
INSTANT, ROLLING = 0, 1
NPY = 4
ROWS, COLUMNS = 4, 90
#: A small spinning lidar at 10 Hz.
SMALL: dict[str, Any] = {
    "pattern.type": SPINNING,
    "pattern.rows": ROWS,
    "pattern.columns": COLUMNS,
    "pattern.endpoint": False,
    "pattern.elevation.min": -0.2,
    "pattern.elevation.max": 0.2,
    "scan_mode": ROLLING,
    "sample_rate": 10.0,
    "output_format": NPY,
}
PERIOD = 0.1
NOISE = {
    "noise.distance_sigma_base": 0.02,
    "noise.azimuth_sigma": 1e-3,
    "noise.elevation_sigma": 1e-3,
    "detection_probability": 0.9,
}
#: Of numbers that are stored in 32 bits, with a few roundings on the way.
FLOAT32 = 5e-7

SPEED, TURN_RATE = 20.0, 0.8


def begin(lidar: Instance, scene: str, folder: Path, **parameters: Any) -> None:
    """Initialise a small lidar."""
    where = {"scene": scene, "output_directory": str(folder)}
    lidar.initialize({**SMALL, **where, **parameters})


def body_at(time: float, speed: float = SPEED, turn_rate: float = TURN_RATE) -> dict[str, float]:
    """The inputs for a body that goes along x and turns about z, both evenly."""
    return {
        "body.position.x": speed * time,
        "body.velocity.x": speed,
        "body.orientation.w": math.cos(0.5 * turn_rate * time),
        "body.orientation.z": math.sin(0.5 * turn_rate * time),
        "body.angular_velocity.z": turn_rate,
    }


def steps_of(length: float, end: float) -> list[tuple[float, float]]:
    """Starts and lengths of equal steps up to an instant."""
    count = round(end / length)
    return [(k * end / count, end / count) for k in range(count)]


def drive(lidar: Instance, steps: Iterable[tuple[float, float]], *, at_end: bool = False) -> None:
    """Steps along the street."""
    for start, step in steps:
        lidar.set(body_at(start + step * at_end))
        lidar.step(start, step)


def index_of(folder: Path) -> list[dict[str, Any]]:
    """The lines of the index; the first one has the parameters."""
    lines = (folder / "index.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of clouds by their names."""
    return {file.name: file.read_bytes() for file in sorted(folder.glob("*.points.*"))}


def clouds_of(folder: Path) -> list[Points]:
    """The points of each frame."""
    return [np.load(file) for file in sorted(folder.glob("*.points.npy"))]


def places(points: Points) -> Floats:
    """Where points are, (n, 3)."""
    return np.stack([points[axis] for axis in "xyz"], axis=1).astype(float)


def directions(points: Points) -> Floats:
    """Where the rays of a small lidar went in the sensor frame, (n, 3); exact, without jitter."""
    column = np.rint((math.pi - points["azimuth"]) * COLUMNS / math.tau)
    azimuth = math.pi - math.tau * column / COLUMNS
    elevation = 0.2 - 0.4 * points["ring"] / (ROWS - 1)
    np.testing.assert_allclose(elevation, points["elevation"], rtol=0.0, atol=1e-7)
    level = np.cos(elevation)
    return np.stack([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)], axis=1)


def turned(vectors: Floats, angles: Floats | float) -> Floats:
    """Vectors turned about z, each by its own angle or all by the same."""
    cosine, sine = np.cos(angles), np.sin(angles)
    x, y, z = vectors.T
    return np.stack([cosine * x - sine * y, sine * x + cosine * y, z], axis=1)


def in_the_street(origins: Floats, along: Floats) -> Floats:
    """The range of rays to the walls of the street, infinite for a miss."""
    with np.errstate(divide="ignore", invalid="ignore"):
        side = (np.copysign(HALF_WIDTH, along[:, 1]) - origins[:, 1]) / along[:, 1]
        end = np.where(along[:, 0] > 0.0, (END - origins[:, 0]) / along[:, 0], np.inf)
    nearest = np.minimum(side, end)
    reached = origins + nearest[:, None] * along
    return np.where(reached[:, 0] > -LENGTH, nearest, np.inf)


def expected_ranges(points: Points, instants: Floats | float) -> Floats:
    """The ranges of points on a drive along the street, of the instants of their rays."""
    times = np.broadcast_to(instants, points.shape)
    origins = np.zeros((len(points), 3))
    origins[:, 0] = SPEED * times
    return in_the_street(origins, turned(directions(points), TURN_RATE * times))


def check_ranges(points: Points, instants: Floats | float) -> None:
    """Whether points are as far away as the walls, to a millimetre.

    Corners of the walls' triangles lie 200 m apart in 32 bits, which moves a wall by 1e-5 m, and
    a grazing ray by many times that.
    """
    expected = expected_ranges(points, instants)
    np.testing.assert_allclose(points["range"], expected, rtol=0.0, atol=1e-3)


def parameters_in(folder: Path) -> Mapping[str, Any]:
    """The effective parameters, as the index has them."""
    parameters: dict[str, Any] = index_of(folder)[0]["parameters"]
    return parameters
