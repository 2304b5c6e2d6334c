"""Normalisations as prim funcs: sums over some axes, then every element."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, cast, unary
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE
from relax_mlir.lowering.relax_to_tir.support.moments import Indices, normalise, sum_over


def _attributes(op: ir.Operation) -> dict[str, Any]:
    return read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)


def _parameters_are(op: ir.Operation, dims: Sequence[SymExpr]) -> bool:
    """Whether factors and shifts certainly have these dimensions."""
    return all(T.tensor_dims(value.type) == list(dims) for value in list(op.operands)[1:])


def legalize_layer_norm(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise layer normalisation: a factor and a shift for each element of the axes."""
    attrs, dims = _attributes(op), T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None
    axes = [axis % len(dims) for axis in attrs["axes"]]
    if not _parameters_are(op, [dims[axis] for axis in axes]):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        normalise(
            builder, "layer_norm", buffers, dims, axes, attrs, tuple,
            lambda at: tuple(at[axis] for axis in axes),
        )  # fmt: skip

    return legalizer.call_inferred(op, list(op.operands), body, str(attrs))


def legalize_rms_norm(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise the division by the root of the mean square."""
    attrs, dims = _attributes(op), T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None
    axes = [axis % len(dims) for axis in attrs["axes"]]
    if not _parameters_are(op, [dims[axis] for axis in axes]):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, weight, out = buffers
        wide = ACCUMULATE.get(out.dtype, out.dtype)
        rows = [dim for i, dim in enumerate(dims) if i not in axes]
        count = builder.symbol(product([dims[axis] for axis in axes]))
        squares = builder.alloc("Squares", rows, wide)

        def square(at: Indices) -> Scalar:
            value = cast(data[tuple(at)], wide)
            return value * value

        sum_over(builder, "squares", dims, axes, squares, square)
        with builder.nest("rms_norm", spatial(dims)) as block:
            at = tuple(block)
            row = tuple(value for i, value in enumerate(at) if i not in axes)
            mean = squares[row] / cast(cast(count, "int64"), wide)
            value = cast(data[at], wide) * unary("rsqrt", mean + attrs["epsilon"])
            value = value * cast(weight[tuple(at[axis] for axis in axes)], wide)
            out.store(cast(value, out.dtype), at)

    return legalizer.call_inferred(op, list(op.operands), body, str(attrs))


def legalize_instance_norm(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise normalisation over any axes with factors by channel."""
    attrs, dims = _attributes(op), T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None
    channel, *axes = (axis % len(dims) for axis in (attrs["channel_axis"], *attrs["axes"]))
    if not _parameters_are(op, [dims[channel]]):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        normalise(
            builder, "instance_norm", buffers, dims, axes, attrs, tuple,
            lambda at: (at[channel],),
        )  # fmt: skip

    return legalizer.call_inferred(op, list(op.operands), body, str(attrs))


def legalize_group_norm(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise normalisation over groups of channels, which become an axis of the domain."""
    attrs, dims = _attributes(op), T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None
    channel, *others = (axis % len(dims) for axis in (attrs["channel_axis"], *attrs["axes"]))
    groups = attrs["num_groups"]
    size = dims[channel] // groups
    if not _parameters_are(op, [dims[channel]]) or size * groups != dims[channel]:
        return None
    domain = [*dims[:channel], SymExpr.const(groups), size, *dims[channel + 1 :]]
    axes = sorted([channel + 1, *(axis + (axis > channel) for axis in others)])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        def index(at: Indices) -> Scalar:
            width: Scalar | int = builder.symbol(size) if size.value is None else size.value
            return at[channel] * width + at[channel + 1]

        normalise(
            builder, "group_norm", buffers, domain, axes, attrs,
            lambda at: (*at[:channel], index(at), *at[channel + 2 :]),
            lambda at: (index(at),),
        )  # fmt: skip

    return legalizer.call_inferred(op, list(op.operands), body, str(attrs))


LEGALIZE = {
    "layer_norm": legalize_layer_norm,
    "rms_norm": legalize_rms_norm,
    "instance_norm": legalize_instance_norm,
    "group_norm": legalize_group_norm,
}
