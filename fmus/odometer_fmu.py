"""FMU ``Odometer``: the distance that a wheel has rolled."""

from dataclasses import dataclass

from fmus.sensor_fmu import Group, Groups, SensorFmu, Vector
from sensor_models.core.faults import Fault, check_fault
from sensor_models.core.quantities import real
from sensor_models.core.random import stream_key
from sensor_models.kernels.math.motion import interpolate_linear
from sensor_models.wheel.odometer import Odometer, OdometerParameters, OdometerReading


@dataclass(frozen=True)
class WheelAngle:
    """The rotation of a wheel; the odometer has no use for its speed."""

    position: float = real(0.0, "rad", "Rotation of the wheel", name="joint.position")


class OdometerFmu(SensorFmu):
    """The odometer model behind FMI variables."""

    model_name = "Odometer"
    description_text = "Wheel odometer"
    PARAMETERS = (Group(OdometerParameters),)
    TRUTH = (Group(WheelAngle),)
    HELD = (Group(Fault, "fault"),)
    READING = OdometerReading
    interpolate = staticmethod(interpolate_linear)

    def check_held(self, held: Groups, parameters: Groups) -> None:
        """A distance has no limits."""
        check_fault(held.of(Fault, "fault"), "distance", has_limits=False)

    def create_model(self, parameters: Groups, seed: int) -> Odometer:
        """The odometer with its noise stream."""
        return Odometer(parameters.of(OdometerParameters), stream_key(seed, self.identity, "noise"))

    def measure(
        self, model: Odometer, index: int, time: float, truth: Vector, held: Groups
    ) -> OdometerReading:
        """One sample of the wheel's rotation."""
        return model.sample(index, time, truth[0], held.of(Fault, "fault"))
