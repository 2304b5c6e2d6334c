"""Mean and variance as blocks of a prim func, and normalisation by them."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, cast, multiply_add, unary
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE

Indices = Sequence[Scalar]


class Moments:
    """The mean of a function of every point of a domain over some of its axes, and the variance.

    Args:
        builder: of the prim func; the blocks are written at once.
        dims: the domain.
        axes: over which of them.
        wide: dtype of the sums.
        load: loads the element of a point, as that dtype.
    """

    def __init__(
        self, builder: PrimFuncBuilder, dims: Sequence[SymExpr], axes: Sequence[int], wide: str,
        load: Callable[[Indices], Scalar],
    ) -> None:  # fmt: skip
        self._axes, self._wide = axes, wide
        self._count = builder.symbol(product([dims[axis] for axis in axes]))
        rows = [dim for i, dim in enumerate(dims) if i not in axes]
        self._total = builder.alloc("Total", rows, wide)
        self._spread = builder.alloc("Spread", rows, wide)
        sum_over(builder, "total", dims, axes, self._total, load)

        def distance(at: Indices) -> Scalar:
            centred = load(at) - self.mean(self.row(at))
            return centred * centred

        sum_over(builder, "spread", dims, axes, self._spread, distance)

    def row(self, at: Indices) -> tuple[Scalar, ...]:
        """Return the indices of a point along the axes that are left."""
        return tuple(value for i, value in enumerate(at) if i not in self._axes)

    def mean(self, row: tuple[Scalar, ...]) -> Scalar:
        """Load the mean of a row, inside a block."""
        return self._quotient(self._total, row)

    def variance(self, row: tuple[Scalar, ...]) -> Scalar:
        """Load the variance of a row, inside a block."""
        return self._quotient(self._spread, row)

    def _quotient(self, buffer: Buffer, row: tuple[Scalar, ...]) -> Scalar:
        return buffer[row] / cast(cast(self._count, "int64"), self._wide)


def sum_over(
    builder: PrimFuncBuilder, name: str, dims: Sequence[SymExpr], axes: Sequence[int],
    target: Buffer, term: Callable[[Indices], Scalar],
) -> None:  # fmt: skip
    """Write the block that adds up a term over some axes of a domain."""
    iters = [("reduction" if i in axes else "spatial", dim) for i, dim in enumerate(dims)]
    with builder.nest(name, iters) as block:
        at = tuple(block)
        row = tuple(value for i, value in enumerate(at) if i not in axes)
        if not axes:
            target.store(term(at), row)
            return
        with block.init() as init:
            start = tuple(value for i, value in enumerate(init) if i not in axes)
            target.store(cast(0, target.dtype), start)
        value = term(at)
        target.store(target[row] + value, row)


def normalise(
    builder: PrimFuncBuilder, name: str, buffers: Sequence[Buffer], dims: Sequence[SymExpr],
    axes: Sequence[int], attrs: dict[str, Any], place: Callable[[Indices], tuple[Scalar, ...]],
    factor: Callable[[Indices], tuple[Scalar, ...]],
) -> None:  # fmt: skip
    """Write the blocks of a normalisation.

    Args:
        builder: of the prim func.
        name: of the last block.
        buffers: data, factors, shifts and output.
        dims: the domain.
        axes: over which of them mean and variance are taken.
        attrs: `epsilon`, `scale` and `center`.
        place: from a point of the domain to the element of the data.
        factor: from a point to the element of factors and shifts.
    """
    data, gamma, beta, out = buffers
    wide = ACCUMULATE.get(out.dtype, out.dtype)
    moments = Moments(builder, dims, axes, wide, lambda at: cast(data[place(at)], wide))
    with builder.nest(name, spatial(dims)) as block:
        at = tuple(block)
        row = moments.row(at)
        value = cast(data[place(at)], wide) - moments.mean(row)
        value = value * unary("rsqrt", moments.variance(row) + attrs["epsilon"])
        scale = cast(gamma[factor(at)], wide) if attrs["scale"] else None
        shift = cast(beta[factor(at)], wide) if attrs["center"] else None
        if scale is not None:
            value = value * scale if shift is None else multiply_add(value, scale, shift)
        elif shift is not None:
            value = value + shift
        out.store(cast(value, out.dtype), place(at))
