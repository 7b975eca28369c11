"""What masters rely on of the FMU ``WaveformLidar``: names, types, units, ranges, items."""

from tests.fmus import lidar_tables
from tests.fmus.inertial_tables import AT_LEAST_0, Range, Typed
from tests.fmus.lidar_tables import SHARE
from tests.fmus.seeing_tables import (
    BOOLEAN,
    CHOICE,
    INTEGER,
    METRE,
    NUMBER,
    RADIAN,
    SECOND,
    STRING,
)

WATT = ("Real", "W")

#: What of a lidar has no meaning where echoes are made of waveforms.
NOT_HERE = (
    "beam.", "walk.", "intensity.", "range_resolution", "return_mode", "max_returns",
    "min_intensity", "detection_probability", "path_convention", "pulse_length",
)  # fmt: skip


def kept(table: dict[str, Typed]) -> dict[str, Typed]:
    """A table of the lidar without what has no meaning here."""
    return {name: typed for name, typed in table.items() if not name.startswith(NOT_HERE)}


PARAMETERS: dict[str, Typed] = {
    **kept(lidar_tables.PARAMETERS),
    "peak_power": WATT,
    "aperture_radius": METRE,
    "divergence_full_angle": RADIAN,
    "pulse_duration": SECOND,
    "det_length": METRE,
    "det_width": METRE,
    "det_response": NUMBER,
    "t_start": SECOND,
    "t_stop": SECOND,
    "t_res": SECOND,
    "gain": NUMBER,
    "binning": CHOICE,
    "ray_weight": CHOICE,
    "beam.pattern": CHOICE,
    "beam.subrays": INTEGER,
    "beam.side": INTEGER,
    "beam.target_spacing": METRE,
    "beam.target_range": METRE,
    "receiver.type": CHOICE,
    "receiver.noise": BOOLEAN,
    "receiver.efficiency": NUMBER,
    "receiver.gain": NUMBER,
    "receiver.k": NUMBER,
    "receiver.filter_sigma": SECOND,
    "receiver.dark_current": ("Real", "A"),
    "receiver.dark_counts": ("Real", "Hz"),
    "receiver.noise_current": ("Real", "A/sqrt(Hz)"),
    "receiver.band": METRE,
    "receiver.field_of_view": RADIAN,
    "receiver.transmission": NUMBER,
    "receiver.cells": INTEGER,
    "receiver.pde": NUMBER,
    "receiver.recovery_time": SECOND,
    "receiver.shots": INTEGER,
    "receiver.dead_time": SECOND,
    "adc.impedance": ("Real", "V/A"),
    "adc.bits": INTEGER,
    "adc.full_scale": ("Real", "V"),
    "extraction": CHOICE,
    "threshold": NUMBER,
    "threshold_absolute": WATT,
    "leading_edge.fraction": NUMBER,
    "cfd.fraction": NUMBER,
    "cfd.delay": SECOND,
    "max_echoes": INTEGER,
    "least_width": NUMBER,
    "waveform.on": BOOLEAN,
}

LIDAR = lidar_tables.FIXED["Lidar"]
FIXED: dict[str, dict[str, dict[str, Typed]]] = {
    "WaveformLidar": {
        "input": LIDAR["input"],
        "parameter": PARAMETERS,
        "output": {**LIDAR["output"], "waveform.file": STRING},
    },
}

RANGES: dict[str, dict[str, Range]] = {
    "WaveformLidar": {
        **{n: r for n, r in lidar_tables.RANGES["Lidar"].items() if not n.startswith(NOT_HERE)},
        "peak_power": (1e-12, None),
        "aperture_radius": (1e-6, 1.0),
        "divergence_full_angle": (0.0, 0.5),
        "pulse_duration": (0.0, 1e-3),
        "det_length": (1e-6, 10.0),
        "det_width": (1e-6, 10.0),
        "det_response": SHARE,
        "gain": (1e-12, None),
        "t_start": AT_LEAST_0,
        "t_stop": (1e-12, 1e-2),
        "t_res": (1e-13, 1e-3),
        "beam.subrays": (1.0, 100_000.0),
        "beam.side": (1.0, 1000.0),
        "beam.target_spacing": (1e-4, None),
        "beam.target_range": (1e-3, None),
        "receiver.efficiency": (1e-6, 1.0),
        "receiver.gain": (1.0, None),
        "receiver.k": SHARE,
        "receiver.filter_sigma": (0.0, 1e-3),
        "receiver.dark_current": AT_LEAST_0,
        "receiver.dark_counts": AT_LEAST_0,
        "receiver.noise_current": AT_LEAST_0,
        "receiver.band": AT_LEAST_0,
        "receiver.field_of_view": (0.0, 3.0),
        "receiver.transmission": (1e-6, 1.0),
        "receiver.cells": (1.0, None),
        "receiver.pde": (1e-6, 1.0),
        "receiver.recovery_time": (0.0, 1e-3),
        "receiver.shots": (1.0, None),
        "receiver.dead_time": AT_LEAST_0,
        "adc.impedance": (1e-12, None),
        "adc.bits": (0.0, 16.0),
        "adc.full_scale": (1e-12, None),
        "threshold": (1e-9, None),
        "threshold_absolute": AT_LEAST_0,
        "leading_edge.fraction": (0.0, 0.99),
        "cfd.fraction": (0.01, 0.99),
        "cfd.delay": AT_LEAST_0,
        "max_echoes": (1.0, 15.0),
        "least_width": SHARE,
    },
}

ITEMS = {
    "WaveformLidar": {
        **{
            name: items
            for name, items in lidar_tables.ITEMS["Lidar"].items()
            if not name.startswith(NOT_HERE)
        },
        "binning": ["linear", "nearest"],
        "ray_weight": ["power", "irradiance"],
        "beam.pattern": ["spiral", "grid", "spacing"],
        "receiver.type": ["ideal", "apd", "sipm", "spad"],
        "extraction": ["peak", "leading_edge", "cfd", "centroid", "gaussian"],
    }
}
