"""Tensor creation at run time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.library.operands import check, size_of
from relax_mlir.runtime.values.convert import describe, numpy_dtype

_Array = np.ndarray


def _dtype(name: str | None, default: Any = None) -> Any:
    return numpy_dtype(name) if name else default


def _scalar(value: Any) -> _Array:
    check(value)
    if value.ndim:
        raise ArgumentTypeError(f"the value to fill with must be a scalar, got {describe(value)}")
    return value


def _full(shape: Any, fill_value: _Array, dtype: str | None = None) -> _Array:
    fill = _scalar(fill_value)
    return np.full(size_of(shape), fill.astype(_dtype(dtype, fill.dtype)))


def _full_like(x: _Array, fill_value: _Array, dtype: str | None = None) -> _Array:
    check(x)
    return np.full(x.shape, _scalar(fill_value).astype(_dtype(dtype, x.dtype)))


def _filled(value: int) -> Callable[..., _Array]:
    def compute(shape: Any, dtype: str) -> _Array:
        return np.full(size_of(shape), value, numpy_dtype(dtype))

    return compute


def _filled_like(value: int) -> Callable[..., _Array]:
    def compute(x: _Array, dtype: str | None = None) -> _Array:
        check(x)
        return np.full(x.shape, value, _dtype(dtype, x.dtype))

    return compute


def scalar_like(x: _Array, value: Any) -> _Array:
    """Return a number in the dtype of a tensor, which must have it."""
    check(x)
    result = np.asarray(_number(value)).astype(x.dtype)
    if x.dtype.kind in "biu" and result != _number(value):
        raise ArgumentTypeError(f"{_number(value)} is not a number of dtype {x.dtype.name}")
    return result


def _number(value: Any) -> int | float:
    return value.item() if isinstance(value, np.ndarray) else value


def arange(start: Any, end: Any, step: Any, dtype: str | None = None) -> _Array:
    """Return a range; `end` is None or an empty tuple where `start` is the only bound."""
    bounds = [_number(start), _number(end), _number(step)]
    if bounds[1] is None or bounds[1] == ():
        bounds[:2] = 0, bounds[0]
    first, last, by = bounds
    if by == 0:
        raise ValueError("the step of a range cannot be 0")
    floating = any(isinstance(item, float) for item in bounds)
    count = max(0, int(-((first - last) // by)))
    size_of((count,))
    # Of integers in float64 beyond 2^53 the last digits would be lost.
    places = np.arange(count, dtype="float64" if floating else "int64")
    return (places * by + first).astype(_dtype(dtype, "float32" if floating else "int64"))


def _eye(n: int, m: Any, k: int, dtype: str = "float32") -> _Array:
    columns = n if m is None or m == () else m
    size_of((n, columns))
    return np.eye(n, columns, k, numpy_dtype(dtype))


def _eye_like(x: _Array, k: int, dtype: str | None = None) -> _Array:
    check(x)
    if x.ndim != 2:
        raise ArgumentTypeError(f"needs a matrix, got {describe(x)}")
    rows, columns = x.shape
    return np.eye(rows, columns, k, _dtype(dtype, x.dtype))


def _triangle(cut: Callable[..., _Array]) -> Callable[..., _Array]:
    def compute(x: _Array, k: int) -> _Array:
        check(x)
        if x.ndim < 2:
            raise ArgumentTypeError(f"needs a matrix, got {describe(x)}")
        return cut(x, k)

    return compute


def one_hot(indices: _Array, on_value: Any, off_value: Any, depth: int, axis: int) -> _Array:
    """Return `on_value` where a new axis counts what `indices` says, elsewhere `off_value`."""
    check(indices, "iu")
    ndim = indices.ndim + 1
    if not -ndim <= axis < ndim:
        raise ArgumentTypeError(f"axis {axis} is out of range for a tensor of rank {ndim}")
    size_of((*indices.shape, depth))
    on, off = _number(on_value), _number(off_value)
    dtype = "float32" if isinstance(on, float) or isinstance(off, float) else "int64"
    around: Sequence[int] = [-1 if i == axis % ndim else 1 for i in range(ndim)]
    places = np.arange(depth, dtype=indices.dtype if depth <= 127 else "int64").reshape(around)
    values = np.array([off, on], dtype)
    return values[(np.expand_dims(indices, axis % ndim) == places).astype(np.intp)]


def _hamming_window(
    size: int, periodic: bool, alpha: float, beta: float, dtype: str = "float32"
) -> _Array:
    size_of((size,))
    if size < 1:
        raise ArgumentTypeError(f"window_size must be at least 1, got {size}")
    turns = np.arange(size) * (2 * np.pi / max(size if periodic else size - 1, 1))
    window = alpha - beta * np.cos(turns) if size > 1 else np.ones(1)
    return window.astype(numpy_dtype(dtype))


# Name -> function of the operands, the attributes that may be symbolic, then the other attributes.
CREATE: dict[str, Callable[..., Any]] = {
    "full": _full,
    "full_like": _full_like,
    "zeros": _filled(0),
    "ones": _filled(1),
    "zeros_like": _filled_like(0),
    "ones_like": _filled_like(1),
    "scalar_like": scalar_like,
    "arange": arange,
    "eye": _eye,
    "eye_like": _eye_like,
    "tril": _triangle(np.tril),
    "triu": _triangle(np.triu),
    "one_hot": one_hot,
    "hamming_window": _hamming_window,
}
