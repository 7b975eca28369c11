"""Bars of bodies that move: an OS0-128 in the yard among twenty of them, whose cost is to be small.

Threads   Two lidars on one scene in two threads, against one in one thread: nobody waits for the
          other, though each has the bodies where they are at instants of its own.
Motion    A sweep among bodies that move, against the same among bodies at rest.
FMU       Ten sweeps a second in steps of 10 ms, with files and without.
"""

import math
import shutil
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.named import named_lidar
from sensor_models.output.sinks import WriteFiles
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.manifest import manifest_path
from sensor_models.scene.registry import SceneHandle, open_scene
from sensor_models.scene.tracing import RayScene
from tests.bench.bars import Bar, best_in_turns
from tests.bench.lidar import running
from tests.masters.fmu_files import FmuFiles

BODIES, SPEED, STEP, SECONDS = 20, 8.0, 0.01, 3.0
SWEEPS, TURNS, SPANS = 6, 5, 32
RATE = 10.0

BODY = """
[[bodies]]
name = "other_{number}"
position = [{x}, {y}, 0.01]

[[instances]]
mesh = "car_red"
body = "other_{number}"
entity_id = {entity}
"""


def busy_yard(folder: Path) -> Path:
    """The yard with more vehicles; its manifest."""
    yard = manifest_path("yard").parent
    copy = Path(shutil.copytree(yard, folder / "busy"))
    with (copy / "scene.toml").open("a", encoding="utf-8") as manifest:
        for number in range(3, BODIES):
            angle = math.tau * number / BODIES
            x, y = (12.0 + number) * math.cos(angle), (12.0 + number) * math.sin(angle)
            manifest.write(BODY.format(number=number, entity=200 + number, x=x, y=y))
    return copy / "scene.toml"


def poses_of(world: SceneHandle) -> MovingBodies:
    """The bodies on their way during a sweep."""
    poses = np.repeat(world.states().bodies[np.newaxis, :, :7], SPANS + 1, axis=0)
    poses[:, :, 0] += SPEED / RATE * np.linspace(0.0, 1.0, SPANS + 1)[:, np.newaxis]
    return MovingBodies(poses, 0, SPANS)


def sweep(rays: RayScene, lidar: Lidar, bodies: MovingBodies) -> None:
    """Some sweeps of a lidar that stands between the vehicles."""
    poses = lidar.sensor_poses(np.array([[0.0, -8.0, 1.8, 1.0, 0.0, 0.0, 0.0]]))
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
    moving = poses_of(world)
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


def drive(files: FmuFiles, world: SceneHandle, output: str, written: bool) -> Bar:
    """An OS0-128 in steps of 10 ms."""
    values = {
        "preset": "OS0-128",
        "sample_rate": RATE,
        "write_files": WriteFiles.on if written else WriteFiles.off,
        "output_directory": output,
        "scene_handle": world.number,
        "body.position.y": -8.0,
        "body.position.z": 1.8,
    }
    bodies, first = world.states().bodies, world.states().bodies[:, 0].copy()
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
        took = time.perf_counter() - start
    what = "files and all" if written else "without files"
    detail = f"{1e3 * took / SECONDS / RATE:.1f} ms a sweep"
    return Bar(f"OS0-128 among {BODIES} bodies, {what}", SECONDS / took, 8.0, "x", detail, True)


def bars(files: FmuFiles) -> list[Bar]:
    """All bars of bodies that move."""
    with tempfile.TemporaryDirectory() as folder, open_scene(busy_yard(Path(folder))) as world:
        return [
            *sweeps(world),
            *(drive(files, world, f"{folder}/{written}", written) for written in (False, True)),
        ]
