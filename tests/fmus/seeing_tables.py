"""What masters rely on of all FMUs that see a scene: inputs, parameters and outputs they share."""

from tests.fmus.inertial_tables import AT_LEAST_0, BODY_INPUTS, MOUNT, Range, Typed

METRE, RADIAN, NUMBER, SECOND = ("Real", "m"), ("Real", "rad"), ("Real", "1"), ("Real", "s")
INTEGER, BOOLEAN = ("Integer", None), ("Boolean", None)
STRING, CHOICE = ("String", None), ("Enumeration", None)

SEEING_INPUTS: dict[str, Typed] = {**BODY_INPUTS, "scene_handle": INTEGER}

SEEING_PARAMETERS: dict[str, Typed] = {
    **MOUNT,
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
}

FRAME_OUTPUTS: dict[str, Typed] = {
    "sample.count": INTEGER,
    "sample.time": SECOND,
    "frame.count": INTEGER,
    "frame.time": SECOND,
    "frame.file": STRING,
    "frame.lost": INTEGER,
}

NEAREST: dict[str, Typed] = {
    "nearest.range": METRE,
    "nearest.azimuth": RADIAN,
    "nearest.elevation": RADIAN,
    "nearest.entity_id": INTEGER,
}

SEEING_RANGES: dict[str, Range] = {"scene_handle": AT_LEAST_0, "sample_rate": (0.0, 1e6)}

SEEING_ITEMS = {"write_files": ["auto", "off", "on"]}

#: Of cameras that tell how what they see moves in the picture.
FLOW: dict[str, Typed] = {
    **{f"flow.{name}": BOOLEAN for name in ("forward", "backward", "scene")},
    "flow.interval": SECOND,
    "flow.tolerance": METRE,
    "flow.frame": CHOICE,
    "flow.format": CHOICE,
}
FLOW_RANGES: dict[str, Range] = {"flow.interval": (0.0, 10.0), "flow.tolerance": AT_LEAST_0}
FLOW_ITEMS = {"flow.frame": ["sensor", "world"], "flow.format": ["npy", "flo", "kitti"]}
