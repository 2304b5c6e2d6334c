"""Builtins on the shape heap and the checks of declared arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError, TypeMismatchError
from relax_mlir.runtime.bytecode.builtins import PREFIX
from relax_mlir.runtime.device.memory import NO_VALUE
from relax_mlir.runtime.values.convert import DTYPES, describe, numpy_dtype

ndarray = np.ndarray
_I64 = np.dtype("int64")
_MAX = (1 << 63) - 1
_zeros = np.zeros
# As many bytes as the largest element has.
_NOTHING = bytes(16)
SHAPE_BUILTINS: dict[str, Callable[..., Any]] = {}
_WITHOUT_VALUE = "divides by zero or does not fit 64 bits"


def _builtin(func: Callable[..., Any]) -> Callable[..., Any]:
    SHAPE_BUILTINS[PREFIX + func.__name__] = func
    return func


def _dims(value: Any, context: str) -> tuple:
    if type(value) is ndarray:
        return value.shape
    if type(value) is tuple:
        return value
    if isinstance(value, ndarray):
        return value.shape
    if isinstance(value, int):
        return (int(value),)
    raise ArgumentTypeError(f"{context}: expected a tensor or a shape, got {describe(value)}")


@_builtin
def alloc_shape_heap(size: int) -> np.ndarray:
    """Return the int64 array that holds the run-time values of a function's symbols."""
    return _zeros(size, _I64)


# The design document's name of it.
SHAPE_BUILTINS[PREFIX + "alloc_heap"] = alloc_shape_heap


@_builtin
def store_shape(value: Any, heap: np.ndarray, *slots: int) -> None:
    """Store the dimensions of a tensor, a shape or one int in the heap; slot -1 is skipped.

    Raises:
        ShapeMismatchError: the value has another number of dimensions than there are slots, or one
            is too large.
    """
    dims = value.shape if type(value) is ndarray else _dims(value, "store_shape")
    if len(dims) != len(slots):
        raise ShapeMismatchError(
            f"store_shape: {describe(value)} has {len(dims)} dimensions, expected {len(slots)}"
        )
    try:
        for slot, dim in zip(slots, dims):  # noqa: B905 - lengths were compared
            if slot >= 0:
                heap[slot] = dim
    except OverflowError:
        raise ShapeMismatchError(f"store_shape: {dim} does not fit in 64 bits") from None


@_builtin
def bind_symbol(
    value: Any,
    heap: np.ndarray,
    axis: int,
    slot: int,
    factor: int,
    rest_slot: int,
    rest: int,
    context: str,
    dim: str,
    symbol: str,
) -> None:
    """Store the symbol that a dimension of the form `symbol * factor + rest` determines.

    Args:
        value: tensor, shape or integer.
        heap: the shape heap.
        axis: which dimension.
        slot: where the symbol's value goes.
        factor: its coefficient.
        rest_slot: slot of the other summands, -1 when they are the constant `rest`.
        rest: that constant.
        context: what is checked, for messages.
        dim: the dimension as the program spells it.
        symbol: the symbol's name.

    Raises:
        ShapeMismatchError: no size of that symbol gives the dimension.
    """
    size = _dims(value, context)[axis]
    rest = heap.item(rest_slot) if rest_slot >= 0 else rest
    quotient, remainder = divmod(size - rest, factor)
    if remainder or quotient < 0 or rest == NO_VALUE:
        if rest == NO_VALUE:
            reason = f"the rest of it {_WITHOUT_VALUE}"
        elif remainder:
            reason = f"{size - rest} is not divisible by {abs(factor)}"
        else:
            reason = f"{symbol} would be {quotient}"
        where = "value" if isinstance(value, int) else f"dimension {axis}"
        raise ShapeMismatchError(
            f"{context}: {where} is {size}, expected {dim}, and no size {symbol} gives that: "
            f"{reason}"
        )
    heap[slot] = quotient


@_builtin
def check_bounds(
    heap: np.ndarray, slot: int, low: int, high: int, context: str, symbol: str, source: str
) -> None:
    """Check the value of a symbol against what the program declares of it.

    Raises:
        ShapeMismatchError: it is below `low` or above `high`.
    """
    value = heap.item(slot)
    if not low <= value <= high:
        side, end = ("least", low) if value < low else ("most", high)
        raise ShapeMismatchError(
            f"{context}: {symbol} is {value} (by {source}), declared to be at {side} {end}"
        )


@_builtin
def load_shape(heap: np.ndarray, *slots: int) -> tuple[int, ...]:
    """Return the shape made of these heap slots."""
    item = heap.item
    return tuple([item(slot) for slot in slots])


@_builtin
def load_value(heap: np.ndarray, slot: int) -> int:
    """Return the integer in one heap slot."""
    return heap.item(slot)


@_builtin
def assert_shape(value: Any, heap: np.ndarray, context: str | tuple[str, ...], *slots: int) -> None:
    """Check the dimensions of a tensor, a shape or one int against the heap; slot -1 is skipped.

    With the context may come, in one tuple, what each dimension is: `(context, "n", "n * 2")`.

    Raises:
        ShapeMismatchError: says the context, which dimension, its value and the one expected.
    """
    what, *names = context if isinstance(context, tuple) else (context,)
    dims = value.shape if type(value) is ndarray else _dims(value, what)
    if len(dims) != len(slots):
        raise ShapeMismatchError(f"{what}: expected {_rank(len(slots))}, got {dims}")
    item = heap.item
    for i, slot in enumerate(slots):
        if slot >= 0 and item(slot) != dims[i]:
            where = "value" if isinstance(value, int) else f"dimension {i}"
            wanted = f"expected {item(slot)}"
            if item(slot) == NO_VALUE:
                wanted = f"the expected one {_WITHOUT_VALUE}"
            if names:
                wanted += f" ({names[i]})"
            raise ShapeMismatchError(
                f"{what}: {where} is {dims[i]}, {wanted}"
                + (f" (got {describe(value)})" if len(dims) > 1 else "")
            )


def _rank(ndim: int) -> str:
    return f"{ndim} dimension{'' if ndim == 1 else 's'}"


@_builtin
def check_tensor(
    value: Any, ndim: int, dtype: str, context: str, dims: tuple[int, ...] | None = None
) -> None:
    """Check that a value is a tensor of a rank (-1: any), dtype ("": any) and constant dimensions.

    Raises:
        ArgumentTypeError: says the context, what was expected and what came; it is a
            TypeMismatchError for a tensor of another rank or dtype.
        ShapeMismatchError: a dimension is not the one in `dims` (-1: any).
    """
    if type(value) is not ndarray:
        hint = ""
        if isinstance(value, (bool, int, float)):
            hint = f"; pass numpy.{dtype or 'float32'}({value!r}) for a scalar tensor"
        elif type(value) is tuple:
            hint = "; pass numpy.asarray(...) to make a tensor of numbers"
        raise ArgumentTypeError(f"{context}: expected a tensor, got {describe(value)}{hint}")
    if ndim >= 0 and value.ndim != ndim:
        raise TypeMismatchError(
            f"{context}: expected {_rank(ndim)}, got ndim {value.ndim} (shape {value.shape})"
        )
    if dtype and value.dtype is not DTYPES.get(dtype) and value.dtype != numpy_dtype(dtype):
        raise TypeMismatchError(f"{context}: expected dtype {dtype}, got {value.dtype.name}")
    if dims is not None and value.shape != dims:
        _check_dims(value, value.shape, dims, context)


def _check_dims(value: Any, dims: tuple, wanted: tuple[int, ...], context: str) -> None:
    for i, (size, dim) in enumerate(zip(wanted, dims, strict=True)):
        if size not in (-1, dim):
            raise ShapeMismatchError(
                f"{context}: dimension {i} is {dim}, expected {size}"
                + (f" (got {describe(value)})" if len(dims) > 1 else "")
            )


@_builtin
def check_sizes(value: Any, context: str) -> None:
    """Check that a computed shape is one that a tensor can have, or that an int has a value.

    Raises:
        ShapeMismatchError: a dimension is negative, divides by zero or does not fit 64 bits.
    """
    if type(value) is int:
        if value == NO_VALUE:
            raise ShapeMismatchError(f"{context}: {_WITHOUT_VALUE}")
        return
    for i, dim in enumerate(value):
        if dim < 0:
            reason = _WITHOUT_VALUE if dim == NO_VALUE else f"is {dim}, a size cannot be negative"
            raise ShapeMismatchError(f"{context}: dimension {i} {reason}")


@_builtin
def check_shape_value(
    value: Any, ndim: int, context: str, dims: tuple[int, ...] | None = None
) -> None:
    """Check that a value is a shape of a length (-1: any) and of constant dimensions (-1: any).

    Raises:
        ArgumentTypeError: it is no such shape.
        ShapeMismatchError: a dimension is not the one in `dims`, negative or above 64 bits.
    """
    if type(value) is not tuple or not all([type(v) is int for v in value]):
        hint = "; its dimensions must be Python integers" if type(value) is tuple else ""
        raise ArgumentTypeError(f"{context}: expected a shape, got {describe(value)}{hint}")
    if ndim >= 0 and len(value) != ndim:
        raise TypeMismatchError(f"{context}: expected a shape of {_rank(ndim)}, got {value}")
    if value and not 0 <= min(value) <= max(value) <= _MAX:
        raise ShapeMismatchError(f"{context}: dimensions must be from 0 to 2^63 - 1, got {value}")
    if dims is not None and value != dims:
        _check_dims(value, value, dims, context)


@_builtin
def check_tuple(value: Any, length: int, context: str) -> None:
    """Check that a value is a tuple of a length (-1: any); ArgumentTypeError when it is not.

    None is the empty tuple: what a packed function without a result returns.
    """
    if value is None and length <= 0:
        return
    if type(value) is not tuple or (length >= 0 and len(value) != length):
        wanted = "a tuple" if length < 0 else f"a tuple of {length}"
        raise ArgumentTypeError(f"{context}: expected {wanted}, got {describe(value)}")


@_builtin
def check_int(value: Any, context: str) -> None:
    """Check that a value is an integer of 64 bits; ArgumentTypeError when it is not."""
    if type(value) is not int:
        raise ArgumentTypeError(f"{context}: expected an integer, got {describe(value)}")
    if not -_MAX <= value <= _MAX:
        raise ArgumentTypeError(f"{context}: {value} does not fit in 64 bits")


@_builtin
def shape_to_tensor(shape: tuple[int, ...]) -> np.ndarray:
    """Return a shape as a 1-d int64 tensor."""
    return np.array(shape, _I64)


@_builtin
def tensor_to_shape(tensor: np.ndarray) -> tuple[int, ...]:
    """Return the integers of a 1-d tensor as a shape; ArgumentTypeError for any other value."""
    if not isinstance(tensor, ndarray) or tensor.ndim != 1 or tensor.dtype.kind not in "iu":
        raise ArgumentTypeError(f"expected a 1-d integer tensor, got {describe(tensor)}")
    return tuple(tensor.tolist())


@_builtin
def tensor_without_memory(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return what has the shape and dtype of a tensor that is still to be made.

    Raises:
        ShapeMismatchError: a dimension is negative.
    """
    if min(shape, default=0) < 0:
        raise ShapeMismatchError(f"a tensor cannot have the shape {shape}")
    kind = DTYPES.get(dtype) or numpy_dtype(dtype)
    return ndarray(shape, kind, _NOTHING, 0, (0,) * len(shape))
