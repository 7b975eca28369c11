"""The light that the pixels of a camera get from a scene while they are exposed.

The image is worked through in tiles of neighbours that fill a packet of rays. Each ray of a pixel
is the root of a tree (``kernels.light.tree``): what it meets through glass and in mirrors, and
the media on its way, bring light to it, which ``shading`` works out for all wavelengths. Of these
a pixel keeps one number for each band.

    L = W (radiance of the surface, or of the sky)       at the end of each branch
      + W L_sky (1 - e^(-a s))                           for each segment s of a medium

W is what is left on the way to the camera: of the tree, and the colours of glass and metal. In a
mirror whose sun is in its highlight (``shading``) the sun is not seen a second time.

Rows may be exposed one after the other, and a ray is sent within the exposure of its row: ray k of
m at (k + a draw) / m of it, the only one of a pixel at its beginning.

Source: PHYSICS-2, 32.3 and 32.5. Deviation: a single ray is not spread over the exposure, which
would be noise instead of blur.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.lights import Light, sky_share
from sensor_models.kernels.camera.ccd.looks import dress
from sensor_models.kernels.camera.ccd.points import (
    ALONG_OF,
    DRAW_OF,
    LENGTH_OF,
    MATERIAL_OF,
    NORMAL_OF,
    PIXEL_OF,
    PLACE_OF,
    RAY_OF,
    SHARE_OF,
    SUM_OF,
    TIME_OF,
    triple,
)
from sensor_models.kernels.camera.ccd.shading import (
    ShadingWorkspace,
    Sink,
    ask_around,
    light_points,
    new_shading_workspace,
)
from sensor_models.kernels.camera.ccd.shared import (
    BASES,
    OWN_SHARE,
    SIDE,
    SPOT,
    TOPS,
    Records,
    look_up,
    put_spot,
)
from sensor_models.kernels.camera.ccd.textures import texture_of
from sensor_models.kernels.camera.layout import corner_of, pixel_of, tiles_of
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.arrivals import (
    ALONG_X,
    ENTITY,
    FROM_SURFACE,
    KIND,
    LABEL,
    MATERIAL,
    MEDIUM,
    MISSED,
    NODE,
    NORMAL_X,
    OPTICAL,
    OWNER,
    PLACE_X,
    PRIMITIVE,
    RAY,
    STRENGTH,
    TIME,
    WEIGHT,
)
from sensor_models.kernels.light.media import ABSORPTION, transmission
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import (
    DIELECTRIC,
    LAMBERT,
    SLOPE_SQUARED,
    SURFACE_SIZE,
    TABULATED,
    surface_at,
)
from sensor_models.kernels.light.surfaces import KIND as SURFACE_KIND
from sensor_models.kernels.light.tree import (
    Tree,
    arrive,
    branches_left,
    new_tree,
    put_branch,
    set_out,
    take_off,
    trace,
)
from sensor_models.kernels.math.philox import uniform
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, Triple, drop_ray
from sensor_models.kernels.tracing.rays import claim, set_rays
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import rotate

Floats = NDArray[np.float64]

#: Tiles that a thread claims at once.
CHUNK = 16
#: Bits of the numbers that draws go by: nodes of a tree, rays of a pixel.
NODE_BITS, SAMPLE_BITS = 10, 6
#: Nodes of a tree of the greatest depth.
MOST_NODES = 2**NODE_BITS
MOST_SAMPLES = 2**SAMPLE_BITS


class Shot(NamedTuple):
    """When and where rays of a frame start and go."""

    rows: int  # of pixels
    columns: int  # of pixels
    samples: int  # rays of each pixel
    factor: int  # rows that are exposed together
    directions: Floats  # (pixels, 3), unit vectors in the sensor frame
    poses: Floats  # (knots, 12), evenly over the frame, one for a camera at rest
    inside: NDArray[np.int32]  # (knots, volumes): what the camera is in
    row_share: float  # of the frame, from the beginning of a row to that of the next
    exposed_share: float  # of the frame, that a row is exposed
    response: Floats  # (bands, wavelengths): of radiance
    key: NDArray[np.uint64]  # of the instants
    cell: float  # rad, that a ray stands for, across
    scene_media: int  # rows of ``Path.media`` that are no insides of materials


class Picture(NamedTuple):
    """What the pixels see, (pixels,) each; an array without pixels is not wanted."""

    light: NDArray[np.float32]  # (pixels, bands)
    distance: NDArray[np.float32]  # of the first surface, m; inf for none
    entity: NDArray[np.int32]  # -1 for none
    label: NDArray[np.int32]  # semantic label, -1 for none
    owner: NDArray[np.int32]  # of the facet, -1 for none
    material: NDArray[np.int32]  # of the facet


class Workspace(NamedTuple):
    """Memory of one thread for the rays of a tile."""

    tree: Tree  # branches under way
    shading: ShadingWorkspace  # points that wait for their light
    glow: Floats  # (WIDTH, wavelengths): the light of the rays of a tile
    turned: Floats  # (wavelengths, WIDTH): the same, and
    sums: Floats  # (WIDTH,): of one band
    met: NDArray[np.int64]  # (WIDTH, MOST_NODES): materials at the nodes of their trees
    tint: Floats  # (wavelengths,): share of the light that the present way leaves
    starts: Floats  # (WIDTH, 3): where the rays start, m
    spot: Floats  # (SPOT,): the present point, for ``shared``


@njit(cache=True)
def new_workspace(wavelengths: int, materials: int) -> Workspace:
    """Room for the work of one thread."""
    return Workspace(
        new_tree(),
        new_shading_workspace(wavelengths, materials, WIDTH),
        np.zeros((WIDTH, wavelengths)),
        np.zeros((wavelengths, WIDTH)),
        np.zeros(WIDTH),
        np.zeros((WIDTH, MOST_NODES), np.int64),
        np.ones(wavelengths),
        np.zeros((WIDTH, 3)),
        np.zeros(SPOT),
    )


@njit(**ACCESS)
def blend_pose(poses: Floats, share: float, pose: Floats) -> int:
    """Write the pose at a share of the frame; returns the knot before it."""
    spans = len(poses) - 1
    if spans == 0:
        for k in range(12):
            pose[k] = poses[0, k]
        return 0
    knot = min(max(int(share * spans), 0), max(spans - 1, 0))
    part = share * spans - knot if spans > 0 else 0.0
    after = min(knot + 1, spans)
    for k in range(12):
        pose[k] = poses[knot, k] + part * (poses[after, k] - poses[knot, k])
    return knot


@njit(**ACCESS)
def instant_of(shot: Shot, light: Light, pixel: int, sample: int) -> float:
    """When a ray of a pixel is sent, as a share of the frame."""
    if shot.row_share == 0.0 and (shot.samples == 1 or shot.exposed_share == 0.0):
        return 0.0
    row = pixel // shot.columns // shot.factor
    begun: float = row * shot.row_share
    if shot.samples == 1 or shot.exposed_share == 0.0:
        return begun
    draw = uniform(shot.key, light.frame, (pixel << SAMPLE_BITS) + sample)
    return float(begun + (sample + draw) / shot.samples * shot.exposed_share)


@njit(**ACCESS)
def aim_at(
    path: Path,
    light: Light,
    shot: Shot,
    workspace: Workspace,
    pose: Floats,
    lane: int,
    pixel: int,
    sample: int,
) -> None:
    """Put a ray of a pixel into the packet."""
    time = instant_of(shot, light, pixel, sample)
    knot = blend_pose(shot.poses, time, pose)
    d = shot.directions
    along = rotate(pose, (d[pixel, 0], d[pixel, 1], d[pixel, 2]))
    origin = (pose[9], pose[10], pose[11])
    for k in range(3):
        workspace.starts[lane, k] = origin[k]
    number = (pixel << SAMPLE_BITS) + sample
    set_out(path, workspace.tree, lane, lane, number, origin, along, 1.0, time, shot.inside, knot)
    put_branch(workspace.tree, lane)


@njit(**ACCESS)
def color_way(
    path: Path, light: Light, workspace: Workspace, lane: int, node: int, weight: float
) -> bool:
    """Write what glass and mirrors left of the light of a node; whether a coat mirrored it."""
    tint, mirrored = workspace.tint, False
    for k in range(len(tint)):
        tint[k] = weight
    while node > 0:
        side, node = node & 1, (node - 1) >> 1
        material = workspace.met[lane, node]
        clear = path.surfaces[material, SURFACE_KIND] == DIELECTRIC
        if clear and side == 0:
            for k in range(len(tint)):
                tint[k] *= light.clear[material, k]
        elif not clear:
            mirrored = True
            for k in range(len(tint)):
                tint[k] *= light.top[material, k]
    return mirrored


@njit(**ACCESS)
def add_sky(
    light: Light, workspace: Workspace, lane: int, along: Triple, hazy: bool, mirrored: bool
) -> None:
    """Add what a ray sees that meets nothing."""
    glow, tint, sun = workspace.glow, workspace.tint, light.toward_sun
    if hazy or along[2] >= 0.0:
        share = 1.0 if hazy else sky_share(light, along[2])
        for k in range(len(tint)):
            glow[lane, k] += tint[k] * share * light.sky[k]
    else:
        for k in range(len(tint)):
            glow[lane, k] += tint[k] * light.ground[k]
    cosine = along[0] * sun[0] + along[1] * sun[1] + along[2] * sun[2]
    if light.is_sunny and not mirrored and cosine >= light.disc_cosine:
        for k in range(len(tint)):
            glow[lane, k] += tint[k] * light.disc[k]


@njit(**ACCESS)
def add_haze(path: Path, light: Light, workspace: Workspace, row: int, lane: int) -> None:
    """Add the light that a segment of a medium scatters to the camera."""
    numbers, medium = workspace.tree.arrivals.numbers, workspace.tree.arrivals.ids[row, MEDIUM]
    share = 1.0 - transmission(path.media[medium, ABSORPTION], numbers[row, STRENGTH])
    for k in range(len(workspace.tint)):
        workspace.glow[lane, k] += share * workspace.tint[k] * light.sky[k]


@njit(**ACCESS)
def describe(workspace: Workspace, picture: Picture, row: int, lane: int, pixel: int) -> None:
    """Write which surface a pixel sees first."""
    numbers, ids = workspace.tree.arrivals.numbers, workspace.tree.arrivals.ids
    square = 0.0
    for k in range(3):
        square += (numbers[row, PLACE_X + k] - workspace.starts[lane, k]) ** 2
    picture.distance[pixel] = math.sqrt(square)
    picture.entity[pixel], picture.label[pixel] = ids[row, ENTITY], ids[row, LABEL]
    picture.owner[pixel], picture.material[pixel] = ids[row, OWNER], ids[row, MATERIAL]


@njit(**ACCESS)
def take_shared(
    light: Light, records: Records, shot: Shot, workspace: Workspace, row: int, place: int
) -> None:
    """Take the light around a point from what neighbours share, as far as they know of it."""
    numbers, points, spot = (
        workspace.tree.arrivals.numbers,
        workspace.shading.points,
        workspace.spot,
    )
    pixel = points.ids[place, PIXEL_OF]
    down, across = pixel // shot.columns, pixel % shot.columns
    material = points.ids[place, MATERIAL_OF]
    surface = surface_at(light.surfaces, material)
    points.numbers[place, SHARE_OF] = numbers[row, WEIGHT]
    if surface[SURFACE_KIND] == TABULATED:  # what it sends depends on where each ray comes from
        return
    points.numbers[place, SHARE_OF] *= OWN_SHARE
    coated = surface[SURFACE_KIND] != LAMBERT
    size, least = SIDE * shot.cell * numbers[row, OPTICAL], OWN_SHARE * light.rays
    there, normal = triple(numbers, row, PLACE_X), triple(numbers, row, NORMAL_X)
    coat, lobe = (material + 1, math.sqrt(surface[SLOPE_SQUARED])) if coated else (0, 0.0)
    put_spot(spot, there, normal, size, coat, lobe)
    points.known[place] = look_up(records, down, across, BASES, least, spot, points.around[place])
    if coated:
        points.shown[place] = look_up(records, down, across, TOPS, least, spot, points.onto[place])


@njit(**ACCESS)
def put_point(
    view: SceneView,
    light: Light,
    records: Records,
    shot: Shot,
    workspace: Workspace,
    row: int,
    lane: int,
    draw: int,
) -> None:
    """Have a surface wait for its light."""
    numbers, ids, points = (
        workspace.tree.arrivals.numbers,
        workspace.tree.arrivals.ids,
        workspace.shading.points,
    )
    place = points.filled[0]
    points.filled[0] = place + 1
    square = 0.0
    for k in range(3):
        points.numbers[place, PLACE_OF + k] = numbers[row, PLACE_X + k]
        points.numbers[place, NORMAL_OF + k] = numbers[row, NORMAL_X + k]
        points.numbers[place, ALONG_OF + k] = numbers[row, ALONG_X + k]
        square += (numbers[row, PLACE_X + k] - workspace.starts[lane, k]) ** 2
    points.numbers[place, TIME_OF] = numbers[row, TIME]
    points.numbers[place, LENGTH_OF] = math.sqrt(square)
    points.numbers[place, SHARE_OF] = 1.0
    points.ids[place, RAY_OF], points.ids[place, MATERIAL_OF] = lane, ids[row, MATERIAL]
    points.ids[place, DRAW_OF], points.ids[place, SUM_OF] = draw, place
    points.ids[place, PIXEL_OF] = draw >> (NODE_BITS + SAMPLE_BITS)
    points.known[place] = points.shown[place] = False
    if records.across > 0:
        take_shared(light, records, shot, workspace, row, place)
    material = ids[row, MATERIAL]
    for k in range(len(workspace.tint)):
        points.tint[place, k] = workspace.tint[k]
        points.base[place, k] = light.base[material, k]
        points.top[place, k] = light.top[material, k]
    for k in range(SURFACE_SIZE):
        points.surface[place, k] = light.surfaces[material, k]
    points.cone[place], points.bent[place] = light.cones[material], False
    points.glows[place] = light.has_emission[material]
    if points.glows[place]:
        for k in range(len(workspace.tint)):
            points.emission[place, k] = light.emission[material, k]
    if light.textures.there:
        face = texture_of(light.textures, ids[row, OWNER], ids[row, PRIMITIVE])
        if face >= 0:
            width = shot.cell * numbers[row, OPTICAL]
            dress(view, light.textures, points, place, ids[row, OWNER], face, width)


@njit(**ACCESS)
def take_in(
    view: SceneView,
    path: Path,
    light: Light,
    records: Records,
    shot: Shot,
    workspace: Workspace,
    picture: Picture,
    corner: tuple[int, int],
    sample: int,
    row: int,
) -> None:
    """Make light of an arrival."""
    arrivals = workspace.tree.arrivals
    lane, node, kind = arrivals.ids[row, RAY], arrivals.ids[row, NODE], arrivals.ids[row, KIND]
    medium = arrivals.ids[row, MEDIUM]
    hazy = medium < shot.scene_media and path.media[medium, ABSORPTION] > 0.0
    if kind != FROM_SURFACE and kind != MISSED and not hazy:
        return
    mirrored = color_way(path, light, workspace, lane, node, arrivals.numbers[row, WEIGHT])
    if kind == MISSED:
        along = triple(arrivals.numbers, row, ALONG_X)
        add_sky(light, workspace, lane, along, hazy, mirrored)
    elif kind != FROM_SURFACE:
        add_haze(path, light, workspace, row, lane)
    else:
        material = arrivals.ids[row, MATERIAL]
        workspace.met[lane, node] = material
        pixel = pixel_of(shot, corner, lane)
        if node == 0 and sample == 0 and picture.distance.size:
            describe(workspace, picture, row, lane, pixel)
        if path.surfaces[material, SURFACE_KIND] != DIELECTRIC:
            number = (pixel << SAMPLE_BITS) + sample
            draw = (number << NODE_BITS) + node
            put_point(view, light, records, shot, workspace, row, lane, draw)


@njit(**ACCESS)
def expose_tile(
    view: SceneView,
    path: Path,
    light: Light,
    records: Records,
    shot: Shot,
    workspace: Workspace,
    pose: Floats,
    picture: Picture,
    sink: Sink,
    tile: int,
) -> None:
    """Trace all rays of the pixels of a tile."""
    corner, tree, glow = corner_of(shot, tile), workspace.tree, workspace.glow
    points = workspace.shading.points
    most = WIDTH - 1 if light.textures.is_mapped else WIDTH  # half a metal is two points
    glow[:] = 0.0
    for sample in range(shot.samples):
        for lane in range(WIDTH):
            pixel = pixel_of(shot, corner, lane)
            if pixel < 0:
                drop_ray(tree.packet, lane)
            else:
                aim_at(path, light, shot, workspace, pose, lane, pixel, sample)
                if sample == 0 and picture.distance.size:
                    picture.distance[pixel] = math.inf
                    picture.entity[pixel] = picture.label[pixel] = -1
                    picture.owner[pixel] = picture.material[pixel] = -1
        set_rays(view, tree.packet, path.most_range)
        begun = False
        while not begun or branches_left(tree) > 0:
            if begun:
                take_off(view, path, tree)
            begun = True
            trace(view, tree)
            arrive(view, path, tree)
            last, arrived = branches_left(tree) == 0, tree.arrivals.filled[0]
            # One call of each function: their arguments take longer than many a line of them.
            for row in range(arrived + 1):
                if row < arrived:
                    take_in(view, path, light, records, shot, workspace, picture, corner, sample, row)
                waiting = points.filled[0]
                if waiting >= most or (last and row == arrived and waiting > 0):
                    light_points(view, path, light, workspace.shading, sink, glow)
            tree.arrivals.filled[0] = 0
    store_light(shot, workspace, corner, picture)


@njit(**ACCESS)
def store_light(
    shot: Shot, workspace: Workspace, corner: tuple[int, int], picture: Picture
) -> None:
    """Add the bands of the pixels of a tile to what is there by now.

    Each sum waits for its last term, so those of all pixels are formed side by side.
    """
    glow, turned, sums = workspace.glow, workspace.turned, workspace.sums
    share = 1.0 / shot.samples
    for lane in range(WIDTH):
        for k in range(glow.shape[1]):
            turned[k, lane] = glow[lane, k]
    for band in range(len(shot.response)):
        for lane in range(WIDTH):
            sums[lane] = 0.0
        for k in range(glow.shape[1]):
            weight = shot.response[band, k]
            for lane in range(WIDTH):
                sums[lane] += weight * turned[k, lane]
        for lane in range(WIDTH):
            pixel = pixel_of(shot, corner, lane)
            if pixel >= 0:
                picture.light[pixel, band] += sums[lane] * share


@njit(nogil=True, cache=True, error_model="numpy")
def expose(
    view: SceneView,
    claims: NDArray[np.int64],
    path: Path,
    light: Light,
    records: Records,
    shot: Shot,
    picture: Picture,
    lost: NDArray[np.int64],
) -> None:
    """Expose all pixels of a frame, which are dark before.

    ``lost`` counts what limits of the tree cut off.
    """
    sink = Sink(picture.light, shot.response, shot.samples)
    workspace, pose = new_workspace(len(light.sun), len(light.base)), np.zeros(12)
    total = tiles_of(shot)
    first = claim(claims) * CHUNK
    while first < total:
        for tile in range(first, min(first + CHUNK, total)):
            expose_tile(view, path, light, records, shot, workspace, pose, picture, sink, tile)
        ask_around(view, path, light, workspace.shading, sink)
        for limit in range(len(lost[0])):
            lost[first // CHUNK, limit] = workspace.tree.lost[limit]
            workspace.tree.lost[limit] = 0
        first = claim(claims) * CHUNK
