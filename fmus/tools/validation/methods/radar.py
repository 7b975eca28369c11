"""What a radar tells of a target whose place and cross section are known."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fmus.tools.validation.methods.outcome import Outcome, Run

#: How many targets the outputs hold.
SLOTS = 16


def targets(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """The target of the list whose entity is the one that the run looks at.

    ``at`` is its entity id. Curves over it: ``rcs``, dBsm; ``snr``, dB; ``range``, m; ``azimuth``,
    rad; ``speed``, m/s. They are those of the last frame. Of one run they are values, too.
    """
    del options
    names = ("rcs", "snr", "range", "azimuth", "speed")
    found: dict[str, list[float]] = {name: [] for name in names}
    for run in runs:
        slots = [
            n
            for n in range(1, SLOTS + 1)
            if run.outputs[f"target_{n}.entity_id"] == run.at and run.outputs[f"target_{n}.range"]
        ]
        if not slots:
            raise ValueError(f"entity {run.at:g} is not among the targets")
        best = max(slots, key=lambda n: run.outputs[f"target_{n}.snr"])
        for name in names:
            value = run.outputs[f"target_{best}.{name}"]
            found[name].append(10.0 * math.log10(value) if name in ("rcs", "snr") else value)
    places = np.array([run.at for run in runs])
    values = {name: along[0] for name, along in found.items()} if len(runs) == 1 else {}
    curves = {name: (places, np.array(along)) for name, along in found.items()}
    return Outcome(values, curves, axis="entity")
