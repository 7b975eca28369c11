"""Cameras in logs: distances in metres, and the calibration that leads from pixels to points."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory
from rosbags.highlevel import AnyReader

from tests.fmus.host import open_fmu

#: In the corridor, looking along it and a little to a side.
PLACE = {"body.position.x": 1.0, "body.position.z": 1.4, "mount.orientation.w": 0.995,
         "mount.orientation.z": 0.0998, "scene": "corridor", "sample_rate": 10.0}  # fmt: skip
DEPTH = {"width": 160, "height": 90, "horizontal_fov": 1.5, "max_range": 40.0}
BENT = {"distortion.k1": -0.2, "distortion.k2": 0.03, "distortion.p1": 1e-3}


def run(fmu: Path, log: Path, folder: Path, **parameters: Any) -> None:
    with open_fmu(fmu, "eye") as camera:
        camera.initialize({"log": str(log), "output_directory": str(folder), **PLACE, **parameters})
        camera.step(0.0, 0.1)
        camera.terminate()


def of_foxglove(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        for schema, channel, message in reader.iter_messages():
            if schema.encoding == "protobuf":
                decoder = DecoderFactory().decoder_for("protobuf", schema)
                yield channel.topic, decoder(message.data)


def of_ros(path: Path) -> Iterator[tuple[str, Any]]:
    with AnyReader([path]) as reader:
        for connection, _, data in reader.messages():
            yield connection.topic, reader.deserialize(data, connection.msgtype)


def unprojected(depth: np.ndarray, matrix: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Points of the frame x forward, y left, z up; the first pixel's middle is at 0, 0.

    The lens is undone by the fixed point of the equations of ``plumb_bob``.
    """
    v, u = np.mgrid[0.0 : depth.shape[0], 0.0 : depth.shape[1]]
    across, down = (u - matrix[0, 2]) / matrix[0, 0], (v - matrix[1, 2]) / matrix[1, 1]
    k1, k2, p1, p2, k3 = terms if len(terms) else np.zeros(5)
    x, y = across, down
    for _ in range(200):
        r2 = x * x + y * y
        radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
        x, y = (
            (across - 2.0 * p1 * x * y - p2 * (r2 + 2.0 * x * x)) / radial,
            (down - p1 * (r2 + 2.0 * y * y) - 2.0 * p2 * x * y) / radial,
        )
    return np.stack([depth, -depth * x, -depth * y], axis=-1)


@pytest.mark.parametrize("lens", [{}, BENT, {"intrinsics.fx": 90.0, "intrinsics.cx": 71.0}])
@pytest.mark.parametrize("log", ["run.mcap", "bag"])
def test_depth_and_calibration_lead_back_to_the_points_of_the_scene(
    fmu_directory: Path, tmp_path: Path, log: str, lens: dict[str, float]
) -> None:
    """What the sensor itself says of its points, against what a reader of its log makes of it."""
    files = tmp_path / "files"
    more = {"return_pointcloud": True, "output_format": 0}
    run(fmu_directory / "DepthCamera.fmu", tmp_path / log, files, **DEPTH, **lens, **more)
    read = of_foxglove if log == "run.mcap" else of_ros
    found = dict(read(tmp_path / log))
    image = found["/eye/depth"]
    depth = np.frombuffer(bytes(image.data), "<f4").reshape(image.height, image.width)
    calibration = found["/eye/calibration" if log == "run.mcap" else "/eye/camera_info"]
    matrix, terms = (
        (calibration.K, calibration.D) if log == "run.mcap" else (calibration.k, calibration.d)
    )
    (file,) = files.glob("*.points.npy")
    points = np.load(file)
    known = np.isfinite(points[..., 0])
    assert np.count_nonzero(known) > 10_000
    made = unprojected(depth.astype(float), np.reshape(matrix, (3, 3)), np.array(terms, float))
    off = np.linalg.norm(made - points, axis=-1)[known]
    assert np.median(off) < 1e-5
    assert off.max() < 1e-4 * np.abs(points[known]).max()


@pytest.mark.parametrize("mode", [0, 1])
def test_logs_have_metres_where_images_are_normalised(
    fmu_directory: Path, tmp_path: Path, mode: int
) -> None:
    depths, files = [], []
    for name, normalised in (("plain", False), ("normal", True)):
        log, folder = tmp_path / f"{name}.mcap", tmp_path / name
        run(
            fmu_directory / "DepthCamera.fmu", log, folder, **{**DEPTH, "max_range": 6.0},
            normalize_range=normalised, normalize_mode=mode, output_format=0,
        )  # fmt: skip
        depths.append(dict(of_foxglove(log))["/eye/depth"].data)
        (file,) = folder.glob("*.depth.npy")
        files.append(np.load(file))
    assert depths[0] == depths[1] == files[0].tobytes()
    assert files[1].max() == 1.0


@pytest.mark.parametrize("lens", [{}, BENT, {**BENT, "distortion.model": 1}])
def test_pictures_in_logs_have_their_lens(
    fmu_directory: Path, tmp_path: Path, lens: dict[str, float]
) -> None:
    own = {"pixels.width": 32, "pixels.height": 24, "light.rays": 1, **lens}
    run(fmu_directory / "CcdCamera.fmu", tmp_path / "a.mcap", tmp_path / "a", **own)
    run(fmu_directory / "CcdCamera.fmu", tmp_path / "bag", tmp_path / "b", **own)
    fox = dict(of_foxglove(tmp_path / "a.mcap"))["/eye/calibration"]
    ros = dict(of_ros(tmp_path / "bag"))["/eye/camera_info"]
    focal = 6.0072e-3 * 32 / 4.76e-3
    np.testing.assert_allclose(fox.K, [focal, 0, 15.5, 0, focal, 11.5, 0, 0, 1], rtol=1e-3)
    assert list(fox.K) == ros.k.tolist()
    assert ros.distortion_model == ("equidistant" if "distortion.model" in lens else "plumb_bob")
    k1 = lens.get("distortion.k1", 0.0)
    assert ros.d[0] == k1
    assert list(fox.D) == (ros.d.tolist() if lens else [])
