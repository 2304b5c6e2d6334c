"""Builtins that TVM's compiler calls and this one does not, for programs in its terms."""

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError, TypeMismatchError
from relax_mlir.runtime.bytecode.builtins import PREFIX
from relax_mlir.runtime.device.api import device_of_type
from relax_mlir.runtime.device.placement import copy_to
from relax_mlir.runtime.values.convert import describe, numpy_dtype

ndarray = np.ndarray
TVM_BUILTINS: dict[str, Callable[..., Any]] = {}


class MatchShapeCode(enum.IntEnum):
    """What `match_shape` does with a dimension; a value follows each code."""

    ASSERT_EQUAL_TO_IMM = 0
    STORE_TO_HEAP = 1
    NO_OP = 2
    ASSERT_EQUAL_TO_LOAD = 3


class MakeShapeCode(enum.IntEnum):
    """Where `make_shape` takes a dimension from; the number or the slot follows each code."""

    USE_IMM = 0
    LOAD_SHAPE = 1


def _builtin(func: Callable[..., Any]) -> Callable[..., Any]:
    TVM_BUILTINS[PREFIX + func.__name__.rstrip("_")] = func
    return func


def _of(context: str) -> str:
    return f" of {context}" if context else ""


@_builtin
def make_shape(heap: np.ndarray, size: int, *codes: int) -> tuple[int, ...]:
    """Return a shape of numbers and of values in the heap: `size` pairs of a code and a value.

    Raises:
        ArgumentTypeError: not so many pairs, or an unknown code.
    """
    pairs = _pairs("make_shape", size, codes)
    return tuple(
        [v if MakeShapeCode(code) is MakeShapeCode.USE_IMM else heap.item(v) for code, v in pairs]
    )


def _pairs(name: str, size: int, codes: tuple[int, ...]) -> list[tuple[int, int]]:
    if len(codes) != 2 * size:
        raise ArgumentTypeError(f"{name}: {size} dimensions need {2 * size} codes and values")
    return list(zip(codes[::2], codes[1::2], strict=True))


@_builtin
def match_shape(value: Any, heap: np.ndarray, size: int, *codes: Any) -> None:
    """Check and store the dimensions of a tensor or a shape; the last argument is a context.

    Raises:
        ArgumentTypeError: neither, or not `size` pairs of a code and a value.
        ShapeMismatchError: another number of dimensions, or one is not the expected.
    """
    *rest, context = codes
    if not isinstance(value, (ndarray, tuple)):
        raise ArgumentTypeError(f"expected a tensor or shape{_of(context)}, got {describe(value)}")
    dims = value.shape if isinstance(value, ndarray) else value
    if len(dims) != size:
        raise ShapeMismatchError(f"the shape{_of(context)} has ndim {len(dims)}, expected {size}")
    for i, (code, operand) in enumerate(_pairs("match_shape", size, tuple(rest))):
        _match_dim(f"dimension {i}{_of(context)}", dims[i], heap, code, operand)


def _match_dim(what: str, dim: int, heap: np.ndarray, code: int, operand: int) -> None:
    kind = MatchShapeCode(code)
    if kind is MatchShapeCode.STORE_TO_HEAP:
        heap[operand] = dim
    elif kind is not MatchShapeCode.NO_OP:
        wanted = operand if kind is MatchShapeCode.ASSERT_EQUAL_TO_IMM else heap.item(operand)
        if dim != wanted:
            raise ShapeMismatchError(f"{what} is {dim}, expected {wanted}")


@_builtin
def match_prim_value(value: int, heap: np.ndarray, code: int, operand: int, context: str) -> None:
    """Check or store an integer, as `match_shape` does a dimension.

    Raises:
        ShapeMismatchError: it is not the expected one.
    """
    _match_dim(f"the value{_of(context)}", value, heap, code, operand)


@_builtin
def make_prim_value(heap: np.ndarray, code: int, operand: int) -> int:
    """Return a number, or the value in a slot of the heap."""
    return make_shape(heap, 1, code, operand)[0]


@_builtin
def check_tensor_info(value: Any, ndim: int, *dtype_and_context: Any) -> None:
    """Check that a value is a tensor of a rank (-1: any) and a dtype (None or absent: any).

    Raises:
        ArgumentTypeError: it is no tensor.
        TypeMismatchError: of another rank or dtype.
    """
    *dtypes, context = dtype_and_context
    if not isinstance(value, ndarray):
        raise ArgumentTypeError(f"expected a tensor{_of(context)}, got {describe(value)}")
    if ndim >= 0 and value.ndim != ndim:
        raise TypeMismatchError(f"the tensor{_of(context)} has ndim {value.ndim}, expected {ndim}")
    dtype = dtypes[0] if dtypes else None
    if dtype and value.dtype != numpy_dtype(dtype):
        raise TypeMismatchError(
            f"the tensor{_of(context)} has dtype {value.dtype.name}, expected {dtype}"
        )


@_builtin
def check_shape_info(value: Any, ndim: int, context: str) -> None:
    """Check that a value is a shape of a length (-1: any).

    Raises:
        ArgumentTypeError: it is no shape.
        ShapeMismatchError: of another length.
    """
    is_shape = type(value) is tuple and all(type(dim) is int for dim in value)
    if not is_shape or (not value and ndim > 0):
        raise ArgumentTypeError(f"expected a shape{_of(context)}, got {describe(value)}")
    if ndim >= 0 and len(value) != ndim:
        raise ShapeMismatchError(f"the shape{_of(context)} has ndim {len(value)}, expected {ndim}")


@_builtin
def check_tuple_info(value: Any, size: int, context: str) -> None:
    """Check that a value is a tuple of a length.

    Raises:
        ArgumentTypeError: it is no tuple.
        ShapeMismatchError: of another length.
    """
    if type(value) is not tuple:
        raise ArgumentTypeError(f"expected a tuple{_of(context)}, got {describe(value)}")
    if len(value) != size:
        raise ShapeMismatchError(f"the tuple{_of(context)} has {len(value)} elements, not {size}")


@_builtin
def check_func_info(value: Any, context: str) -> None:
    """Check that a value is a function; ArgumentTypeError when it is not."""
    if not callable(value) or isinstance(value, ndarray):
        raise ArgumentTypeError(f"expected a function{_of(context)}, got {describe(value)}")


@_builtin
def check_prim_value_info(value: Any, dtype: str, context: str) -> None:
    """Check that a value is a number of the kind of a dtype; ArgumentTypeError when it is not."""
    kinds = {"b": bool, "i": int, "u": int, "f": (int, float)}
    if not isinstance(value, kinds.get(numpy_dtype(dtype).kind, ())):
        raise ArgumentTypeError(f"expected a {dtype}{_of(context)}, got {describe(value)}")


@_builtin
def to_device(value: np.ndarray, device_type: int, index: int) -> np.ndarray:
    """Return a copy of a tensor on a device, given by DLPack's number of its kind and its own.

    Raises:
        DeviceError: no such device.
    """
    return copy_to(value, device_of_type(device_type, index))


@_builtin
def multinomial_from_uniform(probabilities: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return the indices that samples in [0, 1) choose: the first whose sum exceeds the sample.

    Args:
        probabilities: of shape (batch, n), each row sums up to 1.
        samples: of shape (batch, 1).

    Raises:
        ShapeMismatchError: other shapes.
    """
    if probabilities.ndim != 2 or samples.shape != (len(probabilities), 1):
        raise ShapeMismatchError(
            f"expected (batch, n) and (batch, 1), got {probabilities.shape} and {samples.shape}"
        )
    below = np.cumsum(probabilities, 1) <= samples
    # Sums that rounding leaves below 1 end at the last index.
    return np.minimum(below.sum(1, keepdims=True), probabilities.shape[1] - 1)
