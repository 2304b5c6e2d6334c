"""Softmax as a prim func: row maximum, exponentials, row sum, quotient."""

import math
from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, unary
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE


def legalize_softmax(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise softmax and log_softmax along any axis."""
    name = op.name.removeprefix("relax.")
    ndim = T.tensor_ndim(op.operands[0].type)
    if ndim <= 0:
        return None
    axis = read_attributes(op, COMPUTE_OPS[name].PARAMS)["axis"] % ndim

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        wide = ACCUMULATE.get(out.dtype, out.dtype)
        rows = [dim for i, dim in enumerate(source.dims) if i != axis]
        axes = [("reduction" if i == axis else "spatial", d) for i, d in enumerate(source.dims)]
        peak = builder.alloc("Peak", rows, wide)
        total = builder.alloc("Total", rows, wide)
        # Exponentials are needed again: they lie in the output where it is wide enough.
        reuse = name == "softmax"
        in_place = wide == out.dtype
        exps = out if in_place else builder.alloc("Exps", source.dims, wide)

        def row(at: Sequence[Scalar]) -> tuple[Scalar, ...]:
            return tuple(value for i, value in enumerate(at) if i != axis)

        with builder.nest("peak", axes) as block:
            at = tuple(block)
            with block.init() as init:
                peak.store(cast(-math.inf, wide), row(init))
            peak.store(binary("max", peak[row(at)], cast(source[at], wide)), row(at))
        with builder.nest("exps", spatial(source.dims)) as block:
            at = tuple(block)
            exps.store(unary("exp", cast(source[at], wide) - peak[row(at)]), at)
        with builder.nest("total", axes) as block:
            at = tuple(block)
            with block.init() as init:
                total.store(cast(0, wide), row(init))
            total.store(total[row(at)] + exps[at], row(at))
        with builder.nest("scale", spatial(rows)) as block:
            at = tuple(block)
            whole = total[at]
            total.store(cast(1, wide) / whole if reuse else unary("log", whole), at)
        with builder.nest(name, spatial(source.dims)) as block:
            at = tuple(block)
            if reuse:
                value = exps[at] * total[row(at)]
            else:
                shifted = cast(source[at], wide) - peak[row(at)]
                value = shifted - total[row(at)]
            out.store(cast(value, out.dtype), at)

    return legalizer.call_prim(op, name, [op.operands[0]], body, key=str(axis))


LEGALIZE = {"softmax": legalize_softmax, "log_softmax": legalize_softmax}
