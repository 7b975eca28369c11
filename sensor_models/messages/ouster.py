"""Raw packets of Ouster's sensors, so that drivers can be tested with simulated clouds.

A frame is sent as UDP packets of 16 columns each (``packets``), in the profile
RNG19_RFL8_SIG16_NIR16, one return; all numbers little endian:

    32 bytes    header: type 1, number of the frame, initialisation and serial number
    16 columns  of 12 bytes: time in ns, number of the column, status 1;
                then 12 bytes a pixel: range in mm (19 bits), reflectivity (8), signal (16), light
                around (16)
    32 bytes    footer, zeros: there is no checksum, as of firmware before 3.0

Column m looks along -2 pi m / columns; the beam of a row differs from this by its azimuth, which
counts clockwise. ``metadata`` is the JSON of the sensor's HTTP interface, which drivers need.
``capture`` writes packets to a file of captured traffic (PCAP), which drivers can replay.

If a cloud has several returns of a ray, the first one is in the packet. Reflectivities are those of
the points times 100, at most 255; a white plate has 100. Signal photons are not modelled: the field
holds the intensity in units of 1/65535 of that of a white plate. There is no ambient light.

Source: Ouster, "Software User Manual", firmware 2.3 to 3.1, "Lidar data packet format" and
"Sensor metadata"; IP and UDP headers by RFC 791 and 768; PCAP by draft-ietf-opsawg-pcap.
"""

import json
import math
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.messages.wire import Bytes
from sensor_models.output.points import Points

PROFILE = "RNG19_RFL8_SIG16_NIR16"
COLUMNS_PER_PACKET = 16
LIDAR_PORT = 7502
LARGEST_RANGE = 2**19 - 1  # mm
SERIAL = 122201000001

_PIXEL = np.dtype(
    [("range", "<u4"), ("reflectivity", "u1"), ("", "u1"), ("signal", "<u2"), ("near_ir", "<u2"),
     ("unused", "<u2")]
)  # fmt: skip
_HEADER = struct.Struct("<HH3s5s20x")


class Beams(NamedTuple):
    """The beams of a sensor, from the highest row down."""

    elevation: NDArray[np.float64]  # rad
    azimuth: NDArray[np.float64]  # rad, clockwise
    columns: int  # of a frame

    @classmethod
    def of(cls, elevation_deg: ArrayLike, azimuth_deg: ArrayLike, columns: int) -> "Beams":
        """Beams from tables in degrees."""
        elevation, azimuth = np.asarray(elevation_deg, float), np.asarray(azimuth_deg, float)
        return cls(np.radians(elevation), np.radians(azimuth), columns)

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.elevation)

    def rays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Azimuth and elevation of the rays of a frame, column by column, from the back on."""
        encoder = math.pi - math.tau * np.arange(self.columns) / self.columns
        azimuth = encoder[:, np.newaxis] - self.azimuth
        return azimuth.ravel(), np.tile(self.elevation, self.columns)


_SENSOR_INFO = {
    "prod_pn": "simulated",
    "prod_sn": str(SERIAL),
    "image_rev": "ousteros-image-prod-aries-v2.3.0",
    "build_rev": "v2.3.0",
    "build_date": "2022-01-01T00:00:00Z",
    "initialization_id": 1,
    "status": "RUNNING",
}
_SETTINGS = {
    "udp_port_lidar": LIDAR_PORT,
    "udp_port_imu": LIDAR_PORT + 1,
    "udp_profile_lidar": PROFILE,
    "timestamp_mode": "TIME_FROM_INTERNAL_OSC",
    "azimuth_window": [0, 360000],
    "columns_per_packet": COLUMNS_PER_PACKET,
}


def metadata(beams: Beams, rate: int = 10, product: str = "OS-1-128") -> str:
    """The metadata that drivers need of the sensor."""
    unit = np.eye(4).ravel().tolist()
    return json.dumps(
        {
            "sensor_info": {**_SENSOR_INFO, "prod_line": product},
            "lidar_data_format": {
                "pixels_per_column": beams.rows,
                "columns_per_packet": COLUMNS_PER_PACKET,
                "columns_per_frame": beams.columns,
                "column_window": [0, beams.columns - 1],
                "pixel_shift_by_row": pixel_shift(beams),
                "udp_profile_lidar": PROFILE,
                "udp_profile_imu": "LEGACY",
            },
            "beam_intrinsics": {
                "beam_altitude_angles": np.degrees(beams.elevation).tolist(),
                "beam_azimuth_angles": np.degrees(beams.azimuth).tolist(),
                "lidar_origin_to_beam_origin_mm": 0.0,
                "beam_to_lidar_transform": unit,
            },
            "lidar_intrinsics": {"lidar_to_sensor_transform": unit},
            "imu_intrinsics": {"imu_to_sensor_transform": unit},
            "calibration_status": {"reflectivity": {"valid": False, "timestamp": ""}},
            "config_params": {**_SETTINGS, "lidar_mode": f"{beams.columns}x{rate}"},
        },
        indent=1,
    )


def pixel_shift(beams: Beams) -> list[int]:
    """By how many columns each row is shifted for a picture without steps."""
    shift: list[int] = np.round(beams.azimuth * beams.columns / math.tau).astype(int).tolist()
    return shift


def packets(points: Points, beams: Beams, frame: int, start: float, duration: float) -> Bytes:
    """The packets of a frame, (packets, bytes); columns without points have no ranges.

    The points are in the sensor frame; ``start`` and ``duration`` of the frame in s give the
    columns their times.
    """
    count = -(-beams.columns // COLUMNS_PER_PACKET)
    head, foot = _HEADER.size, 32
    column = 12 + _PIXEL.itemsize * beams.rows
    sent = np.zeros((count, head + COLUMNS_PER_PACKET * column + foot), np.uint8)
    sent[:, :head] = np.frombuffer(_header(frame), np.uint8)
    columns = sent[:, head : head + COLUMNS_PER_PACKET * column].reshape(count, -1, column)
    number = np.arange(count * COLUMNS_PER_PACKET).reshape(count, -1)
    time = (start + duration * number / beams.columns) * 1e9
    columns[:, :, :8] = np.round(time).astype("<u8")[..., np.newaxis].view(np.uint8)
    columns[:, :, 8:10] = number.astype("<u2")[..., np.newaxis].view(np.uint8)
    columns[:, :, 10] = number < beams.columns  # valid
    pixels = np.zeros((count * COLUMNS_PER_PACKET, beams.rows), _PIXEL)
    _fill(pixels, points, beams)
    data = pixels.view(np.uint8).reshape(count, COLUMNS_PER_PACKET, -1)
    columns[:, :, 12:] = data
    return sent


def _header(frame: int) -> bytes:
    return _HEADER.pack(1, frame & 0xFFFF, (1).to_bytes(3, "little"), SERIAL.to_bytes(5, "little"))


def _fill(pixels: NDArray[np.void], points: Points, beams: Beams) -> None:
    """Put points into their pixels; of a ray the first return."""
    first = points[points["return_number"] <= 1]
    row = first["ring"].astype(np.int64)
    encoder = first["azimuth"] + beams.azimuth[row]
    column = np.round(-encoder * beams.columns / math.tau).astype(np.int64) % beams.columns
    millimetres = np.clip(np.round(first["range"] * 1e3), 0, LARGEST_RANGE)
    white = first["intensity"] * math.pi  # of a white plate
    pixels["range"][column, row] = millimetres.astype(np.uint32)
    pixels["reflectivity"][column, row] = np.clip(np.round(100.0 * white), 0, 255)
    pixels["signal"][column, row] = np.clip(np.round(65535.0 * white), 0, 65535)


# ---- captured traffic --------------------------------------------------------------------------


def capture(
    path: Path,
    frames: Iterable[tuple[float, Bytes]],
    port: int = LIDAR_PORT,
    address: Sequence[int] = (192, 0, 2, 1),
) -> int:
    """Write packets as captured traffic, from the time in s and the packets of each frame.

    Returns the number of packets.
    """
    count = 0
    with path.open("wb") as stream:
        # Microseconds, Ethernet.
        stream.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 16, 1))
        for time, sent in frames:
            for packet in sent:
                data = _ethernet(packet.tobytes(), port, bytes(address))
                seconds, micro = divmod(round(time * 1e6), 1_000_000)
                stream.write(struct.pack("<IIII", seconds, micro, len(data), len(data)) + data)
                count += 1
    return count


def _ethernet(data: bytes, port: int, source: bytes) -> bytes:
    """A packet with the headers of UDP, IP and Ethernet, as a broadcast."""
    udp = struct.pack(">HHHH", port, port, 8 + len(data), 0)
    total = 20 + len(udp) + len(data)
    fixed = struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0, 64, 17, 0) + source + b"\xff" * 4
    words = sum(struct.unpack(">10H", fixed))
    words = (words & 0xFFFF) + (words >> 16)
    checksum = struct.pack(">H", ~((words & 0xFFFF) + (words >> 16)) & 0xFFFF)
    ip = fixed[:10] + checksum + fixed[12:]
    return b"\xff" * 6 + b"\x02\0\0\0\0\1" + b"\x08\0" + ip + udp + data
