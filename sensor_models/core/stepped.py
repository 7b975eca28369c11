"""A scalar sensor with a compiled step, by the contract of all sensors (``sensor``).

The model gives the plan of its step (``step``). Here inputs come in the form of the contract, as an
array of the state and as groups; in an FMU the step reads them where the variables are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from sensor_models.core.body import AS_CONNECTED, BodyParameters, OrientationInput
from sensor_models.core.plan import Floats, Plan, Storage
from sensor_models.core.sensor import Arrays, Held, Inputs, Result, Setup
from sensor_models.core.step import Sink, Step
from sensor_models.kernels.math import stepping as at

#: A step with more samples is refused, because the contract returns all of them at once.
MOST_RESULTS = 100_000


def _ignore(texts: Mapping[str, str]) -> None:
    """Ignore texts, if there are no outputs for them."""
    del texts


class _Collector:
    """A sink that keeps the samples of a step as results of a sensor."""

    def __init__(self, sensor: "SteppedSensor") -> None:
        self._sensor = sensor
        self.results: list[Result] = []

    def append(self, index: int, time: float, values: Sequence[Any]) -> None:
        """Keep a sample."""
        self.results.append(self._sensor.result(index, time, values))

    def rewind(self, next_index: int) -> None:
        """Forget the samples of a step that is refused."""
        del next_index
        self.results.clear()


class SteppedSensor:
    """A sensor that samples in compiled steps.

    ``extra_of`` gives the plan's ``extra`` values for a scene, or for none.
    """

    def __init__(
        self, setup: Setup, plan: Plan, extra_of: Callable[[Any], Floats] | None = None
    ) -> None:
        self._setup = setup
        self._plan = plan
        #: Takes the texts of the newest result by their names, where there are outputs for them.
        self.show_texts: Callable[[Mapping[str, str]], None] = _ignore
        self.extra_of = extra_of
        self._collector = _Collector(self)
        self._storage = Storage.of(plan)
        #: How the inputs of a body are understood; the contract's are quaternions.
        self.body = setup.parameters.of(BodyParameters) if plan.is_body else AS_CONNECTED
        contract = replace(self.body, orientation_input=OrientationInput.quaternion)
        self._step = self.step(
            body=contract, storage=self._storage, sink=self._collector, most=MOST_RESULTS
        )
        self._held: Held | None = None

    def step(
        self,
        *,
        storage: Storage,
        sink: Sink | None = None,
        watched: Sequence[str] = (),
        resolve: Callable[[tuple[int, ...]], Floats] | None = None,
        body: BodyParameters | None = None,
        **others: Any,
    ) -> Step:
        """A step of this sensor on the values of a storage; all steps share the model's state."""
        return Step(
            self._plan,
            self._setup.sampling,
            start=self._setup.start,
            storage=storage,
            warn=self._setup.warn,
            sink=sink,
            watched=watched,
            resolve=resolve,
            body=self.body if body is None else body,
            **others,
        )

    @property
    def more_columns(self) -> Sequence[Any]:
        """Columns of a record (``output.records``) for the values after the readings."""
        return ()

    def result(self, index: int, time: float, values: Sequence[Any]) -> Result:
        """A sample from the values that the step gives."""
        return Result(index, time, tuple(values))

    def begin(self, inputs: Inputs) -> list[Result]:
        """Sample 0."""
        return self.advance(inputs, self._setup.start, self._setup.start)

    def advance(self, inputs: Inputs, t0: float, t1: float) -> list[Result]:
        """The samples that are due."""
        del t0  # the step knows this instant
        places = [self._storage.places[name] for name in self._plan.truth]
        self._storage.arrays[at.REAL][places] = inputs.state
        if inputs.held is not self._held:
            self._take(inputs.held)
        self._collector.results = []
        self._step.observe(t1, inputs.end)
        self._step.flush()
        return self._collector.results

    def _take(self, held: Held) -> None:
        values = held.groups.by_name()
        for name, kind in self._plan.held():
            self._storage.arrays[kind][self._storage.places[name]] = values[name]
        if self.extra_of is not None:
            self._step.give(self.extra_of(held.scene))
        self._held = held

    def state(self) -> Arrays:
        """Clock, newest states, held inputs and model."""
        return dict(self._step.state())

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor."""
        self._step.restore(arrays)
        self._held = None

    def close(self) -> None:
        """Nothing to release."""
