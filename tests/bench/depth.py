"""What a depth camera costs, beside Open3D and Warp casting the same rays, and as an FMU.

Frames of 640 x 480 with depth, segmentation and normals, in three scenes: the landscape of
``bench.tracing``, seen by a camera that looks at the ground ahead; large spheres, which fill nine
pixels of ten; small ones in two pixels of ten, as where most of a frame is sky. Open3D casts the
same rays and shades nothing.

Ratios to Open3D are of processor time over all threads, the best of some turns, as in
``bench.tracing``. Those to Warp are by the clock: its kernels have one thread where there is no
GPU, and ours have all; what one thread does against one is told beside it. Batches and FMU are by
the clock, too. What optical flow adds is in ``bench.flow``.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import open3d
import warp

from sensor_models.camera import DepthCamera, DepthCameraParameters
from sensor_models.camera.depth.camera import matrices_of
from sensor_models.core.placement import quaternion_of
from sensor_models.output.sinks import WriteFiles
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Instance, Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.threads.pool import processors
from tests import oracles_rays as twin
from tests.bench.bars import Bar, best_in_turns
from tests.bench.calls import BODY_INPUTS, start_values
from tests.bench.flow import flow_bar
from tests.bench.tracing import best_of_all, landscape
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles

POSE = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
DOWNWARD = (0.0, 0.0, 0.0, *quaternion_of(0.0, math.radians(15.0), 0.0))
FULL = DepthCameraParameters(width=640, height=480, max_range=60.0, return_normals=True)
SMALL = DepthCameraParameters(width=8, height=8, horizontal_fov=0.8, max_range=4.0)
TURNS = 15


def spheres(size: float) -> Scene:
    """Spheres of all sizes, a million triangles, as one mesh, around the camera."""
    random = np.random.default_rng(8)
    balls = []
    for _ in range(200):
        away = random.uniform(4.0, 30.0)
        direction = random.normal(size=3)
        middle = away * direction / np.linalg.norm(direction)
        balls.append(twin.sphere(size * random.uniform(0.5, 3.0), 36, tuple(middle)))
    counts = np.cumsum([0, *(len(ball.vertices) for ball in balls)])
    mesh = twin.mesh_of(
        np.concatenate([ball.vertices for ball in balls]),
        np.concatenate([ball.faces + n for ball, n in zip(balls, counts, strict=False)]),
    )
    return twin.scene_of(mesh, instances=(Instance(0, np.eye(4), 7),))


@warp.kernel
def cast(
    mesh: warp.uint64,
    axes: warp.array(dtype=warp.vec3),
    shares: warp.array(dtype=float),
    reach: float,
    label: int,
    depth: warp.array(dtype=float),
    segments: warp.array(dtype=int),
    normals: warp.array(dtype=warp.vec3),
):
    """Depth, segmentation and normals of one pixel, as a user of Warp would write it."""
    pixel = warp.tid()
    axis = axes[pixel]
    query = warp.mesh_query_ray(mesh, warp.vec3(0.0, 0.0, 0.0), axis, reach)
    depth[pixel] = reach
    segments[pixel] = -1
    normals[pixel] = warp.vec3(0.0, 0.0, 0.0)
    if query.result:
        depth[pixel] = query.t * shares[pixel]
        segments[pixel] = label
        normal = query.normal
        if warp.dot(normal, axis) > 0.0:
            normal = -normal
        normals[pixel] = normal


def open3d_caster(scene: Scene, directions: np.ndarray) -> Callable[[], object]:
    """The bare rays of a frame by Open3D."""
    peer = open3d.t.geometry.RaycastingScene(nthreads=processors())
    mesh, tensor = scene.meshes[0], open3d.core.Tensor
    peer.add_triangles(tensor(mesh.vertices), tensor(mesh.faces))
    rays = tensor(np.concatenate([np.zeros_like(directions), directions], axis=-1))
    return lambda: peer.cast_rays(rays)


def warp_caster(scene: Scene, directions: np.ndarray, shares: np.ndarray) -> Callable[[], object]:
    """The same frame by Warp on the processor."""
    warp.config.quiet = True
    mesh = warp.Mesh(
        points=warp.array(scene.meshes[0].vertices, dtype=warp.vec3, device="cpu"),
        indices=warp.array(scene.meshes[0].faces.astype(np.int32).ravel(), device="cpu"),
    )
    axes = warp.array(directions.reshape(-1, 3), dtype=warp.vec3, device="cpu")
    outputs = [warp.empty(len(axes), kind, device="cpu") for kind in (float, int, warp.vec3)]
    of_axis = warp.array(shares.ravel(), dtype=float, device="cpu")
    inputs = [mesh.id, axes, of_axis, FULL.max_range, 7]

    def work() -> object:
        return warp.launch(cast, len(axes), inputs=[*inputs, *outputs], device="cpu"), mesh

    work()
    return work


def overhead(master_file: Path, files: FmuFiles) -> float:
    """Milliseconds of set, doStep and get in the C master, less those of the frame itself."""
    with CMaster(master_file) as master:
        instance = master.load(files).instantiate()
        instance.set_string({"scene": "targets"}).expect()
        instance.set_integer({"write_files": WriteFiles.off}).expect()
        instance.set_integer({"width": 8, "height": 8}).expect()
        instance.initialize()
        inputs = {name: (start_values()[name], 0.0) for name in BODY_INPUTS}
        cost = instance.bench(inputs, files.names("output", "Real"), 0.01, 3000)
        instance.free()
    camera = DepthCamera(DepthCameraParameters(width=8, height=8), distances=True)
    with RayScene(load_scene("targets")) as rays:
        camera.capture(rays, POSE)
        frame = min(seconds(lambda: camera.capture(rays, POSE)) for _ in range(500))
    return 1e-3 * cost.best - 1e3 * frame


def seconds(work: Callable[[], object]) -> float:
    """How long it takes once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bars(master: Path, files: FmuFiles) -> list[Bar]:
    """The bars of the depth camera."""
    over = Bar("DepthCamera FMU over its frame", overhead(master, files), 0.5, "ms", "")
    return [flow_bar(files), *peers(), over]


def frame_bars(name: str, scene: Scene, pose: tuple[float, ...]) -> list[Bar]:
    """A frame of one scene beside the others."""
    camera = DepthCamera(FULL)
    directions = (camera.axes @ matrices_of(np.array(pose[3:])).T).astype(np.float32)
    with RayScene(scene) as rays:
        kept = camera.capture(rays, pose)
        measured: dict[str, Callable[[], object]] = {
            "ours": lambda: camera.capture(rays, pose, out=kept),
            "Open3D": open3d_caster(scene, directions),
            "Warp": warp_caster(scene, directions, camera.axes[..., 0]),
        }
        took = best_of_all(measured)
        clock, warp_clock = (
            min(seconds(measured[name]) for _ in range(TURNS)) for name in ("ours", "Warp")
        )
    hits = np.mean(kept.entity >= 0)
    detail = f"{100 * hits:.0f} % hits, {1e3 * clock:.1f} ms on {processors()} threads"
    over_open3d, over_warp = took["Open3D"] / took["ours"], warp_clock / clock
    per_thread = f"{took['Warp'] / took['ours']:.1f} x a thread"
    return [
        Bar(f"depth camera over Open3D, {name}", over_open3d, 2.0, "x", detail, at_least=True),
        Bar(f"depth camera over Warp, {name}", over_warp, 8.0, "x", per_thread, at_least=True),
    ]


def batches() -> Bar:
    """Many small sensors at once, beside single calls."""
    camera, poses = DepthCamera(SMALL), np.tile(POSE, (1024, 1))
    with RayScene(spheres(1.0)) as rays:

        def singly() -> None:
            for pose in poses:
                camera.capture(rays, pose)

        camera.capture(rays, poses)
        best = best_in_turns(
            {
                "batch": lambda: seconds(lambda: camera.capture(rays, poses)),
                "singly": lambda: seconds(singly),
            },
            TURNS,
        )
    return Bar(
        "1024 sensors of 8 x 8 in a batch over single calls",
        best["singly"] / best["batch"],
        10.0,
        "x",
        f"{1e3 * best['batch']:.1f} ms",
        at_least=True,
    )


def peers() -> list[Bar]:
    """The library beside others, and a batch beside single calls."""
    return [
        *frame_bars("landscape", landscape(650_000), DOWNWARD),
        *frame_bars("large spheres", spheres(1.0), POSE),
        *frame_bars("small spheres", spheres(0.36), POSE),
        batches(),
    ]
