"""Convolution and pooling as prim funcs: the padded image, then one block over the windows."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.relax.windows import four_pads, layout_axes, pair
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, is_float
from relax_mlir.lowering.relax_to_tir.elementwise import spatial
from relax_mlir.lowering.relax_to_tir.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.limits import ACCUMULATE, lowest


def _attributes(op: ir.Operation) -> dict[str, Any] | None:
    """Return an operation's attributes, None when its result is declared other than it follows."""
    cls = COMPUTE_OPS[op.name.removeprefix("relax.")]
    attrs = read_attributes(op, cls.PARAMS)
    inferred = cls.result_type([value.type for value in op.operands], attrs)
    return attrs if inferred == op.results[0].type and T.tensor_dims(inferred) else None


def _padded(
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
    padded = builder.alloc("Padded", dims, source.dtype)
    # Two plain blocks: neither reads outside of the image, however small that is.
    with builder.nest("pad", spatial(dims)) as block:
        padded.store(cast(fill, source.dtype), tuple(block))
    with builder.nest("image", spatial(source.dims)) as block:
        at = tuple(block)
        moved = tuple(
            index + around[axis][0] if axis in around else index for axis, index in enumerate(at)
        )
        padded.store(source[at], moved)
    return padded


def legalize_conv2d(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a convolution in any layouts, grouped or not."""
    attrs = _attributes(op)
    data_dims, weight_dims = (T.tensor_dims(value.type) for value in op.operands)
    if attrs is None or data_dims is None or weight_dims is None or 0 in data_dims:
        return None
    n, c, h, w = layout_axes(attrs["data_layout"], "NCHW")
    o, i, kh, kw = layout_axes(attrs["kernel_layout"], "OIHW")
    out_axes = layout_axes(attrs["out_layout"] or attrs["data_layout"], "NCHW")
    strides, dilation = pair(attrs["strides"], "strides"), pair(attrs["dilation"], "dilation")
    top, left, bottom, right = four_pads(attrs["padding"])
    groups = attrs["groups"]
    if data_dims[c] != weight_dims[i] * groups:
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, weight, out = buffers
        wide = ACCUMULATE.get(out.dtype, out.dtype)
        split = out_axes[1]
        dims = [*out.dims[:split], SymExpr.const(groups), *out.dims[split:]]
        dims[split + 1] = weight.dims[o] // groups
        if groups == 1 or weight.dims[o] == groups:
            # One group, or one channel in each: the axis of the other has nothing to tell.
            del dims[split + (groups != 1)]
        whole = len(dims) == 4
        target = out if whole and wide == out.dtype else builder.alloc("Sum", dims, wide)
        image = _padded(builder, data, {h: (top, bottom), w: (left, right)}, 0)
        reduced = [("reduction", weight.dims[axis]) for axis in (i, kh, kw)]
        with builder.nest("conv2d", [*spatial(dims), *reduced]) as block:
            *at, ci, y, x = block
            image_at: list[Scalar | int] = [0] * 4
            weight_at: list[Scalar | int] = [0] * 4
            place = at if whole else [*at[:split], *at[split + 1 :]]
            group = at[split]
            first = (
                place[split] if whole else group * builder.symbol(dims[split + 1]) + place[split]
            )
            channel = ci if groups == 1 else group * builder.symbol(weight.dims[i]) + ci
            image_at[n], image_at[c] = place[out_axes[0]], channel
            image_at[h] = place[out_axes[2]] * strides[0] + y * dilation[0]
            image_at[w] = place[out_axes[3]] * strides[1] + x * dilation[1]
            weight_at[o], weight_at[i], weight_at[kh], weight_at[kw] = first, ci, y, x
            with block.init() as init:
                target.store(cast(0, wide), tuple(init[: len(dims)]))
            term = cast(image[tuple(image_at)], wide) * cast(weight[tuple(weight_at)], wide)
            target.store(target[tuple(at)] + term, tuple(at))
        if target is not out:
            source, result = builder.linear(target), builder.linear(out)
            with builder.nest("cast", spatial(result.dims)) as (at,):
                result.store(cast(source[at], out.dtype), at)

    return legalizer.call_prim(op, "conv2d", list(op.operands), body, key=str(attrs))


def legalize_pool2d(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise max and mean over windows; windows may hang over the end in `ceil_mode`."""
    attrs = _attributes(op)
    dims, out_dims = T.tensor_dims(op.operands[0].type), T.tensor_dims(op.results[0].type)
    if attrs is None or dims is None or out_dims is None or 0 in dims:
        return None
    name = op.name.removeprefix("relax.")
    _, _, h, w = layout_axes(attrs["layout"], "NCHW")
    source_axes = layout_axes(attrs["layout"], "NCHW")
    out_axes = layout_axes(attrs["out_layout"] or attrs["layout"], "NCHW")
    size, strides = pair(attrs["pool_size"], "pool_size"), pair(attrs["strides"], "strides")
    dilation, pads = pair(attrs["dilation"], "dilation"), four_pads(attrs["padding"])
    around: dict[int, tuple[int, int]] = {}
    for position, axis in enumerate((h, w)):
        # What the last window reaches beyond the declared padding, of a known size at least.
        windows = out_dims[out_axes[2 + position]]
        reach = (windows - 1) * strides[position] + (size[position] - 1) * dilation[position] + 1
        beyond = reach - dims[axis] - pads[position] - pads[position + 2]
        extra = strides[position] - 1 if beyond.value is None else beyond.value
        overhang = max(0, extra) if attrs["ceil_mode"] else 0
        around[axis] = (pads[position], pads[position + 2] + overhang)
    average = name == "avg_pool2d"
    dtype = T.tensor_dtype(op.operands[0].type)
    if average and not is_float(dtype):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, out = buffers
        wide = ACCUMULATE.get(out.dtype, out.dtype) if average else out.dtype
        fill = 0 if average else lowest(data.dtype)
        target = out if wide == out.dtype else builder.alloc("Sum", out.dims, wide)
        image = _padded(builder, data, around, fill)
        window = [("reduction", SymExpr.const(extent)) for extent in size]
        with builder.nest(name, [*spatial(out.dims), *window]) as block:
            *at, y, x = block
            where: list[Scalar] = [at[0]] * 4
            for source, result in zip(source_axes, out_axes, strict=True):
                where[source] = at[result]
            where[h] = at[out_axes[2]] * strides[0] + y * dilation[0]
            where[w] = at[out_axes[3]] * strides[1] + x * dilation[1]
            with block.init() as init:
                target.store(cast(fill, wide), tuple(init[:4]))
            value = cast(image[tuple(where)], wide)
            before = target[tuple(at)]
            target.store(before + value if average else binary("max", before, value), tuple(at))
        if average:
            _divide(builder, data, target, out)

    def _divide(builder: PrimFuncBuilder, data: Buffer, target: Buffer, out: Buffer) -> None:
        with builder.nest("mean", spatial(out.dims)) as block:
            at = tuple(block)
            rows, columns = (
                _count(
                    at[out_axes[2 + position]], builder.symbol(data.dims[axis]), size[position],
                    strides[position], dilation[position], pads[position], pads[position + 2],
                    attrs["count_include_pad"],
                )
                for position, axis in enumerate((h, w))
            )  # fmt: skip
            divisor = cast(cast(rows * columns, "int64"), target.dtype)
            out.store(cast(target[at] / divisor, out.dtype), at)

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
    "conv2d": legalize_conv2d,
    "max_pool2d": legalize_pool2d,
    "avg_pool2d": legalize_pool2d,
}
