r"""Tubes of rays: what each carries from one surface to the next, and what it sends back.

A tube is a cell (u, v) of the plane x = 1 ahead of the sensor, of the solid angle
du dv / (1 + u^2 + v^2)^(3/2). It is five rays: one through its middle and four through the middles
of its sides, which are led from plane to plane as if each facet had no end. Which facet that is, a
sixth ray finds out, next to the middle: so an edge is as sharp as the cells of a frame are in
line. For comparison it may be drawn anywhere in the cell; then edges count by the share of a tube
that they let through, which blurs them.

All rays of a tube come from one point: the sensor, or where its mirrors show it to be. So a tube
is that point S and three axes, of the cell's middle and of u and v, which each mirror turns over; a
point of the tube on a plane is S + t (m + a u + b v), as far from S as its whole way is long.

At a hit of the tube, with its length L so far, the distance r back to the receiver, A = L^2 dO and
the weight w of physical optics (``fields``),

    a = sqrt(P G_t G_r) lambda / (4 pi)^(3/2) sqrt(sigma) / (L r) e^(-j k (L + r))
    sqrt(sigma) = sqrt(4 pi) / lambda A w sinc(psi_u / 2 pi) sinc(psi_v / 2 pi) V

psi being how far the phase of L + r goes across the tube, and V whether the receiver is in sight.
The sinc is the integral over the tube: without it the spacing would have to follow the wavelength.
A is exact for plane facets. The mixer conjugates: what is kept has e^(+j k (L + r)).

Of the power that a rough surface takes from the mirror, Lambert's law sends some back:
sqrt(sigma) = sqrt(4 rho cos A), cos on the way back, with a phase drawn for each tube and frame.
What a tube gets from a diffuse surface after a mirror comes back on two ways: straight, once
as it is and once the other way round, and by the mirrors that it came by.

A pane (``fields``) reflects and lets through; whatever comes back straight through it has passed
it twice. Not counted are bounces, but for mirrors.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple, dot, minus, plus, times
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.fields import LEAST_COSINE, mirrored, polarised
from sensor_models.kernels.radar.simd import single_cosine_and_sine
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, PLACE, Packet

Floats = NDArray[np.float64]

# Tubes of a packet lie in one array, number by number of ``WIDTH`` each: a loop over tubes then
# becomes vectors, as it is plain that no number of a tube is written where one of another is read.
#
#   number           unit   meaning; (3) has x, y, z in the world
#   SOURCE (3)       m      the point that its rays come from
#   MIDDLE (3)       1      the axis of the middle of its cell in the plane ahead
#   ACROSS (3)       1      the axis along u
#   UPWARD (3)       1      the axis along v
#   U, V             1      where the middle of the cell is in the plane ahead
#   HALF_U, HALF_V   1      half of the sides of the cell
#   SHIFT_U, _V      1      from the middle to the ray that looks for facets
#   REACH            1      how far that ray has come, in lengths of its direction
#   FIELD_RE (3)     1      the field, real parts; it begins as the polarisation that is sent
#   FIELD_IM (3)     1      its imaginary parts
#   DRIFT            m/s    the sum of v . (d - d') over all surfaces so far
#   ROOT_GAIN        1      the root of the antenna's gain in the direction that it left by
#   BACK_RE, _IM     1      what panes leave of a field straight back, as it is received
#   TURNED_RE, _IM   1      and what they make of the other polarisation that is received then
#   DRAW             turns  a random phase of what a rough surface sends straight back
#   OTHER_DRAW       turns  one of what it sends back by the mirrors
#   PANE             -      the owner of the pane that it is in, -1 outside of panes
#   IN_PANE          m      how far that pane reaches
#   DEPTH            -      surfaces met, without the panes that let it through
#   EVENTS           -      surfaces met, all of them
#   STRAIGHT         -      whether it went straight so far
#   LAST_ROOM        m      how large a mirror the last surface was (``zone_room``)
#   LAST_AT          m      its length at that surface
#   CHAIN            -      what its surfaces were (``mirrors``)
#   IMAGE (3)        m      before its first object: the image of the sensor
#   IMAGE_WAY (3)    1      before its first object: its direction
#   LISTEN_RE (3)    1      before its first object: the field that is listened with, real parts
#   LISTEN_IM (3)    1      imaginary parts of that
#   IMAGE_DRIFT      m/s    before its first object: ``DRIFT``
#   NEXT             m      how far the next surface may be
SOURCE, MIDDLE, ACROSS, UPWARD = 0, 3 * WIDTH, 6 * WIDTH, 9 * WIDTH
U, V, HALF_U, HALF_V, SHIFT_U, SHIFT_V, REACH = (WIDTH * k for k in range(12, 19))
FIELD_RE, FIELD_IM = 19 * WIDTH, 22 * WIDTH
DRIFT, ROOT_GAIN, BACK_RE, BACK_IM, DRAW, OTHER_DRAW = (WIDTH * k for k in range(25, 31))
PANE, IN_PANE, DEPTH, EVENTS, STRAIGHT = (WIDTH * k for k in range(31, 36))
LAST_ROOM, LAST_AT, CHAIN = (WIDTH * k for k in range(36, 39))
IMAGE, IMAGE_WAY, LISTEN_RE, LISTEN_IM = (WIDTH * k for k in range(39, 51, 3))
IMAGE_DRIFT, NEXT, TURNED_RE, TURNED_IM = (WIDTH * k for k in range(51, 55))
NUMBERS = 55
# Beside these, where the antenna has it: the tangents of half of azimuth and elevation.
AZIMUTH, ELEVATION = WIDTH * NUMBERS, WIDTH * (NUMBERS + 1)
# Tubes that wait lie number by number, too, so that a packet of them is moved as vectors. Rows of a
# power of two would all want the same places of a cache.
STACK = 2048
APART = STACK + 8

#: Surfaces that a tube is followed to, panes among them.
MOST_EVENTS = 24
#: What is left of the power of a tube that is not followed any further.
LEAST_POWER = 1e-5


class Sender(NamedTuple):
    """The sensor at the middle of a frame."""

    place: tuple[float, float, float]  # in the world, m
    x: tuple[float, float, float]  # its axis ahead, in the world
    y: tuple[float, float, float]  # its axis to the left
    z: tuple[float, float, float]  # its axis up
    velocity: tuple[float, float, float]  # m/s
    wavenumber: float  # rad/m
    root_power: float  # sqrt(P / loss), of sqrt(W)
    sent: tuple[float, float]  # polarisation that is sent, parts v and h
    received: tuple[float, float]  # polarisation that is received, parts v and h
    most_bounces: int  # surfaces after which a tube is not followed
    jitter: float  # share of a cell that the ray that looks for facets is drawn from
    integrates: bool  # whether there is a sinc; without it, for comparison
    frame: int  # number of the frame, for draws
    key: NDArray[np.uint64]  # of the draws
    crossed: float  # 0 where the receiver has the polarisation that is sent, else 1 or -1
    faint: float  # what scatters less than this power alone is thinned out, W
    pattern: Floats  # (2, n): root of the gain by the tangents of half azimuth and elevation


@njit(**ACCESS)
def _from_table(table: Floats, row: int, tangent: float) -> float:
    """A number of a table by the tangent of half an angle, from -1 to 1."""
    last = table.shape[1] - 1
    place = 0.5 * (tangent + 1.0) * last
    step = min(max(int(place), 0), last - 1)
    share = min(max(place - step, 0.0), 1.0)
    value: float = table[row, step] + share * (table[row, step + 1] - table[row, step])
    return value


@njit(**CALLED)
def root_gain(pattern: Floats, forward: float, left: float, up: float) -> float:
    """The root of the antenna's gain in a direction of the sensor; none to the rear."""
    azimuth, elevation = half_tangents(forward, left, up)
    root: float = root_from_tangents(pattern, azimuth, elevation)
    return root


@njit(**ACCESS)
def half_tangents(forward: float, left: float, up: float) -> tuple[float, float]:
    """The tangents of half of azimuth and elevation of a direction.

    tan(a / 2) = sin a / (1 + cos a) takes less than an angle. That of an azimuth to the rear is 1
    or more, or none.
    """
    square = forward * forward + left * left
    level, length = math.sqrt(square), math.sqrt(square + up * up)
    return left / (level + forward), up / (length + level)


@njit(**ACCESS)
def root_from_tangents(pattern: Floats, azimuth: float, elevation: float) -> float:
    """The root of the antenna's gain by the tangents of half of both angles."""
    if not abs(azimuth) < 1.0:
        return 0.0
    root: float = _from_table(pattern, 0, azimuth) * _from_table(pattern, 1, elevation)
    return root


@njit(**ACCESS)
def in_world(sender: Sender, forward: float, left: float, up: float) -> Triple:
    """A direction of the sensor in the world."""
    found: Triple = plus(plus(times(forward, sender.x), times(left, sender.y)), times(up, sender.z))
    return found


@njit(**ACCESS)
def towards(sender: Sender, u: float, v: float) -> Triple:
    """The direction of a cell's point (u, v) in the world, of unit length."""
    scale = 1.0 / math.sqrt(1.0 + u * u + v * v)
    found: Triple = in_world(sender, scale, scale * u, scale * v)
    return found


@njit(**ACCESS)
def put_triple(numbers: Floats, place: int, vector: Triple) -> None:
    """Write a vector to where a tube has it."""
    numbers[place] = vector[0]
    numbers[place + WIDTH] = vector[1]
    numbers[place + 2 * WIDTH] = vector[2]


@njit(**ACCESS)
def get_triple(numbers: Floats, place: int) -> Triple:
    """A vector of a tube."""
    return numbers[place], numbers[place + WIDTH], numbers[place + 2 * WIDTH]


@njit(**ACCESS)
def looking(numbers: Floats, lane: int) -> Triple:
    """The direction of the ray that looks for facets, longer than 1."""
    aside = times(numbers[SHIFT_U + lane], get_triple(numbers, ACROSS + lane))
    raised = times(numbers[SHIFT_V + lane], get_triple(numbers, UPWARD + lane))
    found: Triple = plus(get_triple(numbers, MIDDLE + lane), plus(aside, raised))
    return found


@njit(**CALLED)
def launch(sender: Sender, numbers: Floats) -> None:
    """Have tubes set out whose cells and draws are known."""
    for lane in range(WIDTH):
        u, v = numbers[U + lane], numbers[V + lane]
        middle = plus(sender.x, plus(times(u, sender.y), times(v, sender.z)))
        scale = 1.0 / math.sqrt(1.0 + u * u + v * v)
        along = times(scale, middle)
        azimuth, elevation = half_tangents(scale, scale * u, scale * v)
        numbers[AZIMUTH + lane], numbers[ELEVATION + lane] = azimuth, elevation
        put_triple(numbers, SOURCE + lane, (0.0, 0.0, 0.0))
        put_triple(numbers, MIDDLE + lane, middle)
        put_triple(numbers, ACROSS + lane, sender.y)
        put_triple(numbers, UPWARD + lane, sender.z)
        field = polarised(along, sender.z, sender.sent[0], sender.sent[1])
        put_triple(numbers, FIELD_RE + lane, field)
        put_triple(numbers, FIELD_IM + lane, (0.0, 0.0, 0.0))
        numbers[REACH + lane] = numbers[DRIFT + lane] = 0.0
        numbers[BACK_RE + lane], numbers[BACK_IM + lane] = 1.0, 0.0
        numbers[TURNED_RE + lane] = numbers[TURNED_IM + lane] = 0.0
        numbers[PANE + lane], numbers[IN_PANE + lane] = -1.0, 0.0
        numbers[DEPTH + lane] = numbers[EVENTS + lane] = 0.0
        numbers[STRAIGHT + lane] = 1.0
        numbers[LAST_ROOM + lane] = numbers[LAST_AT + lane] = numbers[CHAIN + lane] = 0.0
        numbers[IMAGE_DRIFT + lane], numbers[NEXT + lane] = 0.0, math.inf
        for place in (IMAGE, IMAGE_WAY, LISTEN_RE, LISTEN_IM):
            put_triple(numbers, place + lane, (0.0, 0.0, 0.0))
    for lane in range(WIDTH):
        azimuth, elevation = numbers[AZIMUTH + lane], numbers[ELEVATION + lane]
        numbers[ROOT_GAIN + lane] = root_from_tangents(sender.pattern, azimuth, elevation)


@njit(**CALLED)
def look_ahead(sender: Sender, numbers: Floats, packet: Packet) -> None:
    """Put the rays that look for facets into a packet, for ``set_rays``."""
    rays = packet.doubles
    for lane in range(WIDTH):
        way = looking(numbers, lane)
        start = plus(get_triple(numbers, SOURCE + lane), times(numbers[REACH + lane], way))
        put_triple(rays, PLACE + lane, plus(sender.place, start))
        put_triple(rays, ALONG + lane, times(1.0 / math.sqrt(dot(way, way)), way))


@njit(**ACCESS)
def there_and_back(
    source: Triple, home: Triple, direction: Triple, size: float, cosine: float, gap: float
) -> float:
    """The length of a ray to a plane and from there straight to where it is received.

    ``direction`` is ``size`` long, and ``cosine`` is its product with the normal.
    """
    share = gap / min(cosine, -LEAST_COSINE * size)
    place = minus(plus(source, times(share, direction)), home)
    length: float = share * size + math.sqrt(dot(place, place))
    return length


@njit(**ACCESS)
def sinc(half: float) -> float:
    """The share sin x / x."""
    _, sine = single_cosine_and_sine(half * (0.5 / math.pi))
    small = abs(half) < 1e-4
    share: float = 1.0 - half * half / 6.0 if small else np.float64(sine) / (1.0 if small else half)
    return share


@njit(**ACCESS)
def across(
    numbers: Floats, lane: int, home: Triple, normal: Triple, gap: float, wavenumber: float
) -> float:
    """The integral of the phase over a tube at a plane, by its area: the product of both sincs.

    ``gap`` is how far the plane lies from the point that the rays come from, and ``home`` is where
    they go to from there.
    """
    source, middle = get_triple(numbers, SOURCE + lane), get_triple(numbers, MIDDLE + lane)
    cosine, u, v = dot(normal, middle), numbers[U + lane], numbers[V + lane]
    half_u, half_v = numbers[HALF_U + lane], numbers[HALF_V + lane]
    aside = times(half_u, get_triple(numbers, ACROSS + lane))
    raised = times(half_v, get_triple(numbers, UPWARD + lane))
    left, up = dot(normal, aside), dot(normal, raised)
    more, less = (u + half_u) ** 2 + v * v, (u - half_u) ** 2 + v * v
    high, low = u * u + (v + half_v) ** 2, u * u + (v - half_v) ** 2
    wide = there_and_back(
        source, home, plus(middle, aside), math.sqrt(1.0 + more), cosine + left, gap
    ) - there_and_back(
        source, home, minus(middle, aside), math.sqrt(1.0 + less), cosine - left, gap
    )
    tall = there_and_back(
        source, home, plus(middle, raised), math.sqrt(1.0 + high), cosine + up, gap
    ) - there_and_back(source, home, minus(middle, raised), math.sqrt(1.0 + low), cosine - up, gap)
    share: float = sinc(0.5 * wavenumber * wide) * sinc(0.5 * wavenumber * tall)
    return share


@njit(**ACCESS)
def turn_over(numbers: Floats, lane: int, normal: Triple, gap: float) -> None:
    """Mirror a tube at a plane."""
    source = get_triple(numbers, SOURCE + lane)
    put_triple(numbers, SOURCE + lane, plus(source, times(2.0 * gap, normal)))
    middle, aside = get_triple(numbers, MIDDLE + lane), get_triple(numbers, ACROSS + lane)
    put_triple(numbers, MIDDLE + lane, mirrored(middle, normal))
    put_triple(numbers, ACROSS + lane, mirrored(aside, normal))
    upward = get_triple(numbers, UPWARD + lane)
    put_triple(numbers, UPWARD + lane, mirrored(upward, normal))
