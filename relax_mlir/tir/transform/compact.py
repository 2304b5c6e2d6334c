"""Compaction: buffers shrink to the accessed region."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.scheduled.index import Lin, linear
from relax_mlir.lowering.tir_to_vector.scheduled.partition import value_of
from relax_mlir.lowering.walk import collect
from relax_mlir.tir.transform.functions import each_prim_func
from relax_mlir.tir.transform.regions import TELLS, Span, Touch, touches

_DYNAMIC = ir.ShapedType.get_dynamic_size()


def compact_buffer_allocation(op: ir.Operation) -> None:
    """Shrink each dimension of a buffer to the indices that the block it is allocated in uses.

    Args:
        op: the module, changed in place.
    """

    def change(func: ir.OpView, emit: Emitter) -> None:
        for alloc in collect(func.operation, lambda op: op.name == "memref.alloc"):
            _compact(alloc, emit)

    each_prim_func(op, change)


def _compact(alloc: ir.Operation, emit: Emitter) -> None:
    uses = touches(alloc.results[0], alloc.block)
    if not uses:
        return
    type_ = ir.MemRefType(alloc.results[0].type)
    spans = [_joined(uses, axis) for axis in range(type_.rank)]
    sizes = list(map(_size, type_.shape, spans))
    if sizes == list(type_.shape):
        return
    for touch in uses:
        position = 2 if touch.stores else 1
        with touch.op.location, ir.InsertionPoint(touch.op):
            for axis, span in enumerate(spans):
                if span is None or sizes[axis] == type_.shape[axis]:
                    continue
                index = linear(touch.op.operands[position + axis]).plus(span.base, -1)
                inside = value_of(index.plus(Lin(-span.low)), emit)
                touch.op.operands[position + axis] = emit.index(inside)
    _replace(alloc, sizes, emit)


def _size(size: int, span: Span | None) -> int:
    """Return the size of a dimension of which only a span is used."""
    if span is None:
        return size
    used = span.high - span.low + 1
    return used if size == _DYNAMIC else min(used, size)


def _joined(uses: list[Touch], axis: int) -> Span | None:
    """Return what all accesses together touch of a dimension."""
    spans = [touch.spans[axis] for touch in uses]
    first = spans[0]
    if first is None:
        return None
    low, high = first.low, first.high
    for span in spans[1:]:
        if span is None or span.base != first.base:
            return None
        low, high = min(low, span.low), max(high, span.high)
    return Span(first.base, low, high, True)


def _replace(alloc: ir.Operation, sizes: list[int], emit: Emitter) -> None:
    old = ir.MemRefType(alloc.results[0].type)
    dynamic = iter(alloc.operands)
    kept = []
    for before, size in zip(old.shape, sizes, strict=True):
        if before == _DYNAMIC:
            operand = next(dynamic)
            kept += [operand] if size == _DYNAMIC else []
    attributes = {name: alloc.attributes[name] for name in alloc.attributes}
    if "tir.shape" in attributes:
        dims = attributes["tir.shape"].dims
        attributes["tir.shape"] = Dims.of(
            [d if size == _DYNAMIC else SymExpr.const(size)
             for d, size in zip(dims, sizes, strict=True)]
        )  # fmt: skip
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([len(kept), 0])
    with alloc.location, ir.InsertionPoint(alloc):
        type_ = ir.MemRefType.get(sizes, old.element_type)
        made = ir.Operation.create(
            "memref.alloc", results=[type_], operands=kept, attributes=attributes
        ).results[0]
    alloc.results[0].replace_all_uses_with(made)
    alloc.erase()
    for use in made.uses:
        if use.owner.operation.name in TELLS:
            # Where a block touches it is no function of its iterators alone any more.
            use.owner.operation.attributes["map"] = ir.UnitAttr.get()
