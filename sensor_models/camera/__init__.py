"""Cameras: images of distance, of what is seen and of its surface."""

from sensor_models.camera.depth.camera import DepthCamera, Frame
from sensor_models.camera.depth.parameters import (
    DepthCameraParameters,
    ImageNoiseParameters,
    NormalizeMode,
    Projection,
)
from sensor_models.core.placement import FramePlacementParameters
from sensor_models.sight.rows import Rows, ShutterParameters

__all__ = [
    "DepthCamera",
    "DepthCameraParameters",
    "Frame",
    "FramePlacementParameters",
    "ImageNoiseParameters",
    "NormalizeMode",
    "Projection",
    "Rows",
    "ShutterParameters",
]
