"""Sizes and layouts of tensors in memory, and conversions between tensors, shapes and numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.library.operands import check
from relax_mlir.runtime.values.convert import BFLOAT16, describe, numpy_dtype

_Array = np.ndarray
# DLPack's codes of the kinds of dtypes.
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_BFLOAT_CODE = 4


def _size(x: _Array) -> Any:
    check(x)
    return np.array(x.size, "int64")


def _tensor_to_shape(x: _Array) -> Any:
    check(x, "iu")
    if x.ndim != 1 or (x < 0).any():
        raise ArgumentTypeError(f"a shape is one dimension of sizes, got {describe(x)}")
    return tuple(x.tolist())


def _shape_to_tensor(shape: Any) -> Any:
    return np.array(shape, "int64")


def _scalar_to_tensor(x: float, dtype: str) -> Any:
    if isinstance(x, str) or not isinstance(x, (int, float)):
        raise ArgumentTypeError(f"expected a number, got {describe(x)}")
    return np.asarray(x, numpy_dtype(dtype))


def _tensor_to_scalar(x: _Array) -> Any:
    check(x)
    return x.item()


def _dtype_code(x: _Array) -> int:
    check(x)
    return _BFLOAT_CODE if x.dtype.name == BFLOAT16 else _CODES[x.dtype.kind]


def _dtype_bits(x: _Array) -> int:
    check(x)
    return x.dtype.itemsize * 8


def _dtype_lanes(x: _Array) -> int:
    check(x)
    return 1


def _ndim(x: _Array) -> int:
    check(x)
    return x.ndim


def _axis(x: _Array, axis: int) -> int:
    check(x)
    if not 0 <= axis < x.ndim:
        raise ShapeMismatchError(f"axis {axis} is out of range for a tensor of rank {x.ndim}")
    return axis


def _shape_i(x: _Array, axis: int) -> int:
    return x.shape[_axis(x, axis)]


def _stride_i(x: _Array, axis: int) -> int:
    # Tensors of the virtual machine are compact, where numpy's strides of an axis of 1 may differ.
    axis = _axis(x, axis)
    return int(np.prod(x.shape[axis + 1 :], dtype="int64"))


def _no_offset(x: _Array) -> int:
    """Return where the first element is, which a tensor's pointer is always at."""
    check(x)
    return 0


# Name -> function of the operands; what is no tensor is returned as it is.
QUERY: dict[str, Callable[..., Any]] = {
    "size": _size,
    "tensor_to_shape": _tensor_to_shape,
    "shape_to_tensor": _shape_to_tensor,
    "scalar_to_tensor": _scalar_to_tensor,
    "tensor_to_scalar": _tensor_to_scalar,
    "inspect_tensor_dtype_code": _dtype_code,
    "inspect_tensor_dtype_bits": _dtype_bits,
    "inspect_tensor_dtype_lanes": _dtype_lanes,
    "inspect_tensor_ndim": _ndim,
    "inspect_tensor_shape_i": _shape_i,
    "inspect_tensor_stride_i": _stride_i,
    "inspect_tensor_byte_offset": _no_offset,
    "inspect_tensor_elem_offset": _no_offset,
}
