"""Tensor creation as prim funcs."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import (
    UNKNOWN,
    constant_value,
    infer_result,
    scalar_constant,
)
from relax_mlir.dialects.relax.ops.create import range_bounds
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, select, unary
from relax_mlir.lowering.relax_to_tir.manipulate import attributes
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer, matched

# From the builder, the operands passed in and an element's place to its value.
Value = Callable[[PrimFuncBuilder, Sequence[Buffer], Sequence[Scalar]], "Scalar | int | float"]


def _made(
    legalizer: Legalizer,
    op: ir.Operation,
    value: Value,
    operands: Sequence[ir.Value] = (),
    uses: Sequence[SymExpr] = (),
) -> ir.Value | None:
    """Legalise an operation whose elements follow from their places."""
    name = op.name.removeprefix("relax.")

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        *sources, out = buffers
        with builder.nest(name, spatial(out.dims)) as block:
            at = tuple(block)
            out.store(cast(value(builder, sources, at), out.dtype), at)

    return legalizer.call_inferred(op, operands, body, str(attributes(op)), uses=uses)


def _full(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    fill = op.operands[1]
    return _made(legalizer, op, lambda builder, sources, at: sources[0][()], [fill])


def _filled(number: int) -> Callable[[Legalizer, ir.Operation], ir.Value | None]:
    return lambda legalizer, op: _made(legalizer, op, lambda builder, sources, at: number)


def _scalar_like(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    value = constant_value(attributes(op)["value"])
    dtype = T.tensor_dtype(infer_result(op))
    if value is UNKNOWN or not dtype:
        return None
    with ir.InsertionPoint(op), op.location:
        return matched(op, scalar_constant(value, dtype))


def _arange(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    start, _, step = range_bounds(attributes(op))
    floating = any(isinstance(item, float) for item in range_bounds(attributes(op)))
    wide = "float64" if floating else "int64"

    def value(builder: PrimFuncBuilder, sources: Sequence[Buffer], at: Sequence[Scalar]) -> Scalar:
        first, by = (_number(builder, item, wide) for item in (start, step))
        return cast(at[0], wide) * by + first

    uses = [item for item in (start, step) if isinstance(item, SymExpr)]
    return _made(legalizer, op, value, uses=uses)


def _number(builder: PrimFuncBuilder, value: Any, dtype: str) -> Scalar:
    if isinstance(value, SymExpr):
        value = builder.symbol(value) if value.value is None else value.value
    return cast(value, dtype)


def _eye(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    k = attributes(op)["k"]
    dtype = T.tensor_dtype(infer_result(op))
    if not dtype:
        return None
    return _made(
        legalizer,
        op,
        lambda builder, sources, at: select(
            at[1] - at[0] == builder.symbol(k), cast(1, dtype), cast(0, dtype)
        ),
        uses=[k],
    )


def _triangle(lower: bool) -> Callable[[Legalizer, ir.Operation], ir.Value | None]:
    def legalize(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
        k = attributes(op)["k"]

        def value(
            builder: PrimFuncBuilder, sources: Sequence[Buffer], at: Sequence[Scalar]
        ) -> Scalar:
            distance, diagonal = at[-1] - at[-2], builder.symbol(k)
            kept = distance <= diagonal if lower else distance >= diagonal
            return select(kept, sources[0][tuple(at)], cast(0, sources[0].dtype))

        return _made(legalizer, op, value, [op.operands[0]], [k])

    return legalize


def _one_hot(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    attrs, result = attributes(op), infer_result(op)
    if T.tensor_dims(result) is None:
        return None
    axis, dtype = attrs["axis"] % T.tensor_ndim(result), T.tensor_dtype(result)

    def value(builder: PrimFuncBuilder, sources: Sequence[Buffer], at: Sequence[Scalar]) -> Scalar:
        index = sources[0][tuple(i for place, i in enumerate(at) if place != axis)]
        hot = cast(index, "int64") == cast(at[axis], "int64")
        on, off = (_number(builder, attrs[name], dtype) for name in ("on_value", "off_value"))
        return select(hot, on, off)

    return _made(legalizer, op, value, [op.operands[0]])


def _hamming_window(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    attrs = attributes(op)
    size, dtype = attrs["window_size"], T.tensor_dtype(infer_result(op))

    def value(builder: PrimFuncBuilder, sources: Sequence[Buffer], at: Sequence[Scalar]) -> Scalar:
        steps = builder.symbol(size if attrs["periodic"] else size - 1)
        turn = cast(at[0], "float64") * (2 * math.pi) / cast(binary("max", steps, 1), "float64")
        wave = cast(attrs["alpha"], "float64") - unary("cos", turn) * attrs["beta"]
        return cast(select(builder.symbol(size) == 1, cast(1.0, "float64"), wave), dtype)

    return _made(legalizer, op, value, uses=[size])


LEGALIZE = {
    "hamming_window": _hamming_window,
    "full": _full,
    "full_like": _full,
    "zeros": _filled(0),
    "zeros_like": _filled(0),
    "ones": _filled(1),
    "ones_like": _filled(1),
    "scalar_like": _scalar_like,
    "arange": _arange,
    "eye": _eye,
    "eye_like": _eye,
    "tril": _triangle(True),
    "triu": _triangle(False),
    "one_hot": _one_hot,
}
