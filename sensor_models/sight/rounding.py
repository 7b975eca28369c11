"""A word where a sensor is so far from what stands still that float32 moves it."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.registry import SceneHandle

#: Rounding of ranges that goes without saying, m.
MOST_ROUNDING = 1e-3


class RoundingWatch:
    """Says once in a run that ranges to what stands still are rounded by more than is allowed."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn: Callable[[str], None] | None = warn

    def look(self, scene: SceneHandle, place: NDArray[np.float64]) -> None:
        """Look at where the body of the sensor is."""
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
