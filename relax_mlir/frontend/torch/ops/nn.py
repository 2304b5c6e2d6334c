"""Matrix products, convolutions, pooling and resizing."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.frontend.torch.importer import Importer, as_sequence
from relax_mlir.frontend.torch.ops.scan import adaptive_means
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.frontend.torch.symbols import size as size_of
from relax_mlir.relax import op
from relax_mlir.relax.expr.values import const
from relax_mlir.te import compute, reduce_axis
from relax_mlir.te import sum as te_sum

_CONV = {1: op.conv1d, 2: op.conv2d, 3: op.conv3d}
_CONV_TRANSPOSE = {1: op.conv1d_transpose, 2: op.conv2d_transpose, 3: op.conv3d_transpose}
_MAX_POOL = {1: op.max_pool1d, 2: op.max_pool2d, 3: op.max_pool3d}
_AVG_POOL = {1: op.avg_pool1d, 2: op.avg_pool2d, 3: op.avg_pool3d}
_ADAPTIVE = {1: op.adaptive_avg_pool1d, 2: op.adaptive_avg_pool2d, 3: op.adaptive_avg_pool3d}


@converts(
    "mm.default", "bmm.default", "matmul.default", "mv.default", "dot.default", "_int_mm.default",
    "mm.dtype", "bmm.dtype",
)  # fmt: skip
def _matmul(m: Importer, x: Any, y: Any, *_: Any) -> Any:
    return op.matmul(m.cast(x, m.dtype), m.cast(y, m.dtype))


@converts("linear.default")
def _linear(m: Importer, x: Any, weight: Any, bias: Any = None) -> Any:
    product = op.matmul(x, op.permute_dims(weight, [1, 0]))
    return product if bias is None else op.add(product, bias)


@converts("addbmm.default")
def _addbmm(m: Importer, x: Any, first: Any, second: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = op.sum(op.matmul(first, second), axis=[0])
    return _plus(m, x, product, beta, alpha)


@converts("addmm.default", "addmv.default", "baddbmm.default", "addmm.dtype")
def _addmm(
    m: Importer, x: Any, first: Any, second: Any, *_: Any, beta: Any = 1, alpha: Any = 1
) -> Any:
    return _plus(m, m.cast(x, m.dtype), _matmul(m, first, second), beta, alpha)


def _plus(m: Importer, x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if alpha == 1 else op.multiply(product, m.cast(alpha, m.dtype))
    if beta == 0:
        return product
    return op.add(product, x if beta == 1 else op.multiply(x, m.cast(beta, m.dtype)))


@converts("_grouped_mm.default", "transformers.grouped_mm_fallback.default")
def _grouped_mm(
    m: Importer, x: Any, weight: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    """Rows of `x` (s, k) between two of the offsets by one matrix of `weight` (groups, k, n)."""
    if x.ty.ndim == weight.ty.ndim == 3 and offs is None:
        return op.matmul(x, weight)
    if (x.ty.ndim, weight.ty.ndim) != (2, 3) or offs is None:
        raise ExprError("grouped_mm takes offsets of the rows of a matrix, and a stack of matrices")
    groups = weight.ty.dims[0]
    rows = op.arange(0, x.ty.dims[0], 1, "int32")
    group = m.emit(op.bucketize(rows, m.cast(offs, "int32"), out_int32=True, right=True))
    known = op.minimum(group, op.subtract(m.cast(groups, "int32"), const(1, "int32")))
    product = m.block_builder.emit_te(_grouped_matmul, x, weight, m.emit(known))
    # Rows after the last offset belong to no group.
    inside = op.expand_dims(op.less(group, m.cast(groups, "int32")), axis=1)
    return op.where(inside, product, op.zeros_like(product))


def _grouped_matmul(x: Any, weight: Any, group: Any) -> Any:
    """The product of each row by the matrix of its group, summed in float32 at least."""
    k = reduce_axis((0, weight.shape[1]), name="k")
    wide = "float64" if x.dtype == "float64" else "float32"
    total = compute(
        (x.shape[0], weight.shape[2]),
        lambda r, n: te_sum(x[r, k].astype(wide) * weight[group[r], k, n].astype(wide), axis=k),
        name="grouped_matmul",
    )
    return compute(
        total.shape, lambda r, n: total[r, n].astype(x.dtype), name="grouped_matmul_cast"
    )


@converts("einsum.default")
def _einsum(m: Importer, equation: str, operands: Sequence[Any], **_: Any) -> Any:
    return op.einsum(list(operands), subscripts=equation)


@converts("outer.default")
def _outer(m: Importer, x: Any, y: Any) -> Any:
    return op.outer(x, y)


def _convolve(
    m: Importer, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> Any:  # fmt: skip
    rank = weight.ty.ndim - 2
    strides, dilations = as_sequence(stride, rank), as_sequence(dilation, rank)
    pads = as_sequence(padding, rank)

    def convolve(data: Any) -> Any:
        return _CONV[rank](
            data, weight, strides=strides, padding=[*pads, *pads], dilation=dilations,
            groups=groups,
        )  # fmt: skip

    return _batched(m, x, rank, bias, convolve)


def _batched(m: Importer, x: Any, rank: int, bias: Any, convolve: Callable[[Any], Any]) -> Any:
    """Return a convolution of data that may lack the batch, and the bias added to its channels."""
    has_batch = x.ty.ndim == rank + 2
    result = convolve(x if has_batch else op.expand_dims(x, axis=0))
    if bias is not None:
        result = op.add(result, op.reshape(bias, (1, -1, *[1] * rank)))
    return result if has_batch else op.squeeze(result, axis=[0])


def _conv(
    m: Importer, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    if padding == "valid":
        padding = 0
    if padding == "same":
        rank = weight.ty.ndim - 2
        scale = as_sequence(dilation, rank)
        total = [(weight.ty.dims[2 + i] - 1) * scale[i] for i in range(rank)]
        for axis, width in enumerate(total, x.ty.ndim - rank):
            x = _extended(m, x, axis, width // 2, width - width // 2)
        padding = 0
    return _convolve(m, x, weight, bias, stride, padding, dilation, groups)


def _extended(m: Importer, x: Any, axis: int, before: SymExpr, after: SymExpr) -> Any:
    """Return a tensor with zeros at both ends of an axis."""
    dims = list(x.ty.dims)
    if before.value is not None and after.value is not None:
        widths = [0] * (2 * len(dims))
        widths[2 * axis : 2 * axis + 2] = before.value, after.value
        return op.pad(x, widths) if before.value or after.value else x
    ends = [op.zeros([*dims[:axis], n, *dims[axis + 1 :]], x.ty.dtype) for n in (before, after)]
    return m.emit(op.concat([ends[0], x, ends[1]], axis=axis))


for _rank in _CONV:
    converts(f"conv{_rank}d.default", f"conv{_rank}d.padding")(_conv)


def _conv_transpose(
    m: Importer, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    rank = weight.ty.ndim - 2
    pads = as_sequence(padding, rank)
    if any(dim.value == 0 for dim in m.dims):  # where its padding leaves nothing
        return op.zeros(m.dims, m.dtype)
    return _batched(
        m, x, rank, bias,
        lambda data: _CONV_TRANSPOSE[rank](
            data, weight, strides=as_sequence(stride, rank), padding=[*pads, *pads],
            output_padding=as_sequence(output_padding, rank),
            dilation=as_sequence(dilation, rank), groups=groups,
        ),
    )  # fmt: skip


converts("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input")(
    _conv_transpose
)


@converts("convolution.default", "_convolution.default")
def _convolution(
    m: Importer, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, *_: Any,
) -> Any:  # fmt: skip
    if transposed:
        return _conv_transpose(
            m, x, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return _convolve(m, x, weight, bias, stride, padding, dilation, groups)


def _pool_attributes(
    rank: int, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> dict[str, Any]:
    size = as_sequence(size, rank)
    pads = as_sequence(padding, rank)
    strides = as_sequence(stride, rank) if stride not in (None, []) else size
    return {
        "pool_size": size, "strides": strides, "padding": [*pads, *pads],
        "dilation": as_sequence(dilation, rank), "ceil_mode": ceil_mode,
    }  # fmt: skip


def _max_pool(rank: int) -> Callable[..., Any]:
    def convert(
        m: Importer, x: Any, size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:  # fmt: skip
        attributes = _pool_attributes(rank, size, stride, padding, dilation, ceil_mode)
        pooled = _batched(m, x, rank, None, lambda data: _MAX_POOL[rank](data, **attributes))
        return _windows_of_torch(m, m.emit(pooled), rank) if ceil_mode else pooled

    return convert


def _windows_of_torch(m: Importer, pooled: Any, rank: int) -> Any:
    """Return the windows that torch has with `ceil_mode`: none begins behind the data."""
    value = m.value[0] if isinstance(m.value, (list, tuple)) else m.value
    ends = [_plain(size_of(dim)) for dim in value.shape[-rank:]]
    known = [_plain(dim) for dim in pooled.ty.dims[-rank:]]
    if ends == known:
        return pooled
    axes = list(range(pooled.ty.ndim - rank, pooled.ty.ndim))
    return op.strided_slice(pooled, axes=axes, begin=[0] * rank, end=ends)


def _max_pool_indices(rank: int) -> Callable[..., Any]:
    def convert(m: Importer, x: Any, *args: Any, **kwargs: Any) -> list[Any]:
        pooled = m.emit(_max_pool(rank)(m, x, *args, **kwargs))
        users = {user.args[1] for user in m.node.users if len(user.args) > 1}
        if 1 in users:
            return [pooled, _places_of_maxima(m, x, rank, *args, **kwargs)]
        return [pooled, None]

    return convert


def _places_of_maxima(
    m: Importer, x: Any, rank: int, size: Any, stride: Any = None, padding: Any = 0,
    dilation: Any = 1, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """Return where in its plane each window has its first maximum.

    The windows are cut as one strided slice for each of their elements.
    """
    attributes = _pool_attributes(rank, size, stride, padding, dilation, ceil_mode)
    first = x.ty.ndim - rank
    count = SymExpr.const(1)
    for dim in x.ty.dims[first:]:
        count = count * dim
    places = op.reshape(op.arange(0, count, 1, dtype="int64"), list(x.ty.dims[first:]))
    result = [size_of(dim) for dim in m.value[0].shape]
    outputs = [_whole(dim) for dim in result[first:]]
    pads, steps = attributes["padding"][:rank], attributes["strides"]
    reach = [
        (outputs[i] - 1) * steps[i]
        + (attributes["pool_size"][i] - 1) * attributes["dilation"][i] + 1
        for i in range(rank)
    ]  # fmt: skip
    widths = [(pads[i], reach[i] - pads[i] - _whole(x.ty.dims[first + i])) for i in range(rank)]
    widths = [(before, max(after, 0)) for before, after in widths]
    flat = [n for pair in widths for n in pair]
    values = op.pad(x, [0] * (2 * first) + flat, pad_value=float("-inf"))
    numbers = op.pad(m.cast(places, "int64"), flat, pad_value=0.0)
    windows, indices = [], []
    for offset in itertools.product(*map(range, attributes["pool_size"])):
        begin = [o * d for o, d in zip(offset, attributes["dilation"], strict=True)]
        end = [b + (n - 1) * s + 1 for b, n, s in zip(begin, outputs, steps, strict=True)]
        for source, parts, axis in ((values, windows, first), (numbers, indices, 0)):
            axes = list(range(axis, axis + rank))
            parts.append(op.strided_slice(source, axes=axes, begin=begin, end=end, strides=steps))
    best = m.emit(op.argmax(op.stack(windows, axis=0), axis=0, keepdims=True))
    numbers = op.stack(indices, axis=0)
    shape = [len(windows), *[1] * first, *outputs]
    wide = op.broadcast_to(op.reshape(numbers, shape), [len(windows), *result])
    return op.squeeze(op.gather_elements(wide, m.cast(best, "int64"), axis=0), axis=[0])


def _whole(dim: Any) -> int:
    value = SymExpr.of(dim).value if isinstance(dim, (int, SymExpr)) else None
    if value is None:
        raise ExprError(f"places of maxima need sizes that are known, got {dim}")
    return value


def _avg_pool(rank: int) -> Callable[..., Any]:
    def convert(
        m: Importer, x: Any, size: Any, stride: Any = None, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        attributes = _pool_attributes(rank, size, stride, padding, 1, ceil_mode)
        if divisor_override is not None:
            count_include_pad = True
        attributes["count_include_pad"] = count_include_pad
        pooled = _batched(m, x, rank, None, lambda data: _AVG_POOL[rank](data, **attributes))
        pooled = _windows_of_torch(m, m.emit(pooled), rank) if ceil_mode else pooled
        if divisor_override is None:
            return pooled
        count = 1
        for each in attributes["pool_size"]:
            count *= each
        return op.multiply(pooled, m.cast(count / divisor_override, m.dtype))

    return convert


def _adaptive(rank: int) -> Callable[..., Any]:
    def convert(m: Importer, x: Any, size: Any) -> Any:
        sizes = [_plain(dim) for dim in m.dims[-rank:]]
        if any(isinstance(each, SymExpr) for each in sizes):
            return adaptive_means(m, x, rank)
        return _batched(m, x, rank, None, lambda data: _ADAPTIVE[rank](data, output_size=sizes))

    return convert


def _plain(dim: SymExpr) -> Any:
    return dim if dim.value is None else dim.value


for _rank in _CONV:
    converts(f"max_pool{_rank}d.default")(_max_pool(_rank))
    converts(f"max_pool{_rank}d_with_indices.default")(_max_pool_indices(_rank))
    converts(f"avg_pool{_rank}d.default")(_avg_pool(_rank))
    converts(f"adaptive_avg_pool{_rank}d.default", f"_adaptive_avg_pool{_rank}d.default")(
        _adaptive(_rank)
    )


def _upsample(name: str, rank: int, method: str, coordinates: str) -> None:
    """Register the converters of an operator that gives signals, images or volumes other sizes."""

    @converts(f"{name}.vec", f"{name}.default")
    def convert(m: Importer, x: Any, size: Any, *args: Any) -> Any:
        is_aligned = args[0] if args and isinstance(args[0], bool) else None
        scales = args[is_aligned is not None :]
        scales = scales[0] if scales and isinstance(scales[0], (list, tuple)) else scales
        if not is_aligned and any(scale and scale != int(scale) for scale in scales):
            for i, scale in enumerate(scales):
                x = _resampled(m, x, i + 2, scale, method, coordinates)
            return x
        x = op.expand_dims(x, axis=-2) if rank == 1 else x
        function = op.resize3d if rank == 3 else op.resize2d
        made = function(
            x, [1, m.dims[-1]] if rank == 1 else m.dims[2:], method=method,
            coordinate_transformation_mode="align_corners" if is_aligned else coordinates,
            rounding_method="floor" if coordinates == "asymmetric" else "round_prefer_ceil",
        )  # fmt: skip
        return op.squeeze(made, axis=[-2]) if rank == 1 else made


def _resampled(m: Importer, x: Any, axis: int, scale: float, method: str, coordinates: str) -> Any:
    """Return data with another size along an axis, by a scale that is not the ratio of the sizes.

    The formulas are those of `aten/src/ATen/native/UpSample.h`.
    """
    # float32 as in torch, whatever the dtype of the data.
    half = 0.0 if coordinates == "asymmetric" else 0.5
    at = op.add(m.cast(op.arange(0, m.dims[axis], 1, dtype="int64"), "float32"), _f32(half))
    at = op.multiply(at, _f32(1.0 / scale))
    at = at if method == "nearest_neighbor" else op.subtract(at, _f32(0.5))
    at = op.maximum(at, _f32(0.0)) if method == "linear" else at
    first = m.emit(op.floor(at))
    t = m.cast(op.subtract(at, first), m.dtype)
    one, two = m.cast(1, m.dtype), m.cast(2, m.dtype)
    back = op.subtract(one, t)
    taps: dict[int, Any] = {0: None}
    if method == "linear":
        taps = {0: back, 1: t}
    elif method == "cubic":
        taps = {-1: _far(m, op.add(t, one)), 0: _near(m, t), 1: _near(m, back),
                2: _far(m, op.subtract(two, t))}  # fmt: skip
    last = op.subtract(m.cast(x.ty.dims[axis], "int64"), m.cast(1, "int64"))
    total = None
    for offset, weight in taps.items():
        place = op.add(m.cast(first, "int64"), m.cast(offset, "int64"))
        place = op.minimum(op.maximum(place, m.cast(0, "int64")), last)
        part = op.take(x, place, axis=axis)
        if weight is not None:
            shape = [-1, *[1] * (x.ty.ndim - axis - 1)]
            part = op.multiply(part, op.reshape(weight, shape))
        total = part if total is None else op.add(total, part)
    return m.emit(total)


def _f32(value: float) -> Any:
    return const(value, "float32")


def _near(m: Importer, t: Any) -> Any:
    """Return the weight of a neighbour at a distance of at most 1, for cubes with A = -0.75."""
    cube = op.subtract(op.multiply(m.cast(1.25, m.dtype), t), m.cast(2.25, m.dtype))
    return op.add(op.multiply(cube, op.multiply(t, t)), m.cast(1, m.dtype))


def _far(m: Importer, t: Any) -> Any:
    """Return the weight of a neighbour at a distance from 1 to 2."""
    cube = op.add(op.multiply(m.cast(-0.75, m.dtype), t), m.cast(3.75, m.dtype))
    cube = op.subtract(op.multiply(cube, t), m.cast(6, m.dtype))
    return op.add(op.multiply(cube, t), m.cast(3, m.dtype))


for _rank in _CONV:
    _upsample(f"upsample_nearest{_rank}d", _rank, "nearest_neighbor", "asymmetric")
    _upsample(f"_upsample_nearest_exact{_rank}d", _rank, "nearest_neighbor", "half_pixel")
for _rank, _name in enumerate(("linear1d", "bilinear2d", "trilinear3d"), 1):
    _upsample(f"upsample_{_name}", _rank, "linear", "half_pixel")
_upsample("upsample_bicubic2d", 2, "cubic", "half_pixel")


@converts("cdist.default", "_cdist_forward.default")
def _cdist(m: Importer, x: Any, y: Any, p: float = 2.0, compute_mode: Any = None) -> Any:
    return _distance(m, op.subtract(op.expand_dims(x, axis=-2), op.expand_dims(y, axis=-3)), p)


@converts("_pdist_forward.default")
def _pdist(m: Importer, x: Any, p: float = 2.0) -> Any:
    """Return the distances of each row to those after it."""
    import numpy as np

    count = x.ty.dims[0].value
    if count is None:
        raise ExprError("distances of pairs need a number of rows that is known")
    rows, columns = np.triu_indices(count, 1)
    pairs = [op.take(x, each.astype("int64"), axis=0) for each in (rows, columns)]
    return _distance(m, op.subtract(*pairs), p)


def _distance(m: Importer, difference: Any, p: float) -> Any:
    size = op.abs(difference)
    if p == float("inf"):
        return op.max(size, axis=[-1])
    if p == 0:
        return op.sum(m.cast(op.greater(size, m.cast(0, m.dtype)), m.dtype), axis=[-1])
    if p == 1:
        return op.sum(size, axis=[-1])
    if p == 2:
        return op.sqrt(op.sum(op.square(size), axis=[-1]))
    total = op.sum(op.power(size, m.cast(p, m.dtype)), axis=[-1])
    return op.power(total, m.cast(1.0 / p, m.dtype))
