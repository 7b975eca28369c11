"""Logs: files and messages, read back by independent readers."""

import os
import signal
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import NonSeekingReader, make_reader

from sensor_models.log import __main__ as command
from sensor_models.log import shared
from sensor_models.log.mcap import McapWriter, Schema
from sensor_models.log.reading import LogError, read_summary
from sensor_models.log.shared import MOST_HELD, Message, leave_log, use_log
from sensor_models.output.files import OutputError

PLAIN = Schema("plain", "jsonschema", b"{}", "json")
ROOT = Path(__file__).resolve().parents[3]


def read(path: Path) -> Any:
    """Summary and messages of a file, its checksums compared."""
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        return summary, list(reader.iter_messages())


# ---- the file ----------------------------------------------------------------------------------


def test_a_file_is_read_by_the_package_of_its_makers() -> None:
    stream = BytesIO()
    writer = McapWriter(stream, "test")
    draw, given = np.random.default_rng(2), []
    for number in range(300):
        topic = f"/{number % 3}"
        channel = writer.channel(topic, PLAIN, {"key": "value"})
        data = draw.bytes(int(draw.integers(0, 2000)))
        half = len(data) // 2
        parts = [data[:half], np.frombuffer(data[half:], np.uint8)]
        writer.add(channel, number * 10, number * 10 + 1, parts)
        given.append((topic, number * 10, number // 3, data))
        if number % 70 == 69:
            writer.end_chunk()
    writer.finish()
    stream.seek(0)
    reader = make_reader(stream, validate_crcs=True)
    summary = reader.get_summary()
    assert reader.get_header().profile == "test"
    statistics = summary.statistics
    assert (statistics.message_count, statistics.chunk_count) == (300, 5)
    assert (statistics.channel_count, statistics.schema_count) == (3, 1)
    assert (statistics.message_start_time, statistics.message_end_time) == (0, 2990)
    assert statistics.channel_message_counts == {1: 100, 2: 100, 3: 100}
    assert len(summary.chunk_indexes) == 5
    assert {c.topic: c.metadata for c in summary.channels.values()} == {
        f"/{n}": {"key": "value"} for n in range(3)
    }
    found = [(c.topic, m.log_time, m.sequence, m.data) for _, c, m in reader.iter_messages()]
    assert found == given
    # By time and topic, which goes through the indexes.
    part = list(reader.iter_messages(topics=["/1"], starting_at=500, ending_before=1000))
    assert [m.log_time for _, _, m in part] == [
        t for n, t, *_ in given if n == "/1" and 500 <= t < 1000
    ]


class SmallDisk(BytesIO):
    """A stream that takes so many bytes, the last of them in part, and then no more."""

    room = 10**9

    def write(self, data: Any) -> int:
        free = self.room - self.tell()
        if free <= 0:
            raise OSError(28, "No space left on device")
        return super().write(data[:free])


def test_what_a_full_disk_does_not_take_is_lost_and_the_rest_is_whole() -> None:
    stream = SmallDisk()
    writer = McapWriter(stream, "")
    channel, kept = writer.channel("/one", PLAIN, {}), []
    for number in range(10):
        writer.add(channel, number, number, [bytes(500), bytes(500)])
        full = number in (3, 4, 5)
        stream.room = stream.tell() + 600 if full else 10**9
        if full:
            with pytest.raises(OSError, match="No space"):
                writer.end_chunk()
        else:
            writer.end_chunk()
            kept.append(number)
    writer.finish()
    stream.seek(0)
    reader = make_reader(stream, validate_crcs=True)
    assert [m.log_time for _, _, m in reader.iter_messages()] == kept
    assert reader.get_summary().statistics.message_count == len(kept)
    stream.seek(0)
    front = NonSeekingReader(stream).iter_messages(log_time_order=False)
    assert [m.log_time for _, _, m in front] == kept


def test_schemas_and_channels_of_a_lost_chunk_come_with_a_later_one() -> None:
    stream = SmallDisk()
    writer = McapWriter(stream, "")
    stream.room = stream.tell()
    first = writer.channel("/one", PLAIN, {})
    writer.add(first, 1, 1, [b"{}"])
    with pytest.raises(OSError, match="No space"):
        writer.end_chunk()
    writer.channel("/never", Schema("never", "jsonschema", b"{}", "json"), {})
    stream.room = 10**9
    writer.add(first, 2, 2, [b"{}"])
    writer.finish()
    stream.seek(0)
    reader = make_reader(stream, validate_crcs=True)
    found = [(c.topic, kind.name, m.log_time) for kind, c, m in reader.iter_messages()]
    assert found == [("/one", "plain", 2)]
    statistics = reader.get_summary().statistics
    assert (statistics.channel_count, statistics.schema_count) == (1, 1)
    assert (statistics.message_start_time, statistics.message_end_time) == (2, 2)
    stream.seek(0)
    front = NonSeekingReader(stream).iter_messages(log_time_order=False)
    assert [m.log_time for _, _, m in front] == [2]


def test_an_empty_log_is_a_file(tmp_path: Path) -> None:
    log = use_log(str(tmp_path / "empty.mcap"))
    leave_log(log)
    summary, messages = read(log.path)
    assert (summary.statistics.message_count, messages) == (0, [])


# ---- several sensors ---------------------------------------------------------------------------


def message(topic: str, instant: float, size: int = 10) -> Message:
    return Message(topic, PLAIN, instant, (bytes(size),))


def times_in_file(path: Path) -> list[int]:
    """The times in the order in which messages stand in the file."""
    with path.open("rb") as stream:
        reader = NonSeekingReader(stream)
        return [m.log_time for _, _, m in reader.iter_messages(log_time_order=False)]


def test_messages_of_sensors_that_come_late_stand_in_the_order_of_time(tmp_path: Path) -> None:
    log = use_log(str(tmp_path / "log.mcap"))
    quick, slow = log.join("quick"), log.join("slow")
    for step in range(20):
        log.take(quick, 0.1 * step, lambda step=step: [message("/quick", 0.1 * step)])
        if step % 5 == 4:  # a frame that began four steps before
            began = 0.1 * (step - 4)
            log.take(slow, began, lambda began=began: [message("/slow", began)])
    log.leave(quick)
    log.leave(slow)
    leave_log(log)
    times = times_in_file(log.path)
    assert len(times) == 24
    assert times == sorted(times)


def test_what_waits_is_bounded_and_the_index_still_has_the_order(tmp_path: Path) -> None:
    log = use_log(str(tmp_path / "log.mcap"))
    quick, slow = log.join("quick"), log.join("slow")
    log.take(slow, 0.0, lambda: [message("/slow", 0.0)])
    size = MOST_HELD // 4
    for step in range(1, 8):
        log.take(quick, 1.0 * step, lambda step=step: [message("/quick", 1.0 * step, size)])
    log.wait()
    assert log.path.stat().st_size > 2 * size
    log.take(slow, 0.5, lambda: [message("/slow", 0.5)])
    log.leave(quick)
    log.leave(slow)
    leave_log(log)
    _, found = read(log.path)
    times = [m.log_time for _, _, m in found]
    assert times == sorted(times)
    assert len(times) == 9


def test_two_who_name_one_path_share_it_and_the_next_run_begins_it_anew(tmp_path: Path) -> None:
    path = str(tmp_path / "log.mcap")
    first, second = use_log(path), use_log(path)
    assert first is second
    ticket = first.join("one")
    first.take(ticket, 0.0, lambda: [message("/one", 0.0)])
    first.leave(ticket)
    leave_log(first)
    leave_log(second)
    assert len(read(Path(path))[1]) == 1
    leave_log(use_log(path))
    assert read(Path(path))[1] == []


@pytest.mark.skipif(os.name != "posix", reason="files are locked on POSIX only")
def test_another_process_that_names_the_same_path_is_refused(tmp_path: Path) -> None:
    log = use_log(str(tmp_path / "log.mcap"))
    code = (
        "import sys; from sensor_models.log.shared import use_log\n"
        "try: use_log(sys.argv[1])\n"
        "except OSError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(log.path)], cwd=ROOT, capture_output=True, check=True
    )
    assert b"another process writes it" in run.stdout
    leave_log(log)


def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write the log"):
        use_log(str(tmp_path / "file" / "log.mcap"))


def test_what_goes_wrong_on_the_thread_is_told(tmp_path: Path) -> None:
    log = use_log(str(tmp_path / "log.mcap"))
    ticket = log.join("one")

    def fail() -> list[Message]:
        raise OSError("no space")

    log.take(ticket, 0.0, fail)
    with pytest.raises(OutputError, match="no space"):
        log.wait()
    log.leave(ticket)
    leave_log(log)


class LogOfSmallDisk(SmallDisk):
    """The file of a log on such a disk."""

    content = b""

    def close(self) -> None:
        """Keep what is there."""
        self.content = self.getvalue()
        super().close()


def log_on(disk: LogOfSmallDisk, path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(shared, "_begin", lambda _: disk)
    return use_log(str(path))


def told_once(log: Any, instant: float) -> list[Message]:
    """A message at an instant, and what a log has to have once."""
    news = [message("/scene", instant)._replace(once="scene")] if log.first_to_tell("scene") else []
    return [*news, message("/one", instant)]


def test_a_log_on_a_full_disk_counts_what_it_loses_and_tells_the_scene_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = LogOfSmallDisk()
    log = log_on(disk, tmp_path / "log.mcap", monkeypatch)
    ticket = log.join("one")

    def take(instant: float) -> None:
        log.take(ticket, instant + 0.5, lambda: told_once(log, instant))

    disk.room = disk.tell()
    for instant in (0.0, 1.0):
        take(instant)
    with pytest.raises(OutputError, match=r"3 of 3 messages are lost, .*: No space left on device"):
        log.publish()
    take(2.0)
    log._put(log._end_chunk)
    take(3.0)
    with pytest.raises(OutputError, match=r"log\.mcap: No space left on device"):
        log.wait()
    disk.room = 10**9
    take(4.0)
    with pytest.raises(OutputError, match="2 of 8 messages are lost"):
        log.publish()
    take(5.0)
    log.leave(ticket)
    leave_log(log)
    reader = make_reader(BytesIO(disk.content), validate_crcs=True)
    found = [(c.topic, m.log_time // 10**9) for _, c, m in reader.iter_messages()]
    assert sorted(found) == [("/one", 3), ("/one", 4), ("/one", 5), ("/scene", 3)]


def test_an_outage_is_told_once_and_later_messages_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = LogOfSmallDisk()
    log = log_on(disk, tmp_path / "log.mcap", monkeypatch)
    ticket = log.join("one")
    told = []
    disk.room = disk.tell()
    for instant in range(6):
        if instant == 4:
            disk.room = 10**9
        log.take(ticket, instant + 0.5, lambda instant=instant: [message("/one", float(instant))])
        log._put(log._end_chunk)
        log._worker.wait()
        try:
            log.report()
        except OutputError:
            told.append(instant)
    assert told == [0]
    log.leave(ticket)
    with pytest.raises(OutputError, match="4 of 6 messages are lost"):
        leave_log(log)
    reader = make_reader(BytesIO(disk.content), validate_crcs=True)
    assert [m.log_time // 10**9 for _, _, m in reader.iter_messages()] == [4, 5]


KILLED = """
import sys, time
from sensor_models.log.mcap import Schema
from sensor_models.log.shared import Message, use_log
log = use_log(sys.argv[1])
ticket = log.join("one")
plain = Schema("plain", "jsonschema", b"{}", "json")
for k in range(1000000):
    log.take(ticket, float(k), lambda k=k: [Message("/one", plain, float(k), (bytes(100000),))])
    if k == 100:
        print("written", flush=True)
    if k > 100:
        time.sleep(0.01)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_log_whose_writer_was_killed_is_read_up_to_its_last_chunk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.mcap"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], cwd=ROOT, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        while path.stat().st_size < 5_000_000:
            time.sleep(0.01)
        writer.send_signal(signal.SIGKILL)
    found = []
    with path.open("rb") as stream:
        try:
            for _, _, each in NonSeekingReader(stream).iter_messages(log_time_order=False):
                found.append(each.log_time)
        except Exception:  # noqa: BLE001, S110, RUF100 - the end of the file, wherever it is
            pass
    assert len(found) >= 40
    assert found == [1_000_000_000 * k for k in range(len(found))]
    with path.open("rb") as stream:
        summary = read_summary(stream)
    assert (summary.messages, summary.complete) == (len(found), False)
    assert command.main([str(path)]) == 0
    assert "not finished" in capsys.readouterr().out


# ---- the command -------------------------------------------------------------------------------


def test_the_command_says_what_is_in_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = use_log(str(tmp_path / "log.mcap"))
    ticket = log.join("one")
    log.take(ticket, 2.0, lambda: [message("/one", 0.5 * k, 1000) for k in range(5)])
    log.leave(ticket)
    leave_log(log)
    assert command.main([str(log.path)]) == 0
    first, head, row = capsys.readouterr().out.splitlines()
    assert first == f"{log.path}: Foxglove, 5 messages in 2.000 s"
    assert head.split() == ["topic", "messages", "Hz", "MB", "from", "s", "to", "s", "type"]
    assert row.split() == ["/one", "5", "2.0", "0.01", "0.000", "2.000", "plain"]


def test_the_command_refuses_what_is_no_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.mcap"
    wrong.write_bytes(b"something else")
    for path in (wrong, tmp_path / "missing.mcap", tmp_path):
        assert command.main([str(path)]) == 1
        assert str(path) in capsys.readouterr().err
    with pytest.raises(LogError):
        read_summary(BytesIO(b"no"))
