"""Axes of blocks: one spatial axis per dimension, and the indices of broadcast operands."""

from collections.abc import Sequence

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.scalar import Scalar


def broadcasts(dims: Sequence[SymExpr], out_dims: Sequence[SymExpr]) -> bool:
    """Whether an operand is certain to broadcast to the output."""
    last = out_dims[len(out_dims) - len(dims) :]
    return all(dim == out or dim == 1 for dim, out in zip(dims, last, strict=True))


def broadcast_indices(
    dims: Sequence[SymExpr], out_dims: Sequence[SymExpr], indices: Sequence[Scalar]
) -> tuple[Scalar | int, ...]:
    """Return the indices of an operand that broadcasts, for an output element."""
    offset = len(out_dims) - len(dims)
    return tuple(
        indices[offset + axis] if dim == out_dims[offset + axis] else 0
        for axis, dim in enumerate(dims)
    )


def spatial(dims: Sequence[SymExpr]) -> list[tuple[str, SymExpr]]:
    """Return one spatial axis per dimension."""
    return [("spatial", dim) for dim in dims]
