"""How long a million triangles take to be read from files of others, and again once they are kept.

The bars are of processor time, of this process and of the readers that it starts: no program reads
the same formats into the same scene. ``python -m tests.bench.worlds`` measures them alone.
"""

import os
import resource
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import trimesh

from sensor_models.scene.manifest import load_scene
from tests.bench.bars import Bar

#: Cells along a side; two triangles each.
CELLS = 708
TRIANGLES = 2 * CELLS**2
#: MuJoCo reads no larger STL.
MOST_OF_STL = 200_000


def bars() -> list[Bar]:
    """A bar for each format, and for the second start."""
    found = []
    for name, write in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder:
            world = write(Path(folder))
            os.environ["XDG_CACHE_HOME"] = folder  # nobody has read it
            first, second = seconds_of(world), seconds_of(world)
        what = f"import of {TRIANGLES} triangles, {name}"
        found.append(Bar(what, first, 5.0, "s", "processor time"))
        found.append(Bar(f"{what}, again", second, 0.5, "s", "processor time"))
    return found


def seconds_of(world: Path) -> float:
    """Processor time that a world takes."""
    start = _processor()
    scene = load_scene(world)
    assert sum(len(mesh.faces) for mesh in scene.meshes) == TRIANGLES
    return _processor() - start


def _processor() -> float:
    uses = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def hills() -> tuple[np.ndarray, np.ndarray]:
    """The vertices and faces of a terrain."""
    x, y = np.meshgrid(*[np.linspace(-50.0, 50.0, CELLS + 1)] * 2)
    vertices = np.stack([x, y, np.sin(x / 5.0) * np.cos(y / 7.0)], axis=-1).reshape(-1, 3)
    place = np.arange((CELLS + 1) ** 2).reshape(CELLS + 1, CELLS + 1)
    a, b, c, d = place[:-1, :-1], place[:-1, 1:], place[1:, 1:], place[1:, :-1]
    faces = [np.stack(corners, axis=-1).reshape(-1, 3) for corners in ((a, b, c), (a, c, d))]
    return vertices, np.concatenate(faces)


def write_glb(folder: Path) -> Path:
    """As one mesh of a GLB."""
    path = folder / "hills.glb"
    trimesh.Trimesh(*hills(), process=False).export(path)
    return path


def _write_parts(folder: Path) -> list[str]:
    vertices, faces = hills()
    names = []
    for number, part in enumerate(np.array_split(faces, len(faces) // MOST_OF_STL + 1)):
        names.append(f"part{number}.stl")
        trimesh.Trimesh(vertices, part, process=False).export(folder / names[-1])
    return names


def write_mjcf(folder: Path) -> Path:
    """As several STL files of a model."""
    names = _write_parts(folder)
    assets = "".join(f'<mesh name="{name}" file="{name}"/>' for name in names)
    geoms = "".join(f'<geom type="mesh" mesh="{name}"/>' for name in names)
    path = folder / "hills.xml"
    path.write_text(f"<mujoco><asset>{assets}</asset><worldbody>{geoms}</worldbody></mujoco>")
    return path


def write_urdf(folder: Path) -> Path:
    """As several STL files of a link."""
    shapes = "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        for name in _write_parts(folder)
    )
    path = folder / "hills.urdf"
    path.write_text(f'<robot name="hills"><link name="world">{shapes}</link></robot>')
    return path


def write_usd(folder: Path, suffix: str) -> Path:
    """As one mesh of a stage."""
    from pxr import Usd, UsdGeom, Vt

    vertices, faces = hills()
    path = folder / f"hills{suffix}"
    stage = Usd.Stage.CreateNew(str(path))
    mesh = UsdGeom.Mesh.Define(stage, "/hills")
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(vertices.astype(np.float32)))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(faces.ravel().astype(np.int32)))
    stage.Save()
    return path


FORMATS: Mapping[str, Callable[[Path], Path]] = {
    "GLB": write_glb,
    "MJCF with STL": write_mjcf,
    "URDF with STL": write_urdf,
    "USDC": lambda folder: write_usd(folder, ".usdc"),
    "USDA": lambda folder: write_usd(folder, ".usda"),
}


if __name__ == "__main__":
    lines = bars()
    print(*(bar.line() for bar in lines), sep="\n")
    raise SystemExit(not all(bar.holds for bar in lines))
