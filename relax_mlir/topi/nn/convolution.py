"""Convolutions in one to three dimensions, any layouts, grouped or not."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.relax.conv_geometry import (
    SPATIAL,
    layout_axes,
    pads,
    per_axis,
    window_count,
)
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.axes import Dim, plain
from relax_mlir.tir.scalar.conversion import cast, const
from relax_mlir.tir.scalar.functions import all as all_of
from relax_mlir.tir.scalar.functions import if_then_else
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.linear_algebra import check_inner, common_dtype
from relax_mlir.topi.manipulate import reshape
from relax_mlir.topi.support import narrowed, tensor


def pad(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None,
    pad_value: int | float = 0.0, name: str = "PadInput", attrs: Any = None,
) -> Tensor:  # fmt: skip
    """Return a tensor within a larger one that is filled with a number.

    Args:
        data: the tensor.
        pad_before: how much comes before it along each axis.
        pad_after: how much comes after it, by default as much.
        pad_value: what it is filled with.
        name: of the stage.
        attrs: as in TVM, of no consequence here.

    Raises:
        ExprError: there is not one number for each axis.
    """
    after = list(pad_before if pad_after is None else pad_after)
    if not len(pad_before) == len(after) == tensor(data, "nn.pad").ndim:
        raise ExprError(f"topi.nn.pad needs a number for each of {data.ndim} axes")
    if any(isinstance(x, int) and x < 0 for x in (*pad_before, *after)):
        raise ExprError("topi.nn.pad takes no negative numbers")
    if all(isinstance(x, int) and x == 0 for x in (*pad_before, *after)):
        return data
    sides = list(zip(data.shape, pad_before, after, strict=True))

    def element(*at: Any) -> PrimExpr:
        place, inside = [], []
        for i, (dim, first, last) in zip(at, sides, strict=True):
            place.append(i if _is_none(first) else i - first)
            inside += [] if _is_none(first) else [i >= first]
            inside += [] if _is_none(last) else [i < plain(SymExpr.of(dim) + first)]
        return if_then_else(all_of(*inside), data[tuple(place)], const(pad_value, data.dtype))

    shape = [plain(SymExpr.of(dim) + first + last) for dim, first, last in sides]
    return compute(shape, element, name=name)


def _is_none(count: Any) -> bool:
    return isinstance(count, int) and count == 0


def windows(value: Any, count: int, what: str, least: int = 1) -> list[int]:
    """Return one number for each spatial axis, of one for all or one for each."""
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    try:
        return per_axis(items, count, what, least)
    except InferError as error:
        raise ExprError(f"topi.nn: {error}") from error


def around(
    padding: Any, window: Sequence[Dim], dilation: Sequence[int], strides: Sequence[int],
    sizes: Sequence[Dim],
) -> list[tuple[int, int]]:  # fmt: skip
    """Return what is padded before and after each spatial axis; `SAME` and `VALID` too.

    Raises:
        ExprError: there is another count of numbers, or `SAME` needs a size that is not known.
    """
    if padding == "VALID":
        return [(0, 0)] * len(window)
    if padding == "SAME":
        result = []
        for size, width, step, dilated in zip(sizes, window, strides, dilation, strict=True):
            if not isinstance(width, int) or (step > 1 and not isinstance(size, int)):
                raise ExprError("topi.nn: padding SAME needs sizes that are known")
            reach = (width - 1) * dilated + 1
            rest = step if step == 1 or size % step == 0 else size % step  # type: ignore[operator]
            total = max(reach - rest, 0)
            result.append((total // 2, total - total // 2))
        return result
    items = list(padding) if isinstance(padding, (list, tuple)) else [padding]
    try:
        return pads(items, len(window))
    except InferError as error:
        raise ExprError(f"topi.nn: {error}") from error


def counts(
    sizes: Sequence[Dim], window: Sequence[Dim], strides: Sequence[int], dilation: Sequence[int],
    padding: Sequence[tuple[int, int]], ceil_mode: bool = False,
) -> list[Dim]:  # fmt: skip
    """Return how many windows fit along each axis.

    Raises:
        ExprError: a window is larger than what there is.
    """
    try:
        return [
            plain(window_count(SymExpr.of(size), SymExpr.of(width), step, dilated, sum(ends),
                               ceil_mode))
            for size, width, step, dilated, ends in zip(
                sizes, window, strides, dilation, padding, strict=True
            )
        ]  # fmt: skip
    except InferError as error:
        raise ExprError(f"topi.nn: {error}") from error


def conv(
    inp: Tensor, filt: Tensor, stride: Any, padding: Any, dilation: Any, groups: int = 1,
    data_layout: str = "", kernel_layout: str = "", out_dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return a convolution.

    Args:
        inp: the image.
        filt: the kernels.
        stride: one number, or one for each spatial axis.
        padding: numbers, or `SAME` or `VALID`.
        dilation: one number, or one for each spatial axis.
        groups: into so many groups channels fall.
        data_layout: letters of `inp` and of the result, by default `NC` and the spatial ones.
        kernel_layout: letters of `filt`, by default `OI` and the spatial ones.
        out_dtype: of the result, by default the operands'.

    Raises:
        ExprError: a layout, or what they say of channels, does not fit.
    """
    rank = tensor(inp, "nn.conv").ndim - 2
    if rank not in SPATIAL or filt.ndim != inp.ndim:
        raise ExprError(
            f"topi.nn.conv: an image of {inp.ndim} dimensions and kernels of {filt.ndim} do not go "
            "together; both have 3 to 5, two of them batch and channels"
        )
    try:
        letters = SPATIAL[rank]
        n, c, *places = layout_axes(data_layout or f"NC{letters}", f"NC{letters}")
        o, i, *inner = layout_axes(kernel_layout or f"OI{letters}", f"OI{letters}")
    except InferError as error:
        raise ExprError(f"topi.nn.conv: {error}") from error
    steps = windows(stride, rank, "strides")
    dilated = windows(dilation, rank, "dilation")
    window = [filt.shape[axis] for axis in inner]
    sizes = [inp.shape[axis] for axis in places]
    ends = around(padding, window, dilated, steps, sizes)
    check_inner(inp.shape[c], plain(SymExpr.of(filt.shape[i]) * groups), "nn.conv")
    outs = SymExpr.of(filt.shape[o])
    if outs.value is not None and outs.value % groups:
        raise ExprError(f"topi.nn.conv: {outs} output channels make no {groups} groups")
    before, after = [0] * inp.ndim, [0] * inp.ndim
    for axis, (first, last) in zip(places, ends, strict=True):
        before[axis], after[axis] = first, last
    image = pad(inp, before, after, 0, name="pad_temp")
    dtype, wide = common_dtype([inp, filt], out_dtype)
    shape: list[Dim] = [0] * inp.ndim
    shape[n], shape[c] = inp.shape[n], filt.shape[o]
    for axis, count in zip(places, counts(sizes, window, steps, dilated, ends), strict=True):
        shape[axis] = count
    channel = te.reduce_axis((0, filt.shape[i]), "rc")
    over = [te.reduce_axis((0, dim), f"r{x.lower()}") for x, dim in zip(letters, window,
                                                                      strict=True)]  # fmt: skip
    per_group, depth = plain(outs // groups), filt.shape[i]

    def element(*at: Any) -> PrimExpr:
        source: list[Any] = [0] * inp.ndim
        kernel: list[Any] = [0] * inp.ndim
        source[n], kernel[o], kernel[i] = at[n], at[c], channel
        source[c] = channel if groups == 1 else at[c] // per_group * depth + channel
        for axis, own, r, step, gap in zip(places, inner, over, steps, dilated, strict=True):
            source[axis], kernel[own] = at[axis] * step + r * gap, r
        term = cast(image[tuple(source)], wide) * cast(filt[tuple(kernel)], wide)
        return te.sum(term, axis=[channel, *over])

    return narrowed(compute(shape, element, name="conv"), dtype, "T_cast")


def conv2d(
    data: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any,
    data_layout: str = "NCHW", kernel_layout: str = "", out_dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return a convolution of images; NHWC takes kernels as HWIO, all else OIHW, by default."""
    own = kernel_layout or ("HWIO" if data_layout == "NHWC" else "OIHW")
    return conv(data, kernel, strides, padding, dilation, 1, data_layout, own, out_dtype)


def conv1d(
    data: Tensor, kernel: Tensor, strides: Any = 1, padding: Any = "VALID", dilation: Any = 1,
    groups: int = 1, data_layout: str = "NCW", kernel_layout: str = "", out_dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return a convolution of rows; NWC takes kernels as WIO, all else OIW, by default."""
    own = kernel_layout or ("WIO" if data_layout == "NWC" else "OIW")
    return conv(data, kernel, strides, padding, dilation, groups, data_layout, own, out_dtype)


def _fixed(name: str, data_layout: str, kernel_layout: str) -> Callable[..., Tensor]:
    def function(
        Input: Tensor, Filter: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        out_dtype: Any = None,
    ) -> Tensor:  # fmt: skip
        return conv(
            Input, Filter, stride, padding, dilation, 1, data_layout, kernel_layout, out_dtype
        )

    return _named(function, name, data_layout, kernel_layout)


def _rows(name: str, data_layout: str, kernel_layout: str) -> Callable[..., Tensor]:
    def function(
        data: Tensor, kernel: Tensor, strides: Any = 1, padding: Any = "VALID", dilation: Any = 1,
        out_dtype: Any = None,
    ) -> Tensor:  # fmt: skip
        return conv(
            data, kernel, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype
        )

    return _named(function, name, data_layout, kernel_layout)


def _grouped_rows(name: str, data_layout: str, kernel_layout: str) -> Callable[..., Tensor]:
    def function(
        data: Tensor, kernel: Tensor, strides: Any = 1, padding: Any = "VALID", dilation: Any = 1,
        groups: int = 1, out_dtype: Any = None,
    ) -> Tensor:  # fmt: skip
        return conv(
            data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype
        )

    return _named(function, name, data_layout, kernel_layout)


def _named(
    function: Callable[..., Tensor], name: str, data_layout: str, kernel_layout: str
) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return a convolution of {data_layout} by kernels {kernel_layout}."
    return function


def _grouped(name: str, data_layout: str, kernel_layout: str) -> Callable[..., Tensor]:
    def function(
        Input: Tensor, Filter: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, out_dtype: Any = None,
    ) -> Tensor:  # fmt: skip
        return conv(
            Input, Filter, stride, padding, dilation, groups, data_layout, kernel_layout, out_dtype
        )

    return _named(function, name, data_layout, kernel_layout)


def depthwise_conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: Any = None
) -> Tensor:
    """Return a convolution of each channel by kernels of its own, (channel, multiplier, H, W)."""
    channels, times, *window = tensor(Filter, "nn.depthwise_conv2d_nchw").shape
    if not isinstance(channels, int):
        raise ExprError("topi.nn.depthwise_conv2d_nchw needs a known number of channels")
    kernels = Filter
    if times != 1:
        from relax_mlir.topi.manipulate import reshape

        kernels = reshape(Filter, [plain(SymExpr.of(times) * channels), 1, *window])
    return conv(Input, kernels, stride, padding, dilation, channels, "NCHW", "OIHW", out_dtype)


def depthwise_conv2d_nhwc(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any,
    kernel_layout: str = "HWOI", out_dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return a convolution of each channel by kernels of its own, channels last.

    Args:
        Input: images (N, H, W, C).
        Filter: kernels (H, W, channel, multiplier).
        stride: one number, or one for each spatial axis.
        padding: numbers, or `SAME` or `VALID`.
        dilation: one number, or one for each spatial axis.
        kernel_layout: HWOI.
        out_dtype: of the result, by default the operands'.

    Raises:
        ExprError: the number of channels is not known, or the layout is another one.
    """
    if kernel_layout != "HWOI" or tensor(Filter, "nn.depthwise_conv2d_nhwc").ndim != 4:
        raise ExprError(f"topi.nn.depthwise_conv2d_nhwc takes kernels HWOI, got {kernel_layout}")
    *window, channels, times = Filter.shape
    if not isinstance(channels, int):
        raise ExprError("topi.nn.depthwise_conv2d_nhwc needs a known number of channels")
    # Channel and multiplier count on together, as channels of the result do.
    kernels = reshape(Filter, [*window, 1, plain(SymExpr.of(times) * channels)])
    return conv(Input, kernels, stride, padding, dilation, channels, "NHWC", "HWIO", out_dtype)


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "conv1d_ncw": _rows("conv1d_ncw", "NCW", "OIW"),
    "conv1d_nwc": _rows("conv1d_nwc", "NWC", "WIO"),
    "group_conv1d_ncw": _grouped_rows("group_conv1d_ncw", "NCW", "OIW"),
    "group_conv1d_nwc": _grouped_rows("group_conv1d_nwc", "NWC", "WIO"),
    "conv2d_nchw": _fixed("conv2d_nchw", "NCHW", "OIHW"),
    "conv2d_nhwc": _fixed("conv2d_nhwc", "NHWC", "HWIO"),
    "conv2d_hwcn": _fixed("conv2d_hwcn", "HWCN", "HWIO"),
    "group_conv2d_nchw": _grouped("group_conv2d_nchw", "NCHW", "OIHW"),
    "group_conv2d_nhwc": _grouped("group_conv2d_nhwc", "NHWC", "HWIO"),
    # Groups have a place in these, as in TVM.
    "conv3d_ncdhw": _grouped("conv3d_ncdhw", "NCDHW", "OIDHW"),
    "conv3d_ndhwc": _grouped("conv3d_ndhwc", "NDHWC", "DHWIO"),
}  # fmt: skip
