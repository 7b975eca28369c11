"""A depth camera from the names of its parameters: a preset's, and settings on top of them."""

from collections.abc import Mapping
from typing import Any

from sensor_models.camera.depth.camera import DepthCamera
from sensor_models.camera.depth.sensor import DEPTH_CAMERA, camera_of
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.named import named_parameters
from sensor_models.presets import load_preset


def named_camera(
    preset: str = "", settings: Mapping[str, Any] | None = None, identity: str = DEPTH_CAMERA.name
) -> tuple[DepthCamera, float]:
    """A depth camera and the rate of its frames in Hz, of a preset (``""`` for none) and settings.

    Names and values of settings are as ``core.named`` takes them.
    """
    values = {**(load_preset(DEPTH_CAMERA.name, preset) if preset else {}), **(settings or {})}
    parameters = named_parameters(DEPTH_CAMERA, values)
    sampling = parameters.of(SamplingParameters)
    return camera_of(parameters, sampling.seed, identity), sampling.sample_rate
