"""The packages that an FMU asks for are those that it imports."""

import importlib.metadata
import json
import subprocess
import sys

import pytest

import build_fmus
from sensor_models.core.spec import SCENE_PACKAGES

SOURCES = build_fmus.fmu_sources()

#: Modules that have another name than their package.
MODULE_OF = {"pillow": "PIL"}

PRINT_IMPORTED = """
import importlib, json, sys
before = set(sys.modules)
getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


@pytest.mark.parametrize("model", SOURCES)
def test_an_fmu_imports_no_package_that_it_does_not_ask_for(model: str) -> None:
    source = SOURCES[model]
    command = [sys.executable, "-c", PRINT_IMPORTED, source.module, source.name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    dependencies = {
        requirement.partition(";")[0].rstrip("0123456789.,<>=! ")
        for requirement in importlib.metadata.requires("sensor-fmus") or ()
        if "extra ==" not in requirement
    }
    asked_for = source.model.PACKAGES
    modules = json.loads(done.stdout)
    imported = {package for package in dependencies if MODULE_OF.get(package, package) in modules}
    imported -= {"pythonfmu"}
    assert imported <= set(asked_for)
    # Those of scenes are imported when one is read that is not kept from an earlier time.
    late = {*SCENE_PACKAGES, *(("tomli",) if sys.version_info >= (3, 11) else ())}
    assert set(asked_for) - imported <= late
    names = [line.partition(">")[0] for line in build_fmus.requirements(source.model)]
    assert set(asked_for) <= set(names)
