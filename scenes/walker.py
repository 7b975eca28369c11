"""A person who walks on the spot: a skinned mesh, its skeleton, and one cycle of two steps.

x forward, y left, z up, the ground at z = 0 under the middle of the body. Who moves the body by
``SPEED`` along x has feet that stand while they carry.

Lengths of the limbs, the length of a cycle and the angles of hip, knee, ankle, shoulder and elbow
over it are those of R. Boulic, N. Magnenat-Thalmann and D. Thalmann, "A global human walking model
with real-time kinematic personification", The Visual Computer 6 (1990) 344-358, for a relative
velocity of 1.3, as V. C. Chen has them in the programs to "The Micro-Doppler Effect in Radar"
(2011). Between their points angles follow half a cosine. Unlike there, the hips are as high as the
lower foot lets them be. Thicknesses are estimates.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Point = tuple[float, float, float]
Angle = Callable[[float], float]

HEIGHT = 1.75  # m
RELATIVE = 1.3  # leg lengths a second
LEG = 0.491 * HEIGHT  # m, thigh and shank
SPEED = RELATIVE * LEG  # m/s
CYCLE = 1.346 * math.sqrt(RELATIVE) / RELATIVE  # s
#: Keys of the clip; the last one is the first again.
KEYS = 41
#: Of support, as a share of the cycle, from ground to ground.
SUPPORT = (0.752 * CYCLE - 0.143) / CYCLE

#: Joints at rest: name, parent, place in shares of the height; left and right ones by ``_sides``.
_HIP, _KNEE, _ANKLE = 0.530, 0.285, 0.039
_SHOULDER, _ELBOW, _WRIST = 0.818, 0.630, 0.478


@dataclass
class Bone:
    """A joint with what hangs on it."""

    name: str
    parent: int
    place: Point  # m, at rest


@dataclass
class Skin:
    """A closed surface in rings, each vertex on at most two bones."""

    vertices: list[Point] = field(default_factory=list)
    bones: list[tuple[int, int]] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)  # of the second bone
    faces: list[tuple[int, int, int]] = field(default_factory=list)


def skeleton() -> list[Bone]:
    """All bones, parents first."""
    bones = [
        Bone("hips", -1, (0.0, 0.0, _HIP * HEIGHT)),
        Bone("chest", 0, (0.0, 0.0, 0.63 * HEIGHT)),
        Bone("head", 1, (0.0, 0.0, 0.86 * HEIGHT)),
    ]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hip, shoulder = sign * 0.5 * 0.191 * HEIGHT, sign * 0.5 * 0.259 * HEIGHT
        first = len(bones)
        bones += [
            Bone(f"thigh_{side}", 0, (0.0, hip, _HIP * HEIGHT)),
            Bone(f"shank_{side}", first, (0.0, hip, _KNEE * HEIGHT)),
            Bone(f"foot_{side}", first + 1, (0.0, hip, _ANKLE * HEIGHT)),
            Bone(f"upper_arm_{side}", 1, (0.0, shoulder, _SHOULDER * HEIGHT)),
            Bone(f"forearm_{side}", first + 3, (0.0, shoulder, _ELBOW * HEIGHT)),
        ]
    return bones


# ---- motion --------------------------------------------------------------------------------------


def _through(*points: tuple[float, float]) -> Angle:
    """An angle in degrees over the cycle, through points of it."""
    shares = [share - 1.0 for share, _ in points] + [share for share, _ in points]
    shares += [share + 1.0 for share, _ in points]
    values = [value for _, value in points] * 3

    def at(share: float) -> float:
        after = next(k for k, known in enumerate(shares) if known > share)
        one, other = shares[after - 1], shares[after]
        way = 0.5 - 0.5 * math.cos(math.pi * (share - one) / (other - one))
        return values[after - 1] + way * (values[after] - values[after - 1])

    return at


_HIP_FLEXION = _through((0.5, -15.0), (0.9, 25.0))
_KNEE_FLEXION = _through((0.17, 3.0), (0.4, 3.0), (0.75, 70.0), (1.0, 3.0))
_ANKLE_FLEXION = _through((0.0, -3.0), (0.08, -18.0), (0.5, 8.0), (SUPPORT, -20.0), (0.85, -3.0))
_ELBOW_FLEXION = _through((0.05, 14.0), (0.51, 44.0), (0.9, 17.0))
_TORSION = 4.0 * RELATIVE  # of the hips about the vertical, degrees
_BACK = 1.5 * RELATIVE  # of the chest, the other way
_SWING = 9.88 * RELATIVE  # of the upper arms


def rotations(share: float, bones: Sequence[Bone]) -> list[tuple[float, str]]:
    """Angle in degrees and axis of each bone at a share of the cycle: as y or z turns."""
    found = [(0.0, "z")] * len(bones)
    turn = math.cos(2.0 * math.pi * share)
    for number, bone in enumerate(bones):
        at = share if bone.name.endswith("right") else (share + 0.5) % 1.0
        swing = 3.0 - 0.5 * _SWING - _SWING * math.cos(2.0 * math.pi * at)
        found[number] = {
            "hips": (_TORSION * turn, "z"),
            "chest": (-(_TORSION + _BACK) * turn, "z"),
            "head": (_BACK * turn, "z"),
            "thigh": (-_HIP_FLEXION(at), "y"),
            "shank": (_KNEE_FLEXION(at), "y"),
            "foot": (-_ANKLE_FLEXION(at), "y"),
            "upper": (-swing, "y"),
            "forearm": (-_ELBOW_FLEXION(at), "y"),
        }[bone.name.split("_")[0]]
    return found


def rotation_matrix(degrees: float, axis: str) -> Floats:
    """A turn about y or z."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    rows = {"y": [[c, 0, s], [0, 1, 0], [-s, 0, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}
    return np.array(rows[axis], float)


def posture(share: float, bones: Sequence[Bone], lift: float = 0.0) -> list[tuple[Floats, Floats]]:
    """Rotation and place of each bone at a share of the cycle, with the hips lifted."""
    found: list[tuple[Floats, Floats]] = []
    for bone, (degrees, axis) in zip(bones, rotations(share, bones), strict=True):
        own, place = rotation_matrix(degrees, axis), np.array(bone.place)
        if bone.parent < 0:
            found.append((own, place + np.array([0.0, 0.0, lift])))
            continue
        turn, at = found[bone.parent]
        found.append((turn @ own, at + turn @ (place - np.array(bones[bone.parent].place))))
    return found


def lifts(skin: Skin, bones: Sequence[Bone]) -> list[float]:
    """How far the hips are lifted at each key, so that the lower foot is on the ground."""
    return [-float(vertices_at(skin, bones, k / (KEYS - 1))[:, 2].min()) for k in range(KEYS)]


def vertices_at(skin: Skin, bones: Sequence[Bone], share: float, lift: float = 0.0) -> Floats:
    """The vertices at a share of the cycle, by the equation of skins."""
    places = posture(share, bones, lift)
    found = np.zeros((len(skin.vertices), 3))
    for number, (pair, second) in enumerate(zip(skin.bones, skin.shares, strict=True)):
        for bone, part in zip(pair, (1.0 - second, second), strict=True):
            turn, at = places[bone]
            rest = np.array(skin.vertices[number]) - np.array(bones[bone].place)
            found[number] += part * (at + turn @ rest)
    return found


# ---- shape ---------------------------------------------------------------------------------------


def _ring(skin: Skin, middle: Point, radii: tuple[float, float], along: str, sides: int) -> int:
    """Enter an ellipse across z or x, but for what is under the ground; its first vertex."""
    first = len(skin.vertices)
    for k in range(sides):
        c, s = math.cos(2.0 * math.pi * k / sides), math.sin(2.0 * math.pi * k / sides)
        shift = (
            (radii[0] * c, radii[1] * s, 0.0) if along == "z" else (0.0, radii[0] * c, radii[1] * s)
        )
        x, y, z = (a + b for a, b in zip(middle, shift, strict=True))
        skin.vertices.append((x, y, max(z, 0.0)))
    return first


def _tube(
    skin: Skin,
    rings: Sequence[tuple[Point, tuple[float, float]]],
    hold: Callable[[Point], tuple[tuple[int, int], float]],
    along: str = "z",
    sides: int = 12,
) -> None:
    """A closed tube through ellipses, from below upwards or from behind forwards."""
    starts = []
    for middle, radii in rings:
        starts.append(_ring(skin, middle, radii, along, sides))
        pair, share = hold(middle)
        skin.bones += [pair] * sides
        skin.shares += [share] * sides
    for one, other in itertools.pairwise(starts):
        for k in range(sides):
            m = (k + 1) % sides
            skin.faces += [(one + k, one + m, other + m), (one + k, other + m, other + k)]
    for start, (middle, _), down in ((starts[0], rings[0], True), (starts[-1], rings[-1], False)):
        skin.vertices.append(middle)
        skin.bones.append(hold(middle)[0])
        skin.shares.append(hold(middle)[1])
        top = len(skin.vertices) - 1
        for k in range(sides):
            pair_of = (start + k, start + (k + 1) % sides)
            skin.faces.append((top, *pair_of[::-1]) if down else (top, *pair_of))


def _bent(lower: int, upper: int, joint: float, width: float) -> Callable[[Point], Any]:
    """Vertices below a joint are on one bone, above it on the other, with a blend between."""

    def hold(place: Point) -> tuple[tuple[int, int], float]:
        t = min(max((place[2] - joint) / width + 0.5, 0.0), 1.0)
        return (lower, upper), t * t * (3.0 - 2.0 * t)

    return hold


def body_skins(bones: Sequence[Bone]) -> dict[str, Skin]:
    """The parts of the body by material."""
    number = {bone.name: k for k, bone in enumerate(bones)}
    clothes, bare, shoes = Skin(), Skin(), Skin()
    _add_torso(clothes, bare, number)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _add_leg(clothes, shoes, number, side, sign * 0.5 * 0.191 * HEIGHT)
        _add_arm(clothes, bare, number, side, sign * (0.5 * 0.259 * HEIGHT + 0.035))
    return {"cotton": clothes, "skin": bare, "rubber": shoes}


def _add_torso(clothes: Skin, bare: Skin, number: dict[str, int]) -> None:
    h = HEIGHT
    torso = (
        (0.485, 0.07, 0.10), (0.50, 0.105, 0.155), (0.54, 0.115, 0.172), (0.59, 0.10, 0.15),
        (0.64, 0.10, 0.145), (0.70, 0.11, 0.16), (0.76, 0.115, 0.18), (0.80, 0.10, 0.19),
        (0.825, 0.07, 0.14), (0.84, 0.055, 0.06),
    )  # fmt: skip
    rings = [((0.0, 0.0, z * h), (depth, width)) for z, depth, width in torso]
    _tube(clothes, rings, _bent(number["hips"], number["chest"], 0.62 * h, 0.2), sides=16)
    head = (
        (0.835, 0.052, 0.052), (0.865, 0.052, 0.05), (0.875, 0.08, 0.065), (0.90, 0.10, 0.075),
        (0.94, 0.105, 0.08), (0.97, 0.095, 0.072), (0.99, 0.06, 0.045), (1.0, 0.015, 0.012),
    )  # fmt: skip
    rings = [((0.01, 0.0, z * h), (depth, width)) for z, depth, width in head]
    _tube(bare, rings, _bent(number["chest"], number["head"], 0.85 * h, 0.05))


def _add_leg(clothes: Skin, shoes: Skin, number: dict[str, int], side: str, y: float) -> None:
    h = HEIGHT
    leg = (
        (0.045, 0.045), (0.08, 0.046), (0.15, 0.058), (0.21, 0.062), (0.255, 0.058), (0.285, 0.058),
        (0.315, 0.062), (0.38, 0.075), (0.45, 0.085), (0.50, 0.088), (0.52, 0.075),
    )  # fmt: skip
    rings = [((0.0, y, z * h), (radius, radius)) for z, radius in leg]
    shank, thigh = number[f"shank_{side}"], number[f"thigh_{side}"]
    _tube(clothes, rings, _bent(shank, thigh, _KNEE * h, 0.14))
    foot = number[f"foot_{side}"]
    shoe = (
        (-0.075, 0.02, 0.03), (-0.06, 0.036, 0.05), (0.0, 0.04, 0.055), (0.07, 0.045, 0.045),
        (0.13, 0.048, 0.036), (0.17, 0.04, 0.03), (0.19, 0.02, 0.02),
    )  # fmt: skip
    rings = [((x, y, 0.04), (width, up)) for x, width, up in shoe]
    _tube(shoes, rings, lambda _: ((foot, foot), 0.0), along="x", sides=10)


def _add_arm(clothes: Skin, bare: Skin, number: dict[str, int], side: str, y: float) -> None:
    h = HEIGHT
    upper, fore = number[f"upper_arm_{side}"], number[f"forearm_{side}"]
    arm = (
        (0.49, 0.032), (0.53, 0.036), (0.58, 0.042), (0.61, 0.042), (0.63, 0.042), (0.65, 0.044),
        (0.70, 0.048), (0.76, 0.05), (0.80, 0.048), (0.82, 0.03),
    )  # fmt: skip
    rings = [((0.0, y, z * h), (radius, radius)) for z, radius in arm]
    _tube(clothes, rings, _bent(fore, upper, _ELBOW * h, 0.1), sides=10)
    hand = ((0.385, 0.02, 0.015), (0.41, 0.04, 0.02), (0.44, 0.042, 0.022), (0.48, 0.03, 0.024))
    rings = [((0.0, y, z * h), (depth, width)) for z, depth, width in hand]
    _tube(bare, rings, lambda _: ((fore, fore), 0.0), sides=8)
