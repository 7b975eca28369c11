"""What radars cost.

Cone: a step of its model with few obstacles, with many, and beside a loop.

Obstacles are boxes of 12 triangles, or 6 quads, spread in the cone. The peer is the same search
over the same lines without a hierarchy, compiled: each line of each face, one after the other.

Ray traced: the FMU in the yard by all defaults, frames back to back with files and noise, while the
bodies and the radar move; the model alone, from the tubes to the list of targets, and its time
against bare tracing of as many rays as it has tubes, in the same run; and both syntheses of 100,000
paths.
"""

import math
import tempfile
import time
from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sensor_models.kernels.radar.cone import Cone, nearest_of_line
from sensor_models.output.sinks import WriteFiles
from sensor_models.radar import ConeParameters, ConeRadar, Obstacles, obstacles_of
from sensor_models.radar.cone import cone_of
from sensor_models.radar.ray_parameters import (
    RayTracedParameters,
    Synthesis,
    TracingParameters,
)
from sensor_models.radar.ray_traced import Motion, Paths, RayTracedRadar, new_pages
from sensor_models.radar.targets import Detector
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Instance, Scene
from sensor_models.scene.registry import open_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.threads.pool import processors
from tests import oracles_rays as twin
from tests.bench.bars import Bar, best_in_turns
from tests.bench.lidar import running
from tests.masters.fmu_files import FmuFiles
from tests.smallest_scene import smallest_scene

STILL = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
NOBODY = np.zeros((0, 7))
LINES = 1000
TURNS, REPEATS = 15, 10
#: Frames of the FMU each second, how many are taken, and how fast the radar goes, m/s.
RATE, FRAMES, SPEED = 50.0, 8, 5.0
#: Corners of a box, and its sides as triangles that make no quads, 12 faces.
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
TRIANGLES = [[a, b, c] for a, b, c, _ in SIDES] + [[a, c, d] for a, _, c, d in SIDES]


def boxes(count: int, length: float) -> Scene:
    """Boxes of 1 m all over the cone, each an obstacle."""
    random = np.random.default_rng(3)
    mesh = twin.mesh_of(CORNERS, np.array(TRIANGLES))
    instances = []
    for number in range(count):
        transform = np.eye(4)
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        transform[:3, :3] = turn
        forward = random.uniform(0.1, 0.95) * length
        transform[:3, 3] = forward * np.array([1.0, *random.uniform(-0.35, 0.35, 2)])
        instances.append(Instance(0, transform, number + 1))
    return twin.scene_of(mesh, instances=tuple(instances))


@njit(cache=False)
def line_by_line(cone: Cone, corners: NDArray[np.float64], lines: int) -> float:
    """The nearest of all lines of all faces, (faces, 4, 3)."""
    least = math.inf
    for face in corners:
        for number in range(lines):
            share = number / (lines - 1)
            start = face[0] + share * (face[3] - face[0])
            way = face[1] + share * (face[2] - face[1]) - start
            q, d = (start[0], start[1], start[2]), (way[0], way[1], way[2])
            least = min(least, nearest_of_line(cone, q, d, 0.0)[0])
    return least


def faces_in_cone(obstacles: Obstacles) -> NDArray[np.float64]:
    """The corners of all faces of all instances in the axes of the cone."""
    tables = obstacles.tables
    at = tables.vertices[tables.faces].astype(float)
    moved = np.einsum("iab,fcb->ifca", tables.transforms[:, :, :3], at)
    moved += tables.transforms[:, None, None, :, 3]
    return np.ascontiguousarray(moved.reshape(-1, 4, 3)[:, :, [1, 2, 0]])


def milliseconds(call: Callable[[], object]) -> Callable[[], float]:
    """The time of a call."""

    def measured() -> float:
        start = time.perf_counter()
        for _ in range(REPEATS):
            call()
        return 1e3 * (time.perf_counter() - start) / REPEATS

    return measured


def bars(files: FmuFiles) -> list[Bar]:
    """All bars of radars."""
    return [*cone_bars(), driven(files), *yard_bars(), *synthesis_bars()]


def driven(files: FmuFiles) -> Bar:
    """Frames of the FMU back to back, with files, among bodies that move; the best of some."""
    took = []
    with tempfile.TemporaryDirectory() as folder, open_scene("yard") as world:
        values = {
            "model": 1,
            "sample_rate": RATE,
            "write_files": WriteFiles.on,
            "output_directory": folder,
            "scene_handle": world.number,
            "body.position.z": 1.0,
        }
        bodies = world.states().bodies.copy()
        bodies[:, 7:9], begin = (3.0, 1.0), bodies[:, :2].copy()
        with running(files.directory, "radar", values) as radar:
            for k in range(FRAMES + 2):
                now = k / RATE
                bodies[:, :2] = begin + now * bodies[:, 7:9]
                start = time.perf_counter()
                world.move(now, bodies)
                radar.set({"body.position.x": SPEED * now})
                radar.step(now, 1.0 / RATE)
                took.append(time.perf_counter() - start)
            assert radar.get("frame.count") == FRAMES + 1  # of these the first is no whole one
    detail = f"{1e3 * float(np.median(took[2:])):.0f} ms in the median, {processors()} processors"
    return Bar("ray traced: FMU with files", 1.0 / min(took[2:]), 5.0, "1/s", detail, True)


def yard_bars() -> list[Bar]:
    """A frame in the yard, and bare tracing of as many rays."""
    scene, radar = load_scene("yard"), RayTracedRadar()
    bodies = np.array([[*body.position, *body.orientation] for body in scene.bodies])
    turn = np.array([1.0, 0.0, 0.0, 0.0])
    motion = Motion(np.array([0.0, 0.0, 1.0]), turn, np.zeros(3), bodies, np.zeros((3, 6)))
    detector = Detector(radar.parameters, radar.radio)
    with RayScene(scene, threads=2) as rays:
        tubes = radar.image(rays, motion, 0).tubes
        u, v = np.meshgrid(np.linspace(-1.7, 1.7, tubes // 300), np.linspace(-0.17, 0.17, 300))
        directions = np.stack([np.ones_like(u), u, v], axis=-1).astype(np.float32)
        calls: dict[str, Callable[[], object]] = {
            "frame": lambda: detector.targets(rays, radar.image(rays, motion, 1)),
            "bare": lambda: rays.trace_bare(motion.position, directions),
        }
        measured = {name: seconds(call) for name, call in calls.items()}
        best = best_in_turns(measured, 5)
    ratio = best["frame"] / best["bare"]
    return [
        Bar("ray traced: frames a second in the yard", 1.0 / best["frame"], 5.0, "1/s",
            f"{tubes} tubes, two threads", at_least=True),
        Bar("ray traced: a frame beside bare rays", ratio, 40.0, "x", "as many as tubes"),
    ]  # fmt: skip


def synthesis_bars() -> list[Bar]:
    """Both ways from paths to a cube; ``beat``, a loop over paths, by a fiftieth of them."""
    count, random = 100_000, np.random.default_rng(1)
    pages = new_pages(count // 1024 + 1)
    flat = pages.numbers.reshape(-1, pages.numbers.shape[2])[:count]
    flat[:] = random.uniform(-0.5, 0.5, flat.shape)
    flat[:, 2], flat[:, 3] = random.uniform(1.0, 95.0, count), random.uniform(-9.0, 9.0, count)
    pages.entities[:] = 1
    pages.used[:, 2] = 1024
    pages.used[-1, 2] = count - 1024 * (len(pages.used) - 1)
    paths = Paths(pages, np.arange(len(pages.used)), count, 0)
    calls = {}
    with RayScene(smallest_scene(), threads=2) as rays:
        for kind in Synthesis:
            own = RayTracedParameters(tracing=TracingParameters(synthesis=kind))
            radar = RayTracedRadar(own)
            few = Paths(pages, np.arange(2), 0, 0)
            taken = paths if kind == Synthesis.kernel else few
            radar.synthesise(rays, few)  # compiled or loaded
            calls[kind.name] = seconds(lambda r=radar, p=taken: r.synthesise(rays, p))  # type: ignore[misc]
        best = {name: call() for name, call in calls.items()}
    saved = best["beat"] * count / 2048.0 / best["kernel"]
    return [Bar("ray traced: samples beside kernels, 1e5 paths", saved, 20.0, "x",
                f"{best['kernel']:.2f} s by kernels", at_least=True)]  # fmt: skip


def seconds(call: Callable[[], object]) -> Callable[[], float]:
    """The time of a call, once."""

    def measured() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return measured


def cone_bars() -> list[Bar]:
    """A step with 10 and with 1,000 obstacles, and what the hierarchy saves."""
    calls: dict[str, Callable[[], object]] = {}
    for count, length in ((10, 20.0), (1000, 100.0)):
        own = ConeParameters(length=length, lines_per_face=LINES)
        radar, obstacles = ConeRadar(own), obstacles_of(boxes(count, length))
        assert len(obstacles.tables.faces) == 12
        calls[str(count)] = lambda r=radar, o=obstacles: r.detect(o, STILL, NOBODY, 0.0)  # type: ignore[misc]
        if count == 10:
            cone, corners = cone_of(own), faces_in_cone(obstacles)
            found = radar.detect(obstacles, STILL, NOBODY, 0.0).targets[0].range
            assert abs(found - line_by_line(cone, corners, LINES)) < 1e-9
            calls["loop"] = lambda c=cone, f=corners: line_by_line(c, f, LINES)  # type: ignore[misc]
    best = best_in_turns({name: milliseconds(call) for name, call in calls.items()}, TURNS)
    detail = f"{LINES} lines a face, 12 faces each"
    saved = best["loop"] / best["10"]
    return [
        Bar("cone: a step with 10 obstacles", best["10"], 0.3, "ms", detail),
        Bar("cone: a step with 1,000 obstacles", best["1000"], 10.0, "ms", detail),
        Bar("cone: line by line, 10 obstacles", saved, 10.0, "x", "as long", at_least=True),
    ]
