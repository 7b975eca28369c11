"""What masters rely on of the GNSS receiver: names, types, units, ranges, items."""

import math

from tests.fmus.inertial_tables import XYZ, Range, Typed, spread
from tests.fmus.seeing_tables import (
    BOOLEAN,
    CHOICE,
    INTEGER,
    METRE,
    NUMBER,
    RADIAN,
    SECOND,
    SEEING_INPUTS,
    STRING,
)

SPEED = ("Real", "m/s")
PARTS, WAYS = ("correlated", "white"), ("horizontal", "vertical")
ENU = ("east", "north", "up")
SIGNALS = ("latitude", "longitude", "height", *(f"velocity.{axis}" for axis in ENU))

FIXED: dict[str, dict[str, dict[str, Typed]]] = {
    "Gnss": {
        "input": {
            **SEEING_INPUTS,
            **{f"fault.{signal}.mode": CHOICE for signal in SIGNALS},
            **{f"fault.{signal}.wave": CHOICE for signal in SIGNALS},
        },
        "parameter": {
            "origin.latitude": RADIAN,
            "origin.longitude": RADIAN,
            "origin.height": METRE,
            "origin.heading": RADIAN,
            **spread("mount.position", XYZ, METRE),
            "error.mode": CHOICE,
            **{f"error.{part}.{way}": METRE for part in PARTS for way in WAYS},
            "error.time_constant": SECOND,
            "velocity.white": SPEED,
            "velocity.correlated": SPEED,
            "range.correlated": METRE,
            "range.white": METRE,
            "constellation": CHOICE,
            "almanac_file": STRING,
            "time_of_week": SECOND,
            "utc_start": STRING,
            "elevation_mask": RADIAN,
            "sky_visibility": BOOLEAN,
            "multipath": CHOICE,
            "nlos.probability": NUMBER,
            "nlos.mean": METRE,
            "solution": CHOICE,
            "rtk.convergence_time": SECOND,
            "rtk.minimum_satellites": INTEGER,
            "dropout.interval": SECOND,
            "dropout.duration": SECOND,
            "latency": SECOND,
            "nmea.on": BOOLEAN,
            "rinex.on": BOOLEAN,
            "record_pseudoranges": BOOLEAN,
            "geoid_undulation": METRE,
            "scene": STRING,
        },
        "output": {
            "latitude": RADIAN,
            "longitude": RADIAN,
            "height": METRE,
            **{f"velocity.{axis}": SPEED for axis in ENU},
            "fix": INTEGER,
            "carrier_solution": INTEGER,
            "satellites": INTEGER,
            **{
                f"dop.{part}": NUMBER
                for part in ("geometric", "position", "horizontal", "vertical", "time")
            },
            "accuracy.horizontal": METRE,
            "accuracy.vertical": METRE,
            "nmea.sentences": STRING,
            "rinex.epoch": STRING,
        },
    },
}

_NOT_NEGATIVE = (
    *(f"fault.{signal}.period" for signal in SIGNALS),
    *(f"error.{part}.{way}" for part in PARTS for way in WAYS),
    "velocity.white",
    "velocity.correlated",
    "range.correlated",
    "range.white",
    "nlos.mean",
    "rtk.convergence_time",
    "dropout.interval",
    "latency",
    "scene_handle",
)
RANGES: dict[str, dict[str, Range]] = {
    "Gnss": {
        **dict.fromkeys(_NOT_NEGATIVE, (0.0, None)),
        "error.time_constant": (1e-9, None),
        "dropout.duration": (1e-9, None),
        "time_of_week": (0.0, 604800.0),
        "elevation_mask": (0.0, math.radians(89.999)),
        "nlos.probability": (0.0, 1.0),
        "rtk.minimum_satellites": (1.0, None),
        "geoid_undulation": (-150.0, 150.0),
        "origin.latitude": (-math.pi / 2, math.pi / 2),
        "origin.longitude": (-math.pi, math.pi),
        "origin.height": (-1e5, 1e5),
        "origin.heading": (-math.tau, math.tau),
        "sample_rate": (0.0, 1e6),
    },
}

ITEMS = {
    "Gnss": {
        "error.mode": ["off", "fixed", "dop", "pseudorange"],
        "constellation": ["gps", "gps_galileo", "all", "file"],
        "multipath": ["none", "bias", "image"],
        "solution": ["single", "sbas", "rtk"],
    },
}
