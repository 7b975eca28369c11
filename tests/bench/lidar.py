"""Bars of the lidar: its kernel beside Open3D's and Warp's bare casts, and the FMU that runs it.

Kernel   the landscape of ``bench.tracing`` seen by 128 x 1024 rays. One return a ray: two-layer
         materials, air, a beam that widens, distance noise, points of the cloud. Two returns: a
         tree of depth 2 as well, with a part of what stands around of glass. Ratios are of
         processor time over all threads, as in ``bench.tracing``.
FMU      what doStep costs over the frame itself; what a written file of 131,072 points costs the
         stepping thread, in steps that leave the disk the time between them; frames of an OS0-128
         with their files, one after the other without pause, over Open3D's bare cast of the same
         rays; the same where a master asks for the file of each frame at once and waits for it, so
         that nothing is made while it is written (on memory that is there; ``bench.bodies`` says
         what new memory costs on a virtual machine); OS0-128 at 10 Hz in the yard with its vehicles
         moving; and what that takes of memory, in a process of its own, over the scene and the ray
         engine.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import trimesh
import warp

from sensor_models.lidar import (
    Lidar,
    LidarNoiseParameters,
    LidarParameters,
    ReturnMode,
    ScanPattern,
)
from sensor_models.lidar.named import named_lidar
from sensor_models.light.beam import BeamParameters
from sensor_models.output.clouds import CloudFormat
from sensor_models.output.sinks import WriteFiles
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Material, Medium, Scene, SurfaceKind, SurfaceParameters
from sensor_models.scene.registry import open_scene
from sensor_models.scene.tracing import Hits, RayScene
from sensor_models.threads.pool import processors
from tests import oracles_rays as twin
from tests.bench.bars import Bar, best_in_turns
from tests.bench.calls import BODY_INPUTS, start_values
from tests.bench.tracing import (
    COLUMNS,
    RANGE,
    RAYS,
    ROWS,
    TURNS,
    best,
    best_of_all,
    landscape,
    open3d_caster,
    resident,
    warp_caster,
)
from tests.fmus.host import Instance
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles

POSE = np.array((0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
WAVELENGTH = 905e-9
FILE_STEPS, PAUSE = 40, 0.03
SECONDS, STEP = 3.0, 0.01
#: Frames in a row, those before them in which memory is touched for the first time, how often all
#: of that, and the triangles that are seen, also where files are read at once.
ROW, WARM, ROUNDS, HALL, ONCE = 20, 5, 4, 125_000, 650_000
#: However weak: all files are as large as they can be.
ALL_POINTS = {"preset_except": "min_intensity"}
#: What the file of a frame takes at the most.
FRAME_BYTES = 6_000_000


def furnished() -> Scene:
    """The landscape in clear air: rough ground, painted things, and glass in every sixth sector."""
    scene = landscape(650_000)
    mesh = scene.meshes[0]
    middles = mesh.vertices[mesh.faces].mean(axis=1)
    sector = np.floor(np.arctan2(middles[:, 1], middles[:, 0]) / (np.pi / 6.0)).astype(int)
    stands = middles[:, 2] > -1.2
    materials = np.where(stands & (sector % 6 == 0), 2, np.where(stands, 1, 0)).astype(np.int32)
    kinds = (SurfaceKind.two_layer, SurfaceKind.two_layer, SurfaceKind.dielectric)
    numbers = (
        SurfaceParameters(diffuse_reflectance=0.3, roughness_beckmann=0.3),
        SurfaceParameters(diffuse_reflectance=0.6, roughness_beckmann=0.1),
        SurfaceParameters(roughness_beckmann=1e-3),
    )
    return replace(
        scene,
        meshes=(replace(mesh, face_material=materials),),
        materials=tuple(
            Material(kind.name, kind, {WAVELENGTH: number})
            for kind, number in zip(kinds, numbers, strict=True)
        ),
        media=(Medium("air", absorption=1e-4),),
    )


def painted(scene: Scene) -> Scene:
    """The same scene without glass."""
    mesh = scene.meshes[0]
    opaque = np.minimum(mesh.face_material, 1)
    return replace(scene, meshes=(replace(mesh, face_material=opaque),))


def pattern() -> ScanPattern:
    """The rays of ``bench.tracing``."""
    elevation = np.radians(np.linspace(22.5, -22.5, ROWS))
    azimuth = np.linspace(-np.pi, np.pi, COLUMNS, endpoint=False)
    offset = np.repeat(np.arange(COLUMNS) / COLUMNS, ROWS)
    return ScanPattern.from_arrays(
        np.repeat(azimuth, ROWS), np.tile(elevation, COLUMNS), offset, rows=ROWS
    )


def lidar_of(**parameters: object) -> Lidar:
    """A lidar with all that a return goes through."""
    return Lidar(
        LidarParameters(beam_on=True, max_range=RANGE, **parameters),
        pattern(),
        BeamParameters(emitter_radius=0.005),
        LidarNoiseParameters(distance_sigma_base=0.01, distance_sigma_slope=1e-4),
    )


def kernels(threads: int) -> list[Bar]:
    """The whole pipeline of a return against bare casts."""
    scene = furnished()
    plain = painted(scene)
    single = lidar_of(max_depth=0)
    tree = lidar_of(max_depth=4)
    dual = lidar_of(max_depth=2, return_mode=ReturnMode.dual)
    with RayScene(plain, threads) as opaque, RayScene(scene, threads) as glassy:

        def frame(lidar: Lidar, rays: RayScene) -> Callable[[], object]:
            cloud = lidar.capture(rays, POSE)
            return lambda: lidar.capture(rays, POSE, out=cloud)

        measured = {
            "single": frame(single, opaque),
            "Open3D": open3d_caster(scene, threads),
            "dual": frame(dual, glassy),
            "Open3D again": open3d_caster(scene, threads),
            "tree": frame(tree, opaque),
            "Warp": warp_caster(scene),
        }
        seconds = best_of_all(measured)
        agreement = ranges(opaque)
        glass = float(np.mean(seen_by(glassy).material == 2))
    return [*over_peers(seconds, glass), agreement]


def over_peers(seconds: Mapping[str, float], glass: float) -> list[Bar]:
    """What was measured, over the peers; ``glass`` is the share of rays that meet some."""
    peer = min(seconds["Open3D"], seconds["Open3D again"])
    spent = {name: f"{1e9 * took / RAYS:.0f}" for name, took in seconds.items()}
    detail = (
        f"ns a ray and thread: {spent['single']}, Open3D {1e9 * peer / RAYS:.0f}; "
        f"{spent['tree']} with a tree of depth 4"
    )
    ours = seconds["single"]
    return [
        Bar("lidar, one return, over Open3D's cast", peer / ours, 1.2, "x", detail, at_least=True),
        Bar("lidar, one return, over Warp", seconds["Warp"] / ours, 4.0, "x", "", at_least=True),
        Bar(
            "lidar, two returns, depth 2, over Open3D's cast",
            peer / seconds["dual"],
            0.6,
            "x",
            f"{spent['dual']} ns, {100.0 * glass:.0f} % of the rays meet glass",
            at_least=True,
        ),
    ]


def seen_by(rays: RayScene) -> Hits:
    """What the rays of the lidar hit first."""
    directions = pattern().directions(0).astype(np.float32)
    return rays.trace(POSE[:3], directions.reshape(COLUMNS, ROWS, 3), RANGE)


def ranges(rays: RayScene) -> Bar:
    """Ranges of the lidar against Open3D's, along the same rays."""
    lidar = Lidar(LidarParameters(max_range=RANGE, max_depth=0), pattern())
    cloud = lidar.capture(rays, POSE)
    ours = np.where(cloud.counts > 0, cloud.returns["range"][:, 0], np.nan)
    theirs = open3d_caster(rays.scene, rays.threads)()["t_hit"].numpy().T.ravel()
    apart = float(np.nanmedian(np.abs(ours - np.where(theirs <= RANGE, theirs, np.nan))))
    return Bar("ranges, ours and Open3D's, median", 1e6 * apart, 100.0, "um", "")


def overhead(master_file: Path, files: FmuFiles) -> Bar:
    """Set, doStep and get in the C master, less the frame itself."""
    numbers = {"pattern.rows": 8, "pattern.columns": 8}
    with CMaster(master_file) as master:
        instance = master.load(files).instantiate()
        instance.set_string({"scene": "targets"}).expect()
        instance.set_integer({"write_files": WriteFiles.off}).expect()
        instance.set_integer(numbers).expect()
        instance.initialize()
        inputs = {name: (start_values()[name], 0.0) for name in BODY_INPUTS}
        cost = instance.bench(inputs, files.names("output", "Real"), STEP, 3000)
        instance.free()
    elevation, azimuth = np.linspace(0.7, -0.7, 8), np.linspace(3.1, -3.1, 8)
    small = ScanPattern.from_arrays(np.repeat(azimuth, 8), np.tile(elevation, 8), rows=8)
    lidar = Lidar(LidarParameters(), small)
    with RayScene(load_scene("targets")) as rays:
        cloud = lidar.capture(rays, POSE)
        frame = min(clocked(lambda: lidar.capture(rays, POSE, out=cloud)) for _ in range(500))
    return Bar("Lidar FMU over its frame", 1e-3 * cost.best - 1e3 * frame, 0.5, "ms", "")


def clocked(work: Callable[[], object]) -> float:
    """Seconds that something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@contextlib.contextmanager
def running(directory: Path, name: str, values: dict[str, object]) -> Iterator[Instance]:
    """An initialised instance in this process."""
    instance = Instance(directory, name)
    try:
        instance.initialize(values)
        yield instance
    finally:
        instance.slave.freeInstance()


def step_seconds(files: FmuFiles, written: bool, directory: str) -> float:
    """What a step takes that makes a frame of 131,072 points, as a rule."""
    values = {
        "scene": "corridor",
        "pattern.columns": 1024,
        "write_files": WriteFiles.on if written else WriteFiles.off,
        "output_directory": directory,
        "max_depth": 0,
        "body.position.z": 1.5,
    }
    times = []
    with running(files.directory, "writer", values) as lidar:
        for k in range(FILE_STEPS):
            times.append(clocked(lambda k=k: lidar.step(0.1 * k, 0.1)))
            time.sleep(PAUSE)
    return median(times[5:])


def writing(files: FmuFiles) -> Bar:
    """What files cost the stepping thread."""
    with tempfile.TemporaryDirectory() as directory:
        without = step_seconds(files, False, directory)
        cost = 1e3 * (step_seconds(files, True, directory) - without)
    return Bar("a file of 131,072 points, to the stepping thread", cost, 1.0, "ms", "")


def hall(directory: Path, triangles: int) -> tuple[Scene, str]:
    """The landscape within walls and under a roof, so that each ray has a point; its manifest."""
    outside = landscape(triangles)
    walls, inner = twin.box((-30.0, -31.0, -8.0), (32.0, 33.0, 12.0)), outside.meshes[0]
    mesh = trimesh.Trimesh(
        np.concatenate([inner.vertices, walls.vertices]),
        np.concatenate([inner.faces, walls.faces + len(inner.vertices)]),
        process=False,
    )
    mesh.export(directory / "hall.ply")
    manifest = directory / "scene.toml"
    manifest.write_text(
        'format = 1\nname = "hall"\n[meshes.hall]\nfile = "hall.ply"\nmaterial = "concrete"\n'
        '[[instances]]\nmesh = "hall"\n'
    )
    return load_scene(manifest), str(manifest)


def directions_of(lidar: Lidar) -> np.ndarray:
    """The rays of a frame as Open3D takes them, row by row."""
    along = lidar.pattern.directions(0).reshape(lidar.pattern.columns, lidar.pattern.rows, 3)
    return along.transpose(1, 0, 2).astype(np.float32)


def frames_in_a_row(files: FmuFiles, scene: str, output_format: str) -> Callable[[], float]:
    """Seconds a frame takes, its file included, when the next one follows at once."""

    def measure() -> float:
        with tempfile.TemporaryDirectory() as directory:
            values = os0(directory) | {"scene": scene, "output_format": CloudFormat[output_format]}
            values |= {"body.position.y": 0.0, "body.position.z": 0.0} | ALL_POINTS
            with running(files.directory, "row", values) as lidar:
                for k in range(WARM):
                    lidar.step(0.1 * k, 0.1)
                start = time.perf_counter()
                for k in range(WARM, WARM + ROW):
                    lidar.step(0.1 * k, 0.1)
                lidar.terminate()
                took = time.perf_counter() - start
                assert lidar.get("frame.points") == RAYS
            return took / ROW

    return measure


def touch_memory(folder: Path, files: int, size: int) -> None:
    """Have as much memory for files at hand as is going to be written."""
    content = bytes(size)
    paths = [folder / f"touched-{number}" for number in range(files)]
    for path in paths:
        path.write_bytes(content)
    for path in paths:
        path.unlink()


def frames_read_at_once(
    files: FmuFiles, scene: str, output_format: str, touched: bool
) -> Callable[[], float]:
    """Seconds a frame takes until its own complete file is named, and nothing is done meanwhile."""

    def measure() -> float:
        with tempfile.TemporaryDirectory() as directory:
            values = os0(directory) | {"scene": scene, "output_format": CloudFormat[output_format]}
            values |= {"body.position.y": 0.0, "body.position.z": 0.0} | ALL_POINTS
            with running(files.directory, "once", values) as lidar:
                lidar.step(0.0, 0.05)
                seen = set()
                if touched:
                    touch_memory(Path(directory), WARM + ROW, FRAME_BYTES)
                for k in range(WARM + ROW):
                    if k == WARM:
                        start = time.perf_counter()
                    # The last rays are sent in the first step, the frame is made in the second one,
                    # and the third one names its file.
                    for begin, step in ((0.05, 0.08), (0.13, 0.01), (0.14, 0.01)):
                        lidar.step(0.1 * k + begin, step)
                    name = str(lidar.get("frame.file"))
                    assert Path(name).stat().st_size > 0
                    seen.add(name)
                took = time.perf_counter() - start
                assert len(seen) == WARM + ROW
            return took / ROW

    return measure


def files_read_at_once(files: FmuFiles) -> list[Bar]:
    """Frames whose files are asked for at once over a bare cast."""
    with tempfile.TemporaryDirectory() as directory:
        seen, manifest = hall(Path(directory), ONCE)
        cast = open3d_caster(seen, processors(), directions_of(named_lidar("OS0-128")[0]))
        measured = {
            f"{name}{'' if touched else ' in new memory'}": frames_read_at_once(
                files, manifest, name, touched
            )
            for name in ("npy", "pcd")
            for touched in (True, False)
        }
        measured["Open3D"] = lambda: best(cast, TURNS, time.perf_counter)
        seconds = best_in_turns(measured, ROUNDS)
    peer = seconds["Open3D"]
    return [
        Bar(
            f"OS0-128 frames whose {name} files are read at once, over Open3D's cast",
            seconds[name] / peer,
            0.9,
            "x",
            f"{1e3 * seconds[name]:.1f} ms, {1e3 * seconds[f'{name} in new memory']:.1f} ms in new "
            f"memory, Open3D {1e3 * peer:.1f} ms",
        )
        for name in ("npy", "pcd")
    ]


def frames_with_files(files: FmuFiles) -> list[Bar]:
    """Frames with their files over a bare cast."""
    with tempfile.TemporaryDirectory() as directory:
        seen, manifest = hall(Path(directory), HALL)
        along = directions_of(named_lidar("OS0-128")[0])
        cast = open3d_caster(seen, processors(), along)
        measured = {name: frames_in_a_row(files, manifest, name) for name in ("npy", "pcd")}
        measured["Open3D"] = lambda: best(cast, TURNS, time.perf_counter)
        seconds = best_in_turns(measured, ROUNDS)
    peer = seconds.pop("Open3D")
    return [
        Bar(
            f"OS0-128 frames with {name} files over Open3D's cast",
            took / peer,
            1.5,
            "x",
            f"{1e3 * took:.1f} ms, Open3D {1e3 * peer:.1f} ms",
        )
        for name, took in seconds.items()
    ]


def drive(lidar: Instance, seconds: float) -> float:
    """Seconds that a drive through the yard takes, its vehicles moving, after a first sweep."""
    with open_scene("yard") as world:
        bodies = world.states().bodies.copy()
        bodies[:, 7] = 2.0
        lidar.set({"scene_handle": world.number})
        start = 0.0
        for k in range(round((seconds + 0.2) / STEP)):
            now = k * STEP
            if abs(now - 0.2) < 0.5 * STEP:
                start = time.perf_counter()
            bodies[:, 0] += 2.0 * STEP
            world.move(now, bodies)
            lidar.set({"body.position.x": -10.0 + 2.0 * now, "body.velocity.x": 2.0})
            lidar.step(now, STEP)
        return time.perf_counter() - start


def os0(directory: str) -> dict[str, object]:
    """An OS0-128 in the yard."""
    return {
        "preset": "OS0-128",
        "sample_rate": 10.0,
        "output_directory": directory,
        "body.position.y": -8.0,
        "body.position.z": 1.8,
    }


def real_time(files: FmuFiles) -> Bar:
    """How much faster than real time an OS0-128 runs."""
    with (
        tempfile.TemporaryDirectory() as output,
        running(files.directory, "os0", os0(output)) as lidar,
    ):
        took = drive(lidar, SECONDS)
    detail = f"{1e3 * took / SECONDS / 10.0:.1f} ms a sweep, files and all"
    return Bar("OS0-128 at 10 Hz among moving bodies", SECONDS / took, 5.0, "x", detail, True)


def memory(files: FmuFiles) -> Bar:
    """What a running OS0-128 takes over the scene, in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.lidar", str(files.directory)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    used = json.loads(answer.stdout.splitlines()[-1]) / 1e6
    return Bar("memory of a running OS0-128 over the scene", used, 150.0, "MB", "")


def bars(master: Path, files: FmuFiles) -> list[Bar]:
    """All bars of the lidar."""
    warp.config.quiet = True
    return [
        *kernels(processors()),
        overhead(master, files),
        writing(files),
        *frames_with_files(files),
        *files_read_at_once(files),
        real_time(files),
        memory(files),
    ]


def measure_memory(directory: Path) -> int:
    """Bytes that the process holds beyond those with the scene alone, while it runs."""
    with open_scene("yard") as world, tempfile.TemporaryDirectory() as output:
        world.rays().trace((0.0, 0.0, 2.0), np.eye(3))
        before = resident()
        with running(directory, "os0", os0(output)) as lidar:
            drive(lidar, 1.0)
            return resident() - before


if __name__ == "__main__":
    print(measure_memory(Path(sys.argv[1])))
