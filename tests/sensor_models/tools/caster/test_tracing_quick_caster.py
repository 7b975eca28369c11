"""The quick caster's rows: parts of a scene, coincident facets, bands, properties of facets."""

import itertools

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.scene.model import Body, Instance
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.caster.facets import MAX_BANDS, FacetProperty, check_bands
from tests import oracles_rays as twin

PARTS = [1, 2, 3, 7, 50]


def divide(random, count, parts):
    """Facet ids in as many parts, of random membership, ascending in each."""
    member = random.permutation(np.arange(count) % parts)
    return [np.flatnonzero(member == part) for part in range(parts)]


def cast_apart(corners, groups, origins, directions):
    """Each group of facets by itself, reduced by t and then by facet id: t, id, u, v."""
    best = np.full(len(directions), np.inf), np.full(len(directions), -1)
    weights = np.zeros((2, len(directions)))
    for group in groups:
        with RayScene(twin.scene_of(twin.mesh_of_corners(corners[group])), threads=2) as rays:
            hits = rays.trace(origins, directions)
        facet = np.where(hits.primitive >= 0, group[hits.primitive], -1)
        nearer = hits.t < best[0]
        lower = (hits.t == best[0]) & (facet >= 0) & (facet < best[1])
        wins = nearer | lower
        best[0][wins], best[1][wins] = hits.t[wins], facet[wins]
        weights[:, wins] = hits.u[wins], hits.v[wins]
    return *best, *weights


def cast_together(corners, groups, origins, directions, moving):
    """One scene in which each group is an instance, on a body of its own or at rest."""
    meshes = [twin.mesh_of_corners(corners[group]) for group in groups]
    bodies = tuple(Body(f"part {k}") for k in range(len(groups))) if moving else ()
    instances = [Instance(k, np.eye(4), k, body=k if moving else -1) for k in range(len(groups))]
    scene = twin.scene_of(*meshes, instances=instances, bodies=bodies)
    with RayScene(scene, threads=2) as rays:
        hits = rays.trace(origins, directions)
    ids = [
        groups[part][face] if part >= 0 else -1
        for part, face in zip(hits.instance, hits.primitive, strict=True)
    ]
    return hits.t, np.array(ids), hits.u, hits.v


@pytest.mark.acceptance("QC-1")
@pytest.mark.parametrize("parts", PARTS)
def test_qc_1_hits_do_not_depend_on_how_facets_are_divided(parts):
    random = np.random.default_rng(1)
    corners = twin.random_triangles(random, 200)
    origins = random.uniform(-12.0, 12.0, (500, 3))
    directions = twin.unit_vectors(random, 500)
    whole = cast_apart(corners, [np.arange(200)], origins, directions)
    assert (whole[1] >= 0).sum() > 80
    groups = divide(random, 200, parts)
    for divided in (
        cast_apart(corners, groups, origins, directions),
        cast_together(corners, groups, origins, directions, moving=False),
        cast_together(corners, groups, origins, directions, moving=True),
    ):
        for one, other in zip(whole, divided, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.acceptance("QC-2")
def test_qc_2_a_seventh_band_is_refused():
    assert FacetProperty(np.zeros((10, 6))).values.shape == (10, 6)
    with pytest.raises(ParameterError, match="bands = 7 is out of range, allowed is 1 to 6"):
        FacetProperty(np.zeros((10, 7)))
    for count in (0, MAX_BANDS + 1):
        with pytest.raises(ParameterError, match="bands"):
            check_bands(count)


@pytest.mark.acceptance("QC-3")
@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("corner_order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("seed", range(5))
def test_qc_3_of_coincident_facets_the_lower_id_is_hit(parts, corner_order, seed):
    random = np.random.default_rng(seed)
    corners = twin.random_triangles(random, 12)
    corners[9] = corners[4][list(corner_order)]
    inside = random.dirichlet([1.0, 1.0, 1.0], 64) @ corners[4].astype(float)
    direction = twin.unit_vectors(random, 1)[0].astype(float)
    origins = inside - 0.01 * direction  # nothing else lies between
    _, facets, _, _ = cast_apart(
        corners, divide(random, 12, parts), origins, np.tile(direction, (64, 1))
    )
    assert (facets == 4).sum() > 50  # the rest pass an edge
    assert (facets != 9).all()


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("copies", [2, 3, 40])
def test_of_coincident_instances_the_first_is_hit_at_any_place_in_a_packet(moving, copies):
    random = np.random.default_rng(4)
    mesh = twin.mesh_of_corners(twin.random_triangles(random, 60))
    bodies = (Body("on"),) if moving else ()
    instances = [Instance(0, np.eye(4), k, body=0 if moving else -1) for k in range(copies)]
    directions = twin.unit_vectors(random, 4000)
    with RayScene(twin.scene_of(mesh, instances=instances, bodies=bodies), threads=2) as rays:
        for coherent in (True, False):
            hits = rays.trace((0, 0, 0), directions, coherent=coherent)
            assert set(hits.instance) == {-1, 0}


def test_a_body_at_the_place_of_what_stands_still_is_hit_by_its_place_in_the_scene():
    cube = twin.box((1, -1, -1), (2, 1, 1))
    ray = [[1.0, 0.1, 0.2]] * 40
    for on in (0, 1):
        instances = [Instance(0, np.eye(4), k, body=0 if k == on else -1) for k in range(2)]
        scene = twin.scene_of(cube, instances=instances, bodies=(Body("on"),))
        with RayScene(scene) as rays:
            assert (rays.trace((0, 0, 0), ray).instance == 0).all()


def test_edges_that_facets_share_belong_to_the_lower():
    # Both triangles of a square contain its diagonal.
    square = twin.mesh_of([(1, -1, -1), (1, 1, -1), (1, 1, 1), (1, -1, 1)], [[0, 1, 2], [0, 2, 3]])
    along = np.linspace(-0.9, 0.9, 33)
    directions = np.stack([np.ones(33), along, along], axis=1)
    for mesh in (square, twin.mesh_of(square.vertices, square.faces[::-1])):
        with RayScene(twin.scene_of(mesh)) as rays:
            hits = rays.trace((0, 0, 0), directions)
            np.testing.assert_array_equal(hits.primitive, 0)
            np.testing.assert_array_equal(hits.t, 1.0)


@pytest.mark.acceptance("QC-4")
def test_qc_4_values_of_nodes_are_weighted_with_barycentrics():
    nodes = FacetProperty(np.array([[0.0], [0.3], [0.6]]), np.array([[0, 1, 2]], np.uint32))
    assert nodes.at(0, 1.0 / 3.0, 1.0 / 3.0)[0, 0] == pytest.approx(0.3, abs=1e-12)
    corners = nodes.at([0, 0, 0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])[:, 0]
    np.testing.assert_array_equal(corners, [0.0, 0.3, 0.6])


def test_values_of_facets_are_constant_on_them():
    facets = FacetProperty(np.array([[1.0, 10.0], [2.0, 20.0]]))
    found = facets.at([1, 0, -1], [0.1, 0.2, 0.0], [0.3, 0.1, 0.0])
    np.testing.assert_array_equal(found, [[2.0, 20.0], [1.0, 10.0], [np.nan, np.nan]])


def test_a_property_of_nodes_follows_the_place_of_the_hit():
    ball = twin.sphere(2.0, rings=40)
    height = FacetProperty(ball.vertices[:, 2:].astype(float), ball.faces)
    directions = twin.unit_vectors(np.random.default_rng(3), 2000)
    with RayScene(twin.scene_of(ball)) as rays:
        hits = rays.trace((0, 0, 0), directions)
    found = height.at(hits.primitive, hits.u, hits.v)[:, 0]
    # A linear property is met exactly, but for float32 in t, u and v.
    np.testing.assert_allclose(found, (hits.t * directions[:, 2]), atol=5e-6)
