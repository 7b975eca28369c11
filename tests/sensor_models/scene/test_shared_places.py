"""Where the memory of scenes is shared, when somebody has taken the place before."""

import os
import tempfile
from pathlib import Path

import pytest

from sensor_models.scene import shared_file


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The places that are tried, in directories of this test's own."""
    tried = [tmp_path / name for name in ("memory", "temporary", "home")]
    monkeypatch.setattr(shared_file, "_places", lambda: tried)
    return tried


def test_the_first_place_is_taken_where_it_can_be_had(places: list[Path]) -> None:
    assert shared_file.shared_directory() == places[0]
    assert shared_file.shared_directory() == places[0]
    assert places[0].stat().st_mode & 0o777 == 0o700


def test_what_is_taken_by_a_link_or_a_file_is_left_alone(places: list[Path]) -> None:
    (places[0].parent / "elsewhere").mkdir(mode=0o700)
    places[0].symlink_to(places[0].parent / "elsewhere")
    places[1].write_text("")
    assert shared_file.shared_directory() == places[2]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can give files away")
def test_scenes_are_shared_although_somebody_else_has_the_first_place(places: list[Path]) -> None:
    places[0].mkdir(mode=0o700)
    os.chown(places[0], 12345, 12345)
    with_content = shared_file.create(b"shared")
    try:
        assert with_content.path.parent == places[1]
        found = shared_file.attach(with_content.number)
        assert found is not None
        assert found.memory[:] == b"shared"
        found.close()
    finally:
        with_content.close()


def test_without_any_place_the_first_reason_is_told(places: list[Path]) -> None:
    for place in places:
        place.write_text("")
    with pytest.raises(PermissionError, match=rf"{places[0]}: it is no directory"):
        shared_file.shared_directory()


def test_a_chosen_place_is_the_only_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chosen").write_text("")
    monkeypatch.setenv(shared_file.DIRECTORY_VARIABLE, str(tmp_path / "chosen"))
    with pytest.raises(PermissionError, match="chosen: it is no directory"):
        shared_file.shared_directory()


def test_there_is_a_place_of_ones_own_after_those_that_all_users_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(shared_file.DIRECTORY_VARIABLE, raising=False)
    *common, own = shared_file._places()
    assert Path(tempfile.gettempdir()) in [place.parent for place in common]
    assert own.parent == Path.home()


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="memory without a file is Linux's")
def test_where_nothing_can_be_written_memory_is_the_processes_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_file, "_places", list)
    made = shared_file.create(b"content", 17)
    try:
        assert made.number == 17
        made.memory[:3] = b"CON"
        assert bytes(made.memory) == b"CONtent"
        assert shared_file.attach(17) is None  # nor can another process
    finally:
        made.close()
