"""What masters rely on of the FMU ``Lidar``: names, types, units, ranges, items."""

import math

from tests.fmus.inertial_tables import AT_LEAST_0, BODY_INPUTS, WXYZ, XYZ, Range, Typed, spread

METRE, RADIAN, NUMBER = ("Real", "m"), ("Real", "rad"), ("Real", "1")
INTEGER, BOOLEAN = ("Integer", None), ("Boolean", None)
STRING, CHOICE = ("String", None), ("Enumeration", None)

LIMITS, PAIR = ("min", "max"), ("first", "second")
TURN: Range = (-math.tau, math.tau)
QUARTER: Range = (-math.pi / 2, math.pi / 2)
SHARE: Range = (0.0, 1.0)

PARAMETERS: dict[str, Typed] = {
    "pattern.type": CHOICE,
    "pattern.rows": INTEGER,
    "pattern.columns": INTEGER,
    **spread("pattern.elevation", LIMITS, RADIAN),
    **spread("pattern.azimuth", LIMITS, RADIAN),
    "pattern.endpoint": BOOLEAN,
    "pattern.direction": CHOICE,
    "pattern.beams": STRING,
    "pattern.file": STRING,
    "scan_mode": CHOICE,
    "motion_slices": INTEGER,
    "motion_correction": BOOLEAN,
    "min_range": METRE,
    "max_range": METRE,
    "range_resolution": METRE,
    "range_step": METRE,
    "return_mode": CHOICE,
    "max_returns": INTEGER,
    "max_depth": INTEGER,
    "max_events": INTEGER,
    "weight_cutoff": NUMBER,
    "min_intensity": ("Real", "1/sr"),
    "detection_probability": NUMBER,
    "accept_half_angle": RADIAN,
    "path_convention": CHOICE,
    "wavelength": METRE,
    "pulse_length": ("Real", "s"),
    "beam.on": BOOLEAN,
    "beam.mode": CHOICE,
    "beam.divergence_half_angle": RADIAN,
    "beam.detector_radius": METRE,
    "beam.detector_offset": METRE,
    "beam.emitter_radius": METRE,
    "beam.subrays": INTEGER,
    "noise.distance_sigma_base": METRE,
    "noise.distance_sigma_slope": NUMBER,
    "noise.azimuth_sigma": RADIAN,
    "noise.elevation_sigma": RADIAN,
    "ambient.absorption": ("Real", "1/m"),
    "ambient.return_shape": NUMBER,
    "ambient.return_scale": METRE,
    "ambient.return_probability": NUMBER,
    "intensity.kind": CHOICE,
    "intensity.bits": INTEGER,
    "output_frame": CHOICE,
    "output_normals": BOOLEAN,
    **spread("mount.position", XYZ, METRE),
    **spread("mount.orientation", WXYZ, NUMBER),
    "mount.randomization.on": BOOLEAN,
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
    "output_double": BOOLEAN,
}

FIXED: dict[str, dict[str, dict[str, Typed]]] = {
    "Lidar": {
        "input": {**BODY_INPUTS, "scene_handle": INTEGER},
        "parameter": PARAMETERS,
        "output": {
            "sample.count": INTEGER,
            "sample.time": ("Real", "s"),
            "frame.count": INTEGER,
            "frame.time": ("Real", "s"),
            "frame.file": STRING,
            "frame.lost": INTEGER,
            "frame.points": INTEGER,
            "nearest.range": METRE,
            "nearest.azimuth": RADIAN,
            "nearest.elevation": RADIAN,
            "nearest.entity_id": INTEGER,
        },
    },
}

RANGES: dict[str, dict[str, Range]] = {
    "Lidar": {
        "scene_handle": AT_LEAST_0,
        "pattern.rows": (1.0, 65535.0),
        "pattern.columns": (1.0, 4e6),
        **spread("pattern.elevation", LIMITS, QUARTER),
        **spread("pattern.azimuth", LIMITS, TURN),
        "pattern.active_share": (1e-6, 1.0),
        "pattern.prism.index": (1.0, 4.0),
        **spread("pattern.prism.wedge", PAIR, (0.0, math.pi / 3)),
        "pattern.prism.spread": (-math.pi / 3, math.pi / 3),
        "pattern.mirror.tilt": (0.0, math.pi / 2),
        "motion_slices": (1.0, 10_000.0),
        "min_range": AT_LEAST_0,
        "max_range": AT_LEAST_0,
        "range_resolution": AT_LEAST_0,
        "range_step": AT_LEAST_0,
        "max_returns": (1.0, 15.0),
        "max_depth": (0.0, 16.0),
        "max_events": (1.0, 63.0),
        "weight_cutoff": SHARE,
        "min_intensity": AT_LEAST_0,
        "detection_probability": SHARE,
        "accept_half_angle": (0.0, 0.1),
        "wavelength": (1e-9, 1e-3),
        "pulse_length": (0.0, 1e-3),
        "beam.subrays": (1.0, 1000.0),
        "beam.divergence_half_angle": (0.0, 0.1),
        "beam.detector_radius": (1e-9, None),
        "beam.detector_offset": AT_LEAST_0,
        "beam.emitter_radius": AT_LEAST_0,
        "noise.distance_sigma_base": AT_LEAST_0,
        "noise.distance_sigma_slope": AT_LEAST_0,
        "noise.azimuth_sigma": AT_LEAST_0,
        "noise.elevation_sigma": AT_LEAST_0,
        "ambient.absorption": (-1.0, None),
        "ambient.return_shape": (-1.0, None),
        "ambient.return_scale": (-1.0, None),
        "ambient.return_probability": (-1.0, 1.0),
        "intensity.bits": (0.0, 16.0),
        "intensity.full_scale": AT_LEAST_0,
        "sample_rate": (0.0, 1e6),
    },
}

ITEMS = {
    "Lidar": {
        "pattern.type": ["grid", "spinning", "raster", "flash", "rosette", "file"],
        "pattern.direction": ["clockwise", "counterclockwise"],
        "scan_mode": ["instant", "rolling"],
        "return_mode": ["strongest", "first", "last", "dual", "all"],
        "path_convention": ["round_trip", "one_way"],
        "beam.mode": ["closed_form", "exact"],
        "intensity.kind": ["raw", "reflectivity"],
        "output_frame": ["sensor", "world"],
        "output_format": ["pcd", "ply", "las", "laz", "npy"],
        "write_files": ["auto", "off", "on"],
    }
}
