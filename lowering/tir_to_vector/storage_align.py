"""Strides that blocks ask for by `buffer_dim_align`: padded rows, or a strided view."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.layout import buffer_type, static
from relax_mlir.lowering.tir_to_vector.symbols import size_value
from relax_mlir.lowering.walk import collect, defining_op, is_below, root

memref: ModuleType = submodule("dialects.memref")

KEY = "buffer_dim_align"
_ONE = SymExpr.const(1)
# Uses that hold for a buffer with longer rows or other strides.
_ELEMENTS = ("memref.load", "memref.store", "tir.reads", "tir.writes")
_NO_WRITES = ("memref.load", "tir.", "memref.dim", "memref.dealloc")


@dataclass(frozen=True)
class _Wish:
    """A stride that is to be `k * factor + offset`."""

    axis: int
    factor: int
    offset: int


def align_storage(func: ir.OpView) -> None:
    """Give buffers of a prim func the strides that annotations of their writers ask for.

    Padded rows keep the buffer row-major, which all fast paths accept. A stride that is no multiple
    of the next one makes the buffer a view of flat memory. A buffer with uses other than element
    accesses stays dense.
    """
    wishes: dict[ir.Value, dict[int, _Wish]] = {}
    for block in collect(func.operation, lambda op: op.name == "tir.block"):
        entries = list(_entries(block))
        written = _written(block) if entries else []
        for number, wish in entries:
            if 0 <= number < len(written) and wish.factor > 0:
                wishes.setdefault(written[number], {})[wish.axis] = wish
    for buffer, own in wishes.items():
        alloc = defining_op(buffer, "memref.alloc")
        if alloc is None:
            continue
        if all(use.owner.operation.name in _ELEMENTS for use in buffer.uses):
            _align(alloc, own)


def _entries(block: ir.Operation) -> Iterator[tuple[int, _Wish]]:
    """Yield a block's annotations: the number of the buffer it writes, and the stride."""
    noted = block.attributes.get("annotations")
    entries = noted[KEY] if isinstance(noted, ir.DictAttr) and KEY in noted else None
    for entry in entries if isinstance(entries, ir.ArrayAttr) else ():
        numbers = list(entry) if isinstance(entry, ir.ArrayAttr) else []
        if len(numbers) == 4 and all(isinstance(n, ir.IntegerAttr) for n in numbers):
            number, axis, factor, offset = (ir.IntegerAttr(n).value for n in numbers)
            yield number, _Wish(axis, factor, offset)


def _written(block: ir.Operation) -> list[ir.Value]:
    """Return the buffers that a block may write, in the order in which schedules count them."""
    result: dict[ir.Value, None] = {}
    for op in collect(block, lambda op: op != block):
        if op.name.startswith(_NO_WRITES):
            continue
        values = [op.operands[1]] if op.name == "memref.store" else list(op.operands)
        for value in values:
            if isinstance(value.type, ir.MemRefType):
                base = root(value)
                if isinstance(base.owner, ir.Block) or not is_below(base.owner.operation, block):
                    result[base] = None
    return list(result)


def _align(alloc: ir.Operation, wishes: dict[int, _Wish]) -> None:
    if "tir.shape" not in alloc.attributes:
        return
    dims = list(alloc.attributes["tir.shape"].maybe_downcast().dims)
    if any(dim.value == 0 for dim in dims):
        return
    strides, step = [], _ONE
    for axis in range(len(dims) - 1, -1, -1):
        if axis in wishes:
            step = aligned(step, wishes[axis].factor, wishes[axis].offset)
        strides.insert(0, step)
        step = step * dims[axis]
    padded = _padded(dims, strides)
    if padded == dims:
        return
    known, element = alloc.attributes.get("tir.dtype"), alloc.result.type.element_type
    dtype = T.dtype_of_element(element) if known is None else known.value
    with ir.InsertionPoint(alloc), alloc.location:
        made = _alloc(alloc, [step] if padded is None else padded, dtype)
        if padded is None:
            made = _view(made, dims, strides, dtype)
    alloc.results[0].replace_all_uses_with(made)
    alloc.erase()


def aligned(stride: SymExpr, factor: int, offset: int) -> SymExpr:
    """Return the least number from a stride on that is a multiple of `factor` plus `offset`."""
    short = factor + offset % factor - stride
    return stride + (short - short // factor * factor)


def _padded(dims: Sequence[SymExpr], strides: Sequence[SymExpr]) -> list[SymExpr] | None:
    """Return the shape with these row-major strides, None if there is none."""
    if not strides or strides[-1] != _ONE:
        return None
    result = [dims[0]]
    for dim, outer, inner in zip(dims[1:], strides, strides[1:], strict=False):
        if outer == inner * dim:
            result.append(dim)
        elif inner == _ONE:
            result.append(outer)
        elif outer.value is not None and inner.value and outer.value % inner.value == 0:
            result.append(SymExpr.const(outer.value // inner.value))
        else:
            return None
    return result


def _alloc(alloc: ir.Operation, dims: Sequence[SymExpr], dtype: str) -> ir.Value:
    made = memref.AllocOp(buffer_type(dims, dtype), _sizes(dims), []).operation
    for key in alloc.attributes:
        if key != "operandSegmentSizes":
            made.attributes[key] = alloc.attributes[key]
    made.attributes["tir.shape"] = Dims.of(list(dims))
    return made.results[0]


def _view(
    flat: ir.Value, dims: Sequence[SymExpr], strides: Sequence[SymExpr], dtype: str
) -> ir.Value:
    made = memref.ReinterpretCastOp(
        buffer_type(dims, dtype, strides), flat, [], _sizes(dims), _sizes(strides),
        static_offsets=[0], static_sizes=static(dims), static_strides=static(strides),
    ).operation  # fmt: skip
    made.attributes["tir.shape"] = Dims.of(list(dims))
    made.attributes["tir.strides"] = Dims.of(list(strides))
    made.attributes["tir.dtype"] = ir.StringAttr.get(dtype)
    return made.results[0]


def _sizes(dims: Sequence[SymExpr]) -> list[ir.Value]:
    return [size_value(dim) for dim in dims if dim.value is None]
