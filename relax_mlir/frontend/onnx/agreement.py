"""Sizes that broadcasting operations have in common: those that are equal for every valid input.

A model with a table of 512 positions slices it to `min(512, n)` and adds that to `n` tokens. Where
the two differ, no broadcasting is possible, so the slice is checked at run time to have `n`.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.onnx.weights import storage_dtype
from relax_mlir.frontend.values import Value, materialize
from relax_mlir.relax.expr import TensorType

_BROADCASTING = frozenset((
    "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater",
    "GreaterOrEqual", "Less", "LessOrEqual", "MatMul", "Max", "Mean", "Min", "Mod", "Mul", "Or",
    "PRelu", "Pow", "Sub", "Sum", "Where", "Xor",
))  # fmt: skip


def common_sizes(*shapes: Sequence[SymExpr]) -> list[list[SymExpr]]:
    """Return shapes that are broadcast together, with `n` in place of each `min(c, n)`.

    `min(c, n)` of a c above 1 is 1 only where n is, and broadcasts with n only where they are the
    same.
    """
    made = [list(shape) for shape in shapes]
    for axis in range(1, max(map(len, shapes), default=0) + 1):
        sizes = {shape[-axis] for shape in made if len(shape) >= axis}
        for shape in made:
            if len(shape) >= axis:
                larger = [size for size in sizes if _is_clipped(shape[-axis], size)]
                shape[-axis] = larger[0] if larger else shape[-axis]
    return made


def _is_clipped(size: SymExpr, whole: SymExpr) -> bool:
    """Whether a size is the smaller of another one and of numbers above 1."""
    atom = size.atom
    if atom is None or atom.kind != "min" or whole not in atom.parts:
        return False
    return all((part.lower_bound() or 0) > 1 for part in atom.parts if part != whole)


def agree(node: Any) -> None:
    """Give the operands of a broadcasting node the sizes that they have in common."""
    if node.proto.domain not in ("", "ai.onnx") or node.op_type not in _BROADCASTING:
        return
    # Rows and columns of matrices are not broadcast.
    kept = 2 if node.op_type == "MatMul" else 0
    known = [each.dims if isinstance(each, Value) else None for each in node.inputs]
    shapes = [dims for dims in known if dims is not None]
    if len(shapes) < len(known):
        return
    wanted = common_sizes(*(shape[: len(shape) - kept] for shape in shapes))
    for i, (shape, sizes) in enumerate(zip(shapes, wanted, strict=True)):
        cast_dims(node, i, [*sizes, *shape[len(shape) - kept :]])


def cast_dims(node: Any, index: int, dims: Sequence[SymExpr]) -> None:
    """Check at run time that an input of a node has a shape, where it is not known to."""
    value = node.inputs[index]
    if list(value.dims) != list(dims):
        type_ = TensorType(dims, storage_dtype(value.dtype))
        cast = node.graph.builder.match_cast(materialize(value), type_)
        node.inputs[index] = Value(value.dtype, cast)
