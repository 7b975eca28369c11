"""A scalar sensor in steps: the Python side of its compiled step.

    sensor = Step(Encoder(parameters, key).plan(), SamplingParameters(sample_rate=100.0))
    sensor.observe(0.0)                          # the state at the start; sample 0
    sensor.set("joint.position", 0.3)
    sensor.advance(0.0, 0.1)                     # all samples of a step
    sensor.get("position")

``kernels.math.stepping`` says what a step does. Each model gives a ``Plan``: its compiled function
with parameters, state, and the names of its inputs and outputs. A ``Storage`` says where the values
of these names are: in new arrays, or in the arrays of an FMU. ``Step`` makes a context from both. C
code may call the function at ``address`` with ``context``, without Python. A result other than 0
means that nothing has changed and Python must be entered: ``advance`` then warns, asks for values
that only Python can provide, empties the ring of recorded samples, or refuses the step.

A step that is refused leaves everything as it was. Recorded samples go to a ``Sink``. A step with
more samples than the ring has room for is made in blocks; if it is refused half way, its samples
are also taken back from the sink.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.body import (
    AS_CONNECTED,
    COMPLETED,
    IDLE_ANGLES,
    IDLE_QUATERNION,
    NO_ORIENTATION,
    ROLL_PITCH_YAW,
    BodyParameters,
    OrientationInput,
    checked_seen,
    forget_second,
    orientation_of_angles,
)
from sensor_models.core.clock import (
    SamplingParameters,
    check_clock,
    check_clock_state,
    new_clock,
    refuse_instant,
)
from sensor_models.core.faults import Fault, FaultMode, FaultWave, check_fault
from sensor_models.core.frames import normalised_orientation
from sensor_models.core.plan import SAMPLE_COUNT, Floats, Plan, Storage, Values
from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.math import sampling
from sensor_models.kernels.math import stepping as at
from sensor_models.kernels.math.body_port import SETTLED
from sensor_models.kernels.math.faults import FAULT_SIZE
from sensor_models.kernels.math.motion import BODY_SIZE, ORIENTATION

#: A step is refused if it has more samples, or inputs of low-passes: it would take a minute.
MOST_SAMPLES = 10_000_000
#: How many samples wait for the sink before Python is entered.
RING_ROWS = 1024

#: What a step may have to tell once, by the numbers of ``stepping``.
WARNINGS = (
    *COMPLETED,
    IDLE_ANGLES,
    IDLE_QUATERNION,
    "joint.position never changes while joint.velocity is not 0, as if it was not connected: an"
    " encoder reads positions alone; connect joint.position, an integral of the velocity if there"
    " is nothing else",
)

_CAST: tuple[Callable[[float], Any], ...] = (float, int, bool, float)


def _ignore(message: str) -> None:
    """Ignore a warning, if nothing else is to be done with it."""
    del message


class StepError(ValueError):
    """A saved state that does not belong to this sensor."""


class Sink(Protocol):
    """Where recorded samples go."""

    def append(self, index: int, time: float, values: Sequence[float | int | bool]) -> None:
        """Take a sample."""

    def rewind(self, next_index: int) -> None:
        """Forget all samples from an index on."""


class Step:
    """One sensor in steps."""

    def __init__(
        self,
        plan: Plan,
        sampling_parameters: SamplingParameters,
        *,
        start: float = 0.0,
        most: int = MOST_SAMPLES,
        storage: Storage | None = None,
        warn: Callable[[str], None] | None = None,
        sink: Sink | None = None,
        rows: int = RING_ROWS,
        watched: Sequence[str] = (),
        resolve: Callable[[tuple[int, ...]], Floats] | None = None,
        body: BodyParameters = AS_CONNECTED,
    ) -> None:
        """Make the arrays of a run.

        Args:
            plan: of the sensor.
            sampling_parameters: of the run.
            start: instant of the first state.
            most: a step is refused if it has more samples, or inputs of low-passes.
            storage: where inputs and outputs are; new arrays if None.
            warn: called with warnings about what is allowed but rarely intended.
            sink: takes all samples, if they are recorded.
            rows: how many samples wait for the sink before Python is entered.
            watched: names of Integers; when one of them changes, ``resolve`` is called.
            resolve: returns the plan's ``extra`` values for those of ``watched``, or refuses.
            body: how the inputs of a body are understood.
        """
        check_clock(start, plan.rate)
        self._plan, self._body = plan, body
        self._storage = storage if storage is not None else Storage.of(plan)
        self._warn = warn if warn is not None else _ignore
        self._sink, self._resolve, self._most = sink, resolve, most
        self._rows = rows if sink is not None else 0
        self._function = plan.function.ctypes
        self._outputs = plan.outputs()
        self._make_arrays(start, tuple(watched))
        self._table = self._make_table(sampling_parameters.inputs_at_step_end)

    # ---- arrays ------------------------------------------------------------------------------

    def _make_arrays(self, start: float, watched: tuple[str, ...]) -> None:
        """Make all arrays that live as long as the run."""
        plan = self._plan
        held = len(plan.held()) + plan.extra.size
        self._clock = np.concatenate([new_clock(start), [start, start]])
        self._known = np.zeros((at.KNOWN_ROWS, len(plan.truth)))
        self._held = np.zeros((2, held))
        self._copy = np.zeros_like(plan.state)
        self._extra = np.array(plan.extra, dtype=np.float64)
        self._row = np.zeros(len(self._outputs))
        self._ring = np.zeros((self._rows, self._row.size))
        self._watched = self._places([(name, at.INTEGER) for name in watched])
        self._noted = np.full(len(watched), -1, np.int64)
        self._settings = np.array([plan.rate])

    def _places(self, names: Sequence[tuple[str, int]]) -> NDArray[np.int64]:
        """The places of values; a place outside its array is refused."""
        places = np.zeros(len(names), np.int64)
        for number, (name, kind) in enumerate(names):
            if kind == at.NOWHERE:
                continue
            places[number] = self._storage.places[name]
            if not 0 <= places[number] < self._storage.arrays[kind].size:
                raise ValueError("a variable lies outside the values of its type")
        return places

    def _make_table(self, at_end: bool) -> NDArray[np.int64]:
        """The context, in the layout of ``stepping``."""
        words = {
            **self._addresses(),
            **self._sizes(),
            at.AT_END: int(at_end),
            at.IS_BODY: int(self._plan.is_body),
            at.TOLD_OF_MOTION: self._body.told,
            at.POLICY: self._body.policy,
            **self._angles(),
            **self._plan.own,
        }
        table = np.zeros(at.TABLE_SIZE, np.int64)
        for place, word in words.items():
            table[place] = word if isinstance(word, int) else word.ctypes.data
        self._alive = words  # keeps alive what the addresses point to
        self._context = int(table.ctypes.data)
        return table

    def _angles(self) -> dict[int, int | Values]:
        """Where the angles of the body are if they count, and the orientation that does not."""
        angles = [(f"body.euler.{part}", at.REAL) for part in ROLL_PITCH_YAW]
        vector = [(f"body.orientation.{axis}", at.REAL) for axis in "xyz"]
        if not self._plan.is_body:
            return {}
        if self._body.orientation_input == OrientationInput.euler:
            return {
                at.EULER: self._places(angles),
                at.IDLE: self._places(vector),
                at.IDLE_NUMBER: at.QUATERNION_IDLE,
            }
        if angles[0][0] not in self._storage.places:  # a sensor without an FMU around it
            return {}
        return {at.IDLE: self._places(angles), at.IDLE_NUMBER: at.ANGLES_IDLE}

    def _addresses(self) -> dict[int, int | Values]:
        """The arrays of the table."""
        plan = self._plan
        held = plan.held()
        return {
            at.SETTINGS: self._settings,
            at.CLOCK: self._clock,
            at.KNOWN: self._known,
            at.HELD: self._held,
            at.STATE: plan.state,
            at.COPY: self._copy,
            at.PARAMETERS: plan.parameters,
            at.KEYS: plan.keys,
            at.LIMITED: np.array([fault.has_limits for fault in plan.faults], np.int64),
            at.ROW: self._row,
            at.RING: self._ring,
            at.REALS: self._storage.arrays[at.REAL],
            at.INTEGERS: self._storage.arrays[at.INTEGER],
            at.BOOLEANS: self._storage.arrays[at.BOOLEAN],
            at.TRUTH_PLACES: self._places([(name, at.REAL) for name in plan.truth]),
            at.HELD_TYPES: np.array([kind for _, kind in held], np.int64),
            at.HELD_PLACES: self._places(held),
            at.OUTPUT_TYPES: np.array([kind for _, kind in self._outputs], np.int64),
            at.OUTPUT_PLACES: self._places(self._outputs),
            at.WATCHED_PLACES: self._watched,
            at.WATCHED_VALUES: self._noted,
            at.EXTRA: self._extra,
        }

    def _sizes(self) -> dict[int, int | Values]:
        """How long they are."""
        plan = self._plan
        return {
            at.TRUTH_SIZE: len(plan.truth),
            at.HELD_INPUTS: len(plan.held()),
            at.HELD_SIZE: self._held.shape[1],
            at.FAULTS: len(plan.faults),
            at.STATE_SIZE: plan.state.size,
            at.ROW_SIZE: self._row.size,
            at.RING_ROWS: self._ring.shape[0],
            at.WATCHED: self._watched.size,
            at.MOST: self._most,
        }

    @property
    def address(self) -> int:
        """The step, for C."""
        return int(self._plan.function.address)

    @property
    def context(self) -> int:
        """Its first argument."""
        return self._context

    # ---- values ------------------------------------------------------------------------------

    def set(self, name: str, value: float) -> None:
        """Set an input of a sensor whose storage is its own."""
        kinds = dict(self._plan.held())
        self._storage.arrays[kinds.get(name, at.REAL)][self._storage.places[name]] = value

    def get(self, name: str) -> float | int | bool:
        """The value of an output."""
        kind = dict(self._outputs)[name]
        value: float | int | bool = _CAST[kind](
            self._storage.arrays[kind][self._storage.places[name]]
        )
        return value

    @property
    def time(self) -> float:
        """The end of the last step, or the start."""
        return float(self._clock[at.END])

    @property
    def newest(self) -> tuple[float, Floats]:
        """The newest known state with its instant, in a copy."""
        return float(self._clock[sampling.LATEST]), self._known[at.BEFORE].copy()

    # ---- steps -------------------------------------------------------------------------------

    def observe(self, time: float, end: float | None = None) -> None:
        """Take the inputs as the state at an instant without a step, that is at the start.

        ``end`` is the end of the step that the inputs belong to, if there is one.

        Raises:
            ParameterError: as ``advance``.
        """
        self._table[at.OBSERVING] = 1
        try:
            self._do(time, 0.0 if end is None else end - time)
        finally:
            self._table[at.OBSERVING] = 0

    def advance(self, time: float, duration: float) -> None:
        """Make a step: take the inputs, and measure all samples that are due.

        Raises:
            ParameterError: if inputs, time or readings make no sense; nothing has changed then.
        """
        self._do(time, duration)

    def _do(self, time: float, duration: float) -> None:
        try:
            code = self._call(time, duration)
            if code == at.RING_IS_FULL:
                self._do_in_blocks(time, duration)
            elif code != at.DONE:
                self._refuse(code, time, duration)
        except BaseException:
            is_start = self._clock[sampling.KNOWN_STATES] == 1.0
            if self._completes and (is_start or self._begins_anew):
                forget_second(self._known, is_start=is_start)
            raise

    @property
    def _begins_anew(self) -> bool:
        """Whether motion begins with the second state (``kernels.math.body_port``)."""
        clock = self._clock
        is_second = clock[sampling.KNOWN_STATES] == 2.0
        return bool(is_second and clock[at.OLDER_TIME] == clock[sampling.LATEST])

    @property
    def _completes(self) -> bool:
        """Whether something that was left out of the state of a body was completed."""
        is_body = self._known.shape[1] >= BODY_SIZE
        return is_body and bool(self._table[at.COMPLETED] != SETTLED)

    def _call(self, time: float, duration: float) -> int:
        """Call the compiled step until it needs no more help from Python."""
        while True:
            code = int(self._function(self._context, time, duration))
            if code == at.WARN_ORIENTATION:
                self._table[at.TOLD_OF_ORIENTATION] = 1
                self._warn(NO_ORIENTATION)
            elif code == at.WARN_MOTION:
                thing = int(self._table[at.REFUSED])
                self._table[at.TOLD_OF_MOTION] |= 1 << thing
                self._warn(WARNINGS[thing])
            elif code == at.WATCHED_CHANGED:
                self._look_closer()
            else:
                return code

    def _look_closer(self) -> None:
        """Get the ``extra`` values for the present values of the watched inputs."""
        values = self._storage.arrays[at.INTEGER][self._watched]
        if self._resolve is not None:
            self._extra[:] = self._resolve(tuple(values.tolist()))
        self._noted[:] = values

    def _do_in_blocks(self, time: float, duration: float) -> None:
        """Make a step with more samples than the ring has room for."""
        self.flush()
        before, first = self.state(), int(self._row_count())
        self._table[at.MAY_STOP] = 1
        try:
            while (code := self._call(time, duration)) == at.MORE:
                self.flush()
            if code != at.DONE:
                self._refuse(code, time, duration)
        except BaseException:
            self._table[at.RING_FILL] = self._table[at.IS_NEW] = self._table[at.CONTINUES] = 0
            self._put(before)
            if self._sink is not None:
                self._sink.rewind(first)
            raise
        finally:
            self._table[at.MAY_STOP] = 0

    def _row_count(self) -> float:
        """The number of samples that the outputs show."""
        place = self._storage.places[SAMPLE_COUNT]
        return float(self._storage.arrays[at.INTEGER][place])

    def give(self, extra: Floats) -> None:
        """Set the ``extra`` values of a sensor without watched inputs."""
        self._extra[:] = extra

    def flush(self) -> None:
        """Pass the samples in the ring to the sink."""
        if self._sink is None:
            return
        rows = self._ring[: self._table[at.RING_FILL]].tolist()
        self._table[at.RING_FILL] = 0
        casts = [_CAST[kind] for _, kind in self._outputs[:-2]]
        for *values, count, stamp in rows:
            typed = [cast(value) for cast, value in zip(casts, values, strict=True)]
            self._sink.append(int(count) - 1, stamp, typed)

    # ---- refusals ----------------------------------------------------------------------------

    def _refuse(self, code: int, time: float, duration: float) -> None:
        """Raise the error that the number of a refusal stands for."""
        end = time + duration
        if code == at.NO_STEP:
            raise ParameterError(
                f"communication step = {duration} s at time = {time} s is not allowed,"
                " a step is finite and longer than 0 s"
            )
        if code == at.STEP_BACKWARDS:
            raise ParameterError(
                f"time = {time} s lies before the end of the last step, {self.time} s"
            )
        if sampling.NOT_FINITE <= code <= sampling.TOO_MANY:
            of_end = self._table[at.AT_END] or code in (sampling.TOO_COARSE, sampling.TOO_MANY)
            known_time = end if of_end else time
            refuse_instant(code, self._clock, self._plan.rate, known_time, self._most)
        self._refuse_inputs(code)
        raise ParameterError(
            f"the reading {tuple(self._row[:-2].tolist())} is not finite: inputs or parameters are "
            "too large, or the sensor is where a field has no end"
        )

    def _refuse_inputs(self, code: int) -> None:
        refused = int(self._table[at.REFUSED])
        if code == at.BAD_INPUT:
            name = self._plan.truth[refused]
            value = self._known[at.NOW, refused]
            raise ParameterError(f"{name} = {value} is not a finite number")
        if code == at.BAD_ORIENTATION:
            w, x, y, z = self._known[at.NOW, ORIENTATION : ORIENTATION + 4].tolist()
            normalised_orientation(w, x, y, z)
        if code == at.BAD_ANGLES:
            arrays, places = self._storage.arrays[at.REAL], self._alive[at.EULER]
            orientation_of_angles(arrays[places])
        if code == at.BAD_HELD:
            held = self._plan.held()
            name = held[refused][0] if refused < len(held) else "a value that belongs to the scene"
            value = self._held[at.HELD_NOW, refused]
            raise ParameterError(f"{name} = {value} is not a finite number")
        if code == at.BAD_FAULT:
            self._check_fault(self._held[at.HELD_NOW], refused)

    def _check_fault(self, held: Floats, number: int) -> None:
        """Refuse a fault that cannot be applied, with a message."""
        inputs = self._plan.faults[number]
        part = held[number * FAULT_SIZE : (number + 1) * FAULT_SIZE].tolist()
        mode, value, wave, amplitude, period, offset = part
        for name, number_of, choices in (("mode", mode, FaultMode), ("wave", wave, FaultWave)):
            if number_of not in set(choices):
                raise ParameterError(f"{inputs.prefix}.{name} = {number_of} is none of its items")
        fault = Fault(FaultMode(int(mode)), value, FaultWave(int(wave)), amplitude, period, offset)
        check_fault(fault, inputs.signal, inputs.has_limits)

    # ---- states ------------------------------------------------------------------------------

    def state(self) -> dict[str, Floats]:
        """All that later samples depend on, as copies."""
        return {
            "clock": self._clock.copy(),
            "known": self._known[: at.NOW].copy(),
            "held": self._held[at.HELD_BEFORE].copy(),
            "model": self._plan.state.copy(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from ``state()`` of this or an equal sensor, whose outputs are restored, too.

        Raises:
            StepError: if the arrays are not those of this sensor; nothing has changed then.
            ParameterError: if they contain values that no sensor can have.
        """
        own = Step.state(self)  # some sensors have more arrays, which they restore themselves
        if saved.keys() != own.keys() or any(
            saved[name].shape != array.shape or saved[name].dtype != array.dtype
            for name, array in own.items()
        ):
            raise StepError("the state's arrays are not those of this sensor")
        check_clock_state(saved["clock"][: sampling.CLOCK_SIZE])
        if not np.isfinite(saved["clock"][sampling.CLOCK_SIZE :]).all():
            raise StepError("the state's clock is not finite")
        if self._plan.is_body:
            checked_seen(saved["known"])
        for number in range(len(self._plan.faults)):
            self._check_fault(saved["held"], number)
        self.flush()
        self._put(saved)
        # the values from Python belong to other inputs
        self._noted[:] = -1
        if self._sink is not None:
            self._sink.rewind(int(self._row_count()))

    def _put(self, saved: Mapping[str, Floats]) -> None:
        self._clock[:] = saved["clock"]
        self._known[: at.NOW] = saved["known"]
        self._held[at.HELD_BEFORE] = saved["held"]
        self._plan.state[:] = saved["model"]
