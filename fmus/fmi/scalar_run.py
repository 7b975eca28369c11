"""A scalar sensor between initialisation and termination: a compiled step on the instance's values.

The step reads the inputs and writes the outputs where the variables of the instance are, so the
binding can call it without Python (``compiled_step``). Python is needed at the start, when a step
is refused, when there is a warning, when another scene is connected, and when the ring of recorded
samples is full; the same compiled function then makes the step.

Why this is not a ``SensorRun``: that class reads inputs, passes them to a sensor and passes its
results on, and none of this happens in Python here. The two share only how a record is opened and
where a restored one goes on; a common class would have to ask in every other method which kind it
is. ``base.Run`` says what both must do, and the tests of all sensors check it.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.plan import Storage
from sensor_models.core.sensor import Setup
from sensor_models.core.spec import SCENE, SCENE_HANDLE, LogParameters
from sensor_models.core.step import RING_ROWS, Step
from sensor_models.core.stepped import SteppedSensor
from sensor_models.output.sinks import RecordSink, open_record
from sensor_models.sight.scene import SceneUse

if TYPE_CHECKING:
    from fmus.fmi.sensor_fmu import SensorFmu
    from sensor_models.log.sink import LogSink

Arrays = dict[str, NDArray[Any]]

#: The most samples that wait for a log, and how long they may wait, in s: the other sensors of the
#: log wait for them, and they are lost if the process is killed. Without a rate: one in each step.
LOG_ROWS, LOG_LAG, LOG_ROWS_OF_STEPS = 64, 0.1, 8


def rows_for_log(rate: float) -> int:
    """How many samples wait for a log before Python is entered."""
    return max(1, min(LOG_ROWS, int(LOG_LAG * rate))) if rate > 0.0 else LOG_ROWS_OF_STEPS


class _Recorder:
    """Passes samples to the record once that is open; before, there are none to keep."""

    def __init__(self, sensor: SteppedSensor) -> None:
        self._sensor = sensor
        self.record: RecordSink | None = None
        self.log: LogSink | None = None

    def append(self, index: int, time: float, values: Sequence[Any]) -> None:
        """Record a sample."""
        result = self._sensor.result(index, time, values)
        if self.record is not None:
            self.record.take(result)
        if self.log is not None:
            self.log.append(result)

    def rewind(self, next_index: int) -> None:
        """Continue with a sample, whether it was recorded before or is further on."""
        if self.record is not None:
            self.record.rewind(next_index)
        if self.log is not None:
            self.log.rewind(next_index)

    def commit(self) -> None:
        """Mark the samples so far as final."""
        if self.log is not None:
            self.log.commit()


class ScalarRun:
    """One run of a sensor, with the parameters that are set when it begins."""

    def __init__(self, fmu: "SensorFmu", start: float) -> None:
        self._fmu = fmu
        self._parameters = fmu.parameters()
        identity = f"{fmu.spec.name}/{fmu.instance_name}"
        setup = Setup(fmu.spec, self._parameters, identity, start, warn=fmu.warn)
        self.inputs_at_step_end = setup.sampling.inputs_at_step_end
        self._start = start
        sensor = fmu.spec.make(setup)
        assert isinstance(sensor, SteppedSensor)
        self._sensor: SteppedSensor = sensor
        self._sensor.show_texts = self._show_texts
        sinks = [self._parameters.instances[group] for group in fmu.spec.sinks]
        self._record_parameters = next((s for s in sinks if s.record), None)
        self._recorder = _Recorder(self._sensor)
        self._scenes = SceneUse(self._parameters.by_name().get(SCENE) or None)
        self._wants_log = bool(self._parameters.of(LogParameters).log)
        is_read = self._wants_log or self._record_parameters is not None
        self._scene: Any = None
        self._handle = -1  # of the scene
        self._left: list[Any] = []  # scenes that samples of the present step may be in
        self.step: Step = self._sensor.step(
            storage=_storage_of(fmu),
            sink=self._recorder if is_read else None,
            rows=rows_for_log(setup.sampling.sample_rate) if self._wants_log else RING_ROWS,
            watched=(SCENE_HANDLE,) if fmu.spec.sees else (),
            resolve=self._look_at_scene,
        )

    def _look_at_scene(self, handles: tuple[int, ...]) -> NDArray[np.float64]:
        """What the sensor knows of a handle's scene; the previous scene is left after the step."""
        if handles[0] != self._handle:
            scene = self._scenes.open(handles[0])
            self._left.append(self._scene)
            self._scene, self._handle = scene, handles[0]
        assert self._sensor.extra_of is not None
        return self._sensor.extra_of(self._scene)

    def _leave_scenes(self) -> None:
        """Leave the scenes that the sensor no longer uses."""
        for scene in self._left:
            if scene is not None:
                scene.close()
        self._left.clear()

    def _show_texts(self, texts: Mapping[str, str]) -> None:
        """Put texts on the outputs."""
        by_name = self._fmu.table().by_name
        for name, text in texts.items():
            self._fmu.values.set(by_name[name], text)

    # ---- life --------------------------------------------------------------------------------

    def open(self) -> None:
        """Open record and log."""
        if self._wants_log:
            from sensor_models.log.sink import LogSink

            self._recorder.log = LogSink(self._fmu.instance_name, self._fmu.spec, self._parameters)
        if self._record_parameters is None:
            return
        self._recorder.record = open_record(
            self._fmu.instance_name,
            self._fmu.spec,
            self._record_parameters,
            "",
            self._parameters.by_name(),
            self._sensor.more_columns,
        )
        count = self._fmu.values.get(self._fmu.table().by_name["sample.count"])
        if count:  # it continues from a saved state
            self._recorder.rewind(count)

    def begin(self) -> None:
        """Take the inputs as the state at the start."""
        self.observe(self._start, self._start)

    def observe(self, time: float, end: float) -> None:
        """Take the inputs as the state at an instant."""
        del end
        self.step.observe(time)
        self._leave_scenes()
        self._flush()

    def advance(self, time: float, duration: float) -> None:
        """Make a step, as the binding does without Python."""
        self.step.advance(time, duration)
        self._leave_scenes()
        self._flush()

    def _flush(self) -> None:
        """Pass the samples that wait to record and log."""
        self.step.flush()
        if self._recorder.log is not None:
            self._recorder.log.place_body(*self.step.newest)
        self._recorder.commit()

    def compiled_step(self) -> tuple[int, int]:
        """Addresses of the step and of its context."""
        return self.step.address, self.step.context

    def publish(self) -> None:
        """Write the record; the master may still go back to a saved state and go on."""
        self._flush()
        if self._recorder.record is not None:
            self._recorder.record.publish()
        if self._recorder.log is not None:
            self._recorder.log.publish()

    def close(self) -> None:
        """Finish the record, and leave the scene."""
        with ExitStack() as stack:  # close all, even if one of them fails
            stack.callback(self._leave_scenes)
            stack.callback(self._left.append, self._scene)
            stack.callback(self._sensor.close)
            if self._recorder.log is not None:
                stack.callback(self._recorder.log.close)
            if self._recorder.record is not None:
                stack.callback(self._recorder.record.close)
            stack.callback(self._flush)

    # ---- saved states ------------------------------------------------------------------------

    def state(self) -> Arrays:
        """All that later samples depend on, as arrays."""
        return dict(self.step.state())

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal run."""
        self.step.restore(arrays)


def _storage_of(fmu: "SensorFmu") -> Storage:
    """Where the variables of an instance are."""
    table = fmu.table()
    places = {v.name: v.reference - table.first[v.type_name] for v in table.variables}
    of_type = fmu.values.of_type
    return Storage((of_type("Real"), of_type("Integer"), of_type("Boolean")), places)
