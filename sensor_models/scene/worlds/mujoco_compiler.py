"""MuJoCo's compiler in a process of its own, bounded in time and memory.

A damaged model may end the process that compiles it. MuJoCo also writes a log into the working
directory, so that process works in a directory that is removed.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models._places import data_files
from sensor_models.scene.errors import SceneError
from sensor_models.scene.worlds.mujoco_arrays import MAX_SECONDS
from sensor_models.scene.worlds.xml_files import Node, xml_text

WITHOUT = (
    "is read by the package mujoco, which is not installed here: install it, or convert the file"
    " where it is, with sensor-fmus scene import FILE DIRECTORY"
)


def compiled(root: Node, files: Mapping[str, bytes]) -> dict[str, NDArray[Any]]:
    """The arrays of a prepared model; ``SceneError`` if MuJoCo refuses it."""
    if importlib.util.find_spec("mujoco") is None:
        raise SceneError(root.file, "", WITHOUT)
    text, nodes = xml_text(root)
    with tempfile.TemporaryDirectory(prefix="sensor-fmus-world-") as name:
        folder = Path(name)
        (folder / "files").mkdir()
        (folder / "model.xml").write_text(text, encoding="utf-8")
        for file, data in files.items():
            (folder / "files" / file).write_bytes(data)
        ended = _run(folder, root.file)
        if (refusal := folder / "refusal.txt").is_file():
            raise _refusal(refusal.read_text(encoding="utf-8"), nodes, root.file)
        if not (folder / "arrays.npz").is_file():
            raise SceneError(root.file, "", f"makes MuJoCo end, {ended}")
        with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
            return dict(arrays)


def _run(folder: Path, file: Path) -> str:
    """Compile in that directory; returns how the process ended."""
    (script,) = data_files("scene/worlds", "mujoco_arrays.py")
    command = [interpreter(file), str(script), str(folder)]
    # The package may be found by paths that only this process has.
    paths = os.pathsep.join(path for path in sys.path if path and Path(path).is_dir())
    settings = {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=settings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2 * MAX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"as it took more than {2 * MAX_SECONDS} s"
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


def _refusal(said: str, nodes: list[Node], file: Path) -> SceneError:
    """What MuJoCo says, with the place in the file that the user has."""
    found = re.search(r"[Ll]ine\s*=?\s*(\d+)", said)
    number = int(found[1]) if found else 0
    text = re.sub(r"\s+", " ", re.sub(r",?\s*(column|[Ll]ine)\s*=?\s*\d+", "", said)).strip()
    text = text.removeprefix("XML Error: ").removeprefix("Error: ").removeprefix("XML ")
    if 0 < number < len(nodes):
        return SceneError(nodes[number].file, nodes[number].place, f"MuJoCo says: {text}")
    return SceneError(file, "", f"MuJoCo says: {text}")
