"""Scenes: the world that all sensors that see share.

``model``      what a scene is: meshes, instances, bodies, materials, media
``manifest``   a scene from its TOML file
``materials``  the library of surface materials and ambient media
``tracing``    the scene as Embree sees it; closest hits and all hits along rays
``registry``   one scene for each handle, in the process and between processes
``worlds``     scenes from files of others: MJCF, URDF, USD, glTF
``openmaterial``  ASAM OpenMATERIAL 3D: materials of others, and ours for others
``view``       pictures for people

``load("robot.xml")`` gives a scene by its name, its manifest or a world's file.
``python -m sensor_models.scene view NAME`` renders a scene, ``check FILE`` validates one.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sensor_models.scene.model import Scene


def load(name_or_path: str | Path, **options: Any) -> "Scene":
    """The scene of that name or in that file: ``manifest.load_scene``, with its options."""
    from sensor_models.scene.manifest import load_scene

    return load_scene(name_or_path, **options)
