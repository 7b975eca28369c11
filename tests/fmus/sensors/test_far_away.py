"""What lies or goes far from the world's origin: ranges within 1 mm, or a warning."""

from pathlib import Path

import pytest

from tests.fmus.host import open_fmu
from tests.fmus.lidar_runs import HALF_WAGON, WAGON
from tests.fmus.sensors.test_moving_bodies import AHEAD, IMAGE
from tests.sensor_models.scene_files import write_manifest

MILLIMETRE = 1e-3
SENSORS = {
    "Lidar": {**AHEAD, "scan_mode": 0, "max_range": 100.0},
    "DepthCamera": {**IMAGE, "min_range": 0.1},
}
#: A place in zone 33 of UTM, and a wall there across the x axis, 12.345 m on.
EAST, NORTH, HEIGHT, AWAY = 391_234.567, 5_819_876.543, 34.25, 12.345
FACES = ((0, 1, 2), (0, 2, 3))
CORNERS = [
    (EAST + AWAY, NORTH + y, HEIGHT + z)
    for y, z in ((-20.0, -20.0), (-20.0, 20.0), (20.0, 20.0), (20.0, -20.0))
]
MESH = """
[meshes.wall]
file = "wall.{kind}"
material = "brick"

[[instances]]
mesh = "wall"
"""
#: The wall of the other scene, which stands still.
LEFT_BEHIND = """
[[instances]]
mesh = "wall"
position = [40.5, 0, 0]
entity_id = 1
"""
STONE = """
[meshes.stone]
box = { size = [1, 1, 1] }
material = "brick"

[[instances]]
mesh = "stone"
"""


def obj() -> str:
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in CORNERS]
    return "\n".join([*lines, *("f " + " ".join(str(k + 1) for k in face) for face in FACES)])


def ply() -> str:
    head = ["ply", "format ascii 1.0", f"element vertex {len(CORNERS)}"]
    head += [f"property double {axis}" for axis in "xyz"]
    head += [f"element face {len(FACES)}", "property list uchar int vertex_indices", "end_header"]
    rows = [f"{x:.6f} {y:.6f} {z:.6f}" for x, y, z in CORNERS]
    return "\n".join([*head, *rows, *(f"3 {a} {b} {c}" for a, b, c in FACES), ""])


@pytest.mark.parametrize("fmu", SENSORS)
@pytest.mark.parametrize("alone", [True, False])
def test_a_body_a_thousand_kilometres_away_is_where_it_is(
    fmu_directory: Path, environment_fmu: Path, tmp_path: Path, fmu: str, alone: bool
) -> None:
    """With a wall left at the origin there is a word about that wall; the body stays exact."""
    text = WAGON.replace(LEFT_BEHIND, "") if alone else WAGON
    scene = str(write_manifest(tmp_path, text))
    far, ahead = 1e6 + 0.123, 17.625
    with (
        open_fmu(environment_fmu, "world") as environment,
        open_fmu(fmu_directory / f"{fmu}.fmu", "eye") as sensor,
    ):
        there = {f"vehicle_1.orientation.{part}": float(part == "w") for part in "wxyz"}
        there |= {"vehicle_1.position.x": far + ahead, "vehicle_1.position.y": -far}
        environment.initialize({"scene": scene, **there})
        place = {"body.position.x": far, "body.position.y": -far}
        number = environment.get("scene_handle")
        sensor.initialize({**SENSORS[fmu], **place, "scene_handle": number, "write_files": 1})
        environment.step(0.0, 0.1)
        sensor.step(0.0, 0.1)
        assert sensor.get("nearest.range") == pytest.approx(ahead - HALF_WAGON, abs=MILLIMETRE)
        told = [text for text in sensor.warnings() if "lies so far from what stands still" in text]
        assert len(told) == (0 if alone else 1)


@pytest.mark.parametrize("kind", ["obj", "ply"])
@pytest.mark.parametrize("fmu", SENSORS)
@pytest.mark.parametrize("alone", [True, False])
def test_a_mesh_in_utm_coordinates_is_where_it_is(
    fmu_directory: Path, tmp_path: Path, fmu: str, kind: str, alone: bool
) -> None:
    """With a stone at the origin as well, float32 cannot hold both: then there is a warning."""
    (tmp_path / f"wall.{kind}").write_text(obj() if kind == "obj" else ply())
    text = MESH.format(kind=kind) + ("" if alone else STONE)
    scene = str(write_manifest(tmp_path, text))
    place = {"body.position.x": EAST, "body.position.y": NORTH, "body.position.z": HEIGHT}
    with open_fmu(fmu_directory / f"{fmu}.fmu", "eye") as sensor:
        sensor.initialize({**SENSORS[fmu], **place, "scene": scene, "write_files": 1})
        sensor.step(0.0, 0.1)
        found = sensor.get("nearest.range")
        told = [text for text in sensor.warnings() if "lies so far from what stands still" in text]
    assert len(told) == (0 if alone else 1)
    if alone:
        assert found == pytest.approx(AWAY, abs=MILLIMETRE)
