"""Pictures of scenes for people. This is no camera model: nothing here is calibrated.

Each ray takes the colour of the sky where it meets nothing. A surface is lit by the sun, unless a
second ray finds something in the way, and by the sky, as far as rays to a few directions around
the normal find it open. Smooth surfaces mirror by Schlick's approximation of Fresnel's
law: the sky, or the plain colour of what is there. Glass mirrors and lets the rest pass straight
on. Distance fades into haze, and the exposure follows the mean brightness.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sensor_models.scene.model import Material, Scene, SurfaceKind

Floats = NDArray[np.float64]
Indices = NDArray[np.integer]


class Hits(Protocol):
    """What is needed of the closest hits along rays."""

    @property
    def t(self) -> NDArray[Any]:
        """Distance in m, inf where nothing is hit."""

    @property
    def material(self) -> NDArray[Any]:
        """Index into the materials of the scene."""

    @property
    def normal(self) -> NDArray[Any]:
        """Direction across the surface, to whichever side."""


#: Origins, directions, range -> closest hits.
Trace = Callable[[Floats, Floats, float], Hits]

_FAR = 1e5  # m
_HAZE_LENGTH = 900.0  # m, in which two thirds of the colour fade
_GLASS_LAYERS = 6
_SKYLIGHT_RAYS = 6  # for each of the rays of a pixel, so 24 a pixel
_SKYLIGHT_REACH = 4.0  # m, what is farther does not darken, what is nearer does in proportion
_MEAN_BRIGHTNESS = 0.42  # that exposure aims at
_OFFSET = 1e-3  # m, from a surface to where rays from it start

_MOTTLES = (0.35, 2.5)  # m, sizes of the patches that keep large surfaces from looking flat

#: Multipliers that spread neighbouring cells over all numbers.
_PRIMES = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
_PRIMES.shape = (3, 1)

_ZENITH = np.array([0.10, 0.29, 0.78])
_HORIZON = np.array([0.56, 0.75, 0.97])
_EARTH = np.array([0.16, 0.15, 0.13])
_SUNLIGHT = np.array([1.25, 1.17, 1.00])
_SKYLIGHT = np.array([0.48, 0.57, 0.70])
_BOUNCED = np.array([0.14, 0.13, 0.11])


@dataclass(frozen=True)
class Camera:
    """From where a picture is taken; the horizontal angle of view in rad."""

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    field_of_view: float = math.radians(60.0)


def whole_scene(scene: Scene) -> Camera:
    """A camera that sees a scene from its south, from above."""
    low, high = extents(scene)
    middle, size = (low + high) / 2.0, float(np.linalg.norm(high - low)) or 1.0
    position = middle + size * np.array([-0.35, -0.75, 0.45])
    return Camera((position[0], position[1], position[2]), (middle[0], middle[1], middle[2]))


def extents(scene: Scene) -> tuple[Floats, Floats]:
    """The corners of the box around all instances, with the bodies where the manifest has them."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for instance in scene.instances:
        vertices = scene.meshes[instance.mesh].vertices.astype(np.float64)
        places = vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
        if instance.body >= 0:
            places = places + np.array(scene.bodies[instance.body].position)
        low, high = np.minimum(low, places.min(axis=0)), np.maximum(high, places.max(axis=0))
    return (low, high) if scene.instances else (np.zeros(3), np.zeros(3))


def render(
    scene: Scene, trace: Trace, camera: Camera, width: int, height: int, samples: int = 2
) -> NDArray[np.uint8]:
    """A picture of ``samples`` x ``samples`` rays a pixel, as rows of red, green, blue."""
    painter = _Painter(scene, trace)
    total = np.zeros((height * width, 3))
    for sample in range(samples * samples):
        shift = (np.array(divmod(sample, samples)) + 0.5) / samples
        directions = _directions(camera, width, height, shift)
        origins = np.broadcast_to(np.array(camera.position, np.float64), directions.shape)
        painter.turn = sample * 2.0 * math.pi / (_SKYLIGHT_RAYS * samples * samples)
        total += painter.colors(origins, directions)
    linear = np.clip(total / samples**2, 0.0, None)
    exposure = np.clip(_MEAN_BRIGHTNESS / max(float(linear.mean()), 1e-6), 1.1, 2.6)
    bright = 1.0 - np.exp(-exposure * linear)  # rolls off instead of clipping
    picture: NDArray[np.uint8] = np.rint(255.0 * bright ** (1.0 / 2.2)).astype(np.uint8)
    return picture.reshape(height, width, 3)


def save_png(picture: NDArray[np.uint8], file: Path) -> None:
    """Write a picture with 256 colours chosen for it, a third of the size of one with all."""
    colors = Image.fromarray(picture).quantize(256, kmeans=3, dither=Image.Dither.NONE)
    colors.save(file, "PNG", optimize=True)


def _directions(camera: Camera, width: int, height: int, shift: Floats) -> Floats:
    """Unit vectors through the pixels, at a place within each."""
    forward = _unit(np.array(camera.target, np.float64) - np.array(camera.position))
    up = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.999 else np.array([0.0, 1.0, 0.0])
    right = _unit(np.cross(forward, up))
    below = np.cross(forward, right)
    pixel = 2.0 * math.tan(camera.field_of_view / 2.0) / width
    x = (np.arange(width) + shift[0] - width / 2.0) * pixel
    y = (np.arange(height) + shift[1] - height / 2.0) * pixel
    rays = forward + x[None, :, None] * right + y[:, None, None] * below
    return _unit(rays.reshape(-1, 3))


class _Painter:
    """The colours that rays see in a scene."""

    def __init__(self, scene: Scene, trace: Trace) -> None:
        self._trace = trace
        self.sun = _unit(np.array(scene.sky.sun_direction, np.float64))
        self.turn = 0.0
        materials = scene.materials or (Material("none", SurfaceKind.lambert, {}),)
        self.color = np.array([material.color for material in materials]) ** 2.2
        self.glass = np.array([material.kind is SurfaceKind.dielectric for material in materials])
        self.metal = np.array([_is_metal(material) for material in materials])
        self.shiny = np.array([material.kind is not SurfaceKind.lambert for material in materials])

    def trace(self, origins: Floats, directions: Floats, reach: float) -> Hits:
        """The closest hits, of arrays as the ray engine wants them."""
        return self._trace(np.ascontiguousarray(origins), np.ascontiguousarray(directions), reach)

    def colors(self, origins: Floats, directions: Floats) -> Floats:
        """What rays see, through several panes of glass if need be."""
        seen = np.zeros(directions.shape)
        weight = np.ones(directions.shape)
        where = np.arange(len(directions))
        travelled = np.zeros(len(directions))
        for _ in range(_GLASS_LAYERS):
            hits = self.trace(origins, directions, _FAR)
            distance = np.asarray(hits.t, np.float64)
            hit = np.isfinite(distance)
            seen[where[~hit]] += weight[where[~hit]] * self.sky(directions[~hit])
            material = np.asarray(hits.material)[hit]
            where, directions, distance = where[hit], directions[hit], distance[hit]
            normals = _facing(np.asarray(hits.normal, np.float64)[hit], directions)
            points = origins[hit] + distance[:, None] * directions
            travelled = travelled[hit] + distance
            glass = self.glass[material]
            opaque = ~glass
            lit = self.surface(
                points[opaque], directions[opaque], normals[opaque], material[opaque]
            )
            fade = np.exp(-travelled[opaque, None] / _HAZE_LENGTH)
            seen[where[opaque]] += weight[where[opaque]] * (fade * lit + (1.0 - fade) * _HORIZON)
            mirrored, share = self.mirrored(points[glass], directions[glass], normals[glass], 0.08)
            seen[where[glass]] += weight[where[glass]] * share * mirrored
            weight[where[glass]] *= (1.0 - share) * self.color[material[glass]] ** 0.25
            where, directions, travelled = where[glass], directions[glass], travelled[glass]
            origins = points[glass] + _OFFSET * directions
            if not len(where):
                break
        return seen

    def surface(self, points: Floats, views: Floats, normals: Floats, material: Indices) -> Floats:
        """Light from opaque surfaces."""
        starts = points + _OFFSET * normals
        facing = np.clip(normals @ self.sun, 0.0, None)
        sunny = facing > 0.0
        reached = np.zeros(len(points))
        reached[sunny] = self.sunshine(starts[sunny])
        upward = 0.5 + 0.5 * normals[:, 2:]
        sky = (upward * _SKYLIGHT + (1.0 - upward) * _BOUNCED) * self.openness(starts, normals)
        color = self.color[material]
        mottled = np.ones(len(points))
        for size in _MOTTLES:
            mottled += 0.22 * (_noise(points / size) - 0.5)
        diffuse: Floats = mottled[:, None] * color * (sky + (facing * reached)[:, None] * _SUNLIGHT)
        shiny = self.shiny[material]
        metal = self.metal[material][shiny][:, None]
        mirrored, share = self.mirrored(points[shiny], views[shiny], normals[shiny], 0.04)
        share = np.where(metal, 0.65, share)
        tint = np.where(metal, color[shiny], 1.0)
        diffuse[shiny] = (1.0 - share) * diffuse[shiny] + share * tint * mirrored
        return diffuse

    def openness(self, starts: Floats, normals: Floats) -> Floats:
        """How much of the sky a surface sees, from a few directions around its normals."""
        across = np.where(np.abs(normals[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
        first = _unit(np.cross(normals, across))
        second = np.cross(normals, first)
        free = np.zeros(len(starts))
        for number in range(_SKYLIGHT_RAYS):
            sine = math.sqrt((number + 0.5) / _SKYLIGHT_RAYS)  # as many as the cosine law asks for
            angle = number * 2.399963 + self.turn  # the golden angle spreads them
            a, b, c = sine * math.cos(angle), sine * math.sin(angle), math.sqrt(1.0 - sine * sine)
            ways = a * first + b * second + c * normals
            hits = self.trace(starts, ways, _SKYLIGHT_REACH)
            free += np.minimum(np.asarray(hits.t, np.float64) / _SKYLIGHT_REACH, 1.0)
        return np.asarray(free[:, None] / _SKYLIGHT_RAYS)

    def sunshine(self, starts: Floats) -> Floats:
        """1 where nothing is before the sun, 0 where something is, between where it is glass."""
        directions = np.tile(self.sun, (len(starts), 1))
        hits = self.trace(starts, directions, _FAR)
        hit = np.isfinite(hits.t)
        glass = hit & self.glass[np.where(hit, hits.material, 0)]
        return np.where(glass, 0.6, np.where(hit, 0.0, 1.0))

    def mirrored(
        self, points: Floats, views: Floats, normals: Floats, least: float
    ) -> tuple[Floats, Floats]:
        """What a mirror shows, and the share of the light that goes there (Schlick)."""
        cosine = -np.einsum("ij,ij->i", views, normals)[:, None]
        share = least + (1.0 - least) * (1.0 - np.clip(cosine, 0.0, 1.0)) ** 5
        ways = views + 2.0 * cosine * normals
        seen = self.sky(ways)
        hits = self.trace(points + _OFFSET * normals, ways, _FAR)
        hit = np.isfinite(hits.t)
        seen[hit] = self.color[np.asarray(hits.material)[hit]] * _SKYLIGHT
        return seen, share

    def sky(self, directions: Floats) -> Floats:
        """The colour of the sky, and of the earth below the horizon."""
        height = directions[:, 2:]
        above = _HORIZON + (_ZENITH - _HORIZON) * np.clip(height, 0.0, 1.0) ** 0.55
        glow = np.clip(directions @ self.sun, 0.0, 1.0)[:, None] ** 80
        below = _HORIZON + (_EARTH - _HORIZON) * np.clip(-3.0 * height, 0.0, 1.0) ** 0.5
        return np.asarray(np.where(height >= 0.0, above + 0.5 * glow * _SUNLIGHT, below))


def _noise(points: Floats) -> Floats:
    """A smooth random number from 0 to 1 at each point, the same in every picture."""
    corner = np.floor(points.T)
    share = points.T - corner
    share = share * share * (3.0 - 2.0 * share)
    cell = corner.astype(np.int64).astype(np.uint64) * _PRIMES  # wraps below 0, which is as good
    total = np.zeros(len(points))
    for x, y, z in np.ndindex(2, 2, 2):
        weights = (share if far else 1.0 - share for far in (x, y, z))
        weight = np.prod([part[axis] for axis, part in enumerate(weights)], axis=0)
        mixed = cell[0] + _PRIMES[0] * np.uint64(x)
        mixed = mixed ^ (cell[1] + _PRIMES[1] * np.uint64(y))
        mixed = mixed ^ (cell[2] + _PRIMES[2] * np.uint64(z))
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _PRIMES[0]
        total += weight * (mixed >> np.uint64(40)).astype(np.float64) / 2.0**24
    return total


def _is_metal(material: Material) -> bool:
    return any(numbers.extinction > 0.01 for numbers in material.at_wavelength.values())


def _facing(normals: Floats, directions: Floats) -> Floats:
    """Normals on the side that the rays come from."""
    away = np.einsum("ij,ij->i", normals, directions) > 0.0
    return _unit(np.where(away[:, None], -normals, normals))


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0.0, length, 1.0))
