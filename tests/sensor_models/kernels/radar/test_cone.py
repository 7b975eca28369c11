"""Lines and faces against a cone: the rows of the source, a plain twin, and dense sampling."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from sensor_models.kernels.radar.cone import STACK, Cone, clip, nearest_of_face, nearest_of_line
from sensor_models.radar import Cap, ConeParameters
from sensor_models.radar.cone import cone_of

Floats = NDArray[np.float64]

A = math.tan(math.radians(22.5))
NARROW = ConeParameters(length=10.0)


def triple(point: ArrayLike) -> tuple[float, float, float]:
    x, y, z = np.asarray(point, float).tolist()
    return x, y, z


def nearest(start: ArrayLike, end: ArrayLike, parameters: ConeParameters = NARROW) -> Floats | None:
    """The nearest point of a line from start to end."""
    way = np.asarray(end, float) - np.asarray(start, float)
    distance, point = nearest_of_line(cone_of(parameters), triple(start), triple(way), 0.0)
    if math.isinf(distance):
        return None
    assert distance == pytest.approx(math.hypot(*point), abs=1e-12)
    return np.array(point)


def inside(points: Floats, parameters: ConeParameters, slack: float = 0.0) -> NDArray[np.bool_]:
    """The volume as CONE 3.1 writes it, without division."""
    a, b = math.tan(parameters.h_angle / 2), math.tan(parameters.v_angle / 2)
    x, y, z = np.moveaxis(points, -1, 0)
    held = (x * b) ** 2 + (y * a) ** 2 <= (a * b * (z + slack)) ** 2
    held &= (-slack <= z) & (z <= parameters.length + slack)
    if parameters.cap == Cap.sphere:
        held &= np.linalg.norm(points, axis=-1) <= parameters.length + slack
    return held


@pytest.mark.acceptance("CONE-9")
@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ((-5, 0, 5), (5, 0, 5), (0, 0, 5)),
        ((-5, 3, 5), (5, 3, 5), None),
        ((3, 0, 5), (5, 0, 5), None),
    ],
)
def test_a_line_across_is_met_in_its_middle_or_not_at_all(
    start: ArrayLike, end: ArrayLike, expected: ArrayLike | None
) -> None:
    check(nearest(start, end), expected, 1e-9)


@pytest.mark.acceptance("CONE-10")
def test_a_line_from_beyond_the_front_leaves_through_the_side() -> None:
    point = nearest((0, 0, 12), (0, 5, 5))
    check(point, (0, 3.146127, 7.595422), 1e-6)
    assert np.linalg.norm(point) == pytest.approx(8.221226, abs=1e-6)  # type: ignore[arg-type]


@pytest.mark.acceptance("CONE-11")
def test_lines_along_the_surface_divide_by_nothing() -> None:
    check(nearest((2 * A, 0, 2), (20 * A, 0, 20)), (0.8284271247, 0, 2), 1e-9)
    check(nearest((0, 0, 1), (20 * A, 0, 21)), (0, 0, 1), 1e-9)


@pytest.mark.acceptance("CONE-12")
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ((-10, 0, 11), (10, 0, 11)),
        ((-10, 0, 10.5), (10, 0, 11.5)),
        ((-1, 0, -2), (1, 0, -2)),
    ],
)
def test_lines_before_and_behind_the_cone_are_no_targets(start: ArrayLike, end: ArrayLike) -> None:
    assert nearest(start, end) is None


@pytest.mark.acceptance("CONE-13")
def test_a_line_of_no_length_is_a_point() -> None:
    check(nearest((0, 0, 3), (0, 0, 3)), (0, 0, 3), 0.0)
    assert nearest((4, 0, 3), (4, 0, 3)) is None


@pytest.mark.acceptance("CONE-14")
def test_the_apex_is_part_of_the_cone() -> None:
    check(nearest((0, 0, -1), (0, 0, 20)), (0, 0, 0), 1e-12)


@pytest.mark.acceptance("CONE-15")
@pytest.mark.parametrize("cap", list(Cap))
def test_random_lines_agree_with_dense_sampling(cap: Cap) -> None:
    own = ConeParameters(h_angle=0.9, v_angle=0.5, length=10.0, cap=cap)
    random = np.random.default_rng(16)
    shares = np.linspace(0.0, 1.0, 501)[:, None]
    met = 0
    for start, end in random.uniform((-8, -8, -4), (8, 8, 14), (20_000, 2, 3)):
        samples = start + shares * (end - start)
        seen = samples[inside(samples, own)]
        point = nearest(start, end, own)
        if point is None:
            assert len(seen) == 0, (start, end)
            continue
        met += 1
        assert inside(point[None], own, 1e-7).all()
        if len(seen):
            assert np.linalg.norm(point) <= np.linalg.norm(seen, axis=1).min() + 1e-12
        low, high = clip(cone_of(own), triple(start), triple(end - start), 0.0)
        if cap == Cap.flat and low <= high:
            ends = start + np.array([[low], [high]]) * (end - start)
            assert inside(ends, own, 1e-7).all()
    assert met > 2000


def naive(cone: Cone, corners: Floats, lines: int) -> float:
    """The nearest of all lines of a face, one after the other."""
    least = math.inf
    for share in np.arange(lines) / (lines - 1):
        start = corners[0] + share * (corners[3] - corners[0])
        end = corners[1] + share * (corners[2] - corners[1])
        distance, _ = nearest_of_line(cone, triple(start), triple(end - start), 0.0)
        least = min(least, distance)
    return least


def of_face(cone: Cone, corners: Floats, lines: int, reach: float) -> tuple[float, Sequence[float]]:
    v0, v1, v2, v3 = (triple(corner) for corner in corners)
    stack = np.zeros((STACK, 2), np.int64)
    return nearest_of_face(cone, (v0, v1, v2, v3), lines, reach, stack)


@pytest.mark.parametrize("shape", ["parallelogram", "triangle", "skew"])
@pytest.mark.parametrize("cap", list(Cap))
def test_lines_that_are_left_out_are_never_the_nearest(shape: str, cap: Cap) -> None:
    random = np.random.default_rng(len(shape) + cap)
    hits = 0
    for _ in range(600):
        width, height = random.uniform(0.2, 2.5, 2)
        own = ConeParameters(h_angle=width, v_angle=height, length=random.uniform(2, 20), cap=cap)
        corners = random.normal((0, 0, 6), random.uniform(0.3, 6), (4, 3))
        if shape != "skew":
            corners[3] = corners[0]
        if shape == "parallelogram":
            corners[3] = corners[0] + corners[2] - corners[1]
        lines = int(random.integers(2, 70))
        expected = naive(cone_of(own), corners, lines)
        found, point = of_face(cone_of(own), corners, lines, math.inf)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
        if math.isfinite(found):
            hits += 1
            assert inside(np.array(point)[None], own, 1e-9).all()
            assert of_face(cone_of(own), corners, lines, found * (1 - 1e-9))[0] == math.inf
    assert hits > 100


@pytest.mark.acceptance("CONE-6")
@pytest.mark.parametrize(
    ("lines", "bound"), [(2, 2.86241), (10, 0.318307), (100, 0.0289373), (1000, 0.00286766)]
)
def test_lines_miss_the_nearest_point_by_the_bound_at_most(lines: int, bound: float) -> None:
    """With an even number, the middle of the plate lies halfway between two lines."""
    corners = np.array([[-0.5, -0.5, 10], [0.5, -0.5, 10], [0.5, 0.5, 10], [-0.5, 0.5, 10]])
    distance, (_, y, z) = of_face(cone_of(NARROW), corners, lines, math.inf)
    assert math.degrees(math.atan2(abs(y), z)) == pytest.approx(bound, rel=2e-6)
    assert distance - 10.0 < abs(y)


def check(found: Floats | None, expected: ArrayLike | None, tolerance: float) -> None:
    if expected is None or found is None:
        assert found is expected
    else:
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
