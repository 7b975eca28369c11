"""The quick caster: ideal images of scenes too large for one process.

``split`` (or ``PartsWriter``, piece by piece) divides a scene by facets into parts in a directory.
``cast`` lets a crew of workers cast the rays of a ``View`` into the parts. ``photograph`` makes a
picture of a ``CcdCamera`` this way, ``echoes`` a sweep of a ``WaveformLidar``.
"""

from sensor_models.caster.camera import Photograph, photograph
from sensor_models.caster.caster import CastError, IdealImage, cast
from sensor_models.caster.parts import Parts, PartsWriter, read_parts
from sensor_models.caster.pulses import echoes
from sensor_models.caster.scenes import split
from sensor_models.caster.views import RayGrid, View

__all__ = [
    "CastError",
    "IdealImage",
    "Parts",
    "PartsWriter",
    "Photograph",
    "RayGrid",
    "View",
    "cast",
    "echoes",
    "photograph",
    "read_parts",
    "split",
]
