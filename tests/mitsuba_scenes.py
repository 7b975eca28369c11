"""Scenes of ours as Mitsuba 3 takes them: matt surfaces under a sun and a uniform sky."""

from pathlib import Path
from typing import Any

import numpy as np

from sensor_models.scene.model import Scene


def write_mesh(path: Path, vertices: np.ndarray, faces: np.ndarray) -> None:
    """An OBJ file."""
    lines = ["v {} {} {}".format(*map(repr, vertex)) for vertex in vertices.tolist()]
    lines += ["f {} {} {}".format(*(corner + 1 for corner in face)) for face in faces.tolist()]
    path.write_text("\n".join(lines) + "\n")


def shapes(scene: Scene, folder: Path, reflectance: list[float]) -> dict[str, Any]:
    """All instances, by the material of their faces."""
    found: dict[str, Any] = {}
    for number, instance in enumerate(scene.instances):
        mesh = scene.meshes[instance.mesh]
        pose = instance.transform
        if instance.body >= 0:
            pose = pose.copy()
            pose[:3, 3] += scene.bodies[instance.body].position
        vertices = mesh.vertices.astype(float) @ pose[:3, :3].T + pose[:3, 3]
        for material in np.unique(mesh.face_material):
            file = folder / f"{number}_{material}.obj"
            write_mesh(file, vertices, mesh.faces[mesh.face_material == material].astype(int))
            matt = {"type": "diffuse", "reflectance": spectrum(reflectance[material])}
            found[f"shape_{number}_{material}"] = {
                "type": "obj",
                "filename": str(file),
                "face_normals": True,
                "bsdf": {"type": "twosided", "bsdf": matt},
            }
    return found


def spectrum(value: float) -> dict[str, Any]:
    """The same value for all light."""
    return {"type": "rgb", "value": [value] * 3}


def lights(toward_sun: np.ndarray, sun: float, sky: float) -> dict[str, Any]:
    """A sun far away and a sky of one radiance all around."""
    along = [-float(part) for part in toward_sun]
    return {
        "sun": {"type": "directional", "direction": along, "irradiance": spectrum(sun)},
        "sky": {"type": "constant", "radiance": spectrum(sky)},
    }


def camera(
    position: np.ndarray, target: np.ndarray, angle: float, size: tuple[int, int], samples: int
) -> dict[str, Any]:
    """A pinhole with the horizontal angle of view in degrees."""
    import mitsuba as mi

    return {
        "type": "perspective",
        "fov": angle,
        "fov_axis": "x",
        "to_world": mi.ScalarTransform4f().look_at(list(position), list(target), [0, 0, 1]),
        "film": {
            "type": "hdrfilm",
            "width": size[0],
            "height": size[1],
            "rfilter": {"type": "box"},
            "pixel_format": "luminance",
        },
        "sampler": {"type": "multijitter", "sample_count": samples},
    }


def picture(parts: dict[str, Any], depth: int, seed: int = 0) -> np.ndarray:
    """What a path tracer of some depth sees, (rows, columns)."""
    import mitsuba as mi

    integrator = {"type": "path", "max_depth": depth, "rr_depth": 1000}
    scene = mi.load_dict({"type": "scene", "integrator": integrator, **parts})
    return np.array(mi.render(scene, seed=seed))[:, :, 0]
