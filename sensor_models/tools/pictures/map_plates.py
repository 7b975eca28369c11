"""Plates with maps of roughness, metal, normals and light, for a picture of them."""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene
from sensor_models.tools.pictures.view import save_png

#: Texels of a side.
SIDE = 256

_MANIFEST = """
format = 1
name = "maps"
[sky]
preset = "clear"
sun_direction = [-0.5, -0.6, 0.62]
[meshes.floor]
plane = { size = [60, 60] }
material = "concrete"
[meshes.wall]
box = { size = [30, 0.2, 6] }
material = "brick"
[meshes.coat]
box = { size = [2, 0.1, 2] }
material = "paint_red"
texture = { size = [2, 2], roughness = "rough.png", metal = "halves.png" }
[meshes.studs]
box = { size = [2, 0.1, 2] }
material = "paint_blue"
texture = { size = [2, 2], normals = "studs.png" }
[meshes.sign]
box = { size = [2, 0.1, 2] }
material = "paint_black"
[meshes.sign.texture]
size = [2, 2]
roughness = "rough.png"
metal = "halves.png"
normals = "studs.png"
emission = "arrow.png"
luminance = 2000
[[instances]]
mesh = "floor"
[[instances]]
mesh = "wall"
position = [0, 4, 3]
[[instances]]
mesh = "coat"
position = [-2.4, 0, 1.1]
roll_pitch_yaw_deg = [-20, 0, 0]
[[instances]]
mesh = "studs"
position = [0, 0, 1.1]
roll_pitch_yaw_deg = [-20, 0, 0]
[[instances]]
mesh = "sign"
position = [2.4, 0, 1.1]
roll_pitch_yaw_deg = [-20, 0, 0]
"""


def plates() -> Scene:
    """The scene, which is read from files that are gone afterwards."""
    across = np.linspace(0.15, 0.9, SIDE)
    rows, columns = np.indices((SIDE, SIDE)) / SIDE
    light = np.abs(columns - 0.5) < np.where(rows < 0.5, 0.6 * (rows - 0.15), 0.07)
    light &= (rows > 0.15) & (rows < 0.85)
    pictures = {
        "rough": _grey(np.broadcast_to(across, (SIDE, SIDE))),
        "halves": _grey(np.where(rows < 0.5, 1.0, 0.0)),
        "studs": _studs(),
        "arrow": np.where(light[..., None], [255, 180, 40], 0).astype(np.uint8),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for picture, pixels in pictures.items():
            save_png(pixels, folder / f"{picture}.png")
        (folder / "scene.toml").write_text(_MANIFEST, encoding="utf-8")
        return load_scene(folder / "scene.toml")


def _grey(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    return np.repeat(np.rint(255.0 * values).astype(np.uint8)[..., None], 3, axis=2)


def _studs() -> NDArray[np.uint8]:
    """Normals of an array of half balls."""
    cell = SIDE // 6
    y, x = ((np.indices((SIDE, SIDE)) % cell) + 0.5) / cell * 2.0 - 1.0
    square = (x * x + y * y) / 0.64
    inside = square < 0.9
    up = np.sqrt(np.maximum(1.0 - square, 0.1))
    normal = np.stack([np.where(inside, x / 0.8, 0.0), np.where(inside, -y / 0.8, 0.0),
                       np.where(inside, up, 1.0)], axis=-1)  # fmt: skip
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.rint(127.5 * (normal + 1.0)).astype(np.uint8)
