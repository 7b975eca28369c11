"""A compiled model of MuJoCo as plain arrays: what is needed to see it, and to move it.

As a script it compiles a prepared model in a process of its own, because MuJoCo may end a process
whose model it cannot bear, and writes its log into the working directory:

    python mujoco_arrays.py DIRECTORY

``DIRECTORY`` holds ``model.xml`` and a folder ``files``. Into it are written ``arrays.npz`` and, if
the model is refused, ``refusal.txt``. This file imports nothing of the project.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Bytes that a model may take while it is compiled, and more for each byte of its files.
MAX_MEMORY, FOR_EACH_BYTE = 2**30, 40
#: Seconds of the processor that it may take.
MAX_SECONDS = 20

ARRAYS = (
    *("geom_type", "geom_bodyid", "geom_dataid", "geom_pos", "geom_quat", "geom_size"),
    *("geom_rgba", "geom_matid", "geom_group", "geom_contype", "geom_conaffinity"),
    *("body_parentid", "body_mocapid", "body_jntadr", "body_jntnum", "body_weldid"),
    *("jnt_type", "jnt_pos", "jnt_axis", "jnt_qposadr", "jnt_dofadr", "qpos0"),
    *("mesh_vert", "mesh_vertadr", "mesh_vertnum", "mesh_face", "mesh_faceadr", "mesh_facenum"),
    *("hfield_size", "hfield_nrow", "hfield_ncol", "hfield_adr", "hfield_data"),
    *("mat_rgba", "mat_metallic", "mat_roughness"),
)
NAMED = ("body", "jnt", "geom", "mesh", "mat")


def _engine() -> Any:
    """MuJoCo, which only those import that need it."""
    import mujoco  # type: ignore[import-untyped]  # it carries no types

    return mujoco


def arrays_of(model: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a model, with its names, and where its bodies are at its first position."""
    mujoco = _engine()
    found = {name: np.array(getattr(model, name)) for name in ARRAYS}
    for kind in NAMED:
        starts = getattr(model, f"name_{kind}adr")
        names = [bytes(model.names[start:]).partition(b"\0")[0] for start in starts]
        found[f"{kind}_names"] = np.array(names, np.bytes_)
    found["gravity"] = np.array(model.opt.gravity)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    found["xpos"], found["xquat"] = np.array(data.xpos), np.array(data.xquat)
    return found


def _bound(size: int) -> None:
    """Keep what is compiled here from files of this size within bounds, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    most = MAX_MEMORY + FOR_EACH_BYTE * size
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _compile(folder: Path) -> None:
    mujoco = _engine()
    files = {file.name: file.read_bytes() for file in (folder / "files").iterdir()}
    _bound(sum(map(len, files.values())))
    text = (folder / "model.xml").read_text(encoding="utf-8")
    try:
        model = mujoco.MjModel.from_xml_string(text, files)
        arrays: dict[str, Any] = {**arrays_of(model)}
        np.savez(folder / "arrays.npz", **arrays)
    except Exception as error:
        (folder / "refusal.txt").write_text(str(error) or repr(error), encoding="utf-8")


if __name__ == "__main__":
    _compile(Path(sys.argv[1]))
