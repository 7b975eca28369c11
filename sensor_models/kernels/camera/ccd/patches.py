"""Patches of a picture: the points that rays of the camera meet there, and their surfaces.

A patch is a block of two by two cells or one cell (``shared``), of which ``POINTS`` rays of the
camera are sent, straight through glass. What those of a cell meet is divided among the surfaces
that are there: points of about the same normal and plane.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.ccd.nets import interleaved
from sensor_models.kernels.camera.ccd.points import (
    ALONG_OF,
    AROUND_OF,
    DRAW_OF,
    LENGTH_OF,
    MATERIAL_OF,
    NORMAL_OF,
    PLACE_OF,
    RAY_OF,
    SUM_OF,
    TIME_OF,
    triple,
)
from sensor_models.kernels.camera.ccd.probes import END, FACE, NEAREST, ask, send_all
from sensor_models.kernels.camera.ccd.shading import (
    ShadingWorkspace,
    new_shading_workspace,
)
from sensor_models.kernels.camera.ccd.shared import (
    GROUPS,
    SIDE,
    TILT_OF_LOBE,
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
from sensor_models.kernels.math.rotations import Triple, dot
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, PLACE, SENT, VALID
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import rotate

Floats = NDArray[np.float64]

#: Draws of the points of cells count on from here (as ``points.DRAW_OF``).
SURVEY_DRAWS = 1 << 44
#: Blocks of cells that a thread claims at once, which are worked through together.
CHUNK = 4
#: Points that are looked at of a patch, and of a cell of a block; cells of a block.
POINTS, POINTS_OF_CELL, CELLS = 16, 4, 4
#: Kinds of patches: a block of cells, and a cell by itself.
BLOCK, CELL = range(2)
#: How far apart the rays of the camera are to their points.
STEPS = (2, 1)
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
    """Note which cells the parts of a patch are, and forget what was known of them."""
    for part in range(CELLS if patch[2] == BLOCK else 1):
        down, across = patch[0] // SIDE + (part >> 1), patch[1] // SIDE + (part & 1)
        inside = (down < records.down) & (across < records.across)
        cell = down * records.across + across if inside else -1
        workspace.cells[patch[3] + part], workspace.found[patch[3] + part] = cell, 0
        if inside:
            records.spots[:, cell] = 0.0
            records.counts[:, :, cell] = 0.0


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
        points.numbers[row, AROUND_OF] = 1.0
        points.cone[row], points.bent[row] = light.cones[probe.found[lane]], False
        points.ids[row, RAY_OF], points.ids[row, MATERIAL_OF] = first + lane, probe.found[lane]
        points.ids[row, DRAW_OF] = SURVEY_DRAWS + pixel_in(shot, patch, first + lane)
        points.ids[row, SUM_OF] = part * GROUPS + group
