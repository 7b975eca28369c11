"""What a lidar is asked for, as its kernels see it: its scan, its detector, its output.

What light meets between scan and detector is a ``Path`` of ``kernels.light``.

Rays are numbered column by column: ray = column * rows + row. A column is a group of rays that
are fired one after the other; time runs with the columns. A tile is a block of neighbours that
fills a packet of scan.

Poses are given at knots, evenly over the frame. Between two knots, the rotation matrix and the
position of the sensor are blended linearly: at an angular velocity w and knots h apart the error
is at most (w h)^2 / 8 rad, 1e-7 rad for 10 rad/s and 0.1 ms.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.caches import prefetch, prefetch_to_write
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS

Floats = NDArray[np.float64]

#: Rows of a tile, and the binary logarithms of its columns and of the width of a packet.
TILE_ROWS = 2
TILE_SHIFT = {16: 3, 8: 2, 4: 1}[WIDTH]
LIST_SHIFT = {16: 4, 8: 3, 4: 2}[WIDTH]
#: Tiles that lie side by side before the next rows follow: with one, packets that follow one
#: another have the same columns, and with them the poses of the sensor.
TILES_ACROSS = 1
#: Packets that a thread claims at least: few, as parts of a frame are to be shared evenly, but with
#: rows enough that threads do not write to the same lines of memory.
CHUNK = 32

#: Which returns of a ray are kept.
STRONGEST, FIRST, LAST, DUAL, ALL = range(5)
#: Frames that points are given in: the sensor's at their own time, the world's, the sensor's at
#: the start of the frame.
SENSOR, WORLD, START = range(3)
#: Streams of random numbers, rows of the table of keys.
DISTANCE, AZIMUTH, ELEVATION, ECHO, DETECTION = range(5)


class Scan(NamedTuple):
    """When and where rays go."""

    rows: int  # of the pattern
    first: int  # column
    last: int  # the column after the last one
    directions: Floats  # (rays, 3), unit vectors in the sensor frame
    azimuth: NDArray[np.float32]  # (rays,)
    elevation: NDArray[np.float32]  # (rays,)
    offset: Floats  # (rays,): time as a share of the frame
    ring: NDArray[np.uint16]  # (rays,)
    spread: Floats  # (subrays, 2), rad: offsets to the left and up from the middle of the beam
    poses: Floats  # (knots, 12): rotation to the world, then position; one for a sensor at rest
    inside: NDArray[np.int32]  # (knots, volumes): volumes around the sensor, outermost first
    sigma_azimuth: float  # rad
    sigma_elevation: float  # rad


class Detector(NamedTuple):
    """A detector: which light that comes back becomes a return, with which noise."""

    frame: int  # counts the draws of noise
    keys: NDArray[np.uint64]  # of the streams of random numbers
    beam: Floats  # packed
    subrays: int  # of each beam
    round_trip: bool  # losses count on the way there and back
    least_range: float  # m
    most_range: float  # m
    least_intensity: float  # below it there is no return
    merge: float  # echoes within this distance are one, m
    mode: int  # ``ALL``, ``STRONGEST`` and so on
    returns: int  # of a ray
    detection: float  # probability
    sigma_base: float  # m
    sigma_slope: float  # m of noise per m of range
    range_step: float  # ranges are multiples of it, m
    calibrated: bool  # intensity is a reflectivity
    counts: float  # the largest count of an intensity; 0 gives a number of its own unit
    full_scale: float  # intensity of the largest count
    walk: Floats  # (powers, widths), m: errors of ranges (``walk``); no rows for none
    walk_power: float  # power over the threshold, of an intensity of 1/sr at 1 m
    walk_width: float  # widening over that of a flat target, of a spot of 1 m at 45 deg
    beam_shape: Floats  # packed beam, whether it counts for the intensity or not


class Output(NamedTuple):
    """Where the points go, and how they are written."""

    frame_of: int  # of the points
    shift: Floats  # (3,), m: what is taken off positions in the world
    start: float  # of the frame, s
    duration: float  # of the frame, s
    returns: int  # room for each ray
    wide: bool  # positions are float64
    normals: bool  # there is room for normals
    words: NDArray[np.uint32]  # (rays * returns, words of a record), as files have them
    floats: NDArray[np.float32]  # the same memory
    counts: NDArray[np.uint8]  # (rays,)
    nearest: Floats  # (chunks, 2): the least range of each chunk and its place in the points
    lost: NDArray[np.int64]  # (chunks, LIMITS): how often each limit has cut light off


@njit(**ACCESS)
def tiles_down(scan: Scan) -> int:
    """How many tiles lie below one another."""
    return 1 if scan.rows == 1 else (scan.rows + TILE_ROWS - 1) // TILE_ROWS


@njit(**ACCESS)
def packets_of(scan: Scan) -> int:
    """How many packets the rays take."""
    columns = scan.last - scan.first
    if scan.rows == 1:
        return (columns + WIDTH - 1) // WIDTH
    across = TILES_ACROSS << TILE_SHIFT
    strips = (columns + across - 1) // across
    tiles: int = strips * TILES_ACROSS * tiles_down(scan)
    return tiles


@njit(**ACCESS)
def corner_of(scan: Scan, packet: int) -> tuple[int, int]:
    """Row and column of the first ray of a packet; the column may lie beyond the last one."""
    if scan.rows == 1:
        return 0, scan.first + packet * WIDTH
    in_strip = TILES_ACROSS * tiles_down(scan)
    strip = packet // in_strip
    place = packet - strip * in_strip
    across = (strip * TILES_ACROSS + place % TILES_ACROSS) << TILE_SHIFT
    return place // TILES_ACROSS * TILE_ROWS, scan.first + across


@njit(**ACCESS)
def ray_of(scan: Scan, corner: tuple[int, int], lane: int) -> int:
    """The ray in a lane of the packet with that corner, -1 for none."""
    shift = LIST_SHIFT if scan.rows == 1 else TILE_SHIFT
    row, column = corner[0] + (lane >> shift), corner[1] + (lane & ((1 << shift) - 1))
    return column * scan.rows + row if (row < scan.rows) & (column < scan.last) else -1


@njit(**ACCESS)
def knot_of(scan: Scan, ray: int) -> int:
    """The knot at or before the time of a ray."""
    spans = len(scan.poses) - 1
    return min(int(scan.offset[ray] * spans), max(spans - 1, 0))


@njit(**ACCESS)
def put_pose(scan: Scan, ray: int, pose: Floats) -> None:
    """Write where the sensor is when it sends a ray."""
    spans = len(scan.poses) - 1
    if spans == 0:
        for k in range(12):
            pose[k] = scan.poses[0, k]
        return
    knot = knot_of(scan, ray)
    share = scan.offset[ray] * spans - knot
    before, after = scan.poses[knot], scan.poses[knot + 1]
    # All is read before anything is written: only then does it become vectors.
    one, two = blend(before, after, 0, share), blend(before, after, 4, share)
    three = blend(before, after, 8, share)
    for k in range(4):
        pose[k], pose[4 + k], pose[8 + k] = one[k], two[k], three[k]


@njit(**ACCESS)
def blend(
    before: Floats, after: Floats, first: int, share: float
) -> tuple[float, float, float, float]:
    """Four of the numbers of a pose between two knots."""
    a, b, c, d = before[first], before[first + 1], before[first + 2], before[first + 3]
    return (
        a + share * (after[first] - a),
        b + share * (after[first + 1] - b),
        c + share * (after[first + 2] - c),
        d + share * (after[first + 3] - d),
    )


@njit(**ACCESS)
def bring(scan: Scan, output: Output, packet: int) -> None:
    """Have what is read and written for a packet brought into the caches.

    The tables of a frame are more than the caches near a processor hold. A tile takes a few bytes
    of each in as many places as it has columns, which the processor does not foresee: it would
    wait for each of them. Of patterns with one row it foresees them.
    """
    if scan.rows == 1:
        return
    row, column = corner_of(scan, packet)
    words, size = output.words.ctypes.data, 4 * output.returns * output.words.shape[1]
    for side in range(1 << TILE_SHIFT):
        ray = min(column + side, scan.last - 1) * scan.rows + row
        prefetch(scan.directions.ctypes.data + 24 * ray)
        prefetch(scan.azimuth.ctypes.data + 4 * ray)
        prefetch(scan.elevation.ctypes.data + 4 * ray)
        prefetch(scan.offset.ctypes.data + 8 * ray)
        prefetch(scan.ring.ctypes.data + 2 * ray)
        prefetch_to_write(output.counts.ctypes.data + ray)
        prefetch_to_write(words + size * ray)
        prefetch_to_write(words + size * ray + size)
