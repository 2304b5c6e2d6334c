"""Convolution and pooling as prim funcs: padding, then one block over the windows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.blocked_layout import BlockedLayout
from relax_mlir.dialects.relax.conv_geometry import (
    SPATIAL,
    layout_axes,
    pads,
    per_axis,
    window_room,
)
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.group_channels import with_static_channels
from relax_mlir.lowering.relax_to_tir.support.limits import ADD_UP_IN, lowest, mean_in
from relax_mlir.lowering.relax_to_tir.support.window_checks import expect_windows


def _attributes(op: ir.Operation) -> dict[str, Any] | None:
    """Return an operation's attributes, None when its result is declared other than it follows."""
    cls = COMPUTE_OPS[op.name.removeprefix("relax.")]
    attrs = read_attributes(op, cls.PARAMS)
    inferred = cls.result_type([value.type for value in op.operands], attrs)
    return attrs if inferred == op.results[0].type and T.tensor_dims(inferred) else None


def padded(
    builder: PrimFuncBuilder,
    source: Buffer,
    around: dict[int, tuple[int, int]],
    fill: int | float,
) -> Buffer:
    """Return a buffer of the source with so much filled in before and after along these axes."""
    around = {axis: pads for axis, pads in around.items() if any(pads)}
    if not around:
        return source
    dims = [dim + sum(around.get(axis, (0, 0))) for axis, dim in enumerate(source.dims)]
    result = builder.alloc("Padded", dims, source.dtype)
    # Two plain blocks: neither reads outside of the image, however small that is.
    with builder.nest("pad", spatial(dims)) as block:
        result.store(cast(fill, source.dtype), tuple(block))
    with builder.nest("image", spatial(source.dims)) as block:
        at = tuple(block)
        moved = tuple(
            index + around[axis][0] if axis in around else index for axis, index in enumerate(at)
        )
        result.store(source[at], moved)
    return result


def _rank(op: ir.Operation) -> int:
    return T.tensor_ndim(op.operands[0].type) - 2


def legalize_conv(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a convolution in any layouts, grouped or not."""
    attrs = _attributes(op)
    data_dims, weight_dims = (T.tensor_dims(value.type) for value in op.operands)
    if attrs is None or data_dims is None or weight_dims is None or 0 in data_dims:
        return None
    rank, name = _rank(op), op.name.removeprefix("relax.")
    letters = f"NC{SPATIAL[rank]}"
    n, c, *places = layout_axes(attrs["data_layout"], letters)
    layout = BlockedLayout.parse(attrs["kernel_layout"], f"OI{SPATIAL[rank]}")
    outputs, inputs, *_ = layout.sizes(weight_dims)
    o, i, *windows = layout.axes
    lanes, lane = layout.blocks.get("O", (1, 0))
    out_axes = layout_axes(attrs["out_layout"] or attrs["data_layout"], letters)
    strides = per_axis(attrs["strides"], rank, "strides")
    dilation = per_axis(attrs["dilation"], rank, "dilation")
    around = dict(zip(places, pads(attrs["padding"], rank), strict=True))
    groups = attrs["groups"]
    channels = Channels(out_axes[1], groups, outputs // groups, lanes)
    if data_dims[c] != inputs * groups:
        return with_static_channels(legalizer, op, data_dims[c], inputs, groups, legalize_conv)
    if channels.size * groups != outputs:
        return None
    if channels.blocks * lanes != channels.size:
        return None
    expect_windows(
        op,
        [
            window_room(data_dims[place], weight_dims[axis], stride, step, sum(around[place]))
            for place, axis, stride, step in zip(places, windows, strides, dilation, strict=True)
        ],
    )

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, weight, out = buffers
        image = padded(builder, data, around, 0)

        def place(at: Sequence[Scalar], ci: Scalar, group: Scalar, window: Sequence[Scalar]) -> Any:
            channel = ci if groups == 1 else group * builder.symbol(inputs) + ci
            where: list[Scalar | int] = [0] * (rank + 2)
            where[n], where[c] = at[out_axes[0]], channel
            for axis, (position, step) in enumerate(zip(places, window, strict=True)):
                where[position] = at[out_axes[2 + axis]] * strides[axis] + step * dilation[axis]
            return where

        def kernel(at: ChannelAt, ci: Scalar, window: Sequence[Scalar]) -> Any:
            where: list[Scalar | int] = [0] * layout.rank
            where[o] = at.block
            if groups > 1:
                where[o] = at.group * builder.symbol(channels.blocks) + at.block
            where[i] = ci
            if lanes > 1:
                where[lane] = at.lane
            for position, step in zip(windows, window, strict=True):
                where[position] = step
            return where

        reduced = [inputs, *(weight.dims[axis] for axis in windows)]
        convolve(builder, name, (image, weight, out), channels, reduced, place, kernel)

    return legalizer.call_prim(op, name, list(op.operands), body, key=str(attrs))


@dataclass(frozen=True)
class Channels:
    """How the loops of a convolution go over its output channels.

    Attributes:
        axis: where in the output they are.
        groups: into so many groups they fall.
        size: how many there are in each.
        lanes: how many go together, because the kernels lie in blocks of them.
    """

    axis: int
    groups: int
    size: SymExpr
    lanes: int = 1

    @property
    def blocks(self) -> SymExpr:
        """Blocks of a group."""
        return self.size // self.lanes

    def iters(self) -> list[SymExpr]:
        """Return the extents of the loops: groups, blocks, channels of a block."""
        groups = [SymExpr.const(self.groups)] if self.groups > 1 else []
        lanes = [SymExpr.const(self.lanes)] if self.lanes > 1 else []
        blocks = [] if self.blocks == 1 and (groups or lanes) else [self.blocks]
        return [*groups, *blocks, *lanes]

    def at(self, builder: PrimFuncBuilder, counters: Sequence[Scalar]) -> "ChannelAt":
        """Return where the loops are, given their counters."""
        left = list(counters)
        zero = builder.symbol(SymExpr.const(0))
        group = left.pop(0) if self.groups > 1 else zero
        lane = left.pop() if self.lanes > 1 else zero
        block = left.pop() if left else zero
        whole = block
        if self.lanes > 1:
            whole = block * self.lanes + lane
        if self.groups > 1:
            start = group * builder.symbol(self.size)
            whole = start if self.size == 1 else start + whole
        return ChannelAt(group, block, lane, whole)


@dataclass(frozen=True)
class ChannelAt:
    """An output channel: its group, its block in that, its place in the block, and its number."""

    group: Scalar
    block: Scalar
    lane: Scalar
    whole: Scalar


def convolve(
    builder: PrimFuncBuilder, name: str, buffers: Sequence[Buffer], channels: Channels,
    reduced: Sequence[SymExpr], place: Callable[..., Any], kernel: Callable[..., Any],
) -> None:  # fmt: skip
    """Write the block that adds up products of image and kernel, and what rounds the sums.

    Args:
        builder: of the prim func.
        name: of the block.
        buffers: image, kernels and output.
        channels: how loops go over the output channels.
        reduced: extents of input channels and window.
        place: from output position, input channel, group and window position to the image.
        kernel: from output channel, input channel and window to the kernels.
    """
    image, weight, out = buffers
    wide = ADD_UP_IN.get(out.dtype, out.dtype)
    target = out if wide == out.dtype else builder.alloc("Sum", out.dims, wide)
    split, inner = channels.axis, channels.iters()
    dims = [*out.dims[:split], *inner, *out.dims[split + 1 :]]

    def where(counters: Sequence[Scalar]) -> tuple[ChannelAt, list[Scalar]]:
        channel = channels.at(builder, counters[split : split + len(inner)])
        rest = counters[split + len(inner) :]
        return channel, [*counters[:split], channel.whole, *rest]

    with builder.nest(name, [*spatial(dims), *(("reduction", dim) for dim in reduced)]) as block:
        (ci, *window) = list(block)[len(dims) :]
        channel, at = where(list(block)[: len(dims)])
        with block.init() as init:
            target.store(cast(0, wide), tuple(where(list(init)[: len(dims)])[1]))
        before = target[tuple(at)]
        left = cast(image[tuple(place(at, ci, channel.group, window))], wide)
        term = left * cast(weight[tuple(kernel(channel, ci, window))], wide)
        target.store(before + term, tuple(at))
    if target is not out:
        _round(builder, target, out)


def _round(builder: PrimFuncBuilder, wide: Buffer, out: Buffer) -> None:
    """Write the block that stores numbers of more bits in an output of fewer."""
    source, result = builder.linear(wide), builder.linear(out)
    with builder.nest("cast", spatial(result.dims)) as (index,):
        result.store(cast(source[index], out.dtype), index)


def legalize_pool(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise max and mean over windows; windows may hang over the end in `ceil_mode`."""
    attrs = _attributes(op)
    dims, out_dims = T.tensor_dims(op.operands[0].type), T.tensor_dims(op.results[0].type)
    if attrs is None or dims is None or out_dims is None or 0 in dims:
        return None
    rank, name = _rank(op), op.name.removeprefix("relax.")
    letters = f"NC{SPATIAL[rank]}"
    source_axes = layout_axes(attrs["layout"], letters)
    out_axes = layout_axes(attrs["out_layout"] or attrs["layout"], letters)
    size = per_axis(attrs["pool_size"], rank, "pool_size")
    strides = per_axis(attrs["strides"], rank, "strides")
    dilation = per_axis(attrs["dilation"], rank, "dilation")
    padding = pads(attrs["padding"], rank)
    around: dict[int, tuple[int, int]] = {}
    for position, axis in enumerate(source_axes[2:]):
        # What the last window reaches beyond the declared padding, of a known size at least.
        windows = out_dims[out_axes[2 + position]]
        reach = (windows - 1) * strides[position] + (size[position] - 1) * dilation[position] + 1
        before, after = padding[position]
        beyond = reach - dims[axis] - before - after
        extra = strides[position] - 1 if beyond.value is None else beyond.value
        overhang = max(0, extra) if attrs["ceil_mode"] else 0
        around[axis] = (before, after + overhang)
    average, dtype = name.startswith("avg"), T.tensor_dtype(op.operands[0].type)
    if dtype == "bool" and average:
        return None
    expect_windows(
        op,
        [
            window_room(
                dims[axis], SymExpr.const(size[i]), strides[i], dilation[i], sum(padding[i]),
                attrs["ceil_mode"],
            )
            for i, axis in enumerate(source_axes[2:])
        ],
    )  # fmt: skip
    wide, quotient = ADD_UP_IN.get(dtype, dtype), dtype
    if average:
        wide, quotient = mean_in(dtype, math.prod(size))

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, out = buffers
        fill = 0 if average else lowest(data.dtype)
        # Sums that nothing else holds are divided in registers.
        plain = wide == out.dtype and not average
        target = out if plain else builder.alloc("Sum", out.dims, wide)
        counts = counted(builder, data, out) if average else []
        image = padded(builder, data, around, fill)
        window = [("reduction", SymExpr.const(extent)) for extent in size]
        with builder.nest(name, [*spatial(out.dims), *window]) as block:
            at, steps = list(block)[: rank + 2], list(block)[rank + 2 :]
            where: list[Scalar] = [at[0]] * (rank + 2)
            for source, result in zip(source_axes, out_axes, strict=True):
                where[source] = at[result]
            for axis, position in enumerate(source_axes[2:]):
                start = at[out_axes[2 + axis]] * strides[axis]
                where[position] = start + steps[axis] * dilation[axis]
            with block.init() as init:
                target.store(cast(fill, wide), tuple(init[: rank + 2]))
            before = target[tuple(at)]
            value = cast(image[tuple(where)], wide)
            target.store(before + value if average else binary("max", before, value), tuple(at))
        if average:
            _divide(builder, counts, target, out)
        elif target is not out:
            _round(builder, target, out)

    def counted(builder: PrimFuncBuilder, data: Buffer, out: Buffer) -> list[Buffer | int]:
        """Write how many elements count along each axis, a number where all windows are whole."""
        counts: list[Buffer | int] = []
        for position, axis in enumerate(source_axes[2:]):
            whole = attrs["count_include_pad"] or padding[position] == (0, 0)
            if whole and around[axis] == padding[position]:
                counts.append(size[position])
                continue
            table = builder.alloc("Counts", [out.dims[out_axes[2 + position]]], quotient)
            with builder.nest("counts", spatial(table.dims)) as (at,):
                count = _count(
                    at, builder.symbol(data.dims[axis]), size[position], strides[position],
                    dilation[position], *padding[position], attrs["count_include_pad"],
                )  # fmt: skip
                table.store(cast(cast(count, "int64"), quotient), at)
            counts.append(table)
        return counts

    def _divide(
        builder: PrimFuncBuilder, counts: Sequence[Buffer | int], target: Buffer, out: Buffer
    ) -> None:
        known = math.prod(count for count in counts if isinstance(count, int))
        with builder.nest("mean", spatial(out.dims)) as block:
            at = tuple(block)
            divisor = cast(known, quotient)
            for axis, count in zip(out_axes[2:], counts, strict=True):
                if isinstance(count, Buffer):
                    divisor = count[at[axis]] * divisor
            mean = cast(target[at], quotient) / divisor
            out.store(cast(cast(mean, wide), out.dtype), at)

    key = f"{attrs}{around}"
    return legalizer.call_prim(op, name, list(op.operands), body, key=key)


def _count(
    at: Scalar, size: Scalar, window: int, stride: int, dilation: int, before: int, after: int,
    include: bool,
) -> Scalar:  # fmt: skip
    """Return how many elements of a window count along one axis."""
    start = at * stride - before
    low, high = (-before, size + after) if include else (0, size)
    # Of the positions start + k * dilation, those of k below `stop` lie before the end.
    stop = binary("min", (high - start + (dilation - 1)) // dilation, window)
    skipped = binary("max", (low - start + (dilation - 1)) // dilation, 0)
    return binary("max", stop - skipped, 1)


LEGALIZE: dict[str, Callable[[Legalizer, ir.Operation], ir.Value | None]] = {
    **{f"conv{rank}d": legalize_conv for rank in SPATIAL},
    **{f"{kind}_pool{rank}d": legalize_pool for kind in ("max", "avg") for rank in SPATIAL},
}
