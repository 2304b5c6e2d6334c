"""Run-time checks that windows fit data of dynamic size."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.conv_geometry import SPATIAL, layout_axes
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, infer_result, read_attributes
from relax_mlir.dialects.symbolic.expr import SymExpr


def expect_windows(op: ir.Operation, rooms: Sequence[SymExpr]) -> None:
    """Assert, before an operation, that a window of it fits along each axis.

    Args:
        op: the operation.
        rooms: for each axis how far the first window can move, which is no negative number then.
    """
    unsure = [room for room in rooms if (low := room.lower_bound()) is None or low < 0]
    if not unsure:
        return
    what = f"room for windows of '{op.name.removeprefix('relax.')}'"
    with ir.InsertionPoint(op), op.location:
        # Sizes of a shape are checked where it is made; the cast keeps it.
        shape = ir.Operation.create(
            "relax.shape_expr",
            results=[T.shape_type(unsure)],
            attributes={"what": ir.StringAttr.get(what)},
        ).result
        least = T.shape_type([room.max(0) for room in unsure])
        ir.Operation.create("relax.match_cast", results=[least], operands=[shape])


def expect_outputs(op: ir.Operation) -> None:
    """Assert, before a transposed convolution, that padding leaves something along each axis."""
    sizes = T.tensor_dims(infer_result(op))
    if sizes is None:
        return
    attrs = read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)
    letters = f"NC{SPATIAL[len(sizes) - 2]}"
    axes = layout_axes(attrs["out_layout"] or attrs["data_layout"], letters)
    expect_windows(op, [sizes[axis] - 1 for axis in axes[2:]])
