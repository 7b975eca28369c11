"""Fixes of the satellite receiver in the world, and which satellites it used."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from report.recording import Recording
from sensor_models import catalog
from sensor_models.core.georeference import Georeference
from sensor_models.core.named import named_parameters
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import GnssParameters
from sensor_models.kernels.gnss import sky as at
from sensor_models.presets import load_preset

Floats = NDArray[np.float64]
RANGE = "pseudorange."


@dataclass(frozen=True)
class Fixes:
    """What a receiver reported."""

    recording: Recording

    @cached_property
    def table(self) -> dict[str, Floats]:
        """Its record."""
        return self.recording.record("GNSS")

    @cached_property
    def origin(self) -> Georeference:
        """Where the world is."""
        own = self.recording.parameters["GNSS"]
        return Georeference(own["origin.latitude"], own["origin.longitude"])

    @cached_property
    def places(self) -> Floats:
        """The fixes in the world, NaN where there was none."""
        columns = (self.table[name] for name in ("latitude", "longitude", "height"))
        found = np.array([self.origin.to_world(*place) for place in zip(*columns, strict=True)])
        return np.where(self.table["fix"][:, None] > 0, found, np.nan)

    @cached_property
    def errors(self) -> Floats:
        """How far fixes are from the antenna, along east, north and up."""
        truth, time = self.recording.vector("body.position"), self.recording.time
        body = [np.interp(self.table["time"], time, truth[:, axis]) for axis in range(3)]
        height = float(self.recording.parameters["GNSS"]["mount.position.z"])
        return self.places - np.column_stack(body) - np.array([0.0, 0.0, height])

    @cached_property
    def sky(self) -> dict[str, Any]:
        """Where the satellites above the mask stand, as the library has it; 20 s move them little.

        The distance from the middle is 90 degrees less the elevation.
        """
        spec, own = catalog.spec_of("Gnss"), self.recording.parameters["GNSS"]
        preset = load_preset("Gnss", str(own["preset"]))
        receiver = Gnss(named_parameters(spec, preset).of(GnssParameters), None, self.origin)
        receiver.sample(0, 0.0, np.array([0.0, 0.0, 0.0, 1.0, *np.zeros(9)]))
        sky = receiver.sky
        above = sky[:, at.STATUS] == at.USED  # under an open sky all above the mask are
        return {
            "names": [
                s.name for s, up in zip(receiver.constellation.satellites, above, strict=True) if up
            ],
            "azimuth": np.degrees(np.arctan2(*sky[above][:, [at.EAST, at.NORTH]].T)).round(1),
            "down": (90.0 - np.degrees(np.arcsin(sky[above, at.UP]))).round(1),
            "mask": math.degrees(receiver.parameters.elevation_mask),
        }

    def used(self, time: float) -> list[bool]:
        """Whether the receiver measured its range to each satellite of the sky, at a fix."""
        row = int(np.argmin(np.abs(self.table["time"] - time)))
        return [bool(np.isfinite(self.table[RANGE + name][row])) for name in self.sky["names"]]
