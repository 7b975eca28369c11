"""A sensor between initialisation and termination: inputs in, results out.

This run drives sensors that take frames, and those whose samples are measured in Python, by the
contract of ``sensor_models.core.sensor``. Sensors with a compiled step, which works directly on the
values of the instance, have another run (``scalar_run``). Data flows one way: inputs of the
instance -> sensor -> outputs, record and files. In a step:

1. The inputs are read. Held inputs (faults, temperature, a scene) are converted for the sensor only
   if they have changed. Inputs that cannot be applied are refused here, before anything changes.
2. The sensor gives the results that are due, in order. Each goes to the record and to the files.
3. The newest result goes to the outputs. Samples are shown at the end, because a step that is
   refused must leave the outputs as they were; frames are shown one by one, because a frame that
   was taken stays taken even if the step is refused later.
"""

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fmus.fmi.fmu_state import StateError
from fmus.fmi.inputs import InputReader, KnownInputs
from fmus.fmi.osmp import MESSAGES, open_messages, wants_messages
from fmus.fmi.outputs import OutputWriter
from sensor_models.core.body import BodyParameters, BodyPort, Completed
from sensor_models.core.clock import check_step
from sensor_models.core.sensor import Inputs, Result, Setup, Vector
from sensor_models.core.spec import LogParameters
from sensor_models.output.files import OutputError
from sensor_models.output.sinks import FrameSink, RecordSink, WriteFiles, open_record, wants_files

if TYPE_CHECKING:
    from fmus.fmi.sensor_fmu import SensorFmu
    from sensor_models.log.sink import LogSink

Arrays = dict[str, NDArray[Any]]

#: A run's own arrays in a saved state: the newest known instant, held inputs, newest file, and what
#: completes the states of the body.
OWN = KNOWN, HELD, FILE, BODY = "known", "held", "file", "body"


def _once_all(done: Callable[[], None], takers: int) -> Callable[[], None]:
    """A function that each of these takers calls when done; the last call frees the memory.

    Without takers it is freed at once.
    """
    if takers == 0:
        done()
    left, lock = [takers], threading.Lock()

    def one_less() -> None:
        with lock:
            left[0] -= 1
            if left[0]:
                return
        done()

    return one_less


class SensorRun:
    """One run of a sensor, with the parameters that are set when it begins."""

    def __init__(self, fmu: "SensorFmu", start: float) -> None:
        self._fmu = fmu
        self._spec, self._sees = fmu.spec, fmu.spec.sees
        self._parameters = fmu.parameters()
        sinks = [self._parameters.instances[group] for group in self._spec.sinks]
        #: The parameters of files of frames, and those of a record, among those of the sinks.
        self._file_parameters = next((s for s in sinks if hasattr(s, "write_files")), None)
        self._record_parameters = next((s for s in sinks if hasattr(s, "record")), None)
        setup = Setup(
            self._spec,
            self._parameters,
            f"{self._spec.name}/{fmu.instance_name}",
            start,
            files=self._wants_files() or wants_messages(fmu, self._parameters) or self._wants_log,
            in_memory=fmu.frames is not None,
            warn=fmu.warn,
        )
        self._messages = open_messages(fmu, setup)
        self._log: LogSink | None = None
        self.inputs_at_step_end = setup.sampling.inputs_at_step_end
        self._known = self._end = self._start = start
        self._rate = setup.sampling.sample_rate
        check_step(start, self._rate, start, start)  # so that no step loads what it needs
        self.sensor = self._spec.make(setup)
        self._inputs = InputReader(fmu, self._parameters)
        self._body: BodyPort | None = None
        if self._spec.has_body:
            self._body = BodyPort(self._parameters.of(BodyParameters), fmu.warn)
        self._outputs = OutputWriter(fmu)
        self._held: KnownInputs | None = None
        self._record: RecordSink | None = None
        self._files: FrameSink | None = None
        self._file = ""  # of a saved state, until there are files
        self._is_unnamed = False  # the newest file, as it was not written yet
        self._trouble: OutputError | None = None  # that the next step tells

    @property
    def _wants_log(self) -> bool:
        return bool(self._parameters.of(LogParameters).log)

    def _wants_files(self) -> bool:
        return self._file_parameters is not None and wants_files(self._file_parameters)

    # ---- sinks -------------------------------------------------------------------------------

    def open(self) -> None:
        """Open record and files."""
        effective = self._parameters.by_name()
        name, directory = self._fmu.instance_name, ""
        if self._file_parameters is not None:
            directory = self._file_parameters.output_directory
            if self._wants_files():
                assert self._spec.frames is not None
                self._files = FrameSink(self._spec.frames(name, self._file_parameters, effective))
                self._files.newest, directory = self._file, self._files.directory
        if self._wants_log:
            from sensor_models.log.sink import LogSink

            self._log = LogSink(name, self._spec, self._parameters)
        if self._record_parameters is not None:
            self._record = open_record(
                name, self._spec, self._record_parameters, directory, effective
            )
            if self._count():  # it continues from a saved state
                self._rewind_record()

    def _count(self) -> int:
        """The number of results so far."""
        count: int = self._fmu.values.get(self._fmu.table().by_name["sample.count"])
        return count

    def _rewind_record(self) -> None:
        """Let the record continue with the result after the newest."""
        if self._record is not None:
            self._record.rewind(self._count())

    def publish(self) -> None:
        """Write record and files; the master may still go back to a saved state and go on."""
        if self._files is not None:
            self._name_newest(self._files, of_all=True)
        if self._record is not None:
            self._record.publish()
        if self._log is not None:
            self._log.publish()

    def close(self) -> None:
        """Finish record and files, and leave the scene."""
        try:
            if self._files is not None:
                self._files.close()
        finally:
            try:
                if self._record is not None:
                    self._record.close()
            finally:
                try:
                    if self._log is not None:
                        self._log.close()
                finally:
                    if self._fmu.frames is not None:
                        self._fmu.frames.clear()  # its memory is the sensor's
                    self.sensor.close()
                    if self._held is not None:
                        self._held.close()

    # ---- stepping ----------------------------------------------------------------------------

    def begin(self) -> None:
        """Take the inputs as the state at the start."""
        state, held = self._inputs.read(self._held)
        self._inputs.expect_scene(held, self._held)
        state, _ = self._completed(self._known, state)
        if self._messages is not None:
            state = self._messages.take_inputs(self._known, state, None)
        inputs = Inputs(state, held.held, held.held)
        self._give(held, self.sensor.begin(inputs))
        if self._body is not None:
            self._body.keep()
        self._say_if_nothing_is_written()

    def _say_if_nothing_is_written(self) -> None:
        """Warn if frames are written nowhere although ``write_files`` is not off."""
        chosen = self._file_parameters
        if self._messages is not None or self._log is not None or self._fmu.frames is not None:
            return
        if chosen is not None and chosen.write_files == WriteFiles.auto and self._files is None:
            self._fmu.warn(
                "no files are written: set output_directory to the directory that frames should go"
                " to, or write_files to 1 (off) if none are wanted"
            )

    def observe(self, time: float, end: float) -> None:
        """Take the inputs as the state at ``time``, and all results that are due by then."""
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        if self._rate > 0.0:
            check_step(self._start, self._rate, time, end)
        before = self._held
        assert before is not None  # every run begins
        state, held = self._inputs.read(before)
        if self._sees:
            self._inputs.open_scene(held, before)
        if held is not before:
            self._inputs.open_again(before)
        state, revised = self._completed(time, state)
        if self._messages is not None:
            try:
                state = self._messages.take_inputs(time, state, held.held.scene)
            except BaseException:
                held.close_unless_shared(before)
                raise
        if self._files is not None:
            self._files.begin_step()
        if self._log is not None and self._spec.frames is None:
            self._log.place_body(time, state)
        inputs = Inputs(state, held.held, before.held, end, revised)
        self._end = end
        self._give(held, self.sensor.advance(inputs, self._known, time))
        self._known = time
        if self._body is not None:
            self._body.keep()
        if self._files is not None:
            # A file takes milliseconds to be written. Nobody waits for it who does not ask.
            if self._files.names_now:
                self._name_newest(self._files)
            else:
                self._is_unnamed = True

    def _completed(self, time: float, state: Vector) -> Completed:
        """The state at an instant, with all that the inputs leave out."""
        return (state, None) if self._body is None else self._body.complete(time, state)

    def complete_after(self, instant: float) -> float:
        """The next instant at which a frame can be complete; infinity if that is not known."""
        known = getattr(self.sensor, "complete_after", None)
        return math.inf if known is None else float(known(instant))

    def settle(self) -> None:
        """Bring the outputs to what they have to be, before somebody reads names of files."""
        if self._files is not None and self._is_unnamed:
            self._name_newest(self._files)

    def _name_newest(self, files: FrameSink, *, of_all: bool = False) -> None:
        self._is_unnamed = False
        try:
            files.name_newest(self._outputs.name_file, of_all=of_all)
        finally:
            self._outputs.count_lost(files.lost)

    def _give(self, held: KnownInputs, results: Iterable[Result]) -> None:
        """Pass results on; afterwards these held inputs are the last known ones."""
        before = self._held
        next_index = 0 if self._record is None else self._record.next_index
        try:
            if self._spec.frames is not None:
                for result in results:
                    self._outputs.show(result)
                    self._take(result, held)
            else:
                self._take_samples(results)
        except BaseException:
            if self._record is not None and self._spec.frames is None:
                self._record.rewind(next_index)
            if self._log is not None:
                self._log.rewind(1)  # the one of the start stays
            if held is not before:
                held.close_unless_shared(before)
            raise
        if before is not None and held is not before:
            before.close_unless_shared(held)
        self._held = held

    def _take_samples(self, results: Iterable[Result]) -> None:
        newest = None
        for newest in results:
            if self._record is not None:
                self._record.take(newest)
            if self._log is not None:
                self._log.append(newest)
        if self._log is not None:
            self._log.commit()
        if newest is not None:
            self._outputs.show(newest)

    def _take(self, result: Result, held: KnownInputs) -> None:
        """Record a frame, make its messages and write its files."""
        if self._record is not None:
            self._record.take(result)
        if self._messages is not None:
            self._messages.take(result, held.held.scene, self._end)
        memory = self._fmu.frames
        takers = sum(taker is not None for taker in (self._files, self._log, memory))
        shared = result if takers == 1 else result._replace(done=_once_all(result.done, takers))
        try:
            if memory is not None:
                memory.take(shared)
            if self._files is not None:
                self._files.take(shared)
        finally:  # an error of an earlier frame; each taker has to give its share of this one back
            if self._log is not None:
                self._log.take(shared, held.held.scene)

    # ---- saved states ------------------------------------------------------------------------

    def state(self) -> Arrays:
        """All that later results depend on, as arrays."""
        try:
            self.settle()
        except OutputError as error:  # of a frame that was lost, which is no reason to refuse this
            self._trouble = error
        held = b"" if self._held is None else self._held.content
        file = self._file if self._files is None else self._files.newest
        return {
            **self.sensor.state(),
            KNOWN: np.array([self._known]),
            HELD: np.frombuffer(held, np.uint8).copy(),
            FILE: np.frombuffer(file.encode(), np.uint8).copy(),
            **({} if self._body is None else {BODY: self._body.state}),
            **({} if self._messages is None else self._messages.state()),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal run."""
        own = self.state()
        known = arrays.get(KNOWN)
        if arrays.keys() != own.keys() or known is None or known.shape != (1,):
            raise StateError("the state's arrays are not those of this FMU")
        if not np.isfinite(known).all():
            raise StateError("the state's newest instant is not a finite number")
        file = arrays[FILE].tobytes().decode()
        body = self._body_of(arrays)
        held = self._inputs.restored(arrays[HELD].tobytes(), self._held)
        try:
            own_arrays = {n: a for n, a in arrays.items() if not n.startswith(MESSAGES)}
            self.sensor.restore({n: a for n, a in own_arrays.items() if n not in OWN})
            if self._messages is not None:
                self._messages.restore(arrays)
        except BaseException:
            held.close_unless_shared(self._held)
            raise
        if self._held is not None:
            self._held.close_unless_shared(held)
        self._held, self._known, self._file = held, float(known[0]), file
        self._body = body
        if self._fmu.frames is not None:
            self._fmu.frames.clear()
        if self._files is not None:
            self._files.newest = file
        self._rewind_record()

    def _body_of(self, arrays: Mapping[str, NDArray[Any]]) -> BodyPort | None:
        """What completes the states of the body, as a saved state has it."""
        if self._body is None:
            return None
        return self._body.restored(arrays[BODY])
