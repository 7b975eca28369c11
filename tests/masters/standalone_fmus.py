"""The standalone FMUs that tests run, built once a session."""

import os
from pathlib import Path

import pytest
from filelock import FileLock

import build_fmus
from fmus.binding.compile import host_platform
from sensor_models import catalog
from sensor_models.presets import list_presets
from tests.tools import need

#: One that samples, one that sees, and the scene that they share: what several tests run.
SHARED = ("Encoder", "DepthCamera", "Environment")


def names_of(config: pytest.Config) -> tuple[str, ...]:
    """The FMUs whose whole runs are compared: some, or all with ``--all-standalone``."""
    everything = bool(config.getoption("--all-standalone"))
    return tuple(build_fmus.fmu_sources()) if everything else SHARED


def built_names(config: pytest.Config) -> tuple[str, ...]:
    """The FMUs that are built: besides those, all sensors that have presets."""
    wanted = {*names_of(config), *(name for name in catalog.names() if list_presets(name))}
    return tuple(name for name in build_fmus.fmu_sources() if name in wanted)


def build_standalone(own: Path, config: pytest.Config) -> Path:
    """Build them, by the first of the processes that run the tests."""
    need("shared library of Python")
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    directory, built = shared / "standalone", shared / "standalone.built"
    with FileLock(shared / "standalone.lock"):
        if not built.exists():
            known = build_fmus.fmu_sources()
            sources = [known[name] for name in built_names(config)]
            build_fmus.build(sources, directory, platforms=[host_platform()], standalone=True)
            built.touch()
    return directory
