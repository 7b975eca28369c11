"""Dilution of precision and the shift of a fix: closed forms, and a twin in NumPy."""

import math

import numpy as np
import pytest

from sensor_models.kernels.gnss import dilution, sky
from sensor_models.kernels.gnss.orbits import ORBIT_SIZE, SYSTEM

UNKNOWN = dilution.UNKNOWN


def sky_of(directions, systems=None, errors=None):
    """A table of orbits and a sky with satellites in these directions, all in use."""
    directions = np.asarray(directions, float)
    orbits = np.zeros((len(directions), ORBIT_SIZE))
    orbits[:, SYSTEM] = 0 if systems is None else systems
    seen = np.zeros((len(directions), sky.SKY_SIZE))
    seen[:, sky.EAST : sky.UP + 1] = directions
    seen[:, sky.STATUS] = sky.USED
    seen[:, sky.ERROR] = 0.0 if errors is None else errors
    return orbits, seen


def work():
    return np.zeros((dilution.WORK_ROWS, dilution.MOST_COLUMNS, dilution.MOST_COLUMNS))


def solve(orbits, seen):
    """Satellites, axes, and the five dilutions G, P, H, V, T."""
    memory = work()
    satellites, axes, columns = dilution.solve_geometry(orbits, seen, memory)
    return satellites, axes, dilution.dilutions(memory, axes, columns)


def dilutions(directions):
    return solve(*sky_of(directions))[2]


def direction(azimuth_deg, elevation_deg):
    a, e = math.radians(azimuth_deg), math.radians(elevation_deg)
    return math.cos(e) * math.sin(a), math.cos(e) * math.cos(a), math.sin(e)


def fan(count, elevation_deg):
    """The zenith, and some satellites evenly around at one elevation, the first due north."""
    around = [direction(360.0 * k / count, elevation_deg) for k in range(count)]
    return [(0.0, 0.0, 1.0), *around]


@pytest.mark.acceptance("GNSS-9")
def test_gnss_9_regular_tetrahedron():
    low = -1.0 / 3.0
    directions = [
        (0.0, 0.0, 1.0),
        *(direction(120.0 * k, math.degrees(math.asin(low))) for k in range(3)),
    ]
    expected = (math.sqrt(2.5), 1.5, math.sqrt(1.5), math.sqrt(0.75), 0.5)
    # the tolerance of the acceptance row
    assert dilutions(directions) == pytest.approx(expected, abs=1e-9)


@pytest.mark.acceptance("GNSS-10")
def test_gnss_10_zenith_and_three_at_the_horizon():
    expected = (math.sqrt(3.0), 1.632993, 1.154701, 1.154701, 0.577350)
    # the tolerance of the acceptance row
    assert dilutions(fan(3, 0.0)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.acceptance("GNSS-11")
@pytest.mark.parametrize(("n", "elevation"), [(3, 10.0), (4, 30.0), (6, 30.0), (9, 60.0)])
def test_gnss_11_zenith_and_some_at_one_elevation(n, elevation):
    e = math.radians(elevation)
    horizontal = 2.0 / (math.sqrt(n) * math.cos(e))
    vertical = math.sqrt((n + 1) / n) / (1.0 - math.sin(e))
    clock = math.sqrt((n * math.sin(e) ** 2 + 1) / n) / (1.0 - math.sin(e))
    # the tolerance of the acceptance row
    expected = pytest.approx((horizontal, vertical, clock), abs=1e-6)
    assert dilutions(fan(n, elevation))[2:] == expected
    if (n, elevation) == (6, 30.0):
        assert (horizontal, vertical, clock) == pytest.approx(
            (0.942809, 2.160247, 1.290994), abs=1e-6
        )


@pytest.mark.acceptance("GNSS-12")
def test_gnss_12_four_at_one_elevation_give_no_fix():
    satellites, axes, found = solve(*sky_of([direction(90.0 * k, 35.0) for k in range(4)]))
    assert (satellites, axes) == (4, 0)
    assert found == (UNKNOWN,) * 5


def naive_geometry(orbits, seen, axes):
    """G by its definition."""
    systems = sorted(set(orbits[:, SYSTEM]))
    rows = [
        [*(-seen[k, sky.EAST : sky.EAST + axes]), *(orbits[k, SYSTEM] == s for s in systems)]
        for k in range(len(seen))
        if seen[k, sky.STATUS] >= sky.USED
    ]
    return np.array(rows, float)


def random_sky(rng, satellites, systems):
    directions = [direction(rng.uniform(0, 360), rng.uniform(5, 90)) for _ in range(satellites)]
    of = np.concatenate([np.arange(systems), rng.integers(0, systems, satellites - systems)])
    orbits, seen = sky_of(directions, of, rng.normal(0.0, 5.0, satellites))
    spare = rng.random(satellites) < 0.2
    spare[: 3 + 2 * systems] = False
    seen[spare, sky.STATUS] = sky.HIDDEN
    return orbits, seen


@pytest.mark.parametrize("systems", [1, 2, 3])
def test_as_numpy_has_it(systems):
    rng = np.random.default_rng(systems)
    compared = 0
    for _ in range(200):
        orbits, seen = random_sky(rng, int(rng.integers(3 + 2 * systems, 30)), systems)
        matrix = naive_geometry(orbits, seen, 3)
        condition = np.linalg.cond(matrix)
        if condition > 1e3:  # where both lose digits
            continue
        compared += 1
        inverse = np.linalg.inv(matrix.T @ matrix)
        _, axes, found = solve(orbits, seen)
        q = np.diag(inverse)
        expected = [q.sum(), q[:3].sum(), q[:2].sum(), q[2], q[3]]
        assert axes == 3
        # roundings times the square of the condition
        assert found == pytest.approx(np.sqrt(expected), rel=1e-14 * condition**2 + 1e-12)
        weights = seen[seen[:, sky.STATUS] >= sky.USED, sky.UP]
        errors = seen[seen[:, sky.STATUS] >= sky.USED, sky.ERROR]
        oracle = np.linalg.lstsq(matrix * weights[:, None], errors * weights, rcond=None)[0]
        memory = work()
        _, _, columns = dilution.solve_geometry(orbits, seen, memory)
        moved = dilution.shift_of_fix(orbits, seen, 3, columns, 0.0, memory)
        # the weights add up to a factor of 10 to the condition
        assert moved == pytest.approx(oracle[:3], abs=1e-12 * condition**2 + 1e-9)
    assert compared > 150


def test_the_limit_of_the_condition():
    # Three at one elevation and a fourth that leaves it by little: the matrix is nearly singular.
    for tilt, has_fix in ((1e-2, True), (1e-7, False)):
        directions = [direction(120.0 * k, 40.0) for k in range(3)] + [direction(60.0, 40.0 + tilt)]
        condition = np.linalg.cond(naive_geometry(*sky_of(directions), 3))
        assert (condition < 1e6) == has_fix
        assert (solve(*sky_of(directions))[1] == 3) == has_fix


def test_three_satellites_hold_the_height():
    directions = fan(2, 30.0)
    directions[2] = direction(90.0, 50.0)
    orbits, seen = sky_of(directions)
    satellites, axes, (geometric, position, horizontal, vertical, clock) = solve(orbits, seen)
    inverse = np.linalg.inv(naive_geometry(orbits, seen, 2).T @ naive_geometry(orbits, seen, 2))
    assert (satellites, axes, vertical) == (3, 2, UNKNOWN)
    # some roundings
    assert horizontal == pytest.approx(math.sqrt(inverse[0, 0] + inverse[1, 1]), rel=1e-12)
    assert position == horizontal
    assert clock == pytest.approx(math.sqrt(inverse[2, 2]), rel=1e-12)
    assert geometric == pytest.approx(math.sqrt(np.trace(inverse)), rel=1e-12)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_fewer_than_three_give_no_fix(count):
    satellites, axes, found = solve(*sky_of(np.reshape(fan(3, 20.0)[:count], (-1, 3))))
    assert (satellites, axes, found) == (count, 0, (UNKNOWN,) * 5)


def test_a_second_system_costs_a_satellite():
    directions = fan(3, 30.0)
    assert solve(*sky_of(directions, [0, 0, 0, 0]))[1] == 3
    assert solve(*sky_of(directions, [0, 0, 0, 2]))[1] == 2
    assert solve(*sky_of(directions, [0, 0, 1, 2]))[1] == 0


@pytest.mark.acceptance("GNSS-20")
@pytest.mark.parametrize(
    ("errors", "moved"),
    [
        ([0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0], (0.0, -3.849002, 3.333333)),
        ([5.0] * 7, (0.0, 0.0, 0.0)),
    ],
)
def test_gnss_20_a_range_error_moves_the_fix(errors, moved):
    orbits, seen = sky_of(fan(6, 30.0), errors=errors)
    memory = work()
    _, axes, columns = dilution.solve_geometry(orbits, seen, memory)
    # the tolerance of the acceptance row
    assert dilution.shift_of_fix(orbits, seen, axes, columns, 0.0, memory) == pytest.approx(
        moved, abs=1e-6
    )


def test_a_wrong_height_moves_a_2d_fix_as_the_ranges_ask():
    orbits, seen = sky_of([direction(0.0, 30.0), direction(120.0, 40.0), direction(240.0, 60.0)])
    memory = work()
    _, axes, columns = dilution.solve_geometry(orbits, seen, memory)
    moved = dilution.shift_of_fix(orbits, seen, axes, columns, 7.0, memory)
    # True ranges: what the fix predicts, from a place 7 m too high, must fit them but for a clock.
    predicted = naive_geometry(orbits, seen, 3)[:, :3] @ moved
    # three ranges, three unknowns: the residuals are roundings
    assert predicted - predicted[0] == pytest.approx(np.zeros(3), abs=1e-12)
    assert moved[2] == 7.0


@pytest.mark.parametrize("size", [4, 5, 6])
def test_inverses_by_factors_are_those_of_numpy_and_bound_the_condition(size):
    rng = np.random.default_rng(size)
    for shrink in (1.0, 1e-2, 1e-4, 1e-6):
        geometry = rng.normal(size=(9, size)) * np.array([shrink, *[1.0] * (size - 1)])
        matrix = geometry.T @ geometry
        work = np.zeros((dilution.WORK_ROWS, *[dilution.MOST_COLUMNS] * 2))
        inverse = work[dilution.PLAIN_INVERSE]
        bound = dilution.invert_by_factors(matrix, work[dilution.VECTORS], size, inverse)
        condition = np.linalg.cond(geometry)
        assert condition <= bound <= size * condition
        expected = np.linalg.inv(matrix)
        # both lose digits with the condition of the matrix
        size_of = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        difference = np.abs(inverse[:size, :size] - expected) / size_of
        assert difference.max() < 1e-13 * condition**2


def test_a_singular_matrix_has_no_factors():
    matrix = np.ones((4, 4))
    factor, inverse = np.zeros((6, 6)), np.zeros((6, 6))
    assert dilution.invert_by_factors(matrix, factor, 4, inverse) == math.inf
