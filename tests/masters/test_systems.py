"""A vehicle with its sensors as one system, in every master that takes one. For Linux.

Masters for SSP pass values on after a step, so what a part gets describes the beginning of its
step, which is what ``inputs_at_step_end`` = false says. A script that steps the vehicle first gives
its newest values, and says so by true. Both know the same states at the same instants, so readings
with equal stamps are equal.
"""

import json
import os
import random
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import build_fmus
from fmus.tools.systems import System
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles
from tests.masters.hosts.system_task import SystemRows
from tests.masters.systems import SystemInC, Way, outputs_of, task_of
from tests.tools import need

ROOT = Path(__file__).resolve().parents[2]

#: libcosimpy has no package for Python 3.10 (pyproject.toml says the same).
HOSTS = ("fmpy", "ecos", *(("cosim",) if sys.version_info >= (3, 11) else ()))

#: 0.6 s, with six frames of the lidar and eighteen of the camera.
STEPS = 60

#: Masters add up time or not, so the lengths of steps differ in their last bits; the vehicle's
#: motion then differs by 1e-14, the readings by no more than this.
ALLOWED = 1e-9

#: Each scene has a number of its own.
UNLIKE = ("world", "scene_handle")

#: Parts whose readings do not depend on when the bodies of the scene are moved.
BLIND = ("vehicle", "encoder_left", "encoder_right", "odometer", "imu", "magnetometer")

#: What zeros at the start did is gone by then (s): the filters of the IMU pass 260 Hz, and frame 0
#: of the lidar is on the outputs until 0.2 s.
FORGOTTEN = 0.25

Runs = Callable[[Way], SystemRows]


@pytest.fixture(scope="module")
def system() -> System:
    return build_fmus.read_ssp_source(build_fmus.SYSTEM, build_fmus.fmu_sources())


@pytest.fixture(scope="module")
def ssp(system: System, fmu_directory: Path) -> Path:
    return build_fmus.write_ssp(system, fmu_directory)


@pytest.fixture(scope="module")
def files(
    system: System, fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, FmuFiles]:
    directory = tmp_path_factory.mktemp("system")
    models = {part.model_name for part in system.parts}
    return {m: FmuFiles.unpack(fmu_directory / f"{m}.fmu", directory / m) for m in models}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where what a run writes goes: files, and what processes share."""
    for name in ("files", "shared"):
        (tmp_path / name).mkdir(mode=0o700)
    return tmp_path


def environment(place: Path) -> dict[str, str]:
    return {"TMPDIR": str(place / "files"), "SENSOR_FMUS_SHARED_DIR": str(place / "shared")}


@pytest.fixture
def system_master(master_executable: Path, place: Path) -> Iterator[CMaster]:
    with CMaster(master_executable, environment(place)) as running:
        yield running


@pytest.fixture(scope="module")
def in_c(
    master_executable: Path,
    files: Mapping[str, FmuFiles],
    system: System,
    tmp_path_factory: pytest.TempPathFactory,
) -> Runs:
    """What the system reads in the C master, run in some way, once for each way."""
    known: dict[str, SystemRows] = {}

    def run(way: Way) -> SystemRows:
        if repr(way) not in known:
            written = {"TMPDIR": str(tmp_path_factory.mktemp("written"))}
            with CMaster(master_executable, written) as master:
                running = SystemInC(master, files, system, way)
                known[repr(way)] = running.run(STEPS)
                running.close()
        return known[repr(way)]

    return run


def columns(system: System, rows: SystemRows) -> dict[tuple[str, str], np.ndarray]:
    """The values of all outputs that runs have in common, by part and name."""
    found = {}
    for part in system.parts:
        values = np.array([row[part.name] for row in rows], float)
        for name, column in zip(outputs_of(part).in_order, values.T, strict=True):
            if (part.name, name) != UNLIKE:
                found[part.name, name] = column
    return found


def check_equal(
    system: System, rows: SystemRows, expected: SystemRows, parts: tuple[str, ...] = ()
) -> None:
    measured, wanted = columns(system, rows), columns(system, expected)
    for key, column in wanted.items():
        if not parts or key[0] in parts:
            np.testing.assert_allclose(measured[key], column, rtol=0.0, atol=ALLOWED, err_msg=key)


def in_a_host(host: str, system: System, ssp: Path, place: Path) -> SystemRows:
    """The rows of a host, whose process must end well and silently, and leave nothing behind."""
    if host == "ecos":
        need("libtbb.so.12")
    written, results = place / "task.json", place / "results.json"
    task_of(system, ssp, STEPS).write(written)
    command = [sys.executable, "-X", "faulthandler", "-m", f"tests.masters.hosts.system_{host}"]
    run = subprocess.run(
        [*command, str(written), str(results)],
        cwd=ROOT,
        env={**os.environ, **environment(place)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert list((place / "shared").iterdir()) == []
    assert list(place.rglob("*.part")) == []
    return list(json.loads(results.read_text()))


@pytest.mark.parametrize("host", HOSTS)
def test_the_packed_system_measures_in_every_master_what_it_measures_in_c(
    in_c: Runs, system: System, ssp: Path, place: Path, host: str
) -> None:
    way = Way()
    if host == "fmpy":
        way = Way(zeros_first=True, numbers=True)
    if host == "ecos":  # takes a directory, too; its names are then the same in each run
        unpacked = place / "unpacked"
        with zipfile.ZipFile(ssp) as archive:
            archive.extractall(unpacked)
        ssp = unpacked
        fmus = unpacked / "resources"
        way = Way(names={part.name: str(fmus / f"{part.name}.fmu") for part in system.parts})
    rows = in_a_host(host, system, ssp, place)
    assert len(rows) == STEPS
    check_equal(system, rows, in_c(way))


def test_readings_of_one_instant_are_equal_whether_the_vehicle_is_stepped_first_or_beside(
    in_c: Runs, system: System
) -> None:
    beside, first = (columns(system, in_c(Way(at_once=at_once))) for at_once in (False, True))
    for part in system.parts:
        names = [name for owner, name in beside if owner == part.name]
        if "sample.time" not in names:
            continue
        times = [np.round(run[part.name, "sample.time"], 9) for run in (beside, first)]
        common, *places = np.intersect1d(*times, return_indices=True)
        assert len(common) >= len(np.unique(times[0])) - 1
        for name in names:
            readings = [run[part.name, name] for run in (beside, first)]
            np.testing.assert_allclose(
                readings[0][places[0]],
                readings[1][places[1]],
                rtol=0.0,
                atol=ALLOWED,
                err_msg=f"{part.name}.{name}",
            )


def test_the_script_records_what_the_c_master_reads(
    master_executable: Path,
    files: Mapping[str, FmuFiles],
    system: System,
    fmu_directory: Path,
    place: Path,
) -> None:
    (place / "build").mkdir()
    (place / "build" / "fmus").symlink_to(fmu_directory)
    command = [sys.executable, str(ROOT / "examples" / "drive.py")]
    own = {**os.environ, **environment(place)}
    subprocess.run(command, cwd=place, env=own, capture_output=True, check=True)
    with CMaster(master_executable, environment(place)) as master:
        running = SystemInC(master, files, system, Way(at_once=True))
        rows = running.run(
            STEPS, lambda time: {"drive.left": 6.0, "drive.right": 6.0 + min(time, 2.0)}
        )
    found = columns(system, rows)
    for part in ("encoder_left", "encoder_right", "odometer", "imu", "magnetometer"):
        record = pyarrow.parquet.read_table(place / "build" / "drive" / f"{part}.parquet")
        newest = found[part, "sample.count"].astype(int) - 1
        assert np.all(np.diff(newest) >= 1)
        for name in set(record.column_names) - {"sample", "time"}:
            values = record[name].to_numpy().astype(float)[newest]
            np.testing.assert_allclose(
                values, found[part, name], rtol=0.0, atol=ALLOWED, err_msg=f"{part}.{name}"
            )


def test_zeros_on_all_inputs_in_the_first_step_are_forgotten(in_c: Runs, system: System) -> None:
    usual = columns(system, in_c(Way()))
    zeros = columns(system, in_c(Way(zeros_first=True, numbers=True)))
    later = round(FORGOTTEN / system.step)
    for key, column in usual.items():
        np.testing.assert_allclose(
            zeros[key][later:], column[later:], rtol=0.0, atol=ALLOWED, err_msg=str(key)
        )
    assert np.any(
        zeros["imu", "accelerometer.x"][:later] != usual["imu", "accelerometer.x"][:later]
    )


def test_the_system_is_one_in_which_differences_would_show(in_c: Runs, system: System) -> None:
    found = columns(system, in_c(Way()))
    assert found["vehicle", "body.position.x"][-1] > found["vehicle", "body.position.x"][0] + 0.2
    for key in (("imu", "accelerometer.x"), ("encoder_left", "position"), ("odometer", "distance")):
        assert len(np.unique(found[key])) > STEPS / 2
    assert found["lidar", "frame.count"][-1] == 5  # the sixth is complete when 0.6 s is known
    assert found["camera", "frame.count"][-1] == 18
    assert np.all(found["lidar", "frame.points"][20:] > 1000)
    assert found["encoder_left", "speed"][-1] != found["encoder_right", "speed"][-1]


# ---- life cycles ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_parts_may_be_made_stepped_and_freed_in_any_order(
    system_master: CMaster,
    files: Mapping[str, FmuFiles],
    system: System,
    in_c: Runs,
    place: Path,
    seed: int,
) -> None:
    draw = random.Random(seed)
    names = [part.name for part in system.parts]
    made, order, freed = (draw.sample(names, len(names)) for _ in range(3))
    running = SystemInC(system_master, files, system, Way(made=made, order=order))
    check_equal(system, running.run(30), in_c(Way())[:30], BLIND)
    running.close(freed)
    assert list((place / "shared").iterdir()) == []


def test_a_system_goes_on_when_another_one_of_its_process_is_freed_halfway(
    system_master: CMaster,
    files: Mapping[str, FmuFiles],
    system: System,
    in_c: Runs,
    place: Path,
) -> None:
    warm = SystemInC(system_master, files, system, Way())
    warm.run(20)  # the threads that trace rays are there for the rest of the process
    warm.close()
    before = settled(system_master, place)
    first, second = (SystemInC(system_master, files, system, Way()) for _ in range(2))
    start = second.run(20)
    first.run(13)
    for instance in first.instances.values():
        instance.free().expect()  # without termination, in the middle of frames
    check_equal(system, [*start, *second.run(30)], in_c(Way())[:50])
    assert left_by(system_master, place) != before
    second.close()
    assert settled(system_master, place) == before


def settled(master: CMaster, place: Path) -> tuple[int, int, list[str]]:
    """As ``left_by``, once it stays so: threads that nobody needs any more end by themselves."""
    found, since = left_by(master, place), time.monotonic()
    while time.monotonic() < since + 2.0:
        time.sleep(0.05)
        now = left_by(master, place)
        if now != found:
            found, since = now, time.monotonic()
    return found


def left_by(master: CMaster, place: Path) -> tuple[int, int, list[str]]:
    """Threads and open files of the master, and what it shares or has not written to the end."""
    process = Path("/proc") / str(master.pid)
    shared = [path.name for path in (place / "shared").iterdir()]
    unfinished = [path.name for path in place.rglob("*.part")]
    threads, opened = (len(list((process / kind).iterdir())) for kind in ("task", "fd"))
    return threads, opened, [*shared, *unfinished]
