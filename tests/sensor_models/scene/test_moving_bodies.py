"""Rays into bodies that move: each ray sees them where they are when it is sent."""

import threading

import numpy as np
import pytest

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_instance,
    hit_normal,
    hit_smooth_normal,
    is_hit,
)
from sensor_models.kernels.tracing.instances import put_ball
from sensor_models.kernels.tracing.packets import BLOCK, new_packet
from sensor_models.kernels.tracing.rays import claim, nearest_allowed, set_ray, trace_surfaces
from sensor_models.scene import acceleration
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import Body, Instance, Medium, MediumVolume
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin

SPANS = 8


@njit(nogil=True)
def _send(view, claims, origins, directions, times, smooth, t, instance, normal):
    """The nearest surface along rays of different instants, in packets of their own order."""
    packet = new_packet()
    chunk = claim(claims)
    while chunk * WIDTH < len(directions):
        for lane in range(WIDTH):
            ray = min(chunk * WIDTH + lane, len(directions) - 1)
            origin = origins[ray, 0], origins[ray, 1], origins[ray, 2]
            direction = directions[ray, 0], directions[ray, 1], directions[ray, 2]
            t_min = nearest_allowed(view, origin)
            set_ray(view, packet, lane, origin, direction, t_min, np.inf, times[ray])
        trace_surfaces(view, packet, False)
        for lane in range(WIDTH):
            ray = chunk * WIDTH + lane
            if ray < len(directions) and is_hit(packet, lane):
                t[ray] = hit_distance(packet, lane)
                instance[ray] = hit_instance(view, packet, lane)
                if smooth:
                    normal[ray] = hit_smooth_normal(view, packet, lane)
                else:
                    normal[ray] = hit_normal(view, packet, lane)
        chunk = claim(claims)


def send(rays, origins, directions, times, bodies, smooth=False):
    """Distances, instances and normals of what rays meet."""
    count = len(directions)
    t, instance = np.full(count, np.inf, np.float32), np.full(count, -1, np.int32)
    normal = np.zeros((count, 3))
    starts = np.ascontiguousarray(np.broadcast_to(np.asarray(origins, float), (count, 3)))
    along, at = np.asarray(directions, float), np.asarray(times, float)
    rays.run(_send, starts, along, at, smooth, t, instance, normal, bodies=bodies)
    return t, instance, normal


def tumbling(random, count):
    """A scene with triangles that stand and bodies with triangles, and poses on their way."""
    meshes = [twin.mesh_of_corners(twin.random_triangles(random, 60, 12.0)) for _ in range(2)]
    meshes.append(twin.mesh_of_corners(twin.random_triangles(random, 12, 2.0, 1.5)))
    turned = np.eye(4)
    turned[:3, :3] = np.diag([1.5, -0.7, 1.0])  # mirrored
    turned[:3, 3] = 1.0, -0.5, 0.3
    instances = [Instance(0, np.eye(4), 1), Instance(1, turned, 2)]
    for body in range(count):
        instances += [Instance(2, np.eye(4), 3, body=body), Instance(2, turned, 4, body=body)]
    bodies = tuple(Body(f"body {k}", tuple(random.uniform(-9, 9, 3))) for k in range(count))
    poses = np.zeros((SPANS + 1, count, 7))
    for body in range(count):
        axis, start = random.normal(size=3), random.uniform(-8, 8, 3)
        for knot in range(SPANS + 1):
            angle = 0.1 * knot * body
            poses[knot, body] = [*start + knot * axis, *twin.turned_quaternion(axis, angle)]
    return twin.scene_of(*meshes, instances=instances, bodies=bodies), poses


@pytest.mark.parametrize("instanced", [False, True])
def test_rays_of_all_instants_meet_what_is_there_then(monkeypatch, instanced):
    """Against every triangle where it is then, one instant after the other; 40 bodies, so that
    they take several blocks."""
    if instanced:
        monkeypatch.setattr(acceleration, "MOST_COPIED_TO_BODIES", 0)
    random = np.random.default_rng(11)
    scene, poses = tumbling(random, 40)
    count = 450
    origins, directions = random.uniform(-9, 9, (count, 3)), twin.unit_vectors(random, count)
    knot = np.arange(count) % (SPANS + 1)  # neighbours in a packet are of different instants
    bodies = MovingBodies(poses, 0, SPANS)
    with RayScene(scene, 2) as rays:
        t, instance, normal = send(rays, origins, directions, knot / SPANS, bodies)
    hits = 0
    for k in range(SPANS + 1):
        own = np.flatnonzero(knot == k)
        soup = twin.soup_of(scene, poses[k])
        found = twin.crossings(soup, origins[own], directions[own])
        sure = ~twin.grazes(found, 1e-4)
        column = twin.nearest(found)[sure]
        own, t_true = own[sure], found.t[sure].min(axis=1)
        np.testing.assert_allclose(t[own], t_true, rtol=1e-5, atol=1e-5)
        hit = column >= 0
        clear = np.sort(found.t[sure], axis=1)[:, 1] > t_true + 1e-4
        np.testing.assert_array_equal(
            instance[own[hit & clear]], soup.instance[column[hit & clear]]
        )
        corners = soup.corners[column[hit & clear]]
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        cross /= np.linalg.norm(cross, axis=1, keepdims=True)
        # A mirrored mesh is seen from outside as before.
        agree = np.abs((cross * normal[own[hit & clear]]).sum(axis=1))
        np.testing.assert_allclose(agree, 1.0, atol=1e-5)
        hits += (soup.instance[column[hit]] >= 2).sum()
    assert hits > 100


def test_normals_turn_with_the_body_and_look_outward():
    ball = twin.sphere(1.0, 24)
    scene = twin.scene_of(ball, instances=[Instance(0, np.eye(4), 1, body=0)], bodies=(Body("b"),))
    poses = np.zeros((2, 1, 7))
    poses[:, 0, 3:] = twin.turned_quaternion((0, 0, 1), 0.0), twin.turned_quaternion((1, 2, 3), 0.2)
    directions = -twin.unit_vectors(np.random.default_rng(2), 300).astype(float)
    for smooth, off in ((False, 0.2), (True, 0.02)):  # facets of a ball of 24 rings
        with RayScene(scene, 1) as rays:
            times = np.linspace(0.0, 1.0, 300)
            _, _, normal = send(
                rays, -5.0 * directions, directions, times, MovingBodies(poses, 0, 1), smooth
            )
        np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-6)
        assert ((normal * -directions).sum(axis=1) > 1.0 - off).all()


def test_a_ray_has_the_same_bits_in_any_company():
    random = np.random.default_rng(5)
    scene, poses = tumbling(random, 20)
    count = 900
    origins, directions = random.uniform(-9, 9, (count, 3)), twin.unit_vectors(random, count)
    times = random.uniform(0.0, 1.0, count)
    bodies = MovingBodies(poses, 0, SPANS)
    with RayScene(scene, 2) as rays:
        t, instance, normal = send(rays, origins, directions, times, bodies)
        for _ in range(3):
            order = random.permutation(count)
            other = send(rays, origins[order], directions[order], times[order], bodies)
            assert other[0].tobytes() == t[order].tobytes()
            assert other[1].tobytes() == instance[order].tobytes()
            assert other[2].tobytes() == normal[order].tobytes()
        # Nor do the knots before and after those that a ray lies between matter.
        early = times < 0.5
        part = MovingBodies(poses[: SPANS // 2 + 1], 0, SPANS)
        late = MovingBodies(poses[SPANS // 2 :], SPANS // 2, SPANS)
        for some, knots in ((early, part), (~early, late)):
            other = send(rays, origins[some], directions[some], times[some], knots)
            assert other[0].tobytes() == t[some].tobytes()
    assert (instance >= 2).sum() > 100


@pytest.mark.parametrize("none", [np.inf, np.nan, 1e200])
def test_lanes_without_a_ray_hide_no_body_from_their_neighbours(none):
    random = np.random.default_rng(6)
    scene, poses = tumbling(random, 20)
    # side by side, so that a cone holds the rays of a packet and bodies beside it are left out
    axes = np.repeat(twin.unit_vectors(random, 60), WIDTH, axis=0)
    directions = axes + 0.02 * random.normal(size=axes.shape)
    times, bodies = random.uniform(0.0, 1.0, len(axes)), MovingBodies(poses, 0, SPANS)
    broken, whole = directions.copy(), np.arange(len(axes)) % 3 != 1
    broken[~whole] = none
    with RayScene(scene, 1) as rays:
        t, instance, _ = send(rays, np.zeros(3), directions, times, bodies)
        other = send(rays, np.zeros(3), broken, times, bodies)
    assert (instance[whole] >= 2).sum() > 50, "bodies are met"
    assert other[0][whole].tobytes() == t[whole].tobytes()
    assert other[1][whole].tobytes() == instance[whole].tobytes()


def test_sensors_in_threads_see_bodies_at_instants_of_their_own():
    random = np.random.default_rng(6)
    scene, poses = tumbling(random, 20)
    directions = twin.unit_vectors(random, 2000)
    times, wrong = np.zeros(2000), []
    with RayScene(scene, 2) as rays:
        still = [MovingBodies(poses[k : k + 1]) for k in range(SPANS + 1)]
        alone = [send(rays, (0, 0, 0), directions, times, bodies)[0] for bodies in still]

        def look(first):
            for turn in range(40):
                k = (first + turn) % (SPANS + 1)
                found = send(rays, (0, 0, 0), directions, times, still[k])[0]
                if found.tobytes() != alone[k].tobytes():
                    wrong.append(k)

        threads = [threading.Thread(target=look, args=(first,)) for first in (0, 3, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert len({distances.tobytes() for distances in alone}) == SPANS + 1


def test_two_runs_are_under_way_at_the_same_time():
    """Each of two kernels waits for the other, with bodies elsewhere: nobody holds anybody off."""
    scene, poses = tumbling(np.random.default_rng(7), 2)
    meet, met = threading.Barrier(2), []

    def kernel(view, _claims):
        meet.wait(60.0)
        met.append(float(view.bodies.poses[0, 0, 9]))

    with RayScene(scene, 1) as rays:
        threads = [
            threading.Thread(target=rays.run, args=(kernel,), kwargs={"bodies": bodies})
            for bodies in (MovingBodies(poses[:1]), MovingBodies(poses[-1:]))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(met) == sorted([poses[0, 0, 0], poses[-1, 0, 0]])


def crowd(count, seed):
    """Many boxes and their poses: some near, some far, pairs in one place."""
    random = np.random.default_rng(seed)
    scene = twin.scene_of(
        twin.box((-2.0, -1.0, -0.7), (2.0, 1.0, 0.7)),
        instances=[Instance(0, np.eye(4), k, body=k) for k in range(count)],
        bodies=tuple(Body(f"car {k}") for k in range(count)),
    )
    poses = np.zeros((SPANS + 1, count, 7))
    reach = 10.0 ** random.uniform(0.7, 5.0, (count, 1))
    poses[:, :, :3] = reach * random.normal(size=(count, 3)) * (1.0, 1.0, 0.05)
    poses[:, :, :3] += np.linspace(0.0, 1.0, SPANS + 1)[:, None, None] * random.normal(
        size=(count, 3)
    )
    turns = random.normal(size=(count, 4))
    poses[:, :, 3:] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    poses[:, 1::7] = poses[:, : count - 1 : 7][:, : poses[:, 1::7].shape[1]]
    return scene, poses


@pytest.mark.parametrize("count", [1, 16, 17, 300])
def test_many_bodies_in_groups_have_the_bits_of_one_after_the_other(count):
    """Narrow packets, which leave bodies out, against each body alone and rays that go all ways."""
    scene, poses = crowd(count, count)
    random = np.random.default_rng(5)
    aims = poses[0, random.integers(0, count, 40), :3] + random.normal(size=(40, 3))
    along = np.repeat(aims, WIDTH, axis=0) + 0.3 * random.normal(size=(40 * WIDTH, 3))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    times, order = random.uniform(0.0, 1.0, len(along)), random.permutation(len(along))
    moving, start = MovingBodies(poses, 0, SPANS), (0.1, 0.2, 0.3)
    with RayScene(scene, 2) as rays:
        t, instance, _ = send(rays, start, along, times, moving)
        nearest = np.full(len(along), np.inf, np.float32), np.full(len(along), -1, np.int32)
        scenes = rays.view.bodies.scenes
        kept = scenes.copy()
        for body in range(count):
            scenes[:] = 0
            scenes[body] = kept[body]
            alone, which, _ = send(rays, start, along[order], times[order], moving)
            assert set(which.tolist()) <= {-1, body}
            nearer = alone < nearest[0][order]  # of equal ones, the first
            nearest[0][order[nearer]], nearest[1][order[nearer]] = alone[nearer], which[nearer]
        scenes[:] = kept
    assert (instance >= 0).mean() > 0.2
    np.testing.assert_array_equal(t, nearest[0])
    np.testing.assert_array_equal(instance, nearest[1])


@pytest.mark.parametrize("far", [0.0, 1e4, 1e5, 6e6])
def test_a_body_that_was_driven_away_is_as_exact_as_at_home(far):
    """A box that turns, seen from 20 m, wherever both have gone."""
    scene = twin.scene_of(
        twin.box((-2, -1, -1), (2, 1, 1)),
        instances=[Instance(0, np.eye(4), 1, body=0)],
        bodies=(Body("car"),),
    )
    place = far * np.array([0.6, -0.8, 0.001])
    poses = np.zeros((2, 1, 7))
    for knot in range(2):
        turn = twin.turned_quaternion((0, 0, 1), 0.01 * knot)
        poses[knot, 0] = [*np.add(place, (20.0 + 0.8 * knot, 0.0, 0.0)), *turn]
    times = np.linspace(0.0, 1.0, 101)
    with RayScene(scene, 1) as rays:
        t, instance, _ = send(
            rays, place, np.tile([1.0, 0.0, 0.0], (101, 1)), times, MovingBodies(poses, 0, 1)
        )
    assert (instance == 0).all()
    # The face at -2 m of the box, whose normal is turned by w, on the axis through its middle.
    expected = 20.0 + 0.8 * times - 2.0 / np.cos(0.01 * times)
    np.testing.assert_allclose(t, expected, rtol=0.0, atol=1e-4)


def test_a_body_near_the_sensor_is_seen_however_far_both_have_gone():
    """In the world a ray begins a millionth of the way from its origin, 6 m here."""
    scene = twin.scene_of(
        twin.box((-2, -1, -1), (2, 1, 1)),
        instances=[Instance(0, np.eye(4), 1, body=0)],
        bodies=(Body("car"),),
    )
    poses = np.array([[[6e6, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]])
    with RayScene(scene, 1) as rays:
        t, _, _ = send(rays, (6e6 - 2.5, 0.0, 0.0), [[1.0, 0.0, 0.0]], [0.0], MovingBodies(poses))
    assert t[0] == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("members", [1, 2, BLOCK])
def test_a_ball_holds_the_boxes_of_its_bodies_and_no_more(members):
    random = np.random.default_rng(members)
    low = random.uniform(-50, 50, (members, 3))
    boxes = np.hstack([low, low + random.uniform(0.1, 9, (members, 3))])
    balls = np.zeros((2, 4, BLOCK))
    place = BLOCK + 3
    put_ball(boxes, np.arange(members), balls, place)
    middle, radius = balls[1, :3, 3], balls[1, 3, 3]
    least, most = boxes[:, :3].min(axis=0), boxes[:, 3:].max(axis=0)
    np.testing.assert_allclose(middle, 0.5 * (least + most), rtol=1e-12, atol=1e-12)
    assert radius == pytest.approx(np.linalg.norm(most - middle), rel=1e-12)


def test_what_lies_far_from_the_origin_of_its_body_is_exact():
    place = np.eye(4)
    place[:3, 3] = 3e6, -1e6, 0.0
    scene = twin.scene_of(
        twin.box((-1, -1, -1), (1, 1, 1)),
        instances=[Instance(0, place, 1, body=0)],
        bodies=(Body("globe"),),
    )
    poses = np.array([[[0.25, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]])
    with RayScene(scene, 1) as rays:
        t, _, _ = send(rays, (3e6 - 9.0, -1e6, 0.0), [[1.0, 0.0, 0.0]], [0.0], MovingBodies(poses))
    assert t[0] == pytest.approx(8.25, abs=1e-4)


def test_volumes_on_bodies_hold_points_at_the_times_of_those():
    fog = MediumVolume(1, Instance(0, np.eye(4), 9, body=0))
    scene = twin.scene_of(
        twin.box((-1, -1, -1), (1, 1, 1)),
        instances=[],
        bodies=(Body("cloud"),),
        media=(Medium(), Medium("fog", 0.1)),
        volumes=(fog,),
    )
    poses = np.zeros((2, 1, 7))
    poses[:, 0, 3], poses[1, 0, 0] = 1.0, 10.0
    bodies = MovingBodies(poses, 0, 1)
    with RayScene(scene, 1) as rays:
        for x in (0.0, 2.5, 9.5):
            times = np.linspace(0.0, 1.0, 50)
            points = np.tile([x, 0.1, 0.2], (50, 1))
            inside = rays.volumes_at(points, bodies=bodies, times=times)[:, 0] >= 0
            np.testing.assert_array_equal(inside, np.abs(x - 10.0 * times) < 1.0)
        assert rays.volumes_at([[0.0, 0.0, 0.0]])[0, 0] == 0


def test_rounding_of_what_stands_still_is_told_and_true():
    scene = twin.scene_of(twin.box((-1, -1, -1), (1, 1, 1)))
    moving = twin.scene_of(
        twin.box((-1, -1, -1), (1, 1, 1)), instances=[Instance(0, np.eye(4), 1, body=0)],
        bodies=(Body("car"),),
    )  # fmt: skip
    with RayScene(scene, 1) as rays, RayScene(moving, 1) as bodies:
        assert rays.rounding_at((10.0, -1000.0, 3.0)) < 1e-3
        assert rays.rounding_at((-2e4, 0.0, 0.0)) > 1e-3
        assert bodies.rounding_at((-2e4, 0.0, 0.0)) == 0.0
        for x in (-3e4 - 0.0009, -5e5 - 0.013, -7777.7):
            told = rays.rounding_at((x, 0.0, 0.0))
            found = rays.trace((x, 0.1, 0.2), [[1.0, 0.0, 0.0]]).t[0]
            assert abs(float(found) + 1.0 + x) <= 2.0 * told  # of the start, and of t
