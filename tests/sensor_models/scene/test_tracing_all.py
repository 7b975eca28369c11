"""All surfaces along rays, and what volumes a point is in."""

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.scene.model import Body, Instance, Medium, MediumVolume
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin


def test_all_surfaces_are_those_of_single_intersections():
    random = np.random.default_rng(1)
    meshes = [twin.mesh_of_corners(twin.random_triangles(random, 150, size=6.0)) for _ in range(2)]
    instances = [Instance(0, np.eye(4), 1), Instance(1, np.eye(4), 2, body=0)]
    scene = twin.scene_of(*meshes, instances=instances, bodies=(Body("on"),))
    directions = twin.unit_vectors(random, 1000)
    with RayScene(scene, threads=2) as rays:
        found, hits = rays.trace_all((0, 0, 0), directions, max_hits=64)
    soup = twin.soup_of(scene)
    crossed = twin.crossings(soup, (0, 0, 0), directions)
    clear = ~twin.grazes(crossed, 1e-5)
    count = np.isfinite(crossed.t).sum(axis=1)
    assert count.max() > 5
    np.testing.assert_array_equal(found[clear], count[clear])
    for ray in np.flatnonzero(clear):
        order = np.argsort(crossed.t[ray])[: count[ray]]
        np.testing.assert_allclose(hits.t[ray, : count[ray]], crossed.t[ray, order], atol=1e-4)
        np.testing.assert_array_equal(hits.instance[ray, : count[ray]], soup.instance[order])
        np.testing.assert_array_equal(hits.primitive[ray, : count[ray]], soup.primitive[order])
        assert (hits.t[ray, count[ray] :] == np.inf).all()


def layers(count):
    """Squares across the x axis at 1, 2, ... m, in an order that is none."""
    order = np.random.default_rng(0).permutation(count)
    squares = [
        twin.mesh_of(
            [(1 + k, -9, -9), (1 + k, 9, -9), (1 + k, 9, 9), (1 + k, -9, 9)],
            [[0, 1, 2], [0, 2, 3]],
        )
        for k in order
    ]
    return twin.scene_of(*squares), order


@pytest.mark.parametrize("most", [1, 2, 7, 30, 31])
def test_the_nearest_are_kept_and_all_are_counted(most):
    scene, order = layers(30)
    directions = [[1.0, 0.01, 0.02]] * 50
    with RayScene(scene) as rays:
        found, hits = rays.trace_all((0, 0, 0), directions, max_hits=most)
        nearest = rays.trace((0, 0, 0), directions)
    assert (found == 30).all()
    kept = min(most, 30)
    np.testing.assert_array_equal(hits.t[:, :kept], np.tile(1.0 + np.arange(kept), (50, 1)))
    np.testing.assert_array_equal(order[hits.instance[0, :kept]], np.arange(kept))
    for one, other in zip(nearest, hits, strict=True):
        np.testing.assert_array_equal(one, other[:, 0])


def test_coincident_surfaces_are_all_found_in_the_order_of_the_scene():
    square = [(1, -1, -1), (1, 1, -1), (1, 1, 1)]
    scene = twin.scene_of(*(twin.mesh_of(square, [[0, 1, 2]]) for _ in range(20)))
    with RayScene(scene) as rays:
        found, hits = rays.trace_all((0, 0, 0), [[1.0, 0.5, -0.2]] * 17, max_hits=20)
    assert (found == 20).all()
    np.testing.assert_array_equal(hits.instance, np.tile(np.arange(20), (17, 1)))


def test_all_surfaces_of_a_grid_lie_within_the_range():
    scene, _ = layers(10)
    grid = np.tile(np.array([1.0, 0.0, 0.0]), (5, 6, 1))
    with RayScene(scene) as rays:
        found, hits = rays.trace_all((0.5, 0.1, 0.2), grid, 4.75, max_hits=8)
    np.testing.assert_array_equal(found, np.full((5, 6), 5))
    assert hits.normal.shape == (5, 6, 8, 3)
    np.testing.assert_allclose(hits.t[4, 5], [0.5, 1.5, 2.5, 3.5, 4.5, *[np.inf] * 3], rtol=1e-6)


@pytest.mark.parametrize("most", [0, -1, 1025])
def test_a_number_of_hits_out_of_range_is_refused(most):
    scene, _ = layers(1)
    with RayScene(scene) as rays, pytest.raises(ParameterError, match="max_hits"):
        rays.trace_all((0, 0, 0), [[1.0, 0.0, 0.0]], max_hits=most)


def foggy_scene(**more):
    """A fog bank of 10 m with a rain cell of 4 m in it, and a dust ball apart from both."""
    meshes = (
        twin.box((-5, -5, -5), (5, 5, 5)),
        twin.box((-2, -2, -2), (2, 2, 2)),
        twin.sphere(2.0, rings=16),
    )
    media = tuple(Medium(name) for name in ("air", "fog", "rain", "dust"))
    volumes = (
        MediumVolume(2, Instance(1, np.eye(4), 11)),
        MediumVolume(1, Instance(0, np.eye(4), 10)),
        MediumVolume(3, Instance(2, twin.shifted(20, 0, 0), 12, body=more.pop("dust_body", -1))),
    )
    wall = twin.box((30, -9, -9), (31, 9, 9))
    return twin.scene_of(
        *meshes, wall, instances=[Instance(3, np.eye(4), 1)], media=media, volumes=volumes, **more
    )


def test_the_medium_is_that_of_the_innermost_volume():
    points = [(0, 0, 0), (3, 0, 0), (6, 0, 0), (20, 1, 0), (22.5, 0, 0), (-4.9, 4.9, -4.9)]
    with RayScene(foggy_scene(), threads=2) as rays:
        np.testing.assert_array_equal(rays.medium_at(points), [2, 1, 0, 3, 0, 1])
        np.testing.assert_array_equal(rays.medium_at((0, 0, 0)), [2])
        inside = rays.volumes_at(points)
    np.testing.assert_array_equal(inside[:4], [[1, 0, -1], [1, -1, -1], [-1] * 3, [2, -1, -1]])


def test_media_are_found_at_random_points():
    random = np.random.default_rng(2)
    points = random.uniform(-7, 7, (20_000, 3))
    with RayScene(foggy_scene(), threads=2) as rays:
        media = rays.medium_at(points)
    reach = np.abs(points).max(axis=1)
    np.testing.assert_array_equal(media, np.where(reach < 2, 2, np.where(reach < 5, 1, 0)))


def test_points_on_lines_of_symmetry_are_found_inside():
    # A ray along an edge or a diagonal of a face would meet two facets at one crossing.
    points = np.linspace(-1.9, 1.9, 20)[:, None] * np.array([[1.0, 1.0, 1.0]])
    with RayScene(foggy_scene()) as rays:
        assert (rays.medium_at(points) == 2).all()
        assert (rays.medium_at(points * [1, 0, 0]) == 2).all()


def test_a_point_that_is_not_finite_has_no_medium():
    with RayScene(foggy_scene()) as rays:
        found = rays.medium_at([(np.nan, 0, 0), (0, np.inf, 0), (0, 0, 0)])
    np.testing.assert_array_equal(found, [-1, -1, 2])


def test_without_volumes_the_first_medium_is_everywhere():
    with RayScene(twin.scene_of(twin.box((1, -1, -1), (2, 1, 1)))) as rays:
        np.testing.assert_array_equal(rays.medium_at([(0, 0, 0), (1.5, 0, 0)]), [0, 0])
        assert rays.volumes_at([(0, 0, 0)]).shape == (1, 0)


def test_a_volume_moves_with_its_body():
    bodies = (Body("storm", (0.0, 10.0, 0.0)),)
    with RayScene(foggy_scene(bodies=bodies, dust_body=0)) as rays:
        assert rays.medium_at((20, 10, 0))[0] == 3
        rays.move(0, (0, -30, 0), (1, 0, 0, 0))
        rays.commit()
        np.testing.assert_array_equal(rays.medium_at([(20, 10, 0), (20, -30, 0)]), [0, 3])


def test_volumes_stop_no_light():
    with RayScene(foggy_scene()) as rays:
        hits = rays.trace((0, 0, 0), [[1.0, 0.0, 0.0]])
    assert hits.t[0] == 30.0
    assert hits.instance[0] == 0
    assert hits.entity_id[0] == 1
