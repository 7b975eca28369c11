"""A lidar from the names of its parameters: those of a preset, and settings on top of them."""

from collections.abc import Mapping
from typing import Any

from sensor_models.core.clock import SamplingParameters
from sensor_models.core.named import named_parameters
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.sensor import LIDAR, lidar_of
from sensor_models.presets import load_preset


def named_lidar(
    preset: str = "", settings: Mapping[str, Any] | None = None, identity: str = LIDAR.name
) -> tuple[Lidar, float]:
    """A lidar and the rate of its frames in Hz, of a preset (``""`` for none) and settings.

    Names and values of settings are as ``core.named`` takes them.
    """
    values = {**(load_preset(LIDAR.name, preset) if preset else {}), **(settings or {})}
    parameters = named_parameters(LIDAR, values)
    sampling = parameters.of(SamplingParameters)
    rate = sampling.sample_rate
    return lidar_of(parameters, sampling.seed, identity, rate), rate
