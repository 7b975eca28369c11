"""The inputs of a body as masters have them: angles for a quaternion, poses or velocities alone.

What is done where a pose or a velocity is left out is compiled (``kernels.math.body_port``). Steps
of scalar sensors call it themselves (``step``); ``BodyPort`` calls it for all other sensors.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import ParameterError, check, choice, real
from sensor_models.kernels.compiling import plain
from sensor_models.kernels.math import body_port as at
from sensor_models.kernels.math.motion import (
    ANGULAR_VELOCITY,
    BODY_SIZE,
    ORIENTATION,
    POSITION,
    VELOCITY,
)
from sensor_models.kernels.math.sampling import same_instant

Vector = NDArray[np.float64]

POSE_OF_TRANSLATION, POSE_OF_ROTATION = slice(POSITION, ORIENTATION), slice(ORIENTATION, VELOCITY)
ROLL_PITCH_YAW = ("roll", "pitch", "yaw")

NO_ORIENTATION = "body.orientation is all zeros, as if not connected: taken as 1, 0, 0, 0"

#: What is told once of a body, in the order of the bits of ``body_port.to_tell``.
COMPLETED = (
    "body.position never changes while body.velocity is not 0, as if it was not connected: it is"
    " integrated from the velocity; connect body.position, or set poses to from_velocities if this"
    " is meant, to given if the body stays where it is",
    "the orientation of the body never changes while body.angular_velocity is not 0, as if it was"
    " not connected: it is integrated from the angular velocity; connect body.orientation (or"
    " body.euler, with orientation_input = euler), or set poses to from_velocities if this is"
    " meant, to given if the body does not turn",
    "body.position changes while body.velocity is always 0, as if it was not connected: the"
    " velocity is derived from the positions; connect body.velocity, or set velocities to"
    " from_poses if this is meant, to given if the velocity is 0",
    "the orientation of the body changes while body.angular_velocity is always 0, as if it was not"
    " connected: the angular velocity is derived from the orientations; connect"
    " body.angular_velocity, or set velocities to from_poses if this is meant, to given if it is 0",
)


#: What is told once of an orientation that does not count, by the one that does.
IDLE_ANGLES = (
    "body.euler is set, but orientation_input is quaternion: the angles do nothing; set"
    " orientation_input to euler if they are the orientation of the body, or leave them alone"
)
IDLE_QUATERNION = (
    "body.orientation is set, but orientation_input is euler: the quaternion does nothing; set"
    " orientation_input to quaternion if it is the orientation of the body, or leave it alone"
)


class OrientationInput(IntEnum):
    """Which inputs say how a body is turned."""

    quaternion = 0
    euler = 1


class Poses(IntEnum):
    """Where the poses of a body come from."""

    auto = 0
    given = 1
    from_velocities = 2


class Velocities(IntEnum):
    """Where the velocities of a body come from."""

    auto = 0
    given = 1
    from_poses = 2


@dataclasses.dataclass(frozen=True)
class OrientationParameters:
    """Which inputs say how bodies are turned."""

    orientation_input: OrientationInput = choice(
        OrientationInput.quaternion,
        "Whether orientations are the quaternions or the angles (euler) of the inputs",
    )


@dataclasses.dataclass(frozen=True)
class BodyParameters(OrientationParameters):
    """How the inputs of a body are understood."""

    poses: Poses = choice(
        Poses.auto,
        "Whether poses are those of the inputs (given), or integrals of the velocities from the "
        "first pose on; auto integrates a position or an orientation that never changes while its "
        "velocity is not 0",
    )
    velocities: Velocities = choice(
        Velocities.auto,
        "Whether velocities are those of the inputs (given), or come with the accelerations from "
        "the parabola through the last three poses; auto derives a velocity or an angular velocity "
        "that is always 0 while its pose changes",
    )

    def __post_init__(self) -> None:
        check(self)
        integrated, derived = self.poses == Poses.from_velocities, self.velocities.name
        if integrated and self.velocities == Velocities.from_poses:
            raise ParameterError(
                f"poses = {self.poses.name} while velocities = {derived}: one of them has to be"
                " known; allowed is one of the two, and auto or given for the other"
            )

    @property
    def policy(self) -> int:
        """What is done with a pair by what was seen of it, in the form of the kernels."""
        if self.poses == Poses.from_velocities:
            modes = [at.INTEGRATED] * 4
        elif self.velocities == Velocities.from_poses:
            modes = [at.DERIVED] * 4
        else:
            modes = [at.GIVEN] * 4
            if self.poses == Poses.auto:
                modes[at.GOING] = at.INTEGRATED
            if self.velocities == Velocities.auto:
                modes[at.MOVED] = at.DERIVED
        return sum(mode << 2 * seen for seen, mode in enumerate(modes))

    @property
    def told(self) -> int:
        """What is not worth telling: all, if it was asked for."""
        asked = self.poses == Poses.from_velocities or self.velocities == Velocities.from_poses
        return (1 << at.THINGS_TO_TELL) - 1 if asked else 0


@dataclasses.dataclass(frozen=True)
class EulerAngles:
    """The orientation of the body as angles."""

    euler: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "rad",
        "Orientation of the body, where orientation_input is euler: it is turned by yaw about z of "
        "the world, then by pitch about its y and by roll about its x; wrapped or not",
        components=ROLL_PITCH_YAW,
        name="body.euler",
    )


#: As plain Python, which takes less than the call of a compiled function.
_is_same = plain(same_instant)

AS_CONNECTED = BodyParameters()


def orientation_of_angles(angles: Vector, name: str = "body.euler") -> Vector:
    """The quaternion of roll, pitch and yaw; angles that are not finite are refused."""
    for part, angle in zip(ROLL_PITCH_YAW, angles.tolist(), strict=True):
        if not math.isfinite(angle):
            raise ParameterError(f"{name}.{part} = {angle} is not a finite number")
    return np.array(at.orientation_of_euler(*angles.tolist()))


def angles_of_orientation(w: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a unit quaternion; at a pitch of 90 degrees roll is 0."""
    sine = 2.0 * (w * y - z * x)
    if abs(sine) > 1.0 - 1e-12:
        return 0.0, math.copysign(0.5 * math.pi, sine), 2.0 * math.atan2(z, w)
    roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return roll, math.asin(sine), yaw


#: A state of a body with all that was left out; and the state before it, if only now its velocities
#: are known. No class with names: making it would be a fiftieth of a small sensor's step.
Completed = tuple[Vector, Vector | None]


class BodyPort:
    """Completes the states of a body, one after the other, as compiled steps do.

    A state that was completed counts once it is kept.
    """

    def __init__(self, parameters: BodyParameters, warn: Callable[[str], None]) -> None:
        self._policy, self._told, self._warn = parameters.policy, parameters.told, warn
        #: The rows BEFORE, OLDER and MEMORY of known states, and all rows for kernels.
        self._before = self._older = self._memory = np.zeros(0)
        self._rows = np.zeros((4, 0))
        self._states, self._latest, self._interval = 0.0, -math.inf, 0.0
        #: What was found in the newest state that was kept, and what the inputs said then.
        self._found, self._said = -1, b""
        self._is_changed = _changes(self._found)
        self._new: tuple[float, float, int, Vector] = (0.0, 0.0, 0, self._before)
        if self._policy != at.ALL_GIVEN:
            _load_kernels()

    def complete(self, time: float, given: Vector) -> Completed:
        """Complete the state at an instant, of a unit quaternion and at least 13 values."""
        if self._policy == at.ALL_GIVEN:
            return given, None
        states, latest = self._states, self._latest
        again = states > 0.0 and _is_same(time, latest)
        if states > 2.0 and not again and self._says_nothing_new(given):
            self._new = time, time - latest, self._found, given
            return given, None
        if again and states == 1.0:
            states = 0.0
        interval = 0.0 if again or states == 0.0 else time - latest
        found = self._take_in(given, states, interval)
        state = self._rows[at.NOW].copy() if _changes(found) else given
        self._new = time, interval, found, state
        is_second = states == 1.0 or (states == 2.0 and self._interval == 0.0)
        revised = self._revised(found) if is_second and interval > 0.0 else None
        return state, revised

    def _says_nothing_new(self, given: Vector) -> bool:
        """Whether a state after the second one is what is given, as the newest was.

        What was seen never gets less. So it is for all inputs if all was seen, and else for those
        that have not changed.
        """
        if self._is_changed:
            return False
        return self._found == at.SETTLED or given.tobytes() == self._said

    def _take_in(self, given: Vector, states: float, interval: float) -> int:
        """Complete a state in the rows, and tell of it; what was found."""
        if self._before.size != given.size:
            self._before, self._older, self._memory = np.zeros((3, given.size))
        if self._rows.shape[1] != given.size:
            self._rows = np.zeros((4, given.size))
        rows = self._rows
        rows[at.BEFORE], rows[at.OLDER], rows[at.MEMORY] = self._before, self._older, self._memory
        found = at.take_in(rows, given, self._policy, states, self._interval, interval)
        if things := found >> at.TELL:
            self._tell(things)
        return found & (1 << at.TELL) - 1

    def _revised(self, found: int) -> Vector | None:
        """The first state by what the second one says of it; None if that is nothing new."""
        known = self._rows.copy()
        known[at.MEMORY] = self._memory
        at.revise_first(known, found)
        before = known[at.BEFORE]
        return None if np.array_equal(before, self._before) else before.copy()

    def _tell(self, things: int) -> None:
        for number, message in enumerate(COMPLETED):
            if things & ~self._told & 1 << number:
                self._told |= 1 << number
                self._warn(message)

    def keep(self) -> None:
        """Make the state that was completed last the newest one that is known."""
        if self._policy == at.ALL_GIVEN:
            return
        time, interval, found, state = self._new
        if found != self._found or self._states <= 2.0:
            self._memory = self._rows[at.MEMORY].copy()
            self._is_changed = _changes(found)
        if interval > 0.0:
            # what is known before a jump says nothing of the motion
            self._interval = 0.0 if found >> at.JUMPS else interval
            self._older = self._before
            self._states += 1.0
        elif self._states <= 1.0:
            self._states = 1.0
        self._before, self._latest, self._found = state, time, found
        if found != at.SETTLED:
            self._said = state.tobytes()

    @property
    def state(self) -> Vector:
        """All that later states depend on, as a copy."""
        numbers = self._states, self._latest, self._interval
        return np.concatenate([numbers, self._before, self._older, self._memory])

    @state.setter
    def state(self, saved: Vector) -> None:
        width = (saved.size - 3) // at.NOW
        if saved.shape != (3 + at.NOW * width,) or not np.isfinite(saved[3:]).all():
            raise ParameterError("this is no state of the inputs of a body")
        known = saved[3:].reshape(at.NOW, width).copy()
        if width:
            checked_seen(known)
        self._before, self._older, self._memory = known
        self._states, self._latest, self._interval = saved[:3].tolist()
        self._found, self._said = -1, b""
        self._is_changed = _changes(self._found)

    def restored(self, saved: Vector) -> "BodyPort":
        """Another one that goes on from a state, and tells nothing again."""
        port = BodyPort(AS_CONNECTED, self._warn)
        port._policy, port._told, port.state = self._policy, self._told, saved
        return port


@functools.cache
def _load_kernels() -> None:
    """Compile or load what steps need, once, and not in a step.

    No table declares these for sensors from outside of the project.
    """
    known = np.zeros((4, BODY_SIZE))
    known[:, ORIENTATION] = 1.0
    at.take_in(known, known[0].copy(), BodyParameters().policy, 1.0, 0.1, 0.1)
    at.revise_first(known, 0)


def _changes(found: int) -> bool:
    """Whether a pair is integrated or derived, and not given or at rest."""
    return bool((found >> 4 ^ found >> 5) & 0b101)


def forget_second(known: Vector, *, is_start: bool) -> None:
    """Take back what the first known state got from a second one that was refused.

    ``kernels.math.body_port.revise_first`` says what that is. Only the pose at the start may be
    another one afterwards.
    """
    if is_start:
        known[at.BEFORE, : at.SEEN] = known[at.MEMORY, : at.SEEN]
    for pair, rates in enumerate((VELOCITY, ANGULAR_VELOCITY)):
        if not int(known[at.MEMORY, at.SEEN + pair]) & at.GOING:
            known[at.BEFORE, rates : rates + 3] = 0.0


def checked_seen(known: Vector) -> None:
    """Refuse known states of a body, of a saved state, of which nothing like this can be seen."""
    if not set(known[at.MEMORY, at.SEEN : at.SEEN + 2]) <= {0.0, 1.0, 2.0, 3.0}:
        raise ParameterError("the state remembers of the motion what cannot be seen")
