"""The nearest hit of each ray, against rays that are intersected one by one."""

import numpy as np
import pytest

from sensor_models.scene import acceleration
from sensor_models.scene.model import Body, Instance, Material, SurfaceKind, SurfaceParameters
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin

MISS = ("instance", "primitive", "entity_id", "material", "label")


def trace(scene, origins, directions, max_range=np.inf, **options):
    with RayScene(scene, threads=2) as rays:
        return rays.trace(origins, directions, max_range, **options)


def same_bits(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


def assert_like_the_twin(hits, soup, origins, directions):
    """Same mask and ids but at edges, t within 1e-4 m, barycentrics and normals."""
    found = twin.crossings(soup, origins, directions)
    column = twin.nearest(found)
    # A float32 ray of 30 m is off by some 1e-5 m, which is 1e-5 of a facet of 1 m.
    clear = ~twin.grazes(found, 1e-5)
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(np.isfinite(hits.t)[clear], (column >= 0)[clear])
    hit = clear & (column >= 0)
    assert hit.any()
    rows, columns = np.flatnonzero(hit), column[hit]
    np.testing.assert_array_equal(hits.instance[hit], soup.instance[columns])
    np.testing.assert_array_equal(hits.primitive[hit], soup.primitive[columns])
    assert np.abs(hits.t[hit] - found.t[rows, columns]).max() < 1e-4
    # Facets are seen at grazing angles, too, where a hit moves along them by more than the ray.
    assert np.quantile(np.abs(hits.u[hit] - found.u[rows, columns]), 0.99) < 1e-4
    assert np.quantile(np.abs(hits.v[hit] - found.v[rows, columns]), 0.99) < 1e-4
    a, b, c = soup.corners[columns].transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    # Edges of float32 with an error of 1e-6 m, of slivers too, which are some 0.01 m wide.
    assert np.abs(hits.normal[hit] - normal).max() < 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_hits_are_those_of_single_intersections(seed):
    random = np.random.default_rng(seed)
    scene = twin.scene_of(
        *(twin.mesh_of_corners(twin.random_triangles(random, 300)) for _ in range(3))
    )
    origins = random.uniform(-12.0, 12.0, (1500, 3))
    directions = twin.unit_vectors(random, 1500)
    hits = trace(scene, origins, directions)
    soup = twin.soup_of(scene)
    assert_like_the_twin(hits, soup, origins.astype(np.float32), directions)
    hit = hits.instance >= 0
    np.testing.assert_array_equal(hits.entity_id[hit], 100 + hits.instance[hit])


def test_a_miss_has_infinite_distance_and_no_ids():
    scene = twin.scene_of(twin.box((1, -1, -1), (2, 1, 1)))
    hits = trace(scene, (0, 0, 0), [[-1.0, 0.0, 0.0]])
    assert hits.t[0] == np.inf
    assert all(getattr(hits, name)[0] == -1 for name in MISS)
    assert not hits.normal.any()


@pytest.mark.parametrize(
    ("origin", "direction"),
    [
        ((0, 0, 0), (0, 0, 0)),
        ((0, 0, 0), (np.nan, 0, 1)),
        ((0, 0, 0), (np.inf, 0, 0)),
        ((np.nan, 0, 0), (1, 0, 0)),
        ((0, -np.inf, 0), (1, 0, 0)),
    ],
)
def test_what_is_no_ray_has_a_distance_that_is_no_number(origin, direction):
    scene = twin.scene_of(twin.box((1, -1, -1), (2, 1, 1)))
    hits = trace(scene, [origin, (0, 0, 0)], [direction, (1, 0, 0)])
    assert np.isnan(hits.t[0])
    assert all(getattr(hits, name)[0] == -1 for name in MISS)
    assert hits.t[1] == 1.0  # its neighbour in the packet is a ray


def test_a_hit_lies_beyond_the_start_and_within_the_range():
    scene = twin.scene_of(twin.box((1, -1, -1), (2, 1, 1)))
    ray = [[1.0, 0.0, 0.0]]
    assert trace(scene, (0, 0, 0), ray, 0.999).t[0] == np.inf
    assert trace(scene, (0, 0, 0), ray, 1.0).t[0] == 1.0
    # From the surface itself: what lies within 1e-6 m is the surface that the ray leaves.
    assert trace(scene, (1, 0, 0), ray).t[0] == 1.0
    assert trace(scene, (1 - 5e-7, 0, 0), ray).t[0] == pytest.approx(1.0, abs=1e-6)


def test_distance_counts_lengths_of_the_direction():
    scene = twin.scene_of(twin.box((8, -1, -1), (9, 1, 1)))
    assert trace(scene, (0, 0, 0), [[2.0, 0.0, 0.0]]).t[0] == 4.0


def test_triangles_without_area_are_never_hit():
    thin = twin.mesh_of([(1, 0, -1), (1, 0, 1), (1, 0, 0), (1, 0, 0)], [[0, 1, 2], [2, 2, 3]])
    hits = trace(twin.scene_of(thin), (0, 0, 0), [[1.0, 0.0, 0.0]])
    assert hits.t[0] == np.inf


def test_rays_do_not_slip_through_the_edges_of_a_closed_mesh():
    random = np.random.default_rng(5)
    ball = twin.sphere(3.0, rings=60)
    corners = ball.vertices[ball.faces]
    along = random.uniform(0.01, 0.99, (len(corners), 3, 1))
    edges = (1.0 - along) * corners + along * np.roll(corners, 1, axis=1)
    directions = np.concatenate([edges.reshape(-1, 3), twin.unit_vectors(random, 50_000)])
    hits = trace(twin.scene_of(ball), (0, 0, 0), directions)
    assert np.isfinite(hits.t).all()


def test_few_rays_slip_through_vertices_even_when_aimed_at_them():
    random = np.random.default_rng(5)
    ball = twin.sphere(3.0, rings=60)
    hits = trace(twin.scene_of(ball), (0, 0, 0), ball.vertices)
    assert np.isfinite(hits.t).mean() > 0.99
    shaken = ball.vertices + random.normal(0.0, 1e-5, ball.vertices.shape)
    assert np.isfinite(trace(twin.scene_of(ball), (0, 0, 0), shaken).t).all()


def test_a_grid_of_rays_has_the_bits_of_a_list():
    random = np.random.default_rng(6)
    scene = twin.scene_of(twin.mesh_of_corners(twin.random_triangles(random, 500)))
    grid = twin.unit_vectors(random, 37 * 41).reshape(37, 41, 3)  # tiles at its edges are cut
    with RayScene(scene, threads=2) as rays:
        tiles = rays.trace((0, 0, 0), grid)
        plain = rays.trace((0, 0, 0), grid.reshape(-1, 3))
        each = rays.trace(np.zeros((37 * 41, 3)), grid.reshape(-1, 3), coherent=True)
    assert tiles.t.shape == (37, 41)
    assert tiles.normal.shape == (37, 41, 3)
    assert same_bits(tiles, plain)
    assert same_bits(each, plain)


def test_neither_threads_nor_neighbours_change_a_bit():
    random = np.random.default_rng(7)
    scene = twin.scene_of(twin.mesh_of_corners(twin.random_triangles(random, 2000)))
    directions = twin.unit_vectors(random, 20_000)
    order = random.permutation(20_000)
    first = trace(scene, (0, 0, 0), directions)
    for threads in (1, 2, 3, 7):
        with RayScene(scene, threads) as rays:
            assert same_bits(rays.trace((0, 0, 0), directions), first)
            shuffled = rays.trace((0, 0, 0), directions[order])
            assert same_bits(shuffled, type(first)(*(array[order] for array in first)))


def test_results_go_into_arrays_of_an_earlier_trace():
    scene = twin.scene_of(twin.box((1, -1, -1), (2, 1, 1)))
    with RayScene(scene) as rays:
        hits = rays.trace((0, 0, 0), [[1.0, 0.0, 0.0]])
        again = rays.trace((0.5, 0, 0), [[1.0, 0.0, 0.0]], out=hits)
        assert again is hits
        assert hits.t[0] == 0.5
        with pytest.raises(ValueError, match="not of a trace of rays of the shape"):
            rays.trace((0, 0, 0), [[1.0, 0.0, 0.0]] * 2, out=hits)


@pytest.mark.parametrize(
    ("origins", "directions"),
    [
        ((0, 0, 0), (1, 0, 0)),
        ((0, 0, 0), [(1, 0)]),
        ([(0, 0, 0)] * 2, [(1, 0, 0)] * 3),
        ((0, 0), [(1, 0, 0)]),
    ],
)
def test_arrays_of_other_shapes_are_refused(origins, directions):
    scene = twin.scene_of(twin.box((1, -1, -1), (2, 1, 1)))
    with RayScene(scene) as rays, pytest.raises(ValueError, match="of shape"):
        rays.trace(origins, directions)


def test_no_rays_and_no_geometry_are_allowed():
    with RayScene(twin.scene_of(twin.mesh_of([], []))) as rays:
        assert rays.trace((0, 0, 0), np.empty((0, 3))).t.shape == (0,)
        assert rays.trace((0, 0, 0), [[1.0, 0.0, 0.0]]).t[0] == np.inf
    with RayScene(twin.scene_of()) as rays:
        assert rays.trace((0, 0, 0), [[1.0, 0.0, 0.0]]).t[0] == np.inf


def materials(count):
    return tuple(
        Material(f"material {k}", SurfaceKind.lambert, {905e-9: SurfaceParameters()})
        for k in range(count)
    )


def test_material_and_label_are_those_of_the_face():
    random = np.random.default_rng(8)
    mesh = twin.mesh_of(
        twin.random_triangles(random, 400),
        np.arange(1200),
        face_material=random.integers(0, 5, 400).astype(np.int32),
        face_label=random.integers(-1, 3, 400).astype(np.int32),
    )
    plain = twin.mesh_of_corners(twin.random_triangles(random, 100))
    instances = (Instance(0, np.eye(4), 7, label=55), Instance(1, np.eye(4), 8))
    scene = twin.scene_of(mesh, plain, instances=instances, materials=materials(5))
    hits = trace(scene, (0, 0, 0), twin.unit_vectors(random, 3000))
    first, second = hits.instance == 0, hits.instance == 1
    assert first.any()
    assert second.any()
    face = hits.primitive[first]
    np.testing.assert_array_equal(hits.material[first], mesh.face_material[face])
    label = np.where(mesh.face_label[face] == -1, 55, mesh.face_label[face])
    np.testing.assert_array_equal(hits.label[first], label)
    assert (hits.label[second] == -1).all()
    assert (hits.material[second] == 0).all()
    np.testing.assert_array_equal(np.unique(hits.entity_id[first | second]), [7, 8])


@pytest.mark.parametrize("copied", [10**9, 0])
@pytest.mark.parametrize("scale", [(1, 1, 1), (2, 3, 0.5), (-1, 1, 1), (-1, -2, -3)])
def test_instances_are_where_their_transforms_put_them(monkeypatch, copied, scale):
    monkeypatch.setattr(acceleration, "MOST_COPIED", copied)  # triangles brought there, or not
    random = np.random.default_rng(9)
    mesh = twin.mesh_of_corners(twin.random_triangles(random, 100, spread=1.0, size=0.5))
    transforms = [twin.shifted(5, 0, 0, scale), twin.shifted(-5, 1, 2), twin.shifted(0, 6, 0)]
    instances = [Instance(0, matrix, k) for k, matrix in enumerate(transforms)]
    scene = twin.scene_of(mesh, instances=instances)
    soup = twin.soup_of(scene)
    directions = twin.unit_vectors(random, 4000)
    hits = trace(scene, (0, 0, 0), directions)
    if np.prod(scale) < 0:  # a mirrored face is seen from the other side
        first = soup.instance == 0
        soup.corners[first] = soup.corners[first][:, [0, 2, 1]]
        mirrored = hits.instance == 0
        hits.u[mirrored], hits.v[mirrored] = hits.v[mirrored].copy(), hits.u[mirrored].copy()
    assert_like_the_twin(hits, soup, (0, 0, 0), directions)


@pytest.mark.parametrize("copied", [10**9, 0])
def test_normals_of_a_stretched_sphere_are_those_of_an_ellipsoid(monkeypatch, copied):
    monkeypatch.setattr(acceleration, "MOST_COPIED", copied)
    ball = twin.sphere(1.0, rings=90)
    axes = np.array([3.0, 1.0, 2.0])
    instances = [Instance(0, np.diag([*axes, 1.0]), 0), Instance(0, twin.shifted(99), 1)]
    scene = twin.scene_of(ball, instances=instances)
    directions = twin.unit_vectors(np.random.default_rng(10), 2000)
    flat = trace(scene, (0, 0, 0), directions)
    smooth = trace(scene, (0, 0, 0), directions, smooth_normals=True)
    normal = flat.t[:, None] * directions / axes**2
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    # Facets are 2 degrees wide; between the vertices' normals the error is of second order.
    assert np.abs(flat.normal - normal).max() < 0.1
    assert np.abs(smooth.normal - normal).max() < 2e-3
    np.testing.assert_allclose(np.linalg.norm(smooth.normal, axis=1), 1.0, atol=1e-6)


def test_smooth_normals_are_those_of_faces_where_a_mesh_has_none():
    scene = twin.scene_of(twin.box((1, -1, -1), (2, 1, 1)))
    hits = trace(scene, (0, 0, 0), [[1.0, 0.1, 0.2]], smooth_normals=True)
    np.testing.assert_array_equal(hits.normal, [[-1.0, 0.0, 0.0]])


def test_a_scene_far_from_the_origin_is_as_exact_as_one_around_it():
    random = np.random.default_rng(11)
    mesh = twin.mesh_of_corners(twin.random_triangles(random, 300))
    far = np.array([4.2e6, 1.7e5, 4.78e6])  # geocentric coordinates of a place in the Alps
    directions = twin.unit_vectors(random, 2000)
    here = trace(twin.scene_of(mesh), (0, 0, 0), directions)
    there = trace(
        twin.scene_of(mesh, instances=[Instance(0, twin.shifted(*far), 100)]), far, directions
    )
    hit = np.isfinite(here.t) & np.isfinite(there.t)
    # The offset is in whole metres within the scene's size: vertices round to 1e-6 m.
    assert (np.isfinite(here.t) != np.isfinite(there.t)).sum() <= 2
    same = hit & (here.primitive == there.primitive)
    assert same.sum() >= hit.sum() - 2
    assert np.quantile(np.abs(here.t[same] - there.t[same]), 0.99) < 1e-5


def test_moved_bodies_are_hit_where_they_are():
    random = np.random.default_rng(12)
    meshes = [
        twin.mesh_of_corners(twin.random_triangles(random, 80, spread=1.0, size=1.0))
        for _ in range(3)
    ]
    bodies = (Body("cart", (4.0, 0.0, 0.0)), Body("crane", (0.0, -5.0, 1.0)))
    instances = (
        Instance(0, np.eye(4), 1),
        Instance(1, twin.shifted(0.5, 0, 0), 2, body=0),
        Instance(2, twin.shifted(0, 0, 0.3, (1, 2, 1)), 3, body=1),
        Instance(2, np.eye(4), 4, body=0),
    )
    scene = twin.scene_of(*meshes, instances=instances, bodies=bodies)
    directions = twin.unit_vectors(random, 3000)
    origin = np.array([0.0, 0.0, 8.0])
    with RayScene(scene, threads=2) as rays:
        hits = rays.trace(origin, directions)
        assert_like_the_twin(hits, twin.soup_of(scene), origin, directions)
        for _ in range(3):
            poses = np.concatenate([random.uniform(-4, 4, (2, 3)), random.normal(size=(2, 4))], 1)
            rays.move_all(poses)
            before = rays.trace(origin, directions)
            assert same_bits(before, hits)  # until the poses are committed
            rays.commit()
            hits = rays.trace(origin, directions)
            poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
            assert_like_the_twin(hits, twin.soup_of(scene, poses), origin, directions)


def test_moving_one_body_leaves_the_other():
    bodies = (Body("one", (3.0, 0.0, 0.0)), Body("two", (0.0, 3.0, 0.0)))
    cube = twin.box((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5))
    instances = [Instance(0, np.eye(4), k, body=k) for k in range(2)]
    with RayScene(twin.scene_of(cube, instances=instances, bodies=bodies)) as rays:
        rays.move(0, (5.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
        rays.commit()
        hits = rays.trace((0, 0, 0), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        np.testing.assert_array_equal(hits.t, [4.5, 2.5])
        rays.move(1, (0.0, 3.0, 0.0), twin.turned_quaternion((0, 0, 1), np.pi / 4))
        rays.commit()
        hits = rays.trace((0, 0, 0), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        # float32 of an irrational corner
        np.testing.assert_allclose(hits.t, [4.5, 3.0 - np.sqrt(0.5)], atol=1e-6)
