"""Scores that cannot be far from zero: their largest need not be known before they are raised.

No score is further from zero than the length of its query times that of its key. Where all of a
block are near, those of a panel are raised while they are in the first-level cache.
"""

import functools
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.attention.tile import Arithmetic, Lines
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# How far from zero, as a power of two: values from 2**-94 to 2**86 times that stay normal numbers.
FURTHEST = 32.0
# Vectors of keys whose squares are added up beside each other: one alone would wait for its sums.
_TOGETHER = 4
# Parts of a query whose squares are compared with those of others, lest each be added up to one.
_PARTS = 4


@dataclass(frozen=True)
class Near:
    """What is known of the scores of a block of queries.

    Attributes:
        scores: whether none is far from zero, an i1.
        crossed: whether pairs of elements are crossed, an i1; None for no.
    """

    scores: ir.Value
    crossed: ir.Value | None


def longest_key(
    use: Arithmetic, keys: ir.Value, count: Index, steps: Index, width: int,
    pairs: DotProduct | None, some: bool,
) -> ir.Value:  # fmt: skip
    """Return the largest square of the lengths of keys in panels, a scalar.

    Args:
        use: the arithmetic.
        keys: the panels, one after the other.
        count: how many keys.
        steps: lines of a panel.
        width: keys of a panel.
        pairs: what multiplies elements that are pairs; None where they are numbers.
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


def longest_query(
    use: Arithmetic, queries: Lines, rows: Index, steps: Index, pairs: DotProduct | None
) -> ir.Value:
    """Return no less than the largest square of the lengths of some queries, a scalar.

    Args:
        use: the arithmetic.
        queries: where they are.
        rows: how many.
        steps: elements of each, numbers or pairs.
        pairs: what multiplies elements that are pairs; None where they are numbers.
    """
    emit, lanes = use.emit, use.lanes
    zero = emit.constant(use.vector, 0)
    with emit.loop(0, rows, 1, [zero]) as row:
        start = emit.add(queries.offset, emit.mul(row.counter, queries.stride))
        with emit.loop(0, steps, lanes, [zero]) as column:
            at, mask = emit.add(start, column.counter), use.tail(steps, column.counter)
            value = emit.vector_load(queries.base, [at], use.vector, mask)
            column.carry([use.add_product(value, value, column.carried[0], pairs)])
        (square,), turn = column.results, lanes // 2
        while turn >= _PARTS:
            turned = emit.shuffle(square, square, [(i + turn) % lanes for i in range(lanes)])
            square, turn = use.add(square, turned), turn // 2
        row.carry([use.larger(square, row.carried[0])])
    # The largest of a part of each, added up: no less than the largest of all.
    (largest,) = row.results
    parts = [emit.extract(largest, i) for i in range(min(_PARTS, lanes))]
    return functools.reduce(use.add, parts)


def are_near(
    use: Arithmetic, query: ir.Value, key: ir.Value, factor: ir.Value | None
) -> ir.Value:  # fmt: skip
    """Return whether no score of some queries is far from zero, an i1.

    Args:
        use: the arithmetic.
        query: no less than the square of the length of each.
        key: no less than that of each key.
        factor: what scores are multiplied by, a scalar; None for nothing.
    """
    emit, element = use.emit, use.vector.element_type
    bound = emit.op("arith.mulf", [query, key], element)
    for _ in range(0 if factor is None else 2):
        bound = emit.op("arith.mulf", [bound, factor], element)
    return is_less(use, bound, FURTHEST**2)


def is_less(use: Arithmetic, value: ir.Value, limit: float) -> ir.Value:
    """Return whether a scalar is less than a number, an i1; NaN is not."""
    emit, element = use.emit, use.vector.element_type
    less = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 4)
    most = emit.constant(element, limit)
    return emit.op("arith.cmpf", [value, most], emit.bool_type, predicate=less)
