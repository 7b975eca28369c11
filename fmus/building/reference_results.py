"""Reference results of FMUs, as the FMI Cross-Check lays them out.

There are four files for each FMU, in one directory::

    Imu_in.csv     time and inputs, one row each STEP, to be interpolated linearly
    Imu_ref.csv    time and outputs at the ends of the steps
    Imu_ref.opt    StartTime, StopTime, StepSize, RelTol
    README.md      which FMU this is, and the importer with which the results were made

Outputs are those of fmpy with the start values of all parameters, Booleans as 0 and 1. Strings are
left out, and so are outputs that differ from run to run, such as handles of scenes. Only the build
writes these files.

Source: "FMI Cross-Check Rules", sections 4.1 and 4.2 (files and their columns).
"""

import csv
import importlib.metadata
import math
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

START, STOP, STEP = 0.0, 1.0, 0.01  # s
#: The end for FMUs that take a frame in each step, because some need a second for a frame.
STOP_OF_FRAMES = 0.05
SUFFIXES = ("_in.csv", "_ref.csv", "_ref.opt")
ABOUT = "README.md"

#: Outputs that differ from run to run.
LEFT_OUT = ("scene_handle",)

#: Inputs that move, by the ends of their names: a body on a circle of 2 m with its heading along
#: it, a joint that swings, a vehicle in a curve. All other inputs keep their start values.
RATE = 0.5  # rad/s
MOTIONS: Mapping[str, Callable[[float], float]] = {
    "position.x": lambda t: 2.0 * math.cos(RATE * t),
    "position.y": lambda t: 2.0 * math.sin(RATE * t),
    "position.z": lambda _: 1.0,
    "orientation.w": lambda t: math.cos(RATE * t / 2.0),
    "orientation.z": lambda t: math.sin(RATE * t / 2.0),
    "body.velocity.x": lambda t: -2.0 * RATE * math.sin(RATE * t),
    "body.velocity.y": lambda t: 2.0 * RATE * math.cos(RATE * t),
    "angular_velocity.z": lambda _: RATE,
    "joint.position": lambda t: math.sin(3.0 * t),
    "joint.velocity": lambda t: 3.0 * math.cos(3.0 * t),
    "drive.left": lambda _: 6.0,
    "drive.right": lambda _: 7.0,
}


def write_reference_results(fmu: Path, directory: Path) -> list[Path]:
    """Simulate an FMU and write its files; returns them, none if it has no results."""
    from fmpy import read_model_description, simulate_fmu  # a master, which the FMUs do not need

    described = read_model_description(str(fmu))
    variables = described.modelVariables
    stop = stop_of(v.name for v in variables)
    given = motion(((v.name, v.type, v.start) for v in variables if v.causality == "input"), stop)
    outputs = [
        v.name
        for v in variables
        if v.causality == "output" and v.type != "String" and v.name not in LEFT_OUT
    ]
    if not outputs:
        return []
    with tempfile.TemporaryDirectory(prefix="reference-") as folder:
        writes = any(v.name == "output_directory" for v in variables)
        found = simulate_fmu(
            str(fmu),
            start_time=START,
            stop_time=stop,
            step_size=STEP,
            output_interval=STEP,
            start_values={"output_directory": folder} if writes else {},  # changes no number
            input=given,
            output=outputs,
        )
    options = [("StartTime", START), ("StopTime", stop), ("StepSize", STEP), ("RelTol", 0.0)]
    return _write_files(directory, described, given, found, options)


def _write_files(
    directory: Path,
    described: Any,
    given: NDArray[np.void],
    found: NDArray[np.void],
    options: Sequence[tuple[str, float]],
) -> list[Path]:
    """The files of an FMU with this description."""
    directory.mkdir(parents=True, exist_ok=True)
    files = [directory / f"{described.modelName}{suffix}" for suffix in SUFFIXES]
    for path, table in zip(files, (given, found), strict=False):
        with path.open("w", encoding="utf-8", newline="") as stream:
            write_table(stream, table)
    with files[2].open("w", encoding="utf-8", newline="") as stream:
        _write_rows(stream, options)
    about = directory / ABOUT
    about.write_text(_page(described, dict(options)), encoding="utf-8")
    return [*files, about]


def _page(described: Any, options: Mapping[str, float]) -> str:
    """Which FMU it is, and which importer was used, as a page in Markdown."""
    python = ".".join(map(str, sys.version_info[:3]))
    start, stop, step = (options[name] for name in ("StartTime", "StopTime", "StepSize"))
    version, name = importlib.metadata.version("fmpy"), described.modelName
    return f"""# {name}

{described.description}. FMI {described.fmiVersion} for co-simulation, {described.generationTool},
GUID `{described.guid}`.

| importer | version | platform | result |
| --- | --- | --- | --- |
| fmpy | {version} | {sys.platform}, Python {python} | `{name}_ref.csv` |

Inputs are in `{name}_in.csv`, interpolated linearly; parameters have their start values. The run
goes from {start:g} s to {stop:g} s in steps of {step:g} s. On equal processors the numbers are the
same to the last bit. Importers that were tried with these FMUs otherwise, with their versions, are
listed in docs/masters.md of the project.
"""


def stop_of(names: Iterable[str]) -> float:
    """The end of the run of an FMU with variables of these names."""
    return STOP_OF_FRAMES if "frame.count" in names else STOP


def motion(inputs: Iterable[tuple[str, str, Any]], stop: float = STOP) -> NDArray[np.void]:
    """Time and all inputs, given their names, types and starts; some move, the others rest."""
    times = [START + k * STEP for k in range(round((stop - START) / STEP) + 1)]
    columns: dict[str, Sequence[Any]] = {"time": times}
    kinds: dict[str, Any] = {"time": np.float64}
    for name, kind, start in inputs:
        moves = max((end for end in MOTIONS if name.endswith(end)), key=len, default=None)
        if kind == "Real":
            still = float(start or 0.0)
            columns[name] = [still if moves is None else MOTIONS[moves](t) for t in times]
            kinds[name] = np.float64
        elif kind in ("Integer", "Enumeration"):
            columns[name] = [int(start or 0)] * len(times)
            kinds[name] = np.int32
    table = np.empty(len(times), list(kinds.items()))
    for name, column in columns.items():
        table[name] = column
    return table


def write_table(stream: TextIO, table: NDArray[Any]) -> None:
    """Write a table with the names of its columns; Booleans are 0 and 1."""
    rows = [[int(v) if isinstance(v, bool) else v for v in row] for row in table.tolist()]
    _write_rows(stream, [table.dtype.names or (), *rows])


def _write_rows(stream: TextIO, rows: Iterable[Sequence[Any]]) -> None:
    csv.writer(stream, lineterminator="\n").writerows(rows)
