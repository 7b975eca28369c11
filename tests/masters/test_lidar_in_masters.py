"""The lidar in other masters: files, text and states in C, and equal frames everywhere. For Linux.

Of masters that are Python programs, some set no choices before the run and some no texts, so the
lidar is told in two ways there that it should write files, and has its default pattern, in the
default scene.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sensor_models.output.sinks import WriteFiles
from tests.masters.c_instance import Instance, State
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles
from tests.masters.hosts.task import Rows, Sensor, Task
from tests.masters.sensors import STEP as BINARY_STEP
from tests.masters.sensors import error_of, snapshot, unchanged
from tests.masters.test_python_masters import (
    HOSTS,
    MOTION,
    STEP,
    as_the_host_does,
    in_a_host,
)

#: Frames fall between the steps.
STEPS = 8
PARAMETERS = {
    "sample_rate": 4.0,
    "mount.position.z": 1.5,
    "max_range": 12.0,
    "noise.distance_sigma_base": 0.02,
}
FRAMES = 3
#: Points have 32 bits, whose last one may follow a rounding of the instants by each master.
LAST_BIT = 2e-6


@pytest.fixture(scope="module")
def files(fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> FmuFiles:
    return FmuFiles.unpack(fmu_directory / "Lidar.fmu", tmp_path_factory.mktemp("lidar"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where processes that are started from now on keep their temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def writing_master(master_executable: Path, temporary: Path) -> Iterator[CMaster]:
    with CMaster(master_executable, {"TMPDIR": str(temporary)}) as running:
        yield running


def sensor_of(files: FmuFiles, fmu: Path) -> Sensor:
    """A lidar on a body that goes back and forth."""
    inputs = {
        name: [function(0.3 * k) for k in range(STEPS)]
        for name, function in MOTION.items()
        if name in files.variables
    }
    return Sensor(
        fmu=str(fmu),
        name="lidar",
        parameters=PARAMETERS,
        inputs=inputs,
        real_outputs=files.names("output", "Real"),
        integer_outputs=files.names("output", "Integer"),
        references={v.name: v.reference for v in files.variables.values()},
        choices={"write_files": WriteFiles.on},
    )


def in_the_c_master(master: CMaster, files: FmuFiles, sensor: Sensor) -> Rows:
    instance = master.load(files).instantiate(sensor.name)
    instance.set_real(sensor.parameters).expect()
    instance.set_integer(sensor.choices).expect()
    instance.initialize()
    rows = []
    for k in range(STEPS):
        instance.set_real({name: values[k] for name, values in sensor.inputs.items()}).expect()
        instance.step(k * STEP, STEP).expect()
        reals = instance.get_real(sensor.real_outputs).reals()
        rows.append([*reals, *instance.get_integer(sensor.integer_outputs).integers()])
    instance.terminate().expect()
    instance.free()
    return rows


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.points.pcd"))


@pytest.mark.parametrize("host", HOSTS)
def test_frames_in_every_master_are_those_in_c(
    writing_master: CMaster,
    files: FmuFiles,
    fmu_directory: Path,
    temporary: Path,
    tmp_path: Path,
    host: str,
) -> None:
    sensor = sensor_of(files, fmu_directory / "Lidar.fmu")
    sensor = dataclasses.replace(sensor, texts={"output_directory": str(temporary / host)})
    ((rows,),) = in_a_host(host, Task([sensor], STEP, STEPS, runs=1), tmp_path)
    theirs = files_in(temporary)
    expected = in_the_c_master(writing_master, files, as_the_host_does(host, sensor))
    ours = [file for file in files_in(temporary) if file not in theirs]
    assert len(rows) == STEPS
    np.testing.assert_allclose(rows, expected, rtol=0.0, atol=LAST_BIT)
    frames = dict(zip(sensor.outputs, zip(*rows, strict=True), strict=True))["frame.count"]
    assert sorted(set(frames)) == list(range(1, FRAMES + 1))
    assert len(theirs) == len(ours) == FRAMES
    if host != "fmpy_ssp":  # which ends no run
        sizes = [file.stat().st_size for file in ours]
        assert [file.stat().st_size for file in theirs] == sizes
    for file in (*theirs, *ours):
        file.unlink()  # of some megabytes each


def test_the_runs_are_such_that_differences_would_show(
    writing_master: CMaster, files: FmuFiles, fmu_directory: Path
) -> None:
    sensor = sensor_of(files, fmu_directory / "Lidar.fmu")
    cases = (
        sensor,
        dataclasses.replace(sensor, name="other"),
        as_the_host_does("fmpy_ssp", sensor),
    )
    results = [in_the_c_master(writing_master, files, case) for case in cases]
    # The nearest point may be an echo of the air, which does not depend on where the sensor is.
    names = ("nearest.range", "frame.points")
    places = [sensor.outputs.index(name) for name in names]
    seen = [[tuple(row[place] for place in places) for row in rows] for rows in results]
    assert seen[0] != seen[1] != seen[2] != seen[0]
    assert len(set(seen[0])) == FRAMES
    assert min(seen[0])[0] > 0.0


SMALL = {"pattern.type": 1, "pattern.rows": 2, "pattern.columns": 64, "scan_mode": 1}


@pytest.fixture
def lidar(writing_master: CMaster, files: FmuFiles, tmp_path: Path) -> Instance:
    """A small lidar in a C host, in the middle of its second sweep."""
    instance = writing_master.load(files).instantiate("sensor 1")
    instance.set_integer(SMALL).expect()
    instance.set_real({"sample_rate": 2.0, "mount.position.z": 1.5}).expect()
    instance.set_string({"output_directory": str(tmp_path / "out")}).expect()
    instance.initialize()
    for k in range(7):
        instance.set_real({"body.position.x": 0.1 * k}).expect()
        instance.step(BINARY_STEP * k, BINARY_STEP).expect()
    return instance


def go(lidar: Instance) -> list[tuple[float, ...]]:
    """Outputs of steps until the third sweep is complete."""
    rows = []
    for k in range(7, 14):
        lidar.set_real({"body.position.x": 0.1 * k}).expect()
        lidar.step(BINARY_STEP * k, BINARY_STEP).expect()
        rows.append(tuple(lidar.get_real(lidar.files.names("output", "Real")).reals()))
    return rows


def test_a_sweep_continues_from_a_state_in_a_c_host(
    lidar: Instance, writing_master: CMaster, files: FmuFiles, tmp_path: Path
) -> None:
    content = lidar.serialize(lidar.get_state(State("half")))
    lidar.set_state(State("half")).expect()
    first = go(lidar)
    lidar.set_state(State("half")).expect()
    assert go(lidar) == first
    lidar.terminate().expect()
    written = {file.name: file.read_bytes() for file in (tmp_path / "out").glob("*.pcd")}
    assert len(written) == 3
    other = writing_master.load(files).instantiate("sensor 1")
    other.set_state(other.deserialize(content)).expect()
    assert go(other) == first
    other.terminate().expect()
    again = {file.name: file.read_bytes() for file in (tmp_path / "out").glob("*.pcd")}
    assert again == written


def test_what_a_c_host_is_refused_changes_nothing(lidar: Instance) -> None:
    before = snapshot(lidar)
    with unchanged(lidar):
        reply = lidar.set_real({"body.position.y": float("nan")})
        assert "body.position.y = nan is not a finite number" in error_of(reply)
    lidar.set_integer({"scene_handle": 5}).expect()
    reply = lidar.step(BINARY_STEP * 7, BINARY_STEP)
    assert "scene_handle = 5 is no open scene" in error_of(reply)
    lidar.set_integer({"scene_handle": 0}).expect()
    assert snapshot(lidar) == before
    assert len(go(lidar)) == 7
