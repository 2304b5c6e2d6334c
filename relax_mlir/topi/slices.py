"""Dynamic slices, slice assignment, sliding windows, reversed sequences."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.axes import Dim, plain
from relax_mlir.tir.scalar.conversion import as_expr, cast
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.index import integer_indices
from relax_mlir.topi.support import axis_of, shape_of, tensor


def _clamped(index: Any, dim: Dim) -> PrimExpr:
    """Return an index that is inside of a dimension whatever it was."""
    return binary("max", binary("min", cast(as_expr(index, SIZE), SIZE), dim - 1), 0)


def _numbers(given: Any, count: int, where: str) -> list[Any]:
    """Return an expression for each axis: of numbers, sizes, or a vector."""
    if isinstance(given, Tensor):
        if given.ndim != 1 or given.shape[0] != count:
            raise ExprError(f"topi.{where} needs a vector of {count} numbers, got {given}")
        return [cast(given[axis], SIZE) for axis in range(count)]
    items = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(items) != count:
        raise ExprError(f"topi.{where} needs {count} numbers, got {len(items)}")
    return items


def _from_end(number: Any, dim: Dim) -> Any:
    if isinstance(number, int) and not isinstance(number, bool):
        return number if number >= 0 else plain(SymExpr.of(dim) + number)
    value = as_expr(number, SIZE)
    return Select(value < 0, value + dim, value)


def dynamic_strided_slice(
    a: Tensor, begin: Any, end: Any, strides: Any, output_shape: Any
) -> Tensor:
    """Return every so many elements from places that are data.

    Args:
        a: the tensor.
        begin: a number for each axis, or a vector of them; those below 0 count from the end.
        end: as in TVM; `output_shape` says how many there are.
        strides: their distance, for each axis, or a vector.
        output_shape: of the result. What would lie outside is the nearest element.

    Raises:
        ExprError: there is not one number for each axis.
    """
    count = tensor(a, "dynamic_strided_slice").ndim
    shape = shape_of(output_shape, "dynamic_strided_slice")
    starts = _numbers(begin, count, "dynamic_strided_slice")
    steps = _numbers(strides, count, "dynamic_strided_slice")
    if len(shape) != count:
        raise ExprError(f"topi.dynamic_strided_slice: {list(shape)} has not {count} dimensions")

    def element(*i: Any) -> PrimExpr:
        axes = zip(i, starts, steps, a.shape, strict=True)
        return a[tuple(_clamped(_from_end(b, dim) + x * s, dim) for x, b, s, dim in axes)]

    return compute(shape, element, name="T_dynamic_strided_slice")


def strided_set(a: Tensor, v: Tensor, begin: Any, end: Any, strides: Any = None) -> Tensor:
    """Return a tensor with every so many elements from `begin` to before `end` replaced.

    Args:
        a: the tensor.
        v: what goes there, in that shape.
        begin: a number for each axis, or a vector of them; those below 0 count from the end.
        end: likewise.
        strides: their distance, by default 1.

    Raises:
        ExprError: there is not one number for each axis.
    """
    count = tensor(a, "strided_set").ndim
    if tensor(v, "strided_set").ndim != count:
        raise ExprError(f"topi.strided_set: {v} has not {count} dimensions")
    steps = [1] * count if strides is None else _numbers(strides, count, "strided_set")
    starts = _numbers(begin, count, "strided_set")
    stops = _numbers(end, count, "strided_set")

    def element(*i: Any) -> PrimExpr:
        inside, place = [], []
        for axis, x in enumerate(i):
            dim, step = a.shape[axis], as_expr(steps[axis], SIZE)
            first, last = (as_expr(_from_end(each[axis], dim), SIZE) for each in (starts, stops))
            # Of a step backwards `begin` is the last element.
            away, ascending = x - first, step > 0
            number = Select(ascending, away, -away)
            size = Select(ascending, step, -step)
            inside += [
                number >= 0, number % size == 0, Select(ascending, x < last, x > last),
            ]  # fmt: skip
            place.append(_clamped(number // binary("max", size, 1), v.shape[axis]))
        return functions.if_then_else(functions.all(*inside), cast(v[tuple(place)], a.dtype), a[i])

    return compute(a.shape, element, name="T_strided_set")


def slice_scatter(
    input_tensor: Tensor, src: Tensor, start: int, end: int, step: int, axis: int
) -> Tensor:
    """Return a tensor with every so many places along an axis replaced by a tensor.

    Args:
        input_tensor: the tensor.
        src: what goes there.
        start: the first place.
        end: behind the last one.
        step: their distance, at least 1.
        axis: the axis.

    Raises:
        ExprError: there is no such axis, or the step is less than 1.
    """
    along = axis_of(axis, tensor(input_tensor, "slice_scatter").ndim, "slice_scatter")
    if not isinstance(step, int) or step < 1:
        raise ExprError(f"topi.slice_scatter: step is at least 1, got {step}")
    if tensor(src, "slice_scatter").ndim != input_tensor.ndim:
        raise ExprError(f"topi.slice_scatter: {src} does not go into {input_tensor}")
    dim = input_tensor.shape[along]
    first, last = _from_end(start, dim), _from_end(end, dim)

    def element(*i: Any) -> PrimExpr:
        away = i[along] - first
        inside = functions.all(away >= 0, i[along] < last, away % step == 0)
        place = (*i[:along], _clamped(away // step, src.shape[along]), *i[along + 1 :])
        return functions.if_then_else(inside, cast(src[place], input_tensor.dtype), input_tensor[i])

    return compute(input_tensor.shape, element, name="T_slice_scatter")


def sliding_window(
    data: Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]
) -> Tensor:
    """Return all windows over the last axes, each as axes of its own behind all others.

    Args:
        data: the tensor.
        axis: the first of the axes over which windows slide.
        window_shape: how long they are, for each of these axes.
        strides: their distance.

    Raises:
        ExprError: there is not one number for each axis, or a window is longer than its axis.
    """
    first = axis_of(axis, tensor(data, "sliding_window").ndim, "sliding_window")
    sizes = data.shape[first:]
    if not len(sizes) == len(window_shape) == len(strides) or min(*window_shape, *strides) < 1:
        raise ExprError(
            f"topi.sliding_window needs positive windows and strides for {len(sizes)} axes, got "
            f"{list(window_shape)} and {list(strides)}"
        )
    counts = []
    for dim, width, step in zip(sizes, window_shape, strides, strict=True):
        room = SymExpr.of(dim) - width
        if room.value is not None and room.value < 0:
            raise ExprError(f"topi.sliding_window: a window of {width} in {dim} elements")
        counts.append(plain(room // step + 1))

    def element(*i: Any) -> PrimExpr:
        outer, inner = i[first : data.ndim], i[data.ndim :]
        moved = [x * step + k for x, k, step in zip(outer, inner, strides, strict=True)]
        return data[(*i[:first], *moved)]

    shape = [*data.shape[:first], *counts, *window_shape]
    return compute(shape, element, name="T_sliding_window")


def reverse_sequence(
    a: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0
) -> Tensor:
    """Return sequences with their first elements, so many of each, in the opposite order.

    Args:
        a: the tensor.
        seq_lengths: how many, for each place of the batch.
        seq_axis: along which the sequences run.
        batch_axis: that of the sequences.

    Raises:
        ExprError: the axes are one, or the lengths are no vector.
        ExprTypeError: the lengths are no integers.
    """
    ndim = tensor(a, "reverse_sequence").ndim
    along, batch = (axis_of(x, ndim, "reverse_sequence") for x in (seq_axis, batch_axis))
    lengths = integer_indices(seq_lengths, "reverse_sequence")
    if along == batch or lengths.ndim != 1:
        raise ExprError("topi.reverse_sequence needs two different axes, and a vector of lengths")

    def element(*i: Any) -> PrimExpr:
        length = cast(lengths[i[batch]], SIZE)
        mirrored = Select(i[along] < length, length - 1 - i[along], i[along])
        place = _clamped(mirrored, a.shape[along])
        return a[(*i[:along], place, *i[along + 1 :])]

    return compute(a.shape, element, name="T_reverse_sequence")
