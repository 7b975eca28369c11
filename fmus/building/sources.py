"""Which FMUs there are: their classes, and where an FMU finds its class.

The classes of the catalog's sensors are made from their specs. ``Environment`` and
``VehicleDynamics`` are not sensors and have modules of their own. A file outside of the project has
a sensor's spec or an FMU class; the FMU carries that file.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from fmus.fmi.base import FmuBase
from fmus.fmi.sensor_fmu import sensor_fmu
from fmus.fmi.sensors import SUFFIX, fmu_of
from sensor_models import catalog
from sensor_models.core.spec import SensorSpec

#: The FMUs that are not sensors, and their modules.
OTHERS = {
    "Environment": "fmus.fmi.environment_fmu",
    "VehicleDynamics": "fmus.fmi.vehicle_dynamics_fmu",
}

#: Appended to the source of a sensor from outside, so that it has an FMU class.
MADE_FROM_SPEC = """

# ---- added when the FMU was built ------------------------------------------------------------
from fmus.fmi.sensor_fmu import sensor_fmu as _sensor_fmu

{name} = _sensor_fmu({spec})
"""


class BuildError(RuntimeError):
    """A reason why FMUs cannot be built."""


@dataclass(frozen=True)
class Source:
    """An FMU to be built: its class, and where the FMU finds it."""

    model: type[FmuBase]
    #: Module and name of the class.
    module: str
    name: str
    #: The module's text if it is not part of the package ``fmus``: the FMU carries it.
    content: bytes | None = None


def fmu_sources() -> dict[str, Source]:
    """All FMUs of the project by name: the catalog's sensors, and those that are not sensors."""
    return {name: _source_of(name) for name in Models()}


def _source_of(name: str) -> Source:
    """An FMU of the project."""
    if name not in OTHERS:
        return Source(fmu_of(name), fmu_of.__module__, f"{name}{SUFFIX}")
    model = fmu_class(importlib.import_module(OTHERS[name]))
    return Source(model, OTHERS[name], model.__name__)


class Models(Mapping[str, type[FmuBase]]):
    """The FMU classes of the project by name; one is imported when it is looked up."""

    def __getitem__(self, name: str) -> type[FmuBase]:
        if name not in self._names():
            raise KeyError(name)
        return _source_of(name).model

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    @staticmethod
    def _names() -> list[str]:
        return sorted([*catalog.names(), *OTHERS])


def fmu_class(module: ModuleType) -> type[FmuBase]:
    """The FMU class that a module defines."""
    classes = _own_classes(module)
    if len(classes) != 1:
        raise BuildError(f"{module.__name__} defines {len(classes)} FMU classes, needs one")
    return classes[0]


def own_source(path: Path) -> Source:
    """An FMU from a file outside the project, with a sensor's spec or with an FMU class."""
    module, content = load_module(path), path.read_bytes()
    specs = [name for name, value in vars(module).items() if isinstance(value, SensorSpec)]
    classes = _own_classes(module)
    if len(specs) + len(classes) != 1:
        raise BuildError(
            f"{path} has {len(specs)} SensorSpec and {len(classes)} FMU classes, needed is one"
        )
    if classes:
        return Source(classes[0], module.__name__, classes[0].__name__, content)
    model = sensor_fmu(getattr(module, specs[0]))
    tail = MADE_FROM_SPEC.format(name=model.__name__, spec=specs[0])
    return Source(model, module.__name__, model.__name__, content + tail.encode())


def own_spec(path: Path) -> SensorSpec:
    """The sensor that a file outside the project declares."""
    specs = [value for value in vars(load_module(path)).values() if isinstance(value, SensorSpec)]
    if len(specs) != 1:
        raise BuildError(f"{path} has {len(specs)} SensorSpec, needed is one")
    return specs[0]


def _own_classes(module: ModuleType) -> list[type[FmuBase]]:
    """The FMU classes that a module defines itself."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, FmuBase)
        and value.__module__ == module.__name__
    ]


def load_module(path: Path) -> ModuleType:
    """A module from a file outside the package ``fmus``."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BuildError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
