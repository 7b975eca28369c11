"""What all sensor FMUs share: sampling, faults, presets and records.

A sensor's own module declares what its model takes and gives, and how to measure one sample::

    class OdometerFmu(SensorFmu):
        model_name = "Odometer"
        PARAMETERS = (Group(OdometerParameters),)
        TRUTH = (Group(WheelAngle),)             # inputs that are interpolated between steps
        HELD = (Group(Fault, "fault"),)          # inputs that hold until they are set again
        READING = OdometerReading                # outputs

        def create_model(self, parameters, seed): ...
        def measure(self, model, index, time, truth, held): ...

Data flows one way: inputs -> ``Timeline`` (which samples are due, the truth at each) ->
``measure`` -> outputs and record. Values, life cycle and saved states are those of all FMUs, see
``base``.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fmus.base import PRESET, FmuBase
from fmus.run import SensorRun, Vector
from fmus.variables import Group, Groups, Variable, declare
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import BodyState
from sensor_models.core.quantities import integer, real, string
from sensor_models.kernels.math.motion import interpolate_body
from sensor_models.output.records import RecordParameters

__all__ = ["BodySensorFmu", "Group", "Groups", "SensorFmu", "Vector"]


@dataclass(frozen=True)
class PresetParameters:
    """Which product the sensor is."""

    preset: str = string(
        "",
        "Named parameter set; a parameter set to something else than its start wins over it",
        name=PRESET,
    )


@dataclass(frozen=True)
class SampleOutputs:
    """Outputs that every sensor has."""

    count: int = integer(0, "Number of samples so far", name="sample.count")
    time: float = real(0.0, "s", "Instant the newest sample belongs to", name="sample.time")


class SensorFmu(FmuBase):
    """An FMU around one sensor model."""

    TRUTH: ClassVar[tuple[Group, ...]]
    HELD: ClassVar[tuple[Group, ...]] = ()
    READING: ClassVar[type]
    SHARED: ClassVar[tuple[Group, ...]] = (
        Group(PresetParameters),
        Group(SamplingParameters),
        Group(RecordParameters),
    )

    # ---- what a sensor adds ------------------------------------------------------------------

    @abstractmethod
    def create_model(self, parameters: Groups, seed: int) -> Any:
        """The model with these parameters; has ``reset()`` and a ``state`` array."""

    @abstractmethod
    def measure(self, model: Any, index: int, time: float, truth: Vector, held: Groups) -> Any:
        """One sample as an instance of READING."""

    def check_held(self, held: Groups, parameters: Groups) -> None:
        """Refuse held inputs that cannot be applied together, or to this sensor."""

    @staticmethod
    def interpolate(before: Vector, after: Vector, duration: float, fraction: float) -> Vector:
        """The truth between two known ones (a kernel of ``sensor_models.kernels.math.motion``)."""
        raise TypeError("a sensor FMU must say how its inputs are interpolated")

    def prepare_truth(self, truth: Vector) -> Vector:
        """The inputs as the model takes them; raises if they make no sense together."""
        return truth

    # ---- what it is made of ------------------------------------------------------------------

    @classmethod
    def declared(cls) -> list[Variable]:
        """Inputs, parameters and outputs, from the declarations of the model."""
        return [
            *declare((*cls.TRUTH, *cls.HELD), "input"),
            *declare((*cls.PARAMETERS, *cls.SHARED), "parameter"),
            *declare((Group(cls.READING), Group(SampleOutputs)), "output"),
        ]

    @classmethod
    def inputs_of(cls, output: str) -> Sequence[str]:
        """All inputs, but for the sample's number and time."""
        return () if output.startswith("sample.") else super().inputs_of(output)

    def create_run(self, start: float) -> SensorRun:
        """The model with its clock; measures sample 0 when it first observes."""
        return SensorRun(self, start)

    @property
    def identity(self) -> str:
        """Whose random numbers these are: equal ones share their noise."""
        return f"{self.model_name}/{self.instance_name}"


class BodySensorFmu(SensorFmu):
    """A sensor that is mounted on a moving body and takes its whole state."""

    TRUTH: ClassVar[tuple[Group, ...]] = (Group(BodyState),)
    interpolate = staticmethod(interpolate_body)

    def prepare_truth(self, truth: Vector) -> Vector:
        """Normalise the orientation."""
        self.normalise_orientation(truth)
        return truth
