"""Robots and scenes of packages, read as they are: a table of what came of each.

    python -m tests.robots FILE-OR-FOLDER ...

Run by hand, as the packages are large. The wheel of ``pybullet`` (100 MB) holds the folder
``pybullet_data`` with some fifty robots; unpacked, ``python -m tests.robots pybullet_data`` reads
them all. Those of MuJoCo are in ``mujoco/testdata``. The exit code says whether all were read.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.worlds.formats import MUJOCO, USD

SUFFIXES = (*MUJOCO, *USD)


def worlds_in(places: Sequence[str]) -> Iterator[Path]:
    """Files that are named, and those in folders."""
    for place in map(Path, places):
        found = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from (file for file in found if file.suffix.lower() in SUFFIXES)


def row_of(world: Path) -> tuple[bool, str]:
    """Whether a world was read, and what came of it."""
    start = time.perf_counter()
    try:
        scene = load_scene(world)
    except SceneError as refusal:
        return False, f"refused: {refusal}"
    took = time.perf_counter() - start
    triangles = sum(len(scene.meshes[instance.mesh].faces) for instance in scene.instances)
    joints = sum(len(body.joints) for body in scene.bodies)
    counts = f"{len(scene.instances)} shapes, {len(scene.bodies)} bodies, {joints} joints"
    return True, f"{counts}, {triangles} triangles, {took:.1f} s"


def main(places: Sequence[str]) -> int:
    """Read all worlds; 1 if one was refused."""
    rows = [(world, *row_of(world)) for world in worlds_in(places)]
    for world, _, text in rows:
        print(f"{world}: {text}")
    read = sum(taken for _, taken, _ in rows)
    print(f"{read} of {len(rows)} were read")
    return int(read < len(rows))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
