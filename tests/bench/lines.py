"""What a sweep reads of the hierarchy: ``python -m tests.bench.lines [TRIANGLES ...]``.

Why rays against 10 million triangles are not traced twice as fast as by Open3D. Embree's builder
(``rtcBuildBVH``) makes a tree as that which it traces, of nodes with eight children and leaves of
blocks of four triangles, and each ray of ``bench.tracing`` goes through all boxes that it enters
before its hit, which is known: no order of going through the tree reads less. Counted are the lines
of the cache, 64 bytes, that a ray reads, that the rays of a packet read together, and that are
different in the whole sweep: a node has 256 bytes and a block 176 (``BVH8``, ``Triangle4v``).

Beside it is measured, in processor time: the bare trace and Open3D's cast; Embree alone, which is
given packets that are complete and whose results stay there; and a read of memory at large that
depends on the one before. Embree alone is the least that all packing of rays can come down to, so
Open3D's time over it is the highest ratio that can be reached with it.
"""

import ctypes
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cfunc
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import (
    claim_at,
    float32_at,
    int64_at,
    put_float32,
    put_int64,
)
from sensor_models.kernels.tracing import embree
from sensor_models.kernels.tracing.arrays import CHUNK, STRIP, TILE_ROWS
from sensor_models.kernels.tracing.embree import WIDTH, intersect_packet
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SURFACES, SceneView
from sensor_models.scene.devices import device_for
from sensor_models.scene.model import Scene
from sensor_models.scene.tracing import RayScene
from sensor_models.threads.pool import processors
from tests.bench.bars import best_in_turns
from tests.bench.tracing import COLUMNS, RANGE, RAYS, ROWS, TURNS, best, landscape, lidar
from tests.bench.tracing import open3d_caster as cast_of

SIZES = (10_000, 650_000, 10_000_000)
ROUNDS = 4
#: Bytes of a line, lines of a node and of a block of a leaf, and triangles of a block.
LINE, NODE, BLOCK, OF_BLOCK = 64, 4, 3, 4
#: Children of a node. Its words of 8 bytes: what they are, and six sides of their boxes.
CHILDREN = 8
WORDS = 4 * CHILDREN
#: Bytes that reads go to which depend on one another, and how many there are.
FAR, READS = 1 << 30, 1 << 20
#: Rows of a packet as Embree has it: direction, end, mask, primitive to the end.
PACKET_ROWS, NEAR, ALONG, END, MASK, HIT = 21, 3, 4, 8, 9, 17


#: What C says of a number of 32 bits in a register of 64.
LOW = 0xFFFFFFFF


class Arguments(ctypes.Structure):
    """RTCBuildArguments."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        *((name, ctypes.c_int) for name in ("quality", "flags")),
        *((name, ctypes.c_uint) for name in ("branches", "depth", "block", "least", "most")),
        *((name, ctypes.c_float) for name in ("traversal", "intersection")),
        *((name, ctypes.c_void_p) for name in ("bvh", "primitives")),
        *((name, ctypes.c_size_t) for name in ("count", "capacity")),
        *((name, ctypes.c_void_p) for name in ("node", "children", "bounds", "leaf")),
        *((name, ctypes.c_void_p) for name in ("split", "progress", "own")),
    ]


# Of what is our own: how many nodes and leaves there are, and the address of the nodes.


@cfunc("intp(intp, intp, intp)")
def _new_node(_allocator: int, _count: int, own: int) -> int:
    return int64_at(own, 2) + 8 * WORDS * claim_at(own)


@cfunc("void(intp, intp, intp, intp)")
def _set_children(node: int, children: int, count: int, own: int) -> None:
    for k in range(count & LOW):
        child = int64_at(children, k)
        number = (child - int64_at(own, 2)) // (8 * WORDS)
        put_int64(node, k, child if child & 1 else 2 * number)


@cfunc("void(intp, intp, intp, intp)")
def _set_bounds(node: int, bounds: int, count: int, _own: int) -> None:
    for k in range(count & LOW):
        box = int64_at(bounds, k)
        for axis in range(3):
            put_float32(node, 2 * CHILDREN + 6 * k + axis, float32_at(box, axis))
            put_float32(node, 2 * CHILDREN + 6 * k + 3 + axis, float32_at(box, 4 + axis))


@cfunc("intp(intp, intp, intp, intp)")
def _new_leaf(_allocator: int, _triangles: int, count: int, own: int) -> int:
    blocks = (count + OF_BLOCK - 1) // OF_BLOCK
    return 2 * (8 * claim_at(own + 8) + blocks) + 1


class Tree(NamedTuple):
    """Nodes by their numbers; a child is twice the number of a node, or odd for a leaf."""

    nodes: NDArray[np.int64]
    count: int
    leaves: int


def tree_of(scene: Scene) -> Tree:
    """The hierarchy of a scene of one mesh."""
    mesh, library = scene.meshes[0], embree.library
    corners = mesh.vertices[mesh.faces]
    boxes = aligned(8 * len(mesh.faces)).view(np.float32).reshape(-1, 8)
    boxes[:, :3], boxes[:, 4:7] = corners.min(axis=1), corners.max(axis=1)
    nodes = np.zeros((len(mesh.faces) // 2 + 16, WORDS), np.int64)
    own = np.array([0, 0, nodes.ctypes.data], np.int64)
    library.rtcNewBVH.restype = library.rtcBuildBVH.restype = ctypes.c_void_p
    library.rtcNewBVH.argtypes, library.rtcReleaseBVH.argtypes = 2 * ([ctypes.c_void_p],)
    bvh = library.rtcNewBVH(device_for(processors()))
    asked = Arguments(
        ctypes.sizeof(Arguments), 1, 0, CHILDREN, 64, OF_BLOCK, OF_BLOCK, 7 * OF_BLOCK, 1.0, 1.0,
        bvh, boxes.ctypes.data, len(boxes), len(boxes), _new_node.address, _set_children.address,
        _set_bounds.address, _new_leaf.address, None, None, own.ctypes.data,
    )  # fmt: skip
    root = library.rtcBuildBVH(ctypes.byref(asked))
    library.rtcReleaseBVH(bvh)
    assert (root - own[2]) == 0, "the root is made first"
    return Tree(nodes, int(own[0]), int(own[1]))


@njit(nogil=True, error_model="numpy")
def follow(
    nodes: NDArray[np.int64],
    sides: NDArray[np.float32],
    directions: NDArray[np.float32],
    ends: NDArray[np.float32],
    marks: NDArray[np.int32],
    leaf_marks: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Count the lines that rays from the origin read.

    A mark is the last packet that read a node or a leaf. ``counts``: nodes and blocks of all rays,
    of all packets, and of the sweep.
    """
    stack = np.empty(512, np.int64)
    for ray in range(len(directions)):
        packet, end = ray // WIDTH, ends[ray]
        inverse = np.float32(1.0) / directions[ray]
        depth, stack[0] = 1, 0
        while depth > 0:
            depth -= 1
            place = stack[depth]
            if place & 1:
                counts[1] += (place >> 1) & 7
                leaf = place >> 4
                if leaf_marks[leaf] != packet:
                    counts[3] += (place >> 1) & 7
                    counts[5] += (place >> 1) & 7 if leaf_marks[leaf] < 0 else 0
                    leaf_marks[leaf] = packet
                continue
            node = place >> 1
            counts[0] += 1
            if marks[node] != packet:
                counts[2] += 1
                counts[4] += 1 if marks[node] < 0 else 0
                marks[node] = packet
            for k in range(CHILDREN):
                if nodes[node, k] == 0:
                    continue
                near, far = np.float32(0.0), end
                for axis in range(3):
                    a = sides[node, 2 * CHILDREN + 6 * k + axis] * inverse[axis]
                    b = sides[node, 2 * CHILDREN + 6 * k + 3 + axis] * inverse[axis]
                    near, far = max(near, min(a, b)), min(far, max(a, b))
                if near <= far:
                    stack[depth] = nodes[node, k]
                    depth += 1


def tiled(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """What belongs to the rays of a sweep, (rows, columns, numbers), in the order of packets."""
    wide = WIDTH // TILE_ROWS
    parts = ROWS // TILE_ROWS, TILE_ROWS, COLUMNS // STRIP, STRIP // wide, wide, -1
    return values.reshape(parts).transpose(2, 0, 3, 1, 4, 5).reshape(RAYS, -1)


@njit(nogil=True)
def read_far(places: NDArray[np.int64], reads: int) -> int:
    """Reads of which each says where the next one goes."""
    place = 0
    for _ in range(reads):
        place = places[8 * place]
    return place


def seconds_of_a_read() -> float:
    """What a read takes that goes anywhere in memory and depends on the one before."""
    lines = FAR // LINE
    places = np.zeros(8 * lines, np.int64)
    places[::8] = (np.arange(lines) * 0x5851F42D4C957F2D + 0x14057B7EF767814F) % lines
    read_far(places, 1)
    return best(lambda: read_far(places, READS), 3) / READS


@njit(nogil=True)
def trace_made(
    view: SceneView, claims: NDArray[np.int64], packets: int, valid: int, arguments: int
) -> None:
    """Have Embree trace packets that are made."""
    first = claim(claims) * CHUNK
    while first < RAYS // WIDTH:
        for k in range(first, min(first + CHUNK, RAYS // WIDTH)):
            place = packets + 4 * WIDTH * PACKET_ROWS * k
            intersect_packet(valid, view.handles[SURFACES], place, arguments)
        first = claim(claims) * CHUNK


def aligned(words: int) -> NDArray[np.int32]:
    """Memory as Embree reads packets."""
    memory = np.zeros(words + 16, np.int32)
    first = -(memory.ctypes.data // 4) % 16
    return memory[first : first + words]


def embree_alone(rays: RayScene, directions: NDArray[np.float32]) -> Callable[[], float]:
    """Seconds of processors that the calls of Embree take, with packets of rays in their order."""
    memory, valid, context, arguments = map(aligned, (RAYS * PACKET_ROWS, WIDTH, 16, 16))
    words = memory.reshape(-1, PACKET_ROWS, WIDTH)
    floats = words.view(np.float32)
    floats[:, :NEAR] = -rays.view.offset[:, None]
    floats[:, NEAR], words[:, MASK], valid[:], context[:2] = 1e-6, -1, -1, -1
    floats[:, ALONG : ALONG + 3] = directions.reshape(-1, WIDTH, 3).transpose(0, 2, 1)
    arguments[:2] = embree.RAY_QUERY_COHERENT, -1
    arguments[2:4] = np.array([context.ctypes.data], np.int64).view(np.int32)

    def seconds() -> float:
        floats[:, END], words[:, HIT:] = RANGE, embree.INVALID_ID
        begin = time.process_time()
        places = (memory.ctypes.data, valid.ctypes.data, arguments.ctypes.data)
        rays.run(trace_made, *places)
        return time.process_time() - begin

    seconds()
    return lambda: min(seconds() for _ in range(TURNS))


def lines_of(scene: Scene, directions: NDArray[np.float32], ends: NDArray[np.float32]) -> list[str]:
    """What rays in the order of packets read until they end."""
    tree = tree_of(scene)
    counts = np.zeros(6, np.int64)
    marks, leaf_marks = np.full(tree.count, -1, np.int32), np.full(tree.leaves, -1, np.int32)
    sides = tree.nodes.view(np.float32)
    follow(tree.nodes, sides, directions, ends, marks, leaf_marks, counts)
    alone, together, sweep = counts[::2] * NODE + counts[1::2] * BLOCK
    size = LINE * (NODE * tree.count + BLOCK * tree.leaves) / len(scene.meshes[0].faces)
    nodes, blocks = counts[:2] / RAYS
    return [
        f"{tree.count} nodes and {tree.leaves} leaves, {size:.0f} bytes a triangle",
        f"a ray reads {alone / RAYS:.0f} lines of {nodes:.1f} nodes and {blocks:.1f} blocks; its "
        f"share of its packet's is {together / RAYS:.1f}, and of the sweep's {sweep / RAYS:.1f}, "
        f"which are {1e-6 * LINE * sweep:.0f} MB",
    ]


def report(triangles: int) -> list[str]:
    """What was counted and measured in a landscape of so many triangles."""
    scene, directions = landscape(triangles), lidar()
    in_order = tiled(directions)
    with RayScene(scene, processors()) as rays:
        hits = rays.trace_bare((0, 0, 0), directions, RANGE)
        peer = cast_of(scene, processors())
        trace = partial(rays.trace_bare, (0, 0, 0), directions, RANGE, out=hits)
        seconds = best_in_turns(
            {
                "bare": lambda: best(trace, TURNS),
                "Embree alone": embree_alone(rays, in_order),
                "Open3D": lambda: best(peer, TURNS),
            },
            ROUNDS,
        )
    ends = tiled(np.minimum(hits.t, np.float32(RANGE))).ravel()
    times = ", ".join(f"{name} {1e9 * took / RAYS:.1f}" for name, took in seconds.items())
    theirs = seconds["Open3D"]
    return [
        f"{triangles:.2g} triangles, ns of processor a ray: {times}",
        f"Open3D's time is {theirs / seconds['bare']:.2f} x that of the bare trace, and "
        f"{theirs / seconds['Embree alone']:.2f} x that of Embree alone",
        *lines_of(scene, in_order, ends),
    ]


if __name__ == "__main__":
    READ = 1e9 * seconds_of_a_read()
    print(f"a read anywhere in {FAR >> 20} MB that depends on the one before: {READ:.0f} ns")
    for size in [int(float(text)) for text in sys.argv[1:]] or SIZES:
        print("\n".join(report(size)), flush=True)
