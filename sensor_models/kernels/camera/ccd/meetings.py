"""Where rays of a camera meet surfaces that are seen: as a tree tells it, or without one.

Most rays meet a surface at once that neither mirrors nor is clear. For these no tree has to grow:
what they meet is read from the packet, by the same formulas.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.points import triple
from sensor_models.kernels.camera.ccd.shots import Picture
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.arrivals import (
    ALONG_X,
    ENTITY,
    LABEL,
    MATERIAL,
    NORMAL_X,
    OPTICAL,
    OWNER,
    PLACE_X,
    PRIMITIVE,
    TIME,
    WEIGHT,
)
from sensor_models.kernels.light.facing import (
    COSINE,
    LENGTH,
    SURFACE,
    TOWARD,
    face,
    look_up,
    surface_of,
)
from sensor_models.kernels.light.interfaces import mirrored_share
from sensor_models.kernels.light.media import ABSORPTION, MEDIUM_IOR, transmission
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import DIELECTRIC, KIND, LAMBERT, TWO_WAY
from sensor_models.kernels.light.tree import Tree
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_entity, hit_label, hit_owner, hit_primitive
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, PLACE, SENT, VALID, Triple
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

#: What becomes of a ray of a packet: a tree follows it, it meets nothing, or a surface at once.
NO_RAY, FOLLOWED, MISSES, MEETS = range(4)


class Meeting(NamedTuple):
    """A ray that has met a surface."""

    place: Triple
    normal: Triple  # on its side
    along: Triple  # its direction
    time: float  # when it was sent
    length: float  # of its way in a straight line, m
    optical: float  # its optical path
    weight: float  # what is left of its light
    material: int
    owner: int
    primitive: int
    entity: int
    label: int


@njit(**ACCESS)
def arrived(tree: Tree, starts: Floats, row: int, lane: int) -> Meeting:
    """An arrival of a tree from a surface."""
    numbers, ids = tree.arrivals.numbers, tree.arrivals.ids
    place, square = triple(numbers, row, PLACE_X), 0.0
    for k in range(3):
        square += (numbers[row, PLACE_X + k] - starts[lane, k]) ** 2
    return Meeting(
        place,
        triple(numbers, row, NORMAL_X),
        triple(numbers, row, ALONG_X),
        numbers[row, TIME],
        math.sqrt(square),
        numbers[row, OPTICAL],
        numbers[row, WEIGHT],
        ids[row, MATERIAL],
        ids[row, OWNER],
        ids[row, PRIMITIVE],
        ids[row, ENTITY],
        ids[row, LABEL],
    )


@njit(**ACCESS)
def sort_out(view: SceneView, path: Path, tree: Tree, ends: NDArray[np.int64], left: Floats) -> int:
    """Write what becomes of the rays of a packet, and what is left of their light where they end.

    Returns how many a tree has to follow; the others are taken out of the packet. There are no
    volumes in the scene.
    """
    packet, seen, many = tree.packet, tree.seen, 0
    look_up(view, path.surfaces, packet, seen)
    face(packet, seen)
    absorption, index = path.media[0, ABSORPTION], path.media[0, MEDIUM_IOR]
    for lane in range(WIDTH):
        ends[lane] = NO_RAY
        if packet.words[VALID + lane] == 0:
            continue
        end = MISSES
        if seen.hit[lane]:
            left[lane] = transmission(absorption, seen.numbers[LENGTH + lane])
            kind, end = seen.numbers[SURFACE + KIND * WIDTH + lane], MEETS
            if kind == DIELECTRIC:
                end = FOLLOWED
            elif kind != LAMBERT:
                surface = surface_of(seen, lane, seen.numbers[SURFACE + TWO_WAY * WIDTH + lane])
                cosine = seen.numbers[COSINE + lane]
                least = path.least_weight
                share = mirrored_share(
                    path, surface, 0, left[lane], least, cosine, index, tree.lost
                )
                end = FOLLOWED if share > 0.0 else MEETS
        ends[lane] = end
        if end == FOLLOWED:
            many += 1
        else:
            packet.words[VALID + lane] = 0
    return many


@njit(**ACCESS)
def met_at_once(view: SceneView, path: Path, tree: Tree, left: Floats, lane: int) -> Meeting:
    """What a ray meets that no tree follows."""
    rays, seen, packet = tree.packet.doubles, tree.seen.numbers, tree.packet
    length = seen[LENGTH + lane]
    along = (rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane])
    start = (rays[PLACE + lane], rays[PLACE + WIDTH + lane], rays[PLACE + 2 * WIDTH + lane])
    place = (
        start[0] + length * along[0],
        start[1] + length * along[1],
        start[2] + length * along[2],
    )
    off = (place[0] - start[0], place[1] - start[1], place[2] - start[2])
    return Meeting(
        place,
        (seen[TOWARD + lane], seen[TOWARD + WIDTH + lane], seen[TOWARD + 2 * WIDTH + lane]),
        along,
        rays[SENT + lane],
        math.sqrt(off[0] * off[0] + off[1] * off[1] + off[2] * off[2]),
        path.media[0, MEDIUM_IOR] * length,
        left[lane],
        tree.seen.material[lane],
        # As wide as those of arrivals: what is compiled has one type of meeting.
        hit_owner(packet, lane) | 0,
        hit_primitive(packet, lane) | 0,
        hit_entity(view, packet, lane) | 0,
        hit_label(view, packet, lane) | 0,
    )


@njit(**ACCESS)
def describe(picture: Picture, meeting: Meeting, pixel: int) -> None:
    """Write which surface a pixel sees first."""
    picture.distance[pixel] = meeting.length
    picture.entity[pixel], picture.label[pixel] = meeting.entity, meeting.label
    picture.owner[pixel], picture.material[pixel] = meeting.owner, meeting.material


@njit(**ACCESS)
def describe_none(picture: Picture, pixel: int) -> None:
    """Write that a pixel sees no surface."""
    picture.distance[pixel] = math.inf
    picture.entity[pixel] = picture.label[pixel] = -1
    picture.owner[pixel] = picture.material[pixel] = -1
