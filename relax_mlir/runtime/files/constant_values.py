"""What may be a constant of an executable, and in which form it is kept."""

from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.values import is_tensor_dtype, numpy_dtype, to_value


def holds_array(value: Any) -> bool:
    """Whether a value is an array or a tuple with one in it."""
    return isinstance(value, np.ndarray) or (
        isinstance(value, tuple) and any(holds_array(v) for v in value)
    )


def constant_value(value: Any) -> Any:
    """Return a value as the constant pool holds it; ArgumentTypeError for one that it cannot."""
    if type(value) in (int, float, bool, str, bytes, type(None)):
        return value
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value)
    if isinstance(value, np.ndarray):
        known = value.dtype.kind in "biuf" or is_tensor_dtype(value.dtype)
        return value if known else _refuse(value)
    if isinstance(value, (tuple, list)):
        return tuple([int(v) if isinstance(v, np.integer) else constant_value(v) for v in value])
    if type(value).__module__.partition(".")[0] == "tvm_ffi" and "dtype" in type(value).__name__:
        return numpy_dtype(str(value))
    converted = to_value(value)
    if converted is value:
        return str(value) if isinstance(value, str) else _refuse(value)
    return constant_value(converted)


def _refuse(value: Any) -> Any:
    what = f"array of dtype {value.dtype}" if isinstance(value, np.ndarray) else repr(value)
    raise ArgumentTypeError(f"{what} cannot be a constant of an executable")
