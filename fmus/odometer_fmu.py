"""FMU ``Odometer``: the distance that a wheel has rolled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fmus.sensor_fmu import SensorFmu, Signal, Vector
from sensor_models.faults import Fault
from sensor_models.kernels.motion import interpolate_linear
from sensor_models.odometer import Odometer, OdometerParameters, OdometerReading
from sensor_models.quantities import real


@dataclass(frozen=True)
class WheelAngle:
    """The rotation of a wheel; the odometer has no use for its speed."""

    position: float = real(0.0, "rad", "Rotation of the wheel", name="joint.position")


class OdometerFmu(SensorFmu):
    """The odometer model behind FMI variables."""

    model_name = "Odometer"
    description_text = "Wheel odometer"
    PARAMETERS: ClassVar = {"": OdometerParameters}
    TRUTH = WheelAngle
    FAULTS: ClassVar = {"fault": Signal("distance")}
    READING = OdometerReading
    interpolate = staticmethod(interpolate_linear)

    def create_model(self, parameters: Mapping[str, Any], seed: int) -> Odometer:
        """The odometer with its noise stream."""
        return Odometer(parameters[""], self.random_stream(seed, "noise"))

    def measure(
        self, model: Odometer, index: int, time: float, truth: Vector, faults: Mapping[str, Fault]
    ) -> OdometerReading:
        """One sample of the wheel's rotation."""
        return model.sample(index, time, truth[0], faults["fault"])
