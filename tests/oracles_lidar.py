"""The ray tree of a lidar in float64, one branch after the other: its slow twin.

It follows the text that the physics is written in, without packets, stacks or float32, and knows
triangles by ``oracles_rays`` and surfaces by ``optics_twins``. Where it is a matter of rounding
what a ray does, it says so (``doubtful``), and the ray is no evidence.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sensor_models.lidar.parameters import LidarParameters, PathConvention, ReturnMode
from sensor_models.light.beam import BeamParameters
from sensor_models.scene.model import Medium, SurfaceKind
from tests import oracles_rays as triangles
from tests.optics_twins import fresnel, two_layer

SPEED_OF_LIGHT = 299_792_458.0
#: Nearer than this, a crossing is the one that the ray starts at, or that it shares with another.
SAME = 1e-5
#: Media answer at k theta but for this part of it, five sigma of a shape k = 1e5.
DRAWN = 0.02
#: Relative distance from a limit that is left to rounding, and least distance from an edge.
CLOSE = 1e-4


class Echo(NamedTuple):
    """What comes back from one place of the tree."""

    range: float
    intensity: float
    node: int
    atmospheric: bool = False
    material: int = -1
    entity: int = -1
    incidence: float = 0.0


class Branch(NamedTuple):
    """A ray that sets out from some place of the tree."""

    origin: np.ndarray
    along: np.ndarray
    weight: float
    optical: float
    reduced: float
    media: tuple  # (owner, medium) of the media around, innermost last
    ahead: float  # way to the echo of the medium, inf for none; None: newly entered
    node: int
    depth: int
    events: int


class Tree:
    """The trees of rays in a scene.

    Media answer, if they do, at k theta from where they are entered: draws are none of its
    business, so give it media of a shape so great that nothing else can be drawn.
    """

    def __init__(self, scene, parameters: LidarParameters, beam: BeamParameters | None = None):
        self.scene, self.own = scene, parameters
        self.beam = beam or BeamParameters()
        self.surfaces = triangles.soup_of(scene)
        bounds = tuple(volume.instance for volume in scene.volumes)
        self.boundaries = triangles.soup_of(replace(scene, instances=bounds))
        self.half_angle = parameters.acceptance(self.beam)
        self.echoes: list[Echo] = []
        self.doubtful = False

    def of_ray(self, origin, along) -> list[Echo]:
        """All echoes of a ray, nearest first."""
        self.echoes, self.doubtful = [], False
        origin, along = np.asarray(origin, float), np.asarray(along, float)
        self.follow(Branch(origin, along, 1.0, 0.0, 0.0, self.around(origin), None, 0, 0, 0))
        ranges = np.array([echo.range for echo in sorted(self.echoes)])
        if any(echo.atmospheric for echo in self.echoes):
            self.doubtful |= bool((np.diff(ranges) < 2.0 * DRAWN * ranges[:-1]).any())
        return sorted(self.echoes)

    # ---- media --------------------------------------------------------------------------------

    def around(self, origin):
        """The volumes that hold a point, that whose boundary is the furthest away first."""
        found = []
        for number, volume in enumerate(self.scene.volumes):
            soup = triangles.Soup(
                *(part[self.boundaries.instance == number] for part in self.boundaries)
            )
            skew = np.array([0.4831, 0.7103, 0.5120])
            crossed = triangles.crossings(soup, origin, skew[None] / np.linalg.norm(skew)).t[0]
            if np.isfinite(crossed).sum() % 2:
                medium = self.scene.media[volume.medium]
                found.append((crossed.min(), ("volume", number), medium))
        found.sort(key=lambda entry: -entry[0])
        return tuple((owner, medium) for _, owner, medium in found)

    def medium(self, media) -> Medium:
        return media[-1][1] if media else self.scene.media[0]

    def crossed(self, media, number, outward):
        """The media around after the boundary of a volume."""
        owner = ("volume", number)
        if not outward:
            return (*media, (owner, self.scene.media[self.scene.volumes[number].medium]))
        return without(media, owner)

    def answer(self, medium):
        """The way from the entry to the echo of a medium."""
        if medium.return_probability == 0.0:
            return math.inf
        return medium.return_shape * medium.return_scale

    def backscatter(self, medium):
        if medium.backscatter is not None:
            return medium.backscatter
        pulse = SPEED_OF_LIGHT * self.own.pulse_length
        return medium.absorption * pulse / (2.0 * medium.lidar_ratio)

    # ---- the way of a branch ------------------------------------------------------------------

    def follow(self, start: Branch):
        """Go to the next surface, through the boundaries on the way."""
        t, face = self.next_surface(start)
        bounds = self.boundaries_on(start, t + SAME)
        now = start
        if now.ahead is None:
            now = now._replace(ahead=self.answer(self.medium(now.media)))
        done, at_surface = 0.0, []
        for where, number, outward in bounds:
            if abs(where - t) < SAME:
                at_surface.append((number, outward))
                continue
            now = self.walk(now, where - done)
            done = where
            if now is None:
                return
            now = self.through(now, number, outward)
            if now is None:
                return
        now = self.walk(now, t - done)
        if now is not None:
            self.meet(now, face, at_surface, start)

    def next_surface(self, start):
        found = triangles.crossings(self.surfaces, start.origin, start.along[None], SAME)
        self.doubt_edges(found)
        if not np.isfinite(found.t).any():
            return math.inf, -1
        order = np.sort(found.t[0])
        column = int(found.t[0].argmin())
        together = found.t[0] - order[0] < 10 * SAME
        if np.unique(self.surfaces.instance[together]).size > 1:
            self.doubtful = True
        return order[0], column

    def boundaries_on(self, start, reach):
        """Distance, volume and sense of the boundaries on the way, sorted."""
        found = triangles.crossings(self.boundaries, start.origin, start.along[None], SAME, reach)
        self.doubt_edges(found)
        crossed = {}
        for column in np.flatnonzero(np.isfinite(found.t[0])):
            corners = self.boundaries.corners[column]
            outward = bool(start.along @ outside_of(corners) > 0.0)
            number = int(self.boundaries.instance[column])
            crossed[(round(found.t[0, column], 9), number, outward)] = None
        return sorted(crossed, key=lambda entry: (entry[0], not entry[2]))

    def doubt_edges(self, found):
        """A ray that passes an edge may be seen on either side of it in float32."""
        near = np.isfinite(found.margin) & (np.abs(found.margin) < CLOSE)
        if near.any():
            self.doubtful = True

    def walk(self, now: Branch, length):
        """The branch some way on in its medium; None if it ends on the way."""
        medium = self.medium(now.media)
        reach = (self.own.max_range - now.optical) / medium.ior
        if abs(now.ahead - min(length, reach)) < DRAWN * self.answer(medium):
            self.doubtful = True
        if now.ahead <= min(length, reach):
            self.note(self.moved(now, now.ahead), self.backscatter(medium), atmospheric=True)
        if not length <= reach or math.isinf(length):
            return None
        left = now.ahead - length if now.ahead > length else math.inf
        return self.moved(now, length)._replace(ahead=left)

    def moved(self, now, length):
        medium = self.medium(now.media)
        return now._replace(
            origin=now.origin + length * now.along,
            weight=now.weight * math.exp(-medium.absorption * length),
            optical=now.optical + medium.ior * length,
            reduced=now.reduced + length / medium.ior,
        )

    def through(self, now, number, outward):
        """The branch behind the boundary of a volume."""
        media = self.crossed(now.media, number, outward)
        if self.medium(media) is not self.medium(now.media):
            now = now._replace(ahead=self.answer(self.medium(media)))
        if now.events == self.own.max_events:
            return None
        return now._replace(media=media, events=now.events + 1)

    # ---- surfaces -----------------------------------------------------------------------------

    def meet(self, now, face, at_surface, start):
        """Echo and children of a branch at a surface."""
        instance = int(self.surfaces.instance[face])
        mesh = self.scene.meshes[self.scene.instances[instance].mesh]
        number = int(mesh.face_material[self.surfaces.primitive[face]])
        surface = self.scene.materials[number]
        numbers = surface.at(self.own.wavelength)
        normal = outside_of(self.surfaces.corners[face])
        outward = float(now.along @ normal) > 0.0
        toward = -normal if outward else normal
        cosine = -float(now.along @ toward)
        clear = surface.kind == SurfaceKind.dielectric
        inside = ("surface", instance)
        beyond = now.media
        if clear and outward and all(owner != inside for owner, _ in now.media):
            if now.events < self.own.max_events:
                self.follow(now._replace(events=now.events + 1))
            return
        for volume, leaving in at_surface:
            beyond = self.crossed(beyond, volume, leaving)
        index = self.medium(now.media).ior
        if clear and outward:
            beyond = without(beyond, inside)
            numbers = replace(numbers, ior=self.medium(beyond).ior)
        elif clear:
            absorption = 4.0 * math.pi * numbers.extinction / self.own.wavelength
            beyond = (*beyond, (inside, Medium(absorption=absorption, ior=numbers.ior)))
        strength = self.toward_sensor(surface, numbers, cosine, index) * cosine
        entity = self.scene.instances[instance].entity_id
        angle = math.acos(min(cosine, 1.0))
        self.note(now, strength, material=number, entity=entity, incidence=angle)
        mirrored = now.along + 2.0 * cosine * toward
        if clear:
            back, bent = self.split(now.along, toward, index, numbers.ior)
            self.send(now, mirrored, back, 1)
            if bent is not None:
                self.send(now._replace(media=beyond, ahead=None), bent, 1.0 - back, 2)
        else:
            self.send(now, mirrored, self.specular_share(surface, numbers, cosine, index), 1)

    def toward_sensor(self, surface, numbers, cosine, index):
        """The bidirectional reflectance back along the ray."""
        light = np.array([math.sqrt(max(1.0 - cosine**2, 0.0)), 0.0, cosine])
        up = np.array([0.0, 0.0, 1.0])
        if surface.kind == SurfaceKind.lambert:
            lobe = numbers.retro_reflectance * cosine**2
            return numbers.diffuse_reflectance / math.pi + lobe
        floor = math.tan(self.half_angle / 2.0) / math.sqrt(2.0)
        rough = replace(numbers, roughness_beckmann=max(numbers.roughness_beckmann, floor, 1e-4))
        if surface.kind == SurfaceKind.dielectric:
            rough = replace(rough, diffuse_reflectance=0.0)
        return two_layer(rough, light, light, up, surface.two_way, index)

    def specular_share(self, surface, numbers, cosine, index):
        """The share that an opaque surface throws into the detector's cone."""
        if surface.kind == SurfaceKind.lambert:
            return 0.0
        reflectance = fresnel(index, complex(numbers.ior, numbers.extinction), cosine)[0]
        tau_squared = math.tan(self.half_angle / 2.0) ** 2 / cosine
        slope_squared = 2.0 * max(numbers.roughness_beckmann, 1e-4) ** 2
        return reflectance * tau_squared / (slope_squared + tau_squared)

    def split(self, along, toward, index, behind):
        """Reflectance of a clear interface and the direction behind it, None if there is none."""
        cosine = -float(along @ toward)
        ratio = index / behind
        square = 1.0 - ratio**2 * (1.0 - cosine**2)
        if abs(square) < 1e-3:
            self.doubtful = True  # next to total reflection all depends on the last digits
        if square <= 0.0:
            return 1.0, None
        bent = ratio * along + (ratio * cosine - math.sqrt(square)) * toward
        return fresnel(index, behind, cosine)[0], bent

    def send(self, now, along, share, side):
        """Follow a child, 1 reflected or 2 transmitted, if it is worth it."""
        weight = now.weight * share
        if abs(weight - self.own.weight_cutoff) < CLOSE * self.own.weight_cutoff:
            self.doubtful = True
        if share <= 0.0 or now.depth >= self.own.max_depth or weight < self.own.weight_cutoff:
            return
        self.follow(
            now._replace(along=along, weight=weight, node=2 * now.node + side, depth=now.depth + 1)
        )

    # ---- echoes -------------------------------------------------------------------------------

    def note(self, now, strength, **what):
        """Keep an echo if it counts."""
        unsure = DRAWN * now.optical if what.get("atmospheric") else CLOSE
        for limit in (self.own.min_range, self.own.max_range):
            if abs(now.optical - limit) < unsure:
                self.doubtful = True
        if not self.own.min_range <= now.optical <= self.own.max_range:
            return
        both = self.own.path_convention == PathConvention.round_trip
        path, back = (2.0 * now.reduced, now.weight) if both else (now.reduced, 1.0)
        intensity = now.weight * back * strength * self.beam_factor(path)
        unsure = 0.5 if what.get("atmospheric") else 0.01
        if abs(intensity - self.own.min_intensity) < unsure * self.own.min_intensity:
            self.doubtful = True
        if intensity > 0.0 and intensity >= self.own.min_intensity:
            self.echoes.append(Echo(now.optical, intensity, now.node, **what))

    def beam_factor(self, path):
        """The closed form, where the beam is on."""
        beam = self.beam
        width = path * math.tan(beam.divergence_half_angle) + beam.emitter_radius
        if not self.own.beam_on or width == 0.0:
            return 1.0
        share = 1.0 - math.exp(-2.0 * (beam.detector_radius / width) ** 2)
        share *= math.exp(-2.0 * (beam.detector_offset / width) ** 2)
        return min(share / (1.0 - math.exp(-2.0)), 1.0)


def without(media, owner):
    """The media around without the newest of an owner."""
    places = [k for k, (other, _) in enumerate(media) if other == owner]
    return media if not places else media[: places[-1]] + media[places[-1] + 1 :]


def outside_of(corners):
    """The unit normal of a triangle."""
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    return normal / np.linalg.norm(normal)


# ---- from echoes to returns -------------------------------------------------------------------


def merged(echoes, window):
    """Echoes of (range, intensity) that a detector cannot tell apart, as one; sorted by range."""
    groups: list[list] = []
    for echo in sorted(echoes):
        if groups and echo[0] - groups[-1][0][0] < window:
            groups[-1].append(echo)
        else:
            groups.append([echo])
    result = []
    for group in groups:
        total = sum(echo[1] for echo in group)
        middle = sum(echo[0] * echo[1] for echo in group) / total
        result.append((middle, total, max(group, key=lambda echo: (echo[1], -echo[0]))))
    return result


def chosen(echoes, mode, most=8):
    """The returns of (range, intensity, node, ...) by mode, nearest first."""
    by_strength = sorted(echoes, key=lambda echo: (-echo[1], echo[0], echo[2]))
    by_range = sorted(echoes, key=lambda echo: (echo[0], echo[2]))
    if not echoes:
        return []
    if mode == ReturnMode.strongest:
        picked = by_strength[:1]
    elif mode == ReturnMode.first:
        picked = by_range[:1]
    elif mode == ReturnMode.last:
        picked = by_range[-1:]
    elif mode == ReturnMode.dual:
        others = [echo for echo in by_strength if echo is not by_strength[0]]
        second = by_range[-1] if by_range[-1] is not by_strength[0] else None
        picked = [by_strength[0], *([second] if second is not None else others[:1])]
    else:
        picked = by_strength[:most]
    return sorted(picked, key=lambda echo: (echo[0], echo[2]))
