"""Messages of OSI: format, angles, times and numbers, read back by ASAM's own classes."""

import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given
from hypothesis import strategies as st
from osi3 import osi_sensordata_pb2, osi_sensorview_pb2
from osi3.osi_featuredata_pb2 import LidarDetection, LidarDetectionData, RadarDetectionData
from osi3.osi_sensordata_pb2 import SensorData
from osi3.osi_sensorview_pb2 import LidarSensorView, SensorView
from scipy.spatial.transform import Rotation

from sensor_models.core.quantities import ParameterError
from sensor_models.core.sensor import Result, Setup
from sensor_models.lidar.sensor import LIDAR
from sensor_models.messages import detections as det
from sensor_models.messages.ground_truth import (
    GroundTruth,
    MovingObject,
    ObjectWatch,
    angles_of,
    angular_velocity_of,
    objects_of_entities,
    quaternion_of,
    read_view,
)
from sensor_models.messages.osi import OsiMessages, stamp_parts
from sensor_models.messages.osmp import (
    Buffers,
    address_of,
    halves,
    read_input,
)
from sensor_models.messages.ports import OsiPorts, pairs_of
from sensor_models.messages.wire import WireError, fields, varint
from sensor_models.output.points import POINT, record_of
from sensor_models.scene.model import Body, Instance, Mesh, Scene
from tests.tools import need

#: The detection of rows OSI-2 and OSI-3.
NUMBERS = {
    "existence_probability": 1.0,
    "object_id": [100],
    "distance": 12.5,
    "azimuth": 0.1,
    "elevation": -0.05,
    "intensity": 37.0,
    "reflectivity": 0.37,
    "echo_pulse_width": 0.75,
    "radial_velocity": -3.25,
    "beam_id": [17],
}
HAS_OBJECT = {"no object": np.ones(1, bool)}


def one_detection() -> bytes:
    encoded: bytes = det.LIDAR_DETECTION.encode(1, NUMBERS, HAS_OBJECT).tobytes()
    return encoded


@pytest.mark.acceptance("OSI-2", "OSI-3")
def test_a_lidar_detection_has_92_bytes_and_86_when_others_write_it() -> None:
    encoded = one_detection()
    message = LidarDetectionData.FromString(encoded)
    (found,) = message.detection
    wanted = LidarDetection(
        existence_probability=1.0,
        intensity=37.0,
        classification="DETECTION_CLASSIFICATION_CLUTTER",
        reflectivity=0.37,
        echo_pulse_width=0.75,
        radial_velocity=-3.25,
    )
    wanted.object_id.value, wanted.beam_id.value = 100, 17
    position = wanted.position
    position.distance, position.azimuth, position.elevation = 12.5, 0.1, -0.05
    assert found == wanted
    assert (len(encoded), len(message.SerializeToString(deterministic=True))) == (92, 86)
    again = LidarDetectionData.FromString(message.SerializeToString())
    assert again == message


@pytest.mark.acceptance("OSI-3")
def test_a_radar_detection_has_75_bytes() -> None:
    columns = {
        "entity_id": np.array([7]),
        "range": np.array([30.0]),
        "azimuth": np.array([0.1]),
        "elevation": np.array([0.0]),
        "radial_velocity": np.array([5.0]),
        "rcs": np.array([10.0]),
        "snr": np.array([10.0**3.527]),
    }
    encoded = det.radar_detections(columns).tobytes()
    assert len(encoded) == 75
    (found,) = RadarDetectionData.FromString(encoded).detection
    assert (found.position.distance, found.position.azimuth) == (30.0, 0.1)
    assert (found.position.elevation, found.radial_velocity) == (0.0, 5.0)
    assert (found.object_id.value, found.existence_probability) == (7, 1.0)
    assert found.rcs == pytest.approx(10.0, rel=1e-15)
    assert found.snr == pytest.approx(35.27, rel=1e-14)


def test_what_a_radar_does_not_know_is_unset() -> None:
    nothing = np.array([0.0])
    columns = dict.fromkeys(("range", "azimuth", "elevation", "rcs", "snr"), nothing)
    columns |= {"entity_id": np.array([3]), "radial_velocity": np.array([np.nan])}
    (found,) = RadarDetectionData.FromString(det.radar_detections(columns).tobytes()).detection
    for name in ("rcs", "snr", "radial_velocity"):
        assert not found.HasField(name)
    assert found.HasField("position")


def a_cloud(count: int, seed: int = 1) -> Any:
    draw = np.random.default_rng(seed)
    points = np.zeros(count, POINT)
    for name in ("range", "azimuth", "elevation", "intensity"):
        points[name] = draw.random(count)
    points["entity_id"] = draw.integers(-1, 2**31 - 1, count)
    points["entity_id"][::7] = -1
    points["ring"] = draw.integers(0, 2**16, count)
    points["atmospheric"] = points["entity_id"] < 0
    return points


def test_every_detection_of_a_cloud_is_read_back_and_lacks_what_it_has_not() -> None:
    points = a_cloud(999)
    velocity = np.linspace(-3.0, 3.0, len(points))
    encoded = det.lidar_detections(points, velocity, det.Optics(905e-9))
    found = LidarDetectionData.FromString(encoded.tobytes()).detection
    assert len(found) == len(points)
    for detection, point, speed in zip(found, points, velocity, strict=True):
        is_none = point["entity_id"] < 0
        assert detection.object_id.value == (2**64 - 1 if is_none else point["entity_id"])
        assert detection.HasField("classification") == bool(point["atmospheric"])
        assert not detection.HasField("echo_pulse_width")
        assert detection.beam_id.value == point["ring"]
        assert detection.position.distance == point["range"]
        assert detection.position.azimuth == point["azimuth"]
        assert detection.position.elevation == point["elevation"]
        assert detection.radial_velocity == speed
        reflectivity = math.pi * float(point["intensity"])
        assert detection.reflectivity == pytest.approx(reflectivity, rel=1e-15)
        assert detection.intensity == pytest.approx(100.0 * min(reflectivity, 1.0), rel=1e-15)
        assert detection.existence_probability == 1.0


#: Entities of a scene with ids of objects, the last two as large as ids can be.
OBJECTS = {7: 77, 8: 2**35 - 1, 9: 2**35, 10: 2**40 + 5, 11: 2**64 - 2}


def test_detections_name_moving_objects_by_their_own_ids() -> None:
    entities = [7, 8, 3, 9, -1, 10, 11, 7, 2**31 - 1]
    wanted = [OBJECTS.get(entity, entity) for entity in entities]
    wanted[4] = 2**64 - 1
    points = np.zeros(len(entities), POINT)
    points["entity_id"], points["range"] = entities, 1.0
    encoded = det.lidar_detections(points, points["range"], det.Optics(905e-9), OBJECTS)
    lidar = LidarDetectionData.FromString(encoded.tobytes()).detection
    assert [found.object_id.value for found in lidar] == wanted
    assert all(found.position.distance == 1.0 for found in lidar)
    ones = dict.fromkeys(("range", "azimuth", "elevation", "radial_velocity"), np.ones(len(points)))
    encoded = det.radar_detections({**ones, "entity_id": np.array(entities)}, OBJECTS)
    radar = RadarDetectionData.FromString(encoded.tobytes()).detection
    assert [found.object_id.value for found in radar] == wanted
    rays = np.arange(len(points)) + 1
    own = points, rays, len(points) + 1, points["range"], det.Optics(905e-9)
    view = LidarSensorView.FromString(det.ray_reflections(*own, OBJECTS).tobytes())
    assert [found.object_id.value for found in view.reflection] == [2**64 - 1, *wanted]


def world_of(**entities: int) -> Scene:
    """A scene with a body for each name, and an entity on it; those of "ground" are on none."""
    names = [name for name in entities if name != "ground"]
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    mesh = Mesh(corners, np.array([[0, 1, 2]], np.uint32), np.zeros(1, np.int32))
    instances = tuple(
        Instance(0, np.eye(4), entity, body=names.index(name) if name in names else -1)
        for name, entity in entities.items()
    )
    return Scene("world", (mesh,), instances, (), tuple(Body(name) for name in names))


def test_entities_of_a_body_are_its_object() -> None:
    scene = world_of(car=4, van=5, ground=6)
    assert objects_of_entities(scene, {"car": 17}) == {4: 17}
    assert objects_of_entities(scene, {"car": 17, "van": 18}) == {4: 17, 5: 18}
    assert objects_of_entities(scene, {}) == {}


def truth_of(*ids: int, host: int | None = None) -> GroundTruth:
    return GroundTruth({number: MovingObject(number) for number in ids}, host)


def test_what_does_not_fit_a_ground_truth_is_told_once() -> None:
    said: list[str] = []
    watch = ObjectWatch({"car": 17, "van": 18}, said.append)
    for _ in range(3):
        watch.look(truth_of(1, 17, 30, *range(100, 120), host=1))
    assert len(said) == 2
    assert "moving objects that no body of the scene follows" in said[0]
    assert "ids 30, 100, 101, 102, 103, 104, 105, 106, 107, 108 and 11 more;" in said[0]
    assert "osi.bodies has van = 18, but OSMPSensorViewIn begins without such objects" in said[1]


def test_what_fits_is_not_told() -> None:
    said: list[str] = []
    watch = ObjectWatch({"car": 17}, said.append)
    watch.look(truth_of(1, 17, host=1))
    watch.look_at_scene(world_of(car=17, ground=3))
    assert said == []


def test_an_entity_with_the_id_of_another_object_is_told() -> None:
    said: list[str] = []
    ObjectWatch({"car": 17}, said.append).look_at_scene(world_of(car=4, ground=17))
    assert len(said) == 1
    assert "entities 17 of the scene world have ids that osi.bodies gives" in said[0]


def test_bytes_that_are_all_zeros_are_no_message() -> None:
    for length in (1, 2, 100):
        with pytest.raises(ParameterError, match=r"In is no SensorView: .* field 0"):
            read_view("In", bytes(length))


def test_no_bytes_at_all_are_not_read() -> None:
    assert read_input("In", 5, 5, 0) is None
    assert read_input("In", 0, 0, 10) is None


def test_echoes_of_a_waveform_tell_their_width_in_metres_and_their_chance() -> None:
    points = np.zeros(2, record_of(echoes=True))
    points["echo_width"], points["detection_probability"] = 5e-9, [0.25, 1.0]
    points["range"] = 1.0
    encoded = det.lidar_detections(points, np.zeros(2), det.Optics(1550e-9))
    found = LidarDetectionData.FromString(encoded.tobytes()).detection
    assert [d.existence_probability for d in found] == [0.25, 1.0]
    for detection in found:  # the field has 32 bits in our points
        assert detection.echo_pulse_width == pytest.approx(5e-9 * 299_792_458.0 / 2, rel=1e-7)


@pytest.mark.acceptance("OSI-10")
def test_reflections_of_a_lambertian_plate() -> None:
    points = np.zeros(1, POINT)
    points["range"], points["intensity"], points["entity_id"] = 10.0, 0.8 / math.pi, 4
    optics = det.Optics(905e-9, detector_radius=0.01)
    encoded = det.ray_reflections(points, np.array([1]), 3, np.array([5.0]), optics)
    found = LidarSensorView.FromString(encoded.tobytes()).reflection
    assert len(found) == 3
    assert found[1].signal_strength == pytest.approx(-60.9691, abs=1e-4)
    assert found[1].time_of_flight == pytest.approx(66.712819e-9, rel=1e-6)
    assert found[1].doppler_shift == pytest.approx(11.049724e6, rel=1e-6)
    assert found[1].object_id.value == 4
    for empty in (found[0], found[2]):
        assert [name.name for name, _ in empty.ListFields()] == ["object_id"]
        assert empty.object_id.value == 2**64 - 1


def test_time_of_flight_may_be_told_for_one_way() -> None:
    points = np.zeros(1, POINT)
    points["range"], points["intensity"] = 29.9792458, 0.1
    optics = det.Optics(905e-9, one_way_time=True)
    encoded = det.ray_reflections(points, np.array([0]), 1, np.zeros(1), optics)
    (found,) = LidarSensorView.FromString(encoded.tobytes()).reflection
    assert found.time_of_flight == pytest.approx(100e-9, rel=1e-7)


@pytest.mark.acceptance("OSI-4")
def test_an_address_has_signed_halves() -> None:
    assert halves(0x7F1289ABCDEF0010) == (-839974896, 2131921323)
    assert address_of(-839974896, 2131921323) == 0x7F1289ABCDEF0010


@given(st.integers(0, 2**64 - 1))
def test_halves_make_the_address_again(address: int) -> None:
    assert address_of(*halves(address)) == address


@pytest.mark.acceptance("OSI-5")
@pytest.mark.parametrize(
    ("time", "parts"),
    [(0.3, (0, 300000000)), (12.9999999996, (13, 0)), (1e5 + 1e-9, (100000, 1))],
)
def test_time_stamps_are_rounded_before_they_are_divided(
    time: float, parts: tuple[int, int]
) -> None:
    assert stamp_parts(time) == parts


@pytest.mark.acceptance("OSI-6")
def test_angles_of_a_quaternion() -> None:
    quaternion = np.array([0.9, 0.1, 0.2, 0.3]) / np.linalg.norm([0.9, 0.1, 0.2, 0.3])
    roll, pitch, yaw = angles_of(*quaternion.tolist())
    assert (yaw, pitch, roll) == pytest.approx((0.69899961, 0.32128859, 0.33929261), abs=1e-8)


ANGLES = st.tuples(st.floats(-3.1, 3.1), st.floats(-1.57, 1.57), st.floats(-3.1, 3.1))


@given(ANGLES)
def test_angles_and_quaternions_are_those_of_scipy(angles: tuple[float, float, float]) -> None:
    roll, pitch, yaw = angles
    wanted = Rotation.from_euler("ZYX", [yaw, pitch, roll])
    w, x, y, z = quaternion_of(roll, pitch, yaw).tolist()
    assert (Rotation.from_quat([x, y, z, w]).inv() * wanted).magnitude() < 1e-12
    again = quaternion_of(*angles_of(w, x, y, z))
    back = Rotation.from_quat([*again[1:], again[0]])
    assert (back.inv() * wanted).magnitude() < 2e-6  # where the pitch is upright, no roll is told


def test_angular_velocity_is_the_rate_of_the_turn() -> None:
    angles, rates, step = np.array([0.3, -0.4, 2.0]), np.array([0.5, 0.7, -1.1]), 1e-6

    def turn(time: float) -> Rotation:
        roll, pitch, yaw = angles + rates * time
        return Rotation.from_euler("ZYX", [yaw, pitch, roll])

    moved = (turn(step) * turn(-step).inv()).as_rotvec() / (2.0 * step)
    found = angular_velocity_of(tuple(angles), tuple(rates))
    np.testing.assert_allclose(found, moved, atol=1e-8)


@pytest.mark.acceptance("OSI-9")
def test_detections_of_the_ground_lie_in_its_plane() -> None:
    """From 2 m above: distance and elevation give back z = -2, if elevation counts upward."""
    draw = np.random.default_rng(3)
    points = np.zeros(200, POINT)
    elevation = -draw.uniform(0.8, 1.5, 200)
    points["elevation"], points["range"] = elevation, -2.0 / np.sin(elevation)
    points["azimuth"] = draw.uniform(-3.0, 3.0, 200)
    encoded = det.lidar_detections(points, np.zeros(200), None)
    for found in LidarDetectionData.FromString(encoded.tobytes()).detection:
        height = found.position.distance * math.sin(found.position.elevation)
        assert height == pytest.approx(-2.0, abs=1e-6)


@pytest.mark.acceptance("OSI-7")
def test_messages_of_one_step_leave_that_of_the_step_before_alone() -> None:
    buffers, before = Buffers(), (0, 0, 0)
    for step in range(4):
        for frame in range(3):
            place = buffers.put((f"{step} {frame}".encode() * (frame + 1),), float(step))
        if step > 0:
            assert read_input("x", *before) == f"{step - 1} 2".encode() * 3
        before = place


def test_two_buffers_take_turns() -> None:
    buffers = Buffers()
    assert buffers.place == (0, 0, 0)
    places = []
    for content in (b"first", b"second", b"third"):
        places.append(buffers.put((content,)))
        low, high, size = places[-1]
        assert read_input("x", low, high, size) == content
        if len(places) == 2:
            assert read_input("x", *places[0]) == b"first"
    assert places[0][:2] == places[2][:2] != places[1][:2]


@pytest.mark.acceptance("OSI-8")
def test_inputs_that_are_none_or_wrong() -> None:
    assert read_input("In", 0, 0, 5) is None
    assert read_input("In", 1, 1, 0) is None
    with pytest.raises(ParameterError, match=r"In\.size = -1 is out of range"):
        read_input("In", 1, 0, -1)


def a_view() -> osi_sensorview_pb2.SensorView:
    view = osi_sensorview_pb2.SensorView()
    view.host_vehicle_id.value = 5
    for number in (5, 2**40):
        found = view.global_ground_truth.moving_object.add()
        found.id.value = number
        found.base.position.x, found.base.position.y = 1.5, -2.5
        found.base.orientation.yaw = 0.25
        found.base.velocity.x = 3.0
        found.base.orientation_rate.yaw = 0.125
        found.vehicle_attributes.bbcenter_to_rear.x = -1.25
        found.base.dimension.length = 4.0
    view.global_ground_truth.country_code = 49
    return view


def test_moving_objects_are_read_from_what_asam_writes() -> None:
    truth = read_view("In", a_view().SerializeToString())
    assert truth is not None
    assert truth.host == 5
    assert set(truth.objects) == {5, 2**40}
    found = truth.objects[5]
    assert (found.position, found.orientation) == ((1.5, -2.5, 0.0), (0.0, 0.0, 0.25))
    assert (found.velocity, found.orientation_rate) == ((3.0, 0.0, 0.0), (0.0, 0.0, 0.125))
    assert found.center_to_rear == (-1.25, 0.0, 0.0)
    assert read_view("In", osi_sensorview_pb2.SensorView().SerializeToString()) is None


@pytest.mark.acceptance("OSI-8")
def test_a_message_that_is_cut_is_refused_by_name_wherever_it_is_cut_in_a_field() -> None:
    message, refused = a_view().SerializeToString(), 0
    for length in range(len(message)):
        try:
            read_view("OSMPSensorViewIn", message[:length])
        except ParameterError as error:
            refused += str(error).startswith("OSMPSensorViewIn is no SensorView: ")
    assert refused > 0.95 * len(message)  # between two fields a shorter one is a message, too


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        list(fields(content))
    except WireError:
        return


@given(st.integers(0, 2**64 - 1))
def test_varints_are_read_back(number: int) -> None:
    ((field, value),) = fields(b"\x08" + varint(number))
    assert (field, value) == (1, number)


def test_the_table_of_bodies() -> None:
    assert pairs_of(" a = 1, b=22 ,") == {"a": 1, "b": 22}
    assert pairs_of(f"a = {2**64 - 2}") == {"a": 2**64 - 2}
    for wrong in ("a", "a=", "=1", "a=x", "a=-1", f"a={2**64 - 1}", "a=" + "9" * 5000):
        with pytest.raises(ParameterError, match=r"osi\.bodies"):
            pairs_of(wrong)


def test_protoc_reads_a_message_by_its_descriptors(tmp_path: Path) -> None:
    need("protoc")
    files = descriptor_pb2.FileDescriptorSet()
    taken: set[str] = set()

    def add(file: Any) -> None:
        if file.name not in taken:
            taken.add(file.name)
            for needed in file.dependencies:
                add(needed)
            file.CopyToProto(files.file.add())

    add(osi_sensordata_pb2.DESCRIPTOR)
    (tmp_path / "osi.bin").write_bytes(files.SerializeToString())
    inner = LidarDetectionData.FromString(one_detection())
    message = SensorData()
    message.feature_data.lidar_sensor.append(inner)
    head = b"\xd2\x01" + varint(2 + len(one_detection())) + b"\x1a" + varint(len(one_detection()))
    content = head + one_detection()
    assert SensorData.FromString(content) == message
    run = subprocess.run(
        ["protoc", f"--descriptor_set_in={tmp_path / 'osi.bin'}", "--decode=osi3.SensorData"],
        input=content,
        capture_output=True,
        check=True,
    )
    for line in ("distance: 12.5", "value: 100", "DETECTION_CLASSIFICATION_CLUTTER", "value: 17"):
        assert line in run.stdout.decode()


class ShownPicture:
    """What a camera gives: digital numbers."""

    kind = "picture"

    def __init__(self, channels: int, largest: int, mosaic: str = "none") -> None:
        draw = np.random.default_rng(1)
        self.numbers = draw.integers(0, largest + 1, (4, 6, channels)).astype(np.uint16)
        self.largest, self.mosaic = largest, mosaic


@pytest.mark.parametrize(
    ("picture", "name"),
    [
        (ShownPicture(1, 255), "MONO_U8_LIN"),
        (ShownPicture(1, 4095), "MONO_U16_LIN"),
        (ShownPicture(3, 255), "RGB_U8_LIN"),
        (ShownPicture(3, 4095), "RGB_U16_LIN"),
        (ShownPicture(1, 4095, "rggb"), "BAYER_RGGB_U16_LIN"),
        (ShownPicture(1, 255, "bggr"), "BAYER_BGGR_U8_LIN"),
        (ShownPicture(1, 255, "grbg"), "OTHER"),
    ],
)
def test_pictures_are_given_as_they_are(picture: ShownPicture, name: str) -> None:
    parameters = LIDAR.build({"osi.on": True, "osi.sensor_view": True})
    messages = OsiMessages(Setup(LIDAR, parameters, "Camera/test", files=True), OsiPorts())
    messages.motion.know(0.0, np.array([0.0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
    messages.take(Result(0, 0.0, (), (picture,)), None, 0.1)
    view = SensorView.FromString(messages.buffers["OSMPSensorViewOut"].newest.tobytes())
    data = SensorData.FromString(messages.buffers["OSMPSensorDataOut"].newest.tobytes())
    for found in (view, data.sensor_view[0]):
        (camera,) = found.camera_sensor_view
        about = camera.view_configuration
        assert (about.number_of_pixels_horizontal, about.number_of_pixels_vertical) == (6, 4)
        (kind,) = about.channel_format
        assert about.ChannelFormat.Name(kind) == f"CHANNEL_FORMAT_{name}"
        size = np.uint8 if picture.largest < 256 else np.uint16
        assert camera.image_data == picture.numbers.astype(size).tobytes()
