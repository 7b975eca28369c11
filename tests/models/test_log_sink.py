"""One sensor's part of a log: samples that are taken, taken back and written, and when."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from mcap.reader import make_reader

from sensor_models.core.sensor import Result
from sensor_models.log import shared
from sensor_models.log import sink as module
from sensor_models.log.mcap import Schema
from sensor_models.log.reading import read_summary
from sensor_models.log.shared import Message, leave_log, use_log
from sensor_models.log.sink import LogSink
from sensor_models.wheel.sensors import ODOMETER


def open_sink(path: Path) -> LogSink:
    return LogSink("wheel", ODOMETER, ODOMETER.build({"log": str(path)}))


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
