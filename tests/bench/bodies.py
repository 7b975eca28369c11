"""Bars of bodies that move: an OS0-128 in the yard among twenty of them, whose cost is to be small.

Threads   Two lidars on one scene in two threads, against one in one thread: nobody waits for the
          other, though each has the bodies where they are at instants of its own.
Motion    A sweep among bodies that move, against the same among bodies at rest.
Many      A sweep with a thousand bodies more, out of the lidar's reach.
FMU       Ten sweeps a second in steps of 10 ms, with files and without, and as a note without the
          trees of what mirrors and is of glass; and such a sweep with its file over Open3D's bare
          cast of the same rays, the bodies being where they begin.

A virtual machine gives memory that has been free for some seconds back to its host, and gets it
back page by page: 6 us for each, 9 ms for a file that takes 0.6 ms on memory that is there. That
is the price of new memory on that machine, whoever asks for it. So as much as the files take is
written and deleted right before they are; what a sweep takes without that is told beside it.
"""

import math
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.math.motion import matrix_from_quaternion
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.named import named_lidar
from sensor_models.output.sinks import WriteFiles
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.manifest import manifest_path
from sensor_models.scene.registry import SceneHandle, open_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import poses_of
from sensor_models.threads.pool import processors
from tests.bench.bars import Bar, best_in_turns
from tests.bench.lidar import directions_of, running, touch_memory
from tests.bench.tracing import best as best_of
from tests.bench.tracing import open3d_caster
from tests.masters.fmu_files import FmuFiles

Floats = NDArray[np.float64]

BODIES, SPEED, STEP, SECONDS = 20, 8.0, 0.01, 3.0
SWEEPS, TURNS, SPANS = 6, 5, 32
#: Bodies out of reach, and how far from one another they stand.
FAR_BODIES, APART = 1000, 40.0
RATE = 10.0
#: What the files of a drive take at the most, bytes, and in how many files.
DRIVE_BYTES, DRIVE_FILES = 6_000_000, 40
#: Where the lidar stands, and how often the drives are measured.
PLACE, ROUNDS = np.array([0.0, -8.0, 1.8]), 3

BODY = """
[[bodies]]
name = "other_{number}"
position = [{x}, {y}, 0.01]

[[instances]]
mesh = "car_red"
body = "other_{number}"
entity_id = {entity}
"""


def busy_yard(folder: Path, far: int = 0) -> Path:
    """The yard with more vehicles, and some of them out of reach; its manifest."""
    yard = manifest_path("yard").parent
    copy = Path(shutil.copytree(yard, folder / "busy"))
    with (copy / "scene.toml").open("a", encoding="utf-8") as manifest:
        for number in range(3, BODIES):
            angle = math.tau * number / BODIES
            x, y = (12.0 + number) * math.cos(angle), (12.0 + number) * math.sin(angle)
            manifest.write(BODY.format(number=number, entity=200 + number, x=x, y=y))
        for number in range(BODIES, BODIES + far):
            row, column = divmod(number, 32)
            x, y = 200.0 + APART * row, APART * (column - 16)
            manifest.write(BODY.format(number=number, entity=200 + number, x=x, y=y))
    return copy / "scene.toml"


def bodies_on_their_way(world: SceneHandle) -> MovingBodies:
    """The bodies on their way during a sweep."""
    poses = np.repeat(world.states().bodies[np.newaxis, :, :7], SPANS + 1, axis=0)
    poses[:, :, 0] += SPEED / RATE * np.linspace(0.0, 1.0, SPANS + 1)[:, np.newaxis]
    return MovingBodies(poses, 0, SPANS)


def sweep(rays: RayScene, lidar: Lidar, bodies: MovingBodies) -> None:
    """Some sweeps of a lidar that stands between the vehicles."""
    poses = poses_of(lidar.mount, np.array([[0.0, -8.0, 1.8, 1.0, 0.0, 0.0, 0.0]]))
    cloud, columns = lidar.new_cloud(), (0, lidar.pattern.columns)
    for frame in range(SWEEPS):
        cloud.clear()
        lidar.scan(rays, poses, frame, (0.0, 1.0 / RATE), columns, cloud, bodies)


def both(rays: RayScene, lidars: list[Lidar], bodies: MovingBodies) -> None:
    """The sweeps of several lidars, each in a thread."""
    threads = [threading.Thread(target=sweep, args=(rays, lidar, bodies)) for lidar in lidars]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def seconds_of(work: object, *arguments: object) -> float:
    """Seconds that a call takes."""
    began = time.perf_counter()
    work(*arguments)  # type: ignore[operator]
    return time.perf_counter() - began


def sweeps(world: SceneHandle) -> list[Bar]:
    """Threads and motion."""
    lidars = [named_lidar("OS0-128", identity=f"lidar {number}")[0] for number in range(2)]
    moving = bodies_on_their_way(world)
    resting = MovingBodies(moving.poses[:1])
    with RayScene(world.scene, threads=1) as rays:
        sweep(rays, lidars[0], moving)
        best = best_in_turns(
            {
                "alone": lambda: seconds_of(sweep, rays, lidars[0], moving),
                "both": lambda: seconds_of(both, rays, lidars, moving),
                "resting": lambda: seconds_of(sweep, rays, lidars[0], resting),
            },
            TURNS,
        )
    one = 1e3 * best["alone"] / SWEEPS
    gain, cost = 2.0 * best["alone"] / best["both"], best["alone"] / best["resting"]
    return [
        Bar("two lidars in two threads on one scene", gain, 1.7, "x", f"{one:.1f} ms alone", True),
        Bar(f"{BODIES} bodies in motion, to bodies at rest", cost, 1.15, "x", ""),
    ]


def many() -> Bar:
    """What bodies cost that no ray can reach."""
    lidar = named_lidar("OS0-128")[0]
    with (
        tempfile.TemporaryDirectory() as folder,
        open_scene(busy_yard(Path(folder) / "few")) as few,
        open_scene(busy_yard(Path(folder) / "many", FAR_BODIES)) as more,
        RayScene(few.scene, threads=1) as among_few,
        RayScene(more.scene, threads=1) as among_many,
    ):
        near, all_of_them = bodies_on_their_way(few), bodies_on_their_way(more)
        best = best_in_turns(
            {
                "few": lambda: seconds_of(sweep, among_few, lidar, near),
                "many": lambda: seconds_of(sweep, among_many, lidar, all_of_them),
            },
            TURNS,
        )
    detail = f"{1e3 * best['many'] / SWEEPS:.1f} ms a sweep"
    what = f"{FAR_BODIES} bodies more, out of reach"
    return Bar(what, best["many"] / best["few"], 1.25, "x", detail)


def cast(world: SceneHandle, states: Floats) -> float:
    """Seconds of Open3D's cast of the rays of a sweep, everything in one mesh where it begins."""
    scene = world.scene
    vertices, faces, held = [], [], 0
    for instance in scene.instances:
        mesh, turn = scene.meshes[instance.mesh], instance.transform
        points = mesh.vertices @ turn[:3, :3].T + turn[:3, 3]
        if instance.body >= 0:
            pose = states[instance.body]
            points = points @ matrix_from_quaternion(pose[3:7]).T + pose[:3]
        vertices.append(points - PLACE)
        faces.append(mesh.faces + held)
        held += len(points)
    whole = replace(
        scene.meshes[0],
        vertices=np.concatenate(vertices).astype(np.float32),
        faces=np.concatenate(faces).astype(np.uint32),
    )
    along = directions_of(named_lidar("OS0-128")[0])
    work = open3d_caster(replace(scene, meshes=(whole,)), processors(), along)
    return best_of(work, TURNS * SWEEPS, time.perf_counter)


def drive(
    files: FmuFiles,
    world: SceneHandle,
    begin: Floats,
    output: str,
    written: bool,
    more: Mapping[str, object],
) -> float:
    """Seconds that an OS0-128 takes in steps of 10 ms, the bodies setting out anew."""
    values = {
        "preset": "OS0-128",
        "sample_rate": RATE,
        "write_files": WriteFiles.on if written else WriteFiles.off,
        "output_directory": output,
        "scene_handle": world.number,
        "body.position.y": -8.0,
        "body.position.z": 1.8,
        **more,
    }
    bodies, first = begin.copy(), begin[:, 0]
    bodies[:, 7] = SPEED
    with running(files.directory, f"os0 {written}", values) as lidar:
        start = 0.0
        for k in range(round((SECONDS + 0.2) / STEP)):
            now = k * STEP
            if k == round(0.2 / STEP):
                start = time.perf_counter()
            bodies[:, 0] = first + SPEED * now
            world.move(now, bodies)
            lidar.step(now, STEP)
        return time.perf_counter() - start


def drives(files: FmuFiles, world: SceneHandle, folder: str) -> list[Bar]:
    """Against real time, and against a bare cast; all of them in turns."""
    names, begin = iter(range(1000)), world.states().bodies

    def driving(*, written: bool, touched: bool = False, **more: object) -> float:
        if touched:
            touch_memory(Path(folder), DRIVE_FILES, DRIVE_BYTES)
        return drive(files, world, begin, f"{folder}/{next(names)}", written, more)

    seconds = best_in_turns(
        {
            "cast": lambda: cast(world, begin),
            "without files": lambda: driving(written=False),
            "files and all": lambda: driving(written=True, touched=True),
            "new memory": lambda: driving(written=True),
            "first hits": lambda: driving(written=False, max_depth=0),
        },
        ROUNDS,
    )
    peer, new, first = (seconds.pop(name) for name in ("cast", "new memory", "first hits"))
    notes = {
        "files and all": f", {1e3 * new / SECONDS / RATE:.1f} ms in new memory",
        "without files": f", {1e3 * first / SECONDS / RATE:.1f} ms without reflections",
    }
    found = []
    for what, took in seconds.items():
        detail = f"{1e3 * took / SECONDS / RATE:.1f} ms a sweep{notes.get(what, '')}"
        name = f"OS0-128 among {BODIES} bodies, {what}"
        found.append(Bar(name, SECONDS / took, 8.0, "x", detail, True))
    over = took / SECONDS / RATE / peer
    detail = f"Open3D {1e3 * peer:.1f} ms"
    return [*found, Bar("the same with files, over Open3D's cast", over, 2.0, "x", detail)]


def bars(files: FmuFiles) -> list[Bar]:
    """All bars of bodies that move."""
    with tempfile.TemporaryDirectory() as folder, open_scene(busy_yard(Path(folder))) as world:
        return [*sweeps(world), many(), *drives(files, world, folder)]
