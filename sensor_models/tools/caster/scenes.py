"""From a scene to its parts: all instances in one list of facets, with a property in bands.

Facets are numbered in the order of the instances in the scene, and for each of them in the order of
the faces of its mesh. Bodies stay where the scene file has them. Volumes of media are left out,
because they stop no ray.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import matrix_from_quaternion
from sensor_models.core.quantities import ParameterError
from sensor_models.light.spectra import LONGEST, SHORTEST, reflectance
from sensor_models.scene.model import Instance, Material, Scene, SurfaceKind
from sensor_models.tools.caster.facets import FacetProperty, check_bands
from sensor_models.tools.caster.parts import Parts, PartsWriter

Floats = NDArray[np.float64]


def split(
    scene: Scene,
    directory: Path | str,
    parts: int,
    *,
    bands: Sequence[float] = (),
    properties: Mapping[int, FacetProperty] | None = None,
) -> Parts:
    """Write a scene into a directory, divided into parts.

    Args:
        scene: the scene to divide.
        directory: the directory for the parts.
        parts: their number; a scene with fewer facets than that has fewer parts.
        bands: up to six wavelengths in m, for which diffuse reflectances are taken from the
            materials.
        properties: values for the facets of some meshes, by index, that replace those of their
            materials in each band: reflectance, temperature, colour.
    """
    if parts < 1:
        raise ParameterError(f"parts = {parts} is out of range, allowed is at least 1")
    if bands:
        check_bands(len(bands))
    vertices, faces = _soup(scene)
    values = _values(scene, bands, properties or {})
    low, high = (vertices.min(axis=0), vertices.max(axis=0)) if len(vertices) else (0.0, 0.0)
    origin = np.broadcast_to(np.round((low + high) / 2.0), 3)
    most = max(1, -(-len(faces) // parts))
    writer = PartsWriter(directory, origin=origin.tolist(), bands=bands, most_facets=most)
    writer.add(vertices, faces, values)
    return writer.finish()


def _soup(scene: Scene) -> tuple[Floats, NDArray[np.uint32]]:
    """All facets in the world."""
    vertices, faces, before = [np.zeros((0, 3))], [np.zeros((0, 3), np.uint32)], 0
    for instance in scene.instances:
        mesh = scene.meshes[instance.mesh]
        vertices.append(_in_world(scene, instance))
        faces.append(mesh.faces + np.uint32(before))
        before += len(mesh.vertices)
    return np.concatenate(vertices), np.concatenate(faces)


def _in_world(scene: Scene, instance: Instance) -> Floats:
    """The vertices of an instance in the world."""
    own = scene.meshes[instance.mesh].vertices.astype(float)
    places: Floats = own @ instance.transform[:3, :3].T + instance.transform[:3, 3]
    if instance.body < 0:
        return places
    body = scene.bodies[instance.body]
    turn = matrix_from_quaternion(np.array(body.orientation))
    return np.asarray(places @ turn.T + np.array(body.position))


def _values(
    scene: Scene, bands: Sequence[float], properties: Mapping[int, FacetProperty]
) -> NDArray[np.float32] | None:
    """The property of all facets: (facets, bands), or of their corners if any differ."""
    if not bands:
        return None
    found = [_of_mesh(scene, instance.mesh, bands, properties) for instance in scene.instances]
    if all(values.ndim == 2 for values in found):
        return np.concatenate([np.zeros((0, len(bands)), np.float32), *found])
    corners = [
        np.repeat(values[:, None], 3, axis=1) if values.ndim == 2 else values for values in found
    ]
    return np.concatenate(corners)


def _of_mesh(
    scene: Scene, index: int, bands: Sequence[float], properties: Mapping[int, FacetProperty]
) -> NDArray[np.float32]:
    """The property of a mesh's facets, or of their corners."""
    mesh = scene.meshes[index]
    given = properties.get(index)
    if given is None:
        materials = [[_reflectance(m, band) for band in bands] for m in scene.materials]
        return np.array(materials, np.float32)[mesh.face_material]
    if given.values.shape[1] != len(bands):
        raise ParameterError(
            f"the property of mesh {index} has {given.values.shape[1]} bands, not {len(bands)}"
        )
    values = given.values.astype(np.float32)
    return values if given.faces is None else np.asarray(values[given.faces])


def _reflectance(material: Material, band: float) -> float:
    """The diffuse reflectance of a material.

    Its numbers are for lidars and radars. For visible light the colour is used, as in pictures;
    clear materials have a reflectance of 0 there.
    """
    if not SHORTEST <= band <= LONGEST:
        return material.at(band).diffuse_reflectance
    clear = material.kind is SurfaceKind.dielectric
    return 0.0 if clear else float(reflectance(material, [band])[0])
