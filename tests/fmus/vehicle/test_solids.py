"""What of a scene is solid."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from fmus.vehicle.parameters import VehicleParameters
from fmus.vehicle.simulation import VehicleSimulation
from fmus.vehicle.solids import Solid, SolidScene, solids_of
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.fmus.vehicle.driving import YARD

SOLIDS = solids_of(YARD)


def named(name: str, world: SolidScene = SOLIDS) -> list[Solid]:
    return [solid for solid in world.solids if solid.name == name]


def test_the_ground_is_as_high_as_rays_from_above_find_it() -> None:
    level = ("ground", "road", "lane", "pavement")
    ground = tuple(i for i in YARD.instances if i.name in level)
    places = np.random.default_rng(1).uniform(-119.0, 119.0, (2000, 2))
    places[:500] *= 0.15  # more where the road is
    sky = np.column_stack([places, np.full(len(places), 50.0)])
    with RayScene(replace(YARD, instances=ground, bodies=())) as rays:
        expected = 50.0 - rays.trace(sky, np.tile([0.0, 0.0, -1.0], (len(sky), 1))).t
    found = [SOLIDS.height_at(x, y) for x, y in places.tolist()]
    # single precision over 50 m; the floor of the house is left out there, and lower than 0.2 m
    inside = np.array([not named("building")[0].is_at(x, y) for x, y in places.tolist()])
    assert np.abs(found - expected)[inside].max() < 2e-5
    assert np.ptp(expected) > 5.0, "hilly enough to tell"


def test_the_terrain_of_the_engine_has_the_triangles_of_the_scene() -> None:
    """A ball in the middle of a triangle is as far from it as from its plane.

    With the other diagonals, heights would differ by up to 3 cm.
    """
    vehicle = VehicleSimulation(VehicleParameters(wheel_radius=0.1), YARD)
    terrain, engine, data = SOLIDS.terrains[0], vehicle.model.engine, vehicle.data
    tyre = engine.geom("tyre of wheel_1").id
    ball = 0.1
    clear = 0.09  # m from the ground to the middle of the ball, measured upright
    draw = np.random.default_rng(2)
    errors, twists = [], []
    while len(errors) < 60:
        corner = 2.0 * draw.integers(-58, 58, 2)
        if np.abs(corner).max() < 30 or abs(corner[0] - 20) < 6:
            continue  # level, or under the lane
        x, y = corner + ((1.4, 0.5) if draw.random() < 0.5 else (0.5, 1.4))
        height, step = terrain.height_at(x, y), 0.05
        slope = np.hypot(
            terrain.height_at(x + step, y) - height, terrain.height_at(x, y + step) - height
        )
        cosine = np.cos(np.arctan(slope / step))
        data.qpos[:3] = x - 0.45, y - 0.5, height + clear - ball
        data.qpos[3:7] = 1.0, 0.0, 0.0, 0.0
        errors.append(nearest(vehicle, tyre) - (clear * cosine - ball))
        a, b = corner
        twists.append(
            terrain.height_at(a, b)
            + terrain.height_at(a + 2, b + 2)
            - terrain.height_at(a + 2, b)
            - terrain.height_at(a, b + 2)
        )
    assert np.abs(twists).max() > 0.02, "twisted enough to tell"
    assert np.abs(errors).max() < 1e-4  # of the engine's search for the nearest points


def nearest(vehicle: VehicleSimulation, geom: int) -> float:
    """The distance of the nearest contact of a geom, negative where it overlaps."""
    mujoco.mj_forward(vehicle.model.engine, vehicle.data)
    return min(float(c.dist) for c in vehicle.data.contact if geom in c.geom)


def test_the_house_is_one_box_and_the_tank_a_cylinder() -> None:
    (house,) = named("building")
    assert house.half_size[:2] == pytest.approx([7.0, 4.0], abs=1e-3)
    assert house.position[:2] == pytest.approx([-4.0, 9.5], abs=1e-3)
    (tank,) = named("tank")
    assert tank.is_round
    assert tank.half_size == pytest.approx([1.1, 1.1, 1.6], abs=1e-3)
    assert not house.is_ground
    assert not tank.is_ground


def test_a_box_keeps_the_angle_it_was_put_at() -> None:
    box = max(named("container"), key=lambda solid: float(np.prod(solid.half_size)))
    # 70 degrees to the right is 20 degrees to the left with length and width exchanged
    assert box.yaw == pytest.approx(np.radians(20.0))
    assert box.half_size[:2] == pytest.approx([1.22, 3.03], abs=0.01)  # doors have bars


def test_trees_are_their_trunks_and_bushes_nothing() -> None:
    trunks = [s for s in SOLIDS.solids if s.name.startswith("tree_") and s.is_round]
    assert len(trunks) == 8 + 1
    assert max(s.half_size[0] for s in trunks) < 0.35
    assert not [s for s in SOLIDS.solids if s.name.startswith("bush_")]


def test_curbs_and_level_surfaces_carry_wheels_but_painted_lines_are_nothing() -> None:
    ground = {s.name: s.top for s in SOLIDS.solids if s.is_ground}
    expected = {"road": 0.0, "lane": 0.01, "pavement": 0.12}
    assert {name: ground[name] for name in expected} == pytest.approx(expected, abs=1e-6)
    assert not [s for s in SOLIDS.solids if "line" in s.name]


def test_what_hangs_higher_than_the_vehicle_reaches_is_nothing() -> None:
    assert not [s for s in SOLIDS.solids if s.name.startswith("lamp_") and not s.is_round]
    assert all(s.position[2] - s.half_size[2] < 2.6 for s in SOLIDS.solids)


def test_movable_bodies_are_boxes_in_their_own_frames() -> None:
    assert [*SOLIDS.bodies] == ["vehicle_1", "vehicle_2", "vehicle_3"]
    car, van = SOLIDS.bodies["vehicle_1"], SOLIDS.bodies["vehicle_3"]
    assert 2.0 * car.half_size[0] == pytest.approx(4.4, abs=0.05)
    assert 2.0 * van.half_size[2] == pytest.approx(2.4, abs=0.05)


def test_the_border_is_that_of_the_ground() -> None:
    assert SOLIDS.border().tolist() == [[-120.0, -120.0], [120.0, 120.0]]
    targets = solids_of(load_scene("targets"))
    assert targets.border().tolist() == [[-130.0, -130.0], [130.0, 130.0]]
    assert SolidScene((), (), {}).border().tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_beside_all_ground_there_is_no_height() -> None:
    assert np.isnan(SOLIDS.height_at(121.0, 0.0))
    assert SOLIDS.height_at(120.0, -120.0) == SOLIDS.terrains[0].height_at(120.0, -120.0)


def test_solids_are_found_once_for_a_scene_however_often_it_is_loaded() -> None:
    assert solids_of(load_scene("yard")) is SOLIDS


def test_a_scene_that_differs_in_anything_solid_has_solids_of_its_own() -> None:
    instance = YARD.instances[-1]
    moved = instance.transform.copy()
    moved[0, 3] += 1e-3
    number, asphalt = instance.mesh, [m.name for m in YARD.materials].index("asphalt")
    meshes, materials = list(YARD.meshes), list(YARD.materials)
    meshes[number] = replace(meshes[number], vertices=1.001 * meshes[number].vertices)
    materials[asphalt] = replace(materials[asphalt], name="leaf")
    others = [
        replace(YARD, instances=(*YARD.instances[:-1], replace(instance, transform=moved))),
        replace(YARD, instances=(*YARD.instances[:-1], replace(instance, name="other"))),
        replace(YARD, instances=YARD.instances[:-1]),
        replace(YARD, meshes=tuple(meshes)),
        replace(YARD, materials=tuple(materials)),
        replace(YARD, bodies=tuple(replace(b, name=f"{b.name} 2") for b in YARD.bodies)),
    ]
    assert len({id(solids_of(scene)) for scene in [YARD, *others]}) == 1 + len(others)
    darker = replace(YARD, gravity=(0.0, 0.0, -1.6))  # which is not of the solids
    assert solids_of(darker) is solids_of(YARD)
