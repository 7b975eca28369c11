"""Full-waveform lidar: pulses, receivers, and the echoes that an instrument reports."""

from sensor_models.waveform.clouds import EchoCloud
from sensor_models.waveform.lidar import WaveformLidar
from sensor_models.waveform.parameters import (
    AdcParameters,
    AirLight,
    Binning,
    ExtractionWay,
    RayWeight,
    ReceiverParameters,
    ReceiverType,
    SpadCorrection,
    SubrayPattern,
    WaveformParameters,
)

__all__ = [
    "AdcParameters",
    "AirLight",
    "Binning",
    "EchoCloud",
    "ExtractionWay",
    "RayWeight",
    "ReceiverParameters",
    "ReceiverType",
    "SpadCorrection",
    "SubrayPattern",
    "WaveformLidar",
    "WaveformParameters",
]
