"""Analyses that TVM offers by name: of accesses for layouts, and of blocks."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import IntLike, SymExpr
from relax_mlir.dialects.tir.layout import row_major
from relax_mlir.errors import ExprError
from relax_mlir.tir.schedule.analysis.scopes import output_blocks
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.inverses import terms_of
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.simplify import simplify


def suggest_index_map(
    buffer: Any, indices: Sequence[IntLike], loops: Sequence[Any], predicate: Any = True
) -> IndexMap | None:
    """Return the layout of a buffer in which loops read it from its first to its last element.

    Args:
        buffer: what is read, of `shape`.
        indices: where it is read, for each value of the loops' variables.
        loops: from the outermost to the innermost, as `tir.For`, from 0 on.
        predicate: where it is read at all; the layout is that of all values.

    Returns:
        A dimension for each digit of a loop's variable; None where the indices are not made of
        such digits, or do not reach each element once.
    """
    variables = [loop.loop_var for loop in loops]
    extents = [loop.extent for loop in loops]
    reads = IndexMap(variables, indices)
    names = [f"i{place}" for place in range(len(buffer.shape))]
    strides = row_major([SymExpr.of(dim) for dim in buffer.shape])
    try:
        terms = [
            (term, term.scale * stride)
            for index, stride in zip(reads.final_indices, strides, strict=True)
            for term in terms_of(reads, index, extents)
        ]
    except ExprError:
        return None
    order = {name: place for place, name in enumerate(reads.names)}
    terms.sort(key=lambda each: (order[each[0].digit.name], -(each[0].digit.scale.value or 0)))
    at = sum((SymExpr.var(name) * each for name, each in zip(names, strides, strict=True)),
             SymExpr.const(0))  # fmt: skip
    # What is next to each other in a variable and in the buffer is one digit.
    digits: list[tuple[str, SymExpr, SymExpr, SymExpr]] = []
    for term, scale in terms:
        extent = term.extent
        if digits:
            name, worth, before, count = digits[-1]
            if (name, worth, before) == (
                term.digit.name, term.digit.scale * extent, scale * extent
            ):  # fmt: skip
                digits.pop()
                extent = extent * count
        digits.append((term.digit.name, term.digit.scale, scale, extent))
    facts, _ = IndexMap(names, [at]).ranges(buffer.shape)
    made = IndexMap(names, [simplify(at // scale % count, facts) for *_, scale, count in digits])
    try:
        made.inverse(buffer.shape)
    except ExprError:
        return None
    return made


def is_output_block(schedule: Any, block: BlockRV | str) -> bool:
    """Whether a block of a schedule writes to a parameter of its function."""
    op = schedule._block(block)
    return op in output_blocks(tree.scope_of(op))
