"""FMU ``Encoder``: a rotary or linear encoder on a joint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fmus.sensor_fmu import SensorFmu, Signal, Vector
from sensor_models.encoder import Encoder, EncoderParameters, EncoderReading, warnings_of
from sensor_models.faults import Fault
from sensor_models.kernels.motion import interpolate_joint
from sensor_models.quantities import real


@dataclass(frozen=True)
class JointState:
    """The motion of a joint."""

    position: float = real(
        0.0, "rad", "Joint position, not wrapped (m for a linear joint)", name="joint.position"
    )
    velocity: float = real(
        0.0, "rad/s", "Joint velocity (m/s for a linear joint)", name="joint.velocity"
    )


class EncoderFmu(SensorFmu):
    """The encoder model behind FMI variables."""

    model_name = "Encoder"
    description_text = "Rotary or linear encoder, incremental or absolute"
    PARAMETERS: ClassVar = {"": EncoderParameters}
    TRUTH = JointState
    FAULTS: ClassVar = {
        "fault": Signal("position", has_limits=True),
        "fault.speed": Signal("speed"),
    }
    READING = EncoderReading
    interpolate = staticmethod(interpolate_joint)

    @classmethod
    def inputs_of(cls, output: str) -> Sequence[str]:
        """A fault on the speed touches nothing but the speed."""
        inputs = super().inputs_of(output)
        return [i for i in inputs if output == "speed" or not i.startswith("fault.speed.")]

    def create_model(self, parameters: Mapping[str, Any], seed: int) -> Encoder:
        """The encoder with its noise stream."""
        for warning in warnings_of(parameters[""]):
            self.warn(warning)
        return Encoder(parameters[""], self.random_stream(seed, "noise"))

    def measure(
        self, model: Encoder, index: int, time: float, truth: Vector, faults: Mapping[str, Fault]
    ) -> EncoderReading:
        """One sample of the joint's position."""
        return model.sample(index, time, truth[0], faults["fault"], faults["fault.speed"])
