"""Makes walk.csv: poses of a head on a walk around a court, at about 25 Hz as from a tracker."""

import csv
import math
import random
from pathlib import Path

DURATION, RATE, RADIUS, SPEED = 6.0, 25.0, 3.0, 1.2  # s, Hz, m, m/s


def pose(time: float) -> list[float]:
    """Position and orientation: on a circle, facing along it, with a step of 2 Hz."""
    angle = SPEED / RADIUS * time
    step = 4.0 * math.pi * time
    heading = angle + math.pi / 2.0 + 0.05 * math.sin(step / 2.0)
    place = [RADIUS * math.cos(angle), RADIUS * math.sin(angle), 1.6 + 0.02 * math.sin(step)]
    return [*place, math.cos(heading / 2.0), 0.0, 0.0, math.sin(heading / 2.0)]


def main() -> None:
    """Write the file beside this one."""
    chance = random.Random(1)
    times = [0.0]
    while times[-1] < DURATION:
        times.append(round(times[-1] + (1.0 + chance.uniform(-0.2, 0.2)) / RATE, 6))
    with Path(__file__).with_name("walk.csv").open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["time", "x", "y", "z", "qw", "qx", "qy", "qz"])
        writer.writerows([time, *(f"{value:.9f}" for value in pose(time))] for time in times)


if __name__ == "__main__":
    main()
