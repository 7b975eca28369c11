"""Messages of the lidar through masters that know nothing of them, to a model that reads them."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import build_fmus
from fmus.binding.compile import host_platform
from fmus.tools.systems import System
from sensor_models.output.points import POINT
from tests.fmus.osmp_reader_fmu import checksum_of
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles
from tests.masters.hosts.system_task import SystemRows
from tests.masters.systems import SystemInC, Way, outputs_of, task_of
from tests.sensor_models.scene_files import write_manifest

ROOT = Path(__file__).resolve().parents[2]
READER = ROOT / "tests" / "fmus" / "osmp_reader_fmu.py"
RAYS = 128 * 512
STEPS = 3

#: A room around the sensor, so that each ray has a return.
ROOM = """
[meshes.room]
box = { size = [20, 16, 8] }
material = "brick"

[[instances]]
mesh = "room"
entity_id = 3
"""


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    folder = tmp_path_factory.mktemp("room")
    scene = write_manifest(folder, ROOM)
    description = folder / "osi.toml"
    description.write_text(
        '[system]\nname = "Osi"\ndescription = "A lidar and a reader"\nstep = 0.1\nstop = 0.3\n'
        'connections = [["lidar.OSMPSensorDataOut", "reader.OSMPSensorDataIn"]]\n'
        '[parts.lidar]\nfmu = "Lidar"\n[parts.lidar.parameters]\nosi.on = true\n'
        f'scene = "{scene}"\noutput_directory = "{folder / "out"}"\n'
        'pattern.rows = 128\npattern.columns = 512\n[parts.reader]\nfmu = "OsmpReader"\n'
    )
    known = build_fmus.fmu_sources()
    known["OsmpReader"] = build_fmus.own_source(READER)
    return build_fmus.read_ssp_source(description, known)


@pytest.fixture(scope="module")
def fmus(fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two FMUs."""
    folder = tmp_path_factory.mktemp("osi fmus")
    build_fmus.build([build_fmus.own_source(READER)], folder, platforms=[host_platform()])
    (folder / "Lidar.fmu").symlink_to(fmu_directory / "Lidar.fmu")
    return folder


def check(system: System, rows: SystemRows, written: Path, ahead: int) -> None:
    """What the reader read is what the lidar wrote; of which frame, goes with the step."""
    names = outputs_of(system.parts[1]).in_order
    files = sorted(written.glob("*.points.pcd"))
    assert len(files) == STEPS + max(ahead, 0)
    for step, row in enumerate(rows):
        read = dict(zip(names, row["reader"], strict=True))
        frame = step + ahead
        if frame < 0:
            assert read["detections"] == 0
            continue
        points = np.frombuffer(files[frame].read_bytes().split(b"DATA binary\n", 1)[1], POINT)
        fields = ("range", "azimuth", "elevation", "entity_id", "ring")
        sent = np.stack([points[name].astype(np.float64) for name in fields], axis=1)
        assert read["detections"] == len(points) == RAYS
        assert read["cycle"] == frame + 1
        assert read["measurement.time"] == pytest.approx(0.1 * frame, abs=1e-9)
        assert read["distances"] == sent[:, 0].sum()
        assert read["checksum"] == checksum_of(sent)


def moved(system: System, folder: Path) -> System:
    """The same with files elsewhere."""
    lidar, reader = system.parts
    parameters = {**lidar.parameters, "output_directory": str(folder)}
    return dataclasses.replace(
        system, parts=(dataclasses.replace(lidar, parameters=parameters), reader)
    )


@pytest.mark.parametrize("at_once", [False, True])
def test_the_c_master_passes_messages_on(
    master: CMaster, system: System, fmus: Path, tmp_path: Path, at_once: bool
) -> None:
    own = moved(system, tmp_path / "files")
    files = {n: FmuFiles.unpack(fmus / f"{n}.fmu", tmp_path / n) for n in ("Lidar", "OsmpReader")}
    # Handed on after the step, what is read in a step is the message of the step before.
    running = SystemInC(master, files, own, Way(at_once=at_once))
    rows = running.run(STEPS)
    running.close()
    # One that steps the sensor first sets inputs_at_step_end: two frames in its first step.
    check(own, rows, tmp_path / "files", ahead=1 if at_once else -1)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="libcosimpy has no package for this Python")
def test_libcosim_passes_messages_on(system: System, fmus: Path, tmp_path: Path) -> None:
    own = moved(system, tmp_path / "files")
    ssp = build_fmus.write_ssp(own, fmus)
    written, results = tmp_path / "task.json", tmp_path / "results.json"
    task_of(own, ssp, STEPS).write(written)
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.masters.hosts.system_cosim"]
    run = subprocess.run(
        [*command, str(written), str(results)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    check(own, list(json.loads(results.read_text())), tmp_path / "files", ahead=-1)
