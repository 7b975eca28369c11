"""The nearest reading of a frame."""

from dataclasses import dataclass

from sensor_models.core.quantities import integer, real


@dataclass(frozen=True)
class NearestOutputs:
    """The reading with the least range; by default none."""

    range: float = real(0.0, "m", "Range of the nearest reading, in the sensor frame; 0 for none")
    azimuth: float = real(0.0, "rad", "Its azimuth in the sensor frame, positive to the left")
    elevation: float = real(0.0, "rad", "Its elevation in the sensor frame, positive upward")
    entity_id: int = integer(-1, "Its entity id; -1 for none or without segmentation")

    @property
    def values(self) -> tuple[float | int, ...]:
        """Range, azimuth, elevation and entity."""
        return self.range, self.azimuth, self.elevation, self.entity_id
