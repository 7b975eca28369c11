"""FMU ``WaveformLidar``: the model behind it, its files, and states with waveforms in them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.lidar.patterns import PatternParameters
from sensor_models.output.clouds import CloudFormat
from sensor_models.output.sinks import WriteFiles
from sensor_models.scene.registry import open_scene
from sensor_models.waveform import (
    ReceiverParameters,
    ReceiverType,
    WaveformLidar,
    WaveformParameters,
)
from tests.fmus.host import Instance, open_fmu
from tests.waveform_ranges import read_wall

SMALL: dict[str, Any] = {
    "scene": "targets",
    "pattern.type": 0,
    "pattern.rows": 4,
    "pattern.columns": 16,
    "pattern.endpoint": True,
    "beam.subrays": 7,
    "t_stop": 2e-7,
    "receiver.type": ReceiverType.apd,
    "peak_power": 0.5,
    "seed": 11,
    "output_format": CloudFormat.npy,
    "write_files": WriteFiles.on,
}


@pytest.fixture
def waveform_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "WaveformLidar.fmu"


def begin(lidar: Instance, out: Path, **more: Any) -> None:
    lidar.initialize({**SMALL, "output_directory": str(out), "body.position.z": 1.0, **more})


def files_of(out: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(out.glob("*.npy"))}


def test_points_and_waveforms_are_those_of_the_model(waveform_fmu: Path, tmp_path: Path) -> None:
    with open_fmu(waveform_fmu, "front") as lidar:
        begin(lidar, tmp_path)
        for k in range(2):
            lidar.step(0.1 * k, 0.1)
        lidar.terminate()
        found = lidar.outputs()
    model = WaveformLidar(
        WaveformParameters(subrays=7, t_stop=2e-7, peak_power=0.5),
        PatternParameters(rows=4, columns=16),
        ReceiverParameters(type=ReceiverType.apd),
        seed=11,
        identity="WaveformLidar/front",
        keeps=True,
    )
    points = np.load(found["frame.file"])
    rows = np.load(found["waveform.file"])
    samples = np.load(found["waveform.file"].replace("waveform.npy", "samples.npy"))
    with open_scene("targets") as world:
        cloud = model.capture(
            world.rays(), (0, 0, 1.0, 1, 0, 0, 0), 1, 0.1, out=model.new_cloud(normals=False)
        )
    assert len(points) > 20
    assert points.tobytes() == cloud.points().tobytes()
    assert cloud.waves is not None
    assert rows.tobytes() == cloud.waves.rows().tobytes()
    assert samples.tobytes() == cloud.waves.samples().tobytes()
    assert rows["offset"].tolist() == (np.cumsum(rows["count"]) - rows["count"]).tolist()
    assert found["frame.points"] == len(points)
    lines = [json.loads(line) for line in (tmp_path / "index.jsonl").read_text().splitlines()]
    kinds = [line["kind"] for line in lines if "kind" in line]
    assert kinds == ["points", "waveform", "samples"] * 2


def test_waveforms_are_not_written_where_they_are_not_wanted(
    waveform_fmu: Path, tmp_path: Path
) -> None:
    with open_fmu(waveform_fmu) as lidar:
        begin(lidar, tmp_path, **{"waveform.on": False})
        lidar.step(0.0, 0.1)
        lidar.terminate()
        found = lidar.outputs()
    assert found["waveform.file"] == ""
    assert Path(found["frame.file"]).exists()
    assert list(files_of(tmp_path)) == [Path(found["frame.file"]).name]


def test_a_sweep_goes_on_from_a_state_with_its_waveforms(
    waveform_fmu: Path, tmp_path: Path
) -> None:
    """The state is taken within a rolling frame of 0.25 s, in steps of 0.1 s."""
    how = {"scan_mode": 1, "sample_rate": 4.0}

    def go(lidar: Instance, first: int, last: int) -> None:
        for k in range(first, last):
            lidar.set({"body.position.x": 0.05 * k})
            lidar.step(0.1 * k, 0.1)

    with open_fmu(waveform_fmu, "front") as lidar:
        begin(lidar, tmp_path, **how)
        go(lidar, 0, 4)
        state = lidar.saved()
        go(lidar, 4, 8)
        lidar.terminate()
    later = {n: content for n, content in files_of(tmp_path).items() if "-000001" in n}
    assert len(later) == 3
    for name in later:
        (tmp_path / name).unlink()
    with open_fmu(waveform_fmu, "front") as lidar:
        begin(lidar, tmp_path / "unused", **how)
        lidar.restore(state)  # with the parameters of the first run
        go(lidar, 4, 8)
        lidar.terminate()
    again = files_of(tmp_path)
    assert {name: again[name] for name in later} == later


@pytest.mark.parametrize("distance", [1.0, 3.0])
def test_a_preset_reads_a_near_wall_that_saturates_it(waveform_fmu: Path, distance: float) -> None:
    found = read_wall(waveform_fmu, "VLP-16 APD", distance, "0.5")
    assert found.pulses > 50
    assert found.echoes == found.of_wall == found.pulses
    assert abs(found.bias) < 0.02
    assert found.spread < 0.03
