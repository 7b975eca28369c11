"""OpenCV as a judge of pictures: it finds boards in them, and where these are.

The boards are textures in a scene with other textures. Chessboards are judged in pictures of 8 bits
with all defaults. Markers are found in these, too, but look smaller there: where light of a border
is spread over pixels, the curve of sRGB makes it look white (by 0.3 % from 1.6 m, by 1.9 % from
6 m). So their distances are taken from linear pictures, with four rays a pixel.
"""

import math
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from scenes import textures
from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import ColorParameters, OpticsParameters, Tone
from sensor_models.camera.intrinsics import intrinsics_of
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.camera.test_ccd_mitsuba import looking
from tests.sensor_models.scene_files import write_manifest

SCENE = """
[sky]
preset = "clear"
sun_direction = [-0.6, -0.5, 0.6]
[meshes.ground]
plane = { size = [60, 60] }
material = "asphalt"
texture = { image = "asphalt.png", size = [1.28, 1.28] }
[meshes.wall]
box = { size = [0.3, 20, 4] }
material = "brick"
texture = { image = "brick.png", size = [1, 0.5] }
[meshes.board]
box = { size = [0.02, WIDTH, HEIGHT] }
material = "paper"
parts.back = { texture = { image = "board.png", size = [WIDTH, HEIGHT] } }
[materials.paper]
kind = "lambert"
source = "estimate"
color = [0.9, 0.9, 0.9]
surface = [{ wavelength = 905e-9, diffuse_reflectance = 0.8 }]
[[instances]]
mesh = "ground"
[[instances]]
mesh = "wall"
position = [3, 0, 2]
[[instances]]
mesh = "board"
position = [0.01, 0, 1.5]
"""
CENTRE = np.array([0.0, 0.0, 1.5])
OPTICS = OpticsParameters(width=800, height=600, intrinsics=(700.0, 700.0, 0.0, 0.0))
#: Distance in m, and the angle off the board's normal to the side and up in degrees.
VIEWS = ((1.6, 0, 0), (2.5, 35, 10), (3.5, -50, 5), (4.5, 20, -12), (6.0, 0, 15))


def pictures_of(folder: Path, board: np.ndarray, width: float, height: float, camera: CcdCamera):
    """Pictures of a board from all views, with the distance of each."""
    cv2.imwrite(str(folder / "board.png"), board)
    textures.write_asphalt(folder / "asphalt.png")
    textures.write_brick(folder / "brick.png")
    text = SCENE.replace("WIDTH", str(width)).replace("HEIGHT", str(height))
    with RayScene(load_scene(write_manifest(folder, text)), threads=2) as rays:
        for distance, side, up in VIEWS:
            a, b = math.radians(side), math.radians(up)
            away = np.array([-math.cos(a) * math.cos(b), math.sin(a) * math.cos(b), math.sin(b)])
            pose = looking(CENTRE + distance * away, CENTRE + np.array([0.0, 0.02, 0.03]))
            seen = camera.expose(rays, pose)
            colors = camera.colors(seen.light, camera.day(rays))
            numbers, _ = camera.develop(rays.pool, seen.light, 0, colors=colors)
            yield distance, cv2.cvtColor(numbers.astype(np.uint8), cv2.COLOR_RGB2GRAY)


def matrix() -> np.ndarray:
    """The camera matrix as the index of frames has it."""
    return np.array(intrinsics_of(OPTICS)["opencv"]["camera_matrix"]).reshape(3, 3)


def distance_of(points: np.ndarray, corners: np.ndarray) -> float:
    """How far a board's middle is, by its corners."""
    found, _, shift = cv2.solvePnP(points, corners, matrix(), None)
    assert found
    return float(np.linalg.norm(shift))


def test_chessboards_are_found_where_they_are(tmp_path: Path) -> None:
    rows, columns, square = 7, 10, 0.1
    inside = (np.indices((rows, columns)).sum(axis=0) % 2 == 0).repeat(20, 0).repeat(20, 1)
    board = np.pad(np.where(inside, 25, 235).astype(np.uint8), 20, constant_values=235)
    down, across = np.indices((rows - 1, columns - 1))
    points = np.stack([across - 4.0, down - 2.5, 0.0 * down], axis=-1).reshape(-1, 3) * square
    sharp = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 50, 1e-4)
    for distance, grey in pictures_of(tmp_path, board, 1.2, 0.9, CcdCamera(OPTICS)):
        found, corners = cv2.findChessboardCorners(grey, (columns - 1, rows - 1))
        assert found, distance
        corners = cv2.cornerSubPix(grey, corners, (4, 4), (-1, -1), sharp)
        assert distance_of(points, corners) == pytest.approx(distance, rel=5e-3)


def test_markers_are_found_where_they_are(tmp_path: Path) -> None:
    words = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    # Texels as fine as print.
    marker, side = cv2.aruco.generateImageMarker(words, 7, 600), 0.6
    board = np.pad(marker, 100, constant_values=255)  # a cell of white around it
    given = cv2.aruco.DetectorParameters()
    given.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    detector = cv2.aruco.ArucoDetector(words, given)
    h = side / 2.0
    points = np.array([[-h, h, 0.0], [h, h, 0.0], [h, -h, 0.0], [-h, -h, 0.0]])
    colors = ColorParameters(tone=Tone.power)
    linear = CcdCamera(replace(OPTICS, sample_factor=2), colors=colors)
    for camera, allowed in ((CcdCamera(OPTICS), 0.025), (linear, 0.005)):
        for distance, grey in pictures_of(tmp_path, board, side * 8 / 6, side * 8 / 6, camera):
            corners, names, _ = detector.detectMarkers(grey)
            assert names is not None, distance
            assert names.ravel().tolist() == [7], distance
            found = distance_of(points, corners[0].reshape(4, 2))
            assert found == pytest.approx(distance, rel=allowed)
