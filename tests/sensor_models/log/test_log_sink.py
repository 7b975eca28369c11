"""One sensor's part of a log: samples that are taken, taken back and written, and when."""

import json
import os
import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from mcap.reader import make_reader

from sensor_models.core.frames import IDENTITY
from sensor_models.core.sensor import Held, Inputs, Result, Setup
from sensor_models.core.spec import Groups
from sensor_models.lidar.sensor import BUFFERS, LIDAR
from sensor_models.log import shared
from sensor_models.log import sink as module
from sensor_models.log.mcap import Schema
from sensor_models.log.reading import read_summary
from sensor_models.log.shared import Message, leave_log, use_log
from sensor_models.log.sink import LogSink
from sensor_models.output.files import OutputError
from sensor_models.scene.registry import open_scene
from sensor_models.wheel.sensors import ODOMETER


def open_sink(path: Path) -> LogSink:
    return LogSink("wheel", ODOMETER, ODOMETER.build({"log": str(path)}))


def test_instances_whose_names_differ_in_odd_characters_have_topics_of_their_own(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "log.mcap")
    instances = ["left wheel", "left/wheel", "left_wheel_2", "left-wheel", "left wheel"]
    sinks = [LogSink(name, ODOMETER, ODOMETER.build({"log": path})) for name in instances]
    for number, sink in enumerate(sinks):
        sink.append(sample(1, float(number)))
        sink.commit()
    for sink in sinks:
        sink.close()
    with (tmp_path / "log.mcap").open("rb") as stream:
        found = list(make_reader(stream).iter_messages())
    topics: dict[str, list[float]] = {}
    for _, channel, message in found:
        topics.setdefault(channel.topic, []).append(json.loads(message.data)["distance"])
    assert topics == {
        "/left_wheel/reading": [0.0, 4.0],  # one instance, begun anew
        "/left_wheel_2/reading": [1.0],
        "/left_wheel_2_2/reading": [2.0],
        "/left_wheel_3/reading": [3.0],
    }


def sample(number: int, distance: float | None = None) -> Result:
    return Result(number, 0.001 * number, (float(number) if distance is None else distance,))


def distances(path: Path) -> list[float]:
    """What the log holds, in the order of the file."""
    with path.open("rb") as stream:
        found = list(make_reader(stream).iter_messages(log_time_order=False))
    return [json.loads(message.data)["distance"] for _, _, message in found]


def test_samples_of_a_refused_step_are_taken_back(tmp_path: Path) -> None:
    sink = open_sink(tmp_path / "log.mcap")
    for number in range(5):
        sink.append(sample(number))
    sink.commit()
    for number in range(5, 9):
        sink.append(sample(number, -1.0))
    sink.rewind(6)
    for number in range(6, 8):
        sink.append(sample(number))
    sink.commit()
    sink.close()
    assert distances(tmp_path / "log.mcap") == [0.0, 1.0, 2.0, 3.0, 4.0, -1.0, 6.0, 7.0]


def test_the_sample_of_the_start_may_come_again(tmp_path: Path) -> None:
    sink = open_sink(tmp_path / "log.mcap")
    for distance in (3.0, 4.0):
        sink.append(sample(0, distance))
        sink.commit()
    sink.append(sample(1))
    sink.commit()
    sink.close()
    assert distances(tmp_path / "log.mcap") == [4.0, 1.0]


def test_samples_in_order_take_nothing_back_and_wait_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking through all that wait at each sample took a minute for one step of 64,000."""
    most, waiting, looks = 100, [], []
    monkeypatch.setattr(module, "MOST_PENDING", most)
    rewind = LogSink.rewind

    def watched(sink: LogSink, number: int) -> None:
        looks.append(number)
        rewind(sink, number)

    monkeypatch.setattr(LogSink, "rewind", watched)
    sink = open_sink(tmp_path / "log.mcap")
    for number in range(1050):
        sink.append(sample(number))
        waiting.append(len(sink._pending))
    sink.commit()
    sink.close()
    assert looks == []
    assert max(waiting) == most
    assert distances(tmp_path / "log.mcap") == [float(number) for number in range(1050)]


def test_small_messages_are_on_the_disk_once_they_are_a_second_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed run leaves lacks no more than a second: here on a clock of our own."""
    now = [0.0]
    monkeypatch.setattr(shared, "clock", SimpleNamespace(monotonic=lambda: now[0]))
    log = use_log(str(tmp_path / "log.mcap"))
    ticket, plain, written = log.join("one"), Schema("plain", "jsonschema", b"{}", "json"), []
    for k in range(6):
        message = Message("/one", plain, float(k), (b"{}",))
        log.take(ticket, k + 0.5, lambda message=message: [message])
        log.wait()
        with log.path.open("rb") as stream:
            written.append(read_summary(stream).messages)
        now[0] += 0.6
    assert written == [0, 0, 3, 3, 5, 5]
    log.leave(ticket)
    leave_log(log)


def test_a_bag_that_has_lost_something_is_described_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bag = tmp_path / "bag"
    sink = LogSink("wheel", ODOMETER, ODOMETER.build({"log": str(bag)}))
    log, write = sink._log, shared.McapWriter._write

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for time in (1.0, 2.0):
        monkeypatch.setattr(shared.McapWriter, "_write", full if time == 1.0 else write)
        plain = Schema("std_msgs/msg/String", "ros2msg", b"string data\n", "cdr")
        message = Message("/text", plain, time, (b"\0\1\0\0\2\0\0\0x\0",))
        log.take(sink._ticket, time + 0.5, lambda message=message: [message])
        log._put(log._end_chunk)
        log._worker.wait()
    with pytest.raises(OutputError, match="1 of 2 messages are lost"):
        sink.close()
    assert "message_count: 1" in (bag / "metadata.yaml").read_text()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_what_its_parents_log_has_in_hand(tmp_path: Path) -> None:
    """All buffers of a lidar were with the log's thread, which a child does not have."""
    values = {"sample_rate": 10.0, "log": str(tmp_path / "log.mcap")}
    parameters = LIDAR.build(values)
    sensor = LIDAR.make(Setup(LIDAR, parameters, "lidar", files=True))
    sink = LogSink("lidar", LIDAR, parameters)
    body = np.array([0.0, 0.0, 1.0, *IDENTITY, *[0.0] * 6])
    held = Groups({group: group.declaring() for group in LIDAR.held})
    go_on = threading.Event()
    with open_scene("targets") as world:
        inputs = Inputs(body, *[Held(held, world)] * 2, 0.0)
        sensor.begin(inputs)
        sink._log._put(go_on.wait)  # a slow disk
        for result in sensor.advance(inputs, 0.0, 0.1 * (BUFFERS - 1)):
            sink.take(result, world)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            refused = []
            for result in sensor.advance(inputs, 0.1 * (BUFFERS - 1), 0.1 * (2 * BUFFERS)):
                try:
                    sink.take(result, world)
                except OutputError as error:
                    refused.append("forked child" in str(error))
            os._exit(0 if len(refused) > BUFFERS and all(refused) else 1)
        _, status = os.waitpid(child, 0)
        go_on.set()
        sensor.close()
        sink.close()
    assert status == 0
