"""Shape manipulation at run time."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.library.operands import axes as distinct_axes
from relax_mlir.runtime.library.operands import check, size_of, tensors
from relax_mlir.runtime.values.convert import describe

_Array = np.ndarray


def _reshape(x: _Array, shape: Any) -> _Array:
    check(x)
    if type(shape) is not tuple or not all(type(dim) is int for dim in shape):
        raise ArgumentTypeError(f"expected a shape, got {describe(shape)}")
    if min(shape, default=0) < 0 or math.prod(shape) != x.size:
        raise ShapeMismatchError(f"{describe(x)} has {x.size} elements, cannot take shape {shape}")
    return x.copy(order="C").reshape(shape)


def resolve_shape(x: _Array, pattern: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that a pattern for reshape stands for: -1 takes the rest, 0 copies."""
    check(x)
    shape = list(pattern)
    for i, dim in enumerate(pattern):
        if dim == 0:
            if i >= x.ndim:
                raise ShapeMismatchError(f"there is no dimension {i} to copy, {x.ndim} are there")
            shape[i] = x.shape[i]
    if -1 in shape:
        hole = shape.index(-1)
        rest = math.prod(shape[:hole] + shape[hole + 1 :])
        if rest == 0 or x.size % rest:
            raise ShapeMismatchError(f"{x.size} elements cannot take shape {tuple(pattern)}")
        shape[hole] = x.size // rest
    return tuple(shape)


def _flatten(x: _Array) -> _Array:
    check(x)
    return x.flatten()


def _permute_dims(x: _Array, axes: Sequence[int] | None = None) -> _Array:
    check(x)
    order = distinct_axes(axes, x.ndim)
    if len(order) != x.ndim:
        raise ArgumentTypeError(f"needs {x.ndim} axes, got {len(order)}: {order}")
    return x.transpose(order if axes is not None else None).copy(order="C")


def _expand_dims(x: _Array, axis: Sequence[int]) -> _Array:
    check(x)
    return np.expand_dims(x.copy(), distinct_axes(axis, x.ndim + len(axis)))


def _squeeze(x: _Array, axis: Sequence[int] | None = None) -> _Array:
    check(x)
    if axis is None:
        return x.copy().squeeze()
    dropped = distinct_axes(axis, x.ndim)
    for each in dropped:
        if x.shape[each] != 1:
            empty = ": an index may be out of range" if not x.shape[each] else ""
            raise ShapeMismatchError(f"dimension {each} is {x.shape[each]} and not 1{empty}")
    return x.copy().squeeze(dropped)


def _broadcast_to(x: _Array, shape: Any) -> _Array:
    check(x)
    return np.broadcast_to(x, size_of(shape)).copy()


def _axis(axis: int, ndim: int) -> int:
    return distinct_axes([axis], ndim)[0]


def _concat(values: Any, axis: int | None = 0) -> _Array:
    arrays = tensors(values)
    if axis is None and arrays[0].ndim != 1:
        raise ShapeMismatchError(f"tensors of {arrays[0].ndim} dimensions need an axis")
    return np.concatenate(arrays, _axis(axis or 0, arrays[0].ndim))


def _stack(values: Any, axis: int = 0) -> _Array:
    arrays = tensors(values)
    return np.stack(arrays, _axis(axis, arrays[0].ndim + 1))


def _split(x: _Array, parts: int | Sequence[int], axis: int = 0) -> tuple[_Array, ...]:
    check(x)
    axis = _axis(axis, x.ndim)
    if isinstance(parts, int):
        size = -(-x.shape[axis] // parts)
        parts = [min(size * i, x.shape[axis]) for i in range(1, parts)]
    return tuple([part.copy() for part in np.split(x, list(parts), axis)])


def _strided_slice(
    x: _Array, begin: Sequence[int], end: Sequence[int], axes: Sequence[int],
    strides: Sequence[int] | None = None, assume_inbound: bool = False,
) -> _Array:  # fmt: skip
    check(x)
    strides = [1] * len(axes) if strides is None else strides
    index = [slice(None)] * x.ndim
    for axis, first, last, step in zip(
        distinct_axes(axes, x.ndim), begin, end, strides, strict=True
    ):
        length = x.shape[axis]
        if step < 0 and last < -length:
            last = -length - 1
        if assume_inbound and not -1 <= min(first, last) <= max(first, last) <= length:
            raise ShapeMismatchError(f"a slice from {first} to {last} of {length} elements")
        # Of a bound said to be inside, -1 is the place before the first.
        before = assume_inbound and step < 0 and last == -1
        index[axis] = slice(first, None if before else last, step)
    return x[tuple(index)].copy()


def _dynamic_strided_slice(x: _Array, begin: _Array, end: _Array, strides: _Array) -> _Array:
    check(x)
    for bound in (begin, end, strides):
        check(bound, "i")
        if bound.shape != (x.ndim,):
            raise ShapeMismatchError(f"needs {x.ndim} bounds, got shape {bound.shape}")
    if not strides.all():
        raise ValueError("a stride cannot be 0")
    bounds = zip(begin.tolist(), end.tolist(), strides.tolist(), strict=True)
    return x[tuple([slice(*each) for each in bounds])].copy()


def _tile(x: _Array, repeats: Sequence[int]) -> _Array:
    check(x)
    return np.tile(x, repeats)


def _repeat(x: _Array, repeats: int, axis: int | None = None) -> _Array:
    check(x)
    return np.repeat(x, repeats, None if axis is None else _axis(axis, x.ndim))


def _flip(x: _Array, axis: int) -> _Array:
    check(x)
    return np.flip(x, _axis(axis, x.ndim)).copy()


def _roll(x: _Array, shift: Any, axis: Any = None) -> _Array:
    check(x)
    for each in () if axis is None else np.atleast_1d(axis):
        _axis(int(each), x.ndim)
    return np.roll(x, shift if axis is not None or isinstance(shift, int) else shift[0], axis)


_NUMPY_PAD_MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad(x: _Array, widths: Sequence[int], mode: str, value: float) -> _Array:
    check(x)
    if len(widths) != 2 * x.ndim:
        raise ArgumentTypeError(f"needs {2 * x.ndim} widths, got {len(widths)}")
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    if mode == "constant":
        return np.pad(x, pairs, constant_values=np.asarray(value).astype(x.dtype))
    return np.pad(x, pairs, _NUMPY_PAD_MODES[mode])


def _batch_flatten(data: _Array) -> _Array:
    check(data)
    if data.ndim < 2:
        raise ArgumentTypeError(f"needs at least 2 dimensions, got {describe(data)}")
    return data.reshape(len(data), math.prod(data.shape[1:])).copy()


def _pixel_shuffle(data: _Array, r: int) -> _Array:
    check(data)
    if data.ndim < 3 or data.shape[-3] % (r * r):
        raise ShapeMismatchError(f"no multiple of {r} * {r} channels: {describe(data)}")
    *outer, channels, height, width = data.shape
    split = data.reshape(*outer, channels // (r * r), r, r, height, width)
    n = len(outer)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return split.transpose(order).reshape(*outer, channels // (r * r), height * r, width * r)


def _reverse_sequence(data: _Array, lengths: _Array, seq_axis: int, batch_axis: int) -> _Array:
    check(data)
    check(lengths, "iu")
    axis, batch = (_axis(each, data.ndim) for each in (seq_axis, batch_axis))
    if lengths.shape != data.shape[batch : batch + 1]:
        raise ShapeMismatchError(f"{describe(lengths)} for a batch of {data.shape[batch]}")
    place, item = (
        np.arange(data.shape[each]).reshape([-1 if i == each else 1 for i in range(data.ndim)])
        for each in (axis, batch)
    )
    length = lengths.astype("int64").clip(None, data.shape[axis])[item]
    return np.take_along_axis(data, np.where(place < length, length - 1 - place, place), axis)


def _layout_transform(
    data: _Array, pad_value: float | None, index_map: Sequence[int], *separators: Any
) -> _Array:
    """Return the elements where a map of indices puts them.

    Args:
        data: the elements.
        pad_value: what else is there, None for 0.
        index_map: the rank, then for each output how many digits it has and, from the highest, the
            axis of each, how many of its index are one, how many values it has (0: what is left),
            and its factor.
        separators: of axes, of no consequence here.
    """
    check(data)
    rank, *numbers = index_map
    if data.ndim != rank:
        raise ShapeMismatchError(f"needs {rank} dimensions, got {describe(data)}")
    outputs = []
    while numbers:
        count, *numbers = numbers
        parts = numbers[: 4 * count]
        outputs.append([tuple(parts[i : i + 3]) for i in range(0, len(parts), 4)])
        numbers = numbers[4 * count :]
    digits = sorted((d for each in outputs for d in each), key=lambda d: (d[0], -d[1]))
    sizes = [size or -(-data.shape[axis] // low) for axis, low, size in digits]
    whole = [
        math.prod(size for digit, size in zip(digits, sizes, strict=True) if digit[0] == axis)
        for axis in range(rank)
    ]
    rests = [(0, size - dim) for size, dim in zip(whole, data.shape, strict=True)]
    if any(rest < 0 for _, rest in rests):
        raise ShapeMismatchError(f"the map of indices does not reach all of {describe(data)}")
    padded = np.pad(data, rests, constant_values=np.asarray(pad_value or 0).astype(data.dtype))
    order = [digits.index(digit) for each in outputs for digit in each]
    moved = padded.reshape(sizes).transpose(order)
    shape = [math.prod(sizes[digits.index(digit)] for digit in each) for each in outputs]
    return moved.reshape(shape).copy()


# Name -> function of the operands, the attributes that may be symbolic, then the other attributes.
MANIPULATE: dict[str, Callable[..., Any]] = {
    "reshape": _reshape,
    "resolve_shape": resolve_shape,
    "flatten": _flatten,
    "permute_dims": _permute_dims,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "broadcast_to": _broadcast_to,
    "concat": _concat,
    "stack": _stack,
    "split": _split,
    "strided_slice": _strided_slice,
    "dynamic_strided_slice": _dynamic_strided_slice,
    "tile": _tile,
    "repeat": _repeat,
    "flip": _flip,
    "roll": _roll,
    "pad": _pad,
    "batch_flatten": _batch_flatten,
    "pixel_shuffle": _pixel_shuffle,
    "layout_transform": _layout_transform,
    "reverse_sequence": _reverse_sequence,
}
