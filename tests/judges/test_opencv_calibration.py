"""The lens of the FMU CcdCamera by OpenCV: its calibration from pictures of a chessboard.

A board of 10 x 7 fields, whose corners are known, is taken from all around. OpenCV finds the
corners in the pictures, noise of the chip and steps of 8 bits included, and from them the focal
length, the principal point and the distortion that were set.
"""

import json
import math
from pathlib import Path

import cv2
import numpy as np
import pytest

from sensor_models.output.images import ImageFormat
from tests.fmus.host import open_fmu
from tests.sensor_models.scene_files import write_manifest

FIELD, ACROSS, UP = 0.1, 10, 7
SIZE = (ACROSS - 1, UP - 1)
FX, FY, CX, CY, K1, K2 = 610.0, 607.0, 322.5, 236.0, -0.18, 0.05
CAMERA = {
    "sensor.model": 1, "bands": 1, "bit_depth": 8, "sensor.system_gain": 0.016,
    "sensor.black_level": 2.0, "pixels.width": 640, "pixels.height": 480, "sample_factor": 2,
    "intrinsics.fx": FX, "intrinsics.fy": FY, "intrinsics.cx": CX, "intrinsics.cy": CY,
    "distortion.k1": K1, "distortion.k2": K2, "vignetting": 0.0, "segmentation": False,
    "sample_rate": 10.0, "write_files": 2, "output_format": int(ImageFormat.npy), "light.rays": 4,
}  # fmt: skip
#: Directions from the board to the camera (rad), roll (rad) and distance (m).
VIEWS = [
    (0.0, 0.0, 0.0, 1.1), (0.6, 0.0, 0.2, 1.1), (-0.6, 0.0, -0.2, 1.1), (0.0, 0.5, 0.0, 1.0),
    (0.0, -0.5, 0.1, 1.0), (0.5, 0.4, 0.5, 1.1), (-0.5, 0.4, -0.5, 1.1), (0.5, -0.4, 0.3, 1.2),
    (-0.5, -0.4, -0.3, 1.2), (0.7, 0.2, -1.2, 1.3), (-0.7, -0.2, 1.2, 1.3), (0.3, 0.3, 0.0, 1.0),
    (-0.3, -0.3, 0.8, 1.0), (0.2, -0.6, -0.8, 1.1), (-0.2, 0.6, 1.5, 1.3), (0.0, 0.0, 0.8, 1.4),
]  # fmt: skip


def board() -> str:
    """A scene with the board in the plane x = 0, seen from -x, its middle at the origin."""
    fields: dict[str, list[str]] = {"black": [], "white": []}
    for row in range(-1, UP + 1):
        for column in range(-1, ACROSS + 1):
            inside = 0 <= row < UP and 0 <= column < ACROSS
            color = "black" if inside and (row + column) % 2 == 0 else "white"
            y = (column + 0.5 - ACROSS / 2.0) * FIELD
            z = (row + 0.5 - UP / 2.0) * FIELD
            fields[color].append(f"{{ position = [0.005, {y}, {z}] }}")
    text = '[sky]\npreset = "clear"\nsun_direction = [-0.7, 0.3, 0.6]\n'
    for name, share in (("black", 0.05), ("white", 0.8)):
        text += (
            f'[materials.{name}]\nkind = "lambert"\nsource = "none"\n'
            f"surface = [{{ wavelength = 550e-9, diffuse_reflectance = {share} }}]\n"
            f'[meshes.{name}]\nbox = {{ size = [0.01, {FIELD}, {FIELD}] }}\nmaterial = "{name}"\n'
            f'[[instances]]\nmesh = "{name}"\nplaces = [{", ".join(fields[name])}]\n'
        )
    return text


def pose(azimuth: float, elevation: float, roll: float, distance: float) -> dict[str, float]:
    """The inputs for a body that looks at the middle of the board along its x axis."""
    back = np.array(
        [-math.cos(elevation) * math.cos(azimuth), math.cos(elevation) * math.sin(azimuth),
         math.sin(elevation)]
    )  # fmt: skip
    ahead = -back
    left = np.cross([0.0, 0.0, 1.0], ahead)
    left /= np.linalg.norm(left)
    up = np.cross(ahead, left)
    turned_left = math.cos(roll) * left + math.sin(roll) * up
    turned_up = np.cross(ahead, turned_left)
    matrix = np.stack([ahead, turned_left, turned_up], axis=1)
    vector, _ = cv2.Rodrigues(matrix)
    angle = float(np.linalg.norm(vector))
    axis = vector.ravel() / angle if angle > 0.0 else vector.ravel()
    values = [math.cos(angle / 2.0), *(math.sin(angle / 2.0) * axis)]
    found = dict(zip((f"body.orientation.{k}" for k in "wxyz"), values, strict=True))
    places = dict(zip((f"body.position.{k}" for k in "xyz"), distance * back, strict=True))
    return found | places


def pictures(fmu: Path, folder: Path) -> list[np.ndarray]:
    """A picture from each of the views."""
    scene = str(write_manifest(folder, board()))
    with open_fmu(fmu) as camera:
        own = {"scene": scene, "output_directory": str(folder / "out"), **CAMERA}
        camera.initialize({**own, "poses": 1, "velocities": 1, **pose(*VIEWS[0])})
        for number, view in enumerate([*VIEWS, VIEWS[-1]]):
            camera.set(pose(*view))
            camera.step(0.1 * number, 0.1)
        camera.terminate()
    lines = (folder / "out" / "index.jsonl").read_text().splitlines()[1:]
    files = [row["file"] for row in map(json.loads, lines) if row.get("kind") == "picture"]
    return [np.load(folder / "out" / file) for file in files[: len(VIEWS)]]


def test_calibration_finds_the_lens_that_was_set(fmu_directory: Path, tmp_path: Path) -> None:
    corners = []
    for picture in pictures(fmu_directory / "CcdCamera.fmu", tmp_path):
        grey = np.ascontiguousarray(picture.reshape(480, 640).astype(np.uint8))
        found, places = cv2.findChessboardCornersSB(grey, SIZE, flags=cv2.CALIB_CB_ACCURACY)
        if found:
            corners.append(places.astype(np.float32).reshape(-1, 1, 2))
    assert len(corners) >= 12
    across, up = np.meshgrid(np.arange(SIZE[0]), np.arange(SIZE[1]))
    plane = np.stack([across, up, 0 * up], axis=2).reshape(-1, 3).astype(np.float32) * FIELD
    off, matrix, distortion, _, _ = cv2.calibrateCamera(
        [plane] * len(corners), corners, (640, 480), None, None,
        flags=cv2.CALIB_ZERO_TANGENT_DIST | cv2.CALIB_FIX_K3,
    )  # fmt: skip
    print(f"{len(corners)} views, {off:.3f} px", matrix, distortion.ravel())
    assert matrix[0, 0] == pytest.approx(FX, rel=1e-3)
    assert matrix[1, 1] == pytest.approx(FY, rel=1e-3)
    # OpenCV counts from the middle of the first pixel
    assert matrix[0, 2] == pytest.approx(CX - 0.5, abs=0.6)
    assert matrix[1, 2] == pytest.approx(CY - 0.5, abs=0.6)
    assert distortion.ravel()[:2] == pytest.approx([K1, K2], abs=0.01)
    assert off < 0.2
