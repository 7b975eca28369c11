"""Ouster's packets, read back by a decoder of our own and by the maker's SDK where that is."""

import json
import math
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.messages import ouster
from sensor_models.output.points import POINT

#: An interpreter with ``ouster-sdk``, whose packages do not go along with those of the tests.
SDK = os.environ.get("OUSTER_PYTHON", sys.executable)
READER = Path(__file__).with_name("read_ouster.py")
COLUMNS, DURATION = 512, 0.1


def beams() -> ouster.Beams:
    return ouster.Beams.of(
        np.linspace(20.0, -20.0, 32), np.tile([-4.2, -1.4, 1.4, 4.2], 8), COLUMNS
    )


def cloud(seed: int = 4) -> Any:
    """A point for every second ray, the azimuths in the middle of their columns but for noise."""
    own, draw = beams(), np.random.default_rng(seed)
    column, row = np.meshgrid(np.arange(COLUMNS), np.arange(own.rows), indexing="ij")
    points = np.zeros(column.size, POINT)
    noise = draw.uniform(-0.2, 0.2, column.size) * math.tau / COLUMNS
    encoder = math.pi - math.tau * column.ravel() / COLUMNS
    points["azimuth"] = encoder - own.azimuth[row.ravel()] + noise
    points["elevation"], points["ring"] = own.elevation[row.ravel()], row.ravel()
    points["range"] = draw.uniform(0.5, 500.0, column.size)
    points["intensity"] = draw.uniform(0.0, 1.0, column.size) / math.pi
    points["return_number"] = 1
    return points[::2]


def expected() -> tuple[Any, Any]:
    """Ranges in mm and reflectivities by row and column."""
    points, own = cloud(), beams()
    ranges, light = np.zeros((own.rows, COLUMNS), int), np.zeros((own.rows, COLUMNS), int)
    place = np.arange(COLUMNS * own.rows)[::2]
    column = (place // own.rows - COLUMNS // 2) % COLUMNS  # the first looks back
    ranges[place % own.rows, column] = np.round(points["range"] * 1e3)
    light[place % own.rows, column] = np.round(100.0 * math.pi * points["intensity"])
    return ranges, light


def test_packets_have_the_layout_of_the_profile() -> None:
    sent = ouster.packets(cloud(), beams(), 70000, 2.0, DURATION)
    rows = beams().rows
    assert sent.shape == (COLUMNS // 16, 32 + 16 * (12 + 12 * rows) + 32)
    ranges, light = expected()
    for number, packet in enumerate(sent):
        data = packet.tobytes()
        kind, frame = struct.unpack_from("<HH", data)
        assert (kind, frame) == (1, 70000 % 65536)
        for k in range(16):
            at = 32 + k * (12 + 12 * rows)
            time, column, status = struct.unpack_from("<QHH", data, at)
            assert (column, status) == (16 * number + k, 1)
            assert time == round((2.0 + DURATION * column / COLUMNS) * 1e9)
            for row in range(rows):
                first, second, signal, around, _ = struct.unpack_from(
                    "<IHHHH", data, at + 12 + 12 * row
                )
                assert first & 0x7FFFF == ranges[row, column]
                assert abs((second & 0xFF) - light[row, column]) <= 1
                assert around == 0
                assert abs(signal / 655.35 - light[row, column]) <= 0.51


def test_metadata_names_beams_and_profile() -> None:
    known = json.loads(ouster.metadata(beams(), rate=20))
    assert known["config_params"]["lidar_mode"] == "512x20"
    assert known["lidar_data_format"]["udp_profile_lidar"] == "RNG19_RFL8_SIG16_NIR16"
    assert known["beam_intrinsics"]["beam_altitude_angles"] == pytest.approx(
        np.linspace(20.0, -20.0, 32)
    )
    assert known["lidar_data_format"]["pixel_shift_by_row"][:4] == [-6, -2, 2, 6]


def test_captured_traffic_has_valid_headers(tmp_path: Path) -> None:
    sent = ouster.packets(cloud(), beams(), 1, 0.0, DURATION)
    assert ouster.capture(tmp_path / "a.pcap", [(1.5, sent)]) == len(sent)
    data = (tmp_path / "a.pcap").read_bytes()
    seconds, micro, length, _ = struct.unpack_from("<IIII", data, 24)
    assert (seconds, micro, length) == (1, 500_000, 14 + 20 + 8 + sent.shape[1])
    ip = data[24 + 16 + 14 :]
    words = sum(struct.unpack(">10H", ip[:20]))
    assert (words & 0xFFFF) + (words >> 16) == 0xFFFF  # the checksum fits
    assert struct.unpack(">HHH", ip[20:26]) == (7502, 7502, 8 + sent.shape[1])


def test_packets_go_through_a_socket() -> None:
    sent = ouster.packets(cloud(), beams(), 1, 0.0, DURATION)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5.0)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for packet in sent:
                sender.sendto(packet.tobytes(), receiver.getsockname())
                assert receiver.recv(65536) == packet.tobytes()


def has_sdk() -> bool:
    done = subprocess.run([SDK, "-c", "import ouster.sdk"], capture_output=True, check=False)
    return done.returncode == 0


def test_the_sdk_reads_what_the_lidar_saw(tmp_path: Path) -> None:
    if not has_sdk():
        pytest.skip("needs ouster-sdk in an interpreter that OUSTER_PYTHON names")
    frames = [
        (2.0 + 0.1 * k, ouster.packets(cloud(), beams(), k, 2.0 + 0.1 * k, DURATION))
        for k in range(2)
    ]
    ouster.capture(tmp_path / "a.pcap", frames)
    (tmp_path / "a.json").write_text(ouster.metadata(beams(), product="OS-1-32"))
    files = [str(tmp_path / name) for name in ("a.pcap", "a.json", "read.npz")]
    subprocess.run([SDK, str(READER), *files], check=True, capture_output=True)
    read = np.load(tmp_path / "read.npz")
    ranges, light = expected()
    points, own = cloud(), beams()
    for k in range(2):
        assert read[f"number {k}"].tolist() == [k]
        assert read[f"complete {k}"].all()
        assert read[f"range {k}"].tolist() == ranges.tolist()
        assert np.abs(read[f"reflectivity {k}"].astype(int) - light).max() <= 1
        assert read[f"time {k}"][0] == round((2.0 + 0.1 * k) * 1e9)
    place = np.arange(COLUMNS * own.rows)[::2]
    column = (place // own.rows - COLUMNS // 2) % COLUMNS
    found = read["place 0"][place % own.rows, column]
    level = np.cos(points["elevation"].astype(float)) * points["range"]
    wanted = np.stack(
        [
            level * np.cos(points["azimuth"].astype(float)),
            level * np.sin(points["azimuth"].astype(float)),
            np.sin(points["elevation"].astype(float)) * points["range"],
        ],
        axis=1,
    )
    # Millimetres along the ray, a fifth of a column across it.
    allowed = 1e-3 + 0.2 * math.tau / COLUMNS * points["range"]
    assert (np.linalg.norm(found - wanted, axis=1) <= allowed * 1.01).all()
