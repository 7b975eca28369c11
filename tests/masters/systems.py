"""Systems of FMUs in the C master, with values passed on in the way of any master."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fmus.tools.systems.description import Part, System
from tests.masters.c_instance import Instance
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles
from tests.masters.hosts.system_task import TYPES, Outputs, SystemRows, SystemTask

#: What every part that knows the parameter gets of a master that steps the vehicle first.
AT_STEP_END = "inputs_at_step_end"

#: Inputs of a vehicle at an instant.
Commands = Callable[[float], Mapping[str, float]]


@dataclass(frozen=True)
class Way:
    """How a master runs a system."""

    made: Sequence[str] = ()
    """In which order it makes the parts; that of the system if this is empty."""
    order: Sequence[str] = ()
    """In which order it steps them."""
    at_once: bool = False
    """Whether a part gets what the parts before it have given in the same step."""
    zeros_first: bool = False
    """Whether all inputs are 0 in the first step."""
    numbers: bool = False
    """Whether it sets the numbers of a preset and not its name, all Booleans to true."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of instances that are not those of the parts."""


def outputs_of(part: Part) -> Outputs:
    """The outputs of a part that have connectors."""
    variables = {
        kind: [v for v in part.table.of_causality("output") if v.type_name == kind]
        for kind in TYPES
    }
    return Outputs(
        {kind: [v.name for v in found] for kind, found in variables.items()},
        {kind: [v.reference for v in found] for kind, found in variables.items()},
    )


def task_of(system: System, ssp: Path, steps: int) -> SystemTask:
    """A task for a host."""
    parts = {part.name: outputs_of(part) for part in system.parts}
    return SystemTask(str(ssp), system.name, system.step, steps, parts)


class SystemInC:
    """The parts of a system as instances in the C master."""

    def __init__(
        self, master: CMaster, files: Mapping[str, FmuFiles], system: System, way: Way
    ) -> None:
        self._system, self._way = system, way
        self._outputs = {part.name: outputs_of(part) for part in system.parts}
        self._given: dict[str, dict[str, float]] = {}
        self._done = 0
        self.instances: dict[str, Instance] = {}
        by_name = {part.name: part for part in system.parts}
        for part in [by_name[name] for name in way.made or by_name]:
            library = master.load(files[part.model_name])
            instance = library.instantiate(way.names.get(part.name, part.name))
            self.instances[part.name] = instance
            for name, value in self._parameters(part).items():
                instance.set(name, value).expect()
            self._initialize(part)

    def _parameters(self, part: Part) -> dict[str, Any]:
        found = dict(part.parameters)
        if self._way.numbers:
            found = {n: v or isinstance(v, bool) for n, v in part.numbers.items()}
        if self._way.at_once and AT_STEP_END in part.table.by_name:
            found[AT_STEP_END] = True
        return found

    def _initialize(self, part: Part) -> None:
        instance = self.instances[part.name]
        instance.setup().expect()
        instance.enter().expect()
        if self._way.at_once:
            self._connect(part.name, self._given)
        instance.exit().expect()
        self._given[part.name] = self._read(part.name)

    def close(self, order: Sequence[str] = ()) -> None:
        """Terminate and free the parts."""
        for name in order or list(self.instances):
            self.instances[name].terminate().expect()
            self.instances[name].free().expect()

    def run(self, steps: int, commands: Commands = lambda time: {}) -> SystemRows:
        """What was read after each step; the first part is given commands before each."""
        rows, first = [], self._system.parts[0].name
        late = self._way.zeros_first and self._done == 0
        passed = {} if late else {name: dict(values) for name, values in self._given.items()}
        for k in range(self._done, self._done + steps):
            self.instances[first].set_real(commands(k * self._system.step)).expect()
            for name in self._way.order or self._outputs:
                self._connect(name, self._given if self._way.at_once else passed)
                self.instances[name].step(k * self._system.step, self._system.step).expect()
                self._given[name] = self._read(name)
            passed = {name: dict(values) for name, values in self._given.items()}
            rows.append({name: list(values.values()) for name, values in passed.items()})
        self._done += steps
        return rows

    def _connect(self, name: str, given: Mapping[str, Mapping[str, float]]) -> None:
        """Set the inputs of a part, to 0 where nothing has been given."""
        values: dict[str, dict[str, float]] = {kind: {} for kind in TYPES}
        for connection in self._system.connections:
            if connection.end == name:
                value = given.get(connection.start, {}).get(connection.output.name, 0)
                values[connection.input.type_name][connection.input.name] = value
        instance = self.instances[name]
        instance.set_real(values["Real"]).expect()
        instance.set_integer({n: int(v) for n, v in values["Integer"].items()}).expect()

    def _read(self, name: str) -> dict[str, float]:
        instance, names = self.instances[name], self._outputs[name].names
        values = [
            *instance.get_real(names["Real"]).reals(),
            *instance.get_integer(names["Integer"]).integers(),
            *instance.get_boolean(names["Boolean"]).booleans(),
        ]
        return dict(zip(self._outputs[name].in_order, values, strict=True))
