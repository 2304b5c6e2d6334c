"""Shapes and sizes as tensors."""

from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar.conversion import as_expr, cast, const
from relax_mlir.tir.scalar.dtypes import SIZE, checked
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.support import size, tensor


def shape(array: Tensor, dtype: str = "int32") -> Tensor:
    """Return the shape of a tensor as a vector."""
    dims, kind = tensor(array, "shape").shape, checked(dtype)

    def element(i: PrimExpr) -> PrimExpr:
        result: PrimExpr = const(0, SIZE)
        for position, dim in enumerate(dims):
            result = Select(i == position, as_expr(dim, SIZE), result)
        return cast(result, kind)

    return compute((len(dims),), element, name="T_shape")


def tensor_size(array: Tensor, dtype: str = "int32") -> Tensor:
    """Return the number of elements of a tensor, as a scalar."""
    total = size(tensor(array, "tensor_size").shape)
    return compute((), lambda: cast(as_expr(total, SIZE), checked(dtype)), name="T_size")


# The name that it had in TVM's early versions.
ndarray_size = tensor_size
