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

from sensor_models.kernels.camera.ccd.around import (
    are_parallel,
    look_around,
    plan_rays,
    rays_of,
)
from sensor_models.kernels.camera.ccd.bounces import (
    GROUND,
    MET,
    SKY,
    SUMS,
    SUN,
    TOP,
    Waiting,
    add_found,
    add_waiting,
    look_on,
    new_waiting,
)
from sensor_models.kernels.camera.ccd.lights import CONSTANT, SLOPE, SQUARE, Light, of_around
from sensor_models.kernels.camera.ccd.points import (
    ALONG_OF,
    AROUND_OF,
    BASES,
    CELL_OF,
    LEAST,
    MATERIAL_OF,
    NORMAL_OF,
    PIXEL_OF,
    RAY_OF,
    RAYS,
    SHARE_OF,
    START,
    STEADY_OF,
    THERE,
    UP,
    WHEN,
    Points,
    copy_colors,
    copy_point,
    new_points,
    spread_axes,
    spread_out,
    triple,
)
from sensor_models.kernels.camera.ccd.pools import (
    POINTS,
    Pool,
    end_rays,
    find_shares,
    new_pool,
    send_rays,
    take,
)
from sensor_models.kernels.camera.ccd.probes import (
    LEFT,
    NEAREST,
    Probe,
    ask,
    ask_open,
    new_probe,
    send_all,
)
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.fresnel import reflectance
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import (
    EXTINCTION,
    IOR,
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
    TABULATED,
    Surface,
    facets,
    into_base,
    surface_at,
    visibility,
)
from sensor_models.kernels.light.tabulated import shape_of_table
from sensor_models.kernels.math.rotations import Triple, cross, dot
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, PLACE, SENT, VALID
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

#: tan² of half the sun's half angle: its image in a coat is no narrower.
SUN_SLOPE_SQUARED = math.tan(math.radians(0.267) / 2.0) ** 2
#: Metals have an extinction above this.
METALLIC = 0.01


class Sink(NamedTuple):
    """Where light goes that is found after the other light of its pixel."""

    light: NDArray[np.float32]  # (pixels, bands)
    response: Floats  # (bands, n): of radiance
    samples: int  # rays of each pixel


class ShadingWorkspace(NamedTuple):
    """Memory of one thread for the light of points."""

    points: Points  # that wait for their light
    asking: Points  # that send rays to their surroundings, of whatever pixels
    gathered: Points  # that share them with neighbours, and
    pool: Pool  # such points with their rays
    probe: Probe  # rays to the surroundings
    sunward: Waiting  # rays of bounces, toward the sun
    skyward: Waiting  # and to the sky
    third: Probe  # room to work out where they start
    into: Floats  # (n,): what base rays bring to a point
    onto: Floats  # (n,): what top rays bring
    words: NDArray[np.uint64]  # (4, WIDTH): random words of the points
    net: NDArray[np.uint64]  # (4,): words that draws of all points are scrambled with
    sums: Floats  # (rows, materials + 1, 2 * SUMS): what rays found (``bounces``)


@njit(cache=True)
def new_shading_workspace(wavelengths: int, materials: int, rows: int) -> ShadingWorkspace:
    """Room for the points of one packet, and for so many sums of what they find."""
    return ShadingWorkspace(
        new_points(wavelengths),
        new_points(wavelengths),
        new_points(wavelengths),
        new_pool(wavelengths),
        new_probe(),
        new_waiting(),
        new_waiting(),
        new_probe(),
        np.zeros(wavelengths),
        np.zeros(wavelengths),
        np.zeros((4, WIDTH), np.uint64),
        np.zeros(4, np.uint64),
        np.zeros((rows, materials + 1, 2 * SUMS)),
    )


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
    path: Path, light: Light, surface: Surface, material: int, viewer: Triple, normal: Triple
) -> tuple[float, float, float]:
    """The terms of (n·l) f: that of the top layer, and those with C and C² of the base."""
    toward = (light.toward_sun[0], light.toward_sun[1], light.toward_sun[2])
    c_l, c_v, c_lv = dot(toward, normal), dot(viewer, normal), dot(toward, viewer)
    if not (c_l > 0.0 and c_v > 0.0):
        return 0.0, 0.0, 0.0
    if surface[KIND] == TABULATED:
        return 0.0, shape_of_table(path.tables, surface, toward, viewer, normal) * c_l, 0.0
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


@njit(**ACCESS)
def look_at_sun(view: SceneView, path: Path, light: Light, shading: ShadingWorkspace) -> None:
    """Find out what is left of the sun's light at the points, and note what that leaves to others.

    Metals mirror the sun in one direction and what is around in all others.
    """
    points, probe, own = shading.points, shading.probe, shading.points.spread
    rays, words, sun = probe.packet.doubles, probe.packet.words, light.toward_sun
    x, y, z = sun[0], sun[1], sun[2]
    for lane in range(WIDTH):
        for k in range(3):
            rays[PLACE + k * WIDTH + lane] = own[START + k * WIDTH + lane]
        rays[ALONG + lane] = x
        rays[ALONG + WIDTH + lane] = y
        rays[ALONG + 2 * WIDTH + lane] = z
        rays[SENT + lane] = own[WHEN + lane]
        probe.rows[NEAREST + lane] = own[LEAST + lane]
    for lane in range(WIDTH):
        up = own[UP + lane] * x + own[UP + WIDTH + lane] * y + own[UP + 2 * WIDTH + lane] * z
        words[VALID + lane] = -1 if (up > 0.0) & (own[THERE + lane] > 0.0) else 0
    for lane in range(points.filled[0]):
        if points.bent[lane] and dot(triple(points.flat, lane, 0), (x, y, z)) <= 0.0:
            words[VALID + lane] = 0
    send_all(view, probe)
    ask_open(view, path, light, probe, True)  # neighbours, all to one side
    for lane in range(points.filled[0]):
        up = own[UP + lane] * x + own[UP + WIDTH + lane] * y + own[UP + 2 * WIDTH + lane] * z
        if points.surface[lane, EXTINCTION] <= METALLIC:
            points.numbers[lane, AROUND_OF] = of_around(light, up, probe.rows[LEFT + lane])


@njit(**ACCESS)
def add_sent(path: Path, light: Light, shading: ShadingWorkspace, glow: Floats) -> None:
    """Add what the points send on of the light of the sun, and of that from around that is known.

    In one loop over the wavelengths: most points have both, and few have a top.
    """
    points, probe = shading.points, shading.probe
    for lane in range(points.filled[0]):
        left = probe.rows[LEFT + lane] if light.is_sunny else 0.0
        top = first = second = 0.0
        if left > 0.0:
            surface = floored(surface_at(points.surface, lane))
            a, b, c = triple(points.numbers, lane, ALONG_OF)
            material = points.ids[lane, MATERIAL_OF]
            normal = triple(points.numbers, lane, NORMAL_OF)
            top, first, second = of_the_sun(path, light, surface, material, (-a, -b, -c), normal)
            top, first, second = left * top, left * first, left * second
        ray, shown = points.ids[lane, RAY_OF], 1.0 if points.shown[lane] else 0.0
        share = through(points, lane) if points.known[lane] else 0.0
        if (top == 0.0) & (second == 0.0) & (shown == 0.0):
            for k in range(glow.shape[1]):
                sent = first * light.sun[k] + share * points.around[lane, k]
                glow[ray, k] += points.tint[lane, k] * points.base[lane, k] * sent
            continue
        for k in range(glow.shape[1]):
            base = points.base[lane, k]
            sent = (first + second * base) * light.sun[k] + share * points.around[lane, k]
            mirrored = top * light.sun[k] + shown * points.onto[lane, k]
            glow[ray, k] += points.tint[lane, k] * (base * sent + points.top[lane, k] * mirrored)


@njit(**ACCESS)
def gather(light: Light, sums: Floats, first: int, result: Floats) -> None:
    """Write what the rays of base or top bring to a point, and forget what they found."""
    none = len(sums) - 1
    sky, ground = sums[none, first + SKY], sums[none, first + GROUND]
    for k in range(len(result)):
        result[k] = sky * light.sky[k] + ground * light.ground[k]
    for material in range(len(sums)):
        met = sums[material, first + MET]
        if met == 0.0:
            continue
        if material < none:
            sun, sky = sums[material, first + SUN], sums[material, first + SKY]
            ground = sums[material, first + GROUND]
            for k in range(len(result)):
                around = sky * light.sky[k] + ground * light.ground[k]
                result[k] += sun * light.sunlit[material, k] + light.bounce[material, k] * around
            if light.has_emission[material]:
                for k in range(len(result)):
                    result[k] += met * light.lamps[material, k]
        for k in range(SUMS):
            sums[material, first + k] = 0.0


@njit(**ACCESS)
def weigh_around(points: Points) -> None:
    """Have points send the fewer rays the less of their light comes from around.

    As much less fast may the light change that they share. The eye, and the curve of sRGB, tell
    noise by its share of all light.
    """
    for lane in range(points.filled[0]):
        share = points.numbers[lane, AROUND_OF]
        points.numbers[lane, SHARE_OF] *= share
        if points.known[lane] and points.numbers[lane, STEADY_OF] < share:
            points.known[lane] = False


@njit(**{**ACCESS, "forceinline": False})
def ask_around(
    view: SceneView, path: Path, light: Light, shading: ShadingWorkspace, sink: Sink
) -> None:
    """Send the rays of all points that ask, add what they find to their pixels, forget them."""
    points, probe = shading.asking, shading.probe
    sunward, skyward, third, sums = shading.sunward, shading.skyward, shading.third, shading.sums
    if points.filled[0] == 0:
        return
    spread_out(points)
    spread_axes(points)
    (most, coated), parallel = plan_rays(light, points), are_parallel(points.spread)
    for index in range(most):
        alike = look_around(
            view, path, light, points, shading.words, probe, index, coated, parallel
        )
        ask(view, path, light, probe, alike)
        look_on(view, path, light, points, probe, sunward, skyward, third, sums, index)
        add_found(light, points, probe, sums, index)
    add_waiting(view, path, light, sunward, sums)
    add_waiting(view, path, light, skyward, sums)
    for lane in range(points.filled[0]):
        base = points.spread[BASES + lane]
        top = points.spread[RAYS + lane] - base
        lower, upper = through(points, lane) / max(base, 1.0), 1.0 / max(top, 1.0)
        send_on(light, shading, sink, points, lane, lower, upper)
    points.filled[0] = 0


@njit(**{**ACCESS, "forceinline": False})
def ask_pool(
    view: SceneView, path: Path, light: Light, shading: ShadingWorkspace, sink: Sink, last: bool
) -> None:
    """As ``ask_around`` for the points that share rays with their neighbours.

    They wait until there are enough of them, or no others come.
    """
    points, pool = shading.gathered, shading.pool
    if points.filled[0] > 0:
        send_rays(
            view, path, light, points, shading.net, shading.probe, shading.third, pool,
            len(light.base),
        )  # fmt: skip
    if pool.filled[0] == 0 or not (last or pool.filled[0] + WIDTH > POINTS):
        return
    end_rays(view, path, light, pool)
    for head in range(pool.filled[0]):
        if pool.heads[head] == head:
            rays = find_shares(light, pool, head)
            for one in range(head, pool.filled[0]):
                if pool.heads[one] == head:
                    take(pool, rays, one)
                    add_seen(sink, pool.pixels[one], pool.colors[one], pool.into)
    pool.filled[:] = 0


@njit(**ACCESS)
def add_seen(sink: Sink, pixel: int, color: Floats, light: NDArray[np.float32]) -> None:
    """Add light of some colour to a pixel."""
    for band in range(len(sink.response)):
        seen = 0.0
        for k in range(len(color)):
            seen += sink.response[band, k] * color[k] * light[k]
        sink.light[pixel, band] += seen / sink.samples


@njit(**ACCESS)
def send_on(
    light: Light,
    shading: ShadingWorkspace,
    sink: Sink,
    points: Points,
    lane: int,
    lower: float,
    upper: float,
) -> None:
    """Add what a point sends on of what rays have found, base and top each times a number."""
    into, onto = shading.into, shading.onto
    gather(light, shading.sums[lane], 0, into)
    gather(light, shading.sums[lane], TOP, onto)
    for k in range(len(into)):
        sent = lower * points.base[lane, k] * into[k] + upper * points.top[lane, k] * onto[k]
        into[k] = points.tint[lane, k] * sent
    pixel, response = points.ids[lane, PIXEL_OF], sink.response
    for band in range(len(response)):
        seen = 0.0
        for k in range(len(into)):
            seen += response[band, k] * into[k]
        sink.light[pixel, band] += seen / sink.samples


@njit(**ACCESS)
def through(points: Points, lane: int) -> float:
    """The share of light that the coat of a point lets through on the way to the viewer."""
    surface = surface_at(points.surface, lane)
    if surface[KIND] == LAMBERT or surface[KIND] == TABULATED:
        return 1.0
    along, normal = triple(points.numbers, lane, ALONG_OF), triple(points.numbers, lane, NORMAL_OF)
    cosine = min(max(-dot(along, normal), 0.0), 1.0)
    return float(1.0 - reflectance(1.0, surface[IOR], surface[EXTINCTION], cosine))


@njit(**ACCESS)
def put_off(
    view: SceneView, path: Path, light: Light, shading: ShadingWorkspace, sink: Sink
) -> None:
    """Have those of the points ask that do not know all of the light around them.

    They wait for those of other tiles: few rays in a packet take nearly as long as many.
    """
    points, asking, gathered = shading.points, shading.asking, shading.gathered
    for lane in range(points.filled[0]):
        base, top = rays_of(light, points, lane)
        if base > 0 and may_share(points, lane):
            place, share = put_by(points, lane, gathered), through(points, lane)
            for k in range(gathered.tint.shape[1]):
                gathered.tint[place, k] *= share * points.base[lane, k]
            gathered.shown[place], base = True, 0
            points.known[lane] = True  # from now on
            if gathered.filled[0] == WIDTH:
                ask_pool(view, path, light, shading, sink, False)
        if base + top > 0:
            put_by(points, lane, asking)
            if asking.filled[0] == WIDTH:
                ask_around(view, path, light, shading, sink)


@njit(**ACCESS)
def may_share(points: Points, lane: int) -> bool:
    """Whether a point may share the rays of its base with neighbours."""
    plain = points.surface[lane, KIND] != TABULATED and not points.bent[lane]
    return bool(plain and points.numbers[lane, CELL_OF] > 0.0)


@njit(**ACCESS)
def put_by(points: Points, lane: int, others: Points) -> int:
    """Put a point to others that wait; returns its place among them."""
    place: int = others.filled[0]
    copy_point(points, lane, others, place)
    copy_colors(points, lane, others, place)
    others.filled[0] = place + 1
    return place


@njit(**ACCESS)
def light_points(
    view: SceneView,
    path: Path,
    light: Light,
    shading: ShadingWorkspace,
    sink: Sink,
    glow: Floats,
) -> None:
    """Add the light of all points that wait to what their rays see, and forget them.

    What they find out by rays of their own is added to their pixels, some time before
    ``ask_around`` is called for the last of them.
    """
    points = shading.points
    spread_out(points)
    if light.is_sunny:
        look_at_sun(view, path, light, shading)
    weigh_around(points)
    add_sent(path, light, shading, glow)
    put_off(view, path, light, shading, sink)
    for lane in range(points.filled[0]):
        if points.glows[lane]:
            ray = points.ids[lane, RAY_OF]
            for k in range(glow.shape[1]):
                glow[ray, k] += points.tint[lane, k] * points.emission[lane, k]
    points.filled[0] = 0
