"""A lidar's rays, from the pattern to the points of the cloud, in one compiled pass.

Nothing of the size of a cloud is held between the steps: a packet of rays is made, traced,
followed down its tree (``light.tree``), what comes back becomes echoes (``echoes``) and returns
(``returns``), and these are written as points (``points``) before the next packet is made.

Most rays end at the first surface and have one echo. What comes of these is written at once,
by the same functions: going through the tables of branches and echoes would take them twice as
long. A ray takes that short way or the long one by what it meets itself, never by its neighbours.

Draws are functions of (term, frame, ray, return): the order of the rays, how many are made at a
time, threads and steps do not enter.

Source: AGX (lidar: ray manipulation, ray trace, point assembly); GYM (grid, frames).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.beams import (
    Lanes,
    begin_packet,
    begin_tree,
    new_lanes,
    send_beams,
)
from sensor_models.kernels.lidar.echoes import (
    ATMOSPHERIC,
    COSINE,
    ENTITY,
    INTENSITY,
    LABEL,
    MANY_ECHOES,
    MATERIAL,
    NODE,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z,
    PATH,
    RANGE,
    Echoes,
    counts,
    new_echoes,
    take_in,
)
from sensor_models.kernels.lidar.first_hits import (
    DISTANCE,
    INCIDENCE,
    MEASURED,
    MIRRORED,
    REPORTED,
    answer,
    meet,
    mirror,
    new_first_hits,
    report,
)
from sensor_models.kernels.lidar.first_hits import INTENSITY as ECHO
from sensor_models.kernels.lidar.layout import (
    CHUNK,
    Detector,
    Floats,
    Output,
    Scan,
    bring,
    corner_of,
    packets_of,
)
from sensor_models.kernels.lidar.points import (
    draw_of,
    has_distance_noise,
    measured,
    note_nearest,
    reported,
    write_place,
    write_point,
    write_source,
)
from sensor_models.kernels.lidar.returns import Lists, new_lists, select
from sensor_models.kernels.lidar.walk import walked
from sensor_models.kernels.light.facing import SURFACE, Facing, number_of, toward_of
from sensor_models.kernels.light.paths import DEPTH_LIMIT, LIMITS, Path
from sensor_models.kernels.light.segments import answers
from sensor_models.kernels.light.surfaces import DIELECTRIC, KIND
from sensor_models.kernels.light.tree import (
    Tree,
    arrive,
    branches_left,
    go_on,
    new_tree,
    trace,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_entity, hit_label
from sensor_models.kernels.tracing.packets import ACCESS, drop_ray
from sensor_models.kernels.tracing.rays import claim_some
from sensor_models.kernels.tracing.scene_view import SceneView

#: Rays whose trees are walked together, so that branches fill whole packets.
MOST_WAITING = 8 * WIDTH


class Waiting(NamedTuple):
    """Rays whose trees are under way."""

    filled: NDArray[np.int64]  # (1,): how many there are
    ray: NDArray[np.int64]  # (MOST_WAITING,)
    pose: Floats  # (MOST_WAITING, 12), of the sensor
    draw: Floats  # (MOST_WAITING,), of the error of a ray's first return
    chunk: NDArray[np.int64]  # (MOST_WAITING,), that the ray was claimed with


@njit(cache=True)
def new_waiting() -> Waiting:
    """Room for rays whose trees are under way."""
    return Waiting(
        np.zeros(1, np.int64),
        np.zeros(MOST_WAITING, np.int64),
        np.zeros((MOST_WAITING, 12)),
        np.zeros(MOST_WAITING),
        np.zeros(MOST_WAITING, np.int64),
    )


@njit(**ACCESS)
def may_end_soon(view: SceneView, detector: Detector) -> bool:
    """Whether rays may have but the echo of the first surface: no volumes, and each is a beam."""
    alone: bool = detector.subrays == 1 and detector.detection >= 1.0
    return view.volumes == 0 and alone


@njit(**ACCESS)
def end_soon(
    view: SceneView,
    lane: int,
    path: Path,
    scan: Scan,
    detector: Detector,
    output: Output,
    tree: Tree,
    lanes: Lanes,
    first: Facing,
    chunk: int,
) -> bool:
    """Finish a ray at the first surface; False if it goes on from there, or air answers it."""
    ray = lanes.ray[lane]
    if answers(path, lanes.air[lane]):
        return False
    output.counts[ray] = 0
    if not first.hit[lane]:
        return True
    if number_of(first, SURFACE + KIND * WIDTH, lane) == DIELECTRIC:
        return False
    if number_of(first, MIRRORED, lane) > 0.0:
        if path.most_depth > 0:
            return False
        tree.lost[DEPTH_LIMIT] += 1
    if not counts(detector, number_of(first, DISTANCE, lane), number_of(first, ECHO, lane)):
        return True
    output.counts[ray] = 1
    distance, intensity = number_of(first, MEASURED, lane), number_of(first, REPORTED, lane)
    incidence = number_of(first, INCIDENCE, lane)
    pose, toward = lanes.pose[lane], toward_of(first, lane)
    write_place(scan, output, ray, 0, pose, distance, intensity, incidence, toward)
    entity, label = hit_entity(view, tree.packet, lane), hit_label(view, tree.packet, lane)
    write_source(scan, output, ray, 0, 1, entity, first.material[lane], label, 0, 0)
    note_nearest(output, chunk, distance, ray * output.returns)
    return True


@njit(**ACCESS)
def wait(lanes: Lanes, lane: int, waiting: Waiting, echoes: Echoes, chunk: int) -> None:
    """Put a ray among those whose trees are under way."""
    place = waiting.filled[0]
    waiting.filled[0] = place + 1
    lanes.place[lane], echoes.sizes[place] = place, 0
    waiting.ray[place], waiting.draw[place] = lanes.ray[lane], lanes.draw[lane]
    waiting.chunk[place] = chunk
    for k in range(12):
        waiting.pose[place, k] = lanes.pose[lane, k]


@njit(**ACCESS)
def end_packet(
    view: SceneView,
    path: Path,
    scan: Scan,
    detector: Detector,
    output: Output,
    tree: Tree,
    lanes: Lanes,
    first: Facing,
    chunk: int,
) -> None:
    """Finish the rays of a packet that end at the first surface; they leave the packet."""
    meet(view, path, tree.packet, first)
    answer(path, detector, first)
    report(path, detector, lanes.draw, first)
    mirror(path, first)
    for lane in range(WIDTH):
        if lanes.ray[lane] >= 0 and end_soon(
            view, lane, path, scan, detector, output, tree, lanes, first, chunk
        ):
            drop_ray(tree.packet, lane)
            lanes.ray[lane] = -1


@njit(**ACCESS)
def begin_trees(
    path: Path,
    scan: Scan,
    detector: Detector,
    tree: Tree,
    lanes: Lanes,
    waiting: Waiting,
    echoes: Echoes,
    beam_ray: int,
    chunk: int,
) -> bool:
    """Begin the trees of the rays that are left in a packet; whether there are any."""
    any_left = False
    for lane in range(WIDTH):
        if lanes.ray[lane] >= 0:
            any_left = True
            if beam_ray == 0:
                wait(lanes, lane, waiting, echoes, chunk)
            begin_tree(path, scan, detector, tree, lanes, lane, beam_ray)
    return any_left


@njit(**{**ACCESS, "forceinline": False})
def walk(
    view: SceneView, path: Path, detector: Detector, tree: Tree, echoes: Echoes, least: int
) -> None:
    """Follow branches until less than some are left."""
    while branches_left(tree) >= least:
        go_on(view, path, tree)
        take_in(detector, tree, echoes)


@njit(**ACCESS)
def end(
    scan: Scan,
    detector: Detector,
    output: Output,
    echoes: Echoes,
    lists: Lists,
    waiting: Waiting,
    place: int,
) -> None:
    """Choose and write the returns of a ray."""
    ray, pose = waiting.ray[place], waiting.pose[place]
    numbers, ids = echoes.numbers, echoes.ids
    count = select(detector, echoes, lists, place, ray)
    output.counts[ray] = count
    for number in range(count):
        echo = lists.order[lists.chosen[number]]
        draw = waiting.draw[place]
        if number > 0 and has_distance_noise(detector):
            draw = draw_of(scan, detector, ray, number)
        distance = numbers[echo, RANGE]
        distance = walked(detector, distance, numbers[echo, INTENSITY], numbers[echo, COSINE])
        distance = measured(detector, distance, draw)
        intensity = reported(detector, numbers[echo, INTENSITY], numbers[echo, PATH])
        toward = (numbers[echo, NORMAL_X], numbers[echo, NORMAL_Y], numbers[echo, NORMAL_Z])
        cosine = numbers[echo, COSINE]
        write_point(scan, output, ray, number, pose, distance, intensity, cosine, toward)
        write_source(
            scan,
            output,
            ray,
            number,
            count,
            ids[echo, ENTITY],
            ids[echo, MATERIAL],
            ids[echo, LABEL],
            ids[echo, NODE],
            ids[echo, ATMOSPHERIC],
        )
        note_nearest(output, waiting.chunk[place], distance, ray * output.returns + number)


@njit(**{**ACCESS, "forceinline": False})
def end_all(
    scan: Scan,
    detector: Detector,
    output: Output,
    echoes: Echoes,
    lists: Lists,
    waiting: Waiting,
) -> None:
    """Finish the rays that wait; nothing of them may be under way."""
    for place in range(waiting.filled[0]):
        end(scan, detector, output, echoes, lists, waiting, place)
    waiting.filled[0] = 0
    echoes.filled[0] = 0


@njit(nogil=True, cache=True, error_model="numpy")
def make_columns(
    view: SceneView,
    claims: NDArray[np.int64],
    path: Path,
    scan: Scan,
    detector: Detector,
    output: Output,
) -> None:
    """The columns ``first`` to ``last`` of a frame."""
    tree, lanes, hits, waiting = new_tree(), new_lanes(scan), new_first_hits(), new_waiting()
    echoes, lists = new_echoes(MOST_WAITING, detector.subrays), new_lists()
    packets, soon = packets_of(scan), may_end_soon(view, detector)
    chunk, first, after = claim_some(claims, packets, CHUNK)
    own, some = chunk, first < packets  # the first chunk is this thread's own place to count at
    while first < packets:
        for index in range(first, after):
            bring(scan, output, min(index + 1, after - 1))
            begin_packet(path, scan, detector, lanes, corner_of(scan, index))
            for beam_ray in range(detector.subrays):
                send_beams(view, path, scan, detector, tree.packet, lanes, beam_ray)
                trace(view, tree)
                if soon:
                    end_packet(view, path, scan, detector, output, tree, lanes, hits, chunk)
                if begin_trees(path, scan, detector, tree, lanes, waiting, echoes, beam_ray, chunk):
                    arrive(view, path, tree)
                    take_in(detector, tree, echoes)
                if branches_left(tree) >= WIDTH:
                    walk(view, path, detector, tree, echoes, WIDTH)
            if waiting.filled[0] > MOST_WAITING - WIDTH or echoes.filled[0] > MANY_ECHOES:
                walk(view, path, detector, tree, echoes, 1)
                end_all(scan, detector, output, echoes, lists, waiting)
        chunk, first, after = claim_some(claims, packets, CHUNK)
    walk(view, path, detector, tree, echoes, 1)
    end_all(scan, detector, output, echoes, lists, waiting)
    for limit in range(LIMITS):
        if some:
            output.lost[own, limit] = tree.lost[limit]
