"""Walls, slabs and materials for tests of the lidar, and short ways to point at them."""

import dataclasses

import numpy as np

from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import LidarParameters, ReturnMode
from sensor_models.lidar.patterns import ScanPattern
from sensor_models.scene.model import (
    Instance,
    Material,
    Medium,
    MediumVolume,
    Scene,
    SurfaceKind,
    SurfaceParameters,
)
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as rays_twin

WAVELENGTH = 905e-9
AIR = Medium()
ALL = {"return_mode": ReturnMode.all, "max_returns": 15}


def at(x=0.0, y=0.0, z=0.0):
    """The pose of a body that is not turned."""
    return np.array([x, y, z, 1.0, 0.0, 0.0, 0.0])


AT_ORIGIN = at()


def material(kind, name="surface", *, two_way=False, **numbers):
    """A material that is known at the wavelength of the lidar."""
    return Material(name, kind, {WAVELENGTH: SurfaceParameters(**numbers)}, two_way=two_way)


def lambert(reflectance=0.8):
    return material(SurfaceKind.lambert, diffuse_reflectance=reflectance)


def glass(ior=1.5, extinction=0.0, roughness=1e-4):
    return material(
        SurfaceKind.dielectric, ior=ior, extinction=extinction, roughness_beckmann=roughness
    )


def coated(**numbers):
    return material(SurfaceKind.two_layer, **numbers)


def mirror(roughness=1e-4, ior=0.15, extinction=3.6):
    """Silver, as good as it gets; without a base."""
    return coated(
        ior=ior, extinction=extinction, roughness_beckmann=roughness, diffuse_reflectance=0.0
    )


def box(low, high, of=0):
    """A closed box of one material."""
    mesh = rays_twin.box(low, high)
    return dataclasses.replace(mesh, face_material=np.full(len(mesh.faces), of, np.int32))


def across(x, of=0, *, thickness=1.0, half=20.0):
    """A box across the x axis. The middle of its face lies off the axis: no edge is hit there."""
    return box((x, -1.03 * half, -1.07 * half), (x + thickness, half, half), of)


def turned(mesh, axis, angle, about):
    """A mesh that is turned about a point."""
    matrix = rays_twin.pose_matrix([0.0, 0.0, 0.0, *rays_twin.turned_quaternion(axis, angle)])
    middle = np.asarray(about, float)
    vertices = (mesh.vertices - middle) @ matrix[:3, :3].T + middle
    return dataclasses.replace(mesh, vertices=vertices.astype(np.float32))


def scene(*meshes, materials=(None,), media=(AIR,), volumes=(), **more):
    """A scene of meshes that stand at their own coordinates.

    ``volumes`` are pairs of a medium's number and a mesh. Entities are 100, 101, ...
    """
    surfaces = tuple(lambert() if given is None else given for given in materials)
    bounds = tuple(mesh for _, mesh in volumes)
    around = tuple(
        MediumVolume(medium, Instance(len(meshes) + k, np.eye(4), -1, f"volume {k}"))
        for k, (medium, _) in enumerate(volumes)
    )
    instances = more.pop(
        "instances",
        tuple(Instance(k, np.eye(4), 100 + k, f"mesh {k}") for k in range(len(meshes))),
    )
    return Scene(
        "test", (*meshes, *bounds), instances, surfaces, media=media, volumes=around, **more
    )


def aim(azimuth=0.0, elevation=0.0, rows=1, **more):
    """A pattern of rays with these angles."""
    azimuth, elevation = np.broadcast_arrays(np.atleast_1d(azimuth), np.atleast_1d(elevation))
    return ScanPattern.from_arrays(azimuth, elevation, rows=rows, **more)


def ahead(count):
    """A pattern of many equal rays along x."""
    return aim(np.zeros(count))


def capture(seen, pattern=None, body=AT_ORIGIN, frame=0, threads=1, lidar=None, **options):
    """The points of one frame. Options are those of ``Lidar``; ``own`` its parameters by name."""
    own = options.pop("own", {})
    device = lidar or Lidar(LidarParameters(**own), pattern or aim(), **options)
    with RayScene(seen, threads) as rays:
        return device.capture(rays, body, frame).points(normals=True)
