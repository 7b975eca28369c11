"""The reference results that are published beside the FMUs."""

import csv
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fmpy import read_model_description, simulate_fmu

import build_fmus
from fmus.reference_results import STEP, STOP, motion, write_reference_results


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
    ]
    with files[2].open(newline="") as stream:
        options = {key: float(value) for key, value in csv.reader(stream)}
    assert options == {"StartTime": 0.0, "StopTime": STOP, "StepSize": STEP, "RelTol": 0.0}
    written = table(files[1])
    variables = {
        v.name: v for v in read_model_description(fmu_directory / f"{name}.fmu").modelVariables
    }
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
    assert len(list((tmp_path / "results" / "Odometer").iterdir())) == 3
