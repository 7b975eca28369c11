"""Encoder and odometer as sensors: what they are declared as, and how they are made."""

from dataclasses import dataclass

from sensor_models.core.faults import Fault, check_fault
from sensor_models.core.quantities import real
from sensor_models.core.random import stream_key
from sensor_models.core.sensor import Held, SampledSensor, Setup, Vector
from sensor_models.core.spec import Group, Groups, SensorSpec
from sensor_models.kernels.math.motion import interpolate_joint, interpolate_linear
from sensor_models.output.records import RecordParameters
from sensor_models.wheel.encoder import Encoder, EncoderParameters, EncoderReading, warnings_of
from sensor_models.wheel.odometer import Odometer, OdometerParameters, OdometerReading

FAULT, SPEED_FAULT = "fault", "fault.speed"


@dataclass(frozen=True)
class JointState:
    """The motion of a joint."""

    position: float = real(
        0.0, "rad", "Joint position, not wrapped (m for a linear joint)", name="joint.position"
    )
    velocity: float = real(
        0.0, "rad/s", "Joint velocity (m/s for a linear joint)", name="joint.velocity"
    )


@dataclass(frozen=True)
class WheelAngle:
    """The rotation of a wheel; the odometer has no use for its speed."""

    position: float = real(0.0, "rad", "Rotation of the wheel", name="joint.position")


def make_encoder(setup: Setup) -> SampledSensor:
    """The encoder with its noise stream."""
    own = setup.parameters.of(EncoderParameters)
    for warning in warnings_of(own):
        setup.warn(warning)
    model = Encoder(own, stream_key(setup.sampling.seed, setup.identity, "noise"))

    def measure(index: int, time: float, joint: Vector, held: Held) -> EncoderReading:
        faults = held.groups.of(Fault, FAULT), held.groups.of(Fault, SPEED_FAULT)
        return model.sample(index, time, joint[0], *faults)

    return SampledSensor(setup, model, measure, interpolate_joint, _check_encoder)


def _check_encoder(held: Groups) -> None:
    """The position ends at the limits of the encoder, the speed nowhere."""
    check_fault(held.of(Fault, FAULT), "position", has_limits=True)
    check_fault(held.of(Fault, SPEED_FAULT), "speed", has_limits=False)


def make_odometer(setup: Setup) -> SampledSensor:
    """The odometer with its noise stream."""
    key = stream_key(setup.sampling.seed, setup.identity, "noise")
    model = Odometer(setup.parameters.of(OdometerParameters), key)

    def measure(index: int, time: float, wheel: Vector, held: Held) -> OdometerReading:
        return model.sample(index, time, wheel[0], held.groups.of(Fault, FAULT))

    return SampledSensor(setup, model, measure, interpolate_linear, _check_odometer)


def _check_odometer(held: Groups) -> None:
    """A distance has no limits."""
    check_fault(held.of(Fault, FAULT), "distance", has_limits=False)


def _encoder_depends(output: str, given: str) -> bool:
    """A fault on the speed touches nothing but the speed."""
    return output == "speed" or not given.startswith(f"{SPEED_FAULT}.")


ENCODER = SensorSpec(
    name="Encoder",
    text="Rotary or linear encoder, incremental or absolute",
    create=make_encoder,
    state=(Group(JointState),),
    held=(Group(Fault, FAULT), Group(Fault, SPEED_FAULT)),
    parameters=(Group(EncoderParameters),),
    readings=(Group(EncoderReading),),
    sinks=(Group(RecordParameters),),
    depends=_encoder_depends,
)

ODOMETER = SensorSpec(
    name="Odometer",
    text="Wheel odometer",
    create=make_odometer,
    state=(Group(WheelAngle),),
    held=(Group(Fault, FAULT),),
    parameters=(Group(OdometerParameters),),
    readings=(Group(OdometerReading),),
    sinks=(Group(RecordParameters),),
)
