"""What a host is to simulate, and how it hands back the results."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

#: One row of outputs for each step.
Rows = list[list[float]]


@dataclass(frozen=True)
class Sensor:
    """One FMU with its parameters, its inputs at each step, and the outputs to get after it."""

    fmu: str
    name: str
    parameters: dict[str, float]
    inputs: dict[str, list[float]]
    real_outputs: list[str]
    integer_outputs: list[str]
    references: dict[str, int]
    #: Parameters that are choices, for the hosts that set Enumerations; the others set the texts.
    choices: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def outputs(self) -> list[str]:
        """All outputs, in the order of the results."""
        return [*self.real_outputs, *self.integer_outputs]


@dataclass(frozen=True)
class Task:
    """Sensors side by side, simulated with a fixed step a few times over in one process."""

    sensors: list[Sensor]
    step: float
    steps: int
    runs: int

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "Task":
        content = json.loads(path.read_text())
        sensors = [Sensor(**sensor) for sensor in content.pop("sensors")]
        return cls(sensors, **content)


def main(simulate: Callable[[Task], list[Rows]]) -> None:
    """The main function of a host: ``simulate`` returns the rows of each sensor."""
    task = Task.read(Path(sys.argv[1]))
    results = [simulate(task) for _ in range(task.runs)]
    Path(sys.argv[2]).write_text(json.dumps(results))
