"""Lidar: scan patterns, the way of their rays through a scene, and the points that come of it."""

from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import (
    AmbientParameters,
    IntensityKind,
    LidarNoiseParameters,
    LidarParameters,
    OutputFrame,
    PathConvention,
    ReturnMode,
    ScanMode,
)
from sensor_models.lidar.patterns import PatternParameters, PatternType, ScanPattern, make_pattern
from sensor_models.lidar.sweep import InstantScan, LidarFrame, RollingScan, Scan
from sensor_models.output.points import CloudBuffer

__all__ = [
    "AmbientParameters",
    "CloudBuffer",
    "InstantScan",
    "IntensityKind",
    "Lidar",
    "LidarFrame",
    "LidarNoiseParameters",
    "LidarParameters",
    "OutputFrame",
    "PathConvention",
    "PatternParameters",
    "PatternType",
    "ReturnMode",
    "RollingScan",
    "Scan",
    "ScanMode",
    "ScanPattern",
    "make_pattern",
]
