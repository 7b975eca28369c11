"""Media on the way of the lidar's rays: attenuation, echoes, volumes that touch what is there."""

import math

import numpy as np
import pytest

from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import (
    AmbientParameters,
    LidarParameters,
    PathConvention,
    ReturnMode,
)
from sensor_models.light.media import backscatter, echo_density, echo_probability
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import Body, Instance, Medium, MediumVolume, Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import poses_of
from tests import lidar_scenes as rig
from tests import oracles_rays as triangles

FLOAT32 = 1e-5
AIR = rig.AIR
#: What answers the rays of AMB-6.
MIST = Medium(
    "mist", 0.0, return_shape=2.0, return_scale=5.0, return_probability=0.4, backscatter=1.0
)


def left(seen, body=rig.AT_ORIGIN, azimuth=0.0, reflectance=0.8, **own):
    """The share of light that a wall across the ray still gets and sends back."""
    points = rig.capture(seen, rig.aim(azimuth), body, own=rig.ALL | own)
    (wall,) = points[points["material_id"] == 0]
    return wall["intensity"] * math.pi / reflectance


@pytest.mark.acceptance("AMB-1", "AMB-2")
@pytest.mark.parametrize(("row", "alpha", "x"), [("AMB-1", 0.01, 50.0), ("AMB-2", 0.06, 30.0)])
def test_amb_1_and_amb_2_light_is_lost_on_each_way(row, alpha, x):
    there, both = {"AMB-1": (0.606531, 0.367879), "AMB-2": (0.165299, 0.0273237)}[row]
    seen = rig.scene(rig.across(x), media=(Medium("haze", alpha),))
    assert left(seen) == pytest.approx(both, rel=FLOAT32)
    assert left(seen, path_convention=PathConvention.one_way) == pytest.approx(there, rel=FLOAT32)


def echoes_of_mist(medium, x, rays, frame=0, volumes=(), body=rig.AT_ORIGIN, **own):
    """The echoes of a medium before a wall at x, for many rays."""
    seen = rig.scene(rig.across(x), media=(AIR, medium) if volumes else (medium,), volumes=volumes)
    points = rig.capture(seen, rig.ahead(rays), body, frame, 2, own=rig.ALL | own)
    return points[points["atmospheric"] == 1]


RAYS = 60_000


@pytest.mark.acceptance("AMB-6")
def test_amb_6_some_rays_are_answered_by_the_medium():
    found = echoes_of_mist(MIST, 12.0, RAYS)
    share, sigma = 0.276624, math.sqrt(0.276624 * (1 - 0.276624) / RAYS)
    assert len(found) / RAYS == pytest.approx(share, abs=4.0 * sigma)
    # Distances of a deviation of 3 m: 4 sigma of their mean.
    error = 4.0 * float(found["range"].std()) / math.sqrt(len(found))
    assert found["range"].mean() == pytest.approx(6.2220, abs=error)
    assert found["range"].max() <= 12.0
    counts, edges = np.histogram(found["range"], np.linspace(0.0, 12.0, 25))
    middles = 0.5 * (edges[1:] + edges[:-1])
    expected = RAYS * 0.4 * echo_density(MIST, middles) * np.diff(edges)
    # 5 sigma of each bin, and the curvature of the density over half a metre.
    assert (np.abs(counts - expected) < 5.0 * np.sqrt(expected) + 0.01 * expected.max()).all()


def test_an_echo_of_a_medium_has_its_backscatter_and_what_was_lost_until_there():
    haze = Medium("haze", 0.06, 2.0, 5.0, 1.0)
    found = echoes_of_mist(haze, 30.0, 200)
    assert len(found) > 150
    # b = alpha c tau / 2 S of 5 ns and 18.8 sr
    b = 0.06 * 299_792_458.0 * 5e-9 / (2.0 * 18.8)
    assert b == pytest.approx(2.392e-3, rel=1e-3)
    expected = b * np.exp(-2.0 * 0.06 * found["range"].astype(float))
    np.testing.assert_allclose(found["intensity"], expected, rtol=FLOAT32)
    for name, value in (("entity_id", -1), ("material_id", -1), ("label", -1), ("incidence", 0.0)):
        assert (found[name] == value).all()
    assert all((found[f"normal_{axis}"] == 0.0).all() for axis in "xyz")


def test_fog_beats_a_far_wall():
    """An echo of fog at 5 m is stronger than a wall of 0.8 beyond 43.9 m."""
    always = Medium("fog", 0.06, 1e5, 5.0 / 1e5, 1.0)
    for x, atmospheric in ((43.0, 0), (45.0, 1)):
        (point,) = rig.capture(rig.scene(rig.across(x), media=(always,)))
        assert point["atmospheric"] == atmospheric


def test_the_pulse_length_says_how_much_of_a_medium_answers():
    haze = Medium("haze", 0.06, 1e5, 5.0 / 1e5, 1.0)
    long, short = (echoes_of_mist(haze, 30.0, 1, pulse_length=t)[0] for t in (1e-8, 5e-9))
    assert long["intensity"] == pytest.approx(2.0 * short["intensity"], rel=FLOAT32)


def test_distances_count_from_the_boundary_of_a_volume():
    volume = (1, rig.across(7.0, thickness=12.0))
    found = echoes_of_mist(MIST, 60.0, RAYS, volumes=(volume,))
    assert found["range"].min() > 7.0
    assert found["range"].max() < 19.0
    sigma = math.sqrt(0.276624 * (1 - 0.276624) / RAYS)
    assert len(found) / RAYS == pytest.approx(0.276624, abs=4.0 * sigma)
    error = 4.0 * float(found["range"].std()) / math.sqrt(len(found))
    assert found["range"].mean() == pytest.approx(7.0 + 6.2220, abs=error)


def test_distances_count_from_the_sensor_within_a_volume():
    volume = (1, rig.across(-7.0, thickness=19.0))
    found = echoes_of_mist(MIST, 60.0, RAYS, volumes=(volume,))
    assert found["range"].max() < 12.0
    expected = float(echo_probability(MIST, 12.0))
    assert expected == pytest.approx(0.276624, rel=1e-5)
    sigma = math.sqrt(expected * (1 - expected) / RAYS)
    assert len(found) / RAYS == pytest.approx(expected, abs=4.0 * sigma)


def test_echoes_in_water_lie_at_its_index():
    water = Medium("water", 0.0, 1e5, 3.0 / 1e5, 1.0, ior=1.33, backscatter=0.1)
    (found,) = echoes_of_mist(water, 60.0, 1, volumes=((1, rig.across(5.0, thickness=9.0)),))
    assert found["range"] == pytest.approx(5.0 + 1.33 * 3.0, rel=0.016)  # 5 sigma of the draw


def test_without_a_surface_the_medium_answers_up_to_the_greatest_range():
    seen = rig.scene(media=(MIST,))
    every = rig.capture(seen, rig.ahead(2000), own=rig.ALL)
    near = rig.capture(seen, rig.ahead(2000), own=rig.ALL | {"max_range": 8.0})
    np.testing.assert_array_equal(near["range"], every["range"][every["range"] <= 8.0])
    assert len(near) < len(every)


def test_a_frame_has_draws_of_its_own():
    first, again, second = (echoes_of_mist(MIST, 12.0, 500, frame=frame) for frame in (0, 0, 1))
    np.testing.assert_array_equal(first["range"], again["range"])
    assert len(np.intersect1d(first["range"], second["range"])) == 0


def test_the_ambient_medium_may_answer_where_the_scenes_does_not():
    own = AmbientParameters(0.01, 2.0, 5.0, 0.4)
    device = Lidar(LidarParameters(**rig.ALL), rig.ahead(3000), ambient=own)
    sigma = math.sqrt(0.276624 * (1 - 0.276624) / 3000)
    for media in ((Medium(),), (Medium("haze", 0.01),)):
        points = rig.capture(rig.scene(rig.across(12.0), media=media), lidar=device)
        share = (points["atmospheric"] == 1).sum() / 3000
        assert share == pytest.approx(0.276624, abs=4.0 * sigma)


def test_back_scatter_follows_the_extinction_that_the_lidar_is_given():
    own = AmbientParameters(0.01, 2.0, 5.0, 1.0)
    device = Lidar(LidarParameters(**rig.ALL), rig.ahead(300), ambient=own)
    points = rig.capture(rig.scene(rig.across(1000.0), media=(Medium("haze", 0.5),)), lidar=device)
    echoes = points[points["atmospheric"] == 1]
    expected = backscatter(0.01) * np.exp(-0.02 * echoes["range"].astype(float))
    np.testing.assert_allclose(echoes["intensity"], expected, rtol=FLOAT32)


# ---- volumes ----------------------------------------------------------------------------------

FOG, SMOKE = Medium("fog", 0.05), Medium("smoke", 0.1)


def test_nested_volumes_count_what_is_innermost():
    outer, inner = (1, rig.across(5.0, thickness=20.0)), (2, rig.across(10.0, thickness=5.0))
    for volumes in ((outer, inner), (inner, outer)):
        seen = rig.scene(rig.across(30.0), media=(AIR, FOG, SMOKE), volumes=volumes)
        assert left(seen) == pytest.approx(math.exp(-2.0 * (15 * 0.05 + 5 * 0.1)), rel=FLOAT32)
        inside = rig.at(12.0, 0, 0)
        found = left(seen, inside)
        assert found == pytest.approx(math.exp(-2.0 * (10 * 0.05 + 3 * 0.1)), rel=FLOAT32)


def test_overlapping_volumes_count_what_was_entered_last():
    first, second = (1, rig.across(5.0, thickness=10.0)), (2, rig.across(10.0, thickness=10.0))
    seen = rig.scene(rig.across(30.0), media=(AIR, FOG, SMOKE), volumes=(first, second))
    # 5 to 10 m fog, 10 to 20 m smoke: the end of the fog at 15 m lies within.
    assert left(seen) == pytest.approx(math.exp(-2.0 * (5 * 0.05 + 10 * 0.1)), rel=FLOAT32)


@pytest.mark.parametrize("azimuth", [0.0, 0.21, -0.3])
def test_volumes_may_touch(azimuth):
    """Layers side by side: the end of one and the beginning of the next are one plane."""
    first, second = (1, rig.across(5.0, thickness=5.0)), (2, rig.across(10.0, thickness=5.0))
    slant = 1.0 / math.cos(azimuth)
    for volumes in ((first, second), (second, first)):
        seen = rig.scene(rig.across(20.0), media=(AIR, FOG, SMOKE), volumes=volumes)
        # The wall's cosine is the share beside.
        expected = math.exp(-2.0 * slant * (5 * 0.05 + 5 * 0.1)) / slant
        assert left(seen, azimuth=azimuth) == pytest.approx(expected, rel=FLOAT32)


def test_fog_that_lies_on_the_ground_does_not_hide_it():
    ground = triangles.mesh_of(
        [(-100, -100, 0), (100, -100, 0), (100, 100, 0), (-100, 100, 0)], [[0, 1, 2], [0, 2, 3]]
    )
    fog = rig.box((-61.3, -62.1, 0.0), (63.7, 64.9, 12.0))
    seen = rig.scene(ground, media=(AIR, FOG), volumes=((1, fog),))
    random = np.random.default_rng(1)
    azimuth, elevation = random.uniform(-3.0, 3.0, 3000), random.uniform(-1.5, -0.3, 3000)
    for height in (2.0, 15.0):
        body = rig.at(0.13, 0.17, height)
        points = rig.capture(seen, rig.aim(azimuth, elevation), body)
        assert len(points) == 3000
        np.testing.assert_allclose(points["range"], -height / np.sin(elevation), rtol=FLOAT32)
        # All within 50 m of the sensor, so within the fog.
        within = min(height, 12.0) / -np.sin(elevation)
        expected = 0.8 / np.pi * -np.sin(elevation) * np.exp(-2.0 * 0.05 * within)
        np.testing.assert_allclose(points["intensity"], expected, rtol=1e-4)


@pytest.mark.parametrize("shift", [0.0, 1e-7, -1e-7, 2e-6, -2e-6])
def test_a_mirror_in_the_plane_of_a_boundary_sends_light_back_into_the_fog(shift):
    """Fog from 2 m to a mirror at 5 m, and nothing behind it: in it there and back."""
    fog = rig.across(2.0, thickness=3.0 + shift)
    sheet, behind = rig.across(5.0, of=1, half=15.0), rig.across(-4.0, thickness=1.0)
    seen = rig.scene(
        behind,
        sheet,
        materials=(rig.lambert(), rig.mirror()),
        media=(AIR, FOG),
        volumes=((1, fog),),
    )
    clear = rig.scene(behind, sheet, materials=(rig.lambert(), rig.mirror()))
    found = left(seen) / left(clear)
    assert found == pytest.approx(math.exp(-2.0 * 0.05 * 6.0), rel=2e-5)


def test_water_in_a_tank_begins_where_its_glass_ends():
    """Glass from 2.0 to 2.1 m, water as a medium of index 1.33 from there to the far glass."""
    near = rig.across(2.0, of=1, thickness=0.1)
    far = rig.across(5.1, of=1, thickness=0.1)
    water = Medium("water", 0.1, ior=1.33)
    tank = rig.scene(
        rig.across(8.0),
        near,
        far,
        materials=(rig.lambert(), rig.glass(1.5)),
        media=(AIR, water),
        volumes=((1, rig.across(np.float32(2.1), thickness=3.0, half=15.0)),),
    )
    points = rig.capture(tank, own=rig.ALL)
    (wall,) = points[(points["material_id"] == 0) & (points["node"] == 30)]
    assert wall["range"] == pytest.approx(8.0 + 0.2 * 0.5 + 3.0 * 0.33, rel=FLOAT32)
    glass = ((1.5 - 1.33) / (1.5 + 1.33)) ** 2
    through = (0.96 * (1.0 - glass)) ** 4 * math.exp(-2.0 * 0.1 * 3.0)
    assert wall["intensity"] * math.pi / 0.8 == pytest.approx(through, rel=2e-5)
    # Between water and glass less is reflected than between air and glass.
    inner = (
        points[points["node"] == 2][0]["intensity"] / points[points["node"] == 0][0]["intensity"]
    )
    assert inner == pytest.approx(0.96**2 * glass / 0.04, rel=1e-4)


def test_a_way_out_that_was_never_a_way_in_is_ignored():
    # Behind the sensor, since it looks ahead to find out what it is in.
    fog = rig.across(-10.0, thickness=5.0)
    keep = ~np.all(fog.vertices[fog.faces][:, :, 0] == -5.0, axis=1)
    entrance_missing = triangles.mesh_of(fog.vertices, fog.faces[keep])
    volumes = ((1, entrance_missing), (2, rig.across(-15.0, thickness=3.0)))
    seen = rig.scene(rig.across(-20.0), media=(AIR, FOG, SMOKE), volumes=volumes)
    found = left(seen, azimuth=math.pi)
    assert found == pytest.approx(math.exp(-2.0 * 3 * 0.1), rel=FLOAT32)


def test_a_way_in_without_a_way_out_lasts():
    fog = rig.across(5.0, thickness=5.0)
    keep = ~np.all(fog.vertices[fog.faces][:, :, 0] == 10.0, axis=1)
    seen = rig.scene(
        rig.across(20.0),
        media=(AIR, FOG),
        volumes=((1, triangles.mesh_of(fog.vertices, fog.faces[keep])),),
    )
    assert left(seen) == pytest.approx(math.exp(-2.0 * 15 * 0.05), rel=FLOAT32)


@pytest.mark.parametrize(("events", "seen_at"), [(1, None), (3, None), (4, 30.0), (5, 30.0)])
def test_a_ray_ends_at_the_boundary_after_the_last_it_may_pass(events, seen_at):
    volumes = ((1, rig.across(5.0, thickness=2.0)), (1, rig.across(10.0, thickness=2.0)))
    seen = rig.scene(rig.across(30.0), media=(AIR, FOG), volumes=volumes)
    points = rig.capture(seen, own={"max_events": events})
    assert [point["range"] for point in points] == ([] if seen_at is None else [seen_at])


def test_light_behind_a_pane_is_in_the_fog_from_where_that_begins():
    """Many rays at once, through glass; a boundary further on counts when it is reached."""
    azimuth = np.linspace(0.1, 0.5, 48)
    fog = rig.across(5.0, thickness=5.0)
    keep = ~np.all(fog.vertices[fog.faces][:, :, 0] == 10.0, axis=1)
    endless = (1, triangles.mesh_of(fog.vertices, fog.faces[keep]))
    walls = rig.across(20.0), rig.across(2.0, of=1, thickness=0.1)
    of = {"materials": (rig.lambert(), rig.glass()), "media": (AIR, FOG)}
    clear, hazy = (
        rig.capture(rig.scene(*walls, **of, volumes=volumes), rig.aim(azimuth, np.zeros(48)))
        for volumes in ((), (endless,))
    )
    assert (clear["material_id"] == 0).all()
    expected = np.exp(-2.0 * 0.05 * 15.0 / np.cos(azimuth))
    np.testing.assert_allclose(hazy["intensity"] / clear["intensity"], expected, rtol=2e-5)


def test_rays_of_slow_water_reach_as_far_as_the_range_says():
    """From water into air: the limit is one of the optical path, whatever it began in."""
    water, bath = Medium("water", 0.0, ior=1.33), rig.across(-5.0, thickness=7.0)
    seen = rig.scene(rig.across(12.0), media=(AIR, water), volumes=((1, bath),))
    expected = 2.0 * 1.33 + 10.0
    (point,) = rig.capture(seen, own={"max_range": expected + 0.001})
    assert point["range"] == pytest.approx(expected, rel=FLOAT32)
    assert len(rig.capture(seen, own={"max_range": expected - 0.001})) == 0
    # And a world of water with a bubble of air around the sensor.
    seen = rig.scene(rig.across(12.0), media=(water, AIR), volumes=((1, bath),))
    expected = 2.0 + 10.0 * 1.33
    assert len(rig.capture(seen, own={"max_range": expected + 0.001})) == 1
    assert len(rig.capture(seen, own={"max_range": expected - 0.001})) == 0


def moving_cloud():
    """Fog on a body, in front of a wall."""
    fog = triangles.box((-2.0, -5.1, -5.2), (2.0, 5.0, 5.0))
    wall = rig.across(30.0)
    cloud = MediumVolume(1, Instance(1, np.eye(4), -1, "fog", body=0))
    return Scene(
        "test",
        (wall, fog),
        (Instance(0, np.eye(4), 100),),
        (rig.lambert(),),
        bodies=(Body("cloud", (0.0, 0.0, 0.0)),),
        media=(AIR, FOG),
        volumes=(cloud,),
    )


@pytest.mark.parametrize(
    ("x", "way"), [(0.0, 2.0), (1.5, 3.5), (10.0, 4.0), (-1.0, 1.0), (-9.0, 0.0)]
)
def test_the_sensor_is_in_the_fog_that_moves_over_it(x, way):
    device = Lidar(LidarParameters(return_mode=ReturnMode.last), rig.aim())
    poses = poses_of(device.mount, rig.AT_ORIGIN[None])
    there = MovingBodies(np.array([[[x, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]]))
    with RayScene(moving_cloud(), 1) as rays:
        cloud = device.new_cloud()
        device.scan(rays, poses, 0, (0.0, 0.0), (0, 1), cloud, bodies=there)
        (point,) = cloud.points()
        assert point["intensity"] * math.pi / 0.8 == pytest.approx(
            math.exp(-2.0 * 0.05 * way), rel=FLOAT32
        )
        (home,) = device.capture(rays, rig.AT_ORIGIN).points()
        assert home["intensity"] * math.pi / 0.8 == pytest.approx(math.exp(-0.2), rel=FLOAT32)
