"""Echoes of surfaces and media, and the way between them.

    I = W^2 rho A(2Q) / N    round trip;  W rho A(Q) / N  one way, for N sub-rays of a beam

with the weight W and the reduced path Q of the branch, the beam factor A, and rho = f(l, l) (n.l)
in 1/sr at a surface, the back-scatter strength b in a medium. ``ray_tree`` has the source.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sensor_models.kernels.lidar.branches import (
    AHEAD,
    ALONG_X,
    BEAM_RAY,
    EVENTS,
    LANE,
    OPTICAL,
    PLACE,
    REDUCED,
    START_X,
    WEIGHT,
    Branches,
    medium_of,
)
from sensor_models.kernels.lidar.layout import ECHO, Task, World
from sensor_models.kernels.lidar.returns import (
    ATMOSPHERIC,
    COSINE,
    ENTITY,
    INTENSITY,
    LABEL,
    MATERIAL,
    NODE,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z,
    PATH,
    RANGE,
    Echoes,
    place_for,
)
from sensor_models.kernels.light.beam import beam_factor, beam_of
from sensor_models.kernels.light.media import (
    ABSORPTION,
    BACKSCATTER,
    MEDIUM_IOR,
    RETURN_PROBABILITY,
    echo_distance,
    medium_at,
    transmission,
)
from sensor_models.kernels.light.surfaces import (
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
    Surface,
    retro,
    specular_share,
)
from sensor_models.kernels.math.philox import uniform
from sensor_models.kernels.math.rotations import cross, dot
from sensor_models.kernels.tracing.hits import (
    hit_entity,
    hit_label,
    hit_material,
)
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    Packet,
    Triple,
)
from sensor_models.kernels.tracing.scene_view import SceneView

#: Bits of the counter of a random draw that nodes and events take.
NODE_SHIFT, EVENT_SHIFT = 25, 7
#: Grazing: below this cosine nothing comes back.
GRAZING = 1e-6


@njit(**ACCESS)
def draw_ahead(
    task: Task, world: World, keys: NDArray[np.uint64], flight: Branches, lane: int, ray: int
) -> None:
    """Draw how far ahead the medium that was just entered answers."""
    medium = medium_at(world.media, medium_of(flight, lane))
    flight.numbers[lane, AHEAD] = math.inf
    if medium[RETURN_PROBABILITY] > 0.0:
        beam_ray = ray * task.subrays + flight.ids[lane, BEAM_RAY]
        step = (flight.ids[lane, PLACE] << EVENT_SHIFT) + flight.ids[lane, EVENTS]
        draw = draw_of_entry(task, keys, beam_ray, step)
        flight.numbers[lane, AHEAD] = echo_distance(medium, draw)


@njit(**ACCESS)
def draw_of_entry(task: Task, keys: NDArray[np.uint64], beam_ray: int, step: int) -> float:
    """The draw that says whether a medium answers a ray that enters it, and from where.

    ``step`` counts the places of the tree and the events on the way to them, 0 at the sensor.
    """
    draw: float = uniform(keys[ECHO], task.frame, (beam_ray << NODE_SHIFT) + step)
    return draw


@njit(**ACCESS)
def answers(task: Task, world: World, keys: NDArray[np.uint64], ray: int) -> bool:
    """Whether the medium that fills the world answers a ray as it leaves the sensor."""
    probability = world.media[0, RETURN_PROBABILITY]
    if probability == 0.0:
        return False
    answered: bool = draw_of_entry(task, keys, ray * task.subrays, 0) < probability
    return answered


@njit(**ACCESS)
def intensity_of_echo(
    task: Task, world: World, weight: float, path: float, strength: float
) -> float:
    """The raw intensity of an echo in 1/sr."""
    back = weight if task.round_trip else 1.0
    return float(weight * back * strength * beam_factor(beam_of(world.beam), path))


@njit(**ACCESS)
def counts(task: Task, distance: float, intensity: float) -> bool:
    """Whether an echo is in range and, if it is not one of several of a beam, strong enough."""
    if not (task.least_range <= distance <= task.most_range and intensity > 0.0):
        return False
    return task.subrays > 1 or intensity >= task.least_intensity


@njit(**ACCESS)
def strength_of(
    surface: Surface, along: Triple, normal: Triple, cosine: float, index: float, cone: float
) -> float:
    """What a surface sends back, f(l, l) (n.l), in 1/sr."""
    tilt = cross(along, normal)
    f = retro(surface, cosine, min(dot(tilt, tilt), 1.0), index, cone)
    return f * cosine if cosine > GRAZING else 0.0


@njit(**ACCESS)
def mirrored_share(
    task: Task, surface: Surface, depth: int, weight: float, cosine: float, index: float
) -> float:
    """The share of light that goes on from an opaque surface, 0 if that is not worth following."""
    if depth >= task.most_depth or surface[KIND] == LAMBERT:
        return 0.0
    # The share of a perfect mirror of this roughness: cheap, and often too little.
    if weight * task.cone < task.least_weight * (surface[SLOPE_SQUARED] * cosine + task.cone):
        return 0.0
    share: float = specular_share(surface, cosine, index, task.cone)
    return share if weight * share >= task.least_weight else 0.0


@njit(**ACCESS)
def add_echo(
    task: Task,
    world: World,
    echoes: Echoes,
    ray_lane: int,
    distance: float,
    weight: float,
    reduced: float,
    strength: float,
    node: int,
) -> int:
    """Note an echo of a ray; returns its place, -1 if it does not count."""
    path = 2.0 * reduced if task.round_trip else reduced
    intensity = intensity_of_echo(task, world, weight, path, strength) / task.subrays
    if not counts(task, distance, intensity):
        return -1
    place: int = place_for(echoes, ray_lane, distance, intensity)
    if place >= 0:
        numbers, ids = echoes.numbers, echoes.ids
        numbers[ray_lane, place, RANGE] = distance
        numbers[ray_lane, place, INTENSITY] = intensity
        numbers[ray_lane, place, PATH] = path
        ids[ray_lane, place, NODE] = node
    return place


@njit(**ACCESS)
def describe_surface(
    view: SceneView,
    packet: Packet,
    lane: int,
    echoes: Echoes,
    ray_lane: int,
    place: int,
    toward: Triple,
    cosine: float,
) -> None:
    """Write what an echo comes from."""
    numbers, ids = echoes.numbers, echoes.ids
    numbers[ray_lane, place, COSINE] = cosine
    numbers[ray_lane, place, NORMAL_X] = toward[0]
    numbers[ray_lane, place, NORMAL_Y] = toward[1]
    numbers[ray_lane, place, NORMAL_Z] = toward[2]
    ids[ray_lane, place, ENTITY] = hit_entity(view, packet, lane)
    ids[ray_lane, place, MATERIAL] = hit_material(view, packet, lane)
    ids[ray_lane, place, LABEL] = hit_label(view, packet, lane)
    ids[ray_lane, place, ATMOSPHERIC] = 0


@njit(**ACCESS)
def describe_medium(echoes: Echoes, ray_lane: int, place: int) -> None:
    """Write that an echo comes from no surface."""
    numbers, ids = echoes.numbers, echoes.ids
    numbers[ray_lane, place, COSINE] = 1.0
    numbers[ray_lane, place, NORMAL_X] = 0.0
    numbers[ray_lane, place, NORMAL_Y] = 0.0
    numbers[ray_lane, place, NORMAL_Z] = 0.0
    ids[ray_lane, place, ENTITY] = -1
    ids[ray_lane, place, MATERIAL] = -1
    ids[ray_lane, place, LABEL] = -1
    ids[ray_lane, place, ATMOSPHERIC] = 1


@njit(**ACCESS)
def answer_on_the_way(
    task: Task, world: World, echoes: Echoes, flight: Branches, lane: int, length: float
) -> None:
    """Note the echo of the medium if it comes from a stretch of some length."""
    numbers, ids = flight.numbers, flight.ids
    ahead = numbers[lane, AHEAD]
    if not ahead <= length:
        numbers[lane, AHEAD] = ahead - length
        return
    numbers[lane, AHEAD] = math.inf
    row = medium_of(flight, lane)
    index = world.media[row, MEDIUM_IOR]
    left = numbers[lane, WEIGHT] * transmission(world.media[row, ABSORPTION], ahead)
    distance, reduced = numbers[lane, OPTICAL] + index * ahead, numbers[lane, REDUCED]
    place = add_echo(
        task,
        world,
        echoes,
        ids[lane, LANE],
        distance,
        left,
        reduced + ahead / index,
        world.media[row, BACKSCATTER],
        ids[lane, PLACE],
    )
    if place >= 0:
        describe_medium(echoes, ids[lane, LANE], place)


@njit(**ACCESS)
def advance(
    task: Task, world: World, echoes: Echoes, flight: Branches, lane: int, length: float
) -> bool:
    """Bring a ray some way on in its medium; False if that is out of reach."""
    numbers, row = flight.numbers, medium_of(flight, lane)
    index = world.media[row, MEDIUM_IOR]
    reach = (task.most_range - numbers[lane, OPTICAL]) / index
    if numbers[lane, AHEAD] < math.inf:
        answer_on_the_way(task, world, echoes, flight, lane, min(length, reach))
    if not (length <= reach and length < math.inf):
        return False
    numbers[lane, WEIGHT] *= transmission(world.media[row, ABSORPTION], length)
    numbers[lane, OPTICAL] += index * length
    numbers[lane, REDUCED] += length / index
    for k in range(3):
        numbers[lane, START_X + k] += length * numbers[lane, ALONG_X + k]
    return True
