"""FMU ``Null``: the port of a body-mounted sensor around a model that costs nothing.

It shows what a call through all layers costs by itself, and that an FMU from outside the package
``fmus`` can be built and run beside the others.
"""

from dataclasses import dataclass

import numpy as np

from fmus.sensor_fmu import BodySensorFmu, Groups, Vector
from sensor_models.core.quantities import real

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


class NullFmu(BodySensorFmu):
    """A sensor that hands its inputs on."""

    model_name = "Null"
    description_text = "Copies its inputs"
    PARAMETERS = ()
    READING = NullReading

    def create_model(self, parameters: Groups, seed: int) -> NullModel:
        """A model without parameters and noise."""
        return NullModel()

    def measure(
        self, model: NullModel, index: int, time: float, truth: Vector, held: Groups
    ) -> NullReading:
        """The inputs, repeated until all outputs have one."""
        copies = truth.tolist()
        return NullReading((*copies, *copies[: OUTPUTS - len(copies)]))
