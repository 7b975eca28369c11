"""FMUs for a world: an ``Environment`` with inputs for its bodies, and its dynamics if it has some.

The main modules of these FMUs are generated. The world is written anew as a scene, so that FMUs
need no reader of it.
"""

import re
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fmus.building import project
from fmus.building.sources import BuildError, Source, own_source
from sensor_models.scene.manifest import MANIFEST_NAME, load_scene, manifest_path
from sensor_models.scene.model import Scene
from sensor_models.scene.worlds.dynamics import dynamics_of, load_dynamics, write_dynamics
from sensor_models.scene.worlds.formats import WorldOptions, is_world
from sensor_models.scene.worlds.reading import read_world
from sensor_models.scene.worlds.writing import write_world

GENERATED = project.BUILD / "generated"

ENVIRONMENT = '''"""FMU ``Environment`` for the scene {name}."""

from fmus.fmi.environment_fmu import EnvironmentFmu
from sensor_models.scene.model import Body, Clip, Joint


class SceneEnvironmentFmu(EnvironmentFmu):
    """Has inputs for the bodies of this scene."""

    built_for = {name!r}

    @classmethod
    def bodies(cls):
        """The movable bodies of the scene."""
        return {bodies!r}
'''

ROBOT = '''"""FMU ``VehicleDynamics`` for the world {name}."""

from fmus.fmi.robot_dynamics_fmu import RobotDynamicsFmu
from sensor_models.scene.model import Body, Clip, Joint


class WorldDynamicsFmu(RobotDynamicsFmu):
    """Simulates this world."""

    model_name = "VehicleDynamics"
    built_for = {name!r}

    @classmethod
    def bodies(cls):
        """The bodies that move."""
        return {bodies!r}

    @classmethod
    def actuators(cls):
        """Names of the commands, and what they mean."""
        return {actuators!r}
'''


def built_in_scenes() -> dict[str, Path]:
    """The manifests of the built-in scenes by name."""
    return {path.parent.name: path for path in sorted(project.SCENES.glob(f"*/{MANIFEST_NAME}"))}


def named_scene(name_or_path: str) -> tuple[str, Path]:
    """The name that a scene goes by inside of FMUs, and its manifest."""
    manifest = manifest_path(name_or_path)
    if is_world(manifest):
        manifest = _converted(manifest)
    name = manifest.parent.name if manifest.name == MANIFEST_NAME else manifest.stem
    if not re.fullmatch("[A-Za-z0-9_-]+", name):
        raise BuildError(f"{manifest}: {name!r} is no name of a scene, allowed: A-Z a-z 0-9 _ -")
    if built_in_scenes().get(name, manifest) != manifest:
        raise BuildError(f"{manifest}: there is a built-in scene {name}, give this another name")
    return name, manifest


def _converted(world: Path) -> Path:
    """The manifest of a world of others, written anew."""
    directory, data = GENERATED / "worlds" / world.stem, world.read_bytes()
    shutil.rmtree(directory, ignore_errors=True)
    manifest = write_world(read_world(world, data, WorldOptions()), directory)
    write_dynamics(world, data, WorldOptions(), directory)
    return manifest


@cache
def read_scene(manifest: Path) -> Scene:
    """A scene, read once."""
    return load_scene(manifest)


def sources_for(name: str, manifest: Path) -> dict[str, Source]:
    """The FMUs that are others for a scene, by their names."""
    bodies = read_scene(manifest).bodies
    text = ENVIRONMENT.format(name=name, bodies=bodies)
    found = {"Environment": _generated(f"environment_for_{name}", text)}
    if (model := dynamics_of(manifest)) is not None:
        actuators = actuators_of(load_dynamics(model))
        text = ROBOT.format(name=name, bodies=bodies, actuators=actuators)
        found["VehicleDynamics"] = _generated(f"dynamics_of_{name}", text)
    return found


def actuators_of(engine: Any) -> Mapping[str, str]:
    """The names of a model's commands as FMI variables have them, and what they mean."""
    found: dict[str, str] = {}
    for number in range(engine.nu):
        given = engine.actuator(number).name
        name = re.sub(r"\W", "_", given, flags=re.ASCII) or f"actuator_{number}"
        name = name if name.isidentifier() and name not in found else f"actuator_{number}_{name}"
        text = f"Command of the actuator {given or number}, in its own unit"
        if engine.actuator_ctrllimited[number]:
            low, high = engine.actuator_ctrlrange[number].tolist()
            text += f"; kept between {low:g} and {high:g}"
        found[name] = text
    return found


def _generated(module: str, text: str) -> Source:
    """An FMU whose main module is generated."""
    GENERATED.mkdir(parents=True, exist_ok=True)
    path = GENERATED / (re.sub(r"\W", "_", module) + ".py")
    path.write_text(text, encoding="utf-8")
    return own_source(path)
