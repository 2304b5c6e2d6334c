"""Where rows are kept, so that no load of their source waits for a store to them.

A load whose address ends in the same twelve bits as that of a store before it waits for that store,
though it is of another place. So rows lie where their places end just before those of the source:
the store before a load that ends as it does is that of a page before, which is long done.
"""

import itertools

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.row_memory import Overwritten

# Bytes: what addresses are compared in, what rows are aligned to, and how far behind they are.
_PAGE, _LINE, _BEHIND = 4096, 64, 512
_ONE = SymExpr.const(1)


def sources_of(group: list[FlatNest], over: list[Overwritten]) -> dict[ir.Value, ir.Value]:
    """Return the results whose rows are stored and read again, and what they are made of.

    What only the nest after the one that writes it reads is in no memory, and has no address. Nests
    that read no other memory along their rows have no source.
    """
    found = {}
    for each in over:
        source = _walked(group, each.buffer)
        if source is not None and _read_again(group, each.buffer):
            found[each.buffer] = source
    return found


def spare(buffer: ir.Value) -> int:
    """Return the elements that memory for rows of a buffer needs more to be moved."""
    return _PAGE // _bytes(buffer)


def behind(rows: ir.Value, source: ir.Value, emit: Emitter) -> ir.Value:
    """Return memory for rows, without what it has to spare, from the place behind a source's on."""
    pointer = "memref.extract_aligned_pointer_as_index"
    start, own = (emit.op(pointer, [buffer], emit.index_type) for buffer in (source, rows))
    apart = emit.index(emit.sub(emit.sub(start, _BEHIND), own))
    first = emit.op("arith.andi", [apart, emit.index(_PAGE - _LINE)], emit.index_type)
    size = emit.sub(emit.dim(rows, 0), spare(rows))
    return emit.from_place(rows, emit.div(first, _bytes(rows)), size)


def _walked(group: list[FlatNest], result: ir.Value) -> ir.Value | None:
    """Return the first buffer from elsewhere that is read along rows, None if there is none."""
    for flat in group:
        for op in flat.slice:
            access = flat.accesses.get(op)
            if access is None or access.in_rows or access.buffer == result:
                continue
            if access.strides[-1:] == [_ONE]:
                return access.buffer
    return None


def _read_again(group: list[FlatNest], buffer: ir.Value) -> bool:
    """Whether a nest reads a buffer, and not what the nest before it just wrote there."""
    return any(
        any(op in flat.accesses and flat.accesses[op].buffer == buffer for op in flat.slice)
        and before.written != buffer
        for before, flat in itertools.pairwise(group)
    )


def _bytes(buffer: ir.Value) -> int:
    return max(8, buffer.type.element_type.width) // 8
