"""A lidar on a running MuJoCo simulation, without any FMU.

    python examples/mujoco_lidar.py [FILE.xml --body NAME] [--preset NAME] [--compare]

Without a file, a robot of 12 legs is dropped onto hilly ground. ``--compare`` measures how many
rays a second the ray engine traces, beside MuJoCo's own ``mj_multiRay`` on the same model.
"""

import argparse
import time
from collections.abc import Callable

import mujoco
import numpy as np

from sensor_models.lidar.named import named_lidar
from sensor_models.scene.worlds.mujoco_world import MujocoWorld


def robot() -> str:
    """A robot on hills with pillars around it, as MJCF."""
    draws = np.random.default_rng(1)
    heights = " ".join(f"{h:.3f}" for h in draws.uniform(0.0, 1.0, 40 * 40))
    pillars = "".join(
        f'<geom type="cylinder" size="0.3 2" pos="{x:.2f} {y:.2f} 1" rgba="0.7 0.6 0.5 1"/>'
        for x, y in draws.uniform(-18.0, 18.0, (60, 2))
        if abs(x) + abs(y) > 4.0
    )
    legs = "".join(
        f'<body pos="{0.5 * np.cos(a):.3f} {0.5 * np.sin(a):.3f} 0">'
        f'<joint axis="{-np.sin(a):.3f} {np.cos(a):.3f} 0" damping="0.5"/>'
        f'<geom type="capsule" size="0.05" fromto="0 0 0 {0.4 * np.cos(a):.3f}'
        f' {0.4 * np.sin(a):.3f} -0.5"/></body>'
        for a in np.arange(12) * np.pi / 6.0
    )
    return f"""<mujoco>
    <asset><hfield name="hills" nrow="40" ncol="40" size="20 20 0.6 1" elevation="{heights}"/>
    </asset>
    <worldbody><geom type="hfield" hfield="hills" rgba="0.4 0.5 0.3 1"/>{pillars}
      <body name="robot" pos="0 0 2"><freejoint/><geom type="cylinder" size="0.5 0.1"/>{legs}</body>
    </worldbody></mujoco>"""


def main() -> None:
    """Drop the robot and look around."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="an MJCF; without one, a robot of our own")
    parser.add_argument("--body", default="robot", help="that carries the lidar")
    parser.add_argument("--preset", default="OS1-64")
    parser.add_argument("--compare", action="store_true", help="measure beside mj_multiRay")
    given = parser.parse_args()
    text = robot()
    model = (
        mujoco.MjModel.from_xml_path(given.file)
        if given.file
        else mujoco.MjModel.from_xml_string(text)
    )
    data = mujoco.MjData(model)

    world = MujocoWorld(model, data)
    lidar, rate = named_lidar(given.preset, {"mount.position.z": 0.5})
    for frame in range(5):
        mujoco.mj_step(model, data, nstep=int(1.0 / rate / model.opt.timestep))
        cloud = lidar.capture(world.rays(), world.pose(given.body), frame, data.time)
        print(f"{data.time:6.3f} s  {len(cloud.points())} points from {lidar.rays} rays")
    if given.compare:
        compare(model, data, world, given.body)


def compare(model: mujoco.MjModel, data: mujoco.MjData, world: MujocoWorld, body: str) -> None:
    """Print the rays a second of both, for each second of a processor."""
    azimuth, elevation = np.meshgrid(
        np.linspace(-np.pi, np.pi, 1024), np.radians(np.linspace(-25.0, 25.0, 64))
    )
    flat = np.cos(elevation)
    grid = np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)], axis=-1)
    origin, rays = world.pose(body)[:3] + np.array([0.0, 0.0, 0.5]), azimuth.size
    geoms, ranges = np.zeros(rays, np.int32), np.zeros(rays)
    more = () if mujoco.mj_versionString() < "3.5" else (None,)
    hits = world.rays().trace(origin, grid, 200.0)

    def mujocos() -> None:
        about = (model, data, origin, grid.ravel(), None, 1, -1, geoms, ranges, *more)
        mujoco.mj_multiRay(*about, rays, 200.0)

    ours = rays / best(lambda: world.rays().trace(origin, grid, 200.0, out=hits))
    theirs = rays / best(mujocos)
    print(f"ours {ours / 1e6:.1f}, mj_multiRay {theirs / 1e6:.2f} million rays a processor second")
    print(f"that is {ours / theirs:.1f} times as many, on each processor that traces")


def best(run: Callable[[], object]) -> float:
    """The least processor time of ten runs, over all threads, in s."""
    times = []
    for _ in range(10):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
