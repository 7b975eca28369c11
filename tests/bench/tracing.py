"""Bars of the ray engine, against Open3D's and NVIDIA Warp's on the same scene and rays.

The scene: 100 m of rolling ground with boxes and balls on it, seen by a lidar of 128 x 1024 rays
over 45 degrees. Tracers have as many threads as there are processors, but for Warp, whose
kernels run on one where there is no GPU.

Every figure is the best of 20, all in one run: tracers take turns of 5, so that each finds its
scene in the cache and all share what else the machine does. Ratios are of processor time over all
threads: on a machine that is doing nothing else they are those of time on the clock, and where it
is, they still are. What ``trace`` takes over the bare trace (materials, labels, normals, the rule
for ties) is told beside it. With 10 million triangles the bound cannot be held on the machine of
docs/measured.md: ``bench.lines`` says why.
"""

import gc
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import open3d
import warp

from sensor_models.kernels.tracing import embree
from sensor_models.scene.acceleration import FLAGS
from sensor_models.scene.model import Body, Instance, Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.threads.pool import processors
from tests import oracles_rays as twin
from tests.bench.bars import Bar, best_in_turns

ROWS, COLUMNS = 128, 1024
RAYS = ROWS * COLUMNS
RANGE = 120.0
ROUNDS, TURNS = 4, 5
SIZES = (10_000, 1_000_000, 10_000_000)
BODIES = 1000


def lidar() -> np.ndarray:
    """Directions of a spinning lidar, (rows, columns, 3)."""
    elevation = np.radians(np.linspace(22.5, -22.5, ROWS))
    azimuth = np.linspace(-np.pi, np.pi, COLUMNS, endpoint=False)
    e, a = np.meshgrid(elevation, azimuth, indexing="ij")
    directions = np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], axis=-1)
    return directions.astype(np.float32)


def ground(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of rolling ground, ``side`` vertices wide."""
    x, y = np.meshgrid(*2 * [np.linspace(-50.0, 50.0, side)], indexing="ij")
    z = 0.5 * np.sin(0.5 * x) * np.cos(0.3 * y) - 1.8
    at = np.arange(side * side).reshape(side, side)
    a, b, c, d = (part.ravel() for part in (at[:-1, :-1], at[1:, :-1], at[:-1, 1:], at[1:, 1:]))
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)])
    return np.stack([x.ravel(), y.ravel(), z.ravel()], 1), faces


def landscape(triangles: int) -> Scene:
    """Ground with 30 boxes and 30 balls, all in one mesh, of about as many triangles."""
    random = np.random.default_rng(0)
    rings = max(4, int(np.sqrt(triangles / 520.0)))  # a quarter of the triangles is in balls
    vertices, faces = ground(int(np.sqrt(0.76 * triangles / 2.0)))
    parts, corners, count = [vertices], [faces], len(vertices)
    for k in range(60):
        angle, distance = random.uniform(0.0, 2.0 * np.pi), random.uniform(6.0, 45.0)
        size = random.uniform(0.5, 2.0, 3)
        part = twin.sphere(size[0], rings) if k % 2 else twin.box(-size, size)
        place = distance * np.array([np.cos(angle), np.sin(angle), 0.0])
        parts.append(part.vertices + place)
        corners.append(part.faces + count)
        count += len(part.vertices)
    return twin.scene_of(twin.mesh_of(np.concatenate(parts), np.concatenate(corners)))


def best(
    measure: Callable[[], object], turns: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Seconds that something takes, the best of some."""
    times = []
    for _ in range(turns):
        start = clock()
        measure()
        times.append(clock() - start)
    return min(times)


def best_of_all(measured: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds that each takes."""
    return best_in_turns({k: lambda m=m: best(m, TURNS) for k, m in measured.items()}, ROUNDS)


def open3d_caster(
    scene: Scene, threads: int, directions: np.ndarray | None = None
) -> Callable[[], dict]:
    """Open3D's cast of the lidar, or of other rays from the origin, (rows, columns, 3)."""
    caster = open3d.t.geometry.RaycastingScene(nthreads=threads)
    mesh = scene.meshes[0]
    tensor = open3d.core.Tensor
    caster.add_triangles(tensor(mesh.vertices), tensor(mesh.faces))
    directions = lidar() if directions is None else directions
    rays = tensor(np.concatenate([np.zeros_like(directions), directions], axis=-1))
    return lambda: caster.cast_rays(rays)


@warp.kernel
def warp_rays(
    mesh: warp.uint64,
    directions: warp.array(dtype=warp.vec3),
    t: warp.array(dtype=float),
    face: warp.array(dtype=int),
):
    """The nearest hit of each ray."""
    ray = warp.tid()
    query = warp.mesh_query_ray(mesh, warp.vec3(0.0, 0.0, 0.0), directions[ray], 120.0)
    if query.result:
        t[ray] = query.t
        face[ray] = query.face
    else:
        t[ray] = -1.0
        face[ray] = -1


def warp_caster(scene: Scene) -> Callable[[], None]:
    """Warp's cast of the lidar."""
    mesh = scene.meshes[0]
    held = warp.Mesh(
        warp.array(mesh.vertices, dtype=warp.vec3, device="cpu"),
        warp.array(mesh.faces.astype(np.int32).ravel(), dtype=int, device="cpu"),
    )
    directions = warp.array(lidar().reshape(-1, 3), dtype=warp.vec3, device="cpu")
    t, face = (warp.zeros(RAYS, dtype=kind, device="cpu") for kind in (float, int))
    return lambda: warp.launch(
        warp_rays, dim=RAYS, inputs=[held.id, directions, t, face], device="cpu"
    )


def speed(threads: int) -> list[Bar]:
    """The bare trace against the other tracers, and its hits against Open3D's."""
    scene = landscape(650_000)
    directions = lidar()
    with RayScene(scene, threads) as rays:
        cast = open3d_caster(scene, threads)
        hits = rays.trace((0, 0, 0), directions, RANGE)
        bare = rays.trace_bare((0, 0, 0), directions, RANGE)
        seconds = best_of_all(
            {
                "bare": lambda: rays.trace_bare((0, 0, 0), directions, RANGE, out=bare),
                "full": lambda: rays.trace((0, 0, 0), directions, RANGE, out=hits),
                "Open3D": cast,
                "Warp": warp_caster(scene),
            }
        )
        agreement = compare(hits.t, cast()["t_hit"].numpy())
    speeds = ", ".join(f"{name} {RAYS / took / 1e6:.1f}" for name, took in seconds.items())
    detail = f"Mray/s and thread: {speeds}"
    ours, theirs, warps = (seconds[name] for name in ("bare", "Open3D", "Warp"))
    return [
        Bar("bare trace, Open3D's time to ours", theirs / ours, 2.2, "x", detail, at_least=True),
        Bar("bare trace, Warp's time to ours", warps / ours, 8.0, "x", "", at_least=True),
        *agreement,
    ]


def compare(ours: np.ndarray, theirs: np.ndarray) -> list[Bar]:
    """How far the hits of two tracers agree."""
    theirs = np.where(theirs <= RANGE, theirs, np.inf)
    mask = np.isfinite(ours) & np.isfinite(theirs)
    differ = (np.isfinite(ours) != np.isfinite(theirs)).mean()
    near = mask & (ours <= 100.0)
    apart = np.abs(ours[near] - theirs[near]).max()
    return [
        Bar("rays that hit in one tracer only", 1e6 * differ, 100.0, "ppm", "edges"),
        Bar("ranges up to 100 m, ours and Open3D's", 1e6 * apart, 100.0, "um", ""),
    ]


def sizes(threads: int) -> list[Bar]:
    """The ratio to Open3D in small and large scenes."""
    bars = []
    directions = lidar()
    for triangles in SIZES:
        scene = landscape(triangles)
        with RayScene(scene, threads) as rays:
            bare = rays.trace_bare((0, 0, 0), directions, RANGE)
            seconds = best_of_all(
                {
                    "ours": partial(rays.trace_bare, (0, 0, 0), directions, RANGE, out=bare),
                    "Open3D": open3d_caster(scene, threads),
                }
            )
        ratio = seconds["Open3D"] / seconds["ours"]
        detail = f"{RAYS / seconds['ours'] / 1e6:.1f} Mray/s and thread"
        what = f"the same with {triangles:.0e} triangles"
        bars.append(Bar(what, ratio, 1.8, "x", detail, at_least=True))
        del scene
        gc.collect()
    return bars


def resident() -> int:
    """Bytes of memory that the process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def commit_alone(scene: Scene, threads: int) -> float:
    """Seconds that Embree takes to build the hierarchy of a scene."""
    library, mesh = embree.library, scene.meshes[0]
    device = embree.new_device(threads)
    built = library.rtcNewScene(device)
    library.rtcSetSceneFlags(built, FLAGS)
    geometry = library.rtcNewGeometry(device, embree.GEOMETRY_TRIANGLE)
    for kind, layout, values in (
        (embree.BUFFER_VERTEX, embree.FORMAT_FLOAT3, mesh.vertices),
        (embree.BUFFER_INDEX, embree.FORMAT_UINT3, mesh.faces),
    ):
        buffer = library.rtcSetNewGeometryBuffer(geometry, kind, 0, layout, 12, len(values))
        np.ctypeslib.as_array((np.ctypeslib.ctypes.c_byte * values.nbytes).from_address(buffer))[
            :
        ] = values.view(np.int8).ravel()
    library.rtcCommitGeometry(geometry)
    library.rtcAttachGeometryByID(built, geometry, 0)
    library.rtcReleaseGeometry(geometry)
    seconds = best(lambda: library.rtcCommitScene(built), 1)
    embree.check(device, "building for the bench")
    library.rtcReleaseScene(built)
    library.rtcReleaseDevice(device)
    return seconds


def building(threads: int) -> list[Bar]:
    """Time and memory of a scene."""
    scene = landscape(650_000)
    RayScene(scene, threads).close()  # kernels are compiled
    seconds = best_in_turns(
        {
            "ours": lambda: best(lambda: RayScene(scene, threads).close(), 1),
            "alone": lambda: commit_alone(scene, threads),
        },
        ROUNDS * TURNS,
    )
    ours, alone = seconds["ours"], seconds["alone"]
    del scene
    gc.collect()
    before = resident()
    # Large enough that what allocators keep does not count.
    scene = landscape(3_000_000)
    triangles = len(scene.meshes[0].faces)
    gc.collect()
    rays = RayScene(scene, threads)
    gc.collect()
    used = (resident() - before) / triangles
    rays.close()
    return [
        Bar("building a scene, to Embree's commit", ours / alone, 1.3, "x", f"{1e3 * ours:.0f} ms"),
        Bar("memory, with the scene's own arrays", used, 130.0, "B/tri", ""),
    ]


def moving(threads: int) -> list[Bar]:
    """Giving 1000 bodies new poses, and committing them."""
    random = np.random.default_rng(0)
    bodies = tuple(Body(f"body {k}") for k in range(BODIES))
    instances = [
        Instance(0, np.eye(4), 0),
        *(Instance(1, np.eye(4), k, body=k) for k in range(BODIES)),
    ]
    scene = twin.scene_of(
        landscape(650_000).meshes[0], twin.sphere(0.5, 12), instances=instances, bodies=bodies
    )
    poses = np.concatenate(
        [random.uniform(-40.0, 40.0, (BODIES, 3)), random.normal(size=(BODIES, 4))], axis=1
    )

    def move() -> None:
        poses[:, 0] += 0.01
        rays.move_all(poses)
        rays.commit()

    with RayScene(scene, threads) as rays:
        move()
        seconds = best(move, ROUNDS * TURNS, time.perf_counter)
    return [Bar(f"moving {BODIES} bodies and committing", 1e3 * seconds, 3.0, "ms", "")]


def bars() -> list[Bar]:
    """All bars of the ray engine."""
    warp.config.quiet = True
    threads = processors()
    return [*speed(threads), *sizes(threads), *building(threads), *moving(threads)]


if __name__ == "__main__":
    for bar in bars():
        print(bar.line())
