"""The life of a sensor: one contract for all sensors, whether they sample or take frames.

    sensor = spec.make(setup)
    sensor.begin(inputs)                 the state at the start is known; may be called again
    sensor.advance(inputs, t0, t1)       the state at t1 is known; t0 was the last known instant
    sensor.state(), sensor.restore(a)    all that later results depend on, as arrays
    sensor.close()

``begin`` and ``advance`` give the results that are due, in order: samples, or frames with their
files. If the first step gives the state at the start again, ``t1`` equals ``t0``, and the later
state counts. The caller must take all results before the next call.

A part of the sensor decides what is due: ``SampledSensor`` has a sampling clock
(``clock.Timeline``), sensors that see have schedules of their own.

A step that is refused changes nothing: a sampled sensor returns to its previous state. A sensor
that sees refuses bad inputs before it takes a frame; if it is interrupted between two frames of a
step, the next call continues after the last frame that was taken.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import Interpolation, SampleClock, SamplingParameters, Timeline
from sensor_models.core.quantities import ParameterError, flattener, picker
from sensor_models.core.spec import Groups, SensorSpec

Vector = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


@dataclass(eq=False)
class Held:
    """The held inputs from an instant on, and the scene of their handle, if there is one."""

    groups: Groups
    scene: Any = None  # a SceneHandle; this layer knows no scenes


class Inputs(NamedTuple):
    """The inputs at an instant."""

    #: The state of body or joint at that instant; must not be changed.
    state: Vector
    #: The held inputs from that instant on.
    held: Held
    #: The held inputs until that instant; at the start, the same.
    before: Held
    #: The end of the step that they belong to; None if there is no step, as at the start.
    end: float | None = None
    #: The state at the instant before as it is known only now, if it has become better known.
    revised: Vector | None = None


def _ignore(message: str) -> None:
    """Ignore a warning, if the setup does not say what to do with it."""
    del message


def _nothing() -> None:
    """Do nothing after a result whose memory is not reused."""


class Result(NamedTuple):
    """A sample or a frame."""

    number: int  # from 0
    time: float
    #: The readings in the order of their declaration, scalar by scalar.
    values: tuple[Any, ...]
    #: The files of a frame (``output.frame_files.FrameFile``), the main one first; empty if
    #: files are not wanted.
    files: tuple[Any, ...] = ()
    #: What the index of files says about the frame.
    known: Mapping[str, object] = {}
    #: Releases the memory of the files; called once, when they are written or not wanted.
    done: Callable[[], None] = _nothing


@dataclass(frozen=True)
class Setup:
    """What a sensor is made from."""

    spec: SensorSpec
    parameters: Groups
    #: The identity for random numbers: sensors with the same one have the same noise.
    identity: str
    #: The instant at which sampling starts.
    start: float = 0.0
    #: Whether the files of frames are wanted, and whether only the frames in memory.
    files: bool = False
    in_memory: bool = False
    #: Takes warnings: sentences about settings that are allowed but rarely intended.
    warn: Callable[[str], None] = _ignore

    @property
    def sampling(self) -> SamplingParameters:
        """Rate, seed, and whether inputs describe the beginning or the end of a step."""
        return self.parameters.of(SamplingParameters)


class Sensor(Protocol):
    """A sensor between its setup and its end."""

    def begin(self, inputs: Inputs) -> Iterable[Result]:
        """The results at the start, whose inputs are given; may be called again."""

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterable[Result]:
        """The results that are due when the inputs at ``t1`` become known."""

    def state(self) -> Arrays:
        """All that later results depend on, as arrays."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor; a ValueError changes nothing."""

    def close(self) -> None:
        """Release what the sensor holds."""


class TakesFrames(Protocol):
    """What a sensor of frames may have besides."""

    def complete_after(self, instant: float) -> float:
        """The next instant at which a frame can be complete; infinity if that is not known.

        A frame is complete when the inputs at that instant are known.
        """


class SampledModel(Protocol):
    """A model that measures one sample after the other."""

    @property
    def state(self) -> NDArray[np.float64]:
        """Everything that changes, as a copy; assigning it continues from there."""

    @state.setter
    def state(self, state: NDArray[np.float64]) -> None: ...

    def reset(self) -> None:
        """Back to before the first sample."""


#: Gives a sample as an instance of the reading, from number, instant, state and held inputs.
Measure = Callable[[int, float, Vector, Held], Any]


class SampledSensor:
    """A sensor that samples: a model that measures, and the clock that says when.

    ``measure`` gives one reading.
    """

    def __init__(
        self,
        setup: Setup,
        model: SampledModel,
        measure: Measure,
        interpolate: Interpolation,
    ) -> None:
        self._model = model
        self._measure = measure
        self._timeline = Timeline(SampleClock(setup.start, setup.sampling.sample_rate), interpolate)
        (reading,) = setup.spec.readings
        self._flatten = flattener(reading.declaring)
        kinds = [quantity.kind for _, quantity, _ in reading.scalars()]
        reals = [place for place, kind in enumerate(kinds) if kind == "real"]
        self._pick = None if len(reals) == len(kinds) else picker(reals)
        self._start = setup.start
        some = setup.spec.start_state()
        interpolate(some, some, 1.0, 0.5)  # compiles or loads it now, not in a step

    def begin(self, inputs: Inputs) -> Iterator[Result]:
        """Sample 0."""
        return self.advance(inputs, self._start, self._start)

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The samples that are due."""
        held = inputs.held
        timeline, model = self._timeline, self._model
        before = timeline.mark, model.state
        try:
            timeline.revise(inputs.revised)
            for index, stamp, state in timeline.push(t1, inputs.state):
                if index == 0:
                    model.reset()  # the initial state may be given twice: the later one counts
                # Held inputs count from their own state on; earlier samples have the last ones.
                is_new = index == 0 or state is inputs.state  # which is passed on as it is
                now = held if is_new else inputs.before
                yield Result(index, stamp, self._finite(self._measure(index, stamp, state, now)))
        except BaseException:
            timeline.go_back(before[0])
            model.state = before[1]
            raise

    def _finite(self, reading: Any) -> tuple[Any, ...]:
        """The values of a reading; it is refused if one of them is not finite."""
        values = self._flatten(reading)
        numbers = values if self._pick is None else self._pick(values)
        # A sum of finite numbers may yet be too large, so it only says that all is well.
        if not math.isfinite(sum(numbers)) and not all(map(math.isfinite, numbers)):
            raise ParameterError(
                f"the reading {values} is not finite: inputs or parameters are too large, or"
                " the sensor is where a field has no end"
            )
        return values

    def state(self) -> Arrays:
        """Clock, newest state and model."""
        arrays: Arrays = {f"timeline.{name}": a for name, a in self._timeline.state.items()}
        arrays["model"] = np.array(self._model.state)
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor."""
        own, model = self.state(), arrays["model"]
        if model.shape != own["model"].shape or model.dtype != own["model"].dtype:
            raise ValueError("the state of the model does not fit this sensor")
        prefix = "timeline."
        self._timeline.state = {
            name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)
        }
        self._model.state = model

    def close(self) -> None:
        """Nothing to release."""
