"""Linear algebra: contractions."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.einsum import (
    ELLIPSIS,
    Subscripts,
    expand_ellipsis,
    parse_subscripts,
)
from relax_mlir.dialects.relax.infer import (
    InferError,
    broadcast,
    broadcast_dims,
    join_dtypes,
    matmul,
    permute,
)
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, declare, define
from relax_mlir.dialects.relax.ops.elementwise import expect_kind
from relax_mlir.dialects.symbolic.expr import SymExpr


class MatmulBase(ComputeOp):
    """Matrix product over the last two dimensions, the leading ones broadcast (numpy's rules).

    Products are summed in `out_dtype` where that is given: int8 into int32, bfloat16 into float32.
    """

    PARAMS = (Param("x1", "tensor"), Param("x2", "tensor"), Param("out_dtype", "str", None))
    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        return matmul(types[0], types[1], attrs["out_dtype"])


def _linear(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, weight, bias = types
    for type_ in (data, weight):
        expect_kind(type_, "numeric")
    if T.tensor_ndim(weight) not in (-1, 1, 2):
        raise InferError(f"weight must have 1 or 2 dimensions, got {T.tensor_ndim(weight)}")
    result = matmul(data, permute(weight, None))
    return result if bias is None else broadcast(result, bias)


def _outer(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    for index, type_ in enumerate(types):
        if T.tensor_ndim(type_) not in (-1, 1):
            raise InferError(f"x{index + 1} must have 1 dimension, got {T.tensor_ndim(type_)}")
    lhs, rhs = map(T.tensor_dims, types)
    dims = None if lhs is None or rhs is None else [*lhs, *rhs]
    return T.tensor_type(dims, join_dtypes(types), 2)


def _einsum(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    operands = types[0]
    subscripts = parse_subscripts(attrs["subscripts"], len(operands))
    dtype = join_dtypes(operands)
    for operand in operands:
        expect_kind(operand, "numeric")
    ranks = [T.tensor_ndim(operand) for operand in operands]
    if -1 in ranks:
        rank = -1 if ELLIPSIS in subscripts.output else len(subscripts.output)
        return T.tensor_type(None, dtype, rank)
    expanded = expand_ellipsis(subscripts, ranks)
    sizes = einsum_sizes(expanded, [T.tensor_dims(operand) for operand in operands])
    dims = None if sizes is None else [sizes[item] for item in expanded.output]
    return T.tensor_type(dims, dtype, len(expanded.output))


def einsum_sizes(
    subscripts: Subscripts, shapes: Sequence[Sequence[SymExpr] | None]
) -> dict[str, SymExpr] | None:
    """Return the size of every letter, None where it is known at run time only.

    Raises:
        InferError: two axes of one letter certainly differ.
    """
    sizes: dict[str, SymExpr] = {}
    known = True
    for items, dims in zip(subscripts.inputs, shapes, strict=True):
        for item, dim in zip(items, dims if dims is not None else (), strict=dims is not None):
            before = sizes.setdefault(item, dim)
            if 1 not in (before, dim) and before != dim and (before - dim).is_const:
                raise InferError(f"axes of '{item}' have {before} and {dim} elements")
            both = broadcast_dims([before], [dim])
            known = known and (both is not None or item not in subscripts.output)
            sizes[item] = both[0] if both else before
        known = known and dims is not None
    return sizes if known else None


define(MatmulBase, "matmul", "Matrix product; `R.dot` in the design document.")
declare(
    "linear",
    "The last dimension times a weight whose rows are those of the result, and a bias.",
    [Param("data", "tensor"), Param("weight", "tensor"), Param("bias", "tensor", None)],
    _linear,
)
declare(
    "outer",
    "All products of the elements of two vectors.",
    [Param("x1", "tensor"), Param("x2", "tensor")],
    _outer,
)
declare(
    "einsum",
    "Sum of products over the letters that the result does not have.",
    [Param("operands", "tensors"), Param("subscripts", "str")],
    _einsum,
)
