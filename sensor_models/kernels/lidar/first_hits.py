"""The echoes of what the rays of a packet hit first, step by step for the whole packet.

``light.facing`` says what is hit and how these loops become vectors; the rows of a lidar's own
are added to those. Exponentials are those of ``math.decay``, as the standard library's are calls.
"""

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.layout import Detector, Floats
from sensor_models.kernels.lidar.points import angle_of, measured, reported_by
from sensor_models.kernels.lidar.walk import walked
from sensor_models.kernels.light.beam import (
    DETECTOR,
    EMITTER,
    SCALE,
    SPREAD,
    beam_factor,
    beam_of,
    is_on_axis,
    most_of,
)
from sensor_models.kernels.light.branches import least_followed
from sensor_models.kernels.light.facing import (
    COSINE,
    FREE,
    INDEX,
    LENGTH,
    OUTWARD,
    STRENGTH,
    SURFACE,
    Facing,
    face,
    new_facing,
    send_back,
    surface_of,
)
from sensor_models.kernels.light.media import ABSORPTION, MEDIUM_IOR, OPAQUE
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import (
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
    SURFACE_SIZE,
    TABULATED,
    specular_share,
)
from sensor_models.kernels.light.tabulated import mirrored_of_table, send_back_tables
from sensor_models.kernels.math.decay import LOWEST, decayed, decayed_less_one
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_across, hit_distance, hit_material, is_hit
from sensor_models.kernels.tracing.packets import ACCESS, Packet, is_valid
from sensor_models.kernels.tracing.scene_view import SceneView

# Further rows of the numbers: what is left of the light that arrives, the factor of the widening
# beam, the strength of the echo, the share that goes on in the mirror direction, the angle of
# incidence, the least weight with which light goes on.
WEIGHT, FACTOR, INTENSITY = FREE, FREE + WIDTH, FREE + 2 * WIDTH
MIRRORED, INCIDENCE = FREE + 3 * WIDTH, FREE + 4 * WIDTH
LEAST = FREE + 5 * WIDTH
# What the sensor says of a return: how far away, without errors and with them, and how strong.
DISTANCE, MEASURED, REPORTED = FREE + 6 * WIDTH, FREE + 7 * WIDTH, FREE + 8 * WIDTH
NUMBERS = FREE + 9 * WIDTH


@njit(cache=True)
def new_first_hits() -> Facing:
    """Room for the hits of a packet."""
    first: Facing = new_facing(NUMBERS)
    return first


@njit(**ACCESS)
def meet(view: SceneView, path: Path, packet: Packet, first: Facing) -> None:
    """What the rays of a packet hit first, how it lies, and what comes back from there."""
    gather(view, path.surfaces, packet, first)
    face(packet, first)
    shine(path, packet, first)


@njit(**ACCESS)
def gather(view: SceneView, surfaces: Floats, packet: Packet, first: Facing) -> None:
    """As ``look_up``, but nobody asks which side of a surface is its outside.

    What ends at the first surface is the same on both sides, and all that may lead inside a body
    is looked up again. So a table of all faces stays out of the caches. The numbers of a surface
    are those of the lane's last hit, if that was of the same material.
    """
    own = first.numbers
    for lane in range(WIDTH):
        first.hit[lane] = is_valid(packet, lane) & is_hit(packet, lane)
        own[LENGTH + lane] = hit_distance(packet, lane)
    for lane in range(WIDTH):
        if first.hit[lane]:
            material = hit_material(view, packet, lane)
            across = hit_across(view, packet, lane)
            for k in range(3):
                own[OUTWARD + k * WIDTH + lane] = across[k]
            if material != first.material[lane]:
                first.material[lane] = material
                for k in range(SURFACE_SIZE):
                    own[SURFACE + k * WIDTH + lane] = surfaces[material, k]


@njit(**ACCESS)
def weaken(first: Facing, absorption: float) -> None:
    """Set the share of the light that reaches the surfaces."""
    own = first.numbers
    for lane in range(WIDTH):
        own[WEIGHT + lane] = decayed(-min(absorption * own[LENGTH + lane], OPAQUE))


@njit(**ACCESS)
def shine(path: Path, packet: Packet, first: Facing) -> None:
    """Set the share of the light that reaches the surfaces, and what these send back of it."""
    own, absorption, index = first.numbers, path.media[0, ABSORPTION], path.media[0, MEDIUM_IOR]
    for lane in range(WIDTH):
        own[WEIGHT + lane], own[INDEX + lane] = 1.0, index
    if absorption > 0.0:
        weaken(first, absorption)
    send_back(packet, first, path.cone)
    if len(path.tables) > 0:
        send_back_tables(path.tables, first)


@njit(**ACCESS)
def answer(path: Path, detector: Detector, first: Facing) -> None:
    """How strong the echoes of opaque surfaces are, and how these are inclined."""
    own = first.numbers
    widen(path, detector, first)
    # As ``intensity_of_echo``, but the factor is kept for what is reported. One way has a share of
    # 1: a choice in the loop would keep it from becoming vectors.
    both, one = (1.0, 0.0) if detector.round_trip else (0.0, 1.0)
    for lane in range(WIDTH):
        back = both * own[WEIGHT + lane] + one
        strength = own[WEIGHT + lane] * back * own[STRENGTH + lane]
        own[INTENSITY + lane] = strength * own[FACTOR + lane]
        own[INCIDENCE + lane] = angle_of(own[COSINE + lane])


@njit(**ACCESS)
def report(path: Path, detector: Detector, draws: Floats, first: Facing) -> None:
    """What the sensor says of the echoes: ``measured`` and ``reported_by``, in vectors."""
    own, index = first.numbers, path.media[0, MEDIUM_IOR]
    for lane in range(WIDTH):
        own[DISTANCE + lane] = index * own[LENGTH + lane]
        own[MEASURED + lane] = own[DISTANCE + lane]
    if len(detector.walk) > 0:
        for lane in range(WIDTH):
            if first.hit[lane]:
                own[MEASURED + lane] = walked(
                    detector, own[DISTANCE + lane], own[INTENSITY + lane], own[COSINE + lane]
                )
    for lane in range(WIDTH):
        own[MEASURED + lane] = measured(detector, own[MEASURED + lane], draws[lane])
    for lane in range(WIDTH):
        own[REPORTED + lane] = reported_by(detector, own[INTENSITY + lane], own[FACTOR + lane])


@njit(**ACCESS)
def widen(path: Path, detector: Detector, first: Facing) -> None:
    """Set the power that the detector gets of the widened beams."""
    own, beam = first.numbers, beam_of(detector.beam)
    ways = (2.0 if detector.round_trip else 1.0) / path.media[0, MEDIUM_IOR]
    if is_on_axis(beam):
        widen_on_axis(first, ways * beam[SPREAD], beam[EMITTER], beam[DETECTOR], most_of(beam))
        return
    for lane in range(WIDTH):
        if first.hit[lane]:
            own[FACTOR + lane] = beam_factor(beam, ways * own[LENGTH + lane])


@njit(**ACCESS)
def widen_on_axis(
    first: Facing, spread: float, emitter: float, detector: float, most: float
) -> None:
    """As ``widen`` where the detector sits on the axis of the beams.

    It is written out here, as LLVM makes no vectors of a loop that calls it.
    """
    own = first.numbers
    for lane in range(WIDTH):
        ratio = detector / (own[LENGTH + lane] * spread + emitter)
        share = -decayed_less_one(max(-2.0 * ratio * ratio, LOWEST))
        own[FACTOR + lane] = min(SCALE * share, most)


@njit(**ACCESS)
def mirror(path: Path, first: Facing) -> None:
    """The shares of light that go on, as ``mirrored_share`` has them but for the limit of depth."""
    own, cone = first.numbers, path.cone
    index, some = path.media[0, MEDIUM_IOR], 0
    for lane in range(WIDTH):
        own[MIRRORED + lane] = 0.0
        least = least_followed(path, own[LENGTH + lane] / index)
        own[LEAST + lane] = least
        weight, cosine = own[WEIGHT + lane], own[COSINE + lane]
        slope_squared = own[SURFACE + SLOPE_SQUARED * WIDTH + lane]
        enough = ~(weight * cone < least * (slope_squared * cosine + cone))
        some += 1 if enough & (own[SURFACE + KIND * WIDTH + lane] != LAMBERT) else 0
    if some == 0:  # as a rule: then no reflectance has to be worked out
        return
    for lane in range(WIDTH):
        weight, cosine, least = own[WEIGHT + lane], own[COSINE + lane], own[LEAST + lane]
        slope_squared = own[SURFACE + SLOPE_SQUARED * WIDTH + lane]
        share = specular_share(surface_of(first, lane, 0.0), cosine, index, cone)
        enough = ~(weight * cone < least * (slope_squared * cosine + cone))
        own[MIRRORED + lane] = share if enough & (weight * share >= least) else 0.0
    if len(path.tables) > 0:
        mirror_tables(path, first)


@njit(**ACCESS)
def mirror_tables(path: Path, first: Facing) -> None:
    """``mirror`` for those surfaces that are tables."""
    own = first.numbers
    for lane in range(WIDTH):
        if first.hit[lane] and own[SURFACE + KIND * WIDTH + lane] == TABULATED:
            surface, cosine = surface_of(first, lane, 0.0), own[COSINE + lane]
            share = mirrored_of_table(path.tables, surface, cosine, path.cone)
            enough = own[WEIGHT + lane] * share >= own[LEAST + lane]
            own[MIRRORED + lane] = share if enough else 0.0
