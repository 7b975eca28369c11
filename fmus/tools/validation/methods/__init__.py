"""Methods: what is made of the records and frames of runs, each by its name in a row.

A method is a function of the runs of a row and of its options, and gives an ``Outcome`` in SI
units. Its docstring says what its results are called and how they are computed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fmus.tools.validation.methods import camera, gnss, inertial, radar, ranging, samples
from fmus.tools.validation.methods.outcome import Evaluation, Outcome, Run

__all__ = ["METHODS", "Method", "Outcome", "Run"]


@dataclass(frozen=True)
class Method:
    """A way to evaluate runs: its function, its options with what they are by default."""

    function: Evaluation
    options: Mapping[str, Any]
    frames: bool = False
    """Whether the FMU has to write frames."""


METHODS: Mapping[str, Method] = {
    "allan": Method(
        inertial.allan, {"sensors": ["accelerometer", "gyroscope"], "fitted_from": 0.0}
    ),
    "samples": Method(samples.samples, {"columns": [], "skip": 0.0}),
    "truth": Method(samples.truth, {"column": "", "slope": 0.0, "skip": 0.0}),
    "positions": Method(gnss.positions, {"skip": 0.0}),
    "wall": Method(ranging.wall, {"window": 0.35, "spread": False}, frames=True),
    "reach": Method(ranging.reach, {"window": 0.15}, frames=True),
    "room": Method(ranging.room, {"half": 4.0}, frames=True),
    "pattern": Method(ranging.pattern, {}, frames=True),
    "attenuation": Method(ranging.attenuation, {"contrast": 0.05, "clear": 0.0}, frames=True),
    "photon_transfer": Method(camera.photon_transfer, {"black": 100.0}, frames=True),
    "targets": Method(radar.targets, {}),
}
