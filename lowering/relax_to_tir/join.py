"""Concatenation and splitting as prim funcs: one copy for each operand or part."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import normalize_axes
from relax_mlir.dialects.relax.ops.base import infer_result
from relax_mlir.dialects.relax.ops.join import slice_plan
from relax_mlir.dialects.relax.slices import is_inbound, split_points
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.lowering.relax_to_tir.manipulate import attributes, injective
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer, fields_of


def _shifted(at: Sequence[Scalar], axis: int, by: Scalar | None) -> tuple[Scalar, ...]:
    if by is None:
        return tuple(at)
    return tuple(index + by if place == axis else index for place, index in enumerate(at))


def _offset(builder: PrimFuncBuilder, by: SymExpr) -> Scalar | None:
    return None if by == 0 else builder.symbol(by)


def legalize_concat(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise tensors one after another, their other dimensions certainly the same."""
    result = T.tensor_dims(infer_result(op))
    values = fields_of(op, op.operands[0])
    shapes = T.all_dims(value.type for value in values)
    if result is None or shapes is None:
        return None
    axis = (attributes(op)["axis"] or 0) % len(result)
    if not all(a == b for dims in shapes for a, b in _others(dims, result, axis)):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        *sources, out = buffers
        offset = SymExpr.const(0)
        for source in sources:
            by = _offset(builder, offset)
            with builder.nest("concat", spatial(source.dims)) as block:
                at = tuple(block)
                out.store(source[at], _shifted(at, axis, by))
            offset = offset + source.dims[axis]

    return legalizer.call_inferred(op, values, body, str(axis))


def _others(
    dims: Sequence[SymExpr], result: Sequence[SymExpr], axis: int
) -> list[tuple[SymExpr, SymExpr]]:
    return [pair for i, pair in enumerate(zip(dims, result, strict=True)) if i != axis]


def legalize_stack(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise tensors of certainly one shape along a new axis."""
    values = fields_of(op, op.operands[0])
    shapes = T.all_dims(value.type for value in values)
    if shapes is None or not all(dims == shapes[0] for dims in shapes):
        return None
    (axis,) = normalize_axes([attributes(op)["axis"]], len(shapes[0]) + 1)

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        *sources, out = buffers
        for place, source in enumerate(sources):
            with builder.nest("stack", spatial(source.dims)) as block:
                at = tuple(block)
                out.store(source[at], (*at[:axis], place, *at[axis:]))

    return legalizer.call_inferred(op, values, body, str(axis))


def legalize_split(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise the parts of a tensor: one prim func that writes them all."""
    attrs, dims = attributes(op), T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None
    axis = attrs["axis"] % len(dims)
    pieces = split_points(attrs["indices_or_sections"], dims[axis])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, *outs = buffers
        for out, (begin, _) in zip(outs, pieces, strict=True):
            by = _offset(builder, begin)
            with builder.nest("split", spatial(out.dims)) as block:
                at = tuple(block)
                out.store(source[_shifted(at, axis, by)], at)

    return legalizer.call_inferred(op, [op.operands[0]], body, str(attrs))


def legalize_strided_slice(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a slice; one only said to be inside is left to the library, which looks."""
    attrs, dims = attributes(op), T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None
    _, starts = slice_plan(dims, attrs)
    if attrs["assume_inbound"]:
        axes = normalize_axes(attrs["axes"], len(dims))
        for axis, begin, end in zip(axes, attrs["begin"], attrs["end"], strict=True):
            if not is_inbound(begin, end, starts[axis][1], dims[axis]):
                return None

    def source(builder: PrimFuncBuilder, data: Buffer, at: Sequence[Scalar]) -> tuple[Scalar, ...]:
        result = list(at)
        for axis, (start, stride) in starts.items():
            if stride != 1:
                result[axis] = result[axis] * stride
            if start != 0:
                result[axis] = result[axis] + builder.symbol(start)
        return tuple(result)

    return injective(legalizer, op, source, uses=[start for start, _ in starts.values()])


LEGALIZE = {
    "concat": legalize_concat,
    "stack": legalize_stack,
    "split": legalize_split,
    "strided_slice": legalize_strided_slice,
}
