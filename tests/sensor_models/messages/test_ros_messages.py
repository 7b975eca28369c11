"""Messages of ROS 2: their definitions, and what rosbags reads of them."""

from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from sensor_models.messages import ros
from tests.sensor_models.messages.test_foxglove_messages import joined, some_points

STORE = get_typestore(Stores.ROS2_HUMBLE)


@pytest.mark.parametrize("kind", ros.DEFINITIONS)
def test_definitions_are_those_of_ros(kind: str) -> None:
    """Names, types and order of all fields, by the digests that ROS identifies types with."""
    name = ros.full_name(kind)
    own = get_typestore(Stores.EMPTY)
    own.register(get_types_from_msg(ros.definition(kind).decode(), name))
    assert own.hash_rihs01(name) == STORE.hash_rihs01(name)


def decoded(kind: str, parts: Any) -> Any:
    return STORE.deserialize_cdr(joined(parts), ros.full_name(kind))


def test_points_and_pictures_for_ros() -> None:
    points = some_points()
    cloud = decoded("sensor_msgs/PointCloud2", ros.point_cloud(12.5, "lidar", points))
    assert (cloud.header.stamp.sec, cloud.header.stamp.nanosec) == (12, 500_000_000)
    assert (cloud.header.frame_id, cloud.width, cloud.height) == ("lidar", 5, 1)
    assert [(f.name, f.offset, f.datatype, f.count) for f in cloud.fields] == [
        ("x", 0, 7, 1),
        ("y", 4, 7, 1),
        ("z", 8, 7, 1),
        ("ring", 12, 4, 1),
    ]
    assert (cloud.point_step, cloud.row_step, cloud.is_dense) == (14, 70, True)
    assert cloud.data.tobytes() == points.tobytes()
    pixels = np.arange(6, dtype=np.uint16).reshape(2, 3)
    image = decoded("sensor_msgs/Image", ros.image(0.0, "c", pixels, "mono16"))
    assert (image.width, image.height, image.step, image.encoding) == (3, 2, 6, "mono16")
    assert image.data.tobytes() == pixels.tobytes()
    info = decoded("sensor_msgs/CameraInfo", ros.camera_info(0.0, "c", (3, 2), (5, 6, 1.5, 1)))
    assert info.k.tolist() == [5, 0, 1.5, 0, 6, 1, 0, 0, 1]
    assert (info.width, info.height, info.distortion_model) == (3, 2, "plumb_bob")
    assert info.p.tolist() == [5, 0, 1.5, 0, 0, 6, 1, 0, 0, 0, 1, 0]
    assert info.d.tolist() == [0.0] * 5
    lens = (3, 2), (5, 6, 1, 0.5), "rational_polynomial", tuple(range(8))
    info = decoded("sensor_msgs/CameraInfo", ros.camera_info(0.0, "c", *lens))
    assert (info.distortion_model, info.d.tolist()) == ("rational_polynomial", list(range(8)))


def test_motion_fields_and_places_for_ros() -> None:
    imu = decoded("sensor_msgs/Imu", ros.imu(1.0, "imu", (1, 2, 3), (4, 5, 6), None, (0, 0, 0)))
    assert (imu.angular_velocity.x, imu.angular_velocity.z) == (1.0, 3.0)
    assert imu.orientation_covariance[0] == imu.linear_acceleration_covariance[0] == -1.0
    assert imu.angular_velocity_covariance.tolist() == [4, 0, 0, 0, 5, 0, 0, 0, 6]
    assert imu.orientation.w == 1.0
    field = decoded(
        "sensor_msgs/MagneticField", ros.magnetic_field(1.0, "m", (1e-5, 2e-5, 3e-5), (1, 2, 3))
    )
    assert field.magnetic_field.z == 3e-5
    assert field.magnetic_field_covariance.tolist() == [1, 0, 0, 0, 2, 0, 0, 0, 3]
    place = (np.radians(50.0), np.radians(-8.0), 120.0)
    parts = ros.nav_sat_fix(0.0, "gnss", True, place, (1, 2, 3))
    fix = decoded("sensor_msgs/NavSatFix", parts)
    assert (fix.latitude, fix.longitude, fix.altitude) == pytest.approx((50.0, -8.0, 120.0))
    assert (fix.status.status, fix.status.service) == (0, 1)
    assert fix.position_covariance.tolist() == [1, 0, 0, 0, 2, 0, 0, 0, 3]
    assert fix.position_covariance_type == 2
    exact = ros.nav_sat_fix(0.0, "gnss", True, place, (0, 0, 0))
    assert decoded("sensor_msgs/NavSatFix", exact).position_covariance_type == 0
    given = [(0.5, "map", "base_link", (1.0, 2.0, 3.0), (0.5, 0.1, 0.2, 0.3))] * 2
    (first, second) = decoded("tf2_msgs/TFMessage", ros.transforms(given)).transforms
    assert first == second
    turn = first.transform.rotation
    assert (turn.w, turn.x, turn.y, turn.z) == (0.5, 0.1, 0.2, 0.3)
    pose = decoded(
        "geometry_msgs/PoseStamped", ros.pose_stamped(0.5, "map", (1, 2, 3), (1, 0, 0, 0))
    )
    assert pose.pose.position.y == 2.0
    joint = decoded("sensor_msgs/JointState", ros.joint_state(0.5, "wheel", 3.0, None))
    assert (joint.name, joint.position.tolist(), joint.velocity.tolist()) == (["wheel"], [3.0], [])
