r"""Sums of Gaussians, fitted to a waveform by the method of Levenberg and Marquardt.

    sum_i a_i e^(-(t - t_i)^2 / 2 w_i^2)        a, w > 0; t and w in samples

The normal equations are damped by a share of their diagonal; a step that raises the residual is
taken back and damped ten times as much. It ends with the step in which no parameter changes by
more than ``LAST`` of its size, since what a step leaves is of the order of its square; where the
residual falls by no more than ``FLAT`` of itself; or after ``MOST_STEPS``.

Most echoes are alone: ``fit_alone`` is the same for one, with its numbers in registers.

Samples at the full scale of a converter say only that the sum is no less there: where it is less,
the difference counts, and where it is more, nothing does.

Derivatives are made for some samples at a time, and sums are taken in any order, so that vectors
do both: an exponential is (1 + y + y^2/2 + ...)^64 with y = x/64, to 2e-12 of itself.

Source: Wagner et al. (2006), "Gaussian decomposition and calibration of a novel small-footprint
full-waveform digitising airborne laser scanner"; Marquardt (1963).
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.waveform.layout import (
    CHANGE,
    DAMPED,
    DERIVATIVES,
    FIT_BLOCK,
    MATRIX,
    NEXT_MATRIX,
    NEXT_SLOPE,
    SLOPE,
    TRIAL,
    Floats,
)

#: Steps of a fit, and of one that only has to tell whether it is about as good.
MOST_STEPS, FEW_STEPS = 20, 8
LAST = 3e-4
FLAT = 1e-4
#: A fit that only has to tell whether it comes down to some sum is given up where a step takes off
#: less than this share of what is missing: each step takes off half as much as the one before it,
#: or less, so that all that follow take off no more than twice of that, as a rule.
SLOW = 0.25
#: Samples that lie together and beyond so many standard deviations show nothing of a Gaussian: it
#: is 2e-8 of its height there. Others show at least so much.
REACH = 6.0
APART = {**ACCESS, "forceinline": False}
#: Sums may be taken in any order, for vectors.
LOOSELY = {"fastmath": {"reassoc", "nsz", "arcp", "contract"}}


@njit(**ACCESS, **LOOSELY)
def exponential(x: float) -> float:
    """e^x, for x from -REACH^2 / 2 to 0, without a branch."""
    y = x / 64.0
    p = 1.0 + y / 10.0
    p = 1.0 + y / 9.0 * p
    p = 1.0 + y / 8.0 * p
    p = 1.0 + y / 7.0 * p
    p = 1.0 + y / 6.0 * p
    p = 1.0 + y / 5.0 * p
    p = 1.0 + y / 4.0 * p
    p = 1.0 + y / 3.0 * p
    p = 1.0 + y / 2.0 * p
    p = 1.0 + y * p
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    return p * p


@njit(**ACCESS)
def in_vectors(count: int) -> int:
    """So many numbers, or a few more that fill a vector; ones left over would go one by one."""
    return count + 7 & ~7


@njit(**ACCESS)
def nothing_after(rows: Floats, held: int, wide: int) -> None:
    """Fill rows up with zeros."""
    for row in rows:
        for k in range(held, wide):
            row[k] = 0.0


@njit(**ACCESS, **LOOSELY)
def derive(echo: Floats, first: int, count: int, rows: Floats, left: Floats) -> None:
    """Derivatives of a Gaussian by its three numbers at some samples; it is taken off ``left``."""
    a, t, inverse = echo[0], echo[1], 1.0 / echo[2]
    heights, shifts, widths = rows[0], rows[1], rows[2]
    for k in range(count):
        z = (first + k - t) * inverse
        height = exponential(-0.5 * min(z * z, REACH * REACH))
        slope = a * inverse * height * z
        heights[k] = height
        shifts[k] = slope
        widths[k] = slope * z
        left[k] -= a * height


@njit(**ACCESS)
def shows_in(echo: Floats, first: int, count: int) -> bool:
    """Whether a Gaussian reaches into some samples."""
    reach = REACH * echo[2]
    return bool(first - reach < echo[1] < first + count - 1 + reach)


@njit(**ACCESS, **LOOSELY)
def squares(left: Floats, count: int) -> float:
    """The sum of the squares of some numbers."""
    total = 0.0
    for k in range(count):
        total += left[k] * left[k]
    return total


@njit(**ACCESS, **LOOSELY)
def add_to_slope(rows: Floats, left: Floats, count: int, slope: Floats) -> None:
    """Add the products of the derivatives of an echo with what is left."""
    heights, shifts, widths = rows[0], rows[1], rows[2]
    a = b = c = 0.0
    for k in range(count):
        own = left[k]
        a += heights[k] * own
        b += shifts[k] * own
        c += widths[k] * own
    slope[0] += a
    slope[1] += b
    slope[2] += c


@njit(**ACCESS, **LOOSELY)
def add_to_matrix(rows: Floats, others: Floats, count: int, matrix: Floats) -> None:
    """Add the products of the derivatives of two echoes; one loop, so that all are loaded once."""
    heights, shifts, widths = rows[0], rows[1], rows[2]
    u, v, w = others[0], others[1], others[2]
    aa = ab = ac = ba = bb = bc = ca = cb = cc = 0.0
    for k in range(count):
        a, b, c = heights[k], shifts[k], widths[k]
        x, y, z = u[k], v[k], w[k]
        aa += a * x
        ab += a * y
        ac += a * z
        ba += b * x
        bb += b * y
        bc += b * z
        ca += c * x
        cb += c * y
        cc += c * z
    a, b, c = matrix[0], matrix[1], matrix[2]
    a[0] += aa
    a[1] += ab
    a[2] += ac
    b[0] += ba
    b[1] += bb
    b[2] += bc
    c[0] += ca
    c[1] += cb
    c[2] += cc


@njit(**APART)
def forget_clipped(signal: Floats, begin: int, held: int, rows: Floats, clip: float) -> None:
    """Let samples at full scale say nothing where the sum is above it; the last row is the rest."""
    left = rows[len(rows) - 1]
    for k in range(held):
        if signal[begin + k] >= clip and left[k] <= 0.0:
            for row in range(len(rows)):
                rows[row, k] = 0.0


@njit(**APART)
def normal_equations(
    signal: Floats,
    first: int,
    last: int,
    echoes: Floats,
    count: int,
    room: Floats,
    place: int,
    beside: int,
    clip: float,
) -> float:
    """Matrix (its upper half) and right side of a step, to their rows; gives the sum of squares."""
    size, rows = 3 * count, room[DERIVATIVES:]
    matrix, slope, left = room[place:], room[beside], rows[size]
    for i in range(size):
        row = matrix[i]
        for j in range(in_vectors(size)):
            row[j] = 0.0
        slope[i] = 0.0
    total = 0.0
    for begin in range(first, last, FIT_BLOCK):
        held = min(last - begin, FIT_BLOCK)
        wide, own = in_vectors(held), signal[begin:]
        for k in range(held):
            left[k] = own[k]
        for i in range(count):
            if shows_in(echoes[i], begin, held):
                derive(echoes[i], begin, wide, rows[3 * i : 3 * i + 3], left)
                nothing_after(rows[3 * i : 3 * i + 3], held, wide)
        nothing_after(rows[size : size + 1], held, wide)
        if clip < math.inf:
            forget_clipped(signal, begin, held, rows[: size + 1], clip)
        total += squares(left, wide)
        for i in range(count):
            if not shows_in(echoes[i], begin, held):
                continue
            add_to_slope(rows[3 * i :], left, wide, slope[3 * i :])
            for j in range(i, count):
                if shows_in(echoes[j], begin, held):
                    into = matrix[3 * i :, 3 * j :]
                    add_to_matrix(rows[3 * i :], rows[3 * j :], wide, into)
    return total


@njit(**ACCESS)
def solve(room: Floats, size: int, damping: float) -> bool:
    """Solve the damped equations by elimination; whether they can be solved.

    Rows are worked on from their start, for vectors: what lies before the diagonal is not read.
    """
    rest, matrix, slope, change = room[DAMPED:], room[MATRIX:], room[SLOPE], room[CHANGE]
    wide = in_vectors(size)
    for i in range(size):
        own, given = rest[i], matrix[i]
        for k in range(wide):
            own[k] = given[k]
        own[i] += damping * given[i]
    for k in range(wide):
        change[k] = slope[k]
    for i in range(size):
        own = rest[i]
        if not own[i] > 1e-12 * matrix[i, i]:
            return False
        inverse = 1.0 / own[i]
        for j in range(i + 1, size):
            other, share = rest[j], own[j] * inverse
            for k in range(wide):
                other[k] -= share * own[k]
            change[j] -= share * change[i]
    for i in range(size - 1, -1, -1):
        change[i] /= rest[i, i]
        for j in range(i):
            change[j] -= rest[j, i] * change[i]
    return True


@njit(**ACCESS)
def step_to(echoes: Floats, trial: Floats, count: int, change: Floats) -> float:
    """Take a step, no parameter to less than a fifth of it; the largest change, of its size."""
    largest = 0.0
    for i in range(count):
        a, w = echoes[i, 0], echoes[i, 2]
        trial[i, 0] = max(a + change[3 * i], 0.2 * a)
        move = min(max(change[3 * i + 1], -2.0 * w), 2.0 * w)
        trial[i, 1] = echoes[i, 1] + move
        trial[i, 2] = min(max(w + change[3 * i + 2], 0.2 * w), 5.0 * w)
        largest = max(largest, abs(trial[i, 0] / a - 1.0), abs(move) / w)
        largest = max(largest, abs(trial[i, 2] / w - 1.0))
    return largest


@njit(**ACCESS)
def copy_echoes(echoes: Floats, count: int, to: Floats) -> None:
    """Copy some echoes to the beginning of a list."""
    for i in range(count):
        for k in range(3):
            to[i, k] = echoes[i, k]


@njit(**ACCESS)
def move_on(room: Floats, size: int) -> None:
    """Go on from the equations of the place that was tried."""
    for i in range(size):
        room[SLOPE, i] = room[NEXT_SLOPE, i]
        own, following = room[MATRIX + i], room[NEXT_MATRIX + i]
        for j in range(in_vectors(size)):
            own[j] = following[j]


#: Of one Gaussian: the sum of squares that it leaves, the right side of a step, and the lower half
#: of its matrix, row by row.
Equations = tuple[float, float, float, float, float, float, float, float, float, float]


@njit(**ACCESS, **LOOSELY)
def equations_alone(
    signal: Floats, first: int, last: int, amplitude: float, place: float, width: float
) -> Equations:
    """As ``normal_equations`` for one Gaussian, in one loop that stores nothing."""
    own, inverse, begin = signal[first:], 1.0 / width, first - place
    steep = amplitude * inverse
    total = u = v = w = aa = ba = bb = ca = cb = cc = 0.0
    for k in range(last - first):
        z = (begin + k) * inverse
        a = exponential(-0.5 * min(z * z, REACH * REACH))
        b = steep * a * z
        c = b * z
        left = own[k] - amplitude * a
        total += left * left
        u += a * left
        v += b * left
        w += c * left
        aa += a * a
        ba += b * a
        bb += b * b
        ca += c * a
        cb += c * b
        cc += c * c
    return total, u, v, w, aa, ba, bb, ca, cb, cc


@njit(**ACCESS)
def step_alone(own: Equations, damping: float) -> tuple[bool, float, float, float]:
    """Whether the damped equations of one Gaussian can be solved, and their solution (Cholesky)."""
    _, u, v, w, aa, ba, bb, ca, cb, cc = own
    more = 1.0 + damping
    p = more * aa
    q, r = ba / p, ca / p
    s = more * bb - q * ba
    t = cb - r * ba
    n = t / s
    o = more * cc - r * ca - n * t
    if not (p > 1e-12 * aa and s > 1e-12 * bb and o > 1e-12 * cc):
        return False, 0.0, 0.0, 0.0
    v -= q * u
    third = (w - r * u - n * v) / o
    second = v / s - n * third
    return True, u / p - q * second - r * third, second, third


@njit(**APART)
def fit_alone(
    signal: Floats, first: int, last: int, echo: Floats, steps: int, enough: float
) -> float:
    """As ``fit`` for one echo."""
    a, t, w = echo[0], echo[1], echo[2]
    damping, own = 1e-3, equations_alone(signal, first, last, a, t, w)
    for _ in range(steps):
        solved, up, along, wider = step_alone(own, damping)
        if not solved:
            damping = max(10.0 * damping, 1e-6)
            continue
        move = min(max(along, -2.0 * w), 2.0 * w)
        b, c = max(a + up, 0.2 * a), min(max(w + wider, 0.2 * w), 5.0 * w)
        if max(abs(b / a - 1.0), abs(move) / w, abs(c / w - 1.0)) < LAST:
            a, t, w = b, t + move, c
            break
        tried = equations_alone(signal, first, last, b, t + move, c)
        if tried[0] > own[0]:
            damping = max(10.0 * damping, 1e-6)
            continue
        damping *= 0.5
        a, t, w = b, t + move, c
        gained, above = own[0] - tried[0], tried[0] - enough
        flat = gained <= FLAT * own[0] or gained < SLOW * above
        own = tried
        if flat:
            break
    echo[0], echo[1], echo[2] = a, t, w
    return float(own[0])


@njit(**APART)
def fit(
    signal: Floats,
    first: int,
    last: int,
    echoes: Floats,
    count: int,
    room: Floats,
    steps: int,
    clip: float,
    enough: float = math.inf,
) -> float:
    """Improve ``echoes`` (amplitude, place, sigma) in place; the sum of squares that is left.

    ``clip``: infinity if no sample is at full scale. It ends where the sum will not come down to
    what is ``enough``: so far above that the last step took off less than ``SLOW`` of it.
    """
    if count == 1 and clip == math.inf:
        alone: float = fit_alone(signal, first, last, echoes[0], steps, enough)
        return alone
    damping, trial = 1e-3, room[TRIAL:]
    own = signal, first, last
    total: float = normal_equations(*own, echoes, count, room, MATRIX, SLOPE, clip)
    for _ in range(steps):
        if not solve(room, 3 * count, damping):
            damping = max(10.0 * damping, 1e-6)
            continue
        if step_to(echoes, trial, count, room[CHANGE]) < LAST:
            copy_echoes(trial, count, echoes)
            break
        reached = normal_equations(*own, trial, count, room, NEXT_MATRIX, NEXT_SLOPE, clip)
        if reached > total:
            damping = max(10.0 * damping, 1e-6)
            continue
        damping *= 0.5
        copy_echoes(trial, count, echoes)
        flat = total - reached <= FLAT * total or total - reached < SLOW * (reached - enough)
        total = reached
        if flat:
            break
        move_on(room, 3 * count)
    return total
