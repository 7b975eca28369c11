"""The records of light from around that the points of a picture share (``shared``).

Of each cell of rays of the camera all are sent, straight through glass, and what they meet is
divided among the surfaces that are there: points of about the same normal and plane. Each point
sends a ray or some, from cells of one grid of the cosine law that is dealt out anew in each cell
of the picture, so that whatever part of a cell a surface has, its mean is not led astray.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.around import begin_grid, divided, look_around
from sensor_models.kernels.camera.ccd.bounces import add_found, add_sunlight, look_on
from sensor_models.kernels.camera.ccd.exposure import Shot, blend_pose, instant_of
from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.ccd.points import (
    ALONG_OF,
    BASES,
    COLUMN,
    COLUMNS,
    DRAW_OF,
    LENGTH_OF,
    MATERIAL_OF,
    NORMAL_OF,
    PLACE_OF,
    RAY_OF,
    RAYS,
    ROW,
    START,
    SUM_OF,
    TIME_OF,
    WEIGHT,
    Points,
    spread_out,
    triple,
)
from sensor_models.kernels.camera.ccd.probes import END, FACE, NEAREST, Probe, ask, send_all
from sensor_models.kernels.camera.ccd.shading import (
    ShadingWorkspace,
    gather,
    new_shading_workspace,
)
from sensor_models.kernels.camera.ccd.shared import (
    CELL,
    GROUPS,
    NEARNESS,
    NORMAL_AT,
    PLACE_AT,
    SENT_RAYS,
    SIDE,
    SIZE,
    Records,
)
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import KIND, TABULATED, surface_at
from sensor_models.kernels.math.philox import block
from sensor_models.kernels.math.rotations import Triple, dot
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, PLACE, SENT, VALID
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import rotate

Floats = NDArray[np.float64]

#: Draws of the points of cells count on from here (as ``points.DRAW_OF``), those that deal out
#: grids from there (as counters).
SURVEY_DRAWS, DEAL_DRAWS = 1 << 44, 1 << 58
#: Cells that a thread claims at once.
CHUNK = 16
#: Points of one surface have normals with this cosine at least, and lie so many rays off a plane.
SAME_COSINE, SAME_PLANE = 0.97, 2.0


class SurveyWorkspace(NamedTuple):
    """Memory of one thread for the points of a cell."""

    shading: ShadingWorkspace
    pose: Floats  # (12,)
    first: Floats  # (GROUPS, 6): place and normal of the first point of each surface
    found: NDArray[np.int64]  # (1,): surfaces


@njit(cache=True)
def new_survey_workspace(wavelengths: int, materials: int) -> SurveyWorkspace:
    """Room for the work of one thread."""
    return SurveyWorkspace(
        new_shading_workspace(wavelengths, materials),
        np.zeros(12),
        np.zeros((GROUPS, 6)),
        np.zeros(1, np.int64),
    )


@njit(**ACCESS)
def pixel_in(shot: Shot, records: Records, cell: int, number: int) -> int:
    """The ray of the camera with a number in a cell, -1 beyond the picture."""
    strip = cell // records.across
    row = strip * SIDE + number // SIDE
    column = (cell - strip * records.across) * SIDE + number % SIDE
    return row * shot.columns + column if (row < shot.rows) & (column < shot.columns) else -1


@njit(**ACCESS)
def look_at_cell(
    view: SceneView,
    path: Path,
    light: Light,
    shot: Shot,
    records: Records,
    workspace: SurveyWorkspace,
    cell: int,
    first: int,
) -> None:
    """Send rays of the camera that are in a cell, a packet of them, and find where they end."""
    probe, pose = workspace.shading.probe, workspace.pose
    rays, d = probe.packet.doubles, shot.directions
    for lane in range(WIDTH):
        pixel = pixel_in(shot, records, cell, first + lane)
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
def surface_among(workspace: SurveyWorkspace, place: Triple, normal: Triple, width: float) -> int:
    """Which surface of a cell a point belongs to; -1 for none, where there are too many."""
    first, found = workspace.first, workspace.found[0]
    for group in range(found):
        there, up = triple(first, group, 0), triple(first, group, 3)
        off = (place[0] - there[0], place[1] - there[1], place[2] - there[2])
        if dot(normal, up) > SAME_COSINE and abs(dot(off, up)) < SAME_PLANE * width:
            return group
    if found == GROUPS:
        return -1
    for k in range(3):
        first[found, k], first[found, 3 + k] = place[k], normal[k]
    workspace.found[0] = found + 1
    return int(found)


@njit(**ACCESS)
def put_points(
    path: Path, shot: Shot, records: Records, workspace: SurveyWorkspace, cell: int, first: int
) -> None:
    """Have the points that were found wait for their light, and add them to their surfaces.

    Surfaces that are tables do without: rays from them count by what their table says of each.
    """
    points, probe = workspace.shading.points, workspace.shading.probe
    rows, rays, pose = probe.rows, probe.packet.doubles, workspace.pose
    for lane in range(WIDTH):
        if probe.found[lane] < 0:
            continue
        if surface_at(path.surfaces, probe.found[lane])[KIND] == TABULATED:
            continue
        place = (rows[END + lane], rows[END + WIDTH + lane], rows[END + 2 * WIDTH + lane])
        normal = (rows[FACE + lane], rows[FACE + WIDTH + lane], rows[FACE + 2 * WIDTH + lane])
        length = math.sqrt(
            (place[0] - pose[9]) ** 2 + (place[1] - pose[10]) ** 2 + (place[2] - pose[11]) ** 2
        )
        group = surface_among(workspace, place, normal, shot.cell * length)
        if group < 0:
            continue
        row = points.filled[0]
        points.filled[0] = row + 1
        for k in range(3):
            points.numbers[row, PLACE_OF + k] = place[k]
            points.numbers[row, NORMAL_OF + k] = normal[k]
            points.numbers[row, ALONG_OF + k] = rays[ALONG + k * WIDTH + lane]
        points.numbers[row, TIME_OF], points.numbers[row, LENGTH_OF] = rays[SENT + lane], length
        points.ids[row, RAY_OF], points.ids[row, MATERIAL_OF] = first + lane, probe.found[lane]
        pixel = pixel_in(shot, records, cell, first + lane)
        points.ids[row, DRAW_OF], points.ids[row, SUM_OF] = SURVEY_DRAWS + pixel, group


@njit(**ACCESS)
def add_spots(shot: Shot, records: Records, workspace: SurveyWorkspace, cell: int) -> None:
    """Add the points that send rays to the sums of their surfaces."""
    points = workspace.shading.points
    for lane in range(points.filled[0]):
        if points.spread[RAYS + lane] == 0.0:
            continue
        group, size = points.ids[lane, SUM_OF], 0.0
        spot = records.spots[group, cell]
        for k in range(3):
            spot[PLACE_AT + k] += points.numbers[lane, PLACE_OF + k]
            spot[NORMAL_AT + k] += points.numbers[lane, NORMAL_OF + k]
            size += (points.numbers[lane, PLACE_OF + k] - workspace.first[group, k]) ** 2
        least = SIDE * shot.cell * points.numbers[lane, LENGTH_OF]
        spot[SIZE] = max(spot[SIZE], math.sqrt(size), least)
        records.counts[group, cell] += 1.0


@njit(**ACCESS)
def deal_grids(light: Light, points: Points, cell: int) -> int:
    """Deal the cells of a grid of rays out to the points; returns the most that one has."""
    each = max(light.rays // CELL, 1)
    cells = each * min(light.rays, CELL)
    turn, _, _, _ = block(light.key, light.frame, DEAL_DRAWS + cell)
    own, most = points.spread, 0
    for lane in range(WIDTH):
        own[RAYS + lane] = own[BASES + lane] = 0.0
    for lane in range(points.filled[0]):
        number = int(points.ids[lane, RAY_OF]) ^ int(turn & np.uint64(CELL - 1))
        begin_grid(own, lane, cells)
        if number * each < cells:
            own[RAYS + lane] = own[BASES + lane] = each
            most = each
            columns = divided(cells)
            own[COLUMNS + lane] = columns
            own[COLUMN + lane] = number * each % columns
            own[ROW + lane] = number * each // columns
    return most


@njit(**ACCESS)
def add_lengths(records: Records, points: Points, probe: Probe, cell: int) -> None:
    """Add the rays that went out to those of their surfaces, by how far they came."""
    own, rows = points.spread, probe.rows
    for lane in range(points.filled[0]):
        if own[WEIGHT + lane] == 0.0:
            continue
        spot = records.spots[points.ids[lane, SUM_OF], cell]
        spot[SENT_RAYS] += 1.0
        if probe.found[lane] >= 0:
            square = 0.0
            for k in range(0, 3 * WIDTH, WIDTH):
                square += (rows[END + k + lane] - own[START + k + lane]) ** 2
            spot[NEARNESS] += 1.0 / max(square, 1e-18)


@njit(**{**ACCESS, "forceinline": False})
def ask_around(
    view: SceneView, path: Path, light: Light, shading: ShadingWorkspace, records: Records,
    cell: int, most: int,
) -> None:  # fmt: skip
    """Send the rays of the points that wait, and add what they find to the sums of surfaces."""
    points, probe, waiting = shading.points, shading.probe, shading.waiting
    third, sums = shading.third, shading.sums
    for index in range(most):
        look_around(view, path, light, points, shading.words, probe, index, False, False)
        ask(view, path, light, probe, False)
        add_lengths(records, points, probe, cell)
        look_on(view, path, light, points, probe, waiting, third, sums, index)
        add_found(light, points, probe, third, sums, index)


@njit(**ACCESS)
def store_records(light: Light, records: Records, workspace: SurveyWorkspace, cell: int) -> None:
    """Make records of the sums of a cell."""
    shading = workspace.shading
    for group in range(workspace.found[0]):
        spot, count = records.spots[group, cell], records.counts[group, cell]
        if count == 0.0:
            continue
        gather(light, shading.sums[group], 0, shading.into)
        square = 0.0
        for k in range(3):
            square += spot[NORMAL_AT + k] ** 2
        for k in range(3):
            spot[PLACE_AT + k] /= count
            spot[NORMAL_AT + k] /= math.sqrt(square)
        for k in range(len(shading.into)):
            records.light[group, cell, k] = np.float32(shading.into[k] / spot[SENT_RAYS])


@njit(**{**ACCESS, "forceinline": False})
def survey_cell(
    view: SceneView,
    path: Path,
    light: Light,
    shot: Shot,
    records: Records,
    workspace: SurveyWorkspace,
    cell: int,
) -> None:
    """Make the records of a cell."""
    shading = workspace.shading
    workspace.found[0] = 0
    for first in range(0, CELL, WIDTH):
        look_at_cell(view, path, light, shot, records, workspace, cell, first)
        put_points(path, shot, records, workspace, cell, first)
        if shading.points.filled[0] > 0:
            spread_out(shading.points)
            most = deal_grids(light, shading.points, cell)
            add_spots(shot, records, workspace, cell)
            ask_around(view, path, light, shading, records, cell, most)
            shading.points.filled[0] = 0
    if shading.waiting.filled[0] > 0:
        add_sunlight(view, path, light, shading.waiting, shading.sums)
    store_records(light, records, workspace, cell)


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
    total = records.down * records.across
    first = claim(claims) * CHUNK
    while first < total:
        for cell in range(first, min(first + CHUNK, total)):
            survey_cell(view, path, light, shot, records, workspace, cell)
        first = claim(claims) * CHUNK
