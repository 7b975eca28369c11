"""A sensor between initialisation and termination: model, clock, faults, outputs and record."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fmus.fmu_state import StateError
from fmus.variables import Groups, Variable, declare
from sensor_models.core.clock import SampleClock, SamplingParameters, Timeline
from sensor_models.core.quantities import ParameterError
from sensor_models.output.records import Record, RecordParameters, flattener

if TYPE_CHECKING:
    from fmus.sensor_fmu import SensorFmu

Vector = NDArray[np.float64]


class SensorRun:
    """One run, from the parameters that are set when it begins."""

    def __init__(self, fmu: "SensorFmu", start: float) -> None:
        self._fmu = fmu
        self._parameters = fmu.parameters()
        sampling = self._parameters.of(SamplingParameters)
        self.inputs_at_step_end = sampling.inputs_at_step_end
        self.clock = SampleClock(start, sampling.sample_rate)
        self._timeline = Timeline(self.clock, fmu.interpolate)
        self.model = fmu.create_model(self._parameters, sampling.seed)
        self._inputs = _Inputs(fmu, self._parameters)
        self._publish = _publisher(fmu)
        self._flatten = flattener(fmu.READING)
        self._record = self._open_record()
        some = self._inputs.truth()
        fmu.interpolate(some, some, 1.0, 0.5)  # compiles or loads it now, not in a step

    def _open_record(self) -> Record | None:
        chosen = self._parameters.of(RecordParameters)
        if not chosen.record:
            return None
        effective = self._parameters.by_name()
        return Record(self._fmu.instance_name, self._fmu.READING, chosen, effective)

    def observe(self, time: float) -> None:
        """Take in the inputs as the state at ``time`` and measure what falls due."""
        fmu = self._fmu
        truth = fmu.prepare_truth(self._inputs.truth())
        new = self._inputs.newest()
        before = self._inputs.held or new
        for index, stamp, values in self._timeline.push(time, truth):
            if index == 0:
                self.model.reset()  # the initial state may be given twice: the later one counts
            # An input holds from the state it was set with; samples before it have the last one.
            is_new = before is new or self.clock.is_latest(stamp)
            held = new.groups if is_new else before.groups
            self._sample(index, stamp, fmu.measure(self.model, index, stamp, values, held))
        self._inputs.held = new

    def _sample(self, index: int, stamp: float, reading: Any) -> None:
        values = self._flatten(reading)
        if not math.isfinite(sum(values)):
            self._refuse_unless_finite(values)
        self._publish((*values, index + 1, stamp))
        if self._record is not None:
            self._record.append(index, stamp, values)

    def _refuse_unless_finite(self, values: Sequence[float]) -> None:
        """A reading that is no number comes from inputs too large to compute with."""
        if not all(map(math.isfinite, values)):
            raise ParameterError(
                f"the reading {values} is not finite: inputs or parameters are too large, or the"
                " sensor is where a field has no end"
            )

    def publish(self) -> None:
        """Write the record as it is; the run may still be taken back and go on."""
        if self._record is not None:
            self._record.publish()

    def close(self) -> None:
        """Finish the record."""
        if self._record is not None:
            self._record.close()

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later samples depend on, as arrays."""
        arrays: dict[str, NDArray[Any]] = {
            f"timeline.{name}": a for name, a in self._timeline.state.items()
        }
        arrays["model"] = np.array(self.model.state)
        arrays["held"] = np.frombuffer(self._inputs.held_bytes(), np.uint8).copy()
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal run."""
        own = self.state()
        if arrays.keys() != own.keys():
            raise StateError("the state's arrays are not those of this FMU")
        model = arrays["model"]
        if model.shape != own["model"].shape or model.dtype != own["model"].dtype:
            raise StateError("the state of the model does not fit this FMU")
        held = self._inputs.read(arrays["held"].tobytes())
        self._timeline.state = {
            name.removeprefix("timeline."): a
            for name, a in arrays.items()
            if name.startswith("timeline.")
        }
        self.model.state = model
        self._inputs.held = held
        if self._record is not None:
            count = self._fmu.table().by_name["sample.count"]
            self._record.rewind(self._fmu.values.get(count))


@dataclass(frozen=True)
class _Held:
    """The held inputs at one instant: their bytes, and what the model gets."""

    content: bytes
    groups: Groups


class _Inputs:
    """Reads the inputs of an instance, cheaply: most steps change no held one."""

    def __init__(self, fmu: "SensorFmu", parameters: Groups) -> None:
        self._fmu = fmu
        self._parameters = parameters
        table = fmu.table()
        truth = [table.by_name[v.name] for v in declare(fmu.TRUTH, "input")]
        self._variables = [table.by_name[v.name] for v in declare(fmu.HELD, "input")]
        self._truth = _view(fmu, truth, "Real")
        self._reals = _view(fmu, self._variables, "Real")
        self._integers = _view(fmu, self._variables, "Integer")
        self.held: _Held | None = None

    def truth(self) -> Vector:
        """A copy of the inputs that describe the body."""
        return self._truth.copy()

    def newest(self) -> _Held:
        """The held inputs as they are set now; refuses those that cannot be applied."""
        content = self._reals.tobytes() + self._integers.tobytes()
        if self.held is not None and content == self.held.content:
            return self.held
        return self.read(content)

    def held_bytes(self) -> bytes:
        """The held inputs of the newest state, for a saved state."""
        return b"" if self.held is None else self.held.content

    def read(self, content: bytes) -> _Held:
        """Held inputs from their bytes."""
        size = self._reals.nbytes
        if len(content) != size + self._integers.nbytes:
            raise StateError("the state's held inputs do not fit this FMU")
        reals = iter(np.frombuffer(content[:size]).tolist())
        integers = iter(np.frombuffer(content[size:], np.int32).tolist())
        values = {}
        for variable in self._variables:
            choices = variable.quantity.choices
            value = next(reals if variable.type_name == "Real" else integers)
            values[variable.name] = value if choices is None else choices(value)
        groups = Groups({g: g.build(values.__getitem__) for g in self._fmu.HELD})
        self._fmu.check_held(groups, self._parameters)
        return _Held(content, groups)


def _view(fmu: "SensorFmu", variables: Sequence[Variable], type_name: str) -> NDArray[Any]:
    """The values of those variables that have one type, which lie side by side."""
    values, first = fmu.values.of_type(type_name), fmu.table().first[type_name]
    places = [v.reference - first for v in variables if v.type_name == type_name]
    if not places:
        return values[:0]
    return values[places[0] : places[-1] + 1]


def _publisher(fmu: "SensorFmu") -> Callable[[Sequence[Any]], None]:
    """A function that puts a reading, its count and its time on the outputs.

    Outputs of one type lie side by side, so each type is packed with one call: four times as fast
    as storing number by number.
    """
    outputs = fmu.table().of_causality("output")
    packers = []
    for type_name, code in (("Real", "d"), ("Integer", "i"), ("Boolean", "i")):
        places = [i for i, v in enumerate(outputs) if v.type_name == type_name]
        if places:
            values, first = fmu.values.slot(outputs[places[0]])
            pack_into = Struct(f"={len(places)}{code}").pack_into
            packers.append((pack_into, values, first * values.itemsize, _picker(places)))

    def publish(numbers: Sequence[Any]) -> None:
        for pack_into, values, offset, pick in packers:
            pack_into(values, offset, *pick(numbers))

    return publish


def _picker(places: list[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """A function that picks the items at some places."""
    if len(places) == 1:
        return itemgetter(slice(places[0], places[0] + 1))
    return itemgetter(*places)
