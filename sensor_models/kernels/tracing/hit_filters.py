"""Filters: what Embree calls at every facet that a ray meets, to accept or refuse it.

``keep_nearest``     accepts the nearest facet, of several at one distance the lowest
                     (owner, primitive): Embree keeps whichever it met last
``keep_all``         refuses all, and notes the nearest of them in the order of their distance
``count_crossings``  refuses all, and counts them by owner
``pass_clear``       refuses facets of clear materials, and counts them

Filters write to the memory behind the packet's context (``packets``). Embree shows one
ray or all of a packet; ``RAY_ID`` tells which. A filter must not raise: nothing catches it.

Source: Embree 4 API reference, RTCFilterFunctionN.
"""

from typing import Any

import numpy as np

from sensor_models.kernels.compiling import cfunc, intrinsic, njit
from sensor_models.kernels.math.memory import (
    float32_at,
    int32_at,
    int64_at,
    put_float32,
    put_int32,
)
from sensor_models.kernels.tracing.embree import INVALID_ID, WIDTH
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    BEST_OWNER,
    BEST_PRIMITIVE,
    BEST_T,
    CONTEXT,
    COUNT,
    STORE_ADDRESS,
    STORE_SIZE,
    TABLES_ADDRESS,
)
from sensor_models.kernels.tracing.scene_view import FACE_MATERIAL, TABLES

# RTCFilterFunctionNArguments, in words of 8 bytes.
VALID_ADDRESS, CONTEXT_ADDRESS, RAYS_ADDRESS, HITS_ADDRESS, LANES = 0, 2, 3, 4, 5
# Rows of RTCRayN and RTCHitN.
RAY_T, RAY_ID = 8, 10
HIT_PRIMITIVE, HIT_GEOMETRY, HIT_INSTANCE = 5, 6, 7
HIT_ROWS = 8

#: Embree compares t den with t_max den, which rounds: without some room, a second facet at the
#: distance of the first is dropped before the filter sees it.
ROOM = np.float32(1.0 + 2.0**-20)

#: Words that ``keep_all`` notes of a hit: distance, then the rows of RTCHitN.
NOTE_WORDS = 1 + HIT_ROWS


@njit(**ACCESS)
def owner_at(hits: int, lanes: int, lane: int) -> int:
    """The owner of a facet: of the instance, if there is one, else of the geometry."""
    instance: int = int32_at(hits, HIT_INSTANCE * lanes + lane)
    geometry: int = int32_at(hits, HIT_GEOMETRY * lanes + lane)
    return geometry if instance == INVALID_ID else instance


@intrinsic
def _keep_nearest_of_packet(_context: Any, _valid: Any, _rays: Any, _hits: Any, _kept: Any) -> Any:
    """``keep_nearest`` for all rays of a packet at once, in vectors as wide as the packet.

    Embree calls it for each facet under a packet. Ray by ray it took half as long as the trace.
    """
    from llvmlite import ir
    from numba import types

    word, real = ir.IntType(32), ir.FloatType()
    words, reals = ir.VectorType(word, WIDTH), ir.VectorType(real, WIDTH)

    def emit(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        valid_start, rays, hits, kept = arguments

        def row(kind: Any, start: Any, words_on: int) -> Any:
            address = builder.add(start, ir.Constant(start.type, 4 * words_on))
            return builder.inttoptr(address, ir.PointerType(kind))

        def load(place: Any) -> Any:
            return builder.load(place, align=4)

        def keep(new: Any, old: Any, place: Any) -> None:
            builder.store(builder.select(accepted, new, old), place, align=4)

        valid_place, t_place = row(words, valid_start, 0), row(reals, rays, RAY_T * WIDTH)
        best_t, best_owner, best_primitive = (
            row(kind, kept, k * WIDTH) for k, kind in enumerate((reals, words, words))
        )
        old_t, old_owner, old_primitive = load(best_t), load(best_owner), load(best_primitive)
        t, primitive = load(t_place), load(row(words, hits, HIT_PRIMITIVE * WIDTH))
        instance, geometry = (
            load(row(words, hits, k * WIDTH)) for k in (HIT_INSTANCE, HIT_GEOMETRY)
        )
        none = ir.Constant(words, [INVALID_ID] * WIDTH)
        owner = builder.select(builder.icmp_signed("==", instance, none), geometry, instance)

        lower = builder.or_(
            builder.icmp_signed("<", owner, old_owner),
            builder.and_(
                builder.icmp_signed("==", owner, old_owner),
                builder.icmp_signed("<", primitive, old_primitive),
            ),
        )
        better = builder.or_(
            builder.fcmp_ordered("<", t, old_t),
            builder.and_(builder.fcmp_ordered("==", t, old_t), lower),
        )
        shown = builder.icmp_signed("!=", load(valid_place), ir.Constant(words, [0] * WIDTH))
        accepted = builder.and_(shown, better)

        keep(t, old_t, best_t)
        keep(owner, old_owner, best_owner)
        keep(primitive, old_primitive, best_primitive)
        room = ir.Constant(reals, [ir.Constant(real, float(ROOM))] * WIDTH)
        keep(builder.fmul(t, room), t, t_place)
        builder.store(builder.sext(accepted, words), valid_place, align=4)
        return target.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, types.intp), emit


@njit(**ACCESS)
def _lower(context: int, lane: int, owner: int, primitive: int) -> bool:
    """Whether a facet has a lower id than the best so far."""
    other = int32_at(context, BEST_OWNER - CONTEXT + lane)
    if owner != other:
        first: bool = owner < other
        return first
    lower: bool = primitive < int32_at(context, BEST_PRIMITIVE - CONTEXT + lane)
    return lower


@cfunc("void(intp)", cache=True)
def keep_nearest(arguments: int) -> None:
    """Accept a facet that is nearer than the best so far, or as near with a lower id."""
    valid, context = int64_at(arguments, VALID_ADDRESS), int64_at(arguments, CONTEXT_ADDRESS)
    rays, hits = int64_at(arguments, RAYS_ADDRESS), int64_at(arguments, HITS_ADDRESS)
    lanes = int32_at(arguments, 2 * LANES)
    if lanes == WIDTH:
        _keep_nearest_of_packet(valid, rays, hits, context + 4 * (BEST_T - CONTEXT))
        return
    for k in range(lanes):
        lane = int32_at(rays, RAY_ID * lanes + k)
        t = float32_at(rays, RAY_T * lanes + k)
        best = float32_at(context, BEST_T - CONTEXT + lane)
        owner, primitive = owner_at(hits, lanes, k), int32_at(hits, HIT_PRIMITIVE * lanes + k)
        if int32_at(valid, k) == 0:
            continue
        if t < best or (t == best and _lower(context, lane, owner, primitive)):
            put_float32(context, BEST_T - CONTEXT + lane, t)
            put_int32(context, BEST_OWNER - CONTEXT + lane, owner)
            put_int32(context, BEST_PRIMITIVE - CONTEXT + lane, primitive)
            put_float32(rays, RAY_T * lanes + k, t * ROOM)
        else:
            put_int32(valid, k, 0)


@njit(**ACCESS)
def _note(notes: int, place: int) -> int:
    """The address of a note."""
    return notes + 4 * NOTE_WORDS * place


@njit(**ACCESS)
def _comes_before(rays: int, hits: int, lanes: int, k: int, note: int) -> bool:
    """Whether a facet that is shown comes before one that was noted."""
    t, noted_t = float32_at(rays, RAY_T * lanes + k), float32_at(note, 0)
    if t != noted_t:
        nearer: bool = t < noted_t
        return nearer
    owner, noted_owner = owner_at(hits, lanes, k), owner_at(note + 4, 1, 0)
    if owner != noted_owner:
        first: bool = owner < noted_owner
        return first
    primitive = int32_at(hits, HIT_PRIMITIVE * lanes + k)
    lower: bool = primitive < int32_at(note, 1 + HIT_PRIMITIVE)
    return lower


@cfunc("void(intp)", cache=True)
def keep_all(arguments: int) -> None:
    """Refuse every facet, and note it where its (distance, owner, primitive) belongs."""
    valid, context = int64_at(arguments, VALID_ADDRESS), int64_at(arguments, CONTEXT_ADDRESS)
    rays, hits = int64_at(arguments, RAYS_ADDRESS), int64_at(arguments, HITS_ADDRESS)
    lanes = int32_at(arguments, 2 * LANES)
    store = int64_at(context + 4 * (STORE_ADDRESS - CONTEXT), 0)
    most = int32_at(context, STORE_SIZE - CONTEXT)
    for k in range(lanes):
        if int32_at(valid, k) == 0:
            continue
        put_int32(valid, k, 0)
        lane = int32_at(rays, RAY_ID * lanes + k)
        found = int32_at(context, COUNT - CONTEXT + lane)
        put_int32(context, COUNT - CONTEXT + lane, found + 1)
        notes = store + 4 * NOTE_WORDS * most * lane
        place = min(found, most)
        while place > 0 and _comes_before(rays, hits, lanes, k, _note(notes, place - 1)):
            if place < most:
                for word in range(NOTE_WORDS):
                    put_int32(_note(notes, place), word, int32_at(_note(notes, place - 1), word))
            place -= 1
        if place < most:
            put_float32(_note(notes, place), 0, float32_at(rays, RAY_T * lanes + k))
            for word in range(HIT_ROWS):
                put_int32(_note(notes, place), 1 + word, int32_at(hits, word * lanes + k))


@cfunc("void(intp)", cache=True)
def count_crossings(arguments: int) -> None:
    """Refuse every facet; count those of each owner, and note the nearest."""
    valid, context = int64_at(arguments, VALID_ADDRESS), int64_at(arguments, CONTEXT_ADDRESS)
    rays, hits = int64_at(arguments, RAYS_ADDRESS), int64_at(arguments, HITS_ADDRESS)
    lanes = int32_at(arguments, 2 * LANES)
    store = int64_at(context + 4 * (STORE_ADDRESS - CONTEXT), 0)
    owners = int32_at(context, STORE_SIZE - CONTEXT)
    for k in range(lanes):
        if int32_at(valid, k) == 0:
            continue
        put_int32(valid, k, 0)
        place = 2 * (owners * int32_at(rays, RAY_ID * lanes + k) + owner_at(hits, lanes, k))
        t = float32_at(rays, RAY_T * lanes + k)
        count = int32_at(store, place)
        if count == 0 or t < float32_at(store, place + 1):
            put_float32(store, place + 1, t)
        put_int32(store, place, count + 1)


@cfunc("void(intp)", cache=True)
def pass_clear(arguments: int) -> None:
    """Let rays through facets of clear materials, and count these; others end them."""
    valid, context = int64_at(arguments, VALID_ADDRESS), int64_at(arguments, CONTEXT_ADDRESS)
    rays, hits = int64_at(arguments, RAYS_ADDRESS), int64_at(arguments, HITS_ADDRESS)
    lanes = int32_at(arguments, 2 * LANES)
    is_clear = int64_at(context + 4 * (STORE_ADDRESS - CONTEXT), 0)
    tables = int64_at(context + 4 * (TABLES_ADDRESS - CONTEXT), 0)
    for k in range(lanes):
        if int32_at(valid, k) == 0:
            continue
        materials = int64_at(tables, TABLES * owner_at(hits, lanes, k) + FACE_MATERIAL)
        material = int32_at(materials, int32_at(hits, HIT_PRIMITIVE * lanes + k))
        if int32_at(is_clear, material) != 0:
            put_int32(valid, k, 0)
            lane = int32_at(rays, RAY_ID * lanes + k)
            found = int32_at(context, COUNT - CONTEXT + lane)
            put_int32(context, COUNT - CONTEXT + lane, found + 1)
