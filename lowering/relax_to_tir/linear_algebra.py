"""Contractions as prim funcs: batch, row and column axes, one reduction axis."""

import functools
import operator
from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.einsum import (
    Subscripts,
    expand_ellipsis,
    parse_subscripts,
)
from relax_mlir.dialects.relax.ops.base import (
    COMPUTE_OPS,
    infer_result,
    is_absent,
    read_attributes,
)
from relax_mlir.dialects.relax.ops.linear_algebra import einsum_sizes
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, cast
from relax_mlir.lowering.relax_to_tir.support.axes import broadcast_indices, broadcasts, spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer, fields_of
from relax_mlir.lowering.relax_to_tir.support.limits import ADD_UP_IN


def legalize_matmul(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise numpy-style matmul."""
    shapes = T.all_dims(value.type for value in (*op.operands, op.results[0]))
    if shapes is None:
        return None
    a_dims, b_dims, out_dims = shapes
    inner = a_dims[-1], b_dims[-2] if len(b_dims) > 1 else b_dims[-1]
    if inner[0] != inner[1]:
        return None
    rows, columns = len(a_dims) > 1, len(b_dims) > 1
    batch = out_dims[: len(out_dims) - rows - columns]
    if not all(broadcasts(dims, batch) for dims in (a_dims[:-2], b_dims[:-2])):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        a, b, out = buffers
        wide = ADD_UP_IN.get(out.dtype, out.dtype)
        target = out if wide == out.dtype else builder.alloc("Sum", out.dims, wide)
        axes = [*spatial(out.dims), ("reduction", a.dims[-1])]
        with builder.nest("matmul", axes) as block:
            *at, k = block
            lead = at[: len(batch)]
            row = at[len(batch) : len(batch) + rows]
            column = at[len(batch) + rows :]
            a_at = (*broadcast_indices(a.dims[:-2], batch, lead), *row, k)
            b_at = (*broadcast_indices(b.dims[:-2], batch, lead), k, *column)
            with block.init() as init:
                target.store(cast(0, wide), tuple(init[:-1]))
            before = target[tuple(at)]
            term = cast(a[a_at], wide) * cast(b[b_at], wide)
            target.store(before + term, tuple(at))
        if target is not out:
            _round(builder, target, out)

    return legalizer.call_prim(op, "matmul", list(op.operands), body)


def _round(builder: PrimFuncBuilder, source: Buffer, out: Buffer) -> None:
    with builder.nest("cast", spatial(out.dims)) as block:
        at: tuple[Scalar, ...] = tuple(block)
        out.store(cast(source[at], out.dtype), at)


def legalize_linear(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a product with a weight that stays as it lies in memory, and the bias after it."""
    data, weight, bias = op.operands
    a_dims, b_dims = T.tensor_dims(data.type), T.tensor_dims(weight.type)
    out_dims = T.tensor_dims(infer_result(op))
    if a_dims is None or b_dims is None or out_dims is None or a_dims[-1] != b_dims[-1]:
        return None
    spare = len(a_dims) - 1 + len(b_dims) - 1
    biased = not is_absent(bias)
    if biased:
        bias_dims = T.tensor_dims(bias.type)
        # A bias may broadcast the product rather than the other way round.
        if bias_dims is None or len(out_dims) != spare or not broadcasts(bias_dims, out_dims):
            return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        (a, b, *added), out = buffers[:-1], buffers[-1]
        wide = ADD_UP_IN.get(out.dtype, out.dtype)
        whole = wide == out.dtype
        target = out if whole else builder.alloc("Sum", out.dims, wide)
        with builder.nest("linear", [*spatial(out.dims), ("reduction", a.dims[-1])]) as block:
            *at, k = block
            row, column = at[: len(a_dims) - 1], at[len(a_dims) - 1 :]
            with block.init() as init:
                target.store(cast(0, wide), tuple(init[:-1]))
            before = target[tuple(at)]
            term = cast(a[(*row, k)], wide) * cast(b[(*column, k)], wide)
            target.store(before + term, tuple(at))
        if added:
            with builder.nest("bias", spatial(out.dims)) as block:
                at = tuple(block)
                value = added[0][broadcast_indices(added[0].dims, out.dims, at)]
                out.store(cast(target[at] + cast(value, wide), out.dtype), at)
        elif not whole:
            _round(builder, target, out)

    operands = [data, weight, bias] if biased else [data, weight]
    return legalizer.call_inferred(op, operands, body)


def legalize_outer(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise all products of two vectors."""
    return _contract(legalizer, op, list(op.operands), Subscripts((("i",), ("j",)), ("i", "j")))


def legalize_einsum(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a sum of products; those of many operands were decomposed before."""
    operands = fields_of(op, op.operands[0])
    ranks = [T.tensor_ndim(value.type) for value in operands]
    if -1 in ranks:
        return None
    text = read_attributes(op, COMPUTE_OPS["einsum"].PARAMS)["subscripts"]
    subscripts = expand_ellipsis(parse_subscripts(text, len(operands)), ranks)
    return _contract(legalizer, op, operands, subscripts)


def _contract(
    legalizer: Legalizer, op: ir.Operation, operands: list[ir.Value], subscripts: Subscripts
) -> ir.Value | None:
    shapes = [T.tensor_dims(value.type) for value in operands]
    sizes = einsum_sizes(subscripts, shapes)
    if sizes is None:
        return None
    for items, dims in zip(subscripts.inputs, shapes, strict=True):
        for item, dim in zip(items, dims or (), strict=True):
            if dim not in (1, sizes[item]):
                return None
    summed = [item for item in sizes if item not in subscripts.output]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        *sources, out = buffers
        wide = ADD_UP_IN.get(out.dtype, out.dtype)
        target = out if wide == out.dtype else builder.alloc("Sum", out.dims, wide)
        iters = [*spatial(out.dims), *(("reduction", sizes[item]) for item in summed)]
        with builder.nest("einsum", iters) as block:
            place = dict(zip((*subscripts.output, *summed), block, strict=True))
            terms = [
                cast(source[_indices(source.dims, items, sizes, place)], wide)
                for source, items in zip(sources, subscripts.inputs, strict=True)
            ]
            value = functools.reduce(operator.mul, terms)
            at = tuple(place[item] for item in subscripts.output)
            if summed:
                with block.init() as init:
                    target.store(cast(0, wide), tuple(init[: len(at)]))
                value = target[at] + value
            target.store(value, at)
        if target is not out:
            _round(builder, target, out)

    return legalizer.call_inferred(op, operands, body, str(subscripts))


def _indices(
    dims: Sequence[SymExpr],
    items: Sequence[str],
    sizes: dict[str, SymExpr],
    place: dict[str, Scalar],
) -> tuple[Scalar | int, ...]:
    return tuple(
        place[item] if dim == sizes[item] else 0 for item, dim in zip(items, dims, strict=True)
    )


LEGALIZE = {
    "matmul": legalize_matmul,
    "linear": legalize_linear,
    "outer": legalize_outer,
    "einsum": legalize_einsum,
}
