"""Dtypes of torch under the names of Relax."""

from typing import Any

import torch

from relax_mlir.errors import ExprTypeError

_NAMES = {
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
    torch.int8: "int8",
    torch.int16: "int16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.uint8: "uint8",
    torch.uint16: "uint16",
    torch.uint32: "uint32",
    torch.uint64: "uint64",
    torch.bool: "bool",
}


def dtype_name(dtype: Any) -> str:
    """Return Relax's name of a dtype of torch.

    Raises:
        ExprTypeError: Relax has none, such as of complex numbers.
    """
    name = _NAMES.get(dtype)
    if name is None:
        raise ExprTypeError(f"Relax has no dtype for {dtype}; it has {', '.join(_NAMES.values())}")
    return name


def dtype_limits(name: str) -> tuple[float, float]:
    """Return the lowest and the highest number of a dtype, infinities for floats."""
    dtype = next(key for key, value in _NAMES.items() if value == name)
    if dtype.is_floating_point:
        return float("-inf"), float("inf")
    if dtype == torch.bool:
        return 0, 1
    info = torch.iinfo(dtype)
    return info.min, info.max
