"""A reader in a process of its own, which a damaged file may end.

A script of this folder is called with a directory, in which it finds what it is asked and leaves
what it found. It works in that directory, which is removed, and imports nothing of the project.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from sensor_models._places import data_files
from sensor_models.scene.errors import SceneError


def run_apart(
    script: str,
    folder: Path,
    file: Path,
    seconds: float,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Run a script for a file; returns how the process ended."""
    (path,) = data_files("scene/worlds", script)
    command = [interpreter(file), str(path), str(folder)]
    # The package may be found by paths that only this process has.
    paths = os.pathsep.join(path for path in sys.path if path and Path(path).is_dir())
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **settings, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"as it took more than {seconds:g} s"
    except OSError as error:
        raise SceneError(
            file, "", f"cannot be read: {command[0]} does not start: {error}"
        ) from error
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"with status {done.returncode}" + (f": {said[-1]}" if said else "")


def interpreter(file: Path) -> str:
    """A Python with the packages of this process, also where a program carries Python."""
    named = Path(sys.executable or "nothing")
    if named.is_file() and named.name.lower().startswith("python"):
        return str(named)
    for prefix in (sys.prefix, sys.base_prefix):
        for inner in ("bin/python3", "python.exe", "Scripts/python.exe"):
            if (found := Path(prefix, inner)).is_file():
                return str(found)
    reason = "needs a Python to be read, and there is none to start: convert it before, with"
    raise SceneError(file, "", f"{reason} sensor-fmus scene import FILE DIRECTORY")
