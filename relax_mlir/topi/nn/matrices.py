"""Matrix product with a bias, and flattening of all axes but the batch."""

from typing import Any

from relax_mlir.te.tensor import Tensor
from relax_mlir.topi import linear_algebra, manipulate
from relax_mlir.topi.broadcast import FUNCTIONS
from relax_mlir.topi.support import size, tensor


def matmul(
    tensor_a: Tensor, tensor_b: Tensor, bias: Tensor | None = None, out_dtype: Any = None,
    transpose_a: bool = False, transpose_b: bool = False,
) -> Tensor:  # fmt: skip
    """Return the product of matrices, plus a bias for each column.

    Args:
        tensor_a: rows by inner dimension, or transposed; batches of these broadcast.
        tensor_b: inner dimension by columns, or transposed.
        bias: added to each row.
        out_dtype: of the product, by default the operands'.
        transpose_a: whether `tensor_a` is transposed.
        transpose_b: whether `tensor_b` is transposed.

    Raises:
        ExprError: the dimensions do not fit.
    """
    made = linear_algebra.matmul(tensor_a, tensor_b, transpose_a, transpose_b, out_dtype)
    return made if bias is None else FUNCTIONS["add"](made, bias)


def flatten(data: Tensor) -> Tensor:
    """Return the elements of each item of a batch in one dimension."""
    batch, *rest = tensor(data, "nn.flatten").shape
    return manipulate.reshape(data, [batch, size(rest)])
