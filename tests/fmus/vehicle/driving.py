"""Driving a vehicle in the yard and looking at where it went.

python -m tests.fmus.vehicle.driving --minutes 10    # random driving, with its figures
"""

import argparse
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fmus.vehicle.parameters import VehicleCommands, VehicleParameters
from fmus.vehicle.simulation import VehicleSimulation
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene

Floats = NDArray[np.float64]

YARD = load_scene("yard")
#: The middle of a lane that is level for 44 m along y, and free.
LANE = {"start_position": (20.0, -22.0), "start_yaw": np.pi / 2.0}
HALT = VehicleCommands()
#: The radius of the wheels if nothing else is said.
RADIUS = VehicleParameters().wheel_radius


@dataclass(frozen=True)
class Track:
    """Readings one after the other, the first of the start."""

    times: Floats
    position: Floats
    orientation: Floats
    velocity: Floats
    angular_velocity: Floats
    acceleration: Floats
    angular_acceleration: Floats
    wheels: Floats
    arm: Floats


def at_rest(scene: Scene = YARD, **parameters: object) -> VehicleSimulation:
    """A vehicle that was set down."""
    vehicle = VehicleSimulation(VehicleParameters(**parameters), scene)
    vehicle.start(HALT)
    return vehicle


def rolling(left: float, right: float | None = None) -> VehicleCommands:
    """Commands for speeds of the wheels' rims, in m/s."""
    right = left if right is None else right
    return VehicleCommands(drive_left=left / RADIUS, drive_right=right / RADIUS)


def drive(
    vehicle: VehicleSimulation,
    duration: float,
    commands: VehicleCommands | Callable[[float], VehicleCommands],
    step: float = 0.01,
) -> Track:
    """Drive on with equal steps; commands hold, or are a function of the time."""
    start, count = vehicle.time, round(duration / step)
    times = start + step * np.arange(count + 1)
    readings = [vehicle.reading()]
    for begin, end in itertools.pairwise(times.tolist()):
        vehicle.advance(end, commands(begin) if callable(commands) else commands)
        readings.append(vehicle.reading())
    return Track(times, *(np.array(column) for column in zip(*readings, strict=True)))


def random_commands(seed: int) -> Callable[[float], VehicleCommands]:
    """Other commands every 1.5 s, more often forward than back, up to 3 m/s and any way round."""

    def at(instant: float) -> VehicleCommands:
        draw = np.random.default_rng([seed, int(instant / 1.5 + 1e-6)])
        both, turn = draw.uniform(-3.0, 7.0), draw.uniform(-3.0, 3.0)
        left, right = both - turn, both + turn
        return VehicleCommands(left, right, draw.uniform(-1.3, 0.4), draw.uniform(-0.4, 1.9))

    return at


def lowest_above_terrain(track: Track) -> float:
    """How high the body's origin is above the mesh of the ground at the worst moment (m)."""
    from sensor_models.scene.tracing import RayScene

    only_ground = tuple(i for i in YARD.instances if i.name == "ground")
    sky = track.position + np.array([0.0, 0.0, 50.0])
    down = np.tile([0.0, 0.0, -1.0], (len(sky), 1))
    with RayScene(replace(YARD, instances=only_ground, bodies=())) as rays:
        distances = rays.trace(sky, down).t
    return float(distances.min() - 50.0)


def main() -> None:
    """Drive at random, and say what came of it."""
    parser = argparse.ArgumentParser(description="Random driving in the yard.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    vehicle = at_rest()
    began = time.process_time()
    track = drive(vehicle, 60.0 * options.minutes, random_commands(options.seed))
    spent = time.process_time() - began
    way = np.linalg.norm(np.diff(track.position[:, :2], axis=0), axis=1).sum()
    low, high = track.position.min(axis=0), track.position.max(axis=0)
    print(f"{options.minutes:g} min, {way:.0f} m; CPU {spent:.1f} s")
    print(f"x {low[0]:.1f} to {high[0]:.1f} m, y {low[1]:.1f} to {high[1]:.1f} m")
    print(f"lowest above the terrain: {lowest_above_terrain(track):.3f} m")


if __name__ == "__main__":
    main()
