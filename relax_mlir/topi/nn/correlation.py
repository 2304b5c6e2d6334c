"""Correlation and deformable convolution."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.axes import Dim, plain
from relax_mlir.tir.scalar.conversion import as_expr, cast, const
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.image.sampling import blended, clamped, linear_taps
from relax_mlir.topi.linear_algebra import check_inner, common_dtype
from relax_mlir.topi.nn.convolution import around, counts, pad, windows
from relax_mlir.topi.support import narrowed, same, tensor


def correlation_nchw(
    data1: Tensor, data2: Tensor, kernel_size: int, max_displacement: int, stride1: int,
    stride2: int, padding: Any, is_multiply: bool,
) -> Tensor:  # fmt: skip
    """Return how much windows of an image are like windows of another one around them.

    Args:
        data1: images (N, C, H, W).
        data2: other ones of their shape.
        kernel_size: of the windows, odd.
        max_displacement: how far away windows of `data2` are at most.
        stride1: the distance of windows of `data1`.
        stride2: that of windows of `data2`.
        padding: of both.
        is_multiply: the mean of products, else of absolute differences.

    Returns:
        (N, displacement, H, W).

    Raises:
        ExprError: the shapes or numbers do not fit.
    """
    if tensor(data1, "nn.correlation_nchw").ndim != 4 or data1.shape != data2.shape:
        raise ExprError(f"topi.nn.correlation_nchw takes images of one shape: {data1}, {data2}")
    if kernel_size < 1 or kernel_size % 2 == 0 or min(stride1, stride2) < 1:
        raise ExprError("topi.nn.correlation_nchw: the kernel is odd, strides are positive")
    ends = around(padding, [kernel_size] * 2, [1, 1], [1, 1], data1.shape[2:])
    before, after = ([0, 0, *(side[i] for side in ends)] for i in (0, 1))
    left, right = (pad(x, before, after, 0, name="pad_temp") for x in (data1, data2))
    border = kernel_size // 2 + max_displacement
    shape: list[Dim] = []
    for dim in left.shape[2:]:
        room = SymExpr.of(dim) - 2 * border
        if room.value is not None and room.value < 1:
            raise ExprError(f"topi.nn.correlation_nchw: {dim} pixels, a border of {border}")
        shape.append(plain(room.ceildiv(stride1)))
    reach = max_displacement // stride2
    grid = 2 * reach + 1
    c = te.reduce_axis((0, data1.shape[1]), "c")
    y, x = (te.reduce_axis((0, kernel_size), name) for name in "yx")
    total = kernel_size * kernel_size

    def element(n: Any, q: Any, i: Any, j: Any) -> PrimExpr:
        at = (i * stride1 + max_displacement + y, j * stride1 + max_displacement + x)
        moved = ((q // grid - reach) * stride2, (q % grid - reach) * stride2)
        other = tuple(a + b for a, b in zip(at, moved, strict=True))
        one, two = left[(n, c, *at)], right[(n, c, *other)]
        value = one * two if is_multiply else functions.UNARY["abs"](one - two)
        return te.sum(value, axis=[c, y, x])

    summed = compute((data1.shape[0], grid * grid, *shape), element, name="T_correlation_sum")
    count = cast(as_expr(data1.shape[1], SIZE) * total, data1.dtype)
    return compute(summed.shape, lambda *i: summed[i] / count, name="T_correlation")


def _deformable(name: str, layout: str) -> Callable[..., Tensor]:
    first = layout == "NCHW"

    def function(
        data: Tensor, offset: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any,
        deformable_groups: int, groups: int, out_dtype: Any = None,
    ) -> Tensor:  # fmt: skip
        where = f"nn.{name}"
        if not tensor(data, where).ndim == tensor(offset, where).ndim == kernel.ndim == 4:
            raise ExprError(f"topi.{where} takes 4 dimensions: {data}, {offset}, {kernel}")
        c, h, w = (layout.index(x) for x in "CHW")
        outs, depth, kh, kw = kernel.shape if first else (kernel.shape[i] for i in (3, 2, 0, 1))
        channels, window = data.shape[c], [kh, kw]
        if not all(isinstance(x, int) for x in (outs, depth, kh, kw, channels)):
            raise ExprError(f"topi.{where} needs kernels and channels of known sizes")
        check_inner(channels, plain(SymExpr.of(depth) * groups), where)
        if outs % groups or channels % deformable_groups:  # type: ignore[operator]
            raise ExprError(f"topi.{where}: the channels make no whole groups")
        steps, dilations = windows(strides, 2, "strides"), windows(dilation, 2, "dilation")
        sizes = [data.shape[h], data.shape[w]]
        ends = around(padding, window, dilations, steps, sizes)
        shape: list[Dim] = list(data.shape)
        shape[h], shape[w] = counts(sizes, window, steps, dilations, ends)
        shape[c] = outs
        wanted = deformable_groups * kh * kw * 2  # type: ignore[operator]
        if not same(offset.shape[c], wanted):
            raise ExprError(f"topi.{where}: {offset} has not {wanted} channels")
        dtype, wide = common_dtype([data, kernel], out_dtype)
        own = channels // deformable_groups  # type: ignore[operator]
        rc = te.reduce_axis((0, depth), "rc")
        ry, rx = (te.reduce_axis((0, width), n) for width, n in zip(window, ("ry", "rx"),
                                                                   strict=True))  # fmt: skip

        def pixel(n: Any, group: Any, place: list[PrimExpr], channel: Any) -> PrimExpr:
            inside = [
                test for at, dim in zip(place, sizes, strict=True)
                for test in (at > -1.0, at < cast(as_expr(dim, SIZE), at.dtype))
            ]  # fmt: skip
            taps = [linear_taps(at, dim) for at, dim in zip(place, sizes, strict=True)]

            def read(indices: Any) -> PrimExpr:
                near = [clamped(index, dim) for index, dim in zip(indices, sizes, strict=True)]
                real = [
                    test for index, dim in zip(indices, sizes, strict=True)
                    for test in (index >= 0, index < dim)
                ]  # fmt: skip
                at = (n, channel, *near) if first else (n, *near, channel)
                return Select(functions.all(*real), data[at], const(0, data.dtype))

            value = cast(blended(taps, read), wide)
            return Select(functions.all(*inside), value, const(0, wide))

        def element(*i: Any) -> PrimExpr:
            n, out, y, x = i if first else (i[0], i[3], i[1], i[2])
            channel = rc if groups == 1 else out // (outs // groups) * depth + rc
            group = channel // own
            number = ((group * kh + ry) * kw + rx) * 2
            place = []
            for axis, (at, r) in enumerate(((y, ry), (x, rx))):
                moved = offset[(n, number + axis, y, x) if first else (n, y, x, number + axis)]
                start = at * steps[axis] + r * dilations[axis] - ends[axis][0]
                place.append(cast(start, moved.dtype) + moved)
            weight = kernel[(out, rc, ry, rx) if first else (ry, rx, rc, out)]
            return te.sum(pixel(n, group, place, channel) * cast(weight, wide), axis=[rc, ry, rx])

        return narrowed(compute(shape, element, name=f"T_{name}"), dtype, "T_cast")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return a convolution of {layout} that reads pixels moved by offsets.

    The offsets are, for each deformable group and element of a window, along y and x; what is
    outside of the image is 0. Kernels are {"OIHW" if first else "HWIO"}.
    """
    return function


FUNCTIONS = {
    name: _deformable(name, layout)
    for name, layout in (("deformable_conv2d_nchw", "NCHW"), ("deformable_conv2d_nhwc", "NHWC"))
}
