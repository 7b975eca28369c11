"""What the FMUs of accelerometer, gyroscope, magnetometer and IMU share."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from fmus.scene_sensor import SceneUse
from fmus.sensor_fmu import BodySensorFmu, Group, Groups, Vector
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.faults import Fault, check_fault
from sensor_models.core.frames import XYZ, BodyState, MountParameters
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.quantities import integer, real
from sensor_models.inertial.magnetic_field import uniform
from sensor_models.inertial.triaxial import TriaxialParameters, has_limits
from sensor_models.inertial.unit import ROOM_TEMPERATURE, AccelerationInputs, GravityParameters


@dataclass(frozen=True)
class BodyAccelerations:
    """What a master may know of the motion beside the velocities."""

    acceleration: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m/s2",
        "Acceleration of the body's origin in the world frame, where use_acceleration_inputs",
        components=XYZ,
        name="body.acceleration",
    )
    angular_acceleration: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "rad/s2",
        "Angular acceleration of the body in the world frame, where use_acceleration_inputs",
        components=XYZ,
        name="body.angular_acceleration",
    )


@dataclass(frozen=True)
class Surroundings:
    """What acts on the sensor itself."""

    temperature: float = real(
        ROOM_TEMPERATURE, "K", "Temperature of the sensor, for temperature slopes", minimum=0.0
    )


@dataclass(frozen=True)
class SceneInput:
    """The world around. What holds this input keeps its scene open; no such scene is an error."""

    scene_handle: int = integer(
        0, "Handle of a scene; 0 takes the magnetic field of the parameters", minimum=0
    )
    use: SceneUse = field(default_factory=SceneUse, init=False, compare=False)

    def __post_init__(self) -> None:
        self.use.see(self.scene_handle)


class InertialFmu(BodySensorFmu):
    """A sensor with three axes for each of its signals."""

    TRUTH: ClassVar[tuple[Group, ...]] = (Group(BodyState), Group(BodyAccelerations))
    BODY: ClassVar[tuple[Group, ...]] = (
        Group(MountParameters),
        Group(PlacementParameters),
        Group(GravityParameters),
        Group(AccelerationInputs),
    )
    #: For each signal with axes: the prefix of its groups, its parameters, its name for people.
    SIGNALS: ClassVar[tuple[tuple[str, type[TriaxialParameters], str], ...]]
    default_step = 0.001

    _newest_held: Groups | None = None
    _newest_faults: tuple[Fault, ...] = ()

    @staticmethod
    def fault_groups(*prefixes: str) -> tuple[Group, ...]:
        """A fault on each axis of the signals with these prefixes."""
        dotted = [f"{prefix}." if prefix else "" for prefix in prefixes]
        return tuple(Group(Fault, f"{dot}fault.{axis}") for dot in dotted for axis in XYZ)

    def mount(self, parameters: Groups, seed: int) -> MountParameters:
        """Where the sensor sits on its body in this run."""
        placement = parameters.of(PlacementParameters)
        return placed(parameters.of(MountParameters), placement, seed, self.identity)

    def check_held(self, held: Groups, parameters: Groups) -> None:
        """An axis has limits where its saturation is on."""
        for prefix, declaring, signal in self.SIGNALS:
            own = parameters.of(declaring, prefix)
            for axis, group in enumerate(self.fault_groups(prefix)):
                limited = has_limits(own, axis)
                check_fault(held.of(Fault, group.prefix), f"{signal}.{XYZ[axis]}", limited)

    def measure(self, model: Any, index: int, time: float, truth: Vector, held: Groups) -> Any:
        """One sample of the body's motion."""
        if held is not self._newest_held:  # held inputs seldom change
            prefixes = [prefix for prefix, _, _ in self.SIGNALS]
            self._newest_faults = tuple(
                held.of(Fault, group.prefix) for group in self.fault_groups(*prefixes)
            )
            around = held.instances.get(Group(SceneInput))
            if around is not None:
                scene = around.use.scene
                model.use_field(None if scene is None else uniform(scene.scene.magnetic_field))
            self._newest_held = held
        temperature = held.of(Surroundings).temperature
        return model.sample(index, time, truth, temperature, self._newest_faults)

    def close(self) -> None:
        """End the run, and the use of its scene."""
        super().close()
        self._newest_held = None


class MotionSensorFmu(InertialFmu):
    """One sensor that feels the motion of its body."""

    HELD = (Group(Surroundings), *InertialFmu.fault_groups(""))
    #: The model, whose parameters are those of its one signal.
    MODEL: ClassVar[type[Any]]

    def create_model(self, parameters: Groups, seed: int) -> Any:
        """The sensor with its noise streams."""
        ((_, declaring, _),) = self.SIGNALS
        return self.MODEL(
            parameters.of(declaring),
            self.mount(parameters, seed),
            seed,
            self.identity,
            parameters.of(SamplingParameters).sample_rate,
            parameters.of(GravityParameters),
            parameters.of(AccelerationInputs),
        )
