"""Temperatures of single instances: each gets materials, and a mesh with these, of its own.

Rays tell which material they meet, not which instance has warmed up. So what differs becomes a
material: a copy with another temperature. Vertices and faces are shared with the mesh that was.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sensor_models.scene.model import Instance, Material, Mesh


class Warming:
    """Meshes and materials of a scene, to which those of other temperatures are added."""

    def __init__(self, meshes: Sequence[Mesh], materials: Sequence[Material]) -> None:
        self.meshes, self.materials = list(meshes), list(materials)
        self._of_mesh: dict[tuple[int, float], int] = {}
        self._of_material: dict[tuple[int, float], int] = {}

    def warmed(self, instance: Instance, temperature: float | None) -> Instance:
        """An instance of a temperature in K, or that of its materials."""
        if temperature is None:
            return instance
        key = instance.mesh, temperature
        if key not in self._of_mesh:
            mesh = self.meshes[instance.mesh]
            used, place = np.unique(mesh.face_material, return_inverse=True)
            own = np.array([self._material(row, temperature) for row in used.tolist()], np.int32)
            self._of_mesh[key] = len(self.meshes)
            self.meshes.append(replace(mesh, face_material=own[place.ravel()]))
        return replace(instance, mesh=self._of_mesh[key])

    def _material(self, row: int, temperature: float) -> int:
        """The number of a material with another temperature."""
        key = row, temperature
        if key not in self._of_material:
            self._of_material[key] = len(self.materials)
            material = self.materials[row]
            name = f"{material.name} at {temperature:g} K"
            self.materials.append(replace(material, name=name, temperature=temperature))
        return self._of_material[key]
