"""Running extremes and sums, and maxima of adaptive windows: kernels of any shape."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.torch.dtypes import dtype_limits
from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.elementwise import promoted
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr.types import TensorType
from relax_mlir.relax.expr.values import ShapeExpr
from relax_mlir.script import from_source

_HEAD = """
@T.prim_func
def {name}(x: T.handle, y: T.handle):
    outer, steps, inner = T.int64(), T.int64(), T.int64()
    X = T.match_buffer(x, (outer, steps, inner), "{dtype}")
    Y = T.match_buffer(y, (outer, steps, inner), "{dtype}")
    S = T.alloc_buffer((outer, inner), "{wide}")
    for o, i in T.grid(outer, inner):
        with T.block("start"):
            vo, vi = T.axis.remap("SS", [o, i])
            S[vo, vi] = {start}
"""
_EXTREME = f"""{_HEAD}
    for o, t, i in T.grid(outer, steps, inner):
        with T.block("extreme"):
            vo, vt, vi = T.axis.remap("SCS", [o, t, i])
            after: T.{{dtype}} = T.{{combine}}(S[vo, vi], X[vo, vt, vi])
            Y[vo, vt, vi] = after
            S[vo, vi] = after
"""
# The exponential is of a difference that is not positive; equal infinities have none.
_LOG_SUM = f"""{_HEAD}
    for o in T.parallel(outer):
        for t, i in T.grid(steps, inner):
            v: T.{{wide}} = T.cast(X[o, t, i], "{{wide}}")
            S[o, i] = T.Select(
                v == S[o, i],
                v + T.log(T.{{wide}}(2)),
                T.max(v, S[o, i]) + T.log1p(T.exp(-T.abs(v - S[o, i]))),
            )
            Y[o, t, i] = T.cast(S[o, i], "{{dtype}}")
"""
# The windows share out the data as evenly as can be; of equal elements the first one.
_WINDOWS = """
@T.prim_func
def {name}(x: T.handle, y: T.handle, z: T.handle):
    planes, d, h, w = T.int64(), T.int64(), T.int64(), T.int64()
    od, oh, ow = T.int64(), T.int64(), T.int64()
    X = T.match_buffer(x, (planes, d, h, w), "{dtype}")
    Y = T.match_buffer(y, (planes, od, oh, ow), "{dtype}")
    Z = T.match_buffer(z, (planes, od, oh, ow), "int64")
    for p, i, j, k in T.grid(planes, od, oh, ow):
        with T.block("window"):
            vp, vi, vj, vk = T.axis.remap("SSSS", [p, i, j, k])
            Y[vp, vi, vj, vk] = X[vp, vi * d // od, vj * h // oh, vk * w // ow]
            Z[vp, vi, vj, vk] = (vi * d // od * h + vj * h // oh) * w + vk * w // ow
            for a in T.serial(vi * d // od, ((vi + 1) * d + od - 1) // od):
                for b in T.serial(vj * h // oh, ((vj + 1) * h + oh - 1) // oh):
                    for c in T.serial(vk * w // ow, ((vk + 1) * w + ow - 1) // ow):
                        if X[vp, a, b, c] != X[vp, a, b, c] or X[vp, a, b, c] > Y[vp, vi, vj, vk]:
                            Y[vp, vi, vj, vk] = X[vp, a, b, c]
                            Z[vp, vi, vj, vk] = (a * h + b) * w + c
"""
# Their means, summed in a dtype of their own.
_MEANS = """
@T.prim_func
def {name}(x: T.handle, y: T.handle):
    planes, d, h, w = T.int64(), T.int64(), T.int64(), T.int64()
    od, oh, ow = T.int64(), T.int64(), T.int64()
    X = T.match_buffer(x, (planes, d, h, w), "{dtype}")
    Y = T.match_buffer(y, (planes, od, oh, ow), "{dtype}")
    S = T.alloc_buffer((planes, od, oh, ow), "{wide}")
    for p, i, j, k in T.grid(planes, od, oh, ow):
        with T.block("window"):
            vp, vi, vj, vk = T.axis.remap("SSSS", [p, i, j, k])
            S[vp, vi, vj, vk] = T.{wide}(0)
            for a in T.serial(vi * d // od, ((vi + 1) * d + od - 1) // od):
                for b in T.serial(vj * h // oh, ((vj + 1) * h + oh - 1) // oh):
                    for c in T.serial(vk * w // ow, ((vk + 1) * w + ow - 1) // ow):
                        S[vp, vi, vj, vk] = (
                            S[vp, vi, vj, vk] + T.cast(X[vp, a, b, c], "{wide}")
                        )
            Y[vp, vi, vj, vk] = T.cast(
                S[vp, vi, vj, vk]
                / T.cast(
                    (((vi + 1) * d + od - 1) // od - vi * d // od)
                    * (((vj + 1) * h + oh - 1) // oh - vj * h // oh)
                    * (((vk + 1) * w + ow - 1) // ow - vk * w // ow),
                    "{wide}",
                ),
                "{dtype}",
            )
"""
# Of NaN, as in torch, every element is before.
_SEARCH = """
@T.prim_func
def {name}(e: T.handle, x: T.handle, y: T.handle):
    rows, n, count = T.int64(), T.int64(), T.int64()
    E = T.match_buffer(e, (rows, n), "{dtype}")
    X = T.match_buffer(x, (rows, count), "{dtype}")
    Y = T.match_buffer(y, (rows, count), "int64")
    for r, c in T.grid(rows, count):
        with T.block("search"):
            vr, vc = T.axis.remap("SS", [r, c])
            Y[vr, vc] = T.int64(0)
            for b in T.serial(63):
                if Y[vr, vc] <= n - (T.int64(1) << (62 - b)):
                    if not (E[vr, Y[vr, vc] + (T.int64(1) << (62 - b)) - 1] {after} X[vr, vc]):
                        Y[vr, vc] = Y[vr, vc] + (T.int64(1) << (62 - b))
"""


def rows_searched(m: Importer, sequence: Any, x: Any, right: bool) -> Any:
    """Return the place of each element in the sequence of its row, with `right` behind equals."""
    dtype = promoted(m.fake(0), m.fake(1))
    name = f"rows_searched_{'right' if right else 'left'}_{dtype}"
    kernel = from_source(_SEARCH.format(name=name, dtype=dtype, after=">" if right else ">="))[name]
    rows = _product(sequence.ty.dims[:-1])
    flat = [[rows, each.ty.dims[-1]] for each in (sequence, x)]
    given = [
        m.emit(op.reshape(m.cast(each, dtype), ShapeExpr(dims)))
        for each, dims in zip((sequence, x), flat, strict=True)
    ]
    made = op.call_tir(m.block_builder.add_func(kernel, name), given, TensorType(flat[1], "int64"))
    return op.reshape(m.emit(made), m.shape)


def _called(
    m: Importer, text: str, name: str, x: Any, dims: Sequence[Sequence[SymExpr]], **words: str
) -> Any:
    """Return what a kernel makes of `x`: a tensor of its dtype, and one of places after it."""
    name, dtype = f"{name}_{x.ty.dtype}", x.ty.dtype
    kernel = from_source(text.format(name=name, dtype=dtype, **words))[name]
    types = [TensorType(each, kind) for each, kind in zip(dims, (dtype, "int64"), strict=False)]
    made = op.call_tir(
        m.block_builder.add_func(kernel, name), [m.emit(x)], types if len(types) > 1 else types[0]
    )
    return m.emit(made)


def _product(dims: Sequence[SymExpr]) -> SymExpr:
    return functools.reduce(operator.mul, dims, SymExpr.const(1))


def _scan(m: Importer, text: str, name: str, x: Any, dim: int, **words: str) -> Any:
    """Run a kernel along an axis; a scalar has one."""
    dims = x.ty.dims or (SymExpr.const(1),)
    axis = dim % len(dims)
    flat = [_product(dims[:axis]), dims[axis], _product(dims[axis + 1 :])]
    made = _called(m, text, name, op.reshape(x, ShapeExpr(flat)), [flat], **words)
    return m.emit(op.reshape(made, ShapeExpr(x.ty.dims)))


def running_extreme(m: Importer, x: Any, dim: int, combine: str = "max") -> Any:
    """Return the greatest (`max`) or least elements up to each along an axis."""
    dtype = x.ty.dtype
    limit = dtype_limits(dtype)[combine == "min"]
    start = f"T.{dtype}({limit})" if "int" in dtype else f'T.{dtype}("{limit}")'
    return _scan(
        m, _EXTREME, f"running_{combine}", x, dim, combine=combine, wide=dtype, start=start
    )


def _extreme(name: str, combine: str) -> None:
    """Register the converter of a running maximum or minimum and where it is."""

    @converts(f"{name}.default")
    def convert(m: Importer, x: Any, dim: int) -> list[Any]:
        wide: Any = m.cast(x, "uint8") if x.ty.dtype == "bool" else x
        values = running_extreme(m, wide, dim, combine)
        # The last of equal elements counts, and the last NaN.
        is_found = op.equal(wide, values)
        if "float" in wide.ty.dtype:
            is_found = op.logical_or(is_found, op.isnan(wide))
        places = op.zeros((), "int64")
        if x.ty.ndim:
            shape = [1] * x.ty.ndim
            shape[dim] = -1
            places = op.reshape(op.arange(0, x.ty.dims[dim], 1, "int64"), shape)
        places = op.where(is_found, places, m.cast(0, "int64"))
        return [m.cast(values, m.dtype), running_extreme(m, m.emit(places), dim)]


_extreme("cummax", "max")
_extreme("cummin", "min")


@converts("logcumsumexp.default", "_logcumsumexp.default")
def _logcumsumexp(m: Importer, x: Any, dim: int) -> Any:
    wide = "float64" if x.ty.dtype == "float64" else "float32"
    start = f'T.{wide}("-inf")'
    return _scan(m, _LOG_SUM, "logcumsumexp", x, dim, wide=wide, start=start)


def _volumes(m: Importer, x: Any, rank: int) -> tuple[Any, list[SymExpr]]:
    """Return data as planes of volumes, and the dimensions that the node's result has as such."""
    first = x.ty.ndim - rank
    ones = [SymExpr.const(1)] * (3 - rank)
    planes = _product(x.ty.dims[:first])
    data = op.reshape(x, ShapeExpr([planes, *ones, *x.ty.dims[first:]]))
    return data, [planes, *ones, *m.dims[first:]]


def _adaptive(rank: int) -> Callable[..., list[Any]]:
    def convert(m: Importer, x: Any, size: Any) -> list[Any]:
        data, dims = _volumes(m, x, rank)
        made = _called(m, _WINDOWS, "adaptive_max_pool", data, [dims, dims])
        return [op.reshape(made[i], m.shape) for i in range(2)]

    return convert


def adaptive_means(m: Importer, x: Any, rank: int) -> Any:
    """Return means of windows whose number is symbolic, such as that of the data."""
    data, dims = _volumes(m, x, rank)
    wide = "float64" if x.ty.dtype == "float64" else "float32"
    return op.reshape(_called(m, _MEANS, "adaptive_avg_pool", data, [dims], wide=wide), m.shape)


for _rank in (1, 2, 3):
    converts(f"adaptive_max_pool{_rank}d.default")(_adaptive(_rank))
