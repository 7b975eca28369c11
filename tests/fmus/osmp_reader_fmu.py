"""FMU ``OsmpReader``: a model behind a sensor, which reads the SensorData that it is given.

It decodes with the classes that ASAM publishes, and tells how many detections there are, the sums
of their numbers and a checksum over all of them.
"""

import ctypes
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from osi3.osi_sensordata_pb2 import SensorData

from sensor_models.core.frames import BodyState, interpolate_body
from sensor_models.core.quantities import integer, real
from sensor_models.core.sensor import Held, SampledSensor, Setup, Vector
from sensor_models.core.spec import Group, SensorSpec
from sensor_models.messages.osmp import BinaryInput, address_of

DATA_IN = "OSMPSensorDataIn"


@dataclass(frozen=True)
class Summary:
    """What was read."""

    detections: int = integer(0, "Number of detections")
    cycle: int = integer(0, "Cycle counter of the message")
    time: float = real(0.0, "s", "Instant of the measurement", name="measurement.time")
    distances: float = real(0.0, "m", "Sum of the distances")
    checksum: int = integer(0, "CRC-32 of all numbers of all detections, signed")


def numbers_of(message: SensorData) -> NDArray[np.float64]:
    """Distance, azimuth, elevation, object and beam of each detection of the first lidar."""
    found = [
        (
            d.position.distance,
            d.position.azimuth,
            d.position.elevation,
            d.object_id.value,
            d.beam_id.value,
        )
        for d in message.feature_data.lidar_sensor[0].detection
    ]
    return np.array(found, np.float64).reshape(-1, 5)


def checksum_of(numbers: NDArray[np.float64]) -> int:
    """The checksum of these."""
    return int(np.array([zlib.crc32(np.ascontiguousarray(numbers).tobytes())], "u4").view("i4")[0])


class Nothing:
    """No state."""

    def __init__(self) -> None:
        self.state = np.zeros(1)

    def reset(self) -> None:
        """There is nothing to reset."""


def make_reader(setup: Setup) -> SampledSensor:
    """A reader."""

    def measure(index: int, time: float, body: Vector, held: Held) -> Summary:
        given = held.groups.of(BinaryInput, DATA_IN)
        address = address_of(given.base_lo, given.base_hi)
        if address == 0 or given.size == 0:
            return Summary()
        message = SensorData.FromString(ctypes.string_at(address, given.size))
        header, numbers = message.feature_data.lidar_sensor[0].header, numbers_of(message)
        return Summary(
            len(numbers),
            header.cycle_counter,
            header.measurement_time.seconds + 1e-9 * header.measurement_time.nanos,
            float(numbers[:, 0].sum()),
            checksum_of(numbers),
        )

    return SampledSensor(setup, Nothing(), measure, interpolate_body)


SPEC = SensorSpec(
    name="OsmpReader",
    text="Reads a SensorData",
    create=make_reader,
    state=(Group(BodyState),),
    held=(Group(BinaryInput, DATA_IN),),
    readings=(Group(Summary),),
)
