"""What all sensor FMUs share: values, life cycle, sampling, faults, records and saved states.

A sensor's own module declares what its model takes and gives, and how to measure one sample::

    class OdometerFmu(SensorFmu):
        model_name = "Odometer"
        PARAMETERS = {"": OdometerParameters}   # prefix -> dataclass of quantities
        TRUTH = JointAngle                       # inputs that are interpolated between steps
        FAULTS = {"fault": Signal("distance")}   # inputs that hold until they are set again
        READING = OdometerReading                # outputs

        def create_model(self, parameters, seed): ...
        def measure(self, model, index, time, truth, faults): ...

Data flows one way: inputs -> ``Timeline`` (which samples are due, the truth at each) ->
``measure`` -> outputs and record. The binding calls the methods from ``setup_experiment`` to
``close``; a method that raises has changed nothing.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray
from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

from fmus import fmu_state
from fmus.fmu_state import FmuState, StateError
from fmus.model_description import guid_of, model_description
from fmus.variables import (
    Values,
    Variable,
    VariableTable,
    build,
    convert_preset,
    declare,
)
from sensor_models.clock import SampleClock, SamplingParameters, Timeline
from sensor_models.faults import NO_FAULT, Fault, check_fault
from sensor_models.files import named_values
from sensor_models.presets import load_preset
from sensor_models.quantities import ParameterError, integer, quantities_of, real, string
from sensor_models.random import stream_key
from sensor_models.records import Record, RecordParameters, flattener

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class PresetParameters:
    """Which product the sensor is."""

    preset: str = string(
        "", "Named parameter set; a parameter set to something else than its start wins over it"
    )


@dataclass(frozen=True)
class SampleOutputs:
    """Outputs that every sensor has."""

    count: int = integer(0, "Number of samples so far", name="sample.count")
    time: float = real(0.0, "s", "Instant the newest sample belongs to", name="sample.time")


@dataclass(frozen=True)
class Signal:
    """An output that faults can be put on."""

    name: str
    has_limits: bool = False


class SensorFmu(Fmi2Slave):  # type: ignore[misc]  # pythonfmu carries no types
    """An FMI 2.0 co-simulation slave around one sensor model."""

    model_name: ClassVar[str]
    description_text: ClassVar[str]
    default_step: ClassVar[float] = 0.01
    PARAMETERS: ClassVar[Mapping[str, type]]
    TRUTH: ClassVar[type]
    FAULTS: ClassVar[Mapping[str, Signal]] = {}
    READING: ClassVar[type]

    log_categories: ClassVar[dict[str, str]] = {
        "logStatusWarning": "Warnings; always sent",
        "logStatusDiscard": "Discarded steps; always sent",
        "logStatusError": "Errors; always sent",
        "logStatusFatal": "Fatal errors; always sent",
        "logAll": "All messages",
        "logDebug": "Tracebacks of errors, for developers of the FMU",
    }

    _table: ClassVar[VariableTable]

    # ---- what a sensor adds ------------------------------------------------------------------

    @abstractmethod
    def create_model(self, parameters: Mapping[str, Any], seed: int) -> Any:
        """The model with these parameters (by prefix); has ``reset()`` and a ``state`` array."""

    @abstractmethod
    def measure(
        self, model: Any, index: int, time: float, truth: Vector, faults: Mapping[str, Fault]
    ) -> Any:
        """One sample as an instance of READING; faults by their prefix."""

    @staticmethod
    def interpolate(before: Vector, after: Vector, duration: float, fraction: float) -> Vector:
        """The truth between two known ones (a kernel of ``sensor_models.kernels.motion``)."""
        raise TypeError("a sensor FMU must say how its inputs are interpolated")

    def prepare_truth(self, truth: Vector) -> Vector:
        """The inputs as the model takes them; raises if they make no sense together."""
        return truth

    @classmethod
    def inputs_of(cls, output: str) -> Sequence[str]:
        """The inputs that an output depends on: all, but for the sample's number and time."""
        if output.startswith("sample."):
            return ()
        return [v.name for v in cls.table().of_causality("input")]

    # ---- description -------------------------------------------------------------------------

    @classmethod
    def parameter_groups(cls) -> Mapping[str, Mapping[str, type]]:
        """All dataclasses of parameters: the sensor's own and those that every sensor has."""
        shared = {
            "preset": PresetParameters,
            "sampling": SamplingParameters,
            "record": RecordParameters,
        }
        return {"own": cls.PARAMETERS, **{name: {"": group} for name, group in shared.items()}}

    @classmethod
    def table(cls) -> VariableTable:
        """The variables of this class."""
        if "_table" not in cls.__dict__:
            variables = declare(cls.TRUTH, "input")
            for prefix in cls.FAULTS:
                variables += declare(Fault, "input", prefix)
            for groups in cls.parameter_groups().values():
                for prefix, group in groups.items():
                    variables += declare(group, "parameter", prefix)
            variables += declare(cls.READING, "output") + declare(SampleOutputs, "output")
            cls._table = VariableTable(variables)
        return cls._table

    def to_xml(self, model_options: Mapping[str, str] | None = None) -> Element:
        """The model description; pythonfmu's options do not apply."""
        return model_description(type(self))

    # ---- life cycle --------------------------------------------------------------------------

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        table = self.table()
        self.modelName = self.model_name
        self.guid = guid_of(self.model_name, table)
        self.values = Values(table)
        self.time = 0.0
        self._run: _Run | None = None

    def storage(self) -> tuple[int, ...]:
        """Where the values are, for the binding."""
        return self.values.addresses()

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        """Set the start time; a sensor needs no stop time and no tolerance."""
        if not math.isfinite(start_time):
            raise ParameterError(f"start time = {start_time} s is not a finite number")
        self.time = start_time

    def exit_initialization_mode(self) -> None:
        """Check all parameters, make the model and measure sample 0."""
        run = _Run(self, self.time)
        try:
            run.observe(self.time)
        except BaseException:
            run.close()
            raise
        self._run = run

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Take in the state of the body and measure all samples that fall due."""
        run = self._running()
        end = current_time + step_size
        if not (math.isfinite(end) and step_size > 0.0):
            raise ParameterError(
                f"communication step = {step_size} s at time = {current_time} s is not allowed,"
                " a step is finite and longer than 0 s"
            )
        if current_time < self.time and not run.clock.same_instant(current_time, self.time):
            raise ParameterError(
                f"time = {current_time} s lies before the end of the last step, {self.time} s"
            )
        run.observe(end if run.inputs_at_step_end else current_time)
        self.time = end
        return True

    def terminate(self) -> None:
        """Write what is still to be written."""
        self.close()

    def close(self) -> None:
        """End the run and give back all that it holds; may be called at any time."""
        if self._run is not None:
            self._run.close()

    def _running(self) -> "_Run":
        if self._run is None:
            raise StateError("the sensor has not been initialised")
        return self._run

    # ---- values ------------------------------------------------------------------------------

    def refuse(self, reference: int, value: Any, started: bool) -> None:
        """Say why the binding cannot set a value."""
        raise ParameterError(self.table().by_reference[reference].refusal(value, started))

    def set_string(self, vrs: Sequence[int], values: Sequence[str]) -> None:
        """Set Strings; all or none."""
        variables = [self.table().by_reference[reference] for reference in vrs]
        for variable, value in zip(variables, values, strict=True):
            if variable.name == "preset" and value:
                self._preset(value)
        for variable, value in zip(variables, values, strict=True):
            self.values.set(variable, value)

    def get_string(self, vrs: Sequence[int]) -> list[str]:
        """The values of Strings."""
        return [self.values.get(self.table().by_reference[reference]) for reference in vrs]

    def _preset(self, name: str) -> dict[str, Any]:
        preset = load_preset(self.model_name, name)
        return convert_preset(self.table(), preset, f"preset {name}")

    def parameters(self) -> dict[str, dict[str, Any]]:
        """The parameter dataclasses by group and prefix, with the preset applied and checked."""
        chosen = self.values.get(self.table().by_name["preset"])
        preset = self._preset(chosen) if chosen else {}

        def value_of(name: str) -> Any:
            variable: Variable = self.table().by_name[name]
            value = self.values.get(variable)
            return preset.get(name, value) if value == variable.start else value

        return {
            group: {prefix: build(declaring, prefix, value_of) for prefix, declaring in by.items()}
            for group, by in self.parameter_groups().items()
        }

    def warn(self, message: str) -> None:
        """Send a warning to the master."""
        self.log(message, Fmi2Status.warning)

    def random_stream(self, seed: int, term: str) -> NDArray[np.uint64]:
        """The key of the random numbers of one error term of this instance."""
        return stream_key(seed, f"{self.model_name}/{self.instance_name}", term)

    # ---- saved states ------------------------------------------------------------------------

    def _get_fmu_state(self, phase: int = 0) -> FmuState:
        arrays = {
            "reals": np.array(self.values.reals),
            "integers": np.array(self.values.integers, np.int32),
            "booleans": np.array(self.values.booleans, np.int32),
        }
        if self._run is not None:
            arrays.update({f"run.{name}": a for name, a in self._run.state().items()})
        return FmuState(phase, self.time, tuple(self.values.strings), arrays)

    def _set_fmu_state(self, state: FmuState) -> int:
        """Continue from a state; returns the phase it was taken in."""
        restored = Values(self.table())
        _fill(restored.reals, state.arrays.get("reals"), "reals")
        _fill(restored.integers, state.arrays.get("integers"), "integers")
        _fill(restored.booleans, state.arrays.get("booleans"), "booleans")
        if len(state.strings) != len(restored.strings):
            raise StateError("the state has another number of Strings than this FMU")
        restored.strings[:] = state.strings
        run_arrays = {
            name.removeprefix("run."): array
            for name, array in state.arrays.items()
            if name.startswith("run.")
        }
        self._continue(restored, state.time, run_arrays)
        return state.phase

    def _continue(self, restored: Values, time: float, run_arrays: dict[str, Any]) -> None:
        """Take over values and run, or fail and keep both as they were."""
        before = Values(self.table())
        before.take(self.values)
        self.values.take(restored)
        try:
            run = self._run_of(before, time) if run_arrays else None
            if run is not None:
                run.restore(run_arrays)
        except BaseException:
            self.values.take(before)
            raise
        if self._run is not None and self._run is not run:
            self._run.close()
        self._run, self.time = run, time

    def _run_of(self, before: Values, time: float) -> "_Run":
        """The present run if it has the parameters that are set now, else a new one."""
        parameters = self.table().of_causality("parameter")
        unchanged = all(before.get(v) == self.values.get(v) for v in parameters)
        if self._run is not None and self._run.is_open and unchanged:
            return self._run
        return _Run(self, time)

    def _fmu_state_to_bytes(self, state: FmuState) -> bytes:
        return fmu_state.to_bytes(state, self.model_name, self.guid)

    def _fmu_state_from_bytes(self, data: bytes) -> FmuState:
        return fmu_state.from_bytes(data, self.model_name, self.guid)


def _fill(target: Any, source: NDArray[Any] | None, name: str) -> None:
    """Copy a saved array into one of the same length and type."""
    if source is None or source.shape != (len(target),) or source.dtype != np.array(target).dtype:
        raise StateError(f"the state's array {name} does not fit this FMU")
    target[:] = type(target)(target.typecode, source.tolist())


class _Run:
    """A sensor between initialisation and termination: model, clock, faults and record."""

    def __init__(self, fmu: SensorFmu, start: float) -> None:
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

    def __init__(self, fmu: SensorFmu, numbers: tuple[float, ...]) -> None:
        self.numbers = numbers
        self.by_prefix: dict[str, Fault] = {}
        for n, (prefix, signal) in enumerate(fmu.FAULTS.items()):
            own = numbers[n * len(_FAULT_PARTS) : (n + 1) * len(_FAULT_PARTS)]
            fault = Fault(*[part(number) for part, number in zip(_FAULT_PARTS, own, strict=True)])
            check_fault(fault, signal.name, signal.has_limits)
            self.by_prefix[prefix] = NO_FAULT if fault == NO_FAULT else fault


class _Inputs:
    """Reads the inputs of an instance, cheaply: most steps change no fault."""

    def __init__(self, fmu: SensorFmu) -> None:
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


def _publisher(fmu: SensorFmu) -> Callable[[Sequence[Any]], None]:
    """A function that puts a reading, its count and its time on the outputs."""
    slots = [fmu.values.slot(v) for v in fmu.table().of_causality("output")]

    def publish(numbers: Sequence[Any]) -> None:
        for (values, i), number in zip(slots, numbers, strict=True):
            values[i] = number

    return publish
