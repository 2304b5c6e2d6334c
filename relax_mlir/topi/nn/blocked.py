"""Layers in blocked layouts such as `NCHW16c`."""

from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.axes import Dim
from relax_mlir.tir.scalar.conversion import cast
from relax_mlir.tir.scalar.dtypes import checked
from relax_mlir.topi.linear_algebra import common_dtype
from relax_mlir.topi.nn.convolution import around, counts, pad, windows
from relax_mlir.topi.support import narrowed, tensor


def _of_rank(x: Any, rank: int, what: str) -> Tensor:
    result = tensor(x, what)
    if result.ndim != rank:
        raise ExprError(f"topi.nn.{what} needs a tensor of {rank} dimensions, got {result.ndim}")
    return result


def _spread(data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any) -> Any:
    """Return the padded image, the sizes of the result, strides and dilations."""
    steps, dilations = windows(stride, 2, "strides"), windows(dilation, 2, "dilation")
    sizes, window = list(data.shape[2:4]), list(kernel.shape[2:4])
    ends = around(padding, window, dilations, steps, sizes)
    out = counts(sizes, window, steps, dilations, ends)
    before, after = ([0, 0, *each, 0] for each in zip(*ends, strict=True))
    return pad(data, before, after), out, steps, dilations


def conv2d_NCHWc(
    data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any, layout: str = "",
    out_layout: str = "", out_dtype: Any = "float32",
) -> Tensor:  # fmt: skip
    """Return a convolution of channels in blocks, grouped where kernels have fewer chunks.

    Args:
        data: `(batch, chunks, height, width, block)`.
        kernel: `(out chunks, chunks, height, width, block, out block)`.
        stride: of height and width.
        padding: a number, one for each axis, one for each end, `SAME` or `VALID`.
        dilation: of height and width.
        layout: as in TVM, of no consequence here.
        out_layout: as in TVM, of no consequence here.
        out_dtype: of the result.

    Raises:
        ExprError: ranks, blocks or channels that do not go together.
    """
    what = "conv2d_NCHWc"
    data, kernel = _of_rank(data, 5, what), _of_rank(kernel, 6, what)
    chunks, block = data.shape[1], data.shape[4]
    out_chunks, own_chunks, _, _, own_block, out_block = kernel.shape
    known = all(isinstance(each, int) for each in (chunks, block, out_chunks, own_chunks))
    groups = 1
    if known and chunks != own_chunks:
        groups = chunks // own_chunks if own_chunks and chunks % own_chunks == 0 else 0
    if groups < 1 or (known and (block != own_block or out_chunks % groups)):
        raise ExprError(
            f"topi.nn.{what}: a kernel of shape {list(kernel.shape)} for an image of shape "
            f"{list(data.shape)}: blocks must be equal, and chunks a multiple"
        )
    dtype, wide = common_dtype((data, kernel), out_dtype)
    image, (height, width), steps, dilations = _spread(data, kernel, stride, padding, dilation)
    chunk, inner = (te.reduce_axis((0, size), name) for size, name in
                    ((own_chunks, "icc"), (own_block, "icb")))  # fmt: skip
    kh, kw = (te.reduce_axis((0, kernel.shape[2 + i]), name) for i, name in enumerate("yx"))

    def total(n: Any, occ: Any, oh: Any, ow: Any, ocb: Any) -> Any:
        first = 0 if groups == 1 else occ // (out_chunks // groups) * own_chunks
        pixel = image[
            n,
            first + chunk,
            oh * steps[0] + kh * dilations[0],
            ow * steps[1] + kw * dilations[1],
            inner,
        ]
        weight = kernel[occ, chunk, kh, kw, inner, ocb]
        return te.sum(cast(pixel, wide) * cast(weight, wide), axis=[chunk, kh, kw, inner])

    shape: list[Dim] = [data.shape[0], out_chunks, height, width, out_block]
    return narrowed(compute(shape, total, name=what), dtype, "T_cast")


def depthwise_conv2d_NCHWc(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any,
    layout: str = "", out_layout: str = "", out_dtype: Any = None,
) -> Tensor:  # fmt: skip
    """Return a convolution of each channel by itself, channels in blocks.

    Args:
        Input: `(batch, chunks, height, width, block)`.
        Filter: `(chunks, 1, height, width, 1, block)`.
        stride: of height and width.
        padding: a number, one for each axis, one for each end, `SAME` or `VALID`.
        dilation: of height and width.
        layout: as in TVM, of no consequence here.
        out_layout: as in TVM, of no consequence here.
        out_dtype: of the result, by default the image's.

    Raises:
        ExprError: ranks or blocks that do not go together.
    """
    what = "depthwise_conv2d_NCHWc"
    data, kernel = _of_rank(Input, 5, what), _of_rank(Filter, 6, what)
    pairs = ((data.shape[1], kernel.shape[0]), (data.shape[4], kernel.shape[5]))
    if any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs):
        raise ExprError(
            f"topi.nn.{what}: a kernel of shape {list(kernel.shape)} for an image of shape "
            f"{list(data.shape)}: chunks and blocks must be equal"
        )
    dtype, wide = common_dtype((data, kernel), out_dtype)
    image, (height, width), steps, dilations = _spread(data, kernel, stride, padding, dilation)
    kh, kw = (te.reduce_axis((0, kernel.shape[2 + i]), name) for i, name in enumerate("yx"))

    def total(n: Any, c: Any, oh: Any, ow: Any, b: Any) -> Any:
        pixel = image[n, c, oh * steps[0] + kh * dilations[0], ow * steps[1] + kw * dilations[1], b]
        return te.sum(cast(pixel, wide) * cast(kernel[c, 0, kh, kw, 0, b], wide), axis=[kh, kw])

    shape = [data.shape[0], data.shape[1], height, width, data.shape[4]]
    return narrowed(compute(shape, total, name=what), dtype, "T_cast")


def dense_pack(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """Return rows multiplied by a matrix whose columns lie in blocks.

    Args:
        data: `(rows, depth)`.
        weight: `(chunks, depth, block)`.
        bias: `(chunks * block,)`, added.
        out_dtype: of the result, by default the rows'.

    Raises:
        ExprError: ranks that do not fit.
    """
    data, weight = _of_rank(data, 2, "dense_pack"), _of_rank(weight, 3, "dense_pack")
    dtype, wide = common_dtype((data, weight), out_dtype)
    chunks, depth, block = weight.shape
    k = te.reduce_axis((0, depth), "k")
    total = compute(
        [data.shape[0], chunks, block],
        lambda y, c, b: te.sum(cast(data[y, k], wide) * cast(weight[c, k, b], wide), axis=k),
        name="T_dense_pack",
    )
    flat = compute(
        [data.shape[0], chunks * block],
        lambda y, x: cast(total[y, x // block, x % block], dtype),
        name="T_dense_unpack",
    )
    if bias is None:
        return flat
    return compute(
        flat.shape, lambda y, x: flat[y, x] + cast(bias[x], dtype), name="T_dense_pack_bias"
    )


def unpack_NCHWc_to_nchw(packed_out: Tensor, out_dtype: Any) -> Tensor:
    """Return `(batch, chunks, height, width, block)` as `(batch, channels, height, width)`."""
    packed = _of_rank(packed_out, 5, "unpack_NCHWc_to_nchw")
    n, chunks, height, width, block = packed.shape
    plain = compute(
        [n, chunks * block, height, width],
        lambda n, c, h, w: packed[n, c // block, h, w, c % block],
        name="output_unpack",
    )
    return narrowed(plain, checked(out_dtype), "T_cast")


def scale_shift_nchwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Return `Input * Scale + Shift` of channels in blocks, the two by chunk and block."""
    data = _of_rank(Input, 5, "scale_shift_nchwc")
    return compute(
        data.shape,
        lambda n, c, h, w, b: data[n, c, h, w, b] * Scale[c, b] + Shift[c, b],
        name="ScaleShift",
    )
