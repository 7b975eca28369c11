"""A sensor between initialisation and termination: model, clock, faults, outputs and record."""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fmus.fmu_state import StateError
from fmus.variables import declare
from sensor_models.clock import SampleClock, SamplingParameters, Timeline
from sensor_models.faults import NO_FAULT, Fault, check_fault
from sensor_models.files import named_values
from sensor_models.quantities import quantities_of
from sensor_models.records import Record, RecordParameters, flattener

if TYPE_CHECKING:
    from fmus.sensor_fmu import SensorFmu

Vector = NDArray[np.float64]


class Run:
    """A sensor between initialisation and termination: model, clock, faults and record."""

    def __init__(self, fmu: "SensorFmu", start: float) -> None:
        self._fmu = fmu
        parameters = fmu.parameters()
        sampling: SamplingParameters = parameters["sampling"][""]
        self.inputs_at_step_end = sampling.inputs_at_step_end
        self.clock = SampleClock(start, sampling.sample_rate)
        self._timeline = Timeline(self.clock, fmu.interpolate)
        self.model = fmu.create_model(parameters["own"], sampling.seed)
        self._inputs = _Inputs(fmu)
        self._publish = _publisher(fmu)
        self._flatten = flattener(fmu.READING)
        self._record = self._open_record(parameters)
        self.is_open = True

    def _open_record(self, parameters: Mapping[str, Mapping[str, Any]]) -> Record | None:
        chosen: RecordParameters = parameters["record"][""]
        if not chosen.record:
            return None
        effective = {
            f"{prefix}.{name}" if prefix else name: value
            for groups in parameters.values()
            for prefix, group in groups.items()
            for name, value in named_values(group).items()
        }
        return Record(self._fmu.instance_name, self._fmu.READING, chosen, effective)

    def observe(self, time: float) -> None:
        """Take in the inputs as the state at ``time`` and measure what falls due."""
        truth = self._fmu.prepare_truth(self._inputs.truth())
        held, new = self._inputs.held, self._inputs.new_faults()
        for index, stamp, values in self._timeline.push(time, truth):
            if index == 0:
                self.model.reset()  # the initial state may be given twice: the later one counts
            # A fault holds from the state it was set with; samples before it have the last one.
            is_new = held is None or held is new or self.clock.same_instant(stamp, time)
            faults = new.by_prefix if is_new or held is None else held.by_prefix
            reading = self._fmu.measure(self.model, index, stamp, values, faults)
            self._sample(index, stamp, reading)
        self._inputs.held = new

    def _sample(self, index: int, stamp: float, reading: Any) -> None:
        values = self._flatten(reading)
        self._publish((*values, index + 1, stamp))
        if self._record is not None:
            self._record.append(index, stamp, values)

    def close(self) -> None:
        """Finish the record."""
        self.is_open = False
        if self._record is not None:
            self._record.close()

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later samples depend on, as arrays."""
        held = self._inputs.held
        arrays = {f"timeline.{name}": a for name, a in self._timeline.state.items()}
        arrays["model"] = np.array(self.model.state)
        arrays["faults"] = np.array(held.numbers if held is not None else ())
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal run."""
        own = self.state()
        if arrays.keys() != own.keys():
            raise StateError("the state's arrays are not those of this FMU")
        model = arrays["model"]
        if model.shape != own["model"].shape or model.dtype != own["model"].dtype:
            raise StateError("the state of the model does not fit this FMU")
        self._timeline.state = {
            name.removeprefix("timeline."): a
            for name, a in arrays.items()
            if name.startswith("timeline.")
        }
        self.model.state = model
        self._inputs.restore(arrays["faults"])
        if self._record is not None:
            count = self._fmu.table().by_name["sample.count"]
            self._record.rewind(self._fmu.values.get(count))


def _fault_part(choices: type[IntEnum] | None) -> Callable[[float], Any]:
    """How a part of a fault is made from the number in its variable."""
    return float if choices is None else lambda number: choices(int(number))


#: The parts of a fault in the order of their variables.
_FAULT_PARTS = [_fault_part(quantity.choices) for quantity in quantities_of(Fault).values()]


class _Faults:
    """The faults on all signals at one instant."""

    def __init__(self, fmu: "SensorFmu", numbers: tuple[float, ...]) -> None:
        self.numbers = numbers
        self.by_prefix: dict[str, Fault] = {}
        for n, (prefix, signal) in enumerate(fmu.FAULTS.items()):
            own = numbers[n * len(_FAULT_PARTS) : (n + 1) * len(_FAULT_PARTS)]
            fault = Fault(*[part(number) for part, number in zip(_FAULT_PARTS, own, strict=True)])
            check_fault(fault, signal.name, signal.has_limits)
            self.by_prefix[prefix] = NO_FAULT if fault == NO_FAULT else fault


class _Inputs:
    """Reads the inputs of an instance, cheaply: most steps change no fault."""

    def __init__(self, fmu: "SensorFmu") -> None:
        self._fmu = fmu
        values, table = fmu.values, fmu.table()
        truth = [table.by_name[v.name] for v in declare(fmu.TRUTH, "input")]
        first = values.slot(truth[0])[1]
        self._truth = np.frombuffer(values.reals)[first : first + len(truth)]
        self._slots = [
            values.slot(table.by_name[v.name])
            for prefix in fmu.FAULTS
            for v in declare(Fault, "input", prefix)
        ]
        self.held: _Faults | None = None

    def truth(self) -> Vector:
        """A copy of the inputs that describe the body."""
        return self._truth.copy()

    def new_faults(self) -> _Faults:
        """The faults as they are set now; refuses those that cannot be applied."""
        numbers = tuple([values[i] for values, i in self._slots])
        if self.held is not None and numbers == self.held.numbers:
            return self.held
        return _Faults(self._fmu, numbers)

    def restore(self, numbers: NDArray[Any]) -> None:
        """Take the held faults from a saved state."""
        self.held = _Faults(self._fmu, tuple(numbers.tolist())) if len(numbers) else None


def _publisher(fmu: "SensorFmu") -> Callable[[Sequence[Any]], None]:
    """A function that puts a reading, its count and its time on the outputs."""
    slots = [fmu.values.slot(v) for v in fmu.table().of_causality("output")]

    def publish(numbers: Sequence[Any]) -> None:
        for (values, i), number in zip(slots, numbers, strict=True):
            values[i] = number

    return publish
