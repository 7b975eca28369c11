"""A model of MuJoCo in motion: any MJCF with actuators, by its own integrator.

Inner steps are equal, no longer than the time step, and fill a communication step exactly. Commands
hold during the step; the engine keeps them within the ranges of its actuators. Readings describe
the end of the step and are kinematic: accelerations are those of origins, without gravity.

A state that diverges is refused, and everything stays as it was before that step.
"""

from collections.abc import Mapping
from typing import Any

import mujoco  # type: ignore[import-untyped]  # it carries no types
import numpy as np
from numpy.typing import NDArray

from fmus.vehicle.engine import (
    STATE,
    check_state,
    go_on_from,
    inner_steps,
    refuse_instability,
    state_of,
    unheard,
)
from sensor_models.core.quantities import ParameterError
from sensor_models.scene.worlds.mujoco_arrays import arrays_of
from sensor_models.scene.worlds.mujoco_model import Model
from sensor_models.scene.worlds.mujoco_world import states_of

Floats = NDArray[np.float64]


class Robot:
    """A model that is stepped."""

    def __init__(self, engine: Any, start: float = 0.0, *, keyframe: str = "", step: float = 0.0):
        """``step`` is the longest inner step, 0 for that of the model."""
        self._engine = engine
        self.data = mujoco.MjData(engine)
        self._step = step or float(engine.opt.timestep)
        self._start = self.time = start
        self._key = self._key_of(keyframe)
        #: Numbers of the bodies that move, in the order of the scene's.
        self.bodies = Model(arrays_of(engine)).bodies
        self._joints = joints_of(engine, self.bodies)

    def _key_of(self, name: str) -> int:
        if not name:
            return -1
        number = int(mujoco.mj_name2id(self._engine, mujoco.mjtObj.mjOBJ_KEY, name))
        if number < 0:
            known = [self._engine.key(n).name for n in range(self._engine.nkey)]
            raise ParameterError(f"keyframe = {name!r} is none of the model's, which are {known}")
        return number

    # ---- motion ------------------------------------------------------------------------------

    def start(self, commands: Floats) -> None:
        """Put it where its key frame or its model has it, with these commands."""
        with unheard:
            if self._key < 0:
                mujoco.mj_resetData(self._engine, self.data)
            else:
                mujoco.mj_resetDataKeyframe(self._engine, self.data, self._key)
            self.data.time = 0.0
            self.data.ctrl[:] = commands
            mujoco.mj_forward(self._engine, self.data)

    def advance(self, end: float, commands: Floats) -> None:
        """Simulate until an instant; if it fails, everything stays as it was."""
        duration = end - self.time
        count = inner_steps(self._start, end, duration, self._step)
        if duration <= 0.0:  # a step shorter than rounding
            return
        before = state_of(self.data)
        self._engine.opt.timestep = duration / count
        self.data.ctrl[:] = commands
        with unheard:
            try:
                refuse_instability(self.data, forget=True)
                mujoco.mj_step(self._engine, self.data, nstep=count)
                mujoco.mj_forward(self._engine, self.data)
                refuse_instability(self.data)
            except BaseException:
                mujoco.mj_setState(self._engine, self.data, before, STATE)
                raise
        self.time = end

    # ---- readings ----------------------------------------------------------------------------

    def states(self) -> Floats:
        """Poses and velocities of the bodies that move, (bodies, 13)."""
        return states_of(self.data, self.bodies)

    def accelerations(self, place: int) -> Floats:
        """Acceleration of the origin of one of them, and its angular acceleration."""
        mujoco.mj_rnePostConstraint(self._engine, self.data)
        found, body = np.zeros(6), int(self.bodies[place])
        kind = mujoco.mjtObj.mjOBJ_XBODY
        mujoco.mj_objectAcceleration(self._engine, self.data, kind, body, found, 0)
        # what the engine gives is what an accelerometer would feel
        return np.concatenate([found[3:] + self._engine.opt.gravity, found[:3]])

    def joints(self) -> Floats:
        """Position and velocity of each joint, or orientation and angular velocity of a ball."""
        data = self.data
        parts = [
            np.concatenate([data.qpos[q : q + m], data.qvel[v : v + n]])
            for q, v, m, n in self._joints
        ]
        return np.concatenate([np.zeros(0), *parts])

    # ---- states ------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later readings depend on."""
        return {"time": np.array([self._start, self.time]), "engine": state_of(self.data)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state of this model."""
        check_state(arrays, self.state())
        self._start, self.time = arrays["time"].tolist()
        with unheard:
            go_on_from(self._engine, self.data, arrays["engine"])


def joints_of(engine: Any, bodies: NDArray[np.intp]) -> list[tuple[int, int, int, int]]:
    """Where the joints of bodies are that are not free: in qpos and qvel, and how many numbers."""
    found = []
    for body in bodies:
        first = engine.body_jntadr[body]
        for joint in range(first, first + engine.body_jntnum[body]):
            kind = engine.jnt_type[joint]
            if kind != mujoco.mjtJoint.mjJNT_FREE:
                sizes = (4, 3) if kind == mujoco.mjtJoint.mjJNT_BALL else (1, 1)
                place = int(engine.jnt_qposadr[joint]), int(engine.jnt_dofadr[joint])
                found.append((*place, *sizes))
    return found
