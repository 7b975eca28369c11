"""Targets on a range for radars: their meshes, and what tubes of a chosen width make of them."""

from pathlib import Path
from typing import Any

import numpy as np

from sensor_models.kernels.radar.ray_paths import Cells, shoot
from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    Polarization,
    RayTracedParameters,
    TracingParameters,
)
from sensor_models.radar.ray_traced import Motion, Paths, RayTracedRadar, new_pages, no_images
from sensor_models.radar.surfaces import RadarScene
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import (
    Body,
    Instance,
    Material,
    Mesh,
    RadarParameters,
    Scene,
    SurfaceKind,
    SurfaceParameters,
)
from sensor_models.scene.tracing import RayScene

#: Wavelength that the acceptance rows are for: 77 GHz.
WAVELENGTH = 299792458.0 / 77e9
LIGHT_METAL = {905e-9: SurfaceParameters(diffuse_reflectance=0.0, ior=2.0, extinction=8.0)}
METAL = Material("metal", SurfaceKind.two_layer, LIGHT_METAL)
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
SCENES = Path(__file__).parent.parent / "scenes"


def matter(**numbers: Any) -> Material:
    """A material with numbers for the radar."""
    band = {WAVELENGTH: RadarParameters(**numbers)}
    light = {905e-9: SurfaceParameters()}
    return Material("matter", SurfaceKind.lambert, light, at_radar=band)


def triangles(*pieces: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of several pieces together."""
    vertices, faces, count = [], [], 0
    for corners, sides in pieces:
        vertices.append(np.asarray(corners, float))
        faces.append(np.asarray(sides, int) + count)
        count += len(vertices[-1])
    return np.concatenate(vertices), np.concatenate(faces)


def quad(origin: Any, one: Any, other: Any) -> tuple[np.ndarray, list[list[int]]]:
    """A parallelogram."""
    o, a, b = (np.asarray(v, float) for v in (origin, one, other))
    return np.array([o, o + a, o + a + b, o + b]), [[0, 1, 2], [0, 2, 3]]


def plate(side: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """A square across x, around the origin."""
    h = 0.5 * side
    return triangles(quad((0, -h, -h), (0, side, 0), (0, 0, side)))


def dihedral(side: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Two squares that open toward -x, their seam along z."""
    s, h = side / np.sqrt(2.0), 0.5 * side
    return triangles(
        quad((0, 0, -h), (-s, s, 0), (0, 0, side)), quad((0, 0, -h), (-s, -s, 0), (0, 0, side))
    )


def corner(side: float = 0.1, *, square: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Three triangles, or squares, at right angles that open toward -x."""
    axes = np.array([
        [1.0, 0.0, np.sqrt(2.0)],
        [1.0, np.sqrt(1.5), -np.sqrt(0.5)],
        [1.0, -np.sqrt(1.5), -np.sqrt(0.5)],
    ]) / np.sqrt(3.0) * np.array([-1.0, 1.0, 1.0]) * side  # fmt: skip
    pairs = ((0, 1), (1, 2), (2, 0))
    if square:
        return triangles(*(quad((0, 0, 0), axes[i], axes[j]) for i, j in pairs))
    return triangles(*(([(0, 0, 0), axes[i], axes[j]], [[0, 1, 2]]) for i, j in pairs))


def ball(radius: float, level: int) -> tuple[np.ndarray, np.ndarray]:
    """A sphere of an icosahedron whose faces are divided some times."""
    g = 0.5 * (1.0 + np.sqrt(5.0))
    points = [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g),
              (0, -1, -g), (0, 1, -g), (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]  # fmt: skip
    sides = [[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4],
             [11, 10, 2], [10, 7, 6], [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8],
             [3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1]]  # fmt: skip
    vertices = np.array(points, float)
    faces = np.array(sides)
    for _ in range(level):
        corners = vertices[faces]
        middles = 0.5 * (corners + np.roll(corners, -1, axis=1))
        a, b, c = corners.transpose(1, 0, 2)
        ab, bc, ca = middles.transpose(1, 0, 2)
        soup = np.stack(
            [np.stack(t, 1) for t in ((a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca))], 1
        )
        flat = soup.reshape(-1, 3)
        flat /= np.linalg.norm(flat, axis=1, keepdims=True)
        vertices, faces = flat, np.arange(len(flat)).reshape(-1, 3)
    unit = vertices / np.linalg.norm(vertices, axis=1, keepdims=True)
    return radius * unit, faces


def turned(angle: float, axis: int = 2) -> np.ndarray:
    """A matrix that turns about an axis."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[i, i] = matrix[j, j] = c
    matrix[i, j], matrix[j, i] = -s, s
    return matrix


def placed(place: Any, turn: np.ndarray | None = None) -> np.ndarray:
    """A transform."""
    matrix = np.eye(4)
    matrix[:3, :3] = np.eye(3) if turn is None else turn
    matrix[:3, 3] = place
    return matrix


def scene_of(*things: tuple[tuple[np.ndarray, np.ndarray], np.ndarray, Material, int],
             bodies: int = 0) -> Scene:  # fmt: skip
    """A scene of shapes: shape, transform, material, body (-1 for the world)."""
    meshes, instances, materials = [], [], []
    for number, (shape, transform, material, body) in enumerate(things):
        faces = np.array(shape[1], np.uint32)
        kinds = np.full(len(faces), number, np.int32)
        meshes.append(Mesh(np.array(shape[0], np.float32), faces, kinds))
        materials.append(material)
        instances.append(Instance(number, transform, number + 1, body=body))
    moving = tuple(Body(f"b{n}") for n in range(bodies))
    return Scene("range", tuple(meshes), tuple(instances), tuple(materials), bodies=moving)


def still(bodies: int = 0) -> Motion:
    """A sensor at the origin that looks along x, and bodies at the origin."""
    poses = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (bodies, 1))
    return Motion(np.zeros(3), IDENTITY, np.zeros(3), poses, np.zeros((bodies, 6)))


def radar_of(polarization: Polarization = Polarization.vv, *, bounces: int = 3, seed: int = 0,
             integrates: bool = True, jitter: float = 1.0) -> RayTracedRadar:  # fmt: skip
    """A radar without noise whose gain is the same ahead."""
    antenna = AntennaParameters(pattern="isotropic", polarization=polarization)
    tracing = TracingParameters(max_bounces=bounces, noise=False)  # nothing is thinned out
    own = RayTracedParameters(antenna=antenna, tracing=tracing)
    return RayTracedRadar(own, seed=seed, integrates=integrates, jitter=jitter)


def tubes_of(radar: RayTracedRadar, rays: RayScene, motion: Motion, window: tuple[float, ...],
             width: float, frame: int = 0) -> Paths:  # fmt: skip
    """The paths of tubes of one width (of u and v) over a window: least u, v and most u, v."""
    columns, rows = (int(np.ceil((window[k + 2] - window[k]) / width)) for k in range(2))
    numbers = np.arange(rows * columns)
    parts = np.ones(len(numbers), np.int32)
    chunks = np.array([0, len(numbers)])
    cells = Cells(numbers, parts, parts, chunks, columns, window[0], window[1], width, width)
    pages = new_pages(-(-len(numbers) * 8 // 1024) + 1)
    scene = RadarScene(rays.scene, radar.parameters.antenna.frequency, 1.0)
    motions = np.zeros((len(motion.bodies), 9))
    motions[:, :6], motions[:, 6:] = motion.velocities, motion.bodies[:, :3] - motion.position
    bodies = MovingBodies(motion.bodies[np.newaxis].copy()) if len(motion.bodies) else None
    sender = radar._sender(motion, frame)
    images = no_images(len(scene.owners))
    rays.run(shoot, sender, scene.tables, motions, images, cells, pages, bodies=bodies)
    used = pages.used[: pages.claims[0]]
    return Paths(pages, np.lexsort((used[:, 1], used[:, 0])), len(numbers), 0)


def amplitude(paths: Paths) -> complex:
    """The sum of all paths, with the phases of their lengths."""
    rows = paths.numbers
    phases = np.exp(2j * np.pi * (rows[:, 2] / WAVELENGTH % 1.0))
    return complex(((rows[:, 0] + 1j * rows[:, 1]) * phases).sum())


def cross_section(radar: RayTracedRadar, paths: Paths, distance: float) -> float:
    """The radar cross section of all paths together, m2."""
    return abs(amplitude(paths)) ** 2 / radar.radio.received(1.0, distance)


def decibel(ratio: Any) -> Any:
    """Ten times the logarithm."""
    return 10.0 * np.log10(ratio)
