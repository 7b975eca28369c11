"""A small scene for tests: a box on a body that moves along x, and another body without any."""

import math
from pathlib import Path

import numpy as np

from sensor_models.scene.registry import BodyStates, SceneHandle

FIELD = (1e-5, -2e-5, 3e-5)

MANIFEST = """
format = 1
name = "rail"

[world]
magnetic_field = [1e-5, -2e-5, 3e-5]

[meshes.wagon]
file = "wagon.obj"
material = "brick"

[[bodies]]
name = "wagon"
position = [5, 0, 0]

[[bodies]]
name = "lever"
position = [0, 3, 0]
orientation = [0, 0, 0, 1]

[[instances]]
mesh = "wagon"
body = "wagon"
entity_id = 7
"""

#: A box with sides of 2 m around the origin.
WAGON = (
    "".join(f"v {x} {y} {z}\n" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
    + "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
)


def write_rail(folder: Path) -> Path:
    """Write the scene; returns its manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "wagon.obj").write_text(WAGON)
    manifest = folder / "scene.toml"
    manifest.write_text(MANIFEST)
    return manifest


def move(world: SceneHandle, first: int, last: int) -> None:
    """Moves of which each leaves its number wherever a state has no orientation."""
    states = world.states().bodies
    for k in range(first, last):
        states[:, :3] = states[:, 7:] = k
        world.move(float(k), states)


def is_whole(states: BodyStates) -> bool:
    """Whether all numbers of a state are from one of these moves."""
    numbers = (states.bodies[:, :3], states.bodies[:, 7:])
    return states.record == 0 or all((part == states.time).all() for part in numbers)


def move_until(world: SceneHandle, end: str) -> int:
    """Moves until a file is there; how many."""
    moves = 0
    while not Path(end).exists():
        move(world, moves, moves + 100)
        moves += 100
    return moves


def watch(world: SceneHandle, wanted: int) -> tuple[int, int]:
    """Watch until so many different states were seen: how many were torn, or out of order."""
    different, torn, disordered, newest = 0, 0, 0, 0
    while different < wanted:
        states = world.states()
        torn += not is_whole(states)
        disordered += states.record < newest
        different += states.record != newest
        newest = states.record
    return torn, disordered


def watch_past(world: SceneHandle, wanted: int) -> int:
    """Watch until so many different pasts were seen: how many were torn or had gaps."""
    different, wrong, newest = 0, 0, -math.inf
    while different < wanted:
        past = world.history(-math.inf)
        steps = np.diff(past.times)
        whole = (past.states[:, :, :3] == past.times[:, None, None]).all()
        whole &= (past.states[:, :, 7:] == past.times[:, None, None]).all()
        if past.times[-1] >= 0.0:
            wrong += not whole or not (steps == 1.0).all()
            different += past.times[-1] != newest
            newest = past.times[-1]
    return wrong
