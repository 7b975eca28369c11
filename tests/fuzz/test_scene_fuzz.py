"""A short fuzz of scene files; ``python -m tests.fuzz.scenes`` is the long one."""

from pathlib import Path

from tests.fuzz.scenes import case, run, scenes, try_case


def test_the_scenes_that_are_mutated_can_be_read(tmp_path: Path) -> None:
    for number, files in enumerate(scenes()):
        (tmp_path / str(number)).mkdir()
        assert try_case(tmp_path / str(number), files) == ""


def test_a_case_is_the_same_each_time() -> None:
    assert case(3, 14) == case(3, 14)
    assert case(3, 14) != case(4, 14)


def test_damaged_scenes_are_read_or_refused(tmp_path: Path) -> None:
    assert list(run(1, 300, tmp_path)) == []
