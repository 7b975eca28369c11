"""What masters rely on of the FMU ``Radar``: names, types, units, ranges, items."""

import math

from tests.fmus.inertial_tables import BODY_INPUTS

METRE, RADIAN, SPEED = ("Real", "m"), ("Real", "rad"), ("Real", "m/s")
INTEGER, BOOLEAN = ("Integer", None), ("Boolean", None)
STRING, CHOICE = ("String", None), ("Enumeration", None)

TARGET = {
    "range": METRE,
    "azimuth": RADIAN,
    "elevation": RADIAN,
    "speed": SPEED,
    "rcs": ("Real", "m2"),
    "snr": ("Real", "1"),
    "entity_id": INTEGER,
}

FIXED: dict[str, dict[str, dict[str, tuple[str, str | None]]]] = {
    "Radar": {
        "input": {**BODY_INPUTS, "scene_handle": INTEGER},
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
            **{f"mount.position.{axis}": METRE for axis in "xyz"},
            **{f"mount.orientation.{axis}": ("Real", "1") for axis in "wxyz"},
            "scene": STRING,
            "preset": STRING,
            "sample_rate": ("Real", "Hz"),
            "inputs_at_step_end": BOOLEAN,
            "seed": INTEGER,
            "write_files": CHOICE,
            "record": BOOLEAN,
            "record_format": CHOICE,
            "output_directory": STRING,
            "output_format": CHOICE,
        },
        "output": {
            "sample.count": INTEGER,
            "sample.time": ("Real", "s"),
            "frame.count": INTEGER,
            "frame.time": ("Real", "s"),
            "frame.file": STRING,
            "frame.lost": INTEGER,
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

RANGES: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "Radar": {
        "scene_handle": (0.0, None),
        "h_angle": (0.0, math.pi),
        "v_angle": (0.0, math.pi),
        "length": (0.0, None),
        "lines_per_face": (2.0, 1e6),
        "sample_rate": (0.0, 1e6),
    },
}

ITEMS = {
    "Radar": {
        "model": ["cone"],
        "cap": ["flat", "sphere"],
        "elevation_mode": ["projected", "true"],
        "speed_mode": ["magnitude", "closing"],
        "obstacles": ["lines", "bounding_box", "box_center"],
        "output_format": ["parquet", "csv"],
        "write_files": ["auto", "off", "on"],
    }
}
