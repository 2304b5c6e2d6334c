"""Loops over chunks of a vector for long computations, to limit code size."""

from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes

# LLVM would write all rounds out, which is what the loop is there to avoid.
_ROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"


def in_turn(
    x: Lanes, lanes: int, made: Callable[[Lanes], Sequence[Lanes]], like: Sequence[Lanes]
) -> list[Lanes]:
    """Return what is made of a vector, computed for so many of its lanes at a time.

    Each round computes on the first lanes of what it is given, which then move to the end: the
    lanes of a register cannot be chosen by a counter.

    Args:
        x: floats, or a vector of them.
        lanes: of a part; a value that does not consist of several is computed as a whole.
        made: computes the results of a part from that part.
        like: values of the types of the results for all lanes.
    """
    type_ = x.value.type
    if not isinstance(type_, ir.VectorType) or type_.rank != 1:
        return list(made(x))
    count = type_.shape[0]
    if count <= lanes or count % lanes:
        return list(made(x))
    index = ir.IndexType.get()
    bounds = [
        ir.Operation.create(
            "arith.constant", results=[index], attributes={"value": ir.IntegerAttr.get(index, n)}
        ).results[0]
        for n in (0, count // lanes, 1)
    ]
    held = [x.value, *(each.value for each in like)]
    loop = ir.Operation.create(
        "scf.for",
        results=[each.type for each in held],
        operands=[*bounds, *held],
        attributes={"llvm.loop_annotation": ir.Attribute.parse(_ROLLED)},
        regions=1,
    )
    body = loop.regions[0].blocks.append(index, *(each.type for each in held))
    with ir.InsertionPoint(body):
        left, *before = (x.wrapped(each) for each in body.arguments[1:])
        results = made(left.first(lanes))
        after = [old.rotated(lanes).ending(new) for old, new in zip(before, results, strict=True)]
        carried = [left.rotated(lanes), *after]
        ir.Operation.create("scf.yield", operands=[each.value for each in carried])
    return [x.wrapped(each) for each in loop.results[1:]]
