"""Bars of messages and logs: what a frame costs to encode, to hand on and to write.

OSI     65,536 detections of a lidar, with velocities, into the buffer of the output; absolute, in
        ms, as the bar is stated. The detail has the time of ASAM's classes for as many (Protocol
        Buffers with their C library), of a sixteenth of them.
MCAP    a cloud of 131,072 points: what the thread of the sensor waits for (``take``), and what
        the thread of the log takes to make and write the message.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from osi3.osi_featuredata_pb2 import LidarDetectionData

from sensor_models.core.sensor import Result, Setup
from sensor_models.lidar.sensor import LIDAR
from sensor_models.log.sink import LogSink
from sensor_models.messages.osi import OsiMessages
from sensor_models.messages.ports import OsiPorts
from sensor_models.output.clouds import CloudFile
from sensor_models.output.points import POINT
from tests.bench.bars import Bar

DETECTIONS, POINTS, TURNS = 65_536, 131_072, 30


def cloud(count: int) -> Any:
    """Points of a frame."""
    draw = np.random.default_rng(0)
    points = np.zeros(count, POINT)
    for name in ("x", "y", "z", "intensity", "range", "azimuth", "elevation"):
        points[name] = draw.random(count)
    points["entity_id"], points["ring"] = draw.integers(0, 300, count), np.arange(count) % 128
    return points


def osi() -> Bar:
    """The SensorData of a cloud."""
    setup = Setup(LIDAR, LIDAR.build({"osi": True}), "Lidar/bench", files=True)
    messages = OsiMessages(setup, OsiPorts())
    state = np.zeros(13)
    state[3], state[7] = 1.0, 20.0
    messages.motion.know(0.0, state)
    result = Result(0, 0.0, (), (CloudFile(cloud(DETECTIONS)),), {})
    took = []
    for _ in range(TURNS):
        began = time.perf_counter()
        messages.take(result, None, 0.1)
        took.append(time.perf_counter() - began)
    return Bar("OSI, 65,536 detections", 1e3 * min(took), 5.0, "ms", f"{theirs():.0f} ms by osi3")


def theirs() -> float:
    """Milliseconds that ASAM's classes take for as many detections."""
    count, began = DETECTIONS // 16, time.perf_counter()
    data = LidarDetectionData()
    for k in range(count):
        found = data.detection.add()
        found.existence_probability = 1.0
        found.position.distance, found.position.azimuth, found.position.elevation = k, 0.1, 0.2
        found.object_id.value, found.beam_id.value = k, k % 128
        found.intensity = found.reflectivity = found.radial_velocity = 0.5
    data.SerializeToString()
    return 16e3 * (time.perf_counter() - began)


def mcap() -> list[Bar]:
    """A log of clouds."""
    points, given, written = cloud(POINTS), [], []
    with tempfile.TemporaryDirectory() as folder:
        log = LogSink("lidar", LIDAR, LIDAR.build({"log": str(Path(folder) / "log.mcap")}))
        for k in range(TURNS):
            known = {"position": (0.0, 0.0, 0.0), "orientation": (1.0, 0.0, 0.0, 0.0)}
            result = Result(k, 0.1 * k, (), (CloudFile(points),), known)
            began = time.perf_counter()
            log.take(result, None)
            given.append(time.perf_counter() - began)
            log.wait()
            written.append(time.perf_counter() - began)
        log.close()
    name = "MCAP, 131,072 points,"
    median = 1e3 * float(np.median(written))
    return [
        Bar(f"{name} thread of the sensor", 1e3 * float(np.median(given)), 1.0, "ms", "median"),
        Bar(f"{name} thread of the log", 1e3 * min(written), 9.0, "ms", f"median {median:.1f} ms"),
    ]


def bars() -> list[Bar]:
    """The bars of messages and logs."""
    return [osi(), *mcap()]
