"""Checks and conversions of the library's arguments; errors with an operator's name."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError, VMError
from relax_mlir.runtime.bytecode.builtins import LIBRARY_PREFIX
from relax_mlir.runtime.values.convert import DTYPES, describe, dtype_name

_KNOWN = frozenset(DTYPES.values())
_HALF, _SINGLE = np.dtype("float16"), np.dtype("float32")
_BOOL = np.dtype("bool")

_WANTED = {"f": "a floating-point", "iu": "an integer", "biu": "an integer", "b": "a bool"}


def check(value: Any, kinds: str = "biuf") -> None:
    """Raise ArgumentTypeError unless the value is a tensor of a dtype of these kinds."""
    if not isinstance(value, np.ndarray):
        raise ArgumentTypeError(f"expected a tensor, got {describe(value)}")
    if value.dtype not in _KNOWN or value.dtype.kind not in kinds:
        if value.dtype == _BOOL and "i" in kinds:
            raise ArgumentTypeError("not defined for bool: cast the operands first")
        wanted = _WANTED.get(kinds, "a numeric")
        raise ArgumentTypeError(f"needs {wanted} dtype, got {dtype_name(value.dtype)}")


def widen(x: np.ndarray) -> np.ndarray:
    """Return half precision as float32: its few bits do not survive several steps."""
    return x.astype(_SINGLE) if x.dtype == _HALF else x


def axes(given: Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return distinct axes counted from 0, all of them for None.

    Raises:
        ArgumentTypeError: there is no such axis, or one is there twice.
    """
    given = range(ndim) if given is None else given
    for axis in given:
        if not -ndim <= axis < ndim:
            raise ArgumentTypeError(f"axis {axis} is out of range for a tensor of rank {ndim}")
    result = tuple([axis % ndim for axis in given])
    if len(set(result)) != len(result):
        raise ArgumentTypeError(f"axes must be distinct, got {tuple(given)} for rank {ndim}")
    return result


def check_pair(a: Any, b: Any, kinds: str = "biuf") -> None:
    """Raise ArgumentTypeError unless both are tensors of one dtype, of these kinds."""
    check(a, kinds)
    check(b, kinds)
    if a.dtype != b.dtype:
        raise ArgumentTypeError(f"operand dtypes must match, got {a.dtype.name} and {b.dtype.name}")


def tensors(values: Any) -> tuple[np.ndarray, ...]:
    """Return a tuple operand, which has tensors of one dtype and at least one of them.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if not isinstance(values, tuple) or not values:
        raise ArgumentTypeError(f"expected a tuple of tensors, got {describe(values)}")
    for value in values:
        check_pair(values[0], value)
    return values


def size_of(shape: Any) -> tuple[int, ...]:
    """Return a shape operand.

    Raises:
        ArgumentTypeError: it is no shape.
        ShapeMismatchError: a dimension is negative.
    """
    if type(shape) is not tuple or not all(type(dim) is int for dim in shape):
        raise ArgumentTypeError(f"expected a shape, got {describe(shape)}")
    if min(shape, default=0) < 0:
        raise ShapeMismatchError(f"a dimension cannot be negative, got {shape}")
    return shape


def named(
    name: str, compute: Callable[..., Any], prefix: str = LIBRARY_PREFIX
) -> Callable[..., Any]:
    """Return a function that raises the errors of programs, with an operator's name."""

    def call(*args: Any) -> Any:
        try:
            return compute(*args)
        except MemoryError as error:
            raise VMError(f"{name}: {error}") from None
        except TypeError as error:
            raise ArgumentTypeError(f"{name}: {error}") from None
        except (ValueError, IndexError) as error:
            raise ShapeMismatchError(f"{name}: {error}") from None

    call.__name__ = call.__qualname__ = prefix + name
    return call
