"""How the quick caster grows: workers, parts and facets on a cluster of this machine.

A hilly terrain is cast into a square of rays from above and ahead. Times include opening the
parts, which builds their hierarchies, as for the first view of a scene. A worker's share of the
scene is what its memory grows by; the resident memory of an idle worker is subtracted.
"""

import math
import tempfile
import time
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from sensor_models.camera.depth.parameters import DepthCameraParameters
from sensor_models.tools.caster import IdealImage, Parts, PartsWriter, View, cast
from sensor_models.tools.caster.caster import BLOCK
from sensor_models.tools.caster.part import Part
from sensor_models.tools.workers.cluster import ClusterPool
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
    opening: float  # s of processors, of all workers, for the first beyond the next
    casting: float  # s of processors, of all workers, for the next
    memory: float  # MB, the most that a worker grew by
    image: IdealImage


def measure(parts: Parts, workers: int, view: View = VIEW) -> Casting:
    """Cast a scene twice with so many workers."""
    with local_cluster(workers) as cluster, ClusterPool(cluster.scheduler_address) as pool:
        client = pool.client
        client.run(_warm)
        idle = client.run(_resident)
        times, busy, image = [time.perf_counter()], [_busy(client)], None
        for _ in range(2):
            image = cast(parts, view, pool)
            times.append(time.perf_counter())
            busy.append(_busy(client))
        grown = {key: value - idle[key] for key, value in client.run(_resident).items()}
    first, again = np.diff(times).tolist()
    both, casting = np.diff(busy).tolist()
    assert image is not None
    return Casting(first, again, both - casting, casting, max(grown.values()), image)


def _busy(client: Any) -> float:
    """Seconds of processors that the workers took so far."""
    return float(sum(client.run(time.process_time).values()))


def _warm() -> None:
    """Have the worker import and compile what it will need."""
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


def bars(facets: int = FACETS, turns: int = 2) -> list[Bar]:
    """The bars of the quick caster: the best of some turns, in which all are measured."""
    found: dict[tuple[int, int], Casting] = {}
    differ = 0
    with tempfile.TemporaryDirectory() as folder:
        scenes = {parts: hills(Path(folder) / str(parts), facets, parts) for parts in (1, 2, 8)}
        for _ in range(turns):
            for parts, workers in ((1, 1), (2, 2), (8, 1), (8, 2)):
                own = measure(scenes[parts], workers)
                best = found.setdefault((parts, workers), own)
                differ += not same(next(iter(found.values())).image, own.image)
                if own.first < best.first:
                    found[parts, workers] = own
    detail = ", ".join(
        f"{p} parts {w} workers: {c.first:.1f} s, again {c.again:.1f} s, "
        f"processors {c.opening:.1f} + {c.casting:.1f} s, {c.memory:.0f} MB"
        for (p, w), c in found.items()
    )
    return [
        Bar("quick caster, two workers over one, 8 parts",
            found[8, 2].first / found[8, 1].first, 0.6, "", detail),
        Bar("quick caster, two workers over one, whole scene",
            found[2, 2].first / found[1, 1].first, 0.6, "", "1 part against 2"),
        Bar("quick caster, memory of a worker over its share",
            found[8, 2].memory / found[8, 1].memory, 0.6, "", "8 parts on 2 and 1 workers"),
        Bar("quick caster, images that differ", float(differ), 0.0, "", "in any bit"),
    ]  # fmt: skip


#: Facets, sides of the square of rays, parts: one grows, the others stay.
GROWING = (
    (100_000, 2000, 1),
    (1_000_000, 2000, 1),
    (10_000_000, 2000, 1),
    (1_000_000, 500, 8),
    (1_000_000, 1000, 8),
    (1_000_000, 2000, 8),
    (1_000_000, 4000, 8),
    (1_000_000, 2000, 32),
    (1_000_000, 2000, 128),
    (10_000_000, 2000, 8),
    (30_000_000, 2000, 1),
    (30_000_000, 2000, 8),
)


def growth() -> None:
    """A table of time and memory over facets, parts and rays, for docs/quick_caster.md.

    It is the work of one worker that has all parts. Seconds are those of its processor: other
    programs on the machine change them less than those of a clock.
    """
    print("| facets | rays | parts | opening s | rays s | casting s | answers MB | memory MB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    context = get_context("spawn")
    for facets, side, count in GROWING:
        with tempfile.TemporaryDirectory() as folder:
            parts = hills(Path(folder), facets, count)
            with context.Pool(1) as alone:
                figures = alone.apply(work_of, (parts, side))
        cells = " | ".join(f"{figure:.3g}" for figure in figures)
        print(f"| {facets:.0e} | {side}² | {count} | {cells} |", flush=True)


def work_of(parts: Parts, side: int) -> tuple[float, ...]:
    """What a worker takes that has all parts, as in the table of ``growth``."""
    _warm()
    view = replace(VIEW, optics=replace(VIEW.optics, width=side, height=side))
    idle, start = _resident(), time.process_time()
    opened = [Part(parts, number) for number in range(len(parts.parts))]
    opening, memory = time.process_time() - start, _resident() - idle
    sending, answers, step = 0.0, 0, max(1, BLOCK // side)
    start = time.process_time()
    for part in opened:
        for first in range(0, side, step):
            begun = time.process_time()
            origin, directions = view.rays(first, min(step, side - first))
            sending += time.process_time() - begun
            hits = part.cast_rays(origin, directions, min(step, side - first))
            answers += sum(array.nbytes for array in hits)
    casting = time.process_time() - start - sending
    return opening, sending, casting, answers / 1e6, memory


if __name__ == "__main__":
    growth()
