"""Bounded scores: softmax without a running maximum.

By Cauchy-Schwarz, `|q . k| <= |q| |k|`. If this bound is small for a block, scores are
exponentiated in registers or in L1, without their maximum.
"""

import functools
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.attention.tile import Arithmetic, Lines
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# The bound, as an exponent of 2. Exponentials times values from 2**-94 to 2**86 stay normal.
MAX_BOUNDED_SCORE = 32.0
# Independent vectors of sums of squares, which hide the latency of an FMA.
_TOGETHER = 4
# Lanes of a partial sum of squares. Maxima of partial sums avoid a horizontal sum for each query.
_PARTS = 4


@dataclass(frozen=True)
class BoundedScores:
    """Whether the scores of a block of queries are bounded.

    Attributes:
        holds: whether all scores are bounded, an i1.
        uses_winograd: whether they are computed by Winograd's dot product, an i1; None for no.
    """

    holds: ir.Value
    uses_winograd: ir.Value | None


def max_key_norm(
    use: Arithmetic, keys: ir.Value, count: Index, steps: Index, width: int,
    pairs: DotProduct | None, some: bool,
) -> ir.Value:  # fmt: skip
    """Return the largest squared norm of keys in panels, a scalar.

    Args:
        use: the arithmetic.
        keys: the panels, one after the other.
        count: how many keys.
        steps: lines of a panel.
        width: keys of a panel.
        pairs: the dot-product instruction, if elements are pairs in VNNI layout.
        some: whether more keys follow in panels.
    """
    emit, zero = use.emit, use.emit.constant(use.vector, 0)
    last = emit.round_down(emit.max(emit.sub(count, 1), 0), use.lanes)
    with emit.loop(0, count, _TOGETHER * use.lanes, [zero] * _TOGETHER) as part:
        starts, there = [], []
        for i in range(_TOGETHER):
            key = emit.min(emit.add(part.counter, i * use.lanes), last)
            panel = emit.round_down(key, width)
            starts.append(emit.add(emit.mul(panel, steps), emit.sub(key, panel)))
            there.append(emit.mask(emit.sub(count, key), use.lanes) if some else None)
        with emit.loop(0, steps, 1, [zero] * _TOGETHER) as step:
            line = emit.mul(step.counter, width)
            sums = []
            for start, total in zip(starts, step.carried, strict=True):
                value = use.load(keys, emit.add(start, line))
                sums.append(use.add_product(value, value, total, pairs))
            step.carry(sums)
        squares = [
            x if mask is None else emit.op("arith.select", [mask, x, zero], use.vector)
            for x, mask in zip(step.results, there, strict=True)
        ]
        part.carry(list(map(use.larger, squares, part.carried)))
    largest = functools.reduce(use.larger, part.results)
    return use.across(largest, use.larger)


def max_query_norm(
    use: Arithmetic, queries: Lines, rows: Index, steps: Index, pairs: DotProduct | None
) -> ir.Value:
    """Return an upper bound of the squared norms of some queries, a scalar.

    Args:
        use: the arithmetic.
        queries: where they are.
        rows: how many.
        steps: elements of each, numbers or pairs.
        pairs: the dot-product instruction, if elements are pairs in VNNI layout.
    """
    emit, lanes = use.emit, use.lanes
    zero = emit.constant(use.vector, 0)
    with emit.loop(0, rows, 1, [zero]) as row:
        start = emit.add(queries.offset, emit.mul(row.counter, queries.stride))
        with emit.loop(0, steps, lanes, [zero]) as column:
            at, mask = emit.add(start, column.counter), use.tail(steps, column.counter)
            value = emit.vector_load(queries.base, [at], use.vector, mask)
            column.carry([use.add_product(value, value, column.carried[0], pairs)])
        (square,), half = column.results, lanes // 2
        while half >= _PARTS:
            rotated = emit.shuffle(square, square, [(i + half) % lanes for i in range(lanes)])
            square, half = use.add(square, rotated), half // 2
        row.carry([use.larger(square, row.carried[0])])
    # The sum of maxima of partial sums is at least the largest sum.
    (largest,) = row.results
    parts = [emit.extract(largest, i) for i in range(min(_PARTS, lanes))]
    return functools.reduce(use.add, parts)


def are_bounded(
    use: Arithmetic, query: ir.Value, key: ir.Value, factor: ir.Value | None
) -> ir.Value:  # fmt: skip
    """Return whether the scores of some queries are bounded, an i1.

    Args:
        use: the arithmetic.
        query: an upper bound of the queries' squared norms.
        key: an upper bound of the keys' squared norms.
        factor: the scale of scores, a scalar; None for 1.
    """
    emit, element = use.emit, use.vector.element_type
    bound = emit.op("arith.mulf", [query, key], element)
    for _ in range(0 if factor is None else 2):
        bound = emit.op("arith.mulf", [bound, factor], element)
    return is_less(use, bound, MAX_BOUNDED_SCORE**2)


def is_less(use: Arithmetic, value: ir.Value, limit: float) -> ir.Value:
    """Return whether a scalar is less than a number, an i1; NaN is not."""
    emit, element = use.emit, use.vector.element_type
    less = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 4)
    most = emit.constant(element, limit)
    return emit.op("arith.cmpf", [value, most], emit.bool_type, predicate=less)
