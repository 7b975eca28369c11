"""What a frame of a camera is: when and where its rays start, and what its pixels see.

Rows may be exposed one after the other, and a ray is sent within the exposure of its row: ray k of
m at (k + a draw) / m of it, the only one of a pixel at its beginning.

Source: PHYSICS-2, 32.5. Deviation: a single ray is not spread over the exposure, which would be
noise instead of blur.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.layout import pixel_of
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.philox import uniform
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, PLACE, SENT, VALID, Packet
from sensor_models.kernels.tracing.sensor_poses import rotate

Floats = NDArray[np.float64]

#: Bits of the numbers that draws go by: nodes of a tree, rays of a pixel.
NODE_BITS, SAMPLE_BITS = 10, 6
#: Nodes of a tree of the greatest depth.
MOST_NODES = 2**NODE_BITS
MOST_SAMPLES = 2**SAMPLE_BITS


class Shot(NamedTuple):
    """When and where rays of a frame start and go."""

    rows: int  # of pixels
    columns: int  # of pixels
    samples: int  # rays of each pixel
    factor: int  # rows that are exposed together
    directions: Floats  # (pixels, 3), unit vectors in the sensor frame
    poses: Floats  # (knots, 12), evenly over the frame, one for a camera at rest
    inside: NDArray[np.int32]  # (knots, volumes): what the camera is in
    row_share: float  # of the frame, from the beginning of a row to that of the next
    exposed_share: float  # of the frame, that a row is exposed
    response: Floats  # (bands, wavelengths): of radiance
    key: NDArray[np.uint64]  # of the instants
    cell: float  # rad, that a ray stands for, across
    scene_media: int  # rows of ``Path.media`` that are no insides of materials


class Picture(NamedTuple):
    """What the pixels see, (pixels,) each; an array without pixels is not wanted."""

    light: NDArray[np.float32]  # (pixels, bands)
    distance: NDArray[np.float32]  # of the first surface, m; inf for none
    entity: NDArray[np.int32]  # -1 for none
    label: NDArray[np.int32]  # semantic label, -1 for none
    owner: NDArray[np.int32]  # of the facet, -1 for none
    material: NDArray[np.int32]  # of the facet


@njit(**ACCESS)
def blend_pose(poses: Floats, share: float, pose: Floats) -> int:
    """Write the pose at a share of the frame; returns the knot before it."""
    spans = len(poses) - 1
    if spans == 0:
        for k in range(12):
            pose[k] = poses[0, k]
        return 0
    knot = min(max(int(share * spans), 0), max(spans - 1, 0))
    part = share * spans - knot if spans > 0 else 0.0
    after = min(knot + 1, spans)
    for k in range(12):
        pose[k] = poses[knot, k] + part * (poses[after, k] - poses[knot, k])
    return knot


@njit(**ACCESS)
def instant_of(shot: Shot, light: Light, pixel: int, sample: int) -> float:
    """When a ray of a pixel is sent, as a share of the frame."""
    if shot.row_share == 0.0 and (shot.samples == 1 or shot.exposed_share == 0.0):
        return 0.0
    row = pixel // shot.columns // shot.factor
    begun: float = row * shot.row_share
    if shot.samples == 1 or shot.exposed_share == 0.0:
        return begun
    draw = uniform(shot.key, light.frame, (pixel << SAMPLE_BITS) + sample)
    return float(begun + (sample + draw) / shot.samples * shot.exposed_share)


@njit(**ACCESS)
def aim(
    light: Light,
    shot: Shot,
    packet: Packet,
    starts: Floats,
    pose: Floats,
    corner: tuple[int, int],
    sample: int,
) -> None:
    """Put a ray of each pixel of a tile into the packet, and note where it starts.

    ``pose`` is that of a camera at rest, or room for one.
    """
    rays, d, moves = packet.doubles, shot.directions, len(shot.poses) > 1
    for lane in range(WIDTH):
        pixel = pixel_of(shot, corner, lane)
        packet.words[VALID + lane] = -1 if pixel >= 0 else 0
        pixel = max(pixel, 0)
        time = instant_of(shot, light, pixel, sample)
        if moves:
            blend_pose(shot.poses, time, pose)
        along = rotate(pose, (d[pixel, 0], d[pixel, 1], d[pixel, 2]))
        for k in range(3):
            rays[ALONG + k * WIDTH + lane] = along[k]
            rays[PLACE + k * WIDTH + lane] = starts[lane, k] = pose[9 + k]
        rays[SENT + lane] = time
