"""Messages of Foxglove: their descriptors, and what its own classes read of them."""

import json
from typing import Any

import numpy as np
import pytest
from foxglove_schemas_protobuf import (
    CameraCalibration_pb2,
    FrameTransforms_pb2,
    LocationFix_pb2,
    PointCloud_pb2,
    PoseInFrame_pb2,
    RawImage_pb2,
    SceneUpdate_pb2,
)
from google.protobuf import descriptor_pb2

from sensor_models.messages import foxglove

GENERATED = {
    "PointCloud": PointCloud_pb2,
    "RawImage": RawImage_pb2,
    "CameraCalibration": CameraCalibration_pb2,
    "PoseInFrame": PoseInFrame_pb2,
    "FrameTransforms": FrameTransforms_pb2,
    "LocationFix": LocationFix_pb2,
    "SceneUpdate": SceneUpdate_pb2,
}


@pytest.mark.parametrize("name", GENERATED)
def test_descriptors_are_those_that_are_published(name: str) -> None:
    """Each field has the number, type and label that Foxglove's own package gives it."""
    files = descriptor_pb2.FileDescriptorSet.FromString(foxglove.descriptors(f"foxglove.{name}"))
    known: dict[str, Any] = {}

    def collect(descriptor: Any) -> None:
        if descriptor.full_name not in known:
            known[descriptor.full_name] = descriptor
            for field in descriptor.fields:
                if field.message_type is not None:
                    collect(field.message_type)

    collect(getattr(GENERATED[name], name).DESCRIPTOR)
    for file in files.file:
        assert file.syntax == "proto3"
        for own in file.message_type:
            published = known[f"{file.package}.{own.name}"].fields_by_name
            for field in own.field:
                wanted = published[field.name]
                assert (field.number, field.type) == (wanted.number, wanted.type)
                assert (field.label == field.LABEL_REPEATED) == wanted.is_repeated
                of = wanted.message_type or wanted.enum_type
                assert field.type_name == (f".{of.full_name}" if of else "")
            for enum in own.enum_type:
                items = known[f"{file.package}.{own.name}"].enum_types_by_name[enum.name].values
                assert {v.name: v.number for v in enum.value} == {v.name: v.number for v in items}


def test_descriptors_are_complete_for_readers_that_have_no_others() -> None:
    from google.protobuf import descriptor_pool, message_factory

    for name in GENERATED:
        pool = descriptor_pool.DescriptorPool()
        data = foxglove.descriptors(f"foxglove.{name}")
        for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
            pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(
                file.SerializeToString()
            )
        kind = pool.FindMessageTypeByName(f"foxglove.{name}")
        assert message_factory.GetMessageClass(kind)() is not None


def joined(parts: Any) -> bytes:
    return b"".join(bytes(part) for part in parts)


def some_points() -> Any:
    points = np.zeros(5, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("ring", "<u2")])
    points["x"], points["ring"] = np.arange(5) / 3, np.arange(5)
    return points


def test_points_for_foxglove() -> None:
    points = some_points()
    parts = foxglove.point_cloud(1.25, "lidar", points, (10.0, 20.0, 30.0))
    found = PointCloud_pb2.PointCloud.FromString(joined(parts))
    assert (found.timestamp.seconds, found.timestamp.nanos) == (1, 250_000_000)
    assert (found.frame_id, found.point_stride) == ("lidar", 14)
    assert [(f.name, f.offset, f.type) for f in found.fields] == [
        ("x", 0, 7),
        ("y", 4, 7),
        ("z", 8, 7),
        ("ring", 12, 3),
    ]
    assert found.data == points.tobytes()
    assert (found.pose.position.x, found.pose.position.z) == (10.0, 30.0)
    assert found.pose.orientation.w == 1.0


def test_pictures_poses_and_places_for_foxglove() -> None:
    pixels = np.arange(6, dtype=np.float32).reshape(2, 3)
    image = RawImage_pb2.RawImage.FromString(joined(foxglove.raw_image(0.0, "c", pixels, "32FC1")))
    assert (image.width, image.height, image.step, image.encoding) == (3, 2, 12, "32FC1")
    assert image.data == pixels.tobytes()
    parts = foxglove.camera_calibration(0.0, "c", (3, 2), (5.0, 6.0, 1.5, 1.0))
    camera = CameraCalibration_pb2.CameraCalibration.FromString(joined(parts))
    assert list(camera.K) == [5, 0, 1.5, 0, 6, 1, 0, 0, 1]
    assert list(camera.P) == [5, 0, 1.5, 0, 0, 6, 1, 0, 0, 0, 1, 0]
    assert (camera.distortion_model, list(camera.D)) == ("", [])
    lens = (3, 2), (5.0, 6.0, 1.0, 0.5), "equidistant", (0.1, 0.2, 0.0, 0.3)
    parts = foxglove.camera_calibration(0.0, "c", *lens)
    camera = CameraCalibration_pb2.CameraCalibration.FromString(joined(parts))
    assert (camera.distortion_model, list(camera.D)) == ("kannala_brandt", [0.1, 0.2, 0.0, 0.3])
    parts = foxglove.pose_in_frame(0.5, "map", (1.0, 2.0, 3.0), (0.5, 0.1, 0.2, 0.3))
    pose = PoseInFrame_pb2.PoseInFrame.FromString(joined(parts)).pose
    turn = pose.orientation
    assert (turn.w, turn.x, turn.y, turn.z) == (0.5, 0.1, 0.2, 0.3)
    given = [(0.5, "map", "a", (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0))] * 2
    tree = FrameTransforms_pb2.FrameTransforms.FromString(joined(foxglove.frame_transforms(given)))
    assert [(t.parent_frame_id, t.child_frame_id) for t in tree.transforms] == [("map", "a")] * 2
    place = (np.radians(50.0), np.radians(-8.0), 120.0)
    parts = foxglove.location_fix(0.0, "gnss", place, (1.0, 2.0, 3.0))
    fix = LocationFix_pb2.LocationFix.FromString(joined(parts))
    assert (fix.latitude, fix.longitude, fix.altitude) == pytest.approx((50.0, -8.0, 120.0))
    assert list(fix.position_covariance) == [1, 0, 0, 0, 2, 0, 0, 0, 3]


def test_meshes_for_foxglove() -> None:
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    mesh = foxglove.SceneMesh("a", "map", corners, np.array([[0, 1, 2]]), (0.5, 0.25, 1.0))
    found = SceneUpdate_pb2.SceneUpdate.FromString(joined(foxglove.scene_update(0.0, [mesh])))
    (entity,) = found.entities
    (shape,) = entity.triangles
    assert [[p.x, p.y, p.z] for p in shape.points] == corners.tolist()
    assert list(shape.indices) == [0, 1, 2]
    assert (shape.color.g, shape.color.a) == (0.25, 1.0)


def test_readings_are_objects_in_groups() -> None:
    (content,) = foxglove.reading(0.5, {"a.x": 1.0, "a.y": True, "n": 3, "s": "text"})
    assert json.loads(content) == {
        "timestamp": {"sec": 0, "nsec": 500_000_000},
        "a": {"x": 1.0, "y": True},
        "n": 3,
        "s": "text",
    }
    schema = json.loads(foxglove.reading_schema({"a.x": "real", "n": "choice"}))
    assert schema["properties"]["a"]["properties"]["x"] == {"type": "number"}
    assert schema["properties"]["n"] == {"type": "integer"}
