"""The packed system that a host is to simulate, and how it hands back what it read."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

#: For each step and each part, the values of its outputs.
SystemRows = list[dict[str, list[float]]]

#: The types of outputs that are read, in this order.
TYPES = ("Real", "Integer", "Boolean")


@dataclass(frozen=True)
class Outputs:
    """The outputs of a part by type, with their value references."""

    names: dict[str, list[str]]
    references: dict[str, list[int]]

    @property
    def in_order(self) -> list[str]:
        """All names, in the order of the values."""
        return [name for kind in TYPES for name in self.names[kind]]


@dataclass(frozen=True)
class SystemTask:
    """A package, simulated with a fixed step."""

    ssp: str
    name: str
    step: float
    steps: int
    parts: dict[str, Outputs]

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "SystemTask":
        content = json.loads(path.read_text())
        parts = {name: Outputs(**outputs) for name, outputs in content.pop("parts").items()}
        return cls(**content, parts=parts)


def main(simulate: Callable[[SystemTask], SystemRows]) -> None:
    """The main function of a host: ``simulate`` returns what was read after each step."""
    rows = simulate(SystemTask.read(Path(sys.argv[1])))
    Path(sys.argv[2]).write_text(json.dumps(rows))
