"""The records of light from around that the points of a picture share (``shared``).

Of the rays of the camera one of each two by two is sent, straight through glass, ``POINTS`` of a
block of two by two cells together, and what those of a cell meet is divided among the surfaces that
are there: points of about the same normal and plane. Each point sends a ray or some by the cosine
law, with draws that all points of a picture divide among themselves (``nets``): whatever part of a
cell a surface has, and over whatever part of a picture records are averaged, its rays go evenly to
all sides. Where light changes within some cells, all rays of a cell are sent (``refine``).
Patches in the sun send half as many rays.

Some patches are worked through together, so that rays of coats, and those from where light bounces,
fill packets.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.around import look_by_draws
from sensor_models.kernels.camera.ccd.bounces import TOP, add_found, add_waiting, look_on
from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.ccd.nets import choose_words, point_of
from sensor_models.kernels.camera.ccd.patches import (
    BLOCK,
    CELL,
    CELLS,
    CHUNK,
    PARTS,
    POINTS,
    STEPS,
    SURVEY_DRAWS,
    Patch,
    SurveyWorkspace,
    begin_patch,
    look_at_patch,
    new_survey_workspace,
    place_of,
    put_points,
)
from sensor_models.kernels.camera.ccd.points import (
    AROUND_OF,
    DRAW,
    DRAW_OF,
    LENGTH_OF,
    MATERIAL_OF,
    NORMAL_OF,
    OTHER,
    PLACE_OF,
    RAY_OF,
    RAYS,
    START,
    SUM_OF,
    WEIGHT,
    Points,
    copy_point,
    spread_axes,
    spread_out,
)
from sensor_models.kernels.camera.ccd.points import BASES as BASES_OF
from sensor_models.kernels.camera.ccd.probes import END, ask
from sensor_models.kernels.camera.ccd.shading import gather, look_at_sun
from sensor_models.kernels.camera.ccd.shared import (
    BASES,
    COAT,
    FAR,
    GROUPS,
    LOBE,
    NEARNESS,
    NORMAL_AT,
    OF_LIGHT,
    OF_TOPS,
    PLACE_AT,
    REACH,
    SENT_RAYS,
    SHARE_OF_REACH,
    SIDE,
    SIZE,
    TOPS,
    Records,
)
from sensor_models.kernels.camera.ccd.shots import Shot
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import (
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

#: Draws of bounces of their coats' rays count on from here, numbered in so many bits.
COAT_DRAWS, COAT_BITS = 1 << 45, 12
#: Rays of the coat of each of their points over those that are due by the cosine law.
TOP_RAYS = (4, 1)
#: Cells within which light changes at most where a cell is looked at by itself, and at least: of
#: less nobody takes what is found (``shared.CHANGES``).
SOME_CELLS, FASTEST_CELLS = 4.0, 0.25
#: Points of a patch whose light comes from around by less than this share, as a mean, send half as
#: many rays, but so many at least.
SUNNY, FEWEST = 0.5, 8


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
        spot[OF_LIGHT] = max(spot[OF_LIGHT], points.numbers[lane, AROUND_OF])
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
    share = 0.0
    for lane in range(points.filled[0]):
        share += points.numbers[lane, AROUND_OF]
    if share < SUNNY * points.filled[0]:
        senders = max(senders // 2, min(senders, FEWEST))
    for lane in range(WIDTH):
        own[RAYS + lane] = own[BASES_OF + lane] = 0.0
    for lane in range(points.filled[0]):
        if rank_of(points.ids[lane, RAY_OF]) < senders:
            own[RAYS + lane] = own[BASES_OF + lane] = due
    return senders, due, TOP_RAYS[kind] * due


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
            if light.is_sunny and patch[2] == BLOCK:
                look_at_sun(view, path, light, workspace.shading)
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


@njit(nogil=True, cache=True, error_model="numpy")
def survey(
    view: SceneView,
    claims: NDArray[np.int64],
    path: Path,
    light: Light,
    shot: Shot,
    records: Records,
) -> None:
    """Make the records of all cells of a picture."""
    workspace = new_survey_workspace(len(light.sun), len(light.base))
    choose_words(light, workspace.words)
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
    """How a cell is looked at: by how many cells light changes within on any of its surfaces.

    In the sun it may change as much faster as less of all light comes from around.
    Where light of all of them changes so fast that their points share rays, records stay rough.
    """
    least, most = FAR, 0.0
    for group in range(GROUPS):
        if records.counts[BASES, group, cell] > 0.0:
            spot = records.spots[group, cell]
            cells = SHARE_OF_REACH * spot[REACH] / (spot[SIZE] * spot[OF_LIGHT])
            least, most = min(least, cells), max(most, cells)
    if most < FASTEST_CELLS:
        return BLOCK
    return CELL if least < SOME_CELLS else BLOCK


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
    choose_words(light, workspace.words)
    total = records.down * records.across
    first = claim(claims) * PARTS
    while first < total:
        parts = 0
        for cell in range(first, min(first + PARTS, total)):
            kind = kind_of(records, cell)
            if kind != BLOCK:
                top, left = SIDE * (cell // records.across), SIDE * (cell % records.across)
                patch = (top, left, kind, parts)
                survey_patch(view, path, light, shot, records, workspace, patch)
                parts += 1
        end_parts(view, path, light, records, workspace, parts)
        first = claim(claims) * PARTS
