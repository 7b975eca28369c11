"""Ways that save time in a CCD picture, held against the long ways to the same light."""

import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.camera.ccd.parameters import Sharing
from sensor_models.kernels.camera.ccd import pools, tone
from sensor_models.kernels.camera.ccd.points import new_points
from sensor_models.kernels.tracing.embree import WIDTH
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


@pytest.mark.parametrize("count", [4, 5, 8])
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


def some_pool(rays: int) -> tuple[pools.Pool, np.ndarray, np.ndarray]:
    """Rays by the cosine law of points with normals at random, as many of each; what they found."""
    draw = np.random.default_rng(5)
    pool, normals = pools.new_pool(), draw.standard_normal((WIDTH, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    count = rays * WIDTH
    along = np.tile(normals, (rays, 1)) + 0.999 * _unit(draw.standard_normal((count, 3)))
    pool.cosines[:, :count] = np.maximum(normals @ _unit(along).T, 0.0)
    pool.found[:count] = draw.integers(0, 3, count)
    pool.found[3] = -1
    pool.sums[:count, 0, :4] = draw.random((count, 4))
    return pool, normals, draw.random((WIDTH, WIDTH)) < 0.5


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None])


def test_points_take_of_the_rays_of_neighbours_by_the_balance_heuristic() -> None:
    rays, (pool, _, near) = 3, some_pool(3)
    near |= np.eye(WIDTH, dtype=bool)
    pool.near[:] = rays * near
    points, sums = new_points(8), np.zeros((WIDTH, 4, 8))
    points.filled[0] = WIDTH
    for one in range(WIDTH):
        pools.take_all(points, pool, rays * WIDTH, sums, one)
        wanted = np.zeros((4, 4))
        for ray in range(rays * WIDTH):
            cosine, found = pool.cosines[one, ray], pool.found[ray]
            if found >= 0 and near[one, ray % WIDTH] and cosine > 0.0:
                under = sum(rays * pool.cosines[m, ray] for m in range(WIDTH) if near[one, m])
                wanted[found] += cosine / under * pool.sums[ray, 0, :4]
        np.testing.assert_allclose(sums[one, :, :4], wanted, rtol=1e-12)
    assert not sums[:, :, 4:].any()


def test_light_that_neighbours_share_is_neither_made_nor_lost() -> None:
    rays, (pool, _, _) = 2, some_pool(2)
    pool.near[:] = rays
    points, sums = new_points(8), np.zeros((WIDTH, 4, 8))
    points.filled[0] = WIDTH
    for one in range(WIDTH):
        pools.take_all(points, pool, rays * WIDTH, sums, one)
    there = pool.found[: rays * WIDTH] >= 0
    alone = pool.sums[: rays * WIDTH, 0, :4][there].sum(axis=0) / rays
    np.testing.assert_allclose(sums[:, :, :4].sum(axis=(0, 1)), alone, rtol=1e-12)


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
