"""Operators that move, join and cut; those of strides see tensors as contiguous."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.frontend.torch.importer import Importer, as_sequence
from relax_mlir.frontend.torch.ops.table import converts, converts_complex
from relax_mlir.relax import op
from relax_mlir.relax.expr.values import ShapeExpr

# What torch writes for "to the end".
_END = 2**63 - 1


@converts(
    "alias.default", "clone.default", "contiguous.default", "detach.default", "detach_.default",
    "lift_fresh_copy.default", "positive.default", "lift_fresh.default",
    "view_as_real_copy.default",
)  # fmt: skip
def _same(m: Importer, x: Any, *_: Any, **__: Any) -> Any:
    return x


@converts(
    "view.default", "reshape.default", "_unsafe_view.default", "view_copy.default",
    "flatten.using_ints", "unflatten.int", "_reshape_alias.default",
)  # fmt: skip
def _view(m: Importer, x: Any, *_: Any) -> Any:
    return op.reshape(x, m.shape)


@converts("permute.default", "permute_copy.default")
def _permute(m: Importer, x: Any, dims: Sequence[int]) -> Any:
    return op.permute_dims(x, [dim % len(dims) for dim in dims]) if dims else x


@converts("transpose.int", "transpose_copy.int", "swapaxes.default")
def _transpose(m: Importer, x: Any, first: int, second: int) -> Any:
    axes = list(range(x.ty.ndim))
    if axes:
        axes[first], axes[second] = axes[second], axes[first]
    return _permute(m, x, axes)


@converts("t.default", "numpy_T.default", "mT.default", "matrix_H.default")
def _t(m: Importer, x: Any) -> Any:
    return _transpose(m, x, -2, -1) if x.ty.ndim >= 2 else x


@converts("movedim.int", "movedim.intlist")
def _movedim(m: Importer, x: Any, source: Any, destination: Any) -> Any:
    ndim = x.ty.ndim
    moved = {
        to % ndim: place % ndim
        for place, to in zip(as_sequence(source, 1), as_sequence(destination, 1), strict=True)
    }
    others = iter(axis for axis in range(ndim) if axis not in moved.values())
    return _permute(m, x, [moved[i] if i in moved else next(others) for i in range(ndim)])


@converts("expand.default", "expand_copy.default")
def _expand(m: Importer, x: Any, *_: Any, **__: Any) -> Any:
    return op.broadcast_to(x, m.dims)


@converts("expand_as.default", "view_as.default", "reshape_as.default")
def _as(m: Importer, x: Any, other: Any) -> Any:
    return (op.broadcast_to if "expand" in str(m.node.target) else op.reshape)(x, m.dims)


@converts("squeeze.default", "squeeze.dim", "squeeze.dims", "squeeze_copy.dims")
def _squeeze(m: Importer, x: Any, dim: Any = None) -> Any:
    return op.reshape(x, m.shape)


@converts("unsqueeze.default", "unsqueeze_copy.default")
def _unsqueeze(m: Importer, x: Any, dim: int) -> Any:
    return op.expand_dims(x, axis=dim)


@converts("cat.default", "concat.default")
def _cat(m: Importer, tensors: Sequence[Any], dim: int = 0) -> Any:
    # torch skips vectors without elements, of whatever rank the others are.
    ndim = len(m.dims)
    parts = [x for x in tensors if x.ty.ndim == ndim]
    return op.concat([m.cast(x, m.dtype) for x in parts], axis=dim)


@converts("stack.default")
def _stack(m: Importer, tensors: Sequence[Any], dim: int = 0) -> Any:
    return op.stack([m.cast(x, m.dtype) for x in tensors], axis=dim)


@converts("slice.Tensor", "slice_copy.Tensor")
def _slice(
    m: Importer, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    begin = 0 if start is None else start
    stop = _END if end is None else end
    if begin == 0 and isinstance(stop, int) and stop == _END and step == 1:
        return x
    return op.strided_slice(x, axes=[dim], begin=[begin], end=[stop], strides=[step])


@converts("select.int", "select_copy.int")
def _select(m: Importer, x: Any, dim: int, index: Any) -> Any:
    begin = index
    if isinstance(index, int) and index < 0:
        end: Any = _END if index == -1 else index + 1
    else:
        end = index + 1
    part = op.strided_slice(x, axes=[dim], begin=[begin], end=[end], strides=[1])
    return op.reshape(part, m.shape)


@converts("narrow.default")
def _narrow(m: Importer, x: Any, dim: int, start: Any, length: Any) -> Any:
    return _slice(m, x, dim, start, start + length)


@converts(
    "split_with_sizes.default", "split.Tensor", "split.sizes", "split_with_sizes_copy.default",
    "chunk.default", "tensor_split.sections", "tensor_split.indices", "unsafe_split.Tensor",
    "unsafe_chunk.default",
)  # fmt: skip
def _split(m: Importer, x: Any, sizes: Any, dim: int = 0) -> list[Any]:
    """Cut by the sizes that torch computed, whatever they were said by."""
    from relax_mlir.frontend.torch.symbols import size

    parts, begin = [], SymExpr.const(0)
    for part in m.value:
        end = begin + size(part.shape[dim])
        parts.append(_slice(m, x, dim, _plain(begin), _plain(end)))
        begin = end
    return parts


def _plain(dim: SymExpr) -> Any:
    return dim if dim.value is None else dim.value


@converts("unbind.int", "unbind_copy.int")
def _unbind(m: Importer, x: Any, dim: int = 0) -> list[Any]:
    parts = []
    for index in range(len(m.value)):
        part = op.strided_slice(x, axes=[dim], begin=[index], end=[index + 1], strides=[1])
        parts.append(op.squeeze(part, axis=[dim]))
    return parts


@converts("getitem")
@converts_complex("getitem")
def _getitem(m: Importer, values: Any, index: int) -> Any:
    return values[index]


@converts("repeat.default", "tile.default")
def _repeat(m: Importer, x: Any, repeats: Sequence[Any]) -> Any:
    if all(isinstance(count, int) for count in repeats):
        ndim = x.ty.ndim
        counts = [*[1] * (ndim - len(repeats)), *repeats]
        return op.tile(x, counts) if counts else x
    # Symbolic counts: each dimension gets one in front that the tensor is repeated along.
    own = [SymExpr.const(1)] * (len(repeats) - x.ty.ndim) + list(x.ty.dims)
    interleaved = [dim for size in own for dim in (SymExpr.const(1), size)]
    wide = [SymExpr.of(dim) for pair in zip(repeats, own, strict=True) for dim in pair]
    return op.reshape(op.broadcast_to(op.reshape(x, interleaved), wide), m.shape)


@converts("repeat_interleave.self_int")
def _repeat_interleave(
    m: Importer, x: Any, repeats: int, dim: int | None = None, *, output_size: Any = None
) -> Any:
    return op.repeat(x, repeats=repeats, axis=dim)


@converts("flip.default")
def _flip(m: Importer, x: Any, dims: Sequence[int]) -> Any:
    for dim in dims:
        x = op.flip(x, axis=dim)
    return x


@converts("roll.default")
def _roll(m: Importer, x: Any, shifts: Any, dims: Any = ()) -> Any:
    return op.roll(x, shift=shifts, axis=list(dims) or None)


@converts("tril.default")
def _tril(m: Importer, x: Any, diagonal: int = 0) -> Any:
    return op.tril(x, k=diagonal)


@converts("triu.default")
def _triu(m: Importer, x: Any, diagonal: int = 0) -> Any:
    return op.triu(x, k=diagonal)


@converts("constant_pad_nd.default")
def _constant_pad(m: Importer, x: Any, pad: Sequence[int], value: Any = 0) -> Any:
    if not all(isinstance(count, int) for count in pad):
        raise ExprError(f"pads must be numbers that are known, got {pad}")
    x, widths = _cropped(x, pad)
    return op.pad(x, widths, pad_value=float(value)) if any(widths) else x


def _cropped(x: Any, pad: Sequence[int]) -> tuple[Any, list[int]]:
    """Return a tensor without what negative pads take off, and the other pads by axis.

    torch writes the last axis first.
    """
    ndim = x.ty.ndim
    widths = [0] * (2 * ndim)
    for axis, before, after in zip(range(ndim - 1, -1, -1), pad[::2], pad[1::2], strict=False):
        widths[2 * axis : 2 * axis + 2] = [max(before, 0), max(after, 0)]
        if before < 0 or after < 0:
            end = after if after < 0 else _END
            x = op.strided_slice(x, axes=[axis], begin=[max(-before, 0)], end=[end], strides=[1])
    return x, widths


def _padding(mode: str) -> Any:
    def convert(m: Importer, x: Any, pad: Sequence[int]) -> Any:
        x, widths = _cropped(x, pad)
        return op.pad(x, widths, pad_mode=mode)

    return convert


converts(*(f"reflection_pad{n}d.default" for n in (1, 2, 3)))(_padding("reflect"))
converts(*(f"replication_pad{n}d.default" for n in (1, 2, 3)))(_padding("edge"))


@converts("pixel_shuffle.default")
def _pixel_shuffle(m: Importer, x: Any, factor: int) -> Any:
    *batch, channels, height, width = x.ty.dims
    parts = [*batch, channels // factor**2, factor, factor, height, width]
    n = len(batch)
    axes = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return op.reshape(op.permute_dims(op.reshape(x, ShapeExpr(parts)), axes), m.shape)


@converts("pixel_unshuffle.default")
def _pixel_unshuffle(m: Importer, x: Any, factor: int) -> Any:
    *batch, channels, height, width = x.ty.dims
    parts = [*batch, channels, height // factor, factor, width // factor, factor]
    n = len(batch)
    axes = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return op.reshape(op.permute_dims(op.reshape(x, ShapeExpr(parts)), axes), m.shape)


@converts("meshgrid.default", "meshgrid.indexing")
def _meshgrid(m: Importer, tensors: Sequence[Any], indexing: str = "ij") -> list[Any]:
    grid = m.emit(op.meshgrid(tensors, indexing=indexing))
    return [grid[i] for i in range(len(tensors))]


@converts("unfold.default")
def _unfold(m: Importer, x: Any, dim: int, size: int, step: int) -> Any:
    """Return windows along an axis, their elements as the last axis."""
    axis = dim % x.ty.ndim
    begin = op.multiply(op.arange(0, m.dims[axis], 1, dtype="int64"), m.cast(step, "int64"))
    places = op.add(op.expand_dims(begin, axis=1), op.arange(0, size, 1, dtype="int64"))
    axes = list(range(x.ty.ndim + 1))
    axes.append(axes.pop(axis + 1))
    return op.permute_dims(op.take(x, places, axis=axis), axes)


@converts("as_strided.default", "as_strided_copy.default")
def _as_strided(
    m: Importer, x: Any, sizes: Sequence[Any], strides: Sequence[Any], offset: Any = None
) -> Any:
    """Return the elements at computed places of a tensor that is contiguous here."""
    places = m.cast(0 if offset is None else offset, "int64")
    for axis, (dim, stride) in enumerate(zip(sizes, strides, strict=True)):
        along = op.multiply(op.arange(0, dim, 1, dtype="int64"), m.cast(stride, "int64"))
        shape = [dim if i == axis else 1 for i in range(len(sizes))]
        places = op.add(places, op.reshape(along, shape))
    return op.take(op.reshape(x, (-1,)), places, axis=0)
