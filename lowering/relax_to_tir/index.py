"""Reading and writing at indices as prim funcs, which get indices that were checked before."""

import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.ops.base import infer_result
from relax_mlir.dialects.relax.prover import can_prove_less_equal
from relax_mlir.dialects.relax.symbolic import SymExpr, product
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, select
from relax_mlir.lowering.relax_to_tir.elementwise import (
    broadcast_indices,
    broadcasts,
    spatial,
)
from relax_mlir.lowering.relax_to_tir.emit import (
    LIBRARY_PREFIX,
    Legalizer,
    call_pure_packed,
    fields_of,
)
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.scalar_functions import BINARY

_COMBINE: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "add": BINARY["add"],
    "mul": BINARY["multiply"],
    "min": BINARY["minimum"],
    "max": BINARY["maximum"],
}


def integer(value: SymExpr) -> ir.Value:
    """Create a symbolic integer as an operand of a call."""
    return ir.Operation.create(
        "relax.prim_value",
        results=[ir.IntegerType.get_signless(64)],
        attributes={"value": Dims.of([value])},
    ).result


def _checked(op: ir.Operation, indices: ir.Value, length: SymExpr, mode: str = "fast") -> ir.Value:
    """Return the indices as `int64` from 0 to below a length, checked before the operation.

    A kernel that trusts them reads and writes nothing outside of its buffers.
    """
    type_ = T.tensor_type(T.tensor_dims(indices.type), "int64")
    with ir.InsertionPoint(op), op.location:
        return call_pure_packed(
            f"{LIBRARY_PREFIX}check_indices",
            [indices, integer(length)],
            type_,
            [ir.StringAttr.get(mode)],
        )


def _checked_columns(op: ir.Operation, indices: ir.Value, lengths: Sequence[SymExpr]) -> ir.Value:
    """As `_checked`, for indices whose last axis has a place for each of the dimensions."""
    type_ = T.tensor_type(T.tensor_dims(indices.type), "int64")
    with ir.InsertionPoint(op), op.location:
        integers = make_tuple([integer(length) for length in lengths])
        return call_pure_packed(f"{LIBRARY_PREFIX}check_columns", [indices, integers], type_)


def _known(op: ir.Operation, values: Sequence[ir.Value]) -> list[list[SymExpr]] | None:
    """Return the dimensions of operands, None unless a prim func can be made of them."""
    types = [value.type for value in values]
    result = infer_result(op)
    if not all(T.tensor_dtype(type_) for type_ in types) or T.tensor_dims(result) is None:
        return None
    return T.all_dims(types)


def _legalize_take(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    attrs, shapes = attributes(op), _known(op, op.operands)
    if shapes is None:
        return None
    dims, inner = shapes
    flat, mode = attrs["axis"] is None, attrs["mode"]
    axis = 0 if flat else attrs["axis"] % len(dims)
    length = product(dims) if flat else dims[axis]
    if mode == "nan" and not can_prove_less_equal(1, length):
        return None
    places = _checked(op, op.operands[1], length, mode)

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, indices, out = buffers
        source = builder.linear(source) if flat else source
        with builder.nest("take", spatial(out.dims)) as block:
            at = tuple(block)
            place = indices[at[axis : axis + len(inner)]]
            safe = binary("max", place, 0) if mode == "nan" else place
            value = source[(*at[:axis], safe, *at[axis + len(inner) :])]
            if mode == "nan":
                value = select(place < 0, cast(math.nan, out.dtype), value)
            out.store(value, at)

    return legalizer.call_inferred(op, [op.operands[0], places], body, str(attrs))


def _fits(inner: Sequence[SymExpr], outer: Sequence[SymExpr], axis: int) -> bool:
    """Whether dimensions other than `axis` are certainly not longer."""
    pairs = [pair for i, pair in enumerate(zip(inner, outer, strict=True)) if i != axis]
    return all(can_prove_less_equal(a, b) for a, b in pairs)


def _legalize_gather_elements(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    shapes = _known(op, op.operands)
    if shapes is None:
        return None
    dims, inner = shapes
    axis = attributes(op)["axis"] % len(dims)
    if not _fits(inner, dims, axis):
        return None
    places = _checked(op, op.operands[1], dims[axis])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, indices, out = buffers
        with builder.nest("gather_elements", spatial(out.dims)) as block:
            at = tuple(block)
            out.store(source[(*at[:axis], indices[at], *at[axis + 1 :])], at)

    return legalizer.call_inferred(op, [op.operands[0], places], body, str(axis))


def _legalize_gather_nd(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    shapes = _known(op, op.operands)
    if shapes is None:
        return None
    dims, inner = shapes
    batch, depth, outer = attributes(op)["batch_dims"], inner[-1].value, len(inner) - 1
    if depth is None or dims[:batch] != inner[:batch]:
        return None
    places = _checked_columns(op, op.operands[1], dims[batch : batch + depth])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, indices, out = buffers
        with builder.nest("gather_nd", spatial(out.dims)) as block:
            at = tuple(block)
            where = [indices[(*at[:outer], column)] for column in range(depth)]
            out.store(source[(*at[:batch], *where, *at[outer:])], at)

    return legalizer.call_inferred(op, [op.operands[0], places], body, str(batch))


def _legalize_index_tensor(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    given = fields_of(op, op.operands[1])
    shapes = _known(op, [op.operands[0], *given])
    if shapes is None:
        return None
    dims, *inner = shapes
    common = (T.tensor_dims(infer_result(op)) or [])[: max(map(len, inner))]
    if not all(broadcasts(each, common) for each in inner):
        return None
    places = [_checked(op, value, dims[i]) for i, value in enumerate(given)]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, *indices, out = buffers
        with builder.nest("index_tensor", spatial(out.dims)) as block:
            at = tuple(block)
            outer = at[: len(common)]
            where = [each[broadcast_indices(each.dims, common, outer)] for each in indices]
            out.store(source[(*where, *at[len(common) :])], at)

    return legalizer.call_inferred(op, [op.operands[0], *places], body)


def _copy(builder: PrimFuncBuilder, data: Buffer, out: Buffer) -> None:
    with builder.nest("copy", spatial(data.dims)) as block:
        out.store(data[tuple(block)], tuple(block))


def _in_order(dims: Sequence[SymExpr]) -> list[tuple[str, SymExpr]]:
    """Return axes whose steps may write one element several times, so that their order counts."""
    return [("opaque", dim) for dim in dims]


def _legalize_scatter_elements(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    attrs, shapes = attributes(op), _known(op, op.operands)
    if shapes is None:
        return None
    dims, inner, updated = shapes
    axis = attrs["axis"] % len(dims)
    if inner != updated or not _fits(inner, dims, axis):
        return None
    places = _checked(op, op.operands[1], dims[axis])
    combine = _COMBINE.get(attrs["reduction"])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, indices, updates, out = buffers
        _copy(builder, data, out)
        with builder.nest("scatter_elements", _in_order(indices.dims)) as block:
            at = tuple(block)
            where = (*at[:axis], indices[at], *at[axis + 1 :])
            new = updates[at]
            out.store(new if combine is None else combine(out[where], new), where)

    operands = [op.operands[0], places, op.operands[2]]
    return legalizer.call_inferred(op, operands, body, str(attrs))


def _legalize_scatter_nd(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    attrs, shapes = attributes(op), _known(op, op.operands)
    if shapes is None:
        return None
    dims, inner, updated = shapes
    depth, outer = inner[-1].value, len(inner) - 1
    if depth is None or updated != [*inner[:-1], *dims[depth:]]:
        return None
    places = _checked_columns(op, op.operands[1], dims[:depth])
    combine = _COMBINE.get(attrs["reduction"])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, indices, updates, out = buffers
        _copy(builder, data, out)
        with builder.nest("scatter_nd", _in_order(updates.dims)) as block:
            at = tuple(block)
            place = [indices[(*at[:outer], column)] for column in range(depth)]
            where = (*place, *at[outer:])
            new = updates[at]
            out.store(new if combine is None else combine(out[where], new), where)

    operands = [op.operands[0], places, op.operands[2]]
    return legalizer.call_inferred(op, operands, body, str(attrs))


def _legalize_meshgrid(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    values = fields_of(op, op.operands[0])
    order = list(range(len(values)))
    if attributes(op)["indexing"] == "xy" and len(values) > 1:
        order[:2] = 1, 0

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        for i, (source, out) in enumerate(
            zip(buffers[: len(values)], buffers[len(values) :], strict=True)
        ):
            with builder.nest("meshgrid", spatial(out.dims)) as block:
                at = tuple(block)
                out.store(source[(at[order[i]],) if source.dims else ()], at)

    return legalizer.call_inferred(op, values, body, str(order))


LEGALIZE = {
    "take": _legalize_take,
    "gather_elements": _legalize_gather_elements,
    "gather_nd": _legalize_gather_nd,
    "index_tensor": _legalize_index_tensor,
    "scatter_elements": _legalize_scatter_elements,
    "scatter_nd": _legalize_scatter_nd,
    "meshgrid": _legalize_meshgrid,
}
