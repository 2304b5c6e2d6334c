"""Memory and views of tensors, for programs that manage them themselves."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.library.operands import check, size_of
from relax_mlir.runtime.values.convert import describe, numpy_dtype
from relax_mlir.runtime.values.ndarray import tensor_view

_Array = np.ndarray


def _alloc_storage(size: Any, *attrs: Any) -> _Array:
    (count,) = size_of(size)
    return np.empty(count, "uint8")


def _alloc_tensor(storage: Any, shape: Any, offset: int, dtype: str, *device: Any) -> _Array:
    if not isinstance(storage, np.ndarray):
        raise ArgumentTypeError(f"expected a storage, got {describe(storage)}")
    return tensor_view(storage, size_of(shape), dtype, offset)


def _kill(value: Any) -> tuple[()]:
    return ()


def _check_tensor(data: Any) -> None:
    """Raise ArgumentTypeError unless data is a tensor, of any dtype: its elements are not used."""
    if not isinstance(data, np.ndarray):
        raise ArgumentTypeError(f"expected a tensor, got {describe(data)}")


def _view(data: _Array, shape: Any, offset: Any, dtype: str | None) -> _Array:
    _check_tensor(data)
    # An operand that was left out is an empty tuple, as is the shape of one element.
    return tensor_view(data, size_of(shape), dtype or data.dtype.name, offset or 0)


def _same(data: _Array, *attrs: Any) -> _Array:
    _check_tensor(data)
    return data


def _wrap_param(data: _Array, dtype: str = "float32") -> _Array:
    check(data)
    return data.astype(numpy_dtype(dtype))


MEMORY: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("memory_alloc_storage", "vm_alloc_storage"), _alloc_storage),
    **dict.fromkeys(("memory_alloc_tensor", "vm_alloc_tensor"), _alloc_tensor),
    **dict.fromkeys(("memory_kill_storage", "memory_kill_tensor", "vm_kill_object"), _kill),
    **dict.fromkeys(
        (
            "builtin_stop_lift_params",
            "grad_end_checkpoint",
            "grad_no_grad",
            "grad_start_checkpoint",
            "hint_on_device",
            "memory_ensure_zero_offset",
            "to_vdevice",
        ),
        _same,
    ),
    "wrap_param": _wrap_param,
    "memory_view": _view,
}
