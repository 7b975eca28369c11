"""Encoder and odometer as sensors: what they are declared as, and how they are made."""

from dataclasses import dataclass

from sensor_models.core.faults import Fault
from sensor_models.core.quantities import real
from sensor_models.core.random import stream_key
from sensor_models.core.sensor import Setup
from sensor_models.core.spec import Group, SensorSpec
from sensor_models.core.stepped import SteppedSensor
from sensor_models.output.records import RecordParameters
from sensor_models.wheel.encoder import Encoder, EncoderParameters, EncoderReading, warnings_of
from sensor_models.wheel.errors import AngleErrors, DistanceErrors
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


def make_encoder(setup: Setup) -> SteppedSensor:
    """The encoder with its noise stream."""
    own = setup.parameters.of(EncoderParameters)
    for warning in warnings_of(own):
        setup.warn(warning)
    key = stream_key(setup.sampling.seed, setup.identity, "noise")
    model = Encoder(own, key, setup.parameters.of(AngleErrors))
    return SteppedSensor(setup, model.plan(setup.sampling.sample_rate))


def make_odometer(setup: Setup) -> SteppedSensor:
    """The odometer with its noise stream."""
    key = stream_key(setup.sampling.seed, setup.identity, "noise")
    errors = setup.parameters.of(DistanceErrors)
    model = Odometer(setup.parameters.of(OdometerParameters), key, errors)
    return SteppedSensor(setup, model.plan(setup.sampling.sample_rate))


def _encoder_depends(output: str, given: str) -> bool:
    """A fault on the speed touches nothing but the speed."""
    return output == "speed" or not given.startswith(f"{SPEED_FAULT}.")


ENCODER = SensorSpec(
    name="Encoder",
    text="Rotary or linear encoder, incremental or absolute",
    create=make_encoder,
    state=(Group(JointState),),
    held=(Group(Fault, FAULT), Group(Fault, SPEED_FAULT)),
    parameters=(Group(EncoderParameters), Group(AngleErrors)),
    readings=(Group(EncoderReading),),
    sinks=(Group(RecordParameters),),
    compiled=True,
    depends=_encoder_depends,
)

ODOMETER = SensorSpec(
    name="Odometer",
    text="Wheel odometer",
    create=make_odometer,
    state=(Group(WheelAngle),),
    held=(Group(Fault, FAULT),),
    parameters=(Group(OdometerParameters), Group(DistanceErrors)),
    readings=(Group(OdometerReading),),
    sinks=(Group(RecordParameters),),
    compiled=True,
)
