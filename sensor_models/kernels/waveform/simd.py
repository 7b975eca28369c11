"""SIMD operations on samples, where LLVM makes no vectors of a loop, or keeps its sums in memory.

A number that has just been written takes a processor three times as long to read as to add to it,
so sums over a few samples that follow one another are held in registers until they are complete.
The order in which numbers are added is that of the loops that these stand for: the same bits.

Nothing is checked: addresses are those of numbers in memory that something keeps alive.
"""

from collections.abc import Callable
from typing import Any

from sensor_models.kernels.compiling import intrinsic

#: Samples that ``add_to_eight`` adds to, and that the others below look at.
EIGHT = 8
#: Samples that ``fold_sixteen`` makes.
SIXTEEN = 16


def _vector(count: int) -> Any:
    """The type of some numbers."""
    from llvmlite import ir

    return ir.VectorType(ir.DoubleType(), count)


def _at(builder: Any, address: Any, kind: Any) -> Any:
    """A pointer to something."""
    return builder.inttoptr(address, kind.as_pointer())


def _all(builder: Any, number: Any, count: int) -> Any:
    """The same number some times."""
    from llvmlite import ir

    word = ir.IntType(32)
    none = ir.Constant(_vector(count), ir.Undefined)
    one = builder.insert_element(none, number, ir.Constant(word, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(word, count), None))


def _repeat(builder: Any, count: Any, begun: list[Any], step: Callable[..., list[Any]]) -> Any:
    """Code that repeats a step so many times; what becomes of the numbers that it begins with.

    ``step`` is given the number of the turn and what there is by then, which stays in registers.
    """
    from llvmlite import ir

    entry = builder.block
    look, body, after = (builder.append_basic_block() for _ in range(3))
    builder.branch(look)
    builder.position_at_end(look)
    turn, held = builder.phi(count.type), [builder.phi(number.type) for number in begun]
    builder.cbranch(builder.icmp_signed("<", turn, count), body, after)
    builder.position_at_end(body)
    following = [builder.add(turn, ir.Constant(turn.type, 1)), *step(turn, held)]
    builder.branch(look)
    zero = ir.Constant(turn.type, 0)
    for phi, first, then in zip([turn, *held], [zero, *begun], following, strict=True):
        phi.add_incoming(first, entry)
        phi.add_incoming(then, body)
    builder.position_at_end(after)
    return held


@intrinsic
def add_to_eight(
    _context: Any, _sums: Any, _best: Any, _who: Any, _first: Any, _rows: Any, _rays: Any
) -> Any:
    """Add what some rays give to three samples each, ray by ray, to eight samples.

    The first sample has the number ``first``, as float64. Five rows with a number for each ray lie
    behind one another: its middle sample, as float64, what the one before that, itself, and the one
    after it get, and their sum. The most of these sums that came to a middle sample is kept in
    ``best``, and the ray in ``who``, as float64, or -1 if none gave more than there was.
    """
    from numba import types

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        (first, rows, rays), eight = arguments[3:], _vector(EIGHT)
        places = [_at(builder, address, eight) for address in arguments[:3]]
        steps = ir.Constant(eight, [float(k) for k in range(EIGHT)])
        own = builder.fadd(_all(builder, first, EIGHT), steps)
        one, none = (ir.Constant(eight, [number] * EIGHT) for number in (1.0, -1.0))
        wanted = builder.fadd(own, one), own, builder.fsub(own, one)

        def add(ray: Any, held: list[Any]) -> list[Any]:
            def of_ray(row: int) -> Any:
                place = builder.add(ray, builder.mul(rays, ir.Constant(rays.type, row)))
                address = builder.add(rows, builder.mul(place, ir.Constant(rays.type, 8)))
                number = builder.load(_at(builder, address, ir.DoubleType()), align=8)
                return _all(builder, number, EIGHT)

            middle, given, share = of_ray(0), of_ray(4), ir.Constant(eight, [0.0] * EIGHT)
            for k in range(3):
                there = builder.fcmp_ordered("==", middle, wanted[k])
                share = builder.select(there, of_ray(1 + k), share)
            here = builder.fcmp_ordered("==", middle, own)
            more = builder.and_(here, builder.fcmp_ordered(">", given, held[1]))
            number = _all(builder, builder.sitofp(ray, ir.DoubleType()), EIGHT)
            chosen = [builder.select(more, given, held[1]), builder.select(more, number, held[2])]
            return [builder.fadd(held[0], share), *chosen]

        begun = [*(builder.load(place, align=8) for place in places[:2]), none]
        for place, number in zip(places, _repeat(builder, rays, begun, add), strict=True):
            builder.store(number, place, align=8)
        return context.get_dummy_value()

    address = types.intp
    return types.void(address, address, address, types.float64, address, types.intp), emit


@intrinsic
def fold_sixteen(_context: Any, _to: Any, _given: Any, _count: Any, _weights: Any) -> Any:
    """Make sixteen sums of some numbers times as many weights, of which each begins earlier.

    Number k counts with the sixteen weights that begin k places before the address.
    """
    from numba import types

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        to, given, count, weights = arguments
        sixteen = _vector(SIXTEEN)

        def add(k: Any, held: list[Any]) -> list[Any]:
            shift = builder.mul(k, ir.Constant(k.type, 8))
            place = _at(builder, builder.add(given, shift), ir.DoubleType())
            number = _all(builder, builder.load(place, align=8), SIXTEEN)
            own = builder.load(_at(builder, builder.sub(weights, shift), sixteen), align=8)
            return [builder.fadd(held[0], builder.fmul(number, own))]

        none = ir.Constant(sixteen, [0.0] * SIXTEEN)
        (sums,) = _repeat(builder, count, [none], add)
        builder.store(sums, _at(builder, to, sixteen), align=8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, types.intp), emit


def _eight_from(builder: Any, address: Any, place: int) -> Any:
    """Eight samples, from one on after an address."""
    from llvmlite import ir

    start = builder.add(address, ir.Constant(address.type, 8 * place))
    return builder.load(_at(builder, start, _vector(EIGHT)), align=8)


@intrinsic
def largest_of_eights(_context: Any, _first: Any, _eights: Any) -> Any:
    """The largest of 0 and so many times eight numbers."""
    from numba import types

    def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        first, eights = arguments

        def choose(k: Any, held: list[Any]) -> list[Any]:
            place = builder.add(first, builder.mul(k, ir.Constant(k.type, 8 * EIGHT)))
            own = _eight_from(builder, place, 0)
            return [builder.select(builder.fcmp_ordered(">", own, held[0]), own, held[0])]

        none = ir.Constant(_vector(EIGHT), [0.0] * EIGHT)
        (most,) = _repeat(builder, eights, [none], choose)
        found = ir.Constant(ir.DoubleType(), 0.0)
        for lane in range(EIGHT):
            number = builder.extract_element(most, ir.Constant(ir.IntType(32), lane))
            found = builder.select(builder.fcmp_ordered(">", number, found), number, found)
        return found

    return types.float64(types.intp, types.intp), emit


def _any_of(builder: Any, found: list[Any]) -> Any:
    """Whether all of these hold at any of the eight."""
    from llvmlite import ir

    both, eight = found[0], ir.IntType(EIGHT)
    for other in found[1:]:
        both = builder.and_(both, other)
    return builder.icmp_unsigned("!=", builder.bitcast(both, eight), ir.Constant(eight, 0))


@intrinsic
def tops_among(_context: Any, _before: Any, _level: Any) -> Any:
    """Whether any of eight samples is a maximum above a level; ``before`` is that before them."""
    from numba import types

    def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        before, here, after = (_eight_from(builder, arguments[0], k) for k in range(3))
        level = _all(builder, arguments[1], EIGHT)
        above = builder.fcmp_ordered(">", here, level)
        rises = builder.fcmp_ordered(">", here, before)
        return _any_of(builder, [above, rises, builder.fcmp_ordered(">=", here, after)])

    return types.boolean(types.intp, types.float64), emit


@intrinsic
def bends_among(_context: Any, _first: Any, _level: Any, _lone: Any) -> Any:
    """Whether any of eight samples above a level bends down most, and by a share of its height.

    ``first`` is the sample two before them.
    """
    from numba import types

    def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        own = [_eight_from(builder, arguments[0], k) for k in range(5)]
        level, lone = (_all(builder, number, EIGHT) for number in arguments[1:])

        def bend(k: int) -> Any:
            twice = builder.fadd(own[k], own[k])
            return builder.fadd(builder.fsub(own[k - 1], twice), own[k + 1])

        here, least = bend(2), builder.fneg(builder.fmul(lone, own[2]))
        found = [
            builder.fcmp_ordered(">", own[2], level),
            builder.fcmp_ordered("<", here, least),
            builder.fcmp_ordered("<", here, bend(1)),
            builder.fcmp_ordered("<=", here, bend(3)),
        ]
        return _any_of(builder, found)

    return types.boolean(types.intp, types.float64, types.float64), emit
