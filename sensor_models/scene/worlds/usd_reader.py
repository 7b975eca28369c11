"""A USD file, read by Pixar's library in a process of its own, bounded in time and memory."""

import importlib.util
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import SceneError
from sensor_models.scene.worlds.apart import run_apart
from sensor_models.scene.worlds.files import Files, Place

WITHOUT = (
    "is read by the package usd-core, which is not installed here: pip install"
    " 'sensor-fmus[usd]', or convert the file where it is, with sensor-fmus scene import FILE"
    " DIRECTORY"
)
#: Seconds by the clock; processor time and memory are bounded in the process itself.
_LONGEST = 600.0
#: The same bits whatever the user has set: no plugins, and no other folders to look into.
_SETTINGS = {
    "PXR_WORK_THREAD_LIMIT": "1",
    "PXR_PLUGINPATH_NAME": "",
    "PXR_AR_DEFAULT_SEARCH_PATH": "",
    "PXR_USDMTLX_PLUGIN_SEARCH_PATHS": "",
}


@dataclass(frozen=True)
class Staged:
    """What was found on a stage."""

    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def staged(world: Path, files: Files, geometry: str) -> Staged:
    """What is on the stage of a file; the files that it consists of are taken note of."""
    if importlib.util.find_spec("pxr") is None:
        raise SceneError(world, "", WITHOUT)
    with tempfile.TemporaryDirectory(prefix="sensor-fmus-world-") as name:
        folder = Path(name)
        ask = {"file": str(world.absolute()), "root": str(files.root()), "geometry": geometry}
        ask_text = json.dumps({**ask, "allow_outside": files.allow_outside})
        (folder / "ask.json").write_text(ask_text, encoding="utf-8")
        ended = run_apart("usd_stage.py", folder, world, _LONGEST, _SETTINGS)
        if (refusal := folder / "refusal.json").is_file():
            file, place, reason = json.loads(refusal.read_text(encoding="utf-8"))
            raise SceneError(Path(file), place, reason)
        if not (folder / "stage.json").is_file():
            raise SceneError(world, "", f"makes USD's reader end, {ended}")
        about = json.loads((folder / "stage.json").read_text(encoding="utf-8"))
        with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
            found = Staged(about, dict(arrays))
    for path, by, asset in about["files"][1:]:
        files.find(path, Place(Path(by), asset), (world.parent,))
    return found
