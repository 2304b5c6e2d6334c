"""Object detection: boxes, non-maximum suppression, regions of interest; `R.vision` in scripts."""

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, InferTypeError, describe, join_dtypes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.symbolic.expr import SymExpr, product

_FLOATS = ("float16", "bfloat16", "float32", "float64")
# Dimensions by what stands for each: a name that is the same size everywhere, or a number.
_Pattern = Sequence[str | int]


def _sizes(types: Sequence[ir.Type], wanted: dict[str, _Pattern]) -> dict[str, SymExpr]:
    """Return the sizes that the names in patterns stand for, as far as they are known.

    Args:
        types: of the operands.
        wanted: for each operand its name and its dimensions.

    Raises:
        InferError: a rank is another, or two numbers for one size differ.
    """
    result: dict[str, tuple[SymExpr, str]] = {}
    for type_, (operand, pattern) in zip(types, wanted.items(), strict=True):
        dims, ndim = T.tensor_dims(type_), T.tensor_ndim(type_)
        if ndim not in (-1, len(pattern)):
            raise InferError(
                f"{operand} has dimensions ({', '.join(map(str, pattern))}), got {describe(type_)}"
            )
        for axis, (name, dim) in enumerate(zip(pattern, dims or (), strict=False)):
            here = f"dimension {axis} of {operand}"
            other = (SymExpr.const(name), "") if isinstance(name, int) else result.get(name)
            if other is not None and other[0].is_const and dim.is_const and other[0] != dim:
                related = f", as {other[1]} is" if other[1] else ""
                raise InferError(f"{here} must be {other[0]}{related}, got {dim}")
            if isinstance(name, str) and (other is None or not other[0].is_const):
                result[name] = (dim, here)
    return {name: size for name, (size, _) in result.items()}


def _tensor(sizes: dict[str, SymExpr], pattern: Sequence[Any], dtype: str) -> ir.Type:
    """Return the type of a tensor whose dimensions are names, numbers and sizes."""
    if any(isinstance(item, str) and item not in sizes for item in pattern):
        return T.tensor_type(None, dtype, len(pattern))
    dims = [sizes[item] if isinstance(item, str) else SymExpr.of(item) for item in pattern]
    return T.tensor_type(dims, dtype)


def _check_dtype(what: str, type_: ir.Type, *, floats: bool = True) -> str:
    dtype = T.tensor_dtype(type_)
    if dtype and (dtype in _FLOATS) != floats:
        raise InferTypeError(f"{what} must be {'floats' if floats else 'integers'}, got {dtype}")
    return dtype


def _one_of(attrs: dict[str, Any], name: str, known: Sequence[str]) -> str:
    if attrs[name] not in known:
        raise InferError(f"{name} must be {' or '.join(known)}, got '{attrs[name]}'")
    return attrs[name]


def _finite(attrs: dict[str, Any], *names: str) -> None:
    for name in names:
        if not math.isfinite(attrs[name]):
            raise InferError(f"{name} must be a finite number, got {attrs[name]}")


def pooled_bins(size: int | Sequence[int]) -> list[int]:
    """Return how many rows and columns of bins a region is cut into.

    Raises:
        InferError: that are not one or two positive numbers.
    """
    bins = [size] * 2 if isinstance(size, int) else list(size)
    if len(bins) != 2 or min(bins) < 1:
        raise InferError(f"pooled_size must be one or two positive numbers, got {size}")
    return bins


def _regions(types: Sequence[Any], attrs: dict[str, Any], layouts: Sequence[str]) -> ir.Type:
    layout = _one_of(attrs, "layout", layouts)
    bins = pooled_bins(attrs["pooled_size"])
    _finite(attrs, "spatial_scale")
    _check_dtype("rois", types[1])
    pattern = {"N": "n", "C": "c", "H": "h", "W": "w"}
    wanted: dict[str, _Pattern] = {"data": [pattern[axis] for axis in layout], "rois": ["r", 5]}
    result = {"N": "r", "C": "c", "H": bins[0], "W": bins[1]}
    return _tensor(_sizes(types, wanted), [result[axis] for axis in layout],
                   T.tensor_dtype(types[0]))  # fmt: skip


def _roi_align(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    _check_dtype("data", types[0])
    _one_of(attrs, "mode", ("avg", "max"))
    return _regions(types, attrs, ("NCHW", "NHWC"))


def _roi_pool(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    if T.tensor_dtype(types[0]) == "bool":
        raise InferError("data must be numbers, got bool")
    return _regions(types, attrs, ("NCHW",))


def _within(
    attrs: dict[str, Any], name: str, width: SymExpr | None, least: int, by: int = 1
) -> None:
    """Reject an index of coordinates or of a score that is outside a box."""
    at, last = attrs[name], None if width is None else width.value
    if at < least or (last is not None and at + by > last):
        most = "" if last is None else f" to {last - by}"
        raise InferError(f"{name} must be from {least}{most}, got {at}")


def _get_valid_counts(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    sizes = _sizes(types, {"data": ["batch", "boxes", "width"]})
    _within(attrs, "id_index", sizes.get("width"), -1)
    _within(attrs, "score_index", sizes.get("width"), 0)
    dtype = _check_dtype("data", types[0])
    return ir.TupleType.get_tuple([
        _tensor(sizes, ["batch"], "int32"),
        _tensor(sizes, ["batch", "boxes", "width"], dtype),
        _tensor(sizes, ["batch", "boxes"], "int32"),
    ])  # fmt: skip


def _non_max_suppression(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    wanted: dict[str, _Pattern] = {
        "data": ["batch", "boxes", "width"], "valid_count": ["batch"],
        "indices": ["batch", "boxes"],
    }  # fmt: skip
    sizes = _sizes(types, wanted)
    width = sizes.get("width")
    _within(attrs, "coord_start", width, 0, 4)
    _within(attrs, "score_index", width, 0)
    _within(attrs, "id_index", width, -1)
    _finite(attrs, "iou_threshold", "soft_nms_sigma", "score_threshold")
    dtype = _check_dtype("data", types[0])
    for name, type_ in zip(("valid_count", "indices"), types[1:], strict=True):
        if T.tensor_dtype(type_) not in ("int32", T.UNKNOWN_DTYPE):
            raise InferTypeError(f"{name} must be int32, got {T.tensor_dtype(type_)}")
    boxes = _tensor(sizes, ["batch", "boxes", "width"], dtype)
    if not attrs["return_indices"]:
        return boxes
    result = [_tensor(sizes, ["batch", "boxes"], "int32"), _tensor(sizes, ["batch", 1], "int32")]
    return ir.TupleType.get_tuple([boxes, *result] if attrs["soft_nms_sigma"] > 0 else result)


def _all_class_non_max_suppression(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    boxes, scores, *numbers = types
    wanted: dict[str, _Pattern] = {
        "boxes": ["batch", "box", 4], "scores": ["batch", "class", "box"],
    }  # fmt: skip
    sizes = _sizes([boxes, scores], wanted)
    _check_dtype("boxes", boxes)
    dtype = _check_dtype("scores", scores)
    names = ("max_output_boxes_per_class", "iou_threshold", "score_threshold")
    for name, type_, floats in zip(names, numbers, (False, True, True), strict=True):
        dims = T.tensor_dims(type_)
        if T.tensor_ndim(type_) not in (-1, 0, 1) or (dims and dims[0].is_const and dims[0] != 1):
            raise InferError(f"{name} must be one number, got {describe(type_)}")
        _check_dtype(name, type_, floats=floats)
    if _one_of(attrs, "output_format", ("onnx", "tensorflow")) == "onnx":
        # How many boxes are kept is known when they are.
        total = T.tensor_type([SymExpr.const(1)], "int64")
        return ir.TupleType.get_tuple([T.tensor_type(None, "int64", 2), total])
    if {"class", "box"} <= sizes.keys():
        sizes["rows"] = product([sizes["class"], sizes["box"]])
    return ir.TupleType.get_tuple([
        _tensor(sizes, ["batch", "rows", 2], "int64"), _tensor(sizes, ["batch", "rows"], dtype),
        _tensor(sizes, ["batch"], "int64"),
    ])  # fmt: skip


def _multibox_transform_loc(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    dtype = join_dtypes(types)
    for name, type_ in zip(("cls_pred", "loc_pred", "anchor"), types, strict=True):
        _check_dtype(name, type_)
    wanted: dict[str, _Pattern] = {
        "cls_pred": ["batch", "class", "box"], "loc_pred": ["batch", "places"],
        "anchor": [1, "box", 4],
    }  # fmt: skip
    sizes = _sizes(types, wanted)
    places, count = sizes.get("places"), sizes.get("box")
    if places is not None and places.value is not None:
        need = None if count is None or count.value is None else 4 * count.value
        if places.value % 4 or need not in (None, places.value):
            four = "4 times the number of boxes" + ("" if need is None else f", {need}")
            raise InferError(f"dimension 1 of loc_pred must be {four}, got {places}")
    if len(attrs["variances"]) != 4:
        raise InferError(f"variances must be 4 numbers, got {attrs['variances']}")
    return ir.TupleType.get_tuple([
        _tensor(sizes, ["batch", "box", 4], dtype), _tensor(sizes, ["batch", "class", "box"], dtype)
    ])  # fmt: skip


_DATA, _ROIS = Param("data", "tensor"), Param("rois", "tensor")
_POOLED = [Param("pooled_size", "int_or_ints"), Param("spatial_scale", "float")]
_PLACES = {name: Param(name, "int", at) for name, at in (("score_index", 1), ("id_index", 0))}

declare(
    "roi_align",
    "Regions of images as bins, each the mean or maximum of samples between pixels.",
    [
        _DATA, _ROIS, *_POOLED, Param("sample_ratio", "int", -1), Param("aligned", "bool", False),
        Param("layout", "str", "NCHW"), Param("mode", "str", "avg"),
    ],
    _roi_align,
)  # fmt: skip
declare(
    "roi_pool",
    "Regions of images as bins, each the maximum of its pixels.",
    [_DATA, _ROIS, *_POOLED, Param("layout", "str", "NCHW")],
    _roi_pool,
)
declare(
    "get_valid_counts",
    "Boxes with those of enough score in front: how many these are, all of them, their places.",
    [_DATA, Param("score_threshold", "float", 0.0), _PLACES["id_index"], _PLACES["score_index"]],
    _get_valid_counts,
)
declare(
    "non_max_suppression",
    "The boxes that overlap no better one of their class, the best first.",
    [
        _DATA, Param("valid_count", "tensor"), Param("indices", "tensor"),
        Param("max_output_size", "int", -1), Param("iou_threshold", "float", 0.5),
        Param("force_suppress", "bool", False), Param("top_k", "int", -1),
        Param("coord_start", "int", 2), _PLACES["score_index"], _PLACES["id_index"],
        Param("return_indices", "bool", True), Param("invalid_to_bottom", "bool", False),
        Param("soft_nms_sigma", "float", 0.0), Param("score_threshold", "float", 0.0),
    ],
    _non_max_suppression,
)  # fmt: skip
declare(
    "all_class_non_max_suppression",
    "The boxes of each class that overlap no better ones, the best of each class first.",
    [
        Param("boxes", "tensor"), Param("scores", "tensor"),
        Param("max_output_boxes_per_class", "tensor", numbers="int64"),
        Param("iou_threshold", "tensor", numbers="float32"),
        Param("score_threshold", "tensor", numbers="float32"),
        Param("output_format", "str", "onnx"),
    ],
    _all_class_non_max_suppression,
)  # fmt: skip
declare(
    "multibox_transform_loc",
    "The boxes and scores that a detector predicts relative to anchors.",
    [
        Param("cls_pred", "tensor"), Param("loc_pred", "tensor"), Param("anchor", "tensor"),
        Param("clip", "bool", False), Param("threshold", "float", 0.0),
        Param("variances", "floats", [1.0] * 4), Param("keep_background", "bool", True),
        Param("apply_softmax", "bool", True),
    ],
    _multibox_transform_loc,
)  # fmt: skip
