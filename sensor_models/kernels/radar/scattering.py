"""What surfaces send back to a radar, for all tubes of a packet at once.

These are loops over tubes without branches or calls, which become vectors (``ray_tubes``). All
tubes of a packet are reckoned with, also those that met nothing: what comes out for them is not
taken.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.decay import LOWEST, decayed
from sensor_models.kernels.math.rotations import Triple, cross, dot, minus, plus, times
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.fields import (
    CONDUCTOR,
    DIFFUSE,
    LEAST_COSINE,
    mirrored,
    polarised,
    reflection,
    roughness,
    side_axis,
    squared,
    weights_of,
)
from sensor_models.kernels.radar.ray_tubes import (
    AZIMUTH,
    BACK_IM,
    BACK_RE,
    DRAW,
    DRIFT,
    ELEVATION,
    FIELD_IM,
    FIELD_RE,
    HALF_U,
    HALF_V,
    MIDDLE,
    NUMBERS,
    OTHER_DRAW,
    REACH,
    ROOT_GAIN,
    SOURCE,
    STRAIGHT,
    TURNED_IM,
    TURNED_RE,
    Sender,
    U,
    V,
    across,
    get_triple,
    half_tangents,
    looking,
    put_triple,
    root_from_tangents,
)
from sensor_models.kernels.radar.simd import single_cosine_and_sine
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS

Floats = NDArray[np.float64]

# What else is known of the tubes of a packet, behind their own numbers. Of the facet that each met:
# whether it met one, whether that is the other side of a pane; kind and index of its surface, what
# roughness leaves of a field, the diffuse reflectance if that is given, the thickness of a pane,
# the owner; normal (later on the side of the ray), a point, and the velocity where it is met.
FACET = NUMBERS + 2
(HIT, INSIDE, KIND, INDEX_RE, INDEX_IM, LEFT, GIVEN, THICKNESS, OWNER) = (
    WIDTH * k for k in range(FACET, FACET + 9)
)  # fmt: skip
NORMAL, POINT, VELOCITY = (WIDTH * k for k in range(FACET + 9, FACET + 18, 3))
# Of the middle ray: direction, where it is, and the axis s; where the ray is that looked for the
# facet; the field that is sent off. Then the length so far, how far that is from the sensor, and
# the plane from where rays come from; cosine, integral over the tube, root of the gain on the way
# back, and the power that is sent off.
RAY = FACET + 18
WAY, AT, SIDE, HOME, SENT_RE, SENT_IM = (WIDTH * k for k in range(RAY, RAY + 18, 3))
LENGTH, DISTANCE, GAP, COSINE, FLAT, ARRIVAL, POWER = (
    WIDTH * k for k in range(RAY + 18, RAY + 25)
)  # fmt: skip
# Coefficients, of panes those of what goes through as well, and the diffuse reflectance.
SURFACE = RAY + 25
RS_RE, RS_IM, RP_RE, RP_IM, TS_RE, TS_IM, TP_RE, TP_IM, DIFFUSELY = (
    WIDTH * k for k in range(SURFACE, SURFACE + 9)
)  # fmt: skip
# What is sent back: whether it is seen; amplitudes without the phase of the length: that of the
# mirror, that of what is scattered, and what comes back over its own path; length there and back,
# speeds of closing; directions of departure and arrival; what the way back lets through.
BACK = SURFACE + 9
SIGHT, RE, IM, STRAY_RE, STRAY_IM, OWN_RE, OWN_IM, TOTAL = (
    WIDTH * k for k in range(BACK, BACK + 8)
)
SPEED, OWN_SPEED, OUT_Y, OUT_Z, IN_Y, IN_Z, SEEN_RE, SEEN_IM = (
    WIDTH * k for k in range(BACK + 8, BACK + 16)
)  # fmt: skip
# Whether that is twice as much, and once more over mirrors: whether it is an object, how large a
# mirror it is else, and whether it is left out as one; what comes back over its mirrors, its length
# and its speed (``mirrors``). Then how large the whole thing is that the facet belongs to; and the
# strength of what mirrors send back, and what the way back lets through of the other polarisation.
OVER = BACK + 16
OBJECT, ROOM, TWICE, LEFT_OUT, RETURNS, OVER_RE, OVER_IM, OVER_TOTAL, OVER_SPEED, SIZE = (
    WIDTH * k for k in range(OVER, OVER + 10)
)
STRENGTH, ASKEW_RE, ASKEW_IM = (WIDTH * k for k in range(OVER + 10, OVER + 13))
COLUMNS = WIDTH * (OVER + 13)
NOTHING, IN_SIGHT, TO_BE_SEEN = range(3)


@njit(**CALLED)
def reach_planes(sender: Sender, numbers: Floats) -> None:
    """Lead tubes to the planes of the facets that they met."""
    for lane in range(WIDTH):
        source, way = get_triple(numbers, SOURCE + lane), looking(numbers, lane)
        normal, point = get_triple(numbers, NORMAL + lane), get_triple(numbers, POINT + lane)
        toward = dot(normal, way)
        sign = -1.0 if toward > 0.0 else 1.0
        normal, toward = times(sign, normal), sign * toward
        gap = dot(normal, minus(point, source))
        reach = gap / toward
        numbers[HIT + lane] = numbers[HIT + lane] if toward < 0.0 else 0.0
        numbers[REACH + lane], numbers[GAP + lane] = reach, gap
        put_triple(numbers, NORMAL + lane, normal)
        put_triple(numbers, HOME + lane, plus(source, times(reach, way)))
        middle, u, v = get_triple(numbers, MIDDLE + lane), numbers[U + lane], numbers[V + lane]
        size = math.sqrt(1.0 + u * u + v * v)
        along = times(1.0 / size, middle)
        cosine = dot(normal, along)
        length = gap / min(cosine, -LEAST_COSINE)
        at = plus(source, times(length, along))
        put_triple(numbers, WAY + lane, along)
        put_triple(numbers, AT + lane, at)
        put_triple(numbers, SIDE + lane, side_axis(along, normal))
        numbers[LENGTH + lane], numbers[DISTANCE + lane] = length, math.sqrt(dot(at, at))
        ahead, left, up = dot(at, sender.x), dot(at, sender.y), dot(at, sender.z)
        azimuth, elevation = half_tangents(ahead, left, up)
        numbers[AZIMUTH + lane], numbers[ELEVATION + lane] = azimuth, elevation
        numbers[COSINE + lane] = min(max(-cosine, LEAST_COSINE), 1.0)
        flat = across(numbers, lane, (0.0, 0.0, 0.0), normal, gap, sender.wavenumber)
        numbers[FLAT + lane] = flat if sender.integrates else 1.0


@njit(**CALLED)
def find_coefficients(sender: Sender, numbers: Floats) -> None:
    """r_s and r_p of surfaces, their diffuse reflectance, and what their roughness leaves.

    Its exponential is that of ``math.decay``, as the standard library's is a call.
    """
    for lane in range(WIDTH):
        depth = roughness(numbers[LEFT + lane], numbers[COSINE + lane], sender.wavenumber)
        numbers[LEFT + lane] = decayed(max(depth, LOWEST))
    for lane in range(WIDTH):
        index = complex(numbers[INDEX_RE + lane], numbers[INDEX_IM + lane])
        r_s, r_p = reflection(index, numbers[COSINE + lane])
        kind, left, given = numbers[KIND + lane], numbers[LEFT + lane], numbers[GIVEN + lane]
        share = 0.5 * (squared(r_s) + squared(r_p))
        share = 1.0 if kind == CONDUCTOR else share
        lost = share * (1.0 - left * left)
        left = 0.0 if kind == DIFFUSE else left
        conducts = kind == CONDUCTOR
        numbers[RS_RE + lane] = left * (-1.0 if conducts else r_s.real)
        numbers[RS_IM + lane] = left * (0.0 if conducts else r_s.imag)
        numbers[RP_RE + lane] = left * (-1.0 if conducts else r_p.real)
        numbers[RP_IM + lane] = left * (0.0 if conducts else r_p.imag)
        numbers[DIFFUSELY + lane] = given if given == given else lost  # NaN: what it takes
        numbers[TS_RE + lane] = numbers[TS_IM + lane] = 0.0
        numbers[TP_RE + lane] = numbers[TP_IM + lane] = 0.0


@njit(**ACCESS)
def strength(re: Triple, im: Triple) -> float:
    """The square of a field's length."""
    found: float = dot(re, re) + dot(im, im)
    return found


@njit(**CALLED)
def reflect(numbers: Floats) -> None:
    """The fields that surfaces send off."""
    for lane in range(WIDTH):
        normal, way = get_triple(numbers, NORMAL + lane), get_triple(numbers, WAY + lane)
        side = get_triple(numbers, SIDE + lane)
        upright: Triple = cross(side, way)
        lifted: Triple = cross(mirrored(way, normal), side)
        re, im = get_triple(numbers, FIELD_RE + lane), get_triple(numbers, FIELD_IM + lane)
        along, up = (
            complex(dot(re, side), dot(im, side)),
            complex(dot(re, upright), dot(im, upright)),
        )
        s = complex(numbers[RS_RE + lane], numbers[RS_IM + lane]) * along
        p = complex(numbers[RP_RE + lane], numbers[RP_IM + lane]) * up
        re, im = (
            plus(times(s.real, side), times(p.real, lifted)),
            plus(times(s.imag, side), times(p.imag, lifted)),
        )
        put_triple(numbers, SENT_RE + lane, re)
        put_triple(numbers, SENT_IM + lane, im)
        numbers[POWER + lane] = strength(re, im)


@njit(**CALLED)
def send_back(sender: Sender, numbers: Floats) -> None:
    """What mirrors send to the receiver, as if that were in sight."""
    for lane in range(WIDTH):
        normal, way = get_triple(numbers, NORMAL + lane), get_triple(numbers, WAY + lane)
        distance, length = numbers[DISTANCE + lane], numbers[LENGTH + lane]
        to = times(-1.0 / distance, get_triple(numbers, AT + lane))
        receiver = polarised(times(-1.0, to), sender.z, sender.received[0], sender.received[1])
        incoming, reflected = weights_of(way, mirrored(way, normal), normal, to, receiver)
        re, im = get_triple(numbers, FIELD_RE + lane), get_triple(numbers, FIELD_IM + lane)
        sent_re, sent_im = (
            get_triple(numbers, SENT_RE + lane), get_triple(numbers, SENT_IM + lane)
        )  # fmt: skip
        u, v = numbers[U + lane], numbers[V + lane]
        scale = 1.0 / math.sqrt(1.0 + u * u + v * v)
        solid = 4.0 * numbers[HALF_U + lane] * numbers[HALF_V + lane] * scale**3
        unit = sender.root_power * numbers[ROOT_GAIN + lane] * numbers[ARRIVAL + lane] / distance
        factor = unit * solid * length / (4.0 * math.pi) * numbers[FLAT + lane]
        factor = 0.0 if numbers[LEFT_OUT + lane] != 0.0 else factor
        numbers[STRENGTH + lane] = factor
        numbers[RE + lane] = factor * (dot(re, incoming) + dot(sent_re, reflected))
        numbers[IM + lane] = -factor * (dot(im, incoming) + dot(sent_im, reflected))
        numbers[TOTAL + lane] = length + distance
        y, z = -dot(to, sender.y), -dot(to, sender.z)
        numbers[IN_Y + lane], numbers[IN_Z + lane] = y, z
        numbers[OUT_Y + lane], numbers[OUT_Z + lane] = scale * u, scale * v
        velocity = get_triple(numbers, VELOCITY + lane)
        first = plus(sender.x, plus(times(u, sender.y), times(v, sender.z)))
        leaving = scale * dot(sender.velocity, first)
        met = numbers[DRIFT + lane] + dot(velocity, minus(way, to)) + dot(sender.velocity, to)
        numbers[SPEED + lane] = -0.5 * (met - leaving)
        own = 2.0 * (numbers[DRIFT + lane] + dot(velocity, way) - leaving)
        numbers[OWN_SPEED + lane] = -0.5 * own
        power = strength(re, im)
        wide = 4.0 * numbers[DIFFUSELY + lane] * solid * power
        area = 2.0 * math.pi / (sender.wavenumber * (4.0 * math.pi) ** 1.5)
        stray = area * unit * math.sqrt(max(wide * dot(normal, to), 0.0))
        c, s = single_cosine_and_sine(numbers[DRAW + lane])
        numbers[STRAY_RE + lane], numbers[STRAY_IM + lane] = stray * c, stray * s
        strong = sender.root_power * numbers[ROOT_GAIN + lane] ** 2 * math.sqrt(power)
        mine = area * strong * math.sqrt(wide * numbers[COSINE + lane]) / length
        c, s = single_cosine_and_sine(numbers[OTHER_DRAW + lane])
        numbers[OWN_RE + lane], numbers[OWN_IM + lane] = mine * c, mine * s


@njit(**CALLED)
def gain_back(sender: Sender, numbers: Floats) -> None:
    """Set the root of the antenna's gain where what tubes send straight back comes from."""
    any_bent = False
    for lane in range(WIDTH):
        numbers[ARRIVAL + lane] = numbers[ROOT_GAIN + lane]
        any_bent = any_bent | (numbers[STRAIGHT + lane] == 0.0)
    if not any_bent:
        return
    for lane in range(WIDTH):
        azimuth, elevation = numbers[AZIMUTH + lane], numbers[ELEVATION + lane]
        bent = root_from_tangents(sender.pattern, azimuth, elevation)
        straight = numbers[STRAIGHT + lane] != 0.0
        numbers[ARRIVAL + lane] = numbers[ROOT_GAIN + lane] if straight else bent


@njit(**CALLED)
def send_askew(sender: Sender, numbers: Floats, lane: int) -> complex:
    """What a mirror sends to a receiver of the other polarisation, across that of the sensor's."""
    normal, way = get_triple(numbers, NORMAL + lane), get_triple(numbers, WAY + lane)
    into = times(1.0 / numbers[DISTANCE + lane], get_triple(numbers, AT + lane))
    own = polarised(into, sender.z, sender.received[0], sender.received[1])
    receiver: Triple = cross(into, own)
    bounced, to = mirrored(way, normal), times(-1.0, into)
    incoming, reflected = weights_of(way, bounced, normal, to, receiver)
    re, im = get_triple(numbers, FIELD_RE + lane), get_triple(numbers, FIELD_IM + lane)
    real = dot(re, incoming) + dot(get_triple(numbers, SENT_RE + lane), reflected)
    other = dot(im, incoming) + dot(get_triple(numbers, SENT_IM + lane), reflected)
    found: complex = numbers[STRENGTH + lane] * complex(real, -other)
    return found


@njit(**ACCESS)
def kept(power: float, faint: float, draw: float) -> float:
    """By how much more power something counts that is thinned out, 0 if it is dropped.

    What scatters has a random phase: of parts with less power than ``faint``, some stand for all,
    so that the mean of their power stays as it is. ``draw`` is that of the phase, of which the last
    bits decide.
    """
    whole = power >= faint
    share = 1.0 if whole else power / (1.0 if whole else faint)
    fine = 65536.0 * draw
    stays = fine - math.floor(fine) < share
    return (1.0 / (share if stays else 1.0)) if stays else 0.0


@njit(**CALLED)
def thin_out(sender: Sender, numbers: Floats) -> None:
    """Have some of what scatters faintly stand for all of it."""
    for lane in range(WIDTH):
        re, im = numbers[STRAY_RE + lane], numbers[STRAY_IM + lane]
        x, y, power = numbers[RE + lane], numbers[IM + lane], re * re + im * im
        more = kept(power, sender.faint, numbers[DRAW + lane])
        more = 1.0 if x * x + y * y > power else more  # a mirror rather than a scatterer
        root = math.sqrt(more)
        numbers[STRAY_RE + lane], numbers[STRAY_IM + lane] = root * re, root * im
        numbers[RE + lane], numbers[IM + lane] = more * x, more * y
        numbers[STRENGTH + lane] *= more
        re, im = numbers[OWN_RE + lane], numbers[OWN_IM + lane]
        root = math.sqrt(kept(re * re + im * im, sender.faint, numbers[OTHER_DRAW + lane]))
        numbers[OWN_RE + lane], numbers[OWN_IM + lane] = root * re, root * im


@njit(**CALLED)
def tell_sight(numbers: Floats) -> None:
    """Whether what is sent back may be seen, and what is left of it."""
    for lane in range(WIDTH):
        met = (numbers[HIT + lane] != 0.0) & (numbers[INSIDE + lane] == 0.0)
        at, normal = get_triple(numbers, AT + lane), get_triple(numbers, NORMAL + lane)
        faces = (dot(at, normal) < 0.0) & (numbers[ARRIVAL + lane] != 0.0)
        stray = (numbers[STRAY_RE + lane] != 0.0) | (numbers[STRAY_IM + lane] != 0.0)
        faces = faces & ((numbers[STRENGTH + lane] != 0.0) | stray)
        straight = numbers[STRAIGHT + lane] != 0.0
        own = (numbers[OWN_RE + lane] != 0.0) | (numbers[OWN_IM + lane] != 0.0)
        answers = (own & (not straight)) | (numbers[RETURNS + lane] != 0.0)
        sight = 1.0 * IN_SIGHT if straight else 1.0 * TO_BE_SEEN
        hidden = 1.0 * IN_SIGHT if answers else 1.0 * NOTHING
        sight = sight if faces else hidden
        numbers[SIGHT + lane] = sight if met else 1.0 * NOTHING
        through = straight & faces
        numbers[SEEN_RE + lane] = numbers[BACK_RE + lane] if through else (1.0 if faces else 0.0)
        numbers[SEEN_IM + lane] = -numbers[BACK_IM + lane] if through else 0.0
        numbers[ASKEW_RE + lane] = numbers[TURNED_RE + lane] if through else 0.0
        numbers[ASKEW_IM + lane] = -numbers[TURNED_IM + lane] if through else 0.0
