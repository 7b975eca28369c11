"""The life of a sensor: one contract for all of them, whether they sample or take frames.

    sensor = spec.make(setup)
    sensor.begin(inputs)                 the state at the start is known; may come again
    sensor.advance(inputs, t0, t1)       the state at t1 is known, t0 being the latest before
    sensor.state(), sensor.restore(a)    all that later results depend on, as arrays
    sensor.close()

``begin`` and ``advance`` give the results that fall due, in order: samples, or frames with their
files. ``t1`` equals ``t0`` where the state at the start is given again, with the first step; the
later one counts then. Who drives a sensor takes all results before the next call.

When something falls due is said by a part of the sensor: ``SampledSensor`` has a sampling clock
(``clock.Timeline``), sensors that see have schedules of their own.

A step that is refused has changed nothing: a sampled sensor goes back to what it was before. A
sensor that sees refuses bad inputs before it takes a frame; if it is interrupted between two
frames of a step, the next call goes on after the last one that was taken.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import Interpolation, SampleClock, SamplingParameters, Timeline
from sensor_models.core.quantities import ParameterError, flattener
from sensor_models.core.spec import Groups, SensorSpec

Vector = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


@dataclass(eq=False)
class Held:
    """The held inputs from some instant on, and the scene that they stand for, if any."""

    groups: Groups
    scene: Any = None  # a SceneHandle; this layer knows no scenes


class Inputs(NamedTuple):
    """What is known at an instant."""

    #: The state of body or joint then; nobody writes to it.
    state: Vector
    #: What holds from then on.
    held: Held
    #: What held until then; at the start, the same.
    before: Held
    #: The end of the step that they came with; None where there is none, as at the start.
    end: float | None = None


def _ignore(message: str) -> None:
    """What is done with a warning that nobody takes."""
    del message


def _nothing() -> None:
    """What is done after a result whose memory nobody waits for."""


class Result(NamedTuple):
    """A sample or a frame."""

    number: int  # from 0
    time: float
    #: The readings in the order of their declaration, scalar by scalar.
    values: tuple[Any, ...]
    #: The files of a frame (``output.frame_files.FrameFile``), the main one first; none if no
    #: files are wanted.
    files: tuple[Any, ...] = ()
    #: What the index of files says of it.
    known: Mapping[str, object] = {}
    #: Gives back the memory of the files; called once, when they are written or not wanted.
    done: Callable[[], None] = _nothing


@dataclass(frozen=True)
class Setup:
    """What a sensor is made from."""

    spec: SensorSpec
    parameters: Groups
    #: Whose random numbers these are: equal ones share their noise.
    identity: str
    #: The instant that sampling starts at.
    start: float = 0.0
    #: Whether the files of frames are wanted.
    files: bool = False
    #: Takes what is allowed but seldom meant, as sentences.
    warn: Callable[[str], None] = _ignore

    @property
    def sampling(self) -> SamplingParameters:
        """Rate, seed, and what the inputs of a step describe."""
        return self.parameters.of(SamplingParameters)


class Sensor(Protocol):
    """A sensor between its setup and its end."""

    def begin(self, inputs: Inputs) -> Iterable[Result]:
        """The results at the start, whose inputs are given; may be called again."""

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterable[Result]:
        """The results that fall due when the inputs at ``t1`` become known."""

    def state(self) -> Arrays:
        """All that later results depend on, as arrays."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor; a ValueError changes nothing."""

    def close(self) -> None:
        """Give back what the sensor holds."""


class SampledModel(Protocol):
    """What measures one sample after the other."""

    @property
    def state(self) -> NDArray[np.float64]:
        """All that changes, as a copy; assigned, it continues from there."""

    @state.setter
    def state(self, state: NDArray[np.float64]) -> None: ...

    def reset(self) -> None:
        """Back to before the first sample."""


#: One sample as an instance of the reading: number, instant, state of body or joint, held inputs.
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
        self._numbers = [
            place
            for place, (_, quantity, _) in enumerate(reading.scalars())
            if quantity.kind == "real"
        ]
        self._start = setup.start
        some = setup.spec.start_state()
        interpolate(some, some, 1.0, 0.5)  # compiles or loads it now, not in a step

    def begin(self, inputs: Inputs) -> Iterator[Result]:
        """Sample 0."""
        return self.advance(inputs, self._start, self._start)

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The samples that fall due."""
        held = inputs.held
        timeline, model = self._timeline, self._model
        before = timeline.state, model.state
        try:
            for index, stamp, state in timeline.push(t1, inputs.state):
                if index == 0:
                    model.reset()  # the initial state may be given twice: the later one counts
                # An input holds from the state it was set with; samples before it have the last.
                is_new = index == 0 or timeline.clock.is_latest(stamp)
                now = held if is_new else inputs.before
                yield Result(index, stamp, self._finite(self._measure(index, stamp, state, now)))
        except BaseException:
            timeline.state, model.state = before
            raise

    def _finite(self, reading: Any) -> tuple[Any, ...]:
        """The values of a reading; one that is no number comes from inputs that are too large."""
        values = self._flatten(reading)
        for place in self._numbers:
            if not math.isfinite(values[place]):
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
        """Memory is all that it holds."""
