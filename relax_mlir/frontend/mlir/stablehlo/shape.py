"""Constants, shapes, and operations that move elements."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.mlir.types import elements
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import Value, ints, materialize, of_expr, of_ints
from relax_mlir.relax import op
from relax_mlir.relax.expr import Constant, const

_ONE = SymExpr.const(1)


@converts("stablehlo", "constant")
@converts("arith", "constant")
@converts("tosa", "const")
def constant(m: Any) -> Any:
    """Return a constant; one of equal elements is that element, repeated where need be."""
    attribute = m.op.attributes["value" if "value" in m.op.attributes else "values"]
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat and 0 not in m.shape():
        scalar = elements(attribute.get_splat_value()) if m.dtype() != "bfloat16" else None
        if scalar is not None and len(m.shape()):
            return _splat(m, scalar.astype(m.dtype()))
    return Value(m.dtype(), data=elements(attribute))


def _splat(m: Any, scalar: Any) -> Any:
    shape = m.shape()
    if scalar.dtype.kind in "ib" and len(shape) < 2:
        return Value(m.dtype(), data=scalar.repeat(shape[0]))
    made = Constant(scalar)
    m.note_narrow(made)
    return op.full(shape, made, m.dtype())


@converts("stablehlo", "iota")
def _iota(m: Any) -> Any:
    return _counted(m, [SymExpr.of(dim) for dim in m.shape()])


@converts("stablehlo", "dynamic_iota")
def _dynamic_iota(m: Any) -> Any:
    return _counted(m, m.sizes(0))


def _counted(m: Any, dims: Sequence[SymExpr]) -> Any:
    axis, dtype = m.attr("iota_dimension"), m.dtype()
    numbers: Any = op.arange(0, dims[axis], 1, dtype="int64")
    numbers = m.cast(numbers, dtype)
    if len(dims) == 1:
        return numbers
    wide = [dim if place == axis else _ONE for place, dim in enumerate(dims)]
    return op.broadcast_to(op.reshape(numbers, wide), dims)


@converts("stablehlo", "reshape")
def _reshape(m: Any) -> Any:
    shape = m.shape()
    return op.reshape(m.x(0), [-1 if dim is None else dim for dim in shape])


@converts("stablehlo", "dynamic_reshape")
@converts("chlo", "dynamic_reshape")
def _dynamic_reshape(m: Any) -> Any:
    return op.reshape(m.x(0), m.sizes(1))


@converts("stablehlo", "broadcast_in_dim")
def _broadcast_in_dim(m: Any) -> Any:
    return _broadcast(m, [SymExpr.of(dim) for dim in m.shape()])


@converts("stablehlo", "dynamic_broadcast_in_dim")
def _dynamic_broadcast_in_dim(m: Any) -> Any:
    return _broadcast(m, m.sizes(1))


def _broadcast(m: Any, dims: Sequence[SymExpr]) -> Any:
    x, places = m.x(0), m.attr("broadcast_dimensions")
    wide = [_ONE] * len(dims)
    for axis, place in enumerate(places):
        wide[place] = m.dims(0)[axis]
    if x.ty.ndim and wide != list(x.ty.dims):
        if places != sorted(places):
            x = op.permute_dims(x, sorted(range(len(places)), key=places.__getitem__))
        x = m.emit(op.reshape(x, wide))
    if tuple(wide) == tuple(dims) and x.ty.ndim == len(dims):
        return x
    m.note_narrow(x)
    return op.broadcast_to(x, dims)


@converts("stablehlo", "broadcast")
def _old_broadcast(m: Any) -> Any:
    return op.broadcast_to(m.x(0), [*m.attr("broadcast_sizes"), *m.dims(0)])


@converts("stablehlo", "transpose")
def _transpose(m: Any) -> Any:
    return op.permute_dims(m.x(0), m.attr("permutation"))


@converts("stablehlo", "concatenate")
def _concatenate(m: Any) -> Any:
    return op.concat(m.xs(), axis=m.attr("dimension"))


@converts("stablehlo", "reverse")
def _reverse(m: Any) -> Any:
    x = m.x(0)
    for axis in m.attr("dimensions"):
        x = op.flip(x, axis=axis)
    return x


@converts("stablehlo", "slice")
def _slice(m: Any) -> Any:
    bounds = (m.attr("start_indices"), m.attr("limit_indices"), m.attr("strides"))
    return _sliced(m, *bounds)


@converts("stablehlo", "real_dynamic_slice")
def _real_dynamic_slice(m: Any) -> Any:
    return _sliced(m, m.sizes(1), m.sizes(2), m.sizes(3))


def _sliced(m: Any, begin: Sequence[Any], end: Sequence[Any], strides: Sequence[Any]) -> Any:
    axes = list(range(len(begin)))
    if not axes:
        return m.value(0)
    return op.strided_slice(
        m.x(0), axes=axes, begin=list(begin), end=list(end), strides=list(strides)
    )


@converts("stablehlo", "dynamic_slice")
def _dynamic_slice(m: Any) -> Any:
    sizes = m.attr("slice_sizes")
    starts = _starts(m, 1, sizes)
    ends = [start + size for start, size in zip(starts, sizes, strict=True)]
    return _sliced(m, starts, ends, [1] * len(sizes))


def _starts(m: Any, first: int, sizes: Sequence[Any]) -> list[SymExpr]:
    """Return where a slice begins: a slice that would reach over an end lies at it."""
    starts = []
    for index, (size, dim) in enumerate(zip(sizes, m.dims(0), strict=True)):
        if dim == size:
            starts.append(SymExpr.const(0))
            continue
        starts.append(_start(m, m.value(first + index), dim - size))
    return starts


@converts("stablehlo", "dynamic_update_slice")
def _dynamic_update_slice(m: Any) -> Any:
    x, update = m.x(0), m.x(1)
    sizes = m.dims(1)
    starts = _starts(m, 2, sizes)
    axes = [i for i, (size, dim) in enumerate(zip(sizes, m.dims(0), strict=True)) if size != dim]
    return updated(m, x, update, starts, axes)


def _start(m: Any, value: Value, last: SymExpr) -> SymExpr:
    """Return a start, moved to where it is neither negative nor beyond the last one."""
    known = ints(value)
    if known is not None:
        return SymExpr.of(known[0]).min(last).max(0)
    clamped = op.maximum(m.cast(materialize(value), "int64"), const(0, "int64"))
    (start,) = m.sizes_of(of_expr(m.emit(clamped)))
    return start.min(last)


def updated(m: Any, x: Any, update: Any, starts: Sequence[SymExpr], axes: list[int]) -> Any:
    """Return a tensor with a part of it replaced, which is smaller along some axes."""
    if not axes:
        return update
    (axis, *rest), size = axes, update.ty.dims[axes[0]]
    start, end = starts[axis], starts[axis] + size
    if rest:
        middle = m.emit(op.strided_slice(x, axes=[axis], begin=[start], end=[end]))
        middle = m.cast_shape(middle, axis, size)
        update = m.emit(updated(m, middle, update, starts, rest))
    before = op.strided_slice(x, axes=[axis], begin=[0], end=[start])
    after = op.strided_slice(x, axes=[axis], begin=[end], end=[x.ty.dims[axis]])
    return op.concat([before, update, after], axis=axis)


@converts("stablehlo", "pad")
def _pad(m: Any) -> Any:
    edges = (m.attr("edge_padding_low"), m.attr("edge_padding_high"), m.attr("interior_padding"))
    return padded(m, m.x(0), m.x(1), *edges)


@converts("stablehlo", "dynamic_pad")
def _dynamic_pad(m: Any) -> Any:
    return padded(m, m.x(0), m.x(1), m.sizes(2), m.sizes(3), m.sizes(4))


def padded(
    m: Any, x: Any, value: Any, low: Sequence[Any], high: Sequence[Any], inner: Sequence[Any]
) -> Any:
    """Return a tensor with a value at its ends and between its elements; negative ends are cut."""
    sizes = [SymExpr.of(each).value for pair in zip(low, high, strict=True) for each in pair]
    edges = [edge for edge in sizes if edge is not None and edge >= 0]
    if (
        len(edges) == len(sizes)
        and isinstance(value, Constant)
        and all(count == 0 for count in inner)
    ):
        number = value.data.numpy().item()
        return op.pad(x, edges, pad_value=float(number)) if any(edges) else x
    for axis, count in enumerate(inner):
        if count != 0:
            x = _spread(m, x, value, axis, SymExpr.of(count))
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        parts = []
        for index, given in enumerate((before, after)):
            edge = SymExpr.of(given)
            if edge.value is not None and edge.value < 0:
                size = x.ty.dims[axis]
                begin, end = ((-edge, size), (SymExpr.const(0), size + edge))[index]
                x = m.emit(op.strided_slice(x, axes=[axis], begin=[begin], end=[end]))
                edge = SymExpr.const(0)
            parts.append(edge)
        if any(edge.value != 0 for edge in parts):
            x = m.emit(op.concat(_with_ends(x, value, axis, parts), axis=axis))
    return x


def _with_ends(x: Any, value: Any, axis: int, edges: Sequence[SymExpr]) -> list[Any]:
    ends = [
        None if edge.value == 0 else op.full(_resized(x, axis, edge), value, x.ty.dtype)
        for edge in edges
    ]
    return [each for each in (ends[0], x, ends[1]) if each is not None]


def _resized(x: Any, axis: int, size: SymExpr) -> list[SymExpr]:
    return [size if place == axis else dim for place, dim in enumerate(x.ty.dims)]


def _spread(m: Any, x: Any, value: Any, axis: int, count: SymExpr) -> Any:
    """Return a tensor with `count` values between any two neighbours along an axis."""
    dims, size = list(x.ty.dims), x.ty.dims[axis]
    column = m.emit(op.expand_dims(x, axis=axis + 1))
    gaps = op.full([*dims[: axis + 1], count, *dims[axis + 1 :]], value, x.ty.dtype)
    wide = op.reshape(
        op.concat([column, gaps], axis=axis + 1), _resized(x, axis, size * (count + 1))
    )
    end = (size * (count + 1) - count).max(0)
    return m.emit(op.strided_slice(wide, axes=[axis], begin=[0], end=[end]))


@converts("stablehlo", "get_dimension_size")
def _get_dimension_size(m: Any) -> Any:
    return of_ints(m.dims(0)[m.attr("dimension")], m.dtype())


@converts("shape", "shape_of")
def _shape_of(m: Any) -> Any:
    return of_ints(list(m.dims(0)))


@converts("chlo", "constant_like")
def _constant_like(m: Any) -> Any:
    made = const(m.attr("value"), m.dtype())
    m.note_narrow(made)
    return op.full(list(m.dims(0)), made, m.dtype())
