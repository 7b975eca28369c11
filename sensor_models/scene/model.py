"""What a scene is, whatever file it came from.

World frame: right-handed, z up, metres. A mesh is a list of triangles in its own frame. An
instance puts a mesh somewhere: into the world, or into the frame of a movable body. Everything
that a ray can hit is an instance and has an entity id; a semantic label may further be given to
an instance, or to the faces of its mesh.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

#: Label of what has none, and id of what a ray missed.
NO_LABEL = -1


@dataclass(frozen=True)
class Mesh:
    """Triangles with what belongs to each."""

    vertices: NDArray[np.float32]  # (n, 3), m
    faces: NDArray[np.uint32]  # (m, 3), counter-clockwise seen from outside
    face_material: NDArray[np.int32]  # (m,), index into Scene.materials
    face_label: NDArray[np.int32] | None = None  # (m,), NO_LABEL where the instance's holds
    vertex_normals: NDArray[np.float32] | None = None  # (n, 3), for interpolated normals


@dataclass(frozen=True)
class Instance:
    """A mesh in the world, or on a body."""

    mesh: int
    transform: NDArray[np.float64]  # (4, 4), mesh to world, or mesh to body
    entity_id: int
    name: str = ""
    label: int = NO_LABEL
    body: int = -1  # index into Scene.bodies; -1 does not move


@dataclass(frozen=True)
class Body:
    """Something that moves: its pose comes from outside."""

    name: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)  # w, x, y, z


class SurfaceKind(IntEnum):
    """How a surface treats light."""

    lambert = 0
    two_layer = 1
    dielectric = 2


@dataclass(frozen=True)
class SurfaceParameters:
    """The optical numbers of a surface at one wavelength."""

    diffuse_reflectance: float = 0.8
    ior: float = 1.5
    extinction: float = 0.0
    roughness_beckmann: float = 0.1
    roughness_oren_nayar: float = 0.3
    retro_reflectance: float = 0.0  # 1/sr toward the source, of retro-reflective sheeting


@dataclass(frozen=True)
class Material:
    """A surface material: one set of numbers for each wavelength it is known at."""

    name: str
    kind: SurfaceKind
    at_wavelength: dict[float, SurfaceParameters]  # wavelength in m
    two_way: bool = False  # how a two-layer surface transmits into its base
    color: tuple[float, float, float] = (0.5, 0.5, 0.5)  # for pictures, 0 to 1
    source: str = ""  # where the numbers come from, or "estimate"

    def at(self, wavelength: float) -> SurfaceParameters:
        """The numbers at the known wavelength that is nearest."""
        return self.at_wavelength[min(self.at_wavelength, key=lambda w: abs(w - wavelength))]


@dataclass(frozen=True)
class Medium:
    """What light passes through: air, fog, rain, water."""

    name: str = "vacuum"
    absorption: float = 0.0  # extinction, 1/m
    return_shape: float = 1.0
    return_scale: float = 1.0  # m
    return_probability: float = 0.0
    ior: float = 1.0
    backscatter: float | None = None  # 1/sr; None: from absorption, pulse length and lidar ratio
    lidar_ratio: float = 18.8  # sr, extinction over backscatter; 18.8 for water droplets


@dataclass(frozen=True)
class MediumVolume:
    """A medium inside the closed surface of an instance, which rays pass through."""

    medium: int  # index into Scene.media
    instance: Instance


@dataclass(frozen=True)
class Sky:
    """Light for cameras: spectra as (wavelength in m, W/m2/m) or (wavelength, W/m2/sr/m) pairs."""

    sun_direction: tuple[float, float, float] = (0.3, 0.2, 0.93)  # toward the sun
    sun_spectrum: tuple[tuple[float, float], ...] = ()
    sky_spectrum: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Scene:
    """A whole scene."""

    name: str
    meshes: tuple[Mesh, ...]
    instances: tuple[Instance, ...]
    materials: tuple[Material, ...]
    bodies: tuple[Body, ...] = ()
    media: tuple[Medium, ...] = (Medium(),)  # media[0] fills the world
    volumes: tuple[MediumVolume, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.80665)
    magnetic_field: tuple[float, float, float] = (0.0, 0.0, 0.0)  # T
    sky: Sky = field(default_factory=Sky)
    labels: dict[int, str] = field(default_factory=dict)  # names of semantic labels
    files: tuple[Path, ...] = ()  # everything it was read from, for its digest
