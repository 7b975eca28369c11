"""Ways that save time in a CCD picture, held against the long ways to the same light."""

import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.camera.ccd.parameters import Sharing
from sensor_models.kernels.camera.ccd import pools, tone
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.camera.test_ccd_mitsuba import EYE, SCENE, TARGET, looking
from tests.sensor_models.camera.test_ccd_sharing import a_corner, camera_of
from tests.sensor_models.scene_files import write_manifest

#: A ball of smoke behind the camera, where no ray of it goes: with it in the scene, trees follow
#: all rays.
ELSEWHERE = """
[media.smoke]
absorption = 0.5
[meshes.puff]
sphere = { radius = 1, segments = 12 }
[[volumes]]
mesh = "puff"
medium = "smoke"
position = [{0}, {1}, {2}]
"""
HAZE = '[world]\nmedium = "haze"\n[media.haze]\nabsorption = 0.02\n'


@pytest.mark.parametrize("sharing", list(Sharing))
def test_rays_that_no_tree_follows_find_the_same_light(tmp_path: Path, sharing: Sharing) -> None:
    behind = EYE + 5.0 * (EYE - TARGET)
    volume = ELSEWHERE
    for k in range(3):
        volume = volume.replace(f"{{{k}}}", str(behind[k]))
    pictures = []
    for text in (HAZE + SCENE, HAZE + SCENE + volume):
        with RayScene(load_scene(write_manifest(tmp_path, text))) as rays:
            pictures.append(camera_of(8, sharing, 64).expose(rays, looking(EYE, TARGET), 2))
    assert np.ptp(pictures[0].light) > 0.0
    for name in ("light", "distance", "entity", "label", "material"):  # owners are numbered anew
        one, other = (getattr(each, name) for each in pictures)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [2, 4, 5, 8])
def test_few_rays_go_to_all_sides(tmp_path: Path, count: int) -> None:
    """Fewer rays than points of a patch, which must not be those to one side."""
    pose = looking(EYE, TARGET)
    with RayScene(load_scene(a_corner(tmp_path))) as rays:
        truth = camera_of(512, Sharing.none, 48).expose(rays, pose).light.mean(dtype=float)
        camera = camera_of(count, side=48)
        found = [camera.expose(rays, pose, k).light.mean(dtype=float) for k in range(24)]
    spread = np.std(found) / math.sqrt(len(found))
    assert spread <= 0.003 * truth
    assert np.mean(found) == pytest.approx(truth, abs=4.0 * spread + 0.002 * truth)


def some_pool() -> pools.Pool:
    """Points at random about two places far apart, and rays that have met something or nothing."""
    draw, pool, points, rays = np.random.default_rng(5), pools.new_pool(8), 24, 5 * pools.STEP
    pool.filled[:] = points, rays
    pool.places[:points, :3] = 0.2 * draw.standard_normal((points, 3))
    pool.places[1:points:3, 0] += 50.0
    pool.places[:points, 3:] = _unit(draw.standard_normal((points, 3)) + np.array([0.0, 0.0, 2.0]))
    pool.cells[:points] = 2.0
    pool.sent[:points] = draw.integers(1, 4, points)
    pool.owners[:rays] = draw.integers(0, points, rays)
    pool.owners[3] = -1
    met = draw.random(rays) < 0.6
    pool.rays[:3, :rays] = 2.0 * met * draw.standard_normal((3, rays))
    pool.rays[3:6, :rays] = _unit(draw.standard_normal((rays, 3))).T
    pool.rays[6, :rays] = met
    return pool


def odds(point: np.ndarray, ray: np.ndarray) -> float:
    """f of the module's docstring, as it stands there."""
    place, normal, end, face = point[:3], point[3:], ray[:3], ray[3:6]
    if not ray[6]:
        return max(float(normal @ face), 0.0)
    way = end - place
    return max(float(normal @ way), 0.0) * max(float(-face @ way), 0.0) / float(way @ way) ** 2


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None])


def test_points_take_of_the_rays_of_neighbours_by_the_balance_heuristic() -> None:
    pool, draw, seen = some_pool(), np.random.default_rng(7), 0
    pools.divide(pool)
    points, rays = pool.filled
    assert len(set(pool.heads[:points].tolist())) == 2  # what is far apart shares nothing
    pool.ends[:, :rays], pool.light[:rays] = pool.rays[:, :rays], draw.random((rays, 8))
    one_group = [one for one in range(points) if pool.heads[one] == 0]
    assert 5 < len(one_group) < points
    for one in one_group:
        pools.find_odds(pool, rays, one)
    table = np.array([[odds(p, r) for r in pool.rays[:, :rays].T] for p in pool.places[one_group]])
    under = pool.sent[one_group] @ table
    for one, likely in zip(one_group, table, strict=True):
        pools.take(pool, rays, one)
        weights = np.divide(likely, under, where=under > 0.0, out=np.zeros_like(likely))
        if weights.sum() > 0.0:
            wanted = weights @ pool.light[:rays] / weights.sum()
            np.testing.assert_allclose(pool.into, wanted, rtol=2e-5)
            seen += 1
    assert seen > 5


def test_each_ray_of_a_pool_counts_once() -> None:
    """Before their sum is made 1, the weights of a ray, of all who share it, are one together."""
    pool = some_pool()
    pools.divide(pool)
    points, rays = pool.filled
    pool.ends[:, :rays] = pool.rays[:, :rays]
    group = [one for one in range(points) if pool.heads[one] == 0]
    for one in group:
        pools.find_odds(pool, rays, one)
    taken = pool.sent[group] @ pool.likely[group][:, :rays]
    there = pool.total[:rays] > 0.0
    assert there.sum() > 20
    np.testing.assert_allclose(taken[there] / pool.total[:rays][there], 1.0, rtol=1e-5)


@pytest.mark.parametrize("largest", [255.0, 4095.0])
@pytest.mark.parametrize(("curve", "gamma"), [(tone.SRGB, 1.0), (tone.POWER, 0.6)])
def test_numbers_that_are_looked_up_are_those_of_the_curve(
    largest: float, curve: int, gamma: float
) -> None:
    """A large picture looks its numbers up, small ones work them out."""
    made = tone.Tone(np.ones(1), np.eye(1), 0.0, curve, gamma, largest)
    steps = (np.arange(int(largest)) + 0.5) / largest
    ends = ((steps + 0.055) / 1.055) ** 2.4 if curve == tone.SRGB else steps ** (1.0 / gamma)
    near = np.nextafter(ends.astype(np.float32), np.float32(0.0))
    shares = np.concatenate([np.linspace(-0.1, 1.1, 40_000), ends, near]).astype(np.float32)[
        :, None
    ]
    assert shares.size > 4 * tone.PARTS
    whole, small = np.zeros(shares.shape, np.uint16), np.zeros(shares.shape, np.uint16)
    tone.grade(np.zeros(1, np.int64), made, shares, whole)
    for first in range(0, len(shares), 9000):
        part = slice(first, first + 9000)
        tone.grade(np.zeros(1, np.int64), made, shares[part], small[part])
    np.testing.assert_array_equal(whole, small)
    assert whole.max() == largest
