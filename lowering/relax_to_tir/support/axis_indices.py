"""Indices of an axis: constants are checked at compile time, others before each run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import (
    aligned,
    constant_array,
    constant_attribute,
    constant_op,
)
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_less_equal
from relax_mlir.dialects.tir.builder import PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import INDEX, Scalar, cast
from relax_mlir.errors import ExprError
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.index_checks import (
    check_bounds,
    check_extrema,
    place_of,
)
from relax_mlir.lowering.walk import defining_op


@dataclass(frozen=True)
class Places:
    """Indices that were looked at.

    Attributes:
        value: them, as the kernel gets them.
        exact: whether each is known to be from 0 to below its length.
    """

    value: ir.Value
    exact: bool

    def place(self, builder: PrimFuncBuilder, index: Scalar, length: SymExpr) -> Scalar:
        """Return the place that an index, loaded from them, is on an axis of a length."""
        return cast(index, INDEX) if self.exact else place_of(builder, index, length)


def places_of(
    legalizer: Legalizer, op: ir.Operation, indices: ir.Value, lengths: Sequence[SymExpr],
    *, columns: bool = False, mode: str = "fast",
) -> Places:  # fmt: skip
    """Return indices as places; those out of range are rejected, now if known, else at run time.

    Args:
        legalizer: makes the kernel that looks for the worst at run time.
        op: the operation.
        indices: from minus a length to below it; negative ones count from the end.
        lengths: of the axis that they index, or of one for each place of their last axis.
        columns: whether it is the latter.
        mode: with "wrap" and "clip" none is out of range; they must be known then.

    Raises:
        ExprError: an index that is known is out of range.
    """
    known = static_indices(indices)
    if known is None:
        check_bounds(legalizer, op, indices, lengths, columns=columns)
        return Places(indices, exact=False)
    if not known.size:
        return Places(indices, exact=True)
    groups = [known[..., i] for i in range(len(lengths))] if columns else [known]
    if all(length.value is not None for length in lengths):
        sizes = [int(length.value or 0) for length in lengths]
        placed = [_placed(op, group, size, mode) for group, size in zip(groups, sizes, strict=True)]
        return _constant(op, np.stack(placed, -1) if columns else placed[0])
    exact = True
    for group, length in zip(groups, lengths, strict=True):
        low, high = int(group.min()), int(group.max())
        exact = exact and low >= 0
        if not can_prove_less_equal(max(high + 1, -low), length):
            check_extrema(op, low, high, length)
    return _constant(op, known) if exact else Places(indices, exact=False)


def static_indices(value: ir.Value) -> np.ndarray | None:
    """Return the numbers of a constant that nothing writes to, None of any other value."""
    constant = defining_op(value, "relax.constant")
    if constant is None:
        return None
    for use in value.uses:
        if use.owner.operation.name.removeprefix("relax.") not in COMPUTE_OPS:
            return None
    try:
        return constant_array(constant.attributes["value"])
    except ValueError:
        return None


def _placed(op: ir.Operation, indices: np.ndarray, length: int, mode: str) -> np.ndarray:
    """Return known indices as places of an axis.

    Raises:
        ExprError: one is out of range.
    """
    low, high = int(indices.min()), int(indices.max())
    if mode == "wrap":
        # Of uint64 the remainder first: int64 does not hold all of them.
        return (indices % np.array(length, _wider(indices))).astype("int64")
    if mode == "clip":
        return np.clip(indices, 0, np.array(length - 1, _wider(indices))).astype("int64")
    if high >= length or low < -length:
        message = (
            f"'{op.name}' op index {high if high >= length else low} is out of range: "
            f"the axis has length {length}, so indices are from {-length} to {length - 1}"
        )
        op.location.emit_error(message)
        raise ExprError(message)
    wide = indices.astype("int64")
    return np.where(wide < 0, wide + length, wide)


def _wider(indices: np.ndarray) -> str:
    return "uint64" if indices.dtype == np.uint64 else "int64"


def _constant(op: ir.Operation, places: np.ndarray) -> Places:
    """Return places as a constant, in half the bytes where that is enough."""
    narrow = "int32" if int(places.max()) < 1 << 31 else "int64"
    attribute = constant_attribute(aligned(places.astype(narrow)))
    with ir.InsertionPoint(op), op.location:
        made = constant_op(attribute)
    assert T.tensor_dtype(attribute.type) == narrow
    return Places(made, exact=True)
