"""Attention as a prim func: scores, their softmax in place, the sum of values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.attention import (
    bias_dims,
    dims_by_letter,
    heads_of_each,
    operand_layouts,
)
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, is_absent, read_attributes
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, compare, select, unary
from relax_mlir.lowering.relax_to_tir.support.axes import broadcast_indices, broadcasts, spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE


@dataclass(frozen=True)
class _Sizes:
    """Extents of what attention loops over.

    Attributes:
        batch, heads, group: heads of keys, and how many heads of queries share each.
        rows, keys, depth, width: numbers of queries and keys, lengths of a key and of a value.
    """

    batch: SymExpr
    heads: SymExpr
    group: SymExpr
    rows: SymExpr
    keys: SymExpr
    depth: SymExpr
    width: SymExpr

    @property
    def scores(self) -> list[SymExpr]:
        """Extents of the scores; the group has no loop where it is one."""
        group = [] if self.group == 1 else [self.group]
        return [self.batch, self.heads, *group, self.rows, self.keys]

    @property
    def plain(self) -> list[SymExpr]:
        """Extents of the scores as a bias sees them."""
        return [self.batch, self.heads * self.group, self.rows, self.keys]


def legalize_attention(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise attention."""
    attrs = read_attributes(op, COMPUTE_OPS["attention"].PARAMS)
    operands = [value for value in op.operands if not is_absent(value)]
    masked = not is_absent(op.operands[4])
    shapes = T.all_dims(value.type for value in operands)
    if shapes is None:
        return None
    layouts = operand_layouts(attrs["layout"])
    query, key, value = (
        dims_by_letter(*each) for each in zip(shapes[:3], layouts[:3], strict=True)
    )
    group = heads_of_each(query["N"], key["N"])
    if group is None or query["H"] != key["H"] or query["B"] != key["B"]:
        return None
    if any(key[letter] != value[letter] for letter in "BNS"):
        return None
    sizes = _Sizes(
        query["B"], key["N"], group, query["S"], key["S"], query["H"], value["H"]
    )  # fmt: skip
    if any(not broadcasts(bias_dims(bias), sizes.plain) for bias in shapes[3:]):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        _Writer(builder, sizes, layouts, attrs, masked).write(buffers)

    return legalizer.call_inferred(op, operands, body, f"{attrs}{len(operands)}{masked}")


class _Writer:
    """Writes attention as blocks over all scores; lowering makes one kernel of them."""

    def __init__(
        self, builder: PrimFuncBuilder, sizes: _Sizes, layouts: list[str], attrs: dict[str, Any],
        masked: bool,
    ) -> None:  # fmt: skip
        self.builder, self.sizes, self.layouts, self.attrs = builder, sizes, layouts, attrs
        self.masked = masked

    def write(self, buffers: Sequence[Buffer]) -> None:
        """Write the blocks."""
        builder, dims, sizes = self.builder, self.sizes.scores, self.sizes
        q, k, v, *added, out = buffers
        wide = ACCUMULATE.get(out.dtype, out.dtype)
        scores = builder.alloc("Scores", dims, wide)
        peak, total = (builder.alloc(name, dims[:-1], wide) for name in ("Peak", "Total"))
        with builder.nest("products", [*spatial(dims), ("reduction", sizes.depth)]) as block:
            *at, d = block
            *outer, i, j = at
            with block.init() as init:
                scores.store(cast(0, wide), tuple(init[:-1]))
            term = cast(q[self._at(0, outer, i, d)], wide) * cast(k[self._at(1, outer, j, d)], wide)
            scores.store(scores[tuple(at)] + term, tuple(at))
        with builder.nest("scores", spatial(dims)) as block:
            at = tuple(block)
            scores.store(self._score(scores[at], added, at), at)
        rows = [*spatial(dims[:-1]), ("reduction", dims[-1])]
        with builder.nest("peak", rows) as block:
            at = tuple(block)
            with block.init() as init:
                peak.store(cast(-math.inf, wide), tuple(init[:-1]))
            peak.store(binary("max", peak[at[:-1]], scores[at]), at[:-1])
        with builder.nest("exps", spatial(dims)) as block:
            at = tuple(block)
            # Of a row that sees nothing every power is 0, not that of infinity less infinity.
            highest = self._unless(peak[at[:-1]], -math.inf, 0.0)
            scores.store(unary("exp", scores[at] - highest), at)
        with builder.nest("total", rows) as block:
            at = tuple(block)
            with block.init() as init:
                total.store(cast(0, wide), tuple(init[:-1]))
            total.store(total[at[:-1]] + scores[at], at[:-1])
        with builder.nest("softmax", spatial(dims)) as block:
            at = tuple(block)
            scores.store(scores[at] / self._unless(total[at[:-1]], 0.0, 1.0), at)
        self._sums(scores, v, out, wide)

    def _sums(self, scores: Buffer, v: Buffer, out: Buffer, wide: str) -> None:
        builder, sizes = self.builder, self.sizes
        dims = [*sizes.scores[:-1], sizes.width]
        whole = wide == out.dtype
        sums = out if whole else builder.alloc("Sum", dims, wide)

        def place(at: Sequence[Scalar]) -> tuple[Scalar, ...]:
            *outer, i, d = at
            return self._at(3, outer, i, d) if whole else tuple(at)

        with builder.nest("attention", [*spatial(dims), ("reduction", sizes.keys)]) as block:
            *at, j = block
            with block.init() as init:
                sums.store(cast(0, wide), place(init[:-1]))
            *outer, i, d = at
            term = scores[(*outer, i, j)] * cast(v[self._at(2, outer, j, d)], wide)
            sums.store(sums[place(at)] + term, place(at))
        if not whole:
            with builder.nest("cast", spatial(dims)) as block:
                *outer, i, d = block
                value = cast(sums[(*outer, i, d)], out.dtype)
                out.store(value, self._at(3, outer, i, d))

    def _at(
        self, operand: int, outer: Sequence[Scalar], row: Scalar, column: Scalar
    ) -> tuple[Scalar, ...]:
        """Return the indices of an operand in its own layout; key and value have fewer heads."""
        by_letter = {"B": outer[0], "N": outer[1], "S": row, "H": column}
        if operand in (0, 3):
            by_letter["N"] = self._head(outer)
        return tuple(by_letter[letter] for letter in self.layouts[operand])

    def _head(self, outer: Sequence[Scalar]) -> Scalar:
        """Return the number of a query's head."""
        if len(outer) == 2:
            return outer[1]
        group = self.sizes.group
        count = self.builder.symbol(group) if group.value is None else group.value
        return outer[1] * count + outer[2]

    def _score(self, product: Scalar, added: Sequence[Buffer], at: tuple[Scalar, ...]) -> Scalar:
        """Return the score that a product gives."""
        wide, builder, attrs = product.dtype, self.builder, self.attrs
        scale = cast(attrs["scale"], wide) if attrs["scale"] is not None else None
        if scale is None:
            depth = cast(cast(builder.symbol(self.sizes.depth), "int64"), wide)
            scale = unary("rsqrt", depth)
        value = product * scale
        *outer, i, j = at
        plain = (outer[0], self._head(outer), i, j)
        for number, buffer in enumerate(added):
            term = buffer[_bias_at(buffer, self.sizes.plain, plain)]
            if self.masked and number == len(added) - 1:
                value = select(term, value, cast(attrs["unseen_score"], wide))
            else:
                value = value + cast(term, wide)
        if attrs["causal_mask"] is not None:
            value = select(self._seen(i, j), value, -math.inf)
        return value

    def _unless(self, value: Scalar, special: float, other: float) -> Scalar:
        if not self.attrs["zero_unseen"]:
            return value
        return select(compare("eq", value, special), cast(other, value.dtype), value)

    def _seen(self, i: Scalar, j: Scalar) -> Scalar:
        """Return whether a query sees a key."""
        row, column = cast(i, "int64"), cast(j, "int64")
        if self.attrs["causal_mask"] == "BottomRight":
            shift = self.sizes.keys - self.sizes.rows
            row = row + cast(self.builder.symbol(shift), "int64")
        seen = compare("le", column, row)
        if self.attrs["window_size"] is not None:
            seen = binary("and", seen, compare("lt", row - column, self.attrs["window_size"]))
        return seen


def _bias_at(
    bias: Buffer, dims: Sequence[SymExpr], at: tuple[Scalar, ...]
) -> tuple[Scalar | int, ...]:
    """Return where in a bias of 2 to 4 dimensions the summand of a score is."""
    b, h, i, j = broadcast_indices(bias_dims(bias.dims), dims, at)
    return {4: (b, h, i, j), 3: (b, i, j), 2: (b, j)}[len(bias.dims)]


LEGALIZE = {"attention": legalize_attention}
