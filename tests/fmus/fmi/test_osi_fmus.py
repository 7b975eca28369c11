"""OSI in FMUs: descriptions, lives of buffers, states, and a scene that a SensorView moves."""

import ctypes
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmpy.validation import validate_fmu
from lxml import etree
from osi3.osi_sensordata_pb2 import SensorData
from osi3.osi_sensorview_pb2 import SensorView

from sensor_models import catalog
from sensor_models.messages.osmp import address_of, halves
from tests.fmus.host import Instance, open_fmu
from tests.rail_scene import write_rail
from tests.sensor_models.scene_files import write_manifest

#: Sensors with messages.
SENSORS = [name for name in catalog.names() if catalog.spec_of(name).messages is not None]
#: Those that are run here; pictures are tested in ``test_osi_messages.py``.
RUN = [name for name in SENSORS if name != "CcdCamera"]
TAKING = [name for name in SENSORS if catalog.spec_of(name).messages.inputs]

OSMP = "{http://xsd.pmsf.net/OSISensorModelPackaging}"

#: What osmp.xsd of OSMP 1.6 says of the two elements: their attributes and what these may be.
SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified"
 targetNamespace="http://xsd.pmsf.net/OSISensorModelPackaging">
 <xs:element name="osmp"><xs:complexType>
  <xs:attribute name="version" use="required"><xs:simpleType><xs:restriction base="xs:string">
   <xs:pattern value="1\\.[0-9]\\.[0-9]+"/></xs:restriction></xs:simpleType></xs:attribute>
  <xs:attribute name="osi-version" type="xs:string"/></xs:complexType></xs:element>
 <xs:element name="osmp-binary-variable"><xs:complexType>
  <xs:attribute name="name" type="xs:string" use="required"/>
  <xs:attribute name="role" use="required"><xs:simpleType><xs:restriction base="xs:string">
   <xs:enumeration value="base.lo"/><xs:enumeration value="base.hi"/>
   <xs:enumeration value="size"/><xs:enumeration value="full"/>
   </xs:restriction></xs:simpleType></xs:attribute>
  <xs:attribute name="mime-type" type="xs:string"/></xs:complexType></xs:element>
</xs:schema>"""

SMALL: Mapping[str, Mapping[str, Any]] = {
    "Lidar": {"pattern.rows": 4, "pattern.columns": 30},
    "WaveformLidar": {"pattern.rows": 2, "pattern.columns": 9},
    "DepthCamera": {"width": 24, "height": 16, "segmentation": True},
    "CcdCamera": {"pixels.width": 24, "pixels.height": 16},
    "Radar": {"length": 30.0, "speed_mode": 1, "h_angle": 2.0, "v_angle": 1.0},
}
COMMON = {"osi.on": True, "mount.position.z": 1.5, "write_files": 1}


def parameters_of(sensor: str, **others: Any) -> dict[str, Any]:
    return {**COMMON, **SMALL.get(sensor, {}), **others}


def bytes_at(instance: Instance, name: str) -> bytes:
    """The message that three outputs tell of."""
    low, high, size = (instance.get(f"{name}.{role}") for role in ("base.lo", "base.hi", "size"))
    return ctypes.string_at(address_of(low, high), size) if size else b""


def data_of(instance: Instance) -> SensorData:
    return SensorData.FromString(bytes_at(instance, "OSMPSensorDataOut"))


def detections_of(message: SensorData) -> Any:
    features = message.feature_data
    return [*features.lidar_sensor, *features.radar_sensor][0].detection


class Given:
    """A message as an input; kept here while it is set."""

    def __init__(self, message: SensorView) -> None:
        self.content = message.SerializeToString()
        self._memory = ctypes.create_string_buffer(self.content, len(self.content))

    def values(self, size: int | None = None) -> dict[str, int]:
        low, high = halves(ctypes.addressof(self._memory))
        size = len(self.content) if size is None else size
        name = "OSMPSensorViewIn"
        return {f"{name}.base.lo": low, f"{name}.base.hi": high, f"{name}.size": size}


def description_of(fmu: Path) -> Any:
    with zipfile.ZipFile(fmu) as archive:
        return etree.parse(io.BytesIO(archive.read("modelDescription.xml"))).getroot()


@pytest.mark.acceptance("OSI-1")
@pytest.mark.parametrize("sensor", SENSORS)
def test_the_description_keeps_the_rules(fmu_directory: Path, sensor: str) -> None:
    fmu = fmu_directory / f"{sensor}.fmu"
    assert validate_fmu(str(fmu)) == []
    root = description_of(fmu)
    schema = etree.XMLSchema(etree.fromstring(SCHEMA))
    annotated: dict[str, set[tuple[str, str, str, str, str]]] = {}
    for element in root.iter(f"{OSMP}osmp", f"{OSMP}osmp-binary-variable"):
        assert schema.validate(element), schema.error_log
        assert element.getparent().attrib == {"name": "net.pmsf.osmp"}
    (about,) = root.findall(f"VendorAnnotations/Tool/{OSMP}osmp")
    assert about.attrib == {"version": "1.6.0", "osi-version": "3.8.0"}
    for variable in root.iter("ScalarVariable"):
        found = variable.find(f"Annotations/Tool/{OSMP}osmp-binary-variable")
        if found is None:
            assert "OSMP" not in variable.get("name")
            continue
        name, role = found.get("name"), found.get("role")
        assert variable.get("name") == f"{name}.{role}"
        assert variable.find("Integer").get("start") == "0"
        is_output = variable.get("causality") == "output"
        assert variable.get("initial") == ("exact" if is_output else None)
        known = variable.get("causality"), variable.get("variability"), found.get("mime-type")
        annotated.setdefault(name, set()).add((role, *known, str(variable.get("initial"))))
    kinds = {"OSMPSensorDataOut": "SensorData", "OSMPSensorViewOut": "SensorView"}
    if sensor in TAKING:
        kinds["OSMPSensorViewIn"] = "SensorView"
    assert annotated.keys() == kinds.keys()
    for name, variables in annotated.items():
        assert {role for role, *_ in variables} == {"base.lo", "base.hi", "size"}
        assert len({rest for _, *rest in map(tuple, variables) for rest in [tuple(rest)]}) == 1
        ((_, causality, variability, mime, _), *_) = variables
        assert (causality, variability) == (
            "input" if name.endswith("In") else "output",
            "discrete",
        )
        osi = "application/x-open-simulation-interface"
        assert mime == f"{osi}; type={kinds[name]}; version=3.8.0"


@pytest.mark.parametrize("sensor", RUN)
def test_nothing_is_given_where_nobody_asked(fmu_directory: Path, sensor: str) -> None:
    with open_fmu(fmu_directory / f"{sensor}.fmu") as instance:
        instance.initialize({**parameters_of(sensor), "osi.on": False})
        instance.step(0.0, 0.1)
        instance.step(0.1, 0.1)  # a picture is complete when its exposure is over
        assert instance.get("frame.count") >= 1
        for name in instance.names("output"):
            assert not name.startswith("OSMP") or instance.get(name) == 0


@pytest.mark.acceptance("OSI-7")
@pytest.mark.parametrize("frames", [1, 2, 3])
@pytest.mark.parametrize("sensor", RUN)
def test_a_message_lives_until_the_second_step_after(
    fmu_directory: Path, sensor: str, frames: int
) -> None:
    """Also where a step makes several frames."""
    more = {"osi.sensor_view": True, "sample_rate": 10.0 * frames}
    with open_fmu(fmu_directory / f"{sensor}.fmu") as instance:
        instance.initialize(parameters_of(sensor, **more))
        assert bytes_at(instance, "OSMPSensorDataOut") == b""
        before: list[tuple[list[int], bytes]] = []
        for step in range(4):
            instance.step(0.1 * step, 0.1)
            for place, content in before[-2:]:
                assert ctypes.string_at(address_of(*place[:2]), place[2]) == content
            names = [n for n in instance.names("output") if n.startswith("OSMP")]
            places = [instance.get(name) for name in names]
            before = [(places[k : k + 3], bytes_at(instance, names[k][:17])) for k in (0, 3)]
            assert all(content for _, content in before) or (sensor == "CcdCamera" and step == 0)


def check_header(message: SensorData) -> None:
    """What stands before detections, or before a picture, is what stands before all."""
    if message.sensor_view:
        (camera,) = message.sensor_view[0].camera_sensor_view
        about = camera.view_configuration
        assert message.sensor_view[0].timestamp == message.last_measurement_time
        pixels = about.number_of_pixels_horizontal * about.number_of_pixels_vertical
        assert len(camera.image_data) % pixels == 0 < pixels
        assert (about.sensor_id, about.mounting_position) == (
            message.sensor_id,
            message.mounting_position,
        )
        return
    features = message.feature_data
    header = [*features.lidar_sensor, *features.radar_sensor][0].header
    assert header.measurement_time == message.last_measurement_time
    assert header.cycle_counter == 3
    assert header.sensor_id == message.sensor_id
    assert header.mounting_position == message.mounting_position
    assert header.number_of_valid_detections == len(detections_of(message)) > 0


@pytest.mark.parametrize("sensor", RUN)
def test_time_stamps_mounting_and_counts(fmu_directory: Path, sensor: str) -> None:
    more = {
        "sample_rate": 5.0,
        "osi.sensor_view": True,
        "osi.sensor_id": 11,
        "osi.rear_axle.x": -1.0,
        "mount.position.x": 0.5,
        "mount.orientation.w": np.cos(0.1),
        "mount.orientation.z": np.sin(0.1),
    }
    with open_fmu(fmu_directory / f"{sensor}.fmu") as instance:
        instance.initialize(parameters_of(sensor, **more))
        for step in range(5):
            instance.step(0.1 * step, 0.1)
        message = data_of(instance)
        frame = 1 if sensor == "CcdCamera" else 2  # the newest; a picture's exposure takes time
        assert instance.get("sample.count") == frame + 1
        assert (message.version.version_major, message.version.version_minor) == (3, 8)
        assert (message.timestamp.seconds, message.timestamp.nanos) == (0, 500_000_000)
        measured = message.last_measurement_time
        assert (measured.seconds, measured.nanos) == (0, 200_000_000 * frame)
        assert message.sensor_id.value == 11
        mounting = message.mounting_position
        check_header(message)
        assert (mounting.position.x, mounting.position.y) == pytest.approx((1.5, 0.0), abs=1e-12)
        assert mounting.position.z == pytest.approx(1.5)
        assert mounting.orientation.yaw == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize("sensor", RUN)
def test_saved_states_keep_the_bytes(fmu_directory: Path, sensor: str) -> None:
    fmu = fmu_directory / f"{sensor}.fmu"
    own = parameters_of(sensor, sample_rate=5.0)
    with open_fmu(fmu, "one") as first:
        first.initialize(own)
        for step in range(3):
            first.step(0.1 * step, 0.1)
        state, content = first.saved(), bytes_at(first, "OSMPSensorDataOut")
        first.step(0.3, 0.1)
        first.step(0.4, 0.1)
        later = bytes_at(first, "OSMPSensorDataOut")
        first.restore(state)
        assert bytes_at(first, "OSMPSensorDataOut") == content != later
        with open_fmu(fmu, "one") as second:
            second.restore(state)
            assert bytes_at(second, "OSMPSensorDataOut") == content
            for instance in (first, second):
                instance.step(0.3, 0.1)
                instance.step(0.4, 0.1)
                assert bytes_at(instance, "OSMPSensorDataOut") == later


# ---- a SensorView moves the scene --------------------------------------------------------------


def view_of(x: float, speed: float = 0.0, number: int = 77) -> SensorView:
    """A wagon of which the middle of the box is at x."""
    view = SensorView()
    view.host_vehicle_id.value = 5
    wagon = view.global_ground_truth.moving_object.add()
    wagon.id.value = number
    wagon.base.position.x = x
    wagon.base.velocity.x = speed
    wagon.base.orientation.yaw = np.pi
    host = view.global_ground_truth.moving_object.add()
    host.id.value = 5
    host.base.position.x, host.base.position.z = -3.0, 1.0
    host.vehicle_attributes.bbcenter_to_rear.x = -1.5
    host.vehicle_attributes.bbcenter_to_rear.z = -1.0
    return view


RAIL = {
    "Lidar": {"pattern.rows": 1, "pattern.columns": 1, "pattern.elevation.max": 0.0}
    | {"pattern.elevation.min": 0.0, "pattern.azimuth.min": 0.0, "pattern.azimuth.max": 0.0},
    "Radar": {"length": 100.0, "lines_per_face": 3, "speed_mode": 1, "obstacles": 1},
}


def on_rails(sensor: str, rail: Path, **others: Any) -> dict[str, Any]:
    own = {**RAIL[sensor], "scene": str(rail), "osi.on": True, "write_files": 1}
    return {**own, "osi.bodies": "wagon = 77", **others}


@pytest.mark.parametrize("sensor", TAKING)
def test_a_sensor_view_moves_a_body_and_tells_its_speed(
    fmu_directory: Path, tmp_path: Path, sensor: str
) -> None:
    """The wagon reaches 1 m before and behind its middle, and comes at 2 m/s."""
    rail = write_rail(tmp_path / "rail")
    with open_fmu(fmu_directory / f"{sensor}.fmu") as instance:
        instance.initialize(on_rails(sensor, rail))
        for step in range(4):
            given = Given(view_of(20.0 - 0.2 * step, -2.0))
            instance.set(given.values())
            instance.step(0.1 * step, 0.1)
            (found,) = detections_of(data_of(instance))
            assert found.position.distance == pytest.approx(19.0 - 0.2 * step, abs=1e-5)
            assert found.object_id.value == 77  # the wagon's object; as an entity it is 7
            if sensor == "Lidar" or step > 0:  # a radar by cone knows speeds from two frames
                assert found.radial_velocity == pytest.approx(2.0, abs=1e-5)
        instance.set(given.values(0))
        instance.step(0.4, 0.1)  # without a message it stays where it is known
        (found,) = detections_of(data_of(instance))
        assert found.position.distance == pytest.approx(18.4, abs=1e-5)


@pytest.mark.parametrize("sensor", TAKING)
def test_the_host_vehicle_carries_the_sensor(
    fmu_directory: Path, tmp_path: Path, sensor: str
) -> None:
    """Its middle is at -3 m, its axle 1.5 m behind and 1 m below it, the sensor 2 m before that."""
    rail = write_rail(tmp_path / "rail")
    more = {"osi.host_body": True, "osi.rear_axle.x": 0.25, "mount.position.x": 2.25}
    with open_fmu(fmu_directory / f"{sensor}.fmu") as instance:
        instance.initialize(on_rails(sensor, rail, **more))
        given = Given(view_of(20.0))
        instance.set(given.values())
        instance.step(0.0, 0.1)
        message = data_of(instance)
        (found,) = detections_of(message)
        assert found.position.distance == pytest.approx(19.0 + 3.0 + 1.5 - 2.0, abs=1e-5)
        assert message.mounting_position.position.x == pytest.approx(2.0)


@pytest.mark.parametrize("sensor", TAKING)
def test_a_body_of_its_own_turns_about_the_middle_of_its_box(
    fmu_directory: Path, tmp_path: Path, sensor: str
) -> None:
    """A box of 2 m whose origin is at its rear end, told by its middle, turned by 180 degrees."""
    scene = write_manifest(
        tmp_path,
        '[meshes.car]\nbox = { size = [2, 1, 1] }\nmaterial = "brick"\n[[bodies]]\nname = "car"\n'
        '[[instances]]\nmesh = "car"\nbody = "car"\nentity_id = 7\nposition = [1, 0, 0]\n',
    )
    with open_fmu(fmu_directory / f"{sensor}.fmu") as instance:
        instance.initialize(on_rails(sensor, scene, **{"osi.bodies": "car = 77"}))
        given = Given(view_of(10.0))
        instance.set(given.values())
        instance.step(0.0, 0.1)
        (found,) = detections_of(data_of(instance))
        assert found.position.distance == pytest.approx(9.0, abs=1e-5)


@pytest.mark.acceptance("OSI-8")
@pytest.mark.parametrize("sensor", TAKING)
def test_bad_inputs_are_refused_by_name_and_good_ones_go_on(
    fmu_directory: Path, tmp_path: Path, sensor: str
) -> None:
    rail = write_rail(tmp_path / "rail")
    with open_fmu(fmu_directory / f"{sensor}.fmu") as instance:
        instance.initialize(on_rails(sensor, rail))
        instance.step(0.0, 0.1)  # no message at all
        given = Given(view_of(20.0))
        instance.set(given.values(len(given.content) - 1))
        assert "OSMPSensorViewIn is no SensorView" in instance.refusal(instance.step, 0.1, 0.1)
        zeros = np.zeros(64, np.uint8)
        low, high = halves(zeros.ctypes.data)
        names = ("base.lo", "base.hi", "size")
        places = zip(names, (low, high, zeros.size), strict=True)
        instance.set({f"OSMPSensorViewIn.{name}": value for name, value in places})
        assert "OSMPSensorViewIn is no SensorView" in instance.refusal(instance.step, 0.1, 0.1)
        instance.set(given.values(-5))
        assert "OSMPSensorViewIn.size = -5" in instance.refusal(instance.step, 0.1, 0.1)
        instance.set({**given.values(), "OSMPSensorViewIn.base.hi": 1})
        assert "OSMPSensorViewIn: the" in instance.refusal(instance.step, 0.1, 0.1)
        instance.set(given.values())
        instance.step(0.1, 0.1)
        (found,) = detections_of(data_of(instance))
        assert found.position.distance == pytest.approx(19.0, abs=1e-5)


@pytest.mark.parametrize("sensor", TAKING)
def test_names_of_bodies_that_there_are_not_are_refused(
    fmu_directory: Path, tmp_path: Path, sensor: str
) -> None:
    rail = write_rail(tmp_path / "rail")
    with open_fmu(fmu_directory / f"{sensor}.fmu") as instance:
        instance.initialize(on_rails(sensor, rail, **{"osi.bodies": "waggon = 1"}))
        given = Given(view_of(20.0))
        instance.set(given.values())
        message = instance.refusal(instance.step, 0.0, 0.1)
        assert "osi.bodies names waggon" in message
        assert "wagon, lever" in message
