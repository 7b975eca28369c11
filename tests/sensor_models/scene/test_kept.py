"""Scenes that are kept: equal to those that are read, and never in the place of another."""

import dataclasses
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scenes.making import Solid, write_glb
from sensor_models.scene import kept, mesh_files
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Scene
from tests.sensor_models.scene_files import BOX, HEAD, TETRAHEDRON, obj, ply, write_manifest

VERTICES, FACES = TETRAHEDRON
MESH = '[meshes.a]\nfile = "{}"\nmaterial = "wood"\n[[instances]]\nmesh = "a"\n'


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory of the test's own."""
    monkeypatch.setenv("SENSOR_FMUS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / kept.FOLDER


def assert_equal(one: Any, other: Any) -> None:
    """Equal in all fields, types included."""
    assert type(one) is type(other)
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_equal(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        assert other.flags.writeable
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_equal(a, b)
    else:
        assert one == other


def entries(store: Path, kind: str) -> list[Path]:
    return sorted(store.glob(f"{kind}-*{kept.SUFFIX}"))


RICH = (
    BOX
    + """
label = "thing"
body = "cart"
scale = [1, 2, 3]
[labels]
thing = 7
[[bodies]]
name = "cart"
position = [1, 2, 3]
[materials.panel]
kind = "lambert"
source = "made"
surface = [{ diffuse_reflectance = 0.5 }, { band = [3e-3, 4e-3], ior = 2.0 }]
[meshes.ball]
sphere = { radius = 2 }
material = "panel"
smooth = true
[[instances]]
mesh = "ball"
[media.fog]
preset = "fog"
visibility = 100
[[volumes]]
mesh = "ball"
medium = "fog"
[sky]
preset = "clear"
"""
)


@pytest.mark.parametrize(
    "name",
    [
        "yard",
        "corridor",
        "crossing",
        "radar_range",
        "targets",
        "bush_and_wall",
        "street_canyon",
        "rich",
    ],
)
def test_a_kept_scene_is_the_one_that_was_read(name: str, store: Path, tmp_path: Path) -> None:
    scene: str | Path = write_manifest(tmp_path, RICH) if name == "rich" else name
    first = load_scene(scene)
    assert len(entries(store, "scene")) == 1
    assert_equal(first, load_scene(scene))


def write_mesh(folder: Path, name: str, scale: float) -> None:
    """A tetrahedron in a file, with all that the file refers to."""
    if name.endswith("obj"):
        (folder / name).write_bytes(obj(VERTICES * scale, {("g", "wood"): FACES}))
        return
    if name.endswith("ply"):
        (folder / name).write_bytes(ply(VERTICES * scale, FACES, labels=[1, 2, 3, 4]))
        return
    solid = Solid()
    for face in FACES:
        solid.polygon("wood", VERTICES[face] * scale)
    write_glb(folder / "whole.glb", solid)
    data = (folder / "whole.glb").read_bytes()
    size = int.from_bytes(data[12:16], "little")
    tree = json.loads(data[20 : 20 + size])
    tree["buffers"][0]["uri"] = "a.bin"
    for accessor in tree["accessors"]:  # the same text whatever is in the buffer
        accessor.pop("min", None)
        accessor.pop("max", None)
    (folder / "a.bin").write_bytes(data[28 + size :])
    (folder / name).write_text(json.dumps(tree), encoding="utf-8")


def extent(scene: Scene) -> float:
    return float(scene.meshes[0].vertices.max())


@pytest.mark.parametrize("name", ["a.obj", "a.ply", "a.gltf"])
def test_a_changed_file_is_read_anew(name: str, store: Path, tmp_path: Path) -> None:
    path = write_manifest(tmp_path, MESH.format(name))
    for scale in (1.0, 2.0, 3.0):
        write_mesh(tmp_path, name, scale)
        assert extent(load_scene(path)) == scale
        assert extent(load_scene(path)) == scale


def test_a_changed_manifest_is_read_anew(store: Path, tmp_path: Path) -> None:
    path = write_manifest(tmp_path, BOX)
    assert extent(load_scene(path)) == 1.5
    write_manifest(tmp_path, BOX.replace("3]", "5]"))
    assert extent(load_scene(path)) == 2.5


@pytest.mark.parametrize("name", ["a.obj", "a.ply", "a.gltf"])
def test_a_mesh_file_is_read_once_for_all_manifests(
    name: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_mesh(tmp_path, name, 1.0)
    labels = 'vertex_labels = "label"\n' if name.endswith("ply") else ""
    text = MESH.format(name).replace("[[", f"{labels}[[")
    first = load_scene(write_manifest(tmp_path, text))

    def refuse(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(mesh_files, "_READERS", {name.partition(".")[2]: refuse})
    second = load_scene(write_manifest(tmp_path, text, HEAD + "description = 'other'\n"))
    assert_equal(dataclasses.replace(first, files=()), dataclasses.replace(second, files=()))
    assert first.files == second.files
    assert len(entries(store, "scene")) == 2


def test_a_damaged_entry_counts_as_none(store: Path, tmp_path: Path) -> None:
    path = write_manifest(tmp_path, BOX)
    first = load_scene(path)
    (entry,) = entries(store, "scene")
    whole = entry.read_bytes()
    for damaged in (
        b"",
        whole[:20],
        whole[:-1],
        whole + b"x",
        *(
            whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :]
            for place in range(0, len(whole), 97)
        ),
    ):
        entry.write_bytes(damaged)
        assert_equal(first, load_scene(path))
        assert entry.read_bytes() == whole


@pytest.mark.skipif(sys.platform == "win32", reason="rights of another kind")
def test_a_directory_that_others_can_write_is_not_used(store: Path, tmp_path: Path) -> None:
    path = write_manifest(tmp_path, BOX)
    load_scene(path)
    (entry,) = entries(store, "scene")
    entry.unlink()
    store.chmod(0o777)
    load_scene(path)
    assert not entries(store, "scene")


def test_scenes_are_read_where_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("SENSOR_FMUS_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert kept.directory() is None
    assert load_scene(write_manifest(tmp_path, BOX)).name == "test"


def test_another_reader_finds_nothing(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_manifest(tmp_path, BOX)
    load_scene(path)
    monkeypatch.setattr(kept, "code_digest", lambda: "other")
    load_scene(path)
    assert len(entries(store, "scene")) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_what_was_read_from_outside_is_refused_without_leave(store: Path, tmp_path: Path) -> None:
    (tmp_path / "scene").mkdir()
    write_mesh(tmp_path, "a.obj", 1.0)
    path = write_manifest(tmp_path / "scene", MESH.format("a.obj"))
    inside = tmp_path / "scene" / "a.obj"
    inside.write_bytes((tmp_path / "a.obj").read_bytes())
    assert len(load_scene(path).files) == 2
    inside.unlink()
    inside.symlink_to(tmp_path / "a.obj")
    assert len(load_scene(path, allow_outside=True).files) == 2
    with pytest.raises(SceneError, match="lies outside"):
        load_scene(path)


def test_a_scene_moves_with_its_files(store: Path, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    write_mesh(tmp_path / "one", "a.obj", 1.0)
    write_manifest(tmp_path / "one", MESH.format("a.obj"))
    load_scene(tmp_path / "one")
    (tmp_path / "one").rename(tmp_path / "two")
    scene = load_scene(tmp_path / "two")
    assert scene.files == (tmp_path / "two" / "scene.toml", tmp_path / "two" / "a.obj")
    assert len(entries(store, "scene")) == 1


def test_what_was_logged_is_logged_again(
    store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_mesh(tmp_path, "a.obj", 987_654.321)
    path = write_manifest(tmp_path, MESH.format("a.obj"))
    with caplog.at_level(logging.WARNING):
        load_scene(path)
        load_scene(path)
    assert len(caplog.records) == 2


@pytest.mark.parametrize("limit", ["MAX_ENTRIES", "MAX_TOTAL"])
def test_what_was_used_longest_ago_goes(
    limit: str, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.zeros(1000)
    for number in range(3):
        kept.save("mesh", str(number), {}, [array])
        os.utime(store / f"mesh-{number}{kept.SUFFIX}", (1000 + number, 1000 + number))
    assert kept.load("mesh", "0") is not None  # used just now
    monkeypatch.setattr(kept, limit, 3 if limit == "MAX_ENTRIES" else 3 * 8300)
    kept.save("mesh", "3", {}, [array])
    assert [file.name for file in entries(store, "mesh")] == [
        f"mesh-{number}{kept.SUFFIX}" for number in (0, 2, 3)
    ]


def test_what_is_too_large_is_not_kept(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_ENTRY", 100)
    kept.save("mesh", "0", {}, [np.zeros(13)])
    kept.save("mesh", "1", {}, [np.zeros(12)])
    assert kept.load("mesh", "0") is None
    assert kept.load("mesh", "1") is not None


def test_what_reads_files_is_not_imported_for_a_kept_scene(store: Path) -> None:
    code = (
        "import sys\n"
        "from sensor_models.scene.manifest import load_scene\n"
        "load_scene('yard')\n"
        "print(*sorted({'trimesh', 'pydantic', 'PIL'} & set(sys.modules)))\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert found == [["PIL", "pydantic", "trimesh"], []]
