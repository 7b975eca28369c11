"""An IMU from the names of its parameters: those of a preset, and settings on top of them."""

from collections.abc import Mapping
from typing import Any

from sensor_models.core.clock import SamplingParameters
from sensor_models.core.named import named_parameters
from sensor_models.inertial.imu import Imu
from sensor_models.inertial.sensors import IMU, imu_of
from sensor_models.presets import load_preset


def named_imu(
    preset: str = "", settings: Mapping[str, Any] | None = None, identity: str = IMU.name
) -> tuple[Imu, float]:
    """An IMU and the rate of its samples in Hz, of a preset (``""`` for none) and settings.

    Names and values of settings are as ``core.named`` takes them.
    """
    values = {**(load_preset(IMU.name, preset) if preset else {}), **(settings or {})}
    parameters = named_parameters(IMU, values)
    return imu_of(parameters, identity), parameters.of(SamplingParameters).sample_rate
