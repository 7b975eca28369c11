"""What masters rely on of the GNSS receiver: names, types, units, ranges, items."""

import math

from tests.fmus.inertial_tables import BODY_INPUTS

REAL_M, SPEED, ONE = ("Real", "m"), ("Real", "m/s"), ("Real", "1")
RAD, SECONDS = ("Real", "rad"), ("Real", "s")
INTEGER, BOOLEAN = ("Integer", None), ("Boolean", None)
STRING, CHOICE = ("String", None), ("Enumeration", None)
PARTS, WAYS = ("correlated", "white"), ("horizontal", "vertical")
ENU = ("east", "north", "up")
SIGNALS = ("latitude", "longitude", "height", *(f"velocity.{axis}" for axis in ENU))

FIXED: dict[str, dict[str, dict[str, tuple[str, str | None]]]] = {
    "Gnss": {
        "input": {
            **BODY_INPUTS,
            "scene_handle": INTEGER,
            **{f"fault.{signal}.mode": CHOICE for signal in SIGNALS},
            **{f"fault.{signal}.wave": CHOICE for signal in SIGNALS},
        },
        "parameter": {
            "origin.latitude": RAD,
            "origin.longitude": RAD,
            "origin.height": REAL_M,
            "origin.heading": RAD,
            **{f"mount.position.{axis}": REAL_M for axis in "xyz"},
            "error.mode": CHOICE,
            **{f"error.{part}.{way}": REAL_M for part in PARTS for way in WAYS},
            "error.time_constant": SECONDS,
            "velocity.white": SPEED,
            "velocity.correlated": SPEED,
            "range.correlated": REAL_M,
            "range.white": REAL_M,
            "constellation": CHOICE,
            "almanac_file": STRING,
            "time_of_week": SECONDS,
            "utc_start": STRING,
            "elevation_mask": RAD,
            "sky_visibility": BOOLEAN,
            "multipath": CHOICE,
            "nlos.probability": ONE,
            "nlos.mean": REAL_M,
            "solution": CHOICE,
            "rtk.convergence_time": SECONDS,
            "rtk.minimum_satellites": INTEGER,
            "dropout.interval": SECONDS,
            "dropout.duration": SECONDS,
            "latency": SECONDS,
            "nmea.on": BOOLEAN,
            "rinex.on": BOOLEAN,
            "record_pseudoranges": BOOLEAN,
            "geoid_undulation": REAL_M,
            "scene": STRING,
        },
        "output": {
            "latitude": RAD,
            "longitude": RAD,
            "height": REAL_M,
            **{f"velocity.{axis}": SPEED for axis in ENU},
            "fix": INTEGER,
            "carrier_solution": INTEGER,
            "satellites": INTEGER,
            **{
                f"dop.{part}": ONE
                for part in ("geometric", "position", "horizontal", "vertical", "time")
            },
            "accuracy.horizontal": REAL_M,
            "accuracy.vertical": REAL_M,
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
RANGES: dict[str, dict[str, tuple[float | None, float | None]]] = {
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
