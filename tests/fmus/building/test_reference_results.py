"""The reference results that are published beside the FMUs."""

import csv
import importlib.metadata
import math
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from fmpy import read_model_description, simulate_fmu

import build_fmus
from fmus.building.reference_results import (
    STEP,
    STOP,
    STOP_OF_FRAMES,
    motion,
    write_reference_results,
)
from tests.conftest import MODELS, SEEING


def table(path: Path) -> np.ndarray:
    return np.genfromtxt(path, delimiter=",", names=True, deletechars="", replace_space=" ")


@pytest.mark.parametrize("name", sorted(build_fmus.fmu_sources().keys() - {"Environment"}))
def test_results_are_those_of_a_run_with_the_inputs_and_options(
    fmu_directory: Path, tmp_path: Path, name: str
) -> None:
    files = write_reference_results(fmu_directory / f"{name}.fmu", tmp_path / "results")
    assert [file.name for file in files] == [
        f"{name}_in.csv",
        f"{name}_ref.csv",
        f"{name}_ref.opt",
        "README.md",
    ]
    about = files[3].read_text()
    assert about.startswith(f"# {name}\n")
    assert f"| fmpy | {importlib.metadata.version('fmpy')} |" in about
    assert read_model_description(fmu_directory / f"{name}.fmu").guid in about
    with files[2].open(newline="") as stream:
        options = {key: float(value) for key, value in csv.reader(stream)}
    written = table(files[1])
    variables = {
        v.name: v for v in read_model_description(fmu_directory / f"{name}.fmu").modelVariables
    }
    stop = STOP_OF_FRAMES if name in SEEING else STOP
    assert options == {"StartTime": 0.0, "StopTime": stop, "StepSize": STEP, "RelTol": 0.0}
    assert {variables[column].causality for column in written.dtype.names[1:]} == {"output"}
    # Another run, with what is in the files alone, in another place.
    shutil.copy(fmu_directory / f"{name}.fmu", tmp_path / f"{name}.fmu")
    files_go_to = {"output_directory": str(tmp_path)} if "output_directory" in variables else {}
    again = simulate_fmu(
        tmp_path / f"{name}.fmu",
        stop_time=options["StopTime"],
        step_size=options["StepSize"],
        output_interval=options["StepSize"],
        start_values=files_go_to,
        input=table(files[0]),
        output=written.dtype.names[1:],
    )
    for column in written.dtype.names:
        np.testing.assert_array_equal(written[column], again[column], err_msg=column)
    moves = [c for c in written.dtype.names[1:] if len(np.unique(written[c])) > 1]
    assert moves


def test_inputs_move_as_their_names_say() -> None:
    given = motion(
        [
            ("joint.position", "Real", "0"),
            ("car.position.x", "Real", "0"),
            ("body.orientation.w", "Real", "1"),
            ("temperature", "Real", "293.15"),
            ("fault.mode", "Enumeration", "0"),
        ]
    )
    last = given[-1]
    assert last["time"] == pytest.approx(STOP)
    assert last["joint.position"] == pytest.approx(math.sin(3.0))
    assert last["car.position.x"] == pytest.approx(2.0 * math.cos(0.5))
    assert last["body.orientation.w"] == pytest.approx(math.cos(0.25))
    assert (last["temperature"], last["fault.mode"]) == (293.15, 0)


def test_the_build_writes_them_beside_each_other(tmp_path: Path) -> None:
    only = ["--only", "Odometer", "--platforms", "linux64", "--output", str(tmp_path / "fmus")]
    command = [*only, "--reference-results", str(tmp_path / "results")]
    subprocess.run(
        [sys.executable, str(build_fmus.ROOT / "build_fmus.py"), *command],
        check=True,
        capture_output=True,
    )
    assert len(list((tmp_path / "results" / "Odometer").iterdir())) == 4


def smoke_test(fmu: Path) -> tuple[dict[str, str], np.ndarray[Any, Any]]:
    """The experiment that an FMU carries, and its inputs, found from the manifest on."""
    folder = "extra/org.fmi-standard.fmi-ls-ref"
    with zipfile.ZipFile(fmu) as archive:
        manifest = ElementTree.fromstring(archive.read(f"{folder}/fmi-ls-manifest.xml"))
        assert manifest.get("{http://fmi-standard.org/fmi-ls-manifest}fmi-ls-name") == (
            "org.fmi-standard.fmi-ls-ref"
        )
        related = {e.get("role"): e.get("source") for e in manifest.iter("Related")}
        root = ElementTree.fromstring(archive.read(f"{folder}/{related['experiment/smoke-test']}"))
        (experiment,) = root.iter("Experiment")
        (stimuli,) = experiment.iter("Stimuli")
        assert stimuli.get("source") == related["other"]
        lines = archive.read(f"{folder}/{related['other']}").decode().splitlines()
    # ``names=True`` would change the names
    names = lines[0].split(",")
    rows = np.loadtxt(lines[1:], delimiter=",", ndmin=2)
    table = np.array([tuple(row) for row in rows], [(name, float) for name in names])
    return dict(experiment.attrib), table


@pytest.mark.parametrize("model", MODELS)
def test_each_fmu_carries_a_smoke_test_of_its_inputs(fmu_directory: Path, model: str) -> None:
    experiment, inputs = smoke_test(fmu_directory / f"{model}.fmu")
    variables = read_model_description(str(fmu_directory / f"{model}.fmu")).modelVariables
    numbers = [v.name for v in variables if v.causality == "input" and v.type != "Boolean"]
    assert [*inputs.dtype.names] == ["time", *numbers]
    assert inputs["time"][0] == float(experiment["startTime"]) == 0.0
    assert inputs["time"][-1] == float(experiment["stopTime"])


@pytest.mark.parametrize("model", ["Encoder", "Imu"])
def test_the_smoke_test_runs_in_a_master(fmu_directory: Path, model: str) -> None:
    experiment, inputs = smoke_test(fmu_directory / f"{model}.fmu")
    found = simulate_fmu(
        str(fmu_directory / f"{model}.fmu"),
        start_time=float(experiment["startTime"]),
        stop_time=float(experiment["stopTime"]),
        step_size=float(experiment["stepSize"]),
        output_interval=float(experiment["stepSize"]),
        input=inputs,
        output=["sample.count", "sample.time"],
    )
    assert found["sample.count"][-1] >= 100
