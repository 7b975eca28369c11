"""What sensors leave in logs: covariances, where the body is, and what a full disk takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from fmus.fmi.sensors import fmu_of
from sensor_models.core.codes import RoundingMode
from sensor_models.output.files import OutputError
from tests.fmus.fmi.test_lost_frames import full_disk

RATE, COUNT = 1000.0, 8000
#: Of a variance from so many samples, five standard deviations.
SCATTER = 5.0 * np.sqrt(2.0 / COUNT)


@contextmanager
def running(name: str, **values: Any) -> Iterator[Any]:
    """An instance in this process, without the binding."""
    instance = fmu_of(name)(instance_name="one")
    set_all(instance, values)
    instance.setup_experiment(0.0)
    instance.exit_initialization_mode()
    yield instance
    instance.close()


def set_all(instance: Any, values: dict[str, Any]) -> None:
    for variable, value in values.items():
        instance.values.set(instance.table().by_name[variable], value)


def read_bag(bag: Path) -> dict[str, list[Any]]:
    """The messages of a bag by their topics."""
    found: dict[str, list[Any]] = {}
    with AnyReader([bag]) as reader:
        for connection, _, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            found.setdefault(connection.topic, []).append(message)
    return found


def at_rest(bag: Path, name: str, **values: Any) -> dict[str, list[Any]]:
    """What a sensor at rest writes in ``COUNT`` samples."""
    with running(name, sample_rate=RATE, log=str(bag), **values) as sensor:
        for k in range(21):  # inputs hold from the beginning of a step
            sensor.do_step(k * COUNT / RATE / 20, COUNT / RATE / 20)
    return read_bag(bag)


def components(messages: list[Any], field: str) -> Any:
    vectors = [getattr(message, field) for message in messages]
    return np.array([[v.x, v.y, v.z] for v in vectors])


ON = {"filter.noise": True}
NOISES = {
    "of a sample": {"noise.rms": 0.02},
    "of a density": {"noise.density": 0.002},
    "one-sided": {"noise.density": 0.002, "noise.one_sided": True},
    "of a bandwidth": {"noise.density": 0.002, "noise.bandwidth": 40.0},
    "both": {"noise.rms": 0.05, "noise.density": 0.002},
    "in front of a low-pass": {"noise.density": 0.002, "filter.cutoff": 30.0, **ON},
    "of order 2": {"noise.density": 0.002, "filter.cutoff": 30.0, "filter.order": 2, **ON},
    "rounded": {
        "noise.rms": 0.03,
        "discretization.on": True,
        "discretization.lsb": 0.05,
        "discretization.mode": int(RoundingMode.round),
    },
    "rounded to bits": {
        "noise.rms": 0.03,
        "discretization.on": True,
        "discretization.bits": 8,
        "saturation.min": -6.375,
        "saturation.max": 6.375,
        "discretization.mode": int(RoundingMode.round),
    },
    "through a scale": {"noise.rms": 0.02, "scale": 1.5, "scale_error": 0.2},
}
SPREAD = {"x": 1.0, "y": 2.0, "z": 3.0}
PER_AXIS = (
    *("noise.rms", "noise.density", "discretization.lsb", "scale", "scale_error"),
    *("saturation.min", "saturation.max"),
)


def per_axis(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    """Values of an axis y twice, and of an axis z three times those of x."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name in PER_AXIS:
            found |= {f"{prefix}{name}.{axis}": value * size for axis, size in SPREAD.items()}
        else:
            found[f"{prefix}{name}"] = value
    return found


@pytest.mark.parametrize("noise", NOISES)
def test_covariances_are_the_variances_of_the_samples(tmp_path: Path, noise: str) -> None:
    values = per_axis("gyroscope.", NOISES[noise])
    messages = at_rest(tmp_path / "bag", "Imu", **values)["/one/data_raw"]
    stated = messages[-1].angular_velocity_covariance.reshape(3, 3)
    measured = components(messages[500:], "angular_velocity").var(axis=0)
    assert np.count_nonzero(stated - np.diag(np.diag(stated))) == 0
    # samples of filtered noise are not independent: the bandwidth is a tenth of the rate
    tolerance = SCATTER * (3.5 if "filter.noise" in NOISES[noise] else 1.1)
    np.testing.assert_allclose(measured, np.diag(stated), rtol=tolerance)
    assert messages[-1].orientation_covariance[0] == -1.0
    assert not messages[-1].linear_acceleration_covariance.any()  # without noise nothing is known


@pytest.mark.parametrize(
    ("name", "topic", "field", "covariance"),
    [
        ("Accelerometer", "data_raw", "linear_acceleration", "linear_acceleration_covariance"),
        ("Gyroscope", "data_raw", "angular_velocity", "angular_velocity_covariance"),
        ("Magnetometer", "mag", "magnetic_field", "magnetic_field_covariance"),
    ],
)
def test_single_sensors_state_their_noise_as_well(
    tmp_path: Path, name: str, topic: str, field: str, covariance: str
) -> None:
    values = per_axis("", {"noise.density": 3e-3})
    messages = at_rest(tmp_path / "bag", name, **values)[f"/one/{topic}"]
    stated = np.diag(getattr(messages[-1], covariance).reshape(3, 3))
    np.testing.assert_allclose(stated, [9e-3, 36e-3, 81e-3], rtol=1e-12)
    measured = components(messages, field).var(axis=0)
    np.testing.assert_allclose(measured, stated, rtol=SCATTER)
    others = {"linear_acceleration_covariance", "angular_velocity_covariance"} - {covariance}
    if topic == "data_raw":
        assert getattr(messages[-1], others.pop())[0] == -1.0


def test_a_density_without_a_rate_says_nothing(tmp_path: Path) -> None:
    values = per_axis("", {"noise.rms": 0.1, "noise.density": 0.1})
    with running("Gyroscope", sample_rate=0.0, log=str(tmp_path / "bag"), **values) as sensor:
        for k in range(20):
            sensor.do_step(0.01 * k, 0.01)
    messages = read_bag(tmp_path / "bag")["/one/data_raw"]
    assert not messages[-1].angular_velocity_covariance.any()


def test_a_bag_of_an_imu_alone_says_where_it_is(tmp_path: Path) -> None:
    turn = np.array([0.8, 0.0, 0.0, 0.6])
    start = {f"body.orientation.{c}": float(v) for c, v in zip("wxyz", turn, strict=True)}
    log = {"log": str(tmp_path / "bag"), "log_body": "cart", "mount.position.x": 0.5}
    with running("Imu", sample_rate=100.0, **start, **log) as sensor:
        for k in range(100):
            x = 0.02 * k  # at 2 m/s
            set_all(sensor, {"body.position.x": x, "body.velocity.x": 2.0})
            sensor.do_step(0.01 * k, 0.01)
    found = read_bag(tmp_path / "bag")
    fixed = [t for m in found["/tf_static"] for t in m.transforms]
    assert [(t.header.frame_id, t.child_frame_id) for t in fixed] == [("cart", "one")]
    assert fixed[0].transform.translation.x == 0.5
    poses = [t for m in found["/tf"] for t in m.transforms]
    assert {(t.header.frame_id, t.child_frame_id) for t in poses} == {("map", "cart")}
    times = np.array([t.header.stamp.sec + 1e-9 * t.header.stamp.nanosec for t in poses])
    assert len(times) >= 10
    assert times[0] == 0.0
    assert times[-1] >= 0.9
    assert (np.diff(times) >= 0.01 - 1e-9).all()
    places = np.array([t.transform.translation.x for t in poses])
    np.testing.assert_allclose(places, 2.0 * times, atol=1e-9)
    for pose in poses:
        q = pose.transform.rotation
        np.testing.assert_allclose([q.w, q.x, q.y, q.z], turn, atol=1e-15)


def test_sensors_of_one_body_place_it_once_at_an_instant(tmp_path: Path) -> None:
    log = {"log": str(tmp_path / "bag"), "sample_rate": 100.0}
    with running("Imu", **log) as one, running("Gyroscope", **log) as other:
        other.instance_name = "other"
        for k in range(50):
            for sensor in (one, other):
                sensor.do_step(0.01 * k, 0.01)
    found = read_bag(tmp_path / "bag")
    stamps = [
        (t.header.stamp.sec, t.header.stamp.nanosec) for m in found["/tf"] for t in m.transforms
    ]
    assert len(stamps) >= 5
    assert len(set(stamps)) == len(stamps)


SMALL = {"scene": "targets", "width": 8, "height": 6, "sample_rate": 10.0}


def test_a_log_on_a_full_disk_goes_on_with_the_scene_and_says_what_it_lost(tmp_path: Path) -> None:
    path = tmp_path / "log.mcap"
    with running("DepthCamera", log=str(path), **SMALL) as camera:

        def step(k: int) -> None:
            camera.do_step(0.1 * k, 0.1)

        with full_disk():
            for k in range(3):
                step(k)
            with pytest.raises(
                OutputError, match=r"(\d+) of \1 messages are lost, .*File too large"
            ):
                camera.terminate()
        for k in range(3, 6):
            step(k)
        camera.terminate()
    with path.open("rb") as stream:
        found = list(make_reader(stream, validate_crcs=True).iter_messages())
    topics = [channel.topic for _, channel, _ in found]
    assert topics.count("/scene") == 1
    # The frame of the newest instant waits in memory for what may still come before it.
    assert topics.count("/one/depth") == 4
    assert topics.count("/tf") == 4 + 2  # and both fixed frames
