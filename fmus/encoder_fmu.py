"""FMU ``Encoder``: a rotary or linear encoder on a joint."""

from collections.abc import Sequence
from dataclasses import dataclass

from fmus.sensor_fmu import Group, Groups, SensorFmu, Vector
from sensor_models.core.faults import Fault, check_fault
from sensor_models.core.quantities import real
from sensor_models.core.random import stream_key
from sensor_models.kernels.math.motion import interpolate_joint
from sensor_models.wheel.encoder import Encoder, EncoderParameters, EncoderReading, warnings_of


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
    PARAMETERS = (Group(EncoderParameters),)
    TRUTH = (Group(JointState),)
    HELD = (Group(Fault, "fault"), Group(Fault, "fault.speed"))
    READING = EncoderReading
    interpolate = staticmethod(interpolate_joint)

    @classmethod
    def inputs_of(cls, output: str) -> Sequence[str]:
        """A fault on the speed touches nothing but the speed."""
        inputs = super().inputs_of(output)
        return [i for i in inputs if output == "speed" or not i.startswith("fault.speed.")]

    def check_held(self, held: Groups, parameters: Groups) -> None:
        """The position ends at the limits of the encoder, the speed nowhere."""
        check_fault(held.of(Fault, "fault"), "position", has_limits=True)
        check_fault(held.of(Fault, "fault.speed"), "speed", has_limits=False)

    def create_model(self, parameters: Groups, seed: int) -> Encoder:
        """The encoder with its noise stream."""
        own = parameters.of(EncoderParameters)
        for warning in warnings_of(own):
            self.warn(warning)
        return Encoder(own, stream_key(seed, self.identity, "noise"))

    def measure(
        self, model: Encoder, index: int, time: float, truth: Vector, held: Groups
    ) -> EncoderReading:
        """One sample of the joint's position."""
        faults = held.of(Fault, "fault"), held.of(Fault, "fault.speed")
        return model.sample(index, time, truth[0], *faults)
