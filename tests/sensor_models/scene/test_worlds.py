"""Worlds of others as scenes: named directly or converted, kept, guessed, and refused."""

from pathlib import Path

import numpy as np
import pytest

import sensor_models.scene
from sensor_models.scene import model
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.primitives import capsule
from sensor_models.scene.schema import Capsule
from sensor_models.scene.worlds import reading
from sensor_models.scene.worlds.guesses import Look, guessed, read_rules, words
from sensor_models.tools.pictures.scene_command import main
from tests.sensor_models.scene import world_files


def same_scene(one: model.Scene, other: model.Scene) -> bool:
    """All but the files that they were read from."""
    meshes = all(
        np.array_equal(a.vertices, b.vertices)
        and np.array_equal(a.faces, b.faces)
        and np.array_equal(a.face_material, b.face_material)
        and a.origin == b.origin
        for a, b in zip(one.meshes, other.meshes, strict=True)
    )
    instances = all(
        np.array_equal(a.transform, b.transform)
        and (a.mesh, a.entity_id, a.name, a.body) == (b.mesh, b.entity_id, b.name, b.body)
        for a, b in zip(one.instances, other.instances, strict=True)
    )
    rest = [(s.name, s.materials, s.bodies, s.gravity, s.labels) for s in (one, other)]
    return meshes and instances and rest[0] == rest[1]


@pytest.mark.parametrize(
    "write", [world_files.write_machine, world_files.write_urdf, world_files.write_gltf]
)
def test_a_world_that_is_converted_is_the_same_to_the_last_bit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], write: object
) -> None:
    world = write(tmp_path / "world")  # type: ignore[operator]
    assert main(["import", str(world), str(tmp_path / "scene")]) == 0
    assert "entities" in capsys.readouterr().out
    assert same_scene(sensor_models.scene.load(world), load_scene(tmp_path / "scene"))


def test_a_world_that_was_read_is_kept_until_one_of_its_files_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_files.write_machine(tmp_path)
    first = load_scene(world)
    reads = []
    read = reading.read_world
    monkeypatch.setattr(reading, "read_world", lambda *given: reads.append(1) or read(*given))
    assert same_scene(first, load_scene(world))
    assert reads == []
    prism = tmp_path / "parts" / "prism.obj"
    prism.write_text(prism.read_text().replace("v 0.3 0", "v 0.4 0"))
    assert not same_scene(first, load_scene(world))
    assert reads == [1]


def test_check_lists_bodies_guesses_and_what_is_not_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = world_files.write_machine(tmp_path)
    assert main(["check", str(world)]) == 0
    said = capsys.readouterr().out
    assert "mast at " in said
    assert "carried by cart, on slide lift, hinge swing" in said
    assert "guess      oak: wood, as 'oak' has 'oak'" in said
    assert "guess      brushed: steel, as metallic is 0.9" in said
    assert "not taken  light: 1 left out, the first in machine.xml, line 18" in said


def test_looks_are_in_the_materials(tmp_path: Path) -> None:
    materials = {m.name: m for m in load_scene(world_files.write_machine(tmp_path)).materials}
    assert materials["oak"].color == pytest.approx((130 / 255, 90 / 255, 40 / 255), abs=1e-3)
    assert materials["brushed"].color == pytest.approx((0.6, 0.6, 0.62), abs=1e-3)
    assert materials["brushed"].source.startswith("guess: steel")
    assert any(
        m.source.startswith("guess: glass, as transmission is 0.8") for m in materials.values()
    )


def test_rules_beside_a_world_come_before_ours(tmp_path: Path) -> None:
    world = world_files.write_machine(tmp_path)
    before = load_scene(world)
    rules = '[[guess]]\nnames = ["brushed"]\nroughness = [0.2, 0.4]\nbase = "copper"\n'
    (tmp_path / "guesses.toml").write_text(rules)
    after = load_scene(world)
    sources = [next(m for m in s.materials if m.name == "brushed").source for s in (before, after)]
    assert sources[0].startswith("guess: steel")
    assert sources[1] == "guess: copper, as 'brushed' has 'brushed' and roughness is 0.3"
    (tmp_path / "guesses.toml").write_text('[[guess]]\nbase = "gold"\n')
    with pytest.raises(SceneError, match=r"guesses.toml: guess\[0\].base: 'gold' is no material"):
        load_scene(world)


def test_words_of_names_and_rules_that_fit_whole_words() -> None:
    assert words("Tire_left2 frontWINDOW-03") == ["tire", "left", "front", "window"]
    rules = read_rules([])
    assert guessed(Look("entire_grass"), rules)[0] == "grass"
    assert guessed(Look("", others=("WindowPane",)), rules)[0] == "glass"
    assert guessed(Look("", color=(0.1, 0.1, 0.1)), rules)[0] == "plastic_black"
    assert guessed(Look("", transmission=0.6), rules)[0] == "glass"


def test_a_capsule_is_closed_and_as_large_as_it_should_be() -> None:
    (piece,) = capsule(Capsule(radius=0.5, height=2.0, segments=96))
    corners = piece.vertices[piece.faces]
    volume = np.linalg.det(corners).sum() / 6.0
    assert volume == pytest.approx(np.pi * 0.25 * 2.0 + 4.0 / 3.0 * np.pi * 0.125, rel=2e-3)
    along = np.clip(piece.vertices[:, 2], -1.0, 1.0)
    away = np.hypot(np.hypot(*piece.vertices[:, :2].T), piece.vertices[:, 2] - along)
    assert away == pytest.approx(0.5, abs=1e-12)


# ---- refused -------------------------------------------------------------------------------------

BAD = {
    "entity": ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "has a document type"),
    "no xml": ("<mujoco><worldbody></mujoco>", "line 1: is no XML: mismatched tag"),
    "another root": ("<scene/>", "begins with 'scene', known are mujoco"),
    "outside": (
        '<mujoco>\n<asset><mesh file="../secret.stl"/></asset></mujoco>',
        "line 2, mesh: '../secret.stl' lies outside of",
    ),
    "absolute": ('<mujoco><include file="/etc/passwd"/></mujoco>', "lies outside of"),
    "absent": (
        '<mujoco><asset>\n\n<mesh file="no.stl"/></asset></mujoco>',
        "line 3, mesh: 'no.stl' does not exist",
    ),
    "number": (
        '<mujoco>\n<worldbody>\n<geom size="a"/></worldbody></mujoco>',
        "line 3, geom: MuJoCo says: ",
    ),
    "twice": (
        '<mujoco><worldbody><body name="a"/>\n<body name="a"/></worldbody></mujoco>',
        "MuJoCo says: repeated name 'a' in body",
    ),
    "nothing": ("<mujoco><worldbody/></mujoco>", "has no shape that is visual geometry"),
    "itself": ('<mujoco><include file="bad.xml"/></mujoco>', "makes more than 200 files"),
    "deep": ("<mujoco>" + "<a>" * 300 + "</a>" * 300 + "</mujoco>", "in another"),
    "picture": (
        '<mujoco><asset><texture type="2d" file="bad.xml"/></asset></mujoco>',
        "its picture cannot be read",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_world_gives_one_message_with_file_and_place(tmp_path: Path, case: str) -> None:
    text, expected = BAD[case]
    (tmp_path / "secret.stl").write_bytes(b"")
    folder = tmp_path / "world"
    folder.mkdir()
    (folder / "bad.xml").write_text(text)
    with pytest.raises(SceneError) as refused:
        load_scene(folder / "bad.xml")
    assert expected in str(refused.value)
    assert "bad.xml" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_files_outside_are_read_on_request(tmp_path: Path) -> None:
    world = world_files.write_machine(tmp_path)
    moved = tmp_path / "inner" / "machine.xml"
    moved.parent.mkdir()
    text = world.read_text().replace('meshdir="parts"', 'meshdir="../parts"')
    moved.write_text(text.replace("planks.png", "../planks.png"))
    with pytest.raises(SceneError, match="lies outside of"):
        load_scene(moved)
    assert same_scene(load_scene(world), load_scene(moved, allow_outside=True))


def test_nothing_is_written_beside_a_world_or_into_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_files.write_machine(tmp_path / "world")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    before = sorted(world.parent.rglob("*"))
    load_scene(world)
    assert list(here.iterdir()) == []
    assert sorted(world.parent.rglob("*")) == before


def test_without_mujoco_one_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_files.write_machine(tmp_path)
    world.write_text(world.read_text().replace("machine", "another"))  # nobody has kept it
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    with pytest.raises(SceneError, match=r"mujoco, which is not installed here: .* scene import"):
        load_scene(world)


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        (
            'name = "a"\nparent = "b"\n[[bodies]]\nname = "b"',
            r"bodies\[0\].parent: 'b' must be given",
        ),
        ('name = "a"\njoints = [{ name = "j", axis = [0, 0, 0] }]', "axis has no direction"),
        (
            'name = "j"\n[[bodies]]\nname = "b"\njoints = [{ name = "j" }]',
            r"bodies\[1\].joints\[0\].name: 'j' is the name of another joint, or of a free body",
        ),
    ],
)
def test_joints_that_cannot_be_are_refused(tmp_path: Path, bodies: str, expected: str) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(f'format = 1\nname = "test"\n[[bodies]]\n{bodies}\n')
    with pytest.raises(SceneError, match=expected):
        load_scene(path)
