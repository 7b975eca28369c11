"""Which cells a radar looks at, and which peaks it finds, against naive loops."""

import itertools

import numpy as np
import pytest

from sensor_models.kernels.radar.cells import list_cells, spread
from sensor_models.kernels.radar.crossings import MOST_IMAGES, SAME_IMAGE, list_images
from sensor_models.kernels.radar.detection import CELL_AVERAGING, find_peaks, stands_out
from sensor_models.scene.tracing import RayScene
from tests.smallest_scene import smallest_scene


@pytest.fixture(scope="module", params=[1, 3])
def rays(request):
    with RayScene(smallest_scene(), threads=request.param) as scene:
        yield scene


def around(rows: int, columns: int, row: int, column: int) -> tuple[slice, slice]:
    return slice(max(row - 1, 0), row + 2), slice(max(column - 1, 0), column + 2)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (13, 22)])
def test_parts_are_those_of_neighbours(rays: RayScene, shape: tuple[int, int]) -> None:
    random = np.random.default_rng(5)
    parts = random.integers(-1, 5, size=(2, *shape)).astype(np.int32)
    parts[1] = np.where(parts[0] > 0, np.maximum(parts[1], 1), parts[0])
    facets = np.where(random.random(shape) < 0.1, 7, 3).astype(np.int64)  # mostly the same one
    wide = np.empty_like(parts)
    rays.run(spread, parts, facets, wide)
    amids = 0
    for row in range(shape[0]):
        for column in range(shape[1]):
            near = around(*shape, row, column)
            amid = bool((facets[near] == facets[row, column]).all())
            amids += amid
            for axis in range(2):
                own = int(parts[axis, row, column] != 0)
                found = max(own, int(parts[axis][near].max()))
                assert wide[axis, row, column] == (min(found, 1) if amid else found)
    assert amids > 0


def test_cells_are_listed_by_tiles_and_in_chunks(rays: RayScene) -> None:
    random = np.random.default_rng(6)
    divided = random.integers(0, 4, size=(2, 11, 18)).astype(np.int32)
    divided[1] = np.where(divided[0] > 0, np.maximum(divided[1], 1), 0)
    numbers, counts = np.empty(divided[0].size, np.int64), np.empty((2, divided[0].size), np.int32)
    chunks, found = np.empty(divided[0].size + 1, np.int64), np.zeros(3, np.int64)
    rays.run(list_cells, divided, 20, numbers, counts, chunks, found)  # others leave it alone
    cells, last, tubes = found.tolist()
    numbers, counts, chunks = numbers[:cells], counts[:, :cells], chunks[: last + 1]
    assert sorted(numbers) == np.flatnonzero(divided[0]).tolist()
    assert (counts == divided.reshape(2, -1)[:, numbers]).all()
    sizes = counts.prod(axis=0)
    assert tubes == sizes.sum()
    assert chunks[0] == 0
    assert chunks[-1] == cells
    for first, end in itertools.pairwise(chunks.tolist()):
        assert sizes[first : end - 1].sum() < 20
        assert end == cells or sizes[first:end].sum() >= 20
    rows, columns = np.divmod(numbers, divided.shape[2])
    tiles = (rows // 4) * 5 + columns // 4  # five tiles side by side
    assert (np.diff(tiles) >= 0).all()


def test_images_are_listed_by_owner_as_they_are_met(rays: RayScene) -> None:
    """Nine places that cells find again and again, to a tenth of what tells images apart."""
    random = np.random.default_rng(8)
    known = random.uniform(-20.0, 20.0, size=(MOST_IMAGES + 1, 3))
    owners = random.integers(-1, 3, size=(2, 400)).astype(np.int32)
    owners[owners == 1] = 2  # one sees none
    met = random.integers(0, len(known), size=owners.shape)
    met[:, owners[0] == 0] %= 3
    shown = np.empty((*owners.shape, 4), np.float32)
    shown[..., :3] = known[met] + random.uniform(-0.03, 0.03, size=(*owners.shape, 3)) * SAME_IMAGE
    shown[..., 3] = random.random(owners.shape)
    counts, mirrors = np.zeros(3, np.int64), np.zeros((3, MOST_IMAGES), np.int64)
    places, shares = np.zeros((3, MOST_IMAGES, 3)), np.zeros((3, MOST_IMAGES))
    rays.run(list_images, owners, shown, counts, places, mirrors, shares)
    for owner in range(3):
        first: dict[int, tuple[int, float]] = {}
        for look in range(2):
            for cell in np.flatnonzero(owners[look] == owner):
                which, share = int(met[look, cell]), float(shown[look, cell, 3])
                looks, most = first.get(which, (look + 1, 0.0))
                first[which] = looks, max(most, share)
        kept = list(first.items())[:MOST_IMAGES]
        assert counts[owner] == len(kept)
        for place, (which, (looks, most)) in enumerate(kept):
            assert np.abs(places[owner, place] - known[which]).max() < SAME_IMAGE
            assert (mirrors[owner, place], shares[owner, place]) == (looks, most)
    assert counts[1] == 0
    assert counts[2] == MOST_IMAGES


@pytest.mark.parametrize("height", [1, 3])
def test_peaks_are_those_of_a_search_in_all_directions(rays: RayScene, height: int) -> None:
    samples, chirps, width, alpha = 40, 6, 4, 2.0
    random = np.random.default_rng(7)
    powers = random.exponential(size=(samples, chirps, height * width)).astype(np.float32)
    powers[12, 0, 1] = powers[12, 5, 1] = 30.0  # as high as its neighbour over the end of Doppler
    lines = powers.reshape(samples, -1)
    found = np.empty(lines.shape, bool)
    rays.run(find_peaks, powers, lines, height, (CELL_AVERAGING, 16, 2, 12, 1), alpha, 0.01, found)
    cube = powers.reshape(samples, chirps, height, width)
    expected = np.zeros(cube.shape, bool)
    for place in np.ndindex(*cube.shape):
        near = {
            (row, chirp % chirps, z, y)
            for row in range(max(place[0] - 1, 0), min(place[0] + 2, samples))
            for chirp in range(place[1] - 1, place[1] + 2)
            for z in range(max(place[2] - 1, 0), min(place[2] + 2, height))
            for y in range(max(place[3] - 1, 0), min(place[3] + 2, width))
        }
        line = np.ascontiguousarray(cube[:, place[1], place[2], place[3]])
        first = max(near, key=lambda at: (cube[at], [-k for k in at]))
        expected[place] = first == place and stands_out(
            line, place[0], CELL_AVERAGING, 16, 2, 12, alpha, 1
        )
    assert 5 < expected.sum() < 200
    assert (found.reshape(cube.shape) == expected).all()
