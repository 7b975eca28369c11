"""What masters rely on of the FMUs with images: names, types, units, ranges, items."""

import math

from tests.fmus.inertial_tables import Range, Typed
from tests.fmus.seeing_tables import (
    BOOLEAN,
    CHOICE,
    FLOW,
    FLOW_ITEMS,
    FLOW_RANGES,
    FRAME_OUTPUTS,
    INTEGER,
    METRE,
    NEAREST,
    NUMBER,
    RADIAN,
    SECOND,
    SEEING_INPUTS,
    SEEING_ITEMS,
    SEEING_PARAMETERS,
    SEEING_RANGES,
    STRING,
)

FIXED: dict[str, dict[str, dict[str, Typed]]] = {
    "DepthCamera": {
        "input": SEEING_INPUTS,
        "parameter": {
            "width": INTEGER,
            "height": INTEGER,
            "horizontal_fov": RADIAN,
            **{f"intrinsics.{name}": NUMBER for name in ("fx", "fy", "cx", "cy")},
            "zone.target": CHOICE,
            "zone.separation": METRE,
            "min_range": METRE,
            "max_range": METRE,
            "calculate_depth": BOOLEAN,
            "return_pointcloud": BOOLEAN,
            "pointcloud_in_world_frame": BOOLEAN,
            "segmentation": BOOLEAN,
            "return_normals": BOOLEAN,
            "normalize_range": BOOLEAN,
            "normalize_mode": CHOICE,
            "rolling_shutter": SECOND,
            **FLOW,
            "noise.on": BOOLEAN,
            "noise.dropout": NUMBER,
            "noise.multiplier": NUMBER,
            **SEEING_PARAMETERS,
        },
        "output": {
            **FRAME_OUTPUTS,
            "frame.width": INTEGER,
            "frame.height": INTEGER,
            "flow.file": STRING,
            **NEAREST,
            **{f"zone_{number}.range": METRE for number in range(1, 65)},
            **{f"zone_{number}.status": INTEGER for number in range(1, 65)},
        },
    },
}

RANGES: dict[str, dict[str, Range]] = {
    "DepthCamera": {
        **SEEING_RANGES,
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
        **FLOW_RANGES,
    },
}

ITEMS = {
    "DepthCamera": {
        **FLOW_ITEMS,
        "output_format": ["npy", "png", "tiff"],
        "zone.target": ["nearest", "strongest", "mean"],
        **SEEING_ITEMS,
    }
}
