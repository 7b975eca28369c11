"""What masters rely on of the FMUs with images: names, types, units, ranges, items."""

import math

from tests.fmus.inertial_tables import BODY_INPUTS

REAL_M, INTEGER, BOOLEAN = ("Real", "m"), ("Integer", None), ("Boolean", None)
STRING, CHOICE = ("String", None), ("Enumeration", None)

FIXED: dict[str, dict[str, dict[str, tuple[str, str | None]]]] = {
    "DepthCamera": {
        "input": {**BODY_INPUTS, "scene_handle": INTEGER},
        "parameter": {
            "width": INTEGER,
            "height": INTEGER,
            "horizontal_fov": ("Real", "rad"),
            **{f"intrinsics.{name}": ("Real", "1") for name in ("fx", "fy", "cx", "cy")},
            "zone.target": CHOICE,
            "zone.separation": REAL_M,
            "min_range": REAL_M,
            "max_range": REAL_M,
            "calculate_depth": BOOLEAN,
            "return_pointcloud": BOOLEAN,
            "pointcloud_in_world_frame": BOOLEAN,
            "segmentation": BOOLEAN,
            "return_normals": BOOLEAN,
            "normalize_range": BOOLEAN,
            "normalize_mode": CHOICE,
            "rolling_shutter": ("Real", "s"),
            **{f"flow.{name}": BOOLEAN for name in ("forward", "backward", "scene")},
            "flow.interval": ("Real", "s"),
            "flow.tolerance": REAL_M,
            "flow.frame": CHOICE,
            "flow.format": CHOICE,
            "noise.on": BOOLEAN,
            "noise.dropout": ("Real", "1"),
            "noise.multiplier": ("Real", "1"),
            **{f"mount.position.{axis}": REAL_M for axis in "xyz"},
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
            "frame.width": INTEGER,
            "frame.height": INTEGER,
            "flow.file": STRING,
            "nearest.range": REAL_M,
            "nearest.azimuth": ("Real", "rad"),
            "nearest.elevation": ("Real", "rad"),
            "nearest.entity_id": INTEGER,
            **{f"zone_{number}.range": REAL_M for number in range(1, 65)},
            **{f"zone_{number}.status": INTEGER for number in range(1, 65)},
        },
    },
}

RANGES: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "DepthCamera": {
        "scene_handle": (0.0, None),
        "width": (1.0, 16384.0),
        "height": (1.0, 16384.0),
        "horizontal_fov": (0.0, math.pi),
        **{f"intrinsics.{name}": (0.0, None) for name in ("fx", "fy", "cx", "cy")},
        "pattern.azimuth.min": (-math.tau, math.tau),
        "pattern.azimuth.max": (-math.tau, math.tau),
        "pattern.elevation.min": (-math.pi / 2, math.pi / 2),
        "pattern.elevation.max": (-math.pi / 2, math.pi / 2),
        "rays_per_side": (1.0, 64.0),
        "zone.separation": (0.0, None),
        "min_range": (0.0, None),
        "max_range": (0.0, None),
        "rolling_shutter": (0.0, 10.0),
        "noise.dropout": (0.0, 1.0),
        "noise.multiplier": (0.0, None),
        "noise.baseline": (0.0, None),
        "noise.disparity.rms": (0.0, None),
        "noise.disparity.step": (0.0, None),
        "noise.edge.dropout": (0.0, 1.0),
        "noise.edge.jump": (1e-6, None),
        "flow.interval": (0.0, 10.0),
        "flow.tolerance": (0.0, None),
        "sample_rate": (0.0, 1e6),
    },
}

ITEMS = {
    "DepthCamera": {
        "flow.frame": ["sensor", "world"],
        "flow.format": ["npy", "flo", "kitti"],
        "output_format": ["npy", "png", "tiff"],
        "zone.target": ["nearest", "strongest", "mean"],
        "write_files": ["auto", "off", "on"],
    }
}
