"""Files of full waveforms: las with waveform packets, byte by byte, and frames made in parts."""

import struct

import laspy
import numpy as np
import pytest

from sensor_models.lidar.parameters import OutputFrame
from sensor_models.output.clouds import CloudFile, CloudFormat
from sensor_models.scene.tracing import RayScene
from sensor_models.waveform import (
    ReceiverParameters,
    ReceiverType,
    WaveformLidar,
    WaveformParameters,
    clouds,
)
from tests import lidar_scenes as rig

NS = 1e-9
LIGHT_SPEED = 299_792_458.0
APD = ReceiverParameters(type=ReceiverType.apd)
#: A turned sensor off the origin.
POSE = (3.0, -2.0, 1.0, np.cos(0.2), 0.0, 0.0, np.sin(0.2))


def frame(receiver=APD, columns=60, **own):
    """A frame of a wall and a box before it: pulses with one echo, with two, and with none."""
    own = {"peak_power": 0.5, "subrays": 37, "t_stop": 200 * NS, **own}
    pattern = rig.aim(np.linspace(-0.6, 0.6, columns))
    lidar = WaveformLidar(WaveformParameters(**own), pattern, receiver, keeps=True, seed=3)
    seen = rig.scene(rig.box((10.0, -1.0, 0.0), (10.5, 1.0, 2.5)), rig.across(14.0, half=4.0))
    with RayScene(seen, 2) as rays:
        return lidar, lidar.capture(rays, POSE, out=lidar.new_cloud(normals=False, wide=True))


def descriptors(las):
    """Waveform packet descriptors of a file, from their bytes."""
    found = {}
    for vlr in las.header.vlrs:
        if vlr.user_id == "LASF_Spec" and 100 <= vlr.record_id < 355:
            found[vlr.record_id - 99] = struct.unpack("<BBIIdd", vlr.record_data_bytes())
    return found


def packets_in(content):
    """Where the extended record of the packets begins, at the end of the file, and its size."""
    assert struct.unpack_from("<H", content, 6)[0] & 0b110 == 0b10, "packets are in the file"
    (start,) = struct.unpack_from("<Q", content, 227)
    assert struct.unpack_from("<QI", content, 235) == (start, 1)
    _, user, record, size, _ = struct.unpack_from("<H16sHQ32s", content, start)
    assert (user.rstrip(b"\0"), record) == (b"LASF_Spec", 65535)
    assert start + 60 + size == len(content)
    return start, size


@pytest.mark.parametrize("world", [False, True])
def test_a_las_holds_the_waveform_of_each_point(tmp_path, world):
    output = OutputFrame.world if world else OutputFrame.sensor
    lidar, cloud = frame(output_frame=output)
    path = tmp_path / "frame.las"
    told = CloudFile(cloud, CloudFormat.las).write(path)
    points, rows, samples = cloud.points(), cloud.waves.rows(), cloud.waves.samples()
    las, content = laspy.read(path), path.read_bytes()
    assert told["points"] == len(points) == len(las.points) > 30
    assert las.header.point_format.id == 9
    start, size = packets_in(content)
    known = descriptors(las)
    assert {d[:2] for d in known.values()} == {(16, 0)}
    assert {d[3] for d in known.values()} == {500}, "ps"
    row_of_point = np.repeat(np.arange(len(rows)), rows["returns"])
    assert len(row_of_point) == len(points)
    lengths = set()
    for k, row in enumerate(rows[row_of_point]):
        _, _, length, spacing, gain, offset = known[int(las["wavepacket_index"][k])]
        at, held = int(las["wavepacket_offset"][k]), int(las["wavepacket_size"][k])
        assert held == 2 * length
        assert 60 <= at <= 60 + size - held
        counts = np.frombuffer(content, "<u2", length, start + at)
        own = samples[row["offset"] : row["offset"] + row["count"]]
        read = offset + gain * counts
        np.testing.assert_allclose(read[: len(own)], own, rtol=0.0, atol=0.6 * gain)
        np.testing.assert_allclose(read[len(own) :], 0.0, atol=0.6 * gain)
        lengths.add(length)
        assert np.abs(read).max() > 1000 * gain
        # The point lies in its packet where the signal has its echo.
        place = float(las["return_point_wave_location"][k]) / spacing
        assert read[round(place)] > 0.8 * points["amplitude"][k]
        # Along the line from there lies what came at other times: the sensor, for one.
        back = 2e12 * points["range"][k] / LIGHT_SPEED
        line = [float(las[f"{axis}_t"][k]) for axis in "xyz"]
        origin = [float(las[axis][k]) - back * step for axis, step in zip("xyz", line, strict=True)]
        np.testing.assert_allclose(origin, POSE[:3] if world else (0, 0, 0), atol=1e-3)
    assert len(lengths) > 1
    assert lidar.parameters_of_pulse.t_res == 0.5 * NS


def test_a_laz_has_the_same_packets(tmp_path):
    _, cloud = frame()
    files = [tmp_path / "frame.las", tmp_path / "frame.laz"]
    for path in files:
        CloudFile(cloud, CloudFormat[path.suffix[1:]]).write(path)
    one, other = (laspy.read(path) for path in files)
    for name in ("wavepacket_offset", "return_point_wave_location", "x_t", "amplitude"):
        np.testing.assert_array_equal(np.asarray(one[name]), np.asarray(other[name]))
    parts = [path.read_bytes() for path in files]
    begins = [struct.unpack_from("<Q", part, 227)[0] for part in parts]
    assert parts[0][begins[0] :] == parts[1][begins[1] :]


def test_points_alone_are_no_format_with_packets(tmp_path):
    _, cloud = frame()
    CloudFile(cloud.points(), CloudFormat.las).write(tmp_path / "points.las")
    assert laspy.read(tmp_path / "points.las").header.point_format.id == 6


@pytest.mark.parametrize("receiver", [ReceiverParameters(), APD])
def test_parts_of_a_frame_do_not_show(receiver, monkeypatch):
    _, whole = frame(receiver)
    monkeypatch.setattr(clouds, "IN_MEMORY", 64)
    monkeypatch.setattr("sensor_models.waveform.lidar.RAYS_AT_A_TIME", 7)
    _, parts = frame(receiver)
    assert len(parts.counts) < len(whole.counts)
    np.testing.assert_array_equal(parts.points(), whole.points())
    np.testing.assert_array_equal(parts.waves.rows(), whole.waves.rows())
    np.testing.assert_array_equal(parts.waves.samples(), whole.waves.samples())
    assert parts.nearest == whole.nearest
    np.testing.assert_array_equal(parts.nearest_point(), whole.nearest_point())
    nearest = whole.points()[np.argmin(whole.points()["range"])]
    assert parts.nearest_point()[0] == nearest


def test_memory_does_not_grow_with_the_pulses():
    small, large = (
        WaveformLidar(WaveformParameters(t_stop=1e-7), rig.ahead(count), keeps=True).new_cloud()
        for count in (100_000, 1_000_000)
    )
    with small.part(0), large.part(0):
        assert large.words.nbytes == small.words.nbytes < 1 << 26
    assert len(large.counts) <= clouds.RAYS_AT_A_TIME


def test_many_points_lie_in_a_file(monkeypatch):
    monkeypatch.setattr(clouds, "IN_MEMORY", 1000)
    store = clouds.Store(np.float32)
    for first in range(0, 5000, 100):
        store.add(np.arange(first, first + 100, dtype=np.float32))
    np.testing.assert_array_equal(store.all(), np.arange(5000, dtype=np.float32))
    seen = store.all()
    assert not seen.flags.writeable
    store.clear()
    assert len(store.all()) == 0
    store.add(np.zeros(100, np.float32))
    np.testing.assert_array_equal(seen, np.arange(5000), "who looks at them keeps them")


def test_memory_of_records_is_used_again_unless_somebody_looks_at_them():
    store = clouds.Store(np.float32)
    store.add(np.arange(50, dtype=np.float32))
    place = store.all().ctypes.data
    store.clear()
    store.add(np.ones(50, np.float32))
    assert store.all().ctypes.data == place
    seen = store.all()[10:20]
    store.clear()
    store.add(np.zeros(50, np.float32))
    np.testing.assert_array_equal(seen, 1.0)
    assert store.all().ctypes.data != place


def test_records_are_added_where_they_were_made(monkeypatch):
    for in_memory in (clouds.IN_MEMORY, 64):
        monkeypatch.setattr(clouds, "IN_MEMORY", in_memory)
        store = clouds.Store(np.float32)
        for first in range(0, 60, 20):
            store.room(30)[:20] = np.arange(first, first + 20)
            store.filled(20)
        np.testing.assert_array_equal(store.all(), np.arange(60))
