"""How the quick caster grows: workers, parts and facets on a cluster of this machine.

A hilly terrain is cast into a square of rays from above and ahead. Times include opening the
parts, which builds their hierarchies, as for the first view of a scene. A worker's share of the
scene is what its memory grows by; the resident memory of an idle worker is subtracted.
"""

import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sensor_models.camera.parameters import DepthCameraParameters
from sensor_models.caster import IdealImage, Parts, PartsWriter, View, cast
from sensor_models.crew.cluster import ClusterCrew
from tests.bench.bars import Bar
from tests.clusters import local_cluster

FACETS = 10_000_000
SIDE = 2000  # m
#: Looks down by 0.5 rad over the terrain.
ORIENTATION = (math.cos(0.25), 0.0, math.sin(0.25), 0.0)
VIEW = View(
    DepthCameraParameters(width=2000, height=2000, horizontal_fov=1.2),
    (-900.0, 0.0, 400.0),
    ORIENTATION,
)


def hills(directory: Path, facets: int, parts: int) -> Parts:
    """Write a terrain of about so many facets."""
    cells = round(math.sqrt(facets / 2))
    ticks = np.linspace(-SIDE / 2, SIDE / 2, cells + 1, dtype=np.float32)
    x, y = np.meshgrid(ticks, ticks, indexing="ij")
    z = 30.0 * np.sin(x / 70.0) * np.cos(y / 90.0) + 2.0 * np.sin(x / 3.0 + y / 4.0)
    vertices = np.stack([x, y, z], axis=-1, dtype=np.float32).reshape(-1, 3)
    corner = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).astype(np.uint32)
    quads = np.stack([corner, corner + cells + 1, corner + cells + 2, corner + 1], axis=-1)
    faces = quads[..., [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    writer = PartsWriter(directory, most_facets=-(-len(faces) // parts))
    writer.add(vertices, faces)
    return writer.finish()


@dataclass(frozen=True)
class Casting:
    """How a scene was cast."""

    first: float  # s, with the parts being opened
    again: float  # s, with the parts at hand
    memory: float  # MB, the most that a worker grew by
    image: IdealImage


def measure(parts: Parts, workers: int) -> Casting:
    """Cast a scene twice with so many workers."""
    with local_cluster(workers) as cluster, ClusterCrew(cluster.scheduler_address) as crew:
        client = crew.client
        client.run(_warm)
        idle = client.run(_resident)
        start = time.perf_counter()
        image = cast(parts, VIEW, crew)
        first = time.perf_counter() - start
        grown = {key: value - idle[key] for key, value in client.run(_resident).items()}
        start = time.perf_counter()
        cast(parts, VIEW, crew)
        again = time.perf_counter() - start
    return Casting(first, again, max(grown.values()), image)


def _warm() -> None:
    """Have the worker import and compile what it will need."""
    from sensor_models.caster.part import Part

    with tempfile.TemporaryDirectory() as folder:
        writer = PartsWriter(folder)
        writer.add(np.eye(3), [[0, 1, 2]])
        Part(writer.finish(), 0).cast(View(DepthCameraParameters(width=8, height=8)), 0, 8)


def _resident() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return float(line.split()[1]) / 1024.0


def same(one: IdealImage, other: IdealImage) -> bool:
    """Whether two images have the same bits."""
    return all(
        np.array_equal(values, getattr(other, name), equal_nan=True)
        for name, values in vars(one).items()
    )


def bars(facets: int = FACETS) -> list[Bar]:
    """The bars of the quick caster."""
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for parts, workers in ((1, 1), (2, 1), (2, 2), (8, 1), (8, 2)):
            directory = Path(folder) / str(parts)
            scene = hills(directory, facets, parts)
            found[parts, workers] = measure(scene, workers)
    alone = found[2, 1]
    equal = all(same(alone.image, other.image) for other in found.values())
    detail = ", ".join(
        f"{p} parts {w} workers: {c.first:.1f} s, again {c.again:.1f} s, {c.memory:.0f} MB"
        for (p, w), c in found.items()
    )
    return [
        Bar("quick caster, two workers over one, 8 parts",
            found[8, 2].first / found[8, 1].first, 0.6, "", detail),
        Bar("quick caster, two workers over one, whole scene",
            found[2, 2].first / found[1, 1].first, 0.6, "", "1 part against 2"),
        Bar("quick caster, memory of a worker over its share",
            found[8, 2].memory / found[8, 1].memory, 0.6, "", "8 parts on 2 and 1 workers"),
        Bar("quick caster, images that differ", float(not equal), 0.0, "", "in any bit"),
    ]  # fmt: skip


def growth() -> None:
    """A table of time and memory over facets, for docs/quick_caster.md."""
    print("| facets | parts | workers | first image s | next image s | MB a worker |")
    print("| --- | --- | --- | --- | --- | --- |")
    for facets in (100_000, 1_000_000, 10_000_000, 30_000_000):
        for parts, workers in ((1, 1), (8, 1), (8, 2)):
            with tempfile.TemporaryDirectory() as folder:
                found = measure(hills(Path(folder), facets, parts), workers)
            figures = f"{found.first:.1f} | {found.again:.1f} | {found.memory:.0f}"
            print(f"| {facets:.0e} | {parts} | {workers} | {figures} |", flush=True)


if __name__ == "__main__":
    growth()
