"""Conversion of arguments to numpy arrays, tuples and numbers, and of results back."""

import ctypes
import re
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.values.bfloat16 import bits_from_dlpack

ndarray = np.ndarray

DTYPES: dict[str, np.dtype] = {
    name: np.dtype(name)
    for name in (
        "bool",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
        *(f"float{bits}" for bits in (16, 32, 64)),
    )
}

BFLOAT16 = "bfloat16"
_PLAIN = frozenset((int, float, bool, str, type(None)))


def numpy_dtype(dtype: Any) -> np.dtype:
    """Return the numpy dtype of a dtype's name (or of anything numpy takes for one).

    One of several lanes, `float32x4`, is that of records with one field, `lanes`.

    Raises:
        ArgumentTypeError: numpy has no such dtype, or bfloat16 without the package `ml_dtypes`.
    """
    result = DTYPES.get(dtype) if isinstance(dtype, str) else None
    if result is not None:
        return result
    if isinstance(dtype, str) and dtype in (BFLOAT16, "bfloat"):
        return _bfloat16()
    vector = re.fullmatch(r"(\w*\d)x(\d+)", dtype) if isinstance(dtype, str) else None
    if vector is not None:
        return np.dtype([("lanes", numpy_dtype(vector[1]), (int(vector[2]),))])
    try:
        return np.dtype(str(dtype) if isinstance(dtype, str) else dtype)
    except TypeError:
        raise ArgumentTypeError(f"unknown dtype {dtype!r}") from None


def _bfloat16() -> np.dtype:
    try:
        import ml_dtypes
    except ImportError:
        raise ArgumentTypeError(
            "numpy has no bfloat16 of its own: pip install ml_dtypes, "
            "or cast to float32 at the program's boundary"
        ) from None
    return DTYPES.setdefault(BFLOAT16, np.dtype(ml_dtypes.bfloat16))


def dtype_name(dtype: np.dtype) -> str:
    """Return the name of a dtype as TVM spells it, the inverse of `numpy_dtype`."""
    if dtype.names != ("lanes",):
        return dtype.name
    return f"{dtype['lanes'].base.name}x{dtype['lanes'].shape[0]}"


def is_tensor_dtype(dtype: np.dtype) -> bool:
    """Return whether tensors may have this dtype, in any byte order."""
    return dtype.name in DTYPES or (dtype.name == BFLOAT16 and dtype.itemsize == 2)


def writable_alias(array: np.ndarray) -> np.ndarray:
    """Return a writable array over the memory of a read-only one, which stays alive with it.

    numpy does not export read-only arrays through DLPack; kernels do not write their inputs.
    """
    memory: Any = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    memory.read_only_owner = array
    return ndarray(array.shape, array.dtype, memory)


def to_value(value: Any) -> Any:
    """Return a value in the form the VM computes with.

    numpy arrays come out C-contiguous, aligned, native-endian and writable (the same object when
    they are so already, a copy or an alias when not). numpy scalars become 0-d arrays. Tuples and
    lists become tuples of values. Objects with `__dlpack__`, `__array_interface__` or `__array__`
    become arrays, with no copy where their memory allows. Python numbers, strings, None and any
    other object stay as they are: a Python number is never taken for a tensor.

    Raises:
        ArgumentTypeError: an array-like object that numpy cannot read, or a masked array.
    """
    kind = type(value)
    if kind is ndarray:
        if value.flags.carray and value.dtype.isnative:
            return value
        return _normalize(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return tuple([to_value(v) for v in value])
    return _convert(value)


def _normalize(array: np.ndarray) -> np.ndarray:
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned and array.dtype.isnative):
        return np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
    return writable_alias(array)


def _convert(value: Any) -> Any:
    kind = type(value)
    if isinstance(value, ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise ArgumentTypeError("masked arrays are not tensors: fill or compress them first")
        return to_value(value.view(ndarray))
    if isinstance(value, np.generic):
        return np.array(value)
    if str(kind.__module__).partition(".")[0] == "tvm_ffi":
        return _from_ffi(value)
    if isinstance(value, (tuple, list)):
        return tuple([to_value(v) for v in value])
    if isinstance(value, (int, float, str)):
        return value
    try:
        if hasattr(kind, "__dlpack__"):
            return to_value(from_dlpack(value))
        if hasattr(kind, "__array__") or hasattr(kind, "__array_interface__"):
            return to_value(np.asarray(value))
    except ArgumentTypeError:
        raise
    except Exception as error:
        raise ArgumentTypeError(
            f"cannot read a {kind.__module__}.{kind.__qualname__} as a CPU tensor: {error}"
        ) from error
    return value


def from_dlpack(value: Any) -> np.ndarray:
    """Return an array over the memory of an object with `__dlpack__`, bfloat16 too."""
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError):
        # numpy rejects bfloat16 by its dtype.
        bits = bits_from_dlpack(value)
        if bits is None:
            raise
        return bits.view(numpy_dtype(BFLOAT16))


def _from_ffi(value: Any) -> Any:
    from relax_mlir.runtime.native.ffi import tvm_ffi

    if isinstance(value, tvm_ffi.Tensor):
        try:
            return to_value(from_dlpack(value))
        except ArgumentTypeError:
            raise
        except Exception as error:
            raise ArgumentTypeError(
                f"cannot read a tvm_ffi.Tensor of dtype {value.dtype} on {value.device} "
                f"as a CPU tensor: {error}"
            ) from error
    if isinstance(value, tvm_ffi.Shape):
        return tuple([int(v) for v in value])
    if isinstance(value, (tvm_ffi.Array, tvm_ffi.List)):
        return tuple([to_value(v) for v in value])
    return str(value) if type(value).__name__ == "String" else value


def describe(value: Any) -> str:
    """Return what a value is, for messages: `a float32 tensor of shape (2, 3)`."""
    if isinstance(value, ndarray):
        return f"a {dtype_name(value.dtype)} tensor of shape {value.shape}"
    if isinstance(value, tuple):
        if value and all(type(v) is int for v in value):
            return f"a shape {value}"
        return f"a tuple of {len(value)}"
    if value is None:
        return "None"
    if isinstance(value, (bool, int, float)):
        return f"the Python {type(value).__name__} {value!r}"
    return f"a {type(value).__module__}.{type(value).__qualname__}".replace("a builtins.", "a ")
