"""The quick caster: ideal images of scenes too large for one process.

``split`` (or ``PartsWriter``, piece by piece) divides a scene by facets into parts in a directory.
``cast`` lets a pool of workers cast the rays of a ``View`` into the parts. ``photograph`` makes a
picture of a ``CcdCamera`` this way, ``echoes`` a sweep of a ``WaveformLidar``.
"""

from sensor_models.tools.caster.camera import Photograph, photograph
from sensor_models.tools.caster.caster import CastError, IdealImage, cast
from sensor_models.tools.caster.parts import Parts, PartsWriter, read_parts
from sensor_models.tools.caster.pulses import echoes
from sensor_models.tools.caster.scenes import split
from sensor_models.tools.caster.views import RayGrid, View

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
