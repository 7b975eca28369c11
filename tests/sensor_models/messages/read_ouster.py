"""Reads captured traffic with Ouster's own SDK, in an interpreter that has it.

    python read_ouster.py CAPTURE METADATA OUTPUT

OUTPUT gets, for each frame, its number, times of columns, ranges, reflectivities and places.
"""

import sys

import numpy as np
from ouster.sdk import core, open_source

capture, metadata, output = sys.argv[1:]
found = {}
frames = [frame for scans in open_source(capture, meta=[metadata]) for frame in scans]
for place, frame in enumerate(frames):
    ranges = frame.field("RANGE")
    found |= {
        f"number {place}": np.array([frame.frame_id]),
        f"time {place}": frame.timestamp,
        f"range {place}": ranges,
        f"reflectivity {place}": frame.field("REFLECTIVITY"),
        f"complete {place}": np.array([frame.complete()]),
        f"place {place}": core.XYZLut(frame.sensor_info, use_extrinsics=False)(frame),
    }
np.savez(output, **found)
