"""Run an FMU in many ways, in a process of its own, to learn which kernels it calls.

    python exercise.py RESOURCES ANSWER [--bare | --standalone [--blind]]

The FMU is unpacked in ``RESOURCES`` and is loaded as its binding loads it. It is run with its start
values, with a log of each kind, in each scene that it carries, with a scene whose bodies move, and
from a saved state. Then each choice and each Boolean is changed from its start value, one at a
time; some FMUs are run like this again under other settings (``BASES``). Settings that the FMU
refuses are skipped. Which kernels are called, and with which kinds of arguments, depends only on
settings and scenes, so these runs call all of them.

``ANSWER`` becomes JSON: ``kernels``, each with module, name, line and kinds of its arguments;
``made``, those of them that were compiled or came from a cache; ``refused``, the settings that were
refused; ``modules``, the names of modules that were imported from files; ``methods``, the texts
that methods of data classes were made from; ``products``, how often matrices were multiplied by
plain loops in place of OpenBLAS.

With ``--bare``, Numba and LLVM cannot be imported, as if they were not installed. With
``--standalone``, neither can packages that standalone FMUs do not carry. With ``--blind``, neither
can packages that only FMUs carry that open scenes.

This file imports nothing of the project, because the FMU brings its own copy.
"""

import ctypes
import dataclasses
import importlib
import importlib.util
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

#: Packages that an FMU can do without.
NOT_NEEDED = ("numba", "llvmlite")
#: What standalone FMUs do not carry: PyArrow alone has 170 MB, OpenSSL's library 5 MB; the others
#: write texts into pictures, or open windows.
NOT_CARRIED = (
    *(*NOT_NEEDED, "pyarrow", "_bz2", "_hashlib", "_lzma", "_ssl", "bz2", "lzma"),
    *("PIL._avif", "PIL._imagingft", "glfw", "mujoco._render", "mujoco.rendering"),
)
#: Packages that are needed only by FMUs that open scenes.
SEEING = ("embreex", "PIL", "pydantic", "trimesh")

#: Numbers that make runs short; they do not change which kernels are called.
SMALL: dict[str, Any] = {
    "sample_rate": 100.0,
    "width": 8,
    "height": 6,
    "pixels.width": 8,
    "pixels.height": 6,
    "light.rays": 4,
    "pattern.rows": 4,
    "pattern.columns": 16,
    "beam.subrays": 3,
    "t_stop": 1e-7,
    "fov.azimuth": 0.1,
    "fov.elevation": 0.1,
    "chirp.samples": 16,
    "chirp.count": 16,
}

#: Settings without which other settings have no effect, by FMU.
BASES: dict[str, tuple[dict[str, Any], ...]] = {
    "CcdCamera": ({"shutter": 1, "motion_samples": 2, "flow.forward": 1, "sensor.model": 1},),
    "DepthCamera": ({"flow.forward": 1, "noise.on": 1, "return_pointcloud": 1},),
    "Gnss": ({"error.mode": 3, "scene": "street_canyon"},),
    "Lidar": ({"scan_mode": 1, "return_mode": 4, "beam.on": 1},),
    "Radar": ({"model": 1, "cube.on": 1},),
}

#: A scene for FMUs that carry none, but use its magnetic field.
SCENE = """
format = 1
name = "block"
[world]
origin = { latitude_deg = 48.0, longitude_deg = 11.0, height = 500 }
earth_field_date = 2026-07-01
[meshes.block]
box = { size = [1, 1, 1] }
material = "steel"
[[bodies]]
name = "block"
[[instances]]
mesh = "block"
body = "block"
"""

STEP = 0.02

#: The phase of an instance between steps (``binding/instance.h``).
STEPPING = 4


class Blocker:
    """Makes imports of these packages and modules fail."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Raise an error for such a package, None for others."""
        del path, target
        if any(f"{name}.".startswith(f"{package}.") for package in self._packages):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class Exercise:
    """An unpacked FMU, and the results of its runs."""

    def __init__(self, resources: Path, folder: str, options: list[str]) -> None:
        self._resources, self._folder = str(resources), folder
        self._loader = module_at(resources / "fmu_loader.py")
        manifest = self._loader.read_lines(str(resources / "fmu.txt"))
        self.home = self._loader.load_packages(self._resources, manifest)
        self._compiling = importlib.import_module(f"{self.home}sensor_models.kernels.compiling")
        if not options:
            self._compiling.cache.store()  # stays where it is
        os.environ["SENSOR_FMUS_CACHE_DIR"] = folder  # so that each scene is read from its files
        self._model = self._loader.load_class(manifest, self._resources, self.home)
        self._is_blind = "--blind" in options
        self.refused: list[str] = []
        self._number = 0
        self._first_products = products(resources, self._loader)  # those that NumPy tries itself on

    def run_all(self) -> None:
        """All runs."""
        self.run({}, is_needed=True)
        self.run({})  # with a scene that was read before
        for log in ("run.mcap", "bag") if "log" in self._model.table().by_name else ():
            self.run({"log": str(Path(self._folder, log))}, is_needed=True)
        if "scene_handle" in self._model.table().by_name and not self._is_blind:
            self.run({}, moves=True)
        scenes = Path(self._resources, "scenes")
        for scene in sorted(scenes.iterdir()) if scenes.is_dir() else ():
            self.run({"scene": scene.name})
        for base in ({}, *BASES.get(self._model.model_name, ())):
            for other in ({}, *alternatives(self._model)):
                self.run({**base, **other})

    def run(self, settings: dict[str, Any], moves: bool = False, is_needed: bool = False) -> None:
        """One run; if it is refused, that is an error only where the run is needed."""
        slaves: list[Any] = []
        try:
            self._run(settings, moves, slaves)
        except ImportError:  # a kernel is missing, or a package
            raise
        except Exception as refusal:
            if is_needed:
                raise
            self.refused.append(f"{settings}: {refusal}")
        finally:
            for slave in slaves:
                slave.close()

    def kernels(self) -> list[Any]:
        """All kernels of this process."""
        return list(self._compiling.KERNELS)

    def products(self) -> int:
        """How often plain loops multiplied matrices."""
        return products(Path(self._resources), self._loader) - self._first_products

    def _run(self, settings: dict[str, Any], moves: bool, slaves: list[Any]) -> None:
        slave = self._new(self._model, slaves)
        by_name = slave.table().by_name
        files = {"output_directory": self._folder, "record": True}
        for name, value in {**SMALL, **files, **settings}.items():
            if name in by_name:
                slave.values.set(by_name[name], value)
        scene = self._environment(slaves) if moves else None
        begin(slave)
        for k in range(3):
            if scene is not None:
                slave.values.set(by_name["scene_handle"], handle_of(scene))
                move(scene, k)
                scene.do_step(k * STEP, STEP)
            # Masters round times; the code that compares times is called only then.
            slave.do_step(math.nextafter(k * STEP, -1.0) if k == 1 else k * STEP, STEP)
        if not settings:
            resume(slave)
        slave.terminate()

    def _environment(self, slaves: list[Any]) -> Any:
        name = f"{self.home}fmus.fmi.environment_fmu"
        model = importlib.import_module(name).EnvironmentFmu
        if not Path(self._resources, "scenes").is_dir():
            scene = Path(self._folder, "scene.toml")
            scene.write_text(SCENE, encoding="utf-8")
            model = type("BlockFmu", (model,), {"built_for": str(scene)})
        environment = self._new(model, slaves)
        begin(environment)
        return environment

    def _new(self, model: Any, slaves: list[Any]) -> Any:
        self._number += 1
        slave = model(instance_name=f"run {self._number}", resources=self._resources, visible=False)
        slaves.append(slave)
        return slave


def heard_methods() -> list[str]:
    """Collects the texts that methods of data classes are made from, in a list."""
    texts: list[str] = []

    def hear(text: str, *spaces: Any) -> None:
        texts.append(text)
        exec(text, *spaces)  # as ``dataclasses`` does

    vars(dataclasses)["exec"] = hear
    return texts


def products(resources: Path, loader: Any) -> int:
    """How often plain loops have multiplied matrices."""
    place = loader.recorded_place(str(resources))
    if "stand_in" not in place:
        return 0
    library = ctypes.CDLL(str(resources / place["home"] / place["stand_in"]))
    return int(library.sensor_fmus_products())


def module_at(path: Path) -> ModuleType:
    """A module from a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def alternatives(model: Any) -> Iterator[dict[str, Any]]:
    """Each value of a choice or Boolean parameter that is not its start value."""
    for parameter in model.table().of_causality("parameter"):
        choices = parameter.quantity.choices
        if parameter.quantity.kind == "boolean":
            choices = (False, True)
        for value in choices or ():
            if value != parameter.start:
                yield {parameter.name: int(value)}


def imported(home: str) -> list[str]:
    """The modules that were imported from files; those of the FMU under their plain names."""
    found = [n for n, module in list(sys.modules.items()) if getattr(module, "__file__", None)]
    return sorted(name.removeprefix(home) for name in found)


def begin(slave: Any) -> None:
    """Initialise an instance."""
    slave.setup_experiment(0.0, None, None)
    slave.enter_initialization_mode()
    slave.compute_initial()
    slave.exit_initialization_mode()


def resume(slave: Any) -> None:
    """Continue from a saved state that was written to bytes and read again."""
    saved = slave._fmu_state_to_bytes(slave._get_fmu_state(STEPPING))
    slave._set_fmu_state(slave._fmu_state_from_bytes(saved))
    slave.do_step(3 * STEP, STEP)


def move(environment: Any, k: int) -> None:
    """Move all bodies of a scene."""
    for variable in environment.table().of_causality("input"):
        if variable.name.endswith(".position.x"):
            environment.values.set(variable, 5.0 + 0.1 * k)


def handle_of(environment: Any) -> int:
    """The handle of its scene."""
    handle: int = environment.values.get(environment.table().by_name["scene_handle"])
    return handle


def main(arguments: list[str]) -> None:
    """Run the FMU and write the answer."""
    resources, answer, *options = arguments
    if options:
        carried_by_none = NOT_CARRIED if "--standalone" in options else NOT_NEEDED
        sys.meta_path.insert(
            0, Blocker((*carried_by_none, *(SEEING if "--blind" in options else ())))
        )
    methods = heard_methods()
    with tempfile.TemporaryDirectory() as folder:
        exercise = Exercise(Path(resources), folder, options)
        exercise.run_all()
    kernels = sorted(exercise.kernels(), key=lambda kernel: kernel.place())
    called = [(k.place(), k.kinds()) for k in kernels if k.kinds()]
    made = [k.place() for k in kernels if k.stats.compiled or k.stats.from_cache]
    known = {
        "kernels": called,
        "made": made,
        "refused": exercise.refused,
        "modules": imported(exercise.home),
        "methods": sorted(set(methods)),
        "products": exercise.products(),
    }
    Path(answer).write_text(json.dumps(known), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
