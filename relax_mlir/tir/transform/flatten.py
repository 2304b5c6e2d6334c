"""Flattening: buffer accesses in one dimension."""

from collections.abc import Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.tir.layout import buffer_type, static
from relax_mlir.lowering.tir_to_llvm.expand_copy import is_row_major
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.scheduled.index import integer_of
from relax_mlir.lowering.walk import collect
from relax_mlir.tir.transform.functions import each_prim_func
from relax_mlir.tir.view import buffers, tree
from relax_mlir.tir.view.accesses import declare
from relax_mlir.tir.view.index import Indices

memref: ModuleType = submodule("dialects.memref")

_PLACES = {"memref.load": 0, "memref.store": 1}


def flatten_buffer(op: ir.Operation) -> None:
    """Make every access one of a one-dimensional view, its index the element's position.

    The views are what `T.decl_buffer((n * m,), data=A.data)` makes, so the result can be printed
    and read. Buffers that are not compact stay as they are.

    Args:
        op: the module, changed in place.
    """
    each_prim_func(op, _flatten)


storage_flatten = flatten_buffer


def _flatten(func: ir.OpView, emit: Emitter) -> None:
    indices = Indices(func.operation)
    flat: dict[ir.Value, ir.Value] = {}
    touched: set[ir.Operation] = set()
    for op in collect(func.operation, lambda op: op.name in _PLACES):
        position = _PLACES[op.name]
        buffer = op.operands[position]
        if buffer.type.rank == 1 or not is_row_major(buffer.type):
            continue
        with op.location, ir.InsertionPoint(op):
            dims = _dims(indices, buffer, emit)
            if buffer not in flat:
                flat[buffer] = _view(indices, buffer, dims)
            where = _position(dims, list(op.operands)[position + 1 :], emit)
            if position:
                emit.store(op.operands[0], flat[buffer], [where])
            else:
                op.results[0].replace_all_uses_with(emit.load(flat[buffer], [where]))
        touched |= {*tree.blocks_around(op)}
        op.erase()
    declare(indices, *collect(func.operation, lambda op: op in touched))


def _dims(indices: Indices, buffer: ir.Value, emit: Emitter) -> list[Index]:
    """Return the shape of a buffer, written at the current insertion point."""
    if isinstance(buffer.owner, ir.Block) and buffers.annotated_dims(buffer) is None:
        return [emit.dim(buffer, axis) for axis in range(buffer.type.rank)]
    dims = buffers.dims_of(indices, buffer)
    return [indices.emit(dim) if dim.value is None else dim.value for dim in dims]


def _view(indices: Indices, buffer: ir.Value, dims: Sequence[Index]) -> ir.Value:
    """Return all elements of a buffer in one row, made where the buffer is."""
    total = product([_expr(indices, dim) for dim in dims])
    owner = buffer.owner
    if isinstance(owner, ir.Block):
        first = next(
            view for view in owner.operations
            if view.operation.name not in ("tir.symbol", "arith.constant", "memref.dim")
        )  # fmt: skip
        point = ir.InsertionPoint(first)
    else:
        point = ir.InsertionPoint.after(owner)
    one = [SymExpr.const(1)]
    type_ = buffer_type([total], buffers.dtype_of(buffer), one, 0)
    with point, ir.Location.name(buffers.name_of(buffer)):
        sizes = [] if total.value is not None else [indices.emit(total)]
        return memref.ReinterpretCastOp(
            type_, buffer, [], sizes, [], static_offsets=[0], static_sizes=static([total]),
            static_strides=[1],
        ).result  # fmt: skip


def _expr(indices: Indices, dim: Index) -> SymExpr:
    return SymExpr.const(dim) if isinstance(dim, int) else indices.lift(dim)


def _position(dims: Sequence[Index], items: Sequence[ir.Value], emit: Emitter) -> Index:
    total: Index = 0
    for dim, item in zip(dims, items, strict=True):
        total = emit.add(emit.mul(total, dim), integer_of(item))
    return total
