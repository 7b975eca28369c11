"""The vehicle in motion: start at rest, steps, readings, states.

The engine integrates by the method of Runge and Kutta (fourth order) with equal inner steps that
fill a step exactly. Readings describe the end of the step and are kinematic: velocities
and accelerations are the derivatives of the position of the body's origin, without gravity.

Bodies of the traffic push the vehicle as if they had no velocity and were moved in each inner step;
the vehicle does not push them. If a simulation diverges, MuJoCo would print a line on the console,
write a file into the working directory and go on from a state of its own. So speeds are watched,
nobody hears its warnings while it works for us, and what they would tell is refused.
"""

import math
from collections.abc import Mapping
from dataclasses import astuple
from typing import Any, NamedTuple

import mujoco  # type: ignore[import-untyped]  # it carries no types
import numpy as np
from numpy.typing import NDArray

from fmus.vehicle.engine import (
    STATE,
    SimulationError,
    check_state,
    go_on_from,
    inner_steps,
    refuse_instability,
    state_of,
    unheard,
)
from fmus.vehicle.model import OBSTACLE_GROUP, build_model
from fmus.vehicle.parameters import VehicleCommands, VehicleParameters
from fmus.vehicle.solids import solids_of, turn_z
from fmus.vehicle.traffic import TRIPS, Traffic
from sensor_models.core.quantities import ParameterError
from sensor_models.scene.model import Scene

Floats = NDArray[np.float64]

#: A generalised speed (m/s or rad/s) that is reached only if the simulation diverges.
TOO_FAST = 500.0
_CHUNK = 1000  # inner steps for which the traffic is laid out at once

_SETTLING_STEP, _SETTLING_CHECK, _SETTLING_LONGEST = 2e-3, 125, 40  # s, steps, checks
_SETTLED = 1e-5  # m/s2 or rad/s2


class VehicleReading(NamedTuple):
    """The motion of the vehicle at an instant."""

    position: Floats
    orientation: Floats
    velocity: Floats
    angular_velocity: Floats
    acceleration: Floats
    angular_acceleration: Floats
    wheels: Floats  # (4, 2): position and velocity
    arm: Floats  # (2, 2)


class VehicleSimulation:
    """A vehicle in a scene, from a start at rest."""

    def __init__(self, parameters: VehicleParameters, scene: Scene, start: float = 0.0) -> None:
        self.time = self._start = start
        self.has_started = False
        self._parameters = parameters
        self._world = solids_of(scene)
        self.model = build_model(parameters, self._world, scene.bodies, scene.gravity)
        self._engine = self.model.engine
        self.data = mujoco.MjData(self._engine)
        self._traffic = Traffic(scene.bodies, TRIPS.get(scene.name, {}))
        self._solid_bodies = [n for n, b in enumerate(scene.bodies) if b.name in self._world.bodies]
        self._move_traffic(0.0)

    # ---- start -----------------------------------------------------------------------------

    def start(self, commands: VehicleCommands) -> None:
        """Put the vehicle on the ground at rest, with the arm at its commands.

        May be called again before the vehicle has moved, with the same result as the first call.
        """
        with unheard:
            mujoco.mj_resetData(self._engine, self.data)
            self._move_traffic(0.0)
            self._place(commands)
            self._refuse_blocked_start()
            self._settle()
        self.has_started = True

    def _place(self, commands: VehicleCommands) -> None:
        """Put the wheels on the ground."""
        own = self._parameters
        x, y = own.start_position
        half = np.array([own.wheel_base, own.track]) / 2.0
        turn = turn_z(own.start_yaw)
        wheels = np.array([[a, b] for a in (1, -1) for b in (1, -1)]) * half
        heights = [self._world.height_at(*(turn[:2, :2] @ wheel + (x, y))) for wheel in wheels]
        if not np.isfinite(heights).all():
            raise ParameterError(
                f"start.position = ({x}, {y}) m is not on the ground, allowed is where the scene"
                " has ground under all wheels"
            )
        rotation, height = _on_plane(turn, wheels, np.array(heights))
        self.data.qpos[:3] = x, y, height
        mujoco.mju_mat2Quat(self.data.qpos[3:7], rotation.ravel())
        self.data.qpos[self._engine.jnt_qposadr[self.model.arm]] = commands.boom, commands.stick
        self.data.ctrl[-2:] = self.data.act[-2:] = commands.boom, commands.stick

    def _refuse_blocked_start(self) -> None:
        mujoco.mj_forward(self._engine, self.data)
        group = self._engine.geom_group
        for contact in self.data.contact:
            geoms = sorted(contact.geom, key=lambda geom: group[geom])
            if contact.dist < 0.0 and group[geoms[0]] == OBSTACLE_GROUP:
                x, y = self._parameters.start_position
                name = self._engine.geom(geoms[0]).name.partition(" ")[2]
                raise ParameterError(
                    f"start.position = ({x}, {y}) m is not free: the vehicle would stand in {name}"
                )

    def _settle(self) -> None:
        """Let the vehicle sink into its springs, without swinging and sliding."""
        engine, data = self._engine, self.data
        damping, friction = engine.dof_damping.copy(), engine.pair_friction.copy()
        critical = math.sqrt(self._parameters.suspension_stiffness * self._parameters.mass)
        springs = engine.jnt_dofadr[self.model.suspensions]
        engine.dof_damping[springs] = np.maximum(damping[springs], critical)
        engine.pair_friction[:, :2] = np.maximum(friction[:, :2], 1.0)
        engine.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        engine.opt.timestep = _SETTLING_STEP
        for _ in range(_SETTLING_LONGEST):
            mujoco.mj_step(engine, data, nstep=_SETTLING_CHECK)
            if np.abs(data.qacc).max() < _SETTLED:
                break
        engine.dof_damping[:], engine.pair_friction[:] = damping, friction
        engine.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        data.qvel[:] = 0.0
        data.qpos[engine.jnt_qposadr[self.model.wheels]] = 0.0
        data.time = 0.0
        mujoco.mj_forward(engine, data)

    # ---- motion ----------------------------------------------------------------------------

    def advance(self, end: float, commands: VehicleCommands) -> None:
        """Simulate until an instant; if it fails, everything stays as it was."""
        before, duration = state_of(self.data), end - self.time
        count = inner_steps(self._start, end, duration, self._parameters.time_step)
        if duration <= 0.0:  # a step shorter than rounding
            return
        left, right, *arm = astuple(commands)
        self.data.ctrl[:] = left, right, left, right, *arm
        self._engine.opt.timestep = duration / count
        elapsed, arrival = self.time - self._start, end - self._start
        with unheard, np.errstate(over="ignore"):  # of a speed before it is refused
            try:
                refuse_instability(self.data, forget=True)
                for first in range(0, count, _CHUNK):
                    inner = np.arange(first, min(first + _CHUNK, count))
                    times = np.append(elapsed + duration * (inner / count), arrival)
                    traffic = self._traffic.states(times)
                    self._run(traffic[:-1])
                refuse_instability(self.data)
            except BaseException:
                mujoco.mj_setState(self._engine, self.data, before, STATE)
                raise
            self.time = end
            self._put_traffic(traffic[-1])
            mujoco.mj_forward(self._engine, self.data)

    def _run(self, traffic: Floats) -> None:
        """Inner steps, one for each row of states of the traffic."""
        engine, data, speed = self._engine, self.data, self.data.qvel
        positions = traffic[:, self._solid_bodies, :3]
        orientations = traffic[:, self._solid_bodies, 3:7]
        for position, orientation in zip(positions, orientations, strict=True):
            _refuse_nonsense(speed)
            data.mocap_pos[:], data.mocap_quat[:] = position, orientation
            mujoco.mj_step(engine, data)
        _refuse_nonsense(speed)

    def _move_traffic(self, elapsed: float) -> None:
        """Put the bodies of the traffic where they are so long after the start."""
        self._put_traffic(self._traffic.states(np.array([elapsed]))[0])

    def _put_traffic(self, states: Floats) -> None:
        """Put the bodies of the traffic into place, and keep their states for readings."""
        self._traffic_now = states
        solid = self._traffic_now[self._solid_bodies]
        self.data.mocap_pos[:], self.data.mocap_quat[:] = solid[:, :3], solid[:, 3:7]

    # ---- readings --------------------------------------------------------------------------

    def traffic(self) -> Floats:
        """The states of the scene's movable bodies, a row for each."""
        return np.array(self._traffic_now)

    def reading(self) -> VehicleReading:
        """The motion at the present instant."""
        data, body = self.data, self.model.body
        rotation = data.xmat[body].reshape(3, 3)
        return VehicleReading(
            data.xpos[body].copy(),
            data.xquat[body].copy(),
            data.qvel[:3].copy(),
            # The engine gives a free body's rotation in the frame of the body.
            rotation @ data.qvel[3:6],
            data.qacc[:3].copy(),
            rotation @ data.qacc[3:6],
            self._joints(self.model.wheels),
            self._joints(self.model.arm),
        )

    def _joints(self, joints: NDArray[np.int64]) -> Floats:
        engine, data = self._engine, self.data
        angles = data.qpos[engine.jnt_qposadr[joints]]
        return np.column_stack([angles, data.qvel[engine.jnt_dofadr[joints]]])

    # ---- states ----------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later readings depend on."""
        return {"time": np.array([self._start, self.time]), "engine": state_of(self.data)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state of this vehicle, or one with equal parameters."""
        own = self.state()
        check_state(arrays, own)
        has_started = self.has_started
        with unheard:
            self._take(arrays)
            try:
                _refuse_nonsense(self.data.qvel)
                refuse_instability(self.data)
            except SimulationError:
                self._take(own)
                self.has_started = has_started
                raise

    def _take(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state as it is."""
        self._start, self.time = arrays["time"].tolist()
        self.has_started = True
        self._move_traffic(self.time - self._start)
        go_on_from(self._engine, self.data, arrays["engine"])


def _refuse_nonsense(speed: Floats) -> None:
    if not speed.dot(speed) < TOO_FAST**2:  # also if it is NaN
        raise SimulationError(
            f"the simulation diverges at a speed of {np.abs(speed).max():g} (m/s or rad/s): the"
            " vehicle is crushed, falls for ever, or time_step is too long for it"
        )


def _on_plane(turn: Floats, wheels: Floats, heights: Floats) -> tuple[Floats, float]:
    """Rotation and height of a vehicle whose wheels stand on the plane nearest to the heights."""
    plane, *_ = np.linalg.lstsq(np.column_stack([np.ones(4), wheels]), heights, rcond=None)
    height, along, across = plane
    forward = np.array([1.0, 0.0, along])
    up = np.array([-along, -across, 1.0])
    forward, up = forward / np.linalg.norm(forward), up / np.linalg.norm(up)
    above = heights - (height + wheels @ (along, across))
    rotation = turn @ np.column_stack([forward, np.cross(up, forward), up])
    return rotation, float(height + above.max())
