"""The smallest scene with everything, for kernels that need only some scene."""

import numpy as np

from sensor_models.scene.history import History, MovingBodies
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
    """A scene with a resting triangle that bounds a volume, and a moving triangle."""
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


def moved_bodies(scene: Scene) -> MovingBodies:
    """Moving bodies of a scene, read as if from shared memory."""
    memory = bytearray(new_content(scene))
    known = PoseMemory(memory, read_description(memory).place, len(scene.bodies))
    states = known.read().bodies
    for time in (0.0, 1.0):
        states[:, 0] += 1.0
        known.write(time, states)
    _, times, records = known.since(0.0)
    seen = History.of_records(times, records).at([0.5, 1.0])
    return MovingBodies(np.ascontiguousarray(seen.states[:, :, :POSE_SIZE]), 0, 1)
