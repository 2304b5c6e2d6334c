"""Reductions and scans."""

from collections.abc import Callable
from typing import Any

from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.elementwise import converted
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op


def _axes(dim: Any) -> Any:
    """Return axes as Relax has them; torch writes all axes as None or an empty list."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return None
    return list(dim) if isinstance(dim, (list, tuple)) else [dim]


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a converter that reduces in the dtype of the result."""

    def convert(m: Importer, x: Any, dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
        x = converted(m, x, m.dtype)
        # Whether any of uint8 is true has that dtype too.
        return m.cast(function(x, axis=_axes(dim), keepdims=keepdim), m.dtype) if x.ty.ndim else x

    return convert


converts("sum.default", "sum.dim_IntList")(_reduction(op.sum))
converts("mean.default", "mean.dim")(_reduction(op.mean))
converts("amax.default")(_reduction(op.max))
converts("amin.default")(_reduction(op.min))
converts("any.default", "any.dim", "any.dims")(_reduction(op.any))
converts("all.default", "all.dim", "all.dims")(_reduction(op.all))
converts("prod.dim_int")(_reduction(op.prod))
# `max.default` has one operand only; two are `maximum`.
converts("max.default")(_reduction(op.max))
converts("min.default")(_reduction(op.min))


@converts("prod.default")
def _prod(m: Importer, x: Any, dtype: Any = None) -> Any:
    return op.prod(converted(m, x, m.dtype))


def _with_places(
    reduce: Callable[..., Any], places: Callable[..., Any]
) -> Callable[..., list[Any]]:
    def convert(m: Importer, x: Any, dim: int, keepdim: bool = False) -> list[Any]:
        if not x.ty.ndim:
            return [x, op.zeros((), "int64")]
        where = places(x, axis=dim, keepdims=keepdim)
        return [reduce(x, axis=[dim], keepdims=keepdim), m.cast(where, "int64")]

    return convert


converts("max.dim")(_with_places(op.max, op.argmax))
converts("min.dim")(_with_places(op.min, op.argmin))


def _place(places: Callable[..., Any]) -> Callable[..., Any]:
    def convert(m: Importer, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        if x.ty.dtype == "bool":
            x = m.cast(x, "uint8")
        return m.cast(places(x, axis=dim, keepdims=keepdim), "int64")

    return convert


converts("argmax.default")(_place(op.argmax))
converts("argmin.default")(_place(op.argmin))


def _moment(m: Importer, x: Any, axes: Any, correction: float, keepdim: bool) -> Any:
    """Return the variance over some axes, divided by the number of elements - correction."""
    chosen = range(x.ty.ndim) if axes is None else axes
    count = 1
    for axis in chosen:
        count = x.ty.dims[axis] * count
    variance = op.variance(x, axis=axes, keepdims=keepdim)
    if not correction:
        return variance
    dtype = x.ty.dtype
    number = m.cast(count, dtype)
    freedom = op.maximum(op.subtract(number, m.cast(correction, dtype)), m.cast(0, dtype))
    return op.multiply(variance, op.divide(number, freedom))


@converts("var.correction", "var.dim", "var.default")
def _var(
    m: Importer, x: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False,
    correction: float | None = None,
) -> Any:  # fmt: skip
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    freedom = correction if correction is not None else 1 if unbiased else 0
    return _moment(m, x, _axes(dim), freedom, keepdim)


@converts("std.correction", "std.dim", "std.default")
def _std(m: Importer, x: Any, *args: Any, **kwargs: Any) -> Any:
    return op.sqrt(_var(m, x, *args, **kwargs))


@converts("var_mean.correction")
def _var_mean(
    m: Importer, x: Any, dim: Any = None, correction: float | None = None, keepdim: bool = False
) -> list[Any]:
    axes = _axes(dim)
    variance = _moment(m, x, axes, 1 if correction is None else correction, keepdim)
    return [variance, op.mean(x, axis=axes, keepdims=keepdim)]


@converts("cumsum.default")
def _cumsum(m: Importer, x: Any, dim: int, dtype: Any = None) -> Any:
    x = converted(m, x, m.dtype)
    return op.cumsum(x, axis=dim) if x.ty.ndim else x


@converts("cumprod.default")
def _cumprod(m: Importer, x: Any, dim: int, dtype: Any = None) -> Any:
    x = converted(m, x, m.dtype)
    return op.cumprod(x, axis=dim) if x.ty.ndim else x


@converts("linalg_vector_norm.default")
def _vector_norm(
    m: Importer, x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False,
    dtype: Any = None,
) -> Any:  # fmt: skip
    x, axes = m.cast(x, m.dtype), _axes(dim)
    if ord == 2:
        return op.sqrt(op.sum(op.square(x), axis=axes, keepdims=keepdim))
    if ord == float("inf"):
        return op.max(op.abs(x), axis=axes, keepdims=keepdim)
    if ord == float("-inf"):
        return op.min(op.abs(x), axis=axes, keepdims=keepdim)
    if ord == 0:
        nonzero = m.cast(op.not_equal(x, m.cast(0, m.dtype)), m.dtype)
        return op.sum(nonzero, axis=axes, keepdims=keepdim)
    if ord == 1:
        return op.sum(op.abs(x), axis=axes, keepdims=keepdim)
    total = op.sum(op.power(op.abs(x), m.cast(ord, m.dtype)), axis=axes, keepdims=keepdim)
    return op.power(total, m.cast(1.0 / ord, m.dtype))


@converts("dist.default")
def _dist(m: Importer, x: Any, y: Any, p: Any = 2) -> Any:
    return _vector_norm(m, op.subtract(m.cast(x, m.dtype), m.cast(y, m.dtype)), p)


@converts("logsumexp.default")
def _logsumexp(m: Importer, x: Any, dim: Any, keepdim: bool = False) -> Any:
    x, axes = m.cast(x, m.dtype), _axes(dim)
    largest = op.max(x, axis=axes, keepdims=True)
    finite = op.where(op.isfinite(largest), largest, m.cast(0, m.dtype))
    total = op.log(op.sum(op.exp(op.subtract(x, finite)), axis=axes, keepdims=True))
    result = op.add(total, finite)
    return result if keepdim else op.squeeze(result, axis=axes)


@converts("softmax.int", "_softmax.default", "_safe_softmax.default")
def _softmax(m: Importer, x: Any, dim: int, dtype: Any = None) -> Any:
    return op.softmax(m.cast(x, m.dtype), axis=dim)


@converts("log_softmax.int", "_log_softmax.default")
def _log_softmax(m: Importer, x: Any, dim: int, dtype: Any = None) -> Any:
    return op.log_softmax(m.cast(x, m.dtype), axis=dim)
