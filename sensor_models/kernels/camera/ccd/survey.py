"""The records of light from around that the points of a picture share (``shared``).

Of the rays of the camera one of each two by two is sent, straight through glass, ``POINTS`` of a
block of two by two cells together, and what those of a cell meet is divided among the surfaces that
are there: points of about the same normal and plane. Each point sends a ray or some by the cosine
law, with draws that all points of a picture divide among themselves (``nets``): whatever part of a
cell a surface has, and over whatever part of a picture records are averaged, its rays go evenly to
all sides. Where light changes within few cells, all rays of a cell are sent (``refine``).

Some patches are worked through together, so that rays of coats, and those from where light bounces,
fill packets.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.around import look_by_cosine, look_off_tops
from sensor_models.kernels.camera.ccd.bounces import TOP, add_found, add_waiting, look_on
from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.ccd.nets import interleaved, point_of
from sensor_models.kernels.camera.ccd.points import (
    ALONG_OF,
    DRAW,
    DRAW_OF,
    LEAST,
    LENGTH_OF,
    MATERIAL_OF,
    NORMAL_OF,
    OTHER,
    PLACE_OF,
    RAY_OF,
    RAYS,
    START,
    SUM_OF,
    TIME_OF,
    WEIGHT,
    Points,
    copy_point,
    spread_axes,
    spread_out,
    triple,
)
from sensor_models.kernels.camera.ccd.points import BASES as BASES_OF
from sensor_models.kernels.camera.ccd.probes import END, FACE, NEAREST, Probe, ask, send_all
from sensor_models.kernels.camera.ccd.shading import (
    ShadingWorkspace,
    gather,
    new_shading_workspace,
)
from sensor_models.kernels.camera.ccd.shared import (
    BASES,
    COAT,
    FAR,
    GROUPS,
    LOBE,
    NEARNESS,
    NORMAL_AT,
    OF_TOPS,
    PLACE_AT,
    REACH,
    SENT_RAYS,
    SHARE_OF_REACH,
    SIDE,
    SIZE,
    TILT_OF_LOBE,
    TOPS,
    Records,
)
from sensor_models.kernels.camera.ccd.shots import Shot, blend_pose, instant_of
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import (
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
    SURFACE_SIZE,
    TABULATED,
    surface_at,
)
from sensor_models.kernels.math.philox import block as block_of_words
from sensor_models.kernels.math.rotations import Triple, dot
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, PLACE, SENT, VALID
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import rotate

Floats = NDArray[np.float64]

#: Draws of the points of cells count on from here (as ``points.DRAW_OF``); the counter of those of
#: all rays from them.
SURVEY_DRAWS, NET_DRAWS = 1 << 44, 1 << 58
#: Those of bounces of their coats' rays, which are numbered in so many bits.
COAT_DRAWS, COAT_BITS = 1 << 45, 12
#: Blocks of cells that a thread claims at once, which are worked through together.
CHUNK = 4
#: Points that are looked at of a patch, and of a cell of a block; cells of a block.
POINTS, POINTS_OF_CELL, CELLS = 16, 4, 4
#: Kinds of patches: a block of cells, and a cell where light changes within few or some cells.
BLOCK, FEW, SOME = range(3)
#: How far apart the rays of the camera are to their points.
STEPS = (2, 1, 1)
#: Rays by the cosine law of each of their points over those that are due, and rays of its coat.
BASE_RAYS, TOP_RAYS = (1, 2, 1), (4, 1, 1)
#: Cells within which light changes where a cell is looked at by itself: few, and some.
FEW_CELLS, SOME_CELLS = 1.0, 4.0
#: Points of one surface have normals with this cosine at least, and lie so many rays off a plane.
SAME_COSINE, SAME_PLANE = 0.97, 2.0


#: Cells that are worked through together.
PARTS = CHUNK * CELLS
#: The first row and column of ``POINTS`` rays of the camera, its kind, and the part that its first
#: cell is.
Patch = tuple[int, int, int, int]


class SurveyWorkspace(NamedTuple):
    """Memory of one thread for the points of a patch."""

    shading: ShadingWorkspace
    pose: Floats  # (12,)
    cells: NDArray[np.int64]  # (PARTS,): the cell of each part, -1 for none
    first: Floats  # (PARTS, GROUPS, 7): place, normal, coat of the first point of each surface
    found: NDArray[np.int64]  # (PARTS,): surfaces
    words: NDArray[np.uint64]  # (4,): of the draws of the frame


@njit(cache=True)
def new_survey_workspace(wavelengths: int, materials: int) -> SurveyWorkspace:
    """Room for the work of one thread."""
    return SurveyWorkspace(
        new_shading_workspace(wavelengths, materials, PARTS * GROUPS),
        np.zeros(12),
        np.zeros(PARTS, np.int64),
        np.zeros((PARTS, GROUPS, 7)),
        np.zeros(PARTS, np.int64),
        np.zeros(4, np.uint64),
    )


@njit(**ACCESS)
def pixel_in(shot: Shot, patch: Patch, number: int) -> int:
    """The ray of the camera with a number in a patch, -1 beyond the picture."""
    i, j = (number >> 1 & 1) + (number >> 2 & 2), (number & 1) + (number >> 1 & 2)
    top, left, kind, _ = patch
    step = STEPS[kind]
    row = top + step * i + (step - 1) * (j & 1)
    column = left + step * j + (step - 1) * (i & 1)
    return row * shot.columns + column if (row < shot.rows) & (column < shot.columns) else -1


@njit(**ACCESS)
def place_of(patch: Patch) -> int:
    """The number of a patch among those of its kind (``nets``)."""
    side = SIDE * STEPS[patch[2]]
    place: int = interleaved(patch[0] // side, patch[1] // side)
    return place


@njit(**ACCESS)
def part_of(patch: Patch, number: int) -> int:
    """The part that the ray with a number of a patch is in."""
    return patch[3] + (number // POINTS_OF_CELL if patch[2] == BLOCK else 0)


@njit(**ACCESS)
def begin_patch(records: Records, workspace: SurveyWorkspace, patch: Patch) -> None:
    """Note which cells the parts of a patch are."""
    for part in range(CELLS if patch[2] == BLOCK else 1):
        down, across = patch[0] // SIDE + (part >> 1), patch[1] // SIDE + (part & 1)
        inside = (down < records.down) & (across < records.across)
        cell = down * records.across + across if inside else -1
        workspace.cells[patch[3] + part], workspace.found[patch[3] + part] = cell, 0


@njit(**ACCESS)
def look_at_patch(
    view: SceneView,
    path: Path,
    light: Light,
    shot: Shot,
    workspace: SurveyWorkspace,
    patch: Patch,
    first: int,
) -> None:
    """Send rays of the camera that are in a patch, a packet of them, and find where they end."""
    probe, pose = workspace.shading.probe, workspace.pose
    rays, d = probe.packet.doubles, shot.directions
    for lane in range(WIDTH):
        pixel = pixel_in(shot, patch, first + lane)
        probe.packet.words[VALID + lane] = -1 if pixel >= 0 else 0
        pixel = max(pixel, 0)
        time = instant_of(shot, light, pixel, (first + lane) % shot.samples)
        blend_pose(shot.poses, time, pose)
        along = rotate(pose, (d[pixel, 0], d[pixel, 1], d[pixel, 2]))
        for k in range(3):
            rays[ALONG + k * WIDTH + lane] = along[k]
            rays[PLACE + k * WIDTH + lane] = pose[9 + k]
        rays[SENT + lane] = time
        probe.rows[NEAREST + lane] = 0.0
    send_all(view, probe)
    ask(view, path, light, probe, True)


@njit(**ACCESS)
def surface_among(
    workspace: SurveyWorkspace, part: int, place: Triple, normal: Triple, width: float,
    coat: int, lobe: float,
) -> int:  # fmt: skip
    """Which surface of a cell a point belongs to; -1 for none, where there are too many."""
    first, found = workspace.first[part], workspace.found[part]
    least = SAME_COSINE if coat == 0 else 1.0 - 0.5 * min(TILT_OF_LOBE * lobe, 0.2) ** 2
    for group in range(found):
        there, up = triple(first, group, 0), triple(first, group, 3)
        off = (place[0] - there[0], place[1] - there[1], place[2] - there[2])
        flat = abs(dot(off, up)) < SAME_PLANE * width
        if first[group, 6] == coat and dot(normal, up) > least and flat:
            return group
    if found == GROUPS:
        return -1
    for k in range(3):
        first[found, k], first[found, 3 + k] = place[k], normal[k]
    first[found, 6] = coat
    workspace.found[part] = found + 1
    return int(found)


@njit(**ACCESS)
def put_points(
    light: Light, shot: Shot, workspace: SurveyWorkspace, patch: Patch, first: int
) -> None:
    """Have the points that were found wait for their light, and add them to their surfaces.

    Surfaces that are tables do without: rays from them count by what their table says of each.
    """
    points, probe = workspace.shading.points, workspace.shading.probe
    rows, rays, pose = probe.rows, probe.packet.doubles, workspace.pose
    for lane in range(WIDTH):
        if probe.found[lane] < 0:
            continue
        surface = surface_at(light.surfaces, probe.found[lane])
        if surface[KIND] == TABULATED:
            continue
        coat, lobe = 0, 0.0
        if surface[KIND] != LAMBERT:
            coat, lobe = probe.found[lane] + 1, math.sqrt(surface[SLOPE_SQUARED])
        place = (rows[END + lane], rows[END + WIDTH + lane], rows[END + 2 * WIDTH + lane])
        normal = (rows[FACE + lane], rows[FACE + WIDTH + lane], rows[FACE + 2 * WIDTH + lane])
        length = math.sqrt(
            (place[0] - pose[9]) ** 2 + (place[1] - pose[10]) ** 2 + (place[2] - pose[11]) ** 2
        )
        part = part_of(patch, first + lane)
        width = shot.cell * length
        group = surface_among(workspace, part, place, normal, width, coat, lobe)
        if group < 0:
            continue
        row = points.filled[0]
        points.filled[0] = row + 1
        for k in range(3):
            points.numbers[row, PLACE_OF + k] = place[k]
            points.numbers[row, NORMAL_OF + k] = normal[k]
            points.numbers[row, ALONG_OF + k] = rays[ALONG + k * WIDTH + lane]
        points.numbers[row, TIME_OF], points.numbers[row, LENGTH_OF] = rays[SENT + lane], length
        for k in range(SURFACE_SIZE):
            points.surface[row, k] = light.surfaces[probe.found[lane], k]
        points.cone[row], points.bent[row] = light.cones[probe.found[lane]], False
        points.ids[row, RAY_OF], points.ids[row, MATERIAL_OF] = first + lane, probe.found[lane]
        points.ids[row, DRAW_OF] = SURVEY_DRAWS + pixel_in(shot, patch, first + lane)
        points.ids[row, SUM_OF] = part * GROUPS + group


@njit(**ACCESS)
def add_spots(
    light: Light, shot: Shot, records: Records, workspace: SurveyWorkspace, tops: int
) -> None:
    """Add the points that send rays to the sums of their surfaces; ``tops`` those of each coat."""
    points = workspace.shading.points
    for lane in range(points.filled[0]):
        rays = points.spread[RAYS + lane]
        if rays == 0.0:
            continue
        part, group = divmod(int(points.ids[lane, SUM_OF]), GROUPS)
        size = 0.0
        cell = workspace.cells[part]
        spot = records.spots[group, cell]
        for k in range(3):
            spot[PLACE_AT + k] += rays * points.numbers[lane, PLACE_OF + k]
            spot[NORMAL_AT + k] += rays * points.numbers[lane, NORMAL_OF + k]
            size += (points.numbers[lane, PLACE_OF + k] - workspace.first[part, group, k]) ** 2
        least = SIDE * shot.cell * points.numbers[lane, LENGTH_OF]
        spot[SIZE] = max(spot[SIZE], math.sqrt(size), least)
        records.counts[BASES, group, cell] += rays
        spot[COAT] = workspace.first[part, group, 6]
        if spot[COAT] > 0.0:
            material = points.ids[lane, MATERIAL_OF]
            spot[LOBE] = math.sqrt(light.surfaces[material, SLOPE_SQUARED])
            records.counts[TOPS, group, cell] += tops


@njit(**ACCESS)
def rank_of(number: int) -> int:
    """In which order rays of a patch become points: few are spread over all of it.

    The number's last bit is the first.
    """
    return (number & 1) << 3 | (number & 2) << 1 | (number & 4) >> 1 | (number & 8) >> 3


@njit(**ACCESS)
def place_among(number: int, count: int) -> int:
    """How many of the first ``count`` points by rank come before a number.

    Draws are numbered by this: draws left out at equal steps would leave out directions.
    """
    if count >= POINTS:
        return number
    before = 0
    for other in range(number):
        before += 1 if rank_of(other) < count else 0
    return before


@njit(**ACCESS)
def deal_rays(light: Light, points: Points, patch: Patch) -> tuple[int, int, int]:
    """Give the points that send rays theirs.

    Returns how many points of a patch do, how many rays of each, and how many of its coat.
    """
    kind, own = patch[2], points.spread
    senders, due = min(light.rays, POINTS), max(light.rays // POINTS, 1)
    each, tops = BASE_RAYS[kind] * due, TOP_RAYS[kind] * due
    for lane in range(WIDTH):
        own[RAYS + lane] = own[BASES_OF + lane] = 0.0
    for lane in range(points.filled[0]):
        if rank_of(points.ids[lane, RAY_OF]) < senders:
            own[RAYS + lane] = own[BASES_OF + lane] = each
    return senders, each, tops


@njit(**ACCESS)
def look_by_draws(view: SceneView, points: Points, probe: Probe, index: int) -> None:
    """Send a ray from each point, by the draws that it has."""
    own = points.spread
    look_by_cosine(own, probe.packet, index)
    if own[BASES_OF] == 0.0:
        look_off_tops(points, probe.packet, index)
    for lane in range(WIDTH):
        probe.packet.words[VALID + lane] = -1 if own[WEIGHT + lane] > 0.0 else 0
        probe.rows[NEAREST + lane] = own[LEAST + lane]
    send_all(view, probe)


@njit(**ACCESS)
def add_lengths(records: Records, workspace: SurveyWorkspace, points: Points, index: int) -> None:
    """Add the rays that went out to those of their surfaces, by how far they came.

    Rays of a coat that go below the surface count as well: they bring nothing.
    """
    probe, own = workspace.shading.probe, points.spread
    rows = probe.rows
    for lane in range(points.filled[0]):
        if index >= own[RAYS + lane]:
            continue
        side = OF_TOPS if index >= own[BASES_OF + lane] else 0
        part, group = divmod(int(points.ids[lane, SUM_OF]), GROUPS)
        spot = records.spots[group, workspace.cells[part]]
        spot[SENT_RAYS + side] += 1.0
        if own[WEIGHT + lane] > 0.0 and probe.found[lane] >= 0:
            square = 0.0
            for k in range(0, 3 * WIDTH, WIDTH):
                square += (rows[END + k + lane] - own[START + k + lane]) ** 2
            spot[NEARNESS + side] += 1.0 / max(square, 1e-18)


@njit(**{**ACCESS, "forceinline": False})
def ask_all(
    view: SceneView, path: Path, light: Light, workspace: SurveyWorkspace, records: Records,
    points: Points, index: int,
) -> None:  # fmt: skip
    """Send a ray from each point, and add what they find to the sums of surfaces."""
    shading = workspace.shading
    probe, sunward, skyward = shading.probe, shading.sunward, shading.skyward
    look_by_draws(view, points, probe, index)
    ask(view, path, light, probe, False)
    add_lengths(records, workspace, points, index)
    look_on(view, path, light, points, probe, sunward, skyward, shading.third, shading.sums, index)
    add_found(light, points, probe, shading.sums, index)


@njit(**{**ACCESS, "forceinline": False})
def ask_around(
    view: SceneView, path: Path, light: Light, workspace: SurveyWorkspace, records: Records,
    patch: Patch, senders: int, each: int, tops: int,
) -> None:  # fmt: skip
    """Send the rays of the points that wait; those of coats wait for others."""
    points, words = workspace.shading.points, workspace.words
    own, before = points.spread, place_of(patch) * senders
    for index in range(each):
        for lane in range(points.filled[0]):
            number = (before + place_among(points.ids[lane, RAY_OF], senders)) * each + index
            own[DRAW + lane], own[OTHER + lane] = point_of(number, words[0], words[1])
        ask_all(view, path, light, workspace, records, points, index)
    for lane in range(points.filled[0]):
        if own[RAYS + lane] == 0.0 or points.surface[lane, KIND] == LAMBERT:
            continue
        for index in range(tops):
            number = (before + place_among(points.ids[lane, RAY_OF], senders)) * tops + index
            put_coat(view, path, light, workspace, records, lane, number, index)


@njit(**ACCESS)
def put_coat(
    view: SceneView, path: Path, light: Light, workspace: SurveyWorkspace, records: Records,
    lane: int, number: int, index: int,
) -> None:  # fmt: skip
    """Have a ray of the coat of a point wait, by the draws with a number."""
    points, asking, words = workspace.shading.points, workspace.shading.asking, workspace.words
    place = asking.filled[0]
    asking.filled[0] = place + 1
    copy_point(points, lane, asking, place)
    asking.ids[place, SUM_OF] = points.ids[lane, SUM_OF]
    pixel = points.ids[lane, DRAW_OF] - SURVEY_DRAWS
    asking.ids[place, DRAW_OF] = COAT_DRAWS + (pixel << COAT_BITS) + index
    own = asking.spread
    own[DRAW + place], own[OTHER + place] = point_of(number, words[2], words[3])
    if place + 1 == WIDTH:
        ask_coats(view, path, light, workspace, records)


@njit(**{**ACCESS, "forceinline": False})
def ask_coats(
    view: SceneView, path: Path, light: Light, workspace: SurveyWorkspace, records: Records
) -> None:
    """Send the rays of coats that wait."""
    points = workspace.shading.asking
    if points.filled[0] == 0:
        return
    spread_out(points)
    spread_axes(points)
    for lane in range(WIDTH):
        points.spread[BASES_OF + lane], points.spread[RAYS + lane] = 0.0, 1.0
    ask_all(view, path, light, workspace, records, points, 0)
    points.filled[0] = 0


@njit(**ACCESS)
def store_records(light: Light, records: Records, workspace: SurveyWorkspace, part: int) -> None:
    """Make records of the sums of a cell."""
    shading, cell = workspace.shading, workspace.cells[part]
    for group in range(workspace.found[part]):
        spot, count = records.spots[group, cell], records.counts[BASES, group, cell]
        if count == 0.0:
            continue
        square = 0.0
        for k in range(3):
            square += spot[NORMAL_AT + k] ** 2
        for k in range(3):
            spot[PLACE_AT + k] /= count
            spot[NORMAL_AT + k] /= math.sqrt(square)
        for side in (BASES, TOPS):
            rays = spot[SENT_RAYS + OF_TOPS * side]
            if rays == 0.0:
                continue
            gather(light, shading.sums[part * GROUPS + group], TOP * side, shading.into)
            for k in range(len(shading.into)):
                records.light[side, group, cell, k] = np.float32(shading.into[k] / rays)


@njit(**{**ACCESS, "forceinline": False})
def survey_patch(
    view: SceneView,
    path: Path,
    light: Light,
    shot: Shot,
    records: Records,
    workspace: SurveyWorkspace,
    patch: Patch,
) -> None:
    """Send the rays of a patch."""
    points = workspace.shading.points
    begin_patch(records, workspace, patch)
    for first in range(0, POINTS, WIDTH):
        look_at_patch(view, path, light, shot, workspace, patch, first)
        put_points(light, shot, workspace, patch, first)
        if points.filled[0] > 0:
            spread_out(points)
            spread_axes(points)
            senders, each, tops = deal_rays(light, points, patch)
            ask_around(view, path, light, workspace, records, patch, senders, each, tops)
            add_spots(light, shot, records, workspace, tops)
            points.filled[0] = 0


@njit(**{**ACCESS, "forceinline": False})
def end_parts(
    view: SceneView,
    path: Path,
    light: Light,
    records: Records,
    workspace: SurveyWorkspace,
    parts: int,
) -> None:
    """Make the records of the parts that were worked through together."""
    shading = workspace.shading
    ask_coats(view, path, light, workspace, records)
    add_waiting(view, path, light, shading.sunward, shading.sums)
    add_waiting(view, path, light, shading.skyward, shading.sums)
    for part in range(parts):
        store_records(light, records, workspace, part)


@njit(**ACCESS)
def choose_words(light: Light, workspace: SurveyWorkspace) -> None:
    """Draw the words that all draws of the frame are scrambled with."""
    words = block_of_words(light.key, light.frame, NET_DRAWS)
    for k in range(4):
        workspace.words[k] = words[k]


@njit(nogil=True, cache=True, error_model="numpy")
def survey(
    view: SceneView,
    claims: NDArray[np.int64],
    path: Path,
    light: Light,
    shot: Shot,
    records: Records,
) -> None:
    """Make the records of all cells of a picture; their arrays hold zeros before."""
    workspace = new_survey_workspace(len(light.sun), len(light.base))
    choose_words(light, workspace)
    across, side = (records.across + 1) // 2, SIDE * STEPS[BLOCK]
    total = (records.down + 1) // 2 * across
    first = claim(claims) * CHUNK
    while first < total:
        parts = 0
        for number in range(first, min(first + CHUNK, total)):
            patch = (number // across * side, number % across * side, BLOCK, parts)
            survey_patch(view, path, light, shot, records, workspace, patch)
            parts += CELLS
        end_parts(view, path, light, records, workspace, parts)
        first = claim(claims) * CHUNK


@njit(**ACCESS)
def kind_of(records: Records, cell: int) -> int:
    """How a cell is looked at: by how many cells light changes within on any of its surfaces."""
    least = FAR
    for group in range(GROUPS):
        if records.counts[BASES, group, cell] > 0.0:
            spot = records.spots[group, cell]
            least = min(least, SHARE_OF_REACH * spot[REACH] / spot[SIZE])
    return FEW if least < FEW_CELLS else (SOME if least < SOME_CELLS else BLOCK)


@njit(nogil=True, cache=True, error_model="numpy")
def refine(
    view: SceneView,
    claims: NDArray[np.int64],
    path: Path,
    light: Light,
    shot: Shot,
    records: Records,
) -> None:
    """Make the records of cells anew, of all of their rays, where light changes within them."""
    workspace = new_survey_workspace(len(light.sun), len(light.base))
    choose_words(light, workspace)
    total = records.down * records.across
    first = claim(claims) * PARTS
    while first < total:
        parts = 0
        for cell in range(first, min(first + PARTS, total)):
            kind = kind_of(records, cell)
            if kind != BLOCK:
                records.spots[:, cell] = 0.0
                records.counts[:, :, cell] = 0.0
                top, left = SIDE * (cell // records.across), SIDE * (cell % records.across)
                patch = (top, left, kind, parts)
                survey_patch(view, path, light, shot, records, workspace, patch)
                parts += 1
        end_parts(view, path, light, records, workspace, parts)
        first = claim(claims) * PARTS
