"""The scene and the pose of a sample, drawn by its number alone.

The draws of sample n come from a generator keyed by the seed of the data set and n, so a sample
can be made again without the others, by any worker. The order of the draws within a sample is
fixed: bodies in the order of the description, materials, weather, sun, and then poses until one
has room.

Nothing is rebuilt for a sample: bodies are moved, and materials, air and sun are exchanged in a
view of the same geometry (``RayScene.with_looks``).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import multiply_quaternions
from sensor_models.core.placement import quaternion_of
from sensor_models.core.quantities import ParameterError
from sensor_models.scene.model import Material, Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.scene.weather import absorption_by_visibility
from sensor_models.tools.datasets.description import Area, BodyRule, Description, PoseRule, Span

Floats = NDArray[np.float64]

#: Poses that are tried before a sample is given up.
TRIES = 1000
#: From where the ground is looked for: above all scenes, m.
SKY = 10_000.0
#: Where a body looks for room from: so far above its origin, and with slopes below that.
MIDDLE, LEVEL = np.array([0.0, 0.0, 1.0]), 0.3


@dataclass(frozen=True)
class Drawn:
    """What was drawn for a sample."""

    number: int
    pose: Floats  # (7,): position and quaternion of the body that the sensors are on
    bodies: Floats  # (n, 7), of the movable bodies
    looks: Scene  # the scene with materials, air and sun of this sample
    about: dict[str, Any]  # the same in words and numbers, for the manifest


def _probes() -> Floats:
    """Directions that a place must have room in: an even spread over the sphere (golden angles)."""
    count = 64
    z = 1.0 - 2.0 * (np.arange(count) + 0.5) / count
    turn = np.arange(count) * math.pi * (3.0 - math.sqrt(5.0))
    level = np.sqrt(1.0 - z * z)
    return np.stack([level * np.cos(turn), level * np.sin(turn), z], axis=1)


PROBES = _probes()


class Drawer:
    """Draws the samples of a data set in a scene that is open."""

    def __init__(self, description: Description, rays: RayScene) -> None:
        self._description, self._rays, self._scene = description, rays, rays.scene
        self._names = [body.name for body in self._scene.bodies]
        self._home = np.array(
            [[*body.position, *body.orientation] for body in self._scene.bodies], float
        ).reshape(-1, 7)
        self._materials = _known_materials(description, self._scene)
        for name in description.bodies:
            self._body(f"bodies.{name}", name)
        rules = {"pose": description.pose.on}
        rules |= {f"bodies.{name}": rule.on for name, rule in description.bodies.items()}
        for where, on in rules.items():
            if unknown := set(on) - set(self._scene.labels.values()):
                known = ", ".join(self._scene.labels.values()) or "none"
                raise ParameterError(f"{where}.on: {sorted(unknown)}, the scene has {known}")
        if isinstance(description.pose.look_at, str):
            self._body("pose.look_at", description.pose.look_at)

    def _body(self, where: str, name: str) -> int:
        if name not in self._names:
            known = ", ".join(self._names) or "none"
            raise ParameterError(f"{where} = {name!r} is no body of the scene, there are {known}")
        return self._names.index(name)

    def draw(self, number: int) -> Drawn:
        """The sample of a number; the bodies of the scene stand where it has them."""
        random = np.random.default_rng([self._description.seed, number])
        about: dict[str, Any] = {}
        bodies = self._place_bodies(random, about)
        looks = self._looks(random, about)
        pose = self._pose(self._description.pose, random, bodies, number)
        return Drawn(number, pose, bodies, looks, about)

    # ---- bodies ----------------------------------------------------------------------------------

    def _place_bodies(self, random: np.random.Generator, about: dict[str, Any]) -> Floats:
        bodies = self._home.copy()
        places = {name: self._names.index(name) for name in self._description.bodies}
        # Out of the way of those that are placed on the ground below.
        for place in places.values():
            bodies[place, 2] = -SKY
        self._commit(bodies)
        for name, place in places.items():
            rule = self._description.bodies[name]
            bodies[place] = self._of_body(name, rule, random)
            about[name] = bodies[place].tolist()
            self._commit(bodies)  # the next one is to see it
        return bodies

    def _commit(self, bodies: Floats) -> None:
        if len(bodies):
            self._rays.move_all(bodies)
            self._rays.commit()

    def _of_body(self, name: str, rule: BodyRule, random: np.random.Generator) -> Floats:
        for _ in range(TRIES):
            x, y = _in_area(rule.area, random)
            yaw = math.radians(_in(rule.yaw_deg, random))
            below = self._ground(x, y, rule.on) if rule.z is None else _in(rule.z, random)
            if below is None:
                continue
            place = np.array([x, y, below])
            if rule.clearance <= 0.0 or self._has_room(place + MIDDLE, rule.clearance, level=True):
                return np.array([*place, *quaternion_of(0.0, 0.0, yaw)])
        raise ParameterError(f"bodies.{name}: none of {TRIES} places in its area will do")

    def _ground(self, x: float, y: float, on: Sequence[str]) -> float | None:
        """The height of the highest surface at a place; None if it is none to stand on."""
        hits = self._rays.trace((x, y, SKY), [[0.0, 0.0, -1.0]])
        if not np.isfinite(hits.t[0]):
            return None
        if on and self._scene.labels.get(int(hits.label[0])) not in on:
            return None
        # float32 from so far above is good to a millimetre only
        near = SKY - float(hits.t[0]) + 1.0
        again = self._rays.trace((x, y, near), [[0.0, 0.0, -1.0]])
        return near - float(again.t[0])

    # ---- looks -----------------------------------------------------------------------------------

    def _looks(self, random: np.random.Generator, about: dict[str, Any]) -> Scene:
        scene = self._scene
        if self._materials:
            chosen = {name: random.integers(len(k)) for name, k in self._materials.items()}
            about["materials"] = {
                name: self._materials[name][pick].name for name, pick in chosen.items()
            }
            materials = tuple(
                replace(self._materials[m.name][chosen[m.name]], name=m.name)
                if m.name in chosen
                else m
                for m in scene.materials
            )
            scene = replace(scene, materials=materials)
        if self._description.visibility is not None:
            low, high = self._description.visibility
            visibility = low * (high / low) ** random.random()
            about["visibility"] = visibility
            air = replace(scene.media[0], absorption=absorption_by_visibility(visibility))
            scene = replace(scene, media=(air, *scene.media[1:]))
        if self._description.sun is not None:
            up, around = (math.radians(_in(span, random)) for span in self._description.sun)
            sun = (math.cos(up) * math.cos(around), math.cos(up) * math.sin(around), math.sin(up))
            about["sun"] = list(sun)
            scene = replace(scene, sky=replace(scene.sky, sun_direction=sun))
        return scene

    # ---- the pose --------------------------------------------------------------------------------

    def _pose(
        self, rule: PoseRule, random: np.random.Generator, bodies: Floats, number: int
    ) -> Floats:
        for _ in range(TRIES):
            pose = self._one_pose(rule, random, bodies)
            if pose is not None and self._has_room(pose[:3], rule.clearance):
                return pose
        raise ParameterError(
            f"sample {number}: none of {TRIES} poses in pose.area has a clearance of "
            f"{rule.clearance} m"
        )

    def _one_pose(
        self, rule: PoseRule, random: np.random.Generator, bodies: Floats
    ) -> Floats | None:
        x, y = _in_area(rule.area, random)
        above, yaw = _in(rule.height, random), math.radians(_in(rule.yaw_deg, random))
        pitch, roll = (math.radians(_in(s, random)) for s in (rule.pitch_deg, rule.roll_deg))
        ground = self._ground(x, y, rule.on)
        if ground is None:
            return None
        place = np.array([x, y, ground + above])
        target = self._target(rule, bodies)
        if target is not None:
            ahead = target - place
            yaw += math.atan2(ahead[1], ahead[0])
            pitch -= math.atan2(ahead[2], math.hypot(ahead[0], ahead[1]))
        turn = np.array(quaternion_of(0.0, 0.0, yaw))
        for angles in ((0.0, pitch, 0.0), (roll, 0.0, 0.0)):
            turn = multiply_quaternions(turn, np.array(quaternion_of(*angles)))
        return np.concatenate([place, turn])

    def _target(self, rule: PoseRule, bodies: Floats) -> Floats | None:
        if rule.look_at is None:
            return None
        if isinstance(rule.look_at, str):
            return bodies[self._names.index(rule.look_at), :3]
        return np.array(rule.look_at)

    def _has_room(self, place: Floats, clearance: float, *, level: bool = False) -> bool:
        """Whether no surface is nearer than the clearance, and the place is not inside a solid.

        Inside of a solid rays see the inner sides of its surfaces. ``level`` asks for room to the
        sides only, not above and below.
        """
        probes = PROBES[np.abs(PROBES[:, 2]) < LEVEL] if level else PROBES
        hits = self._rays.trace(place, probes)
        hit = np.isfinite(hits.t)
        if (hits.t[hit] < clearance).any():
            return False
        inner = (hits.normal[hit] * probes[hit]).sum(axis=1) > 0.0
        return bool(2 * inner.sum() <= len(probes))


def _known_materials(description: Description, scene: Scene) -> dict[str, list[Material]]:
    if not description.materials:
        return {}
    # Importing this takes as long as to make ten samples, and each worker does so.
    from sensor_models.scene.materials import material_library

    library = {m.name: m for m in scene.materials} | dict(material_library())
    own = [material.name for material in scene.materials]
    found = {}
    for name, others in description.materials.items():
        if name not in own:
            raise ParameterError(f"materials.{name}: the scene has {', '.join(own)}")
        if unknown := [other for other in others if other not in library] or not others:
            raise ParameterError(
                f"materials.{name}: {unknown or 'no names'}, known: {', '.join(sorted(library))}"
            )
        found[name] = [library[other] for other in others]
    return found


def _in(span: Span, random: np.random.Generator) -> float:
    """A draw from an interval; one is made for a single number as well."""
    low, high = span
    return float(low + (high - low) * random.random())


def _in_area(area: Area, random: np.random.Generator) -> Iterable[float]:
    low_x, low_y, high_x, high_y = area
    return _in((low_x, high_x), random), _in((low_y, high_y), random)
