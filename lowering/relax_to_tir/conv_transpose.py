"""Transposed convolution and adaptive pooling as prim funcs."""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.conv_geometry import SPATIAL, layout_axes, pads, per_axis
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, compare, select
from relax_mlir.lowering.relax_to_tir.conv_pool import ChannelAt, Channels, convolve
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.limits import ADD_UP_IN
from relax_mlir.lowering.relax_to_tir.support.window_checks import expect_outputs


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
    expect_outputs(op)

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
        axes: for each spatial axis the distance of elements, and how many zeros are around.
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
    """Legalise the mean of windows that divide the data as evenly as can be, axis by axis."""
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
        source, lengths = data, []
        for axis, result in zip(places, out_axes[2:], strict=True):
            source, length = _shared_out(builder, source, axis, out.dims[result], wide)
            lengths.append(length)
        with builder.nest("mean", spatial(out.dims)) as block:
            at = tuple(block)
            where: list[Scalar] = [at[0]] * (rank + 2)
            for axis, result in zip(source_axes, out_axes, strict=True):
                where[axis] = at[result]
            counts = [
                length[at[result]] for length, result in zip(lengths, out_axes[2:], strict=True)
            ]
            count = functools.reduce(operator.mul, counts)
            out.store(cast(source[tuple(where)] / count, out.dtype), at)

    return legalizer.call_inferred(op, list(op.operands), body, str(attrs))


def _shared_out(
    builder: PrimFuncBuilder, source: Buffer, axis: int, count: SymExpr, wide: str
) -> tuple[Buffer, Buffer]:
    """Add up so many windows along one axis; returns the sums, and how long each window is."""
    size = builder.symbol(source.dims[axis])
    windows = builder.symbol(count)

    def first(i: Scalar) -> Scalar:
        return (i * size) // windows

    def stop(i: Scalar) -> Scalar:
        return ((i + 1) * size + (windows - 1)) // windows

    def table(what: str, dtype: str, value: Callable[[Scalar], Scalar]) -> Buffer:
        made = builder.alloc(f"{what}{axis}", [count], dtype)
        with builder.nest("windows", spatial([count])) as (i,):
            made.store(cast(cast(value(i), "int64"), dtype), (i,))
        return made

    firsts, stops = table("First", "int64", first), table("Stop", "int64", stop)
    lengths = table("Length", wide, lambda i: stop(i) - first(i))
    dims = list(source.dims)
    longest = _longest(dims[axis], count)
    dims[axis] = count
    total = builder.alloc("Total", dims, wide)
    with builder.nest("zeros", spatial(dims)) as block:
        total.store(cast(0, wide), tuple(block))
    # Sums along the last axis are as many as a vector has lanes; others stay while a row is added.
    inside = axis if axis == len(dims) - 1 else axis + 1
    iters = spatial(dims)
    iters.insert(inside, ("opaque", longest))
    with builder.nest("total", iters) as block:
        at = list(block)
        step = at.pop(inside)
        window = at[axis]
        position = cast(firsts[window], "index") + step
        where = list(at)
        where[axis] = binary("min", position, size - 1)
        within = compare("lt", position, cast(stops[window], "index"))
        value = select(within, cast(source[tuple(where)], wide), cast(0, wide))
        total.store(total[tuple(at)] + value, tuple(at))
    return total, lengths


def _longest(size: SymExpr, count: SymExpr) -> SymExpr:
    """Return how long the longest of some windows is, or what none is longer than."""
    n, k = size.value, count.value
    if n is None or k is None:
        return size.ceildiv(count) + 1
    # The windows' ends repeat when both numbers are divided by what divides both.
    repeats = range(k // math.gcd(n, k))
    return SymExpr.const(max(-(-(i + 1) * n // k) - i * n // k for i in repeats))


LEGALIZE: dict[str, Callable[[Legalizer, ir.Operation], ir.Value | None]] = {
    **{f"conv{rank}d_transpose": legalize_conv_transpose for rank in SPATIAL},
    **{f"adaptive_avg_pool{rank}d": legalize_adaptive_pool for rank in SPATIAL},
}
