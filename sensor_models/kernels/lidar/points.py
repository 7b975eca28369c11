"""Returns as points of a cloud: ranges with their errors, places, intensities as reported.

    distance   d' = max(0, d + (base + slope d) n),  then  d' <- step round(d' / step)
    point      d' times the nominal unit ray, in the frame asked for, less the output's shift where
               that is the world
    intensity  I, or the reflectance pi I / A that a white plate face to face would have at that
               range through clear air; as it is, or min(round(N I / full scale), N) with
               N = 2^bits - 1

The normal draw n is a function of (frame, ray, return). The rays of two rows and two columns
share a block of random words, one each, as a block takes longer than all else of a draw. The draws
of media go by ``number_of_draws``, which counts the rays of such a block one after the other.

Points are written as the records that files have (``output.clouds``), word by word: a file takes
them as they are, whatever fields it has room for.

    words 0-2        x, y, z as float32, or 0-5 as float64
    then, from w     w intensity, w+1 range, w+2 azimuth, w+3 elevation, w+4 incidence,
                     w+5 and w+6 time (float64), w+7 entity, w+8 material, w+9 label,
                     w+10 ring | return number << 16 | return count << 24,
                     w+11 node | atmospheric << 16, w+12 to w+14 the normal, if there is room

Source: AGX (lidar: distance noise, point placement). Range steps and calibrated intensities are
extensions, after what makers state.
"""

import math

import numpy as np

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.layout import (
    DISTANCE,
    START,
    WORLD,
    Detector,
    Floats,
    Output,
    Scan,
)
from sensor_models.kernels.light.beam import beam_factor, beam_of
from sensor_models.kernels.light.segments import WORD_SHIFT
from sensor_models.kernels.math.philox import normals
from sensor_models.kernels.tracing.packets import ACCESS, Triple
from sensor_models.kernels.tracing.sensor_poses import position_of, rotate, rotate_back

#: Binary logarithm of the returns that a ray may have, as draws are counted.
RETURN_SHIFT = 4
#: The arcsine is x + x p(x^2) / q(x^2) up to 1/2.
P_0, P_1 = 1.66666666666666657415e-01, -3.25565818622400915405e-01
P_2, P_3 = 2.01212532134862925881e-01, -4.00555345006794114027e-02
P_4, P_5 = 7.91534994289814532176e-04, 3.47933107596021167570e-05
Q_1, Q_2 = -2.40339491173441421878e00, 2.02094576023350569471e00
Q_3, Q_4 = -6.88283971605453293030e-01, 7.70381505559019352791e-02
QUARTER_TURN = 0.5 * math.pi
LOW_WORD, WORD_BITS = np.uint64(0xFFFFFFFF), np.uint64(32)


@njit(**ACCESS)
def has_distance_noise(detector: Detector) -> bool:
    """Whether ranges have errors."""
    noisy: bool = detector.sigma_base > 0.0 or detector.sigma_slope > 0.0
    return noisy


@njit(**ACCESS)
def block_of(scan: Scan, column: int, row: int) -> int:
    """The block of random words of a ray."""
    if scan.rows == 1:
        return column >> 2
    return (column >> 1) * ((scan.rows + 1) >> 1) + (row >> 1)


@njit(**ACCESS)
def word_of(scan: Scan, column: int, row: int) -> int:
    """Which word of its block is a ray's."""
    return column & 3 if scan.rows == 1 else ((column & 1) << 1) | (row & 1)


@njit(**ACCESS)
def number_of_draws(scan: Scan, detector: Detector, ray: int, beam_ray: int) -> int:
    """The number that the draws of media go by, for a ray of the beam of a ray of the pattern."""
    column = ray // scan.rows
    row = ray - column * scan.rows
    block = block_of(scan, column, row) * detector.subrays + beam_ray
    number: int = (block << WORD_SHIFT) | word_of(scan, column, row)
    return number


@njit(**ACCESS)
def draws_of_block(
    detector: Detector, block: int, number: int
) -> tuple[float, float, float, float]:
    """The normal draws of a block of rays for one of their returns."""
    draws: tuple[float, float, float, float] = normals(
        detector.keys[DISTANCE], detector.frame, (block << RETURN_SHIFT) | number
    )
    return draws


@njit(**ACCESS)
def draw_of(scan: Scan, detector: Detector, ray: int, number: int) -> float:
    """The normal draw of one return of a ray."""
    column = ray // scan.rows
    row = ray - column * scan.rows
    draws = draws_of_block(detector, block_of(scan, column, row), number)
    return float(draws[word_of(scan, column, row)])


@njit(**ACCESS)
def measured(detector: Detector, distance: float, draw: float) -> float:
    """A range with its errors."""
    if has_distance_noise(detector):
        sigma = detector.sigma_base + detector.sigma_slope * distance
        distance = max(0.0, distance + sigma * draw)
    if detector.range_step > 0.0:
        distance = detector.range_step * np.round(distance / detector.range_step)
    return distance


@njit(**ACCESS)
def reported(detector: Detector, intensity: float, path: float) -> float:
    """An intensity as the sensor reports it."""
    factor = beam_factor(beam_of(detector.beam), path) if detector.calibrated else 1.0
    number: float = reported_by(detector, intensity, factor)
    return number


@njit(**ACCESS)
def reported_by(detector: Detector, intensity: float, factor: float) -> float:
    """As ``reported``, of the beam factor: who knows it saves an exponential."""
    if detector.calibrated:
        intensity = math.pi * intensity / factor if factor > 0.0 else 0.0
    if detector.counts > 0.0:
        count = np.round(detector.counts * intensity / detector.full_scale)
        return float(min(count, detector.counts))
    return intensity


@njit(**ACCESS)
def place_point(scan: Scan, output: Output, pose: Floats, along: Triple, distance: float) -> Triple:
    """A point in the frame asked for."""
    point = (distance * along[0], distance * along[1], distance * along[2])
    if output.frame_of == WORLD or output.frame_of == START:
        x, y, z = rotate(pose, point)
        point = (x + pose[9], y + pose[10], z + pose[11])
    if output.frame_of == WORLD:
        shift = output.shift
        point = (point[0] - shift[0], point[1] - shift[1], point[2] - shift[2])
    elif output.frame_of == START:
        start = position_of(scan.poses[0])
        point = (point[0] - start[0], point[1] - start[1], point[2] - start[2])
        point = rotate_back(scan.poses[0], point)
    return point


@njit(**ACCESS)
def turn_normal(scan: Scan, output: Output, pose: Floats, normal_of: Triple) -> Triple:
    """A normal of the world in the frame of the points."""
    if output.frame_of == WORLD:
        return normal_of
    if output.frame_of == START:
        pose = scan.poses[0]
    turned: Triple = rotate_back(pose, normal_of)
    return turned


@njit(**ACCESS)
def angle_of(cosine: float) -> float:
    """The angle whose cosine, of [0, 1], is given.

    As fdlibm has it (Sun Microsystems 1993), to 4e-16: the standard library's takes twice as long,
    as it makes sure of the last bit, which float32 does not have.
    """
    below = cosine < 0.5
    z = cosine * cosine if below else 0.5 * (1.0 - cosine)
    x = cosine if below else math.sqrt(z)
    p = z * (P_0 + z * (P_1 + z * (P_2 + z * (P_3 + z * (P_4 + z * P_5)))))
    q = 1.0 + z * (Q_1 + z * (Q_2 + z * (Q_3 + z * Q_4)))
    arcsine = x + x * (p / q)
    return QUARTER_TURN - arcsine if below else 2.0 * arcsine


@njit(**ACCESS)
def put_double(output: Output, place: int, word: int, value: float) -> None:
    """Write a float64 to two words of a record, which need not lie where a float64 may."""
    bits = np.float64(value).view(np.uint64)
    output.words[place, word] = np.uint32(bits & LOW_WORD)
    output.words[place, word + 1] = np.uint32(bits >> WORD_BITS)


@njit(**ACCESS)
def write_point(
    scan: Scan,
    output: Output,
    ray: int,
    number: int,
    pose: Floats,
    distance: float,
    intensity: float,
    cosine: float,
    toward: Triple,
) -> None:
    """Write where a return is; what was hit, and how many returns there are, come apart."""
    incidence = angle_of(min(cosine, 1.0))
    write_place(scan, output, ray, number, pose, distance, intensity, incidence, toward)


@njit(**ACCESS)
def write_place(
    scan: Scan,
    output: Output,
    ray: int,
    number: int,
    pose: Floats,
    distance: float,
    intensity: float,
    incidence: float,
    toward: Triple,
) -> None:
    """As ``write_point``, of the angle of incidence."""
    along = (scan.directions[ray, 0], scan.directions[ray, 1], scan.directions[ray, 2])
    at = place_point(scan, output, pose, along, distance)
    place, floats, word = ray * output.returns + number, output.floats, 3
    if output.wide:
        word = 6
        for k in range(3):
            put_double(output, place, 2 * k, at[k])
    else:
        for k in range(3):
            floats[place, k] = np.float32(at[k])
    floats[place, word] = np.float32(intensity)
    floats[place, word + 1] = np.float32(distance)
    floats[place, word + 2] = scan.azimuth[ray]
    floats[place, word + 3] = scan.elevation[ray]
    floats[place, word + 4] = np.float32(incidence)
    put_double(output, place, word + 5, output.start + scan.offset[ray] * output.duration)
    if output.normals:
        turned = turn_normal(scan, output, pose, toward)
        for k in range(3):
            floats[place, word + 12 + k] = np.float32(turned[k])


@njit(**ACCESS)
def write_source(
    scan: Scan,
    output: Output,
    ray: int,
    number: int,
    count: int,
    entity: int,
    material: int,
    label: int,
    node: int,
    atmospheric: int,
) -> None:
    """Write which of how many returns one is, and what it comes from."""
    place, words = ray * output.returns + number, output.words
    word = 13 if output.wide else 10
    words[place, word] = np.uint32(entity)
    words[place, word + 1] = np.uint32(material)
    words[place, word + 2] = np.uint32(label)
    ring = int(scan.ring[ray])
    words[place, word + 3] = np.uint32(ring | ((number + 1) << 16) | (count << 24))
    words[place, word + 4] = np.uint32(min(node, 65535) | (atmospheric << 16))


@njit(**ACCESS)
def note_nearest(output: Output, chunk: int, distance: float, place: int) -> None:
    """Take note of a return if it is the nearest of its chunk, the first of several."""
    least, first = output.nearest[chunk, 0], output.nearest[chunk, 1]
    if distance < least or (distance == least and place < first):
        output.nearest[chunk, 0] = distance
        output.nearest[chunk, 1] = place
