"""What each Relax operation means, in numpy; keyword arguments are the operation's attributes."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def _wide(x: Any) -> Any:
    """Floating-point steps are taken in double precision, so that only the result is rounded."""
    return x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def _wide_function(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **attrs: function(*(_wide(arg) for arg in args), **attrs)


def _axes(axis: Sequence[int] | int | None) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: np.ndarray, axis: Any = None, keepdims: bool = False) -> Any:
        return function(_wide(x), axis=_axes(axis), keepdims=keepdims)

    return reduce


def _softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    if x.size == 0:
        return x
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


_erf = np.vectorize(math.erf, otypes=[np.float64])
_UNARY = (
    "abs", "ceil", "cos", "exp", "floor", "log", "negative", "sin", "sqrt", "square", "tanh",
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan", "sign", "trunc",
    "isnan", "isinf", "isfinite", "logical_not",
)  # fmt: skip
_TWIN = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atanh": "arctanh", "bitwise_not": "invert", "round": "rint", "mod": "mod",
    "floor_mod": "mod",
}  # fmt: skip
_BINARY = (
    "add", "divide", "equal", "floor_divide", "greater", "greater_equal", "less", "less_equal",
    "maximum", "minimum", "multiply", "not_equal", "power", "subtract", "mod",
    "floor_mod", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
    "bitwise_xor",
)  # fmt: skip


def _named(name: str) -> Callable[..., Any]:
    return _wide_function(getattr(np, _TWIN.get(name, name)))


def _matmul(a: np.ndarray, b: np.ndarray, out_dtype: str | None = None) -> np.ndarray:
    # The caller rounds; only integers would wrap around before that.
    if out_dtype is not None and a.dtype.kind in "iu":
        a, b = a.astype(out_dtype), b.astype(out_dtype)
    return np.matmul(_wide(a), _wide(b))


def _strided_slice(
    x: np.ndarray, begin: Any, end: Any, strides: Any = None, axes: Any = (), **_: Any
) -> np.ndarray:
    at = [slice(None)] * x.ndim
    for index, axis in enumerate(axes):
        at[axis] = slice(begin[index], end[index], strides[index] if strides else 1)
    return x[tuple(at)]


def _split(x: np.ndarray, indices_or_sections: Any, axis: int = 0) -> tuple[np.ndarray, ...]:
    return tuple(np.split(x, indices_or_sections, axis))


OPS: dict[str, Callable[..., Any]] = {
    **{name: _named(name) for name in (*_UNARY, *_BINARY, "round", "bitwise_not")},
    "erf": _wide_function(_erf),
    "matmul": _matmul,
    "rsqrt": _wide_function(lambda x: 1 / np.sqrt(x)),
    "sigmoid": _wide_function(lambda x: 1 / (1 + np.exp(-x))),
    "silu": _wide_function(lambda x: x / (1 + np.exp(-x))),
    "gelu": _wide_function(lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2)))),
    "relu": lambda x: np.maximum(x, 0),
    "softmax": _wide_function(_softmax),
    "log_softmax": _wide_function(lambda x, axis=-1: np.log(_softmax(x, axis))),
    "astype": lambda x, dtype: x.astype(dtype),
    "where": lambda condition, x, y: np.where(condition, x, y),
    "reshape": lambda x, shape: x.reshape(shape),
    "flatten": lambda x: x.reshape(-1),
    "permute_dims": lambda x, axes=None: x.transpose(axes),
    "expand_dims": lambda x, axis: np.expand_dims(x, _axes(axis)),
    "squeeze": lambda x, axis=None: np.squeeze(x, _axes(axis)),
    "broadcast_to": lambda x, shape: np.broadcast_to(x, shape),
    "concat": lambda tensors, axis=0: (
        np.concatenate([t.reshape(-1) for t in tensors])
        if axis is None
        else np.concatenate(tensors, axis)
    ),
    "stack": lambda tensors, axis=0: np.stack(tensors, axis),
    "strided_slice": _strided_slice,
    "split": _split,
    "clip": lambda x, min, max: np.clip(x, min, max),
    "cumsum": lambda x, axis=None, **_: np.cumsum(_wide(x), axis),
    "cumprod": lambda x, axis=None, **_: np.cumprod(_wide(x), axis),
    "flip": lambda x, axis: np.flip(x, axis),
    "tile": lambda x, repeats: np.tile(x, repeats),
    "repeat": lambda x, repeats, axis=None: np.repeat(x, repeats, axis),
    "take": lambda x, indices, axis=None, mode="fast": np.take(
        x, indices, axis, mode="raise" if mode == "fast" else mode
    ),
    **{
        name: _reduction(getattr(np, twin))
        for name, twin in {
            "sum": "sum", "max": "max", "min": "min", "mean": "mean", "prod": "prod",
            "std": "std", "variance": "var", "any": "any", "all": "all",
        }.items()
    },
    "argmax": lambda x, axis=None, keepdims=False: np.argmax(x, axis, keepdims=keepdims),
    "argmin": lambda x, axis=None, keepdims=False: np.argmin(x, axis, keepdims=keepdims),
    "unique": lambda x, **attrs: np.unique(x),
}  # fmt: skip
