"""FMU ``Lidar`` before plates of known reflectance: intensities, noise, ids, end to end."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.scene.manifest import load_scene
from tests.fmus.host import Instance, open_fmu
from tests.fmus.lidar_runs import FLOAT32, GRID, NPY, Points, clouds_of
from tests.sensor_models.scene_files import write_manifest

TARGETS = load_scene("targets")
#: Where a lidar belongs in that scene.
HEIGHT = 1.5
DISTANCES = (10, 20, 40, 80)
REFLECTANCES = (10, 50, 80, 94)
PLATES = {
    instance.entity_id: instance.transform[:3, 3]
    for instance in TARGETS.instances
    if instance.name.startswith("plate")
}
ONE_RAY = {
    "pattern.type": GRID,
    "pattern.rows": 1,
    "pattern.columns": 1,
    "pattern.azimuth.min": 0.0,
    "pattern.azimuth.max": 0.0,
    "pattern.elevation.min": 0.0,
    "pattern.elevation.max": 0.0,
}
#: Six digits of a row.
SIX_DIGITS = 3e-6


@pytest.fixture
def lidar(lidar_fmu: Path) -> Iterator[Instance]:
    with open_fmu(lidar_fmu) as instance:
        yield instance


def pose_before(plate: int, distance: float, angle: float = 0.0) -> dict[str, float]:
    """The inputs of a body at a distance from a plate, which looks at its middle.

    The angle is that of its axis and the plate's normal, which points to where lidars belong.
    """
    middle = PLATES[plate]
    azimuth = math.atan2(middle[1], middle[0]) + angle
    x, y = middle[:2] - distance * np.array([math.cos(azimuth), math.sin(azimuth)])
    turn = {"w": math.cos(0.5 * azimuth), "z": math.sin(0.5 * azimuth)}
    return {
        **{
            f"body.position.{axis}": value
            for axis, value in zip("xyz", (x, y, HEIGHT), strict=True)
        },
        **{f"body.orientation.{part}": value for part, value in turn.items()},
    }


def look(
    lidar: Instance, folder: Path, pose: dict[str, float], scene: str = "targets", **more: Any
) -> Points:
    """The points of one frame."""
    files = {"output_directory": str(folder), "output_format": NPY}
    lidar.initialize({**ONE_RAY, "scene": scene, **files, **more})
    lidar.set(pose)
    lidar.step(0.0, 0.1)
    lidar.terminate()
    (points,) = clouds_of(folder)
    return points


def aim_at_all(folder: Path) -> dict[str, Any]:
    """A pattern with one ray to the middle of each plate, as a file."""
    lines = ["time,azimuth,elevation"]
    for k, (x, y, _) in enumerate(PLATES.values()):
        lines.append(f"{k / 100},{math.atan2(y, x)!r},0")
    file = folder / "aim.csv"
    file.write_text("\n".join(lines) + "\n")
    return {"pattern.type": 5, "pattern.file": str(file)}


@pytest.mark.parametrize("kind", [0, 1])
def test_all_plates_read_their_distance_reflectance_and_ids(
    lidar: Instance, tmp_path: Path, kind: int
) -> None:
    aim = aim_at_all(tmp_path)
    pose = {"body.position.z": HEIGHT}
    points = look(lidar, tmp_path / "out", pose, **aim, **{"intensity.kind": kind})
    assert points["entity_id"].tolist() == [100 * r + d for r in REFLECTANCES for d in DISTANCES]
    share, distance = np.divmod(points["entity_id"], 100)
    # Places are written to a micrometre, angles to 0.1 degree.
    np.testing.assert_allclose(points["range"], distance, rtol=FLOAT32)
    expected = share / 100.0 / (math.pi if kind == 0 else 1.0)
    np.testing.assert_allclose(points["intensity"], expected, rtol=SIX_DIGITS)
    assert set(points["label"]) == {2}
    names = [TARGETS.materials[number].name for number in points["material_id"]]
    assert names == [f"plate_{reflectance}" for reflectance in share]
    assert (points["return_count"] == 1).all()


def test_counts_of_reflectivity_are_percents(lidar: Instance, tmp_path: Path) -> None:
    how = {"intensity.kind": 1, "intensity.bits": 8}
    pose = {"body.position.z": HEIGHT}
    points = look(lidar, tmp_path / "out", pose, **aim_at_all(tmp_path), **how)
    assert points["intensity"].tolist() == [r for r in REFLECTANCES for _ in DISTANCES]


def test_the_ground_and_the_plates_go_by_their_labels(lidar: Instance, tmp_path: Path) -> None:
    down = {"pattern.elevation.min": -0.3, "pattern.elevation.max": -0.3}
    (point,) = look(lidar, tmp_path, {"body.position.z": HEIGHT}, **down)
    assert (point["entity_id"], point["label"]) == (1, 1)
    assert TARGETS.materials[point["material_id"]].name == "asphalt"
    assert point["range"] == pytest.approx(HEIGHT / math.sin(0.3), rel=FLOAT32)
    assert point["incidence"] == pytest.approx(math.pi / 2 - 0.3, abs=1e-6)


@pytest.mark.acceptance("LAM-1")
@pytest.mark.parametrize(("angle", "expected"), [(0.0, 0.2546479), (60.0, 0.1273240)])
def test_lam_1_a_plate_of_80_percent_answers_by_the_cosine(
    lidar: Instance, tmp_path: Path, angle: float, expected: float
) -> None:
    pose = pose_before(8010, 3.0, math.radians(angle))
    (point,) = look(lidar, tmp_path, pose)
    assert point["entity_id"] == 8010
    assert point["intensity"] == pytest.approx(expected, abs=1.5e-7)  # the row's, and its digits
    assert point["range"] == pytest.approx(3.0, rel=1e-6)  # places are written to a micrometre


COATED = """
[materials.coat]
kind = "two_layer"
two_way = {two_way}
source = "by definition"

[[materials.coat.surface]]
diffuse_reflectance = 0.8
ior = 1.5
roughness_beckmann = 0.1
roughness_oren_nayar = 0.3

[meshes.plate]
plane = {{ size = [9, 9] }}
material = "coat"

[[instances]]
mesh = "plate"
position = [0.1, 0.2, 0]
"""


@pytest.mark.parametrize(
    ("two_way", "expected"),
    [
        pytest.param(
            "false",
            (0.391026, 0.248954, 0.314810),
            marks=pytest.mark.acceptance("BRDF-10"),
            id="brdf_10",
        ),
        pytest.param(
            "true",
            (0.381751, 0.238290, 0.272101),
            marks=pytest.mark.acceptance("BRDF-11"),
            id="brdf_11",
        ),
    ],
)
def test_a_coated_plate_answers_by_its_bidirectional_reflectance(
    lidar: Instance, tmp_path: Path, two_way: str, expected: tuple[float, ...]
) -> None:
    scene = str(write_manifest(tmp_path, COATED.format(two_way=two_way)))
    for angle, f in zip((0.0, 30.0, 60.0), expected, strict=True):
        tilt = math.radians(angle)
        # Looking down on the plate, or aslant.
        place = {"body.position.x": -5.0 * math.sin(tilt), "body.position.z": 5.0 * math.cos(tilt)}
        half = 0.5 * (math.pi / 2 - tilt)
        turn = {"body.orientation.w": math.cos(half), "body.orientation.y": math.sin(half)}
        (point,) = look(lidar, tmp_path / str(angle), {**place, **turn}, scene)
        # Six digits; the lobe of the coat is steep, and follows the angle in 32 bits.
        assert point["intensity"] / math.cos(tilt) == pytest.approx(f, rel=2e-5)
        lidar.reset()


@pytest.mark.parametrize(
    ("absorption", "distance", "convention", "expected"),
    [
        pytest.param(0.01, 50.0, 1, 0.606531, marks=pytest.mark.acceptance("AMB-1"), id="amb_1"),
        pytest.param(
            0.01, 50.0, 0, 0.367879, marks=pytest.mark.acceptance("AMB-1"), id="amb_1 both ways"
        ),
        pytest.param(0.06, 30.0, 1, 0.165299, marks=pytest.mark.acceptance("AMB-2"), id="amb_2"),
        pytest.param(
            0.06, 30.0, 0, 0.0273237, marks=pytest.mark.acceptance("AMB-2"), id="amb_2 both ways"
        ),
    ],
)
def test_the_medium_takes_its_share_of_the_light(
    lidar: Instance,
    tmp_path: Path,
    absorption: float,
    distance: float,
    convention: int,
    expected: float,
) -> None:
    how = {"ambient.absorption": absorption, "path_convention": convention}
    (point,) = look(lidar, tmp_path, pose_before(8010, distance), **how)
    assert point["entity_id"] == 8010
    assert point["intensity"] * math.pi / 0.8 == pytest.approx(expected, abs=1e-6)  # the row's


def test_fog_that_parameters_bring_is_that_of_a_scene(lidar_fmu: Path, tmp_path: Path) -> None:
    wall = """
[meshes.wall]
box = { size = [1, 50, 50] }
material = "concrete"

[[instances]]
mesh = "wall"
position = [50.5, 0, 0]
"""
    numbers = {
        "absorption": 0.06,
        "return_shape": 2.0,
        "return_scale": 2.0,
        "return_probability": 0.9,
    }
    lines = "\n".join(f"{name} = {value}" for name, value in numbers.items())
    fog = f"""
[world]
medium = "fog"

[media.fog]
{lines}
"""
    own = {f"ambient.{name}": value for name, value in numbers.items()}
    found = []
    for name, (text, parameters) in {"scene": (fog + wall, {}), "own": (wall, own)}.items():
        (tmp_path / name).mkdir()
        scene = str(write_manifest(tmp_path / name, text))
        many = {"pattern.rows": 20, "pattern.columns": 20, "return_mode": 4, **parameters}
        aside = {"pattern.azimuth.max": 0.1, "pattern.elevation.max": 0.1}
        with open_fmu(lidar_fmu) as lidar:
            found.append(look(lidar, tmp_path / name / "out", {}, scene, **many, **aside))
    assert (found[0]["atmospheric"] == 1).sum() > 300
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.acceptance("BEAM-2")
@pytest.mark.parametrize("convention", [0, 1])
@pytest.mark.parametrize(
    ("path", "expected"),
    [(1, 0.901615), (10, 0.316713), (50, 0.0315752), (100, 0.00900008), (200, 0.00240440)],
)
def test_beam_2_a_widening_beam_is_caught_in_part(
    lidar: Instance, tmp_path: Path, path: float, expected: float, convention: int
) -> None:
    beam = {"beam.on": True, "beam.emitter_radius": 0.01, "path_convention": convention}
    # Both ways, the path is twice the distance.
    pose = pose_before(8010, path if convention == 1 else 0.5 * path)
    (point,) = look(lidar, tmp_path, pose, **beam)
    assert point["entity_id"] == 8010
    assert point["intensity"] * math.pi / 0.8 == pytest.approx(expected, rel=SIX_DIGITS)


@pytest.mark.acceptance("DIST-2")
def test_dist_2_distances_are_as_noisy_as_their_parameters_say(
    lidar: Instance, tmp_path: Path
) -> None:
    many = {"pattern.rows": 250, "pattern.columns": 400}
    aside = {
        f"pattern.{angle}.{end}": sign * 2e-3
        for angle in ("azimuth", "elevation")
        for end, sign in (("min", -1), ("max", 1))
    }
    noise = {"noise.distance_sigma_base": 0.01, "noise.distance_sigma_slope": 2e-4}
    points = look(lidar, tmp_path, pose_before(9410, 100.0), **many, **aside, **noise)
    assert len(points) == 100_000
    assert set(points["entity_id"]) == {9410}
    level = np.cos(points["elevation"].astype(float))
    truth = 100.0 / (level * np.cos(points["azimuth"].astype(float)))
    error = points["range"] - truth
    assert error.std() == pytest.approx(0.030, rel=0.01)  # the row's
    assert abs(error.mean()) < 4.0 * 0.030 / math.sqrt(len(points))
