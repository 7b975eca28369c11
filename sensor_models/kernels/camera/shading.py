r"""The light that opaque surfaces send to whoever looks at them.

For each of the wavelengths of ``Light``, with l toward the sun, v toward the viewer, n the normal:

    L = f(l, v) (n·l) E V  +  T C mean(L_in of base rays)  +  mean(w L_in of top rays)  +  L_e

    V      what a ray to the sun has left: 0 behind a surface, less behind glass
    L_in   of a ray to the surroundings: the sky above the horizon, a ground of reflectance 0.2
           below it, or a surface that it meets, with one bounce:
           R'/π (E (n'·l) V' + π L_sky (1 + n'_z) / 2) + L_e'
    C, T   reflectance of the base, and the share of light that the coat lets through to it
    base   rays of the cosine law, one from each cell of a grid of equal shares
    top    rays of the coat: facets drawn by what the viewer sees of them (Heitz 2018), with the
           weights w = R(l·h) G/G1(v) less the share that goes on as a mirrored branch of the tree

A matt surface has base rays only, a metal top rays only, a coated one a quarter of top rays. Where
``Light.looks_up`` is set, one more ray of the cosine law at each bounce finds sky or nothing, in
place of (1 + n'_z)/2, which takes the sky over the bounce as open: then the mean is that of all
ways of light with one bounce.

Source: PHYSICS-2, 32.5, extended by the top rays: without them rough metals would be black but
for the sun. The sun's image in a coat is as wide as the sun at least: roughness has that floor.

Not modelled: what has bounced more than once; caustics; clouds and a sky that is brighter
somewhere; media between a surface and its surroundings.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.lights import CONSTANT, SLOPE, SQUARE, Light
from sensor_models.kernels.camera.probes import (
    LEFT,
    NORMAL,
    NOTHING,
    PLACE,
    Probe,
    aim,
    ask,
    new_probe,
    skip,
)
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.boundaries import off_surface
from sensor_models.kernels.light.fresnel import reflectance
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import (
    EXTINCTION,
    IOR,
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
    Surface,
    facets,
    into_base,
    specular_share,
    surface_at,
    visibility,
)
from sensor_models.kernels.math.philox import block
from sensor_models.kernels.math.rotations import Triple, cross, dot
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

# Columns of Points.numbers: where a point is, its normal on the viewer's side, the direction of
# the ray that found it, when that was sent, how long it was.
PLACE_OF, NORMAL_OF, ALONG_OF, TIME_OF, LENGTH_OF = 0, 3, 6, 9, 10
NUMBERS = 11
# Columns of Points.ids: the ray of the caller's that it belongs to, its material, and the number
# that its draws go by.
RAY_OF, MATERIAL_OF, DRAW_OF = range(3)
IDS = 3

#: tan² of half the sun's half angle: its image in a coat is no narrower.
SUN_SLOPE_SQUARED = math.tan(math.radians(0.267) / 2.0) ** 2
#: Of the rays of a coated surface, one in so many is of its top layer.
TOP_SHARE = 4
#: Byte of a random word in [0, 1), at its middle.
BYTE = np.uint64(255)
ONE_BYTE = 1.0 / 256.0
#: Cells of a grid of draws whose bytes one counter fills.
CELLS_OF_BLOCK = 16
#: Draws of the rays at bounces count on from here.
BOUNCE_DRAWS = 1 << 60


class Points(NamedTuple):
    """Points of opaque surfaces that wait for their light, a lane each."""

    held: NDArray[np.int64]  # (1,)
    numbers: Floats  # (WIDTH, NUMBERS)
    ids: NDArray[np.int64]  # (WIDTH, IDS)
    tint: Floats  # (WIDTH, n): what is left of their light on the way to the viewer


class Shop(NamedTuple):
    """What is used again and again while points are lit."""

    points: Points
    probe: Probe
    second: Probe  # of a bounce, toward the sun
    third: Probe  # of a bounce, to the sky
    into: Floats  # (WIDTH, n): sum of what base rays bring
    onto: Floats  # (WIDTH, n): sum of what top rays bring
    words: NDArray[np.uint64]  # (WIDTH, 4): random words of the points
    weights: Floats  # (WIDTH, 7): weight of the ray, base and top rays of a point, and the sums of
    # weights of rays that found sky and ground, of the base and of the top


@njit(cache=True)
def new_shop(wavelengths: int) -> Shop:
    """Room for the points of one packet."""
    points = Points(
        np.zeros(1, np.int64),
        np.zeros((WIDTH, NUMBERS)),
        np.zeros((WIDTH, IDS), np.int64),
        np.zeros((WIDTH, wavelengths)),
    )
    return Shop(
        points,
        new_probe(),
        new_probe(),
        new_probe(),
        np.zeros((WIDTH, wavelengths)),
        np.zeros((WIDTH, wavelengths)),
        np.zeros((WIDTH, 4), np.uint64),
        np.zeros((WIDTH, 7)),
    )


@njit(**ACCESS)
def triple(numbers: Floats, row: int, first: int) -> Triple:
    """Three columns of a row."""
    return numbers[row, first], numbers[row, first + 1], numbers[row, first + 2]


@njit(**ACCESS)
def across(normal: Triple) -> tuple[Triple, Triple]:
    """Two unit vectors at right angles to a third and to one another (Duff et al. 2017)."""
    x, y, z = normal
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    return (1.0 + sign * x * x * a, sign * b, -sign * x), (b, sign + y * y * a, -y)


@njit(**ACCESS)
def start_off(point: Floats, lane: int) -> Triple:
    """Where rays from a point start: off its surface by what its place is uncertain by."""
    off = 2.0 * off_surface(point[lane, LENGTH_OF])
    return (
        point[lane, PLACE_OF] + off * point[lane, NORMAL_OF],
        point[lane, PLACE_OF + 1] + off * point[lane, NORMAL_OF + 1],
        point[lane, PLACE_OF + 2] + off * point[lane, NORMAL_OF + 2],
    )


@njit(**ACCESS)
def least_of(point: Floats, lane: int) -> float:
    """How near the rays from a point do not look."""
    return float(1e-6 * max(1.0, point[lane, LENGTH_OF]))


@njit(**ACCESS)
def floored(surface: Surface) -> Surface:
    """A surface whose coat shows the sun no smaller than it is."""
    return (
        surface[0],
        surface[1],
        surface[2],
        max(surface[3], SUN_SLOPE_SQUARED),
        surface[4],
        surface[5],
        surface[6],
        surface[7],
    )


@njit(**ACCESS)
def of_the_sun(
    light: Light, surface: Surface, material: int, viewer: Triple, normal: Triple
) -> tuple[float, float, float]:
    """What (n·l) f is made of: of the top layer, and with C and C² of the base."""
    toward = (light.toward_sun[0], light.toward_sun[1], light.toward_sun[2])
    c_l, c_v, c_lv = dot(toward, normal), dot(viewer, normal), dot(toward, viewer)
    if not (c_l > 0.0 and c_v > 0.0):
        return 0.0, 0.0, 0.0
    s = c_lv - c_l * c_v
    t = max(c_l, c_v) if s > 0.0 else 1.0
    orders = light.orders
    first = (orders[material, CONSTANT] + orders[material, SLOPE] * s / t) / math.pi
    second = orders[material, SQUARE] / math.pi
    if surface[KIND] == LAMBERT:
        return 0.0, first * c_l, second * c_l
    h = (toward[0] + viewer[0], toward[1] + viewer[1], toward[2] + viewer[2])
    square = max(dot(h, h), 1e-300)
    tilt = cross(normal, h)
    at_facet = reflectance(1.0, surface[IOR], surface[EXTINCTION], 0.5 * math.sqrt(square))
    rough = surface[SLOPE_SQUARED]
    top = at_facet * facets(rough, min(dot(tilt, tilt) / square, 1.0)) * visibility(rough, c_l, c_v)
    base = into_base(surface, 1.0, at_facet, c_l, c_v)
    return top * c_l, base * first * c_l, base * second * c_l


@njit(**{**ACCESS, "forceinline": False})
def add_sun(view: SceneView, path: Path, light: Light, shop: Shop, glow: Floats) -> None:
    """Add what the points send on of the sun's light."""
    points, probe, held = shop.points, shop.probe, shop.points.held[0]
    toward = (light.toward_sun[0], light.toward_sun[1], light.toward_sun[2])
    for lane in range(WIDTH):
        lit = lane < held and dot(toward, triple(points.numbers, lane, NORMAL_OF)) > 0.0
        if lit:
            least, time = least_of(points.numbers, lane), points.numbers[lane, TIME_OF]
            aim(view, probe, lane, start_off(points.numbers, lane), toward, least, time)
        else:
            skip(probe, lane)
    ask(view, path, light, probe, True)
    for lane in range(held):
        if probe.found[lane] != NOTHING or probe.numbers[lane, LEFT] == 0.0:
            continue
        material, ray = points.ids[lane, MATERIAL_OF], points.ids[lane, RAY_OF]
        surface = floored(surface_at(path.surfaces, material))
        x, y, z = triple(points.numbers, lane, ALONG_OF)
        normal = triple(points.numbers, lane, NORMAL_OF)
        top, first, second = of_the_sun(light, surface, material, (-x, -y, -z), normal)
        left = probe.numbers[lane, LEFT]
        for k in range(glow.shape[1]):
            c = light.base[material, k]
            f = top * light.top[material, k] + (first + second * c) * c
            glow[ray, k] += points.tint[lane, k] * left * f * light.sun[k]


@njit(**ACCESS)
def divided(count: int) -> int:
    """The columns of a grid of so many cells, nearly a square."""
    columns = int(math.sqrt(count))
    while count % columns != 0:
        columns -= 1
    return columns


@njit(**ACCESS)
def draws_of(light: Light, shop: Shop, lane: int, cell: int, first: int) -> tuple[float, float]:
    """Two draws from [0, 1) for a cell of a point's grid."""
    within = cell % CELLS_OF_BLOCK
    if within == 0:
        number = shop.points.ids[lane, DRAW_OF]
        counter = first + (number << 12) + cell // CELLS_OF_BLOCK
        a, b, c, d = block(light.key, light.frame, counter)
        shop.words[lane, 0], shop.words[lane, 1] = a, b
        shop.words[lane, 2], shop.words[lane, 3] = c, d
    word, shift = shop.words[lane, within >> 2], np.uint64(16 * (within & 3))
    left = np.float64((word >> shift) & BYTE)
    right = np.float64((word >> (shift + np.uint64(8))) & BYTE)
    return (left + 0.5) * ONE_BYTE, (right + 0.5) * ONE_BYTE


@njit(**ACCESS)
def by_cosine(normal: Triple, u: float, v: float) -> Triple:
    """A direction of the cosine law about a normal."""
    radius, turn, height = math.sqrt(u), 2.0 * math.pi * v, math.sqrt(1.0 - u)
    first, second = across(normal)
    a, b = radius * math.cos(turn), radius * math.sin(turn)
    return (
        a * first[0] + b * second[0] + height * normal[0],
        a * first[1] + b * second[1] + height * normal[1],
        a * first[2] + b * second[2] + height * normal[2],
    )


@njit(**ACCESS)
def of_the_top(
    path: Path, surface: Surface, viewer: Triple, normal: Triple, u: float, v: float
) -> tuple[float, Triple]:
    """A direction that a top layer mirrors to the viewer, and its weight (Heitz 2018)."""
    first, second = across(normal)
    rough = math.sqrt(surface[SLOPE_SQUARED])
    x, y, c_v = dot(viewer, first), dot(viewer, second), max(dot(viewer, normal), 1e-6)
    a, b = rough * x, rough * y
    scale = 1.0 / math.sqrt(a * a + b * b + c_v * c_v)
    a, b, c = scale * a, scale * b, scale * c_v
    flat = math.sqrt(a * a + b * b)
    t1 = (-b / flat, a / flat, 0.0) if flat > 0.0 else (1.0, 0.0, 0.0)
    t2 = cross((a, b, c), t1)
    radius, turn = math.sqrt(u), 2.0 * math.pi * v
    p1, p2 = radius * math.cos(turn), radius * math.sin(turn)
    s = 0.5 * (1.0 + c)
    p2 = (1.0 - s) * math.sqrt(max(0.0, 1.0 - p1 * p1)) + s * p2
    p3 = math.sqrt(max(0.0, 1.0 - p1 * p1 - p2 * p2))
    hx, hy = p1 * t1[0] + p2 * t2[0] + p3 * a, p1 * t1[1] + p2 * t2[1] + p3 * b
    hz = max(0.0, p1 * t1[2] + p2 * t2[2] + p3 * c)
    hx, hy = rough * hx, rough * hy
    scale = 1.0 / math.sqrt(hx * hx + hy * hy + hz * hz)
    hx, hy, hz = scale * hx, scale * hy, scale * hz
    facing = x * hx + y * hy + c_v * hz
    lx, ly, c_l = 2.0 * facing * hx - x, 2.0 * facing * hy - y, 2.0 * facing * hz - c_v
    if not c_l > 0.0:
        return 0.0, normal
    at_facet = reflectance(1.0, surface[IOR], surface[EXTINCTION], min(facing, 1.0))
    behind_l = smith(surface[SLOPE_SQUARED], c_l)
    behind_v = smith(surface[SLOPE_SQUARED], c_v)
    weight = at_facet * (1.0 + behind_v) / (1.0 + behind_v + behind_l)
    whole = reflectance(1.0, surface[IOR], surface[EXTINCTION], min(c_v, 1.0))
    if whole > 0.0:
        weight *= 1.0 - specular_share(surface, c_v, 1.0, path.cone) / whole
    return weight, (
        lx * first[0] + ly * second[0] + c_l * normal[0],
        lx * first[1] + ly * second[1] + c_l * normal[1],
        lx * first[2] + ly * second[2] + c_l * normal[2],
    )


@njit(**ACCESS)
def smith(slope_squared: float, cosine: float) -> float:
    """Smith's Λ of GGX."""
    return 0.5 * (math.sqrt(1.0 + slope_squared * (1.0 / (cosine * cosine) - 1.0)) - 1.0)


@njit(**ACCESS)
def plan_rays(path: Path, light: Light, shop: Shop) -> None:
    """Decide how many rays of base and top each point gets."""
    for lane in range(shop.points.held[0]):
        surface = surface_at(path.surfaces, shop.points.ids[lane, MATERIAL_OF])
        top = 0
        if surface[KIND] != LAMBERT:
            top = max(light.rays // TOP_SHARE, 1)
            if surface[EXTINCTION] > 0.01 or light.rays == 1:
                top = light.rays
        shop.weights[lane, 1], shop.weights[lane, 2] = light.rays - top, top


@njit(**ACCESS)
def look_around(view: SceneView, path: Path, light: Light, shop: Shop, index: int) -> None:
    """Aim the ray of one number from each point."""
    points, probe = shop.points, shop.probe
    for lane in range(WIDTH):
        if lane >= points.held[0]:
            skip(probe, lane)
            continue
        normal = triple(points.numbers, lane, NORMAL_OF)
        base, top = int(shop.weights[lane, 1]), int(shop.weights[lane, 2])
        count, cell = (base, index) if index < base else (top, index - base)
        columns = divided(count)
        draw, other = draws_of(light, shop, lane, index, 0)
        u, v = (cell % columns + draw) / columns, (cell // columns + other) * columns / count
        weight, along = 1.0, normal
        if index < base:
            along = by_cosine(normal, u, v)
        else:
            x, y, z = triple(points.numbers, lane, ALONG_OF)
            surface = surface_at(path.surfaces, points.ids[lane, MATERIAL_OF])
            weight, along = of_the_top(path, surface, (-x, -y, -z), normal, u, v)
        shop.weights[lane, 0] = weight
        if weight > 0.0:
            least, time = least_of(points.numbers, lane), points.numbers[lane, TIME_OF]
            aim(view, probe, lane, start_off(points.numbers, lane), along, least, time)
        else:
            skip(probe, lane)


@njit(**ACCESS)
def off_bounce(shop: Shop, lane: int) -> tuple[Triple, Triple, float]:
    """Where rays from a bounce start, its normal, and how near they do not look."""
    numbers, points = shop.probe.numbers, shop.points.numbers
    place, normal = triple(numbers, lane, PLACE), triple(numbers, lane, NORMAL)
    x, y, z = triple(points, lane, PLACE_OF)
    length = math.sqrt((place[0] - x) ** 2 + (place[1] - y) ** 2 + (place[2] - z) ** 2)
    off = 2.0 * off_surface(length)
    start = (
        place[0] + off * normal[0],
        place[1] + off * normal[1],
        place[2] + off * normal[2],
    )
    return start, normal, 1e-6 * max(1.0, length)


@njit(**ACCESS)
def look_on(view: SceneView, path: Path, light: Light, shop: Shop, index: int) -> None:
    """Send rays on from where light bounces: to the sun, and to the sky where that is wanted."""
    points, second, third = shop.points, shop.second, shop.third
    sun, some = (light.toward_sun[0], light.toward_sun[1], light.toward_sun[2]), False
    for lane in range(WIDTH):
        skip(second, lane)
        skip(third, lane)
        if lane < points.held[0] and shop.probe.found[lane] >= 0:
            start, normal, least = off_bounce(shop, lane)
            time = points.numbers[lane, TIME_OF]
            if light.is_sunny and dot(sun, normal) > 0.0:
                aim(view, second, lane, start, sun, least, time)
                some = True
            if light.looks_up:
                u, v = draws_at_bounce(light, points.ids[lane, DRAW_OF], index)
                aim(view, third, lane, start, by_cosine(normal, u, v), least, time)
    if some:
        ask(view, path, light, second, False)
    if light.looks_up:
        ask(view, path, light, third, False)


@njit(**ACCESS)
def draws_at_bounce(light: Light, number: int, index: int) -> tuple[float, float]:
    """Two draws for the ray to the sky at a bounce."""
    a, b, _, _ = block(light.key, light.frame, BOUNCE_DRAWS + (number << 12) + index)
    scale = 2.0**-53
    return np.float64(a >> np.uint64(11)) * scale, np.float64(b >> np.uint64(11)) * scale


@njit(**ACCESS)
def above(light: Light, z: float, k: int) -> float:
    """The radiance from where there is no surface, by the height of the direction."""
    return float(light.sky[k] if z >= 0.0 else light.ground[k])


@njit(**ACCESS)
def add_found(light: Light, shop: Shop, index: int) -> None:
    """Add what the rays around have found to the sums of their points."""
    probe, second, third = shop.probe, shop.second, shop.third
    waves = shop.into.shape[1]
    for lane in range(shop.points.held[0]):
        weight = shop.weights[lane, 0] * probe.numbers[lane, LEFT]
        if not weight > 0.0:
            continue
        into = shop.into if index < shop.weights[lane, 1] else shop.onto
        found = probe.found[lane]
        if found == NOTHING:
            side = 3 if probe.numbers[lane, 5] >= 0.0 else 4
            shop.weights[lane, side if index < shop.weights[lane, 1] else side + 2] += weight
            continue
        x, y, z = triple(probe.numbers, lane, NORMAL)
        sun = light.toward_sun
        facing = max(x * sun[0] + y * sun[1] + z * sun[2], 0.0)
        lit = weight * facing * second.numbers[lane, LEFT] if second.found[lane] == NOTHING else 0.0
        open_sky, up = 0.5 * weight * (1.0 + z), 1.0
        if light.looks_up:
            open_sky, up = 0.0, third.numbers[lane, 5]
            if third.found[lane] == NOTHING:
                open_sky = weight * third.numbers[lane, LEFT]
        for k in range(waves):
            sky = open_sky * light.bounce[found, k] * above(light, up, k)
            into[lane, k] += lit * light.sunlit[found, k] + sky
        if light.has_emission[found]:
            for k in range(waves):
                into[lane, k] += weight * light.emission[found, k]


@njit(**{**ACCESS, "forceinline": False})
def add_surroundings(view: SceneView, path: Path, light: Light, shop: Shop, glow: Floats) -> None:
    """Add what the points send on of the light of sky and surroundings."""
    points, held = shop.points, shop.points.held[0]
    shop.into[:held], shop.onto[:held], shop.weights[:held, 3:] = 0.0, 0.0, 0.0
    plan_rays(path, light, shop)
    for index in range(light.rays):
        look_around(view, path, light, shop, index)
        ask(view, path, light, shop.probe, False)
        look_on(view, path, light, shop, index)
        add_found(light, shop, index)
    for lane in range(held):
        material, ray = points.ids[lane, MATERIAL_OF], points.ids[lane, RAY_OF]
        surface = surface_at(path.surfaces, material)
        base, top = shop.weights[lane, 1], shop.weights[lane, 2]
        through = 1.0
        if surface[KIND] != LAMBERT:
            c_v = -dot(
                triple(points.numbers, lane, ALONG_OF), triple(points.numbers, lane, NORMAL_OF)
            )
            through -= reflectance(1.0, surface[IOR], surface[EXTINCTION], min(max(c_v, 0.0), 1.0))
        of_base = through / base if base > 0.0 else 0.0
        of_top = 1.0 / top if top > 0.0 else 0.0
        sky, ground = shop.weights[lane, 3], shop.weights[lane, 4]
        sky_on_top, ground_on_top = shop.weights[lane, 5], shop.weights[lane, 6]
        for k in range(glow.shape[1]):
            into = shop.into[lane, k] + sky * light.sky[k] + ground * light.ground[k]
            onto = shop.onto[lane, k] + sky_on_top * light.sky[k] + ground_on_top * light.ground[k]
            sent = of_base * light.base[material, k] * into
            sent += of_top * light.top[material, k] * onto
            glow[ray, k] += points.tint[lane, k] * sent


@njit(**{**ACCESS, "forceinline": False})
def light_points(view: SceneView, path: Path, light: Light, shop: Shop, glow: Floats) -> None:
    """Add the light of all points that wait to what their rays see, and forget them."""
    points = shop.points
    if light.is_sunny:
        add_sun(view, path, light, shop, glow)
    add_surroundings(view, path, light, shop, glow)
    for lane in range(points.held[0]):
        material, ray = points.ids[lane, MATERIAL_OF], points.ids[lane, RAY_OF]
        if light.has_emission[material]:
            for k in range(glow.shape[1]):
                glow[ray, k] += points.tint[lane, k] * light.emission[material, k]
    points.held[0] = 0
