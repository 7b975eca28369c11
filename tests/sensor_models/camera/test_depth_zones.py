"""Zones: pixels of several rays, which read one of the targets that they see."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.camera.depth.camera import DepthCamera
from sensor_models.camera.depth.parameters import (
    DepthCameraParameters,
    ZoneStatus,
    ZoneTarget,
)
from sensor_models.kernels.camera.depth import choose_target
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin
from tests.sensor_models.kernels.camera.test_depth import PLAIN

AT_ORIGIN = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
#: One zone as wide as those of the VL53L5CX, along the axis.
SIDE, WIDTH = 8, math.radians(5.625)
TANGENT = 2.0 * math.tan(WIDTH / 2.0) / SIDE  # from one column of rays to the next
ZONE = {
    "width": 1,
    "height": 1,
    "horizontal_fov": WIDTH,
    "rays_per_side": SIDE,
    "calculate_depth": False,
    "min_range": 0.02,
    "max_range": 4.0,
    "normalize_range": False,
}


def wall(x):
    return twin.box((x, -9.0, -9.0), (x + 0.1, 9.0, 9.0))


def post(x, left, right):
    return twin.box((x, left, -9.0), (x + 0.01, right, 9.0))


def zone(*meshes, **more):
    """Distance, status and entity of a zone that looks at these."""
    camera = DepthCamera(DepthCameraParameters(**ZONE | more), distances=True)
    with RayScene(twin.scene_of(*meshes), threads=1) as scene:
        frame = camera.capture(scene, AT_ORIGIN)
    return float(frame.distance[0, 0]), int(frame.status[0, 0]), int(frame.entity[0, 0])


def mean_range(x, inside):
    """The mean range of the rays that meet a plane at x, of those whose tangent is inside."""
    middles = (np.arange(SIDE) + 0.5 - SIDE / 2.0) * TANGENT
    across, up = np.meshgrid(middles, middles)
    return (x * np.sqrt(1.0 + across**2 + up**2))[inside(x * across)].mean()


def everywhere(y):
    return np.full(y.shape, True)


@pytest.mark.parametrize(("far", "status"), [(3.0, ZoneStatus.several), (10.0, ZoneStatus.one)])
def test_a_post_before_a_wall_is_read_wherever_the_wall_is(far, status):
    expected = mean_range(1.0, lambda y: np.abs(y) < 0.025)
    distance, found, entity = zone(post(1.0, -0.025, 0.025), wall(far))
    assert distance == pytest.approx(expected, rel=1e-6)
    assert (found, entity) == (status, 100)


def test_a_wall_by_itself_is_one_target():
    assert zone(wall(3.0))[:2] == (pytest.approx(mean_range(3.0, everywhere), rel=1e-6), 1)


def test_the_strongest_target_has_the_most_rays_over_the_square_of_its_distance():
    strongest = {"zone_target": ZoneTarget.strongest}
    # One column of 8, so 8 rays at 2 m and 56 at 2.9 m: 2 against 6.7.
    thin = post(2.0, 0.0, 2.0 * TANGENT)
    assert zone(thin, wall(2.9))[0] < 2.1
    distance, status, entity = zone(thin, wall(2.9), **strongest)
    behind = mean_range(2.9, lambda y: (y < 0.0) | (y > 2.9 * TANGENT))
    assert distance == pytest.approx(behind, rel=1e-6)
    assert (status, entity) == (ZoneStatus.several, 101)
    # Half of all rays: 32 at 1 m against 32 at 2.9 m.
    assert zone(post(1.0, 0.0, 9.0), wall(2.9), **strongest)[0] < 1.1


def test_a_slanted_surface_brings_back_less():
    # On the left half at 2 m, tilted by 75 degrees about the axis across: 32 / 4 cos 75 = 2.1.
    tilt = math.tan(math.radians(75.0))
    corners = [(2.0 - tilt * z, y, z) for y, z in ((0, 0.3), (9, 0.3), (9, -0.3), (0, -0.3))]
    slanted = twin.mesh_of(corners, [[0, 1, 2], [0, 2, 3]])
    # The others see a wall at 3.5 m face to face: 32 / 3.5^2 = 2.6.
    chosen = {"zone_target": ZoneTarget.strongest, "zone_separation": 1.0}
    assert zone(slanted, wall(3.5), **chosen)[2] == 101
    assert zone(post(2.0, 0.0, 9.0), wall(3.5), **chosen)[2] == 100


def test_the_mean_is_over_what_lies_within_the_greatest_distance():
    mean = {"zone_target": ZoneTarget.mean}
    near, far = (mean_range(x, everywhere) for x in (1.0, 3.0))
    half = post(1.0, 0.0, 9.0)
    assert zone(half, wall(3.0), **mean)[0] == pytest.approx((near + far) / 2.0, rel=1e-6)
    assert zone(half, wall(10.0), **mean)[:2] == (pytest.approx(near, rel=1e-6), ZoneStatus.one)


def test_nothing_in_reach_has_no_reading_and_what_is_too_near_says_so():
    assert np.isnan(zone(wall(10.0))[0])
    assert zone(wall(10.0))[1:] == (ZoneStatus.none, -1)
    assert np.isnan(zone(wall(0.01))[0])
    assert zone(wall(0.01))[1] == ZoneStatus.too_near


def test_targets_are_told_apart_from_the_separation_on():
    half = post(2.0, 0.0, 9.0)
    assert zone(half, wall(2.5))[1] == ZoneStatus.one
    assert zone(half, wall(2.7))[1] == ZoneStatus.several
    assert zone(half, wall(2.5), zone_separation=0.4)[1] == ZoneStatus.several


def naive_target(rays, separation, strongest):
    """Distance, value, nearest ray and status, of rays (value, distance, strength, number)."""
    targets, rest = [], sorted(rays)
    while rest:
        target = [ray for ray in rest if ray[0] <= rest[0][0] + separation]
        rest = rest[len(target) :]
        targets.append(target)
    if not targets:
        return math.inf, math.inf, -1, 0
    chosen = targets[0]
    for target in targets[1:] if strongest else ():
        if math.fsum(r[2] for r in target) > math.fsum(r[2] for r in chosen):
            chosen = target
    means = [math.fsum(r[k] for r in chosen) / len(chosen) for k in (1, 0)]
    return *means, chosen[0][3], min(len(targets), 2)


@given(
    st.lists(st.integers(0, 400), max_size=16, unique=True),
    st.sampled_from([0.0, 0.6, math.inf]),
    st.booleans(),
)
def test_targets_are_those_of_a_naive_search(values, separation, strongest):
    # Strengths are powers of two, whose sums are all different.
    rays = [(0.01 * v, 0.01 * v + 0.001, 2.0**k, k) for k, v in enumerate(values)]
    found = np.zeros((4, 16))
    found[:, : len(rays)] = np.array(rays).T if rays else 0.0
    task = PLAIN._replace(separation=separation, strongest=strongest)
    expected = naive_target(rays, separation, strongest)
    assert choose_target(task, found, len(rays)) == pytest.approx(expected, rel=1e-12)
