"""MuJoCo's compiler in a process of its own, bounded in time and memory.

A damaged model may end the process that compiles it. MuJoCo also writes a log into the working
directory, so that process works in a directory that is removed.
"""

import importlib.util
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import SceneError
from sensor_models.scene.worlds.apart import run_apart
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
        ended = run_apart("mujoco_arrays.py", folder, root.file, 2 * MAX_SECONDS)
        if (refusal := folder / "refusal.txt").is_file():
            raise _refusal(refusal.read_text(encoding="utf-8"), nodes, root.file)
        if not (folder / "arrays.npz").is_file():
            raise SceneError(root.file, "", f"makes MuJoCo end, {ended}")
        with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
            return dict(arrays)


def _refusal(said: str, nodes: list[Node], file: Path) -> SceneError:
    """What MuJoCo says, with the place in the file that the user has."""
    found = re.search(r"[Ll]ine\s*=?\s*(\d+)", said)
    number = int(found[1]) if found else 0
    text = re.sub(r"\s+", " ", re.sub(r",?\s*(column|[Ll]ine)\s*=?\s*\d+", "", said)).strip()
    text = text.removeprefix("XML Error: ").removeprefix("Error: ").removeprefix("XML ")
    if 0 < number < len(nodes):
        return SceneError(nodes[number].file, nodes[number].place, f"MuJoCo says: {text}")
    return SceneError(file, "", f"MuJoCo says: {text}")
