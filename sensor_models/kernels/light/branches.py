"""Branches of rays that are on their way: where they are, what is left of them, what is around.

A branch is a row of numbers and one of ids. Those that wait to be traced lie on stacks, those in a
packet have a row for each lane (``light.tree``). Media nest: that of a point is the one that was
entered last, and leaving takes out an entry wherever it is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    Triple,
)

#: Media that may lie around one another; entries of further ones are forgotten.
NESTING = 8
#: Depth that a tree may have, and events that a branch may.
MOST_DEPTH, MOST_EVENTS = 16, 64
#: Branches on a stack. A packet replaces WIDTH of them by as many on each of two stacks, all of a
#: level deeper, and the next one is of the fuller stack.
MOST_BRANCHES = WIDTH * (MOST_DEPTH + 4)

# Columns of Branches.numbers: where it starts and goes, then W, S, Q, and how far ahead the echo
# of the medium is, and when its ray was sent, as a share of the frame.
START_X, START_Y, START_Z, ALONG_X, ALONG_Y, ALONG_Z, WEIGHT, OPTICAL, REDUCED, AHEAD = range(10)
TIME = 10
NUMBERS = 11
# Columns of Branches.ids: the index that its ray has with who sent it, and the number that its
# draws go by, one for each ray of a frame; node, depth, events; then how many media are around, and
# for each who it belongs to and its row in Path.media.
RAY, NUMBER, NODE, DEPTH, EVENTS, AROUND, OWNERS = 0, 1, 2, 3, 4, 5, 6
MEDIA = OWNERS + NESTING
IDS = MEDIA + NESTING

#: Row of the rays in flight that shows the one that is looked at behind the surface it meets.
BEHIND = WIDTH
#: Stands for the way to the echo of a medium that was not drawn yet.
TO_DRAW = -1.0


class Branches(NamedTuple):
    """Rays that still have to be traced."""

    numbers: NDArray[np.float64]
    ids: NDArray[np.int64]
    filled: NDArray[np.int64]  # (1,)


@njit(cache=True)
def new_branches(most: int) -> Branches:
    """Room for some branches."""
    return Branches(
        np.empty((most, NUMBERS)), np.zeros((most, IDS), np.int64), np.zeros(1, np.int64)
    )


@njit(**ACCESS)
def medium_of(branches: Branches, lane: int) -> int:
    """The row of the medium that a branch is in; row 0 fills the world."""
    around = branches.ids[lane, AROUND]
    return branches.ids[lane, MEDIA + around - 1] if around > 0 else 0


@njit(**ACCESS)
def enter(branches: Branches, place: int, owner: int, medium: int) -> bool:
    """Take note that a branch is in a medium now; False if there is no room for it."""
    around = branches.ids[place, AROUND]
    if around >= NESTING:
        return False
    branches.ids[place, OWNERS + around] = owner
    branches.ids[place, MEDIA + around] = medium
    branches.ids[place, AROUND] = around + 1
    return True


@njit(**ACCESS)
def entry_of(branches: Branches, place: int, owner: int) -> int:
    """Where among the media around a branch is that of an owner, -1 if it is in none."""
    for k in range(branches.ids[place, AROUND] - 1, -1, -1):
        if branches.ids[place, OWNERS + k] == owner:
            return k
    return -1


@njit(**ACCESS)
def leave(branches: Branches, place: int, entry: int) -> None:
    """Take note that a branch is out of a medium."""
    around = branches.ids[place, AROUND] - 1
    for k in range(entry, around):
        branches.ids[place, OWNERS + k] = branches.ids[place, OWNERS + k + 1]
        branches.ids[place, MEDIA + k] = branches.ids[place, MEDIA + k + 1]
    branches.ids[place, AROUND] = around


@njit(**ACCESS)
def push(
    flight: Branches,
    lane: int,
    branches: Branches,
    along: Triple,
    off: Triple,
    share: float,
) -> int:
    """Put a branch on the stack that goes on from where one arrived; -1 if there is no room.

    ``flight`` holds the state on arrival; ``off`` leads away from the interface.
    """
    place: int = branches.filled[0]
    if place >= len(branches.numbers):
        return -1
    branches.filled[0] = place + 1
    for k in range(NUMBERS):
        branches.numbers[place, k] = flight.numbers[lane, k]
    for k in range(OWNERS + flight.ids[lane, AROUND]):
        branches.ids[place, k] = flight.ids[lane, k]
    for k in range(MEDIA, MEDIA + flight.ids[lane, AROUND]):
        branches.ids[place, k] = flight.ids[lane, k]
    for k in range(3):
        branches.numbers[place, START_X + k] += off[k]
        branches.numbers[place, ALONG_X + k] = along[k]
    branches.numbers[place, WEIGHT] *= share
    return place


@njit(**ACCESS)
def step_down(branches: Branches, place: int, side: int) -> None:
    """Make a branch that of a child in the heap: side 1 reflected, 2 transmitted."""
    branches.ids[place, NODE] = 2 * branches.ids[place, NODE] + side
    branches.ids[place, DEPTH] += 1


@njit(**ACCESS)
def least_followed(path: Path, reduced: float) -> float:
    """The least weight of a branch that is followed from some reduced path on."""
    least: float = max(path.least_weight, path.detected_from + path.detected_by * reduced)
    return least
