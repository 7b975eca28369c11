"""The nearest facet of a part along each ray, as one number that can be compared across parts.

A hit is the pair of its distance t and the number of its facet in the whole scene. The bits of a
positive float32 rise with its value, and the sign needs none, so both fit a 64-bit integer:

    key = bits(t) << 33 | facet

The least key of all parts is the least t and, of equal ones, the lowest facet. A minimum has no
order, so neither the parts nor the order in which they answer can change what is found. Facets
may be numbered up to 2^33, 8.6 billion.

Source: VANE, quick caster: reduction by least t, ties by the lowest facet.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.arrays import (
    CHUNK,
    Rays,
    fill_packet,
    packets_of,
    ray_of,
    start_packet,
    tile_of,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_barycentrics,
    hit_normal,
    hit_primitive,
    is_hit,
)
from sensor_models.kernels.tracing.packets import BEST_T, new_packet
from sensor_models.kernels.tracing.rays import claim, trace_surfaces
from sensor_models.kernels.tracing.scene_view import SceneView

Floats32 = NDArray[np.float32]

#: Bits of a key that hold the facet.
FACET_BITS = 33
MOST_FACETS = 1 << FACET_BITS
#: The key of a ray that hits nothing: above all others.
MISS = (1 << 64) - 1

_SHIFT = np.uint64(FACET_BITS)
_MISS = np.uint64(MISS)
_FACET = np.uint64(MOST_FACETS - 1)


@njit(nogil=True, cache=True)
def cast_keys(
    view: SceneView,
    claims: NDArray[np.int64],
    rays: Rays,
    facets: NDArray[np.int64],
    keys: NDArray[np.uint64],
    faces: NDArray[np.int32],
    weights: NDArray[np.float32],
    normals: NDArray[np.float32],
) -> None:
    """The key of the nearest facet along each ray; ``facets`` numbers the faces of the part.

    ``faces`` are the same in the part, -1 for none; ``weights`` are u and v.
    """
    packet = new_packet()
    start_packet(view, packet, rays)
    packets = packets_of(rays)
    first = claim(claims) * CHUNK
    while first < packets:
        for index in range(first, min(first + CHUNK, packets)):
            tile = tile_of(rays, index)
            fill_packet(view, packet, rays, tile)
            trace_surfaces(view, packet, rays.coherent)
            for lane in range(WIDTH):
                ray = ray_of(rays, tile, lane)
                if ray < 0:
                    continue
                if not is_hit(packet, lane):
                    keys[ray], faces[ray] = _MISS, -1
                    continue
                face = hit_primitive(packet, lane)
                bits = np.uint64(packet.words[BEST_T + lane])
                keys[ray] = (bits << _SHIFT) | np.uint64(facets[face])
                faces[ray] = face
                weights[ray, 0], weights[ray, 1] = hit_barycentrics(view, packet, lane)
                x, y, z = hit_normal(view, packet, lane)
                normals[ray, 0], normals[ray, 1], normals[ray, 2] = x, y, z
        first = claim(claims) * CHUNK


@njit(nogil=True, cache=True)
def take_nearer(
    rays: NDArray[np.int32],
    found: tuple[NDArray[np.uint64], Floats32, Floats32, Floats32],
    kept: tuple[NDArray[np.uint64], Floats32, Floats32, Floats32],
) -> None:
    """Keep what was found by some rays where it is nearer: keys, weights, normals and values.

    One pass over what a part says of a block: whoever waits for an image shares a machine with
    workers, and picking rows array by array took it as long as they took to find them.
    """
    keys, weights, normals, values = found
    own_keys, own_weights, own_normals, own_values = kept
    for k in range(len(rays)):
        ray = rays[k]
        if keys[k] < own_keys[ray]:
            own_keys[ray] = keys[k]
            for i in range(2):
                own_weights[ray, i] = weights[k, i]
            for i in range(3):
                own_normals[ray, i] = normals[k, i]
            for i in range(values.shape[1]):
                own_values[ray, i] = values[k, i]


@njit(nogil=True, cache=True)
def read_keys(
    keys: NDArray[np.uint64], distance: NDArray[np.uint32], facet: NDArray[np.int64], far: int
) -> None:
    """Write what keys say: the bits of distances, and facets; ``far`` and -1 for misses."""
    for k in range(len(keys)):
        if keys[k] == _MISS:
            distance[k], facet[k] = far, -1
        else:
            distance[k] = keys[k] >> _SHIFT
            facet[k] = np.int64(keys[k] & _FACET)
