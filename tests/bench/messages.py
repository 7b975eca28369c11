"""Bars of messages and logs: what a frame costs to encode, to hand on and to write.

OSI     65,536 detections of a lidar, with velocities, into the buffer of the output; absolute, in
        ms, as the bar is stated. The detail has the time of ASAM's classes for as many (Protocol
        Buffers with their C library), of a sixteenth of them.
MCAP    a cloud of 131,072 points: what the thread of the sensor waits for (``take``), and what
        the thread of the log takes to make and write the message.
live    ten such clouds a second to a client in a process of its own: what the thread of the sensor
        waits for with that client and without one, and the clouds that do not arrive.
"""

import socket
import subprocess
import sys
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

DETECTIONS, POINTS, TURNS, LIVE_SECONDS = 65_536, 131_072, 30, 10


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
    setup = Setup(LIDAR, LIDAR.build({"osi.on": True}), "Lidar/bench", files=True)
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


#: Takes all messages of a server, and prints the number of those that are clouds, from a time on.
CLIENT = """
import json, struct, sys
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
clouds = 0
with connect(sys.argv[1], subprotocols=["foxglove.websocket.v1"], max_size=None,
             compression=None) as viewer:
    try:
        for message in viewer:
            if isinstance(message, str):
                for one in json.loads(message).get("channels", []):
                    own = {"id": one["id"], "channelId": one["id"]}
                    viewer.send(json.dumps({"op": "subscribe", "subscriptions": [own]}))
            else:
                is_cloud = message[0] == 1 and len(message) > 1 << 20
                clouds += is_cloud and struct.unpack_from("<BIQ", message)[2] >= int(sys.argv[2])
    except ConnectionClosed:
        pass
print(clouds)
"""


def live() -> list[Bar]:
    """A server of clouds."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"ws://127.0.0.1:{free.getsockname()[1]}"
    points = cloud(POINTS)
    log = LogSink("lidar", LIDAR, LIDAR.build({"log": url}))
    known = {"position": (0.0, 0.0, 0.0), "orientation": (1.0, 0.0, 0.0, 0.0)}

    def take(number: int) -> float:
        result = Result(number, 0.1 * number, (), (CloudFile(points),), known)
        began = time.perf_counter()
        log.take(result, None)
        return time.perf_counter() - began

    alone = [take(number) for number in range(1000)]
    first, given = 1005, []
    arguments = [sys.executable, "-c", CLIENT, url, str(round(1e8 * first))]
    client = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    while not log.is_wanted:
        time.sleep(0.01)
    for number in range(first - 5, first):  # channels appear, and are subscribed to
        take(number)
        time.sleep(0.1)
    began = time.perf_counter()
    for k in range(10 * LIVE_SECONDS):
        time.sleep(max(0.0, began + 0.1 * k - time.perf_counter()))
        given.append(take(first + k))
    log.close()
    printed, _ = client.communicate()
    lost = 10 * LIVE_SECONDS - int(printed)
    name = "live, 131,072 points,"
    return [
        Bar(f"{name} thread of the sensor", 1e3 * float(np.median(given)), 1.0, "ms", "median"),
        Bar(f"{name} without a client", 1e6 * float(np.median(alone)), 1.0, "us", "median"),
        Bar(f"{name} at 10 Hz, lost", float(lost), 0.0, "", f"of {10 * LIVE_SECONDS}"),
    ]


def bars() -> list[Bar]:
    """The bars of messages and logs."""
    return [osi(), *mcap(), *live()]
