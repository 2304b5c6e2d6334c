"""Products of matrices under TVM's name: `from relax_mlir.contrib import cblas`."""

from typing import Any

from relax_mlir import topi
from relax_mlir.errors import ExprError
from relax_mlir.te import Tensor


def matmul(
    lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False, **options: Any
) -> Tensor:
    """Return the product of two matrices, a kernel compiled here.

    Args:
        lhs: rows by inner dimension, or transposed.
        rhs: inner dimension by columns, or transposed.
        transa: whether `lhs` is transposed.
        transb: whether `rhs` is transposed.
        options: of TVM's stage; `dtype` is the product's.

    Raises:
        ExprError: they are no matrices, or inner dimensions differ.
    """
    return _product("matmul", 2, lhs, rhs, transa, transb, options)


def batch_matmul(
    lhs: Tensor, rhs: Tensor, transa: bool = False, transb: bool = False,
    iterative: bool = False, **options: Any,
) -> Tensor:  # fmt: skip
    """Return products of batches of matrices, as `matmul`; `iterative` changes nothing here.

    Raises:
        ExprError: they are no batches of matrices, or inner dimensions differ.
    """
    return _product("batch_matmul", 3, lhs, rhs, transa, transb, options)


def _product(
    name: str, ndim: int, lhs: Tensor, rhs: Tensor, transa: bool, transb: bool, options: Any
) -> Tensor:
    if lhs.ndim != ndim or rhs.ndim != ndim:
        raise ExprError(
            f"cblas.{name} takes tensors of {ndim} dimensions, got {lhs.ndim} and {rhs.ndim}"
        )
    return topi.matmul(lhs, rhs, transa, transb, options.get("dtype"))
