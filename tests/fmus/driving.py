"""Driving instances along a motion, and reading back what they recorded."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
from numpy.typing import NDArray

from sensor_models.core.faults import Fault
from tests.fmus.host import Instance, open_fmu

#: The inputs at an instant.
Motion = Callable[[float], Mapping[str, float]]
Columns = dict[str, NDArray[Any]]

#: Parameters of an encoder with limits so wide that the position is what the joint does.
WIDE = {"mode": 1, "lower": -1e6, "upper": 1e6}


def drive(
    instance: Instance, instants: Iterable[float], motion: Motion, *, at_step_end: bool = False
) -> list[dict[str, Any]]:
    """Step from instant to instant; the outputs after each step.

    The inputs describe the start of each step, or its end.
    """
    readings = []
    for start, end in itertools.pairwise(instants):
        instance.set(motion(end if at_step_end else start))
        instance.step(start, end - start)
        readings.append(instance.outputs())
    return readings


def inputs_of(fault: Fault, prefix: str = "fault") -> dict[str, float]:
    """The inputs that put a fault on a signal."""
    return {f"{prefix}.{name}": value for name, value in dataclasses.asdict(fault).items()}


def read_record(directory: Path) -> Columns:
    """The columns of the one Parquet file in a directory."""
    (file,) = directory.glob("*.parquet")
    table = pyarrow.parquet.read_table(file)
    return {name: table[name].to_numpy() for name in table.column_names}


def record_run(
    fmu: Path,
    directory: Path,
    instants: Sequence[float],
    motion: Motion,
    parameters: Mapping[str, Any],
    name: str = "sensor",
) -> Columns:
    """All samples of a run of its own from the first instant to the last."""
    recording = {"record": True, "output_directory": str(directory)}
    with open_fmu(fmu, name) as instance:
        instance.initialize({**parameters, **motion(instants[0]), **recording}, instants[0])
        drive(
            instance,
            instants,
            motion,
            at_step_end=bool(parameters.get("inputs_at_step_end", False)),
        )
        instance.terminate()
    return read_record(directory)


def bits(columns: Columns) -> dict[str, bytes]:
    """Columns for a comparison bit by bit."""
    return {name: column.tobytes() for name, column in columns.items()}
