"""Computations on whatever shapes and dtypes arrive: what only run time knows ends here (D0)."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError, VMError
from relax_mlir.runtime.builtins import binary_broadcast_shape_infer
from relax_mlir.runtime.library_attention import ATTENTION
from relax_mlir.runtime.library_bfloat import through_single
from relax_mlir.runtime.library_boxes import BOXES
from relax_mlir.runtime.library_create import CREATE
from relax_mlir.runtime.library_elementwise import ELEMENTWISE
from relax_mlir.runtime.library_image import IMAGE
from relax_mlir.runtime.library_index import CHECKS, INDEX
from relax_mlir.runtime.library_linear_algebra import LINEAR_ALGEBRA
from relax_mlir.runtime.library_manipulate import MANIPULATE
from relax_mlir.runtime.library_nn import NN
from relax_mlir.runtime.library_normalization import NORMALIZATION
from relax_mlir.runtime.library_quantize import QUANTIZE
from relax_mlir.runtime.library_reduce import REDUCE
from relax_mlir.runtime.library_regions import REGIONS
from relax_mlir.runtime.library_sort import SORT
from relax_mlir.runtime.library_support import axes as _axes
from relax_mlir.runtime.library_support import check as _check
from relax_mlir.runtime.library_support import check_pair as _check_pair
from relax_mlir.runtime.library_support import widen as _widen
from relax_mlir.runtime.registry import LIBRARY_PREFIX as PREFIX
from relax_mlir.runtime.values import BFLOAT16, describe, numpy_dtype

# Name with the prefix -> function of the operands, then the attributes in their declared order.
# Results are the caller's own, C-contiguous, and of the dtype that the compiler's rules give.
LIBRARY: dict[str, Callable[..., Any]] = {}

_Array = np.ndarray
_BOOL = np.dtype("bool")


def _define(name: str, compute: Callable[..., Any]) -> None:
    compute = through_single(compute)

    def call(*args: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                result = compute(*args)
                if not isinstance(result, tuple):
                    return np.asarray(result, order="C")
                if result and type(result[0]) is int:
                    return result
                return tuple([np.asarray(field, order="C") for field in result])
        except MemoryError as error:
            raise VMError(f"{name}: {error}") from None
        except TypeError as error:
            raise ArgumentTypeError(f"{name}: {error}") from None
        except (ValueError, IndexError) as error:
            raise ShapeMismatchError(f"{name}: {error}") from None

    call.__name__ = call.__qualname__ = PREFIX + name
    LIBRARY[PREFIX + name] = call


# Elementwise, one operand


def _erf(x: _Array) -> _Array:
    values = map(math.erf, x.reshape(x.size).tolist())
    return np.fromiter(values, np.float64, x.size).reshape(x.shape).astype(x.dtype)


def _sigmoid(x: _Array) -> _Array:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


def _gelu(x: _Array) -> _Array:
    # 1 + erf would leave no digits of what is far below zero.
    wide = x.astype(np.float64)
    values = map(math.erfc, (wide * -math.sqrt(0.5)).reshape(x.size).tolist())
    return wide * 0.5 * np.fromiter(values, np.float64, x.size).reshape(x.shape)


_FLOAT_UNARY: dict[str, Callable[[_Array], Any]] = {
    **{name: getattr(np, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh")},
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
    "erf": _erf,
    "sigmoid": _sigmoid,
    "gelu": _gelu,
    "silu": lambda x: x * _sigmoid(x),
}
# Name -> (function, kinds of dtypes); numpy, too, has no difference of two bools.
_ANY_UNARY: dict[str, tuple[Callable[[_Array], Any], str]] = {
    "abs": (np.abs, "biuf"),
    "negative": (np.negative, "iuf"),
    "relu": (lambda x: np.maximum(x, x.dtype.type(0)), "biuf"),
    "square": (lambda x: x * x, "biuf"),
}


def _unary(function: Callable[[_Array], Any], kinds: str) -> Callable[[_Array], Any]:
    def compute(x: _Array) -> Any:
        _check(x, kinds)
        return np.asarray(function(_widen(x))).astype(x.dtype, copy=False)

    return compute


# Elementwise, two operands


def _truncated(a: _Array, b: _Array) -> Any:
    """Divide integers towards zero; by zero it is 0, as in the compiled kernels."""
    quotient = np.floor_divide(a, b)
    if a.dtype.kind == "i":
        uneven = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
        quotient = quotient + uneven.astype(a.dtype)
    return quotient


def _divide(a: _Array, b: _Array) -> Any:
    return np.divide(a, b) if a.dtype.kind == "f" else _truncated(a, b)


def _power(a: _Array, b: _Array) -> Any:
    if a.dtype.kind != "i" or not (b < 0).any():
        return np.power(a, b)
    scalar = a.dtype.type
    # The reciprocal of an integer is an integer only for 1 and -1; towards zero all others are 0.
    sign = np.where((b & scalar(1)) == 1, scalar(-1), scalar(1))
    inverse = np.where(a == 1, scalar(1), np.where(a == -1, sign, scalar(0)))
    return np.where(b < 0, inverse, np.power(a, np.maximum(b, scalar(0))))


_BINARY: dict[str, tuple[Callable[[_Array, _Array], Any], str]] = {
    "add": (np.add, "biuf"),
    "subtract": (np.subtract, "iuf"),
    "multiply": (np.multiply, "biuf"),
    "divide": (_divide, "iuf"),
    "floor_divide": (np.floor_divide, "iuf"),
    "power": (_power, "iuf"),
    "maximum": (np.maximum, "biuf"),
    "minimum": (np.minimum, "biuf"),
}
_COMPARISON: dict[str, Callable[[_Array, _Array], Any]] = {
    name: getattr(np, name)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
}


def _binary(function: Callable[[_Array, _Array], Any], kinds: str, is_bool: bool) -> Callable:
    def compute(a: _Array, b: _Array) -> Any:
        _check_pair(a, b, kinds)
        binary_broadcast_shape_infer(a.shape, b.shape)
        return np.asarray(function(a, b)).astype(_BOOL if is_bool else a.dtype, copy=False)

    return compute


# The rest


def _astype(x: _Array, dtype: str) -> Any:
    _check(x)
    target = numpy_dtype(dtype)
    if target.name == BFLOAT16 and x.dtype.kind in "iu" and x.dtype.itemsize >= 4:
        x = _near_single(x)
    is_cut = target.kind in "iu" and x.dtype.kind == "f"
    return _saturated(x, target) if is_cut else x.astype(target)


def _near_single(x: _Array) -> _Array:
    """Return integers as float32 that a narrower float rounds as it would the integers.

    Where one is not exact, it is the one of its two neighbours that is odd.
    """
    if x.dtype.itemsize == 8:
        lost = x.dtype.type((1 << 12) - 1)
        odd = np.where(x & lost, lost + x.dtype.type(1), x.dtype.type(0))
        is_small = (x < 1 << 53) if x.dtype.kind == "u" else (x < 1 << 53) & (x > -(1 << 53))
        x = np.where(is_small, x, (x & ~lost) | odd)
    wide = x.astype(np.float64)
    single = wide.astype(np.float32)
    bits = single.view(np.uint32) - (np.abs(single) > np.abs(wide))
    return (bits | (single != wide)).astype(np.uint32).view(np.float32)


def _saturated(x: _Array, dtype: np.dtype) -> _Array:
    """Return floats as integers, the nearest that there are, and 0 of NaN, as kernels do."""
    wide = x.astype(np.float64)
    limits = np.iinfo(dtype)
    above, below = wide >= 2.0 ** (limits.max.bit_length()), wide <= float(limits.min)
    inside = ~(above | below | np.isnan(wide))
    result = np.where(inside, wide, 0.0).astype(dtype)
    result[above] = limits.max
    result[below] = limits.min
    return result


def _matmul(a: _Array, b: _Array, out_dtype: str | None = None) -> Any:
    dtype = numpy_dtype(out_dtype) if out_dtype else None
    if dtype is None or not all(getattr(x, "dtype", dtype).kind in "iu" for x in (a, b)):
        _check_pair(a, b)
    if not a.ndim or not b.ndim:
        raise ArgumentTypeError(
            f"operands must have at least one dimension, got {describe(a)} and {describe(b)}"
        )
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else -1]:
        raise ShapeMismatchError(f"shapes {a.shape} and {b.shape} do not match")
    binary_broadcast_shape_infer(a.shape[:-2], b.shape[:-2])
    wide = [_widen(x) if dtype is None else _widen(x.astype(dtype)) for x in (a, b)]
    return np.asarray(np.matmul(*wide)).astype(dtype or a.dtype, copy=False)


def _limit(dtype: np.dtype, largest: bool) -> Any:
    """Return the largest or smallest value of a dtype."""
    if dtype == _BOOL:
        return largest
    if dtype.kind == "f":
        return math.inf if largest else -math.inf
    return np.iinfo(dtype).max if largest else np.iinfo(dtype).min


def _mean(x: _Array, axis: tuple[int, ...], keepdims: bool) -> Any:
    wide = x.dtype if x.dtype.kind == "f" else np.dtype(f"{x.dtype.kind}8")
    total = np.asarray(np.sum(x, axis=axis, dtype=wide, keepdims=keepdims))
    return _divide(total, np.array(math.prod([x.shape[i] for i in axis]), wide))


# Of no elements, each is the identity of what it combines.
_REDUCTIONS: dict[str, Callable[[_Array, tuple[int, ...], bool], Any]] = {
    "sum": lambda x, axis, keep: np.sum(x, axis=axis, dtype=x.dtype, keepdims=keep),
    "prod": lambda x, axis, keep: np.prod(x, axis=axis, dtype=x.dtype, keepdims=keep),
    "max": lambda x, axis, keep: x.max(axis=axis, keepdims=keep, initial=_limit(x.dtype, False)),
    "min": lambda x, axis, keep: x.min(axis=axis, keepdims=keep, initial=_limit(x.dtype, True)),
    "mean": _mean,
}


def _reduction(name: str) -> Callable[..., Any]:
    combine = _REDUCTIONS[name]
    kinds = "iuf" if name == "mean" else "biuf"

    def compute(x: _Array, axis: Sequence[int] | None = None, keepdims: bool = False) -> Any:
        _check(x, kinds)
        result = np.asarray(combine(_widen(x), _axes(axis, x.ndim), keepdims))
        return result.astype(x.dtype, copy=False)

    return compute


def _softmax(logarithm: bool) -> Callable[..., Any]:
    def compute(x: _Array, axis: int = -1) -> Any:
        _check(x, "f")
        (axis,) = _axes([axis], x.ndim)
        wide = _widen(x)
        shifted = wide - wide.max(axis=axis, keepdims=True, initial=-math.inf)
        powers = np.exp(shifted)
        total = powers.sum(axis=axis, keepdims=True)
        result = shifted - np.log(total) if logarithm else powers / total
        return result.astype(x.dtype, copy=False)

    return compute


for _name, _function in _FLOAT_UNARY.items():
    _define(_name, _unary(_function, "f"))
for _name, (_function, _kinds) in _ANY_UNARY.items():
    _define(_name, _unary(_function, _kinds))
for _name, (_function, _kinds) in _BINARY.items():
    _define(_name, _binary(_function, _kinds, False))
for _name, _function in _COMPARISON.items():
    _define(_name, _binary(_function, "biuf", True))
for _name in _REDUCTIONS:
    _define(_name, _reduction(_name))
_define("astype", _astype)
_define("matmul", _matmul)
_define("softmax", _softmax(False))
_define("log_softmax", _softmax(True))
for _table in (
    ATTENTION, BOXES, CHECKS, CREATE, ELEMENTWISE, IMAGE, INDEX, LINEAR_ALGEBRA, MANIPULATE, NN,
    NORMALIZATION, QUANTIZE, REDUCE, REGIONS, SORT,
):  # fmt: skip
    for _name, _function in _table.items():
        _define(_name, _function)
