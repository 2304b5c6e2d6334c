"""Transposed convolution and adaptive pooling as prim funcs: windows that grow or shift."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.relax.windows import SPATIAL, layout_axes, pads, per_axis
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, compare, select
from relax_mlir.lowering.relax_to_tir.elementwise import spatial
from relax_mlir.lowering.relax_to_tir.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.limits import ADD_UP_IN
from relax_mlir.lowering.relax_to_tir.windows import ChannelAt, Channels, convolve


def _attributes(op: ir.Operation) -> dict[str, Any]:
    return read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)


def legalize_conv_transpose(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a transposed convolution: one by mirrored kernels of the data spread by strides."""
    attrs = _attributes(op)
    data_dims, weight_dims = (T.tensor_dims(value.type) for value in op.operands)
    if data_dims is None or weight_dims is None or 0 in data_dims:
        return None
    rank, name = len(data_dims) - 2, op.name.removeprefix("relax.")
    letters = f"NC{SPATIAL[rank]}"
    n, c, *places = layout_axes(attrs["data_layout"], letters)
    o, i, *windows = layout_axes(attrs["kernel_layout"], f"OI{SPATIAL[rank]}")
    out_axes = layout_axes(attrs["out_layout"] or attrs["data_layout"], letters)
    strides = per_axis(attrs["strides"], rank, "strides")
    dilation = per_axis(attrs["dilation"], rank, "dilation")
    more = per_axis(attrs["output_padding"], rank, "output_padding", least=0)
    lengths = (weight_dims[axis].value for axis in windows)
    groups, sizes = attrs["groups"], [length for length in lengths if length is not None]
    size = data_dims[c] // groups
    if len(sizes) < rank or data_dims[c] != weight_dims[i] or size * groups != data_dims[c]:
        return None
    reach = [(size - 1) * step for size, step in zip(sizes, dilation, strict=True)]
    around = [
        (length - before, length - after + extra)
        for length, (before, after), extra in zip(
            reach, pads(attrs["padding"], rank), more, strict=True
        )
    ]
    if min(map(min, around)) < 0:
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, weight, out = buffers
        image = _spread(
            builder, data, dict(zip(places, zip(strides, around, strict=True), strict=True))
        )

        def channel(ci: Scalar, group: Scalar) -> Scalar:
            return ci if groups == 1 else group * builder.symbol(size) + ci

        def place(at: Sequence[Scalar], ci: Scalar, group: Scalar, window: Sequence[Scalar]) -> Any:
            where: list[Scalar | int] = [0] * (rank + 2)
            where[n], where[c] = at[out_axes[0]], channel(ci, group)
            for axis, (position, step) in enumerate(zip(places, window, strict=True)):
                where[position] = at[out_axes[2 + axis]] + step * dilation[axis]
            return where

        def kernel(at: ChannelAt, ci: Scalar, window: Sequence[Scalar]) -> Any:
            where: list[Scalar | int] = [0] * (rank + 2)
            where[o], where[i] = at.block, channel(ci, at.group)
            for position, step, length in zip(windows, window, sizes, strict=True):
                where[position] = length - 1 - step
            return where

        reduced = [size, *(weight.dims[axis] for axis in windows)]
        channels = Channels(out_axes[1], groups, weight.dims[o])
        convolve(builder, name, (image, weight, out), channels, reduced, place, kernel)

    return legalizer.call_inferred(op, list(op.operands), body, str(attrs))


def _spread(
    builder: PrimFuncBuilder, source: Buffer, axes: dict[int, tuple[int, tuple[int, int]]]
) -> Buffer:
    """Return the source with zeros between its elements and around it.

    Args:
        builder: of the prim func.
        source: what is spread.
        axes: for each spatial axis how far apart elements are, and how many zeros are around.
    """
    dims = list(source.dims)
    for axis, (stride, (before, after)) in axes.items():
        dims[axis] = (dims[axis] - 1) * stride + 1 + before + after
    spread = builder.alloc("Spread", dims, source.dtype)
    with builder.nest("zeros", spatial(dims)) as block:
        spread.store(cast(0, source.dtype), tuple(block))
    with builder.nest("spread", spatial(source.dims)) as block:
        at = tuple(block)
        moved = list(at)
        for axis, (stride, (before, _)) in axes.items():
            moved[axis] = at[axis] * stride + before
        spread.store(source[at], tuple(moved))
    return spread


def legalize_adaptive_pool(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise the mean of windows that divide the data as evenly as can be."""
    attrs, dims = _attributes(op), T.tensor_dims(op.operands[0].type)
    if dims is None or 0 in dims:
        return None
    rank = len(dims) - 2
    letters = f"NC{SPATIAL[rank]}"
    source_axes = layout_axes(attrs["layout"], letters)
    out_axes = layout_axes(attrs["out_layout"] or attrs["layout"], letters)
    places = source_axes[2:]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, out = buffers
        wide = ADD_UP_IN.get(out.dtype, out.dtype)
        total = builder.alloc("Total", out.dims, wide)
        counts = [out.dims[axis] for axis in out_axes[2:]]
        # No window is longer than this; shorter ones leave out its end.
        longest = [data.dims[p].ceildiv(n) + 1 for p, n in zip(places, counts, strict=True)]

        def bounds(at: Sequence[Scalar], axis: int) -> tuple[Scalar, Scalar]:
            index, size = at[out_axes[2 + axis]], builder.symbol(data.dims[places[axis]])
            count = builder.symbol(counts[axis])
            return (index * size) // count, ((index + 1) * size + (count - 1)) // count

        iters = [*spatial(out.dims), *(("reduction", extent) for extent in longest)]
        with builder.nest("total", iters) as block:
            at, steps = list(block)[: rank + 2], list(block)[rank + 2 :]
            where: list[Scalar] = [at[0]] * (rank + 2)
            for source, result in zip(source_axes, out_axes, strict=True):
                where[source] = at[result]
            inside: list[Scalar] = []
            for axis, position in enumerate(places):
                start, stop = bounds(at, axis)
                found = start + steps[axis]
                inside.append(compare("lt", found, stop))
                last = builder.symbol(data.dims[position] - 1)
                where[position] = binary("min", found, last)
            with block.init() as init:
                total.store(cast(0, wide), tuple(init[: rank + 2]))
            within = functools.reduce(lambda a, b: binary("and", a, b), inside)
            value = select(within, cast(data[tuple(where)], wide), 0)
            total.store(total[tuple(at)] + value, tuple(at))
        with builder.nest("mean", spatial(out.dims)) as block:
            at = tuple(block)
            lengths = [stop - start for start, stop in (bounds(at, i) for i in range(rank))]
            count = cast(cast(functools.reduce(operator.mul, lengths), "int64"), wide)
            out.store(cast(total[at] / count, out.dtype), at)

    return legalizer.call_inferred(op, list(op.operands), body, str(attrs))


LEGALIZE: dict[str, Callable[[Legalizer, ir.Operation], ir.Value | None]] = {
    **{f"conv{rank}d_transpose": legalize_conv_transpose for rank in SPATIAL},
    **{f"adaptive_avg_pool{rank}d": legalize_adaptive_pool for rank in SPATIAL},
}
