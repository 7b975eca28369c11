"""A warning if a sensor is so far from the resting scene that float32 is too coarse."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sensor_models.scene.registry import SceneHandle

#: Rounding of ranges that needs no warning, m.
MOST_ROUNDING = 1e-3


class RoundingWatch:
    """Warns once in a run if ranges to resting objects are rounded too coarsely."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn: Callable[[str], None] | None = warn

    def look(self, scene: "SceneHandle", place: NDArray[np.float64]) -> None:
        """Check the position of the sensor's body."""
        if self._warn is None:
            return
        off = scene.rays(placed=False).rounding_at(place.tolist())
        if off > MOST_ROUNDING:
            self._warn(
                f"body.position = {place.tolist()} lies so far from what stands still in the scene"
                f" that ranges to it are rounded by up to {1e3 * off:.1f} mm; movable bodies are"
                " not concerned"
            )
            self._warn = None
