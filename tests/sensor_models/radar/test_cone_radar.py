"""Obstacles of a scene and the cone radar over them, against all lines one after the other."""

import math

import numpy as np
import pytest

from sensor_models.core.frames import matrix_from_quaternion
from sensor_models.kernels.radar.cone import nearest_of_line
from sensor_models.radar import ConeParameters, ConeRadar, ObstacleShape, obstacles_of
from sensor_models.radar.cone import cone_of
from sensor_models.radar.obstacles import faces_of
from sensor_models.scene.model import Body, Instance
from tests import oracles_rays as twin

CORNERS = np.array([[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0], [5, 5, 5]], np.float32)


def test_two_triangles_of_a_parallelogram_are_one_face() -> None:
    triangles = np.array([[0, 1, 2], [0, 2, 3], [0, 1, 4], [0, 4, 3]], np.uint32)
    faces = faces_of(CORNERS, triangles).tolist()
    assert faces == [[0, 1, 2, 3], [0, 1, 4, 0], [0, 4, 3, 0]]


def test_a_triangle_is_part_of_one_face_only() -> None:
    strip = np.array([[0, 1, 2], [0, 2, 3], [0, 1, 2], [0, 2, 3], [0, 2, 3]], np.uint32)
    faces = faces_of(CORNERS, strip).tolist()
    assert faces == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 2, 3, 0]]


def test_faces_that_are_not_finite_are_left_out_and_counted() -> None:
    corners = np.vstack([CORNERS, [[np.nan, 0, 0]]]).astype(np.float32)
    mesh = twin.mesh_of(corners, [[0, 1, 2], [0, 1, 5]])
    obstacles = obstacles_of(twin.scene_of(mesh))
    assert obstacles.bad_faces == 1
    assert len(obstacles.tables.faces) == 1


def unit(random: np.random.Generator) -> np.ndarray:
    quaternion = random.normal(size=4)
    return quaternion / np.linalg.norm(quaternion)


@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_point_of_each_obstacle_is_that_of_all_lines(seed: int) -> None:
    random = np.random.default_rng(seed)
    meshes = [
        twin.mesh_of(random.normal(size=(30, 3)), random.integers(0, 30, (count, 3)))
        for count in (1, 5, 13)
    ]
    instances = []
    for number in range(9):
        transform = np.eye(4)
        transform[:3, :3] = random.normal(size=(3, 3))  # scaled unevenly and mirrored, too
        transform[:3, 3] = random.normal(0, 4, 3)
        # Two instances with one id are one obstacle; some stand and some are on bodies.
        instances.append(Instance(number % 3, transform, 10 + number // 2, body=number % 3 - 1))
    scene = twin.scene_of(*meshes, instances=tuple(instances), bodies=(Body("a"), Body("b")))
    bodies = np.array([[*random.normal(0, 3, 3), *unit(random)] for _ in range(2)])
    place = np.array([*random.normal(0, 2, 3), *unit(random)])
    own = ConeParameters(h_angle=2.8, v_angle=2.4, length=12.0, lines_per_face=9)
    expected: dict[int, float] = {}
    for instance in instances:
        at = scene.meshes[instance.mesh].vertices.astype(float)
        at = at @ instance.transform[:3, :3].T + instance.transform[:3, 3]
        if instance.body >= 0:
            pose = bodies[instance.body]
            at = at @ matrix_from_quaternion(pose[3:]).T + pose[:3]
        at = ((at - place[:3]) @ matrix_from_quaternion(place[3:]))[:, [1, 2, 0]]
        for a, b, c in scene.meshes[instance.mesh].faces:
            for share in np.arange(9) / 8:
                start, way = at[a], at[b] + share * (at[c] - at[b]) - at[a]
                distance, _ = nearest_of_line(cone_of(own), tuple(start), tuple(way), 0.0)
                least = expected.get(instance.entity_id, math.inf)
                expected[instance.entity_id] = min(least, distance)
    targets = ConeRadar(own).detect(obstacles_of(scene), place, bodies, 0.0).targets
    found = {target.entity_id: target.range for target in targets}
    assert [t.range for t in targets] == sorted(found.values())
    assert found == pytest.approx({k: d for k, d in expected.items() if d < math.inf}, abs=1e-9)
    assert found, "there is something to compare"


def test_the_box_around_a_mesh_turns_with_it() -> None:
    mesh = twin.mesh_of([[0, 0, 0], [2, 0, 0], [0, 2, 0]], [[0, 1, 2]])
    transform = np.eye(4)
    transform[:2, :2] = [[0, -1], [1, 0]]
    transform[:3, 3] = 5, 0, 0
    scene = twin.scene_of(mesh, instances=(Instance(0, transform, 1),))
    own = ConeParameters(h_angle=2.0, v_angle=2.0, lines_per_face=3)
    ranges = [
        ConeRadar(own)
        .detect(obstacles_of(scene, shape), (0, 0, 0, 1, 0, 0, 0), np.zeros((0, 7)), 0.0)
        .targets[0]
        .range
        for shape in ObstacleShape
    ]
    # The far corner of the box is at (3, 0) and (3, 2), that of the triangle at (3, 0).
    np.testing.assert_allclose(ranges, [3.0, 3.0, math.hypot(4.0, 1.0)], atol=1e-12)
