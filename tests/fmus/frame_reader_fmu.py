"""FMU ``FrameReader``: a model behind a lidar, which takes its points and its SensorData as Binary.

It tells how many points and detections there are, the sums of their distances, and a checksum of
the points. In a step it reads what was set before it.
"""

import ctypes
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from osi3.osi_sensordata_pb2 import SensorData

from fmus.fmi.base import FmuBase
from fmus.fmi.fmu_state import StateError
from fmus.fmi.variables import Variable, declare
from sensor_models.core.quantities import integer, real
from sensor_models.core.spec import Group
from sensor_models.lidar.sensor import CLOUD
from sensor_models.messages.osmp import BinaryInput, address_of, mime_type
from sensor_models.output.points import POINT

POINTS, DETECTIONS = "points", "OSMPSensorDataIn"


@dataclass(frozen=True)
class Summary:
    """What was read."""

    points: int = integer(0, "Number of points", name="points.count")
    ranges: float = real(0.0, "m", "Sum of the ranges of the points", name="points.ranges")
    checksum: int = integer(0, "CRC-32 of the points, signed", name="points.checksum")
    detections: int = integer(0, "Number of detections", name="detections.count")


class FrameReaderFmu(FmuBase):
    """The reader."""

    model_name = "FrameReader"
    description_text = "Reads points and messages"
    PARAMETERS = ()
    OUTPUTS = (Group(Summary),)
    messages: Mapping[str, str] = {
        POINTS: CLOUD.mime_type,
        DETECTIONS: mime_type("OSMPSensorDataOut"),
    }

    @classmethod
    def declared(cls) -> list[Variable]:
        """Two inputs of bytes and the summary."""
        inputs = [Group(BinaryInput, name) for name in cls.messages]
        return [*declare(inputs, "input"), *declare(cls.OUTPUTS, "output")]

    @classmethod
    def groups(cls) -> tuple[Group, ...]:
        """Its outputs."""
        return cls.OUTPUTS

    def create_run(self, start: float) -> "Reader":
        """A run."""
        return Reader(self)


class Reader:
    """A run of the reader."""

    inputs_at_step_end = False

    def __init__(self, fmu: FrameReaderFmu) -> None:
        self._fmu = fmu

    def open(self) -> None:
        """Nothing is written."""

    def begin(self) -> None:
        """Read what is there."""
        self.observe(0.0, 0.0)

    def observe(self, time: float, end: float) -> None:
        """Read both inputs."""
        points = np.frombuffer(self._bytes(POINTS), POINT)
        message = SensorData.FromString(self._bytes(DETECTIONS))
        detections = [d for s in message.feature_data.lidar_sensor for d in s.detection]
        found = {
            "points.count": len(points),
            "points.ranges": float(points["range"].sum(dtype=float)),
            "points.checksum": int(np.array([zlib.crc32(points.tobytes())], "u4").view("i4")[0]),
            "detections.count": len(detections),
        }
        for name, value in found.items():
            self._fmu.values.set(self._fmu.table().by_name[name], value)

    def _bytes(self, name: str) -> bytes:
        by_name, values = self._fmu.table().by_name, self._fmu.values
        low, high, size = (
            values.get(by_name[f"{name}.{role}"]) for role in ("base.lo", "base.hi", "size")
        )
        return ctypes.string_at(address_of(low, high), size) if size else b""

    def publish(self) -> None:
        """Nothing is written."""

    def close(self) -> None:
        """There is nothing to release."""

    def state(self) -> dict[str, NDArray[Any]]:
        """It remembers nothing."""
        return {"none": np.zeros(1)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """It remembers nothing."""
        if arrays.keys() != {"none"}:
            raise StateError("the state's arrays are not those of this FMU")
