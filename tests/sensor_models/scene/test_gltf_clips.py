"""Clips of glTF files: vertices over time against closed forms, and what is refused."""

import base64
import contextlib
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

from scenes import walker
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Mesh
from tests.sensor_models.scene_files import write_manifest

TRIANGLE = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], "<f4")
TIMES = np.array([0.0, 0.5, 2.0], "<f4")
TURNS = Rotation.from_rotvec([[0, 0, 0], [0, 1.2, 0.4], [2.0, 0.1, -0.7]])
MANIFEST = """
[meshes.m]
file = "m.gltf"
clip = "{clip}"
material = "concrete"
{more}
[[bodies]]
name = "b"
[[instances]]
mesh = "m"
body = "b"
"""
#: The file's y is up: x, y, z there are x, z, -y here.
UP = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], float)


class File:
    """A glTF while it is put together."""

    def __init__(self) -> None:
        self.data = b""
        self.tree: dict[str, Any] = {
            "asset": {"version": "2.0"}, "accessors": [], "bufferViews": [], "skins": [],
            "nodes": [], "meshes": [], "animations": [],
        }  # fmt: skip

    def numbers(self, values: Any, kind: str, **more: Any) -> int:
        array = np.ascontiguousarray(values)
        component = {"<f4": 5126, "<u2": 5123, "|u1": 5121, "<i2": 5122}[array.dtype.str]
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": array.nbytes}
        self.data += array.tobytes() + b"\0" * (-array.nbytes % 4)
        self.tree["bufferViews"].append(view)
        own = {"bufferView": len(self.tree["bufferViews"]) - 1, "count": len(array), "type": kind}
        self.tree["accessors"].append({**own, "componentType": component, **more})
        return len(self.tree["accessors"]) - 1

    def triangle(self, **attributes: int) -> int:
        position = self.numbers(TRIANGLE, "VEC3")
        primitive = {"attributes": {"POSITION": position, **attributes}}
        self.tree["meshes"].append({"primitives": [primitive]})
        return len(self.tree["meshes"]) - 1

    def node(self, **more: Any) -> int:
        self.tree["nodes"].append(more)
        return len(self.tree["nodes"]) - 1

    def animate(self, node: int, path: str, values: Any, law: str = "LINEAR") -> None:
        kind = {"rotation": "VEC4", "weights": "SCALAR"}.get(path, "VEC3")
        sampler = {
            "input": self.numbers(TIMES, "SCALAR"),
            "output": self.numbers(np.asarray(values, "<f4"), kind),
            "interpolation": law,
        }
        if not self.tree["animations"]:
            self.tree["animations"].append({"name": "go", "samplers": [], "channels": []})
        clip = self.tree["animations"][0]
        clip["samplers"].append(sampler)
        target = {"node": node, "path": path}
        clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": target})

    def write(self, file: Path) -> None:
        text = base64.b64encode(self.data).decode()
        uri = f"data:application/octet-stream;base64,{text}"
        buffers = {"buffers": [{"byteLength": len(self.data), "uri": uri}]}
        file.write_text(json.dumps(self.tree | buffers))

    def mesh(self, folder: Path, *, clip: str = "go", more: str = "postures = 41") -> Mesh:
        """The mesh of a scene with it; its clip lasts 2 s."""
        self.write(folder / "m.gltf")
        scene = load_scene(write_manifest(folder, MANIFEST.format(clip=clip, more=more)))
        return scene.meshes[0]


def moved(file: File, path: str, values: Any, law: str) -> None:
    """A triangle on a node that moves."""
    file.animate(file.node(mesh=file.triangle()), path, values, law)


def in_file(mesh: Mesh) -> np.ndarray:
    """The postures in the axes of the file."""
    assert mesh.postures is not None
    return mesh.postures.astype(float) @ UP


AT = np.linspace(0.0, 2.0, 41)


def test_turns_are_even_between_keys(tmp_path: Path) -> None:
    file = File()
    values = TURNS.as_quat()
    values[1] *= -1.0  # the same turn; the shorter way is taken
    moved(file, "rotation", values, "LINEAR")
    want = Slerp(TIMES, TURNS)(AT)
    expected = np.stack([turn.apply(TRIANGLE) for turn in want])
    mesh = file.mesh(tmp_path)
    np.testing.assert_allclose(in_file(mesh), expected, atol=1e-6)
    assert mesh.clip_length == 2.0
    np.testing.assert_array_equal(mesh.vertices, mesh.postures[0])


def test_turns_may_be_whole_numbers(tmp_path: Path) -> None:
    file, node = File(), 0
    file.animate(file.node(mesh=file.triangle()), "rotation", TURNS.as_quat())
    stored = np.round(TURNS.as_quat() * 32767).astype("<i2")
    clip = file.tree["animations"][node]
    clip["samplers"][0]["output"] = file.numbers(stored, "VEC4", normalized=True)
    want = Slerp(TIMES, TURNS)(AT)
    expected = np.stack([turn.apply(TRIANGLE) for turn in want])
    np.testing.assert_allclose(in_file(file.mesh(tmp_path)), expected, atol=1e-4)


SHIFTS = np.array([[0, 0, 0], [1, -2, 3], [4, 0, 0.5]])


def test_shifts_go_straight_from_key_to_key_or_jump(tmp_path: Path) -> None:
    jumps = np.searchsorted(TIMES, AT, "right") - 1.0
    for law, shares in (("LINEAR", np.interp(AT, TIMES, [0.0, 1.0, 2.0])), ("STEP", jumps)):
        file = File()
        moved(file, "translation", SHIFTS, law)
        first = np.minimum(shares.astype(int), 1)
        way = SHIFTS[first] + (shares - first)[:, None] * (SHIFTS[first + 1] - SHIFTS[first])
        expected = TRIANGLE + way[:, None]
        np.testing.assert_allclose(in_file(file.mesh(tmp_path)), expected, atol=1e-6)


def test_splines_have_the_tangents_of_the_file(tmp_path: Path) -> None:
    file, slopes = File(), np.array([[1, 0, 0], [0, 2, 0], [-1, 0, 1]], float)
    moved(file, "translation", np.stack([slopes, SHIFTS, slopes], 1).reshape(-1, 3), "CUBICSPLINE")
    expected = TRIANGLE + CubicHermiteSpline(TIMES, SHIFTS, slopes)(AT)[:, None]
    np.testing.assert_allclose(in_file(file.mesh(tmp_path)), expected, atol=1e-6)


def test_parents_carry_their_children(tmp_path: Path) -> None:
    """A triangle scaled on a node with a matrix, on one that turns."""
    file = File()
    matrix = np.eye(4)
    matrix[:3, 3] = 0.5, -1.0, 2.0
    child = file.node(mesh=file.triangle(), scale=[2.0, 1.0, 0.5])
    middle = file.node(matrix=matrix.T.ravel().tolist(), children=[child])
    root = file.node(children=[middle], translation=[0.0, 3.0, 0.0])
    file.animate(root, "rotation", TURNS.as_quat())
    inside = TRIANGLE * [2.0, 1.0, 0.5] + matrix[:3, 3]
    want = Slerp(TIMES, TURNS)(AT)
    expected = np.stack([turn.apply(inside) for turn in want]) + np.array([0.0, 3.0, 0.0])
    np.testing.assert_allclose(in_file(file.mesh(tmp_path)), expected, atol=2e-6)


def skinned(weights: Any, joints: Any = ((0, 1, 0, 0),) * 3, **more: Any) -> File:
    """A triangle on two bones, of which one turns; its own node is elsewhere, which does not
    matter."""
    file = File()
    attributes = {
        "JOINTS_0": file.numbers(np.array(joints, np.uint8), "VEC4"),
        "WEIGHTS_0": file.numbers(np.asarray(weights), "VEC4"),
    }
    upper = file.node(translation=[0.0, 1.0, 0.0])
    lower = file.node(children=[upper], translation=[0.2, 0.0, 0.0])
    bind = np.tile(np.eye(4), (2, 1, 1))
    bind[0, :3, 3], bind[1, :3, 3] = [-0.2, 0.0, 0.0], [-0.2, -1.0, 0.0]
    columns = np.swapaxes(bind, 1, 2).reshape(2, 16).astype("<f4")
    file.tree["skins"].append(
        {"joints": [lower, upper], "inverseBindMatrices": file.numbers(columns, "MAT4"), **more}
    )
    file.node(mesh=file.triangle(**attributes), skin=0, translation=[50.0, 0.0, 0.0])
    file.animate(upper, "rotation", TURNS.as_quat())
    return file


@pytest.mark.parametrize("kind", ["<f4", "|u1"])
def test_vertices_follow_their_bones(tmp_path: Path, kind: str) -> None:
    """The second bone turns about (0.2, 1, 0), the first rests; weights that do not sum to 1 count
    by their shares."""
    shares = np.array([0.0, 0.5, 1.0])
    weights = np.zeros((3, 4))
    weights[:, 0], weights[:, 1] = 1.0 - shares, shares
    stored = (
        (0.8 * weights).astype("<f4") if kind == "<f4" else np.round(254 * weights).astype("u1")
    )
    about = np.array([0.2, 1.0, 0.0])
    turned = np.stack([turn.apply(TRIANGLE - about) + about for turn in Slerp(TIMES, TURNS)(AT)])
    expected = (1.0 - shares)[:, None] * TRIANGLE + shares[:, None] * turned
    np.testing.assert_allclose(in_file(skinned(stored).mesh(tmp_path)), expected, atol=2e-6)


def test_the_person_walks_as_the_script_says() -> None:
    """File, reader and ray engine against the equation of skins, vertex by vertex."""
    scene = load_scene("crossing")
    (person,) = (instance for instance in scene.instances if instance.name == "walker")
    mesh, bones = scene.meshes[person.mesh], walker.skeleton()
    assert mesh.postures is not None
    parts = walker.body_skins(bones)
    lifts = walker.lifts(parts["rubber"], bones)
    count, keys = len(mesh.postures), walker.KEYS - 1
    for number in range(0, count, 9):
        place = keys * number / (count - 1)
        key = round(place)
        lift = np.interp(place, np.arange(walker.KEYS), lifts)
        want = np.concatenate(
            [walker.vertices_at(part, bones, place / keys, lift) for part in parts.values()]
        )
        # Between keys turns are even in the file, not along half a cosine as in the script.
        limit = 2e-3 if abs(place - key) < 1e-9 else 8e-3  # weights are bytes
        assert np.abs(mesh.postures[number] - want).max() < limit
    assert mesh.clip_length == pytest.approx(walker.CYCLE, abs=1e-5)
    lowest = mesh.postures[:, :, 2].min(axis=1)
    assert np.abs(lowest).max() < 3e-3  # one foot is always on the ground
    np.testing.assert_allclose(mesh.postures[-1], mesh.postures[0], atol=1e-4)


def test_a_foot_that_carries_stands() -> None:
    """Seen from the ground, while the body goes on: the sole of the foot that carries."""
    bones = walker.skeleton()
    shoes = walker.body_skins(bones)["rubber"]
    half = len(shoes.vertices) // 2
    low = np.array([vertex[2] for vertex in shoes.vertices[half:]]) < 0.012
    flat = np.linspace(0.15, 0.35, 9)  # of the right foot
    places = [
        walker.vertices_at(shoes, bones, share)[half:][low].mean(axis=0)[0]
        + walker.SPEED * walker.CYCLE * share
        for share in flat.tolist()
    ]
    moved_on = walker.SPEED * walker.CYCLE * (flat[-1] - flat[0])
    assert np.ptp(places) < 0.25 * moved_on


def refused(folder: Path, file: File, **more: Any) -> str:
    with pytest.raises(SceneError) as error:
        file.mesh(folder, **more)
    return str(error.value)


def still() -> File:
    file = File()
    moved(file, "translation", SHIFTS, "LINEAR")
    return file


def test_refusals_name_what_is_wrong(tmp_path: Path) -> None:
    message = refused(tmp_path, still(), clip="run")
    assert "meshes.m.file: m.gltf has no clip 'run', it has: go" in message
    assert "postures" in refused(tmp_path, still(), more="postures = 130")
    assert "smooth is not for meshes with a clip" in refused(
        tmp_path, still(), more="smooth = true"
    )
    file = still()
    file.tree["animations"][0]["samplers"][0]["input"] = file.numbers(TIMES[:0], "SCALAR")
    assert "of no length" in refused(tmp_path, file)
    file = still()
    file.tree["animations"][0]["samplers"][0]["input"] = file.numbers(TIMES[::-1], "SCALAR")
    assert "times do not rise" in refused(tmp_path, file)
    file = still()
    file.tree["animations"][0]["channels"][0]["target"]["node"] = 7
    assert "node 7" in refused(tmp_path, file)
    weights = np.zeros((3, 4), "<f4")
    assert "without weights" in refused(tmp_path, skinned(weights))
    weights[:, 0] = 1.0
    assert "joint 9 of 2" in refused(tmp_path, skinned(weights, ((9, 0, 0, 0),) * 3))
    nan = np.full((3, 3), np.nan, "<f4")
    file = File()
    moved(file, "translation", nan, "LINEAR")
    assert "not finite" in refused(tmp_path, file)


def test_damaged_trees_are_refused_by_their_file(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    weights = np.zeros((3, 4), "<f4")
    weights[:, 0] = 1.0
    good = json.dumps(skinned(weights).tree)
    for _ in range(60):
        place = int(random.integers(len(good)))
        text = good[:place] + str(random.integers(-9, 99)) + good[place + 1 :]
        file = skinned(weights)
        try:
            file.tree = json.loads(text)
        except ValueError:
            continue
        if not isinstance(file.tree, dict):
            continue
        with contextlib.suppress(SceneError):  # any other exception fails
            file.mesh(tmp_path)


def test_a_clip_is_for_bodies_of_one_length(tmp_path: Path) -> None:
    still().mesh(tmp_path)
    text = MANIFEST.format(clip="go", more="")
    path = write_manifest(tmp_path, text.replace('body = "b"', ""))
    with pytest.raises(SceneError, match="has a mesh with a clip, which only a body can have"):
        load_scene(path)
    short = still()
    sampler = short.tree["animations"][0]["samplers"][0]
    sampler["input"] = short.numbers(TIMES / np.float32(4.0), "SCALAR")
    short.write(tmp_path / "n.gltf")
    other = (
        text.split("[[bodies]]")[0].replace("meshes.m]", "meshes.n]").replace("m.gltf", "n.gltf")
    )
    more = '[[instances]]\nmesh = "n"\nbody = "b"\n'
    with pytest.raises(SceneError, match=r"has a clip of 0.5 s on a body with one of 2 s"):
        load_scene(write_manifest(tmp_path, other + text + more))


def test_morphs_are_left_out_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = still()
    file.animate(0, "weights", np.zeros(3))
    with caplog.at_level(logging.WARNING):
        file.mesh(tmp_path)
    assert "morph targets of the clip 'go' are left out" in caplog.text
