"""Cameras: images of distance, of what is seen and of its surface."""

from sensor_models.camera.depth import DepthCamera, Frame
from sensor_models.camera.parameters import (
    DepthCameraParameters,
    ImageNoiseParameters,
    NormalizeMode,
    Projection,
)
from sensor_models.camera.shutter import RollingShutter, ShutterParameters
from sensor_models.core.placement import FramePlacementParameters

__all__ = [
    "DepthCamera",
    "DepthCameraParameters",
    "Frame",
    "FramePlacementParameters",
    "ImageNoiseParameters",
    "NormalizeMode",
    "Projection",
    "RollingShutter",
    "ShutterParameters",
]
