"""What masters rely on of the FMU ``Radar``: names, types, units, ranges, items."""

import math

from tests.fmus.inertial_tables import Range, Typed
from tests.fmus.seeing_tables import (
    BOOLEAN,
    CHOICE,
    FRAME_OUTPUTS,
    INTEGER,
    METRE,
    NUMBER,
    RADIAN,
    SECOND,
    SEEING_INPUTS,
    SEEING_ITEMS,
    SEEING_PARAMETERS,
    SEEING_RANGES,
    STRING,
)

SPEED = ("Real", "m/s")

WINDOWS = ["rectangular", "hann", "hamming", "blackman"]

TARGET = {
    "range": METRE,
    "azimuth": RADIAN,
    "elevation": RADIAN,
    "speed": SPEED,
    "rcs": ("Real", "m2"),
    "snr": NUMBER,
    "entity_id": INTEGER,
}

#: Of the model ray_traced.
RAY_TRACED: dict[str, Typed] = {
    "frequency": ("Real", "Hz"),
    "chirp.slope": ("Real", "Hz/s"),
    "chirp.sample_rate": ("Real", "Hz"),
    "chirp.samples": INTEGER,
    "chirp.count": INTEGER,
    "chirp.interval": SECOND,
    "transmitters": STRING,
    "receivers": STRING,
    "mimo": CHOICE,
    "transmit_power": ("Real", "W"),
    "gain": NUMBER,
    "pattern": STRING,
    "noise_figure": NUMBER,
    "loss": NUMBER,
    "noise.on": BOOLEAN,
    "window.range": CHOICE,
    "window.doppler": CHOICE,
    "window.angle": CHOICE,
    "fov.azimuth": RADIAN,
    "fov.elevation": RADIAN,
    "rays.angle": RADIAN,
    "rays.spacing": METRE,
    "rays.maximum": INTEGER,
    "max_bounces": INTEGER,
    "polarization": CHOICE,
    "cfar.type": CHOICE,
    "cfar.window": INTEGER,
    "cfar.guard": INTEGER,
    "cfar.rank": INTEGER,
    "cfar.false_alarm": NUMBER,
    "cfar.side_lobes": BOOLEAN,
    "synthesis": CHOICE,
    "max_targets": INTEGER,
    "cube.on": BOOLEAN,
}

FIXED: dict[str, dict[str, dict[str, Typed]]] = {
    "Radar": {
        "input": SEEING_INPUTS,
        "parameter": {
            "model": CHOICE,
            "h_angle": RADIAN,
            "v_angle": RADIAN,
            "length": METRE,
            "lines_per_face": INTEGER,
            "cap": CHOICE,
            "elevation_mode": CHOICE,
            "speed_mode": CHOICE,
            "obstacles": CHOICE,
            "ignore": STRING,
            **RAY_TRACED,
            **SEEING_PARAMETERS,
        },
        "output": {
            **FRAME_OUTPUTS,
            "cube.file": STRING,
            "detected": BOOLEAN,
            "range": METRE,
            "azimuth": RADIAN,
            "elevation": RADIAN,
            "speed": SPEED,
            "entity_id": INTEGER,
            "target_count": INTEGER,
            **{f"target_{n}.{name}": typed for n in range(1, 17) for name, typed in TARGET.items()},
        },
    },
}

RANGES: dict[str, dict[str, Range]] = {
    "Radar": {
        **SEEING_RANGES,
        "h_angle": (0.0, math.pi),
        "v_angle": (0.0, math.pi),
        "length": (0.0, None),
        "lines_per_face": (2.0, 1e6),
        "frequency": (1e9, 1e12),
        "chirp.samples": (2.0, 65536.0),
        "chirp.count": (2.0, 65536.0),
        "noise_figure": (1.0, None),
        "loss": (1.0, None),
        "max_bounces": (1.0, 8.0),
        "max_targets": (1.0, 1e5),
        "chirp.slope": (0.0, None),
        "chirp.sample_rate": (0.0, None),
        "chirp.interval": (0.0, None),
        "transmit_power": (0.0, None),
        "gain": (0.0, None),
        "fov.azimuth": (0.0, math.radians(85.0)),
        "fov.elevation": (0.0, math.radians(85.0)),
        "rays.angle": (1e-5, 0.1),
        "rays.spacing": (1e-5, None),
        "rays.maximum": (1000.0, None),
        "cfar.window": (2.0, 1024.0),
        "cfar.guard": (0.0, 1024.0),
        "cfar.rank": (1.0, 1024.0),
        "cfar.false_alarm": (1e-12, 0.5),
    },
}

ITEMS = {
    "Radar": {
        "model": ["cone", "ray_traced"],
        "mimo": ["tdm", "ideal"],
        "polarization": ["vv", "hh", "vh", "hv", "plus45"],
        "synthesis": ["kernel", "beat"],
        "cfar.type": ["ca", "os"],
        **{f"window.{a}": WINDOWS for a in ("range", "doppler", "angle")},
        "cap": ["flat", "sphere"],
        "elevation_mode": ["projected", "true"],
        "speed_mode": ["magnitude", "closing"],
        "obstacles": ["lines", "bounding_box", "box_center"],
        "output_format": ["parquet", "csv"],
        **SEEING_ITEMS,
    }
}
