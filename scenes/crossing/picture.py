"""Draws a cycle of the person: ``python -m scenes.crossing.picture [FILE]``."""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scenes.walker import CYCLE
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import MovingBodies, RayScene

INSTANTS, WIDTH, HEIGHT = 8, 100, 200
EYE, REACH = np.array([12.0, -4.6, 0.9]), 0.22  # m, from the side; tangent of half the height
PERSON = 40
LIGHT = np.array([-0.3, -0.8, 0.5])


def picture() -> NDArray[np.uint8]:
    """Instants of a cycle side by side, on a body at (12, 0) that looks along x."""
    across = REACH * WIDTH / HEIGHT
    u, v = np.meshgrid(np.linspace(-across, across, WIDTH), np.linspace(REACH, -REACH, HEIGHT))
    along = np.stack([u, np.ones_like(u), v], axis=-1)
    along /= np.linalg.norm(along, axis=-1, keepdims=True)
    pose = np.array([[[12.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]])
    drawn = []
    with RayScene(load_scene("crossing")) as rays:
        for time in CYCLE * np.arange(INSTANTS) / INSTANTS:
            bodies = MovingBodies(pose, 0, 0, np.array([time]))
            hits = rays.trace(EYE, along, bodies=bodies)
            light = 0.3 + 0.7 * np.clip(hits.normal @ LIGHT, 0.0, 1.0)
            color = np.where((hits.entity_id == PERSON)[..., None], (235, 200, 160), (95, 110, 130))
            drawn.append((light[..., None] * color).astype(np.uint8))
    return np.concatenate(drawn, axis=1)


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/scenes/walker.png")
    Image.fromarray(picture()).save(target)
    print(target)
