"""What all FMUs share: values, life cycle and saved states.

``FmuBase`` is the slave that the binding drives, from ``setup_experiment`` to ``close``. A method
that raises an error has changed nothing. From initialisation on, an FMU has a ``Run``, which
``create_run`` makes from the parameters that are set by then: it reads the inputs, does the work
of a step and puts the results on the outputs. Its own memory, beyond the values of the variables,
it gives as arrays, for saved states.

A master may read the outputs in Initialization Mode, then set inputs and parameters again, as
often as it likes. The first such reading makes the run (``compute_initial``). The run is kept if
the parameters are still the same at the end of the initialisation; only then it opens its files.
"""

import math
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from inspect import getdoc
from pathlib import Path
from typing import Any, ClassVar, Protocol
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray
from pythonfmu import Fmi2Slave
from pythonfmu.enums import Fmi2Status

from fmus.fmi import fmu_state
from fmus.fmi.arrays import Interface, Layout
from fmus.fmi.fmu_state import FmuState, StateError
from fmus.fmi.model_description import guid_of, model_description, token_of
from fmus.fmi.variables import Values, Variable, VariableTable, convert_preset
from sensor_models.core.clock import same_instant
from sensor_models.core.quantities import ParameterError
from sensor_models.core.spec import PACKAGES, PRESET, PRESET_EXCEPT, Group, Groups
from sensor_models.kernels.carried import LIBRARIES
from sensor_models.output.frame_binaries import FrameBinary, FrameMemory
from sensor_models.presets import find_preset, is_path, remaining


class Run(Protocol):
    """An FMU between initialisation and its end."""

    #: Whether the inputs that are set before a step describe its end.
    inputs_at_step_end: bool

    def open(self) -> None:
        """Open the files that are written; before this, nothing is written."""

    def begin(self) -> None:
        """Take the inputs as the state at the start; may be called again, the last call counts."""

    def observe(self, time: float, end: float) -> None:
        """Take the inputs as the state at ``time``, in a step that ends at ``end``."""

    def publish(self) -> None:
        """Write what is not yet written; a master may still go back to a saved state."""

    def close(self) -> None:
        """Release everything that the run holds."""

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later results depend on, as arrays."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal run."""


class FmuBase(Fmi2Slave):  # type: ignore[misc]  # pythonfmu carries no types
    """An FMI 2.0 co-simulation slave."""

    model_name: ClassVar[str]
    description_text: ClassVar[str]
    default_step: ClassVar[float] = 0.01
    #: Packages that the FMU imports when it is loaded; others are imported where they are used.
    PACKAGES: ClassVar[tuple[str, ...]] = PACKAGES
    PARAMETERS: ClassVar[tuple[Group, ...]]
    #: Messages whose addresses are on variables (OSMP): their types, by name.
    messages: ClassVar[Mapping[str, str]] = {}

    log_categories: ClassVar[dict[str, str]] = {
        "logStatusWarning": "Warnings; always sent",
        "logStatusDiscard": "Discarded steps; always sent",
        "logStatusError": "Errors; always sent",
        "logStatusFatal": "Fatal errors; always sent",
        "logAll": "All messages",
        "logDebug": "Tracebacks of errors, for developers of the FMU",
    }

    _table: ClassVar[VariableTable]
    _layouts: ClassVar[dict[Interface, Layout]]

    # ---- what an FMU adds --------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def declared(cls) -> list[Variable]:
        """The variables of this class."""

    @abstractmethod
    def create_run(self, start: float) -> Run:
        """A run from the parameters that are set now."""

    @classmethod
    def known_at_start(cls, output: str) -> Sequence[str]:
        """What an output depends on in Initialization Mode: all, unless an FMU knows better.

        While the FMU is stepped, no output depends on an input: what is set counts from the next
        step on.
        """
        table = cls.table()
        return [v.name for v in (*table.of_causality("input"), *table.of_causality("parameter"))]

    @classmethod
    def frame_binaries(cls) -> Sequence[FrameBinary]:
        """Parts of frames that FMI 3.0 has as Binary."""
        return ()

    @classmethod
    def proper_names(cls) -> Sequence[str]:
        """Names in variables that are no places in an array, although they end with a number."""
        return ()

    @classmethod
    def groups(cls) -> Sequence[Group]:
        """The groups that its variables are declared in, its own parameters first."""
        return cls.PARAMETERS

    @classmethod
    def about(cls) -> str:
        """The docstring of the module with the model of the FMU, headline first."""
        named = next(parent for parent in cls.__mro__ if "model_name" in vars(parent))
        return getdoc(sys.modules[named.__module__]) or ""

    # ---- description -------------------------------------------------------------------------

    @classmethod
    def table(cls) -> VariableTable:
        """The variables of this class."""
        if "_table" not in cls.__dict__:
            cls._table = VariableTable(cls.declared())
        return cls._table

    @classmethod
    def layout(cls, interface: Interface) -> Layout:
        """The variables of this class in FMI 3.0."""
        if "_layouts" not in cls.__dict__:
            cls._layouts = {}
        if interface not in cls._layouts:
            cls._layouts[interface] = Layout(cls, interface)
        return cls._layouts[interface]

    def to_xml(self, model_options: Mapping[str, str] | None = None) -> Element:
        """The model description; pythonfmu's options do not apply."""
        return model_description(type(self))

    # ---- life cycle --------------------------------------------------------------------------

    def __init__(self, *, interface: str = Interface.fmi2.value, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.interface = Interface(interface)
        LIBRARIES.check()
        table = self.table()
        self.modelName = self.model_name
        self._own_guid = guid_of(self.model_name, table)
        self.guid = token_of(self._own_guid, self.interface)
        self.values = Values(table)
        #: The newest frame in memory, where the version of FMI can pass it on.
        self.frames: FrameMemory | None = None
        if self.interface != Interface.fmi2 and self.frame_binaries():
            self.frames = FrameMemory(self.frame_binaries())
        self.time = 0.0
        self._run: Run | None = None
        #: A run made in Initialization Mode, after the start and parameters that it was made from.
        self._prepared: tuple[list[Any], Run] | None = None

    def storage(self) -> tuple[int, ...]:
        """The addresses of the values, for the binding."""
        if self.interface == Interface.fmi2:
            return self.values.addresses()
        frames = 0 if self.frames is None else int(self.frames.places.ctypes.data)
        return (*self.values.addresses(), *self.layout(self.interface).addresses(frames))

    def make_frame_bytes(self, place: int) -> None:
        """Have a part of the newest frame at hand; the binding asks when somebody reads it."""
        assert self.frames is not None  # the binding knows of a frame
        self.frames.make(place)

    def early_end(self, start: float, end: float) -> float:
        """Where a step is to end that may end early; at its end, unless an FMU knows better."""
        del start
        return end

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        """Set the start time; stop time and tolerance are not used."""
        if not math.isfinite(start_time):
            raise ParameterError(f"start time = {start_time} s is not a finite number")
        self.time = start_time

    def compute_initial(self) -> None:
        """Compute the outputs at the start from what is set so far.

        The binding calls it in Initialization Mode before values are read, if something was set
        since the last call. It draws nothing twice, moves nothing and writes nothing. If
        parameters or inputs are not valid yet, the outputs have their start values.
        """
        try:
            self._prepare().begin()
        except Exception:  # the end of the initialisation reports why it is refused
            self._drop_prepared()

    def exit_initialization_mode(self) -> None:
        """Check all parameters and begin the run."""
        run = self._prepare()
        try:
            run.open()
            run.begin()
        except BaseException:
            self._drop_prepared()
            raise
        self._run, self._prepared = run, None

    def _prepare(self) -> Run:
        """A run with the parameters that are set now: the present one, if they have not changed."""
        parameters = self.table().of_causality("parameter")
        given = [self.time, *map(self.values.get, parameters)]
        if self._prepared is not None and self._prepared[0] != given:
            self._drop_prepared()
        if self._prepared is None:
            self._prepared = given, self.create_run(self.time)
        return self._prepared[1]

    def _drop_prepared(self) -> None:
        """Drop the run made so far, and reset the outputs that it has set."""
        if self._prepared is None:
            return
        (_, run), self._prepared = self._prepared, None
        for variable in self.table().of_causality("output"):
            self.values.set(variable, variable.start)
        run.close()

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Read the inputs and do everything that is due in this step."""
        run = self._running()
        end = current_time + step_size
        if not (math.isfinite(end) and step_size > 0.0):
            raise ParameterError(
                f"communication step = {step_size} s at time = {current_time} s is not allowed,"
                " a step is finite and longer than 0 s"
            )
        last = self.time
        if current_time < last and not same_instant(current_time, last):
            raise ParameterError(
                f"time = {current_time} s lies before the end of the last step, {last} s"
            )
        run.observe(end if run.inputs_at_step_end else current_time, end)
        self.time = end
        return True

    def terminate(self) -> None:
        """Write what is not yet written; the master may still go back to a saved state."""
        if self._run is not None:
            self._run.publish()

    def close(self) -> None:
        """End the run and release everything that it holds; may be called at any time."""
        self._drop_prepared()
        if self._run is not None:
            self._run.close()
            self._run = None

    def _running(self) -> Run:
        if self._run is None:
            raise StateError("the FMU has not been initialised")
        return self._run

    # ---- values ------------------------------------------------------------------------------

    def refuse(self, reference: int, value: Any, started: bool) -> None:
        """Raise an error that says why the binding cannot set a value."""
        raise ParameterError(self.table().by_reference[reference].refusal(value, started))

    def set_string(self, vrs: Sequence[int], values: Sequence[str]) -> None:
        """Set Strings; all or none."""
        variables = [self.table().by_reference[reference] for reference in vrs]
        for variable, value in zip(variables, values, strict=True):
            if variable.name == PRESET and value:
                self._preset(value)
        for variable, value in zip(variables, values, strict=True):
            self.values.set(variable, value)

    def get_string(self, vrs: Sequence[int]) -> list[str]:
        """The values of Strings."""
        return [self.values.get(self.table().by_reference[reference]) for reference in vrs]

    def _preset(self, name: str, without: str = "") -> dict[str, Any]:
        preset = find_preset(self.model_name, self._carried(name))
        values = remaining(preset, self.model_name, without)
        return convert_preset(self.table(), values, f"preset file {preset.path}")

    def _carried(self, name: str) -> str:
        """The path of a preset's file in the resources, if ``name`` is one; else ``name``."""
        carried = Path(self.resources or "", name)
        return str(carried) if self.resources and is_path(name) and carried.is_file() else name

    @classmethod
    def parameter_groups(cls) -> Sequence[Group]:
        """The groups of all parameters."""
        return cls.PARAMETERS

    def parameters(self) -> Groups:
        """The parameters, with the preset applied and checked."""
        table = self.table().by_name
        chosen = self.values.get(table[PRESET]) if PRESET in table else ""
        preset = self._preset(chosen, self.values.get(table[PRESET_EXCEPT])) if chosen else {}

        def value_of(name: str) -> Any:
            variable = table[name]
            value = self.values.get(variable)
            return preset.get(name, value) if value == variable.start else value

        return Groups({group: group.build(value_of) for group in self.parameter_groups()})

    def warn(self, message: str) -> None:
        """Send a warning to the master."""
        self.log(message, Fmi2Status.warning)

    # ---- saved states ------------------------------------------------------------------------

    def _get_fmu_state(self, phase: int = 0) -> FmuState:
        own = {} if self._run is None else self._run.state()  # before, as it may settle outputs
        arrays = {
            "reals": np.array(self.values.reals),
            "integers": np.array(self.values.integers, np.int32),
            "booleans": np.array(self.values.booleans, np.int32),
            **{f"run.{name}": array for name, array in own.items()},
        }
        return FmuState(phase, self.time, tuple(self.values.strings), arrays)

    def _set_fmu_state(self, state: FmuState) -> int:
        """Continue from a saved state; returns the phase in which it was saved."""
        restored = Values(self.table())
        _fill(restored.reals, state.arrays.get("reals"), "reals")
        _fill(restored.integers, state.arrays.get("integers"), "integers")
        _fill(restored.booleans, state.arrays.get("booleans"), "booleans")
        if not np.isfinite(restored.reals).all():
            raise StateError("the state holds numbers that are not finite")
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
        """Take over values and run; if this fails, keep both as they were."""
        before = Values(self.table())
        before.take(self.values)
        self.values.take(restored)
        try:
            run = self._run_of(before, time, run_arrays) if run_arrays else None
        except BaseException:
            self.values.take(before)
            raise
        if self._prepared is not None:
            (_, prepared), self._prepared = self._prepared, None
            prepared.close()
        if self._run is not None and self._run is not run:
            self._run.close()
        self._run, self.time = run, time

    def _run_of(self, before: Values, time: float, arrays: dict[str, Any]) -> Run:
        """A run that continues from arrays: the present one, if its parameters are the same."""
        parameters = self.table().of_causality("parameter")
        if self._run is not None and all(before.get(v) == self.values.get(v) for v in parameters):
            self._run.restore(arrays)
            return self._run
        run = self.create_run(time)
        try:
            run.restore(arrays)
            run.open()
        except BaseException:
            run.close()
            raise
        return run

    def _fmu_state_to_bytes(self, state: FmuState) -> bytes:
        return fmu_state.to_bytes(state, self.model_name, self._own_guid)

    def _fmu_state_from_bytes(self, data: bytes) -> FmuState:
        return fmu_state.from_bytes(data, self.model_name, self._own_guid)


def _fill(target: Any, source: NDArray[Any] | None, name: str) -> None:
    """Copy a saved array into one of the same length and type."""
    if source is None or source.shape != (len(target),) or source.dtype != np.array(target).dtype:
        raise StateError(f"the state's array {name} does not fit this FMU")
    target[:] = type(target)(target.typecode, source.tolist())
