"""Sizes and layouts of tensors in memory, and conversions between tensors, shapes and numbers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.device.memory import storage_of
from relax_mlir.runtime.library.operands import check
from relax_mlir.runtime.values.convert import BFLOAT16, describe, dtype_name, numpy_dtype

_Array = np.ndarray


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
    # numpy's kinds have no bfloat16, whose numbers are floats of Python all the same.
    if getattr(x, "dtype", None) != BFLOAT16:
        check(x)
    return x.item()


def _tensor(x: Any) -> _Array:
    if not isinstance(x, np.ndarray):
        raise ArgumentTypeError(f"expected a tensor, got {describe(x)}")
    return x


def _dtype(x: _Array) -> Any:
    """Return the dtype with DLPack's code, bits and lanes."""
    from relax_mlir.runtime.native.ffi import tvm_ffi

    return tvm_ffi.dtype(dtype_name(_tensor(x).dtype))


def _axis(x: _Array, axis: int) -> int:
    if not 0 <= axis < _tensor(x).ndim:
        raise ShapeMismatchError(f"axis {axis} is out of range for a tensor of rank {x.ndim}")
    return axis


def _shape_i(x: _Array, axis: int) -> int:
    return x.shape[_axis(x, axis)]


def _stride_i(x: _Array, axis: int) -> int:
    # Tensors of the virtual machine are compact, where numpy's strides of an axis of 1 may differ.
    return math.prod(x.shape[_axis(x, axis) + 1 :])


def _byte_offset(x: _Array) -> int:
    """Return where the first element is in the storage of a tensor; other arrays are their own."""
    storage = storage_of(_tensor(x))
    return 0 if storage is None else x.ctypes.data - storage.ctypes.data


# Name -> function of the operands; what is no tensor is returned as it is.
QUERY: dict[str, Callable[..., Any]] = {
    "size": _size,
    "tensor_to_shape": _tensor_to_shape,
    "shape_to_tensor": _shape_to_tensor,
    "scalar_to_tensor": _scalar_to_tensor,
    "tensor_to_scalar": _tensor_to_scalar,
    "inspect_tensor_dtype_code": lambda x: _dtype(x).type_code,
    "inspect_tensor_dtype_bits": lambda x: _dtype(x).bits,
    "inspect_tensor_dtype_lanes": lambda x: _dtype(x).lanes,
    "inspect_tensor_ndim": lambda x: _tensor(x).ndim,
    "inspect_tensor_shape_i": _shape_i,
    "inspect_tensor_stride_i": _stride_i,
    "inspect_tensor_byte_offset": _byte_offset,
    "inspect_tensor_elem_offset": lambda x: _byte_offset(x) // x.itemsize,
}
