"""Radars: what is nearest in a cone, and how fast it comes."""

from sensor_models.radar.cone import ConeRadar, Detections, Target
from sensor_models.radar.obstacles import Obstacles, obstacles_of
from sensor_models.radar.parameters import (
    Cap,
    ConeParameters,
    ElevationMode,
    ObstacleShape,
    SpeedMode,
)

__all__ = [
    "Cap",
    "ConeParameters",
    "ConeRadar",
    "Detections",
    "ElevationMode",
    "ObstacleShape",
    "Obstacles",
    "SpeedMode",
    "Target",
    "obstacles_of",
]
