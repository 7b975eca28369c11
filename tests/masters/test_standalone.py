"""Standalone FMUs: where there is no Python, beside others, and refused ones. For Linux."""

import ctypes
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet
import pytest

import build_fmus
from fmus.binding.fmu_loader import read_lines
from fmus.building.standalone import interpreter
from fmus.building.standalone.resources import ALONE, sees
from tests.masters.c_instance import Instance
from tests.masters.c_master import CMaster, Library
from tests.masters.empty_root import EmptyRoot
from tests.masters.fmu_files import FmuFiles
from tests.masters.protocol import Reply
from tests.masters.sensors import copied_to
from tests.masters.standalone_fmus import SHARED, names_of
from tests.masters.whole_runs import STEP, STEPS, files_in, run

#: Most bytes of an FMU, by whether it opens scenes.
LARGEST = {False: 15e6, True: 45e6}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of each FMU that is built take its name."""
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", names_of(metafunc.config))


@pytest.fixture(scope="module")
def files(
    standalone_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, FmuFiles]:
    unpacked = tmp_path_factory.mktemp("standalone")
    return {
        name: FmuFiles.unpack(standalone_directory / f"{name}.fmu", unpacked / name)
        for name in SHARED
    }


@pytest.fixture(scope="module")
def empty_root(tmp_path_factory: pytest.TempPathFactory) -> EmptyRoot:
    return EmptyRoot.make(tmp_path_factory.mktemp("empty") / "root")


def test_runs_where_there_is_nothing_and_as_the_ordinary_one(
    name: str,
    standalone_directory: Path,
    fmu_directory: Path,
    empty_root: EmptyRoot,
    master_executable: Path,
    tmp_path: Path,
) -> None:
    with empty_root.unpacked(standalone_directory / f"{name}.fmu") as carrying:
        with empty_root.master() as master:
            there = list(run(master.load(carrying), "/out"))
        written = files_in(empty_root.place / "out")
    ordinary = FmuFiles.unpack(fmu_directory / f"{name}.fmu", tmp_path / name)
    output = tmp_path / "out"
    output.mkdir()
    with CMaster(master_executable, {"HOME": str(tmp_path)}) as master:
        here = list(run(master.load(ordinary), str(output)))
    assert there == here
    expected = files_in(output)
    assert sorted(written) == sorted(expected)
    assert [file for file in expected if written[file] != expected[file]] == []
    measures = name != "Environment"  # which has a handle as its only output
    assert (len(set(there)) > STEPS / 4) == measures
    assert bool(expected) == ("output_directory" in ordinary.variables)


def test_is_not_larger_than_it_may_be(name: str, standalone_directory: Path) -> None:
    most = LARGEST[sees(build_fmus.fmu_sources()[name].model)]
    assert (standalone_directory / f"{name}.fmu").stat().st_size <= most


def test_carries_the_licences_of_all_that_is_inside(standalone_directory: Path) -> None:
    with zipfile.ZipFile(standalone_directory / "DepthCamera.fmu") as archive:
        names = archive.namelist()
    carried = {name.split("/")[3] for name in names if name.startswith("resources/python/packages")}
    suffix = ".dist-info"
    installed = [name.removesuffix(suffix) for name in carried if name.endswith(suffix)]
    distributions = {name.rpartition("-")[0] for name in installed}
    assert {"numpy", "embreex", "pillow", "pydantic", "trimesh"} <= distributions
    licences = [n.removeprefix("documentation/licenses/") for n in names if "/licenses/" in n]
    for distribution in distributions:
        assert any(licence.startswith(f"{distribution}-") for licence in licences), distribution
    assert {"python.txt", "embree-and-tbb.txt"} <= set(licences)
    libraries = [n.rpartition("/")[2] for n in names if n.startswith("resources/python/libs/")]
    assert {f"{library}.txt" for library in libraries} <= set(licences)


def test_no_environment_variable_counts(
    files: Mapping[str, FmuFiles], master_executable: Path, tmp_path: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in files["Encoder"].directory.rglob("*")}
    wrong = {"PYTHONHOME": "/none", "PYTHONPATH": "/none", "FMU_PYTHON": "/none/python"}
    home = tmp_path / "home"
    home.mkdir()
    environment = {**wrong, "HOME": str(home), "SENSOR_FMUS_CACHE_DIR": str(home / "cache")}
    with CMaster(master_executable, environment) as master:
        assert len(list(run(master.load(files["Encoder"]), str(tmp_path / "out")))) == STEPS
    assert list(home.iterdir()) == []
    after = {path: path.stat().st_mtime_ns for path in files["Encoder"].directory.rglob("*")}
    assert after == before


def test_two_share_one_interpreter_and_a_scene(
    files: Mapping[str, FmuFiles], master: CMaster, tmp_path: Path
) -> None:
    """The first carries less than the second, and its files are gone when the others run."""
    first = copied_to(files["Encoder"], tmp_path / "first")
    encoder = master.load(first).instantiate("encoder")
    encoder.initialize()
    shutil.rmtree(first.directory)
    environment = master.load(files["Environment"]).instantiate("environment")
    environment.initialize()
    camera = master.load(files["DepthCamera"]).instantiate("camera")
    camera.set_integer({"width": 32, "height": 24}).expect()
    camera.set("scene_handle", int(environment.get("scene_handle"))).expect()
    camera.initialize()
    camera.step(0.0, 0.2).expect()
    assert int(camera.get("frame.count")) > 0
    encoder.set("joint.position", 1.0).expect()
    encoder.step(0.0, STEP).expect()


def test_comes_and_goes_without_traces(files: Mapping[str, FmuFiles], master: CMaster) -> None:
    """A hundred times, opened anew each time, as hosts do.

    Python asks the system for a megabyte at a time, and whether that falls into one hundred lives
    or the next is chance. What is lost in each life shows in every hundred.
    """

    def live(count: int) -> None:
        for k in range(count):
            library = master.load(files["Encoder"])
            check_it_measures(library.instantiate("encoder"), 0.01 * k)
            library.unload().expect()

    def growth(count: int) -> int:
        before = master.memory()
        live(count)
        return master.memory() - before

    live(300)  # Python frees what refers to itself in the end only
    assert min(growth(100) for _ in range(3)) < 100 * 2**11


def test_ten_instances_begin_and_step_in_ten_threads(
    files: Mapping[str, FmuFiles], master: CMaster
) -> None:
    instances, born = master.create_in_threads([master.load(files["Encoder"])] * 10)
    assert born.integers() == [1] * 10
    for instance in instances:
        instance.initialize()
    reply = master.step_in_threads(instances, 0.0, STEP, STEPS)
    assert reply.expect().integers() == [STEPS] * 10


def test_first_instances_of_two_that_are_made_at_once_share_one_interpreter(
    files: Mapping[str, FmuFiles], master_executable: Path
) -> None:
    """Whoever comes first, the interpreter is that of the one that has started it."""
    names = ("Encoder", "Environment", "Encoder", "Environment")
    for _ in range(12):  # of each of these lives, most went wrong once
        with CMaster(master_executable) as master:
            instances, reply = master.create_in_threads([master.load(files[n]) for n in names])
            assert reply.integers() == [1] * len(names), reply
            check_it_measures(instances[0], 1.5)


def mapped(pid: int, name: str) -> set[str]:
    """The places of a library that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if line.endswith(f"/{name}")}


def test_one_that_is_unpacked_again_and_again_maps_its_libraries_once(
    files: Mapping[str, FmuFiles], master: CMaster, tmp_path: Path
) -> None:
    for k in range(4):
        again = copied_to(files["Encoder"], tmp_path / str(k))
        check_it_measures(master.load(again).instantiate("encoder"), 0.5)
        names = [file.name for file in (again.directory / "resources/python/libs").iterdir()]
        assert {name: len(mapped(master.pid, name)) for name in names} == dict.fromkeys(names, 1)


def test_a_path_with_colons_is_one_like_any_other(
    files: Mapping[str, FmuFiles], master: CMaster, tmp_path: Path
) -> None:
    awkward = copied_to(files["Encoder"], tmp_path / "a:b" / "c:")
    check_it_measures(master.load(awkward).instantiate("encoder"), 0.5)


@pytest.mark.parametrize(
    "file", ["libpython*", "libs/*", "lib/*/encodings/__init__.pyc", "packages/**/*umath*.so"]
)
@pytest.mark.parametrize("what", ["cut short", "zeros", "missing"])
def test_one_that_is_damaged_or_half_unpacked_is_refused_and_ends_nobody(
    files: Mapping[str, FmuFiles], master: CMaster, tmp_path: Path, file: str, what: str
) -> None:
    broken = copied_to(files["Encoder"], tmp_path / "broken")
    place = sorted((broken.directory / "resources/python").glob(file))[0]
    whole = place.read_bytes()
    place.unlink()
    if what != "missing":
        kept = whole[: len(whole) // 2]
        place.write_bytes(kept if what == "cut short" else kept.ljust(len(whole), b"\0"))
    message = refusal(master.load(broken))
    assert "does not start here" in message
    assert place.name in message
    check_it_measures(master.load(files["Encoder"]).instantiate("whole"), 0.5)


@pytest.mark.parametrize("files_allowed", range(3, 9))
def test_a_host_that_may_open_few_files_is_told_and_goes_on(
    files: Mapping[str, FmuFiles], master: CMaster, files_allowed: int
) -> None:
    library = master.load(files["Encoder"])
    master.command("limit", "files", files_allowed)
    _, reply = library.try_instantiate()
    if reply.words == ("0",):
        assert "Too many open files" in " ".join(text_of(reply))
    master.command("limit", "files", 256)
    check_it_measures(library.instantiate("encoder"), 0.5)


def test_an_interpreter_that_does_not_come_to_life_is_told_and_ends_nobody(
    files: Mapping[str, FmuFiles], master: CMaster, tmp_path: Path
) -> None:
    """One whose list of files fits; no other Python can be started after it."""
    broken = copied_to(files["Encoder"], tmp_path / "broken")
    home = broken.directory / "resources/python"
    shutil.rmtree(next(home.glob("lib/*/encodings")))
    lines = (home / "digests.txt").read_text().splitlines(keepends=True)
    (home / "digests.txt").write_text("".join(line for line in lines if "/encodings/" not in line))
    message = refusal(master.load(broken))
    assert "does not start" in message
    assert "start the host anew" in message
    assert "Start the host anew" in refusal(master.load(files["Encoder"]))


#: In the interpreter of one that carries no linear algebra: refused, then lent by another one.
LINEAR_ALGEBRA = """
import sys
import numpy as np
matrix = np.array([[2.0, 1.0], [0.0, 4.0]])
try:
    np.linalg.inv(matrix)
except RuntimeError as error:
    print(error)
print((matrix @ matrix).tolist())
np.linalg._umath_linalg.lend(sys.argv[1])
print(np.linalg.inv(matrix).tolist())
print((matrix @ matrix).tolist())
"""


def test_linear_algebra_is_lent_by_an_fmu_that_carries_it(files: Mapping[str, FmuFiles]) -> None:
    place = read_lines(str(files["DepthCamera"].directory / "resources/python.txt"))
    lender = files["DepthCamera"].directory / "resources" / place["home"] / place["linear_algebra"]
    environment = interpreter.surroundings(files["Encoder"].directory / "resources")
    command = [sys.executable, *ALONE, "-c", LINEAR_ALGEBRA, str(lender)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    refusal, *found = done.stdout.splitlines()
    assert "carries no linear algebra" in refusal
    square = [[4.0, 6.0], [0.0, 16.0]]
    assert [json.loads(line) for line in found] == [square, [[0.5, -0.125], [0.0, 0.25]], square]


def check_it_measures(instance: Instance, position: float) -> None:
    instance.initialize()
    instance.set("joint.position", position).expect()
    instance.step(0.0, STEP).expect()
    assert instance.get("position") == position
    instance.terminate().expect()
    instance.free()


def refusal(library: Library) -> str:
    """The message of an FMU that must not come to life."""
    _, reply = library.try_instantiate("refused")
    assert reply.words == ("0",)
    return " ".join(text_of(reply))


def text_of(reply: Reply) -> list[str]:
    return [message.text or "" for message in reply.messages]


def test_an_ordinary_one_does_not_join_the_interpreter_of_a_standalone_one(
    files: Mapping[str, FmuFiles], fmu_directory: Path, master: CMaster, tmp_path: Path
) -> None:
    master.load(files["Encoder"]).instantiate("standalone").initialize()
    ordinary = FmuFiles.unpack(fmu_directory / "Odometer.fmu", tmp_path / "ordinary")
    message = refusal(master.load(ordinary))
    assert "Build this FMU with --standalone, too" in message
    assert "separate process" in message


def test_joins_the_interpreter_of_an_ordinary_one(
    files: Mapping[str, FmuFiles], fmu_directory: Path, master: CMaster, tmp_path: Path
) -> None:
    ordinary = FmuFiles.unpack(fmu_directory / "Odometer.fmu", tmp_path / "ordinary")
    master.load(ordinary).instantiate("ordinary").initialize()
    check_it_measures(master.load(files["Encoder"]).instantiate("standalone"), 2.0)


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("python/versions.txt", ("numpy=", "numpy=0."), ("carries numpy 0.", "one environment")),
        ("python/versions.txt", ("python=", "python=2."), ("carries python 2.",)),
        ("fmu.txt", ("sensor_models=", "sensor_models=0"), ("other sources", "separate")),
    ],
)
def test_one_of_another_version_is_refused(
    file: str,
    change: tuple[str, str],
    words: tuple[str, ...],
    files: Mapping[str, FmuFiles],
    master: CMaster,
    tmp_path: Path,
) -> None:
    other = copied_to(files["Encoder"], tmp_path / "other")
    place = other.directory / "resources" / file
    place.write_text(place.read_text().replace(*change))
    master.load(files["Encoder"]).instantiate("first").initialize()
    message = refusal(master.load(other))
    assert [word for word in words if word not in message] == []


def test_says_what_does_not_open(
    files: Mapping[str, FmuFiles], master: CMaster, tmp_path: Path
) -> None:
    broken = copied_to(files["Encoder"], tmp_path / "broken")
    (library,) = (broken.directory / "resources/python").glob("libpython3*")
    library.write_text("no library")
    message = refusal(master.load(broken))
    assert "does not start here" in message
    assert library.name in message
    assert "unpack the FMU anew" in message


@pytest.mark.parametrize("recording", ["Encoder", "Radar"])
def test_records_and_files_have_the_format_that_they_start_with(
    recording: str, standalone_directory: Path, empty_root: EmptyRoot
) -> None:
    with empty_root.unpacked(standalone_directory / f"{recording}.fmu") as files:
        with empty_root.master() as master:
            instance = master.load(files).instantiate("sensor")
            instance.set("record", True).expect()
            instance.set("output_directory", "/out").expect()
            instance.initialize()
            for k in range(STEPS):
                instance.step(k * STEP, STEP).expect()
            instance.terminate().expect()
            instance.free()
        written = empty_root.place / "out"
        tables = [pyarrow.parquet.read_table(path) for path in sorted(written.glob("*.parquet"))]
    record = tables[-1]
    assert {"sample", "time"} <= set(record.column_names)
    assert record.num_rows == record["sample"][-1].as_py() + 1 > 1
    assert (len(tables) > 1) == (recording == "Radar")  # the detections of each frame


def test_libraries_without_symbols_still_open(files: Mapping[str, FmuFiles]) -> None:
    """Each one of those that need no interpreter."""
    home = files["DepthCamera"].directory / "resources/python"
    opened = [ctypes.CDLL(str(path)) for path in sorted((home / "libs").iterdir())]
    assert opened
