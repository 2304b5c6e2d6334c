"""ROI pooling: the maximum of each bin."""

from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import extern
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import ir_builder
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.conversion import cast, const
from relax_mlir.tir.scalar.dtypes import SIZE, lowest
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.topi.image.sampling import index_of
from relax_mlir.topi.nn.convolution import windows
from relax_mlir.topi.scatter import loops
from relax_mlir.topi.vision.regions import check_regions, has_pixels, image_of

_floor, _ceil = functions.UNARY["floor"], functions.UNARY["ceil"]


def roi_pool(
    data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, layout: str = "NCHW"
) -> Tensor:
    """Return regions of images, each as so many bins of which the maximum is taken.

    Args:
        data: images.
        rois: a row (image, x0, y0, x1, y1) for each region, both corners in it.
        pooled_size: how many rows and columns of bins; one without pixels is 0.
        spatial_scale: what coordinates are multiplied by before they are rounded.
        layout: NCHW.

    Raises:
        ExprError: the layout or the shapes do not fit.
    """
    if layout != "NCHW":
        raise ExprError(f"topi.vision.roi_pool: layout is NCHW, got '{layout}'")
    check_regions("vision.roi_pool", data, rois, layout)
    bins, kind = windows(pooled_size, 2, "pooled_size"), rois.dtype
    shape = (rois.shape[0], data.shape[1], *bins)

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        (image, region), out = ins, outs[0]
        best = ib.allocate(data.dtype, [1], "best")

        def one(i: tuple[Any, ...]) -> None:
            roi, channel, *place = i
            batch = ib.let("image", image_of(region[roi, 0], data))
            bounds = []
            for axis, number in enumerate(place):
                dim = data.shape[2 + axis]
                low, high = (
                    ib.let("end", index_of(_floor(region[roi, k] * spatial_scale + 0.5), dim))
                    for k in (2 - axis, 4 - axis)
                )
                step = cast(functions.max(high - low + 1, 1), kind) / float(bins[axis])
                begin = low + cast(_floor(cast(number, kind) * step), SIZE)
                end = low + cast(_ceil(cast(number + 1, kind) * step), SIZE)
                bounds.append([
                    ib.let("bound", functions.max(functions.min(each, const(0, SIZE) + dim), 0))
                    for each in (begin, end)
                ])  # fmt: skip
            best[0] = const(lowest(data.dtype), data.dtype)
            (y0, y1), (x0, x1) = bounds
            counts = [
                ib.let("count", Select(has_pixels(data), functions.max(a - b, 0), const(0, SIZE)))
                for a, b in ((y1, y0), (x1, x0))
            ]
            with ib.for_range(0, counts[0], "y") as y, ib.for_range(0, counts[1], "x") as x:
                best[0] = functions.max(best[0], image[batch, channel, y0 + y, x0 + x])
            empty = functions.any(*(count <= 0 for count in counts))
            out[i] = Select(empty, const(0, data.dtype), best[0])

        loops(ib, shape, one)

    return extern(shape, [data, rois], write, "T_roi_pool", data.dtype)


def roi_pool_nchw(data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float) -> Tensor:
    """Return `roi_pool` with channels first."""
    return roi_pool(data, rois, pooled_size, spatial_scale)
