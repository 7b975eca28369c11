"""The quick caster: any division of a scene gives the same image to the bit."""

import os
import signal

import numpy as np
import pytest

from sensor_models.camera.depth.parameters import DepthCameraParameters, Projection
from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.caster.keys import FACET_BITS, MISS, MOST_FACETS
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.caster import CastError, PartsWriter, View, cast, read_parts, split
from sensor_models.tools.caster.caster import Nearest
from sensor_models.tools.caster.facets import FacetProperty
from sensor_models.tools.caster.part import Part
from sensor_models.tools.workers.cluster import ClusterPool
from sensor_models.tools.workers.local import LocalPool
from tests import oracles_rays as twin
from tests.clusters import local_cluster

#: Away from the world's origin: parts must have one origin in common.
FAR = np.array([40_000.0, -7_000.0, 300.0])
VIEW = View(DepthCameraParameters(width=90, height=50, horizontal_fov=1.3), (-10.0, 0.0, 2.0))


@pytest.fixture(scope="module")
def pool():
    with LocalPool(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def yard():
    return load_scene("yard")


def assert_same(one, other):
    for name, values in vars(one).items():
        np.testing.assert_array_equal(values, getattr(other, name), err_msg=name)


def cast_rays(parts, origins, directions):
    """All rays into all parts, here: t and facet."""
    nearest = Nearest((1, len(directions)), len(parts.bands))
    for number in np.random.default_rng(len(parts.parts)).permutation(len(parts.parts)):
        part = Part(parts, int(number))
        nearest.take(0, part.cast_rays(origins, directions))
        part.close()
    return nearest.image()


def in_groups(directory, corners, groups):
    """Triangles in parts of any membership, which the writer's own division would not make."""
    writer = PartsWriter(directory, origin=FAR)
    near = (corners.reshape(-1, 3) + FAR - FAR).astype(np.float32)
    faces = np.arange(3 * len(corners), dtype=np.uint32).reshape(-1, 3)
    for group in groups:
        writer.write(near, faces, np.sort(group), None)
    writer.facets = len(corners)
    return writer.finish()


@pytest.mark.acceptance("QC-1")
@pytest.mark.parametrize("count", [2, 3, 7, 50])
def test_qc_1_shuffled_parts_on_disk_give_the_same_bits(tmp_path, count):
    random = np.random.default_rng(1)
    corners = twin.random_triangles(random, 200).astype(float)
    origins = FAR + random.uniform(-12.0, 12.0, (500, 3))
    directions = twin.unit_vectors(random, 500)
    whole = cast_rays(in_groups(tmp_path / "1", corners, [np.arange(200)]), origins, directions)
    assert (whole.facet >= 0).sum() > 80
    member = random.permutation(np.arange(200) % count)
    groups = [np.flatnonzero(member == part) for part in range(count)]
    apart = cast_rays(in_groups(tmp_path / "n", corners, groups), origins, directions)
    assert_same(whole, apart)


@pytest.mark.acceptance("QC-3")
@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_qc_3_of_coincident_facets_the_lower_number_counts(tmp_path, count):
    random = np.random.default_rng(3)
    corners = twin.random_triangles(random, 12).astype(float)
    corners[9] = corners[4][[2, 0, 1]]
    inside = random.dirichlet([1.0, 1.0, 1.0], 64) @ corners[4]
    direction = twin.unit_vectors(random, 1)[0].astype(float)
    member = random.permutation(np.arange(12) % count)
    groups = [np.flatnonzero(member == part) for part in range(count)]
    parts = in_groups(tmp_path, corners, groups)
    found = cast_rays(parts, FAR + inside - 0.01 * direction, np.tile(direction, (64, 1)))
    assert (found.facet == 4).sum() > 50
    assert (found.facet != 9).all()


@pytest.mark.acceptance("QC-2")
def test_qc_2_a_seventh_band_is_refused(tmp_path, yard):
    with pytest.raises(ParameterError, match="bands = 7 is out of range, allowed is 1 to 6"):
        split(yard, tmp_path, 2, bands=[905e-9] * 7)


@pytest.mark.acceptance("QC-4")
def test_qc_4_values_of_nodes_are_interpolated(tmp_path):
    writer = PartsWriter(tmp_path, bands=[1e-6])
    nodes = np.array([[1.0, 0.0, 0.0], [1.0, 3.0, 0.0], [1.0, 0.0, 3.0]])
    writer.add(nodes, [[0, 1, 2]], np.array([[0.0], [0.3], [0.6]]))
    part = Part(writer.finish(), 0)
    hits = part.cast_rays((0.0, 1.0, 1.0), [[1.0, 0.0, 0.0]])
    np.testing.assert_allclose(hits.weights, [[1 / 3, 1 / 3]], rtol=2e-7)
    # exact but for u and v, which are float32
    u, v = hits.weights[0].astype(float)
    assert hits.values[0, 0] == pytest.approx(0.3 * u + 0.6 * v, abs=1e-12)


def test_a_key_orders_by_distance_and_then_by_facet():
    def key(distance, facet):
        bits = int(np.float32(distance).view(np.uint32))
        return bits << FACET_BITS | facet

    near, far = np.nextafter(np.float32(3.0), np.float32(0.0)), np.float32(3.0)
    keys = [key(1e-6, MOST_FACETS - 1), key(near, 7), key(far, 4), key(far, 9), key(1e30, 0), MISS]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    assert max(keys) < 1 << 64


def test_an_image_is_what_the_whole_scene_gives(tmp_path, yard, pool):
    """The ray engine with the whole scene as the oracle of range and normal."""
    image = cast(split(yard, tmp_path, 5, bands=[905e-9]), VIEW, pool)
    origin, directions = VIEW.rays(0, 50)
    with RayScene(yard) as rays:
        hits = rays.trace(origin, directions.reshape(50, 90, 3))
    assert np.isfinite(image.distance).mean() > 0.5
    np.testing.assert_allclose(image.distance, hits.t, rtol=3e-6)
    same = np.isclose(image.normal, hits.normal, atol=1e-3).all(axis=-1)
    assert same.mean() > 0.999  # the rest pass an edge
    known = np.array([m.at(905e-9).diffuse_reflectance for m in yard.materials], np.float32)
    seen = hits.material >= 0
    assert (image.values[seen, 0] == known[hits.material[seen]]).mean() > 0.999
    assert np.isnan(image.values[~seen]).all()


@pytest.fixture(scope="module")
def forgetful():
    """A pool that opens a part again each time."""
    with LocalPool(1, memory=1.0) as pool:
        yield pool


@pytest.fixture(scope="module")
def undivided(tmp_path_factory, yard, pool):
    return cast(split(yard, tmp_path_factory.mktemp("undivided"), 1, bands=[905e-9]), VIEW, pool)


@pytest.mark.acceptance("QC-1")
@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 50])
def test_images_do_not_depend_on_parts_and_workers(
    tmp_path, yard, pool, forgetful, undivided, count
):
    parts = split(yard, tmp_path, count, bands=[905e-9])
    assert len(parts.parts) == count
    assert max(part.facets for part in parts.parts) <= 1 + parts.facets // count
    assert np.isfinite(undivided.distance).mean() > 0.5
    for some in (pool, forgetful):
        assert_same(undivided, cast(parts, VIEW, some))


def test_a_worker_that_is_killed_midway_changes_nothing(tmp_path, yard):
    parts = split(yard, tmp_path, 4)
    view = View(DepthCameraParameters(width=1000, height=800), VIEW.position)
    with LocalPool(2) as pool:
        whole = cast(parts, view, pool)
        before = pool.processes
        seen = []

        def progress(done, total):
            seen.append((done, total))
            if done == 3:
                os.kill(before[0], signal.SIGKILL)

        assert_same(whole, cast(parts, view, pool, progress))
        assert before[0] not in pool.processes
    assert [done for done, _ in seen] == list(range(1, seen[-1][1] + 1))


def test_a_cluster_gives_the_same_image_also_when_a_worker_is_killed(tmp_path, yard, pool):
    parts = split(yard, tmp_path, 3)
    view = View(DepthCameraParameters(width=1000, height=800), VIEW.position)
    with local_cluster(2) as cluster, ClusterPool(cluster.scheduler_address) as many:
        processes = [worker.process.pid for worker in cluster.workers.values()]

        def progress(done, _total):
            if done == 2:
                os.kill(processes[0], signal.SIGKILL)

        found = cast(parts, view, many, progress)
    assert_same(cast(parts, view, pool), found)


def test_bodies_stand_where_the_scene_has_them(tmp_path, yard, pool):
    assert len(yard.bodies) > 0
    parts = split(yard, tmp_path, 1)
    count = sum(len(yard.meshes[instance.mesh].faces) for instance in yard.instances)
    assert parts.facets == count


def test_properties_of_nodes_and_of_materials_go_together(tmp_path):
    square = twin.mesh_of([(5, -1, -1), (5, 1, -1), (5, 1, 1), (5, -1, 1)], [[0, 1, 2], [0, 2, 3]])
    height = FacetProperty(square.vertices[:, 2:].astype(float), square.faces)
    parts = split(twin.scene_of(square), tmp_path, 1, bands=[905e-9], properties={0: height})
    part = Part(parts, 0)
    directions = np.array([[5.0, 0.3, z] for z in np.linspace(-0.9, 0.9, 7)])
    hits = part.cast_rays((0.0, 0.0, 0.0), directions)
    np.testing.assert_allclose(hits.values[:, 0], directions[:, 2], atol=1e-6)
    with pytest.raises(ParameterError, match="mesh 0 has 1 bands, not 2"):
        split(twin.scene_of(square), tmp_path, 1, bands=[905e-9, 1e-6], properties={0: height})


def test_a_scene_is_written_piece_by_piece(tmp_path):
    """Pieces that come one after the other are the same as one mesh of all."""
    random = np.random.default_rng(5)
    corners = twin.random_triangles(random, 90).astype(float)
    faces = np.arange(270, dtype=np.uint32).reshape(-1, 3)
    whole = PartsWriter(tmp_path / "whole")
    whole.add(corners.reshape(-1, 3), faces)
    pieces = PartsWriter(tmp_path / "pieces", most_facets=10)
    for first in range(0, 90, 30):
        pieces.add(corners[first : first + 30].reshape(-1, 3), faces[:30])
    one, many = whole.finish(), pieces.finish()
    assert (len(one.parts), len(many.parts)) == (1, 9)
    assert max(part.facets for part in many.parts) <= 10
    origins = random.uniform(-12.0, 12.0, (300, 3))
    directions = twin.unit_vectors(random, 300)
    assert_same(cast_rays(one, origins, directions), cast_rays(many, origins, directions))


def test_a_directory_that_was_not_finished_is_refused(tmp_path, yard):
    writer = PartsWriter(tmp_path)
    writer.add(np.eye(3), [[0, 1, 2]])
    with pytest.raises(ParameterError, match=r"holds no parts\.json: .* not finished"):
        read_parts(tmp_path)
    writer.finish()
    assert read_parts(tmp_path).facets == 1
    (tmp_path / "parts.json").write_text('{"format": 1}')
    with pytest.raises(ParameterError, match="is no list of parts"):
        read_parts(tmp_path)


def test_a_part_that_is_missing_is_named(tmp_path, yard, pool):
    parts = split(yard, tmp_path, 2)
    (tmp_path / "part-00001" / "faces.npy").unlink()
    with pytest.raises(CastError, match=r"part-00001.faces\.npy"):
        cast(parts, VIEW, pool)


def test_what_does_not_fit_is_refused(tmp_path):
    writer = PartsWriter(tmp_path, bands=[1e-6])
    with pytest.raises(ParameterError, match="face with vertex 3 of 3 vertices"):
        writer.add(np.eye(3), [[0, 1, 3]], [[1.0]])
    with pytest.raises(ParameterError, match="values are missing"):
        writer.add(np.eye(3), [[0, 1, 2]])
    with pytest.raises(ParameterError, match="fit neither 1 facets nor 3 nodes"):
        writer.add(np.eye(3), [[0, 1, 2]], [[1.0], [2.0]])


def test_a_panorama_goes_around(tmp_path, yard, pool):
    around = DepthCameraParameters(
        width=64, height=4, projection=Projection.spherical, azimuth=(-np.pi, np.pi)
    )
    image = cast(split(yard, tmp_path, 2), View(around, (0.0, 0.0, 2.0)), pool)
    np.testing.assert_array_equal(image.distance[:, 0], image.distance[:, -1])
