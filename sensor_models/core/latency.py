"""Results that come out some time after they were measured.

    shown in the first step that ends at or after      t_k + latency

The number, the instant and the values of a result stay those of its measurement; whoever takes
the result is given it later. A step may end earlier than that by a millionth of the sampling
period, because masters' instants are rounded.

Results on their way are a part of the state. Those that are on their way when a run ends never
come out.
"""

import math
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import ParameterError
from sensor_models.core.sensor import Arrays, Inputs, Result, SampledSensor, Setup
from sensor_models.core.spec import scalars_of

#: Results that may be on their way.
MOST_UNDER_WAY = 4096
#: Names of what is on its way in a saved state.
NUMBERS, TEXTS = "latency.numbers", "latency.texts"
#: What a step may end early by, as a share of the sampling period.
QUANTISED = 1e-6

_CASTS: dict[str, Any] = {"real": float, "boolean": bool}


def check_latency(latency: float, rate: float) -> None:
    """Refuse a latency with more results on their way than there is room for."""
    if latency == 0.0:
        return
    if not rate > 0.0:
        raise ParameterError(
            f"latency = {latency} s needs a sampling rate, which is {rate} Hz; allowed is 0 s, or "
            "a sample_rate above 0 Hz"
        )
    under_way = math.ceil(latency * rate) + 1
    if under_way > MOST_UNDER_WAY:
        raise ParameterError(
            f"latency = {latency} s at {rate} Hz has {under_way} samples under way, allowed are "
            f"{MOST_UNDER_WAY}"
        )


class DelayedSensor:
    """A sensor that samples, whose results come out late."""

    def __init__(self, setup: Setup, sensor: SampledSensor, latency: float) -> None:
        rate = setup.sampling.sample_rate
        check_latency(latency, rate)
        self._sensor, self._latency = sensor, latency
        self._tolerance = QUANTISED / rate if rate > 0.0 else 0.0
        self._kinds = [quantity.kind for _, quantity, _ in scalars_of(setup.spec.readings)]
        self._under_way: deque[Result] = deque()
        self._start = setup.start

    def begin(self, inputs: Inputs) -> Iterator[Result]:
        """Sample 0, if it comes out at once."""
        return self.advance(inputs, self._start, self._start)

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The results that come out until the end of the step."""
        if self._latency == 0.0:
            yield from self._sensor.advance(inputs, t0, t1)
            return
        end = t1 if inputs.end is None else inputs.end
        before = self._under_way.copy()
        try:
            for result in self._sensor.advance(inputs, t0, t1):
                if result.number == 0:
                    self._under_way.clear()
                self._under_way.append(result)
                yield from self._due(end)
            yield from self._due(end)
        except BaseException:
            self._under_way = before
            raise

    def _due(self, end: float) -> Iterator[Result]:
        rounding = self._tolerance + 4.0 * sys.float_info.epsilon * abs(end)
        while self._under_way and self._under_way[0].time + self._latency <= end + rounding:
            yield self._under_way.popleft()

    def state(self) -> Arrays:
        """That of the sensor, and what is on its way."""
        numbers = [
            [result.number, result.time, *self._of_kind(result, texts=False)]
            for result in self._under_way
        ]
        texts = [text for result in self._under_way for text in self._of_kind(result, texts=True)]
        width = 2 + len(self._kinds) - self._kinds.count("string")
        table = np.array(numbers, np.float64).reshape(len(numbers), width)
        joined = "".join(f"{text}\0" for text in texts).encode()
        return {
            **self._sensor.state(),
            NUMBERS: table,
            TEXTS: np.frombuffer(joined, np.uint8).copy(),
        }

    def _of_kind(self, result: Result, *, texts: bool) -> list[Any]:
        pairs = zip(self._kinds, result.values, strict=True)
        return [value for kind, value in pairs if (kind == "string") == texts]

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor."""
        under_way = deque(self._results(arrays[NUMBERS], arrays[TEXTS]))
        self._sensor.restore({n: a for n, a in arrays.items() if n not in (NUMBERS, TEXTS)})
        self._under_way = under_way

    def _results(self, numbers: NDArray[Any], joined: NDArray[Any]) -> Iterator[Result]:
        count = self._kinds.count("string")
        width = 2 + len(self._kinds) - count
        texts = joined.tobytes().decode().split("\0")[:-1]
        fits = numbers.ndim == 2 and numbers.shape[1] == width and numbers.dtype == np.float64
        if not fits or len(texts) != count * len(numbers) or not np.isfinite(numbers).all():
            raise ValueError("the results on their way do not fit this sensor")
        waiting = iter(texts)
        for number, time, *values in numbers.tolist():
            own = iter(values)
            given = tuple(
                next(waiting) if kind == "string" else _CASTS.get(kind, int)(next(own))
                for kind in self._kinds
            )
            yield Result(int(number), time, given)

    def close(self) -> None:
        """Give back what the sensor holds."""
        self._sensor.close()
