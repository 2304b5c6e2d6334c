"""Attention as a prim func: scores, their softmax in place, the sum of values."""

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.attention import bias_dims
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, is_absent, read_attributes
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, compare, select, unary
from relax_mlir.lowering.relax_to_tir.elementwise import broadcast_indices, broadcasts, spatial
from relax_mlir.lowering.relax_to_tir.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.limits import ACCUMULATE


def legalize_attention(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise attention; a query that may see no key gets zeros."""
    attrs = read_attributes(op, COMPUTE_OPS["attention"].PARAMS)
    operands = [value for value in op.operands if not is_absent(value)]
    shapes = T.all_dims(value.type for value in operands)
    if shapes is None:
        return None
    query, key, value, *added = shapes
    if [query[0], query[2], query[3]] != [key[0], key[2], key[3]] or key[:3] != value[:3]:
        return None
    dims = [query[0], query[2], query[1], key[1]]
    if added and not broadcasts(bias_dims(added[0]), dims):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        _write(builder, buffers, dims, attrs)

    return legalizer.call_inferred(op, operands, body, f"{attrs}{len(operands)}")


def _write(
    builder: PrimFuncBuilder, buffers: Sequence[Buffer], dims: Sequence[SymExpr],
    attrs: dict[str, Any],
) -> None:  # fmt: skip
    q, k, v, *added, out = buffers
    wide = ACCUMULATE.get(out.dtype, out.dtype)
    scores = builder.alloc("Scores", dims, wide)
    peak, total = (builder.alloc(name, dims[:3], wide) for name in ("Peak", "Total"))
    with builder.nest("products", [*spatial(dims), ("reduction", q.dims[3])]) as block:
        b, h, i, j, d = block
        with block.init() as init:
            scores.store(cast(0, wide), tuple(init[:4]))
        term = cast(q[b, i, h, d], wide) * cast(k[b, j, h, d], wide)
        scores.store(scores[b, h, i, j] + term, (b, h, i, j))
    depth = cast(cast(builder.symbol(q.dims[3]), "int64"), wide)
    with builder.nest("scores", spatial(dims)) as block:
        at = tuple(block)
        given = attrs["scale"]
        scale = unary("rsqrt", depth) if given is None else cast(given, wide)
        value = scores[at] * scale
        for bias in added:
            value = value + cast(bias[_bias_at(bias, dims, at)], wide)
        if attrs["causal_mask"] is not None:
            value = select(_seen(builder, dims, at, attrs), value, -math.inf)
        scores.store(value, at)
    rows = [*spatial(dims[:3]), ("reduction", dims[3])]
    with builder.nest("peak", rows) as block:
        *at, j = block
        with block.init() as init:
            peak.store(cast(-math.inf, wide), tuple(init[:3]))
        peak.store(binary("max", peak[tuple(at)], scores[(*at, j)]), tuple(at))
    with builder.nest("powers", spatial(dims)) as block:
        at = tuple(block)
        highest = peak[at[:3]]
        # Of a row that sees nothing every power is 0, not that of infinity less infinity.
        highest = select(compare("eq", highest, -math.inf), cast(0.0, wide), highest)
        scores.store(unary("exp", scores[at] - highest), at)
    with builder.nest("total", rows) as block:
        *at, j = block
        with block.init() as init:
            total.store(cast(0, wide), tuple(init[:3]))
        total.store(total[tuple(at)] + scores[(*at, j)], tuple(at))
    with builder.nest("softmax", spatial(dims)) as block:
        at = tuple(block)
        whole = total[at[:3]]
        share = scores[at] / select(compare("eq", whole, 0.0), cast(1.0, wide), whole)
        scores.store(share, at)
    target = out if wide == out.dtype else builder.alloc("Sum", out.dims, wide)
    with builder.nest("attention", [*spatial(out.dims), ("reduction", dims[3])]) as block:
        b, i, h, d, j = block
        with block.init() as init:
            target.store(cast(0, wide), tuple(init[:4]))
        term = scores[b, h, i, j] * cast(v[b, j, h, d], wide)
        target.store(target[b, i, h, d] + term, (b, i, h, d))
    if target is not out:
        with builder.nest("cast", spatial(out.dims)) as block:
            at = tuple(block)
            out.store(cast(target[at], out.dtype), at)


def _bias_at(
    bias: Buffer, dims: Sequence[SymExpr], at: tuple[Scalar, ...]
) -> tuple[Scalar | int, ...]:
    """Return where in a bias of 2 to 4 dimensions the summand of a score is."""
    b, h, i, j = broadcast_indices(bias_dims(bias.dims), dims, at)
    return {4: (b, h, i, j), 3: (b, i, j), 2: (b, j)}[len(bias.dims)]


def _seen(
    builder: PrimFuncBuilder, dims: Sequence[SymExpr], at: tuple[Scalar, ...],
    attrs: dict[str, Any],
) -> Scalar:  # fmt: skip
    """Return whether a query sees a key."""
    row, column = (cast(value, "int64") for value in at[2:])
    if attrs["causal_mask"] == "BottomRight":
        row = row + cast(builder.symbol(dims[3] - dims[2]), "int64")
    seen = compare("le", column, row)
    if attrs["window_size"] is not None:
        seen = binary("and", seen, compare("lt", row - column, attrs["window_size"]))
    return seen


LEGALIZE = {"attention": legalize_attention}
