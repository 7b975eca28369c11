"""Frames and messages as Binary of FMI 3.0: their bytes, their lives, and who may set them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from fmpy.fmi1 import FMICallException
from osi3.osi_sensordata_pb2 import SensorData

from sensor_models.output.clouds import CloudFormat
from sensor_models.output.images import ImageFormat
from tests.fmus import frame_reader_fmu
from tests.fmus.fmi.test_osi_fmus import bytes_at, on_rails, view_of
from tests.fmus.fmi.test_osi_fmus import parameters_of as with_osi
from tests.fmus.histories import CAMERA, LIDAR, PICTURE, RADAR, WAVEFORM
from tests.fmus.host import Instance, open_fmu
from tests.fmus.twins import Twin, build_frame_reader, open_twin
from tests.rail_scene import write_rail

#: A lidar that is where it sees something.
HIGH = {**LIDAR, "mount.position.z": 1.5}
#: Sensors, the Binary, parameters with which there is something in it, and how its files are named.
FRAMES: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "Lidar": ("frame.cloud", HIGH, {"output_format": CloudFormat.npy}, "points.npy"),
    "WaveformLidar": ("frame.cloud", WAVEFORM, {"output_format": CloudFormat.npy}, "points.npy"),
    "DepthCamera": ("frame.image", CAMERA, {"output_format": ImageFormat.npy}, "depth.npy"),
    "CcdCamera": ("frame.image", PICTURE, {"output_format": ImageFormat.npy}, "picture.npy"),
    "Radar": ("frame.detections", RADAR, {"output_format": 0}, "detections.parquet"),
}
STEP = 0.05


def run(instance: Instance, steps: int, first: int = 0) -> None:
    """Steps along a straight way."""
    for k in range(first, first + steps):
        instance.set({"body.position.x": 0.2 * k * STEP, "body.orientation.w": 1.0})
        instance.step(k * STEP, STEP)


def content_of(path: Path) -> np.ndarray[Any, Any]:
    """What a file of a frame holds."""
    if path.suffix == ".npy":
        return np.load(path)
    table = pyarrow.parquet.read_table(path)
    return np.array([table[name].to_numpy() for name in table.column_names])


@pytest.mark.parametrize("model", FRAMES)
def test_a_frame_in_memory_is_that_in_the_file(
    fmu3_directory: Path, tmp_path: Path, model: str
) -> None:
    name, parameters, form, ending = FRAMES[model]
    own = {**parameters, **form, "write_files": 2, "output_directory": str(tmp_path)}
    with open_twin(fmu3_directory / f"{model}.fmu") as twin:
        twin.initialize(own)
        assert twin.binary(name) == b""
        run(twin, 6)
        count, content = twin.get("frame.count"), twin.binary(name)
        twin.terminate()
    (file,) = tmp_path.rglob(f"*-{count - 1:06d}.{ending}")
    stored = content_of(file)
    if ending.endswith(".npy"):
        assert len(content) > 0
        assert content == stored.tobytes()
    else:
        rows = np.frombuffer(content, twin.record_of(name))
        record = rows.dtype
        assert len(rows) > 0
        columns = np.array([rows[field] for field in record.names or ()])
        np.testing.assert_array_equal(columns, stored)


def test_the_declared_fields_are_those_of_the_points(fmu3_directory: Path) -> None:
    with open_twin(fmu3_directory / "Lidar.fmu") as lidar:
        lidar.initialize(HIGH)
        run(lidar, 4)
        points = np.frombuffer(lidar.binary("frame.cloud"), lidar.record_of("frame.cloud"))
        assert len(points) == lidar.get("frame.points") > 0
        assert points["range"].min() == pytest.approx(lidar.get("nearest.range"))


def test_reading_is_no_copy_and_the_bytes_stay_until_the_next_frame(fmu3_directory: Path) -> None:
    with open_twin(fmu3_directory / "Lidar.fmu") as lidar:
        lidar.initialize(HIGH)
        run(lidar, 4)
        lidar.step(4 * STEP, 1e-6)
        first, second = lidar.view("frame.cloud"), lidar.view("frame.cloud")
        assert first.ctypes.data == second.ctypes.data
        before = first.copy()
        lidar.outputs()
        lidar.saved()
        assert np.array_equal(first, before)
        count = lidar.get("frame.count")
        lidar.step(4 * STEP + 1e-6, 1e-6)  # no frame
        assert lidar.get("frame.count") == count
        assert np.array_equal(lidar.view("frame.cloud"), before)


def test_labels_are_there_if_they_are_wanted(fmu3_directory: Path) -> None:
    for wanted in (False, True):
        with open_twin(fmu3_directory / "DepthCamera.fmu") as camera:
            camera.initialize({**CAMERA, "segmentation": wanted})
            run(camera, 3)
            labels = np.frombuffer(camera.binary("frame.labels"), "<i4")
            shape = camera.get("frame.height"), camera.get("frame.width")
            assert labels.size == (shape[0] * shape[1] if wanted else 0)
            image = np.frombuffer(camera.binary("frame.image"), "<f4").reshape(shape)
            assert np.nanmin(image) > 0.0


def test_after_a_state_there_is_no_frame_until_the_next(fmu3_directory: Path) -> None:
    with open_twin(fmu3_directory / "Lidar.fmu") as lidar:
        lidar.initialize(HIGH)
        run(lidar, 4)
        content, first = lidar.saved(), lidar.binary("frame.cloud")
        run(lidar, 2, 4)
        after = lidar.binary("frame.cloud")
        lidar.restore(content)
        assert lidar.binary("frame.cloud") == b""
        run(lidar, 2, 4)
        assert lidar.binary("frame.cloud") == after != first


def test_frames_and_messages_that_are_outputs_cannot_be_set(fmu3_directory: Path) -> None:
    with open_twin(fmu3_directory / "Lidar.fmu") as lidar:
        lidar.initialize(HIGH)
        for name in ("frame.cloud", "OSMPSensorDataOut"):
            with pytest.raises(FMICallException):
                lidar.set_binary(name, b"some")
        assert all("cannot be set" in message.text for message in lidar.messages)
        assert len(lidar.messages) == 2


# ---- messages of OSI ---------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["Lidar", "Radar"])
def test_a_message_is_the_one_of_fmi_2(
    fmu_directory: Path, fmu3_directory: Path, model: str
) -> None:
    parameters = with_osi(model, scene="targets", sample_rate=20.0)
    with open_fmu(fmu_directory / f"{model}.fmu") as old:
        old.initialize(parameters)
        run(old, 4)
        expected = bytes_at(old, "OSMPSensorDataOut")
    with open_twin(fmu3_directory / f"{model}.fmu") as new:
        new.initialize(parameters)
        assert new.binary("OSMPSensorDataOut") == b""
        run(new, 4)
        assert new.binary("OSMPSensorDataOut") == expected != b""


def test_a_message_that_is_set_moves_the_scene(fmu3_directory: Path, tmp_path: Path) -> None:
    """The wagon reaches 1 m before its middle."""
    with open_twin(fmu3_directory / "Lidar.fmu") as lidar:
        lidar.initialize(on_rails("Lidar", write_rail(tmp_path / "rail")))
        for step in range(4):
            content = bytearray(view_of(20.0 - 0.2 * step, -2.0).SerializeToString())
            lidar.set_binary("OSMPSensorViewIn", bytes(content))
            lidar.step(0.1 * step, 0.1)
            message = SensorData.FromString(lidar.binary("OSMPSensorDataOut"))
            (found,) = message.feature_data.lidar_sensor[0].detection
            assert found.position.distance == pytest.approx(19.0 - 0.2 * step, abs=1e-5)
        saved = lidar.saved()
        lidar.restore(saved)  # the message was of the step before: there is none now
        assert lidar.binary("OSMPSensorViewIn") == b""
        lidar.step(0.4, 0.1)
        message = SensorData.FromString(lidar.binary("OSMPSensorDataOut"))
        (found,) = message.feature_data.lidar_sensor[0].detection
        assert found.position.distance == pytest.approx(18.4, abs=1e-5)


# ---- a model behind a sensor -------------------------------------------------------------------


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The FMU that reads frames."""
    return build_frame_reader(tmp_path_factory.mktemp("reader"))


def test_a_reader_has_the_points_and_the_detections_without_a_file(
    fmu3_directory: Path, reader: Path, tmp_path: Path
) -> None:
    with open_twin(fmu3_directory / "Lidar.fmu") as lidar, _open_reader(reader) as behind:
        lidar.initialize({**with_osi("Lidar", scene="targets", sample_rate=20.0)})
        behind.slave.enterInitializationMode(startTime=0.0)
        behind.slave.exitInitializationMode()
        for k in range(4):
            lidar.step(k * STEP, STEP)
            for source, target in (
                ("frame.cloud", "points"),
                ("OSMPSensorDataOut", "OSMPSensorDataIn"),
            ):
                behind.set_binary(target, lidar.binary(source))
            behind.step(k * STEP, STEP)
            points = behind.array("points.count")[0]
            assert points == lidar.get("frame.points")
            assert behind.array("detections.count")[0] == points
        assert points > 0
    assert list(tmp_path.iterdir()) == []


def _open_reader(fmu: Path) -> Any:
    from tests.fmus import twins

    twins.known_models["FrameReader"] = frame_reader_fmu.FrameReaderFmu
    return open_twin(fmu, "reader")


def test_an_instance_goes_on_after_its_reset(fmu3_directory: Path) -> None:
    with open_twin(fmu3_directory / "Lidar.fmu") as lidar:
        runs = []
        for _ in range(2):
            lidar.initialize(HIGH)
            run(lidar, 4)
            runs.append(lidar.binary("frame.cloud"))
            lidar.reset()
            assert lidar.binary("frame.cloud") == b""
        assert runs[0] == runs[1]
        assert isinstance(lidar, Twin)
