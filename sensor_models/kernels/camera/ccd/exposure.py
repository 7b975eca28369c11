"""The light that the pixels of a camera get from a scene while they are exposed.

The image is worked through in tiles of neighbours that fill a packet of rays. Each ray of a pixel
is the root of a tree (``kernels.light.tree``): what it meets through glass and in mirrors, and
the media on its way, bring light to it, which ``shading`` works out for all wavelengths. Of these
a pixel keeps one number for each band.

    L = W (radiance of the surface, or of the sky)       at the end of each branch
      + W L_sky (1 - e^(-a s))                           for each segment s of a medium

W is what is left on the way to the camera: of the tree, and the colours of glass and metal. In a
mirror whose sun is in its highlight (``shading``) the sun is not seen a second time.

Source: PHYSICS-2, 32.3 and 32.5.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.known import take_shared
from sensor_models.kernels.camera.ccd.lights import Light, sky_share
from sensor_models.kernels.camera.ccd.looks import dress
from sensor_models.kernels.camera.ccd.meetings import (
    MEETS,
    MISSES,
    Meeting,
    arrived,
    describe,
    describe_none,
    met_at_once,
    sort_out,
)
from sensor_models.kernels.camera.ccd.nets import choose_words
from sensor_models.kernels.camera.ccd.points import (
    ALONG_OF,
    AROUND_OF,
    CELL_OF,
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
    ask_pool,
    light_points,
    new_shading_workspace,
)
from sensor_models.kernels.camera.ccd.shared import (
    SPOT,
    Records,
    Taken,
    new_taken,
)
from sensor_models.kernels.camera.ccd.shots import (
    MOST_NODES,
    NODE_BITS,
    SAMPLE_BITS,
    Picture,
    Shot,
    aim,
    blend_pose,
)
from sensor_models.kernels.camera.ccd.textures import texture_of
from sensor_models.kernels.camera.layout import TILE, pixel_of
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.arrivals import (
    ALONG_X,
    FROM_SURFACE,
    KIND,
    MATERIAL,
    MEDIUM,
    MISSED,
    NODE,
    RAY,
    STRENGTH,
    WEIGHT,
)
from sensor_models.kernels.light.media import ABSORPTION, transmission
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import (
    DIELECTRIC,
    LAMBERT,
    SURFACE_SIZE,
)
from sensor_models.kernels.light.surfaces import KIND as SURFACE_KIND
from sensor_models.kernels.light.tree import (
    Tree,
    arrive,
    branches_left,
    new_tree,
    set_out,
    take_off,
    trace,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, PLACE, SENT, VALID, Triple
from sensor_models.kernels.tracing.rays import claim, set_rays
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

#: Tiles across and down a square of them, which a thread claims at once.
SQUARE = 4


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
    ends: NDArray[np.int64]  # (WIDTH,): what becomes of the rays of a packet (``sort_out``), and
    left: Floats  # (WIDTH,): what is left of their light where they meet a surface
    spot: Floats  # (SPOT,): the present point, for ``shared``, and
    taken: Taken  # what it takes light from


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
        np.zeros(WIDTH, np.int64),
        np.zeros(WIDTH),
        np.zeros(SPOT),
        new_taken(),
    )


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
def add_haze(light: Light, workspace: Workspace, lane: int, share: float) -> None:
    """Add the light that a segment of a medium scatters to the camera."""
    for k in range(len(workspace.tint)):
        workspace.glow[lane, k] += share * workspace.tint[k] * light.sky[k]


@njit(**ACCESS)
def put_point(
    view: SceneView,
    light: Light,
    records: Records,
    shot: Shot,
    workspace: Workspace,
    meeting: Meeting,
    lane: int,
    draw: int,
) -> None:
    """Have a surface wait for its light."""
    points, material = workspace.shading.points, meeting.material
    place = points.filled[0]
    points.filled[0] = place + 1
    for k in range(3):
        points.numbers[place, PLACE_OF + k] = meeting.place[k]
        points.numbers[place, NORMAL_OF + k] = meeting.normal[k]
        points.numbers[place, ALONG_OF + k] = meeting.along[k]
    points.numbers[place, TIME_OF], points.numbers[place, LENGTH_OF] = meeting.time, meeting.length
    points.numbers[place, SHARE_OF], points.numbers[place, CELL_OF] = 1.0, 0.0
    points.numbers[place, AROUND_OF] = 1.0
    points.ids[place, RAY_OF], points.ids[place, MATERIAL_OF] = lane, material
    points.ids[place, DRAW_OF], points.ids[place, SUM_OF] = draw, place
    points.ids[place, PIXEL_OF] = draw >> (NODE_BITS + SAMPLE_BITS)
    points.known[place] = points.shown[place] = False
    if records.across > 0:
        spot, taken = workspace.spot, workspace.taken
        take_shared(light, records, shot, points, spot, taken, meeting, place)
    for k in range(len(workspace.tint)):
        points.tint[place, k] = workspace.tint[k]
        points.base[place, k] = light.base[material, k]
    for k in range(SURFACE_SIZE):
        points.surface[place, k] = light.surfaces[material, k]
    if points.surface[place, SURFACE_KIND] != LAMBERT:  # whose top, of whatever colour, is nothing
        for k in range(len(workspace.tint)):
            points.top[place, k] = light.top[material, k]
    points.cone[place], points.bent[place] = light.cones[material], False
    points.glows[place] = light.has_emission[material]
    if points.glows[place]:
        for k in range(len(workspace.tint)):
            points.emission[place, k] = light.emission[material, k]
    if light.textures.there:
        face = texture_of(light.textures, meeting.owner, meeting.primitive)
        if face >= 0:
            width = shot.cell * meeting.optical
            dress(view, light.textures, points, place, meeting.owner, face, width)


@njit(**ACCESS)
def follow(
    path: Path,
    shot: Shot,
    workspace: Workspace,
    pose: Floats,
    corner: tuple[int, int],
    sample: int,
) -> None:
    """Begin the trees of the rays of a tile that are in the packet."""
    tree = workspace.tree
    rays = tree.packet.doubles
    for lane in range(WIDTH):
        if tree.packet.words[VALID + lane] == 0:
            continue
        pixel = pixel_of(shot, corner, lane)
        time, knot = rays[SENT + lane], 0
        if len(shot.poses) > 1:
            knot = blend_pose(shot.poses, time, pose)
        origin = (rays[PLACE + lane], rays[PLACE + WIDTH + lane], rays[PLACE + 2 * WIDTH + lane])
        along = (rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane])
        number = (pixel << SAMPLE_BITS) + sample
        set_out(path, tree, lane, lane, number, origin, along, 1.0, time, shot.inside, knot)


@njit(**ACCESS)
def take_in(path: Path, light: Light, shot: Shot, workspace: Workspace, row: int) -> bool:
    """Make light of an arrival that is from no surface; whether it is from one that is opaque."""
    arrivals = workspace.tree.arrivals
    lane, node, kind = arrivals.ids[row, RAY], arrivals.ids[row, NODE], arrivals.ids[row, KIND]
    medium = arrivals.ids[row, MEDIUM]
    hazy = medium < shot.scene_media and path.media[medium, ABSORPTION] > 0.0
    if kind != FROM_SURFACE and kind != MISSED and not hazy:
        return False
    mirrored = color_way(path, light, workspace, lane, node, arrivals.numbers[row, WEIGHT])
    if kind == MISSED:
        along = triple(arrivals.numbers, row, ALONG_X)
        add_sky(light, workspace, lane, along, hazy, mirrored)
    elif kind != FROM_SURFACE:
        share = 1.0 - transmission(path.media[medium, ABSORPTION], arrivals.numbers[row, STRENGTH])
        add_haze(light, workspace, lane, share)
    else:
        workspace.met[lane, node] = arrivals.ids[row, MATERIAL]
    return bool(kind == FROM_SURFACE)


@njit(**ACCESS)
def take_at_once(path: Path, light: Light, workspace: Workspace, lane: int) -> bool:
    """Make light of the way of a ray that no tree follows; whether it ends at a surface."""
    end, left, tint = workspace.ends[lane], workspace.left[lane], workspace.tint
    hazy = path.media[0, ABSORPTION] > 0.0
    if end != MISSES and end != MEETS:
        return False
    for k in range(len(tint)):
        tint[k] = 1.0
    if end == MISSES:
        rays = workspace.tree.packet.doubles
        along = (rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane])
        add_sky(light, workspace, lane, along, hazy, False)
        return False
    if hazy:
        add_haze(light, workspace, lane, 1.0 - left)
    for k in range(len(tint)):
        tint[k] = left
    return True


@njit(**ACCESS)
def expose_rays(
    view: SceneView,
    path: Path,
    light: Light,
    records: Records,
    shot: Shot,
    workspace: Workspace,
    pose: Floats,
    picture: Picture,
    sink: Sink,
    corner: tuple[int, int],
    sample: int,
) -> None:
    """Trace a ray of each pixel of a tile, and all that becomes of them.

    First come those that meet a surface at once, then the trees of the others. All of them go
    through one call of each function: their arguments take longer than many a line of them. So
    this is one function of more than 40 lines.
    """
    tree, points, ids = workspace.tree, workspace.shading.points, workspace.tree.arrivals.ids
    most = WIDTH - 1 if light.textures.is_mapped else WIDTH  # half a metal is two points
    turn, traced, last = 0 if view.volumes == 0 else 1, False, False
    while not last:
        if not traced:
            trace(view, tree)
        if turn == 0:
            last = sort_out(view, path, tree, workspace.ends, workspace.left) == 0
            rows, traced = WIDTH, True
        else:
            if turn == 1:
                follow(path, shot, workspace, pose, corner, sample)
            arrive(view, path, tree)
            last = branches_left(tree) == 0
            rows, traced = tree.arrivals.filled[0], False
        for row in range(rows + 1):
            if row < rows:
                lane, node = (row, 0) if turn == 0 else (ids[row, RAY], ids[row, NODE])
                if turn == 0:
                    seen = take_at_once(path, light, workspace, lane)
                else:
                    seen = take_in(path, light, shot, workspace, row)
                if seen:
                    if turn == 0:
                        meeting = met_at_once(view, path, tree, workspace.left, lane)
                    else:
                        meeting = arrived(tree, workspace.starts, row, lane)
                    pixel = pixel_of(shot, corner, lane)
                    if node == 0 and sample == 0 and picture.distance.size:
                        describe(picture, meeting, pixel)
                    if path.surfaces[meeting.material, SURFACE_KIND] != DIELECTRIC:
                        draw = (((pixel << SAMPLE_BITS) + sample) << NODE_BITS) + node
                        put_point(view, light, records, shot, workspace, meeting, lane, draw)
            waiting = points.filled[0]
            if waiting >= most or (last and row == rows and waiting > 0):
                light_points(view, path, light, workspace.shading, sink, workspace.glow)
        tree.arrivals.filled[0] = 0
        if turn > 0 and not last:
            take_off(view, path, tree)
        turn = min(turn + 1, 2)


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
    corner: tuple[int, int],
) -> None:
    """Trace all rays of the pixels of a tile."""
    packet = workspace.tree.packet
    workspace.glow[:] = 0.0
    for lane in range(WIDTH):
        pixel = pixel_of(shot, corner, lane)
        if pixel >= 0 and picture.distance.size:
            describe_none(picture, pixel)
    for sample in range(shot.samples):
        aim(light, shot, packet, workspace.starts, pose, corner, sample)
        set_rays(view, packet, path.most_range)
        expose_rays(
            view, path, light, records, shot, workspace, pose, picture, sink, corner, sample
        )
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


@njit(**ACCESS)
def corner_in(down: int, across: int, number: int) -> tuple[int, int]:
    """Row and column of the first pixel of a tile of a square; four that follow are a square."""
    i, j = (number >> 1 & 1) + (number >> 2 & 2), (number & 1) + (number >> 1 & 2)
    return (SQUARE * down + i) * TILE[0], (SQUARE * across + j) * TILE[1]


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
    workspace, pose = new_workspace(len(light.sun), len(light.base)), shot.poses[0].copy()
    choose_words(light, workspace.shading.net)
    across = -(-shot.columns // (SQUARE * TILE[1]))
    total = -(-shot.rows // (SQUARE * TILE[0])) * across
    chunk = claim(claims)
    while chunk < total:
        for tile in range(SQUARE * SQUARE):
            corner = corner_in(chunk // across, chunk % across, tile)
            if (corner[0] < shot.rows) & (corner[1] < shot.columns):
                expose_tile(
                    view, path, light, records, shot, workspace, pose, picture, sink, corner
                )
        ask_around(view, path, light, workspace.shading, sink)
        ask_pool(view, path, light, workspace.shading, sink, True)
        for limit in range(len(lost[0])):
            lost[chunk, limit] = workspace.tree.lost[limit]
            workspace.tree.lost[limit] = 0
        chunk = claim(claims)
