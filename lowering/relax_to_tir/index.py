"""Gather and scatter as prim funcs, after a check of the indices."""

import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import infer_result
from relax_mlir.dialects.relax.ops.index import slice_count
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.prover import can_prove_less_equal
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import (
    INDEX,
    Scalar,
    binary,
    cast,
    select,
)
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.support.axes import broadcast_indices, broadcasts, spatial
from relax_mlir.lowering.relax_to_tir.support.axis_indices import places_of, static_indices
from relax_mlir.lowering.relax_to_tir.support.emit import (
    Legalizer,
    fields_of,
)
from relax_mlir.lowering.relax_to_tir.support.index_checks import (
    check_not_empty,
    checked,
    place_of,
)
from relax_mlir.lowering.relax_to_tir.support.scalar_functions import BINARY

_COMBINE: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "add": BINARY["add"],
    "mul": BINARY["multiply"],
    "min": BINARY["minimum"],
    "max": BINARY["maximum"],
}


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
    places, exact = op.operands[1], False
    known = static_indices(places) is not None and length.value not in (None, 0)
    if mode == "fast" or (known and mode in ("wrap", "clip")):
        looked = places_of(legalizer, op, places, [length], mode=mode)
        places, exact = looked.value, looked.exact
    elif T.tensor_dtype(places.type) == "uint64":
        places = checked(op, places, length, mode)
    elif not can_prove_less_equal(1, length):
        if mode == "nan":
            return None
        check_not_empty(op, product(inner), length)

    def where(builder: PrimFuncBuilder, index: Scalar) -> Scalar:
        if exact:
            return cast(index, INDEX)
        if mode in ("fast", "nan"):
            return place_of(builder, index, length)
        number = cast(index, "int64")
        if mode == "wrap":
            size = cast(builder.symbol(length), "int64") if length.value is None else length.value
            return cast(binary("mod", number, size), INDEX)
        last = cast(builder.symbol(length - 1), "int64")
        return cast(binary("min", binary("max", number, 0), last), INDEX)

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, indices, out = buffers
        source = builder.linear(source) if flat else source
        with builder.nest("take", spatial(out.dims)) as block:
            at = tuple(block)
            index = indices[at[axis : axis + len(inner)]]
            place = where(builder, index)
            value = source[(*at[:axis], place, *at[axis + len(inner) :])]
            if mode == "nan":
                size = cast(builder.symbol(length), "int64")
                number = cast(index, "int64")
                inside = binary("and", number >= 0 - size, number < size)
                value = select(inside, value, cast(math.nan, out.dtype))
            out.store(value, at)

    key = f"{attrs}{places is op.operands[1]}{exact}"
    return legalizer.call_inferred(op, [op.operands[0], places], body, key)


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
    places = places_of(legalizer, op, op.operands[1], [dims[axis]])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, indices, out = buffers
        with builder.nest("gather_elements", spatial(out.dims)) as block:
            at = tuple(block)
            place = places.place(builder, indices[at], dims[axis])
            out.store(source[(*at[:axis], place, *at[axis + 1 :])], at)

    operands = [op.operands[0], places.value]
    return legalizer.call_inferred(op, operands, body, f"{axis}{places.exact}")


def _legalize_gather_nd(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    shapes = _known(op, op.operands)
    if shapes is None:
        return None
    dims, inner = shapes
    batch, depth, outer = attributes(op)["batch_dims"], inner[-1].value, len(inner) - 1
    if depth is None or dims[:batch] != inner[:batch]:
        return None
    lengths = dims[batch : batch + depth]
    places = places_of(legalizer, op, op.operands[1], lengths, columns=True)

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, indices, out = buffers
        with builder.nest("gather_nd", spatial(out.dims)) as block:
            at = tuple(block)
            where = [
                places.place(builder, indices[(*at[:outer], column)], length)
                for column, length in enumerate(lengths)
            ]
            out.store(source[(*at[:batch], *where, *at[outer:])], at)

    operands = [op.operands[0], places.value]
    return legalizer.call_inferred(op, operands, body, f"{batch}{places.exact}")


def _legalize_index_tensor(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    given = fields_of(op, op.operands[1])
    shapes = _known(op, [op.operands[0], *given])
    if shapes is None:
        return None
    dims, *inner = shapes
    common = (T.tensor_dims(infer_result(op)) or [])[: max(map(len, inner))]
    if not all(broadcasts(each, common) for each in inner):
        return None
    places = [
        places_of(legalizer, op, value, [length])
        for value, length in zip(given, dims, strict=False)
    ]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, *indices, out = buffers
        with builder.nest("index_tensor", spatial(out.dims)) as block:
            at = tuple(block)
            outer = at[: len(common)]
            where = [
                here.place(builder, each[broadcast_indices(each.dims, common, outer)], length)
                for here, each, length in zip(places, indices, dims, strict=False)
            ]
            out.store(source[(*where, *at[len(common) :])], at)

    operands = [op.operands[0], *(each.value for each in places)]
    return legalizer.call_inferred(op, operands, body, str([each.exact for each in places]))


def _copy(builder: PrimFuncBuilder, data: Buffer, out: Buffer) -> None:
    with builder.nest("copy", spatial(data.dims)) as block:
        out.store(data[tuple(block)], tuple(block))


def _in_order(dims: Sequence[SymExpr], axes: Sequence[int]) -> list[tuple[str, SymExpr]]:
    """Return loops of which those over some axes may write one element several times."""
    return [("opaque" if i in axes else "spatial", dim) for i, dim in enumerate(dims)]


def _legalize_scatter_elements(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    attrs, shapes = attributes(op), _known(op, op.operands)
    if shapes is None:
        return None
    dims, inner, updated = shapes
    axis = attrs["axis"] % len(dims)
    if inner != updated or not _fits(inner, dims, axis):
        return None
    places = places_of(legalizer, op, op.operands[1], [dims[axis]])
    combine = _COMBINE.get(attrs["reduction"])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, indices, updates, out = buffers
        _copy(builder, data, out)
        with builder.nest("scatter_elements", _in_order(indices.dims, [axis])) as block:
            at = tuple(block)
            place = places.place(builder, indices[at], dims[axis])
            where = (*at[:axis], place, *at[axis + 1 :])
            new = updates[at]
            out.store(new if combine is None else combine(out[where], new), where)

    operands = [op.operands[0], places.value, op.operands[2]]
    return legalizer.call_inferred(op, operands, body, f"{attrs}{places.exact}")


def _legalize_scatter_nd(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    attrs, shapes = attributes(op), _known(op, op.operands)
    if shapes is None:
        return None
    dims, inner, updated = shapes
    depth, outer = inner[-1].value, len(inner) - 1
    if depth is None or updated != [*inner[:-1], *dims[depth:]]:
        return None
    places = places_of(legalizer, op, op.operands[1], dims[:depth], columns=True)
    combine = _COMBINE.get(attrs["reduction"])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, indices, updates, out = buffers
        _copy(builder, data, out)
        with builder.nest("scatter_nd", _in_order(updates.dims, range(outer))) as block:
            at = tuple(block)
            place = [
                places.place(builder, indices[(*at[:outer], column)], dims[column])
                for column in range(depth)
            ]
            where = (*place, *at[outer:])
            new = updates[at]
            out.store(new if combine is None else combine(out[where], new), where)

    operands = [op.operands[0], places.value, op.operands[2]]
    return legalizer.call_inferred(op, operands, body, f"{attrs}{places.exact}")


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


def _legalize_slice_scatter(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    attrs, shapes = attributes(op), _known(op, op.operands)
    if shapes is None:
        return None
    dims, given = shapes
    axis = attrs["axis"] % len(dims)
    start, step = attrs["start"], attrs["step"]
    count = slice_count(start, attrs["end"], step, dims[axis])
    wanted = [count if i == axis else dim for i, dim in enumerate(dims)]
    last = start + (given[axis] - 1) * step
    inside = can_prove_less_equal(0, start) and can_prove_less_equal(last, dims[axis] - 1)
    if given != wanted or not inside or not can_prove_less_equal(1, step):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, source, out = buffers
        _copy(builder, data, out)
        with builder.nest("slice_scatter", spatial(source.dims)) as block:
            at = tuple(block)
            place = at[axis] * builder.size(step) + builder.size(start)
            out.store(source[at], (*at[:axis], place, *at[axis + 1 :]))

    return legalizer.call_inferred(op, list(op.operands), body, str(attrs), uses=[start, step])


def _legalize_reverse_sequence(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    attrs, shapes = attributes(op), _known(op, op.operands)
    if shapes is None:
        return None
    dims, (count,) = shapes
    axis, batch = (attrs[name] % len(dims) for name in ("seq_axis", "batch_axis"))
    if count != dims[batch]:
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, lengths, out = buffers
        with builder.nest("reverse_sequence", spatial(out.dims)) as block:
            at = tuple(block)
            whole = cast(builder.symbol(dims[axis]), "int64")
            length = binary("min", cast(lengths[at[batch]], "int64"), whole)
            here = cast(at[axis], "int64")
            place = cast(select(here < length, length - 1 - here, here), INDEX)
            out.store(data[(*at[:axis], place, *at[axis + 1 :])], at)

    return legalizer.call_inferred(op, list(op.operands), body, str(attrs))


LEGALIZE = {
    "slice_scatter": _legalize_slice_scatter,
    "reverse_sequence": _legalize_reverse_sequence,
    "take": _legalize_take,
    "gather_elements": _legalize_gather_elements,
    "gather_nd": _legalize_gather_nd,
    "index_tensor": _legalize_index_tensor,
    "scatter_elements": _legalize_scatter_elements,
    "scatter_nd": _legalize_scatter_nd,
    "meshgrid": _legalize_meshgrid,
}
