"""In which Python an FMU runs in a host that has none, and what it says where it cannot."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sensor_models.kernels.carried import FOLDER
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles
from tests.masters.interpreters import candidates, expected_refusal
from tests.masters.protocol import Status
from tests.masters.sensors import check_it_measures, copied_to, names_all

#: What a started Python would obey, or end the process for.
OBEYED = {
    "PYTHONHOME": "/nowhere",
    "PYTHONPATH": "{here}",
    "PYTHONHASHSEED": "nonsense",
    "PYTHONUTF8": "nonsense",
    "PYTHONWARNINGS": "error",
    "PYTHONMALLOC": "nonsense",
    "PYTHONINSPECT": "1",
    "PYTHONTRACEMALLOC": "nonsense",
    "PYTHONIOENCODING": "nonsense",
    "LC_ALL": "nonsense",
    "LANG": "nonsense",
}


@pytest.fixture
def files(sensor_files: Mapping[str, FmuFiles], tmp_path: Path) -> FmuFiles:
    """An FMU that a test may change."""
    return copied_to(sensor_files["Odometer"], tmp_path / "Odometer")


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter of the kind that runs this, without packages, in an awkward place."""
    folder = tmp_path_factory.mktemp("bare") / 'it\'s $HOME `x` \\ "q"'
    command = [sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(folder)]
    subprocess.run(command, check=True)
    return folder / "bin" / "python"


def record(files: FmuFiles, **changes: str) -> None:
    """Changes what the FMU records of the interpreter that built it."""
    place = files.directory / "resources" / "python.txt"
    lines = (line.split("=", 1) for line in place.read_text().splitlines())
    place.write_text("".join(f"{k}={v}\n" for k, v in (dict(lines) | changes).items()))


def refusal(executable: Path, files: FmuFiles, environment: Mapping[str, str]) -> str | None:
    """The message with which instantiation is refused; None if the FMU comes to life."""
    with CMaster(executable, environment) as master:
        instance, reply = master.load(files).try_instantiate()
        if reply.words == ("1",):
            instance.initialize()
            check_it_measures(instance, 0.0, 1.0)
            instance.free()
            return None
        (text,) = reply.texts()
        return text


def mapped(pid: int) -> set[str]:
    """The files that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if len(line.split()) > 5}


def test_the_interpreter_that_built_the_fmu_is_taken_when_nothing_is_said(
    master: CMaster, files: FmuFiles
) -> None:
    text = (files.directory / "resources" / "python.txt").read_text()
    library = dict(line.split("=", 1) for line in text.splitlines())["library"]
    master.load(files).instantiate()
    assert os.path.realpath(library) in mapped(master.pid)


@pytest.mark.parametrize("executable", candidates(), ids=str)
def test_any_other_interpreter_runs_the_fmu_or_tells_what_it_lacks(
    master_executable: Path, files: FmuFiles, executable: Path
) -> None:
    requirements = files.directory / "resources" / "requirements.txt"
    expected = expected_refusal(executable, requirements, recorded=True)
    text = refusal(master_executable, files, {"FMU_PYTHON": str(executable)})
    if expected:
        assert text is not None
        assert names_all(text, *expected)
    else:
        assert text is None


def test_an_interpreter_of_the_same_kind_uses_the_recorded_packages(
    master_executable: Path, files: FmuFiles, bare: Path
) -> None:
    assert refusal(master_executable, files, {"FMU_PYTHON": str(bare)}) is None


@pytest.mark.parametrize("changes", [{"packages": "/nowhere"}, {"abi": "cpython-42"}])
def test_an_interpreter_without_packages_is_told_how_to_get_them(
    master_executable: Path, files: FmuFiles, bare: Path, changes: Mapping[str, str]
) -> None:
    record(files, **changes)
    requirements = files.directory / "resources" / "requirements.txt"
    expected = expected_refusal(bare, requirements, recorded=False)
    text = refusal(master_executable, files, {"FMU_PYTHON": str(bare)})
    assert text is not None
    assert names_all(text, "numpy is not installed", *expected)


def test_a_package_of_a_wrong_version_is_named_with_the_right_one(
    master_executable: Path, files: FmuFiles
) -> None:
    (files.directory / "resources" / "requirements.txt").write_text("numpy>=99,<100\n")
    text = refusal(master_executable, files, {})
    assert text is not None
    assert names_all(
        text, "numpy ", " is installed, numpy>=99,<100 is needed", '-m pip install "numpy>=99,<100"'
    )


def test_fmu_python_wins_over_a_record_that_leads_nowhere(
    master_executable: Path, files: FmuFiles
) -> None:
    record(files, executable="/nowhere/python", library="/nowhere/lib.so")
    assert refusal(master_executable, files, {"FMU_PYTHON": sys.executable}) is None


def test_fmu_python_may_be_a_name_on_the_search_path(
    master_executable: Path, files: FmuFiles, bare: Path, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "my-python").symlink_to(sys.executable)
    record(files, executable="/nowhere/python")
    environment = {"FMU_PYTHON": "my-python", "PATH": str(tmp_path / "bin")}
    assert refusal(master_executable, files, environment) is None


def test_an_empty_fmu_python_says_nothing(master_executable: Path, files: FmuFiles) -> None:
    assert refusal(master_executable, files, {"FMU_PYTHON": ""}) is None


@pytest.fixture(params=["missing", "directory", "text", "true", "echo", "equals", "quotes"])
def no_python(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What FMU_PYTHON may name although it is no Python."""
    text, script = tmp_path / "text", tmp_path / "script"
    text.write_text("executable=/bin/sh")
    script.write_text("#!/bin/sh\necho made-up=1\n")
    script.chmod(0o755)
    named = {
        "missing": "/nowhere/python",
        "directory": str(tmp_path),
        "text": str(text),
        "true": "/bin/true",
        "echo": "/bin/echo",
        "equals": str(script),
        "quotes": f"'; touch '{tmp_path / 'trap'}'; '",
    }
    return named[str(request.param)]


def test_an_fmu_python_that_is_none_is_named_and_nothing_else_is_taken(
    master_executable: Path, files: FmuFiles, tmp_path: Path, no_python: str
) -> None:
    text = refusal(master_executable, files, {"FMU_PYTHON": no_python})
    assert text is not None
    assert f"FMU_PYTHON: '{no_python}' is no Python interpreter" in text
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize("names", [("PYTHONHOME",), ("PYTHONPATH",), tuple(OBEYED)], ids=len)
@pytest.mark.parametrize("chosen", [{}, {"FMU_PYTHON": sys.executable}], ids=["", "chosen"])
def test_variables_that_python_would_obey_do_not_matter(
    master_executable: Path,
    files: FmuFiles,
    tmp_path: Path,
    names: tuple[str, ...],
    chosen: dict[str, str],
) -> None:
    for name in ("encodings", "numpy", "sensor_models", "os", "site", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    environment = {name: OBEYED[name].format(here=tmp_path) for name in names}
    assert refusal(master_executable, files, environment | chosen) is None


def test_modules_in_the_working_directory_are_not_taken(
    master_executable: Path, files: FmuFiles, tmp_path: Path
) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit('the wrong module')\n")
    with CMaster(master_executable, directory=tmp_path) as master:
        assert master.load(files).try_instantiate()[1].words == ("1",)


@pytest.mark.parametrize("carried", [True, False])
def test_an_fmu_runs_where_there_is_no_home(
    master_executable: Path, files: FmuFiles, tmp_path: Path, carried: bool
) -> None:
    if not carried:
        shutil.rmtree(files.directory / "resources" / FOLDER)
    (tmp_path / "file").write_text("")
    environment = {"HOME": str(tmp_path / "file" / "home")}
    assert refusal(master_executable, files, environment) is None
    with CMaster(master_executable, environment) as master:
        library = master.load(files)
        replies = [library.try_instantiate(name)[1] for name in ("first", "second")]
    assert [reply.words for reply in replies] == [("1",), ("1",)]
    messages = [message for reply in replies for message in reply.messages]
    if carried:  # nothing is to be kept
        assert not messages
        return
    (warning,) = messages
    assert warning.status is Status.WARNING
    assert "SENSOR_FMUS_CACHE_DIR" in (warning.text or "")


#: What an FMU may have recorded, and what must be told of it.
RECORDS: dict[str, tuple[dict[str, str], str]] = {
    "interpreter gone": (
        {"executable": "/nowhere/python"},
        "recorded interpreter '/nowhere/python' is not on this machine",
    ),
    "library gone": ({"library": "/nowhere/libpython.so"}, "cannot open '/nowhere/libpython.so'"),
    "no library": ({"library": ""}, "has no shared library"),
    "library that is none": ({"library": "/bin/sh"}, "cannot open '/bin/sh'"),
    "standard library gone": (
        {"standard_library": "/nowhere/lib"},
        "no standard library in '/nowhere/lib'",
    ),
    "too old": ({"version": "3.9"}, "is Python 3.9"),
}


@pytest.mark.parametrize("case", RECORDS)
def test_all_that_was_tried_is_told_where_no_python_is_found(
    master_executable: Path, files: FmuFiles, tmp_path: Path, case: str
) -> None:
    changes, reason = RECORDS[case]
    record(files, **changes)
    text = refusal(master_executable, files, {"PATH": str(tmp_path)})
    assert text is not None
    needed = (files.directory / "resources" / "requirements.txt").read_text().splitlines()
    assert names_all(text, reason, "on the search path", "FMU_PYTHON", ", ".join(needed))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "records no interpreter"),
        (b"", "records no interpreter"),
        (b"\xff\x00nonsense\n" * 9, "records no interpreter"),
        (b"executable=/bin/sh\n" + b"library=" * 3000, "recorded interpreter"),
    ],
    ids=["gone", "empty", "binary", "endless"],
)
def test_a_record_that_is_gone_or_damaged_does_no_harm(
    master_executable: Path, files: FmuFiles, tmp_path: Path, content: bytes | None, reason: str
) -> None:
    place = files.directory / "resources" / "python.txt"
    place.unlink()
    if content is not None:
        place.write_bytes(content)
    text = refusal(master_executable, files, {"PATH": str(tmp_path)})
    assert text is not None
    assert names_all(text, reason, "FMU_PYTHON")


def test_a_python_on_the_search_path_stands_in_for_a_recorded_one_that_is_gone(
    master_executable: Path, files: FmuFiles, tmp_path: Path
) -> None:
    record(files, executable="/nowhere/python")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    assert refusal(master_executable, files, {"PATH": str(tmp_path / "bin")}) is None


def test_a_host_can_try_again_after_a_refusal(
    master_executable: Path, sensor_files: Mapping[str, FmuFiles], files: FmuFiles, tmp_path: Path
) -> None:
    record(files, executable="/nowhere/python")
    with CMaster(master_executable, {"PATH": str(tmp_path)}) as master:
        library = master.load(files)
        assert library.try_instantiate()[1].words == ("0",)
        good, reply = library.try_instantiate(resources=sensor_files["Odometer"].resource_uri)
        assert reply.words == ("1",)
        good.initialize()
        check_it_measures(good, 0.0, 1.0)


@pytest.mark.parametrize("name", ["fmu_loader.py", "fmu.txt", "requirements.txt"])
def test_an_fmu_that_lacks_a_file_is_refused_with_its_name(
    master_executable: Path, files: FmuFiles, name: str
) -> None:
    (files.directory / "resources" / name).unlink()
    text = refusal(master_executable, files, {})
    assert text is not None
    assert name in text


@pytest.mark.parametrize(
    "name", ["fmu_loader.py", "fmus/fmi/sensors.py", "sensor_models/wheel/odometer.py"]
)
def test_an_fmu_with_a_damaged_module_is_refused_with_its_name(
    master_executable: Path, files: FmuFiles, name: str
) -> None:
    path = files.directory / "resources" / name
    assert path.is_file()
    path.write_text("(nonsense")
    text = refusal(master_executable, files, {})
    assert text is not None
    assert path.name in text
