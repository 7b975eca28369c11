"""What a host's system takes away: open files, the size of files, threads at a fork. For Linux."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.masters.c_instance import Instance
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import Status
from tests.masters.sensors import check_it_measures


@pytest.fixture(scope="module")
def camera_files(fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> FmuFiles:
    directory = tmp_path_factory.mktemp("camera") / "DepthCamera"
    return FmuFiles.unpack(fmu_directory / "DepthCamera.fmu", directory)


def camera(master: CMaster, files: FmuFiles, directory: Path) -> Instance:
    """A camera that writes a file of 8 kB at each step."""
    instance = master.load(files).instantiate("camera")
    instance.set("output_directory", str(directory)).expect()
    instance.set_integer({"width": 64, "height": 32}).expect()
    return instance


def test_too_many_open_files_are_told_as_such(
    master: CMaster, sensor_files: Mapping[str, FmuFiles]
) -> None:
    library = master.load(sensor_files["Odometer"])
    library.instantiate().initialize()
    master.command("limit", "files", 3)
    _, reply = library.try_instantiate()
    assert reply.words == ("0",)
    (text,) = reply.texts()
    assert "Too many open files" in text
    assert "no FMU is unpacked" not in text
    master.command("limit", "files", 256)
    library.instantiate().initialize()


def test_a_limit_on_the_size_of_files_is_an_error_and_kills_nobody(
    master: CMaster, camera_files: FmuFiles, tmp_path: Path
) -> None:
    instance = camera(master, camera_files, tmp_path / "frames")
    instance.initialize()
    instance.step(0.0, 0.1).expect()
    master.command("limit", "size", 4096)
    replies = [instance.step(0.1 * k, 0.1) for k in range(1, 30)]
    replies += [instance.terminate(), instance.free()]
    texts = [m.text or "" for r in replies for m in r.messages if m.status is Status.ERROR]
    assert any("File too large" in text for text in texts), texts
    assert master.handled_signals() == []


def test_a_limit_from_the_start_on_kills_nobody_either(
    master: CMaster, camera_files: FmuFiles, tmp_path: Path
) -> None:
    master.command("limit", "size", 4096)
    instance = camera(master, camera_files, tmp_path / "frames")
    instance.setup()
    instance.enter()
    instance.exit()
    for k in range(5):
        instance.step(0.1 * k, 0.1)
    instance.terminate()
    instance.free()


def test_children_of_a_host_that_forks_while_files_are_written_go_on(
    master: CMaster, camera_files: FmuFiles, sensor_files: Mapping[str, FmuFiles], tmp_path: Path
) -> None:
    instance = camera(master, camera_files, tmp_path / "frames")
    instance.initialize()
    for_children = master.load(sensor_files["Odometer"]).instantiate()
    for_children.initialize()
    count = 40
    reply = master.command("forks", count, 0.0, 0.01, instance.name, for_children.name)
    assert reply.integers() == [count]
    check_it_measures(for_children, 0.0, 1.5)
    instance.terminate().expect()
    instance.free()


def test_children_may_leave_without_a_word(
    master: CMaster, camera_files: FmuFiles, tmp_path: Path
) -> None:
    """The child steps and frees the very instance whose files are being written."""
    instance = camera(master, camera_files, tmp_path / "frames")
    instance.initialize()
    # the parent's own thread steps another one meanwhile
    other = camera(master, camera_files, tmp_path / "other")
    other.initialize()
    master.command("forks", 10, 0.0, 0.01, other.name, instance.name)
    instance.step(0.0, 0.01).expect()
    instance.terminate().expect()


@pytest.mark.parametrize("first", ["Odometer", "Encoder"])
def test_a_host_may_fork_after_it_has_unloaded_an_fmu(
    master: CMaster,
    camera_files: FmuFiles,
    sensor_files: Mapping[str, FmuFiles],
    tmp_path: Path,
    first: str,
) -> None:
    """What an FMU has done for forks does not outlive its library: with others, and alone."""
    for _ in range(3):
        library = master.load(sensor_files[first])
        instance = library.instantiate("short")
        instance.initialize()
        check_it_measures(instance, 0.0, 1.5)
        instance.free()
        library.unload()
    writing = camera(master, camera_files, tmp_path / "frames")
    writing.initialize()
    for_children = master.load(sensor_files["Odometer"]).instantiate()
    for_children.initialize()
    reply = master.command("forks", 10, 0.0, 0.01, writing.name, for_children.name)
    assert reply.integers() == [10]
    writing.terminate().expect()
