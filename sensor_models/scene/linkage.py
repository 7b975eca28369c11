"""The joints of a scene's bodies, as ``kernels.bodies.links`` takes them."""

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import matrix_from_quaternion
from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.bodies import links
from sensor_models.scene.model import Body, Joint, Scene

Floats = NDArray[np.float64]

_KINDS = {"hinge": links.HINGE, "slide": links.SLIDE, "ball": links.BALL}


class Linkage:
    """The bodies of a scene, and how those on joints follow them."""

    def __init__(self, scene: Scene) -> None:
        bodies = scene.bodies
        self.joints: tuple[Joint, ...] = tuple(j for body in bodies for j in body.joints)
        self._carriers = np.array([_carrier(body) for body in bodies], np.int64)
        self._offsets = np.array([_offset(body, bodies) for body in bodies]).reshape(-1, 7)
        counts = [len(body.joints) for body in bodies]
        self._first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._joints = np.array([_row(j) for j in self.joints]).reshape(-1, links.JOINT_SIZE)

    def values_at_start(self) -> Floats:
        """The positions and velocities of the joints at the start, (joints, VALUES)."""
        values = np.zeros((len(self.joints), links.VALUES))
        for row, joint in zip(values, self.joints, strict=True):
            row[0] = 1.0 if joint.kind == "ball" else joint.start
        return values

    def move(self, values: Floats, states: Floats) -> None:
        """Write the states of the bodies that are carried; ``ParameterError`` changes nothing."""
        wrong = links.move_links(
            self._carriers, self._offsets, self._first, self._joints, values, states
        )
        if wrong >= 0:
            given = values[wrong, :4].tolist()
            name = f"{self.joints[wrong].name}.orientation"
            raise ParameterError(f"{name} = {given} has no direction, allowed is a unit quaternion")


def rotation_product(p: Floats, q: Floats) -> Floats:
    """The rotation that turns by q first and by p after it."""
    w, v = p[0] * q[0] - p[1:] @ q[1:], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])
    return np.array([w, *v])


def _carrier(body: Body) -> int:
    if body.is_free:
        return links.FREE
    return body.parent if body.parent >= 0 else links.WORLD


def _offset(body: Body, bodies: tuple[Body, ...]) -> Floats:
    """The pose of a body in the frame of what carries it, from their poses at the start."""
    own = np.array([*body.position, *body.orientation])
    if body.parent < 0:
        return own
    above = bodies[body.parent]
    held = np.array(above.orientation)
    back = matrix_from_quaternion(held).T
    turned = rotation_product(held * (1.0, -1.0, -1.0, -1.0), own[3:])
    return np.concatenate([back @ (own[:3] - np.array(above.position)), turned])


def _row(joint: Joint) -> list[float]:
    return [float(_KINDS[joint.kind]), *joint.axis, *joint.anchor, joint.start]
