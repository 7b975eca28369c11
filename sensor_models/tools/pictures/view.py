"""Pictures of scenes for people, by the light that the CCD camera sees (``camera.ccd.camera``).

The lens is a pinhole, the bands are those of the sRGB colours, and brightness is fitted to the
picture. A scene without light of its own gets that of a clear day.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import LightParameters, OpticsParameters
from sensor_models.camera.ccd.responses import trapezoid
from sensor_models.light.spectra import XYZ_TO_RGB, color_matching
from sensor_models.scene.model import Scene, Sky
from sensor_models.scene.schema import SkyTable
from sensor_models.scene.sky import sky_of
from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]

#: Where in the range from black to white the brightest pixels come to lie but for a few.
_BRIGHT, _BRIGHT_SHARE = 0.85, 97.0
#: Rays around each point that is seen, and rays along each side of a pixel.
_RAYS, _SAMPLES = 16, 2
_NOON = (0.3, 0.2, 0.93)


@dataclass(frozen=True)
class Camera:
    """From where a picture is taken; the horizontal angle of view in rad."""

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    field_of_view: float = math.radians(60.0)


def whole_scene(scene: Scene) -> Camera:
    """A camera that sees a scene from its south, from above."""
    low, high = extents(scene)
    middle, size = (low + high) / 2.0, float(np.linalg.norm(high - low)) or 1.0
    position = middle + size * np.array([-0.35, -0.75, 0.45])
    return Camera((position[0], position[1], position[2]), (middle[0], middle[1], middle[2]))


def extents(scene: Scene) -> tuple[Floats, Floats]:
    """The corners of the box around all instances, with the bodies where the manifest has them."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for instance in scene.instances:
        vertices = scene.meshes[instance.mesh].vertices.astype(np.float64)
        places = vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
        if instance.body >= 0:
            places = places + np.array(scene.bodies[instance.body].position)
        low, high = np.minimum(low, places.min(axis=0)), np.maximum(high, places.max(axis=0))
    return (low, high) if scene.instances else (np.zeros(3), np.zeros(3))


def render(
    scene: Scene, camera: Camera, width: int, height: int, samples: int = _SAMPLES
) -> NDArray[np.uint8]:
    """A picture of ``samples`` x ``samples`` rays a pixel, as rows of red, green, blue."""
    lit = replace(scene, sky=scene.sky if is_lit(scene.sky) else daylight(scene.sky))
    focal = width / (2.0 * math.tan(camera.field_of_view / 2.0))
    optics = OpticsParameters(
        width=width, height=height, intrinsics=(focal, focal, 0.0, 0.0), sample_factor=samples
    )
    eye = CcdCamera(optics, light=LightParameters(rays=_RAYS))
    eye.response = np.ascontiguousarray(
        XYZ_TO_RGB @ color_matching(eye.wavelengths) * trapezoid(eye.wavelengths)
    )
    with RayScene(lit) as rays:
        return shown(eye.expose(rays, pose_of(camera)).light)


def shown(light: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Linear red, green and blue as a picture of a brightness that fits."""
    linear = np.asarray(light, float)
    most = float(np.percentile(linear.max(axis=2), _BRIGHT_SHARE))
    bright = np.clip(linear * (_BRIGHT / most if most > 0.0 else 0.0), 0.0, 1.0)
    curve = np.where(bright <= 0.0031308, 12.92 * bright, 1.055 * bright ** (1.0 / 2.4) - 0.055)
    picture: NDArray[np.uint8] = np.rint(255.0 * curve).astype(np.uint8)
    return picture


def is_lit(sky: Sky) -> bool:
    """Whether there is a sun or a sky."""
    return any(light > 0.0 for _, light in (*sky.sun_spectrum, *sky.sky_spectrum))


def daylight(sky: Sky) -> Sky:
    """A clear day, with the sun where it is, or high if it is below the horizon."""
    direction = sky.sun_direction if sky.sun_direction[2] > 0.0 else _NOON
    return sky_of(SkyTable(preset="clear", sun_direction=direction))


def pose_of(camera: Camera) -> Floats:
    """The pose of a camera as kernels take it, (1, 12): x ahead, z up."""
    ahead = _unit(np.array(camera.target, np.float64) - np.array(camera.position))
    up = np.array([0.0, 0.0, 1.0]) if abs(ahead[2]) < 0.999 else np.array([0.0, 1.0, 0.0])
    left = _unit(np.cross(up, ahead))
    turn = np.stack([ahead, left, np.cross(ahead, left)], axis=1)
    return np.array([[*turn.ravel(), *camera.position]])


def save_png(picture: NDArray[np.uint8], file: Path) -> None:
    """Write a picture with 256 colours chosen for it, a third of the size of one with all."""
    colors = Image.fromarray(picture).quantize(256, kmeans=3, dither=Image.Dither.NONE)
    colors.save(file, "PNG", optimize=True)


def _unit(vector: Floats) -> Floats:
    return np.asarray(vector / np.linalg.norm(vector))
