"""Meshes that change their shape: each ray meets the one at its instant."""

import dataclasses

import numpy as np
import pytest

from sensor_models.scene import acceleration
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import Body, Clip, Instance, Mesh
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin
from tests.sensor_models.scene.test_moving_bodies import send

SPANS = 4
LENGTH = 0.8  # s, of the clip


def changing_mesh(random, triangles, postures):
    """Triangles whose corners go elsewhere, posture after posture."""
    still = twin.mesh_of_corners(twin.random_triangles(random, triangles, 3.0, 1.2))
    shifts = np.cumsum(random.normal(0.0, 0.3, (postures, *still.vertices.shape)), axis=0)
    shapes = (still.vertices + shifts - shifts[0]).astype(np.float32)
    return dataclasses.replace(still, postures=shapes, clip_length=LENGTH)


def shape_at(mesh, phase):
    """The mesh as it is then, by hand."""
    place = (phase - np.floor(phase)) * (len(mesh.postures) - 1)
    first = min(int(place), len(mesh.postures) - 2)
    one, other = mesh.postures[first].astype(float), mesh.postures[first + 1].astype(float)
    vertices = one + (place - first) * (other - one)
    return Mesh(vertices.astype(np.float32), mesh.faces, mesh.face_material)


@pytest.mark.parametrize("instanced", [False, True])
@pytest.mark.parametrize("clip", [Clip(), Clip(0.3, -1.7), Clip(0.1, 3.0, loop=False)])
def test_rays_meet_the_shape_of_their_instant(monkeypatch, instanced, clip):
    if instanced:
        monkeypatch.setattr(acceleration, "MOST_COPIED_TO_BODIES", 0)
    random = np.random.default_rng(3)
    mesh, rigid = (
        changing_mesh(random, 40, 7),
        twin.mesh_of_corners(twin.random_triangles(random, 20, 3.0)),
    )
    bodies = (Body("a", clip=clip), Body("b", clip=clip), Body("c"))
    turned = np.eye(4)
    turned[:3, :3] = np.diag([1.3, -0.8, 1.0])  # mirrored
    instances = [
        Instance(0, np.eye(4), 1, body=0),
        Instance(0, turned, 2, body=1),
        Instance(1, np.eye(4), 3, body=2),
    ]
    scene = twin.scene_of(mesh, rigid, instances=instances, bodies=bodies)
    poses = np.zeros((SPANS + 1, 3, 7))
    for knot in range(SPANS + 1):
        for body in range(3):
            quaternion = twin.turned_quaternion(np.array([1.0, 2.0, body]), 0.1 * knot)
            poses[knot, body] = [4.0 * body - 4.0, 0.3 * knot, 0.0, *quaternion]
    times = 0.05 + 0.1 * np.arange(SPANS + 1)
    count = 1500
    knot = np.arange(count) % (SPANS + 1)
    origins, directions = random.uniform(-7, 7, (count, 3)), twin.unit_vectors(random, count)
    moving = MovingBodies(poses, 0, SPANS, times)
    with RayScene(scene, 2) as rays:
        t, instance, normal = send(rays, origins, directions, knot / SPANS, moving)
    hits = 0
    for k in range(SPANS + 1):
        at = clip.start + clip.rate * times[k]
        phase = at / LENGTH if clip.loop else np.clip(at / LENGTH, 0.0, 1.0 - 1e-9)
        here = twin.scene_of(shape_at(mesh, phase), rigid, instances=instances, bodies=bodies)
        mine = knot == k
        with RayScene(here, 1) as still:
            want, owner, outward = send(
                still,
                origins[mine],
                directions[mine],
                0.0 * knot[mine],
                MovingBodies(poses[k : k + 1]),
            )
        np.testing.assert_array_equal(instance[mine], owner)
        np.testing.assert_allclose(t[mine], want, rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(normal[mine], outward, atol=2e-4)
        hits += int(np.isfinite(want).sum())
    assert hits > 100
