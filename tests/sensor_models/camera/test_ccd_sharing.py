"""Light from around that neighbours share: its mean, its edges, its grain, bodies and threads."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import (
    LightParameters,
    OpticsParameters,
    PictureParameters,
    Sharing,
)
from sensor_models.kernels.camera.ccd import shared
from sensor_models.kernels.camera.ccd.shared import GROUPS, SPOT, Records
from sensor_models.kernels.compiling import njit
from sensor_models.light import scenery
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.camera.test_ccd_light import DOWN, EVEN, GROUND, matt, placed
from tests.sensor_models.camera.test_ccd_mitsuba import EYE, SCENE, SKY, SUN, TARGET, looking
from tests.sensor_models.scene_files import write_manifest

ACROSS, DOWNWARD, WAVES = 9, 7, 3
SIDES = (shared.BASES, shared.TOPS)


def camera_of(rays: int, sharing: Sharing = Sharing.neighbours, side: int = 96) -> CcdCamera:
    optics = OpticsParameters(width=side, height=side, intrinsics=(1.1 * side, 1.1 * side, 0, 0))
    return CcdCamera(
        optics, PictureParameters(bands=1), light=LightParameters(rays=rays, sharing=sharing)
    )


def a_corner(folder: Path) -> Path:
    """Boxes and a ball on a ground, without a sun: all light is from around."""
    return write_manifest(folder, SCENE.replace("2.0], [1100e-9, 2.0", "0], [1100e-9, 0"))


def test_sharing_takes_grain_away_and_keeps_the_mean(tmp_path: Path) -> None:
    pose = looking(EYE, TARGET)
    with RayScene(load_scene(a_corner(tmp_path))) as rays:
        truth = camera_of(1024, Sharing.none).expose(rays, pose).light.astype(float)
        alone = camera_of(16, Sharing.none).expose(rays, pose).light
        frames = [camera_of(16).expose(rays, pose, frame).light for frame in range(8)]
    among = frames[0]
    # A picture this small has 2,304 rays around at first: its mean alone scatters by 0.2 %.
    assert np.mean(frames) == pytest.approx(truth.mean(), rel=2e-3)
    off = [np.abs(each - truth) for each in (alone, among)]
    # The picture is small: a quarter of it lies within a cell or two of other surfaces, where
    # points send their own rays.
    assert np.percentile(off[1], 50.0) <= 0.5 * np.percentile(off[0], 50.0)
    assert np.percentile(off[1], 75.0) <= 0.5 * np.percentile(off[0], 75.0)
    assert np.sqrt(np.mean(off[1] ** 2)) <= 0.85 * np.sqrt(np.mean(off[0] ** 2))


def test_nothing_is_shared_between_levels(tmp_path: Path) -> None:
    """A plate close above a ground: both face the sky, and the ground is in the plate's shade."""
    text = EVEN.replace("2.0]", "0.0]") + matt("grey", 0.5) + GROUND
    text += placed("plate", "grey", "box = { size = [2, 1, 0.02] }", "position = [0, 0, 0.3]")
    with RayScene(load_scene(write_manifest(tmp_path, text))) as rays:
        exposed = camera_of(1024, Sharing.none).expose(rays, DOWN)
        truth = exposed.light[:, :, 0]
        among = camera_of(256).expose(rays, DOWN).light[:, :, 0]
    plate = exposed.entity == exposed.entity[48, 48]
    assert 0.05 < plate.mean() < 0.95
    np.testing.assert_allclose(among[plate], truth[plate], rtol=1e-5)
    assert truth[~plate].min() < 0.7 * truth[plate].min()
    assert among[~plate].mean() == pytest.approx(truth[~plate].mean(), rel=5e-3)
    assert np.percentile(np.abs(among / truth - 1.0)[~plate], 95.0) <= 0.04


def test_records_depend_on_no_thread_and_not_on_each_other(tmp_path: Path) -> None:
    pose, pictures = looking(EYE, TARGET), []
    for threads in (1, 2, 3):
        with RayScene(load_scene(a_corner(tmp_path)), threads) as rays:
            pictures.append(camera_of(16, side=50).expose(rays, pose, 5).light)
    np.testing.assert_array_equal(pictures[0], pictures[1])
    np.testing.assert_array_equal(pictures[0], pictures[2])


def test_light_is_shared_where_bodies_are_now(tmp_path: Path) -> None:
    """A box that was moved, and one that stands there, shade the ground alike."""
    there = 'position = [0, 0.5, 0.5]\nbody = "box"'
    box = placed("box", "grey", "box = { size = [1, 1, 1] }")
    text = EVEN + matt("grey", 0.5) + GROUND + '[[bodies]]\nname = "box"\n' + box
    moved = text + 'position = [0, -1.5, 0.5]\nbody = "box"\n'
    resting = load_scene(write_manifest(tmp_path, text + there))
    with RayScene(resting) as rays:
        wanted = camera_of(64, side=48).expose(rays, DOWN).light
    pose = np.array([[[0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0]]])
    with RayScene(load_scene(write_manifest(tmp_path, moved))) as rays:
        found = camera_of(64, side=48).expose(rays, DOWN, moving=MovingBodies(pose, 0, 1)).light
    off = np.abs(found / wanted - 1.0)
    assert np.median(off) <= 1e-3
    assert np.percentile(off, 99.0) <= 0.02


def some_records() -> Records:
    """Records of a bent floor, some of them missing or coated, with light at random."""
    draw = np.random.default_rng(3)
    cells = ACROSS * DOWNWARD
    spots = np.zeros((GROUPS, cells, SPOT))
    y, x = np.divmod(np.arange(cells), ACROSS)
    for group in range(GROUPS):
        spots[group, :, 0], spots[group, :, 1] = x, y
        spots[group, :, 2] = 0.4 * group + 0.03 * draw.standard_normal(cells)
        normal = np.stack([0.1 * draw.standard_normal(cells), np.zeros(cells), np.ones(cells)], 1)
        spots[group, :, 3:6] = normal / np.linalg.norm(normal, axis=1)[:, None]
        spots[group, :, shared.SIZE] = draw.uniform(0.5, 1.5, cells)
        spots[group, :, shared.COAT] = draw.integers(0, 3, cells)
        spots[group, :, shared.LOBE] = 0.3 * spots[group, :, shared.COAT]
        for side in SIDES:
            reach = draw.uniform(2.0, 40.0, cells)
            spots[group, :, shared.REACH + shared.OF_TOPS * side] = reach
    counts = draw.integers(0, 16, (2, GROUPS, cells)).astype(float)
    counts[shared.TOPS][spots[:, :, shared.COAT] == 0.0] = 0.0
    light = draw.random((2, GROUPS, cells, WAVES)).astype(np.float32)
    masks = sum((counts[:, group] > 0.0) << group for group in range(GROUPS)).astype(np.uint8)
    return Records(DOWNWARD, ACROSS, spots, counts, light, masks)


def agreement(one: np.ndarray, other: np.ndarray, side: int) -> float:
    """The weight of the module's docstring, as it stands there."""
    apart = other[:3] - one[:3]
    column = shared.REACH + shared.OF_TOPS * side
    reach, share, tilt = min(one[column], other[column]), shared.SHARE_OF_REACH, 0.1
    if side == shared.TOPS:
        if one[shared.COAT] != other[shared.COAT]:
            return 0.0
        share = shared.SHARE_OF_LOBE * one[shared.LOBE]
        tilt = min(shared.TILT_OF_LOBE * one[shared.LOBE], 0.4) ** 2 / 2.0
    size = max(one[shared.SIZE], other[shared.SIZE])
    span = max(share * reach, shared.LEAST_CELLS * size)
    off = max(abs(apart @ one[3:6]), abs(apart @ other[3:6]))
    factors = (
        1.0 - np.linalg.norm(apart) / span,
        1.0 - off / (shared.FLATNESS * min(span, float(np.linalg.norm(apart)) + size)),
        min(1.0 - (1.0 - one[3:6] @ other[3:6]) / tilt, 1.0),
    )
    return float(np.prod([max(each, 0.0) for each in factors]))


@pytest.mark.parametrize("gap", [1, 2, 4])
def test_a_pass_is_the_weighted_mean_of_nine_cells(gap: int) -> None:
    given = some_records()
    result = given._replace(counts=np.zeros_like(given.counts), light=np.zeros_like(given.light))
    shared.smooth(np.zeros(1, np.int64), given, gap, result)
    others = dict.fromkeys(SIDES, 0)
    for side, group, cell in np.ndindex(*given.counts.shape):
        if given.counts[side, group, cell] == 0.0:
            assert result.counts[side, group, cell] == 0.0
            continue
        i, j = divmod(cell, ACROSS)
        total, light = 0.0, np.zeros(WAVES)
        for di, dj, other in np.ndindex(3, 3, GROUPS):
            p, q = i + (di - 1) * gap, j + (dj - 1) * gap
            if not (0 <= p < DOWNWARD and 0 <= q < ACROSS):
                continue
            there = p * ACROSS + q
            same, weight = there == cell and other == group, 1.0
            if not same:
                weight = agreement(given.spots[group, cell], given.spots[other, there], side)
            weight *= given.counts[side, other, there] * 4.0 / 2 ** (abs(di - 1) + abs(dj - 1))
            total, light = total + weight, light + weight * given.light[side, other, there]
            others[side] += weight > 0.0 and not same
        assert result.counts[side, group, cell] == pytest.approx(total / 4.0, rel=1e-12)
        np.testing.assert_allclose(result.light[side, group, cell], light / total, rtol=1e-5)
    assert min(others.values()) > 30


def test_a_pass_keeps_light_that_is_the_same_everywhere() -> None:
    given = some_records()
    given.light[:] = 0.7
    result = given._replace(counts=np.zeros_like(given.counts), light=np.zeros_like(given.light))
    shared.smooth(np.zeros(1, np.int64), given, 1, result)
    np.testing.assert_allclose(result.light[given.counts > 0.0], 0.7, rtol=1e-6)


def test_few_rays_of_neighbours_are_not_taken_for_many(tmp_path: Path) -> None:
    """With one ray a cell nobody knows enough but all around together: no pixel is left dark."""
    text = EVEN.replace("2.0]", "0.0]") + matt("grey", 0.5) + GROUND
    with RayScene(load_scene(write_manifest(tmp_path, text))) as rays:
        for count in (1, 3, 16, 24):
            camera = camera_of(count, side=21)
            light = camera.expose(rays, DOWN).light[:, :, 0] / camera.response.sum()
            np.testing.assert_allclose(light, 0.5 * 0.3, rtol=1e-5)


def test_what_only_mirrors_see_has_its_light_as_well(tmp_path: Path) -> None:
    """Points in a mirror are in no cell: they send their own rays, with the same mean."""
    silver = """
[materials.silver]
kind = "two_layer"
color = [0.9, 0.9, 0.9]
source = "estimate"
surface = [
  { diffuse_reflectance = 0, ior = 0.15, extinction = 3.6, roughness_beckmann = 0.0001 },
]
"""
    mirror = placed("mirror", "silver", "box = { size = [0.1, 9, 9] }", "position = [3.05, 0, 2]")
    wall = placed("wall", "grey", "box = { size = [0.1, 40, 40] }", "position = [-5, 0, 2]")
    text = EVEN.replace("2.0]", "0.0]") + matt("grey", 0.5) + silver + mirror + wall
    level = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 2.0]])
    means = []
    with RayScene(load_scene(write_manifest(tmp_path, text))) as rays:
        for sharing in Sharing:
            camera = dataclasses.replace(LightParameters(), rays=64, sharing=sharing)
            made = CcdCamera(camera_of(1, side=24).optics, light=camera)
            means.append(made.expose(rays, level).light.mean())
    assert means[1] == pytest.approx(means[0], rel=0.01)


def test_the_sun_takes_rays_away_and_keeps_the_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points in the sun send fewer rays, so they scatter more; light is what it was everywhere."""
    pose = looking(EYE, TARGET)
    with RayScene(load_scene(write_manifest(tmp_path, SCENE))) as rays:
        camera, light = camera_of(16), camera_of(1024, Sharing.none)
        contrast = camera.scenery(rays).light(16, True, np.zeros(2, np.uint64), 0).contrast
        truth = light.expose(rays, pose).light.astype(float)
        frames = [camera.expose(rays, pose, frame).light for frame in range(8)]
        monkeypatch.setattr(scenery, "_contrast", lambda _sun, _above: 0.0)
        other = camera_of(16)  # which works out its light anew
        usual = [other.expose(rays, pose, frame).light for frame in range(8)]
    assert contrast == pytest.approx(SUN / (np.pi * SKY), rel=1e-6)
    dark = truth < 0.5 * np.median(truth)
    assert 0.02 < dark.mean() < 0.5
    scatter, less = (np.var(taken, axis=0)[~dark].mean() for taken in (frames, usual))
    assert scatter > 1.2 * less
    mean = np.mean(frames, axis=0)
    assert mean.mean() == pytest.approx(truth.mean(), rel=1e-3)
    assert mean[dark].mean() == pytest.approx(truth[dark].mean(), rel=0.01)


@njit(nogil=True, cache=True, error_model="numpy")
def light_at(records: Records, places: np.ndarray, normal: np.ndarray, found: np.ndarray) -> None:
    """What points know that rays of rows and columns find at x, y, z, one place after another."""
    taken, spot = shared.new_taken(), np.zeros(SPOT)
    for k in range(len(places)):
        place = (places[k, 2], places[k, 3], places[k, 4])
        up = (normal[0], normal[1], normal[2])
        shared.put_spot(spot, place, up, 1.0, 0, 0.0)
        row, column = int(places[k, 0]), int(places[k, 1])
        found[k, 0] = shared.look_up(
            records, row, column, shared.BASES, 0.0, spot, taken, found[k, 1:]
        )


def test_a_point_takes_the_weighted_mean_of_four_cells() -> None:
    given, draw = some_records(), np.random.default_rng(5)
    rows, columns = draw.integers(0, 4 * DOWNWARD, 200), draw.integers(0, 4 * ACROSS, 200)
    y, x = (rows + 0.5) / 4 - 0.5, (columns + 0.5) / 4 - 0.5
    heights = draw.choice([0.0, 0.4, 5.0], 200)
    places = np.stack([rows, columns, x, y, heights], axis=1).astype(float)
    found = np.zeros((200, 1 + WAVES))
    light_at(given, places, np.array([0.0, 0.0, 1.0]), found)
    known = 0
    for own, i, j, answer in zip(places[:, 2:], y, x, found, strict=True):
        spot = np.zeros(SPOT)
        spot[:3], spot[5], spot[shared.SIZE] = own, 1.0, 1.0
        spot[[shared.REACH, shared.REACH + shared.OF_TOPS]] = shared.FAR
        total, light, cells = 0.0, np.zeros(WAVES), np.inf
        for p, q, group in np.ndindex(2, 2, GROUPS):
            down, across = int(np.floor(i)) + p, int(np.floor(j)) + q
            if not (0 <= down < DOWNWARD and 0 <= across < ACROSS):
                continue
            cell = down * ACROSS + across
            if given.counts[shared.BASES, group, cell] == 0.0:
                continue
            there = given.spots[group, cell]
            weight = (1 - abs(i - down)) * (1 - abs(j - across))
            weight *= agreement(spot, there, shared.BASES)
            if weight > 0.0:
                wide = max(1.0, there[shared.SIZE])
                cells = min(cells, shared.SHARE_OF_REACH * there[shared.REACH] / wide)
            total, light = total + weight, light + weight * given.light[shared.BASES, group, cell]
        if total == 0.0:
            assert answer[0] == -1.0
            continue
        known += 1
        assert answer[0] == pytest.approx(cells, rel=1e-12)
        np.testing.assert_allclose(answer[1:], light / total, rtol=1e-5)
    assert 30 < known < 200
