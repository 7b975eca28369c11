"""Bodies on joints: where they are, and how they move, from the positions of their joints.

From what carries it, the world or a body before it, a body has the pose of its offset. Each of its
joints, from there outwards, then moves it, in its own frame with axis a and anchor c:

    slide   p' = p + q s a             v' = v + w x (q s a) + q ds a
    hinge   q' = q exp(s a)            w' = w + q ds a
    ball    q' = q b                   w' = w + q' r
            p' = A - q' c              v' = v + w x (A - p) + w' x (p' - A),   A = p + q c

p, q, v, w are position, orientation, velocity and angular velocity of the body in the world, and
q a is the vector a turned by q; s and ds are position and velocity of the joint, from where the
offset is meant; b and r are orientation and angular velocity of a ball, the latter in the frame of
the body. A body that is carried has v = V + W x (p - P) of its carrier at P. The order of joints
and what they mean are those of MuJoCo (``mj_kinematics``).
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import (
    Quaternion,
    Triple,
    cross,
    minus,
    multiply,
    plus,
    quaternion_at,
    rotation_of_vector,
    store,
    times,
    triple_at,
    turn,
)
from sensor_models.kernels.options import INLINE

Floats = NDArray[np.float64]

#: In place of the number of a carrier.
WORLD, FREE = -1, -2
#: Kinds of joints, the first number of their rows; then axis, anchor and where they start.
HINGE, SLIDE, BALL = 0, 1, 2
KIND, AXIS, ANCHOR, START, JOINT_SIZE = 0, 1, 4, 7, 8
#: Values of a joint: position and velocity, or orientation and angular velocity of a ball.
VELOCITY, TURNING, VALUES = 1, 4, 7
#: In the state of a body.
_ORIENTATION, _VELOCITY, _ANGULAR_VELOCITY = 3, 7, 10


@njit(**INLINE)
def _carried(above: Floats, p: Triple, q: Quaternion) -> tuple[Triple, Quaternion, Triple, Triple]:
    """Pose and velocities of what has a pose in the frame of a body with this state."""
    held, w = quaternion_at(above, _ORIENTATION), triple_at(above, _ANGULAR_VELOCITY)
    arm = turn(held, p)
    v = plus(triple_at(above, _VELOCITY), cross(w, arm))
    return plus(triple_at(above, 0), arm), multiply(held, q), v, w


@njit(cache=True)
def move_links(
    carriers: NDArray[np.int64],
    offsets: Floats,
    first: NDArray[np.int64],
    joints: Floats,
    values: Floats,
    states: Floats,
) -> int:
    """Write the states of all bodies that are not free; carriers come before what they carry.

    Args:
        carriers: (bodies,), numbers of bodies, WORLD or FREE.
        offsets: (bodies, 7), poses in the frames of the carriers.
        first: (bodies + 1,), the first joint of each body.
        joints: (joints, JOINT_SIZE).
        values: (joints, VALUES).
        states: (bodies, values of a state); those of free bodies are read.

    Returns:
        The first ball whose orientation has no length; -1 if there is none.
    """
    for body in range(len(carriers)):
        carrier = carriers[body]
        if carrier == FREE:
            continue
        p, q = triple_at(offsets[body], 0), quaternion_at(offsets[body], 3)
        v, w = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if carrier != WORLD:
            p, q, v, w = _carried(states[carrier], p, q)
        for number in range(first[body], first[body + 1]):
            joint, value = joints[number], values[number]
            axis = turn(q, triple_at(joint, AXIS))
            if joint[KIND] == SLIDE:
                way = times(value[0] - joint[START], axis)
                v = plus(plus(v, cross(w, way)), times(value[VELOCITY], axis))
                p = plus(p, way)
                continue
            arm = turn(q, triple_at(joint, ANCHOR))
            anchor, v = plus(p, arm), plus(v, cross(w, arm))
            if joint[KIND] == HINGE:
                way = times(value[0] - joint[START], triple_at(joint, AXIS))
                q = multiply(q, rotation_of_vector(way))
                w = plus(w, times(value[VELOCITY], axis))
            else:
                a, b, c, d = quaternion_at(value, 0)
                length = math.sqrt(a * a + b * b + c * c + d * d)
                if not 1e-6 < length < np.inf:
                    return number
                q = multiply(q, (a / length, b / length, c / length, d / length))
                w = plus(w, turn(q, triple_at(value, TURNING)))
            arm = turn(q, triple_at(joint, ANCHOR))
            p, v = minus(anchor, arm), minus(v, cross(w, arm))
        state = states[body]
        store(state, 0, p)
        state[3], state[4], state[5], state[6] = q
        store(state, _VELOCITY, v)
        store(state, _ANGULAR_VELOCITY, w)
    return -1
