"""What a depth camera costs, beside Open3D and Warp casting the same rays, and as an FMU."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import warp

from sensor_models.camera import DepthCamera, DepthCameraParameters
from sensor_models.camera.depth import Frame
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Instance, Scene
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin
from tests.bench.bars import Bar, best_in_turns
from tests.bench.calls import BODY_INPUTS, start_values
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles

POSE = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
FULL = DepthCameraParameters(width=640, height=480, max_range=60.0, return_normals=True)
SMALL = DepthCameraParameters(width=8, height=8, horizontal_fov=0.8, max_range=4.0)
TURNS = 15


def spheres() -> Scene:
    """Spheres of all sizes, a million triangles, as one mesh: nine pixels of ten see one."""
    random = np.random.default_rng(8)
    balls = []
    for _ in range(200):
        away = random.uniform(4.0, 30.0)
        direction = random.normal(size=3)
        middle = away * direction / np.linalg.norm(direction)
        balls.append(twin.sphere(random.uniform(0.5, 3.0), 36, tuple(middle)))
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
        depth[pixel] = query.t * axis[0]
        segments[pixel] = label
        normal = query.normal
        if warp.dot(normal, axis) > 0.0:
            normal = -normal
        normals[pixel] = normal


def warp_caster(scene: Scene, directions: np.ndarray) -> Callable[[], object]:
    """The same frame by Warp on the processor."""
    warp.config.quiet = True
    mesh = warp.Mesh(
        points=warp.array(scene.meshes[0].vertices, dtype=warp.vec3, device="cpu"),
        indices=warp.array(scene.meshes[0].faces.astype(np.int32).ravel(), device="cpu"),
    )
    axes = warp.array(directions.reshape(-1, 3), dtype=warp.vec3, device="cpu")
    outputs = [warp.empty(len(axes), kind, device="cpu") for kind in (float, int, warp.vec3)]
    inputs = [mesh.id, axes, FULL.max_range, 7]

    def work() -> object:
        return warp.launch(cast, len(axes), inputs=[*inputs, *outputs], device="cpu"), mesh

    work()
    return work


def overhead(master_file: Path, files: FmuFiles) -> float:
    """Milliseconds of set, doStep and get in the C master, less those of the frame itself."""
    with CMaster(master_file) as master:
        instance = master.load(files).instantiate()
        instance.set_string({"scene": "targets"}).expect()
        instance.set_boolean({"write_files": 0}).expect()
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
    return [*peers(), Bar("DepthCamera FMU over its frame", overhead(master, files), 0.5, "ms", "")]


def peers() -> list[Bar]:
    """The library beside others, and a batch beside single calls."""
    import open3d

    scene = spheres()
    peer = open3d.t.geometry.RaycastingScene()
    mesh = scene.meshes[0]
    peer.add_triangles(open3d.core.Tensor(mesh.vertices), open3d.core.Tensor(mesh.faces))
    camera, small = DepthCamera(FULL), DepthCamera(SMALL)
    directions = camera.axes.astype(np.float32)
    lines = open3d.core.Tensor(np.concatenate([np.zeros_like(directions), directions], axis=-1))
    by_warp = warp_caster(scene, directions)
    poses = np.tile(POSE, (1024, 1))
    with RayScene(scene) as rays:
        kept: Frame = camera.capture(rays, POSE)

        def singly() -> None:
            for pose in poses:
                small.capture(rays, pose)

        small.capture(rays, poses)
        best = best_in_turns(
            {
                "frame": lambda: seconds(lambda: camera.capture(rays, POSE, out=kept)),
                "open3d": lambda: seconds(lambda: peer.cast_rays(lines)),
                "warp": lambda: seconds(by_warp),
                "batch": lambda: seconds(lambda: small.capture(rays, poses)),
                "singly": lambda: seconds(singly),
            },
            TURNS,
        )
    frame, batch = 1e3 * best["frame"], 1e3 * best["batch"]
    return [
        Bar(
            "depth camera 640 x 480 over Open3D cast_rays",
            best["open3d"] / best["frame"],
            2.0,
            "x",
            f"{frame:.1f} ms with depth, segmentation, normals",
            at_least=True,
        ),
        Bar(
            "depth camera 640 x 480 over a Warp kernel",
            best["warp"] / best["frame"],
            8.0,
            "x",
            f"{1e3 * best['warp']:.1f} ms by Warp",
            at_least=True,
        ),
        Bar(
            "1024 sensors of 8 x 8 in a batch over single calls",
            best["singly"] / best["batch"],
            10.0,
            "x",
            f"{batch:.1f} ms",
            at_least=True,
        ),
    ]
