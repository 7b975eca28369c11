"""The smallest scene that has everything, for kernels to be loaded before they are needed."""

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.model import (
    Body,
    Instance,
    Material,
    Medium,
    MediumVolume,
    Mesh,
    Scene,
    SurfaceKind,
    SurfaceParameters,
)
from sensor_models.scene.pose_memory import POSE_SIZE, PoseMemory, new_content, read_description


def smallest_scene() -> Scene:
    """A triangle that stands and bounds a volume, and one that moves."""
    corners = np.eye(3, dtype=np.float32)
    mesh = Mesh(corners, np.arange(3, dtype=np.uint32).reshape(1, 3), np.zeros(1, np.int32))
    still, moving = Instance(0, np.eye(4), 1), Instance(0, np.eye(4), 2, body=0)
    material = Material("none", SurfaceKind.lambert, {905e-9: SurfaceParameters()})
    return Scene(
        "smallest",
        (mesh,),
        (still, moving),
        (material,),
        media=(Medium(),),
        volumes=(MediumVolume(0, Instance(0, np.eye(4), -1)),),
        bodies=(Body("body"),),
    )


def moved_bodies(scene: Scene) -> NDArray[np.float64]:
    """The poses of the bodies of a scene after a move, read as from memory that is shared."""
    memory = bytearray(new_content(scene))
    poses = PoseMemory(memory, read_description(memory).place, len(scene.bodies)).read()
    bodies = poses.bodies[:, :POSE_SIZE]
    bodies[0, 0] += 1.0
    return bodies
