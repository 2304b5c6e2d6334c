"""Images: resize, sampling, detection."""

from typing import Any

import numpy as np

from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import of_array, of_expr
from relax_mlir.relax import op
from relax_mlir.relax.expr.types import TensorType
from relax_mlir.relax.expr.values import const

_RESIZE = {
    "antialias": 0, "coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.75,
    "exclude_outside": 0, "extrapolation_value": 0.0, "keep_aspect_ratio_policy": "stretch",
    "mode": "nearest", "nearest_mode": "round_prefer_floor",
}  # fmt: skip


_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")


def _resize(
    node: Any, roi: int | None, scales: int | None, sizes: int | None, **changes: Any
) -> Any:
    """Resize natively, or by the library where Relax has no operation for it."""
    config = {name: node.attrs.get(name, default) for name, default in _RESIZE.items()}
    config.update(changes)
    axes = list(node.attrs.get("axes") or [])
    dims = _resized(node, axes, scales, sizes, config)
    if _is_native(node, dims, config):
        resize_images = op.image.resize2d if node.ndim() == 4 else op.image.resize3d
        made = resize_images(
            node.x(0), dims[2:], layout="NCHW" if node.ndim() == 4 else "NCDHW",
            method=_METHODS[config["mode"]], rounding_method=config["nearest_mode"],
            coordinate_transformation_mode=config["coordinate_transformation_mode"],
            cubic_alpha=config["cubic_coeff_a"], cubic_exclude=config["exclude_outside"],
        )  # fmt: skip
        return of_expr(node.emit(made))
    args = [node.x(0), *(None if each is None else node.x(each) for each in (roi, scales, sizes))]
    return node.runtime("resize", args, [(node.dtype(), dims)], axes=axes, **config)


def _is_native(node: Any, dims: list[Any], config: dict[str, Any]) -> bool:
    return (
        node.ndim() in (4, 5)
        and node.dtype().startswith("float")
        and all(dim is not None for dim in dims)
        and list(node.dims()[:2]) == dims[:2]
        and config["coordinate_transformation_mode"] in _COORDINATES
        and not config["antialias"]
        and (config["mode"] == "cubic" or not config["exclude_outside"])
    )


def _resized(
    node: Any, axes: list[int], scales: int | None, sizes: int | None, config: Any
) -> list[Any]:
    """Return the dimensions of the result, None for those that run time computes.

    Those of a scale are given where it is a whole number: else it is not the ratio of the sizes.
    """
    rank = node.ndim()
    places = [node.normalized(axis, rank) for axis in axes] or list(range(rank))
    dims = [None if i in places else dim for i, dim in enumerate(node.dims())]
    known = None if sizes is None else node.ints(sizes)
    if known and config["keep_aspect_ratio_policy"] == "stretch":
        for axis, size in zip(places, known, strict=True):
            dims[axis] = size
    by = None if scales is None or sizes is not None else node.const(scales)
    for axis, scale in zip(places, () if by is None else by.reshape(-1), strict=False):
        dims[axis] = node.dims()[axis] * int(scale) if scale == int(scale) else None
    return dims


def _given(node: Any, index: int) -> int | None:
    if not node.has(index):
        return None
    dims = node.value(index).dims
    return None if dims and dims[0].value == 0 else index


@converts("onnx", "Resize", since=11)
def resize(node: Any) -> Any:
    """Resize by scales or to sizes."""
    return _resize(node, _given(node, 1), _given(node, 2), _given(node, 3))


@converts("onnx", "Resize", "Upsample", since=9)
def resize_by_scales(node: Any) -> Any:
    """Resize by scales, as before opset 11."""
    changes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    mode = "nearest" if node.attrs.get("mode", "nearest") == "nearest" else "linear"
    return _resize(node, None, 1, None, mode=mode, **changes)


@converts("onnx", "Upsample", since=7)
def upsample(node: Any) -> Any:
    """Resize by scales that are an attribute."""
    node.inputs = [node.value(0), of_array(np.array(node.attrs["scales"], "float32"))]
    return resize_by_scales(node)


_MODES = {"bilinear": "linear", "bicubic": "cubic"}


@converts("onnx", "GridSample", since=16)
def grid_sample(node: Any) -> Any:
    """Sample an image at the positions of a grid."""
    dims = [*node.dims(0)[:2], *node.dims(1)[1:-1]]
    mode = _MODES.get(node.attrs["mode"], node.attrs["mode"])
    return node.runtime(
        "grid_sample", [node.x(0), node.x(1)], [(node.dtype(), dims)], mode=mode,
        padding_mode=node.attrs["padding_mode"], align_corners=bool(node.attrs["align_corners"]),
    )  # fmt: skip


@converts("onnx", "AffineGrid", since=20)
def affine_grid(node: Any) -> Any:
    """Return the positions that affine maps give to the elements of an image of some size."""
    rank = node.dims()[1].value
    size = node.ints(1) or [None] * ((rank or 0) + 2)
    dims = [node.dims()[0], *size[2:], rank]
    return node.runtime(
        "affine_grid", [node.x(0), node.x(1)], [(node.dtype(), dims if rank else None)],
        align_corners=bool(node.attrs["align_corners"]),
    )  # fmt: skip


@converts("onnx", "DeformConv", since=19)
def deform_conv(node: Any) -> Any:
    """Convolve images where each element of the window is at an offset of its own."""
    if node.ndim() != 4:
        raise node.fail(f"images of {node.ndim() - 2} dimensions are not supported")
    attrs = node.attrs
    dims = [node.dims()[0], node.dims(1)[0], *node.dims(2)[2:]]
    return node.runtime(
        "deform_conv", [node.x(i) if node.has(i) else None for i in range(5)],
        [(node.dtype(), dims)], strides=attrs.get("strides") or [1, 1],
        pads=attrs.get("pads") or [0] * 4, dilations=attrs.get("dilations") or [1, 1],
        group=attrs["group"], offset_group=attrs["offset_group"],
    )  # fmt: skip


@converts("onnx", "RoiAlign", since=10)
def roi_align(node: Any) -> Any:
    """Return regions of images as bins, each of samples between pixels."""
    attrs = node.attrs
    if attrs["mode"] != "avg":
        raise node.fail("the maximum of weighted pixels is not supported")
    images = op.expand_dims(op.astype(node.x(2), node.dtype(1)), 1)
    boxes, scale = node.x(1), attrs["spatial_scale"]
    is_half = attrs.get("coordinate_transformation_mode") == "half_pixel"
    if is_half:
        # Relax's `aligned` takes any size of a region; where pixels are is the same.
        boxes = op.subtract(boxes, const(np.asarray(0.5 / scale), node.dtype(1)))
    return op.vision.roi_align(
        node.x(0), op.concat([images, boxes], 1), [attrs["output_height"], attrs["output_width"]],
        scale, attrs["sampling_ratio"] or -1, is_half,
    )  # fmt: skip


@converts("onnx", "NonMaxSuppression", since=10)
def non_max_suppression(node: Any) -> Any:
    """Select boxes of each class; the library does it where limits are known only at run time."""
    is_center = bool(node.attrs["center_point_box"])
    count, share, least = (
        node.const(i) if node.has(i) else np.array(default, dtype)
        for i, default, dtype in ((2, 0, "int64"), (3, 0, "float32"), (4, -np.inf, "float32"))
    )
    if count is None or share is None or least is None or count.reshape(-1)[0] <= 0:
        args = [node.x(i) if node.has(i) else None for i in range(5)]
        return node.runtime(
            "non_max_suppression", args, [("int64", [None, 3])], is_center=is_center
        )
    boxes = _corners(node) if is_center else node.x(0)
    # Relax drops a box also for an overlap that is equal to its threshold.
    above = np.nextafter(share.astype("float32"), np.float32(np.inf))
    result = node.emit(
        op.vision.all_class_non_max_suppression(
            boxes, node.x(1), const(count), const(above), const(least)
        )
    )
    rows = TensorType([node.graph.fresh("d"), 3], "int64")
    return of_expr(node.graph.builder.match_cast(result[0], rows))


def _corners(node: Any) -> Any:
    """Return boxes that are given by centre, width and height by their corners."""
    centre, size = (node.emit(each) for each in node.emit(op.split(node.x(0), 2, axis=-1)))
    half = node.emit(op.multiply(size, const(np.float32(0.5))))
    return op.concat([op.subtract(centre, half), op.add(centre, half)], axis=-1)
