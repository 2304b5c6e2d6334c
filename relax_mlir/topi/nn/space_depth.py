"""Space-to-depth, space-to-batch and their inverses."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar.axes import Dim, plain
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.manipulate import reshape, strided_slice, transpose
from relax_mlir.topi.nn.convolution import pad
from relax_mlir.topi.support import tensor


def _divided(dim: Dim, by: int, where: str) -> Dim:
    if SymExpr.of(dim) % by != 0:
        raise ExprError(f"topi.nn.{where}: {dim} is not known to make whole parts of {by}")
    return plain(SymExpr.of(dim) // by)


def _layout(data: Tensor, block_size: int, layout: str, where: str) -> bool:
    """Return whether channels come first."""
    if layout not in ("NCHW", "NHWC") or tensor(data, f"nn.{where}").ndim != 4:
        raise ExprError(f"topi.nn.{where} takes 4 dimensions of NCHW or NHWC, got {layout}, {data}")
    if not isinstance(block_size, int) or block_size < 1:
        raise ExprError(f"topi.nn.{where}: block_size is at least 1, got {block_size!r}")
    return layout == "NCHW"


def depth_to_space(
    data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR"
) -> Tensor:
    """Return images whose channels became blocks of positions.

    Args:
        data: images.
        block_size: the blocks have so many rows and columns.
        layout: NCHW or NHWC.
        mode: DCR where the position in a block is the outer part of a channel's number, CRD where
            it is the inner one.

    Raises:
        ExprError: the layout or mode is neither, or the channels make no whole blocks.
    """
    first = _layout(data, block_size, layout, "depth_to_space")
    if mode not in ("DCR", "CRD"):
        raise ExprError(f"topi.nn.depth_to_space: mode is DCR or CRD, got '{mode}'")
    n, c, h, w = data.shape if first else (data.shape[i] for i in (0, 3, 1, 2))
    area = block_size * block_size
    depth = _divided(c, area, "depth_to_space")
    rows, columns = (plain(SymExpr.of(dim) * block_size) for dim in (h, w))

    def element(*i: Any) -> PrimExpr:
        batch, channel, y, x = i if first else (i[0], i[3], i[1], i[2])
        place = y % block_size * block_size + x % block_size
        own = place * depth + channel if mode == "DCR" else channel * area + place
        at = y // block_size, x // block_size
        return data[(batch, own, *at) if first else (batch, *at, own)]

    shape = (n, depth, rows, columns) if first else (n, rows, columns, depth)
    return compute(shape, element, name="T_depth_to_space")


def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Return images whose blocks of positions became channels, the position the outer part.

    Raises:
        ExprError: the layout is neither NCHW nor NHWC, or there are no whole blocks.
    """
    first = _layout(data, block_size, layout, "space_to_depth")
    n, c, h, w = data.shape if first else (data.shape[i] for i in (0, 3, 1, 2))
    rows, columns = (_divided(dim, block_size, "space_to_depth") for dim in (h, w))
    depth = plain(SymExpr.of(c) * (block_size * block_size))

    def element(*i: Any) -> PrimExpr:
        batch, channel, y, x = i if first else (i[0], i[3], i[1], i[2])
        place = channel // c
        at = y * block_size + place // block_size, x * block_size + place % block_size
        return data[(batch, channel % c, *at) if first else (batch, *at, channel % c)]

    shape = (n, depth, rows, columns) if first else (n, rows, columns, depth)
    return compute(shape, element, name="T_space_to_depth")


def pixel_shuffle(data: Tensor, upscale_factor: int, name: str = "PixelShuffle") -> Tensor:
    """Return images (…, C, H, W) larger by a factor, of as many squared channels less.

    Raises:
        ExprError: there are less than three dimensions, or the channels make no whole blocks.
    """
    if tensor(data, "nn.pixel_shuffle").ndim < 3 or upscale_factor < 1:
        raise ExprError(f"topi.nn.pixel_shuffle of {data} by {upscale_factor}")
    factor, (c, h, w) = upscale_factor, data.shape[-3:]
    depth = _divided(c, factor * factor, "pixel_shuffle")
    rows, columns = (plain(SymExpr.of(dim) * factor) for dim in (h, w))

    def element(*i: Any) -> PrimExpr:
        channel, y, x = i[-3:]
        own = (channel * factor + y % factor) * factor + x % factor
        return data[(*i[:-3], own, y // factor, x // factor)]

    return compute((*data.shape[:-3], depth, rows, columns), element, name=name)


def _blocks(data: Tensor, block: Sequence[int], *ends: Sequence[int], where: str) -> int:
    count = len(block)
    if any(len(each) != count for each in ends) or not 0 < count < tensor(data, where).ndim:
        raise ExprError(f"topi.{where} needs a number for each spatial axis, got {list(block)}")
    if min(block) < 1 or any(number < 0 for each in ends for number in each):
        raise ExprError(f"topi.{where}: a block has at least one element, padding at least none")
    return count


def space_to_batch_nd(
    data: Tensor, block_shape: Sequence[int], pad_before: Sequence[int],
    pad_after: Sequence[int], pad_value: float = 0.0,
) -> Tensor:  # fmt: skip
    """Return a tensor (batch, spatial..., rest...) whose positions in blocks became batches.

    Args:
        data: the tensor.
        block_shape: the size of blocks along each spatial axis.
        pad_before: how much is padded before each.
        pad_after: how much behind.
        pad_value: what is padded with.

    Raises:
        ExprError: there is not one number for each axis, or there are no whole blocks.
    """
    where = "nn.space_to_batch_nd"
    count = _blocks(data, block_shape, pad_before, pad_after, where=where)
    none = [0] * (data.ndim - 1 - count)
    wide = pad(data, [0, *pad_before, *none], [0, *pad_after, *none], pad_value)
    cut: list[Dim] = [data.shape[0]]
    for dim, size in zip(wide.shape[1:], block_shape, strict=False):
        cut += [_divided(dim, size, "space_to_batch_nd"), size]
    rest = list(wide.shape[1 + count :])
    inner, outer = [2 + 2 * i for i in range(count)], [1 + 2 * i for i in range(count)]
    order = [*inner, 0, *outer, *range(1 + 2 * count, 1 + 2 * count + len(rest))]
    permuted = transpose(reshape(wide, [*cut, *rest]), order)
    batch = SymExpr.of(data.shape[0])
    for size in block_shape:
        batch = batch * size
    return reshape(permuted, [plain(batch), *(cut[i] for i in outer), *rest])


def batch_to_space_nd(
    data: Tensor, block_shape: Sequence[int], crop_begin_list: Sequence[int],
    crop_end_list: Sequence[int],
) -> Tensor:  # fmt: skip
    """Return a tensor (batch, spatial..., rest...) whose batches became positions in blocks.

    Args:
        data: the tensor.
        block_shape: the size of blocks along each spatial axis.
        crop_begin_list: how much is left out before each.
        crop_end_list: how much behind.

    Raises:
        ExprError: there is not one number for each axis, or the batch makes no whole blocks.
    """
    where = "nn.batch_to_space_nd"
    count = _blocks(data, block_shape, crop_begin_list, crop_end_list, where=where)
    area = 1
    for size in block_shape:
        area *= size
    batch = _divided(data.shape[0], area, "batch_to_space_nd")
    rest = data.shape[1 + count :]
    cut = reshape(data, [*block_shape, batch, *data.shape[1:]])
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    order += range(1 + 2 * count, 1 + 2 * count + len(rest))
    sizes = [plain(SymExpr.of(d) * s) for d, s in zip(data.shape[1:], block_shape, strict=False)]
    whole = reshape(transpose(cut, order), [batch, *sizes, *rest])
    if not any((*crop_begin_list, *crop_end_list)):
        return whole
    ends = [plain(SymExpr.of(d) - e) for d, e in zip(sizes, crop_end_list, strict=True)]
    axes = list(range(1, 1 + count))
    return strided_slice(whole, list(crop_begin_list), ends, [1] * count, axes)
