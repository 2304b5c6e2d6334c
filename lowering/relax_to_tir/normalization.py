"""Layer normalisation as a prim func."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.relax.symbolic import product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, cast, unary
from relax_mlir.lowering.relax_to_tir.elementwise import spatial
from relax_mlir.lowering.relax_to_tir.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.limits import ACCUMULATE


def legalize_layer_norm(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise layer normalisation: sums, sums of centred squares, then every element."""
    attrs = read_attributes(op, COMPUTE_OPS["layer_norm"].PARAMS)
    dims = T.tensor_dims(op.operands[0].type)
    if dims is None or op.results[0].type != op.operands[0].type:
        return None
    axes = [axis % len(dims) for axis in attrs["axes"]]
    for value in op.operands[1:]:
        if T.tensor_dims(value.type) != [dims[axis] for axis in axes]:
            return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, gamma, beta, out = buffers
        wide = ACCUMULATE.get(out.dtype, out.dtype)
        rows = [dim for i, dim in enumerate(dims) if i not in axes]
        iters = [("reduction" if i in axes else "spatial", dim) for i, dim in enumerate(dims)]
        count = product([dims[axis] for axis in axes])
        total = builder.alloc("Total", rows, wide)
        spread = builder.alloc("Spread", rows, wide)

        def row(at: Sequence[Scalar]) -> tuple[Scalar, ...]:
            return tuple(value for i, value in enumerate(at) if i not in axes)

        def mean(buffer: Buffer, at: Sequence[Scalar]) -> Scalar:
            return buffer[row(at)] / cast(cast(builder.symbol(count), "int64"), wide)

        with builder.nest("total", iters) as block:
            at = tuple(block)
            with block.init() as init:
                total.store(cast(0, wide), row(init))
            total.store(total[row(at)] + cast(data[at], wide), row(at))
        with builder.nest("spread", iters) as block:
            at = tuple(block)
            with block.init() as init:
                spread.store(cast(0, wide), row(init))
            centred = cast(data[at], wide) - mean(total, at)
            spread.store(spread[row(at)] + centred * centred, row(at))
        with builder.nest("layer_norm", spatial(dims)) as block:
            at = tuple(block)
            inner = tuple(at[axis] for axis in axes)
            value = cast(data[at], wide) - mean(total, at)
            value = value * unary("rsqrt", mean(spread, at) + attrs["epsilon"])
            if attrs["scale"]:
                value = value * cast(gamma[inner], wide)
            if attrs["center"]:
                value = value + cast(beta[inner], wide)
            out.store(cast(value, out.dtype), at)

    return legalizer.call_prim(op, "layer_norm", list(op.operands), body, key=str(attrs))


LEGALIZE = {
    "layer_norm": legalize_layer_norm,
}
