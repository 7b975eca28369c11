"""The tree of rays under a detector that is no lidar: a histogram of what comes back over range."""

import math

import numpy as np
import pytest

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light import arrivals as column
from sensor_models.kernels.light.paths import (
    DEPTH_LIMIT,
    EVENT_LIMIT,
    LIMITS,
    NESTING_LIMIT,
    TELL_MISSES,
    TELL_PLACES,
    TELL_SEGMENTS,
)
from sensor_models.kernels.light.tree import (
    arrive,
    branches_left,
    go_on,
    new_tree,
    send,
    set_out,
    trace,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import drop_ray
from sensor_models.kernels.tracing.rays import claim
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import LidarParameters
from sensor_models.scene.model import Medium
from sensor_models.scene.tracing import RayScene
from tests import lidar_scenes as rig

BIN, BINS = 0.01, 4000
#: Rows that a test looks at: what came back, and of which ray.
MOST_ROWS = 4000


@njit
def take_out(tree, energy, sums, rows, ids):
    """Add what came back to the histogram of its ray, and keep the rows."""
    numbers = tree.arrivals.numbers
    for row in range(tree.arrivals.filled[0]):
        kind, ray = tree.arrivals.ids[row, column.KIND], tree.arrivals.ids[row, column.RAY]
        if kind in (column.FROM_SURFACE, column.FROM_MEDIUM):
            back = numbers[row, column.WEIGHT] * numbers[row, column.STRENGTH]
            energy[int(numbers[row, column.OPTICAL] / BIN)] += back
            sums[ray] += back
        at = ids[0, 0] + 1  # the first row counts
        ids[0, 0] = at
        rows[at], ids[at] = numbers[row], tree.arrivals.ids[row]
    tree.arrivals.filled[0] = 0


@njit(nogil=True, error_model="numpy")
def histogram(view, claims, path, origin, along, weights, inside, energy, sums, rows, ids, lost):
    """A detector on the path: rays with weights of their own, one thread, no lidar."""
    tree = new_tree()
    chunk = claim(claims)
    while chunk * WIDTH < len(weights):
        for lane in range(WIDTH):
            ray = chunk * WIDTH + lane
            if ray >= len(weights):
                drop_ray(tree.packet, lane)
                continue
            start = (origin[ray, 0], origin[ray, 1], origin[ray, 2])
            way = (along[ray, 0], along[ray, 1], along[ray, 2])
            set_out(path, tree, lane, ray, ray, start, way, weights[ray], 0.0, inside, 0)
            send(view, path, tree, lane)
        trace(view, tree)
        arrive(view, path, tree)
        take_out(tree, energy, sums, rows, ids)
        while branches_left(tree) > 0:
            go_on(view, path, tree)
            take_out(tree, energy, sums, rows, ids)
        chunk = claim(claims)
    lost += tree.lost


class Seen:
    """What the histogram detector finds in a scene."""

    def __init__(self, seen, origin, along, weights=(1.0,), told_more=0, inside=0, **own):
        weights = np.array(weights, float)
        origins = np.broadcast_to(np.array(origin, float), (len(weights), 3)).copy()
        ways = np.broadcast_to(np.array(along, float), (len(weights), 3))
        ways = ways / np.linalg.norm(ways, axis=1, keepdims=True)
        path = Lidar(LidarParameters(**own), rig.aim(), seed=3)._path(seen, 0)
        path = path._replace(flags=told_more | TELL_PLACES)
        volumes = np.full((1, len(seen.volumes)), -1, np.int32)
        volumes[0, :inside] = range(inside)
        self.energy, self.sums = np.zeros(BINS), np.zeros(len(weights))
        rows = np.zeros((MOST_ROWS, column.NUMBERS))
        ids = np.zeros((MOST_ROWS, column.IDS), np.int64)
        self.lost = np.zeros(LIMITS, np.int64)
        with RayScene(seen, 1) as rays:
            out = self.energy, self.sums, rows, ids, self.lost
            rays.run(histogram, path, origins, ways, weights, volumes, *out)
        count = ids[0, 0]
        self.rows, self.ids = rows[1 : count + 1], ids[1 : count + 1]

    def of(self, kind):
        """Numbers and ids of the arrivals of a kind."""
        those = self.ids[:, column.KIND] == kind
        return self.rows[those], self.ids[those]


def behind_glass():
    """A wall of reflectance 0.8 behind a pane."""
    pane = rig.across(5.0, of=1, thickness=0.01)
    return rig.scene(rig.across(10.0), pane, materials=(rig.lambert(0.8), rig.glass(1.5)))


def test_energy_over_range_is_that_of_all_rays_and_of_the_closed_form():
    """Rays of different weights: each bin, and the sum over all bins."""
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 3 * WIDTH + 5)
    own = {"max_depth": 4, "weight_cutoff": 0.0}
    found = Seen(behind_glass(), (0.0, 0.1, 0.07), (1.0, 0.0, 0.0), weights, **own)
    assert found.energy.sum() == pytest.approx(found.sums.sum(), rel=1e-12)
    np.testing.assert_allclose(found.sums / weights, found.sums[0] / weights[0], rtol=1e-12)
    # The wall, straight through the pane and after two reflections within it: n 10 mm = 15 mm.
    for number in (0, 1):
        share = 0.9216 * 0.04 ** (2 * number)
        place = int((10.005 + 0.03 * number) / BIN)
        in_bins = found.energy[place - 1 : place + 2].sum()
        assert in_bins == pytest.approx(weights.sum() * share * 0.8 / math.pi, rel=1e-6)


@pytest.mark.acceptance("TREE-7")
def test_tree_7_the_glint_of_the_back_of_a_pane_weighs_t_squared_r():
    """In float64, as it arrives: W of the way there, twice, and the R of the back itself."""
    half = 2e-3
    found = Seen(
        behind_glass(), (0.0, 0.1, 0.07), (1.0, 0.0, 0.0), max_depth=2, accept_half_angle=half
    )
    numbers, ids = found.of(column.FROM_SURFACE)
    (back,) = numbers[ids[:, column.NODE] == 2]
    # A smooth interface sends f = R / 4 pi tan^2(b/2) straight back to a detector of half-angle b
    # (D = 1 / pi a^2, V = 1/4, a = tan(b/2)); all of R falls into its cone.
    reflected = 4.0 * math.pi * math.tan(0.5 * half) ** 2 * back[column.STRENGTH]
    assert back[column.WEIGHT] ** 2 * reflected == pytest.approx(0.036864, abs=1e-9)


def test_rays_have_origins_and_directions_of_their_own():
    origins = np.array([[0.0, 0.1, 0.07], [2.0, 0.3, 0.2], [4.0, -0.4, 0.1]])
    ways = np.array([[1.0, 0.0, 0.0], [1.0, 0.2, 0.0], [1.0, 0.0, -0.3]])
    found = Seen(rig.scene(rig.across(10.0)), origins, ways, np.ones(3))
    numbers, ids = found.of(column.FROM_SURFACE)
    order = np.argsort(ids[:, column.RAY])
    expected = (10.0 - origins[:, 0]) / (ways[:, 0] / np.linalg.norm(ways, axis=1))
    # float32 rays
    np.testing.assert_allclose(numbers[order, column.OPTICAL], expected, rtol=1e-6)
    places = numbers[order, column.PLACE_X : column.PLACE_Z + 1]
    np.testing.assert_allclose(places[:, 0], 10.0, rtol=1e-6)
    along = numbers[order, column.ALONG_X : column.ALONG_Z + 1]
    np.testing.assert_allclose(places, origins + expected[:, None] * along, atol=1e-5)


def test_arrivals_of_a_ray_are_a_chain_through_eight_bounces():
    """Between two mirrors: length, direction and weight of each bounce, as a radar needs them."""
    mirrors = rig.scene(
        rig.box((-50.0, 2.0, -20.0), (50.0, 3.0, 20.0)),
        rig.box((-50.0, -3.0, -20.0), (50.0, -2.0, 20.0)),
        materials=(rig.mirror(),),
    )
    own = {"max_depth": 7, "weight_cutoff": 1e-12, "max_range": 1e6}
    found = Seen(mirrors, (0.013, 0.0, 0.07), (1.0, 1.0, 0.0), (3.0,), **own)
    numbers, ids = found.of(column.FROM_SURFACE)
    assert ids[:, column.NODE].tolist() == [2**k - 1 for k in range(8)]
    assert ids[:, column.DEPTH].tolist() == list(range(8))
    lengths = math.sqrt(2.0) * (2.0 + 4.0 * np.arange(8))
    # Rays are float32, and a branch starts 1e-6 of its ray's length off the surface.
    np.testing.assert_allclose(numbers[:, column.OPTICAL], lengths, rtol=2e-6)
    signs = np.where(np.arange(8) % 2, -1.0, 1.0)
    np.testing.assert_allclose(numbers[:, column.ALONG_Y], signs * math.sqrt(0.5), rtol=1e-6)
    np.testing.assert_allclose(numbers[:, column.NORMAL_Y], -signs, atol=1e-6)
    shares = numbers[1:, column.WEIGHT] / numbers[:-1, column.WEIGHT]
    assert numbers[0, column.WEIGHT] == 3.0
    np.testing.assert_allclose(shares, shares[0], rtol=1e-6)
    assert ids[:, column.OWNER].tolist() == [0, 1] * 4
    assert (ids[:, column.PRIMITIVE] >= 0).all()
    assert found.lost[DEPTH_LIMIT] == 1
    assert found.lost.sum() == 1


def test_segments_and_misses_are_told_where_they_are_asked_for():
    """Through a fog bank and away: what a camera that looks at the sky needs."""
    fog = Medium("fog", absorption=0.05)
    seen = rig.scene(
        rig.box((-9.0, -9.0, -9.0), (-8.0, 9.0, 9.0)),
        media=(Medium(absorption=0.01), fog),
        volumes=((1, rig.across(4.0, thickness=6.0)),),
    )
    both = TELL_MISSES | TELL_SEGMENTS
    found = Seen(seen, (0.0, 0.1, 0.07), (1.0, 0.0, 0.0), (2.0,), both)
    numbers, ids = found.of(column.STRETCH)
    np.testing.assert_allclose(numbers[:, column.STRENGTH], [4.0, 6.0], rtol=1e-6)
    assert ids[:, column.MEDIUM].tolist() == [0, 1]
    left = 2.0 * np.exp([0.0, -0.04, -0.34])
    np.testing.assert_allclose(numbers[:, column.WEIGHT], left[:2], rtol=1e-6)
    numbers, ids = found.of(column.MISSED)
    np.testing.assert_allclose(numbers[:, column.WEIGHT], left[2:], rtol=1e-6)
    np.testing.assert_allclose(numbers[:, column.PLACE_X], 10.0, rtol=1e-6)
    assert ids[:, column.MEDIUM].tolist() == [0]
    assert not len(Seen(seen, (0.0, 0.1, 0.07), (1.0, 0.0, 0.0)).rows)


def test_boundaries_beyond_those_that_are_followed_are_counted():
    fogs = tuple((1, rig.across(2.0 + k, thickness=0.5)) for k in range(4))
    seen = rig.scene(rig.across(9.0), media=(Medium(), Medium(absorption=1e-6)), volumes=fogs)
    start, way = (0.0, 0.1, 0.07), (1.0, 0.0, 0.0)
    for most, cut in ((8, 0), (7, 3), (1, 3)):
        found = Seen(seen, start, way, np.ones(3), max_events=most)
        assert found.lost[EVENT_LIMIT] == found.lost.sum() == cut
        assert len(found.of(column.FROM_SURFACE)[0]) == 3 - cut


def test_media_that_are_nested_too_deep_are_counted():
    fogs = tuple(
        (1, rig.box((2.0 + 0.1 * k, *[0.1 * k - 3.0] * 2), (8.0 - 0.1 * k, *[3.0 - 0.1 * k] * 2)))
        for k in range(10)
    )
    seen = rig.scene(rig.across(9.0), media=(Medium(), Medium(absorption=1e-6)), volumes=fogs)
    found = Seen(seen, (0.0, 0.1, 0.07), (1.0, 0.0, 0.0))
    assert found.lost[NESTING_LIMIT] == found.lost.sum() == 2
    found = Seen(seen, (5.0, 0.1, 0.07), (1.0, 0.0, 0.0), inside=10)
    assert found.lost[NESTING_LIMIT] == 1  # at the start, once for the ray
