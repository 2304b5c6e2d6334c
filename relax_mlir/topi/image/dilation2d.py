"""Morphological dilation: the maximum of window plus filter."""

from collections.abc import Callable
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.axes import Dim
from relax_mlir.tir.scalar.conversion import cast
from relax_mlir.tir.scalar.dtypes import checked
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.linear_algebra import check_inner
from relax_mlir.topi.nn.convolution import around, counts, pad, windows
from relax_mlir.topi.support import tensor


def _dilation(name: str, layout: str, filter_layout: str) -> Callable[..., Tensor]:
    c, h, w = (layout.index(x) for x in "CHW")
    fc, fh, fw = (filter_layout.index(x) for x in "IHW")

    def function(
        input: Tensor, filter: Tensor, stride: Any, padding: Any, dilations: Any,
        out_dtype: Any = None,
    ) -> Tensor:  # fmt: skip
        if tensor(input, f"image.{name}").ndim != 4 or tensor(filter, f"image.{name}").ndim != 3:
            raise ExprError(f"topi.image.{name} takes 4 and 3 dimensions, got {input}, {filter}")
        check_inner(input.shape[c], filter.shape[fc], f"image.{name}")
        steps, spacing = windows(stride, 2, "stride"), windows(dilations, 2, "dilations")
        window, sizes = [filter.shape[fh], filter.shape[fw]], [input.shape[h], input.shape[w]]
        ends = around(padding, window, spacing, steps, sizes)
        before, after = [0] * 4, [0] * 4
        for axis, (first, last) in zip((h, w), ends, strict=True):
            before[axis], after[axis] = first, last
        dtype = checked(out_dtype) if out_dtype else input.dtype
        image = pad(input, before, after, 0, name="pad_temp")
        shape: list[Dim] = list(input.shape)
        shape[h], shape[w] = counts(sizes, window, steps, spacing, ends)
        y, x = (te.reduce_axis((0, dim), n) for dim, n in zip(window, "yx", strict=True))

        def element(*i: Any) -> PrimExpr:
            at, weight = list(i), [i[c]] * 3
            at[h], at[w] = i[h] * steps[0] + y * spacing[0], i[w] * steps[1] + x * spacing[1]
            weight[fh], weight[fw] = y, x
            total = cast(image[tuple(at)], dtype) + cast(filter[tuple(weight)], dtype)
            return te.max(total, axis=[y, x])

        return compute(shape, element, name=f"T_{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return the greatest sum of each window of {layout} and a filter.

    The filter is {filter_layout}, one for each channel; padding is zeros.
    """
    return function


dilation2d_nchw: Callable[..., Tensor] = _dilation("dilation2d_nchw", "NCHW", "IHW")
dilation2d_nhwc: Callable[..., Tensor] = _dilation("dilation2d_nhwc", "NHWC", "HWI")
