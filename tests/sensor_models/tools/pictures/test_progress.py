"""Lines of progress: one that is written over on a terminal, plain ones elsewhere."""

import io
import time

import pytest

from sensor_models.tools.pictures import progress
from sensor_models.tools.pictures.progress import MARK, Progress, ProgressLine, Unheard, bar


class Stream(io.StringIO):
    """A terminal, or a file."""

    def __init__(self, watched: bool) -> None:
        super().__init__()
        self.watched = watched

    def isatty(self) -> bool:
        return self.watched


def until(stream: Stream, text: str) -> None:
    """Wait for a text; a machine that does much else may take its time."""
    end = time.monotonic() + 30.0
    while text not in stream.getvalue():
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.01)


def test_a_terminal_is_told_at_once_and_left_clean() -> None:
    stream = Stream(watched=True)
    with Progress(stream) as told:
        told.say("first")
        told.show(0.5, "1.5 s driven")
        assert stream.getvalue().endswith(f"\r\x1b[K{bar(0.5)}  50 %  1.5 s driven")
        told.keep("a file")
    assert "\n" not in stream.getvalue().replace("a file\n", "")
    assert stream.getvalue().endswith("a file\n\r\x1b[K")


def test_a_file_is_told_nothing_of_what_is_short() -> None:
    stream = Stream(watched=False)
    with Progress(stream) as told:
        told.say("first")
        told.keep("a file")
    assert stream.getvalue() == ""


def test_a_file_gets_plain_lines_while_a_step_says_nothing() -> None:
    stream = Stream(watched=False)
    with Progress(stream, apart=0.02) as told:
        told.say("compiling")
        until(stream, f"{MARK}compiling\n{MARK}compiling\n")
        told.say("packing")
        until(stream, f"{MARK}packing\n")
    said = stream.getvalue()
    assert "\r" not in said
    assert {line.removeprefix(MARK) for line in said.splitlines()} == {"compiling", "packing"}
    assert stream.getvalue() == said  # nothing after the end


@pytest.mark.parametrize(
    ("watched", "shown"), [(False, f"{MARK}compiling (1 s)\n"), (True, "\r\x1b[Kcompiling (1 s)")]
)
def test_of_a_long_step_it_is_said_how_long_it_takes(
    watched: bool, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LONG", 0.6)
    stream = Stream(watched)
    with Progress(stream, apart=0.05) as told:
        told.say("compiling")
        until(stream, shown)


def test_lines_in_files_become_rare() -> None:
    told = Progress(Stream(watched=False))
    assert told._until_next() == progress.APART
    told._began -= 3600.0
    assert told._until_next() == pytest.approx(180.0, rel=0.01)


def test_a_line_is_no_longer_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    stream = Stream(watched=True)
    with Progress(stream) as told:
        told.say("x" * 50)
        told.keep("y" * 50)
    assert stream.getvalue() == f"\r\x1b[K{'x' * 19}\r\x1b[K{'y' * 50}\n\r\x1b[K"


def test_an_error_ends_the_line() -> None:
    stream = Stream(watched=True)
    told = Progress(stream)
    told.say("compiling")
    with pytest.raises(ZeroDivisionError), told:
        _ = 1 / 0
    assert stream.getvalue().endswith("\r\x1b[K")
    assert told._thread is not None
    assert not told._thread.is_alive()


def test_counted_work_is_told_with_an_estimate() -> None:
    stream = Stream(watched=True)
    with ProgressLine("casting", stream) as line:
        line(1, 4)
        line(4, 4)
    assert "casting [" in stream.getvalue()
    assert "4/4, 0:00 left" in stream.getvalue()
    assert "1/4, 0:30 left" in line.line(1, 4, 10.0)
    assert "2/4, 1:00:00 left" in line.line(2, 4, 3600.0)


def test_nobody_is_told_of_work_that_is_unheard() -> None:
    with Unheard() as told:
        told.say("compiling")
        told.keep("a file")
        assert told._thread is None
