"""A running simulation of MuJoCo that sensors see.

    world = MujocoWorld(model, data)
    lidar, rate = named_lidar("OS1-64")
    while running:
        mujoco.mj_step(model, data)
        cloud = lidar.capture(world.rays(), world.pose("head"))

The shapes are taken once, from the compiled model. Poses and velocities are taken from ``data``
each time, as MuJoCo has computed them (``mj_kinematics``, ``mj_forward`` or ``mj_step`` before).
Entity ids are MuJoCo's numbers of geoms, plus one.
"""

from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.assembly import Assembly
from sensor_models.scene.pose_memory import BODY_SIZE
from sensor_models.scene.tracing import RayScene
from sensor_models.scene.worlds.formats import VISUAL
from sensor_models.scene.worlds.guesses import read_rules
from sensor_models.scene.worlds.loading import manifest_of
from sensor_models.scene.worlds.mujoco_arrays import arrays_of
from sensor_models.scene.worlds.mujoco_model import Model, fill_world
from sensor_models.scene.worlds.world import World

Floats = NDArray[np.float64]


class MujocoWorld:
    """The scene of a model, with its bodies where the simulation has them."""

    def __init__(
        self,
        model: Any,
        data: Any,
        *,
        geometry: str = VISUAL,
        guesses: Path | None = None,
        threads: int = 0,
    ) -> None:
        self._data = data
        known = Model(arrays_of(model))
        self._bodies = known.bodies
        world = World(Path("MuJoCo"), "MuJoCo", read_rules([] if guesses is None else [guesses]))
        fill_world(world, known, geometry)
        assembly = Assembly(world.path, manifest_of(world), False)
        assembly.source.made = world.meshes
        #: The world as a scene, with its bodies at the model's first position.
        self.scene = assembly.scene()
        self._rays = RayScene(self.scene, threads)

    def poses(self) -> Floats:
        """Positions and quaternions w, x, y, z of the bodies of the scene, (bodies, 7)."""
        own = self._bodies
        return np.hstack([self._data.xpos[own], self._data.xquat[own]])

    def pose(self, body: str) -> Floats:
        """Position and quaternion w, x, y, z of a body of the model, for what it carries."""
        own = self._data.body(body)
        return np.concatenate([own.xpos, own.xquat])

    def states(self) -> Floats:
        """Poses, velocities of the origins and angular velocities in the world, (bodies, 13)."""
        return states_of(self._data, self._bodies)

    def rays(self) -> RayScene:
        """The world for tracing, with its bodies where they are now."""
        if len(self._bodies):
            self._rays.move_all(self.poses())
            self._rays.commit()
        return self._rays

    def close(self) -> None:
        """Free the memory of the world."""
        self._rays.close()

    def __enter__(self) -> "MujocoWorld":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def states_of(data: Any, bodies: NDArray[np.intp]) -> Floats:
    """Poses, velocities of origins and angular velocities of bodies of a model, (bodies, 13)."""
    # MuJoCo has velocities at the centre of mass of each whole tree
    roots = np.asarray(data.model.body_rootid, np.intp)[bodies]
    turning, moving = data.cvel[bodies, :3], data.cvel[bodies, 3:]
    states = np.empty((len(bodies), BODY_SIZE))
    states[:, :3], states[:, 3:7] = data.xpos[bodies], data.xquat[bodies]
    states[:, 7:10] = moving + np.cross(turning, data.xpos[bodies] - data.subtree_com[roots])
    states[:, 10:] = turning
    return states
