"""Contractions as prim funcs: spatial axes of batch, rows and columns, one reduction axis."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, cast
from relax_mlir.lowering.relax_to_tir.elementwise import broadcast_indices, broadcasts, spatial
from relax_mlir.lowering.relax_to_tir.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.limits import ACCUMULATE


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
        wide = ACCUMULATE.get(out.dtype, out.dtype)
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
            term = cast(a[a_at], wide) * cast(b[b_at], wide)
            target.store(target[tuple(at)] + term, tuple(at))
        if target is not out:
            _round(builder, target, out)

    return legalizer.call_prim(op, "matmul", list(op.operands), body)


def _round(builder: PrimFuncBuilder, source: Buffer, out: Buffer) -> None:
    with builder.nest("cast", spatial(out.dims)) as block:
        at: tuple[Scalar, ...] = tuple(block)
        out.store(cast(source[at], out.dtype), at)


LEGALIZE = {"matmul": legalize_matmul}
