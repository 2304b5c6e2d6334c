"""ROI align: the mean or maximum of samples in each bin."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import extern
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import ir_builder
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.axes import Dim
from relax_mlir.tir.scalar.conversion import as_expr, cast, const
from relax_mlir.tir.scalar.dtypes import SIZE, lowest
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.image.sampling import blended, clamped, index_of, linear_taps
from relax_mlir.topi.nn.convolution import windows
from relax_mlir.topi.scatter import loops
from relax_mlir.topi.support import tensor

# A bin of a region with infinite corners has so many samples at most.
_MAX_SAMPLES = 1 << 16


def check_regions(where: str, data: Tensor, rois: Tensor, layout: str) -> bool:
    """Return whether channels come first.

    Raises:
        ExprError: the layout, the images or the regions are none.
    """
    if layout not in ("NCHW", "NHWC") or tensor(data, where).ndim != 4:
        raise ExprError(f"topi.{where} takes images of NCHW or NHWC, got {layout}, {data}")
    if tensor(rois, where).ndim != 2 or rois.shape[1] != 5:
        raise ExprError(f"topi.{where}: regions are rows (image, x0, y0, x1, y1), got {rois}")
    return layout == "NCHW"


def image_of(number: PrimExpr, data: Tensor) -> PrimExpr:
    """Return which image a number in a region names: the nearest one that there is."""
    return clamped(index_of(number, data.shape[0]), data.shape[0])


def has_pixels(data: Tensor) -> PrimExpr:
    """Return whether images have anything to read, wherever a region is."""
    sizes = [as_expr(dim, SIZE) > 0 for dim in data.shape if not isinstance(dim, int) or not dim]
    return functions.all(const(True, "bool"), *sizes)


def roi_align(
    data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: Any = "avg",
    sample_ratio: int = -1, aligned: bool = False, layout: str = "NCHW",
) -> Tensor:  # fmt: skip
    """Return regions of images, each as so many bins.

    Args:
        data: images.
        rois: a row (image, x0, y0, x1, y1) for each region.
        pooled_size: how many rows and columns of bins.
        spatial_scale: what coordinates are multiplied by.
        mode: `avg` or `max` of the samples in a bin.
        sample_ratio: how many samples along each side of a bin; as many as it has pixels when not
            positive.
        aligned: whether a region may be smaller than a pixel.
        layout: NCHW or NHWC.

    Raises:
        ExprError: the shapes do not fit, or a choice does not exist.
    """
    first = check_regions("vision.roi_align", data, rois, layout)
    largest = {"avg": False, b"avg": False, 0: False, "max": True, b"max": True, 1: True}.get(mode)
    if largest is None:
        raise ExprError(f"topi.vision.roi_align: mode is avg or max, got {mode!r}")
    bins = windows(pooled_size, 2, "pooled_size")
    channels, height, width = data.shape[1:] if first else (data.shape[i] for i in (3, 1, 2))
    sizes: list[Dim] = [height, width]
    shape = (rois.shape[0], channels, *bins) if first else (rois.shape[0], *bins, channels)
    kind = rois.dtype

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        (image, region), out = ins, outs[0]
        total = ib.allocate(data.dtype, [1], "total")

        def one(i: tuple[Any, ...]) -> None:
            roi, channel, *place = i if first else (i[0], i[3], i[1], i[2])
            batch = ib.let("image", image_of(region[roi, 0], data))
            steps, starts, counts = [], [], []
            for axis, bin_ in enumerate(place):
                low, high = (region[roi, k] * float(spatial_scale) for k in (2 - axis, 4 - axis))
                span = high - low if aligned else functions.max(high - low, 1.0)
                step = ib.let("step", span / float(bins[axis]))
                steps.append(step)
                starts.append(ib.let("start", low + cast(bin_, kind) * step))
                number = index_of(functions.UNARY["ceil"](step), _MAX_SAMPLES)
                if sample_ratio > 0:
                    number = const(sample_ratio, SIZE)
                number = Select(has_pixels(data), functions.max(number, 0), const(0, SIZE))
                counts.append(ib.let("count", number))
            total[0] = const(lowest(data.dtype) if largest else 0, data.dtype)
            with ib.for_range(0, counts[0], "y") as y, ib.for_range(0, counts[1], "x") as x:
                at = [
                    start + (cast(k, kind) + 0.5) * step / cast(count, kind)
                    for start, k, step, count in zip(starts, (y, x), steps, counts, strict=True)
                ]
                value = _sample(image, first, batch, channel, at, sizes, data.dtype)
                total[0] = functions.max(total[0], value) if largest else total[0] + value
            if largest:
                out[i] = total[0]
                return
            number = functions.max(cast(counts[0] * counts[1], data.dtype), 1.0)
            out[i] = total[0] / number

        loops(ib, shape, one)

    return extern(shape, [data, rois], write, "T_roi_align", data.dtype)


def _sample(
    image: Any, first: bool, batch: PrimExpr, channel: PrimExpr, at: Sequence[PrimExpr],
    sizes: Sequence[Dim], dtype: str,
) -> PrimExpr:  # fmt: skip
    """Return an image between its pixels; zero more than a pixel outside."""
    outside, taps = [], []
    for place, dim in zip(at, sizes, strict=True):
        size = cast(as_expr(dim, SIZE), place.dtype)
        outside += [place < -1.0, place > size]
        taps.append(linear_taps(functions.max(functions.min(place, size - 1.0), 0.0), dim))

    def read(indices: Sequence[PrimExpr]) -> PrimExpr:
        y, x = (clamped(index, dim) for index, dim in zip(indices, sizes, strict=True))
        return image[(batch, channel, y, x) if first else (batch, y, x, channel)]

    value = cast(blended(taps, read), dtype)
    return Select(functions.any(*outside), const(0, dtype), value)


def roi_align_nchw(
    data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: Any,
    sample_ratio: int = -1, aligned: bool = False,
) -> Tensor:  # fmt: skip
    """Return `roi_align` with channels first."""
    return roi_align(data, rois, pooled_size, spatial_scale, mode, sample_ratio, aligned, "NCHW")


def roi_align_nhwc(
    data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: Any,
    sample_ratio: int = -1, aligned: bool = False,
) -> Tensor:  # fmt: skip
    """Return `roi_align` with channels last."""
    return roi_align(data, rois, pooled_size, spatial_scale, mode, sample_ratio, aligned, "NHWC")
