"""FMU ``Null``: the port of a body-mounted sensor around a model that costs nothing.

It shows what a call through all layers costs by itself, and that an FMU of a sensor that is
declared outside of the project can be built and run beside the others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import BodyState, interpolate_body
from sensor_models.core.quantities import real
from sensor_models.core.sensor import Held, SampledSensor, Setup
from sensor_models.core.spec import Group, SensorSpec
from sensor_models.output.records import RecordParameters

OUTPUTS = 19  # with sample.time, 20 Reals


@dataclass(frozen=True)
class NullReading:
    """Copies of inputs."""

    value: tuple[float, ...] = real(
        (0.0,) * OUTPUTS,
        "1",
        "Copy of an input",
        components=tuple(f"copy_{n}" for n in range(1, OUTPUTS + 1)),
    )


class NullModel:
    """No model at all."""

    def __init__(self) -> None:
        self.state = np.zeros(1)

    def reset(self) -> None:
        """There is nothing to reset."""


def make_null(setup: Setup) -> SampledSensor:
    """A sensor that hands its inputs on, repeated until all outputs have one."""

    def measure(index: int, time: float, body: NDArray[np.float64], held: Held) -> NullReading:
        copies = body.tolist()
        return NullReading((*copies, *copies[: OUTPUTS - len(copies)]))

    return SampledSensor(setup, NullModel(), measure, interpolate_body)


SPEC = SensorSpec(
    name="Null",
    text="Copies its inputs",
    create=make_null,
    state=(Group(BodyState),),
    readings=(Group(NullReading),),
    sinks=(Group(RecordParameters),),
)
