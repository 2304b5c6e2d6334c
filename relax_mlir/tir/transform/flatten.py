"""Accessing buffers in one dimension."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.expand_copy import is_row_major
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.scheduled.copy import integer_of
from relax_mlir.lowering.walk import collect
from relax_mlir.tir.transform.functions import each_prim_func

_PLACES = {"memref.load": 0, "memref.store": 1}


def flatten_buffer(op: ir.Operation) -> None:
    """Make every access one of a one-dimensional view, its index the element's position.

    Buffers that are not compact stay as they are.

    Args:
        op: the module, changed in place.
    """
    each_prim_func(op, _flatten)


storage_flatten = flatten_buffer


def _flatten(func: ir.OpView, emit: Emitter) -> None:
    flat: dict[ir.Value, ir.Value] = {}
    for op in collect(func.operation, lambda op: op.name in _PLACES):
        position = _PLACES[op.name]
        buffer = op.operands[position]
        if buffer.type.rank == 1 or not is_row_major(buffer.type):
            continue
        with op.location, ir.InsertionPoint(op):
            if buffer not in flat:
                flat[buffer] = _view(buffer, emit)
            where = _position(buffer, list(op.operands)[position + 1 :], emit)
            if position:
                emit.store(op.operands[0], flat[buffer], [where])
            else:
                op.results[0].replace_all_uses_with(emit.load(flat[buffer], [where]))
        op.erase()


def _view(buffer: ir.Value, emit: Emitter) -> ir.Value:
    point = emit.at_entry()
    if not isinstance(buffer.owner, ir.Block):
        point = ir.InsertionPoint.after(buffer.owner)
    with point:
        return emit.flatten(buffer)


def _position(buffer: ir.Value, indices: list[ir.Value], emit: Emitter) -> Index:
    total: Index = 0
    for axis, index in enumerate(indices):
        total = emit.add(emit.mul(total, emit.dim(buffer, axis)), integer_of(index))
    return total
