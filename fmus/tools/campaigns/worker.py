"""What a worker does: it is told which runs of which campaign, and gives their rows.

It imports what has kernels only when it knows where those of the FMUs are (``unpacked``).
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fmus.tools.campaigns.unpacked import use_kernels_of

if TYPE_CHECKING:
    from fmus.tools.campaigns.design import Run
    from fmus.tools.campaigns.results import Row


@dataclass(frozen=True)
class Order:
    """What a worker must know of a campaign."""

    path: str
    digest: str
    directory: str
    fmus: tuple[tuple[str, str], ...]  # parts, and the files of their FMUs
    trust: bool


def packed(runs: "Sequence[Run]") -> bytes:
    """Runs for ``run_batch``: the choices among their values are of modules that have kernels."""
    return pickle.dumps(list(runs))


def run_batch(order: Order, runs: bytes) -> "list[Row]":
    """Do some runs of a campaign, which were ``packed``, in this process."""
    use_kernels_of({part: Path(file) for part, file in order.fmus})
    from fmus.tools.campaigns.campaign import at_work, run_once

    campaign, master = at_work(order.path, order.digest, order.trust)
    directory = Path(order.directory)
    return [run_once(campaign, run, master, directory) for run in pickle.loads(runs)]
