"""The operator library: functions of tensors written as tensor expressions, by category."""

# Made by .ci/stubs, do not edit.

from typing import Any

from relax_mlir.te.tensor import Tensor
from relax_mlir.topi import image, nn, tag, testing, utils, vision
from relax_mlir.topi.broadcast import broadcast_to, where
from relax_mlir.topi.create import (
    arange,
    eye,
    full,
    full_like,
    meshgrid,
    one_hot,
    ones,
    ones_like,
    tril,
    trilu,
    triu,
    zeros,
    zeros_like,
)
from relax_mlir.topi.elementwise import cast, ceil_log2, clip, elemwise_sum, identity, reinterpret
from relax_mlir.topi.fixed_point import fixed_point_multiply, fixed_point_multiply_per_axis
from relax_mlir.topi.index import gather, gather_nd, sequence_mask, take
from relax_mlir.topi.indexed_access import (
    adv_index,
    index_put,
    index_tensor,
    matrix_set_diag,
    sparse_to_dense,
    unravel_index,
)
from relax_mlir.topi.layouts import layout_transform
from relax_mlir.topi.linear_algebra import einsum, matmul, tensordot
from relax_mlir.topi.manipulate import (
    concatenate,
    dyn_tile,
    expand_dims,
    expand_like,
    flatten,
    flip,
    repeat,
    reshape,
    roll,
    split,
    squeeze,
    stack,
    strided_slice,
    tile,
    transpose,
)
from relax_mlir.topi.query import shape, tensor_size
from relax_mlir.topi.query import tensor_size as ndarray_size
from relax_mlir.topi.reduce import collapse_sum, mean, std, variance
from relax_mlir.topi.scan import scanop
from relax_mlir.topi.scatter import scatter_elements, scatter_nd
from relax_mlir.topi.signal import dft, hamming_window, stft
from relax_mlir.topi.slices import (
    dynamic_strided_slice,
    reverse_sequence,
    slice_scatter,
    sliding_window,
    strided_set,
)
from relax_mlir.topi.sorting import argsort, searchsorted, sort, topk
from relax_mlir.topi.utils import InvalidShapeError

__all__ = [
    "InvalidShapeError",
    "abs",
    "acos",
    "acosh",
    "add",
    "adv_index",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "cast",
    "ceil",
    "ceil_log2",
    "clip",
    "collapse_sum",
    "concatenate",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "dft",
    "divide",
    "dyn_tile",
    "dynamic_strided_slice",
    "einsum",
    "elemwise_sum",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "expand_like",
    "expm1",
    "eye",
    "fast_erf",
    "fast_exp",
    "fast_tanh",
    "fixed_point_multiply",
    "fixed_point_multiply_per_axis",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "floor_mod",
    "full",
    "full_like",
    "gather",
    "gather_nd",
    "greater",
    "greater_equal",
    "hamming_window",
    "identity",
    "image",
    "index_put",
    "index_tensor",
    "isfinite",
    "isinf",
    "isnan",
    "layout_transform",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_add_exp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_set_diag",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "multiply",
    "ndarray_size",
    "negative",
    "nn",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "power",
    "prod",
    "reinterpret",
    "repeat",
    "reshape",
    "reverse_sequence",
    "right_shift",
    "roll",
    "round",
    "rsqrt",
    "scanop",
    "scatter_elements",
    "scatter_nd",
    "searchsorted",
    "sequence_mask",
    "shape",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "slice_scatter",
    "sliding_window",
    "sort",
    "sparse_to_dense",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "stft",
    "strided_set",
    "strided_slice",
    "subtract",
    "sum",
    "tag",
    "take",
    "tan",
    "tanh",
    "tensor_size",
    "tensordot",
    "testing",
    "tile",
    "topk",
    "transpose",
    "tril",
    "trilu",
    "triu",
    "trunc",
    "unravel_index",
    "utils",
    "variance",
    "vision",
    "where",
    "zeros",
    "zeros_like",
]

def abs(x: Any) -> Any:
    """Return abs of each element of a tensor."""

def acos(x: Any) -> Any:
    """Return acos of each element of a tensor."""

def acosh(x: Any) -> Any:
    """Return acosh of each element of a tensor."""

def add(lhs: Any, rhs: Any) -> Any:
    """Return add of the elements of two tensors that broadcast, or numbers."""

def all(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the all of elements over axes, by default all of them."""

def any(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the any of elements over axes, by default all of them."""

def argmax(
    data: Tensor, axis: int | None = None, keepdims: bool = False, select_last_index: bool = False
) -> Tensor:
    """Return where the max is along an axis, or in all, as int32.

    The first place, or with `select_last_index` the last one; a NaN counts as it.
    """

def argmin(
    data: Tensor, axis: int | None = None, keepdims: bool = False, select_last_index: bool = False
) -> Tensor:
    """Return where the min is along an axis, or in all, as int32.

    The first place, or with `select_last_index` the last one; a NaN counts as it.
    """

def asin(x: Any) -> Any:
    """Return asin of each element of a tensor."""

def asinh(x: Any) -> Any:
    """Return asinh of each element of a tensor."""

def atan(x: Any) -> Any:
    """Return atan of each element of a tensor."""

def atan2(lhs: Any, rhs: Any) -> Any:
    """Return atan2 of the elements of two tensors that broadcast, or numbers."""

def atanh(x: Any) -> Any:
    """Return atanh of each element of a tensor."""

def bitwise_and(lhs: Any, rhs: Any) -> Any:
    """Return bitwise_and of the elements of two tensors that broadcast, or numbers."""

def bitwise_not(data: Any) -> Any:
    """Return bitwise_not of each element of a tensor."""

def bitwise_or(lhs: Any, rhs: Any) -> Any:
    """Return bitwise_or of the elements of two tensors that broadcast, or numbers."""

def bitwise_xor(lhs: Any, rhs: Any) -> Any:
    """Return bitwise_xor of the elements of two tensors that broadcast, or numbers."""

def ceil(x: Any) -> Any:
    """Return ceil of each element of a tensor."""

def cos(x: Any) -> Any:
    """Return cos of each element of a tensor."""

def cosh(x: Any) -> Any:
    """Return cosh of each element of a tensor."""

def cumprod(
    data: Tensor, axis: int | None = None, dtype: Any = None, exclusive: bool = False
) -> Tensor:
    """Return the cumprod along an axis, or of all elements in a row.

    With `exclusive`, each element's own value is not in it.
    """

def cumsum(
    data: Tensor, axis: int | None = None, dtype: Any = None, exclusive: bool = False
) -> Tensor:
    """Return the cumsum along an axis, or of all elements in a row.

    With `exclusive`, each element's own value is not in it.
    """

def divide(lhs: Any, rhs: Any) -> Any:
    """Return divide of the elements of two tensors that broadcast, or numbers."""

def equal(lhs: Any, rhs: Any) -> Any:
    """Return equal of the elements of two tensors that broadcast, or numbers."""

def erf(x: Any) -> Any:
    """Return erf of each element of a tensor."""

def exp(x: Any) -> Any:
    """Return exp of each element of a tensor."""

def exp2(x: Any) -> Any:
    """Return exp2 of each element of a tensor."""

def expm1(x: Any) -> Any:
    """Return expm1 of each element of a tensor."""

def fast_erf(x: Any) -> Any:
    """Return erf of each element of a tensor."""

def fast_exp(x: Any) -> Any:
    """Return exp of each element of a tensor."""

def fast_tanh(x: Any) -> Any:
    """Return tanh of each element of a tensor."""

def floor(x: Any) -> Any:
    """Return floor of each element of a tensor."""

def floor_divide(lhs: Any, rhs: Any) -> Any:
    """Return floor_divide of the elements of two tensors that broadcast, or numbers."""

def floor_mod(lhs: Any, rhs: Any) -> Any:
    """Return floor_mod of the elements of two tensors that broadcast, or numbers."""

def greater(lhs: Any, rhs: Any) -> Any:
    """Return greater of the elements of two tensors that broadcast, or numbers."""

def greater_equal(lhs: Any, rhs: Any) -> Any:
    """Return greater_equal of the elements of two tensors that broadcast, or numbers."""

def isfinite(x: Any) -> Any:
    """Return isfinite of each element of a tensor."""

def isinf(x: Any) -> Any:
    """Return isinf of each element of a tensor."""

def isnan(x: Any) -> Any:
    """Return isnan of each element of a tensor."""

def left_shift(lhs: Any, rhs: Any) -> Any:
    """Return left_shift of the elements of two tensors that broadcast, or numbers."""

def less(lhs: Any, rhs: Any) -> Any:
    """Return less of the elements of two tensors that broadcast, or numbers."""

def less_equal(lhs: Any, rhs: Any) -> Any:
    """Return less_equal of the elements of two tensors that broadcast, or numbers."""

def log(x: Any) -> Any:
    """Return log of each element of a tensor."""

def log10(x: Any) -> Any:
    """Return log10 of each element of a tensor."""

def log1p(x: Any) -> Any:
    """Return log1p of each element of a tensor."""

def log2(x: Any) -> Any:
    """Return log2 of each element of a tensor."""

def log_add_exp(lhs: Any, rhs: Any) -> Any:
    """Return log_add_exp of the elements of two tensors that broadcast, or numbers."""

def logical_and(lhs: Any, rhs: Any) -> Any:
    """Return logical_and of the elements of two tensors that broadcast, or numbers."""

def logical_not(data: Any) -> Any:
    """Return logical_not of each element of a tensor."""

def logical_or(lhs: Any, rhs: Any) -> Any:
    """Return logical_or of the elements of two tensors that broadcast, or numbers."""

def logical_xor(lhs: Any, rhs: Any) -> Any:
    """Return logical_xor of the elements of two tensors that broadcast, or numbers."""

def max(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the max of elements over axes, by default all of them."""

def maximum(lhs: Any, rhs: Any) -> Any:
    """Return maximum of the elements of two tensors that broadcast, or numbers."""

def min(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the min of elements over axes, by default all of them."""

def minimum(lhs: Any, rhs: Any) -> Any:
    """Return minimum of the elements of two tensors that broadcast, or numbers."""

def mod(lhs: Any, rhs: Any) -> Any:
    """Return mod of the elements of two tensors that broadcast, or numbers."""

def multiply(lhs: Any, rhs: Any) -> Any:
    """Return multiply of the elements of two tensors that broadcast, or numbers."""

def negative(x: Any) -> Any:
    """Return negative of each element of a tensor."""

def not_equal(lhs: Any, rhs: Any) -> Any:
    """Return not_equal of the elements of two tensors that broadcast, or numbers."""

def power(lhs: Any, rhs: Any) -> Any:
    """Return power of the elements of two tensors that broadcast, or numbers."""

def prod(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the prod of elements over axes, by default all of them."""

def right_shift(lhs: Any, rhs: Any) -> Any:
    """Return right_shift of the elements of two tensors that broadcast, or numbers."""

def round(x: Any) -> Any:
    """Return round of each element of a tensor."""

def rsqrt(x: Any) -> Any:
    """Return rsqrt of each element of a tensor."""

def sigmoid(x: Any) -> Any:
    """Return sigmoid of each element of a tensor."""

def sign(x: Any) -> Any:
    """Return sign of each element of a tensor."""

def sin(x: Any) -> Any:
    """Return sin of each element of a tensor."""

def sinh(x: Any) -> Any:
    """Return sinh of each element of a tensor."""

def sqrt(x: Any) -> Any:
    """Return sqrt of each element of a tensor."""

def square(x: Any) -> Any:
    """Return square of each element of a tensor."""

def subtract(lhs: Any, rhs: Any) -> Any:
    """Return subtract of the elements of two tensors that broadcast, or numbers."""

def sum(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the sum of elements over axes, by default all of them."""

def tan(x: Any) -> Any:
    """Return tan of each element of a tensor."""

def tanh(x: Any) -> Any:
    """Return tanh of each element of a tensor."""

def trunc(x: Any) -> Any:
    """Return trunc of each element of a tensor."""
