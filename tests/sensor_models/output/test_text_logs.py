"""Logs of texts: order, rewinding, large ones, publishing again."""

import json

import pytest

from sensor_models.output.files import Index
from sensor_models.output.text_logs import BLOCK_BYTES, TextLog


@pytest.fixture
def log(tmp_path):
    made = TextLog(tmp_path / "drive.nmea", Index(tmp_path, "s", {}))
    yield made
    made.close()


def test_texts_stand_one_behind_the_other(log):
    for k in range(5):
        log.append(k, f"µ{k}\r\n" * k)
    assert not log.file.exists()
    log.publish()
    assert log.file.read_bytes() == "".join(f"µ{k}\r\n" * k for k in range(5)).encode()
    lines = (log.file.parent / "index.jsonl").read_text().splitlines()
    assert json.loads(lines[-1]) == {"sensor": "s", "file": "drive.nmea", "samples": 5}


@pytest.mark.parametrize("length", [3, BLOCK_BYTES // 3])
def test_the_newest_text_of_a_sample_wins(log, length):
    def text(mark):
        return mark * length

    for k in range(10):
        log.append(k, text("a"))
    log.append(7, text("b"))
    log.rewind(4)
    log.rewind(6)  # nothing is dropped until something follows
    log.append(6, text("c"))
    log.publish()
    assert log.file.read_text() == text("a") * 6 + text("c")
    log.append(7, text("d"))
    log.close()
    assert log.file.read_text() == text("a") * 6 + text("c") + text("d")


def test_a_log_may_begin_late_and_have_gaps(log):
    log.append(40, "x")
    log.append(43, "y")
    log.append(42, "z")
    log.append(41, "w")
    log.publish()
    assert log.file.read_text() == "xw"
    log.append(3, "v")
    log.close()
    assert log.file.read_text() == "v"


def test_a_log_without_texts_is_an_empty_file(log):
    log.close()
    assert log.file.read_bytes() == b""
    names = {path.name for path in log.file.parent.iterdir()}
    assert names == {"index.jsonl", "drive.nmea"}
