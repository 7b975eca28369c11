"""Functions that compiled loops have in place of a maths library's, against 40 digits.

Each is compared over all of the domain that it states: at its ends, around the places where it
changes its form, and at random in between, evenly and by powers of two.
"""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from sensor_models.kernels.camera.ccd.points import sine, turned
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.points import angle_of
from sensor_models.kernels.math.decay import LOWEST, decayed, decayed_less_one
from sensor_models.kernels.math.turns import cosine_and_sine
from sensor_models.kernels.radar.simd import single_cosine_and_sine
from sensor_models.kernels.waveform.decomposition import REACH, exponential

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
COUNT = 600


@njit(cache=True)
def of_each(kind, numbers, found):  # one kernel, as compiling takes longer than all calls
    for k in range(len(numbers)):
        x = numbers[k]
        if kind == 0:
            found[k, 0] = exponential(x)
        elif kind == 1:
            found[k, 0] = sine(x)
        elif kind == 2:
            found[k, 0], found[k, 1] = turned(x)
        elif kind == 3:
            found[k, 0] = angle_of(x)
        elif kind == 4:
            found[k, 0], found[k, 1] = cosine_and_sine(x)
        elif kind == 5:
            one, other = single_cosine_and_sine(x)
            found[k, 0], found[k, 1] = np.float64(one), np.float64(other)
        else:
            found[k, 0], found[k, 1] = decayed(x), decayed_less_one(x)


def series(first: Decimal, squared: Decimal, start: int) -> Decimal:
    """first (1 - squared / (start (start + 1)) + ...), the series of sine and cosine."""
    term = total = first
    k = start
    while abs(term) > Decimal("1e-45"):
        term *= -squared / (k * (k + 1))
        total += term
        k += 2
    return total


def sine_of(turns: float | Decimal) -> Decimal:
    """sin(2 pi x), to 40 digits."""
    left = Decimal(turns) % 1  # with the sign of x
    left -= left.to_integral_value()
    angle = 2 * PI * left
    return series(angle, angle * angle, 2)


def cosine_of(turns: float) -> Decimal:
    """cos(2 pi x), to 40 digits."""
    return sine_of(Decimal(turns) + Decimal("0.25"))


def arc_cosine_of(cosine: float) -> Decimal:
    """The angle of [0, pi / 2] by Newton's method on the cosine's series, to 40 digits."""
    wanted = Decimal(cosine)
    # Near 1 the angle is the root of what is missing: start there, and go on by its sine.
    angle = (2 * (1 - wanted)).sqrt() * Decimal("1.05")
    for _ in range(80):
        value = series(Decimal(1), angle * angle, 1)
        slope = -series(angle, angle * angle, 2)
        if slope == 0:
            return angle
        change = (wanted - value) / slope
        angle += change
        if abs(change) < Decimal("1e-38"):
            break
    return angle


def between(low: float, high: float, *edges: float) -> np.ndarray:
    """Numbers of a domain: its ends, what is next to edges, random ones by size and evenly."""
    rng = np.random.default_rng(7)
    size = max(abs(low), abs(high))
    small = size * 2.0 ** -rng.uniform(0.0, 50.0, COUNT) * rng.choice([-1.0, 1.0], COUNT)
    near = [np.nextafter(edge, to) for edge in edges for to in (-np.inf, np.inf)]
    given = np.concatenate([[low, high, 0.0], edges, near, small, rng.uniform(low, high, COUNT)])
    inside: np.ndarray = given[(given >= low) & (given <= high)]
    return inside


def found_of(kind: int, numbers: np.ndarray) -> np.ndarray:
    found = np.zeros((len(numbers), 2))
    of_each(kind, numbers, found)
    return found


def largest(found: np.ndarray, exact: list[Decimal], *, relative: bool = False) -> float:
    """The largest error, absolute or of the number itself."""
    errors = [abs(Decimal(x) - y) for x, y in zip(found.tolist(), exact, strict=True)]
    if relative:
        errors = [e / abs(y) if y != 0 else e for e, y in zip(errors, exact, strict=True)]
    return float(max(errors))


@pytest.fixture(autouse=True)
def forty_digits():
    with localcontext() as own:
        own.prec = 50
        yield


def test_the_exponential_of_the_fit() -> None:
    numbers = between(-0.5 * REACH**2, 0.0)
    error = largest(found_of(0, numbers)[:, 0], [Decimal(x).exp() for x in numbers], relative=True)
    assert error < 2e-12


def test_the_sine_of_quarter_turns() -> None:
    numbers = between(-0.25, 0.25)
    assert largest(found_of(1, numbers)[:, 0], [sine_of(x) for x in numbers]) < 1e-13


def test_the_sine_of_quarter_turns_is_exact_to_its_size() -> None:
    """Near 0 as well, where the series has but one term."""
    numbers = between(-0.25, 0.25)
    numbers = numbers[numbers != 0.0]
    found = found_of(1, numbers)[:, 0]
    assert largest(found, [sine_of(x) for x in numbers], relative=True) < 1e-13


def test_a_share_of_a_turn() -> None:
    numbers = between(0.0, 1.0, 0.25, 0.5, 0.75)
    found = found_of(2, numbers)
    assert largest(found[:, 0], [cosine_of(x) for x in numbers]) < 1e-13
    assert largest(found[:, 1], [sine_of(x) for x in numbers]) < 1e-13


def test_the_angle_of_a_cosine() -> None:
    numbers = between(0.0, 1.0, 0.5, 1.0)
    near_one = 1.0 - 2.0 ** -np.arange(1.0, 54.0)
    numbers = np.concatenate([numbers, near_one])
    assert largest(found_of(3, numbers)[:, 0], [arc_cosine_of(x) for x in numbers]) < 4e-16


def test_cosine_and_sine_of_turns() -> None:
    numbers = np.concatenate([between(-3.0, 3.0, *np.arange(-24, 25) / 8.0), [2.0**50, -(2.0**50)]])
    found = found_of(4, numbers)
    assert largest(found[:, 0], [cosine_of(x) for x in numbers]) < 5e-16
    assert largest(found[:, 1], [sine_of(x) for x in numbers]) < 5e-16


def test_single_cosine_and_sine_of_turns() -> None:
    """What is stated is of the function; the angle itself is rounded to float32 first."""
    numbers = np.float64(np.float32(between(-0.5, 0.5, *np.arange(-4, 5) / 8.0)))
    found = found_of(5, numbers)
    assert largest(found[:, 0], [cosine_of(x) for x in numbers]) < 1e-7
    assert largest(found[:, 1], [sine_of(x) for x in numbers]) < 1e-7


def test_what_decays() -> None:
    halves = -np.arange(2000) * float(np.log(2.0)) / 2.0
    numbers = np.concatenate([between(LOWEST, 0.0), halves[halves >= LOWEST]])
    found = found_of(6, numbers)
    exact = [Decimal(x).exp() for x in numbers]
    assert largest(found[:, 0], exact, relative=True) < 4e-16
    assert largest(found[:, 1], [y - 1 for y in exact], relative=True) < 4e-16
